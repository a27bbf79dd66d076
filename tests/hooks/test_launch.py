"""The shell functions give an agent our hooks for one launch, and take nothing from the user."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SHELLS = {
    "bash": (["bash", "--noprofile", "--norc", "-i"], "seance.bash"),
    "zsh": (["zsh", "-f", "-i"], "seance.zsh"),
    "fish": (["fish", "--no-config", "-i"], "seance.fish"),
    "dash": (["dash", "-i"], "seance.sh"),
}
AGENT = '#!/bin/sh\necho "claude $# [$*]"; command -v seance-hook; exit 7\n'


class Prompt:
    """A shell at a prompt and a checkout of its own; claude is on PATH, seance-hook beside the wrappers."""

    def __init__(self, name: str, directory: Path) -> None:
        self.command, self.file = SHELLS[name]
        self.checkout = directory / "a repo"
        for folder in ("wrappers", "hooks", "bin"):
            shutil.copytree(ROOT / folder, self.checkout / folder)
        program = directory / "bin" / "claude"
        program.parent.mkdir()
        program.write_text(AGENT)
        program.chmod(0o755)
        self.status = "$status" if name == "fish" else "$?"
        self.path = [str(program.parent), "/usr/bin", "/bin"]
        if name == "dash":  # such a file cannot know where it is
            self.path.append(str(self.checkout / "bin"))
        self.environ = {"HOME": str(directory), "TERM": "dumb"}

    def type(self, *lines: str) -> list[str]:
        """Type lines after the file was sourced; returns what was printed."""
        source = f". {shlex.quote(str(self.checkout / 'wrappers' / self.file))}"
        script = "\n".join([source, *lines, "exit 0"])
        environ = {**self.environ, "PATH": ":".join(self.path)}
        done = subprocess.run(
            [*self.command, "-c", script],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    @property
    def settings(self) -> str:
        return str(self.checkout / "hooks" / "claude.json")

    @property
    def hook(self) -> str:
        return str(self.checkout / "bin" / "seance-hook")


@pytest.fixture(params=SHELLS)
def prompt(request: pytest.FixtureRequest, tmp_path: Path, need: Callable[[str], str]) -> Prompt:
    need(request.param)
    return Prompt(request.param, tmp_path)


def test_a_session_gets_our_hooks_and_finds_our_program(prompt: Prompt) -> None:
    said, hook, status, path = prompt.type(
        "claude 'a b' '*' ''", f'echo "status {prompt.status}"', "command -v seance-hook || echo none"
    )
    begin, _, rest = said.partition(" [--settings ")
    assert begin == "claude 5"
    settings, _, rest = rest.partition(" a b")
    assert os.path.realpath(settings) == prompt.settings
    assert rest == " * ]"
    assert os.path.realpath(hook) == prompt.hook
    assert status == "status 7"
    assert path == "none" or str(prompt.checkout / "bin") in prompt.path  # the shell's own PATH stays


@pytest.mark.parametrize(
    "arguments",
    [
        "mcp list",
        "--verbose mcp list",
        "go on --settings mine.json",
        "--verbose -v",
        "-p --help",
        "update",
        "plugin install x",
        "config get theme",
        "agents",
        "-v",
        "--version",
        "--settings mine.json go",
        "--settings=mine.json",
        "doctor",
        "-h",
        "setup-token",
    ],
)
def test_what_is_no_session_or_has_settings_runs_as_typed(prompt: Prompt, arguments: str) -> None:
    said = prompt.type(f"claude {arguments}")
    assert said[0] == f"claude {len(arguments.split())} [{arguments}]"


@pytest.mark.parametrize(
    "arguments",
    [
        "-p config x",
        "-p x config",
        "--print update",
        "fix update",
        "'mcp config'",
        "doctor=x",
        "-- --version",
        "--model opus 'a b' agents",
        "'' config",
    ],
)
def test_words_of_a_prompt_are_no_command(prompt: Prompt, arguments: str) -> None:
    said = prompt.type(f"claude {arguments}")
    assert said[0].startswith(f"claude {len(shlex.split(arguments)) + 2} [--settings ")
    assert said[0].endswith(f" {' '.join(shlex.split(arguments))}]")


def test_without_our_files_it_runs_as_typed(prompt: Prompt) -> None:
    shutil.rmtree(prompt.checkout / "hooks")
    assert prompt.type("claude x", f'echo "status {prompt.status}"')[-1] == "status 7"
    assert prompt.type("claude x")[0] == "claude 1 [x]"


def test_without_our_program_it_runs_as_typed(prompt: Prompt) -> None:
    shutil.rmtree(prompt.checkout / "bin")
    assert prompt.type("claude x") == ["claude 1 [x]"]


def test_command_goes_past_it(prompt: Prompt) -> None:
    assert prompt.type("command claude x")[0] == "claude 1 [x]"


def test_strict_shells_run_it(tmp_path: Path, need: Callable[[str], str]) -> None:
    for name, line in (
        ("bash", "set -euf"),
        ("zsh", "setopt nounset ksh_arrays sh_word_split"),
        ("dash", "set -u"),
    ):
        need(name)
        shell = Prompt(name, tmp_path / name)
        assert shell.type(line, "claude 'a b' || true")[0].startswith("claude 3 [--settings ")
