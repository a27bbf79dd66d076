"""What the shells tell at their prompts, in shells on terminals of their own."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from seance_tools.names import PLACE_HEADERS
from tests.shell.prompt import ROOT, SHELLS, Shell, source, spool_of
from tests.support import needed, only_root

EVERY = pytest.mark.parametrize("shell", SHELLS)
BOURNE = pytest.mark.parametrize("shell", ["bash", "zsh"])


@pytest.fixture
def spool(environ: dict[str, str]) -> Path:
    path = spool_of(environ)
    path.mkdir(parents=True)
    return path


@EVERY
@pytest.mark.usefixtures("spool")
def test_a_command_is_told_when_it_begins_and_ends(
    shell: str, environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    with Shell(shell, environ, tmp_path, source(shell)) as prompt:
        [first] = prompt.take()
        assert (first["cwd"], first["state"]) == (str(tmp_path), "prompt")
        assert "exit_code" not in first
        prompt.run("cd sub", "sleep 0.2", "sh -c 'exit 7'")
        begun, moved, slept, woke, *last = prompt.take()
        assert (begun["cwd"], begun["state"]) == (str(tmp_path), "running")
        assert (moved["cwd"], moved["state"], moved["exit_code"]) == (f"{tmp_path}/sub", "prompt", 0)
        assert slept["state"] == "running"
        assert woke["duration_ms"] >= 200 > moved["duration_ms"] >= 0
        assert [one["state"] for one in last] == ["running", "prompt"]
        assert last[1]["exit_code"] == 7


@EVERY
@pytest.mark.usefixtures("spool")
def test_the_pane_is_told_as_hooks_tell_it(shell: str, environ: dict[str, str], tmp_path: Path) -> None:
    places = {variable: f"value of {variable}" for variable in PLACE_HEADERS.values()}
    ids = {"SEANCE_SURFACE_ID": "12", "SEANCE_WORKSPACE_ID": "3"}
    with Shell(shell, {**environ, **places, **ids}, tmp_path, source(shell)) as prompt:
        [report] = prompt.take()
        assert report["caller"] == {"env": places, "surface_id": 12, "workspace_id": 3}
        assert report["tty_session"] == prompt.terminal.pid


@EVERY
@pytest.mark.usefixtures("spool")
def test_outside_of_a_multiplexer_the_terminal_is_told(
    shell: str, environ: dict[str, str], tmp_path: Path
) -> None:
    with Shell(shell, environ, tmp_path, source(shell)) as prompt:
        device = os.readlink(f"/proc/{prompt.terminal.pid}/fd/0")
        [report] = prompt.take()
        assert report["caller"] == {"tty": device, "tty_session": prompt.terminal.pid}


@EVERY
@pytest.mark.usefixtures("spool")
def test_any_directory_can_be_told(shell: str, environ: dict[str, str], tmp_path: Path) -> None:
    names = ['quo"te', "back\\slash", "perc%sent $HOME", "ütf-8 ☃", "a'b"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / "new\nline").mkdir()
    with Shell(shell, {**environ, "LC_ALL": "C.UTF-8"}, tmp_path, source(shell)) as prompt:
        prompt.take()
        for name in names:
            quoted = name.replace("\\", "\\\\") if shell == "fish" else name
            prompt.run("cd '{}'".format(quoted.replace("'", "'\\''")), "cd ..")
            assert prompt.take()[1]["cwd"] == f"{tmp_path}/{name}"
        prompt.run("cd new*")
        assert prompt.take()[1]["cwd"] == f"{tmp_path}/new\N{REPLACEMENT CHARACTER}line"


@BOURNE
@pytest.mark.usefixtures("spool")
def test_where_nothing_has_happened_nothing_is_told(
    shell: str, environ: dict[str, str], tmp_path: Path
) -> None:
    with Shell(shell, environ, tmp_path, source(shell)) as prompt:
        prompt.run("true")
        prompt.take()
        prompt.run("", "", "# a comment" if shell == "bash" else "")
        assert prompt.take() == []


@BOURNE
def test_while_nobody_takes_them_eight_files_are_kept_and_the_newest_is_true(
    shell: str, environ: dict[str, str], spool: Path, tmp_path: Path
) -> None:
    with Shell(shell, environ, tmp_path, source(shell)) as prompt:
        prompt.run(*["true"] * 12, "sleep 0.1; false")
        files = sorted(spool.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        assert len(files) == 8
        assert b'"exit_code":1,' in files[-1].read_bytes()
        for path in files:
            path.unlink()
        prompt.run("true")
        assert len(list(spool.iterdir())) == 2


@EVERY
@pytest.mark.usefixtures("spool")
def test_no_process_is_started_at_a_hundred_prompts(
    shell: str, environ: dict[str, str], tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    strace = (
        needed("strace"),
        "-f",
        "-qq",
        "-e",
        "trace=clone,clone3,fork,vfork,execve",
        "-e",
        "signal=none",
        "-o",
    )
    with Shell(shell, environ, tmp_path, source(shell), before=(*strace, str(trace))) as prompt:
        for _ in range(10):
            prompt.run(*["true"] * 10)
            assert ("prompt", 0) in prompt.states()
    # Threads are not processes: fish has some.
    started = re.findall(r"^\d+ +(?:execve|v?fork|clone3?\(.*SIGCHLD).*", trace.read_text(), re.M)
    assert len(started) == 1, started  # the shell itself


@EVERY
@pytest.mark.parametrize("why", ["no spool", "another's spool", "switched off"])
def test_it_is_quiet(shell: str, why: str, environ: dict[str, str], tmp_path: Path) -> None:
    spool = spool_of(environ)
    if why != "no spool":
        spool.mkdir(parents=True)
    if why == "another's spool":
        only_root()
        os.chown(spool, 12345, 12345)
    if why == "switched off":
        environ["SEANCE_SHELL_REPORTS"] = "0"
    said = []
    for rc in ("", source(shell)):
        with Shell(shell, environ, tmp_path, rc) as prompt:
            if shell == "fish":
                prompt.terminal.type("cd /\nfalse\necho al''ive\n")
                prompt.terminal.expect("alive")
            else:
                said.append(prompt.run("cd /", "false", "cd - >/dev/null", "echo alive"))
            prompt.terminal.type("exit\n")
            prompt.terminal.wait()
    assert said == ([] if shell == "fish" else ["alive\n"] * 2)
    assert not spool.exists() or not list(spool.iterdir())


@BOURNE
@pytest.mark.usefixtures("spool")
def test_nothing_is_printed_and_what_the_user_sees_stays(
    shell: str, environ: dict[str, str], tmp_path: Path
) -> None:
    lines = ["true", "false", 'echo "status $? last $_"', "false | true | (exit 3)"]
    lines += ['echo "${PIPESTATUS[*]}${pipestatus[*]}"', "", "(exit 5)", 'echo "$?"']
    said = []
    for rc in ("", source(shell)):
        with Shell(shell, environ, tmp_path, rc) as prompt:
            said.append(prompt.run(*lines))
            if rc:
                assert prompt.states()
    assert said[0] == said[1]
    assert "status 1" in said[0]


@BOURNE
def test_what_cannot_be_written_is_no_matter(
    shell: str, environ: dict[str, str], spool: Path, tmp_path: Path
) -> None:
    """The spool goes away between the look at it and the file: here a link to itself stands in for that."""
    with Shell(shell, environ, tmp_path, source(shell)) as prompt:
        for number in range(0, 1024, 128):
            path = spool / f"shell-{prompt.terminal.pid}-{_born(prompt.terminal.pid)}-{number}"
            path.unlink(missing_ok=True)
            path.symlink_to(path)
        assert prompt.run("true", "echo alive") == "alive\n"
        assert sum(path.is_symlink() for path in spool.iterdir()) == 8


def _born(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]


@BOURNE
@pytest.mark.usefixtures("spool")
def test_sourced_twice_it_tells_once(shell: str, environ: dict[str, str], tmp_path: Path) -> None:
    with Shell(shell, environ, tmp_path, source(shell), source(shell)) as prompt:
        prompt.run("true")
        prompt.take()
        prompt.run(source(shell), "true")
        assert prompt.states()[-2:] == [("running",), ("prompt", 0)]


@BOURNE
@pytest.mark.usefixtures("spool")
def test_a_shell_that_a_shell_becomes_tells_on(shell: str, environ: dict[str, str], tmp_path: Path) -> None:
    with Shell(shell, environ, tmp_path, source(shell)) as prompt:
        prompt.take()
        prompt.run(f"exec {' '.join(SHELLS[shell])}", "false")
        assert ("prompt", 1) in prompt.states()


def test_every_place_is_in_every_file() -> None:
    for shell in SHELLS:
        text = (ROOT / "wrappers" / f"seance.{shell}").read_text()
        for header, variable in PLACE_HEADERS.items():
            assert f"__seance_place {header} {variable}\n" in text
