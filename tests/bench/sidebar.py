"""What sidebars cost: CPU, wake-ups and memory, idle and with changes coming. Prints a Markdown table.

Run it on a machine that does nothing else: `PYTHONPATH=. python tests/bench/sidebar.py [SECONDS]`. It makes a
broker of its own with 300 workspaces, and sidebars on terminals of 36 by 50. Each figure is one sidebar's.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from seance_tools import names
from seance_tools.client import Connection
from tests.conftest import answers
from tests.sidebar.pane import Pane
from tests.support import eventually, sealed_environment

WORKSPACES = 300
SECONDS = 20.0
TICKS = os.sysconf("SC_CLK_TCK")


class Use(NamedTuple):
    """What a process has used up to now: seconds of CPU, times it was woken, bytes written."""

    cpu: float
    wakes: int
    written: int


def use(pid: int) -> Use:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    wakes = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        wakes += number("voluntary_ctxt_switches", (task / "status").read_text())
    return Use(
        (int(fields[11]) + int(fields[12])) / TICKS,
        wakes,
        number("wchar", Path(f"/proc/{pid}/io").read_text()),
    )


def number(name: str, text: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)", text, re.M)
    assert found
    return int(found.group(1))


def pss(pid: int) -> float:
    return number("Pss", Path(f"/proc/{pid}/smaps_rollup").read_text()) / 1024


def fill(connection: Connection) -> None:
    """Make the workspaces, each with an agent that has been in its state for some minutes."""
    events = ("error", "stop", "approval-request")
    for workspace in range(1, WORKSPACES + 1):
        params = {"workspace_id": workspace, "surface_id": workspace, "agent": "claude"}
        at = time.time() - 90 - workspace % 120 * 7
        connection.request("agent.hook", {**params, "event": events[workspace % 3], "at": at})


def change(connection: Connection, rate: float, seconds: float) -> None:
    """Change a status so many times a second, one after another of the first ten workspaces."""
    begun = time.monotonic()
    count = 0
    while (now := time.monotonic() - begun) < seconds:
        while count < now * rate:
            count += 1
            params = {
                "workspace_id": 1 + count % 10,
                "key": "build",
                "value": f"step {count}",
                "state": "running",
            }
            connection.request("workspace.set_status", params)
        time.sleep(0.005)


def measure(panes: list[Pane], connection: Connection, rate: float, seconds: float) -> list[Use]:
    """Return what each sidebar uses in a second at that rate of changes."""
    before = [use(pane.process.pid) for pane in panes]
    begun = time.monotonic()
    if rate:
        change(connection, rate, seconds)
    else:
        time.sleep(seconds)
    took = time.monotonic() - begun
    after = [use(pane.process.pid) for pane in panes]
    return [
        Use(
            (b.cpu - a.cpu) / took,
            round((b.wakes - a.wakes) / took * 60),
            int((b.written - a.written) / took),
        )
        for a, b in zip(before, after, strict=True)
    ]


def drain(panes: list[Pane], going: list[bool]) -> None:
    while going:
        for pane in panes:
            pane.pump()
        time.sleep(0.02)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def run(environ: dict[str, str], connection: Connection, count: int, seconds: float) -> None:
    panes = [Pane(environ, size=(36, 50)) for _ in range(count)]
    for pane in panes:
        pane.shows("Claude Code", 60.0)
    going = [True]
    thread = threading.Thread(target=drain, args=(panes, going))
    thread.start()
    try:
        for rate, name in ((0.0, "idle"), (1.0, "1/s"), (10.0, "10/s"), (200.0, "200/s")):
            for workspace in range(1, 11):
                params = {"workspace_id": workspace, "key": "build"}
                connection.request("workspace.clear_status", params)
            time.sleep(2.0)  # what the last change still causes is not this rate's
            uses = measure(panes, connection, rate, 61.0 if rate == 0 else seconds)
            memory = mean([pss(pane.process.pid) for pane in panes])
            print(
                f"| {count} | {name} | {mean([one.cpu for one in uses]) * 100:.2f} % "
                f"| {mean([one.wakes for one in uses]):.0f} | {mean([one.written for one in uses]):,.0f} "
                f"| {memory:.1f} MB |",
                flush=True,
            )
    finally:
        going.clear()
        thread.join()
        for pane in panes:
            pane.close()


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    with tempfile.TemporaryDirectory() as directory:
        environ = sealed_environment(Path(directory)) | {"LANG": "C.UTF-8"}
        environ.pop("PYTHONWARNINGS")
        broker = subprocess.Popen([sys.executable, "-m", "seance_tools.broker", "--foreground"], env=environ)
        try:
            eventually(lambda: answers(names.socket_path(environ)))
            with Connection(names.socket_path(environ)) as connection:
                fill(connection)
                print(f"Python {platform.python_version()}, {WORKSPACES} workspaces\n")
                print("| sidebars | changes | CPU of a core | wake-ups a minute | bytes a second | memory |")
                print("| --- | --- | --- | --- | --- | --- |")
                for count in (1, 20):
                    run(environ, connection, count, seconds)
        finally:
            broker.terminate()
            broker.wait()


if __name__ == "__main__":
    main()
