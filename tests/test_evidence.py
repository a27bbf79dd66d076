"""What the broker sees of agents that say nothing: in the event loop, with real files and processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from seance_tools import client, names, terminals
from seance_tools.broker import evidence
from seance_tools.broker.core import Core
from seance_tools.broker.evidence import Evidence
from seance_tools.lifecycle import silence
from seance_tools.methods import find
from seance_tools.store import Store
from seance_tools.wire import Request
from tests.support import eventually, soon

ESC = "[Request interrupted by user]"
BASH: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make"}}
BORDER = "─" * 20
IDLE = f"● Done.\n\n{BORDER}\n❯\n{BORDER}\n  ? for shortcuts\n"
PANE = {"KITTY_LISTEN_ON": "unix:/run/kitty", "KITTY_WINDOW_ID": "7"}


class Desk:
    """A core without sockets, the companion beside it, and a transcript."""

    def __init__(self, core: Core, directory: Path) -> None:
        self.core = core
        self.evidence = Evidence(core)
        self.log = directory / "transcript.jsonl"

    def hear(
        self, event: str, agent: str = "claude", pid: int | None = None, pane: int = 7, **payload: Any
    ) -> None:
        payload = {"session_id": "s1", "transcript_path": str(self.log), **payload}
        params: dict[str, Any] = {"agent": agent, "event": event, "payload": payload}
        params["env"] = {**PANE, "KITTY_WINDOW_ID": str(pane)}
        if pid:
            params["pid"] = pid
        self.core.call(Request(1, "agent.hook", params), find("agent.hook"))
        self.core.commit()

    def write(self, kind: str, content: Any, at: float | None = None, **message: Any) -> None:
        stamp = datetime.fromtimestamp(time.time() if at is None else at, UTC).isoformat()
        entry = {"type": kind, "timestamp": stamp, "message": {"role": kind, "content": content, **message}}
        with self.log.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    @property
    def row(self) -> dict[str, Any]:
        [row] = self.core.tables.all("agent")
        return row

    async def becomes(self, *states: str) -> None:
        await soon(lambda: self.row["state"] in states, f"{states}")


@asynccontextmanager
async def desk(directory: Path) -> AsyncIterator[Desk]:
    store = Store(str(directory / "state.db"))
    core = Core(store, "boot", lambda _: None)
    core.start()
    made = Desk(core, directory)
    made.evidence.start()
    yield made
    await made.evidence.stop()
    core.stop()
    assert core.counters["faults"] == 0
    assert core.notes == []


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks that come soon."""
    monkeypatch.setattr(evidence, "FIRST_SECONDS", 0.02)
    monkeypatch.setattr(evidence, "LAST_SECONDS", 0.1)
    monkeypatch.setattr(evidence, "STILL_SECONDS", 0.05)
    monkeypatch.setattr(silence, "_STILL_SECONDS", 0.04)


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse", "PermissionRequest"])
def test_esc_is_seen_in_the_transcript_at_once(event: str, tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as made:
            made.write("user", "earlier")
            made.hear(event, **BASH)
            made.write("user", [{"type": "text", "text": ESC}])
            await made.becomes("idle")
            assert (made.row["source"], made.row["inferred"]) == ("log", True)
            assert made.row["evidence"]["rule"] == silence.INTERRUPTED_RULE
            assert made.evidence.next_look() is None  # nothing is at work
            unread = [row for row in made.core.tables.all("notification") if not row["read"]]
            assert unread == []
            made.hear("UserPromptSubmit")
            assert made.row["state"] == "running"
            made.write("user", ESC)
            await made.becomes("idle")

    asyncio.run(run())


@pytest.mark.usefixtures("quick")
def test_what_was_written_before_the_last_report_does_not_count(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as made:
            made.write("user", ESC)  # before it was followed
            made.hear("UserPromptSubmit")
            made.write("user", ESC, at=time.time() - 60)
            made.write("assistant", "x", id="m1")
            woken = made.evidence.wakeups
            await soon(lambda: made.evidence.wakeups > woken + 3)
            assert made.row["state"] == "running"

    asyncio.run(run())


def test_a_denial_and_what_follows_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as made:
            made.log.touch()
            made.hear("UserPromptSubmit")
            made.write("assistant", [{"type": "tool_use", "id": "t1"}], id="m1")
            made.hear("PreToolUse", tool_use_id="t1", **BASH)
            made.hear("PermissionRequest", **BASH)
            made.write("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "rejected"}])
            await made.becomes("running")
            assert made.row["evidence"]["rule"] == silence.ANSWERED_RULE
            made.hear("PermissionRequest", tool_name="Other")  # of which no call is known
            made.write("assistant", "Well then.", id="m2")
            await made.becomes("running")
            assert made.row["evidence"]["rule"] == silence.ASKED_AGAIN_RULE
            assert made.evidence.next_look() is not None

    asyncio.run(run())


def test_codexs_rollout(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as made:
            made.log.touch()
            made.hear("UserPromptSubmit", agent="codex")
            stamp = datetime.now(UTC).isoformat()
            entry = {"timestamp": stamp, "type": "event_msg", "payload": {"type": "turn_aborted"}}
            with made.log.open("a") as file:
                file.write(json.dumps(entry) + "\n")
            await made.becomes("idle")

    asyncio.run(run())


@pytest.mark.usefixtures("quick")
def test_a_transcript_that_comes_after_the_prompt(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as made:
            made.log = tmp_path / "new" / "t.jsonl"
            made.hear("UserPromptSubmit")
            made.log.parent.mkdir()
            made.write("user", ESC)
            await made.becomes("idle")

    asyncio.run(run())


def test_a_broker_that_starts_anew_follows_what_is_at_work(tmp_path: Path) -> None:
    async def run(*, first: bool) -> None:
        async with desk(tmp_path) as made:
            if first:
                made.log.touch()
                made.hear("UserPromptSubmit")
            else:
                assert made.evidence.next_look() is not None
                made.write("user", ESC)
                await made.becomes("idle")

    asyncio.run(run(first=True))
    asyncio.run(run(first=False))


def test_sessions_of_one_log_and_a_log_that_changes(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as made:
            made.log.touch()
            made.hear("UserPromptSubmit")
            old, made.log = made.log, tmp_path / "other.jsonl"
            made.log.touch()
            made.hear("PreToolUse", **BASH)
            with old.open("a") as file:
                file.write(json.dumps({"type": "user", "timestamp": "2100-01-01T00:00:00Z"}) + "\n")
            made.write("user", ESC)
            await made.becomes("idle")

    asyncio.run(run())


def test_a_flood_of_lines_wakes_it_rarely(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as made:
            made.log.touch()
            made.hear("UserPromptSubmit")
            began = time.monotonic()
            for number in range(2000):
                made.write("assistant", "x" * 100, id=f"m{number}")
                if number % 20 == 0:
                    await asyncio.sleep(0)
            made.write("user", ESC)
            await made.becomes("idle")
            elapsed = time.monotonic() - began
            assert made.evidence.wakeups <= elapsed / evidence.PAUSE_SECONDS + 2

    asyncio.run(run())


def test_where_nothing_is_at_work_there_is_no_timer(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as made:
            assert made.evidence.next_look() is None
            for begin, end in (
                ("UserPromptSubmit", "Stop"),
                ("PermissionRequest", "StopFailure"),
                ("UserPromptSubmit", "SessionEnd"),
            ):
                made.hear(begin)
                due = made.evidence.next_look()
                assert due is not None
                assert due == pytest.approx(made.row["heard_at"] + 15.0)
                made.hear(end)
                assert made.evidence.next_look() is None
            assert made.evidence.wakeups == 0

    asyncio.run(run())


def test_reports_that_come_often_do_not_move_the_timer(tmp_path: Path) -> None:
    async def run() -> None:
        async with desk(tmp_path) as made:
            made.hear("UserPromptSubmit")
            due = made.evidence.next_look()
            for _ in range(50):
                made.hear("PreToolUse", **BASH)
            assert made.evidence.next_look() == due

    asyncio.run(run())


# The screen


def screens(monkeypatch: pytest.MonkeyPatch, show: Callable[[int], str | None]) -> list[str]:
    """Have the panes show what `show` says at each reading; returns the places that are read."""
    read: list[str] = []

    async def read_screen(place: str) -> str | None:
        read.append(place)
        return show(len(read))

    monkeypatch.setattr(terminals, "read_screen", read_screen)
    return read


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("event", ["UserPromptSubmit", "PermissionRequest"])
def test_a_prompt_that_rests_on_the_screen_ends_the_turn(
    event: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = screens(monkeypatch, lambda _: IDLE)

    async def run() -> None:
        async with desk(tmp_path) as made:
            made.hear(event)
            await made.becomes("idle")
            assert (made.row["source"], made.row["inferred"]) == ("screen", True)
            assert made.row["evidence"]["rule"] == silence.PROMPT_RULE
            assert set(read) == {"kitty:unix:/run/kitty:7"}
            assert made.evidence.next_look() is None

    asyncio.run(run())


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "show",
    [
        lambda _: None,
        lambda _: "",
        lambda count: f"{IDLE}{count}",  # it still draws
        lambda _: f"✻ Brewing… (12s · esc to interrupt)\n{IDLE}",
        lambda _: f"{BORDER}\n Bash command\n\n   make\n\n Do you want to proceed?\n ❯ 1. Yes\n\n",
        lambda _: "> fix the test\n\n● Done.\n",  # what was asked before
        lambda _: f"{BORDER}\n❯ 1. Yes\n",
    ],
)
def test_other_screens_prove_nothing(
    show: Callable[[int], str | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = screens(monkeypatch, show)

    async def run() -> None:
        async with desk(tmp_path) as made:
            made.hear("PermissionRequest")
            await soon(lambda: len(read) > 3)
            assert made.row["state"] == "needs_input"

    asyncio.run(run())


@pytest.mark.usefixtures("quick")
def test_a_report_between_two_looks_at_the_screen_counts_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "LAST_SECONDS", 60.0)

    async def run() -> None:
        async with desk(tmp_path) as made:

            def show(count: int) -> str:
                if count == 2:
                    made.hear("PreToolUse", **BASH)
                return IDLE

            read = screens(monkeypatch, show)
            made.hear("UserPromptSubmit")
            await soon(lambda: len(read) > 1)
            assert made.row["state"] == "running"

    asyncio.run(run())


@pytest.mark.parametrize("screen", [IDLE, "╭──────────────╮\n│ > try this   │\n╰──────────────╯\n"])
def test_claude_codes_prompt_is_known(screen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screens(monkeypatch, lambda _: screen)
    monkeypatch.setattr(evidence, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(evidence, "STILL_SECONDS", 0.01)
    monkeypatch.setattr(silence, "_STILL_SECONDS", 0.0)

    async def run() -> None:
        async with desk(tmp_path) as made:
            made.hear("UserPromptSubmit")
            await made.becomes("idle")

    asyncio.run(run())


def test_a_log_of_several_sessions_tells_of_none_and_their_screens_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "STILL_SECONDS", 0.05)
    monkeypatch.setattr(silence, "_STILL_SECONDS", 0.04)
    read: list[str] = []

    async def read_screen(place: str) -> str:
        read.append(place)
        return IDLE if place.endswith(":7") else "✻ Brewing… (12s · esc to interrupt)\n"

    monkeypatch.setattr(terminals, "read_screen", read_screen)

    async def run() -> None:
        async with desk(tmp_path) as made:

            def shown() -> dict[str, tuple[str, str]]:
                return {
                    row["session"]: (row["state"], row["source"]) for row in made.core.tables.all("agent")
                }

            made.log.touch()
            for pane in (7, 8):
                made.hear("UserPromptSubmit", pane=pane)
            made.hear("PermissionRequest", pane=8, tool_use_id="t1", **BASH)
            made.write("user", ESC)
            await soon(lambda: shown()["claude-1"] == ("idle", "screen"))
            assert shown()["claude-2"] == ("needs_input", "hook")
            assert len(read) == 3  # at once, not when the agents have been silent for long
            made.hear("UserPromptSubmit")
            made.write("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "rejected"}])
            await soon(lambda: shown()["claude-2"] == ("running", "log"))
            made.hear("Stop")
            made.write("user", ESC)  # of the only one that is at work
            await soon(lambda: shown()["claude-2"] == ("idle", "log"))

    asyncio.run(run())


@pytest.mark.usefixtures("quick")
def test_screens_are_looked_at_though_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screens(monkeypatch, lambda _: IDLE)
    clock = time.time

    async def run() -> None:
        async with desk(tmp_path) as made:
            made.hear("UserPromptSubmit")
            monkeypatch.setattr(time, "time", lambda: clock() - 3600)
            await made.becomes("idle")

    asyncio.run(run())


def test_looks_come_at_doubling_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "FIRST_SECONDS", 0.05)
    read = screens(monkeypatch, lambda _: None)

    async def run() -> None:
        async with desk(tmp_path) as made:
            began = time.monotonic()
            made.hear("UserPromptSubmit")
            await soon(lambda: len(read) == 4)
            assert time.monotonic() - began >= 0.05 * (1 + 2 + 4 + 8) * 0.95
            made.hear("PreToolUse", **BASH)  # it is heard: from the first again
            await soon(lambda: len(read) == 5)
            due = made.evidence.next_look()
            assert due is not None
            assert due - time.time() <= 0.1

    asyncio.run(run())


# The process


@pytest.mark.usefixtures("quick")
def test_a_stopped_process_and_one_that_goes_on(tmp_path: Path) -> None:
    async def run(process: subprocess.Popen[bytes]) -> None:
        async with desk(tmp_path) as made:
            made.hear("UserPromptSubmit", pid=process.pid)
            os.kill(process.pid, signal.SIGSTOP)
            await made.becomes("unknown")
            assert (made.row["text"], made.row["evidence"]["rule"]) == ("Stopped", silence.STOPPED_RULE)
            assert made.evidence.next_look() is not None
            os.kill(process.pid, signal.SIGCONT)
            await made.becomes("running")
            assert made.row["evidence"]["rule"] == silence.CONTINUED_RULE

    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            asyncio.run(run(process))
        finally:
            process.kill()


# In the broker


@pytest.mark.usefixtures("broker")
def test_the_broker_tells_why(environ: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "t.jsonl"
    log.touch()
    with client.Connection(names.socket_path(environ), 10.0) as connection:

        def explained() -> Any:
            [row] = connection.request("agent.explain", {"agent": "claude"})["agents"]
            return row

        payload = {"session_id": "s1", "transcript_path": str(log)}
        eventually(lambda: connection.request("system.health")["status"] == "ok")
        report = {"agent": "claude", "event": "UserPromptSubmit", "payload": payload}
        connection.request("agent.hook", report)
        assert explained()["state"] == "running"
        assert f"an interruption in {log}" in explained()["explanation"]["would_change"]["idle"]
        entry = {"type": "user", "timestamp": datetime.now(UTC).isoformat(), "message": {"content": ESC}}
        log.write_text(json.dumps(entry) + "\n")
        eventually(lambda: explained()["state"] == "idle")
        row = explained()
        assert row["explanation"]["rule"] == "its transcript says that it was interrupted"
        assert (row["explanation"]["source"], row["explanation"]["inferred"]) == ("log", True)
