"""Processes: who they are, and the moment they end (pidfd, no polling)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from seance_tools.child import open_pidfd, stat_fields

_GENERATIONS = 64  # of ancestors that are looked at
_COMMAND_BYTES = 4096
# What runs a program that is a script, so that the script's name counts; how its names may end.
_INTERPRETERS = ("node", "bun", "deno", "python", "ruby", "perl", "sh", "bash", "dash", "zsh")
_SUFFIXES = (".js", ".mjs", ".cjs", ".py", ".sh")


class Stat(NamedTuple):
    """What /proc/PID/stat tells of a process (proc(5)).

    state: a letter. session: id of its leader. terminal: device number, 0 for none. start_time: in clock
    ticks since boot.
    """

    state: str
    parent: int
    session: int
    terminal: int
    start_time: int


def stat_of(pid: int) -> Stat | None:
    """Return what is told of a process; None if it has ended, waited for or not. Raises OSError."""
    try:
        fields = stat_fields(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    parent, session, terminal, started = (int(fields[number]) for number in (1, 3, 4, 19))
    return Stat(fields[0].decode(), parent, session, terminal, started)


def start_time(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it is gone. Raises OSError.

    Together with the process id it names a process for good; ids alone are used again.
    """
    found = stat_of(pid)
    return found.start_time if found else None


def parent_of(pid: int) -> int:
    """Return the id of a process's parent, 0 where it is gone or not for us to see."""
    try:
        found = stat_of(pid)
    except OSError:
        return 0
    return found.parent if found else 0


def find_agent(
    processes: Iterable[tuple[int, int | None]], binaries: Collection[str], agent_pid: int | None = None
) -> tuple[int | None, bool]:
    """Return (process id of an agent or None, whether any of `processes` still lives).

    processes: (id, start time) of what may be the agent or below it, the nearest first. The first of them,
    or of their ancestors, counts whose program is one of `binaries` or whose id is `agent_pid`.
    """
    alive = False
    before: int | None = None
    seen: set[int] = set()
    for pid, started in processes:
        found = start_time(pid)
        # One without a start time is an ancestor of the one before: a younger one only has its id.
        same = found is not None and (found == started or (started is None and found <= (before or found)))
        before = started
        if not same:
            continue
        alive = True
        for ancestor in _upwards(pid):
            if ancestor in seen:
                break
            seen.add(ancestor)
            if ancestor == agent_pid or not binaries_of(ancestor).isdisjoint(binaries):
                return ancestor, True
    return None, alive


def _upwards(pid: int) -> Iterator[int]:
    for _ in range(_GENERATIONS):
        if not pid:
            return
        yield pid
        found = stat_of(pid)
        pid = found.parent if found else 0


def binaries_of(pid: int) -> frozenset[str]:
    """Return the names by which the program of a process may be known; none for another user's or a gone one.

    They are those of its file, of its command line's first word and, where that is an interpreter, of the
    script.
    """
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read(_COMMAND_BYTES).split(b"\0")]
    except OSError:
        return frozenset()
    first = os.path.basename(words[0])
    found = {program, first, first.partition(" ")[0]}  # a title that a program gives itself goes on
    interpreter = program.rstrip("0123456789.") in _INTERPRETERS
    script = _script(words[1:]) if interpreter else ""
    found.add(script)
    found.update(script.removesuffix(suffix) for suffix in _SUFFIXES if script.endswith(suffix))
    return frozenset(found - {""})


def _script(arguments: list[str]) -> str:
    """Return the name of the script, or module, that an interpreter with these arguments runs; "" if none."""
    for argument in arguments:
        if argument in ("-c", "-e", "--eval"):
            return ""
        if not argument.startswith("-"):
            return os.path.basename(argument)
    return ""


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
