"""What the kernel tells of watched directories and files: inotify(7), never waiting.

Of the inotify package only the bare binding is used: its adapters lose overflows and new directories.
Importing it costs 25 ms and may block, so that is done with the first descriptor.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from typing import Any

_EVENT = struct.Struct("iIII")  # wd, mask, cookie, length of the name
_READ_BYTES = 1 << 16
_READS = 64  # in one go at most, so that a flood cannot keep us reading for ever

Event = tuple[int, int, bytes]  # watch descriptor, mask, name in the directory or b""


class Unusable(Exception):
    """Inotify cannot be used; the message says why, in one line for the person."""


class Notices:
    """A descriptor of inotify, closed on exec. Raises Unusable.

    bits: the module with the constants of masks, IN_CREATE and so on.
    """

    def __init__(self) -> None:
        try:
            from inotify import calls, constants
        except (ImportError, OSError) as error:
            raise Unusable(f"inotify cannot be loaded ({error})") from None
        self.bits: Any = constants
        self._calls: Any = calls
        try:
            self._fd: int = calls.inotify_init()
        except calls.InotifyError as error:
            raise Unusable(_reason(error.errno, "max_user_instances")) from None
        os.set_inheritable(self._fd, False)
        os.set_blocking(self._fd, False)

    def fileno(self) -> int:
        """Return the descriptor, readable when there is something to tell; -1 once closed."""
        return self._fd

    def add(self, path: str, mask: int) -> int:
        """Watch a path; returns the watch descriptor. Raises OSError, for which `why` has words."""
        try:
            wd: int = self._calls.inotify_add_watch(self._fd, os.fsencode(path), mask)
        except self._calls.InotifyError as error:
            raise OSError(error.errno, os.strerror(error.errno), path) from None
        return wd

    def remove(self, wd: int) -> None:
        """Give a watch up; one that is gone already is no error."""
        with contextlib.suppress(self._calls.InotifyError):  # what it watched, and so the watch, is gone
            self._calls.inotify_rm_watch(self._fd, wd)

    def read(self) -> tuple[list[Event], bool]:
        """Return (what has come, whether some of it is lost)."""
        events: list[Event] = []
        lost = False
        for _ in range(_READS):
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                break
            offset = 0
            while offset < len(data):
                wd, mask, _, length = _EVENT.unpack_from(data, offset)
                offset += _EVENT.size + length
                if mask & self.bits.IN_Q_OVERFLOW:
                    lost = True
                else:
                    events.append((wd, mask, data[offset - length : offset].rstrip(b"\0")))
        return events, lost

    def close(self) -> None:
        """Watch nothing any more."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def why(error: OSError) -> str:
    """Return in one line why `add` failed, with the limit's name where it is one."""
    return _reason(error.errno or 0, "max_user_watches")


def is_limit(error: OSError) -> bool:
    """Return whether `add` failed for want of watches or memory, and not because of the path."""
    return error.errno in (errno.ENOSPC, errno.ENOMEM)


def _reason(code: int, sysctl: str) -> str:
    if code in (errno.ENOSPC, errno.EMFILE):
        return f"the limit fs.inotify.{sysctl} is reached"
    return f"inotify cannot be used: {os.strerror(code)}"
