"""A person's desk: a private tmux server, panes, keys typed, screens read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support import eventually

ROOT = Path(__file__).parent.parent.parent
SOURCES = {"bash": "seance.bash", "zsh": "seance.zsh", "fish": "seance.fish"}
SHELLS = {"bash": "bash --noprofile --norc", "zsh": "zsh -f", "fish": "fish --no-config"}


class Desk:
    """A tmux server of its own. Panes are given by tmux's names (%0, %1, …)."""

    def __init__(self, tmux: str, directory: Path, environ: dict[str, str]) -> None:
        self.socket = str(directory / "tmux")
        self.environ = environ
        self._tmux = tmux

    def tmux(self, *argv: str) -> str:
        command = [self._tmux, "-u", "-S", self.socket, "-f", os.devnull, *argv]
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True)
        assert done.returncode == 0, f"{argv}: {done.stderr}"
        return done.stdout.rstrip("\n")

    def session(self, name: str, command: str, columns: int = 100, rows: int = 24) -> str:
        size = ("-x", str(columns), "-y", str(rows))
        return self.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", name, *size, command)

    def split(self, target: str, command: str, columns: int = 40) -> str:
        where = ("-h", "-d", "-t", target, "-l", str(columns))
        return self.tmux("split-window", "-P", "-F", "#{pane_id}", *where, command)

    def type(self, pane: str, *lines: str) -> None:
        for line in lines:
            self.tmux("send-keys", "-t", pane, "-l", line)
            self.tmux("send-keys", "-t", pane, "Enter")

    def keys(self, pane: str, *keys: str) -> None:
        self.tmux("send-keys", "-t", pane, *keys)

    def screen(self, pane: str) -> str:
        return self.tmux("capture-pane", "-p", "-t", pane)

    def sees(self, pane: str, *texts: str, seconds: float = 10.0, without: tuple[str, ...] = ()) -> str:
        """Wait until all `texts` are on one line each, and none of `without` is on the screen."""

        def shown() -> str:
            screen = self.screen(pane)
            good = all(text in screen for text in texts) and not any(text in screen for text in without)
            return screen if good else ""

        try:
            return eventually(shown, seconds)
        except AssertionError:
            raise AssertionError(f"wanted {texts}, not {without}, on\n{self.screen(pane)}") from None

    def close(self) -> None:
        subprocess.run([self._tmux, "-S", self.socket, "kill-server"], capture_output=True)
