"""Tables filled through the broker's own methods, and what a screen of them looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seance_tools.methods import find, validate
from seance_tools.state.calls import call
from seance_tools.state.places import Caller, Context
from seance_tools.state.tables import Tables
from seance_tools.text import width
from seance_tools.view import (
    STYLES,
    Command,
    Event,
    Frame,
    Theme,
    Ui,
    render,
    text,
    update,
)

NOW = 1_700_000_000.25
GOLDEN = Path(__file__).parent / "data" / "view"
THEME = Theme(home="/home/me")


class World:
    """Tables, filled through the broker's own methods."""

    def __init__(self) -> None:
        self.tables = Tables()
        # A test makes the notifications that it is about; those of the agents' steps would come on top.
        self.tables.options = {**self.tables.options, "notifications.enabled": False}

    def do(self, method: str, ago: float = 0, **params: Any) -> None:
        row = find(method)
        call(
            self.tables,
            row,
            validate(row, params),
            Context(NOW - ago, Caller(None, params.get("workspace_id"))),
        )

    def hook(self, agent: str, event: str, place: tuple[int, int], ago: float = 0, **payload: Any) -> None:
        row = find("agent.hook")
        params = validate(row, {"agent": agent, "event": event, "payload": payload})
        call(self.tables, row, params, Context(NOW - ago, Caller(place[1], place[0])))

    def update(self, kind: str, key: int, **members: Any) -> None:
        row = self.tables.get(kind, key)
        assert row
        self.tables.update(kind, row, **members)

    def notify(self, number: int, workspace_id: int, title: str, body: str, *, read: bool = False) -> None:
        row = {"id": number, "workspace_id": workspace_id, "surface_id": None, "title": title, "subtitle": ""}
        self.tables.set("notification", {**row, "body": body, "read": read, "created_at": NOW - 100 + number})

    def render(
        self, size: tuple[int, int] = (41, 40), ui: Ui | None = None, theme: Theme = THEME, now: float = NOW
    ) -> Frame:
        return render(self.tables, size, ui or Ui(), theme, now)

    def press(
        self, names: list[str], ui: Ui | None = None, size: tuple[int, int] = (41, 40)
    ) -> tuple[Ui, Command | None]:
        """Press keys one after another, each on the screen that the last one made."""
        ui, command = ui or Ui(), None
        for name in names:
            ui, command = update(ui, Event(name), self.render(size, ui), NOW)
        return ui, command


def columns(*active: bool) -> list[dict[str, Any]]:
    return [{"index": index, "title": "", "active": flag} for index, flag in enumerate(active)]


def lines(frame: Frame) -> list[str]:
    return [text(row).rstrip() for row in frame.rows]


def check_frame(frame: Frame, size: tuple[int, int]) -> None:
    assert len(frame.rows) == len(frame.places) == size[1]
    for row in frame.rows:
        assert width(text(row)) == max(size[0] - 1, 0), text(row)
        assert all(style in STYLES for _, style in row)
