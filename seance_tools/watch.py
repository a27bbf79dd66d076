"""Watches the files below a directory for writes, with inotify, or by looking every 2 s where that fails.

An event is only a hint at a directory to look into; what was written is decided by comparing inode, size and
modification time with what they were. A directory is always watched first and listed then, so that nothing
falls between. Directories may come late, go, come again and be renamed; the root itself too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from seance_tools import notices

SLOW_SECONDS = 2.0  # between two looks where inotify cannot be used
_PATH_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG)

Signature = tuple[int, int, int, int]  # device, inode, size, modification time in ns
SIZE = 2


class _Directory(NamedTuple):
    """A directory as last seen: its watch (-1 without), matching files, subdirectories."""

    wd: int
    files: dict[str, Signature]
    folders: frozenset[str]


def _list(path: str, suffix: str | tuple[str, ...]) -> tuple[dict[str, Signature], frozenset[str]]:
    """Return the files ending in `suffix` with signatures, and the subdirectories; links are not followed."""
    files, folders = {}, set()
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.add(entry.path)
                elif entry.name.endswith(suffix) and entry.is_file(follow_symlinks=False):
                    found = entry.stat(follow_symlinks=False)
                    files[entry.path] = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            except OSError:
                continue  # gone since it was listed
    return files, frozenset(folders)


def _written(before: Signature | None, after: Signature) -> bool:
    """Return whether a file was written; one that is new and empty was only made."""
    return after[SIZE] > 0 if before is None else before != after


class Watcher:
    """The files below `root` whose names end in `suffix`, or in one of several.

    warn: called once with one line when inotify cannot be used and slow looking begins.
    """

    def __init__(self, root: str, suffix: str | tuple[str, ...], warn: Callable[[str], None]) -> None:
        self._root = os.path.normpath(root)
        self._suffix = suffix
        self._warn = warn
        self._notices: notices.Notices | None = None  # None where inotify cannot be used
        self._directories: dict[str, _Directory] = {}
        self._paths: dict[int, str] = {}  # wd: directory
        self._anchors: dict[int, str] = {}  # wd of a directory above the root: name to wait for, "" for none
        self._next_look = 0.0
        self._bits: Any = None
        try:
            self._notices = notices.Notices()
            self._bits = self._notices.bits
        except notices.Unusable as error:
            self._go_slow(str(error))
        self._look_everywhere()

    def fileno(self) -> int:
        """Return the descriptor that is readable when there may be something; -1 where only time tells."""
        return self._notices.fileno() if self._notices else -1

    def timeout(self) -> float | None:
        """Return the seconds until `changed` should be asked again by itself; None where `fileno` tells."""
        return None if self._notices else max(self._next_look - time.monotonic(), 0.0)

    def files(self) -> dict[str, Signature]:
        """Return the matching files as last seen."""
        return {path: seen for row in self._directories.values() for path, seen in row.files.items()}

    def close(self) -> None:
        """Stop watching."""
        if self._notices:
            self._notices.close()
            self._notices = None

    def changed(self) -> list[str]:
        """Return the matching files that were written since last asked; never waits."""
        if not self._notices:
            return self._look_everywhere() if time.monotonic() >= self._next_look else []
        dirty: set[str] = set()
        vanished: set[Signature] = set()
        events, everywhere = self._notices.read()
        for wd, mask, name in events:
            everywhere |= self._take(wd, mask, os.fsdecode(name), dirty, vanished)
        if everywhere:
            return self._look_everywhere(vanished)
        return self._look(dirty, vanished) if dirty else []

    def _go_slow(self, reason: str) -> None:
        self.close()
        self._paths.clear()
        self._anchors.clear()
        self._next_look = time.monotonic() + SLOW_SECONDS
        self._warn(f"{reason}; looking at {self._root} every {SLOW_SECONDS:.0f} s instead")

    def _add(self, path: str, mask: int) -> int:
        """Watch a directory; returns its wd, -1 in slow mode. Raises OSError if it is not to be watched."""
        if not self._notices:
            return -1
        try:
            return self._notices.add(path, mask)
        except OSError as error:
            if error.errno in _PATH_ERRORS:
                raise
            self._go_slow(notices.why(error))
            return -1

    def _remove(self, wd: int) -> None:
        if self._notices and wd >= 0:
            self._notices.remove(wd)

    def _take(self, wd: int, mask: int, name: str, dirty: set[str], vanished: set[Signature]) -> bool:
        """Note which directories an event points at; True when it is better to look everywhere."""
        bits = self._bits
        gone = bits.IN_DELETE_SELF | bits.IN_MOVE_SELF | bits.IN_IGNORED | bits.IN_UNMOUNT
        if wd in self._anchors:
            return bool(mask & gone) or (name != "" and name == self._anchors[wd])
        path = self._paths.get(wd)
        if path is None:
            return False  # of a watch that was given up
        if mask & gone:
            if mask & bits.IN_IGNORED:
                self._paths.pop(wd)
            return path == self._root
        if mask & bits.IN_ISDIR:
            if name:
                self._forget(os.path.join(path, name), vanished)  # whatever had that name is another one now
                dirty.add(path)
        elif name.endswith(self._suffix):
            dirty.add(path)
        return False

    def _forget(self, top: str, vanished: set[Signature]) -> None:
        """Drop a directory and all below it; the signatures of its files are added to `vanished`."""
        pending = [top]
        while pending:
            path = pending.pop()
            directory = self._directories.pop(path, None)
            if directory is None:
                continue
            vanished.update(directory.files.values())
            pending += directory.folders
            if self._paths.get(directory.wd) == path:
                del self._paths[directory.wd]
                self._remove(directory.wd)

    def _look_everywhere(self, vanished: set[Signature] | None = None) -> list[str]:
        """Look into every directory, the root and those above it included."""
        vanished = set() if vanished is None else vanished
        self._next_look = time.monotonic() + SLOW_SECONDS
        if self._anchor():
            return self._look({self._root, *self._directories}, vanished)
        self._forget(self._root, vanished)
        return []

    def _anchor(self) -> bool:
        """Watch what is above the root for its coming and going; returns whether the root is there."""
        for wd in self._anchors:
            self._remove(wd)
        self._anchors.clear()
        bits = self._bits
        while True:
            above, name = os.path.split(self._root)
            while above != os.path.dirname(above) and not os.path.isdir(above):
                above, name = os.path.split(above)
            there = os.path.isdir(os.path.join(above, name))
            if not self._notices:
                return there
            mask = bits.IN_DELETE_SELF | bits.IN_MOVE_SELF | bits.IN_ONLYDIR
            if not there:
                mask |= bits.IN_CREATE | bits.IN_MOVED_TO
            try:
                wd = self._add(above, mask)
            except FileNotFoundError:
                continue
            except OSError:
                return there  # it may be passed through but not read
            if wd >= 0:
                self._anchors[wd] = "" if there else name
            # It may have come, or its parent gone, between the question and the watch.
            if os.path.isdir(os.path.join(above, name)) == there:
                return there

    def _look(self, dirty: Iterable[str], vanished: set[Signature]) -> list[str]:
        """List these directories and the new ones below them; returns the files that were written."""
        pending = [path for path in dirty if path == self._root or path in self._directories]
        fresh: list[tuple[str, Signature]] = []
        while pending:
            path = pending.pop()
            before = self._directories.get(path)
            try:
                after = self._visit(path)
            except OSError as error:
                self._forget(path, vanished)  # gone or unreadable; its parent tells when it is back
                gone = error.errno in (errno.ENOENT, errno.ENOTDIR)
                if path == self._root and gone and self._anchor():
                    pending.append(path)  # it has come back by now
                continue
            known = before.files if before else {}
            vanished.update(signature for file, signature in known.items() if file not in after.files)
            fresh += [item for item in after.files.items() if _written(known.get(item[0]), item[1])]
            for folder in (before.folders if before else frozenset()) - after.folders:
                self._forget(folder, vanished)
            pending += [folder for folder in after.folders if folder not in self._directories]
        return [file for file, signature in fresh if signature not in vanished]

    def _visit(self, path: str) -> _Directory:
        """Watch and list one directory. Raises OSError when it cannot be."""
        wd = -1
        if self._notices:
            wd = self._add(path, self._mask(path))
            if wd >= 0:
                self._paths[wd] = path
        before = self._directories.get(path)
        if before and before.wd != wd and self._paths.get(before.wd) == path:
            del self._paths[before.wd]  # another directory had that path
            self._remove(before.wd)
        directory = _Directory(wd, *_list(path, self._suffix))
        self._directories[path] = directory
        return directory

    def _mask(self, path: str) -> int:
        bits = self._bits
        mask = (
            bits.IN_MODIFY
            | bits.IN_CLOSE_WRITE
            | bits.IN_CREATE
            | bits.IN_DELETE
            | bits.IN_MOVE
            | bits.IN_DELETE_SELF
            | bits.IN_MOVE_SELF
            | bits.IN_ONLYDIR
        )
        # The root may be a link that the person made; below it links could lead in circles.
        return int(mask if path == self._root else mask | bits.IN_DONT_FOLLOW)


def holders(path: str) -> dict[str, int]:
    """Return which processes have a file open: `/proc/<pid>/fd/<n>` → pid, as far as this user may see."""
    pids = map(int, filter(str.isdecimal, os.listdir("/proc")))
    return {link: pid for pid in pids for link in links(pid, path)}


def links(pid: int, path: str) -> list[str]:
    """Return the descriptors, as links in /proc, by which a process has a file open."""
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return []  # ended meanwhile, or another user's
    found = (f"/proc/{pid}/fd/{descriptor}" for descriptor in descriptors)
    return [link for link in found if leads_to(link, path)]


def open_files(pid: int, suffix: str) -> set[tuple[int, int]]:
    """Return (device, inode) of the files whose names end in `suffix` that a process has open."""
    found = set()
    with contextlib.suppress(OSError):  # it ended meanwhile, or is another user's
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            link = f"/proc/{pid}/fd/{descriptor}"
            with contextlib.suppress(OSError):  # closed meanwhile
                if os.readlink(link).endswith(suffix):
                    status = os.stat(link)
                    found.add((status.st_dev, status.st_ino))
    return found


def leads_to(link: str, path: str) -> bool:
    """Return whether a descriptor's link in /proc is to that file; False when it is closed by now."""
    try:
        # The name first: asking about a file of a hanging mount would hang too.
        return os.path.basename(os.readlink(link)) == os.path.basename(path) and os.path.samefile(link, path)
    except OSError:
        return False
