"""The lines of a growing file, by offset: bytes in, objects out."""

from __future__ import annotations

from typing import Any

import ujson

LINE_BYTES = 64 << 20


class Lines:
    """One file of JSON lines that another process appends to.

    The caller asks `offset` where to read, reads there, and gives what it got to `feed`, until nothing more
    comes. from_start: the file is read from its beginning even if it was there before; else the first look
    goes to its end, past a line that is being written. limit: a longer line is left out.

    bad: how many lines were left out because they were no JSON object or too long.
    """

    def __init__(self, *, from_start: bool = False, limit: int = LINE_BYTES) -> None:
        self.bad = 0
        self._limit = limit
        self._from_start = from_start
        self._inode: int | None = None
        self._offset = 0
        self._partial = bytearray()
        self._skipping = False  # up to the next newline, which is not ours

    def offset(self, inode: int, size: int) -> int:
        """Return where to read next in the file, which has this inode and size now.

        Another inode or a smaller size is another content: it is read from its beginning. (A file that was
        replaced by a longer one under the same inode cannot be told from one that grew.)
        """
        if self._inode is None:
            if size and not self._from_start:
                # One byte back: is it a newline, a line begins after it; else this one is skipped to its end.
                self._offset = size - 1
                self._skipping = True
        elif inode != self._inode or size < self._offset:
            self._offset = 0
            self._partial.clear()
            self._skipping = False
        self._inode = inode
        return self._offset

    def skip(self, inode: int, size: int) -> None:
        """Pass over the first `size` bytes of the file; a line that goes on behind them is left out."""
        self._inode, self._offset = inode, max(size - 1, 0)
        self._partial.clear()
        self._skipping = size > 0

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Return the objects whose lines `data` ends; it stood where `offset` said. Blank lines are none."""
        self._offset += len(data)
        lines = data.split(b"\n")
        rest = lines.pop()
        found = []
        for line in lines:
            if self._skipping:
                self._skipping = False
                continue
            if self._partial:
                self._partial += line
                whole = bytes(self._partial)
                self._partial.clear()
            else:
                whole = line
            value = self._parse(whole)
            if value is not None:
                found.append(value)
        if rest and not self._skipping:
            self._keep(rest)
        return found

    def _keep(self, rest: bytes) -> None:
        if len(self._partial) + len(rest) > self._limit:
            self._partial.clear()
            self._skipping = True
            self.bad += 1
        else:
            self._partial += rest

    def _parse(self, line: bytes) -> dict[str, Any] | None:
        if not line or line.isspace():
            return None
        try:
            value = ujson.loads(line.decode()) if len(line) <= self._limit else None
        except (ValueError, OverflowError, RecursionError, TypeError):
            value = None
        if isinstance(value, dict):
            return value
        self.bad += 1
        return None
