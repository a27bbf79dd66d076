"""Where the broker sends notifications, with real programs and a stand-in desktop."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seance_tools import client, delivery, names
from seance_tools.broker.channels import Channels
from seance_tools.broker.core import Core
from seance_tools.methods import find
from seance_tools.options import look_up
from seance_tools.store import Store
from seance_tools.wire import Request
from tests.notify.desktop import Bus, Desktop
from tests.support import eventually, soon

Start = Callable[..., subprocess.Popen[bytes]]
# Writes what it is given, and where it runs, into a file of its own; a few are given on its command line.
LISTENER = """
import json, os, sys
event = json.load(sys.stdin)
told = {"event": event, "cwd": os.getcwd(), "environ": dict(os.environ), "group": os.getpgid(0)}
told["argv"] = sys.argv[2:]
name = os.path.join(sys.argv[1], f"{event['id']}.json")
with open(name + ".new", "w") as file:
    json.dump(told, file)
os.rename(name + ".new", name)
"""


class Told:
    """What the user's command was told, by the notification's id."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        self.argv = [sys.executable, "-c", LISTENER, str(directory), "a b", "$HOME"]

    def __call__(self) -> dict[int, dict[str, Any]]:
        return {int(path.stem): json.loads(path.read_text()) for path in self.directory.glob("*.json")}


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path / "told")


@pytest.fixture
def configure(environ: dict[str, str]) -> Callable[..., None]:
    """Write the [notifications] of config.toml."""

    def write(**options: Any) -> None:
        path = Path(names.config_path(environ))
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ["[notifications]", *(f"{name} = {json.dumps(value)}" for name, value in options.items())]
        path.write_text("\n".join(lines) + "\n")

    return write


@pytest.fixture
def ask(environ: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """Send a request to the broker."""
    opened: list[client.Connection] = []

    def request(method: str, **params: Any) -> Any:
        if not opened:
            opened.append(client.Connection(names.socket_path(environ), 10.0))
        return opened[0].request(method, params)

    yield request
    for connection in opened:
        connection.close()


def turn(ask: Callable[..., Any], surface: int = 5, message: str = "all tests pass") -> None:
    """Let an agent do a turn, which ends in a notification."""
    common = {"agent": "claude", "surface_id": surface, "workspace_id": 1}
    ask(
        "agent.hook", event="UserPromptSubmit", payload={"session_id": f"s{surface}", "cwd": "/src"}, **common
    )
    payload = {"session_id": f"s{surface}", "last_assistant_message": message}
    ask("agent.hook", event="Stop", payload=payload, **common)


def works_again(ask: Callable[..., Any]) -> bool:
    turn(ask)
    return not ask("system.health")["warnings"]


def latest(ask: Callable[..., Any]) -> dict[str, Any]:
    row: dict[str, Any] = ask("notification.list")["notifications"][0]
    return row


def test_a_command_is_given_the_event(start_broker: Start, configure: Any, ask: Any, told: Told) -> None:
    configure(command=told.argv)
    broker = start_broker(SEANCE_SURFACE_ID="9", TMUX="/tmp/x,1,2", TMUX_PANE="%1")
    turn(ask, message="done: \"a\" $(id) 'b' \n\x1b[2J é")
    [found] = eventually(told).values()
    event = found["event"]
    assert event.pop("created_at") == pytest.approx(time.time(), abs=60)
    assert event == {
        "event": "notification",
        "id": 1,
        "kind": "completed",
        "title": "Claude Code has finished",
        "subtitle": "",
        "body": "done: \"a\" $(id) 'b'  ␛[2J é",
        "workspace": "Workspace 1",
        "workspace_id": 1,
        "surface_id": 5,
        "session": "claude-5",
        "agent": "claude",
        "display_name": "Claude Code",
        "state": "idle",
        "cwd": "/src",
        "host": "",
        "more": 0,
    }
    assert found["argv"] == ["a b", "$HOME"], "no shell takes the words apart"
    assert found["cwd"] == os.environ["HOME"]
    assert not {"SEANCE_SURFACE_ID", "TMUX", "TMUX_PANE"} & set(found["environ"])
    assert os.getpgid(broker.pid) != found["group"]
    assert latest(ask)["channels"] == ["command"]


def test_once_for_a_transition_and_not_again_after_a_restart(
    start_broker: Start, configure: Any, ask: Any, told: Told, environ: dict[str, str]
) -> None:
    configure(command=told.argv)
    broker = start_broker()
    common = {"agent": "claude", "surface_id": 5, "workspace_id": 1, "event": "PermissionRequest"}
    for _ in range(50):
        ask("agent.hook", payload={"session_id": "s5", "tool_name": "Bash"}, **common)
    eventually(told)
    broker.kill()
    broker.wait()
    start_broker()
    with client.Connection(names.socket_path(environ), 10.0) as connection:
        assert connection.request("notification.list")["unread"] == 1
        fresh = {"title": "fresh", "workspace_id": 1}
        connection.request("notification.create", fresh)
    eventually(lambda: 2 in told())
    assert sorted(told()) == [1, 2]


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["/no/such/program"], "No such file"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "exit status 3"),
    ],
)
def test_a_command_that_fails_is_told_until_it_works(
    start_broker: Start, configure: Any, ask: Any, argv: list[str], problem: str
) -> None:
    configure(command=argv)
    start_broker()
    for _ in range(2):
        turn(ask)
    [warning] = eventually(lambda: ask("system.health")["warnings"])
    assert problem in warning
    configure(command=["true"])
    eventually(lambda: works_again(ask))


def test_a_command_that_reads_nothing_and_does_not_end(
    start_broker: Start, configure: Any, ask: Any, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    script = f"exec 0<&-; sleep 1000 & echo $! $$ >{pids}.new; mv {pids}.new {pids}; wait"
    configure(command=["sh", "-c", script])
    broker = start_broker()
    turn(ask, message="x" * 5000)
    eventually(pids.exists)
    assert ask("system.ping") == {"pong": True}
    broker.terminate()
    broker.wait(10)
    for pid in pids.read_text().split():
        eventually(partial(has_ended, pid))


def has_ended(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_no_more_than_so_many_a_minute(start_broker: Start, configure: Any, ask: Any, told: Told) -> None:
    configure(command=told.argv, per_minute=2)
    start_broker()
    for number in range(4):
        ask("notification.create", title=f"n{number}", workspace_id=1)
    eventually(lambda: len(told()) == 2)
    assert ask("notification.list")["unread"] == 4
    rows = ask("notification.list")["notifications"]
    assert [row["channels"] for row in rows] == [[], [], ["command"], ["command"]]


@pytest.mark.usefixtures("environ")
def test_what_had_to_wait_goes_as_one_and_only_what_is_still_unread(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "PACE_SECONDS", 0.3)

    async def run() -> None:
        core = Core(Store(str(tmp_path / "state.db")), "boot", lambda _events: None)
        core.start()
        core.configure(look_up({"notifications": {"command": told.argv, "per_minute": 1}}))
        channels = Channels(core)
        channels.start()
        for title in ("first", "read", "second", "third"):
            params = {"title": title, "workspace_id": 1}
            core.call(Request(None, "notification.create", params), find("notification.create"))
        core.call(
            Request(None, "notification.mark_read", {"notification_id": 2}), find("notification.mark_read")
        )
        core.commit()
        await soon(lambda: len(told()) == 2)
        await channels.stop()
        core.stop()

    asyncio.run(run())
    assert {number: found["event"]["more"] for number, found in told().items()} == {1: 0, 4: 1}


def test_quiet_hours(start_broker: Start, configure: Any, ask: Any, told: Told) -> None:
    configure(command=told.argv, quiet_hours="00:00-23:59")
    start_broker()
    if time.localtime()[3:5] != (23, 59):
        turn(ask)
        assert ask("notification.list")["unread"] == 1
    configure(command=told.argv)
    eventually(lambda: not ask("notification.create", title="loud", workspace_id=1) or told())
    assert 1 not in told()


def test_a_sound_is_played(
    start_broker: Start, configure: Any, ask: Any, tmp_path: Path, environ: dict[str, str]
) -> None:
    players = tmp_path / "players"
    players.mkdir()
    (players / "pw-play").write_text('#!/bin/sh\necho "$*" >"$HOME/played"\n')
    (players / "pw-play").chmod(0o755)
    configure(sound="~/ding.wav")
    start_broker(PATH=f"{players}:{environ['PATH']}")
    turn(ask)
    played = tmp_path / "played"
    eventually(lambda: played.exists() and played.read_text())
    assert played.read_text() == f"{tmp_path}/ding.wav\n"


def test_the_desktop_shows_them_and_takes_them_away_once_read(
    start_broker: Start, configure: Any, ask: Any, bus: Bus, screen: Desktop
) -> None:
    configure(desktop=True)
    start_broker(DBUS_SESSION_BUS_ADDRESS=bus.address)
    turn(ask)
    assert screen.only()[1]["title"] == "Claude Code has finished"
    turn(ask, surface=6)
    screen.only(2)
    turn(ask, surface=6, message="again")
    assert eventually(lambda: screen.only(2)[1]["body"] == "again")
    ask("notification.mark_read", surface_id=6)
    number, _ = screen.only()
    screen.click(number)
    screen.only(0)
    eventually(lambda: ask("notification.list")["unread"] == 0)
    eventually(lambda: screen.listeners() == 0)


def test_a_broker_that_stops_leaves_nothing_on_the_desktop(
    start_broker: Start, configure: Any, ask: Any, bus: Bus, screen: Desktop
) -> None:
    configure(desktop=True)
    broker = start_broker(DBUS_SESSION_BUS_ADDRESS=bus.address)
    turn(ask)
    screen.only()
    broker.terminate()
    broker.wait(10)
    screen.only(0)


def test_a_desktop_that_cannot_be_reached_is_one_warning_until_it_can(
    start_broker: Start, configure: Any, ask: Any, bus: Bus
) -> None:
    configure(desktop=True)
    start_broker(DBUS_SESSION_BUS_ADDRESS=bus.address)
    for _ in range(3):
        turn(ask)
    [warning] = eventually(lambda: ask("system.health")["warnings"])
    assert warning.startswith("the desktop's notifications cannot be used: ")
    desktop = Desktop(bus)
    eventually(lambda: works_again(ask))
    desktop.close()
