"""The spool: the directory beside the socket where reports wait for the broker, one file each.

A file counts once its writer has closed it. What is not a plain file of ours is never followed, opened for
writing or waited for; it is put aside, beside the spool. What cannot be taken before the broker stops is left
beside it too, and taken up by the next one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import signal
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import NamedTuple

from seance_tools import notices

HEAD_BYTES = 1 << 17  # of a file too large to be read: more than any header
_NOT_NOW = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_EMPTY_SECONDS = 10.0  # for which one that nobody writes may be one whose writer has only just made it
_NAMES_ROUND = 512  # the numbers in writers' names begin anew after so many, or a multiple
_QUIET_SECONDS = 1.0  # of a file whose file system cannot say whether it is still being written
_NUMBER = re.compile("[0-9]{1,15}")


class Unusable(Exception):
    """The spool, or inotify on it, cannot be used; the message says why."""


class OddFile(Exception):
    """A file that is no report; the message says why."""


class BeingWritten(Exception):
    """A file that its writer has not closed yet."""


class Entry(NamedTuple):
    """A file that waits: when it was modified (ns), name, inode. They order by time, then by name."""

    modified: int
    name: str
    inode: int


class Content(NamedTuple):
    """What a file holds; `whole` is false where it is too large and only its beginning was read."""

    entry: Entry
    data: bytes
    whole: bool


class Spool:
    """The spool at `path`, made if needed; only one broker takes from it. Raises Unusable."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.aside = f"{path}-aside"
        self.left = f"{path}-left"
        self._stuck: set[str] = set()  # can be neither read nor moved: told once
        self._fd = _open(path)

    def close(self) -> None:
        """Let go of the spool; what waits in it stays."""
        os.close(self._fd)

    def take_up(self) -> None:
        """Move what an earlier broker could not take before it stopped into the spool. Raises OSError."""
        try:
            left = os.open(self.left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)  # else that broker is still at it
            for name in os.listdir(left):
                new = name
                while os.path.lexists(os.path.join(self.path, new)):
                    new = f"{name}-{time.time_ns()}"
                os.rename(name, new, src_dir_fd=left, dst_dir_fd=self._fd)
            os.rmdir(self.left)
        except BlockingIOError:
            pass
        finally:
            os.close(left)

    def withdraw(self) -> bool:
        """Take the spool away from the hooks, which do nothing from then on; returns whether that worked.

        What is in it can still be taken. What is being written goes on; the next broker finds it.
        """
        try:
            os.rename(self.path, self.left)
        except OSError:  # something of the name is in the way
            return False
        self.path = self.left
        return True

    def finish(self) -> bool:
        """Remove the spool if nothing is in it; returns whether it is gone."""
        try:
            os.rmdir(self.path)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def entries(self) -> list[Entry]:
        """Return what waits, the oldest first. Raises OSError if the spool cannot be read.

        A list that is made while files come may have one and not the one before it. So what came after the
        newest that was there at the beginning is left for the next time.
        """
        before = set(os.listdir(self._fd))
        found = []
        with os.scandir(self._fd) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name in self._stuck:
                    continue
                with suppress(OSError):  # gone since it was listed
                    status = entry.stat(follow_symlinks=False)
                    found.append(Entry(status.st_mtime_ns, entry.name, status.st_ino))
        newest = max((entry.modified for entry in found if entry.name in before), default=0)
        return list(_in_turn(entry for entry in found if entry.modified <= newest))

    def read(self, name: str, limit: int, *, closed: bool = True) -> Content | None:
        """Return a file's content, None where it is gone; of more than `limit` bytes only the beginning.

        closed: whether we were told that its writer closed it; counts where the file system cannot say.
        Raises BeingWritten, OddFile for what is no report, OSError where nothing can be read at the moment.
        """
        try:
            descriptor = self._open_file(name)
        except FileNotFoundError:
            return None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise OddFile("not a file")
            if found.st_uid != os.getuid():
                raise OddFile(f"belongs to another user ({found.st_uid})")
            if _is_written(descriptor, found.st_mtime, closed=closed):
                raise BeingWritten
            found = os.fstat(descriptor)  # from here on it stays as it is
            if not found.st_size and time.time() - found.st_mtime < _EMPTY_SECONDS:
                raise BeingWritten
            whole = found.st_size <= limit
            data = os.read(descriptor, found.st_size if whole else HEAD_BYTES)
        except OSError as error:
            raise OddFile(error.strerror or str(error)) from None
        finally:
            os.close(descriptor)
        return Content(Entry(found.st_mtime_ns, name, found.st_ino), data, whole)

    def _open_file(self, name: str) -> int:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        try:
            return os.open(name, flags, dir_fd=self._fd)
        except OSError as error:
            if error.errno in (errno.ENOENT, *_NOT_NOW):
                raise
            reason = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise OddFile(reason) from None

    def remove(self, names: Iterable[str]) -> list[str]:
        """Remove files, in this order; returns those that cannot be, which are passed over from now on."""
        stuck = []
        for name in names:
            try:
                os.unlink(name, dir_fd=self._fd)
            except FileNotFoundError:
                pass
            except OSError:
                stuck.append(name)
        self._stuck.update(stuck)
        return stuck

    def put_aside(self, name: str) -> str:
        """Move a file or whatever it is out of the way; returns where it is now."""
        target = os.path.join(self.aside, f"{time.time_ns()}-{name[-100:]}")
        try:
            with suppress(FileExistsError):
                os.mkdir(self.aside, 0o700)
            os.rename(name, target, src_dir_fd=self._fd)
        except FileNotFoundError:
            return target
        except OSError:
            self._stuck.add(name)
            return os.path.join(self.path, name)
        return target


def _open(path: str) -> int:
    """Return a locked descriptor of the directory at `path`, made with mode 0700 where there is none."""
    while True:
        try:
            if os.path.islink(path):  # to the spool of a broker that config.toml sent elsewhere
                os.unlink(path)
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
                os.chmod(path, 0o700)  # a umask may have taken more than we want
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise Unusable(f"the spool {path} cannot be used: {error.strerror}") from None
        try:
            found = os.fstat(descriptor)
            if found.st_uid != os.getuid():
                raise Unusable(f"the spool {path} belongs to another user")
            os.fchmod(descriptor, 0o700)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):  # else the last broker here has just removed it
                if os.path.samestat(os.lstat(path), found):
                    return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise Unusable(f"the spool {path} is another broker's") from None
        except Unusable:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _in_turn(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield entries by time, those of the same clock tick (some ms) by the numbers in their names.

    Writers take them from process ids or counters, modulo 512 or 1024: 1023 may come before 0.
    """
    for _, group in groupby(sorted(entries), lambda entry: entry.modified):
        tied = [(entry, [int(number) for number in _NUMBER.findall(entry.name)]) for entry in group]
        first, half = tied[0][1], _NAMES_ROUND // 2
        tied.sort(
            key=lambda one: [(n - m + half) % _NAMES_ROUND for n, m in zip(one[1], first, strict=False)]
        )
        yield from (entry for entry, _ in tied)


def _is_written(descriptor: int, modified: float, *, closed: bool) -> bool:
    """Return whether somebody has the file open for writing: then no lease to read it is given, fcntl(2).

    Who opens it while we have the lease waits, and we are sent a signal: SIGURG, which is nothing to us,
    instead of SIGIO, which would end us.
    """
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:  # a file system without leases
        return not closed and time.time() - modified < _QUIET_SECONDS
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


class Watch:
    """Tells of files that are closed after writing or moved into a directory, and of what is none.

    Raises Unusable.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        above, name = os.path.split(path)
        self._name = os.fsencode(name)
        try:
            self._notices = notices.Notices()
        except notices.Unusable as error:
            raise Unusable(str(error)) from None
        bits = self._bits = self._notices.bits
        try:
            mask = bits.IN_CLOSE_WRITE | bits.IN_MOVED_TO | bits.IN_CREATE | bits.IN_ONLYDIR
            self._notices.add(path, mask)
            # Whoever locks a directory has it open, and is not told by itself that it has been removed.
            mask = bits.IN_DELETE | bits.IN_MOVED_FROM | bits.IN_ONLYDIR
            self._above = self._notices.add(above, mask)
        except OSError as error:
            self.close()
            raise Unusable(notices.why(error)) from None

    def fileno(self) -> int:
        """Return the descriptor that is readable when there is something to tell."""
        return self._notices.fileno()

    def close(self) -> None:
        """Stop watching."""
        self._notices.close()

    def take(self) -> tuple[list[str], bool, bool]:
        """Return (files in the order they were closed, whether some are lost, whether the spool is gone)."""
        names = []
        gone = False
        events, lost = self._notices.read()
        for wd, mask, name in events:
            if wd == self._above:
                gone |= name == self._name
            elif name and not name.startswith(b".") and self._counts(mask, file := os.fsdecode(name)):
                names.append(file)
        return names, lost, gone

    def _counts(self, mask: int, name: str) -> bool:
        """Return whether an event is the last one to expect of a name: none is written after a mkfifo."""
        if not mask & self._bits.IN_CREATE:
            return True
        try:
            status = os.lstat(os.path.join(self._path, name))
        except OSError:  # gone already
            return False
        return not stat.S_ISREG(status.st_mode) or status.st_nlink > 1
