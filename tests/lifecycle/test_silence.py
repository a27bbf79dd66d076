from __future__ import annotations

from typing import Any

import pytest

from seance_tools.lifecycle import explain, next_review, review
from tests.lifecycle.session import Session, at_work


def test_a_running_session_is_marked_quiet_and_at_last_unknown() -> None:
    session = at_work()
    heard = session.now
    marks = []
    while (due := next_review(session.record)) is not None:
        assert session.wait(due - session.now - 0.1) == "running"  # not a moment before
        session.wait(0.1)
        marks.append((round(session.now - heard), session.state, session.record["quiet_seconds"]))
    assert marks == [
        (60, "running", 60),
        (300, "running", 300),
        (900, "running", 900),
        (1800, "unknown", 0),
    ]
    assert (session.rule, session.record["inferred"]) == ("no event for 30 minutes", True)
    assert session.record["since"] == session.now


def test_any_event_ends_the_quiet_a_subagents_too() -> None:
    for event, agent_id in (("PostToolUse", ""), ("PreToolUse", "a"), ("CwdChanged", "")):
        session = at_work()
        session.wait(400)
        assert session.record["quiet_seconds"] == 300
        session.hear(event, agent_id=agent_id)
        assert session.record["quiet_seconds"] == 0
        assert next_review(session.record) == session.now + 60


def test_what_comes_after_long_silence_is_taken() -> None:
    session = at_work()
    session.wait(7200)
    assert session.state == "unknown"
    assert session.hear("PostToolUse") == "running"
    assert not session.record["inferred"]


@pytest.mark.parametrize("event", ["Stop", "StopFailure", "PermissionRequest", "SessionStart"])
def test_only_running_is_doubted(event: str) -> None:
    session = at_work()
    session.hear(event)
    before = session.record
    assert next_review(before) is None
    assert review(before, session.now + 1e6) is before


@pytest.mark.parametrize("source", ["log", "activity", "screen", "api"])
def test_who_watches_says_himself_what_silence_means(source: str) -> None:
    session = Session("codebuff")
    session.hear("prompt-submit", _by=source)
    before = session.record
    assert next_review(before) is None
    assert review(before, session.now + 1e6) is before


@pytest.mark.parametrize(
    ("seen", "state", "rule"),
    [
        ({"interrupted": True}, "idle", "its transcript says that it was interrupted"),
        ({"prompt_visible": True, "quiet_since": 105.0}, "idle", "its prompt is on the screen"),
        ({"process": "gone"}, "unknown", "its process has ended"),
    ],
)
@pytest.mark.parametrize("asked", [False, True])
def test_what_is_seen_of_it_ends_a_turn(seen: dict[str, Any], state: str, rule: str, asked: bool) -> None:
    session = at_work()
    if asked:
        session.hear("PermissionRequest", tool_name="Bash")
    assert session.wait(10, **seen) == state
    assert (session.rule, session.record["inferred"]) == (rule, True)
    assert session.record["needs"] == []
    assert session.hear("UserPromptSubmit") == "running"


@pytest.mark.parametrize(
    "seen",
    [
        {"interrupted": True, "at": 100.5},  # of an earlier turn
        {"prompt_visible": True},
        {"prompt_visible": True, "quiet_since": 110.0},  # it still draws
        {"prompt_visible": True, "quiet_since": 100.9},  # that was before it was heard
        {"quiet_since": 0.0},
        {"process": "runs"},
        {"process": "gone", "at": 100.5},
        {"process": "stopped", "at": 100.5},
    ],
)
def test_what_proves_nothing_changes_nothing(seen: dict[str, Any]) -> None:
    session = at_work()
    assert session.now == 101.0
    assert session.wait(10, **seen) == "running"


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_a_stopped_process_is_said_to_be_and_goes_on_where_it_was(event: str) -> None:
    session = at_work()
    session.hear(event, tool_name="Bash")
    state, begun = session.state, session.record["turn_since"]
    assert session.wait(20, process="stopped") == "unknown"
    assert (session.text, session.rule, session.record["source"]) == (
        "Stopped",
        "its process is stopped",
        "process",
    )
    before = session.record
    assert next_review(before) is None
    assert session.wait(7200, process="stopped", prompt_visible=True, quiet_since=121.0) == "unknown"
    assert session.record is before
    assert session.wait(5, process="runs") == state
    assert (session.rule, session.record["turn_since"]) == ("its process goes on", begun)
    session.wait(5, process="stopped")
    assert session.hear("PostToolUse", tool_name="Bash") == "running"  # what speaks is not stopped
    assert session.wait(5, process="stopped") == "unknown"
    assert session.wait(5, interrupted=True) == "idle"
    assert not session.record["stopped"]


def test_a_session_that_waits_goes_on_waiting() -> None:
    session = at_work()
    session.hear("PermissionRequest", tool_name="Bash")
    assert session.wait(1e6, process="runs") == "needs_input"


def test_nobody_knows_of_one_whose_end_nothing_would_tell() -> None:
    session = at_work()
    session.record |= {"surface_id": None}
    session.hear("PermissionRequest", tool_name="Bash")
    heard = session.now
    assert next_review(session.record) == heard + 1800
    assert session.wait(1799) == "needs_input"
    assert session.wait(1) == "unknown"
    assert session.rule == "no event for 30 minutes"


def test_a_rest_is_not_doubted_whatever_is_seen() -> None:
    session = at_work()
    session.hear("Stop")
    assert session.wait(10, process="gone") == "idle"


def test_sums_that_are_not_exact_are_no_fault() -> None:
    session = at_work()
    heards = [2**31 - 59 + number * 0.0123456789 for number in range(2000)]
    assert any(heard + 60 - heard < 60 for heard in heards)
    for heard in heards:
        record = {**session.record, "heard_at": heard}
        due = next_review(record)
        assert due is not None
        assert review(record, due)["quiet_seconds"] == 60


def test_explained() -> None:
    session = at_work()
    session.hear("PreToolUse", tool_name="Bash")
    explanation = explain(session.record, session.now + 10)
    assert (explanation["rule"], explanation["silent_seconds"]) == ("pre-tool-use", 10.0)
    assert explanation["would_change"]["unknown"] == ["no event for 30 minutes"]
    assert explanation["evidence"]["tool_name"] == "Bash"
    session.hear("PermissionRequest", tool_name="Bash", tool_input={"command": "make"})
    explanation = explain(session.record, session.now)
    assert explanation["waits_for"] == ["Running make"]
    assert "unknown" not in explanation["would_change"]
    session.hear("Notification", transcript_path="/t.jsonl")
    ways = explain(session.record, session.now)["would_change"]["idle"]
    assert "an interruption in /t.jsonl" in ways
    session.wait(1, interrupted=True)
    explanation = explain(session.record, session.now)
    assert (explanation["rule"], explanation["inferred"]) == (
        "its transcript says that it was interrupted",
        True,
    )
