"""Reads what is appended to the logs of one session, and the file beside them that tells a run's outcome."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime

from seance_tools.codebuff.owners import Owners
from seance_tools.turns import TAIL_BYTES, Line, Lines, Outcome, outcome, pid_of

WHOLE_BYTES = 64 << 20  # a longer log is joined at its end
SLACK_SECONDS = 1.0  # between the clocks of the kernel and of the log
_PIECE_BYTES = 1 << 20
RUN_STATE = "run-state.json"


class Logs:
    """The logs of a session, by offset.

    before: the logs that were there at the first look; of what they had by then only lines later than `begun`
    count, in seconds since 1970: a resumed chat goes on in its old log. What others wrote in a log never
    counts, as far as it is known: lines of their processes, and all that was passed over.
    """

    def __init__(self, owners: Owners, before: set[str], begun: float) -> None:
        self._owners = owners
        self._before = before
        self._begun = begun
        self._lines: dict[str, Lines] = {}

    def read(self, log: str) -> Iterator[Line]:
        """Yield the lines of this session that were appended since; none where the log cannot be read."""
        since = self._begun - SLACK_SECONDS if log in self._before else 0.0
        for line in self._appended(log):
            if since and _time(line) < since:
                continue
            pid = pid_of(line)
            if pid is None or self._owners.writer(pid) or self._owners.has(pid):
                yield line
        self._before.discard(log)

    def pass_over(self, log: str, inode: int, size: int) -> None:
        """Begin behind what a log has by now: others wrote it, and the session may go on with it."""
        self._before.discard(log)
        lines = self._lines.setdefault(log, Lines())
        lines.skip(inode, size)

    def _appended(self, log: str) -> Iterator[Line]:
        try:
            descriptor = os.open(log, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
            with open(descriptor, "rb", buffering=0) as file:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    return
                lines = self._lines.setdefault(log, Lines(from_start=found.st_size <= WHOLE_BYTES))
                offset = lines.offset(found.st_ino, found.st_size)
                file.seek(offset)
                while offset < found.st_size:  # what comes later is told of again
                    data = file.read(min(_PIECE_BYTES, found.st_size - offset))
                    if not data:
                        return
                    offset += len(data)
                    yield from lines.feed(data)
        except OSError:
            return  # gone or unreadable by now: its activity tells then what the session does


def _time(line: Line) -> float:
    """Return when a line was written; one that does not say is old."""
    try:
        time = datetime.fromisoformat(line["timestamp"])
    except (KeyError, TypeError, ValueError):
        return 0.0
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def saved_outcome(path: str) -> tuple[Outcome, float] | None:
    """Return how the run came out by a run-state.json, and when that was written; None if it is gone."""
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            file.seek(max(found.st_size - TAIL_BYTES, 0))
            return outcome(file.read(TAIL_BYTES)), found.st_mtime
    except OSError:
        return None
