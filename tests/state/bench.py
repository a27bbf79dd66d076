"""The state with a clock, called as the broker calls it: no processes, no sockets."""

from __future__ import annotations

from typing import Any

from seance_tools import methods
from seance_tools.state import calls
from seance_tools.state.places import Caller, Context, Place
from seance_tools.state.tables import Tables

SERVER = "tmux:/tmp/tmux-0/default,42,99:"


def pane(number: int, session: int = 0, title: str = "work") -> Place:
    return Place(f"{SERVER}%{number}", f"{SERVER}${session}", title, (42, 99))


NOBODY = Caller()


class Bench:
    """Tables with a clock, called as the broker calls them."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.now = 1000.0

    def call(self, name: str, caller: Caller = NOBODY, /, **params: Any) -> Any:
        method = methods.find(name)
        valid = methods.validate(method, params)
        if valid.get("pid"):
            valid["start_time"] = 5
        if valid.get("reporter_pid"):
            valid["reporter_start_time"] = 5
        given = Caller(valid.get("surface_id"), valid.get("workspace_id"), caller.place, caller.host)
        return calls.call(self.tables, method, valid, Context(self.now, given))

    def hook(self, event: str, place: Place | None = None, agent: str = "codebuff", **params: Any) -> Any:
        return self.call("agent.hook", Caller(place=place), agent=agent, event=event, **params)

    def only(self, kind: str) -> dict[str, Any]:
        [row] = self.tables.all(kind)
        return row
