"""seance-hook: one process, in every shell that may be /bin/sh, whatever it is given."""

from __future__ import annotations

import os
import pty
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seance_tools import liveness, names, spoolfile
from tests.support import eventually, only_root, unshared

HOOK = str(Path(__file__).parent.parent / "bin" / "seance-hook")
SEANCE = str(Path(__file__).parent.parent / "bin" / "seance")
REPLY = b'{"continue":true}\n'
SHELLS = [["dash"], ["bash", "--posix"], ["busybox", "sh"]]
PAYLOADS = {
    "none": b"",
    "small": b'{"session_id":"s"}\n',
    "2 KB": os.urandom(2_000),
    "200 KB": os.urandom(200_000),
    "2 MB": os.urandom(2_000_000),
    "NUL": b'{"a":"\0"}\0\n\n\n',
    "not UTF-8": b'\xff\xfe{"a":"\xc3\x28\xf0"}\x80',
    "like a header": b"Agent: other\n\nSurface: 9\n\n",
}
Done = subprocess.CompletedProcess[bytes]
NAMES_IN_ALL = 8192  # how many files hooks may leave


class Hooks:
    """A directory of its own for the socket, with a spool in it, and a shell that runs seance-hook."""

    def __init__(self, directory: Path, shell: list[str]) -> None:
        self.directory = directory / "seance"
        self.spool = self.directory / "spool"
        self.spool.mkdir(mode=0o700, parents=True)
        self.environ = {"PATH": os.environ["PATH"], "SEANCE_SOCKET_PATH": f"{self.directory}/seance.sock"}
        self.command = [*shell, HOOK]

    def run(self, *arguments: str, payload: bytes = b"", output: bytes = b"") -> None:
        """Run seance-hook, and check what always holds."""
        done = subprocess.run(
            [*self.command, *arguments], input=payload, env=self.environ, capture_output=True
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, output, b"")

    def files(self) -> list[bytes]:
        return [path.read_bytes() for path in self.spool.iterdir()]

    def report(self) -> tuple[dict[str, list[str]], bytes]:
        """Return the headers and the body of the only file."""
        [content] = self.files()
        header, body = spoolfile.split(content)
        found: dict[str, list[str]] = {}
        for line in header.decode().split("\n"):
            name, value = line.split(": ", 1)
            found.setdefault(name, []).append(value)
        return found, body


@pytest.fixture(params=SHELLS, ids=" ".join)
def hooks(request: pytest.FixtureRequest, tmp_path: Path, need: Callable[[str], str]) -> Hooks:
    need(request.param[0])
    return Hooks(tmp_path, request.param)


@pytest.fixture
def plain(tmp_path: Path) -> Hooks:
    """Run by /bin/sh, whatever that is."""
    return Hooks(tmp_path, [])


def test_the_header_tells_who_reports_what_from_where(hooks: Hooks) -> None:
    hooks.environ |= {variable: f"of {header}" for header, variable in names.PLACE_HEADERS.items()}
    hooks.environ |= {"SEANCE_WORKSPACE_ID": "3", "SEANCE_SURFACE_ID": "12"}
    hooks.run("claude", "PreToolUse")
    headers, _ = hooks.report()
    started = [liveness.start_time(pid) for pid in (os.getpid(), os.getppid())]
    assert headers.pop("Pid") == [f"{os.getpid()} {started[0]}", f"{os.getppid()}"]
    headers.pop("Tty", None)  # whether pytest runs at a terminal
    assert headers == {
        "Agent": ["claude"],
        "Event": ["PreToolUse"],
        "Workspace": ["3"],
        "Surface": ["12"],
        **{header: [f"of {header}"] for header in names.PLACE_HEADERS},
    }


def test_what_is_no_number_or_has_control_characters_is_left_out(hooks: Hooks) -> None:
    hooks.environ |= {
        "SEANCE_WORKSPACE_ID": "3x",
        "SEANCE_SURFACE_ID": "-1",
        "TMUX": "/tmp/a\nSurface: 5,1,0",
        "TMUX_PANE": "%1\x1b[2J",
        "STY": "käse $(touch x) `touch y` \\n %s",
        "SEANCE_CODEBUFF_PID": "12",
    }
    hooks.run("claude", "Stop")
    headers, _ = hooks.report()
    assert set(headers) - {"Tty", "Host"} == {"Agent", "Event", "Screen", "Pid"}
    assert headers["Screen"] == ["käse $(touch x) `touch y` \\n %s"]


def test_the_process_that_a_wrapper_tells_is_passed_on(hooks: Hooks) -> None:
    hooks.environ |= {"SEANCE_CODEBUFF_PID": "4242", "SEANCE_CLAUDE_PID": "1"}
    hooks.run("codebuff", "stop")
    assert hooks.report()[0]["Agent-Pid"] == ["4242"]


@pytest.mark.parametrize("name", ["a b", "x) S 1 (y", "a\nb) R 1\n", ") (", "(", ")"])
def test_the_parents_name_may_be_anything(hooks: Hooks, name: str) -> None:
    parent = (
        "import subprocess, sys\n"
        f"open('/proc/self/comm', 'w').write({name!r})\n"
        "sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", parent, *hooks.command, "claude", "Stop"],
        env=hooks.environ,
        stdin=subprocess.DEVNULL,
    )
    started = liveness.start_time(process.pid)
    assert process.wait() == 0
    assert hooks.report()[0]["Pid"] == [f"{process.pid} {started}", str(os.getpid())]


@pytest.mark.parametrize("name", PAYLOADS)
def test_the_payload_arrives_byte_by_byte(hooks: Hooks, name: str) -> None:
    hooks.run("claude", "Stop", payload=PAYLOADS[name])
    assert hooks.report()[1] == PAYLOADS[name]


@pytest.mark.parametrize("payload", ["", '{"type":"agent-turn-complete"}', "%s \\n $x\n\n\nkäse\xa0", "-n"])
def test_the_payload_may_be_the_last_argument(hooks: Hooks, payload: str) -> None:
    hooks.run("claude", "notify", payload, payload=b"not this")
    assert hooks.report()[1] == payload.encode()


def test_only_this_user_can_read_a_report(hooks: Hooks) -> None:
    before = os.umask(0)
    try:
        hooks.run("claude", "Stop", payload=b"{}")
    finally:
        os.umask(before)
    [path] = hooks.spool.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("arguments", ["", "codex", "codex Stop", "codex Stop {}", "codex Stop {} more"])
def test_an_agent_gets_the_reply_it_expects(hooks: Hooks, arguments: str) -> None:
    hooks.run(*arguments.split(), output=REPLY if arguments else b"", payload=b"x" * 100_000)


def test_without_a_broker_nothing_is_left_but_the_agent_can_write(hooks: Hooks) -> None:
    hooks.spool.rmdir()
    command = [*hooks.command, "codex", "Stop"]
    with subprocess.Popen(command, env=hooks.environ, stdin=-1, stdout=-1) as process:
        assert process.stdin
        process.stdin.write(b"x" * 1_000_000)  # raises if it is gone before
        assert process.communicate()[0] == REPLY
    assert process.returncode == 0
    assert list(hooks.directory.iterdir()) == []


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full"])
def test_standard_streams_may_be_closed(hooks: Hooks, closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *hooks.command, "codex", "Stop"],
        env={**hooks.environ, "SHELLOPTS": "errexit:nounset"},
        input=b"{}",
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (b"" if ">" in closed.replace("2>", "") else REPLY)
    assert hooks.report()[1] == (b"" if "<" in closed else b"{}")


def test_nobody_needs_to_read_the_reply(hooks: Hooks) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*hooks.command, "codex", "Stop"], env=hooks.environ, input=b"{}", stdout=write)
    os.close(write)
    assert done.returncode == 0
    assert hooks.report()[1] == b"{}"


def test_an_agent_that_does_not_end_its_payload_has_its_reply_and_can_end_the_hook(hooks: Hooks) -> None:
    command = [*hooks.command, "codex", "Stop"]
    with subprocess.Popen(command, env=hooks.environ, stdin=-1, stdout=-1, bufsize=0) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.read(len(REPLY)) == REPLY
        process.stdin.write(b'{"half":')
        eventually(lambda: any(content.endswith(b'{"half":') for content in hooks.files()))
        process.terminate()
    headers, body = hooks.report()
    assert (headers["Event"], body) == (["Stop"], b'{"half":')


@pytest.mark.parametrize("mode", ["directory", "null for writing", "null"])
def test_what_cannot_be_read_is_no_payload(hooks: Hooks, mode: str, need: Callable[[str], str]) -> None:
    flags = os.O_WRONLY if mode == "null for writing" else os.O_RDONLY  # as nohup(1) has it
    theirs = os.open("/" if mode == "directory" else os.devnull, flags)
    for command, written in ((["claude", "Stop"], 1), (["claude", "Stop"], 2)):
        done = subprocess.run(
            [*hooks.command, *command], env=hooks.environ, stdin=theirs, capture_output=True
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert len(hooks.files()) == written
    hooks.spool.rename(hooks.directory / "away")
    done = subprocess.run(
        [need("strace"), "-f", "-o", hooks.directory / "trace", *hooks.command, "claude", "Stop"],
        env=hooks.environ,
        stdin=theirs,
        capture_output=True,
    )
    os.close(theirs)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert starts_nothing((hooks.directory / "trace").read_text().splitlines())


def test_a_terminal_is_not_waited_for(hooks: Hooks) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run([*hooks.command, "claude", "Stop"], env=hooks.environ, stdin=theirs, timeout=10)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0
    assert hooks.report()[1] == b""


HOSTILE = {
    "IFS": {"IFS": "/eacd: \n0123456789"},
    "noclobber and more": {"SHELLOPTS": "braceexpand:noclobber:errexit:nounset:noglob:xtrace:allexport"},
    "files to read first": {"ENV": "DIRECTORY/rc", "BASH_ENV": "DIRECTORY/rc"},
    "PATH": {"PATH": ""},
    "CDPATH": {"CDPATH": "/:/tmp"},
    "functions": {"BASH_FUNC_printf%%": "() { echo no; }", "BASH_FUNC_read%%": "() { echo no; }"},
    "our own names": dict.fromkeys(("header", "spool", "socket", "copy", "stat", "rest", "line", "try"), "x"),
    "locale": {"LANG": "xx_YY.nonsense", "LC_CTYPE": "xx_YY.nonsense"},
    "positional": {"PPID": "1", "PS4": "$(echo no >&2)"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_environment_matters(hooks: Hooks, name: str) -> None:
    (hooks.directory.parent / "rc").write_text("echo no; echo no >&2; exit 1\n")
    directory = str(hooks.directory.parent)
    hooks.environ |= {key: value.replace("DIRECTORY", directory) for key, value in HOSTILE[name].items()}
    shell = shutil.which(hooks.command[0])
    assert shell
    hooks.command[0] = shell
    hooks.run("codex", "Stop", payload=b"{}", output=REPLY)
    headers, body = hooks.report()
    assert headers["Agent"] == ["codex"]
    assert headers["Pid"][0].split()[0] == str(os.getpid())
    assert body == b"{}"


PLACES = {
    "the socket's directory": ("{0}/seance", {"SEANCE_SOCKET_PATH": "{0}/seance/any.sock"}),
    "below HOME, if it says so": ("{0}/a", {"SEANCE_SOCKET_PATH": "~/a/b.sock", "HOME": "{0}"}),
    "where we are": ("{0}", {"SEANCE_SOCKET_PATH": "b.sock"}),
    "XDG_RUNTIME_DIR": ("{0}/run/seance", {"XDG_RUNTIME_DIR": "{0}/run", "HOME": "{0}"}),
    "HOME": ("{0}/.seance", {"HOME": "{0}", "XDG_RUNTIME_DIR": "run"}),
}


@pytest.mark.parametrize("name", PLACES)
def test_the_spool_is_where_the_broker_makes_it(
    hooks: Hooks, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, variables = PLACES[name]
    environ = {variable: value.format(tmp_path) for variable, value in variables.items()}
    monkeypatch.chdir(tmp_path)
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    hooks.spool.rmdir()
    hooks.spool = Path(directory.format(tmp_path)) / "spool"
    assert os.path.abspath(names.spool_path(names.socket_path(environ))) == str(hooks.spool)
    hooks.spool.mkdir(mode=0o700, parents=True)
    hooks.environ = {"PATH": os.environ["PATH"], **environ}
    hooks.run("claude", "Stop")
    assert len(hooks.files()) == 1


def test_a_link_leads_to_where_config_toml_sends_the_broker(hooks: Hooks, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    hooks.spool.rmdir()
    hooks.spool.symlink_to(tmp_path / "elsewhere")
    hooks.run("claude", "Stop")
    assert len(hooks.files()) == 1


def test_another_users_spool_gets_nothing(hooks: Hooks) -> None:
    only_root()
    os.chown(hooks.spool, 65534, 65534)
    hooks.run("claude", "Stop", payload=b"secret")
    assert hooks.files() == []


def test_a_file_or_link_that_is_there_is_left_alone(plain: Hooks, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    for number in range(1024):
        (plain.spool / f"{number}-0").symlink_to(victim)
        (plain.spool / f"{number}-1").symlink_to("nowhere")
        (plain.spool / f"{number}-2").write_bytes(b"waits")
    plain.run("claude", "Stop", payload=b"{}")
    assert victim.read_bytes() == b"mine"
    [new] = [path for path in plain.spool.iterdir() if path.name.endswith("-3")]
    assert new.read_bytes().endswith(b"\n{}")


ODD = {
    "FIFO": "os.mkfifo(name)",
    "directory": "os.mkdir(name)",
    "link to a directory": "os.symlink('.', name)",
    "link to our output": "os.symlink('/proc/self/fd/1', name)",
    "link to a device": "os.symlink('/dev/full', name)",
    "link to a FIFO": "os.symlink('../fifo', name)",
}


def occupied(hooks: Hooks, count: int, make: str) -> list[str]:
    """Return the beginning of a command whose process first takes the hook's own first names."""
    script = (
        f"import os, sys\nfor number in range({count}):\n"
        f"    name = f'{hooks.spool}/{{os.getpid() % 1024}}-{{number}}'\n    {make}\n"
        "os.execvp(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", script]


@pytest.mark.parametrize("name", ODD)
def test_of_what_is_no_file_another_name_is_taken(hooks: Hooks, name: str) -> None:
    os.mkfifo(hooks.directory / "fifo")
    hooks.command = [*occupied(hooks, 1, ODD[name]), *hooks.command]
    hooks.run("codex", "Stop", payload=b"{}", output=REPLY)
    odd, new = sorted(hooks.spool.iterdir())
    assert odd.name.endswith("-0")
    assert new.name.endswith("-1")
    assert new.read_bytes().endswith(b"\n{}")


def test_where_every_name_is_taken_by_what_is_no_file_it_gives_up(hooks: Hooks) -> None:
    hooks.command = [*occupied(hooks, 8, ODD["FIFO"]), *hooks.command]
    hooks.run("codex", "Stop", payload=b"x" * 100_000, output=REPLY)
    assert len(list(hooks.spool.iterdir())) == 8


def test_files_do_not_pile_up_without_end(plain: Hooks) -> None:
    for number in range(NAMES_IN_ALL):
        os.close(os.open(plain.spool / f"{number // 8}-{number % 8}", os.O_CREAT))
    plain.run("codex", "Stop", payload=b"x" * 100_000, output=REPLY)
    assert sum(path.stat().st_size for path in plain.spool.iterdir()) == 0
    assert len(list(plain.spool.iterdir())) == NAMES_IN_ALL


def test_hooks_at_once_do_not_get_in_each_others_way(plain: Hooks) -> None:
    running = [
        subprocess.Popen([HOOK, "claude", f"event {n}"], env=plain.environ, stdin=subprocess.DEVNULL)
        for n in range(40)
    ]
    assert {process.wait() for process in running} == {0}
    events = {re.search(rb"^Event: (.*)$", content, re.M)[1] for content in plain.files()}  # type: ignore[index]
    assert events == {f"event {n}".encode() for n in range(40)}


def in_namespace(script: str, hooks: Hooks, payload: bytes) -> Done:
    """Run a script in a mount namespace of its own; $1 is the spool, the rest runs seance-hook."""
    unshare = unshared("-m", *(["-r"] if os.getuid() else []))
    command = [*unshare, "sh", "-euc", f"spool=$1; shift\n{script}", "sh", str(hooks.spool), *hooks.command]
    return subprocess.run([*command, "codex", "Stop"], env=hooks.environ, input=payload, capture_output=True)


MOUNTS = {
    "full": 'mount -t tmpfs -o size=4k,mode=700 none "$spool"; head -c 4096 /dev/zero >"$spool/.full"',
    "out of inodes": 'mount -t tmpfs -o nr_inodes=1,mode=700 none "$spool"',
    "read-only": 'mount -t tmpfs -o ro,mode=700 none "$spool"',
}


@pytest.mark.parametrize("name", MOUNTS)
def test_a_disk_that_takes_nothing_is_not_the_agents_business(
    hooks: Hooks, name: str, need: Callable[[str], str]
) -> None:
    traced = f'{need("strace")} -f -o "$spool/../trace" "$@"'
    done = in_namespace(f"{MOUNTS[name]}; {traced}", hooks, b"x" * 200_000)
    assert (done.returncode, done.stdout, done.stderr) == (0, REPLY, b"")
    assert starts_nothing((hooks.directory / "trace").read_text().splitlines())


def test_a_disk_that_fills_up_in_the_middle_prints_nothing(hooks: Hooks, need: Callable[[str], str]) -> None:
    script = (
        'mount -t tmpfs -o size=64k,mode=700 none "$spool"; status=0; '
        f'{need("strace")} -f -o "$spool/../trace" "$@" || status=$?; '
        '[ $status = 1 ]; cat "$spool"/* >&2'  # that much is cat's, and no builtin could change it
    )
    done = in_namespace(script, hooks, b"x" * 200_000)
    assert (done.returncode, done.stdout) == (0, REPLY)
    assert done.stderr.startswith(b"Agent: codex\nEvent: Stop\n")  # without the end of its payload
    report = spoolfile.parse(done.stderr, 0.0)
    assert (report.request.params["event"], report.problem) == ("Stop", "malformed")
    assert report.processes
    assert starts_nothing((hooks.directory / "trace").read_text().splitlines())


@pytest.mark.parametrize(("blocks", "status"), [(0, 0), (8, 1)])
def test_a_limit_on_the_size_of_files_does_not_kill_it(hooks: Hooks, blocks: int, status: int) -> None:
    done = subprocess.run(
        ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", *hooks.command, "codex", "Stop"],
        env=hooks.environ,
        input=b"x" * 30_000,
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, REPLY, b"")


def test_without_cat_the_header_alone_counts(hooks: Hooks) -> None:
    script = 'printf "" >"$spool/../cat"; mount --bind "$spool/../cat" "$(readlink -f /bin/cat)"; "$@"'
    if hooks.command[0] == "busybox":
        pytest.skip("it is cat itself")
    done = in_namespace(script, hooks, b"{}")
    assert (done.returncode, done.stdout, done.stderr) == (0, REPLY, b"")
    assert hooks.report()[1] == b""


def trace(need: Callable[[str], str], hooks: Hooks, *arguments: str, payload: bytes = b"") -> list[str]:
    """Return the system calls of a hook and of whatever it may start."""
    record = hooks.directory / "trace"
    subprocess.run(
        [need("strace"), "-f", "-o", record, *hooks.command, *arguments],
        env=hooks.environ,
        input=payload,
        check=True,
    )
    return record.read_text().splitlines()


def starts_nothing(calls: list[str]) -> bool:
    """Whether a traced hook stayed one process."""
    assert calls
    started = [call for call in calls if re.search(r"\b(v?fork|clone3?)\(", call)]
    return not started and len({call.split()[0] for call in calls}) == 1


@pytest.mark.parametrize("size", [0, 2_000, 200_000, 1_000_000])
@pytest.mark.parametrize("state", ["a broker", "no broker", "a file in its place", "no names left"])
def test_it_starts_no_process(hooks: Hooks, need: Callable[[str], str], size: int, state: str) -> None:
    before = 0
    if state == "no names left":
        hooks.command = [*occupied(hooks, 8, ODD["FIFO"]), *hooks.command]
        before = 1
    elif state != "a broker":
        hooks.spool.rmdir()
    if state == "a file in its place":
        hooks.spool.write_bytes(b"")
    calls = trace(need, hooks, "codex", "Stop", payload=b"x" * size)
    assert starts_nothing(calls)
    programs = [call for call in calls if "execve(" in call and call.endswith("= 0")][before:]
    assert len(programs) == 2  # the shell's, and cat's in its place
    assert '"/bin/cat"' in programs[1]


def test_with_the_payload_as_argument_it_runs_no_program(hooks: Hooks, need: Callable[[str], str]) -> None:
    calls = trace(need, hooks, "codex", "notify", "{}")
    assert len([call for call in calls if "execve(" in call]) == 1


def test_its_work_does_not_grow_with_the_payload(plain: Hooks, need: Callable[[str], str]) -> None:
    def count(payload: bytes) -> int:
        calls = trace(need, plain, "claude", "Stop", payload=payload)
        assert sum(path.stat().st_size for path in plain.spool.iterdir()) > len(payload)
        for path in plain.spool.iterdir():
            path.unlink()
        return len([call for call in calls if "read(" not in call and "write(" not in call])

    assert abs(count(b"x") - count(b"x" * 1_000_000)) <= 4
    assert count(b"") < 150


def test_seance_hook_is_seance_hook(hooks: Hooks) -> None:
    hooks.command = [*hooks.command[:-1], SEANCE, "hook"]
    hooks.run("codex", "Stop", payload=b"{}", output=REPLY)
    assert hooks.report()[0]["Agent"] == ["codex"]


def test_in_a_container_it_tells_the_name_of_the_machine(hooks: Hooks) -> None:
    contained = any(map(os.path.exists, names.CONTAINER_MARKS))
    hooks.run("claude", "Stop")
    assert hooks.report()[0].get("Host") == ([os.uname().nodename] if contained else None)


def test_the_given_name_of_the_machine_wins(hooks: Hooks) -> None:
    hooks.environ["SEANCE_HOST"] = "box"
    hooks.run("claude", "Stop")
    assert hooks.report()[0]["Host"] == ["box"]
