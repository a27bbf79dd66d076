"""The way from codebuff-wrapper to the agent: seance_tools/codebuff/__init__.py."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codebuff.conftest import STANDIN, WRAPPER, Stage
from tests.support import eventually

WRAPPERS = Path(__file__).parent.parent.parent / "wrappers"
ALLOWED = {
    "__future__",
    "seance_tools",
    "seance_tools.agent_events",
    "seance_tools.agents",
    "seance_tools.child",
    "seance_tools.codebuff",
    "seance_tools.names",
}
# `exit N` and `signal NAME`, and what it was given.
AGENT = 'case $1 in exit) exit "$2" ;; signal) kill -"$2" $$; sleep 5 ;; *) printf "<%s>" "$@"; cat ;; esac'


def run(stage: Stage, *argv: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command without a terminal."""
    return subprocess.run(
        argv, env={**stage.environ, **more}, capture_output=True, input=b"input\n", cwd=stage.path
    )


def test_imports_next_to_nothing_before_the_agent_runs(stage: Stage) -> None:
    code = """
import os, sys
before = set(sys.modules)
from seance_tools import child, codebuff
child.become = lambda *_: print(*sorted(set(sys.modules) - before)) or (0, "pretended")
sys.exit(codebuff.main())
"""
    command = (sys.executable, "-S", "-c", code)
    with stage.terminal(*command) as terminal:
        assert terminal.wait() == 0
        session = terminal.output.decode().splitlines()[0]
    assert set(session.split()) == ALLOWED
    assert set(run(stage, *command).stdout.decode().split()) == ALLOWED


@pytest.mark.parametrize("status", [0, 1, 2, 7, 126, 127, 130, 255])
def test_exit_statuses(stage: Stage, status: int) -> None:
    stage.agent(AGENT)
    with stage.terminal("codebuff-wrapper", "exit", str(status)) as terminal:
        assert terminal.wait() == status
    assert run(stage, "codebuff-wrapper", "exit", str(status)).returncode == status


@pytest.mark.parametrize("name", ["INT", "TERM", "KILL", "SEGV", "PIPE", "HUP", "XFSZ", "QUIT"])
def test_deaths_by_signal(stage: Stage, name: str) -> None:
    stage.agent("ulimit -c 0; " + AGENT)
    with stage.terminal("codebuff-wrapper", "signal", name) as terminal:
        assert terminal.wait() == -getattr(signal, f"SIG{name}")
    assert run(stage, "codebuff-wrapper", "signal", name).returncode == -getattr(signal, f"SIG{name}")


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
def test_shells_see_the_same_statuses(stage: Stage, shell: str, need: Callable[[str], str]) -> None:
    need(shell)
    stage.agent("ulimit -c 0; " + AGENT)
    script = "".join(f"{{0}} exit {status}; echo $?\n" for status in (0, 1, 2, 7, 126, 127, 130, 255))
    script += "".join(
        f"{{0}} signal {name} 2>/dev/null; echo $?\n" for name in ("TERM", "KILL", "SEGV", "PIPE", "HUP")
    )
    said = []
    for command in ("codebuff", "codebuff-wrapper"):
        with stage.terminal(shell, "-c", script.format(command)) as terminal:
            assert terminal.wait() == 0
            said.append(re.findall(rb"^\d+\r$", terminal.output, re.M))
    assert said[0] == said[1]
    assert len(said[0]) == 13


@pytest.mark.parametrize("arguments", [(), ("a b", "", "*", "--", "-x", "ä\udcff"), ("--version",)])
def test_arguments_input_and_output_pass_untouched(stage: Stage, arguments: tuple[str, ...]) -> None:
    stage.agent(AGENT)
    plain, wrapped = (run(stage, name, *arguments) for name in ("codebuff", "codebuff-wrapper"))
    assert plain.stdout.endswith(b"input\n")
    assert (wrapped.returncode, wrapped.stdout, wrapped.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )


def test_the_agent_sees_only_what_it_is_told(stage: Stage) -> None:
    stage.agent("echo $0 $$ $PPID; env -0 | sort -z | tr '\\0' '\\n'")
    with stage.terminal("codebuff-wrapper", environ={"SEANCE_COMMAND": "codebuff"}) as terminal:
        terminal.wait()
        said = terminal.output.decode().split()
        assert said[0] == f"{stage.path}/bin/codebuff"
        assert said[1:3] == [str(terminal.pid), str(os.getpid())]
        added = {
            word for word in said[3:] if word.partition("=")[0] not in (*stage.environ, "PWD", "OLDPWD", "_")
        }
    assert added == {f"SEANCE_CODEBUFF_PID={terminal.pid}", f"SEANCE_WRAPPED=codebuff:{terminal.pid}:1"}


COUNTING = f"""#!{sys.executable}
import os, signal, time
counts = {{name: 0 for name in ("INT", "QUIT", "TERM", "WINCH", "HUP")}}
def count(number, _):
    name = signal.Signals(number).name[3:]
    counts[name] += 1
    os.write(1 if name != "HUP" else log, f"{{name}} {{counts[name]}}\\n".encode())
    if name == "HUP":
        os._exit(0)
log = os.open(os.environ["HOME"] + "/hangup", os.O_CREAT | os.O_WRONLY)
for name in counts:
    signal.signal(getattr(signal, "SIG" + name), count)
print("ready", flush=True)
while True:
    time.sleep(60)
"""


def test_every_signal_reaches_the_agent_once(stage: Stage) -> None:
    stage.agent(COUNTING)
    with stage.terminal() as terminal:
        terminal.expect("ready")
        for number in (1, 2):
            terminal.type("\x03")
            terminal.expect(f"INT {number}")
        terminal.type("\x1c")
        terminal.expect("QUIT 1")
        for name in ("TERM", "INT"):
            os.kill(terminal.pid, getattr(signal, f"SIG{name}"))
            terminal.expect(f"{name} {1 if name == 'TERM' else 3}")
        terminal.resize(50, 100)
        terminal.expect("WINCH")
        assert b"INT" not in terminal.read(0.2)
        terminal.hang_up()
        eventually(lambda: (stage.path / "hangup").read_text() == "HUP 1\n")
        assert terminal.wait() == 0


@pytest.mark.parametrize(
    ("shell", "file", "stopped", "continued", "status"),
    [
        ("bash --noprofile --norc -i", "seance.bash", "Stopped", "codebuff-wrapper", "the-status-is 7"),
        ("dash -i", "seance.sh", "Stopped", "__seance_found", "the-status-is 7"),
        # zsh forgets the status of what was stopped in a function, fish that of whatever it resumes.
        ("zsh -f -i", "seance.zsh", "suspended", "continued", "the-status-is"),
        ("fish --no-config -i", "seance.fish", "stopped", "to foreground", "the-status-is"),
    ],
)
def test_stop_and_continue(
    stage: Stage, need: Callable[[str], str], shell: str, file: str, stopped: str, continued: str, status: str
) -> None:
    need(shell.split()[0])
    dot = "." if shell.startswith("dash") else "source"
    with stage.terminal(*shell.split(), environ={"PS1": "prompt# "}) as terminal:
        terminal.expect("# ")
        terminal.type(f"{dot} {WRAPPERS}/{file}\n")
        terminal.type("codebuff\n")
        terminal.expect("codebuff> ")
        stage.broker.await_events("prompt-submit")
        for _ in range(2):
            terminal.type("\x1a")
            terminal.expect("# ")  # what is typed before is lost
            terminal.type("jobs\n")
            terminal.expect(stopped)
            terminal.type("fg\n")
            terminal.expect(continued)
            terminal.type("pid\n")
            terminal.expect("codebuff> ")
        terminal.type("exit 7\n")
        terminal.expect("goodbye")
        terminal.type("echo the-status-is {}\n".format("$status" if "fish" in shell else "$?"))
        terminal.expect(status)
        terminal.type("exit\n")
        terminal.wait()


NOT_SESSIONS = [
    ("--version",),
    ("-v",),
    ("--help",),
    ("-h",),
    ("login",),
    ("publish",),
    ("--free", "login"),
    ("fix it", "--help"),
]


@pytest.mark.parametrize("arguments", NOT_SESSIONS)
def test_what_is_no_session_leaves_no_monitor(stage: Stage, arguments: tuple[str, ...]) -> None:
    stage.agent("sleep 0.3; exit 7")
    with stage.terminal("codebuff-wrapper", *arguments) as terminal:
        assert_no_monitor(stage, terminal.pid)
        assert terminal.wait() == 7
    assert_not_reported(stage)


def assert_no_monitor(stage: Stage, pid: int) -> None:
    """Wait until the agent runs: the monitor would have been forked before that."""
    eventually(lambda: stage.processes().get(pid, "codebuff-wrapper").find("codebuff-wrapper") < 0)
    assert stage.monitors() == []


def assert_not_reported(stage: Stage) -> None:
    eventually(lambda: not stage.processes())
    assert stage.broker.requests == []


@pytest.mark.parametrize("arguments", [("fix", "login"), ("--", "--help"), ("please login",), ("--lite",)])
def test_a_prompt_is_a_session(stage: Stage, arguments: tuple[str, ...]) -> None:
    stage.agent("exit 7")
    with stage.terminal("codebuff-wrapper", *arguments) as terminal:
        assert terminal.wait() == 7
    stage.broker.await_events("prompt-submit", "session-end")


@pytest.mark.parametrize("redirection", ["| cat", "< /dev/null", "> out", "<&-", ">&-"])
def test_without_a_terminal_it_is_no_session(stage: Stage, redirection: str) -> None:
    stage.agent("sleep 0.3; exit 7")
    with stage.terminal("bash", "-o", "pipefail", "-c", f"codebuff-wrapper {redirection}") as terminal:
        assert terminal.wait() == 7
    assert_not_reported(stage)


def test_switched_off_by_the_environment(stage: Stage) -> None:
    stage.agent("sleep 0.3; exit 7")
    with stage.terminal(environ={"SEANCE_CODEBUFF_HOOKS_DISABLED": "1"}) as terminal:
        assert_no_monitor(stage, terminal.pid)
        assert terminal.wait() == 7
    assert_not_reported(stage)


# What may be broken, and the line that is allowed for it.
BROKEN_ENVIRONMENTS = {
    "no broker, none to be had": {"SEANCE_SOCKET_PATH": "/dev/null/broker.sock"},
    "a path too long": {"SEANCE_SOCKET_PATH": "/" + "x" * 200},
    "DEBUG": {"DEBUG": "*"},
    "no home": {"HOME": "/dev/null/home"},
    "home not set": {"HOME": ""},
    "C locale": {"LANG": "C", "LC_ALL": "C"},
    "odd ids": {"SEANCE_SURFACE_ID": "-1", "SEANCE_WORKSPACE_ID": "٣", "SEANCE_WRAPPED": "codebuff:x:y"},
    "odd bytes": {"TMUX": "\udcff\udcfe", "SEANCE_WRAPPED": "\udcff"},
}


@pytest.mark.parametrize("broken", BROKEN_ENVIRONMENTS)
def test_the_agent_runs_whatever_is_broken(stage: Stage, broken: str) -> None:
    stage.agent("printf 'out\\377\\n'; printf 'err\\n' >&2; exit 7")
    with stage.terminal(environ=BROKEN_ENVIRONMENTS[broken]) as terminal:
        assert terminal.wait() == 7
        assert terminal.output == b"out\xff\r\nerr\r\n"
    eventually(lambda: not stage.monitors())


@pytest.mark.parametrize("config", ["= nonsense", "codebuff-hooks = 'maybe'", "[socket]\npath = 1", "\0"])
def test_the_agent_runs_with_a_broken_configuration(stage: Stage, config: str) -> None:
    stage.configure(config)
    stage.agent("echo out; exit 7")
    with stage.terminal() as terminal:
        assert terminal.wait() == 7
        assert terminal.output == b"out\r\n"
    stage.broker.await_events("prompt-submit", "session-end")
    eventually(lambda: len(stage.broker.notes()) == 1)
    assert "config.toml" in stage.broker.notes()[0]


@pytest.mark.parametrize("closed", [(2,), (0,), (1,), (0, 1, 2)])
def test_the_agent_runs_with_closed_streams(stage: Stage, closed: tuple[int, ...]) -> None:
    stage.agent("ls /proc/self/fd >$HOME/open; exit 7")
    seen = []
    for command in ("codebuff", "codebuff-wrapper"):
        with stage.terminal(command, closed=closed) as terminal:
            assert terminal.wait() == 7
        seen.append((stage.path / "open").read_text())
    assert seen[0] == seen[1]
    if closed == (2,):
        stage.broker.await_events("prompt-submit", "session-end")


@pytest.mark.parametrize("broken", ["fork", "pidfd_open"])
def test_the_agent_runs_without_a_monitor(stage: Stage, broken: str) -> None:
    stage.agent("echo out; exit 7")
    code = f"import os\ndef fail(*_):\n    raise OSError(11, 'none left')\nos.{broken} = fail\n"
    stage.program("bin/codebuff-wrapper", WRAPPER.replace("import sys\n", f"import sys\n{code}"))
    with stage.terminal() as terminal:
        assert terminal.wait() == 7
        line = b"codebuff-wrapper: this session will not be shown: none left\r\n"
        assert terminal.output == line + b"out\r\n"


def test_an_interpreter_without_pidfd_open(stage: Stage) -> None:
    stage.agent("exit 7")
    code = "import os\ndel os.pidfd_open\n"
    stage.program("bin/codebuff-wrapper", WRAPPER.replace("import sys\n", f"import sys\n{code}"))
    with stage.terminal() as terminal:
        assert terminal.wait() == 7
        assert terminal.output == b""
    stage.broker.await_events("prompt-submit", "session-end")


def test_in_a_directory_that_is_gone(stage: Stage) -> None:
    stage.agent(f"#!{sys.executable}\nprint('out')\nraise SystemExit(7)\n")
    with stage.terminal("sh", "-c", "mkdir gone; cd gone; rmdir ../gone; exec codebuff-wrapper") as terminal:
        assert terminal.wait() == 7
        assert terminal.output == b"out\r\n"
    stage.broker.await_events("prompt-submit", "session-end")
    assert not stage.broker.requests[0]["params"]["payload"].get("cwd")


@pytest.mark.parametrize("path", ["", "/nonexistent", "{stage}/empty"])
def test_no_agent(stage: Stage, path: str) -> None:
    missing = run(stage, f"{stage.path}/bin/codebuff-wrapper", "x", PATH=path.format(stage=stage.path))
    assert missing.returncode == 127
    assert missing.stdout == b""
    assert missing.stderr == b"codebuff-wrapper: codebuff: not found\n"


def test_an_agent_whose_interpreter_is_gone(stage: Stage) -> None:
    stage.agent("#!/nonexistent/node\n")
    ended = run(stage, "codebuff-wrapper")
    assert ended.returncode == 127
    assert (
        ended.stderr
        == f"codebuff-wrapper: cannot run {stage.path}/bin/codebuff: No such file or directory\n".encode()
    )


def test_an_interrupt_before_the_agent_runs_leaves_no_traceback(stage: Stage) -> None:
    code = "import os\nfrom seance_tools import child\n"
    code += "child.find_program = lambda *_, **__: os.kill(os.getpid(), 2)\n"
    stage.program("bin/codebuff-wrapper", WRAPPER.replace("import sys\n", f"import sys\n{code}"))
    ended = run(stage, "codebuff-wrapper")
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")


@pytest.mark.parametrize("kind", ["symlink", "hard link", "copy"])
def test_the_wrapper_under_the_agents_name(stage: Stage, kind: str) -> None:
    stage.program("real/codebuff", "echo real $1; exit 7")
    wrapper, name = stage.path / "bin" / "codebuff-wrapper", stage.path / "bin" / "codebuff"
    name.unlink()
    if kind == "symlink":
        name.symlink_to("codebuff-wrapper")
    elif kind == "hard link":
        name.hardlink_to(wrapper)
    else:
        shutil.copy(wrapper, name)
    (stage.path / "twice").symlink_to(stage.path / "bin")
    path = f"{stage.path}/bin:{stage.path}/twice/:{stage.path}/bin:{stage.path}/real:/usr/bin:/bin"
    with stage.terminal("codebuff", "x", environ={"PATH": path}) as terminal:
        assert terminal.wait() == 7
        assert terminal.output == b"real x\r\n"
    stage.broker.await_events("prompt-submit", "session-end")


@pytest.mark.parametrize("call", ["exec codebuff-wrapper", "codebuff-wrapper"])
def test_a_wrapper_of_someone_elses_that_leads_back(stage: Stage, call: str) -> None:
    stage.agent(f'echo other >>$HOME/others; {call} "$@"')
    stage.program("real/codebuff", "echo real $1; exit 7")
    path = f"{stage.path}/bin:{stage.path}/real:/usr/bin:/bin"
    with stage.terminal(environ={"PATH": path}) as terminal:
        assert terminal.wait() == 7
        assert terminal.output == b"real\r\n"
    stage.broker.await_events("prompt-submit", "session-end")
    assert len((stage.path / "others").read_text().split()) == 4


def test_only_wrappers_and_no_agent(stage: Stage) -> None:
    stage.agent('exec codebuff-wrapper "$@"')
    ended = run(stage, "codebuff-wrapper")
    assert (ended.returncode, ended.stderr) == (127, b"codebuff-wrapper: codebuff: not found\n")


def test_an_agent_inside_an_agent_is_not_reported(stage: Stage) -> None:
    stage.agent('if [ "$1" ]; then echo inner; else codebuff-wrapper x; echo outer; fi')
    with stage.terminal() as terminal:
        assert terminal.wait() == 0
        assert terminal.output == b"inner\r\nouter\r\n"
    stage.broker.await_events("prompt-submit", "session-end")
    assert stage.broker.requests[0]["params"]["pid"] == terminal.pid


def test_what_an_agent_has_started_elsewhere_is_a_session_of_its_own(stage: Stage) -> None:
    stage.agent("exit 0")
    environ = {"SEANCE_WRAPPED": "codebuff:999999:1", "SEANCE_CODEBUFF_PID": "999999"}
    with stage.terminal(environ=environ) as terminal:
        assert terminal.wait() == 0
    stage.broker.await_events("prompt-submit", "session-end")


@pytest.mark.parametrize(
    ("cb", "said", "events"),
    [
        ("../bin/codebuff", "codebuff x", ["prompt-submit", "session-end"]),
        ("", "codebuff x", ["prompt-submit", "session-end"]),
        ("echo clipboard $1", "clipboard x", []),
    ],
)
def test_cb(stage: Stage, cb: str, said: str, events: list[str]) -> None:
    stage.agent("echo codebuff $1")
    if cb.startswith(".."):
        (stage.path / "bin" / "cb").symlink_to(cb)
    elif cb:
        stage.program("bin/cb", cb)
    with stage.terminal("codebuff-wrapper", "x", environ={"SEANCE_COMMAND": "cb"}) as terminal:
        assert terminal.wait() == 0
        assert terminal.output.decode() == f"{said}\r\n"
    eventually(lambda: not stage.processes())
    stage.broker.await_events(*events)


def delay(stage: Stage, command: str) -> float:
    """The time from the start of `command` to what its agent prints, in seconds; the median of several."""
    times = []
    for _ in range(3):
        begun = time.monotonic()
        with stage.terminal(command) as terminal:
            terminal.expect("here")
            times.append(time.monotonic() - begun)
            terminal.wait()
    return statistics.median(times)


@pytest.mark.parametrize("broker", ["healthy", "hung", "absent"])
def test_the_agents_start_does_not_wait_for_a_broker(stage: Stage, broker: str) -> None:
    """Whoever asks a hung broker waits 2 s for it; the milliseconds are in tests/bench/start.py."""
    stage.agent("echo here")
    stage.environ["PYTHONDONTWRITEBYTECODE"] = ""
    if broker == "absent":
        stage.environ["SEANCE_SOCKET_PATH"] = "/dev/null/broker.sock"
    with socket.socket(socket.AF_UNIX) as hung:
        if broker == "hung":
            stage.environ["SEANCE_SOCKET_PATH"] = f"{stage.path}/hung.sock"
            hung.bind(stage.environ["SEANCE_SOCKET_PATH"])
            hung.listen()
        assert delay(stage, "codebuff-wrapper") - delay(stage, "codebuff") < 1.0
        eventually(lambda: not stage.monitors())


def test_the_stand_in_is_what_it_stands_for(stage: Stage) -> None:
    assert os.access(STANDIN, os.X_OK)
    version = run(stage, "codebuff", "--version").stdout
    assert re.fullmatch(rb"\d+\.\d+\.\d+\n", version)
    assert not (Path(stage.environ["HOME"]) / ".config").exists()
    assert b"Usage" in run(stage, "codebuff", "--help").stdout
    assert run(stage, "codebuff", "login").returncode == 0
    chats = list((stage.path / ".config/manicode/projects").glob("*/chats/*"))
    assert [sorted(os.listdir(chat)) for chat in chats] == [["log.jsonl"]]
