"""What waits for the user: permissions, questions, dialogs."""

from __future__ import annotations

from typing import Any

import pytest

from seance_tools.lifecycle.records import MOST_NEEDS
from tests.lifecycle.session import BASH, PERMISSION, Session, at_work, kinds


def test_needs_input_lasts_from_the_request_to_the_tools_end() -> None:
    session = at_work()
    assert session.hear("PreToolUse", tool_use_id="t1", **BASH) == "running"
    assert session.hear("PermissionRequest", **BASH) == "needs_input"
    assert session.hear("Notification", **PERMISSION) == "needs_input"
    assert session.hear("PostToolUse", tool_use_id="t1", **BASH) == "running"
    assert kinds(session) == ["needs_input"]


def test_a_notification_that_comes_twice_counts_once() -> None:
    def of_agent(number: int) -> dict[str, Any]:
        return {"agent_id": "a1", "tool_name": "Bash", "tool_input": {"command": f"make {number}"}}

    session = at_work()
    session.hear("PreToolUse", tool_use_id="t0", **BASH)  # it works on beside the sub-agent
    for number in (1, 2):
        session.hear("PreToolUse", tool_use_id=f"t{number}", **of_agent(number))
        session.hear("PermissionRequest", **of_agent(number))
    told = session.now + 2
    session.hear("Notification", _at=told, **PERMISSION)
    session.hear("PostToolUse", _at=told + 1, tool_use_id="t2", **of_agent(2))
    assert session.hear("PreToolUse", _at=told + 2, tool_use_id="t3", **of_agent(3)) == "running"
    assert session.hear("Notification", _at=told, **PERMISSION) == "running"


@pytest.mark.parametrize("request_event", ["PermissionRequest", "Notification"])
def test_a_late_notification_does_not_overwrite_a_newer_state(request_event: str) -> None:
    session = at_work()
    session.hear("PreToolUse", **BASH)
    session.hear(request_event, **(PERMISSION if request_event == "Notification" else BASH))
    session.hear("PostToolUse", **BASH)
    assert session.hear("Notification", **PERMISSION) == "running"
    session.hear("Stop")
    assert session.hear("Notification", **PERMISSION) == "idle"
    session.hear("UserPromptSubmit")
    session.hear("PreToolUse", **BASH)
    assert session.hear("Notification", **PERMISSION) == "needs_input"  # this one is new


def test_where_calls_are_not_told_every_notification_counts() -> None:
    session = at_work()
    for _ in range(2):
        assert session.hear("Notification", **PERMISSION) == "needs_input"
        assert session.hear("PostToolUse", **BASH) == "running"


def test_two_requests_at_once_need_the_user_until_both_are_answered() -> None:
    session = at_work()
    other: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make lint"}}
    for tool in (BASH, other):
        session.hear("PreToolUse", **tool)
    for tool in (BASH, other):
        session.hear("PermissionRequest", **tool)
    assert session.hear("PostToolUse", **BASH) == "needs_input"
    assert session.hear("PostToolUse", **other) == "running"


def test_a_call_of_the_same_is_another_call() -> None:
    session = at_work()
    for number in "12":
        session.hear("PermissionRequest", tool_use_id=number, **BASH)
    assert session.hear("PostToolUse", tool_use_id="1", **BASH) == "needs_input"
    assert session.hear("PostToolUse", tool_use_id="3", **BASH) == "needs_input"
    assert session.hear("PostToolUse", tool_use_id="2", **BASH) == "running"


def test_requests_are_a_set_of_a_bounded_size() -> None:
    session = at_work()
    for number in range(MOST_NEEDS + 5):
        session.hear("PermissionRequest", tool_use_id=f"t{number}", **BASH)
    assert len(session.record["needs"]) == MOST_NEEDS


def test_a_notification_is_late_after_the_turn_too() -> None:
    session = at_work()
    session.hear("PreToolUse", **BASH)
    session.hear("PermissionRequest", **BASH)
    session.hear("Stop")
    assert session.hear("Notification", **PERMISSION) == "idle"


def test_a_command_that_the_user_changes_is_still_the_one_asked_for() -> None:
    session = at_work()
    session.hear("PermissionRequest", **BASH)
    assert session.hear("PostToolUse", tool_name="Bash", tool_input={"command": "make -n"}) == "running"


def test_esc_at_a_permission_recovers() -> None:
    session = at_work()
    session.hear("PreToolUse", **BASH)
    session.hear("PermissionRequest", **BASH)
    assert session.hear("Notification", notification_type="idle_prompt") == "idle"
    session.hear("PreToolUse", **BASH)
    session.hear("PermissionRequest", **BASH)
    assert session.hear("UserPromptSubmit") == "running"


def test_denied_is_answered() -> None:
    session = at_work()
    session.hear("PermissionRequest", **BASH)
    assert session.hear("PermissionDenied", reason="no", **BASH) == "running"


@pytest.mark.parametrize("end", ["Stop", "StopFailure", "Interrupt"])
def test_the_end_of_a_turn_answers_its_requests(end: str) -> None:
    session = at_work("codex")
    session.hear("PermissionRequest", **BASH)
    assert session.hear(end) != "needs_input"
    assert session.record["needs"] == []


def test_a_question_lasts_until_its_tool_has_the_answer() -> None:
    session = at_work()
    question: dict[str, Any] = {"tool_name": "AskUserQuestion", "tool_use_id": "t2"}
    asked: dict[str, Any] = {**question, "tool_input": {"questions": [{"question": "Which DB?"}]}}
    assert session.hear("PreToolUse", **asked) == "needs_input"
    assert session.hear("PermissionRequest", tool_name="AskUserQuestion") == "needs_input"
    assert (session.text, session.rule) == ("Which DB?", "approval-request")
    assert session.hear("PostToolUse", **question) == "running"
    assert [(made.kind, made.body) for made in session.announced] == [("needs_input", "Which DB?")]


def test_antigravitys_confirmation_ends_when_it_works_on() -> None:
    session = Session("antigravity")
    assert session.hear("statusLine", agent_state="thinking") == "running"
    assert session.hear("statusLine", agent_state="tool_use", tool_confirmation_pending=True) == "needs_input"
    assert session.hear("statusLine", agent_state="tool_use", tool_confirmation_pending=False) == "running"
    assert session.hear("statusLine", agent_state="idle") == "idle"
    assert kinds(session) == ["needs_input", "completed"]


def test_amps_approval_ends_when_its_thread_runs_on() -> None:
    session = Session("amp")
    session.hear("agent.start", thread={"id": "T"}, message="fix it")
    assert session.hear("thread.state", thread={"id": "T", "state": "awaiting-approval"}) == "needs_input"
    assert session.hear("thread.state", thread={"id": "T", "state": "running"}) == "running"
    assert session.hear("agent.end", thread={"id": "T"}, status="cancelled") == "idle"
    assert kinds(session) == ["needs_input"]
