"""The methods that act on panes: a terminal does them, the rows follow from what it lists then.

A surface must be named or be the caller's: never the active pane by accident. An agent that drives panes
takes nobody's focus away: what it makes is not shown until that is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from seance_tools import terminals
from seance_tools.broker.answer import Answer
from seance_tools.broker.core import Core
from seance_tools.state import notifications, surfaces, workspaces
from seance_tools.state.places import Context, Place, caller_ids, focusable, locate_place, terminal_of
from seance_tools.state.tables import Row
from seance_tools.terminals import Gone, Refused
from seance_tools.terminals import tmux_server as tmux
from seance_tools.terminals.keys import read_key
from seance_tools.text import clean
from seance_tools.wire import WireError

Handler = Callable[[Core, Row, Answer], Row | None]
OnPane = Callable[[Core, Row, Row], Awaitable[Row]]  # of (core, surface's row, params)


def _surface(core: Core, params: Row) -> Row:
    """Return the surface that params name, else the caller's, made if nothing was reported from it yet."""
    caller = core.caller(params)
    row = caller_ids(core.tables, caller)
    if row is not None:
        return row
    if caller.surface_id is not None:
        raise WireError("not_found", f"no surface {caller.surface_id}", "surface_id")
    if caller.place is None:
        message = "surface_id: missing, and the caller's pane is not known (seance-ctl: --surface N)"
        raise WireError("invalid_params", message, "surface_id")
    number = locate_place(core.tables, caller.place, time.time(), caller.workspace_id)[1]
    core.notice(caller.place)
    core.commit()
    return core.tables.rows["surface"][number,]


def _where(row: Row) -> str:
    kind = terminal_of(row)
    names = {"": "an unknown terminal", "tty": "a plain terminal", "kitty": "a kitty without listen_on"}
    return names.get(kind, kind)


def _need_tmux(row: Row) -> None:
    if terminal_of(row) != "tmux":
        where = terminal_of(row) if focusable(row) else _where(row)
        raise WireError(
            "not_supported", f"surface {row['id']} is in {where}; only panes of tmux can be told to do this"
        )


async def _answer(core: Core, work: Awaitable[Row], answer: Answer, place: str) -> None:
    """Answer with what the work returns, or with why it could not be done; then list the panes of `place`."""
    try:
        result = await work
    except Refused as error:
        core.list_panes(place)  # it may be gone
        answer(WireError("not_found" if isinstance(error, Gone) else "not_supported", str(error)))
    except WireError as error:
        answer(error)
    except BaseException:
        answer(WireError("internal", "a fault of the broker; its log tells more"))
        raise
    else:
        core.commit()
        core.list_panes(place)
        answer(result)


def on_pane(work: OnPane) -> Handler:
    """Return the method that does `work` on the surface named or the caller's, which must be in tmux."""

    def method(core: Core, params: Row, answer: Answer) -> Row | None:
        row = _surface(core, params)
        _need_tmux(row)
        core.spawn(_answer(core, work(core, row, params), answer, row["place"]))
        return None

    return method


def surface_focus(core: Core, params: Row, answer: Answer) -> Row | None:
    """Bring a surface to the front of its terminal, and select it here."""
    row = _surface(core, params)
    if not focusable(row):
        message = f"surface {row['id']} is in {_where(row)}, which cannot be told to come to the front"
        raise WireError("not_supported", message)
    core.spawn(_answer(core, _focus(core, row, params["client"]), answer, row["place"]))
    return None


async def _focus(core: Core, row: Row, client: str | None) -> Row:
    await terminals.focus(row["place"], client)
    if core.tables.get("surface", row["id"]):
        workspaces.select(core.tables, surfaces.known(core.tables, row["id"])["workspace_id"], row["id"])
        notifications.mark_seen(core.tables, surface_id=row["id"])
    return {}


async def _surface_at(core: Core, place: str, beside: Row) -> int:
    """Return the id of the surface at a place that tmux has named, made if need be; `beside`: one there."""
    session = core.tables.rows["workspace"][beside["workspace_id"],]["place"]
    owner = (beside["pid"], beside["start_time"]) if beside["pid"] else None
    if not session.startswith("tmux:"):
        session = place
    number = locate_place(core.tables, Place(place, session, "", owner), time.time())[1]
    await core.take_panes(place)
    return number


async def _split(core: Core, row: Row, params: Row) -> Row:
    place = await tmux.split(row["place"], params["direction"], params["command"])
    return {"surface_id": await _surface_at(core, place, row)}


async def _close(core: Core, row: Row, params: Row) -> Row:  # noqa: ARG001 - OnPane
    await tmux.close(row["place"])
    return {}


async def _send_text(core: Core, row: Row, params: Row) -> Row:  # noqa: ARG001 - OnPane
    await tmux.send_text(row["place"], params["text"] + "\n" * params["enter"])
    return {}


async def _send_key(core: Core, row: Row, params: Row) -> Row:  # noqa: ARG001 - OnPane
    try:
        key = read_key(params["key"])
    except ValueError as error:
        raise WireError("invalid_params", f"key: {error}", "key") from None
    await tmux.send_key(row["place"], key)
    return {}


def surface_read_screen(core: Core, params: Row, answer: Answer) -> Row | None:
    """Show what a surface shows; where the terminal does not tell them, size and cursor are null."""
    row = _surface(core, params)
    read = terminals.TERMINALS[terminal_of(row) or "tty"].read
    if read is None:
        raise WireError("not_supported", f"surface {row['id']} is in {_where(row)}, which cannot be read")
    place = row["place"]
    core.spawn(_answer(core, _read_screen(core, row, read(place, params["lines"])), answer, place))
    return None


async def _read_screen(core: Core, row: Row, reading: Awaitable[terminals.Screen]) -> Row:
    screen = await reading
    now = core.tables.get("surface", row["id"]) or row
    return {
        "text": "\n".join(clean(line) for line in screen.text.split("\n")),
        "shell_state": now["shell_state"] or "unknown",
        "cursor_row": screen.cursor_row,
        "cursor_col": screen.cursor_column,
        "rows": screen.rows,
        "cols": screen.columns,
    }


def surface_last(core: Core, params: Row, answer: Answer) -> Row | None:
    """Go back to the surface used before in a workspace."""
    if params["workspace_id"] is None:
        row = _surface(core, params)
    else:
        workspace_id = workspaces.known(core.tables, params["workspace_id"])["id"]
        found = [row for row in core.tables.all("surface") if row["workspace_id"] == workspace_id]
        if not found:
            raise WireError("not_found", f"workspace {workspace_id} has no surface", "workspace_id")
        row = found[0]
    _need_tmux(row)
    core.spawn(_answer(core, _last(core, row), answer, row["place"]))
    return None


async def _last(core: Core, row: Row) -> Row:
    place = await tmux.last_pane(row["place"])
    return {"surface_id": await _surface_at(core, place, row)}


async def _reorder(core: Core, row: Row, params: Row) -> Row:
    given = [name for name in ("index", "before", "after") if params[name] is not None]
    if len(given) != 1:
        raise WireError("invalid_params", "give one of index, before, after", given[-1] if given else "index")
    order = await tmux.window_panes(row["place"])
    if given == ["index"]:
        index = min(params["index"], len(order) - 1)
    else:
        other = surfaces.known(core.tables, params[given[0]])["place"]
        if other not in order or other == row["place"]:
            message = f"{given[0]}: must be another surface of the same column"
            raise WireError("invalid_params", message, given[0])
        rest = [place for place in order if place != row["place"]]
        index = rest.index(other) + (given == ["after"])
    await tmux.move(row["place"], order, index)
    return {"surface_id": row["id"], "index": index}


def workspace_create(core: Core, params: Row, answer: Answer) -> Row | None:
    """Make a workspace: for a caller in tmux a session there, shown to nobody unless that is asked for."""
    context = Context(time.time(), core.caller(params))
    row = caller_ids(core.tables, context.caller)
    if row is None and context.caller.surface_id is None and context.caller.place is not None:
        row = _surface(core, params)
    if row is None or terminal_of(row) != "tmux":
        result = workspaces.workspace_create(core.tables, params, context)
        core.commit()
        return result
    core.spawn(_answer(core, _create(core, row, params), answer, row["place"]))
    return None


async def _create(core: Core, row: Row, params: Row) -> Row:
    session, pane = await tmux.new_session(row["place"], params["title"])
    owner = (row["pid"], row["start_time"]) if row["pid"] else None
    place = Place(pane, session, params["title"] or "", owner)
    workspace_id, surface_id = locate_place(core.tables, place, time.time())
    beside = core.tables.get("workspace", row["workspace_id"]) or {"place": ""}
    if params["select"] and await tmux.switch(session, beside=beside["place"]):
        workspaces.select(core.tables, workspace_id)
    await core.take_panes(pane)
    return {"workspace_id": workspace_id, "surface_id": surface_id}


def workspace_select(core: Core, params: Row, answer: Answer) -> Row | None:
    """Select a workspace; one of tmux is shown on a client as well, if one is attached."""
    row = workspaces.known(core.tables, params["workspace_id"])
    if not row["place"].startswith("tmux:"):
        result = workspaces.workspace_select(core.tables, params, Context(time.time()))
        core.commit()
        return result
    core.spawn(_answer(core, _show(core, row, params), answer, row["place"]))
    return None


async def _show(core: Core, row: Row, params: Row) -> Row:
    await tmux.switch(row["place"], params["client"])
    return workspaces.workspace_select(core.tables, params, Context(time.time()))


METHODS_OF_PANES: dict[str, Handler] = {
    "surface.focus": surface_focus,
    "surface.split": on_pane(_split),
    "surface.close": on_pane(_close),
    "surface.send_text": on_pane(_send_text),
    "surface.send_key": on_pane(_send_key),
    "surface.read_screen": surface_read_screen,
    "surface.last": surface_last,
    "surface.reorder": on_pane(_reorder),
    "workspace.create": workspace_create,
    "workspace.select": workspace_select,
}
