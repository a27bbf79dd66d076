"""A clock that is set back while agents are at work."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.lifecycle import not_after, review
from seance_tools.lifecycle.silence import QUIET_STEPS
from seance_tools.state import sessions
from tests.lifecycle.session import BASH, Session, at_work
from tests.state.bench import Bench, pane

READ: dict[str, Any] = {"tool_name": "Read", "tool_input": {"file_path": "/etc/hosts"}}
LATE = 0.05  # seconds from a hook's own time to when its report is taken


class Desk:
    """A session of Claude Code in pane 1 whose hooks tell their time, and whose clock can be set."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        bench.now = 100_000.0
        self.hear("UserPromptSubmit")

    def hear(self, event: str, **payload: Any) -> str:
        """Report an event a second later, and return the state that follows."""
        self.bench.now += 1
        given: dict[str, Any] = {"payload": {"session_id": "s1", **payload}, "at": self.bench.now - LATE}
        state: str = self.bench.hook(event, pane(1), agent="claude", **given)["state"]
        return state

    def set_back(self) -> None:
        self.bench.now -= 3600

    @property
    def row(self) -> dict[str, Any]:
        return self.bench.only("agent")


@pytest.fixture
def desk(bench: Bench) -> Desk:
    return Desk(bench)


def test_a_request_after_it(desk: Desk) -> None:
    desk.hear("PreToolUse", tool_use_id="r", **READ)
    desk.hear("PostToolUse", tool_use_id="r", **READ)
    desk.set_back()
    assert desk.hear("PreToolUse", tool_use_id="b", **BASH) == "running"
    assert desk.hear("PermissionRequest", **BASH) == "needs_input"
    assert desk.hear("PostToolUse", tool_use_id="b", **BASH) == "running"
    assert desk.hear("Stop") == "idle"


@pytest.mark.parametrize("agent", [{}, {"agent_id": "a"}])
def test_a_request_before_it(desk: Desk, agent: dict[str, str]) -> None:
    desk.hear("PreToolUse", tool_use_id="b", **BASH, **agent)
    assert desk.hear("PermissionRequest", **BASH, **agent) == "needs_input"
    desk.set_back()
    assert desk.hear("PostToolUse", tool_use_id="b", **BASH, **agent) == "running"
    assert desk.hear("PreToolUse", tool_use_id="r", **READ, **agent) == "running"


@pytest.mark.parametrize("event", ["SubagentStop", "Stop", "StopFailure"])
def test_a_subagent_that_ends_after_it(desk: Desk, event: str) -> None:
    desk.hear("SubagentStart", agent_id="a")
    desk.set_back()
    desk.hear(event)
    desk.hear("SubagentStop", agent_id="a")
    assert desk.row["subagent_count"] == 0
    desk.hear("SubagentStart", agent_id="b")
    assert desk.row["subagent_count"] == 1


def test_a_turn_that_was_over_begins_again(desk: Desk) -> None:
    desk.hear("Stop")
    desk.set_back()
    assert desk.hear("UserPromptSubmit") == "running"
    desk.hear("PreToolUse", tool_use_id="b", **BASH)
    assert desk.hear("PermissionRequest", **BASH) == "needs_input"


def test_an_end_after_it(desk: Desk) -> None:
    desk.set_back()
    desk.hear("SessionEnd", reason="other")
    assert not desk.bench.tables.rows["agent"]
    desk.set_back()
    assert desk.hear("SessionStart", source="resume") == "idle"


def test_esc_and_silence_after_it(desk: Desk) -> None:
    desk.set_back()
    now = desk.bench.now
    sessions.expire(desk.bench.tables, now)
    assert sessions.next_due(desk.bench.tables) == now + QUIET_STEPS[0]
    desk.set_back()
    seen = {"at": desk.bench.now - LATE, "interrupted": True}
    assert sessions.look(desk.bench.tables, "claude-1", desk.bench.now, seen)
    assert desk.row["state"] == "idle"


EVENTS = [
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "SubagentStart",
    "SubagentStop",
]


def times(value: Any) -> list[float]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] if isinstance(value, float) else [time for each in inner for time in times(each)]


@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.sampled_from(["", "a", "b"]))), st.booleans())
def test_nothing_of_a_record_is_left_in_the_future(events: list[tuple[str, str]], interrupted: bool) -> None:
    session = at_work()
    for event, agent in events:
        session.hear(event, agent_id=agent, tool_use_id=event, **BASH)
    record = review(session.record, session.now, {"interrupted": interrupted})
    assert not_after(record, session.now) is record
    past = not_after(record, 50.0)
    assert max(times(past)) == 50.0
    assert record.keys() == past.keys()
    assert (past["state"], past["subagents"].keys()) == (record["state"], record["subagents"].keys())


def test_a_record_of_an_earlier_version_is_pulled_back_too() -> None:
    record = {name: Session().record[name] for name in ("state", "text", "since", "at", "session_id")}
    assert not_after(record, 100.0) is record
    assert not_after(record, 50.0)["at"] == 50.0
