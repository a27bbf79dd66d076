"""Reads and replaces the files of other programs: at once, through links, with one backup; finds our own."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

BACKUP = ".seance-backup"
LARGEST = 4 << 20


def shipped(name: str) -> str | None:
    """Return the path of a file that comes with the package, None where it is gone.

    name: its path in a checkout, and below share/seance-tools where it is installed.
    """
    place = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    candidates = [os.path.join(place, name)]
    while place != os.path.dirname(place):
        candidates.append(os.path.join(place, "share", "seance-tools", name))
        place = os.path.dirname(place)
    return next((path for path in candidates if os.path.isfile(path)), None)


def read(path: str) -> str | None:
    """Return a file's text, line ends as they are; None where there is none.

    Raises ValueError for what is no text file, OSError where it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        raise ValueError(f"larger than {LARGEST >> 20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line}: not UTF-8") from None


def backup_of(path: str) -> str | None:
    """Return the text that a file had before our first change; None where there is no backup.

    Raises ValueError where there is one that cannot be read.
    """
    try:
        return read(path + BACKUP)
    except (ValueError, OSError) as error:
        raise ValueError(f"its backup {os.path.basename(path + BACKUP)}: {reason(error)}") from None


def back_up(path: str, text: str) -> None:
    """Keep what a file has before our first change, in place of any older backup. Raises ValueError."""
    try:
        _put(path + BACKUP, text, os.stat(path))
    except OSError as error:
        raise ValueError(
            f"its backup {os.path.basename(path + BACKUP)} cannot be written: {error.strerror}"
        ) from None


def drop_backup(path: str) -> None:
    """Remove a file's backup, if there is one. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path + BACKUP)


def check(path: str, before: str | None) -> None:
    """Make sure that `replace` can put something in the place of `before`.

    Raises ValueError where the file is not as it was or may not be written, OSError where it cannot be.
    """
    real = os.path.realpath(path)
    if read(real) != before:
        raise ValueError("was changed by somebody else meanwhile; try again")
    if before is not None:
        status = os.stat(real)
        if not status.st_mode & 0o222:
            raise ValueError("is read-only")
        groups = {os.getegid(), *os.getgroups()}
        if os.geteuid() and (status.st_uid != os.geteuid() or status.st_gid not in groups):
            raise ValueError("belongs to another user or group")
    folder = os.path.dirname(real)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        raise ValueError(f"nothing can be written into {folder}")


def replace(path: str, before: str | None, after: str | None) -> None:
    """Put `after` in place of `before`, None for no file; mode, owner and a link to it stay.

    Raises as `check` does.
    """
    check(path, before)
    real = os.path.realpath(path)
    if after is None:
        os.unlink(real)  # a link to it is the user's own, and stays
        return
    os.makedirs(os.path.dirname(real), exist_ok=True)
    _put(real, after, os.stat(real) if before is not None else None)


def _put(path: str, text: str, status: os.stat_result | None) -> None:
    """Put a file in a place at once, with the mode and owner of another."""
    temporary = f"{path}.seance-{os.getpid()}"
    try:
        _write(temporary, text, status)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _write(path: str, text: str, status: os.stat_result | None) -> None:
    descriptor = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if status else 0o644
    )
    with open(descriptor, "wb") as file:
        if status:
            new = os.fstat(descriptor)
            if (status.st_uid, status.st_gid) != (new.st_uid, new.st_gid):
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        file.write(text.encode())
        file.flush()
        os.fsync(descriptor)


def reason(error: ValueError | OSError) -> str:
    """Return what an error says, without the number and the path that an OSError's text has."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
