"""Watches directories, each by itself and not below it, with inotify: which of them something changed in.

An event is only a hint. Importing the binding costs 25 ms, so that is done when one is made.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from collections.abc import Callable
from typing import Any

LOCK = b".lock"  # git's files are made under such a name, and only count once they have their own
_EVENT = struct.Struct("iIII")  # wd, mask, cookie, length of the name
_READ_BYTES = 1 << 16


class Folders:
    """Directories that are watched. warn: called once with one line when that cannot be done."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._fd = -1
        self._paths: dict[int, str] = {}
        try:
            from inotify import calls, constants

            self._calls: Any = calls
            self._bits: Any = constants
            self._fd = calls.inotify_init()
        except (ImportError, OSError) as error:
            self._give_up(f"inotify cannot be loaded ({error})")
            return
        except calls.InotifyError as error:
            self._give_up(_reason(error.errno, "max_user_instances"))
            return
        os.set_inheritable(self._fd, False)
        os.set_blocking(self._fd, False)

    def fileno(self) -> int:
        """Return the descriptor that is readable when something changed; -1 where nothing can be watched."""
        return self._fd

    def add(self, path: str) -> None:
        """Watch a directory; one that cannot be is passed over."""
        if self._fd < 0:
            return
        bits = self._bits
        mask = bits.IN_CLOSE_WRITE | bits.IN_CREATE | bits.IN_DELETE | bits.IN_MOVE | bits.IN_ONLYDIR
        try:
            self._paths[self._calls.inotify_add_watch(self._fd, os.fsencode(path), mask)] = path
        except self._calls.InotifyError as error:
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                self._tell(_reason(error.errno, "max_user_watches"))

    def remove(self, path: str) -> None:
        """Watch a directory no longer."""
        for wd in [wd for wd, watched in self._paths.items() if watched == path]:
            del self._paths[wd]
            with contextlib.suppress(self._calls.InotifyError):  # the directory, and so the watch, is gone
                self._calls.inotify_rm_watch(self._fd, wd)

    def changed(self) -> set[str]:
        """Return the directories in which something changed since last asked; never waits."""
        found: set[str] = set()
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return found
        offset = 0
        while offset < len(data):
            wd, mask, _, length = _EVENT.unpack_from(data, offset)
            offset += _EVENT.size + length
            if mask & self._bits.IN_Q_OVERFLOW:
                return set(self._paths.values())
            path = self._paths.pop(wd, "") if mask & self._bits.IN_IGNORED else self._paths.get(wd, "")
            if path and not data[offset - length : offset].rstrip(b"\0").endswith(LOCK):
                found.add(path)
        return found

    def close(self) -> None:
        """Stop watching."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
        self._paths.clear()

    def _give_up(self, reason: str) -> None:
        self.close()
        self._tell(reason)

    def _tell(self, reason: str) -> None:
        self._warn(f"{reason}; git branches are looked at when a shell or an agent reports")
        self._warn = _silent


def _silent(_line: str) -> None:
    """Say nothing: it has been said."""


def _reason(code: int, sysctl: str) -> str:
    if code in (errno.ENOSPC, errno.EMFILE):
        return f"the limit fs.inotify.{sysctl} is reached"
    return f"inotify cannot be used: {os.strerror(code)}"
