"""The terminal: modes, drawing, keys. The only module that knows blessed.

blessed gets a stream of its own, so that it never asks the terminal anything: a terminal that does not
answer would hold up the start, and a late answer would arrive as keys. It knows the capabilities and takes
keys apart; the bytes are read and written here.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import termios
import tty
from collections.abc import Mapping, MutableMapping, Sequence
from types import TracebackType
from typing import Any, Self

from seance_tools.view import STYLES, Event, Row, Style, ansi

READ_BYTES = 256  # a paste shall not keep everything else waiting
_SWITCHES = (
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
)  # to blessed they mean movement too, not only colour
_NOT_TERMINALS = ("", "dumb", "unknown")
_SYNC, _END_SYNC = "\x1b[?2026h", "\x1b[?2026l"
_MOUSE, _NO_MOUSE = "\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"  # said by us: the entries of screen and tmux leave it out
_MOUSE_REPORT = re.compile(r"\x1b\[<(\d{1,4});(\d{1,5});(\d{1,5})([Mm])")
_UNFINISHED = re.compile(r"\x1b\[[0-9;<?]{0,20}$")
_MODIFIERS = 4 | 8 | 16
_BUTTONS = {0: "click", 64: "wheel-up", 65: "wheel-down"}
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
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished = ""

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
            modes = (terminal.enter_fullscreen, terminal.hide_cursor, _NO_WRAP, _MOUSE, terminal.clear)
            self._write("".join(modes))
        self._shown = None

    def leave(self) -> None:
        """Give the terminal back as it was; one that is gone needs nothing."""
        terminal = self._terminal
        if self.styled:
            last = terminal.exit_fullscreen or terminal.clear
            with contextlib.suppress(TerminalError):
                self._write(f"{_NO_MOUSE}{_WRAP}{terminal.normal}{terminal.normal_cursor}{last}")
        if self.keyboard is not None and self._saved:
            with contextlib.suppress(termios.error):
                termios.tcflush(self.keyboard, termios.TCIFLUSH)  # clicks on the way are not the shell's
                termios.tcsetattr(self.keyboard, termios.TCSANOW, self._saved)
        self._saved = None

    def paint(self, styles: Mapping[str, Style]) -> None:
        """Draw in these styles from now on."""
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

    def read(self) -> list[Event]:
        """Return the keys and clicks that have come. Raises TerminalError at the end of the input."""
        assert self.keyboard is not None
        try:
            data = os.read(self.keyboard, READ_BYTES)
        except OSError:
            data = b""
        if not data:
            raise TerminalError
        text = self._unfinished + self._decoder.decode(data)
        rest = _UNFINISHED.search(text)
        self._unfinished = rest.group() if rest else ""
        text = text[: len(text) - len(self._unfinished)]
        events: list[Event] = []
        end = 0
        for report in _MOUSE_REPORT.finditer(text):
            events += self._keys(text[end : report.start()])
            button = _BUTTONS.get(int(report.group(1)) & ~_MODIFIERS)
            if button and report.group(4) == "M":
                events.append(Event(button, int(report.group(3)) - 1))
            end = report.end()
        return events + self._keys(text[end:])

    def _keys(self, text: str) -> list[Event]:
        """Return the keys of a text without mouse reports; those without a name of ours are left out."""
        self._terminal.ungetch(text)
        events = []
        while key := self._terminal.inkey(timeout=0):
            name = _KEYS.get(key.name or "") or (str(key) if len(key) == 1 and key.isprintable() else "")
            if name:
                events.append(Event(name))
        return events

    def _line(self, row: Row) -> str:
        parts = []
        for text, style in row:
            start = self._sequences[style]
            parts.append(f"{start}{text}{self._terminal.normal}" if start and text.strip() else text)
        return "".join(parts)

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError:
            raise TerminalError from None
