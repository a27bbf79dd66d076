"""Stand-in broker, pane and tmux as fixtures."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seance_tools import names
from tests.sidebar.pane import Open, Pane
from tests.sidebar.standin import Broker


@pytest.fixture
def standin(environ: dict[str, str]) -> Iterator[Broker]:
    path = names.socket_path(environ)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    stand_in = Broker(path)
    yield stand_in
    if os.path.exists(path):
        stand_in.close()


@pytest.fixture
def pane(environ: dict[str, str]) -> Iterator[Open]:
    opened: list[Pane] = []

    def make(*options: str, size: tuple[int, int] = (40, 12), stdin: int | None = None, **more: str) -> Pane:
        opened.append(Pane({**environ, "LANG": "C.UTF-8", **more}, *options, size=size, stdin=stdin))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def shop(standin: Broker) -> Broker:
    """A stand-in broker with one workspace and one agent."""
    standin.workspace()
    standin.surface()
    standin.status("Running")
    return standin


@pytest.fixture
def tmux(environ: dict[str, str], need: Callable[[str], str], tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Call tmux on a server of its own with a shell in a 30 by 20 pane."""
    program = [need("tmux"), "-S", str(tmp_path / "tmux.sock"), "-f", "/dev/null"]
    environment = {**environ, "LANG": "C.UTF-8"}

    def call(*arguments: str) -> str:
        done = subprocess.run(
            [*program, *arguments], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    call("new-session", "-d", "-x", "30", "-y", "20", "-c", environ["HOME"], need("bash"), "--norc")
    yield call
    call("kill-server")
