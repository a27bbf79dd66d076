from __future__ import annotations

from typing import Any

import pytest

from seance_tools.agents import AGENTS, agent_named
from seance_tools.lifecycle import FIELDS, NEEDS_INPUT_KINDS, TEXTS, TRANSITIONS, blank, complete, read
from seance_tools.lifecycle.transitions import EVENTS
from tests.lifecycle.session import Session

CLAUDE = agent_named("claude")


@pytest.mark.parametrize("event", sorted(TRANSITIONS))
def test_every_event_has_its_state(event: str) -> None:
    session = Session("codebuff")
    session.hear(event)
    wanted = TRANSITIONS[event]
    if event == "compact-end":
        wanted = "idle"  # nothing was known before
    if event == "session-end":
        wanted = "idle"  # where the record outlives its session
    assert session.state == (wanted or "unknown")
    if TRANSITIONS[event]:
        assert session.text == ("Compacting" if event == "compact-start" else TEXTS[session.state])
        assert session.record["evidence"] == {"event": event, "at": session.now, "rule": session.rule}
        assert session.record["since"] == session.now


def test_every_step_belongs_to_an_event_and_every_state_has_a_step() -> None:
    assert set(EVENTS) <= set(TRANSITIONS)
    assert {event for event, state in TRANSITIONS.items() if state} <= set(EVENTS)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.key)
def test_every_row_leads_to_events_and_fields_that_exist(agent: Any) -> None:
    for native, known in agent.events.items():
        rules = [(known,)] if isinstance(known, str) else [r if isinstance(r, tuple) else (r,) for r in known]
        assert rules[-1] == (rules[-1][0],), f"{native} has no last word"
        for rule in rules:
            assert rule[-1] in TRANSITIONS or rule[-1] == ""
            assert len(rule) in (1, 3)
    assert set(agent.fields) <= set(FIELDS)


def test_since_is_when_the_state_began() -> None:
    session = Session()
    session.hear("prompt-submit")
    session.hear("post-tool-use")
    assert (session.record["since"], session.record["at"]) == (101.0, 102.0)


@pytest.mark.parametrize("kind", sorted(NEEDS_INPUT_KINDS))
def test_notifications_that_need_the_user(kind: str) -> None:
    session = Session()
    assert session.hear("notification", notification_type=kind) == "needs_input"
    assert session.rule == f"notification of kind {kind}"


@pytest.mark.parametrize(
    "payload",
    [
        {"session_id": "s1"},
        {"sessionId": "s1"},
        {"notification": {"session_id": "s1"}},
        {"data": {"session_id": "s1"}},
        {"session": {"id": "s1"}},
        {"context": {"session_id": "s1"}},
        {"sessionID": "s1"},
    ],
)
def test_session_ids_are_found_where_agents_put_them(payload: dict[str, Any]) -> None:
    report = read(CLAUDE, "stop", payload, 1.0)
    assert report is not None
    assert report.session_id == "s1"


@pytest.mark.parametrize("payload", [{"session_id": 5}, {"session_id": None}, {"session": "x"}, {"data": []}])
def test_odd_payloads_say_nothing(payload: dict[str, Any]) -> None:
    report = read(CLAUDE, "stop", payload, 1.0)
    assert report is not None
    assert report.session_id == ""


def test_an_error_gives_its_reason() -> None:
    for payload, text in (
        ({"message": "rate limit"}, "rate limit"),
        ({"reason": "no network"}, "no network"),
        ({"error": "rate_limit"}, "Rate limit"),
        ({"error": "overloaded"}, "Overloaded"),
        ({"error": "Exit 1: a_b"}, "Exit 1: a_b"),
        ({"error": {"message": "model error"}}, "model error"),
        ({}, "Error"),
    ):
        session = Session()
        assert session.hear("error", **payload) == "error"
        assert session.text == text


def test_subagents_are_a_number_or_a_set_of_theirs() -> None:
    session = Session("codebuff")
    for given, count in ((3, 3), (["a"], 1), (-1, 1), (["a", "a"], 1), ([{}, {}], 2), ("x", 2), (True, 2)):
        session.hear("subagent-update", subagents=given)
        assert session.record["subagent_count"] == count
    assert session.state == "unknown"


def test_background_tasks_are_counted_by_their_ids() -> None:
    for tasks, count in (
        ([{}], 1),
        (["x", {"id": "a"}, {"id": "a"}], 2),
        ([{"status": "done"}], 0),
        ("x", None),
    ):
        report = read(CLAUDE, "stop", {"background_tasks": tasks}, 1.0)
        assert report is not None
        assert report.background == count


def test_a_record_of_an_earlier_version_is_completed() -> None:
    old = {"state": "running", "text": "Thinking", "at": 5.0, "since": 4.0, "evidence": {}, "session_id": "s"}
    new = complete(old)
    assert set(new) == set(blank(0.0))
    assert (new["base"], new["turn_since"]) == ({"state": "running", "text": "Thinking"}, 5.0)
    assert (new["since"], new["session_id"]) == (4.0, "s")
    assert complete(new) is new
    assert complete({**old, "state": "needs_input"})["base"]["state"] == "unknown"
