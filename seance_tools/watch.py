"""Watches the files below a directory for writes, with inotify, or by looking every 2 s where that fails.

An event is only a hint at a directory to look into; what was written is decided by comparing inode, size and
modification time with what they were. A directory is always watched first and listed then, so that nothing
falls between. Directories may come late, go, come again and be renamed; the root itself too.

Of the inotify package only the bare binding is used: its adapters lose overflows and new directories.
Importing it costs 25 ms, so this module is for the process that watches.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

SLOW_SECONDS = 2.0  # between two looks where inotify cannot be used
_EVENT = struct.Struct("iIII")  # wd, mask, cookie, length of the name
_READ_BYTES = 1 << 16
_READS = 64  # in one go at most, so that a flood cannot keep us reading for ever

Signature = tuple[int, int, int, int]  # device, inode, size, modification time in ns
SIZE = 2


class _UnusableError(Exception):
    """Inotify cannot be used, or not any more; the message is for the person."""


class _Directory(NamedTuple):
    """A directory as last seen: its watch (-1 without), matching files, subdirectories."""

    wd: int
    files: dict[str, Signature]
    folders: frozenset[str]


def _load() -> tuple[Any, Any]:
    """Return the binding's two modules. Raises _UnusableError when they cannot be loaded."""
    try:
        from inotify import calls, constants
    except (ImportError, OSError) as error:
        raise _UnusableError(f"inotify cannot be loaded ({error})") from None
    return calls, constants


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
        self._fd = -1
        self._directories: dict[str, _Directory] = {}
        self._paths: dict[int, str] = {}  # wd: directory
        self._anchors: dict[int, str] = {}  # wd of a directory above the root: name to wait for, "" for none
        self._next_look = 0.0
        self._calls: Any = None
        self._bits: Any = None
        try:
            self._calls, self._bits = _load()
            self._fd = self._open()
        except _UnusableError as error:
            self._go_slow(error)
        self._look_everywhere()

    def fileno(self) -> int:
        """Return the descriptor that is readable when there may be something; -1 where only time tells."""
        return self._fd

    def timeout(self) -> float | None:
        """Return the seconds until `changed` should be asked again by itself; None where `fileno` tells."""
        return None if self._fd >= 0 else max(self._next_look - time.monotonic(), 0.0)

    def files(self) -> dict[str, Signature]:
        """Return the matching files as last seen."""
        return {path: seen for row in self._directories.values() for path, seen in row.files.items()}

    def close(self) -> None:
        """Stop watching."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def changed(self) -> list[str]:
        """Return the matching files that were written since last asked; never waits."""
        if self._fd < 0:
            return self._look_everywhere() if time.monotonic() >= self._next_look else []
        dirty: set[str] = set()
        vanished: set[Signature] = set()
        everywhere = False
        for wd, mask, name in self._events():
            everywhere |= self._take(wd, mask, name, dirty, vanished)
        if everywhere:
            return self._look_everywhere(vanished)
        return self._look(dirty, vanished) if dirty else []

    def _open(self) -> int:
        """Return a new inotify descriptor, closed on exec and never blocking."""
        try:
            fd: int = self._calls.inotify_init()
        except self._calls.InotifyError as error:
            raise _UnusableError(_reason(error.errno, "max_user_instances")) from None
        os.set_inheritable(fd, False)
        os.set_blocking(fd, False)
        return fd

    def _go_slow(self, reason: Exception) -> None:
        self.close()
        self._paths.clear()
        self._anchors.clear()
        self._next_look = time.monotonic() + SLOW_SECONDS
        self._warn(f"{reason}; looking at {self._root} every {SLOW_SECONDS:.0f} s instead")

    def _add(self, path: str, mask: int) -> int:
        """Watch a directory; returns its wd, -1 in slow mode. Raises OSError if it is not to be watched."""
        if self._fd < 0:
            return -1
        try:
            wd: int = self._calls.inotify_add_watch(self._fd, os.fsencode(path), mask)
        except self._calls.InotifyError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG):
                raise OSError(error.errno, os.strerror(error.errno), path) from None
            self._go_slow(_UnusableError(_reason(error.errno, "max_user_watches")))
            return -1
        return wd

    def _remove(self, wd: int) -> None:
        if self._fd >= 0 and wd >= 0:
            with contextlib.suppress(self._calls.InotifyError):  # its directory and so the watch is gone
                self._calls.inotify_rm_watch(self._fd, wd)

    def _events(self) -> Iterator[tuple[int, int, str]]:
        """Yield (wd, mask, name) of what has come."""
        for _ in range(_READS):
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return
            offset = 0
            while offset < len(data):
                wd, mask, _, length = _EVENT.unpack_from(data, offset)
                offset += _EVENT.size
                yield wd, mask, os.fsdecode(data[offset : offset + length].rstrip(b"\0"))
                offset += length

    def _take(self, wd: int, mask: int, name: str, dirty: set[str], vanished: set[Signature]) -> bool:
        """Note which directories an event points at; True when it is better to look everywhere."""
        bits = self._bits
        gone = bits.IN_DELETE_SELF | bits.IN_MOVE_SELF | bits.IN_IGNORED | bits.IN_UNMOUNT
        if mask & bits.IN_Q_OVERFLOW:
            return True
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
            if self._fd < 0:
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
        if self._fd >= 0:
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


def _reason(code: int, sysctl: str) -> str:
    """Return why inotify cannot be used, with the limit's name where it is one."""
    if code in (errno.ENOSPC, errno.EMFILE):
        return f"the limit fs.inotify.{sysctl} is reached"
    return f"inotify cannot be used: {os.strerror(code)}"


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
