from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seance_tools import child
from tests.support import eventually


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def find(*directories: object, me: object = "/nowhere", last: bool = False) -> str:
    return child.find_program("codebuff", ":".join(map(str, directories)), str(me), last=last)


def test_the_first_on_path_is_found(tmp_path: Path) -> None:
    first, second = program(tmp_path / "a" / "codebuff"), program(tmp_path / "b" / "codebuff")
    path = (tmp_path / "missing", tmp_path / "a/", tmp_path / "a", tmp_path / "b")
    assert find(*path) == str(first)
    assert find(*path, last=True) == str(second)
    assert find(tmp_path / "missing") == ""
    assert find("") == ""


def test_what_cannot_be_run_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a" / "codebuff").mkdir(parents=True)
    program(tmp_path / "b" / "codebuff").chmod(0o644)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "codebuff").symlink_to("gone")
    real = program(tmp_path / "d" / "codebuff")
    assert find(*(tmp_path / name for name in "abcd")) == str(real)


def test_an_empty_entry_is_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "codebuff")
    monkeypatch.chdir(tmp_path)
    assert find("", "/bin") == "./codebuff"


@pytest.mark.parametrize("kind", ["same", "symlink", "hard link", "copy"])
def test_the_wrapper_never_finds_itself(tmp_path: Path, kind: str) -> None:
    text = "#!/usr/bin/python3\nimport sys\n"
    if kind == "copy":
        text += "from seance_tools.codebuff import main\nsys.exit(main())\n"
    me = program(tmp_path / "a" / "codebuff-wrapper", text)
    other = tmp_path / "b" / "codebuff"
    other.parent.mkdir()
    if kind == "same":
        me = program(other, text)
    elif kind == "symlink":
        other.symlink_to(me)
    elif kind == "hard link":
        other.hardlink_to(me)
    else:
        program(other, text)
    assert find(other.parent, me=me) == ""
    real = program(tmp_path / "c" / "codebuff")
    assert find(other.parent, real.parent, me=me) == str(real)


def test_a_link_to_the_agent_is_the_agent(tmp_path: Path) -> None:
    real = program(tmp_path / "a" / "index.js")
    for name in ("codebuff", "cb"):
        (tmp_path / name).symlink_to(real)
    assert find(tmp_path) == str(tmp_path / "codebuff")
    assert child.same_file(str(tmp_path / "codebuff"), str(tmp_path / "cb"))
    assert not child.same_file(str(tmp_path / "codebuff"), "/bin/sh")
    assert not child.same_file(str(tmp_path / "codebuff"), "")


def test_ancestors() -> None:
    assert child.comes_from(os.getpid())
    assert child.comes_from(os.getppid())
    sibling = subprocess.Popen(["sleep", "60"])
    assert not child.comes_from(sibling.pid)
    sibling.kill()
    sibling.wait()
    assert not child.comes_from(sibling.pid)


def run(code: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in which `child` is imported, and nothing but `more` in the environment."""
    code = f"import os, sys; sys.path.insert(0, {os.getcwd()!r}); from seance_tools import child\n{code}"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", env=more)


@pytest.mark.parametrize(
    "given", [{}, {"LC_CTYPE": "C.UTF-8"}, {"LC_ALL": "C"}, {"LANG": "C", "A": "\udcff"}]
)
def test_the_environment_is_handed_on_as_it_was(given: dict[str, str]) -> None:
    code = "child.become('/usr/bin/env', ['env', '-0'], child.original_environment())"
    assert run(code, **given).stdout == "".join(f"{name}={value}\0" for name, value in given.items())


def test_signals_that_the_interpreter_ignores_are_reset() -> None:
    ignored = run("child.become('/bin/grep', ['grep', 'SigIgn', '/proc/self/status'], {})").stdout
    both = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)  # who runs the tests may ignore others
    assert int(ignored.split()[1], 16) & both == 0


def test_an_interrupt_ends_the_wrapper_as_it_would_end_the_agent() -> None:
    code = "import os, signal; child.plain_interrupts(); os.kill(os.getpid(), signal.SIGINT)"
    ended = run(code)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")
    ended = run(f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {code}; print('lives')")
    assert (ended.returncode, ended.stdout) == (0, "lives\n")


@pytest.mark.parametrize(
    ("text", "mode", "status"),
    [("#!/nowhere/python\n", 0o755, 127), ("#!/bin/sh\n", 0o644, 126), ("\x7fELF nonsense", 0o755, 126)],
)
def test_what_cannot_be_run_has_the_shells_statuses(
    tmp_path: Path, text: str, mode: int, status: int
) -> None:
    path = program(tmp_path / "codebuff", text)
    path.chmod(mode)
    ended = run(
        f"status, reason = child.become({str(path)!r}, ['codebuff'], {{}}); print(reason); sys.exit(status)"
    )
    if text.startswith("\x7f"):  # the shell that is tried with it says so by itself
        assert ended.returncode in (2, 126, 127)
        return
    assert ended.returncode == status
    assert ended.stdout in ("No such file or directory\n", "Permission denied\n")


def test_a_script_without_its_first_line_is_run_by_sh(tmp_path: Path) -> None:
    path = program(tmp_path / "codebuff", 'echo "$0 $1"\nexit 7\n')
    ended = run(f"child.become({str(path)!r}, ['codebuff', 'a b'], {{}})")
    assert (ended.returncode, ended.stdout) == (7, f"{path} a b\n")


MONITORED = """
import os, sys
from seance_tools import child
report = sys.argv[1]
def work(pidfd):
    import select
    streams = [os.readlink(f"/proc/self/fd/{number}") for number in range(3)]
    others = [number for number in os.listdir("/proc/self/fd") if int(number) > 2]
    with open(report, "w") as file:  # the listing above had a descriptor too
        print(os.getpid(), os.getsid(0), os.getcwd(), *streams, len(others) - 1, file=file)
    select.select([pidfd], [], [])
    with open(report, "a") as file:
        print("ended", file=file)
child.leave_monitor(work)
child.become("/bin/cat", ["cat"], dict(os.environ))
"""


@pytest.mark.parametrize("closed", ["", "2>&-"])
def test_the_monitor_is_a_process_of_its_own_and_hears_of_the_end(
    tmp_path: Path, environ: dict[str, str], closed: str
) -> None:
    report = tmp_path / "report"
    command = ["sh", "-c", f'exec 9<&0 "$@" {closed}', "sh", sys.executable, "-c", MONITORED, str(report)]
    agent = subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    eventually(lambda: report.exists() and report.read_text().endswith("\n"))
    pid, session, *rest = report.read_text().split()
    assert rest == ["/", "/dev/null", "/dev/null", "/dev/null", "1"]
    assert int(pid) not in (agent.pid, int(session))
    assert int(session) != os.getsid(0)
    assert agent.communicate(b"its own output\n")[0] == b"its own output\n"
    assert agent.returncode == 0
    eventually(lambda: report.read_text().endswith("ended\n"), 1.0)


def test_the_monitors_failure_is_its_own() -> None:
    code = "child.leave_monitor(lambda pidfd: 1 / 0); child.become('/bin/echo', ['echo', 'hello'], {})"
    ended = run(code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "hello\n", "")


@pytest.mark.parametrize("broken", ["fork", "pidfd_open", "setsid"])
def test_what_keeps_the_monitor_from_being_forked_is_raised(broken: str) -> None:
    code = f"""
def fail(*_):
    raise OSError(11, "no more processes")
os.{broken} = fail
try:
    child.leave_monitor(print)
except OSError as error:
    print("raised", error.strerror)
print(sorted(os.listdir("/proc/self/fd")))
"""
    reason = "the monitor could not be forked away" if broken == "setsid" else "no more processes"
    ended = run(code)
    assert ended.stdout.splitlines()[0] == f"raised {reason}"
    assert ended.stdout.splitlines()[1:] == [str(["0", "1", "2", "3"])]
    assert ended.stderr == ""


def test_a_monitor_is_left_where_the_kernel_clears_children_away() -> None:
    code = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); child.leave_monitor(lambda _: None)"
    ended = run(code)
    assert (ended.returncode, ended.stderr) == (0, "")
