"""What a terminal tells of its panes."""

from __future__ import annotations

from typing import Any, NamedTuple

Pane = dict[str, Any]  # a row for state.places.place_panes


class Listing(NamedTuple):
    """What the places of one server begin with, and its panes."""

    prefix: str
    panes: list[Pane]


class Screen(NamedTuple):
    """A pane's text, a line each, and where the cursor is; rows and columns count from 0.

    The sizes are in character cells. What a terminal does not tell is None.
    """

    text: str
    cursor_row: int | None = None
    cursor_column: int | None = None
    rows: int | None = None
    columns: int | None = None


def last_lines(text: str, count: int) -> str:
    """Return the last `count` lines of a screen; the empty ones at its end do not count."""
    return "\n".join(text.rstrip("\n ").split("\n")[-count:])
