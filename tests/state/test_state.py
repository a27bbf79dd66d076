from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.names import LIMITS
from seance_tools.state import metadata, places, sessions
from seance_tools.state.places import Caller, Place
from seance_tools.state.tables import KINDS, Tables
from seance_tools.wire import WireError
from tests.state.bench import SERVER, Bench, pane


def test_a_status_creates_its_workspace_and_is_shown_in_the_tree(bench: Bench) -> None:
    bench.call(
        "workspace.set_status", workspace_id=123, key="opencode", value="Running", priority=5, is_agent=True
    )
    [workspace] = bench.call("system.tree")["windows"][0]["workspaces"]
    assert workspace["id"] == 123
    assert workspace["active"]
    [status] = workspace["status"]
    assert (status["key"], status["value"], status["display_name"]) == ("opencode", "Running", "OpenCode")


def test_statuses_are_sorted_by_priority_then_key(bench: Bench) -> None:
    for key, priority in (("b", 0), ("a", 0), ("z", 10), ("m", -1)):
        bench.call("workspace.set_status", workspace_id=1, key=key, value="x", priority=priority)
    assert [row["key"] for row in metadata.statuses(bench.tables, 1)] == ["z", "a", "b", "m"]


def test_a_full_status_table_is_an_error(bench: Bench) -> None:
    for number in range(LIMITS["status_entries"]):
        bench.call("workspace.set_status", workspace_id=1, key=f"k{number}", value="x")
    with pytest.raises(WireError) as caught:
        bench.call("workspace.set_status", workspace_id=1, key="one more", value="x")
    assert caught.value.code == "limit_exceeded"
    bench.call("workspace.set_status", workspace_id=1, key="k0", value="y")
    bench.call("workspace.set_status", workspace_id=2, key="one more", value="x")


def test_since_stays_while_value_and_state_do(bench: Bench) -> None:
    given: dict[str, Any] = {"workspace_id": 1, "key": "k", "value": "x"}
    bench.call("workspace.set_status", **given)
    bench.now += 10
    bench.call("workspace.set_status", **given, priority=3)
    assert bench.only("status")["since"] == 1000.0
    bench.call("workspace.set_status", **given | {"value": "y"})
    assert bench.only("status")["since"] == 1010.0


def test_what_changes_nothing_makes_no_change(bench: Bench) -> None:
    bench.call("workspace.set_status", workspace_id=1, key="k", value="x")
    bench.tables.take_changes()
    bench.call("workspace.set_status", workspace_id=1, key="k", value="x")
    assert bench.tables.take_changes() == []


def test_clear_status_tells_whether_there_was_one(bench: Bench) -> None:
    bench.call("workspace.set_status", workspace_id=1, key="k", value="x")
    assert bench.call("workspace.clear_status", workspace_id=1, key="k") == {"cleared": True}
    assert bench.call("workspace.clear_status", workspace_id=1, key="k") == {"cleared": False}


def test_a_status_expires(bench: Bench) -> None:
    bench.call("workspace.set_status", workspace_id=1, key="k", value="x", ttl_ms=1500)
    assert metadata.next_expiry(bench.tables) == 1001.5
    metadata.expire(bench.tables, 1001.4)
    assert metadata.next_expiry(bench.tables)
    metadata.expire(bench.tables, 1001.5)
    assert metadata.next_expiry(bench.tables) is None


@pytest.mark.parametrize(("value", "shown"), [(0.75, 0.75), (7, 1.0), (-1, 0.0)])
def test_progress_is_clamped(bench: Bench, value: float, shown: float) -> None:
    bench.call("workspace.set_progress", workspace_id=1, value=value, label="Processing...")
    assert bench.only("progress") == {
        "workspace_id": 1,
        "active": True,
        "value": shown,
        "label": "Processing...",
    }
    bench.call("workspace.clear_progress", workspace_id=1)
    assert not list(bench.tables.all("progress"))


def test_the_log_is_a_ring(bench: Bench) -> None:
    size = LIMITS["log_entries"]
    for number in range(size + 5):
        bench.call("workspace.append_log", workspace_id=1, message=f"m{number}", level="warning")
    lines = list(bench.tables.of_workspace("log", 1).values())
    assert [line["message"] for line in lines] == [f"m{number}" for number in range(5, size + 5)]
    assert metadata.latest_log(bench.tables, 1) == lines[-1]
    bench.call("workspace.clear_log", workspace_id=1)
    assert metadata.latest_log(bench.tables, 1) is None


def test_subagent_counts(bench: Bench) -> None:
    bench.call("workspace.set_subagent_counts", workspace_id=1, subagent_count=3, background_count=1)
    assert metadata.counts(bench.tables, 1) == {"workspace_id": 1, "subagent_count": 3, "background_count": 1}
    assert metadata.counts(bench.tables, 2)["subagent_count"] == 0


def test_a_codebuff_session_from_start_to_end(bench: Bench) -> None:
    assert bench.hook("prompt-submit", pane(1), pid=77)["session"] == "codebuff-1"
    status = bench.only("status")
    assert (status["key"], status["value"], status["priority"]) == ("codebuff-1", "Running", 5)
    bench.now += 5
    bench.hook("stop", pane(1), pid=77)
    status = bench.only("status")
    assert (status["value"], status["priority"], status["since"]) == ("Idle", 0, 1005.0)
    assert bench.hook("session-end", pane(1), pid=77)["changed"]
    assert not list(bench.tables.all("status"))
    assert not list(bench.tables.all("agent"))


def test_a_session_ends_with_its_process_and_with_no_other(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), pid=77)
    sessions.process_ended(bench.tables, 77, 6, bench.now)
    assert bench.only("agent")["pid"] == 77
    assert (77, 5) in sessions.processes(bench.tables)
    sessions.process_ended(bench.tables, 77, 5, bench.now)
    assert not list(bench.tables.all("status"))


def test_the_end_of_a_tmux_server_takes_all_its_surfaces(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), pid=77)
    bench.hook("prompt-submit", pane(2, 1), pid=78)
    bench.call("workspace.set_status", workspace_id=50, key="k", value="x")
    sessions.process_ended(bench.tables, 42, 99, bench.now)
    assert not list(bench.tables.all("agent"))
    assert bench.only("workspace")["id"] == 50
    assert bench.only("selection")["workspace_id"] == 50


def test_panes_of_one_session_share_a_workspace(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.hook("prompt-submit", pane(2))
    bench.hook("prompt-submit", pane(3, session=1))
    assert [row["workspace_id"] for row in bench.tables.all("surface")] == [1, 1, 2]
    assert [row["key"] for row in metadata.statuses(bench.tables, 1)] == ["codebuff-1", "codebuff-2"]


def test_the_same_pane_of_another_server_is_another_surface(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    other = Place("tmux:/tmp/tmux-0/default,43,100:%1", "tmux:/tmp/tmux-0/default,43,100:$0")
    assert bench.hook("prompt-submit", other)["session"] == "codebuff-2"


def test_explicit_ids_win(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), surface_id=9, workspace_id=4)
    surface = bench.only("surface")
    assert (surface["id"], surface["workspace_id"]) == (9, 4)


def test_a_report_without_a_place_is_unattached(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.hook("prompt-submit", agent="claude", pid=5)
    agent = next(row for row in bench.tables.all("agent") if row["agent"] == "claude")
    assert agent["surface_id"] is None
    workspace = bench.tables.get("workspace", agent["workspace_id"])
    assert workspace
    assert workspace["title"] == "Unattached"


def test_ids_are_never_given_twice(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    places.remove_surface(bench.tables, 1)
    assert not list(bench.tables.all("workspace"))
    bench.hook("prompt-submit", pane(2))
    assert bench.only("surface")["id"] == 2
    assert bench.only("workspace")["id"] == 2


def test_an_id_taken_by_hand_is_passed_over(bench: Bench) -> None:
    bench.call("workspace.set_status", workspace_id=1, key="k", value="x")
    bench.hook("prompt-submit", pane(1))
    assert bench.only("surface")["workspace_id"] == 2


def listed(number: int, session: int = 0, title: str = "shop", index: int = 0) -> dict[str, Any]:
    return {
        "place": f"{SERVER}%{number}",
        "workspace": f"{SERVER}${session}",
        "workspace_title": title,
        "title": "t\x1b",
        "cwd": "/home/someone/shop",
        "columns": [{"index": index, "title": "w", "active": True}],
    }


def test_the_terminals_list_moves_renames_and_removes(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.hook("prompt-submit", pane(2))
    places.place_panes(bench.tables, SERVER, [listed(1, session=3)], bench.now)
    surface = bench.only("surface")
    assert (surface["title"], surface["cwd"]) == ("t␛", "/home/someone/shop")
    workspace = bench.only("workspace")
    assert (workspace["title"], workspace["columns"][0]["active"]) == ("shop", True)
    assert bench.only("status")["workspace_id"] == workspace["id"] == surface["workspace_id"]
    assert bench.only("agent")["workspace_id"] == workspace["id"]
    places.place_panes(bench.tables, SERVER, [], bench.now)
    assert not any(bench.tables.rows[kind] for kind in ("workspace", "surface", "agent", "status"))


def test_identify(bench: Bench) -> None:
    assert bench.call("system.identify")["workspace_id"] is None
    bench.hook("prompt-submit", pane(1))
    result = bench.call("system.identify", Caller(place=pane(1)))
    assert set(result) == {
        "window_index",
        "workspace_id",
        "workspace_index",
        "pane_group_id",
        "surface_id",
        "browser_panel_id",
        "caller",
    }
    assert (result["workspace_id"], result["workspace_index"]) == (1, 0)
    assert result["caller"]["surface_id"] == 1
    assert bench.call("system.identify", Caller(place=pane(2)))["caller"] is None


def test_hooks_for_progress_and_log(bench: Bench) -> None:
    bench.hook("progress", pane(1), agent="myagent", payload={"value": 0.75, "label": "Processing 3/4 items"})
    assert bench.only("progress")["value"] == 0.75
    bench.hook(
        "log", pane(1), agent="myagent", payload={"message": "Completed index rebuild", "level": "info"}
    )
    assert bench.only("log")["message"] == "Completed index rebuild"
    for payload in ({}, {"value": "x"}, {"value": True}, {"value": 1, "label": 5}):
        with pytest.raises(WireError, match="payload"):
            bench.hook("progress", pane(1), payload=payload)
    for payload in ({}, {"message": 5}, {"message": "m", "level": "loud"}):
        with pytest.raises(WireError, match="payload"):
            bench.hook("log", pane(1), payload=payload)


def test_unknown_events_are_acknowledged_and_change_nothing(bench: Bench) -> None:
    assert bench.hook("colour-changed", pane(1), agent="codex") == {
        "session": "",
        "state": None,
        "changed": False,
        "reply": '{"continue":true}',
    }
    assert bench.tables.take_changes() == []


def test_texts_from_hooks_are_cleaned_and_cut(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), payload={"status": "a\x1b]0;x" + "y" * 5000})
    value = bench.only("status")["value"]
    assert value.startswith("a␛]0;x")
    assert value.endswith("…")
    assert len(value) == LIMITS["name_characters"]


def test_a_copy_follows_by_snapshot_and_events(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), pid=77)
    bench.tables.take_changes()
    copy = Tables.from_snapshot(json.loads(json.dumps(bench.tables.snapshot())))
    bench.hook("stop", pane(1))
    bench.call("workspace.append_log", workspace_id=1, message="m")
    bench.call("workspace.set_progress", workspace_id=1, value=1)
    bench.hook("session-end", pane(1))
    bench.call("workspace.clear_log", workspace_id=1)
    for change in bench.tables.take_changes():
        copy.apply_event(json.loads(json.dumps(change.event())))
    assert copy.snapshot() == bench.tables.snapshot()
    copy.apply_event({"event": "novelty.set", "data": {"id": 1}})


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["set", "clear", "log", "clear_log", "hook", "end", "gone"]),
            st.integers(1, 3),
            st.integers(1, 3),
        )
    )
)
def test_whatever_happens_a_copy_stays_equal(steps: list[tuple[str, int, int]]) -> None:
    bench = Bench()
    copy = Tables()
    for step, a, b in steps:
        bench.now += 1
        match step:
            case "set":
                bench.call("workspace.set_status", workspace_id=a, key=f"k{b}", value="x")
            case "clear":
                bench.call("workspace.clear_status", workspace_id=a, key=f"k{b}")
            case "log":
                bench.call("workspace.append_log", workspace_id=a, message="m")
            case "clear_log":
                bench.call("workspace.clear_log", workspace_id=a)
            case "hook":
                bench.hook("prompt-submit", pane(a, b), pid=a)
            case "end":
                bench.hook("session-end", pane(a, b))
            case "gone":
                places.remove_surface(bench.tables, a)
        for change in bench.tables.take_changes():
            copy.apply(change.kind, change.row) if change.row else copy.apply_event(change.event())
    for kind in KINDS:
        assert copy.rows[kind] == bench.tables.rows[kind]
    for agent in bench.tables.all("agent"):
        assert bench.tables.get("status", agent["workspace_id"], agent["session"])
    selection = bench.tables.get("selection")
    assert (selection is None) == (not bench.tables.rows["workspace"])
    assert selection is None or bench.tables.get("workspace", selection["workspace_id"])


def test_undo_takes_back_all_but_the_counters(bench: Bench) -> None:
    bench.call("workspace.set_status", workspace_id=1, key="k", value="x")
    bench.tables.take_changes()
    before = bench.tables.snapshot()
    mark = bench.tables.mark()
    bench.call("workspace.set_status", workspace_id=1, key="k", value="y")
    bench.call("workspace.create", title="new")
    bench.call("workspace.close", workspace_id=1)
    bench.tables.undo(mark)
    assert bench.tables.snapshot() == before
    assert {change.kind for change in bench.tables.take_changes()} == {"counter"}
    assert bench.call("workspace.create")["workspace_id"] == 3


def test_taking_away_makes_nothing(bench: Bench) -> None:
    assert bench.call("workspace.clear_status", workspace_id=9, key="k") == {"cleared": False}
    bench.call("workspace.clear_log", workspace_id=9)
    bench.call("workspace.clear_progress", Caller(place=pane(1)))
    assert bench.tables.take_changes() == []
