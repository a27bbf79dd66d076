"""Workspaces and surfaces, and where a report belongs.

Explicit ids win; else the caller's place, the terminal's own name for its pane with the server's process in
it. A report without either goes to the workspace "Unattached", never to whatever pane happens to be active.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from seance_tools.names import LIMITS
from seance_tools.state.surroundings import UNKNOWN
from seance_tools.state.tables import Row, Tables
from seance_tools.text import clean
from seance_tools.wire import WireError

UNATTACHED = "unattached"
ABROAD = "host:"  # what the places of other machines begin with; the machine's name follows
# The members of a surface that its shell tells, as long as it has told nothing: what it does, the exit status
# of its last command and how many milliseconds that took, and when we last heard of it.
NO_SHELL: Row = {"shell_state": None, "exit_code": None, "duration_ms": None, "reported_at": None}
SIGHT = ("active", "visible", "zoomed")  # members of a surface that only its terminal's list tells


class Place(NamedTuple):
    """A pane as its terminal names it.

    surface and workspace: unique texts, server process included. title, workspace_title: for people, may be
    empty. owner: (process id, start time) of the process whose end ends the surface, if known.
    """

    surface: str
    workspace: str
    workspace_title: str = ""
    owner: tuple[int, int] | None = None


class Caller(NamedTuple):
    """Who a request comes from, as far as it says."""

    surface_id: int | None = None
    workspace_id: int | None = None
    place: Place | None = None
    host: str = ""  # the machine's name, where that is not this one


class Context(NamedTuple):
    """What the outside world adds to a request: the time (seconds since 1970) and its caller."""

    now: float
    caller: Caller = Caller()


def need_workspace(tables: Tables, workspace_id: int, now: float, place: str = "", title: str = "") -> Row:
    """Return a workspace, made if it does not exist. Raises WireError when there are too many."""
    row = tables.get("workspace", workspace_id)
    if row is not None:
        return row
    if len(tables.rows["workspace"]) >= LIMITS["workspaces"]:
        raise WireError("limit_exceeded", f"at most {LIMITS['workspaces']} workspaces", "workspace_id")
    row = {
        "id": workspace_id,
        "title": clean(title, LIMITS["name_characters"]) or f"Workspace {workspace_id}",
        "titled_by": "terminal" if title else "default",
        "pinned": False,
        "position": max((other["position"] for other in tables.all("workspace")), default=-1) + 1,
        "place": place,
        "columns": [],
        "created_at": now,
    }
    tables.set("workspace", row)
    if not tables.get("selection"):
        tables.set(
            "selection", {"workspace_id": workspace_id, "previous_workspace_id": None, "surface_id": None}
        )
    return row


def new_id(tables: Tables, kind: str) -> int:
    """Return an id for a new workspace or surface."""
    number = tables.next(kind)
    while tables.get(kind, number):  # taken by someone who named the id himself
        number = tables.next(kind)
    return number


def _workspace_of(tables: Tables, place: str, title: str, now: float) -> int:
    row = tables.at_place("workspace", place)
    if row:
        if title and row["titled_by"] != "user":
            title = clean(title, LIMITS["name_characters"])
            tables.update("workspace", row, title=title, titled_by="terminal")
        return int(row["id"])
    return int(need_workspace(tables, new_id(tables, "workspace"), now, place, title)["id"])


def need_surface(
    tables: Tables, surface_id: int, workspace_id: int, now: float, place: Place | None = None
) -> Row:
    """Return a surface in that workspace, made or moved there if needed."""
    row = tables.get("surface", surface_id)
    if row is None:
        if len(tables.rows["surface"]) >= LIMITS["surfaces"]:
            raise WireError("limit_exceeded", f"at most {LIMITS['surfaces']} surfaces", "surface_id")
        owner = place.owner if place else None
        row = {
            "id": surface_id,
            "workspace_id": workspace_id,
            "place": place.surface if place else "",
            "pid": owner[0] if owner else None,
            "start_time": owner[1] if owner else None,
            "title": "",
            "cwd": "",
            **UNKNOWN,
            **NO_SHELL,
            "reported": True,  # else its terminal listed it, beside one that did
            "created_at": now,
        }
        tables.set("surface", row)
    elif row["workspace_id"] != workspace_id:
        move_surface(tables, row, workspace_id)
        row = tables.rows["surface"][surface_id,]
    return row


def move_surface(tables: Tables, row: Row, workspace_id: int) -> None:
    """Move a surface, with its agents and their status, to another workspace."""
    old = row["workspace_id"]
    tables.update("surface", row, workspace_id=workspace_id)
    for agent in [agent for agent in tables.all("agent") if agent["surface_id"] == row["id"]]:
        tables.update("agent", agent, workspace_id=workspace_id)
        status = tables.get("status", old, agent["session"])
        if status:
            tables.clear("status", old, agent["session"])
            tables.update("status", status, workspace_id=workspace_id)
    drop_if_empty(tables, old)


def locate(tables: Tables, context: Context) -> tuple[int, int | None]:
    """Return (workspace id, surface id or None) of the context's caller, made if they do not exist."""
    caller, now = context.caller, context.now
    place = caller.place
    if caller.surface_id is not None:
        known = tables.get("surface", caller.surface_id)
        if caller.workspace_id is not None:
            workspace_id = int(need_workspace(tables, caller.workspace_id, now)["id"])
        elif known:
            workspace_id = int(known["workspace_id"])
        else:
            workspace_id = _workspace_of(tables, UNATTACHED, "Unattached", now)
        return workspace_id, int(need_surface(tables, caller.surface_id, workspace_id, now)["id"])
    if place is not None:
        return locate_place(tables, place, now, caller.workspace_id)
    if caller.workspace_id is not None:
        return int(need_workspace(tables, caller.workspace_id, now)["id"]), None
    return _workspace_of(tables, UNATTACHED, "Unattached", now), None


def named(tables: Tables, context: Context) -> int | None:
    """Return the id of the workspace that a caller names or is in, None where there is none yet.

    Nothing is made: for methods that only take away. Raises WireError where the caller cannot be told.
    """
    caller = context.caller
    if caller.workspace_id is not None:
        return caller.workspace_id if tables.get("workspace", caller.workspace_id) else None
    _must_tell(caller)
    known = caller_ids(tables, caller)
    return int(known["workspace_id"]) if known else None


def _must_tell(caller: Caller) -> None:
    if caller.workspace_id is None and caller.surface_id is None and caller.place is None:
        message = "workspace_id: missing, and the caller's pane is not known (seance-ctl: --workspace N)"
        raise WireError("invalid_params", message, "workspace_id")


def target(tables: Tables, context: Context) -> tuple[int, int | None]:
    """Return what `locate` does for a caller who must have named a workspace or be in one.

    Raises WireError where he has not: what is meant for a workspace is never put just anywhere.
    """
    caller = context.caller
    if caller.surface_id is None and caller.place is None and caller.workspace_id is not None:
        return int(need_workspace(tables, caller.workspace_id, context.now)["id"]), None
    _must_tell(caller)
    if caller.workspace_id is not None:
        workspace_id = int(need_workspace(tables, caller.workspace_id, context.now)["id"])
        known = caller_ids(tables, caller)
        inside = known is not None and known["workspace_id"] == workspace_id
        return workspace_id, int(known["id"]) if known and inside else None
    return locate(tables, context)


def place_of(tables: Tables, surface_id: int | None) -> str:
    """Return the place of a surface, "" where that is not known."""
    row = tables.get("surface", surface_id) if surface_id is not None else None
    return str(row["place"]) if row else ""


def terminal_of(row: Row) -> str:
    """Return which terminal a surface is in, as its place tells: tmux, kitty …; "" where none is known."""
    return str(row["place"]).partition(":")[0]


def focusable(row: Row) -> bool:
    """Return whether a surface can be brought to the front."""
    kind = terminal_of(row)
    if kind == "kitty":  # remote control needs the socket that KITTY_LISTEN_ON names
        return not str(row["place"]).startswith("kitty::")
    return kind in ("tmux", "wezterm", "zellij", "screen")


def seen(tables: Tables, surface_id: int | None) -> bool:
    """Return whether somebody looks at a surface: a terminal shows its pane, and it is the active one there.

    Only what tmux lists tells that; of other terminals' panes it is not known, so not claimed.
    """
    row = tables.get("surface", surface_id) if surface_id is not None else None
    return bool(row and row.get("active") and row.get("visible"))


def locate_place(
    tables: Tables, place: Place, now: float, workspace_id: int | None = None
) -> tuple[int, int]:
    """Return (workspace id, surface id) of a place, made if they do not exist."""
    row = tables.at_place("surface", place.surface)
    if row:
        if not row.get("reported", True):
            tables.update("surface", row, reported=True)
        return int(row["workspace_id"]), int(row["id"])
    if workspace_id is None:
        workspace_id = _workspace_of(tables, place.workspace, place.workspace_title, now)
    else:
        need_workspace(tables, workspace_id, now)
    surface = need_surface(tables, new_id(tables, "surface"), workspace_id, now, place)
    return workspace_id, int(surface["id"])


def drop_if_empty(tables: Tables, workspace_id: int) -> None:
    """Remove a workspace that a terminal brought once no agent is left there, nor a surface that reported."""
    row = tables.get("workspace", workspace_id)
    if not row or not row["place"]:
        return
    if any(other["workspace_id"] == workspace_id for other in tables.all("agent")):
        return
    surfaces = [other for other in tables.all("surface") if other["workspace_id"] == workspace_id]
    if any(surface.get("reported", True) for surface in surfaces):
        return
    for surface in surfaces:
        tables.clear("surface", surface["id"])
    remove_workspace(tables, workspace_id)


def remove_workspace(tables: Tables, workspace_id: int) -> None:
    """Remove a workspace; the selection goes to the one before it in order, else to the next."""
    selection = tables.get("selection")
    if selection and selection["workspace_id"] == workspace_id:
        order = [row["id"] for row in ordered(tables)]
        index = order.index(workspace_id)
        neighbours = order[:index][-1:] or order[index + 1 :][:1]
        if neighbours:
            tables.set(
                "selection",
                {"workspace_id": neighbours[0], "previous_workspace_id": None, "surface_id": None},
            )
        else:
            tables.clear("selection")
    tables.clear_workspace(workspace_id)


def remove_surface(tables: Tables, surface_id: int) -> None:
    """Remove a surface with its agents' sessions, and its workspace if that is left empty."""
    row = tables.get("surface", surface_id)
    if row is None:
        return
    for agent in [agent for agent in tables.all("agent") if agent["surface_id"] == surface_id]:
        tables.clear("status", agent["workspace_id"], agent["session"])
        tables.clear("agent", agent["session"])
    for note in [row for row in tables.all("notification") if row["surface_id"] == surface_id]:
        if note.get("kind") == "needs_input":
            tables.update("notification", note, read=True)  # what is gone needs nothing
    tables.clear("surface", surface_id)
    drop_if_empty(tables, row["workspace_id"])


def ordered(tables: Tables) -> list[Row]:
    """Return the workspaces in their order: pinned ones first, then by position."""
    return sorted(tables.all("workspace"), key=lambda row: (not row["pinned"], row["position"], row["id"]))


def place_panes(tables: Tables, prefix: str, panes: list[Row], now: float) -> None:
    """Bring the surfaces of one terminal server up to date with its own list of panes.

    prefix: what the places of that server begin with. panes: rows with place, workspace (a place),
    workspace_title, columns, title, cwd where that may have changed, active (of its column, and that of its
    workspace), visible (on somebody's screen), zoomed. Surfaces of panes that are gone are removed; panes
    beside one that is known, in the same workspace, become surfaces too.
    """
    listed = {pane["place"]: pane for pane in panes}
    _add_neighbours(tables, prefix, panes, now)
    for row in [row for row in tables.all("surface") if row["place"].startswith(prefix)]:
        pane = listed.get(row["place"])
        if not tables.get("surface", row["id"]):
            continue  # it went with its workspace
        if pane is None:
            remove_surface(tables, row["id"])
            continue
        workspace_id = _workspace_of(tables, pane["workspace"], pane["workspace_title"], now)
        need_surface(tables, row["id"], workspace_id, now)
        shown: Row = {name: clean(pane[name]) for name in ("title", "cwd") if name in pane}
        shown |= {name: bool(pane.get(name)) for name in SIGHT}
        tables.update("surface", tables.rows["surface"][row["id"],], **shown)
    columns = {pane["workspace"]: pane["columns"] for pane in panes}
    for row in [row for row in tables.all("workspace") if row["place"] in columns]:
        tables.update("workspace", row, columns=columns[row["place"]])


def _add_neighbours(tables: Tables, prefix: str, panes: list[Row], now: float) -> None:
    """Make surfaces of the panes that never reported, where their workspace is known."""
    known = next((row for row in tables.all("surface") if row["place"].startswith(prefix)), None)
    if known is None:
        return
    owner = (known["pid"], known["start_time"]) if known["pid"] is not None else None
    for pane in panes:
        workspace = tables.at_place("workspace", pane["workspace"])
        if workspace is None or tables.at_place("surface", pane["place"]):
            continue
        if len(tables.rows["surface"]) >= LIMITS["surfaces"]:
            return
        place = Place(pane["place"], pane["workspace"], owner=owner)
        row = need_surface(tables, new_id(tables, "surface"), workspace["id"], now, place)
        tables.update("surface", row, reported=False)


def caller_ids(tables: Tables, caller: Caller) -> Row | None:
    """Return the surface row of a caller that is known already; nothing is made."""
    if caller.surface_id is not None:
        return tables.get("surface", caller.surface_id)
    if caller.place is None:
        return None
    return tables.at_place("surface", caller.place.surface)


def identity(tables: Tables, surface: Row | None, workspace_id: int | None) -> dict[str, Any]:
    """Return the ids of a surface and its workspace as system.identify shows them."""
    order = [row["id"] for row in ordered(tables)]
    if surface is not None:
        workspace_id = surface["workspace_id"]
    index = order.index(workspace_id) if workspace_id in order else None
    return {
        "window_index": None if index is None else 0,
        "workspace_id": workspace_id,
        "workspace_index": index,
        "pane_group_id": None,
        "surface_id": surface["id"] if surface else None,
        "browser_panel_id": None,
    }
