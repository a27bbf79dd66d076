"""Bytes from a keyboard and a mouse, taken apart into events however they were split on their way."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from seance_tools.view import Event

ESCAPE_SECONDS = 0.05  # a lone Esc is the key if nothing follows by then,
SEQUENCE_SECONDS = 1.0  # a sequence that is not finished by then never will be,
PASTE_SECONDS = 5.0  # nor a paste of which so long nothing came
_MODIFIERS = 4 | 8 | 16
_BUTTONS = {0: "click", 64: "wheel-up", 65: "wheel-down"}
_PASTE, _END_PASTE = "\x1b[200~", "\x1b[201~"
_MOUSE = re.compile(r"\x1b\[<(\d{1,4});(\d{1,5});(\d{1,5})M")
# What follows never makes a token another one, so that it does not matter where the bytes were split. An
# Esc before another is the key; the second line is of the Linux console, the third what is no sequence.
_TOKEN = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-Z\\-~]"
    r"|\x1b\[\[[^\x1b]"
    r"|\x1b\[(?:\[|[0-?]{0,64}[ -/]{0,8})"
    r"|\x1bO[^\x1b]?"
    r"|\x1b[^\x1b]?"
    r"|[^\x1b]",
    re.DOTALL,
)
_UNFINISHED = re.compile(r"\x1b(?:O|\[(?:[0-?]{0,64}[ -/]{0,8}|\[))?\Z")


class Typed:
    """Makes events of bytes as they come.

    name: returns the name of a key, given its character or sequence; "" for one that means nothing.
    """

    def __init__(self, name: Callable[[str], str]) -> None:
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._pasting = False

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that are complete with these bytes."""
        text = self._rest + self._decoder.decode(data)
        events: list[Event] = []
        end = 0
        while end < len(text) and not _UNFINISHED.match(text, end):
            token = _TOKEN.match(text, end)
            assert token
            end = token.end()
            events += self._events(token.group())
        self._rest = text[end:]
        return events

    def patience(self) -> float | None:
        """Return after how many seconds without more `settle` is to be called, None for never."""
        if self._rest:
            return ESCAPE_SECONDS if self._rest == "\x1b" else SEQUENCE_SECONDS
        return PASTE_SECONDS if self._pasting else None

    def settle(self) -> list[Event]:
        """Return the event of what was held back, as no more comes: Esc, or nothing for half a sequence."""
        lone = self._rest == "\x1b" and not self._pasting
        self._pasting = self._pasting and bool(self._rest)
        self._rest = ""
        return [Event("escape")] if lone else []

    def _events(self, token: str) -> list[Event]:
        if self._pasting:
            self._pasting = token != _END_PASTE
            return [Event(token, pasted=True)] if len(token) == 1 and token.isprintable() else []
        if token == _PASTE:
            self._pasting = True
            return []
        if report := _MOUSE.fullmatch(token):
            button = _BUTTONS.get(int(report[1]) & ~_MODIFIERS)
            return [Event(button, int(report[3]) - 1)] if button else []
        name = self._name(token)
        return [Event(name)] if name else []
