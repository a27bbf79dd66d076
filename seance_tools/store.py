"""The broker's memory on disk: one SQLite file with every row, and the history of the agents' states.

A broken, full or read-only disk never stops the broker: `Store` turns degraded, says why, and writes
everything anew once it can. A file that SQLite cannot read is put aside and a new one begun beside it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress

import ujson

from seance_tools.state.tables import KINDS, Change, Key, Row, Tables

SCHEMA = 1
Values = tuple[str | int | float | None, ...]  # of one statement
_CREATE = """
CREATE TABLE IF NOT EXISTS row (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, row TEXT NOT NULL, UNIQUE (kind, key)
);
CREATE TABLE IF NOT EXISTS history (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL, surface_id INTEGER,
    workspace_id INTEGER, state TEXT, before TEXT, seconds REAL, text TEXT, source TEXT
);
CREATE INDEX IF NOT EXISTS history_at ON history (at);
"""
_SET = (
    "INSERT INTO row (kind, key, row) VALUES (?, ?, ?)"
    " ON CONFLICT (kind, key) DO UPDATE SET row = excluded.row"
)
_CLEAR = "DELETE FROM row WHERE kind = ? AND key = ?"
_HISTORY = (
    "INSERT INTO history (at, session, agent, surface_id, workspace_id, state, before, seconds, text, source)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_QUERY = """
SELECT at, session, agent, surface_id, workspace_id, state, before, seconds, text, source FROM history
WHERE (:since IS NULL OR at >= :since) AND (:until IS NULL OR at <= :until)
  AND (:agent IS NULL OR agent = :agent) AND (:session IS NULL OR session = :session)
  AND (:surface_id IS NULL OR surface_id = :surface_id)
ORDER BY id DESC LIMIT :limit
"""
_HISTORY_LINES = 100_000  # kept; the oldest go at start


def transition(change: Change, now: float) -> Values | None:
    """Return the history line of a change of an agent's row, or None where its state stays the same.

    A line holds when, who, where, the new state (None: the session ended), the state before and for how many
    seconds that had held.
    """
    if change.kind != "agent":
        return None
    row, old = change.row, change.old
    state = row["state"] if row else None
    before = old["state"] if old else None
    if state == before:
        return None
    shown = row or old or {}
    at = row["since"] if row else now
    return (
        at,
        shown["session"],
        shown["agent"],
        shown["surface_id"],
        shown["workspace_id"],
        state,
        before,
        max(at - old["since"], 0.0) if old else None,
        row["text"] if row else None,
        shown["source"],
    )


def statements(changes: Sequence[Change]) -> tuple[list[Values], list[Values]]:
    """Return the rows to delete and then those to set: each row once, however often it has changed.

    A row that is cleared and set again is a new one, so it is deleted first. What was set and cleared since
    the last transaction is not in the database and needs neither: most lines of a log under load.
    """
    cleared: set[tuple[str, Key]] = set()
    last: dict[tuple[str, Key], Row] = {}
    new: set[tuple[str, Key]] = set()  # of `last`: not in the database
    for kind, key, row, old in changes:
        name = (kind, key)
        if row is not None:
            last[name] = row
            if old is None and name not in cleared:
                new.add(name)
        else:
            last.pop(name, None)
            if name in new:
                new.remove(name)
            else:
                cleared.add(name)
    clears: list[Values] = [(kind, _name(key)) for kind, key in cleared]
    return clears, [(kind, _name(key), ujson.dumps(row)) for (kind, key), row in last.items()]


class Store:
    """The database at `path`. `degraded` says why nothing can be saved at the moment, or is ""."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.degraded = ""
        self.set_aside = ""  # where an unreadable file went
        self.unreadable = 0  # rows that were left out when it was loaded
        self._unwritten: list[Values] = []  # history of a time in which nothing could be saved
        self._database: sqlite3.Connection | None = None
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) or not os.path.exists(path):
                self._fail(error)
            else:
                self._begin_anew()
        except OSError as error:
            self._fail(error)

    def _open(self) -> None:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.close(descriptor)  # SQLite gives its other files the mode of this one
        database = sqlite3.connect(self.path, timeout=0.2, isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version > SCHEMA:
                raise sqlite3.DatabaseError(
                    f"made by a newer version (schema {version}, this one knows {SCHEMA})"
                )
            database.executescript(_CREATE)
            database.execute(f"PRAGMA user_version = {SCHEMA}")
            newest = database.execute("SELECT max(id) FROM history").fetchone()[0] or 0
            database.execute("DELETE FROM history WHERE id <= ?", (newest - _HISTORY_LINES,))
        except sqlite3.Error:
            database.close()
            raise
        self._database = database

    def _begin_anew(self) -> None:
        number = 1
        while os.path.exists(f"{self.path}.corrupt-{number}"):
            number += 1
        self.set_aside = f"{self.path}.corrupt-{number}"
        try:
            os.rename(self.path, self.set_aside)
            for suffix in ("-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.unlink(self.path + suffix)
            self._open()
        except (OSError, sqlite3.Error) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.degraded = str(error)
        if self._database is not None:
            self._database.close()
            self._database = None

    def load(self) -> Iterator[tuple[str, Row]]:
        """Yield (kind, row) of every row, in the order they were first written; a bad one stops no other."""
        if self._database is None:
            return
        try:
            for kind, row in self._database.execute("SELECT kind, row FROM row ORDER BY id"):
                if kind not in KINDS:
                    continue
                try:
                    value = ujson.loads(row)
                except ValueError:
                    value = None
                if isinstance(value, dict) and all(name in value for name in KINDS[kind]):
                    yield kind, value
                else:
                    self.unreadable += 1
        except sqlite3.DatabaseError:
            self._database.close()
            self._database = None
            self._begin_anew()

    def write(self, changes: Sequence[Change], now: float) -> None:
        """Write changes in one transaction; a failure turns the store degraded and is not raised.

        While it is degraded the history is kept in memory, the rows are in the tables anyway.
        """
        history = [line for line in (transition(change, now) for change in changes) if line]
        if self._database is None:
            self._unwritten += history
            del self._unwritten[:-_HISTORY_LINES]
            return
        clears, sets = statements(changes)
        try:
            self._transaction(sets, clears, history)
        except sqlite3.Error as error:
            self._unwritten += history
            self._fail(error)

    def _transaction(self, sets: list[Values], clears: list[Values], history: list[Values]) -> None:
        assert self._database is not None
        alone = len(sets) + len(clears) + len(history) == 1  # is a transaction of its own
        try:
            if not alone:
                self._database.execute("BEGIN IMMEDIATE")
            if clears:
                self._database.executemany(_CLEAR, clears)
            if sets:
                self._database.executemany(_SET, sets)
            if history:
                self._database.executemany(_HISTORY, history)
            if not alone:
                self._database.execute("COMMIT")
        except sqlite3.Error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    def history(self, wanted: dict[str, str | float | None], limit: int) -> list[Row]:
        """Return transitions, oldest first, the newest `limit` of them.

        wanted: since, until, agent, session, surface_id; None for any. Raises OSError while degraded.
        """
        if self._database is None:
            raise OSError(f"the history cannot be read: {self.degraded}")
        found = self._database.execute(_QUERY, {**wanted, "limit": limit})
        columns = [column[0] for column in found.description]
        return [dict(zip(columns, line, strict=True)) for line in reversed(found.fetchall())]

    def recover(self, tables: Tables) -> bool:
        """Try to leave the degraded state by writing everything anew; returns whether that worked."""
        if not self.degraded:
            return True
        try:
            if self._database is None:
                self._open()
            assert self._database is not None
            rows = [(c.kind, _name(c.key), ujson.dumps(c.row)) for c in tables.everything()]
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute("DELETE FROM row")
            self._database.executemany(_SET, rows)
            self._database.executemany(_HISTORY, self._unwritten)
            self._database.execute("COMMIT")
            self._unwritten.clear()
        except (OSError, sqlite3.Error) as error:
            self._fail(error)
            return False
        self.degraded = ""
        return True

    def close(self) -> None:
        """Close the database."""
        if self._database is not None:
            self._database.close()
            self._database = None


def _name(key: tuple[int | str, ...]) -> str:
    return ujson.dumps(list(key))
