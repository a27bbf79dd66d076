"""codebuff-wrapper, freebuff-wrapper, pool-wrapper: become the agent, and leave a monitor behind.

The wrapper execs the agent in its own process, so that exit status, signals and job control are the agent's
own; whatever else fails, the agent runs. Up to that only `os`, `sys`, `names`, `agents` and `child` are
imported, because the agent's start pays for it. All of a wrapper's arguments are the agent's, but for two
command lines that no agent has: USAGE.
"""

from __future__ import annotations

import os
import sys

from seance_tools import child, names
from seance_tools.agents import AGENTS, BY_KEY, Agent, agent_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

USAGE = "--agent NAME -- COMMAND [ARGUMENT...], or --attach PID|PLACE|all [--agent NAME]"
SUFFIX = "-wrapper"
HOPS_BEFORE_LAST = 4  # passes through this wrapper after which PATH's last program is taken, not its first
HOPS_AT_MOST = 8  # and after which there is none
ID_DIGITS = 15  # ids of this length are exact in every JSON parser


def main() -> int:
    """Become the agent that the program's name stands for; returns an exit status only if that cannot be."""
    program = os.path.basename(sys.argv[0])
    agent = next((row for row in AGENTS if program == program_of(row)), BY_KEY["codebuff"])
    own = [] if "SEANCE_COMMAND" in os.environ or not program.endswith(SUFFIX) else sys.argv[1:]
    if own[:1] == ["--attach"]:
        from seance_tools.codebuff import attach

        return attach.main(own[1:])
    if own[:1] == ["--agent"] and own[2:3] == ["--"] and own[3:]:
        row = agent_named(own[1])
        known = os.path.basename(own[3]) in row.binaries
        return wrap(row, [sys.argv[0], *own[4:]], "" if known and "/" not in own[3] else own[3], own[3])
    return wrap(agent, sys.argv)


def program_of(agent: Agent) -> str:
    """Return the name of the agent's wrapper; an agent without one has codebuff-wrapper."""
    return (agent.binaries[0] if agent.log_root else "codebuff") + SUFFIX


def wrap(agent: Agent, argv: list[str], command: str = "", typed: str = "") -> int:
    """Become `agent` with the arguments argv[1:]; argv[0] is the wrapper's own file.

    command: a program that is not on the agent's row, by its name on PATH or its path. typed: which of the
    row's commands was asked for, where the environment does not say.
    """
    child.plain_interrupts()
    environ = child.original_environment()
    typed = environ.pop("SEANCE_COMMAND", typed)
    name = command or (typed if typed in agent.binaries else agent.binaries[0])
    hops = _hops(agent, environ)
    path = environ.get("PATH", os.defpath)
    if "/" in command:
        program, is_agent = command, True
    else:
        program, is_agent = _find(agent, name, path, argv[0], hops, alone=bool(command))
    if not program:
        names.complain(program_of(agent), f"{name}: not found")
        return child.EXIT_NOT_FOUND
    environ["SEANCE_WRAPPED"] = f"{agent.key}:{os.getpid()}:{hops + 1}"
    if is_agent and not hops and _is_session(agent, argv[1:], environ):
        environ[pid_variable(agent)] = str(os.getpid())
        try:
            facts = _facts(environ)
            child.leave_monitor(lambda pidfd: _monitor(agent, facts, pidfd))
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent must run
            reason = error.strerror if isinstance(error, OSError) else error
            names.complain(program_of(agent), f"this session will not be shown: {reason}")
    status, reason = child.become(program, [name, *argv[1:]], environ)
    names.complain(program_of(agent), f"cannot run {program}: {reason}")
    return status


def pid_variable(agent: Agent) -> str:
    """Return the environment variable in which an agent's children find the id of its process."""
    return _variable(agent, "PID")


def _variable(agent: Agent, word: str) -> str:
    """Return the name of an environment variable of that agent: SEANCE_CODEBUFF_PID."""
    key = "".join(character if character.isalnum() else "_" for character in agent.key)
    return f"SEANCE_{key.upper()}_{word}"


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


def _find(agent: Agent, name: str, path: str, me: str, hops: int, *, alone: bool) -> tuple[str, bool]:
    """Return the program to run for the command `name` ("" if there is none), and whether it is the agent.

    A wrapper of someone else's may lead back here: it is passed over after a few hops. `cb` is only the
    agent where it is the same program, other tools have that name too; where there is none, it is the agent.
    alone: the command is the agent, whatever its row says.
    """
    if hops >= HOPS_AT_MOST:
        return "", False
    last = hops >= HOPS_BEFORE_LAST
    if alone:
        return child.find_program(name, path, me, last=last), True
    program = child.find_program(agent.binaries[0], path, me, last=last)
    other = child.find_program(name, path, me, last=last) if name != agent.binaries[0] else ""
    if other:
        return other, child.same_file(program, other)
    return program, True


def _is_session(agent: Agent, arguments: list[str], environ: Mapping[str, str]) -> bool:
    """Return whether this invocation is one to report: a person's, at a terminal, not switched off."""
    if environ.get(_variable(agent, "HOOKS_DISABLED")) == "1":
        return False
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    options = [argument for argument in before if argument.startswith("-")]
    words = [argument for argument in before if not argument.startswith("-")]
    if set(agent.not_sessions).intersection(options + words[:1]):
        return False
    return os.isatty(0) and os.isatty(1)


def _facts(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the params of agent.hook that hold for the whole session; what is not known is left out."""
    return facts_of(os.getpid(), environ, _ask(lambda: os.ttyname(0)), os.getsid(0), _ask(os.getcwd))


def facts_of(pid: int, environ: Mapping[str, str], tty: str, tty_session: int, cwd: str) -> dict[str, Any]:
    """Return the params of agent.hook of a process; "" and 0 are what is not known, and left out."""
    facts: dict[str, Any] = {
        "pid": pid,
        "env": {name: text_of(value) for name, value in names.place_of(environ).items()},
        "tty": tty,
        "tty_session": tty_session,  # 0 where its leader is in another pid namespace
        "payload": {"cwd": cwd},
    }
    for name, variable in (("surface_id", "SEANCE_SURFACE_ID"), ("workspace_id", "SEANCE_WORKSPACE_ID")):
        value = environ.get(variable, "")
        if value.isascii() and value.isdecimal() and len(value) <= ID_DIGITS:
            facts[name] = int(value)
    return {name: value for name, value in facts.items() if value or name.endswith("_id")}


def _ask(question: Callable[[], str]) -> str:
    """Return the system's answer, "" where it has none: a removed directory, a terminal without a name."""
    try:
        return text_of(question())
    except OSError:
        return ""


def text_of(value: str) -> str:
    """Return what the system said as text that JSON can carry: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(value).decode("utf-8", "replace")


def _monitor(agent: Agent, facts: dict[str, Any], pidfd: int) -> None:
    """Watch the session until the agent ends; in the process that was left behind for it."""
    _drop_pythonpath()
    # Only here: it imports all that the agent's start must not pay for.
    from seance_tools.codebuff import monitor

    monitor.main(agent, facts, pidfd, program_of(agent))


def _drop_pythonpath() -> None:
    """Import nothing more from PYTHONPATH, whose modules may be meant for another Python.

    Where this package itself was found stays.
    """
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    dropped = {os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(":") if entry}
    sys.path[:] = [entry for entry in sys.path if entry == own or entry not in dropped]
