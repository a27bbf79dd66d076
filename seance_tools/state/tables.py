"""The broker's state as plain data: rows in tables, and the list of changes made to them.

Everything the broker knows is a row: a JSON object of one of KINDS, found by its identity. A row is never
altered in place, it is set anew; each set or clear is one change. The same change is what the store writes,
what subscribers get as an event and what brings a copy up to date, so there is one mechanism for all three.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

Row = dict[str, Any]
Key = tuple[int | str, ...]

# kind: the members that identify a row. Kinds are the topics of events.subscribe.
KINDS: dict[str, tuple[str, ...]] = {
    "workspace": ("id",),
    "surface": ("id",),
    "status": ("workspace_id", "key"),
    "log": ("workspace_id", "number"),
    "progress": ("workspace_id",),
    "counts": ("workspace_id",),
    "agent": ("session",),
    "notification": ("id",),
    "selection": (),
    "config": (),
    "counter": ("name",),
    "ended": ("session",),
}
PRIVATE = frozenset({"counter", "ended"})  # kept in the store, shown to nobody
TOPICS = tuple(kind for kind in KINDS if kind not in PRIVATE)
_OF_WORKSPACE = ("status", "log", "progress", "counts")
_INDEXED = ("status", "log")


class Change(NamedTuple):
    """One row set, or cleared where `row` is None; `old` is the row before, if there was one."""

    kind: str
    key: Key
    row: Row | None
    old: Row | None = None

    def event(self) -> Row:
        """Return the change as the event that subscribers get, without its number."""
        if self.row is not None:
            return {"event": f"{self.kind}.set", "data": self.row}
        return {"event": f"{self.kind}.clear", "data": dict(zip(KINDS[self.kind], self.key, strict=True))}


class Tables:
    """All rows, and the changes since they were last taken."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[Key, Row]] = {kind: {} for kind in KINDS}
        self._index: dict[str, dict[int | str, dict[Key, Row]]] = {kind: {} for kind in _INDEXED}
        self._places: dict[tuple[str, str], Row] = {}
        self._changes: list[Change] = []
        from seance_tools.options import look_up  # a client that only asks has no use for it

        self.options = look_up({}).values  # those of config.toml, once it is read

    def get(self, kind: str, *key: int | str) -> Row | None:
        """Return a row, or None."""
        return self.rows[kind].get(key)

    def all(self, kind: str) -> Iterable[Row]:
        """Return the rows of a kind in the order they were first set."""
        return self.rows[kind].values()

    def of_workspace(self, kind: str, workspace_id: int) -> dict[Key, Row]:
        """Return the status or log rows of one workspace, by key."""
        return self._index[kind].get(workspace_id, {})

    def at_place(self, kind: str, place: str) -> Row | None:
        """Return the surface or workspace whose `place` is this, or None."""
        return self._places.get((kind, place))

    def set(self, kind: str, row: Row) -> bool:
        """Set a row; returns whether that changed anything."""
        key = tuple([row[name] for name in KINDS[kind]])
        old = self.rows[kind].get(key)
        if old == row:
            return False
        self._put(kind, key, row)
        self._changes.append(Change(kind, key, row, old))
        return True

    def update(self, kind: str, row: Row, **members: Any) -> bool:
        """Set a row that is `row` with some members replaced; returns whether that changed anything."""
        return self.set(kind, {**row, **members})

    def clear(self, kind: str, *key: int | str) -> bool:
        """Clear a row; returns whether there was one."""
        old = self.rows[kind].get(key)
        if old is None:
            return False
        self._drop(kind, key)
        self._changes.append(Change(kind, key, None, old))
        return True

    def clear_workspace(self, workspace_id: int) -> None:
        """Clear a workspace's row and all that belongs to it, but for its surfaces and agents."""
        for row in [row for row in self.all("notification") if row["workspace_id"] == workspace_id]:
            self.clear("notification", row["id"])
        for kind in _OF_WORKSPACE:
            rows = self.of_workspace(kind, workspace_id) if kind in _INDEXED else self.rows[kind]
            for key in [key for key in rows if key[0] == workspace_id]:
                self.clear(kind, *key)
        self.clear("workspace", workspace_id)

    def next(self, counter: str) -> int:
        """Return the next number of a counter; numbers are never given out twice, restarts included."""
        row = self.get("counter", counter)
        number = row["value"] + 1 if row else 1
        self.set("counter", {"name": counter, "value": number})
        return int(number)

    def mark(self) -> int:
        """Return where the list of changes stands, for `undo`."""
        return len(self._changes)

    def undo(self, mark: int) -> None:
        """Take back what has changed since `mark`, all but the counters: numbers are not given twice."""
        for kind, key, _, old in reversed(self._changes[mark:]):
            if kind in PRIVATE:
                continue
            if old is not None:
                self._put(kind, key, old)
            elif key in self.rows[kind]:
                self._drop(kind, key)
        self._changes[mark:] = [change for change in self._changes[mark:] if change.kind in PRIVATE]

    def take_changes(self) -> list[Change]:
        """Return the changes since the last call, in order, and forget them."""
        changes, self._changes = self._changes, []
        return changes

    def apply(self, kind: str, row: Row) -> None:
        """Set a row without a change: for rows from the store, or events that bring a copy up to date."""
        self._put(kind, tuple([row[name] for name in KINDS[kind]]), row)

    def apply_event(self, event: Row) -> None:
        """Bring a copy up to date with one event; kinds it does not know are passed over."""
        kind, _, verb = str(event["event"]).partition(".")
        if kind not in KINDS:
            return
        if verb == "set":
            self.apply(kind, event["data"])
        else:
            key = tuple([event["data"][name] for name in KINDS[kind]])
            if key in self.rows[kind]:
                self._drop(kind, key)

    def snapshot(self, topics: Iterable[str] = TOPICS) -> dict[str, list[Row]]:
        """Return the rows of the kinds in `topics` as plain lists."""
        return {kind: list(self.rows[kind].values()) for kind in topics}

    @classmethod
    def from_snapshot(cls, snapshot: dict[str, list[Row]]) -> Tables:
        """Return a copy made from what `snapshot` gave."""
        tables = cls()
        for kind in KINDS:
            for row in snapshot.get(kind, ()):
                tables.apply(kind, row)
        return tables

    def everything(self) -> Iterator[Change]:
        """Yield every row as the change that sets it: what a new store is filled with."""
        for kind, rows in self.rows.items():
            for key, row in rows.items():
                yield Change(kind, key, row)

    def _put(self, kind: str, key: Key, row: Row) -> None:
        self.rows[kind][key] = row
        if kind in _INDEXED:
            self._index[kind].setdefault(key[0], {})[key] = row
        elif row.get("place"):
            self._places[kind, row["place"]] = row

    def _drop(self, kind: str, key: Key) -> None:
        row = self.rows[kind].pop(key)
        self._places.pop((kind, row.get("place", "")), None)
        if kind in _INDEXED:
            of_workspace = self._index[kind][key[0]]
            del of_workspace[key]
            if not of_workspace:
                del self._index[kind][key[0]]
