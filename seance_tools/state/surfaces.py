"""Methods on surfaces: what a shell tells of itself, and what is known of each."""

from __future__ import annotations

from collections import Counter

from seance_tools.state.places import Caller, Context, focusable, locate, ordered
from seance_tools.state.surroundings import NO_GIT
from seance_tools.state.tables import Row, Tables
from seance_tools.wire import WireError

# Parameters of surface.report_shell, and the members of a surface that they set.
_TOLD_BY_SHELL = {
    "cwd": "cwd",
    "state": "shell_state",
    "exit_code": "exit_code",
    "duration_ms": "duration_ms",
}


def known(tables: Tables, surface_id: int) -> Row:
    """Return a surface's row. Raises WireError where there is none."""
    row = tables.get("surface", surface_id)
    if row is None:
        raise WireError("not_found", f"no surface {surface_id}", "surface_id")
    return row


def _reporting(tables: Tables, context: Context) -> Row:
    """Return the surface that a report is about, made if it does not exist; it must be named."""
    caller = context.caller
    if caller.surface_id is None and caller.place is None:
        raise WireError(
            "invalid_params",
            "surface_id: missing, and the caller's pane is not known (seance-ctl: --surface N)",
            "surface_id",
        )
    surface_id = locate(tables, context)[1]
    assert surface_id is not None  # a caller with a place or an id has a surface
    return tables.rows["surface"][surface_id,]


def surface_list(tables: Tables, params: Row, context: Context) -> Row:
    """List the surfaces in the order of their workspaces."""
    order = {row["id"]: index for index, row in enumerate(ordered(tables))}
    only = params["workspace_id"]
    rows = [row for row in tables.all("surface") if only is None or row["workspace_id"] == only]
    rows.sort(key=lambda row: (order[row["workspace_id"]], row["id"]))
    selection = tables.get("selection")
    focused = selection["surface_id"] if selection else None
    return {"surfaces": [{**row, "focused": row["id"] == focused} for row in rows]}


def surface_report_shell(tables: Tables, params: Row, context: Context) -> Row:
    """Take what a surface's shell tells at its prompt, or when it runs something."""
    caller = context.caller
    if caller == Caller(None, caller.workspace_id, None) and (params["env"] or params["tty"]):
        return {}  # its pane is gone: the last that a shell tells is that it runs `exit`
    told = {"reported_at": context.now}
    for name, member in _TOLD_BY_SHELL.items():
        if params[name] is not None:
            told[member] = params[name]
    tables.update("surface", _reporting(tables, context), **told)
    return {}


def surface_report_cwd(tables: Tables, params: Row, context: Context) -> Row:
    """Take a surface's directory."""
    tables.update("surface", _reporting(tables, context), cwd=params["cwd"])
    return {}


def surface_report_git(tables: Tables, params: Row, context: Context) -> Row:
    """Take a surface's git branch; until it goes to another repository, the report counts."""
    git = {**NO_GIT, "branch": params["branch"], "dirty": params["dirty"], "git_source": "report"}
    tables.update("surface", _reporting(tables, context), **git)
    return {}


def surface_clear_git(tables: Tables, params: Row, context: Context) -> Row:
    """Forget a surface's git branch."""
    tables.update("surface", _reporting(tables, context), **NO_GIT)
    return {}


def surface_report_state(tables: Tables, params: Row, context: Context) -> Row:
    """Take what a surface's shell does."""
    tables.update("surface", _reporting(tables, context), shell_state=params["state"])
    return {}


def surface_health(tables: Tables, params: Row, context: Context) -> Row:
    """Tell of each surface whether its terminal is known and whether it can be focused."""
    only = params["surface_id"]
    agents = Counter(agent["surface_id"] for agent in tables.all("agent"))
    rows = [known(tables, only)] if only is not None else tables.all("surface")
    return {
        "surfaces": [
            {
                "id": row["id"],
                "terminal": row["place"].partition(":")[0] or None,
                "attached": bool(row["place"]),
                "focusable": focusable(row),
                "shell_state": row["shell_state"],
                "agents": agents[row["id"]],
            }
            for row in rows
        ]
    }
