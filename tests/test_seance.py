"""bin/seance: one name for all programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SEANCE = Path(__file__).parent.parent / "bin" / "seance"


def run(argv: list[str], environ: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, env=environ, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory with seance and a seance-ctl beside it that tells how it was called."""
    directory = tmp_path / "opt" / "bin"
    directory.mkdir(parents=True)
    (directory / "seance").write_text(SEANCE.read_text())
    (directory / "seance-ctl").write_text('#!/bin/sh\nprintf "%s|" ctl "$@"\nexit 7\n')
    for program in directory.iterdir():
        program.chmod(0o755)
    return directory


@pytest.mark.parametrize("how", ["path", "relative", "here", "link"])
def test_it_becomes_the_program_beside_it_with_all_arguments(
    programs: Path, environ: dict[str, str], tmp_path: Path, how: str
) -> None:
    link = tmp_path / "elsewhere"
    link.symlink_to(programs / "seance")
    argv = {"path": "seance", "relative": "bin/seance", "here": "./seance", "link": str(link)}[how]
    cwd = {"relative": programs.parent, "here": programs}.get(how, tmp_path)
    path = f"{programs}:/usr/bin:/bin" if how == "path" else "/usr/bin:/bin"
    done = run([argv, "ctl", "--json", "two words", ""], {**environ, "PATH": path}, cwd)
    assert (done.returncode, done.stdout, done.stderr) == (7, "ctl|--json|two words||", "")


def test_version_and_help(environ: dict[str, str], tmp_path: Path, programs: Path) -> None:
    assert run([str(programs / "seance"), "--version"], environ, tmp_path).stdout == "ctl|--version|"
    shown = run([str(SEANCE), "--help"], environ, tmp_path)
    assert shown.returncode == 0
    assert shown.stdout.startswith("Usage: seance ctl")


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["--nope"]])
def test_other_words_are_a_usage_error(environ: dict[str, str], tmp_path: Path, argv: list[str]) -> None:
    done = run([str(SEANCE), *argv], environ, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("seance: usage: ")


def test_a_program_that_is_not_there(environ: dict[str, str], tmp_path: Path, programs: Path) -> None:
    done = run([str(programs / "seance"), "sidebar"], {**environ, "PATH": "/usr/bin:/bin"}, tmp_path)
    assert done.returncode == 127
