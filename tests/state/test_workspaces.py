from __future__ import annotations

from typing import Any

import pytest

from seance_tools.state import places
from seance_tools.state.places import Caller
from seance_tools.wire import WireError
from tests.state.bench import SERVER, Bench, pane


def titles(bench: Bench) -> list[str]:
    return [row["title"] for row in bench.call("workspace.list")["workspaces"]]


def current(bench: Bench) -> Any:
    row = bench.call("workspace.current")["workspace"]
    return row and row["title"]


@pytest.fixture
def four(bench: Bench) -> Bench:
    for title in "abcd":
        bench.call("workspace.create", title=title)
    return bench


def test_create_selects_unless_told_otherwise(bench: Bench) -> None:
    assert current(bench) is None
    first = bench.call("workspace.create", title="one")["workspace_id"]
    assert current(bench) == "one"
    bench.call("workspace.create", select=False)
    assert current(bench) == "one"
    assert titles(bench) == ["one", f"Workspace {first + 1}"]


def test_next_previous_and_last(four: Bench) -> None:
    assert current(four) == "d"
    four.call("workspace.next")
    assert current(four) == "a"
    four.call("workspace.previous")
    assert current(four) == "d"
    four.call("workspace.select", workspace_id=2)
    four.call("workspace.last")
    assert current(four) == "d"
    four.call("workspace.last")
    assert current(four) == "b"


def test_where_there_is_none_to_go_to(bench: Bench) -> None:
    for method in ("workspace.next", "workspace.previous", "workspace.last"):
        with pytest.raises(WireError) as caught:
            bench.call(method)
        assert caught.value.code == "not_found"


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ({"index": 0}, "cabd"),
        ({"index": 99}, "abdc"),
        ({"before": 1}, "cabd"),
        ({"before": 2}, "acbd"),
        ({"after": 4}, "abdc"),
        ({"after": 1}, "acbd"),
    ],
)
def test_reorder(four: Bench, given: dict[str, Any], order: str) -> None:
    four.call("workspace.reorder", workspace_id=3, **given)
    assert "".join(titles(four)) == order


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({}, "index"),
        ({"index": 0, "after": 1}, "after"),
        ({"before": 3}, "before"),
        ({"after": 99}, "after"),
    ],
)
def test_reorder_refuses(four: Bench, given: dict[str, Any], param: str) -> None:
    with pytest.raises(WireError) as caught:
        four.call("workspace.reorder", workspace_id=3, **given)
    assert caught.value.param == param


def test_pinned_ones_come_first(four: Bench) -> None:
    four.call("workspace.pin", workspace_id=3)
    assert titles(four) == ["c", "a", "b", "d"]
    four.call("workspace.pin", workspace_id=3, pinned=False)
    assert titles(four) == ["a", "b", "c", "d"]


def test_close_removes_what_belongs_to_it_and_selects_a_neighbour(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.call("workspace.create", title="other")
    bench.call("workspace.append_log", workspace_id=2, message="m")
    bench.call("workspace.close", workspace_id=2)
    assert current(bench) == "work"
    assert not bench.tables.rows["log"]
    bench.call("workspace.close", workspace_id=1)
    assert not any(
        bench.tables.rows[kind] for kind in ("workspace", "surface", "agent", "status", "selection")
    )


def test_a_name_given_by_the_user_stays(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1, title="from tmux"))
    bench.call("workspace.rename", workspace_id=1, title="mine")
    panes = {
        "place": f"{SERVER}%1",
        "workspace": f"{SERVER}$0",
        "workspace_title": "renamed in tmux",
        "title": "",
        "cwd": "/",
        "columns": [],
    }
    places.place_panes(bench.tables, SERVER, [panes], bench.now)
    assert titles(bench) == ["mine"]


@pytest.mark.parametrize("method", ["select", "close", "rename", "reorder", "pin"])
def test_an_unknown_workspace_is_not_made_by_these(bench: Bench, method: str) -> None:
    given: dict[str, dict[str, Any]] = {"rename": {"title": "x"}, "reorder": {"index": 0}}
    more = given.get(method, {})
    with pytest.raises(WireError) as caught:
        bench.call(f"workspace.{method}", workspace_id=9, **more)
    assert (caught.value.code, caught.value.param) == ("not_found", "workspace_id")
    assert titles(bench) == []


def test_metadata_goes_to_the_callers_workspace_and_nowhere_else(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.call("workspace.set_status", Caller(place=pane(1)), key="build", value="ok")
    assert bench.tables.get("status", 1, "build")
    bench.call("workspace.append_log", surface_id=1, message="m")
    assert bench.only("log")["workspace_id"] == 1
    with pytest.raises(WireError) as caught:
        bench.call("workspace.set_status", key="build", value="ok")
    assert (caught.value.code, caught.value.param) == ("invalid_params", "workspace_id")


def test_closing_takes_the_notifications_along(bench: Bench) -> None:
    bench.call("notification.create", workspace_id=1, title="t")
    bench.call("workspace.close", workspace_id=1)
    assert bench.call("notification.list")["notifications"] == []


def test_reorder_does_not_cross_the_pinned_ones(four: Bench) -> None:
    four.call("workspace.pin", workspace_id=1)
    with pytest.raises(WireError, match="pinned workspaces stay above") as caught:
        four.call("workspace.reorder", workspace_id=3, index=0)
    assert caught.value.param == "index"
    four.call("workspace.reorder", workspace_id=3, index=1)
    assert "".join(titles(four)) == "acbd"
