"""What a workspace shows besides its agents: status entries, log, progress, counts."""

from __future__ import annotations

from typing import Any

from seance_tools.agents import display_name
from seance_tools.state.places import Context, named, target
from seance_tools.state.tables import Row, Tables
from seance_tools.wire import WireError


def put_status(tables: Tables, row: Row) -> None:
    """Set a status row; `since` stays while value and state do. Raises WireError when the table is full.

    The limit is for what callers set; an agent's own status goes with its session, which has one of its own.
    """
    workspace_id, key = row["workspace_id"], row["key"]
    old = tables.get("status", workspace_id, key)
    if old is None and row["session"] is None:
        _need_room(tables, workspace_id)
    if old and old["value"] == row["value"] and old["state"] == row["state"]:
        row["since"] = old["since"]
    tables.set("status", row)


def _need_room(tables: Tables, workspace_id: int) -> None:
    most = tables.options["limits.status_entries"]
    rows = tables.of_workspace("status", workspace_id)
    if len(rows) >= most and sum(other.get("session") is None for other in rows.values()) >= most:
        raise WireError("limit_exceeded", f"at most {most} status entries a workspace", "key")


def workspace_set_status(tables: Tables, params: Row, context: Context) -> Row:
    """Set a status entry as a script gives it."""
    workspace_id = target(tables, context)[0]
    ttl = params["ttl_ms"]
    put_status(
        tables,
        {
            "workspace_id": workspace_id,
            "key": params["key"],
            "value": params["value"],
            "priority": params["priority"],
            "is_agent": params["is_agent"],
            "display_name": params["display_name"] or display_name(params["key"]),
            "state": params["state"],
            "pid": params["pid"],
            "start_time": params.get("start_time"),
            "expires_at": context.now + ttl / 1000 if ttl else None,
            "since": context.now,
            "session": None,
            "inferred": False,
        },
    )
    return {}


def workspace_clear_status(tables: Tables, params: Row, context: Context) -> Row:
    """Clear a status entry; tells whether there was one."""
    workspace_id = named(tables, context)
    return {"cleared": workspace_id is not None and tables.clear("status", workspace_id, params["key"])}


def set_progress(tables: Tables, workspace_id: int, value: float, label: str) -> None:
    """Show a progress bar; `value` is clamped to 0.0 … 1.0."""
    tables.set(
        "progress",
        {"workspace_id": workspace_id, "active": True, "value": min(max(value, 0.0), 1.0), "label": label},
    )


def workspace_set_progress(tables: Tables, params: Row, context: Context) -> Row:
    """Show a progress bar as a script gives it."""
    workspace_id = target(tables, context)[0]
    set_progress(tables, workspace_id, params["value"], params["label"])
    return {}


def workspace_clear_progress(tables: Tables, params: Row, context: Context) -> Row:
    """Remove the progress bar."""
    workspace_id = named(tables, context)
    if workspace_id is not None:
        tables.clear("progress", workspace_id)
    return {}


def append_log(tables: Tables, workspace_id: int, message: str, level: str, now: float) -> None:
    """Append a line to a workspace's log, a ring: past its size the oldest line goes."""
    lines = tables.of_workspace("log", workspace_id)
    newest = next(reversed(lines), None)
    number = int(newest[1]) + 1 if newest else 1
    tables.set(
        "log",
        {
            "workspace_id": workspace_id,
            "number": number,
            "message": message,
            "level": level,
            "timestamp": now,
        },
    )
    lines = tables.of_workspace("log", workspace_id)
    while len(lines) > tables.options["limits.log_entries"]:
        tables.clear("log", *next(iter(lines)))


def workspace_append_log(tables: Tables, params: Row, context: Context) -> Row:
    """Append a line to the log as a script gives it."""
    workspace_id = target(tables, context)[0]
    append_log(tables, workspace_id, params["message"], params["level"], context.now)
    return {}


def workspace_clear_log(tables: Tables, params: Row, context: Context) -> Row:
    """Empty the log."""
    workspace_id = named(tables, context)
    for key in [] if workspace_id is None else list(tables.of_workspace("log", workspace_id)):
        tables.clear("log", *key)
    return {}


def workspace_set_subagent_counts(tables: Tables, params: Row, context: Context) -> Row:
    """Set the numbers of sub-agents and background tasks."""
    workspace_id = target(tables, context)[0]
    numbers = {name: params[name] for name in ("subagent_count", "background_count")}
    tables.set("counts", {"workspace_id": workspace_id, **numbers})
    return {}


def expire(tables: Tables, now: float) -> None:
    """Clear the status entries whose time is over."""
    for row in [row for row in tables.all("status") if row["expires_at"] and row["expires_at"] <= now]:
        tables.clear("status", row["workspace_id"], row["key"])


def next_expiry(tables: Tables) -> float | None:
    """Return when the next status entry expires, in seconds since 1970, or None."""
    return min((row["expires_at"] for row in tables.all("status") if row["expires_at"]), default=None)


def latest_log(tables: Tables, workspace_id: int) -> Row | None:
    """Return the newest line of a workspace's log, or None."""
    lines = tables.of_workspace("log", workspace_id)
    return lines[next(reversed(lines))] if lines else None


def statuses(tables: Tables, workspace_id: int) -> list[Row]:
    """Return the status entries of a workspace: highest priority first, ties by key."""
    rows = tables.of_workspace("status", workspace_id).values()
    return sorted(rows, key=lambda row: (-row["priority"], row["key"]))


def counts(tables: Tables, workspace_id: int) -> dict[str, Any]:
    """Return the counts row of a workspace, zeros where none was set."""
    row = tables.get("counts", workspace_id)
    return row or {"workspace_id": workspace_id, "subagent_count": 0, "background_count": 0}
