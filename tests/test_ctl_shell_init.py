"""seance-ctl shell-init: the line for a shell's rc file, printed, added once and taken out again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from seance_tools.ctl import shell_init
from tests.shell.prompt import ROOT

RC = {"bash": ".bashrc", "zsh": ".zshrc", "fish": "config/fish/config.fish"}


def ctl(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["seance-ctl", "shell-init", *arguments], env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("shell", RC)
def test_it_is_printed(environ: dict[str, str], shell: str) -> None:
    done = ctl(environ, shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{ROOT}/wrappers/seance.{shell}" in done.stdout
    assert not (Path(environ["HOME"]) / RC[shell]).exists()


@pytest.mark.parametrize("shell", RC)
def test_it_is_added_once_and_taken_out(environ: dict[str, str], tmp_path: Path, shell: str) -> None:
    rc = tmp_path / RC[shell]
    rc.parent.mkdir(parents=True, exist_ok=True)
    rc.write_text("first\nlast\n")
    assert ctl(environ, shell, "--install").stdout == f"{rc}: added; new shells report\n"
    text = rc.read_text()
    assert text.startswith("first\nlast\n")
    assert text.count("\n") == 3
    assert ctl(environ, shell, "--install").stdout == f"{rc}: nothing to do\n"
    assert rc.read_text() == text
    assert ctl(environ, shell, "--uninstall").stdout == f"{rc}: removed\n"
    assert rc.read_text() == "first\nlast\n"
    assert ctl(environ, shell, "--uninstall").stdout == f"{rc}: nothing to do\n"


def test_what_it_adds_does_what_it_says(environ: dict[str, str], tmp_path: Path) -> None:
    ctl(environ, "bash", "--install")
    command = ["bash", "--rcfile", str(tmp_path / ".bashrc"), "-i", "-c", "declare -F __seance_report"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.stdout == "__seance_report\n"


LOGIN = [
    ({}, ".bash_profile"),
    ({".profile": "PATH=$HOME/bin:$PATH\n"}, ".profile"),
    ({".bash_login": "true\n", ".profile": ". ~/.bashrc\n"}, ".bash_login"),
    ({".profile": '[ ! -f "$HOME/.bashrc" ] || . "$HOME/.bashrc"\n'}, ""),
]


@pytest.mark.parametrize(("files", "to_mend"), LOGIN)
def test_login_shells_that_would_not_report_are_told_of(
    environ: dict[str, str], tmp_path: Path, files: dict[str, str], to_mend: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for _ in range(2):
        done = ctl(environ, "bash", "--install")
        assert done.returncode == 0
        assert done.stderr.count("\n") == (1 if to_mend else 0)
        doctor = subprocess.run(
            ["seance-ctl", "doctor"], env=environ, capture_output=True, text=True, check=False
        )
        [shown] = [row for row in doctor.stdout.splitlines() if "shell: bash" in row]
        assert shown.startswith("warning" if to_mend else "ok")
    declared = ["bash", "--login", "-i", "-c", "declare -F __seance_report"]
    if to_mend:
        assert f"{tmp_path}/{to_mend}: {shell_init.LOGIN_LINE}" in done.stderr
        assert f"{tmp_path}/{to_mend}: {shell_init.LOGIN_LINE}" in shown
        assert subprocess.run(declared, env=environ, capture_output=True, check=False).stdout == b""
        with (tmp_path / to_mend).open("a") as file:
            file.write(shell_init.LOGIN_LINE + "\n")
        assert ctl(environ, "bash", "--install").stderr == ""
    done = subprocess.run(declared, env=environ, capture_output=True, text=True, check=False)
    assert done.stdout == "__seance_report\n"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_no_such_files(environ: dict[str, str], shell: str) -> None:
    assert ctl(environ, shell, "--install").stderr == ""
    assert ctl(environ, "bash", "--uninstall").stderr == ""
    doctor = subprocess.run(
        ["seance-ctl", "doctor"], env=environ, capture_output=True, text=True, check=False
    )
    assert [row.split()[0] for row in doctor.stdout.splitlines() if "shell: " in row] == ["ok"]


def test_through_a_link_and_where_zdotdir_says(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "dots").mkdir()
    (tmp_path / "dots" / ".zshrc").symlink_to("real")
    done = ctl({**environ, "ZDOTDIR": str(tmp_path / "dots")}, "zsh", "--install")
    assert done.returncode == 0
    assert (tmp_path / "dots" / ".zshrc").is_symlink()
    assert "seance.zsh" in (tmp_path / "dots" / "real").read_text()


@pytest.mark.parametrize("problem", ["read-only", "not UTF-8"])
def test_a_file_that_cannot_be_changed_stays(environ: dict[str, str], tmp_path: Path, problem: str) -> None:
    rc = tmp_path / ".bashrc"
    rc.write_bytes(b"\xff\n" if problem == "not UTF-8" else b"text\n")
    rc.chmod(0o444 if problem == "read-only" else 0o644)
    before = rc.read_bytes()
    done = ctl(environ, "bash", "--install")
    assert done.returncode == 1
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert rc.read_bytes() == before


def test_a_moved_installation_takes_the_place_of_the_old_one() -> None:
    old = f"a\n. /old/seance.bash {shell_init.MARK}\nb\n. /older/seance.bash {shell_init.MARK}\n"
    assert shell_init.added(old, ". /new") == f"a\n. /new {shell_init.MARK}\nb\n"
    assert shell_init.added("no line end", ". /new") == f"no line end\n. /new {shell_init.MARK}\n"
