from __future__ import annotations

from typing import Any

import pytest

from seance_tools.names import LIMITS
from seance_tools.state.places import Caller
from seance_tools.wire import WireError
from tests.state.bench import Bench, pane


@pytest.fixture
def three(bench: Bench) -> Bench:
    bench.hook("prompt-submit", pane(1))
    bench.call("notification.create", Caller(place=pane(1)), title="a", body="in the pane")
    bench.call("notification.create", workspace_id=1, title="b", subtitle="s")
    bench.call("notification.create", workspace_id=2, title="c")
    return bench


def shown(bench: Bench, **params: Any) -> str:
    return "".join(row["title"] for row in bench.call("notification.list", **params)["notifications"])


def test_lists(three: Bench) -> None:
    assert shown(three) == "cba"
    assert shown(three, workspace_id=1) == "ba"
    assert shown(three, surface_id=1) == "a"
    assert three.call("notification.list")["unread"] == 3


def test_reading(three: Bench) -> None:
    assert three.call("notification.mark_read", workspace_id=1) == {"marked": 2}
    assert three.call("notification.mark_read", workspace_id=1) == {"marked": 0}
    assert shown(three, unread=True) == "c"
    assert three.call("notification.mark_read", notification_id=1, read=False) == {"marked": 1}
    assert three.call("notification.list")["unread"] == 2


def test_unread_counts_of_workspace_and_surface(three: Bench) -> None:
    first, second = three.call("system.tree")["windows"][0]["workspaces"]
    assert (first["unread"], second["unread"]) == (2, 1)
    assert first["pane_groups"][0]["surfaces"][0]["unread"] == 1


def test_clearing(three: Bench) -> None:
    assert three.call("notification.clear", notification_id=2) == {"cleared": 1}
    assert three.call("notification.clear", workspace_id=1) == {"cleared": 1}
    assert three.call("notification.clear") == {"cleared": 1}
    assert shown(three) == ""


@pytest.mark.parametrize("method", ["notification.clear", "notification.mark_read"])
def test_one_that_is_not_there(three: Bench, method: str) -> None:
    with pytest.raises(WireError, match="no notification 99"):
        three.call(method, notification_id=99)


def test_the_ring(bench: Bench) -> None:
    for number in range(LIMITS["notifications"] + 3):
        bench.call("notification.create", workspace_id=1, title=f"n{number}")
    rows = bench.call("notification.list")["notifications"]
    assert len(rows) == LIMITS["notifications"]
    assert rows[-1]["title"] == "n3"


def test_it_must_be_told_where(bench: Bench) -> None:
    with pytest.raises(WireError, match="workspace_id: missing"):
        bench.call("notification.create", title="x")


def test_an_agents_own_notification_is_shown_and_changes_no_state(bench: Bench) -> None:
    bench.hook("stop", pane(1), agent="claude")
    payload = {"notification_type": "auth_success", "message": "signed in"}
    bench.hook("notification", pane(1), agent="claude", payload=payload)
    row = bench.only("notification")
    assert (row["title"], row["body"], row["surface_id"]) == ("Claude Code", "signed in", 1)
    assert bench.only("agent")["state"] == "idle"


def test_one_of_a_pane_that_is_being_looked_at_is_read_at_once(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.hook("prompt-submit", pane(2))
    surface = bench.tables.rows["surface"][1,]
    bench.tables.update("surface", surface, active=True, visible=True)
    bench.hook("stop", pane(1))
    bench.hook("stop", pane(2))
    assert [(row["surface_id"], row["read"]) for row in bench.tables.all("notification")] == [
        (1, True),
        (2, False),
    ]
    assert bench.call("notification.list")["unread"] == 1
