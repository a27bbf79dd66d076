"""A person at a desk: a tmux client on a terminal of its own, keys typed at tmux itself, a screen."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Self

import pyte

from tests.e2e.desk import ROOT, Desk
from tests.terminal import Terminal

PREFIX = "\x02"


class Attached:
    """A tmux client attached to a session, 120 by 30; a context manager that detaches it."""

    def __init__(self, desk: Desk, session: str) -> None:
        argv = ["tmux", "-u", "-S", desk.socket, "attach", "-t", session]
        self._terminal = Terminal(argv, {**desk.environ, "TERM": "xterm-256color"}, ROOT)
        self._terminal.resize(30, 120)
        self._screen = pyte.Screen(120, 30)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._going = True
        self._thread = threading.Thread(target=self._pump)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._going = False
        self._thread.join()
        os.kill(self._terminal.pid, 15)
        self._terminal.wait()
        self._terminal.hang_up()

    def type(self, text: str) -> None:
        self._terminal.type(text)

    def resize(self, columns: int, lines: int) -> None:
        self._terminal.resize(lines, columns)
        with self._lock:
            self._screen.resize(lines, columns)

    def click(self, column: int, row: int) -> None:
        self.type(f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m")

    def screen(self) -> str:
        with self._lock:
            return "\n".join(line.rstrip() for line in self._screen.display)

    def _pump(self) -> None:
        while self._going:
            data = self._terminal.read(0.05)
            with self._lock:
                self._stream.feed(data)
