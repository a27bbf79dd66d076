"""What happens one after another, above all what users of such tools reported to go wrong."""

from __future__ import annotations

from typing import Any

import pytest

from seance_tools.lifecycle import FIELDS
from tests.lifecycle.session import BASH, Session, at_work, kinds

# Order


def test_an_older_report_is_ignored_and_an_equal_one_taken_in_its_turn() -> None:
    session = at_work()
    session.hear("Stop", _at=110.0)
    assert session.hear("PreToolUse", _at=109.9, **BASH) == "idle"
    assert session.hear("PreToolUse", _at=110.0, **BASH) == "running"
    assert session.hear("Stop", _at=110.0) == "idle"


def test_the_argument_wins_over_what_the_payload_calls_the_event() -> None:
    session = at_work()
    assert session.hear("Stop", hook_event_name="PreToolUse", event="UserPromptSubmit") == "idle"


def test_events_nobody_knows_change_nothing() -> None:
    session = at_work()
    before = session.record
    session.hear("FanStarted", session_id="s2")
    assert session.record is before


def test_an_agent_without_a_row_may_speak_as_claude_does() -> None:
    session = Session("myagent")
    assert session.hear("UserPromptSubmit") == "running"
    assert session.hear("Stop") == "idle"


def test_a_fresh_word_of_a_hook_stands_against_what_only_looks_on() -> None:
    session = at_work()
    assert session.hear("stop", _by="activity") == "running"
    assert session.hear("approval-request", _by="screen") == "needs_input"  # raising attention is allowed
    session.hear("post-tool-use")
    session.now += 60
    assert session.hear("stop", _by="activity") == "idle"
    assert session.record["inferred"]
    assert session.hear("prompt-submit") == "running"
    assert not session.record["inferred"]


# 9: the user presses Esc, of which nothing tells


def test_idle_prompt_ends_a_turn_that_nothing_else_ended() -> None:
    session = at_work()
    session.hear("SubagentStart", agent_id="a")
    assert session.hear("Notification", notification_type="idle_prompt", message="waiting") == "idle"
    assert (session.rule, session.record["inferred"]) == ("idle_prompt", True)
    assert session.record["subagent_count"] == 0
    assert session.announced == []
    assert session.hear("UserPromptSubmit") == "running"
    assert not session.record["inferred"]


def test_an_interrupted_tool_is_an_event_like_others() -> None:
    session = at_work()
    assert session.hear("PostToolUseFailure", is_interrupt=True, **BASH) == "idle"
    assert (session.record["inferred"], session.announced) == (False, [])
    assert session.hear("PostToolUseFailure", is_interrupt=False, **BASH) == "running"


# 10: an error instead of an end


def test_an_error_stays_though_idle_is_said_after_it() -> None:
    session = at_work("opencode")
    assert (
        session.hear("session.error", properties={"error": {"name": "X", "data": {"message": "no"}}})
        == "error"
    )
    assert session.hear("session.idle", properties={"sessionID": "s1"}) == "error"
    assert session.hear("session.status", properties={"status": {"type": "busy"}}) == "running"
    assert session.hear("session.idle", properties={"sessionID": "s1"}) == "idle"
    assert kinds(session) == ["error", "completed"]


def test_retrying_is_running_and_says_so() -> None:
    session = at_work("opencode")
    session.hear("session.status", properties={"status": {"type": "retry", "message": "overloaded"}})
    assert (session.state, session.text) == ("running", "Retrying: overloaded")


# 11: how sessions begin


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "fork", "new"])
def test_a_started_session_is_idle_until_a_prompt(source: str) -> None:
    session = Session()
    assert session.hear("SessionStart", session_id="s1", source=source) == "idle"
    assert session.hear("UserPromptSubmit", session_id="s1") == "running"


def test_clear_and_resume_in_mid_turn_begin_anew_under_another_id() -> None:
    for source in ("clear", "resume"):
        session = at_work()
        session.hear("SubagentStart", agent_id="a")
        assert session.hear("SessionEnd", session_id="s1", reason=source) == "idle"
        assert session.hear("SessionStart", session_id="s2", source=source) == "idle"
        assert (session.record["session_id"], session.record["subagent_count"]) == ("s2", 0)
        assert session.hear("Stop", session_id="s1") == "idle"
        assert session.hear("UserPromptSubmit", session_id="s2") == "running"


def test_what_a_left_session_still_says_is_ignored_until_it_is_resumed() -> None:
    session = at_work()
    session.hear("SessionStart", session_id="s2", source="clear")
    session.hear("UserPromptSubmit", session_id="s2")
    for event in ("Stop", "PostToolUse", "SessionEnd", "StopFailure"):
        assert session.hear(event, session_id="s1") == "running"
    assert session.hear("SessionStart", session_id="s1", source="resume") == "idle"
    assert session.hear("UserPromptSubmit", session_id="s1") == "running"
    assert session.hear("Stop", session_id="s2") == "running"
    assert session.hear("Stop", session_id="s1") == "idle"


def test_compaction_in_mid_turn_leaves_it_running() -> None:
    session = at_work()
    assert session.hear("PreCompact", session_id="s1", trigger="auto") == "running"
    assert session.text == "Compacting"
    assert session.hear("PostCompact", session_id="s1") == "running"
    assert session.hear("SessionStart", session_id="s1", source="compact") == "running"
    assert session.hear("Stop", session_id="s1") == "idle"
    assert kinds(session) == ["completed"]


def test_compaction_may_give_the_turn_another_id() -> None:
    session = at_work()
    session.hear("PreCompact", session_id="s1", trigger="auto")
    assert session.hear("SessionStart", session_id="s2", source="compact") == "running"
    assert session.hear("Stop", session_id="s1") == "running"
    assert session.hear("Stop", session_id="s2") == "idle"
    assert kinds(session) == ["completed"]


def test_compaction_that_the_user_asks_for_is_no_turn() -> None:
    session = at_work()
    session.hear("Stop")
    session.announced.clear()
    assert session.hear("PreCompact", trigger="manual") == "running"
    assert session.hear("SessionStart", source="compact", session_id="s2") == "idle"
    assert session.hear("PostCompact") == "idle"
    assert session.announced == []


def test_a_first_prompt_may_be_told_before_its_session() -> None:
    session = Session("codex")
    session.hear("UserPromptSubmit", session_id="s1")
    assert session.hear("SessionStart", session_id="s1", source="startup") == "running"


# 13: work in the background


def tasks(*states: str) -> list[dict[str, str]]:
    return [{"id": f"b{number}", "status": state} for number, state in enumerate(states)]


def test_background_work_is_told_and_its_end_is_the_turns() -> None:
    session = at_work()
    assert session.hear("Stop", background_tasks=tasks("running", "completed", "running")) == "background"
    assert (session.record["background_count"], session.announced) == (2, [])
    assert session.hear("Notification", notification_type="idle_prompt") == "background"
    assert session.hear("Stop", background_tasks=tasks("completed")) == "idle"
    assert session.record["background_count"] == 0
    assert kinds(session) == ["completed"]


def test_background_work_is_not_told_of_beside_an_error() -> None:
    session = at_work()
    session.hear("Stop", background_tasks=tasks("running"))
    session.hear("StopFailure", error="overloaded")
    assert session.record["background_count"] == 0
    session.hear("UserPromptSubmit")
    session.hear("StopFailure", error="overloaded")
    assert session.hear("Stop") == "error"
    assert session.record["background_count"] == 0
    session.record["background_count"] = 1  # as an earlier version left it
    assert session.hear("Stop") == "error"
    assert session.record["background_count"] == 0


def test_the_last_subagent_in_the_background_ends_the_turn() -> None:
    session = at_work()
    session.hear("SubagentStart", agent_id="a")
    session.hear("Stop", background_tasks=tasks("running"))
    assert session.hear("SubagentStop", agent_id="a", background_tasks=[]) == "idle"
    assert session.rule == "no background task is left"
    assert kinds(session) == ["completed"]
    assert session.hear("SubagentStop", agent_id="b", background_tasks=tasks("running")) == "idle"


# 14: which notifications need the user


@pytest.mark.parametrize(
    "kind",
    ["idle_prompt", "auth_success", "agent_completed", "elicitation_complete", "push_notification", ""],
)
@pytest.mark.parametrize("event", ["Notification", "notification"])
def test_only_some_notifications_need_the_user(kind: str, event: str) -> None:
    session = at_work()
    session.hear("Stop")
    assert session.hear(event, notification_type=kind, message="m") == "idle"
    assert not session.record["inferred"]


def test_an_answered_dialog_runs_on_and_one_at_rest_stays_so() -> None:
    session = at_work()
    session.hear("Elicitation", mcp_server_name="tracker", message="Pick a project", elicitation_id="e1")
    assert session.text == "Pick a project"
    assert session.hear("Notification", notification_type="elicitation_dialog", message="x") == "needs_input"
    assert session.hear("ElicitationResult", mcp_server_name="tracker", elicitation_id="e1") == "running"
    session.hear("Notification", notification_type="elicitation_url_dialog")
    assert session.hear("Notification", notification_type="elicitation_complete") == "running"
    session.hear("Stop")
    assert session.hear("Notification", notification_type="elicitation_response") == "idle"


def test_another_agents_need_does_not_say_that_this_one_runs() -> None:
    session = at_work()
    session.hear("Stop")
    session.announced.clear()
    assert session.hear("Notification", notification_type="agent_needs_input", message="m") == "needs_input"
    assert session.hear("Notification", notification_type="idle_prompt") == "needs_input"
    for event in ("PreToolUse", "PostToolUse"):
        assert session.hear(event, **BASH) == "needs_input"
    assert session.hear("Stop") == "needs_input"
    assert session.hear("UserPromptSubmit") == "running"  # whoever writes it has seen the other's question
    assert kinds(session) == ["needs_input", "completed"]


@pytest.mark.parametrize("kind", ["agent_needs_input", "worker_permission_prompt"])
def test_anothers_need_outlasts_what_this_session_does(kind: str) -> None:
    session = at_work()
    session.hear("PreToolUse", tool_use_id="t1", **BASH)
    session.hear("PermissionRequest", **BASH)
    assert session.hear("Notification", notification_type=kind, message="m") == "needs_input"
    for event in ("PostToolUse", "PreToolUse", "Stop", "PostToolUse"):
        assert session.hear(event, tool_use_id="t1", **BASH) == "needs_input"
        assert session.text == "Needs input"
    assert session.record["base"]["state"] == "idle"
    session.hear("UserPromptSubmit")
    session.hear("Notification", notification_type=kind, message="m")
    assert session.wait(1, interrupted=True) == "needs_input"  # Esc is no answer to it
    assert session.hear("Notification", notification_type="agent_completed", message="done") == "idle"


# 16: large payloads


def test_texts_of_any_size_are_cut() -> None:
    session = at_work()
    long = "x" * (2 << 20)
    session.hear("PreToolUse", tool_name=long, tool_input={"command": long}, cwd=long)
    session.hear("PermissionRequest", tool_name="Bash", tool_input={"command": long})
    session.hear("Stop", last_assistant_message=long)
    assert len(session.text) <= 80
    assert len(session.record["cwd"]) <= 256
    assert all(len(made.body) <= 400 for made in session.announced)
    assert len(str(session.record)) < 10_000


@pytest.mark.parametrize("value", [None, 5, 1.5, True, [], {}, [[]], {"a": {}}, "", "\x1b[2J", [None, {}]])
def test_members_of_any_kind_are_harmless(value: Any) -> None:
    members = [path for paths in FIELDS.values() for path in paths.split() if "." not in path]
    members += [
        "tool_input",
        "background_tasks",
        "subagents",
        "properties",
        "thread",
        "messages",
        "status",
        "is_interrupt",
    ]
    for agent in ("claude", "opencode", "amp", "pi", "hermes", "cursor", "antigravity"):
        session = Session(agent)
        for event in (*session.agent.events, "notification", "session-end", "subagent-update"):
            session.hear(event, **dict.fromkeys(members, value))
            assert session.record["subagent_count"] >= 0


def test_an_input_that_is_json_in_a_string_is_read() -> None:
    session = at_work("copilot")
    session.hear("preToolUse", toolName="bash", toolArgs='{"command": "make test"}')
    assert session.text == "Running make test"
    session.hear("preToolUse", toolName="bash", toolArgs='{"command": ')
    assert session.text == "Using bash"


# 19: one announcement a transition


def test_the_same_again_announces_nothing() -> None:
    session = Session()
    session.hear("SessionStart", session_id="s1")
    for event in ("Stop", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Stop", "StopFailure"):
        for _ in range(50):
            session.hear(event)
    assert kinds(session) == ["needs_input", "completed", "error"]


def test_a_session_inside_another_only_asks() -> None:
    session = at_work()
    session.record["parent"] = "claude-1"
    session.hear("PermissionRequest", **BASH)
    session.hear("Stop")
    assert kinds(session) == ["needs_input"]


def test_a_log_that_falls_silent_is_no_completion() -> None:
    session = Session("codebuff")
    for source in ("activity", "log"):  # the log has more to say only after it was first written
        session.hear("prompt-submit", _by="activity")
        assert session.hear("stop", _by=source) == "idle"
    assert session.announced == []
    session.hear("prompt-submit", _by="log")
    assert session.hear("stop", _by="log") == "idle"
    assert kinds(session) == ["completed"]


def test_an_agent_that_never_tells_of_prompts_has_every_end_announced() -> None:
    session = Session("aider")
    assert session.hear("notifications-command") == "idle"
    session.now += 30
    session.hear("notifications-command")
    session.hear("notifications-command", _at=session.now)
    assert kinds(session) == ["completed", "completed"]


def test_what_a_script_says_is_shown() -> None:
    session = Session("codebuff")
    session.hear("prompt-submit", status="Thinking", display_name="My Agent")
    assert (session.text, session.record["display_name"]) == ("Thinking", "My Agent")
    session.hear("approval-request", status="Approve: rm -rf build?")
    assert (session.state, session.text) == ("needs_input", "Approve: rm -rf build?")
    session.hear("approval-response")
    assert session.text == "Thinking"
    native = at_work("cursor")
    native.hear("stop", status="completed")
    assert native.text == "Idle"  # its own member of that name is something else


def test_the_directory_follows() -> None:
    session = at_work()
    session.hear("CwdChanged", cwd="/a", new_cwd="/a/b")
    assert session.record["cwd"] == "/a/b"
