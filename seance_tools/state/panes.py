"""What a terminal lists of its panes, taken over; and what follows from what somebody looks at now."""

from __future__ import annotations

from seance_tools.state import workspaces
from seance_tools.state.notifications import mark_seen
from seance_tools.state.places import place_panes, seen
from seance_tools.state.tables import Row, Tables


def take_panes(tables: Tables, prefix: str, panes: list[Row], now: float) -> None:
    """Do what `place_panes` does; a surface that somebody has begun to look at is selected and read.

    panes: may have `activity` too, when their session was used last (seconds since 1970): of several
    surfaces the one of the session used last is selected.
    """
    before = {row["id"] for row in tables.all("surface") if seen(tables, row["id"])}
    place_panes(tables, prefix, panes, now)
    used = {pane["place"]: pane.get("activity", 0) for pane in panes}
    newly = [row for row in tables.all("surface") if row["id"] not in before and seen(tables, row["id"])]
    for row in newly:
        mark_seen(tables, surface_id=row["id"])
    if newly:
        row = max(newly, key=lambda row: used.get(row["place"], 0))
        workspaces.select(tables, row["workspace_id"], row["id"])


def out_of_sight(tables: Tables, prefix: str) -> None:
    """Forget who looks at the surfaces of a server that nobody listens to any more."""
    for row in [row for row in tables.all("surface") if row["place"].startswith(prefix)]:
        tables.update("surface", row, visible=False)
