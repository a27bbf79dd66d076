from __future__ import annotations

import pytest

from seance_tools.wire import WireError
from tests.state.bench import Bench, pane


def test_lists_by_agent_surface_workspace(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.hook("prompt-submit", pane(1), agent="claude")
    bench.hook("prompt-submit", pane(2, session=1))
    assert [row["session"] for row in bench.call("agent.list")["agents"]] == [
        "claude-1",
        "codebuff-1",
        "codebuff-2",
    ]
    assert len(bench.call("agent.list", agent="codebuff")["agents"]) == 2
    assert len(bench.call("agent.list", surface_id=1)["agents"]) == 2
    assert len(bench.call("agent.list", workspace_id=2)["agents"]) == 1
    assert bench.call("agent.list", session="none")["agents"] == []


def test_explain_says_which_rule_how_old_and_what_would_change_it(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), pid=77)
    bench.now += 60
    [row] = bench.call("agent.explain", session="codebuff-1")["agents"]
    explanation = row["explanation"]
    assert (row["state"], explanation["rule"], explanation["source"]) == ("running", "prompt-submit", "hook")
    assert (explanation["age_seconds"], explanation["inferred"]) == (60.0, False)
    assert "stop" in explanation["would_change"]["idle"]
    assert "running" not in explanation["would_change"]
    assert explanation["would_change"]["ended"] == ["session-end", "the end of process 77"]
    assert explanation["would_change"]["background"] == ["stop with background_tasks"]


def test_explain_needs_a_session(bench: Bench) -> None:
    with pytest.raises(WireError) as caught:
        bench.call("agent.explain", surface_id=5)
    assert caught.value.code == "not_found"


def test_a_new_process_in_the_same_pane_takes_the_row_over(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), pid=77)
    bench.hook("prompt-submit", pane(1), pid=78)
    assert bench.only("agent")["pid"] == 78
