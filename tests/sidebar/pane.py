"""The sidebar on a pseudo-terminal, and what is on its screen."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from typing import Any

import pyte

from tests.support import eventually

SIDEBAR = [sys.executable, "-m", "seance_tools.sidebar"]
# Makes the terminal the session's own, then becomes the sidebar; preexec_fn may not be used beside threads.
CONTROL = """
import fcntl, os, sys, termios
fcntl.ioctl(1, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Pane:
    """A sidebar on a pseudo-terminal of its own, and what it has drawn."""

    def __init__(
        self,
        environ: dict[str, str],
        *options: str,
        size: tuple[int, int] = (40, 12),
        stdin: int | None = None,
    ) -> None:
        self.master, slave = pty.openpty()
        self.slave = slave
        self.output = b""
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.resize(size)
        self.before = termios.tcgetattr(slave)
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", CONTROL, *SIDEBAR, *options],
            stdin=slave if stdin is None else stdin,
            stdout=slave,
            stderr=slave,
            env=environ,
            start_new_session=True,
        )

    def resize(self, size: tuple[int, int]) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.screen.resize(size[1], size[0])

    def pump(self, seconds: float = 0.0) -> None:
        """Take what the sidebar has written."""
        deadline = time.monotonic() + seconds
        while select.select([self.master], [], [], max(deadline - time.monotonic(), 0))[0]:
            try:
                data = os.read(self.master, 1 << 16)
            except OSError:
                return
            if not data:
                return
            self.output += data
            self._stream.feed(data)

    def lines(self) -> list[str]:
        self.pump()
        return [line.rstrip() for line in self.screen.display]

    def text(self) -> str:
        return "\n".join(self.lines())

    def shows(self, part: str, seconds: float = 10.0) -> str:
        """Wait until a part is on the screen; returns the screen."""
        return eventually(
            lambda: self.text() if part in self.text() else "", seconds, f"{part!r} in\n{self.text()}"
        )

    def press(self, keys: str | bytes) -> None:
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def ended(self, seconds: float = 5.0) -> int:
        """Wait until the sidebar has ended; returns its exit code."""

        def poll() -> bool:
            self.pump()
            return self.process.poll() is not None

        eventually(poll, seconds, "the sidebar ends")
        self.pump()
        return int(self.process.returncode)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for descriptor in (self.master, self.slave):
            if descriptor >= 0:
                os.close(descriptor)


Open = Callable[..., Pane]


def once(environ: dict[str, str], *options: str, **more: Any) -> subprocess.CompletedProcess[str]:
    environment = {**environ, "LANG": "C.UTF-8", "COLUMNS": "60"}
    return subprocess.run(
        [*SIDEBAR, *options], env=environment, capture_output=True, text=True, timeout=30, **more
    )
