"""Listening TCP ports and the processes that hold them, from /proc; no program is started.

Only this user's sockets count, and only those of the broker's own network namespace, not a container's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from seance_tools.liveness import stat_of
from seance_tools.spoolfile import terminal_name

_LISTENING = "0A"  # of the state in /proc/net/tcp (the kernel's include/net/tcp_states.h)
_ENVIRONMENT_BYTES = 1 << 20
_GENERATIONS = 64  # of ancestors that are looked at


class Process(NamedTuple):
    """A process. tty: path of its terminal, "" for none. tty_session: process id of its session's leader."""

    pid: int
    parent: int
    start_time: int
    tty: str
    tty_session: int


def sockets(wanted: Callable[[int], bool]) -> dict[str, int]:
    """Return the ports this user's sockets listen on, by inode; IPv4 and IPv6. wanted: which ports count.

    Source of the format: proc(5), /proc/net/tcp.
    """
    found: dict[str, int] = {}
    mine = None if os.geteuid() == 0 else str(os.geteuid())
    for name in ("tcp", "tcp6"):
        try:
            file = open(f"/proc/self/net/{name}", encoding="ascii")  # noqa: SIM115 - closed below
        except FileNotFoundError:
            continue  # a kernel without IPv6
        with file:
            next(file, None)  # the header
            for line in file:
                fields = line.split(maxsplit=10)
                if fields[3] != _LISTENING or (mine and fields[7] != mine):
                    continue
                port = int(fields[1].rpartition(":")[2], 16)
                if wanted(port):
                    found[fields[9]] = port
    return found


def holders(listening: dict[str, int]) -> dict[int, set[int]]:
    """Return the ports that each process has open, of the sockets that `sockets` gave."""
    found: dict[int, set[int]] = {}
    if not listening:
        return found
    links = {f"socket:[{inode}]": port for inode, port in listening.items()}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        directory = f"/proc/{pid}/fd"
        try:
            descriptors = os.listdir(directory)
        except OSError:
            continue  # ended meanwhile, or another user's
        for descriptor in descriptors:
            with contextlib.suppress(OSError):  # closed meanwhile
                port = links.get(os.readlink(f"{directory}/{descriptor}"))
                if port is not None:
                    found.setdefault(int(pid), set()).add(port)
    return found


def process(pid: int) -> Process | None:
    """Return what /proc tells of a process, None for one that is gone."""
    try:
        found = stat_of(pid)
    except OSError:
        return None
    if not found:
        return None
    return Process(pid, found.parent, found.start_time, terminal_name(found.terminal), found.session)


def lineage(pid: int) -> Iterator[Process]:
    """Yield a process and its ancestors, the nearest first."""
    for _ in range(_GENERATIONS):
        found = process(pid) if pid else None
        if not found:
            return
        yield found
        pid = found.parent


def environment(pid: int, names: tuple[str, ...]) -> dict[str, str]:
    """Return these variables of the environment a process was started with; {} where it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            data = file.read(_ENVIRONMENT_BYTES)
    except OSError:
        return {}
    pairs = (entry.partition(b"=") for entry in data.split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if os.fsdecode(name) in names}
