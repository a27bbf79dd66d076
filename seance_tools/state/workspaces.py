"""Methods on workspaces as such: making, naming, ordering, selecting."""

from __future__ import annotations

from seance_tools.state.overview import describe
from seance_tools.state.places import (
    Context,
    need_workspace,
    new_id,
    ordered,
    remove_surface,
    remove_workspace,
)
from seance_tools.state.tables import Row, Tables
from seance_tools.wire import WireError


def known(tables: Tables, workspace_id: int, param: str = "workspace_id") -> Row:
    """Return a workspace's row. Raises WireError where there is none."""
    row = tables.get("workspace", workspace_id)
    if row is None:
        raise WireError("not_found", f"no workspace {workspace_id}", param)
    return row


def select(tables: Tables, workspace_id: int, surface_id: int | None = None) -> None:
    """Select a workspace, and a surface in it if given; the one selected before is remembered."""
    old = tables.get("selection")
    previous = old["previous_workspace_id"] if old else None
    if old and old["workspace_id"] != workspace_id:
        previous = old["workspace_id"]
    elif old and surface_id is None:
        surface_id = old["surface_id"]
    tables.set(
        "selection",
        {"workspace_id": workspace_id, "previous_workspace_id": previous, "surface_id": surface_id},
    )


def workspace_current(tables: Tables, params: Row, context: Context) -> Row:
    """Tell the selected workspace."""
    selection = tables.get("selection")
    return {"workspace": describe(tables, known(tables, selection["workspace_id"])) if selection else None}


def workspace_create(tables: Tables, params: Row, context: Context) -> Row:
    """Make a workspace, and select it unless told otherwise."""
    workspace_id = new_id(tables, "workspace")
    row = need_workspace(tables, workspace_id, context.now)
    if params["title"]:
        tables.update("workspace", row, title=params["title"], titled_by="user")
    if params["select"] is not False:
        select(tables, workspace_id)
    return {"workspace_id": workspace_id}


def workspace_select(tables: Tables, params: Row, context: Context) -> Row:
    """Select a workspace."""
    select(tables, known(tables, params["workspace_id"])["id"])
    return {}


def workspace_close(tables: Tables, params: Row, context: Context) -> Row:
    """Remove a workspace with its surfaces and their sessions; a pane that reports again comes back."""
    workspace_id = known(tables, params["workspace_id"])["id"]
    for row in [row for row in tables.all("surface") if row["workspace_id"] == workspace_id]:
        remove_surface(tables, row["id"])
    for row in [row for row in tables.all("agent") if row["workspace_id"] == workspace_id]:
        tables.clear("agent", row["session"])
    if tables.get("workspace", workspace_id):
        remove_workspace(tables, workspace_id)
    return {}


def workspace_rename(tables: Tables, params: Row, context: Context) -> Row:
    """Rename a workspace; its terminal's own name no longer counts."""
    row = known(tables, params["workspace_id"])
    tables.update("workspace", row, title=params["title"], titled_by="user")
    return {}


def workspace_pin(tables: Tables, params: Row, context: Context) -> Row:
    """Keep a workspace above the others, or no longer."""
    tables.update("workspace", known(tables, params["workspace_id"]), pinned=params["pinned"])
    return {}


def _step(tables: Tables, step: int) -> Row:
    order = [row["id"] for row in ordered(tables)]
    selection = tables.get("selection")
    if not order or not selection:
        raise WireError("not_found", "there is no workspace")
    workspace_id = order[(order.index(selection["workspace_id"]) + step) % len(order)]
    select(tables, workspace_id)
    return {"workspace_id": workspace_id}


def workspace_next(tables: Tables, params: Row, context: Context) -> Row:
    """Select the workspace after the selected one, after the last the first."""
    return _step(tables, 1)


def workspace_previous(tables: Tables, params: Row, context: Context) -> Row:
    """Select the workspace before the selected one, before the first the last."""
    return _step(tables, -1)


def workspace_last(tables: Tables, params: Row, context: Context) -> Row:
    """Select the workspace that was selected before."""
    selection = tables.get("selection")
    previous = selection["previous_workspace_id"] if selection else None
    if previous is None or not tables.get("workspace", previous):
        raise WireError("not_found", "no workspace was selected before")
    select(tables, previous)
    return {"workspace_id": previous}


def workspace_reorder(tables: Tables, params: Row, context: Context) -> Row:
    """Move a workspace to an index, or before or after another."""
    given = [name for name in ("index", "before", "after") if params[name] is not None]
    if len(given) != 1:
        raise WireError("invalid_params", "give one of index, before, after", given[-1] if given else "index")
    moved = known(tables, params["workspace_id"])
    order = [row["id"] for row in ordered(tables) if row["id"] != moved["id"]]
    if given == ["index"]:
        index = min(params["index"], len(order))
    else:
        other = known(tables, params[given[0]], given[0])["id"]
        if other == moved["id"]:
            raise WireError("invalid_params", f"{given[0]}: a workspace cannot be beside itself", given[0])
        index = order.index(other) + (given == ["after"])
    order.insert(index, moved["id"])
    pinned = [bool(tables.rows["workspace"][workspace_id,]["pinned"]) for workspace_id in order]
    if pinned != sorted(pinned, reverse=True):
        raise WireError("invalid_params", f"{given[0]}: pinned workspaces stay above the others", given[0])
    for position, workspace_id in enumerate(order):
        tables.update("workspace", tables.rows["workspace"][workspace_id,], position=position)
    return {}
