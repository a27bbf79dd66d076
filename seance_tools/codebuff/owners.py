"""Tells the logs of one session from those of others: all sessions on the machine share one tree of logs."""

from __future__ import annotations

import os
import time

from seance_tools import watch
from seance_tools.liveness import parent_of
from seance_tools.turns import Lines, pid_of

TRUSTED_SECONDS = 10.0  # how long it is believed that a log is not ours, while its holder keeps it open
_FIRST_BYTES = 1 << 16


class Owners:
    """The processes of one session, and which logs are theirs.

    pid: of the session's agent; its descendants belong to it, and whatever has its number in the environment
    variable `variable`: a launcher may replace its child, and a child may outlive its parent.

    A log is ours if one of our processes has it open, or was seen to. In doubt it is another session's: what
    nobody has open may have been written by one that has ended since.
    """

    def __init__(self, pid: int, variable: str) -> None:
        self._pid = pid
        self._variable = os.fsencode(variable) + b"="
        self._ours: set[tuple[str, int]] = set()  # (path, inode) of logs that our processes had open
        self._theirs: dict[str, tuple[str, float]] = {}  # log: (link of a holder, believed until)
        self._writers = dict.fromkeys(_names(pid), pid)  # what our processes call themselves: their ids here

    def is_ours(self, log: str) -> bool:
        """Return whether a log is this session's."""
        try:
            key = (log, os.stat(log, follow_symlinks=False).st_ino)
        except OSError:
            return False  # gone
        if key in self._ours:
            return True
        now = time.monotonic()
        link, until = self._theirs.get(log, ("", 0.0))
        if now < until and watch.leads_to(link, log) and not self._opens(log):
            return False
        self._theirs.pop(log, None)
        found = watch.holders(log)
        ours = set(filter(self.has, set(found.values())))  # of each it is noted what it calls itself
        if ours or (not found and self._began(log)):
            self._ours.add(key)
            return True
        for link in found:
            self._theirs[log] = (link, now + TRUSTED_SECONDS)
        return False

    def held(self, suffix: str) -> set[tuple[int, int]]:
        """Return (device, inode) of the files so named that processes of the session have open."""
        ours = filter(self.has, map(int, filter(str.isdecimal, os.listdir("/proc"))))
        return {file for pid in ours for file in watch.open_files(pid, suffix)}

    def has(self, pid: int) -> bool:
        """Return whether a process belongs to the session."""
        ours = self._mark(_variables(pid)) == self._pid or self._descends(pid)
        if ours:
            self._writers.update(dict.fromkeys(_names(pid), pid))
        return ours

    def writer(self, number: int) -> int:
        """Return the id of the process of this session that calls itself `number`, 0 if none is known."""
        return self._writers.get(number, 0)

    def _opens(self, log: str) -> bool:
        """Return whether one of the processes that are known has the log open; cheap."""
        return any(watch.links(pid, log) and self.has(pid) for pid in set(self._writers.values()))

    def _mark(self, variables: list[bytes]) -> int:
        """Return the agent's pid of the session that a process belongs to, 0 where it does not say."""
        value = next((item.partition(b"=")[2] for item in variables if item.startswith(self._variable)), b"")
        return int(value) if value.isdigit() else 0

    def _descends(self, pid: int) -> bool:
        while pid > 1 and pid != self._pid:
            pid = parent_of(pid)
        return pid == self._pid

    def _began(self, log: str) -> bool:
        """Return whether a log that nobody has open begins with a line of ours; False once we have a log."""
        if self._ours:
            return False
        try:
            with open(log, "rb") as file:
                lines = Lines(from_start=True).feed(file.read(_FIRST_BYTES))
        except OSError:
            return False
        pid = pid_of(lines[0]) if lines else None
        return pid is not None and (pid in self._writers or self.has(pid))


def _variables(pid: int) -> list[bytes]:
    """Return a process's environment, none where it is gone or another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _names(pid: int) -> list[int]:
    """Return the ids of a process: here, and in the namespaces it is in, where it has another one."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            line = next((line for line in file if line.startswith(b"NSpid:")), b"")
    except OSError:
        return [pid]
    return [int(word) for word in line.split()[1:]] or [pid]
