"""What the benchmarks share: figures, paired timing, and the programs as a user has them installed."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from seance_tools import names
from seance_tools.client import Connection
from tests.conftest import answers
from tests.support import eventually, sealed_environment

ROOT = Path(__file__).parent.parent.parent
TICKS = os.sysconf("SC_CLK_TCK")


class Goal(NamedTuple):
    """What a figure should be at most, or at least where `least` says so."""

    bound: float
    least: bool = False

    def met(self, value: float) -> bool:
        """Return whether a value reaches the goal."""
        return value >= self.bound if self.least else value <= self.bound


class Figure(NamedTuple):
    """One line of the table: what was measured, the single values, their unit, and what they should be.

    of: which part of the values counts, 0.5 for the median. beside: what it was compared with.
    """

    group: str
    what: str
    values: tuple[float, ...]
    unit: str
    goal: Goal | None = None
    beside: str = ""
    of: float = 0.5

    @property
    def value(self) -> float:
        """The value that counts."""
        return quantile(self.values, self.of)

    @property
    def spread(self) -> tuple[float, float]:
        """The values below which a tenth and nine tenths lie."""
        return quantile(self.values, 0.1), quantile(self.values, 0.9)


def quantile(values: Sequence[float], part: float) -> float:
    """Return the value below which that part of the values lies."""
    ordered = sorted(values)
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)]


class Command(NamedTuple):
    """A command line to time, and what it gets on standard input."""

    argv: Sequence[str]
    stdin: bytes = b""


def run(command: Command, environ: Mapping[str, str], directory: Path) -> float:
    """Return the seconds from a command's start until it was waited for; its input comes from a file."""
    given = directory / "stdin"
    given.write_bytes(command.stdin)
    with given.open("rb") as stdin:
        begun = time.perf_counter()
        subprocess.run(command.argv, stdin=stdin, stdout=subprocess.DEVNULL, env=environ, check=True)
        return time.perf_counter() - begun


def interleaved(
    commands: Mapping[str, Command],
    runs: int,
    environ: Mapping[str, str],
    directory: Path,
    after: Callable[[], None] = lambda: None,
) -> dict[str, tuple[float, ...]]:
    """Return the milliseconds of each command's runs: one of each, and again, so that noise meets all."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            taken = run(command, environ, directory) * 1000
            if number:  # the first round warms the caches
                times[name].append(taken)
        after()
    return {name: tuple(values) for name, values in times.items()}


def ratios(mine: Sequence[float], other: Sequence[float]) -> tuple[float, ...]:
    """Return the ratio of each pair; both were measured one right after the other."""
    return tuple(a / b for a, b in zip(mine, other, strict=True))


class Stand:
    """The programs installed from a wheel, in an environment of their own, with private directories.

    An editable installation would add some 12 ms to every start of Python.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        venv = directory / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        self.bin = venv / "bin"
        self.python = str(self.bin / "python")
        pip = [self.python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        source = directory / "source"
        shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "build"))
        # Programs that older versions of pip make import `re` first, 5 ms of every start.
        subprocess.run([*pip, "install", "--upgrade", "pip"], check=True)
        subprocess.run([*pip, "install", str(source)], check=True)

    def program(self, name: str) -> str:
        """Return the path of an installed program."""
        return str(self.bin / name)

    @contextmanager
    def home(self) -> Iterator[dict[str, str]]:
        """Lend an environment with a home of its own, gone afterwards; on /dev/shm if possible."""
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="bench-", dir=shm) as directory:
            environ = sealed_environment(Path(directory))
            for name in ("PYTHONPATH", "PYTHONWARNINGS"):
                environ.pop(name)
            config = Path(names.config_path(environ))
            config.parent.mkdir(parents=True)
            config.write_text("[broker]\nautostart = false\n")
            for name in names.PLACE_VARIABLES:
                environ.pop(name, None)
            yield environ | {"LANG": "C.UTF-8", "PATH": f"{self.bin}:{os.environ['PATH']}"}

    @contextmanager
    def broker(self, environ: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
        """Run a broker until the block ends."""
        command = [self.program("seance-broker"), "--foreground"]
        process = subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL)
        try:
            eventually(lambda: answers(names.socket_path(environ)))
            yield process
        finally:
            process.terminate()
            process.wait()


def agents(connection: Connection, count: int, event: str = "prompt-submit") -> None:
    """Make workspaces with an agent each, at work unless another event is told."""
    for number in range(1, count + 1):
        where = {"workspace_id": number, "surface_id": number}
        payload = {"session_id": f"session-{number}", "cwd": f"/home/someone/project-{number}"}
        connection.request("agent.hook", {**where, "agent": "claude", "event": event, "payload": payload})


def cpu_seconds(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wake_ups(pid: int) -> int:
    """Return how often a process's threads have slept and been woken: voluntary context switches."""
    return sum(
        number_in(task / "status", "voluntary_ctxt_switches") for task in Path(f"/proc/{pid}/task").iterdir()
    )


def megabytes(pid: int, member: str = "Rss") -> float:
    """Return the megabytes of memory of a process: Rss, or Pss, in which what is shared counts in part."""
    return number_in(Path(f"/proc/{pid}/smaps_rollup"), member) / 1024


def number_in(path: Path, name: str) -> int:
    """Return a number of a file of lines `name: number`."""
    found = re.search(rf"^{name}:\s+(\d+)", path.read_text(), re.M)
    assert found, f"no {name} in {path}"
    return int(found.group(1))


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)
