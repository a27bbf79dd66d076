"""What others have at a bash prompt goes on as it was, and ours with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shell.prompt import Shell, source, spool_of

OURS = source("bash")
DONE = [("running",), ("prompt", 1)]  # what `false` gives


@pytest.fixture(autouse=True)
def spool(environ: dict[str, str]) -> None:
    spool_of(environ).mkdir(parents=True)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def hook(name: str) -> str:
    """What somebody else does at the prompt: it notes what it sees of the last command."""
    return f'echo "{name} $? ${{PIPESTATUS[*]}}" >>log'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"PROMPT_COMMAND='{hook('a')}'", ""),
        (f"PROMPT_COMMAND='{hook('a')};'", ""),
        ("", f"PROMPT_COMMAND='{hook('a')}'"),
        ("", f"PROMPT_COMMAND='{hook('a')}; '\"$PROMPT_COMMAND\""),
        ("", f"PROMPT_COMMAND=\"${{PROMPT_COMMAND:+$PROMPT_COMMAND; }}\"'{hook('a')}'"),
        (f"PROMPT_COMMAND=('{hook('a')}' 'true')", ""),
        (f"PROMPT_COMMAND=('{hook('a')}')", "PROMPT_COMMAND+=('history -a')"),
        ("", f"PROMPT_COMMAND=('{hook('a')}' \"${{PROMPT_COMMAND[@]}}\")"),
        ("declare -a PROMPT_COMMAND", f"PROMPT_COMMAND='{hook('a')}'"),
        ("export PROMPT_COMMAND", f"PROMPT_COMMAND='{hook('a')}'"),
    ],
)
def test_prompt_command(environ: dict[str, str], tmp_path: Path, log: Path, before: str, after: str) -> None:
    with Shell("bash", environ, tmp_path, before, OURS, OURS, after) as prompt:
        log.unlink()
        prompt.take()
        prompt.run("true | false")
        assert log.read_text() == "a 1 0 1\n"
        assert prompt.states() == DONE


def test_a_prompt_command_that_is_read_only(environ: dict[str, str], tmp_path: Path) -> None:
    with Shell("bash", environ, tmp_path, "readonly PROMPT_COMMAND PS0", OURS) as prompt:
        assert prompt.run("echo alive") == "alive\n"
        assert prompt.take() == []
    with Shell("bash", environ, tmp_path, "readonly PS0=", OURS) as prompt:
        assert prompt.run("echo alive") == "alive\n"
        assert [one["state"] for one in prompt.take()] == ["prompt"]


@pytest.mark.parametrize("when", ["before", "after", "at the prompt"])
def test_a_debug_trap_goes_on(environ: dict[str, str], tmp_path: Path, log: Path, when: str) -> None:
    trap = """trap 'echo "debug $BASH_COMMAND $? $_" >>log # theirs' DEBUG"""
    with Shell("bash", environ, tmp_path, *((trap, OURS) if when == "before" else (OURS, trap))) as prompt:
        prompt.run(trap, "true") if when == "at the prompt" else None
        log.unlink()
        prompt.take()
        prompt.run("true x", "false y")
        text = log.read_text()
        assert text.count("debug true x 0 ") == text.count("debug false y 0 ") == 1
        assert prompt.states() == [("running",), ("prompt", 0), *DONE]
        prompt.run("trap - DEBUG", "true")
        prompt.take()
        prompt.run("false")
        assert prompt.states() == DONE


TITLE = """trap 'printf "<%s|$?|$_|$LINENO>" "$BASH_COMMAND"; printf "%s\\n" "$BASH_COMMAND" >>log' DEBUG"""
LINES = ("true x", "false y", "", "echo a; echo b", "(true; exit 4)", "false z")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("more", [":", "set -T", "shopt -s extdebug", "set -u", "trap 'true' ERR"])
def test_a_debug_trap_is_not_called_for_what_is_ours(
    environ: dict[str, str], tmp_path: Path, log: Path, when: str, more: str
) -> None:
    """A window's title set this way tells the command, at the next prompt too."""
    said, seen = [], []
    for rc in ((TITLE, more), (TITLE, more, OURS) if when == "before" else (OURS, TITLE, more)):
        with Shell("bash", environ, tmp_path, *rc) as prompt:
            prompt.run("true")
            log.write_text("")
            prompt.take()
            said.append(prompt.run(*LINES))
            seen.append(log.read_text())
            assert bool(prompt.states()) == (OURS in rc)
    assert "<false y|0|x|3>" in said[0]
    assert said[0] == said[1]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("when", ["first", "later"])
def test_a_debug_trap_that_is_new_prints_one_call_and_sees_none_within(
    environ: dict[str, str], tmp_path: Path, log: Path, when: str
) -> None:
    rc = (OURS, TITLE) if when == "first" else (OURS, ":")
    with Shell("bash", environ, tmp_path, *rc) as prompt:
        if when == "later":
            prompt.run("true")
            said = prompt.run(TITLE, "true y")  # only the prompt after that can tell that it is new
            assert "<true y|" in said
            assert said.count("<__seance") == 2
        assert "__seance" not in prompt.run("true z", "true")
    seen = [line for line in log.read_text().splitlines() if not line.startswith("true")]
    calls = ["__seance_report"] * (2 if when == "later" else 1)
    assert seen == [*calls, 'trap -p DEBUG >| "/dev/fd/$((__seance_asked = 3))"', "__seance_listen"]


def test_a_debug_trap_that_cannot_be_looked_at_stays(environ: dict[str, str], tmp_path: Path) -> None:
    trap = "shopt -s extdebug; trap '[[ $BASH_COMMAND != trap\\ -p\\ DEBUG* ]]' DEBUG"
    with Shell("bash", environ, tmp_path, trap, OURS) as prompt:
        assert prompt.run("echo a", "trap -p DEBUG", "echo b") == "a\nb\n"
        assert "DEBUG*" in prompt.run("trap -p")


def test_xtrace_tells_of_one_call(environ: dict[str, str], tmp_path: Path) -> None:
    said = []
    for rc in ((), (OURS,)):
        with Shell("bash", environ, tmp_path, *rc) as prompt:
            prompt.run("set -x")
            said.append(prompt.run("true x", "false y", "", "cd /"))
    assert said[0] == said[1].replace("++ __seance_report\n", "")
    assert said[1].count("__seance") <= 4


@pytest.mark.parametrize("test", ['!= "echo forbidden"', "!= *forbidden*"])
def test_a_debug_trap_that_forbids_a_command(environ: dict[str, str], tmp_path: Path, test: str) -> None:
    trap = f"shopt -s extdebug; trap '[[ $BASH_COMMAND {test} ]]' DEBUG"
    with Shell("bash", environ, tmp_path, trap, OURS) as prompt:
        assert prompt.run("echo allowed", "echo forbidden", "echo again") == "allowed\nagain\n"
    with Shell("bash", environ, tmp_path, OURS, "shopt -s extdebug") as prompt:
        assert prompt.run("false", "echo allowed") == "allowed\n"


def test_ps0_of_the_user_is_printed_and_ours_never(environ: dict[str, str], tmp_path: Path) -> None:
    lines = ("echo a", "shopt -u promptvars", "echo b", "shopt -s promptvars", "echo c")
    with Shell("bash", environ, tmp_path, "PS0='<ps0>'", OURS) as prompt:
        assert prompt.run(*lines) == "<ps0>a\n<ps0><ps0>b\n<ps0><ps0>c\n"
        prompt.take()
        prompt.run("PS0='<mine>'", "true")
        prompt.take()
        assert prompt.run("echo d") == "<mine>d\n"
        assert prompt.states() == [("running",), ("prompt", 0)]


@pytest.mark.parametrize(
    "setting",
    [
        "set -u",
        "set -eu",
        "set -C",
        "IFS=x",
        "set -o vi",
        "set -T",
        "set -E; trap 'echo error' ERR",
        "set -o posix",
        "set -f",
        "set +B",
        "set -a",
        "shopt -s nocasematch",
        "shopt -s extdebug",
        "unset HOME",
        "alias printf=echo",
        "trap 'echo bye' EXIT",
        "exec 3>/dev/null",
    ],
)
def test_settings_of_the_user(environ: dict[str, str], tmp_path: Path, setting: str) -> None:
    lines = ("! true", 'echo "$? $-"', "trap -p ERR EXIT", "shopt -p | cksum; alias")
    said = []
    for rc in (f"{setting}\n{OURS}\n", f"{OURS}\n{setting}", setting):
        with Shell("bash", environ, tmp_path, rc) as prompt:
            prompt.run("true")
            told = [("prompt",), ("running",), ("prompt", 0)] if OURS in rc else []
            assert prompt.states() == told
            said.append(prompt.run(*lines))
            prompt.take()
    assert said[0] == said[1] == said[2]


def test_a_set_e_shell_ends_where_it_would_and_not_before(environ: dict[str, str], tmp_path: Path) -> None:
    with Shell("bash", environ, tmp_path, OURS, "set -eu") as prompt:
        prompt.run("(exit 3) || true", "! true", "true")
        prompt.terminal.type("(exit 7)\n")
        assert prompt.terminal.wait() == 7


def test_commands_in_a_subshell_or_the_background(environ: dict[str, str], tmp_path: Path) -> None:
    with Shell("bash", environ, tmp_path, OURS) as prompt:
        prompt.take()
        prompt.run("(true; exit 4)")
        assert prompt.states()[-1] == ("prompt", 4)
        prompt.run("set -T", "(true; exit 5)")
        assert prompt.states()[-1] == ("prompt", 5)
        prompt.run("for i in 1 2 3; do false; done")
        assert prompt.states() == DONE


def test_ctrl_c_at_the_prompt_is_no_command(environ: dict[str, str], tmp_path: Path) -> None:
    with Shell("bash", environ, tmp_path, OURS) as prompt:
        prompt.take()
        while b"READY> " not in prompt.terminal.output:  # it is lost until readline listens
            prompt.terminal.type("abc\x03")
            prompt.terminal.read(0.2)
            prompt.terminal.read(0.1)
        assert prompt.take() == []


# What bash-preexec documents, and how: by the DEBUG trap, from the first prompt on.
PREEXEC = r"""
bash_preexec_imported=defined
precmd_functions=() preexec_functions=()
__ready=
__precmd() { local ended=$? f; for f in "${precmd_functions[@]}"; do (exit $ended); "$f"; done; }
__preexec() {
    local f
    [[ $__ready ]] || return 0
    __ready=
    for f in "${preexec_functions[@]}"; do "$f" "$BASH_COMMAND"; done
}
PROMPT_COMMAND+=('__precmd; trap "__preexec" DEBUG; PROMPT_COMMAND[9000]="__ready=on"')
theirs() { echo "precmd $?" >>log; }
also() { echo "preexec $1" >>log; }
"""


@pytest.mark.parametrize("order", ["first", "last"])
def test_bash_preexec(environ: dict[str, str], tmp_path: Path, log: Path, order: str) -> None:
    theirs = PREEXEC + "precmd_functions+=(theirs); preexec_functions+=(also)"
    with Shell(
        "bash", environ, tmp_path, *((theirs, OURS) if order == "first" else (OURS, theirs))
    ) as prompt:
        prompt.run("true")
        log.unlink()
        prompt.take()
        prompt.run("false")
        assert log.read_text() == "preexec false\nprecmd 1\n"
        assert prompt.states() == DONE
