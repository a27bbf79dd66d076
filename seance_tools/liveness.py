"""Processes: who they are, and the moment they end (pidfd, no polling)."""

from __future__ import annotations

import os

from seance_tools.child import open_pidfd


def start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot (proc(5), stat field 22); None if it is gone.

    Together with the process id it names a process for good; ids alone are used again.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def open_process(pid: int, started: int | None) -> int | None:
    """Return a pidfd, readable once the process ends, or None if that process has ended already.

    Raises OSError when there are no descriptors left.
    """
    try:
        descriptor = open_pidfd(pid)
    except ProcessLookupError:
        return None
    if started is not None and start_time(pid) != started:
        os.close(descriptor)
        return None
    return descriptor
