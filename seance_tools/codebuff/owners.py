"""Tells the logs of one session from those of others: all sessions on the machine share one tree of logs."""

from __future__ import annotations

import os
import time

from seance_tools import names, watch

TRUSTED_SECONDS = 10.0  # how long it is believed that a log is not ours, while its holder keeps it open


class Owners:
    """The processes of one session, and which logs they have open.

    pid: of the session's agent; its descendants belong to it, and whatever has its number in the environment
    variable `variable`: a launcher may replace its child, and a child may outlive its parent.
    """

    def __init__(self, pid: int, variable: str) -> None:
        self._pid = pid
        self._variable = os.fsencode(variable) + b"="
        self._known: dict[str, tuple[str, bool, float]] = {}  # log: (link of a holder, ours, believed until)
        self._writers: dict[int, int] = {}  # what our processes call themselves: their ids here

    def is_ours(self, log: str) -> bool:
        """Return whether this session has the log open; one that nobody has open is a lone session's."""
        now = time.monotonic()
        link, ours, until = self._known.get(log, ("", False, 0.0))
        if link and watch.leads_to(link, log) and (ours or (now < until and not self._opens(log))):
            return ours
        self._known.pop(log, None)
        found = watch.holders(log)
        for link, pid in found.items():
            ours = self.has(pid)
            self._known[log] = (link, ours, now + TRUSTED_SECONDS)
            if ours:
                return True
        return not found and not self._others()

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

    def is_foreign(self, number: int, log: str) -> bool:
        """Return whether a log's line is another session's, a process of which has the log open too."""
        return number not in self._writers and bool(watch.links(number, log)) and not self.has(number)

    def _opens(self, log: str) -> bool:
        """Return whether one of the processes that are known has the log open; cheap."""
        return any(watch.links(pid, log) and self.has(pid) for pid in set(self._writers.values()))

    def _mark(self, variables: list[bytes]) -> int:
        """Return the agent's pid of the session that a process belongs to, 0 where it does not say."""
        value = next((item.partition(b"=")[2] for item in variables if item.startswith(self._variable)), b"")
        return int(value) if value.isdigit() else 0

    def _descends(self, pid: int) -> bool:
        while pid > 1 and pid != self._pid:
            pid = parent(pid)
        return pid == self._pid

    def _others(self) -> bool:
        """Return whether another session of this agent runs that has its logs in the same home directory."""
        home = b"HOME=" + os.fsencode(names.home(os.environ))
        for variables in map(_variables, map(int, filter(str.isdecimal, os.listdir("/proc")))):
            mark = self._mark(variables)
            if mark not in (0, self._pid) and home in variables and os.path.exists(f"/proc/{mark}"):
                return True
        return False


def _variables(pid: int) -> list[bytes]:
    """Return a process's environment, none where it is gone or another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def parent(pid: int) -> int:
    """Return the id of a process's parent, 0 where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _names(pid: int) -> list[int]:
    """Return the ids of a process: here, and in the namespaces it is in, where it has another one."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            line = next((line for line in file if line.startswith(b"NSpid:")), b"")
    except OSError:
        return [pid]
    return [int(word) for word in line.split()[1:]] or [pid]
