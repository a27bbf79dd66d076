"""Sub-agents: those that have an id, and those that are sessions of their own."""

from __future__ import annotations

from typing import Any

import pytest

from seance_tools.lifecycle.records import MOST_GONE, MOST_SUBAGENTS
from tests.lifecycle.session import BASH, PERMISSION, Session, at_work, kinds


def test_a_stop_with_an_agents_id_is_a_subagents() -> None:
    session = at_work()
    session.hear("SubagentStart", agent_id="a", agent_type="Explore")
    assert session.hear("Stop", agent_id="a") == "running"
    assert session.record["subagent_count"] == 0


@pytest.mark.parametrize("order", [("Stop", "SubagentStop"), ("SubagentStop", "Stop")])
def test_a_subagent_that_ends_before_or_after_its_parent(order: tuple[str, str]) -> None:
    session = at_work()
    session.hear("SubagentStart", agent_id="a")
    for event in order:
        whose: dict[str, Any] = {"agent_id": "a"} if event == "SubagentStop" else {}
        session.hear(event, **whose)
    assert (session.state, session.record["subagent_count"]) == ("idle", 0)
    assert kinds(session) == ["completed"]


def test_a_subagents_reports_come_in_any_order_to_the_same() -> None:
    for order in ((10, 20), (20, 10)):
        session = at_work()
        for at in order:
            session.hear("SubagentStart" if at == 10 else "SubagentStop", _at=200.0 + at, agent_id="a")
        assert session.record["subagent_count"] == 0
    session.hear("SubagentStart", agent_id="a", _at=230.0)  # the same one is taken up again
    assert session.record["subagent_count"] == 1


def test_a_subagent_that_ends_late_is_counted_though_its_report_is_old() -> None:
    session = at_work()
    session.hear("SubagentStart", agent_id="a", _at=103.0)
    session.hear("Stop", _at=110.0)
    session.hear("SubagentStop", agent_id="a", _at=105.0)
    assert (session.state, session.record["subagent_count"]) == ("idle", 0)


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop"])
def test_a_late_subagent_does_not_revive_its_parent(event: str) -> None:
    session = at_work()
    session.hear("Stop")
    assert session.hear(event, agent_id="a", **BASH) == "idle"


def test_subagents_are_a_set_of_a_bounded_size() -> None:
    session = at_work()
    for number in range(MOST_SUBAGENTS + 10):
        session.hear("SubagentStart", agent_id=f"a{number}")
        session.hear("SubagentStart", agent_id=f"a{number}")
    assert session.record["subagent_count"] == len(session.record["subagents"]) == MOST_SUBAGENTS
    for number in range(MOST_SUBAGENTS + 10):
        session.hear("SubagentStop", agent_id=f"a{number}")
        session.hear("SubagentStop", agent_id=f"a{number}")
    assert session.record["subagent_count"] == 0
    assert len(session.record["gone"]) == MOST_GONE


def test_subagents_without_an_id_at_their_end_are_found_by_their_kind() -> None:
    session = at_work("cursor")
    session.hear("subagentStart", subagent_id="x", subagent_type="explore")
    session.hear("subagentStart", subagent_id="y", subagent_type="explore")
    for left in (1, 0, 0):
        session.hear("subagentStop", subagent_type="explore")
        assert session.record["subagent_count"] == left


def test_subagents_that_only_have_a_name() -> None:
    session = at_work("copilot")
    session.hear("subagentStart", agentName="explore")
    assert session.record["subagent_count"] == 1
    session.hear("subagentStop", agentName="explore")
    assert session.record["subagent_count"] == 0


def test_a_subagents_request_needs_the_user_and_its_end_returns_to_what_the_parent_does() -> None:
    for parent, after in (("PreToolUse", "running"), ("Stop", "idle")):
        session = at_work()
        session.hear("SubagentStart", agent_id="a", agent_type="Explore")
        session.hear(parent, **(BASH if parent == "PreToolUse" else {}))
        assert session.hear("PermissionRequest", agent_id="a", tool_name="Grep") == "needs_input"
        assert session.rule == "approval-request of sub-agent Explore"
        assert session.hear("PreToolUse", agent_id="b", **BASH) == "needs_input"  # another's tool
        assert session.hear("PostToolUse", agent_id="a", tool_name="Grep") == after
        assert session.text == ("Running make test" if after == "running" else "Idle")


def test_an_ended_subagent_asks_for_nothing_any_more() -> None:
    session = at_work()
    session.hear("SubagentStart", agent_id="a")
    session.hear("SubagentStop", agent_id="a")
    late = session.now - 0.5
    assert session.hear("PermissionRequest", _at=late, agent_id="a", tool_name="Grep") == "running"


WAKEUPS = ["system", "loop_wakeup", "schedule_wakeup", "poll_event"]


@pytest.mark.parametrize("source", WAKEUPS)
def test_a_prompt_that_nobody_typed_answers_no_subagent(source: str) -> None:
    session = at_work()
    session.hear("SubagentStart", agent_id="a")
    running = [{"id": "a", "status": "running"}, {"id": "b", "status": "running"}]
    session.hear("Stop", background_tasks=running)
    session.hear("PreToolUse", agent_id="a", tool_use_id="t", **BASH)
    assert session.hear("PermissionRequest", agent_id="a", **BASH) == "needs_input"
    asked = session.now
    assert session.hear("UserPromptSubmit", source=source) == "needs_input"
    session.hear("PreToolUse", tool_use_id="u", **BASH)
    session.hear("PostToolUse", tool_use_id="u", **BASH)
    assert session.hear("Stop", background_tasks=running[:1]) == "needs_input"
    assert session.hear("Notification", **PERMISSION) == "needs_input"
    assert kinds(session) == ["needs_input"]
    assert session.hear("PermissionRequest", _at=asked + 0.1, agent_id="a", tool_name="Read") == "needs_input"
    assert len(session.record["needs"]) == 2  # it was slow, and is none of what the wake-up ended
    assert session.hear("SubagentStop", agent_id="a") == "background"


@pytest.mark.parametrize("source", WAKEUPS)
@pytest.mark.parametrize("kind", ["agent_needs_input", "worker_permission_prompt"])
def test_a_prompt_that_nobody_typed_answers_no_other_agent(source: str, kind: str) -> None:
    session = at_work()
    session.hear("Stop")
    session.hear("Notification", notification_type=kind, message="m")
    assert session.hear("UserPromptSubmit", source=source) == "needs_input"
    assert session.hear("UserPromptSubmit", source="user") == "running"


def test_a_prompt_that_nobody_typed_ends_the_sessions_own_calls() -> None:
    session = at_work()
    session.hear("PermissionRequest", **BASH)
    asked = session.now
    assert session.hear("UserPromptSubmit", source="system") == "running"
    assert session.hear("PermissionRequest", _at=asked, **BASH) == "running"


def test_a_parent_and_its_subagent_ask_each_for_themselves() -> None:
    session = at_work()
    session.hear("PermissionRequest", **BASH)
    assert session.hear("PostToolUse", agent_id="a", **BASH) == "needs_input"
    session.hear("PermissionRequest", agent_id="a", **BASH)
    assert session.hear("PostToolUse", **BASH) == "needs_input"
    assert session.hear("PostToolUse", agent_id="a", **BASH) == "running"


def test_the_notification_of_a_subagents_request_is_no_second_one() -> None:
    session = at_work()
    session.hear("PermissionRequest", agent_id="a", **BASH)
    session.hear("Notification", **PERMISSION)
    assert session.hear("PostToolUse", agent_id="a", **BASH) == "running"


def test_a_parent_goes_on_while_its_subagent_waits() -> None:
    session = at_work()
    session.hear("PermissionRequest", agent_id="a", tool_name="Grep")
    assert session.hear("PreToolUse", **BASH) == "needs_input"
    assert session.hear("Stop") == "needs_input"
    assert session.hear("SubagentStop", agent_id="a") == "idle"


# OpenCode's sub-agents are sessions


def opencode(event: str, session_id: str, **properties: Any) -> dict[str, Any]:
    return {"type": event, "properties": {"sessionID": session_id, **properties}}


def test_a_child_session_that_is_idle_does_not_idle_the_pane() -> None:
    session = Session("opencode")

    def hear(event: str, session_id: str, **properties: Any) -> str:
        return session.hear(event, **opencode(event, session_id, **properties))

    hear("session.created", "root", info={"id": "root"})
    hear("session.status", "root", status={"type": "busy"})
    hear("session.created", "child", info={"id": "child", "parentID": "root"})
    assert (session.state, session.record["subagent_count"]) == ("running", 1)
    assert hear("session.status", "child", status={"type": "busy"}) == "running"
    assert hear("session.idle", "child") == "running"
    assert session.record["subagent_count"] == 0
    assert hear("permission.asked", "child", id="p1", permission="bash") == "needs_input"
    assert hear("permission.asked", "root", id="p2", permission="edit") == "needs_input"
    assert hear("permission.replied", "child", requestID="p1") == "needs_input"
    assert hear("permission.replied", "root", permissionID="p2") == "running"
    assert hear("session.idle", "root") == "idle"
    assert hear("session.status", "child", status={"type": "busy"}) == "idle"
    assert session.record["subagent_count"] == 1
    assert kinds(session) == ["needs_input", "completed"]


def test_idle_is_told_twice_and_announced_once() -> None:
    session = Session("kilo")
    session.hear("chat.message", input={"sessionID": "root"})
    session.hear("session.status", **opencode("", "root", status={"type": "idle"}))
    session.hear("session.idle", **opencode("", "root"))
    assert kinds(session) == ["completed"]


def test_a_session_that_was_never_said_to_be_a_child_does_not_take_over_in_mid_turn() -> None:
    session = Session("opencode")
    session.hear("chat.message", input={"sessionID": "root"})
    assert session.hear("session.idle", **opencode("", "other")) == "running"
    assert session.hear("tool.execute.before", input={"sessionID": "other", "tool": "read"}) == "running"
    assert session.hear("permission.asked", **opencode("", "other", id="p1")) == "needs_input"
    assert session.record["session_id"] == "root"
    assert session.hear("permission.replied", **opencode("", "other", requestID="p1")) == "running"
    session.hear("session.idle", **opencode("", "root"))
    assert session.hear("chat.message", input={"sessionID": "other"}) == "running"
    assert session.record["session_id"] == "other"


def test_a_child_is_known_from_an_update_too() -> None:
    session = Session("mimo")
    session.hear("chat.message", input={"sessionID": "root"})
    session.hear("session.updated", **opencode("", "child", info={"id": "child", "parentID": "root"}))
    assert session.record["subagent_count"] == 0
    session.hear("session.status", **opencode("", "child", status={"type": "busy"}))
    assert session.record["subagent_count"] == 1
    session.hear("session.deleted", **opencode("", "child"))
    assert (session.state, session.record["subagent_count"]) == ("running", 0)


def test_a_request_is_not_answered_by_another_tool_that_runs_beside_it() -> None:
    session = Session("opencode")
    session.hear("chat.message", input={"sessionID": "root"})
    before: dict[str, Any] = {"input": {"tool": "bash", "sessionID": "root", "callID": "c1"}}
    session.hear("tool.execute.before", **before)
    session.hear(
        "permission.asked", **opencode("", "root", id="p1", permission="bash", tool={"callID": "c1"})
    )
    other: dict[str, Any] = {"input": {"tool": "read", "sessionID": "root", "callID": "c2"}}
    assert session.hear("tool.execute.before", **other) == "needs_input"
    assert session.hear("tool.execute.after", **other) == "needs_input"
    assert session.hear("tool.execute.after", **before) == "running"


# Hermes' and Vibe's sub-agents are sessions too


def test_hermes_child_sessions() -> None:
    session = Session("hermes")
    session.hear("pre_llm_call", session_id="root")
    session.hear("subagent_start", parent_session_id="root", child_session_id="child", child_role="leaf")
    assert session.hear("pre_llm_call", session_id="child") == "running"
    assert session.hear("on_session_end", session_id="child") == "running"
    assert session.record["subagent_count"] == 0
    assert session.hear("pre_approval_request", session_key="root", surface="smart") == "running"
    assert session.hear("pre_approval_request", session_key="root", tool_call_id="t") == "needs_input"
    assert session.hear("post_approval_response", session_key="root", tool_call_id="t") == "running"
    assert session.hear("post_llm_call", session_id="root", assistant_response="Done.") == "idle"
    assert session.hear("on_session_end", session_id="root", completed=True) == "idle"
    assert [(made.kind, made.body) for made in session.announced[1:]] == [("completed", "Done.")]


def test_vibes_child_sessions_name_their_parent() -> None:
    session = Session("vibe")
    session.hear("before_tool", session_id="root", tool_name="task")
    session.hear("before_tool", session_id="child", parent_session_id="root", tool_name="bash")
    assert session.record["subagent_count"] == 1
    assert session.hear("post_agent_turn", session_id="child", parent_session_id="root") == "running"
    assert session.record["subagent_count"] == 0
    assert session.hear("post_agent_turn", session_id="root", parent_session_id=None) == "idle"
    session.now += 10
    session.hear("post_agent_turn", session_id="child", parent_session_id="root")
    assert kinds(session) == ["completed"]


def test_a_list_of_those_at_work_brings_back_one_that_had_gone() -> None:
    session = at_work()
    session.hear("error", agent_id="a")
    session.hear("subagent-update", _at=session.now, subagents=["a"])
    assert set(session.record["subagents"]) == {"a"}
    assert not session.record["gone"]
