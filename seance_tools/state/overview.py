"""Methods that only show the state: ping, identify, tree, list."""

from __future__ import annotations

from collections import Counter, defaultdict

from seance_tools.state.metadata import counts, statuses
from seance_tools.state.places import NO_SHELL, Context, caller_ids, identity, ordered
from seance_tools.state.surroundings import UNKNOWN, git_of, ports_of
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


class _Groups:
    """Surfaces, agents and unread notifications by workspace and surface: one pass for a whole view."""

    def __init__(self, tables: Tables) -> None:
        selection = tables.get("selection") or {"workspace_id": None, "surface_id": None}
        self.selected = selection["workspace_id"]
        self.focused = selection["surface_id"]
        self.surfaces: defaultdict[int, list[Row]] = defaultdict(list)
        self.agents: defaultdict[int | None, list[Row]] = defaultdict(list)  # by surface
        self.unread: Counter[int] = Counter()
        self.unread_here: Counter[int] = Counter()
        self.sessions: Counter[int] = Counter()
        for row in tables.all("surface"):
            self.surfaces[row["workspace_id"]].append(row)
        for row in tables.all("agent"):
            self.agents[row["surface_id"]].append(row)
            self.sessions[row["workspace_id"]] += 1
        for row in tables.all("notification"):
            if not row["read"]:
                self.unread[row["workspace_id"]] += 1
                self.unread_here[row["surface_id"]] += 1


def _describe(groups: _Groups, row: Row) -> Row:
    return {
        "id": row["id"],
        "title": row["title"],
        "active": groups.selected == row["id"],
        "pinned": row["pinned"],
        "unread": groups.unread[row["id"]],
        "agents": groups.sessions[row["id"]],
    }


def describe(tables: Tables, row: Row) -> Row:
    """Return a workspace as lists show it."""
    return _describe(_Groups(tables), row)


def workspace_list(tables: Tables, params: Row, context: Context) -> Row:
    """List the workspaces in their order."""
    groups = _Groups(tables)
    return {"workspaces": [_describe(groups, row) for row in ordered(tables)]}


def _surface(groups: _Groups, row: Row) -> Row:
    return {
        **{name: row[name] for name in ("id", "title", "cwd")},
        **{name: row.get(name) for name in NO_SHELL},
        **{name: row.get(name, missing) for name, missing in UNKNOWN.items()},
        "focused": row["id"] == groups.focused,
        "selected": row["id"] == groups.focused,
        "unread": groups.unread_here[row["id"]],
        "agents": groups.agents[row["id"]],
    }


def _workspace(tables: Tables, groups: _Groups, row: Row) -> Row:
    workspace_id = row["id"]
    surfaces = groups.surfaces[workspace_id]
    progress = tables.get("progress", workspace_id)
    count = counts(tables, workspace_id)
    shown = [_surface(groups, surface) for surface in surfaces]
    return {
        **_describe(groups, row),
        "status": statuses(tables, workspace_id),
        "log": list(tables.of_workspace("log", workspace_id).values()),
        "progress": {name: progress[name] for name in ("active", "value", "label")}
        if progress
        else {"active": False, "value": 0.0, "label": ""},
        "subagent_count": count["subagent_count"],
        "background_count": count["background_count"],
        "columns": row["columns"],
        "git": git_of(surfaces),
        "ports": ports_of(surfaces),
        "pane_groups": [{"id": workspace_id, "focused": True, "surfaces": shown}],
    }


def system_tree(tables: Tables, params: Row, context: Context) -> Row:
    """Show everything, nested as the original does: windows, workspaces, pane groups, surfaces."""
    groups = _Groups(tables)
    workspaces = [_workspace(tables, groups, row) for row in ordered(tables)]
    return {"windows": [{"index": 0, "title": "Séance", "active": True, "workspaces": workspaces}]}
