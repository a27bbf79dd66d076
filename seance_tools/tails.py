"""The new lines of files of JSON lines that other programs append to, with inotify.

A file is read from where it ended when it was added, however large it is; one that is made later, from its
beginning. What lies on another machine is left alone: looking at it may take for ever.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

from seance_tools import notices
from seance_tools.mounts import Mounts
from seance_tools.turns.lines import Lines

MOST_WATCHES = 64  # files beyond that are only read when asked for
LINE_BYTES = 1 << 16  # a longer line holds what a tool has printed
READ_BYTES = 1 << 18  # in one go
MOST_BEHIND = 1 << 22  # bytes; what is older is passed over


class Tails:
    """The files. warn: called once with one line when inotify cannot be used."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._told = False
        self._opened = False
        self._notices: notices.Notices | None = None  # from the first file on, where there is inotify
        self._files: dict[str, Lines] = {}
        self._wds: dict[int, str] = {}

    def fileno(self) -> int:
        """Return the descriptor that is readable when something was appended; -1 where nothing tells."""
        return self._notices.fileno() if self._notices else -1

    def close(self) -> None:
        """Let go of all files."""
        if self._notices:
            self._notices.close()
        self._notices = None
        self._files.clear()
        self._wds.clear()

    def add(self, path: str) -> bool:
        """Follow a file, or one that is to come; returns whether it is followed. Again: watch it again."""
        if path in self._files:
            self._watch(path)
            return True
        if not path.startswith("/") or _is_remote(path):
            return False
        self._watch(path)
        try:
            found = os.stat(path)
        except OSError:
            self._files[path] = Lines(from_start=True, limit=LINE_BYTES)
            return True
        lines = Lines(limit=LINE_BYTES)
        lines.skip(found.st_ino, found.st_size)
        self._files[path] = lines
        return True

    def remove(self, path: str) -> None:
        """Follow a file no longer."""
        self._files.pop(path, None)
        for wd in [wd for wd, watched in self._wds.items() if watched == path]:
            del self._wds[wd]
            if self._notices:
                self._notices.remove(wd)

    def changed(self) -> list[str]:
        """Return the files that something was appended to since last asked; never waits."""
        if not self._notices:
            return []
        dirty: dict[str, None] = {}
        events, lost = self._notices.read()
        for wd, mask, _ in events:
            path = self._wds.get(wd)
            if path is not None:
                dirty[path] = None
                if mask & self._notices.bits.IN_IGNORED:
                    del self._wds[wd]
        return list(self._files if lost else dirty)

    def read(self, path: str) -> tuple[list[dict[str, Any]], bool]:
        """Return (the objects of a file's new lines, whether there may be more)."""
        lines = self._files.get(path)
        if lines is None:
            return [], False
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                return [], False  # opening others may do something
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return [], False  # not there yet, or not any more
        try:
            found = os.fstat(descriptor)
            offset = lines.offset(found.st_ino, found.st_size)
            if found.st_size - offset > MOST_BEHIND:
                lines.skip(found.st_ino, found.st_size - MOST_BEHIND)
                offset = lines.offset(found.st_ino, found.st_size)
            data = os.pread(descriptor, READ_BYTES, offset)
        except OSError:
            return [], False
        finally:
            os.close(descriptor)
        return lines.feed(data), len(data) == READ_BYTES

    def _watch(self, path: str) -> None:
        if not self._opened:
            self._opened = True
            try:
                self._notices = notices.Notices()
            except notices.Unusable as error:
                self._tell(str(error))
        if not self._notices or len(self._wds) >= MOST_WATCHES or path in self._wds.values():
            return
        try:
            wd = self._notices.add(path, self._notices.bits.IN_MODIFY)
        except OSError as error:
            if notices.is_limit(error):
                self._tell(notices.why(error))
            return  # not there yet, for the most part
        self._wds[wd] = path

    def _tell(self, reason: str) -> None:
        if not self._told:
            self._warn(f"{reason}; transcripts are read late")
        self._told = True


def _is_remote(path: str) -> bool:
    """Return whether a path leads over a file system of another machine, or that cannot be told."""
    try:
        return Mounts().leads_away(path)
    except OSError:
        return True
