"""Methods that only show the state: ping, identify, tree, list."""

from __future__ import annotations

from seance_tools.state.metadata import counts, statuses
from seance_tools.state.places import Context, caller_ids, identity, ordered
from seance_tools.state.tables import Row, Tables


def system_ping(tables: Tables, params: Row, context: Context) -> Row:
    """Answer."""
    return {"pong": True}


def system_identify(tables: Tables, params: Row, context: Context) -> Row:
    """Tell the selected surface and the caller's, in the original's members; null where there is none."""
    selection = tables.get("selection")
    focused = (
        tables.get("surface", selection["surface_id"]) if selection and selection["surface_id"] else None
    )
    result = identity(tables, focused, selection["workspace_id"] if selection else None)
    known = caller_ids(tables, context.caller)
    result["caller"] = identity(tables, known, None) if known else None
    return result


def _unread(tables: Tables, member: str, number: int) -> int:
    return sum(row[member] == number and not row["read"] for row in tables.all("notification"))


def describe(tables: Tables, row: Row) -> Row:
    """Return a workspace as lists show it."""
    selection = tables.get("selection")
    return {
        "id": row["id"],
        "title": row["title"],
        "active": bool(selection and selection["workspace_id"] == row["id"]),
        "pinned": row["pinned"],
        "unread": _unread(tables, "workspace_id", row["id"]),
        "agents": sum(1 for agent in tables.all("agent") if agent["workspace_id"] == row["id"]),
    }


def workspace_list(tables: Tables, params: Row, context: Context) -> Row:
    """List the workspaces in their order."""
    return {"workspaces": [describe(tables, row) for row in ordered(tables)]}


def _surface(tables: Tables, row: Row, focused: int | None) -> Row:
    shown = {name: row[name] for name in ("id", "title", "cwd", "branch", "dirty", "shell_state")}
    return {
        **shown,
        "focused": row["id"] == focused,
        "selected": row["id"] == focused,
        "unread": _unread(tables, "surface_id", row["id"]),
        "agents": [agent for agent in tables.all("agent") if agent["surface_id"] == row["id"]],
    }


def _workspace(tables: Tables, row: Row) -> Row:
    workspace_id = row["id"]
    surfaces = [surface for surface in tables.all("surface") if surface["workspace_id"] == workspace_id]
    progress = tables.get("progress", workspace_id)
    selection = tables.get("selection")
    focused = selection["surface_id"] if selection else None
    shown = [_surface(tables, surface, focused) for surface in surfaces]
    placed = next((surface for surface in surfaces if surface["branch"]), None)
    count = counts(tables, workspace_id)
    return {
        **describe(tables, row),
        "status": statuses(tables, workspace_id),
        "log": list(tables.of_workspace("log", workspace_id).values()),
        "progress": {name: progress[name] for name in ("active", "value", "label")}
        if progress
        else {"active": False, "value": 0.0, "label": ""},
        "subagent_count": count["subagent_count"],
        "background_count": count["background_count"],
        "columns": row["columns"],
        "git": {"branch": placed["branch"], "dirty": placed["dirty"]} if placed else None,
        "pane_groups": [{"id": workspace_id, "focused": True, "surfaces": shown}],
    }


def system_tree(tables: Tables, params: Row, context: Context) -> Row:
    """Show everything, nested as the original does: windows, workspaces, pane groups, surfaces."""
    workspaces = [_workspace(tables, row) for row in ordered(tables)]
    return {"windows": [{"index": 0, "title": "Séance", "active": True, "workspaces": workspaces}]}
