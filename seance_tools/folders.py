"""Watches directories, each by itself and not below it, with inotify: which of them something changed in.

An event is only a hint.
"""

from __future__ import annotations

from collections.abc import Callable

from seance_tools import notices

LOCK = b".lock"  # git's files are made under such a name, and only count once they have their own


class Folders:
    """Directories that are watched. warn: called once with one line when that cannot be done."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._told = False
        self._paths: dict[int, str] = {}
        self._notices: notices.Notices | None = None
        try:
            self._notices = notices.Notices()
        except notices.Unusable as error:
            self._tell(str(error))

    def fileno(self) -> int:
        """Return the descriptor that is readable when something changed; -1 where nothing can be watched."""
        return self._notices.fileno() if self._notices else -1

    def add(self, path: str) -> None:
        """Watch a directory; one that cannot be is passed over."""
        if not self._notices:
            return
        bits = self._notices.bits
        mask = bits.IN_CLOSE_WRITE | bits.IN_CREATE | bits.IN_DELETE | bits.IN_MOVE | bits.IN_ONLYDIR
        try:
            self._paths[self._notices.add(path, mask)] = path
        except OSError as error:
            if notices.is_limit(error):
                self._tell(notices.why(error))

    def remove(self, path: str) -> None:
        """Watch a directory no longer."""
        for wd in [wd for wd, watched in self._paths.items() if watched == path]:
            del self._paths[wd]
            if self._notices:
                self._notices.remove(wd)

    def changed(self) -> set[str]:
        """Return the directories in which something changed since last asked; never waits."""
        found: set[str] = set()
        if not self._notices:
            return found
        events, lost = self._notices.read()
        for wd, mask, name in events:
            gone = mask & self._notices.bits.IN_IGNORED
            path = self._paths.pop(wd, "") if gone else self._paths.get(wd, "")
            if path and not name.endswith(LOCK):
                found.add(path)
        return set(self._paths.values()) | found if lost else found

    def close(self) -> None:
        """Stop watching."""
        if self._notices:
            self._notices.close()  # and kept: a thread may be about to add to it
        self._paths.clear()

    def _tell(self, reason: str) -> None:
        if not self._told:
            self._warn(f"{reason}; git branches are looked at when a shell or an agent reports")
        self._told = True
