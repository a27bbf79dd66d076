"""What time alone changes: status entries that expire, sessions that fall silent; and when it does."""

from __future__ import annotations

from collections.abc import Iterable

from seance_tools.state import metadata, sessions
from seance_tools.state.tables import Change, Tables


def expire(tables: Tables, now: float) -> None:
    """Change what is due by now, in seconds since 1970."""
    metadata.expire(tables, now)
    sessions.expire(tables, now)


def next_due(tables: Tables) -> float | None:
    """Return when something is due next, in seconds since 1970, or None."""
    return _earliest((metadata.next_expiry(tables), sessions.next_due(tables)))


def next_due_of(tables: Tables, changes: Iterable[Change]) -> float | None:
    """Return what `next_due` does, of the changed rows alone: a change costs the same among a thousand."""
    return _earliest(_due(tables, change) for change in changes)


def _due(tables: Tables, change: Change) -> float | None:
    if change.row is None:
        return None
    if change.kind == "status":
        expires_at: float | None = change.row["expires_at"]
        return expires_at
    return sessions.due(tables, change.row) if change.kind == "agent" else None


def _earliest(dues: Iterable[float | None]) -> float | None:
    return min((due for due in dues if due is not None), default=None)
