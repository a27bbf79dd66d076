"""Tells the broker what one session does at present, whatever the broker is doing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from seance_tools import client, names
from seance_tools.wire import WireError

ANSWER_SECONDS = 1.0  # patience with a broker that hangs
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds between attempts to reach one; doubled each time
KINDS = ("state", "doing", "subagents")  # of reports, in the order in which they are told
FAULTS = (client.NoBroker, OSError, ValueError)  # of a broker that is absent, hangs or talks nonsense


class Reporter:
    """Reports over one connection, made anew after a loss; the present state is then told again.

    program: who complains. path: the broker's socket. base: the params that every report has. autostart:
    whether a broker may be started. Nothing here raises for a broker that is absent, hangs, refuses or goes
    away: it is tried again, ever more rarely.
    """

    def __init__(self, program: str, path: str, base: Mapping[str, Any], *, autostart: bool = True) -> None:
        self._program = program
        self._path = path
        self._base = base
        self._connection: client.Connection | None = None
        self._present: dict[str, dict[str, Any]] = {}  # kind: the last report of it
        self._untold: list[str] = []  # kinds that the broker does not know yet
        self._notes: list[dict[str, Any]] = []
        self._retry_at = 0.0
        self._pause = FIRST_PAUSE
        self._allowed = autostart
        self._autostart = autostart  # whether the next attempt starts one

    def state(self, event: str, at: float, *, source: str = "", **payload: Any) -> None:
        """Take in a new state, for `deliver` to tell. at: seconds since 1970. What it did is over by that."""
        self._present.pop("doing", None)
        self._take("state", event, at, source, payload)

    def doing(self, text: str, at: float, *, source: str = "") -> None:
        """Take in what the session does, "" where that is not known any more."""
        self._take("doing", "pre-tool-use", at, source, {"status": text} if text else {})

    def subagents(self, ids: Iterable[str], at: float, *, source: str = "") -> None:
        """Take in which sub-agents are at work."""
        self._take("subagents", "subagent-update", at, source, {"subagents": list(ids)})

    def _take(self, kind: str, event: str, at: float, source: str, payload: dict[str, Any]) -> None:
        params = {**self._base, "event": event, "at": at}
        if source:
            params["source"] = source
        if payload:
            params["payload"] = {**params.get("payload", {}), **payload}
        self._present[kind] = params
        self._untold = [known for known in KINDS if known in (kind, *self._untold) and known in self._present]

    def note(self, message: str) -> None:
        """Take in a line for the workspace's log, for `deliver` to tell."""
        payload = {"message": message[: names.LIMITS["text_characters"]], "level": "warning"}
        self._notes.append({**self._base, "event": "log", "payload": payload})

    def fileno(self) -> int:
        """Return the connection's descriptor, -1 where there is none."""
        return self._connection.fileno() if self._connection else -1

    def timeout(self, now: float) -> float | None:
        """Return the seconds until `deliver` has something to do; None if nothing is left to tell."""
        return None if not self._untold and not self._notes else max(self._retry_at - now, 0.0)

    def deliver(self, now: float) -> None:
        """Tell what has not been told, if it is time to try. now: seconds of a steady clock."""
        if self.timeout(now) != 0.0:
            return
        try:
            while self._untold:
                self._ask(self._present[self._untold[0]])
                del self._untold[0]
            while self._notes:
                self._ask(self._notes[0])
                del self._notes[0]
        except FAULTS as error:
            self._lose(now, error)
        else:
            self._pause = FIRST_PAUSE

    def hear(self, now: float) -> None:
        """Read the connection that has become readable: notices that the broker is gone."""
        if self._connection:
            try:
                self._connection.receive()
            except FAULTS as error:
                self._lose(now, error)

    def end(self, at: float) -> None:
        """Tell a broker that is there that the session has ended. Takes ANSWER_SECONDS at most."""
        self._autostart = False
        try:
            self._ask({**self._base, "event": "session-end", "at": at})
        except FAULTS as error:
            names.complain(self._program, error)
        if self._connection:
            self._connection.close()

    def _ask(self, params: dict[str, Any]) -> None:
        if self._connection is None:
            self._connection = client.open_connection(self._path, ANSWER_SECONDS, autostart=self._autostart)
        try:
            self._connection.request("agent.hook", params)
        except WireError as error:
            names.complain(self._program, error)  # it would be refused again

    def _lose(self, now: float, error: Exception) -> None:
        names.complain(self._program, error)
        if self._connection:
            self._connection.close()
            self._connection = None
        # A socket without a broker is what a killed one leaves; one that was stopped shall stay so.
        self._autostart = self._allowed and os.path.exists(self._path)
        self._untold = [kind for kind in KINDS if kind in self._present]
        self._retry_at = now + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
