"""codebuff-wrapper: becomes codebuff, and leaves a monitor behind that reports what the session does.

The wrapper execs the agent in its own process, so that exit status, signals and job control are the agent's
own; whatever else fails, the agent runs. Up to that only `os`, `sys`, `names`, `agents` and `child` are
imported, because the agent's start pays for it.
"""

from __future__ import annotations

import os
import sys

from seance_tools import child, names
from seance_tools.agents import BY_KEY, Agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

PROGRAM = "codebuff-wrapper"
HOPS_BEFORE_LAST = 4  # passes through this wrapper after which PATH's last program is taken, not its first
HOPS_AT_MOST = 8  # and after which there is none
ID_DIGITS = 15  # ids of this length are exact in every JSON parser


def main() -> int:
    """Become codebuff with the command line's arguments; returns an exit status only if that cannot be."""
    return wrap(BY_KEY["codebuff"], sys.argv)


def wrap(agent: Agent, argv: list[str]) -> int:
    """Become `agent` with the arguments argv[1:]; argv[0] is the wrapper's own file."""
    child.plain_interrupts()
    environ = child.original_environment()
    name = environ.pop("SEANCE_COMMAND", "")
    if name not in agent.binaries:
        name = agent.binaries[0]
    hops = _hops(agent, environ)
    program, is_agent = _find(agent, name, environ.get("PATH", os.defpath), argv[0], hops)
    if not program:
        names.complain(PROGRAM, f"{name}: not found")
        return child.EXIT_NOT_FOUND
    environ["SEANCE_WRAPPED"] = f"{agent.key}:{os.getpid()}:{hops + 1}"
    if is_agent and not hops and _is_session(agent, argv[1:], environ):
        environ[agent_variable(agent, "PID")] = str(os.getpid())
        try:
            facts = _facts(environ)
            child.leave_monitor(lambda pidfd: _monitor(agent, facts, pidfd))
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent must run
            reason = error.strerror if isinstance(error, OSError) else error
            names.complain(PROGRAM, f"this session will not be shown: {reason}")
    status, reason = child.become(program, [name, *argv[1:]], environ)
    names.complain(PROGRAM, f"cannot run {program}: {reason}")
    return status


def agent_variable(agent: Agent, word: str) -> str:
    """Return the name of an environment variable of that agent: SEANCE_CODEBUFF_PID."""
    return f"SEANCE_{agent.key.upper()}_{word}"


def _hops(agent: Agent, environ: Mapping[str, str]) -> int:
    """Return how often this process came through the agent's wrapper: 0 for a session of its own.

    SEANCE_WRAPPED is `agent:pid:hops`. It only counts while that process is an ancestor: a tmux server that
    an agent started hands the variable to panes which have nothing to do with it.
    """
    key, _, rest = environ.get("SEANCE_WRAPPED", "").partition(":")
    pid, _, hops = rest.partition(":")
    if key == agent.key and pid.isdecimal() and hops.isdecimal() and child.comes_from(int(pid)):
        return int(hops)
    return 0


def _find(agent: Agent, name: str, path: str, me: str, hops: int) -> tuple[str, bool]:
    """Return the program to run for the command `name` ("" if there is none), and whether it is the agent.

    A wrapper of someone else's may lead back here: it is passed over after a few hops. `cb` is only the
    agent where it is the same program, other tools have that name too; where there is none, it is the agent.
    """
    if hops >= HOPS_AT_MOST:
        return "", False
    last = hops >= HOPS_BEFORE_LAST
    program = child.find_program(agent.binaries[0], path, me, last=last)
    other = child.find_program(name, path, me, last=last) if name != agent.binaries[0] else ""
    if other:
        return other, child.same_file(program, other)
    return program, True


def _is_session(agent: Agent, arguments: list[str], environ: Mapping[str, str]) -> bool:
    """Return whether this invocation is one to report: a person's, at a terminal, not switched off."""
    if environ.get(agent_variable(agent, "HOOKS_DISABLED")) == "1":
        return False
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    options = [argument for argument in before if argument.startswith("-")]
    words = [argument for argument in before if not argument.startswith("-")]
    if set(agent.not_sessions).intersection(options + words[:1]):
        return False
    return os.isatty(0) and os.isatty(1)


def _facts(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the params of agent.hook that hold for the whole session; what is not known is left out."""
    facts: dict[str, Any] = {
        "pid": os.getpid(),
        "env": {name: _text(environ[name]) for name in names.PLACE_VARIABLES if environ.get(name)},
        "tty": _ask(lambda: os.ttyname(0)),
        "tty_session": os.getsid(0),  # 0 where its leader is in another pid namespace
        "payload": {"cwd": _ask(os.getcwd)},
    }
    for name, variable in (("surface_id", "SEANCE_SURFACE_ID"), ("workspace_id", "SEANCE_WORKSPACE_ID")):
        value = environ.get(variable, "")
        if value.isascii() and value.isdecimal() and len(value) <= ID_DIGITS:
            facts[name] = int(value)
    return {name: value for name, value in facts.items() if value or name.endswith("_id")}


def _ask(question: Callable[[], str]) -> str:
    """Return the system's answer, "" where it has none: a removed directory, a terminal without a name."""
    try:
        return _text(question())
    except OSError:
        return ""


def _text(value: str) -> str:
    """Return what the system said as text that JSON can carry: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(value).decode("utf-8", "replace")


def _monitor(agent: Agent, facts: dict[str, Any], pidfd: int) -> None:
    """Watch the session until the agent ends; in the process that was left behind for it."""
    # Only here: it imports all that the agent's start must not pay for.
    from seance_tools.codebuff import monitor

    monitor.main(agent, facts, pidfd, agent_variable(agent, "PID"))
