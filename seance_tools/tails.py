"""The new lines of files of JSON lines that other programs append to, with inotify.

A file is read from where it ended when it was added, however large it is; one that is made later, from its
beginning. What lies on another machine is left alone: looking at it may take for ever.
Importing inotify's bare binding costs 25 ms, so that is done with the first file.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Callable
from typing import Any

from seance_tools.turns.lines import Lines

MOST_WATCHES = 64  # files beyond that are only read when asked for
LINE_BYTES = 1 << 16  # a longer line holds what a tool has printed
READ_BYTES = 1 << 18  # in one go
MOST_BEHIND = 1 << 22  # bytes; what is older is passed over
_EVENT = struct.Struct("iIII")  # wd, mask, cookie, length of the name
_EVENT_BYTES = 1 << 16
_MOST_LINKS = 40  # in a path, as the kernel has it
# Types of file systems, up to a dot; any of FUSE's may be another machine's, as sshfs is.
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "afs", "ceph", "9p", "autofs", "lustre", "gpfs", "fuse"})


class Tails:
    """The files. warn: called once with one line when inotify cannot be used."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._fd = -1
        self._loaded = False
        self._calls: Any = None
        self._bits: Any = None
        self._files: dict[str, Lines] = {}
        self._wds: dict[int, str] = {}

    def fileno(self) -> int:
        """Return the descriptor that is readable when something was appended; -1 where nothing tells."""
        return self._fd

    def close(self) -> None:
        """Let go of all files."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
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
            try:
                self._calls.inotify_rm_watch(self._fd, wd)
            except self._calls.InotifyError:
                continue  # the file and so the watch is gone

    def changed(self) -> list[str]:
        """Return the files that something was appended to since last asked; never waits."""
        dirty: dict[str, None] = {}
        try:
            data = os.read(self._fd, _EVENT_BYTES)
        except BlockingIOError:
            return []
        offset = 0
        while offset < len(data):
            wd, mask, _, length = _EVENT.unpack_from(data, offset)
            offset += _EVENT.size + length
            if mask & self._bits.IN_Q_OVERFLOW:
                return list(self._files)
            path = self._wds.get(wd)
            if path is not None:
                dirty[path] = None
                if mask & self._bits.IN_IGNORED:
                    del self._wds[wd]
        return list(dirty)

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
        if not self._loaded:
            self._loaded = True
            self._load()
        if self._fd < 0 or len(self._wds) >= MOST_WATCHES or path in self._wds.values():
            return
        try:
            wd = self._calls.inotify_add_watch(self._fd, os.fsencode(path), self._bits.IN_MODIFY)
        except self._calls.InotifyError as error:
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                self._warn("the limit fs.inotify.max_user_watches is reached; transcripts are read late")
            return  # not there yet, for the most part
        self._wds[wd] = path

    def _load(self) -> None:
        try:
            from inotify import calls, constants
        except (ImportError, OSError) as error:
            self._warn(f"inotify cannot be loaded ({error}); transcripts are read late")
            return
        self._calls, self._bits = calls, constants
        try:
            self._fd = calls.inotify_init()
        except calls.InotifyError as error:
            limit = error.errno == errno.EMFILE
            reason = (
                "the limit fs.inotify.max_user_instances is reached" if limit else os.strerror(error.errno)
            )
            self._warn(f"inotify: {reason}; transcripts are read late")
            return
        os.set_inheritable(self._fd, False)
        os.set_blocking(self._fd, False)


def _mounts() -> dict[str, str]:
    """Return mount point → type of file system, proc_pid_mountinfo(5)."""
    found = {}
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            before, _, after = line.partition(" - ")
            point = before.split(" ")[4]
            for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
                point = point.replace(code, character)
            found[point] = after.split(" ", 1)[0]
    return found


def _is_remote(path: str) -> bool:
    """Return whether a path leads over a file system of another machine; nothing of that one is asked."""
    try:
        mounts = _mounts()
    except OSError:
        return True
    here, parts, links = "/", [*path.split("/")[::-1], "."], 0
    while parts:
        part = parts.pop()
        here = os.path.normpath(os.path.join(here, part))
        if mounts.get(here, "").split(".")[0] in _REMOTE:
            return True
        try:
            target = os.readlink(here)
        except OSError:
            continue  # no link, or nothing there
        links += 1
        if links > _MOST_LINKS:
            return True
        parts += target.split("/")[::-1]
        here = "/" if target.startswith("/") else os.path.dirname(here)
    return False
