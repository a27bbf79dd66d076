"""What the monitor reports of a session whose log it understands, with the stand-in agent on a terminal."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from tests.codebuff.conftest import Stage
from tests.support import eventually
from tests.terminal import Terminal

CONFIG = '[codebuff]\nidle-timeout = 0.4\ndetection = "turns"\n'
INTERRUPT = "\x03"


def begin(stage: Stage, *argv: str, config: str = CONFIG) -> Terminal:
    """Start the stand-in and wait until the monitor is there, and knows the log."""
    stage.configure(config)
    terminal = stage.terminal("codebuff-wrapper", *argv)
    terminal.expect("codebuff> ")
    eventually(lambda: reports(stage, terminal.pid))
    return terminal


def reports(stage: Stage, pid: int) -> list[tuple[Any, ...]]:
    """What was reported of the agent `pid`: events with what their payload says."""
    found = []
    for request in list(stage.broker.requests):
        params = request["params"]
        if params["pid"] == pid:
            said = {name: value for name, value in params["payload"].items() if name != "cwd"}
            found.append((params["event"], *said.values()))
    return found


def await_reports(stage: Stage, pid: int, *expected: tuple[Any, ...] | str) -> None:
    """Wait until just this was reported of the agent `pid`."""
    wanted = [item if isinstance(item, tuple) else (item,) for item in expected]
    try:
        eventually(lambda: reports(stage, pid) == wanted)
    except AssertionError:
        assert reports(stage, pid) == wanted


def leave(*terminals: Terminal) -> None:
    for terminal in terminals:
        terminal.type("quit\n")
        terminal.wait()


def test_a_silent_turn_stays_open_and_noise_is_nothing(stage: Stage) -> None:
    with begin(stage) as terminal:
        terminal.type("noise\n")
        terminal.type("turn-silent 2\n")
        await_reports(stage, terminal.pid, "session-start", "prompt-submit")
        begun = stage.broker.moments[-1]
        await_reports(stage, terminal.pid, "session-start", "prompt-submit", "stop")
        assert stage.broker.moments[-1] - begun > 1.5
        terminal.type("noise\n")
        leave(terminal)
        await_reports(stage, terminal.pid, "session-start", "prompt-submit", "stop", "session-end")
    assert {request["params"].get("source") for request in stage.broker.requests[:-1]} == {"log"}


def test_in_auto_it_begins_as_documented_and_then_turns_decide(stage: Stage) -> None:
    with begin(stage, config="[codebuff]\nidle-timeout = 0.4\n") as terminal:
        await_reports(stage, terminal.pid, "prompt-submit", "stop")
        terminal.type("turn-silent 2\n")
        await_reports(stage, terminal.pid, "prompt-submit", "stop", "prompt-submit")
        begun = stage.broker.moments[-1]
        await_reports(stage, terminal.pid, "prompt-submit", "stop", "prompt-submit", "stop")
        assert stage.broker.moments[-1] - begun > 1.5
        sources = [request["params"]["source"] for request in stage.broker.requests]
        assert sources == ["activity", "activity", "log", "log"]
        leave(terminal)


def test_cancel_error_and_a_failure_that_only_the_save_tells(stage: Stage) -> None:
    said: list[tuple[Any, ...] | str] = ["session-start"]
    with begin(stage) as terminal:
        terminal.type("turn-silent 60\n")
        await_reports(stage, terminal.pid, *said, "prompt-submit")
        terminal.type(INTERRUPT)
        said += ["prompt-submit", "interrupt"]
        await_reports(stage, terminal.pid, *said)
        terminal.type("fail the provider is down\n")
        said += ["prompt-submit", ("error", "the provider is down")]
        await_reports(stage, terminal.pid, *said)
        terminal.type("no-credits\n")
        said += ["prompt-submit", ("error", "You are out of credits.")]
        await_reports(stage, terminal.pid, *said)
        terminal.type("turn 1\n")
        said += ["prompt-submit", "stop"]
        await_reports(stage, terminal.pid, *said)
        leave(terminal)


def test_what_it_does_and_its_sub_agents(stage: Stage) -> None:
    said: list[tuple[Any, ...] | str] = ["session-start", "prompt-submit"]
    with begin(stage) as terminal:
        terminal.type("edit src/cart.py\n")
        said += [("pre-tool-use", "editing cart.py")]
        await_reports(stage, terminal.pid, *said)
        terminal.type("\n")
        said += ["stop"]
        await_reports(stage, terminal.pid, *said)
        terminal.type("spawn 3\n")
        eventually(lambda: subagents(stage) == ["p0", "p1", "p2"])
        terminal.type("\n")
        eventually(lambda: subagents(stage) == [])
        terminal.type("\n")
        eventually(lambda: reports(stage, terminal.pid)[-1] == ("stop", 3))
        leave(terminal)


def subagents(stage: Stage) -> list[str] | None:
    """The sub-agents as last told."""
    params = [request["params"] for request in list(stage.broker.requests)]
    told = [item["payload"]["subagents"] for item in params if item["event"] == "subagent-update"]
    return told[-1] if told else None


def test_two_panes_of_one_project_and_of_the_same_base_name(stage: Stage) -> None:
    (stage.path / "other" / stage.path.name).mkdir(parents=True)
    with (
        begin(stage) as one,
        begin(stage) as two,
        begin(stage, "--cwd", f"other/{stage.path.name}") as three,
    ):
        for terminal in (two, one, three):
            before = {other.pid: reports(stage, other.pid) for other in (one, two, three)}
            terminal.type("turn-silent 1\n")
            await_reports(stage, terminal.pid, *before.pop(terminal.pid), "prompt-submit", "stop")
            assert all(reports(stage, pid) == said for pid, said in before.items())
        leave(one, two, three)
    logs = list(stage.path.rglob("log.jsonl"))
    assert len(logs) == 3
    assert len({log.parent.parent for log in logs}) == 1


def test_a_new_chat_and_one_that_is_resumed(stage: Stage) -> None:
    said = ["session-start", "prompt-submit", "stop"]
    with begin(stage) as terminal:
        terminal.type("turn 1\n")
        await_reports(stage, terminal.pid, *said)
        terminal.type("new\n")
        terminal.type("turn 1\n")
        await_reports(stage, terminal.pid, *said, "prompt-submit", "stop")
        assert len(list(stage.path.rglob("log.jsonl"))) == 2
        leave(terminal)
    with begin(stage, "--continue") as terminal:
        terminal.type("noise\n")
        terminal.type("turn-silent 1\n")
        await_reports(stage, terminal.pid, *said)
        terminal.type("no-credits\n")
        await_reports(stage, terminal.pid, *said, "prompt-submit", ("error", "You are out of credits."))
        leave(terminal)


def test_two_sessions_that_resume_one_chat(stage: Stage) -> None:
    with begin(stage) as first:
        first.type("turn 1\n")
        await_reports(stage, first.pid, "session-start", "prompt-submit", "stop")
        with begin(stage, "--continue") as second:
            assert ask(first, "log") == ask(second, "log")
            second.type("turn-silent 1\n")
            await_reports(stage, second.pid, "session-start", "prompt-submit", "stop")
            first.type("turn-silent 1\n")
            await_reports(stage, first.pid, "session-start", *["prompt-submit", "stop"] * 2)
            await_reports(stage, second.pid, "session-start", "prompt-submit", "stop")
            leave(second)
        leave(first)


def ask(terminal: Terminal, word: str) -> str:
    """The stand-in's answer to a word."""
    terminal.output = b""
    terminal.type(f"{word}\n")
    terminal.expect(f"{word}\r\n")
    while b"\r\n" not in terminal.output:
        terminal.read(0.1)
    return terminal.output.split(b"\r\n")[0].decode()


def with_launcher(stage: Stage) -> None:
    """Put a launcher before the stand-in, as the real one has."""
    shutil.move(stage.path / "bin/codebuff", stage.path / "bin/codebuff-binary")
    launcher = Path(__file__).parent.parent / "standins" / "codebuff-launcher"
    stage.agent(launcher.read_text().replace("/usr/bin/env python3", sys.executable, 1))


def test_the_launcher_replaces_its_child_in_a_turn(stage: Stage) -> None:
    with_launcher(stage)
    with begin(stage) as terminal:
        said = ["session-start", "prompt-submit"]
        terminal.type("turn-silent 60\n")
        await_reports(stage, terminal.pid, *said)
        os.kill(terminal.pid, signal.SIGUSR1)
        terminal.expect("codebuff> ")
        said += ["interrupt"]
        await_reports(stage, terminal.pid, *said)
        terminal.type("turn 1\n")
        said += ["prompt-submit", "stop"]
        await_reports(stage, terminal.pid, *said)
        leave(terminal)
        await_reports(stage, terminal.pid, *said, "session-end")


def test_the_child_is_killed_in_a_turn(stage: Stage) -> None:
    with_launcher(stage)
    with begin(stage) as terminal:
        child = int(ask(terminal, "pid"))
        assert child != terminal.pid
        terminal.type("turn-silent 60\n")
        await_reports(stage, terminal.pid, "session-start", "prompt-submit")
        os.kill(child, signal.SIGKILL)
        assert terminal.wait() == 1
        eventually(lambda: reports(stage, terminal.pid)[-1] == ("session-end",))
