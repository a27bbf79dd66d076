"""Tells when the broker's socket comes back, so that nobody need look for it again and again."""

from __future__ import annotations

import os


class Arrival:
    """Watches for something of the name of `path` to appear in its directory.

    Importing the binding takes 25 ms and may block, so make one beside the loop, and only when the broker
    has been gone for a while. Raises OSError, ImportError or InotifyError where it cannot be watched.
    """

    def __init__(self, path: str) -> None:
        from inotify import calls, constants

        directory, name = os.path.split(path)
        self._name = os.fsencode(name) + b"\0"
        self._fd: int = calls.inotify_init()
        os.set_inheritable(self._fd, False)
        os.set_blocking(self._fd, False)
        try:
            calls.inotify_add_watch(
                self._fd, os.fsencode(directory), constants.IN_CREATE | constants.IN_MOVED_TO
            )
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """Return the descriptor, for poll."""
        return self._fd

    def arrived(self) -> bool:
        """Return whether it may have appeared since last asked; never waits."""
        try:
            return self._name in os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Stop watching."""
        os.close(self._fd)
