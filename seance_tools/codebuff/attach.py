"""Leaves a monitor beside agents that run already, started without the wrapper."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from seance_tools import child, client, names
from seance_tools.agents import AGENTS, Agent, agent_named
from seance_tools.codebuff import USAGE, facts_of, monitor, pid_variable, program_of, text_of
from seance_tools.liveness import parent_of, start_time
from seance_tools.terminals import recognise
from seance_tools.wire import WireError

PROGRAM = "codebuff-wrapper"
EVERYWHERE = "all"
_INTERPRETER = re.compile(r"(node|bun|deno|python|sh|bash|dash)[\d.]*")
_TERMINAL = ("/dev/pts/", "/dev/tty")


def main(arguments: list[str]) -> int:
    """Attach to what `PID|PLACE|all [--agent NAME]` names, and return an exit status."""
    target, *rest = arguments or [""]
    if not target or (rest and (rest[0] != "--agent" or len(rest) != 2)):
        names.complain(PROGRAM, f"usage: {USAGE}")
        return names.EXIT_USAGE
    try:
        if target.isdecimal():
            agent = agent_named(rest[1]) if rest else agent_of(int(target))
            if agent is None:
                names.complain(
                    PROGRAM, f"process {target} is no agent that has session logs; give --agent NAME"
                )
                return names.EXIT_REFUSED
            attach(agent, int(target))
            return names.EXIT_OK
        found = [(pid, agent) for pid, agent in missed(target) if not rest or agent.key == rest[1]]
        for pid, agent in found:
            attach(agent, pid)
            sys.stdout.write(f"{agent.name}, process {pid}\n")
    except OSError as error:
        names.complain(PROGRAM, f"cannot attach to {target}: {error.strerror}")
        return names.EXIT_REFUSED
    if not found:
        names.complain(PROGRAM, "no agent with session logs runs there that is not shown already")
    return names.EXIT_OK if found else names.EXIT_REFUSED


def attach(agent: Agent, pid: int) -> None:
    """Leave a monitor beside process `pid`. Raises OSError where there is none, or it is another user's."""
    facts = facts_from(pid)
    sys.stdout.flush()  # or the monitor would have a copy of what waits to be written
    child.leave_monitor(lambda pidfd: monitor.main(agent, facts, pidfd, program_of(agent), joins=True), pid)


def agent_of(pid: int) -> Agent | None:
    """Return the agent with session logs that a process is, by the name of its program or its script.

    Raises OSError where there is no such process.
    """
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        words = [os.path.basename(os.fsdecode(word)) for word in file.read().split(b"\0")]
    if _INTERPRETER.fullmatch(words[0]):
        words = [word for word in words[1:] if not word.startswith("-")]
    return next((row for row in AGENTS if row.log_root and words and words[0] in row.binaries), None)


def missed(target: str) -> Iterator[tuple[int, Agent]]:
    """Yield the sessions at a terminal that nobody watches: in the place `target`, or EVERYWHERE.

    place: as the broker names it. Of a launcher and its child, the launcher is the session.
    """
    found: dict[int, Agent] = {}
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        try:
            agent = agent_of(pid)
        except OSError:
            continue  # ended, or another user's
        if agent:
            found[pid] = agent
    shown, abandoned = _shown()
    for pid, agent in found.items():
        above = set(_ancestors(pid))
        if above.intersection(found) or shown.intersection({pid, *above}):
            continue
        try:
            if _is_missed(pid, agent, target, monitored=pid not in abandoned):
                yield pid, agent
        except OSError:
            continue  # as above


def _is_missed(pid: int, agent: Agent, target: str, *, monitored: bool) -> bool:
    """Return whether nobody watches a session. monitored: if the wrapper left a monitor, that is alive."""
    facts, environ = facts_from(pid), _environment(pid)
    if monitored and environ.get(pid_variable(agent)) == str(pid):
        return False
    if not facts.get("tty", "").startswith(_TERMINAL):
        return False
    place = recognise(environ, facts["tty"], facts.get("tty_session"))
    return target == EVERYWHERE or (place is not None and place.surface == target)


def _shown() -> tuple[set[int], set[int]]:
    """Return the agents' processes that the broker knows, and those of them whose monitor has ended before.

    None where no broker answers.
    """
    try:
        with client.open_connection(names.socket_path(os.environ), 2.0, autostart=False) as connection:
            rows = connection.request("agent.list").get("agents", ())
    except (client.NoBroker, OSError, ValueError, WireError):
        return set(), set()
    abandoned = {row["pid"] for row in rows if row["source"] != "hook" and not _reported(row)}
    return {row["pid"] for row in rows} - {None} - abandoned, abandoned


def _reported(row: dict[str, Any]) -> bool:
    """Return whether who reported a session is still there; True where he did not say who he is."""
    pid = row.get("reporter_pid")
    return pid is None or start_time(pid) == row.get("reporter_start_time")


def _ancestors(pid: int) -> Iterator[int]:
    while (pid := parent_of(pid)) > 1:
        yield pid


def _environment(pid: int) -> dict[str, str]:
    with open(f"/proc/{pid}/environ", "rb") as file:
        pairs = (os.fsdecode(item).partition("=") for item in file.read().split(b"\0"))
        return {name: value for name, _, value in pairs}


def facts_from(pid: int) -> dict[str, Any]:
    """Return the params of agent.hook of a process. Raises OSError where its environment cannot be read."""
    tty = _link(lambda: os.readlink(f"/proc/{pid}/fd/0"))
    cwd = _link(lambda: os.readlink(f"/proc/{pid}/cwd"))
    session = os.getsid(pid)
    return facts_of(pid, _environment(pid), tty if tty.startswith(_TERMINAL) else "", session, cwd)


def _link(question: Callable[[], str]) -> str:
    try:
        return text_of(question())
    except OSError:
        return ""  # closed, or not for us to see
