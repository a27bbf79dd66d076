"""The subscription to the broker: a copy of its tables that stays up to date, and comes back by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seance_tools import client
from seance_tools.sidebar.jobs import Jobs
from seance_tools.state.tables import Tables
from seance_tools.view import Trouble
from seance_tools.wire import WireError

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0  # seconds between attempts to reconnect
# What rows of another version's broker make of code that expects this one's.
MISFITS = (KeyError, TypeError, AttributeError, ValueError)


class Link:
    """One subscription. `tables` is the copy, `trouble` why it may be stale (None while connected).

    The broker is started where none runs, but only at first: one that was stopped later stays stopped.
    clock: a monotonic one. due: the time of the next attempt, None while one runs or the link stands.
    """

    def __init__(self, path: str, jobs: Jobs, clock: Callable[[], float]) -> None:
        self.tables = Tables()
        self.trouble: Trouble | None = Trouble("connecting")
        self.connection: client.Connection | None = None
        self.due: float | None = None
        self._path = path
        self._jobs = jobs
        self._clock = clock
        self._failures = 0
        self._seen: dict[str, Any] = {}  # boot_id and after_seq, once a snapshot has come
        self._jobs.run(lambda: self._open(autostart=True), self._opened)

    def attempt(self) -> None:
        """Try again to connect if the time has come."""
        if self.due is not None and self._clock() >= self.due:
            self.due = None
            self._jobs.run(lambda: self._open(autostart=False), self._opened)

    def receive(self) -> None:
        """Take the changes that have come."""
        assert self.connection
        try:
            for event in self.connection.receive():
                if "seq" in event:
                    self.tables.apply_event(event)
                    self._seen["after_seq"] = event["seq"]
        except OSError:
            self._lose(Trouble("reconnecting", "The broker has gone."))
        except MISFITS as error:
            self._misfit(error)

    def close(self) -> None:
        """Close the connection."""
        if self.connection:
            self.connection.close()
            self.connection = None

    def _open(self, *, autostart: bool) -> tuple[client.Connection, dict[str, Any]]:
        connection = client.open_connection(self._path, autostart=autostart)
        try:
            return connection, connection.subscribe(self._seen)
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
            self._seen = {"boot_id": answer["boot_id"], "after_seq": answer["seq"]}
        except MISFITS as error:
            self._misfit(error)
            return
        self.trouble, self._failures = None, 0
        self.receive()  # changes may have come along with the answer

    def _lose(self, trouble: Trouble) -> None:
        self.close()
        self.trouble = trouble
        self.due = self._clock() + min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures = min(self._failures + 1, 10)

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
