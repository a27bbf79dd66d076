"""Which sub-agents of a Codebuff run are at work."""

from __future__ import annotations

from dataclasses import dataclass

from seance_tools.names import LIMITS
from seance_tools.text import clean

_MOST = 1024  # a log that begins more without ending any is not believed
_ID_CHARACTERS = LIMITS["name_characters"] - 8  # room for a number


@dataclass(slots=True)
class _Subagent:
    """One at work; "" where a name is not known yet. step: the name of its open step."""

    id: str
    type: str
    agent: str = ""
    run: str = ""
    step: str = ""


class Subagents:
    """The sub-agents at work, oldest first.

    The log names one in three ways: by agent id (a new block, the end of a step), by run id (the start of a
    step) and by the step itself. Where two names cannot be joined they are paired by type, and the pair is
    mended when a later line shows better; the number of sub-agents is right all the same.
    """

    def __init__(self) -> None:
        self._open: list[_Subagent] = []

    @property
    def ids(self) -> frozenset[str]:
        """The ids of those at work."""
        return frozenset(one.id for one in self._open)

    @property
    def newest(self) -> str:
        """The type of the one begun last, "" without any."""
        return self._open[-1].type if self._open else ""

    def clear(self) -> None:
        """Forget all: none is at work."""
        self._open.clear()

    def begin(self, kind: str, agent: str) -> None:
        """Take a line that says that a sub-agent of type `kind` begins."""
        if self._named("agent", agent):
            return
        nameless = self._of(kind, "agent")
        if nameless:
            nameless.agent = agent
        else:
            self._add(_Subagent(agent or kind, kind, agent))

    def begin_step(self, kind: str, agent: str, run: str, step: str) -> None:
        """Take the start of a step; it may be the first that is heard of this sub-agent."""
        missing = ("run", "step", "agent") if agent else ("run", "step")
        found = self._named("run", run) or self._named("agent", agent) or self._of(kind, *missing)
        if found is None:
            found = self._add(_Subagent(agent or run or step, kind))
        found.agent = found.agent or agent
        found.run = run
        found.step = step

    def end_step(self, kind: str, agent: str, step: str, *, last: bool) -> None:
        """Take the end of a step; the last one of a sub-agent ends it."""
        by_agent, by_step = self._named("agent", agent), self._named("step", step)
        if by_agent and by_step and by_agent is not by_step:  # they were paired by type, and wrongly
            by_agent.run, by_step.run = by_step.run, by_agent.run
            by_agent.step, by_step.step = by_step.step, by_agent.step
        found = by_agent or by_step or (None if agent else self._of(kind))
        if found is None:
            return
        found.agent = found.agent or agent
        found.step = ""
        if last:
            self._open.remove(found)

    def end(self, kind: str, agent: str, run: str) -> None:
        """Take a line that says that a sub-agent has ended."""
        found = self._named("agent", agent) or self._named("run", run)
        if found is None and not agent and not run:
            found = self._of(kind)
        if found:
            self._open.remove(found)

    def has(self, agent: str, run: str) -> bool:
        """Return whether the sub-agent of this agent id or run id is at work."""
        return bool(self._named("agent", agent) or self._named("run", run))

    def _add(self, one: _Subagent) -> _Subagent:
        taken, bare, number = self.ids, clean(one.id, _ID_CHARACTERS), 1
        one.id = bare
        while one.id in taken:
            number += 1
            one.id = f"{bare}#{number}"
        if len(self._open) < _MOST:
            self._open.append(one)
        return one

    def _named(self, member: str, value: str) -> _Subagent | None:
        """Return the one with this name, None where the name is not given."""
        return next((one for one in self._open if value and getattr(one, member) == value), None)

    def _of(self, kind: str, *missing: str) -> _Subagent | None:
        """Return the oldest of this type that has none of the `missing` names yet."""
        return next(
            (one for one in self._open if one.type == kind and not any(getattr(one, m) for m in missing)),
            None,
        )
