"""The monitor beside a real (stand-in) agent, on a terminal, with a broker that records."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seance_tools import client
from seance_tools.codebuff.owners import Owners
from tests.codebuff.conftest import WRAPPER, Stage
from tests.fake_broker import FakeBroker
from tests.support import eventually
from tests.terminal import Terminal

TWICE = ["prompt-submit", "stop", "prompt-submit", "stop"]
QUICK = "[codebuff]\nidle-timeout = 0.4\n"
WITHOUT_INOTIFY = "import sys\nsys.modules['inotify'] = None\n"
ACTIVITY = QUICK + 'detection = "activity"\n'


def begin(stage: Stage, config: str = QUICK) -> Terminal:
    """Start the stand-in and wait until it is idle."""
    stage.configure(config)
    terminal = stage.terminal()
    terminal.expect("codebuff> ")
    stage.broker.await_events("prompt-submit", "stop")
    return terminal


def test_the_documented_rule(stage: Stage) -> None:
    stage.configure('[codebuff]\ndetection = "activity"\n')
    begun = time.time()
    with stage.terminal() as terminal:
        terminal.expect("codebuff> ")
        stage.broker.await_events("prompt-submit", "stop")
        terminal.type("turn 2\n")
        stage.broker.await_events("prompt-submit", "stop", "prompt-submit")
        stage.broker.await_events("prompt-submit", "stop", "prompt-submit", "stop")
        terminal.type("quit\n")
        assert terminal.wait() == 0
        stage.broker.await_events(
            "prompt-submit", "stop", "prompt-submit", "stop", "session-end", seconds=1.0
        )
    log = next(stage.path.rglob("log.jsonl"))
    at = [request["params"]["at"] for request in stage.broker.requests]
    assert 0 <= at[0] - begun < 1.0
    assert 5.0 <= at[1] - at[0] < 6.5
    assert 5.0 <= at[3] - log.stat().st_mtime < 5.5
    assert stage.broker.connections == 1


def test_what_is_reported(stage: Stage) -> None:
    environ = {
        "TMUX": "/tmp/tmux-0/default,1,0",
        "TMUX_PANE": "%7",
        "STY": "",
        "SEANCE_HOST": "box",
        "SEANCE_SURFACE_ID": "0",
        "SEANCE_WORKSPACE_ID": "12",
    }
    stage.agent("tty; exit 0")
    with stage.terminal("sh", "-c", "codebuff-wrapper; exit", environ=environ) as terminal:
        assert terminal.wait() == 0
        tty = terminal.output.decode().strip()
    stage.broker.await_events("prompt-submit", "session-end")
    first, last = (request["params"] for request in stage.broker.requests)
    assert first.pop("pid") != terminal.pid
    assert first.pop("reporter_pid") not in (terminal.pid, last["pid"])
    assert abs(first.pop("at") - time.time()) < 5
    assert first == {
        "agent": "codebuff",
        "event": "prompt-submit",
        "source": "activity",
        "env": {"TMUX": "/tmp/tmux-0/default,1,0", "TMUX_PANE": "%7", "SEANCE_HOST": "box"},
        "tty": tty,
        "tty_session": terminal.pid,
        "surface_id": 0,
        "workspace_id": 12,
        "payload": {"cwd": str(stage.path)},
    }
    assert last["event"] == "session-end"
    assert last["surface_id"] == 0


@pytest.mark.parametrize("value", ["", "-1", "1.5", "x", "٣", "9" * 16, " 1"])
def test_ids_that_are_none_are_not_sent(stage: Stage, value: str) -> None:
    stage.agent("exit 0")
    with stage.terminal(environ={"SEANCE_SURFACE_ID": value}) as terminal:
        assert terminal.wait() == 0
    stage.broker.await_events("prompt-submit", "session-end")
    assert "surface_id" not in stage.broker.requests[0]["params"]


@pytest.mark.parametrize("text", ["codebuff-hooks = false", "[behavior]\ncodebuff-hooks = false"])
def test_switched_off_in_the_configuration(stage: Stage, text: str) -> None:
    stage.configure(text)
    with stage.terminal() as terminal:
        terminal.expect("codebuff> ")
        eventually(lambda: not stage.monitors())
        terminal.type("exit 7\n")
        assert terminal.wait() == 7
    assert stage.broker.requests == []


@pytest.mark.parametrize("victim", ["agent", "monitor", "both", "pane"])
def test_killed(stage: Stage, victim: str) -> None:
    with begin(stage) as terminal:
        (monitor,) = stage.monitors()
        begun = time.monotonic()
        if victim in ("monitor", "both"):
            os.kill(monitor, signal.SIGKILL)
        if victim in ("agent", "both"):
            os.kill(terminal.pid, signal.SIGKILL)
            assert terminal.wait() == -signal.SIGKILL
        if victim == "pane":
            terminal.hang_up()
        if victim in ("agent", "pane"):
            stage.broker.await_events("prompt-submit", "stop", "session-end", seconds=1.0)
            assert stage.broker.moments[-1] - begun < 1.0
        if victim == "monitor":
            terminal.type("exit 7\n")
            assert terminal.wait() == 7
        eventually(lambda: not stage.processes())
        if victim in ("monitor", "both"):
            assert stage.broker.events() == ["prompt-submit", "stop"]
    assert not [path for path in stage.path.rglob("*") if "tmp" in path.name]


def test_nothing_is_left_behind(stage: Stage) -> None:
    stage.agent("exit 0")
    before = sorted(stage.path.rglob("*"))
    outside = set(os.listdir("/tmp"))
    with stage.terminal(environ={"TMPDIR": str(stage.path)}) as terminal:
        terminal.wait()
    stage.broker.await_events("prompt-submit", "session-end")
    eventually(lambda: not stage.processes())
    assert sorted(stage.path.rglob("*")) == before
    assert not [name for name in set(os.listdir("/tmp")) - outside if "codebuff" in name or "seance" in name]


def wakings(pid: int) -> int:
    """How often a process has gone to sleep of itself."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("voluntary_ctxt_switches:")[2].split()[0])


def test_an_idle_monitor_sleeps(stage: Stage) -> None:
    with begin(stage) as terminal:
        (monitor,) = stage.monitors()
        before = eventually(lambda: wakings(monitor))
        time.sleep(1.5)  # the length of time is what is tested
        assert wakings(monitor) == before
        terminal.type("quit\n")
        terminal.wait()


def test_a_busy_agent_wakes_it_a_few_times_a_second(stage: Stage) -> None:
    with begin(stage, ACTIVITY) as terminal:
        (monitor,) = stage.monitors()
        log = next(stage.path.rglob("log.jsonl"))
        before, until, written = wakings(monitor), time.monotonic() + 2.0, 0
        with log.open("a") as file:
            while time.monotonic() < until:
                file.write("{}\n")
                file.flush()
                written += 1
                time.sleep(0.001)
        assert written > 500
        assert wakings(monitor) - before < 60
        stage.broker.await_events("prompt-submit", "stop", "prompt-submit", "stop")
        terminal.type("quit\n")
        terminal.wait()


def test_the_log_directory_is_made_late(stage: Stage) -> None:
    stage.configure(QUICK)
    stage.agent(f"#!{sys.executable}\nlog = open(input(), 'w', 1)\nlog.write('{{}}\\n')\ninput()\n")
    with stage.terminal() as terminal:
        stage.broker.await_events("prompt-submit", "stop")
        chat = stage.path / ".config/manicode/projects/x/chats/y"
        chat.mkdir(parents=True)
        terminal.type(f"{chat}/log.jsonl\n")
        stage.broker.await_events("prompt-submit", "stop", "prompt-submit", "stop")
        terminal.type("\n")
        terminal.wait()


def test_without_inotify_it_says_why_and_still_sees(stage: Stage) -> None:
    stage.configure(QUICK)
    stage.program("bin/codebuff-wrapper", WRAPPER.replace("import sys\n", WITHOUT_INOTIFY, 1))
    with begin(stage) as terminal:
        root = f"{stage.path}/.config/manicode"
        reason = "import of inotify halted; None in sys.modules"
        note = f"inotify cannot be loaded ({reason}); looking at {root} every 2 s instead"
        eventually(lambda: stage.broker.notes() == [note])
        terminal.type("turn 1\n")
        stage.broker.await_events("prompt-submit", "stop", "prompt-submit", "stop")
        terminal.type("quit\n")
        terminal.wait()


def test_modules_on_pythonpath_that_are_broken_do_not_keep_it_from_working(stage: Stage) -> None:
    (stage.path / "broken").mkdir()
    for name in ("ujson", "tomllib", "inotify"):
        (stage.path / f"broken/{name}.py").write_text("raise RuntimeError('broken')\n")
    stage.environ["PYTHONPATH"] = f"{stage.path}/broken:{stage.environ['PYTHONPATH']}"
    with begin(stage) as terminal:
        terminal.type("quit\n")
        terminal.wait()
    stage.broker.await_events("prompt-submit", "stop", "session-end")
    assert stage.broker.notes() == []


def test_two_sessions_in_one_project_do_not_light_each_other_up(stage: Stage) -> None:
    def events(pid: int) -> list[str]:
        params = [request["params"] for request in stage.broker.requests]
        return [item["event"] for item in params if item["pid"] == pid]

    stage.configure(ACTIVITY)
    with stage.terminal() as one:
        one.expect("codebuff> ")  # chats that begin in the same millisecond would share a log
        with stage.terminal() as two:
            two.expect("codebuff> ")
            for terminal in (one, two):
                eventually(lambda pid=terminal.pid: events(pid) == ["prompt-submit", "stop"])  # type: ignore[misc]
            two.type("noise\n")
            eventually(lambda: events(two.pid) == TWICE)
            assert events(one.pid) == ["prompt-submit", "stop"]
            one.type("new\n")
            eventually(lambda: events(one.pid) == TWICE)
            assert events(two.pid) == TWICE
            for terminal in (one, two):
                terminal.type("quit\n")
                terminal.wait()


def test_a_session_beside_it_that_begins_and_ends_in_a_moment_is_not_taken_for_it(stage: Stage) -> None:
    with begin(stage, ACTIVITY) as terminal:
        for _ in range(3):  # within the rest after a look, so that its process has ended by the next one
            for words in (["login"], ["turn 0"]):
                subprocess.run(
                    [f"{stage.path}/bin/codebuff", *words],
                    env={**stage.environ, "SEANCE_CODEBUFF_PID": ""},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
        noisy = time.time()
        terminal.type("noise\n")
        stage.broker.await_events(*TWICE)
        marks = [request["params"]["at"] for request in stage.broker.requests]
        assert marks[2] > noisy
        terminal.type("quit\n")
        terminal.wait()


def test_owners(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.touch()
    owners = Owners(42, "SEANCE_CODEBUFF_PID")
    assert not owners.is_ours(str(log))  # nobody has it open
    for session, ours in (("43", False), ("", False), ("x", False), ("42", True)):
        with subprocess.Popen(
            ["sh", "-c", f"exec 7>>{log}; echo; read x"],
            env={"SEANCE_CODEBUFF_PID": session},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as holder:
            assert holder.stdout
            holder.stdout.readline()
            assert owners.is_ours(str(log)) is ours
            assert owners.is_ours(str(log)) is ours
            holder.communicate(b"\n")
        assert owners.is_ours(str(log)) is ours  # it stays so when the holder has ended


def test_a_broker_that_is_restarted_hears_the_present_state(stage: Stage) -> None:
    with begin(stage) as terminal:
        said = stage.broker.requests[-1]["params"]
        stage.broker.close()
        stage.broker = FakeBroker(stage.socket)
        stage.broker.await_events("stop")
        assert stage.broker.requests[0]["params"] == said
        terminal.type("quit\n")
        terminal.wait()
        stage.broker.await_events("stop", "session-end")


def test_a_hung_broker_does_not_keep_the_monitor(stage: Stage) -> None:
    stage.environ["SEANCE_SOCKET_PATH"] = f"{stage.path}/hung.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(stage.environ["SEANCE_SOCKET_PATH"])
        listener.listen()
        with stage.terminal() as terminal:
            terminal.expect("codebuff> ")
            terminal.type("exit 7\n")
            assert terminal.wait() == 7
        eventually(lambda: not stage.processes(), 4.0)


def test_starts_a_broker_where_none_runs_and_again_when_it_is_killed(
    stage: Stage, environ: dict[str, str]
) -> None:
    def agents() -> list[dict[str, object]]:
        try:
            with client.Connection(path, 2.0) as connection:
                found: list[dict[str, object]] = connection.request("agent.list")["agents"]
                return found
        except (client.NoBroker, OSError):
            return []

    path = stage.environ["SEANCE_SOCKET_PATH"] = f"{stage.path}/real.sock"
    stage.configure(QUICK)
    with stage.terminal() as terminal:
        terminal.expect("codebuff> ")
        for _ in range(2):
            record = eventually(lambda: [row for row in agents() if row["state"] == "idle"])[0]
            assert (record["pid"], record["source"]) == (terminal.pid, "activity")
            brokers = [pid for pid, command in stage.processes().items() if "seance_tools.broker" in command]
            assert len(brokers) == 1
            os.kill(brokers[0], signal.SIGKILL)
            eventually(lambda: brokers[0] not in stage.processes())  # noqa: B023 - asked before the next round
        brokers = eventually(
            lambda: [pid for pid, command in stage.processes().items() if "seance_tools.broker" in command]
        )
        eventually(agents)
        terminal.type("exit 7\n")
        assert terminal.wait() == 7
        eventually(lambda: not agents())
    subprocess.run(
        [sys.executable, "-m", "seance_tools.broker", "--stop"], env={**environ, "SEANCE_SOCKET_PATH": path}
    )
