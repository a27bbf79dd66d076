"""The plain data of the view: what the person has chosen, what is on the screen, what happens."""

from __future__ import annotations

from typing import Any, NamedTuple

Piece = tuple[str, str]  # text, name of its style
Row = tuple[Piece, ...]
SORTS = ("manual", "attention", "recent")


class Spot(NamedTuple):
    """Something that can be selected: a workspace (key None) or one of its status entries."""

    workspace_id: int
    key: str | None = None


class Ui(NamedTuple):
    """What the person has chosen.

    selected and number: the selection, and its place among the items for when it has gone. follow: the
    screen scrolls to the selection, until the wheel takes it elsewhere. compact: every workspace on one
    line; folded: those in which all is idle. message: a line at the bottom, shown until the time `until`.
    """

    selected: Spot | None = None
    number: int = 0
    offset: int = 0
    follow: bool = False
    expanded: frozenset[int] = frozenset()
    compact: bool = False
    folded: bool = False
    sort: str = SORTS[0]
    filter: str = ""
    editing: bool = False
    help: bool = False
    message: str = ""
    until: float = 0.0


class Event(NamedTuple):
    """A key by its name or character, or "click", "wheel-up", "wheel-down" on a row of the screen.

    pasted: the character came with a paste, so that nobody meant it as a key.
    """

    name: str
    row: int = 0
    pasted: bool = False


class Command(NamedTuple):
    """What the program shall do: ask the broker for `method`, or end."""

    method: str
    params: dict[str, Any]


QUIT = Command("quit", {})


class Item(NamedTuple):
    """A spot with the surface to jump to (None if unknown) and its first and last row of the list."""

    spot: Spot
    surface_id: int | None
    first: int
    last: int


class Place(NamedTuple):
    """What a click on a row of the screen means."""

    spot: Spot
    expands: bool = False


class Frame(NamedTuple):
    """What is on the screen, and what keys and clicks on it refer to.

    rows: one for each line of the screen. places: what a click on each of them means. waiting: the status
    entries that need input, in order, hidden ones too. selected: number of the selected item, or None.
    target: the surface to jump to for the selection, which may be hidden in its workspace's line; or None.
    sinces: the times whose ages are on the screen. height: lines of the list's part of the screen, which
    begins `offset` lines into the list. ui: the ui state that the frame was made from.
    """

    rows: tuple[Row, ...]
    places: tuple[Place | None, ...]
    items: tuple[Item, ...]
    waiting: tuple[Spot, ...]
    selected: int | None
    offset: int
    height: int
    ui: Ui
    target: int | None = None
    sinces: tuple[float, ...] = ()


class Trouble(NamedTuple):
    """Why nothing new comes from the broker: a word or two, and the reason in a line ("" for none)."""

    title: str
    reason: str = ""
