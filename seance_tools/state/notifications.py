"""Notifications: a ring of the last ones, read or not."""

from __future__ import annotations

from collections.abc import Callable

from seance_tools.state.places import Context, seen, target
from seance_tools.state.tables import Row, Tables
from seance_tools.wire import WireError


def add(
    tables: Tables,
    context: Context,
    workspace_id: int,
    surface_id: int | None,
    *,
    session: str | None = None,
    kind: str = "",
    **texts: str,
) -> int:
    """Add a notification (title, subtitle, body) and return its id; past the ring's size the oldest goes.

    session: whose it is, kind: what of it (lifecycle, Announcement), where an agent's session brought it.
    One whose pane is being looked at is read at once.
    """
    number = tables.next("notification")
    tables.set(
        "notification",
        {
            "id": number,
            "workspace_id": workspace_id,
            "surface_id": surface_id,
            "title": texts["title"],
            "subtitle": texts.get("subtitle", ""),
            "body": texts.get("body", ""),
            "read": seen(tables, surface_id),
            "channels": [],  # that it went out on, and how many others it stands for there
            "more": 0,
            "session": session,
            "kind": kind,
            "created_at": context.now,
        },
    )
    rows = tables.rows["notification"]
    while len(rows) > tables.options["limits.notifications"]:
        tables.clear("notification", *next(iter(rows)))
    return number


def mark_seen(tables: Tables, *, kind: str | None = None, **of: int | str | None) -> None:
    """Mark as read what somebody has evidently seen: of a session or surface, of one kind if given."""
    for row in [row for row in tables.all("notification") if not row["read"]]:
        if all(row.get(member) == value for member, value in of.items()) and kind in (None, row.get("kind")):
            tables.update("notification", row, read=True)


def notification_create(tables: Tables, params: Row, context: Context) -> Row:
    """Notify the user."""
    workspace_id, surface_id = target(tables, context)
    texts = {name: params[name] for name in ("title", "subtitle", "body")}
    return {"notification_id": add(tables, context, workspace_id, surface_id, **texts)}


def _chosen(params: Row) -> Callable[[Row], bool]:
    """Return what tells whether a notification is one of those that `params` are about."""
    wanted = {
        member: params[name]
        for name, member in (
            ("notification_id", "id"),
            ("workspace_id", "workspace_id"),
            ("surface_id", "surface_id"),
        )
        if params.get(name) is not None
    }
    return lambda row: all(row[member] == value for member, value in wanted.items())


def notification_list(tables: Tables, params: Row, context: Context) -> Row:
    """List the notifications, newest first."""
    chosen = _chosen(params)
    rows = [row for row in tables.all("notification") if chosen(row)]
    shown = [row for row in reversed(rows) if not (params["unread"] and row["read"])]
    return {"notifications": shown, "unread": sum(not row["read"] for row in rows)}


def _need_one(tables: Tables, params: Row) -> None:
    number = params["notification_id"]
    if number is not None and not tables.get("notification", number):
        raise WireError("not_found", f"no notification {number}", "notification_id")


def notification_clear(tables: Tables, params: Row, context: Context) -> Row:
    """Remove notifications."""
    _need_one(tables, params)
    chosen = _chosen(params)
    rows = [row for row in tables.all("notification") if chosen(row)]
    for row in rows:
        tables.clear("notification", row["id"])
    return {"cleared": len(rows)}


def notification_mark_read(tables: Tables, params: Row, context: Context) -> Row:
    """Mark notifications as read, or as not read."""
    _need_one(tables, params)
    chosen = _chosen(params)
    rows = [row for row in tables.all("notification") if chosen(row)]
    return {"marked": sum(tables.update("notification", row, read=params["read"]) for row in rows)}
