"""Tells when the broker's socket comes back, so that nobody need look for it again and again."""

from __future__ import annotations

import os

from seance_tools.notices import Notices


class Arrival:
    """Watches for something of the name of `path` to appear in its directory.

    Inotify may take a while to load, so make one beside the loop, and only when the broker has been gone for
    a while. Raises OSError or Unusable where it cannot be watched.
    """

    def __init__(self, path: str) -> None:
        directory, name = os.path.split(path)
        self._name = os.fsencode(name)
        self._notices = Notices()
        try:
            self._notices.add(directory, self._notices.bits.IN_CREATE | self._notices.bits.IN_MOVED_TO)
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """Return the descriptor, for poll."""
        return self._notices.fileno()

    def arrived(self) -> bool:
        """Return whether it may have appeared since last asked; never waits."""
        events, lost = self._notices.read()
        return lost or any(name == self._name for _, _, name in events)

    def close(self) -> None:
        """Stop watching."""
        self._notices.close()
