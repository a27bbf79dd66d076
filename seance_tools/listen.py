"""The broker's place: one broker a socket path, and nobody else's file harmed.

The lock file decides who serves and is never unlinked; the socket is bound beside its path and renamed over
it, so that the path never names a socket that does not answer. Measured: reliability, "Socket and start".
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from contextlib import suppress

from seance_tools.names import SUN_PATH_BYTES

BACKLOG = 1024


class Refused(Exception):
    """The broker may not serve at this path; the message says why."""


class Place:
    """The locked path of a broker. Raises Refused when another broker has it or something else is there."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._identity: tuple[int, int] | None = None
        _prepare_directory(os.path.dirname(path))
        self._lock = _lock(path)
        try:
            _check_free(path)
        except Refused:
            os.close(self._lock)
            raise
        self.lock_is_mine()

    def lock_is_mine(self) -> None:
        """Write this process into the lock file; the lock itself goes along over fork."""
        os.pwrite(self._lock, f"{os.getpid()}\n".encode().ljust(16), 0)

    def listen(self) -> socket.socket:
        """Return the listening socket, non-blocking, reachable at the path with mode 0600."""
        temporary = f"{self.path}.{os.getpid()}"
        if len(os.fsencode(temporary)) > SUN_PATH_BYTES:  # the final path alone may still fit
            temporary = os.path.join(os.path.dirname(self.path), str(os.getpid()))
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        mask = os.umask(0o177)
        try:
            sock.bind(temporary)
        except OSError as error:
            sock.close()
            raise Refused(f"cannot make a socket at {self.path}: {error.strerror or error}") from None
        finally:
            os.umask(mask)
        sock.listen(BACKLOG)
        found = os.lstat(temporary)
        self._identity = (found.st_dev, found.st_ino)
        os.rename(temporary, self.path)
        return sock

    def withdraw(self) -> None:
        """Take the socket away, if it is still ours.

        Done before connections are closed, those who lose theirs can tell a stopped broker from a killed one.
        """
        with suppress(FileNotFoundError):
            found = os.lstat(self.path)
            if (found.st_dev, found.st_ino) == self._identity:
                os.unlink(self.path)

    def release(self) -> None:
        """Take the socket away and let go of the lock."""
        self.withdraw()
        os.close(self._lock)


def _prepare_directory(directory: str) -> None:
    try:
        os.makedirs(os.path.dirname(directory), exist_ok=True)
        os.mkdir(directory, 0o700)
        os.chmod(directory, 0o700)  # a umask may have taken more than we want
    except FileExistsError:
        pass
    except OSError as error:
        raise Refused(f"cannot make {directory}: {error.strerror}") from None
    try:
        found = os.stat(directory)
    except OSError as error:
        raise Refused(f"cannot use {directory}: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise Refused(f"not a directory: {directory}")
    if found.st_uid not in (os.getuid(), 0):
        raise Refused(f"{directory} belongs to another user")
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        raise Refused(f"{directory} can be written by others; make it private: chmod 700 {directory}")


def _lock(path: str) -> int:
    name = f"{path}.lock"
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(name, flags, 0o600)
    except OSError as error:
        raise Refused(f"cannot open {name}: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refused(f"{name} is there already and is not a regular file")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Refused(f"already running at {path}") from None
    return descriptor


def holder(path: str) -> int | None:
    """Return the process id of the broker that holds the path, or None."""
    try:
        with open(os.open(f"{path}.lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                text = file.read().strip()
                return int(text) if text.isdigit() else None
    except OSError:
        pass  # no lock, or none that a broker could have made
    return None


def _check_free(path: str) -> None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise Refused(f"cannot use {path}: {error.strerror}") from None
    if not stat.S_ISSOCK(found.st_mode):
        raise Refused(f"{path} is there already and is not a socket")
    if found.st_uid != os.getuid():
        raise Refused(f"{path} belongs to another user")
