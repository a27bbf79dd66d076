"""Reads and replaces the files of other programs: at once, through links, with one backup."""

from __future__ import annotations

import contextlib
import os
import stat

BACKUP = ".seance-backup"
LARGEST = 4 << 20


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
    """Return the text that a file had before our first change; None where there is no backup."""
    return read(path + BACKUP)


def back_up(path: str, text: str) -> None:
    """Keep what a file had before our first change. Raises OSError."""
    if os.path.lexists(path + BACKUP):
        return
    _write(path + BACKUP, text, os.stat(path))


def replace(path: str, before: str | None, after: str | None) -> None:
    """Put `after` in place of `before`, None for no file; mode, owner and a link to it stay.

    Raises ValueError where the file is not as it was or may not be written, OSError where it cannot be.
    """
    real = os.path.realpath(path)
    if read(real) != before:
        raise ValueError("was changed by somebody else meanwhile; try again")
    status = os.stat(real) if before is not None else None
    if status and not status.st_mode & 0o222:
        raise ValueError("is read-only")
    if after is None:
        os.unlink(real)  # a link to it is the user's own, and stays
        return
    os.makedirs(os.path.dirname(real), exist_ok=True)
    temporary = f"{real}.seance-{os.getpid()}"
    try:
        _write(temporary, after, status)
        os.replace(temporary, real)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _write(path: str, text: str, status: os.stat_result | None) -> None:
    """Make a file with the mode and owner of another."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with open(descriptor, "wb") as file:
        if status:
            if (status.st_uid, status.st_gid) != (os.getuid(), os.getgid()):
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        file.write(text.encode())
        file.flush()
        os.fsync(descriptor)
