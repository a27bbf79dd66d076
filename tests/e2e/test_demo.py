"""seance-ctl demo: seen moving, and gone without a trace."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from typing import Self

import pyte
import pytest

from tests.e2e.conftest import processes_with
from tests.support import eventually
from tests.terminal import Terminal


class Demo:
    """The demo on a terminal of its own, four times faster than life; a context manager that ends it."""

    def __init__(self, environ: dict[str, str], directory: Path, *options: str) -> None:
        self.temporary = Path(tempfile.mkdtemp(prefix="d-", dir="/tmp"))  # a socket's path has to be short
        self.person = directory / "person.sock"
        more = {"TMPDIR": str(self.temporary), "SEANCE_DEMO_SPEED": "4", "LANG": "C.UTF-8"}
        # what leads to the person's own must not lead the demo astray
        more |= {"TMUX": "/nowhere,1,0", "TMUX_PANE": "%0", "SEANCE_SOCKET_PATH": str(self.person)}
        self.terminal = Terminal(["seance-ctl", "demo", *options], {**environ, **more}, directory)
        self.terminal.resize(30, 120)
        self._screen = pyte.Screen(120, 30)
        self._stream = pyte.ByteStream(self._screen)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.terminal.status is None:
            os.kill(self.terminal.pid, signal.SIGTERM)
            self.terminal.wait(30.0)
        self.terminal.hang_up()

    def screen(self) -> str:
        while data := self.terminal.read(0.02):
            self._stream.feed(data)
        return "\n".join(self._screen.display)

    def sees(self, *texts: str) -> None:
        eventually(lambda: all(text in self.screen() for text in texts), 40.0, f"{texts}\n{self.screen()}")

    def gone(self) -> None:
        """Wait until nothing of it is left: no process, no file, nothing of the person's touched."""
        eventually(lambda: not processes_with(f"TMPDIR={self.temporary}"), what="processes end")
        self.temporary.rmdir()  # fails if anything is left in it
        assert not self.person.exists()


@pytest.mark.parametrize("options", [(), ("--no-tmux",)])
def test_it_shows_four_agents_that_move_and_q_ends_it(
    environ: dict[str, str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    with Demo(environ, tmp_path, *options) as demo:
        demo.sees("shop-api", "handbook", "infra", "Codebuff", "Claude Code", "Codex", "Gemini CLI")
        demo.sees("Approve: make deploy?")
        demo.sees("Page 5/8")
        demo.sees("rate limit")
        demo.terminal.type("q")
        assert demo.terminal.wait() == 0
        demo.gone()


@pytest.mark.parametrize("options", [(), ("--no-tmux",)])
def test_it_ends_by_itself(environ: dict[str, str], tmp_path: Path, options: tuple[str, ...]) -> None:
    with Demo(environ, tmp_path, "--seconds", "3", *options) as demo:
        assert demo.terminal.wait(30.0) == 0
        demo.gone()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_nothing_behind(
    environ: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    with Demo(environ, tmp_path) as demo:
        demo.sees("shop-api")
        os.kill(demo.terminal.pid, number)
        assert demo.terminal.wait() == 128 + number
        demo.gone()


def test_ctrl_c_leaves_nothing_behind(environ: dict[str, str], tmp_path: Path) -> None:
    with Demo(environ, tmp_path, "--no-tmux") as demo:
        demo.sees("shop-api")
        demo.terminal.type("\x03")
        demo.terminal.wait()
        demo.gone()
