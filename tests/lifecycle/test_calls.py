"""Permissions in the real orders of Claude Code: calls side by side, reports that come late, denials."""

from __future__ import annotations

from typing import Any

import pytest

from seance_tools.lifecycle.calls import ROUND_SECONDS
from seance_tools.lifecycle.records import MOST_CALLS
from tests.lifecycle.session import BASH, PERMISSION, Session, at_work, kinds

READ: dict[str, Any] = {"tool_name": "Read", "tool_input": {"file_path": "/etc/hosts"}}
GREP: dict[str, Any] = {"tool_name": "Grep", "tool_input": {"pattern": "def pay"}}
AGENT: dict[str, Any] = {"agent_id": "a", "agent_type": "Explore"}


def asked(**agent: Any) -> Session:
    """A session that waits for the permission of its call b."""
    session = at_work()
    session.hear("PreToolUse", tool_use_id="b", **BASH, **agent)
    session.hear("PermissionRequest", **BASH, **agent)
    return session


@pytest.mark.parametrize("agent", [{}, AGENT])
def test_a_late_notification_after_the_next_call(agent: dict[str, Any]) -> None:
    session = asked(**agent)
    session.hear("PostToolUse", tool_use_id="b", **BASH, **agent)
    session.hear("PreToolUse", tool_use_id="r", **READ, **agent)
    assert session.hear("Notification", **PERMISSION) == "running"
    session.hear("PostToolUse", tool_use_id="r", **READ, **agent)
    session.hear("Stop")
    assert session.hear("Notification", **PERMISSION) == "idle"
    assert kinds(session) == ["needs_input", "completed"]


def test_a_notification_whose_request_was_lost_is_none_of_an_answered_one() -> None:
    session = asked()
    session.hear("PostToolUse", tool_use_id="b", **BASH)
    session.hear("PreToolUse", tool_use_id="r", **READ)
    session.now += 40
    assert session.hear("Notification", **PERMISSION) == "needs_input"
    assert session.hear("PostToolUse", tool_use_id="r", **READ) == "running"


@pytest.mark.parametrize("agent", [{}, AGENT])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_call_that_runs_beside_it_answers_no_request(agent: dict[str, Any], when: str) -> None:
    session = at_work()
    if when == "before":
        session.hear("PreToolUse", tool_use_id="r", **READ, **agent)
    session.hear("PreToolUse", tool_use_id="b", **BASH, **agent)
    session.hear("PermissionRequest", **BASH, **agent)
    if when == "after":
        assert session.hear("PreToolUse", tool_use_id="r", **READ, **agent) == "needs_input"
    assert session.hear("PostToolUse", tool_use_id="r", **READ, **agent) == "needs_input"
    assert session.hear("Notification", **PERMISSION) == "needs_input"
    assert session.hear("PostToolUse", tool_use_id="b", **BASH, **agent) == "running"
    assert kinds(session) == ["needs_input"]


def test_a_call_of_the_same_tool_and_input_is_known_by_its_id() -> None:
    session = at_work()
    for number in "12":
        session.hear("PreToolUse", tool_use_id=number, **BASH)
    session.hear("PermissionRequest", **BASH)  # of the first
    assert session.hear("PostToolUse", tool_use_id="2", **BASH) == "needs_input"
    assert session.hear("PostToolUse", tool_use_id="1", **BASH) == "running"


def test_a_notification_alone_is_of_the_tool_that_it_names() -> None:
    session = at_work()
    session.hear("PreToolUse", tool_use_id="r", **READ)
    session.hear("PreToolUse", tool_use_id="b", **BASH)
    assert session.hear("Notification", **PERMISSION) == "needs_input"
    assert session.record["needs"][0]["tool_use_id"] == "b"
    assert session.hear("PostToolUse", tool_use_id="r", **READ) == "needs_input"
    assert session.hear("PostToolUse", tool_use_id="b", **BASH) == "running"


def test_a_notification_alone_is_of_the_only_call() -> None:
    session = at_work("gemini")
    session.hear("BeforeTool", tool_name="write_file", tool_input={"file_path": "a"})
    session.hear("Notification", notification_type="ToolPermission", message="Tool requires approval")
    assert session.record["needs"][0]["tool_name"] == "write_file"
    assert session.hear("AfterTool", tool_name="write_file", tool_input={"file_path": "a"}) == "running"


LS: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
MAY_I: dict[str, Any] = {"notification_type": "permission_prompt", "message": "Copilot needs your permission"}


@pytest.mark.parametrize("agent", ["claude", "copilot"])
def test_a_second_notification_is_of_the_call_beside_the_first(agent: str) -> None:
    session = at_work(agent)
    tools = {"a": BASH, "b": LS}
    for call, tool in tools.items():
        session.hear("pre-tool-use", tool_use_id=call, **tool)
    for call, tool in tools.items():
        assert session.hear("notification", **MAY_I) == "needs_input"
        assert session.hear("post-tool-use", tool_use_id=call, **tool) == "running"
    assert session.hear("notification", **MAY_I) == "running"  # nothing is left that may wait
    assert kinds(session) == ["needs_input", "needs_input"]


def test_a_late_notification_that_names_its_tool_is_of_no_other() -> None:
    session = at_work()
    session.hear("PreToolUse", tool_use_id="b", **BASH)
    session.hear("PreToolUse", tool_use_id="r", **READ)
    session.hear("Notification", **PERMISSION)
    session.hear("PostToolUse", tool_use_id="b", **BASH)
    assert session.hear("Notification", **PERMISSION) == "running"
    session.hear("Notification", **{**PERMISSION, "message": "Claude needs your permission to use Read"})
    assert session.record["needs"][0]["tool_use_id"] == "r"


def test_the_end_of_a_known_call_answers_no_other_of_its_tool() -> None:
    session = at_work()
    session.hear("PreToolUse", tool_use_id="l", **LS)
    session.hear("PermissionRequest", **BASH)  # faster than the call it is of
    assert session.hear("PostToolUse", tool_use_id="l", **LS) == "needs_input"


# Denied, of which no event tells


@pytest.mark.parametrize("agent", [{}, AGENT])
def test_a_call_long_after_a_request_shows_that_it_was_answered(agent: dict[str, Any]) -> None:
    session = asked(**agent)
    begun = session.now
    assert session.hear("PreToolUse", _at=begun + ROUND_SECONDS - 1, **READ, **agent) == "needs_input"
    assert session.hear("PostToolUse", _at=begun + ROUND_SECONDS - 0.5, **READ, **agent) == "needs_input"
    assert session.hear("PreToolUse", _at=begun + ROUND_SECONDS, **GREP, **agent) == "running"


@pytest.mark.parametrize("agent", [{}, AGENT])
def test_the_next_round_shows_that_a_request_was_answered(agent: dict[str, Any]) -> None:
    session = asked(**agent)
    session.now += 3  # the user says no
    assert session.hear("PreToolUse", tool_use_id="r", **READ, **agent) == "needs_input"
    assert session.hear("PostToolUse", tool_use_id="r", **READ, **agent) == "needs_input"
    assert session.hear("PreToolUse", tool_use_id="g", **GREP, **agent) == "running"
    assert session.hear("Notification", **PERMISSION) == "needs_input"  # it only followed: the agent says so


def test_what_is_said_to_wait_still_is_not_answered_by_what_was_before() -> None:
    session = asked()
    for event in ("PreToolUse", "PostToolUse"):
        session.hear(event, tool_use_id="r", **READ)
    assert session.hear("Notification", **PERMISSION) == "needs_input"
    assert session.hear("PreToolUse", tool_use_id="g", **GREP) == "needs_input"
    session.hear("PostToolUse", tool_use_id="g", **GREP)
    assert session.hear("PreToolUse", tool_use_id="l", **LS) == "running"


@pytest.mark.parametrize("beside", ["before", "another agent's"])
def test_calls_of_the_same_round_answer_nothing(beside: str) -> None:
    session = at_work()
    agent = {} if beside == "before" else AGENT
    if beside == "before":
        session.hear("PreToolUse", tool_use_id="r", **READ)
    session.hear("PreToolUse", tool_use_id="b", **BASH)
    session.hear("PermissionRequest", **BASH)
    if beside != "before":
        session.hear("PreToolUse", tool_use_id="r", **READ, **agent)
    session.hear("PreToolUse", tool_use_id="g", **GREP)
    session.hear("PostToolUse", tool_use_id="r", **READ, **agent)
    assert session.hear("PreToolUse", tool_use_id="l", **LS, **agent) == "needs_input"


def test_what_a_log_tells_is_not_guessed() -> None:
    session = asked(transcript_path="/t.jsonl")
    for event in ("PreToolUse", "PostToolUse"):
        session.hear(event, tool_use_id="r", **READ)
    assert session.hear("PreToolUse", tool_use_id="g", **GREP) == "needs_input"


def test_the_transcript_tells_of_a_subagents_denial() -> None:
    session = asked(**AGENT)
    assert session.wait(1, asked_again=True) == "needs_input"
    assert session.wait(1, answered="other") == "needs_input"
    assert session.wait(1, answered="b") == "running"
    assert session.record["calls"] == []


def test_the_transcript_tells_of_a_denial() -> None:
    session = asked()
    assert session.wait(3, answered="other") == "needs_input"
    assert session.wait(1, answered="b") == "running"
    assert (session.rule, session.record["inferred"]) == (
        "its transcript says that the call has its result",
        True,
    )
    assert session.record["source"] == "log"
    assert session.hear("PreToolUse", tool_use_id="r", **READ) == "running"
    assert not session.record["inferred"]


def test_a_model_that_is_asked_again_has_all_answers() -> None:
    session = asked()
    requested = session.now
    session.now += 5
    assert session.wait(0, asked_again=True, at=requested - 1) == "needs_input"  # that is what has called it
    session.hear("PermissionRequest", agent_id="a", **READ)
    assert session.wait(1, asked_again=True, at=requested + 1) == "needs_input"
    assert [need["agent_id"] for need in session.record["needs"]] == ["a"]  # its own is not known


def test_auto_mode_denies_by_itself() -> None:
    session = asked()
    assert session.hear("PermissionDenied", tool_use_id="b", reason="blocked", **BASH) == "running"
    assert session.hear("Notification", **PERMISSION) == "running"


def test_a_denial_that_ends_the_turn() -> None:
    session = asked()
    assert session.wait(2, answered="b") == "running"
    assert session.wait(0, interrupted=True) == "idle"
    assert session.hear("Notification", **PERMISSION) == "idle"
    assert kinds(session) == ["needs_input"]


# Esc


def test_what_a_cut_tool_says_after_esc_does_not_revive_the_turn() -> None:
    session = at_work()
    session.hear("PreToolUse", tool_use_id="b", **BASH)
    pressed = session.now + 1
    session.now += 5
    assert session.wait(0, interrupted=True, at=pressed) == "idle"
    assert session.hear("PostToolUse", _at=pressed + 0.01, tool_use_id="b", **BASH) == "idle"
    assert session.hear("PreToolUse", _at=pressed - 0.01, tool_use_id="c", **READ) == "idle"
    assert session.hear("UserPromptSubmit") == "running"


def test_esc_counts_though_the_cut_tool_was_heard_first() -> None:
    session = at_work()
    session.hear("PreToolUse", tool_use_id="b", **BASH)
    pressed = session.now + 1
    session.now += 1
    assert session.hear("PostToolUse", tool_use_id="b", **BASH) == "running"
    assert session.wait(1, interrupted=True, at=pressed) == "idle"


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse", "PermissionRequest"])
def test_esc_of_an_earlier_turn_does_not_count(event: str) -> None:
    session = at_work()
    pressed = session.now + 0.5
    session.hear(event, **BASH)
    assert session.wait(10, interrupted=True, at=pressed) in ("running", "needs_input")


def test_where_calls_are_not_told_a_tools_end_is_work() -> None:
    session = at_work()
    session.wait(1, interrupted=True)
    assert session.hear("PostToolUse", **BASH) == "running"


# Reports that a later one has overtaken


def test_a_request_that_a_call_beside_it_has_overtaken() -> None:
    session = at_work()
    session.hear("PreToolUse", tool_use_id="b", **BASH)
    requested = session.now + 1
    session.hear("PreToolUse", _at=requested + 0.1, tool_use_id="r", **READ)
    assert session.hear("PermissionRequest", _at=requested, **BASH) == "needs_input"
    assert session.hear("PostToolUse", _at=requested + 5, tool_use_id="b", **BASH) == "running"
    assert session.hear("PermissionRequest", _at=requested, **BASH) == "running"  # the same again
    assert kinds(session) == ["needs_input"]


def test_a_tools_end_that_another_has_overtaken_answers_all_the_same() -> None:
    session = asked()
    session.hear("PreToolUse", tool_use_id="r", **READ)
    ended = session.now + 1
    assert session.hear("PostToolUse", _at=ended + 0.1, tool_use_id="r", **READ) == "needs_input"
    assert session.hear("PostToolUse", _at=ended, tool_use_id="b", **BASH) == "running"


def test_what_comes_late_of_an_earlier_turn_is_nothing() -> None:
    session = at_work()
    session.hear("Stop", _at=110.0)
    assert session.hear("PermissionRequest", _at=109.0, **BASH) == "idle"
    session.hear("UserPromptSubmit", _at=120.0)
    before = session.record
    for event in ("PreToolUse", "PermissionRequest", "PostToolUse", "PermissionDenied"):
        assert session.hear(event, _at=109.0, **BASH) == "running"
    assert session.record is before


def test_a_prompt_that_its_first_call_has_overtaken_ends_what_was_asked_before() -> None:
    session = asked()
    session.hear("PreToolUse", _at=session.now + 2, tool_use_id="r", **READ)
    assert session.hear("UserPromptSubmit", _at=session.now + 1) == "running"


def test_calls_are_lists_of_a_bounded_size() -> None:
    session = at_work()
    for number in range(MOST_CALLS + 5):
        session.hear("PreToolUse", _at=session.now, tool_use_id=f"x{number}", **BASH)
        session.hear("PostToolUse", _at=session.now, tool_use_id=f"y{number}", **READ)
    assert len(session.record["calls"]) == len(session.record["over"]) == MOST_CALLS
    session.hear("PostToolUse", _at=session.now + 60, tool_use_id="y", **READ)
    assert len(session.record["over"]) == 1  # the others are of no use any more
    session.hear("Stop", _at=session.now + 60)
    assert session.record["calls"] == session.record["over"] == []


def test_busy_answers_only_what_has_no_name() -> None:
    session = at_work("amp")
    session.hear("approval-request", tool_name="Bash")
    assert session.hear("thread.state", thread={"state": "running"}) == "needs_input"
    session.hear("approval-response")
    session.hear("approval-request")
    assert session.hear("thread.state", thread={"state": "running"}) == "running"
