"""The terminal: modes, drawing, keys. The only module that knows blessed.

blessed gets a stream of its own, so that it never asks the terminal anything: a terminal that does not
answer would hold up the start, and a late answer would arrive as keys. It knows the capabilities and takes
keys apart; the bytes are read and written here.
"""

from __future__ import annotations

import contextlib
import os
import select
import termios
import time
import tty
from collections.abc import Mapping, MutableMapping, Sequence
from types import TracebackType
from typing import Any, Self

from seance_tools.sidebar.typed import Typed
from seance_tools.view import STYLES, Event, Row, Style, ansi

READ_BYTES = 256  # a paste shall not keep everything else waiting
LEAVE_SECONDS = 0.5  # a terminal that does not read by then is left as it is
_SMALL = 64  # bytes that a terminal takes at once where it says that it takes any
_SWITCHES = (
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
)  # to blessed they mean movement too, not only colour
_NOT_TERMINALS = ("", "dumb", "unknown")
_NO_LINKS = ("linux", "vt")  # what may print an OSC it does not know; others pass over it
_SYNC, _END_SYNC = "\x1b[?2026h", "\x1b[?2026l"
_MOUSE, _NO_MOUSE = "\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"  # said by us: the entries of screen and tmux leave it out
_PASTES, _NO_PASTES = "\x1b[?2004h", "\x1b[?2004l"  # asks for pastes to be marked as such
_KEYS = {
    "KEY_UP": "up",
    "KEY_DOWN": "down",
    "KEY_LEFT": "left",
    "KEY_RIGHT": "right",
    "KEY_TAB": "tab",
    "KEY_HOME": "home",
    "KEY_END": "end",
    "KEY_PGUP": "page-up",
    "KEY_PGDOWN": "page-down",
    "KEY_ENTER": "enter",
    "KEY_ESCAPE": "escape",
    "KEY_BACKSPACE": "backspace",
    "KEY_DELETE": "backspace",
}


class TerminalError(Exception):
    """The terminal is no longer there."""


class Screen:
    """The terminal on standard input and output; a context manager that leaves it as it was.

    environ: the process's own; what would mislead blessed is taken out of it. styled: False on a terminal
    that cannot place the cursor: `draw` writes plain text line by line there.
    """

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        colours = not environ.get("NO_COLOR")
        for name in _SWITCHES:
            environ.pop(name, None)
        import blessed

        styled = environ.get("TERM", "") not in _NOT_TERMINALS
        stream = open(1, "w", closefd=False)  # noqa: SIM115 - standard output stays open
        self._terminal = blessed.Terminal(stream=stream, force_styling=False if styled else None)
        self.styled = bool(self._terminal.move_yx(0, 0))
        self._colours = self._terminal.number_of_colors if colours else 0
        self._sequences: dict[str, str] = {}
        self.paint(STYLES)
        self.keyboard = 0 if os.isatty(0) else None
        self._saved: list[Any] | None = None
        self._shown: list[str] | None = None
        self._typed = Typed(self._name)
        self.output = _reopened()
        self._unwritten = b""

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines; 80 by 24 where the terminal does not say."""
        try:
            columns, lines = os.get_terminal_size(1)
        except OSError:
            raise TerminalError from None
        return (columns, lines) if columns and lines else (80, 24)

    def enter(self) -> None:
        """Take the terminal over; may be repeated. Raises TerminalError."""
        terminal = self._terminal
        if self.keyboard is not None:
            try:
                self._saved = self._saved or termios.tcgetattr(self.keyboard)
                tty.setcbreak(self.keyboard, termios.TCSANOW)
                mode = termios.tcgetattr(self.keyboard)
                mode[tty.IFLAG] &= ~termios.IXON  # Ctrl-S would stop us in the middle of a frame
                termios.tcsetattr(self.keyboard, termios.TCSANOW, mode)
            except termios.error:
                raise TerminalError from None
        if self.styled:
            modes = (terminal.enter_fullscreen, terminal.hide_cursor, _NO_WRAP, _MOUSE, _PASTES)
            self._write("".join([*modes, terminal.clear]))
        self._shown = None

    def leave(self) -> None:
        """Give the terminal back as it was; one that is gone or does not read is waited for only shortly."""
        terminal = self._terminal
        with contextlib.suppress(TerminalError):
            if self.styled:
                last = terminal.exit_fullscreen or terminal.clear
                modes = (_NO_PASTES, _NO_MOUSE, _WRAP, terminal.normal, terminal.normal_cursor)
                self._write("".join([*modes, last]))
            deadline = time.monotonic() + LEAVE_SECONDS
            while self._unwritten and (seconds := deadline - time.monotonic()) > 0:
                _wait_for_room(self.output, seconds)
                self.flush()
        self._unwritten = b""
        if self.keyboard is not None and self._saved:
            with contextlib.suppress(termios.error):
                termios.tcflush(self.keyboard, termios.TCIFLUSH)  # clicks on the way are not the shell's
                termios.tcsetattr(self.keyboard, termios.TCSANOW, self._saved)
        self._saved = None

    def paint(self, styles: Mapping[str, Style], *, links: bool = False) -> None:
        """Draw in these styles from now on. links: ports are links where the terminal can do that."""
        self._links = links and not self._terminal.kind.startswith(_NO_LINKS)
        self._sequences = {name: ansi(style, self._colours) for name, style in styles.items()}

    def resized(self) -> None:
        """Draw everything anew next time."""
        self._shown = None

    def draw(self, rows: Sequence[Row]) -> None:
        """Show the rows: those that differ from what is there, in one write. Raises TerminalError."""
        if not self.styled:
            lines = [text.rstrip() for text in ("".join(text for text, _ in row) for row in rows)]
            if lines != self._shown:
                self._write("\n".join([*lines, "\n"]))
                self._shown = lines
            return
        lines = [self._line(row) for row in rows]
        shown = self._shown
        parts = [] if shown is not None else [str(self._terminal.clear)]
        for number, line in enumerate(lines):
            if shown is None or number >= len(shown) or shown[number] != line:
                parts.append(f"{self._terminal.move_yx(number, 0)}{self._terminal.clear_eol}{line}")
        if parts:
            self._write(f"{_SYNC}{''.join(parts)}{_END_SYNC}")
        self._shown = lines

    def ring(self, sequence: str) -> None:
        """Write what notifies the person, between two frames. Raises TerminalError."""
        if sequence and self.styled:
            self._write(sequence)

    @property
    def behind(self) -> bool:
        """Whether the terminal has not taken all of the last frame: the next one has to wait."""
        return bool(self._unwritten)

    def flush(self) -> None:
        """Write on from where the terminal took no more. Raises TerminalError."""
        while self._unwritten:
            piece = self._unwritten
            if self.output == 1:  # a write to it may wait, but for no more than this
                if not _wait_for_room(1, 0):
                    return
                piece = piece[:_SMALL]
            try:
                written = os.write(self.output, piece)
            except BlockingIOError:
                return
            except OSError:
                raise TerminalError from None
            self._unwritten = self._unwritten[written:]

    def read(self) -> list[Event]:
        """Return the keys and clicks that have come. Raises TerminalError at the end of the input."""
        assert self.keyboard is not None
        try:
            data = os.read(self.keyboard, READ_BYTES)
        except OSError:
            data = b""
        if not data:
            raise TerminalError
        return self._typed.feed(data)

    def patience(self) -> float | None:
        """Return after how many seconds without a key `settle` is to be called, None for never."""
        return self._typed.patience()

    def settle(self) -> list[Event]:
        """Return what was held back in case that more came: the key Esc, or nothing."""
        return self._typed.settle()

    def _name(self, token: str) -> str:
        """Return our name of a key, "" where it has none."""
        self._terminal.ungetch(token)
        key = self._terminal.inkey(timeout=0)
        while self._terminal.inkey(timeout=0):
            pass  # blessed takes what it does not know for several keys
        if str(key) != token:
            return ""
        return _KEYS.get(key.name or "") or (token if len(token) == 1 and token.isprintable() else "")

    def _line(self, row: Row) -> str:
        parts = []
        for text, style in row:
            start = self._sequences[style]
            shown = f"{start}{text}{self._terminal.normal}" if start and text.strip() else text
            parts.append(_linked(text, shown) if self._links and style == "port" else shown)
        return "".join(parts)

    def _write(self, text: str) -> None:
        self._unwritten += text.encode("utf-8", "replace")
        self.flush()


def _linked(port: str, shown: str) -> str:
    """Return what is shown of a port, made a link to it (OSC 8); one that is cut leads nowhere."""
    number = port.isascii() and port.isdecimal()
    return f"\x1b]8;;http://localhost:{port}/\x1b\\{shown}\x1b]8;;\x1b\\" if number else shown


def _reopened() -> int:
    """Return a descriptor of the terminal on standard output whose writes never wait.

    It is opened anew, since the shell shares standard output itself and its modes. Where that is not
    allowed, as on another user's terminal, it is standard output.
    """
    try:
        return os.open("/proc/self/fd/1", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return 1


def _wait_for_room(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(seconds * 1000))
