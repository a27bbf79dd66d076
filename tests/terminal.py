"""A terminal for tests: runs a program on a pty of its own, types at it and reads what it prints."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self


class Terminal:
    """A program in the foreground of a new session's terminal; a context manager that kills what is left.

    output: what it has printed so far. status: what waitpid said, once `wait` has returned.
    """

    def __init__(
        self, argv: Sequence[str], environ: Mapping[str, str], cwd: Path, *, closed: Sequence[int] = ()
    ) -> None:
        self.output = b""
        self.status: int | None = None
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                for number in (signal.SIGPIPE, signal.SIGXFSZ):
                    signal.signal(number, signal.SIG_DFL)  # the interpreter ignores them
                for descriptor in closed:
                    os.close(descriptor)
                os.execvpe(argv[0], list(argv), dict(environ))
            finally:
                os._exit(125)
        self.resize(24, 80)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is None:
            os.killpg(self.pid, 9)
            self.wait()
        self.hang_up()

    def resize(self, rows: int, columns: int) -> None:
        """Change the size; the foreground gets SIGWINCH."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str) -> None:
        """Type; `\\x03` is Ctrl-C."""
        os.write(self._fd, text.encode())

    def hang_up(self) -> None:
        """Close the terminal, as closing its window does."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self, seconds: float = 0.0) -> bytes:
        """Read for so long or until something comes; returns what came, b"" at the end too."""
        if self._fd < 0 or not select.select([self._fd], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            data = b""  # EIO: nobody has it open any more
        self.output += data
        return data

    def expect(self, text: str, seconds: float = 10.0) -> None:
        """Read on until `text` is in what came since it was last found."""
        deadline = time.monotonic() + seconds
        while text.encode() not in self.output:
            if not self.read(0.1) and time.monotonic() > deadline:
                raise AssertionError(f"no {text!r} within {seconds} s in {self.output!r}")
        self.output = self.output.partition(text.encode())[2]

    def wait(self, seconds: float = 10.0) -> int:
        """Wait until the program has ended; returns its exit status, or minus the signal's number."""
        deadline = time.monotonic() + seconds
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                raise AssertionError(f"still runs after {seconds} s: {self.output!r}")
            else:
                self.read(0.02)
        while self.read():
            pass
        return self.status
