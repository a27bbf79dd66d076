"""The same for other agents: Freebuff, Poolside, whatever a person names, and sessions begun elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from seance_tools import client, names
from tests.codebuff.conftest import STANDIN, WRAPPER, Stage
from tests.support import eventually

STANDINS = STANDIN.parent
TURNS = 'idle-timeout = 0.4\ndetection = "turns"\n'
# Appends a line to its log for each that is typed, and holds it open as agents do.
MYTOOL = """#!{python}
import os, sys
os.makedirs("{home}/.mytool/a", exist_ok=True)
with open("{home}/.mytool/a/" + sys.argv[1], "a", 1) as log:
    print("mytool>", flush=True)
    for line in sys.stdin:
        if line == "quit\\n":
            break
        log.write(line)
"""


def hooks(stage: Stage) -> list[dict[str, Any]]:
    """The params of every report."""
    return [item["params"] for item in list(stage.broker.requests) if item["method"] == "agent.hook"]


def told(stage: Stage, agent: str) -> list[tuple[str, str]]:
    """What was reported of an agent: events with what it does, or why it failed."""
    return [
        (item["event"], item["payload"].get("status", item["payload"].get("message", "")))
        for item in hooks(stage)
        if item["agent"] == agent and item["event"] != "log"
    ]


def put(stage: Stage, name: str, standin: str) -> None:
    """Put a stand-in and its wrapper on PATH."""
    stage.program(f"bin/{name}-wrapper", WRAPPER)
    text = (STANDINS / standin).read_text()
    stage.program(f"bin/{name}", text.replace("/usr/bin/env python3", sys.executable, 1))


def test_freebuff_by_the_wrappers_name(stage: Stage) -> None:
    put(stage, "freebuff", "codebuff")
    stage.configure("[freebuff]\n" + TURNS)
    with stage.terminal("freebuff-wrapper") as terminal:
        terminal.expect("codebuff> ")
        eventually(lambda: told(stage, "freebuff") == [("session-start", "")])
        terminal.type("edit a.py\n")
        eventually(
            lambda: told(stage, "freebuff")[1:] == [("prompt-submit", ""), ("pre-tool-use", "editing a.py")]
        )
        terminal.type("\nquit\n")
        assert terminal.wait() == 0
    eventually(lambda: told(stage, "freebuff")[-1][0] == "session-end")
    assert {request["params"]["agent"] for request in stage.broker.requests} == {"freebuff"}


@pytest.mark.parametrize("state", ["", "elsewhere"])
def test_poolside_and_its_child(stage: Stage, state: str) -> None:
    put(stage, "pool", "pool")
    stage.environ.pop("XDG_STATE_HOME", None)
    if state:
        stage.environ["XDG_STATE_HOME"] = f"{stage.path}/{state}"
    stage.configure("[poolside]\n" + TURNS)
    with stage.terminal("pool-wrapper") as terminal:
        terminal.expect("pool> ")
        eventually(lambda: told(stage, "poolside") == [("session-start", "")])
        terminal.type("turn src/cart.py\n")
        terminal.expect("working> ")
        doing = [("prompt-submit", ""), ("pre-tool-use", "editing cart.py")]
        eventually(lambda: told(stage, "poolside")[1:] == doing)
        terminal.type("\n")
        eventually(lambda: told(stage, "poolside")[-1] == ("stop", ""))
        terminal.type("fail no network\n")
        failed = [("stop", ""), ("prompt-submit", ""), ("error", "no network")]
        eventually(lambda: told(stage, "poolside")[-3:] == failed)
        terminal.type("quit\n")
        assert terminal.wait() == 0
    eventually(lambda: told(stage, "poolside")[-1][0] == "session-end")


def test_pool_that_is_no_session(stage: Stage) -> None:
    put(stage, "pool", "pool")
    for word in ("--version", "login"):
        with stage.terminal("pool-wrapper", word) as terminal:
            assert terminal.wait() == 0
    eventually(lambda: not stage.processes())
    assert stage.broker.requests == []


@pytest.mark.parametrize("command", ["mytool", "./bin/mytool"])
def test_any_program_by_a_glob_of_the_configuration(stage: Stage, command: str) -> None:
    stage.program("bin/mytool", MYTOOL.format(python=sys.executable, home=stage.path))
    stage.configure('[codebuff]\nidle-timeout = 0.4\n[agents.mytool]\nlog = "~/.mytool/**/*.jsonl"\n')
    argv = ("codebuff-wrapper", "--agent", "mytool", "--", command, "x.jsonl")
    with stage.terminal(*argv) as one, stage.terminal(*argv[:-1], "x.json") as other:
        for terminal in (one, other):
            terminal.expect("mytool>")
        stage.broker.await_events(*["prompt-submit"] * 2, *["stop"] * 2)
        other.type("not a log\n")
        one.type("a line\n")
        stage.broker.await_events(*["prompt-submit"] * 2, *["stop"] * 2, "prompt-submit", "stop")
        assert {request["params"]["pid"] for request in stage.broker.requests[4:]} == {one.pid}
        assert {request["params"]["source"] for request in stage.broker.requests} == {"activity"}
        for terminal in (one, other):
            terminal.type("quit\n")
            assert terminal.wait() == 0


def test_a_program_whose_logs_nobody_knows_is_shown_all_the_same(stage: Stage) -> None:
    stage.program("bin/mytool", "read line; exit 7")
    with stage.terminal("codebuff-wrapper", "--agent", "mytool", "--", "mytool") as terminal:
        eventually(stage.broker.notes)
        terminal.type("\n")
        assert terminal.wait() == 7
    stage.broker.await_events("prompt-submit", "session-end")
    assert "agents.mytool.log" in stage.broker.notes()[0]


def test_a_program_that_is_missing(stage: Stage) -> None:
    with stage.terminal("codebuff-wrapper", "--agent", "mytool", "--", "mytool") as terminal:
        assert terminal.wait() == 127
        assert terminal.output == b"codebuff-wrapper: mytool: not found\r\n"


@pytest.mark.parametrize("how", ["typed", "linked", "no command"])
def test_the_agents_own_option_of_that_name_is_the_agents(stage: Stage, how: str) -> None:
    stage.agent('echo "<$*>"')
    program, environ = "codebuff-wrapper", {}
    arguments = ["--agent", "base2", "--", "fix it"]
    if how == "typed":
        environ = {"SEANCE_COMMAND": "codebuff"}
    elif how == "linked":
        (stage.path / "first").mkdir()
        (stage.path / "first/codebuff").symlink_to(stage.path / "bin/codebuff-wrapper")
        program, environ = "codebuff", {"PATH": f"{stage.path}/first:{stage.environ['PATH']}"}
    else:
        arguments = ["--agent", "base2", "fix it"]
    with stage.terminal(program, *arguments, environ=environ) as terminal:
        assert terminal.wait() == 0
        assert f"<{' '.join(arguments)}>" in terminal.output.decode()


def attach(stage: Stage, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["codebuff-wrapper", "--attach", *arguments]
    return subprocess.run(command, env=stage.environ, capture_output=True, text=True, timeout=20)


def test_attaching_to_a_session_begun_without_the_wrapper(stage: Stage) -> None:
    stage.configure("[codebuff]\n" + TURNS)
    environ = {"TMUX": "/t,1,0", "TMUX_PANE": "%3", "SEANCE_HOST": "box"}
    with stage.terminal("codebuff", environ=environ) as terminal:
        terminal.expect("codebuff> ")
        for _ in range(2):
            terminal.type("turn 0.1\n")
            terminal.expect("codebuff> ")
        terminal.type("edit cart.py\n")
        terminal.expect("editing> ")
        done = attach(stage, str(terminal.pid))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        before = [("prompt-submit", ""), ("pre-tool-use", "editing cart.py")]
        eventually(lambda: told(stage, "codebuff") == before)
        first = stage.broker.requests[0]["params"]
        assert (first["pid"], first["env"], first["tty_session"]) == (terminal.pid, environ, terminal.pid)
        assert first["tty"].startswith("/dev/pts/")
        assert first["payload"]["cwd"] == str(stage.path)
        terminal.type("\n")
        eventually(lambda: told(stage, "codebuff")[2:] == [("stop", "")])
        os.kill(terminal.pid, 9)
        eventually(lambda: told(stage, "codebuff")[3:] == [("session-end", "")])


@pytest.mark.parametrize("detection", ["auto", "activity"])
def test_attaching_to_an_idle_session_says_idle_and_no_more(stage: Stage, detection: str) -> None:
    stage.configure(f'[codebuff]\nidle-timeout = 0.4\ndetection = "{detection}"\n')
    with stage.terminal("codebuff") as terminal:
        terminal.expect("codebuff> ")
        terminal.type("turn 0.1\n")
        terminal.expect("codebuff> ")
        assert attach(stage, str(terminal.pid)).returncode == 0
        eventually(lambda: told(stage, "codebuff") == [("stop", "")])
        terminal.type("turn 0.1\n")
        eventually(lambda: told(stage, "codebuff")[1:] == [("prompt-submit", ""), ("stop", "")])
        terminal.type("quit\n")
        terminal.wait()
        eventually(lambda: told(stage, "codebuff")[3:] == [("session-end", "")])


def test_attaching_to_what_is_no_agent(stage: Stage) -> None:
    done = attach(stage, str(os.getpid()))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"codebuff-wrapper: process {os.getpid()} is no agent")
    done = attach(stage, "4194303")
    assert (done.returncode, done.stderr) == (
        1,
        "codebuff-wrapper: cannot attach to 4194303: No such file or directory\n",
    )
    for arguments in ((), ("",), ("1", "--agent"), ("1", "x", "y")):
        done = attach(stage, *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("codebuff-wrapper: usage: ")
    assert stage.broker.requests == []


def test_attaching_to_what_nobody_watches_in_a_place(stage: Stage) -> None:
    stage.configure("[codebuff]\n" + TURNS)
    put(stage, "pool", "pool")
    with (
        stage.terminal("codebuff") as alone,
        stage.terminal("codebuff-wrapper") as wrapped,
        stage.terminal("sh", "-c", "sleep 60 && true codebuff") as no_agent,
        stage.terminal("codebuff", environ={"SEANCE_SURFACE_ID": "7", "KITTY_WINDOW_ID": "3"}) as placed,
    ):
        for terminal in (alone, wrapped, placed):
            terminal.expect("codebuff> ")
        eventually(lambda: told(stage, "codebuff"))
        done = attach(stage, "kitty::3")
        assert (done.returncode, done.stderr, done.stdout) == (0, "", f"Codebuff, process {placed.pid}\n")
        params = eventually(lambda: [item for item in hooks(stage) if item["pid"] != wrapped.pid])[0]
        assert (params["pid"], params["surface_id"]) == (placed.pid, 7)
        done = attach(stage, "kitty::4")
        assert (done.returncode, done.stdout) == (1, "")
        assert "no agent with session logs runs there" in done.stderr
        for terminal in (alone, wrapped, placed):
            terminal.type("quit\n")
            terminal.wait()
        assert no_agent.status is None


def test_a_session_whose_monitor_was_killed_is_unknown_until_it_is_adopted(
    stage: Stage, start_broker: Callable[..., object], environ: dict[str, str]
) -> None:
    def row() -> dict[str, Any]:
        with client.Connection(path, 2.0) as connection:
            rows: list[dict[str, Any]] = connection.request("agent.list")["agents"]
            return rows[0] if rows else {"state": "", "evidence": {}}

    start_broker()
    path = stage.environ["SEANCE_SOCKET_PATH"] = names.socket_path(environ)
    stage.configure("[codebuff]\n" + TURNS)
    with stage.terminal() as terminal:
        terminal.expect("codebuff> ")
        terminal.type("edit cart.py\n")
        eventually(lambda: row()["state"] == "running")
        assert attach(stage, "all").returncode == 1
        os.kill(row()["reporter_pid"], 9)
        eventually(lambda: row()["state"] == "unknown")
        assert row()["evidence"]["rule"] == "its monitor has ended"
        assert attach(stage, "all").stdout == f"Codebuff, process {terminal.pid}\n"
        eventually(lambda: row()["state"] == "running")
        assert attach(stage, "all").returncode == 1
        terminal.type("\nquit\n")
        terminal.wait()
        eventually(lambda: row()["state"] == "")
