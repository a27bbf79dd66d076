"""The methods that only the broker can do: they need its connections, its clock, its database or a terminal.

A method is a function of (core, validated params, slot). It returns its result, or None where it fills the
slot later; answers stay in order all the same.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable

from seance_tools import __version__, names
from seance_tools.broker.answer import Answer
from seance_tools.broker.core import Core
from seance_tools.broker.panes import METHODS_OF_PANES
from seance_tools.methods import METHODS
from seance_tools.names import LIMITS
from seance_tools.state import sessions
from seance_tools.state.tables import Change, Row
from seance_tools.wire import WireError


def system_capabilities(core: Core, params: Row, answer: Answer) -> Row | None:
    """List the methods."""
    return {
        "methods": sorted(name for row in METHODS for name in (row.name, *row.aliases)),
        "protocol": names.PROTOCOL,
        "version": __version__,
    }


def system_health(core: Core, params: Row, answer: Answer) -> Row | None:
    """Tell how the broker is."""
    store = core.store
    warnings = [*core.warnings, *core.notes]
    if store.degraded:
        warnings.append(f"state cannot be saved: {store.degraded}")
    if store.set_aside:
        warnings.append(f"the database could not be read; it was put aside as {store.set_aside}")
    if core.spool.get("problem"):
        warnings.append(core.spool["problem"])
    if core.spool.get("refused"):
        number, reason = core.spool["refused"], core.spool["last_refusal"]
        what = "1 report was refused" if number == 1 else f"{number} reports were refused, the last one"
        warnings.append(f"{what}: {reason}")
    return {
        "status": "degraded" if store.degraded else "ok",
        "pid": os.getpid(),
        "version": __version__,
        "protocol": names.PROTOCOL,
        "uptime_seconds": round(time.time() - core.started, 3),
        "boot_id": core.feed.boot_id,
        "seq": core.feed.seq,
        "counters": {**core.counters, "waiting": len(core.waiters)},
        "rows": {kind: len(rows) for kind, rows in core.tables.rows.items()},
        "limits": dict(LIMITS),
        "store": {
            "path": store.path,
            "degraded": store.degraded or None,
            "set_aside": store.set_aside or None,
        },
        "spool": dict(core.spool),
        "warnings": warnings,
    }


def history_query(core: Core, params: Row, answer: Answer) -> Row | None:
    """List how the agents' states changed."""
    wanted = {name: params[name] for name in ("since", "until", "agent", "session", "surface_id")}
    try:
        return {"transitions": core.store.history(wanted, params["limit"])}
    except (OSError, sqlite3.Error) as error:
        raise WireError("not_supported", str(error)) from None


class Waiter:
    """One agent.wait: which sessions, which states, and how to answer."""

    def __init__(self, core: Core, params: Row, answer: Answer) -> None:
        self.core = core
        self.states = frozenset(params["states"])
        self.sessions = {row["session"] for row in sessions.need_chosen(core.tables, params)}
        self.answer = answer
        self.timer: asyncio.TimerHandle | None = None

    def result(self) -> Row | None:
        """Return the outcome as far as it can be told now: a session in a wanted state, or all ended."""
        alive = False
        for session in self.sessions:
            row = self.core.tables.get("agent", session)
            if row is not None:
                alive = True
                if row["state"] in self.states:
                    return {"outcome": "reached", "session": session, "state": row["state"]}
        return None if alive else {"outcome": "ended", "session": min(self.sessions), "state": None}

    def changed(self, changes: list[Change]) -> None:
        """Answer if a change of a session decides it."""
        if any(change.kind == "agent" and change.key[0] in self.sessions for change in changes):
            result = self.result()
            if result:
                self.finish(result)

    def finish(self, result: Row) -> None:
        """Answer, and forget."""
        self.forget()
        self.answer(result)

    def forget(self) -> None:
        """Listen no longer."""
        self.core.listeners.discard(self.changed)
        self.core.waiters.discard(self)
        if self.timer:
            self.timer.cancel()


def agent_wait(core: Core, params: Row, answer: Answer) -> Row | None:
    """Answer once a session is in one of the states, or has ended, or the time is over."""
    waiter = Waiter(core, params, answer)
    result = waiter.result()
    if result:
        return result
    core.listeners.add(waiter.changed)
    core.waiters.add(waiter)
    answer.on_abandon = waiter.forget
    if params["timeout"] is not None:
        loop = asyncio.get_running_loop()
        late = {"outcome": "timeout", "session": min(waiter.sessions), "state": None}
        waiter.timer = loop.call_later(params["timeout"], waiter.finish, late)
    return None


METHODS_OF_THE_BROKER: dict[str, Callable[[Core, Row, Answer], Row | None]] = {
    "system.capabilities": system_capabilities,
    "system.health": system_health,
    "history.query": history_query,
    "agent.wait": agent_wait,
    **METHODS_OF_PANES,
}
