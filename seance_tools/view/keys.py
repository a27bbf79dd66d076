"""What keys and clicks do: `update` makes the next ui state, and says what the program shall do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from seance_tools.view.bindings import bindings
from seance_tools.view.model import QUIT, SORTS, Command, Event, Frame, Item, Spot, Ui

# ruff: noqa: ARG001 - one signature for all actions

WHEEL_LINES = 3
MESSAGE_SECONDS = 3.0
FILTER_CHARACTERS = 256
DEFAULT = bindings({})
Result = tuple[Ui, Command | None]


def update(ui: Ui, event: Event, frame: Frame, now: float, keys: Mapping[str, str] = DEFAULT) -> Result:
    """Return the ui state after a key or click on `frame`, and the command to carry out, or None.

    keys: what each key does, as `bindings` tells.
    """
    if event.pasted and not ui.editing:
        return ui, None
    if ui.editing and len(event.name) == 1:
        return _edit(ui, event.name), None
    name = event.name if event.name in _MOUSE else keys.get("space" if event.name == " " else event.name, "")
    if ui.help:
        return (ui, QUIT) if name == "quit" else (ui._replace(help=False), None)
    if ui.editing and (event.name in _EDITING or (name not in _MOVES and name not in _MOUSE)):
        return _edit(ui, event.name), None
    if name in _MOVES:
        return _select(ui, frame, _MOVES[name](frame)), None
    action = _ACTIONS.get(name)
    return action(ui, event, frame, now) if action else (ui, None)


def say(ui: Ui, message: str, now: float) -> Ui:
    """Return the ui state that shows a message for a while."""
    return ui._replace(message=message, until=now + MESSAGE_SECONDS)


def _select(ui: Ui, frame: Frame, number: int | None) -> Ui:
    if number is None or not frame.items:
        return ui
    number = min(max(number, 0), len(frame.items) - 1)
    return ui._replace(selected=frame.items[number].spot, number=number, offset=frame.offset, follow=True)


def _down(frame: Frame) -> int:
    return 0 if frame.selected is None else frame.selected + 1


def _up(frame: Frame) -> int:
    return len(frame.items) - 1 if frame.selected is None else frame.selected - 1


def _page_down(frame: Frame) -> int | None:
    row = frame.offset if frame.selected is None else frame.items[frame.selected].first
    later = (number for number, item in enumerate(frame.items) if item.first >= row + max(frame.height, 1))
    return next(later, len(frame.items) - 1)


def _page_up(frame: Frame) -> int | None:
    row = frame.offset if frame.selected is None else frame.items[frame.selected].first
    earlier = [number for number, item in enumerate(frame.items) if item.first <= row - max(frame.height, 1)]
    return earlier[-1] if earlier else 0


_MOVES: dict[str, Callable[[Frame], int | None]] = {
    "down": _down,
    "up": _up,
    "page-down": _page_down,
    "page-up": _page_up,
    "first": lambda _: 0,
    "last": lambda frame: len(frame.items) - 1,
}
_MOUSE = ("click", "wheel-up", "wheel-down")
_EDITING = ("enter", "escape", "backspace")


def _edit(ui: Ui, key: str) -> Ui:
    if key == "enter":
        return ui._replace(editing=False)
    if key == "escape":
        return ui._replace(editing=False, filter="", offset=0)
    if key == "backspace":
        return ui._replace(filter=ui.filter[:-1], offset=0)
    if len(key) == 1 and len(ui.filter) < FILTER_CHARACTERS:
        return ui._replace(filter=ui.filter + key, offset=0)
    return ui


def _item(frame: Frame) -> Item | None:
    return None if frame.selected is None else frame.items[frame.selected]


def _focus(ui: Ui, surface_id: int | None, now: float) -> Result:
    if surface_id is None:
        return say(ui, "no pane is known for it", now), None
    return ui, Command("surface.focus", {"surface_id": surface_id})


def _enter(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    return (ui, None) if frame.selected is None else _focus(ui, frame.target, now)


def _click(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    place = frame.places[event.row] if 0 <= event.row < len(frame.places) else None
    if place is None:
        return ui, None
    if place.expands:
        return _toggle(ui, place.spot.workspace_id), None
    number = next((number for number, item in enumerate(frame.items) if item.spot == place.spot), None)
    if number is None:
        return ui, None
    ui = _select(ui, frame, number)._replace(follow=False)  # it is seen; nothing shall move under the mouse
    return _focus(ui, frame.items[number].surface_id, now)


def _wheel(lines: int) -> Callable[[Ui, Event, Frame, float], Result]:
    def action(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
        return ui._replace(offset=max(frame.offset + lines, 0), follow=False), None

    return action


def _toggle(ui: Ui, workspace_id: int) -> Ui:
    return ui._replace(expanded=ui.expanded ^ {workspace_id})


def _expand(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    item = _item(frame)
    return (_toggle(ui, item.spot.workspace_id) if item else ui), None


def _next(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    if not frame.waiting:
        return say(ui, "none needs input", now), None
    spot = frame.waiting[0]
    if ui.selected in frame.waiting:
        spot = frame.waiting[(frame.waiting.index(ui.selected) + 1) % len(frame.waiting)]
    elif ui.selected is not None:
        spot = _after(ui.selected, frame)
    numbers = {item.spot: number for number, item in enumerate(frame.items)}
    if spot in numbers:
        return _select(ui, frame, numbers[spot]), None
    if not ui.compact:  # hidden behind "+2 more"
        ui = ui._replace(expanded=ui.expanded | {spot.workspace_id})
    return ui._replace(selected=spot, offset=frame.offset, follow=True), None


def _after(selected: Spot, frame: Frame) -> Spot:
    """Return the first waiting spot below the selected one, else the first of all."""
    workspaces = [item.spot.workspace_id for item in frame.items if item.spot.key is None]
    here = workspaces.index(selected.workspace_id) if selected.workspace_id in workspaces else 0
    below = set(workspaces[here:])
    return next((spot for spot in frame.waiting if spot.workspace_id in below), frame.waiting[0])


def _mark_read(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    item = _item(frame)
    if item is None:
        return say(ui, "nothing is selected", now), None
    return ui, Command("notification.mark_read", {"workspace_id": item.spot.workspace_id})


def _sort(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    order = SORTS[(SORTS.index(ui.sort) + 1) % len(SORTS)]
    return say(ui._replace(sort=order), f"sorted: {order}", now), None


def _compact(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    return ui._replace(compact=not ui.compact), None


def _fold(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    ui = ui._replace(folded=not ui.folded)
    return say(ui, "idle workspaces on one line" if ui.folded else "idle workspaces in full", now), None


def _filter(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    return ui._replace(editing=True), None


def _escape(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    """Take back the filter, and with none the selection."""
    return (ui._replace(filter="", offset=0) if ui.filter else ui._replace(selected=None)), None


def _help(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    return ui._replace(help=True), None


def _quit(ui: Ui, event: Event, frame: Frame, now: float) -> Result:
    return ui, QUIT


_ACTIONS: dict[str, Callable[[Ui, Event, Frame, float], Result]] = {
    "click": _click,
    "wheel-up": _wheel(-WHEEL_LINES),
    "wheel-down": _wheel(WHEEL_LINES),
    "jump": _enter,
    "expand": _expand,
    "next": _next,
    "mark-read": _mark_read,
    "filter": _filter,
    "sort": _sort,
    "compact": _compact,
    "fold": _fold,
    "back": _escape,
    "help": _help,
    "quit": _quit,
}
