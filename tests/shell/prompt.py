"""An interactive shell on a terminal of its own that sources our file, and a spool the test takes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from seance_tools import spoolfile
from tests.support import eventually, needed
from tests.terminal import Terminal

ROOT = Path(__file__).parent.parent.parent
SHELLS = {  # with what makes each read the file rc, and none of the machine's own
    "bash": ["bash", "--noprofile", "--rcfile", "rc", "-i"],
    "zsh": ["zsh", "-d", "-i"],
    "fish": ["fish", "--no-config", "--init-command", "source rc", "-i"],
}
PROMPTS = {
    "bash": "PS1='READY> '",
    "zsh": "PS1='READY> '; unsetopt prompt_sp zle",
    "fish": "function fish_prompt; echo 'READY> '; end; function fish_greeting; end",
}
READY = "READY> "


def source(shell: str) -> str:
    """The command that sources our file."""
    return f". {ROOT}/wrappers/seance.{shell}"


class Shell:
    """A shell that has run the lines of `rc`; a context manager. `before`: what to run it under."""

    def __init__(
        self, shell: str, environ: dict[str, str], directory: Path, *rc: str, before: tuple[str, ...] = ()
    ) -> None:
        needed(shell)
        self._shell = shell
        self._spool = spool_of(environ)
        self._new: list[dict[str, Any]] = []
        self._last = 0
        text = "\n".join([PROMPTS[shell], *rc, ""])
        for name in ("rc", ".zshrc"):
            (directory / name).write_text(text)
        environ = {**environ, "TERM": "dumb", "HISTFILE": "", "ZDOTDIR": str(directory)}
        self.terminal = Terminal([*before, *SHELLS[shell]], environ, directory)

    def __enter__(self) -> Self:
        self.terminal.expect(READY)
        return self

    def __exit__(self, *error: object) -> None:
        self.terminal.__exit__(*error)

    def run(self, *lines: str) -> str:
        """Type lines, each once the last one is done; returns what the commands printed.

        fish paints its prompt again with every key, so there the reports tell that a line is done.
        """
        said = ""
        for line in lines:
            self.terminal.type(line + "\n")
            if self._shell == "fish":
                eventually(self._ended)
                continue
            while READY not in self.terminal.output.decode(errors="replace"):
                self.terminal.read(0.1)
            before, _, self.terminal.output = self.terminal.output.partition(READY.encode())
            said += before.decode(errors="replace").replace("\r", "").replace(line + "\n", "", 1)
        return said

    def _ended(self) -> bool:
        self.terminal.read()
        return any("exit_code" in report for report in self._look())

    def _look(self) -> list[dict[str, Any]]:
        """Take what is in the spool, as the broker would; returns what is new, the oldest first."""
        found = list(self._spool.iterdir()) if self._spool.exists() else []
        new = []
        for path in sorted(found, key=lambda path: (number(path) - self._last - 1) % 1024):
            assert path.name.startswith("shell-"), path
            data = path.read_bytes()
            if not data.rstrip().endswith(b"}"):
                break  # it is being written
            report = spoolfile.parse(data, 0.0)
            assert report.request.method == "surface.report_shell"
            new.append({**report.request.params, "caller": report.request.caller})
            self._last = number(path)
            path.unlink()
        self._new += new
        return new

    def take(self) -> list[dict[str, Any]]:
        """Return the parameters of the reports since the last call, the oldest first."""
        self._look()
        new, self._new = self._new, []
        return new

    def states(self) -> list[tuple[Any, ...]]:
        """Return (state, exit code) of the reports since the last call, the exit code where it is told."""
        return [(r["state"], r["exit_code"]) if "exit_code" in r else (r["state"],) for r in self.take()]


def number(path: Path) -> int:
    """Return the number in a file's name: they go round at 1024."""
    return int(path.name.rpartition("-")[2])


def spool_of(environ: dict[str, str]) -> Path:
    """Return where the shell looks for the spool."""
    return Path(environ["XDG_RUNTIME_DIR"]) / "seance" / "spool"
