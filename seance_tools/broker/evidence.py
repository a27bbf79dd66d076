"""What is seen of an agent that says nothing: its log, its process, its screen.

Some agents end a turn without an event when the user presses Esc. While a session is at work or waits for
the user, its log is followed, and after some silence, at doubling intervals, its process and its screen are
looked at. What that means, `lifecycle.review` says. With nothing at work nothing is followed, no timer runs.
"""

from __future__ import annotations

import asyncio
import re
import time

from seance_tools import terminals
from seance_tools.agents import agent_named
from seance_tools.broker.core import Core
from seance_tools.lifecycle import Transcript, complete
from seance_tools.liveness import stat_of
from seance_tools.state import sessions
from seance_tools.state.places import place_of
from seance_tools.state.tables import Change, Row
from seance_tools.tails import Tails

FIRST_SECONDS = 15.0  # of silence before the first look; each one after comes twice as late
LAST_SECONDS = 1920.0  # between two looks at most
STOPPED_SECONDS = 60.0  # the same while its process is stopped: that it goes on again is told by nothing else
STILL_SECONDS = 3.2  # between two looks at a screen, more than `lifecycle.review` wants it to be still
TOGETHER_SECONDS = 1.0  # looks that are due within it are done at once
PAUSE_SECONDS = 0.1  # in which what is appended to logs is read once


class _Session:
    """A session that is at work. interval: between its last look and the next, which is due at `due`."""

    def __init__(self, heard_at: float) -> None:
        self.heard_at = heard_at
        self.interval = FIRST_SECONDS
        self.due = heard_at + FIRST_SECONDS
        self.path = ""
        self.transcript = Transcript({})


class Evidence:
    """The companion. wakeups: how often it was woken, by a log or a timer."""

    def __init__(self, core: Core) -> None:
        self.wakeups = 0
        self._core = core
        self._tails = Tails(core.notes.append)
        self._watching = -1  # the descriptor that the loop waits for
        self._sessions: dict[str, _Session] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._pause: asyncio.TimerHandle | None = None
        self._look: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Follow what is at work, and whatever begins to be."""
        self._core.listeners.add(self._heard)
        for row in list(self._core.tables.all("agent")):
            self._follow(row)

    def next_look(self) -> float | None:
        """Return when the timer goes off, in seconds since 1970; None while there is none."""
        return self._timer_at if self._timer else None

    async def stop(self) -> None:
        """Follow nothing any more."""
        self._core.listeners.discard(self._heard)
        for handle in (self._timer, self._pause):
            if handle:
                handle.cancel()
        self._sessions.clear()
        if self._look and not self._look.done():
            self._look.cancel()
            await asyncio.wait([self._look])
        self._wait_for(-1)
        self._tails.close()

    def _heard(self, changes: list[Change]) -> None:
        for change in changes:
            if change.kind == "agent":
                if change.row is None:
                    self._drop(str(change.key[0]))
                else:
                    self._follow(change.row)

    def _follow(self, row: Row) -> None:
        row = complete(row)
        key = row["session"]
        if not self._is_to_be_seen(row):
            self._drop(key)
            return
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = _Session(row["heard_at"])
        elif session.heard_at != row["heard_at"]:
            session.heard_at, session.interval = row["heard_at"], FIRST_SECONDS
            session.due = row["heard_at"] + FIRST_SECONDS
        if session.path != row["transcript"]:
            self._let_go(key)
            session.path = row["transcript"]
            session.transcript = Transcript(agent_named(row["agent"]).transcript)
        if session.path:
            self._add(session.path)
        self._arm(session.due)

    def _is_to_be_seen(self, row: Row) -> bool:
        """Return whether a session is at work, speaks for itself, and there is something to look at."""
        if not row["hooked"] or not (row["stopped"] or row["state"] in ("running", "needs_input")):
            return False
        if row.get("host"):
            return False  # on another machine
        return bool(row["pid"] or row["transcript"] or place_of(self._core.tables, row["surface_id"]))

    def _drop(self, key: str) -> None:
        if key in self._sessions:
            self._let_go(key)
            del self._sessions[key]
            if not self._sessions and self._timer:
                self._timer.cancel()
                self._timer = None

    def _let_go(self, key: str) -> None:
        """Follow a session's log no longer, unless another one has the same."""
        path = self._sessions[key].path
        if path and not any(other.path == path for name, other in self._sessions.items() if name != key):
            self._tails.remove(path)

    def _add(self, path: str) -> None:
        self._tails.add(path)
        if self._pause is None:
            self._wait_for(self._tails.fileno())

    def _wait_for(self, descriptor: int) -> None:
        if descriptor == self._watching:
            return
        loop = asyncio.get_running_loop()
        if self._watching >= 0:
            loop.remove_reader(self._watching)
        self._watching = descriptor
        if descriptor >= 0:
            loop.add_reader(descriptor, self._told)

    def _told(self) -> None:
        """Read what was appended, and then wait a little for more of it."""
        self.wakeups += 1
        for path in self._tails.changed():
            self._read(path)
        self._wait_for(-1)
        self._pause = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        self._pause = None
        if self._sessions:
            self._wait_for(self._tails.fileno())

    def _read(self, path: str) -> None:
        entries, more = self._tails.read(path)
        keys = [key for key, session in self._sessions.items() if session.path == path]
        for key in keys:
            for sign in self._sessions[key].transcript.read(entries):
                if len(keys) == 1 or "answered" in sign:  # a call's id tells whose it is
                    sessions.look(self._core.tables, key, time.time(), sign)
                elif "interrupted" in sign:
                    self._look_soon(key)
        self._core.commit()
        if more:
            asyncio.get_running_loop().call_soon(self._read, path)

    def _look_soon(self, key: str) -> None:
        """Have a session's screen looked at: several have the same log, which does not tell them apart."""
        session = self._sessions.get(key)
        if session:
            session.due = time.time()
            self._arm(session.due)

    def _arm(self, due: float) -> None:
        """Have the timer go off by then; one that goes off too early finds nothing due."""
        if self._timer and self._timer_at <= due:
            return
        if self._timer:
            self._timer.cancel()
        self._timer_at = due
        self._timer = asyncio.get_running_loop().call_later(max(due - time.time(), 0.0), self._tick)

    def _tick(self) -> None:
        self.wakeups += 1
        self._timer = None
        if self._look and not self._look.done():
            return  # it goes on to the next by itself
        now = time.time()
        if any(session.due <= now for session in self._sessions.values()):
            soon = [key for key, session in self._sessions.items() if session.due <= now + TOGETHER_SECONDS]
            self._look = self._core.spawn(self._look_at(soon))
        else:
            self._next()  # what it was set for has been heard of meanwhile

    def _next(self) -> None:
        now = time.time()
        for session in self._sessions.values():
            session.due = min(session.due, now + session.interval)  # the clock may have been set back
        if self._sessions:
            self._arm(min(session.due for session in self._sessions.values()))

    async def _look_at(self, keys: list[str]) -> None:
        """Look at sessions that have been silent for some time; at screens twice, to see that they rest."""
        shown: dict[str, tuple[str, float]] = {}
        try:
            for key in keys:
                screen = await self._look_once(key)
                if screen is not None:
                    shown[key] = screen, time.time()
            if shown:
                await asyncio.sleep(STILL_SECONDS)
            for key, (before, since) in shown.items():
                row = self._core.tables.get("agent", key)
                if row and await self._prompt_of(row) == before:
                    seen = {"at": time.time(), "prompt_visible": True, "quiet_since": since}
                    sessions.look(self._core.tables, key, time.time(), seen)
            self._core.commit()
        finally:
            self._next()

    async def _look_once(self, key: str) -> str | None:
        """Look at a session's process, log and screen; returns what `_prompt_of` does."""
        row, session = self._core.tables.get("agent", key), self._sessions.get(key)
        if row is None or session is None:
            return None
        session.interval = min(session.interval * 2, LAST_SECONDS)
        session.due = time.time() + session.interval
        stopped = self._look_at_process(key, row)
        if stopped:
            session.due = time.time() + min(session.interval, STOPPED_SECONDS)
        if session.path:
            self._add(session.path)
            self._read(session.path)
        self._core.commit()
        return None if stopped else await self._prompt_of(row)

    def _look_at_process(self, key: str, row: Row) -> bool:
        """Take whether a session's process is stopped, and return it."""
        stopped = _is_stopped(row["pid"], row["start_time"]) if row["pid"] is not None else None
        if stopped is None:
            return False
        if stopped != complete(row)["stopped"]:
            seen = {"at": time.time(), "process": "stopped" if stopped else "runs"}
            sessions.look(self._core.tables, key, time.time(), seen)
        return stopped

    async def _prompt_of(self, row: Row) -> str | None:
        """Return what a session's screen shows if that is its prompt, else None."""
        agent, place = agent_named(row["agent"]), place_of(self._core.tables, row["surface_id"])
        if not agent.prompt or not place:
            return None
        screen = await terminals.read_screen(place)
        if not screen or any(words in screen for words in agent.busy):
            return None
        return screen if re.search(agent.prompt, screen, re.M) else None


def _is_stopped(pid: int, started: int | None) -> bool | None:
    """Return whether a process is stopped, as by Ctrl-Z; None if it is gone."""
    found = stat_of(pid)
    return found.state == "T" if found and found.start_time == started else None
