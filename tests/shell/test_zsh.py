"""What others have at a zsh prompt goes on as it was, and ours with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shell.prompt import Shell, source, spool_of

OURS = source("zsh")
DONE = [("running",), ("prompt", 1)]  # what `false` gives
# Each notes what it sees of the last command: the functions, and one that is added as oh-my-zsh adds its own.
THEIRS = """
precmd() { echo "precmd $?" >>log }
preexec() { echo "preexec $1" >>log }
added() { echo "added $?" >>log }
autoload -Uz add-zsh-hook
add-zsh-hook precmd added
chpwd_functions+=(added)
"""


@pytest.fixture(autouse=True)
def spool(environ: dict[str, str]) -> None:
    spool_of(environ).mkdir(parents=True)


@pytest.mark.parametrize("order", ["first", "last"])
def test_hooks_of_others(environ: dict[str, str], tmp_path: Path, order: str) -> None:
    rc = (THEIRS, OURS) if order == "first" else (OURS, THEIRS)
    log = tmp_path / "log"
    with Shell("zsh", environ, tmp_path, *rc) as prompt:
        log.unlink()
        prompt.take()
        prompt.run("false")
        assert log.read_text() == "preexec false\nprecmd 1\nadded 1\n"
        assert prompt.states() == DONE


@pytest.mark.parametrize(
    "setting",
    [
        "setopt no_unset",
        "setopt err_exit",
        "setopt err_return",
        "setopt no_clobber",
        "setopt ksh_arrays",
        "setopt sh_word_split",
        "setopt warn_create_global",
        "setopt no_exec_hooks 2>/dev/null",
        "bindkey -v",
        "IFS=x",
        "emulate ksh",
        "trap 'echo bye' EXIT",
        "TRAPZERR() { echo failed }",
        "zmodload zsh/datetime",
    ],
)
def test_settings_of_the_user(environ: dict[str, str], tmp_path: Path, setting: str) -> None:
    lines = ("! true", 'echo "$?"', "setopt", "trap", "bindkey | head -3", "alias")
    said = []
    for rc in (f"{setting}\n{OURS}\n", f"{OURS}\n{setting}", setting):
        with Shell("zsh", environ, tmp_path, rc) as prompt:
            prompt.run("true")
            told = [("prompt",), ("running",), ("prompt", 0)] if OURS in rc else []
            assert prompt.states() == told
            said.append(prompt.run(*lines))
            prompt.take()
    assert said[0] == said[1] == said[2]


TITLE = 'printf "<%s|$?>" "$ZSH_DEBUG_CMD"; print -r -- "$ZSH_DEBUG_CMD" >>log'
LINES = ("true x", "false y", "", "echo a; echo b", "cd /", "cd - >/dev/null", "codebuff z")


@pytest.mark.parametrize(
    "setting",
    [f"trap '{TITLE}' DEBUG", f"TRAPDEBUG() {{ {TITLE} }}", "setopt xtrace", "setopt debug_before_cmd"],
)
@pytest.mark.parametrize("order", ["first", "last"])
def test_a_debug_trap_and_xtrace_see_nothing_of_ours(
    environ: dict[str, str], tmp_path: Path, setting: str, order: str
) -> None:
    program = tmp_path / "bin" / "codebuff"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho agent $*")
    program.chmod(0o755)
    search = f"PATH={program.parent}:/usr/bin:/bin"
    said, seen = [], []
    for rc in ((setting,), (setting, OURS) if order == "last" else (OURS, setting)):
        with Shell("zsh", environ, tmp_path, search, "__seance_beside=()", *rc) as prompt:
            (tmp_path / "log").write_text("")
            said.append(prompt.run(*LINES))
            seen.append((tmp_path / "log").read_text())
            assert bool(prompt.states()) == (OURS in rc)
    assert "agent z" in said[0]
    assert said[0] == said[1]
    assert seen[0] == seen[1]


def test_another_may_load_the_rest_of_the_clock(environ: dict[str, str], tmp_path: Path) -> None:
    with Shell("zsh", environ, tmp_path, OURS) as prompt:
        assert prompt.run("zmodload zsh/datetime", "whence strftime") == "strftime\n"
