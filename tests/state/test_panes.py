from __future__ import annotations

from typing import Any

import pytest

from seance_tools.names import LIMITS
from seance_tools.state.panes import out_of_sight, take_panes
from seance_tools.state.places import seen
from tests.state.bench import SERVER, Bench, pane


def listed(number: int, *, session: int = 0, sight: str = "", activity: int = 0) -> dict[str, Any]:
    """Return a pane as tmux lists it; sight: of "av", for active and visible."""
    return {
        "place": f"{SERVER}%{number}",
        "workspace": f"{SERVER}${session}",
        "workspace_title": f"s{session}",
        "title": "",
        "cwd": "/",
        "columns": [],
        "active": "a" in sight,
        "visible": "v" in sight,
        "zoomed": False,
        "activity": activity,
    }


def unread(bench: Bench) -> list[int]:
    return [row["surface_id"] for row in bench.tables.all("notification") if not row["read"]]


def two(bench: Bench) -> None:
    for number in (1, 2):
        bench.hook("prompt-submit", pane(number, session=number))
        bench.call("notification.create", title="t", surface_id=number)


def test_only_the_active_one_of_those_that_are_shown_is_seen(bench: Bench) -> None:
    two(bench)
    assert not seen(bench.tables, 1)  # nothing was listed yet
    for sight, wanted in (("av", True), ("a", False), ("v", False), ("", False)):
        take_panes(bench.tables, SERVER, [listed(1, sight=sight), listed(2, session=2)], 0.0)
        assert seen(bench.tables, 1) is wanted
    assert not seen(bench.tables, None)
    assert not seen(bench.tables, 99)


def test_what_somebody_begins_to_look_at_is_read_and_selected(bench: Bench) -> None:
    two(bench)
    take_panes(bench.tables, SERVER, [listed(1, sight="av"), listed(2, session=2, sight="a")], 0.0)
    assert unread(bench) == [2]
    assert bench.only("selection")["surface_id"] == 1
    bench.call("workspace.select", workspace_id=2)
    take_panes(bench.tables, SERVER, [listed(1, sight="av"), listed(2, session=2, sight="a")], 0.0)
    assert bench.only("selection")["workspace_id"] == 2  # nobody has moved


def test_of_several_the_one_used_last_is_selected(bench: Bench) -> None:
    two(bench)
    panes = [listed(1, sight="av", activity=9), listed(2, session=2, sight="av", activity=5)]
    take_panes(bench.tables, SERVER, panes, 0.0)
    assert unread(bench) == []
    assert bench.only("selection")["surface_id"] == 1


def test_nobody_is_said_to_look_once_nobody_listens(bench: Bench) -> None:
    two(bench)
    take_panes(bench.tables, SERVER, [listed(1, sight="av"), listed(2, session=2)], 0.0)
    out_of_sight(bench.tables, SERVER)
    assert not seen(bench.tables, 1)


def surfaces(bench: Bench) -> list[str]:
    return sorted(row["place"].removeprefix(SERVER) for row in bench.tables.all("surface"))


def test_panes_beside_one_that_reported_are_surfaces_and_go_with_it(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1, session=1))
    beside, elsewhere = listed(2, session=1), listed(3, session=3)
    take_panes(bench.tables, SERVER, [listed(1, session=1), beside, elsewhere], 0.0)
    assert surfaces(bench) == ["%1", "%2"]
    take_panes(bench.tables, SERVER, [beside, elsewhere], 0.0)
    assert surfaces(bench) == []
    assert not list(bench.tables.all("workspace"))


def test_a_pane_beside_one_stays_once_it_has_reported(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1, session=1))
    take_panes(bench.tables, SERVER, [listed(1, session=1), listed(2, session=1)], 0.0)
    bench.hook("prompt-submit", pane(2, session=1))
    take_panes(bench.tables, SERVER, [listed(2, session=1)], 0.0)
    assert surfaces(bench) == ["%2"]


def test_no_more_panes_are_listed_than_surfaces_may_be(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "surfaces", 2)
    bench.hook("prompt-submit", pane(1, session=1))
    take_panes(bench.tables, SERVER, [listed(number, session=1) for number in range(1, 9)], 0.0)
    assert surfaces(bench) == ["%1", "%2"]
