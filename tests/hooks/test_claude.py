"""A stand-in for Claude Code that runs our hooks, and a real broker that hears of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seance_tools import names
from seance_tools.agents import BY_KEY
from seance_tools.client import Connection
from seance_tools.install import plan
from tests.support import eventually

CLAUDE = Path(__file__).parent.parent / "standins" / "claude"
SETTINGS = Path(__file__).parent.parent.parent / "hooks" / "claude.json"
PERMISSION = 'PermissionRequest:{"tool_name": "Bash", "tool_input": {"command": "make"}}'


class Claude:
    """A run of the stand-in in surface 7; each step goes on when it is told to."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = {**environ, "SEANCE_SURFACE_ID": "7"}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        program = Path(self.environ["HOME"]) / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        shutil.copy(CLAUDE, program)
        self.process = subprocess.Popen(
            [program, *arguments],
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self.process

    def go_on(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> str:
        output, _ = self.process.communicate(timeout=10)
        assert self.process.returncode == 0
        return output

    def rows(self) -> list[dict[str, Any]]:
        with Connection(names.socket_path(self.environ)) as connection:
            return list(connection.request("agent.list")["agents"])

    def state(self) -> str:
        rows = self.rows()
        return str(rows[0]["state"]) if rows else ""

    def becomes(self, state: str) -> None:
        eventually(lambda: self.state() == state, what=f"{state}; is {self.state()}")


@pytest.fixture
def claude(environ: dict[str, str], broker: object) -> Claude:  # noqa: ARG001 - must run
    return Claude(environ)


def a_turn(claude: Claude, *before: str) -> None:
    words = [
        "SessionStart",
        "wait",
        "UserPromptSubmit",
        "wait",
        PERMISSION,
        "wait",
        "Stop",
        "wait",
        "SessionEnd",
    ]
    claude.start(*before, *words)
    for state in ("idle", "running", "needs_input", "idle"):
        claude.becomes(state)
        [row] = claude.rows()
        assert (row["agent"], row["surface_id"], row["pid"]) == ("claude", 7, claude.process.pid)
        claude.go_on()
    assert claude.end() == ""
    eventually(lambda: claude.rows() == [], what="the session's end")


def test_installed_hooks_tell_of_a_turn(claude: Claude) -> None:
    [change] = plan.changes(BY_KEY["claude"], claude.environ, install=True)
    plan.carry_out(change)
    a_turn(claude)


def test_hooks_for_one_launch_tell_of_a_turn(claude: Claude) -> None:
    a_turn(claude, "--settings", str(SETTINGS))
    assert not (Path(claude.environ["HOME"]) / ".claude").exists()


def test_the_users_own_hooks_go_on(claude: Claude) -> None:
    path = Path(plan.target(BY_KEY["claude"], claude.environ))
    path.parent.mkdir()
    own = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo mine"}]}]}}
    path.write_text(json.dumps(own))
    [change] = plan.changes(BY_KEY["claude"], claude.environ, install=True)
    plan.carry_out(change)
    claude.start("--settings", str(SETTINGS), "UserPromptSubmit", "Stop", "wait")
    claude.becomes("idle")
    [row] = claude.rows()
    assert row["surface_id"] == 7
    claude.go_on()
    assert claude.end() == "mine\n"
    with Connection(names.socket_path(claude.environ)) as connection:
        spool = connection.request("system.health")["spool"]
    assert spool["taken"] == 2  # both ways at once are one report an event


def settings(**hooks: str) -> str:
    """Settings with a hook of the user's an event, as JSON."""
    rows = {event: [{"hooks": [{"type": "command", "command": hook}]}] for event, hook in hooks.items()}
    return json.dumps({"hooks": rows, "statusLine": {"type": "command", "command": "mine"}})


def test_the_stand_in_runs_hooks_side_by_side_and_without_a_terminal(claude: Claude, tmp_path: Path) -> None:
    """Each waits until the other has come: one after the other they would never end."""
    first, second = tmp_path / "first", tmp_path / "second"
    os.mkfifo(first)
    os.mkfifo(second)
    path = Path(plan.target(BY_KEY["claude"], claude.environ))
    path.parent.mkdir()
    path.write_text(settings(Stop=f"echo >{first}; read x <{second}; cat >/dev/null"))
    no_terminal = "(: </dev/tty) 2>/dev/null && echo terminal"
    claude.start("--settings=" + settings(Stop=f"read x <{first}; echo >{second}; {no_terminal}; :"), "Stop")
    assert claude.end() == ""


def test_the_stand_in_ends_hooks_that_are_too_slow_at_the_end(claude: Claude) -> None:
    claude.start("--settings", settings(SessionEnd="cat; exec sleep 60", Stop="exit 3"), "Stop", "SessionEnd")
    assert claude.end() == "Stop: hook failed with 3\nSessionEnd: hook took too long\n"


def test_our_hooks_are_done_in_time_at_the_end(claude: Claude) -> None:
    """With others of the user's that take all the time there is."""
    path = Path(plan.target(BY_KEY["claude"], claude.environ))
    path.parent.mkdir()
    path.write_text(settings(SessionEnd="cat >/dev/null; exec sleep 60"))
    claude.start("--settings", str(SETTINGS), "UserPromptSubmit", "wait", "SessionEnd")
    claude.becomes("running")
    claude.go_on()
    assert claude.end() == "SessionEnd: hook took too long\n"
    with Connection(names.socket_path(claude.environ)) as connection:
        assert connection.request("system.health")["spool"]["taken"] == 2


def test_the_users_settings_are_what_they_were(claude: Claude) -> None:
    path = Path(plan.target(BY_KEY["claude"], claude.environ))
    path.parent.mkdir()
    path.write_text(settings(Stop="echo mine"))
    before = json.loads(path.read_text())
    [change] = plan.changes(BY_KEY["claude"], claude.environ, install=True)
    plan.carry_out(change)
    after = json.loads(path.read_text())
    assert after["statusLine"] == before["statusLine"]
    assert after["hooks"]["Stop"][0] == before["hooks"]["Stop"][0]


def test_without_a_broker_the_agent_does_not_notice(environ: dict[str, str]) -> None:
    claude = Claude(environ)
    claude.start("--settings", str(SETTINGS), "SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    assert claude.end() == ""


def test_a_session_that_is_killed_is_gone(claude: Claude) -> None:
    claude.start("--settings", str(SETTINGS), "SessionStart", "UserPromptSubmit", "wait")
    claude.becomes("running")
    os.kill(claude.process.pid, 9)
    claude.process.communicate()
    eventually(lambda: claude.rows() == [], what="the session's end")


def test_a_stopped_broker_hears_of_it_later(
    environ: dict[str, str], start_broker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    broker = start_broker()
    claude = Claude(environ)
    broker.kill()
    broker.wait()
    claude.start("--settings", str(SETTINGS), "SessionStart", "UserPromptSubmit", "wait")
    eventually(lambda: len(os.listdir(names.spool_path(names.socket_path(environ)))) == 2)
    start_broker()
    claude.becomes("running")
    claude.go_on()
    claude.end()
