"""Sessions on other machines: where they show, and that they end without a process that could be watched."""

from __future__ import annotations

from seance_tools.state.places import Caller, Place
from tests.state.bench import Bench, pane

THERE = Place("host:web1:/tmp/tmux-0/default,1,0,%1", "host:web1", "web1")


def test_a_machine_is_a_workspace_of_its_own(bench: Bench) -> None:
    bench.call("agent.hook", Caller(place=THERE, host="web1"), agent="codebuff", event="prompt-submit")
    assert bench.only("workspace")["title"] == "web1"
    assert bench.only("agent")["host"] == "web1"
    assert bench.only("status")["display_name"] == "Codebuff"
    assert not bench.call("surface.health")["surfaces"][0]["focusable"]


def test_in_a_pane_of_this_machine_the_machine_stands_beside_the_name(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.hook("stop", pane(1))
    bench.call(
        "agent.hook", Caller(host="web1"), agent="claude", event="prompt-submit", surface_id=1, workspace_id=1
    )
    shown = {row["display_name"] for row in bench.tables.all("status")}
    assert shown == {"Codebuff", "Claude Code@web1"}
    assert next(iter(bench.tables.all("agent")))["host"] == ""


def test_with_its_last_session_a_pane_of_another_machine_goes(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    caller = Caller(place=THERE, host="web1")
    bench.call("agent.hook", caller, agent="codebuff", event="prompt-submit")
    bench.call("agent.hook", caller, agent="claude", event="prompt-submit")
    bench.call("agent.hook", caller, agent="claude", event="session-end")
    assert len(list(bench.tables.all("surface"))) == 2
    bench.call("agent.hook", caller, agent="codebuff", event="session-end")
    assert bench.only("surface")["id"] == 1
    assert bench.only("workspace")["title"] == "work"


def test_a_machine_that_is_gone_can_be_taken_away_as_a_whole(bench: Bench) -> None:
    bench.call("agent.hook", Caller(place=THERE, host="web1"), agent="codebuff", event="prompt-submit")
    bench.call("workspace.close", workspace_id=bench.only("workspace")["id"])
    assert not [row for kind in ("workspace", "surface", "agent", "status") for row in bench.tables.all(kind)]
