"""The subscription to the broker: a copy of its tables that stays up to date, and comes back by itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from seance_tools import client
from seance_tools.sidebar.arrival import Arrival
from seance_tools.sidebar.jobs import Jobs
from seance_tools.sidebar.ring import Ring
from seance_tools.state.tables import KINDS, Tables
from seance_tools.view import Trouble
from seance_tools.wire import WireError

FIRST_PAUSE, SHORT_PAUSE, LONGEST_PAUSE = 0.1, 1.0, 30.0  # seconds between attempts to reconnect:
FRESH_ATTEMPTS = 12  # for so many, about 10 seconds, the short one at most
HEARTBEAT_SECONDS, STALE_SECONDS = 60, 90.0  # a broker that said nothing for so long is hung
# What rows of another version's broker make of code that expects this one's.
MISFITS = (KeyError, TypeError, AttributeError, ValueError)


class Link:
    """One subscription. `tables` is the copy, `trouble` why it may be stale (None while connected).

    The broker is started where none runs, but only at first: one that was stopped later stays stopped.
    clock: a monotonic one. due: when `attempt` has something to do, None while it has not. changed: set when
    the tables or the trouble are others than before, news when a state is; whoever has seen them clears them.
    arrival: what tells that the socket came back, once the broker has been gone for a while; None where
    nothing does.
    """

    def __init__(self, path: str, jobs: Jobs, clock: Callable[[], float]) -> None:
        self.tables = Tables()
        self.trouble: Trouble | None = Trouble("connecting")
        self.connection: client.Connection | None = None
        self.due: float | None = None
        self.changed = True
        self.news = False
        self.arrival: Arrival | None = None
        self.ring = Ring(os.environ)
        self._path = path
        self._jobs = jobs
        self._clock = clock
        self._failures = 0
        self._seen: dict[str, Any] = {}  # boot_id and after_seq, once a snapshot has come
        self._jobs.run(lambda: self._open(autostart=True), self._opened)

    def attempt(self) -> None:
        """Try again to connect if the time has come; or say that a connected broker is silent."""
        if self.due is None or self._clock() < self.due:
            return
        self.due = None
        if self.connection:
            self._tell(Trouble("no answer", "The broker does not answer."))
        else:
            self._jobs.run(lambda: self._open(autostart=False), self._opened)

    def arrived(self) -> None:
        """Try again at once if the socket came back."""
        if self.arrival and self.arrival.arrived() and self.due is not None:
            self.due = self._clock()
            self._failures = 0

    def receive(self) -> None:
        """Take the changes that have come."""
        assert self.connection
        try:
            events = self.connection.receive()
            for event in events:
                if "seq" in event and event["event"] != "heartbeat":
                    self.news = self.news or _is_news(self.tables, event)
                    self.ring.hear(self.tables, event)
                    self.tables.apply_event(event)
                    self._seen["after_seq"] = event["seq"]
                    self.changed = True
        except OSError:
            self._lose(Trouble("reconnecting", "The broker has gone."))
        except MISFITS as error:
            self._misfit(error)
        else:
            if events:
                self._lives()

    def close(self) -> None:
        """Close the connection."""
        if self.connection:
            self.connection.close()
            self.connection = None
        self._watch_no_more()

    def _open(self, *, autostart: bool) -> tuple[client.Connection, dict[str, Any]]:
        connection = client.open_connection(self._path, autostart=autostart)
        try:
            return connection, connection.subscribe({**self._seen, "heartbeat": HEARTBEAT_SECONDS})
        except BaseException:
            connection.close()
            raise

    def _opened(
        self, result: tuple[client.Connection, dict[str, Any]] | None, failure: Exception | None
    ) -> None:
        if result is None:
            self._lose(self._explain(failure))
            return
        self.connection, answer = result
        try:
            if answer["snapshot"] is not None:
                self.tables = Tables.from_snapshot(answer["snapshot"])
                self.changed = True
            self._seen = {"boot_id": answer["boot_id"], "after_seq": answer["seq"]}
        except MISFITS as error:
            self._misfit(error)
            return
        self._failures = 0
        self._watch_no_more()
        self._lives()
        self.receive()  # changes may have come along with the answer

    def _lives(self) -> None:
        """Note that the broker has just said something."""
        self._tell(None)
        self.due = self._clock() + STALE_SECONDS

    def _tell(self, trouble: Trouble | None) -> None:
        self.changed = self.changed or trouble != self.trouble
        self.trouble = trouble

    def _lose(self, trouble: Trouble) -> None:
        if self.connection:
            self.connection.close()
            self.connection = None
        self._tell(trouble)
        self._failures += 1
        self.due = self._clock() + pause(self._failures)
        if self._failures == FRESH_ATTEMPTS:
            self._jobs.run(lambda: Arrival(self._path), self._watched)

    def _watched(self, arrival: Arrival | None, _failure: Exception | None) -> None:
        """Look once more, as the socket may have come just before; where it cannot be watched, time tells."""
        if arrival and (self.connection or self.arrival):
            arrival.close()
        elif arrival:
            self.arrival = arrival
            if self.due is not None:
                self.due = self._clock()

    def _watch_no_more(self) -> None:
        if self.arrival:
            self.arrival.close()
            self.arrival = None

    def _explain(self, failure: Exception | None) -> Trouble:
        if isinstance(failure, TimeoutError):
            return Trouble("no answer", "The broker does not answer in time.")
        if isinstance(failure, WireError):
            self._seen = {}
            return Trouble("refused", f"The broker refuses: {failure.message}")
        return Trouble("reconnecting" if self._seen else "no broker", str(failure))

    def _misfit(self, error: Exception) -> None:
        self._seen = {}  # a fresh snapshot next time, not the same change again
        self._lose(
            Trouble("other version", f"The broker is of another version: restart it or this ({error!r}).")
        )


def _is_news(tables: Tables, event: dict[str, Any]) -> bool:
    """Return whether an event, not yet applied, brings another state or a notification."""
    kind, _, verb = str(event["event"]).partition(".")
    if kind not in ("agent", "status"):
        return kind == "notification" and verb == "set"
    row = event["data"]
    old = tables.get(kind, *(row[name] for name in KINDS[kind])) or {}
    return bool(old.get("state") != row.get("state"))


def pause(failures: int) -> float:
    """Return how many seconds to wait before the next attempt, after so many that failed (at least one)."""
    if failures <= FRESH_ATTEMPTS:
        return min(FIRST_PAUSE * 2.0 ** (failures - 1), SHORT_PAUSE)
    return min(SHORT_PAUSE * 2.0 ** min(failures - FRESH_ATTEMPTS, 10), LONGEST_PAUSE)
