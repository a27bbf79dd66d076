"""Every sample of what agents say, and what it does to a session in mid-turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seance_tools.agents import BY_KEY
from seance_tools.lifecycle import read
from seance_tools.methods import STATES
from tests.lifecycle.session import Session

SAMPLES = Path(__file__).parent.parent / "data" / "payloads"
NOTHING = "unchanged"  # nothing that we want to know
ENDED = "ended"

# file (its event is what stands before the first "-", where none is given): the state after it.
CLAUDE = {
    "ConfigChange": NOTHING,
    "CwdChanged": "running",
    "DirectoryAdded": NOTHING,
    "Elicitation": "needs_input",
    "ElicitationResult": "running",
    "FileChanged": NOTHING,
    "InstructionsLoaded": NOTHING,
    "MessageDisplay": NOTHING,
    "Notification-agent_completed": "running",
    "Notification-agent_needs_input": "needs_input",
    "Notification-auth_success": "running",
    "Notification-elicitation_complete": "running",
    "Notification-elicitation_dialog": "needs_input",
    "Notification-elicitation_response": "running",
    "Notification-elicitation_url_dialog": "needs_input",
    "Notification-idle_prompt": "idle",
    "Notification-permission_prompt": "needs_input",
    "Notification-worker_permission_prompt": "needs_input",
    "PermissionDenied": "running",
    "PermissionRequest": "needs_input",
    "PostCompact": "running",
    "PostModelSwitch": NOTHING,
    "PostToolBatch": NOTHING,
    "PostToolUse": "running",
    "PostToolUseFailure": "running",
    "PreCompact": "running",
    "PreModelSwitch": NOTHING,
    "PreSkillShellCommand": NOTHING,
    "PreToolUse": "running",
    "PreToolUse-AskUserQuestion": "needs_input",
    "PreToolUse-ExitPlanMode": "needs_input",
    "PreToolUse-in-subagent": "running",
    "SessionEnd": ENDED,
    "SessionEnd-clear": "idle",
    "SessionStart": "running",  # the prompt's hook was faster
    "SessionStart-resume": "idle",
    "Setup": NOTHING,
    "Stop": "idle",
    "Stop-with-background-task": "background",
    "StopFailure": "error",
    "SubagentStart": "running",
    "SubagentStop": "running",
    "TaskCompleted": NOTHING,
    "TaskCreated": NOTHING,
    "TeammateIdle": NOTHING,
    "UserPromptExpansion": NOTHING,
    "UserPromptSubmit": "running",
    "WorktreeCreate": NOTHING,
    "WorktreeRemove": NOTHING,
    "statusLine": NOTHING,
}
CODEX = {
    "Interrupt": "idle",
    "PermissionRequest": "needs_input",
    "PostCompact": "running",
    "PostToolUse": "running",
    "PreCompact": "running",
    "PreToolUse": "running",
    "SessionEnd": ENDED,
    "SessionStart": "running",
    "Stop": "idle",
    "SubagentStart": "running",
    "SubagentStop": "running",
    "UserPromptSubmit": "running",
    "notify-agent-turn-complete": "idle",
}
COPILOT = {
    "Stop-pascalcase-variant": "idle",
    "agentStop": "idle",
    "errorOccurred": NOTHING,  # it can be recovered from
    "notification-agent_completed": "running",
    "notification-agent_idle": "idle",
    "notification-elicitation_dialog": "needs_input",
    "notification-permission_prompt": "needs_input",
    "notification-shell_completed": "running",
    "notification-shell_detached_completed": "running",
    "permissionRequest": NOTHING,  # comes before the policy, even for what is allowed
    "postToolUse": "running",
    "postToolUseFailure": "running",
    "preCompact": NOTHING,
    "preToolUse": "running",
    "preToolUse-ask_user": "needs_input",
    "sessionEnd": ENDED,
    "sessionStart": "running",
    "subagentStart": "running",
    "subagentStop": "running",
    "userPromptSubmitted": "running",
}
CURSOR = {
    "afterAgentResponse": NOTHING,
    "afterAgentThought": NOTHING,
    "afterFileEdit": "running",
    "afterMCPExecution": "running",
    "afterShellExecution": "running",
    "beforeMCPExecution": "running",
    "beforeReadFile": "running",
    "beforeShellExecution": "running",
    "beforeSubmitPrompt": "running",
    "postToolUse": "running",
    "postToolUseFailure": "running",
    "preCompact": NOTHING,
    "preToolUse": "running",
    "sessionEnd": ENDED,
    "sessionStart": "running",
    "stop": "idle",
    "stop-aborted": "idle",
    "stop-error": "error",
    "subagentStart": "running",
    "subagentStop": "running",
}
OPENCODE = {
    "hook-chat.message": "running",
    "hook-tool.execute.after": "running",
    "hook-tool.execute.before": "running",
    "message.updated": NOTHING,
    "permission.asked": "needs_input",
    "permission.asked-from-subagent": "needs_input",
    "permission.replied": "running",
    "permission.replied-old-shape": "running",
    "permission.updated-old-name": "needs_input",
    "question.asked": "needs_input",
    "question.rejected": "running",
    "question.replied": "running",
    "server.instance.disposed": ENDED,
    "session.compacted": "running",
    "session.created": "running",
    "session.created-subagent": "running",
    "session.deleted": "idle",
    "session.error": "error",
    "session.error-aborted": "idle",
    "session.idle": "idle",
    "session.idle-subagent": "running",
    "session.status-busy": "running",
    "session.status-idle": "idle",
    "session.status-retry": "running",
    "session.updated": "running",
}
EXPECTED: dict[str, dict[str, str]] = {
    "aider": {"notifications-command": "idle"},
    "amp": {
        "agent.end-cancelled": "idle",
        "agent.end-done": "idle",
        "agent.end-error": "error",
        "agent.start": "running",
        "session.start": "running",
        "thread.state-awaiting-approval": "needs_input",
        "tool.call": "running",
        "tool.result": "running",
    },
    "antigravity": {
        "hook-PostToolUse": "running",
        "hook-PreInvocation": "running",
        "hook-PreToolUse": "running",
        "hook-Stop": "idle",
        "statusLine-idle": "idle",
        "statusLine-needs-approval": "needs_input",
        "statusLine-thinking": "running",
        "statusLine-tool_use": "running",
        "statusLine-working": "running",
    },
    "claude": CLAUDE,
    "codex": CODEX,
    "copilot": COPILOT,
    "cursor": CURSOR,
    "gemini": {
        "AfterAgent": "idle",
        "AfterModel": NOTHING,
        "AfterTool": "running",
        "BeforeAgent": "running",
        "BeforeModel": NOTHING,
        "BeforeTool": "running",
        "Notification": "needs_input",
        "PreCompress": NOTHING,
        "SessionEnd": ENDED,
        "SessionStart": "running",
    },
    "goose": {
        "AfterShellExecution": "running",
        "BeforeShellExecution": "running",
        "PostToolUse": "running",
        "PostToolUseFailure": "running",
        "PreToolUse": "running",
        "PreToolUseResult": NOTHING,
        "SessionEnd": ENDED,
        "SessionStart": "running",
        "Stop": "idle",
        "UserPromptSubmit": "running",
    },
    "hermes": {
        "on_session_end": "idle",
        "on_session_end-interrupted": "idle",
        "on_session_finalize": ENDED,
        "on_session_reset": "idle",
        "on_session_start": "running",
        "post_approval_response": "running",
        "post_llm_call": "idle",
        "post_tool_call": "running",
        "pre_approval_request": "needs_input",
        "pre_llm_call": "running",
        "pre_tool_call": "running",
        "pre_tool_call-clarify": "needs_input",
        "shell-hook-stdin-pre_tool_call": "running",
        "subagent_start": "running",
        "subagent_stop": "running",
    },
    "kilo": OPENCODE,
    "mimo": OPENCODE,
    "opencode": OPENCODE,
    "pi": {
        "agent_end": "idle",
        "agent_end-aborted": "idle",
        "agent_start": "running",
        "before_agent_start": NOTHING,
        "input": NOTHING,
        "session_compact": "running",
        "session_shutdown": ENDED,
        "session_shutdown-new": "idle",
        "session_start": "idle",
        "session_start-new": "idle",
        "tool_execution_end": "running",
        "tool_execution_start": "running",
        "turn_end": NOTHING,
        "turn_start": NOTHING,
    },
    "qwen": {
        "Notification-auth_success": "running",
        "Notification-idle_prompt": "idle",
        "Notification-permission_prompt": "needs_input",
        "PermissionDenied": "running",
        "PermissionRequest": "needs_input",
        "PostCompact": "running",
        "PostToolUse": "running",
        "PostToolUseFailure": "running",
        "PreCompact": "running",
        "PreToolUse": "running",
        "SessionEnd": ENDED,
        "SessionStart": "running",
        "Stop": "idle",
        "StopFailure": "error",
        "SubagentStart": "running",
        "SubagentStop": "running",
        "TodoCompleted": NOTHING,
        "TodoCreated": NOTHING,
        "UserPromptSubmit": "running",
    },
    "vibe": {"after_tool": "running", "before_tool": "running", "post_agent_turn": "idle"},
}
CASES = [(agent, name, state) for agent, rows in EXPECTED.items() for name, state in rows.items()]
SESSION_IDS = {
    "claude": "3c9d1a52-1111-4222-8333-944455556666",
    "codex": "0199b0c1-aaaa-7bbb-8ccc-ddddeeeeffff",
    "copilot": "cp-1",
    "cursor": "c-1",
    "gemini": "g-1",
    "goose": "20260914_1",
    "hermes": "20260914_100000_ab12",
    "kilo": "ses_6a01",
    "mimo": "ses_6a01",
    "opencode": "ses_6a01",
    "qwen": "q-1",
    "vibe": "b7e0",
    "amp": "T-1",
    "antigravity": "ag-1",
}


def sample(agent: str, name: str) -> Any:
    return json.loads((SAMPLES / agent / f"{name}.json").read_text())


def event_of(name: str) -> str:
    """The event of a sample's file: what follows `hook-`, up to what tells it from others of that event."""
    if name.startswith("shell-hook-stdin-"):
        return name.removeprefix("shell-hook-stdin-")
    if name in ("notify-agent-turn-complete", "notifications-command"):
        return name.removeprefix("notify-")
    return name.removeprefix("hook-").partition("-")[0]


def in_turn(agent: str) -> Session:
    """A session in mid-turn, of the id that the samples have, with the samples' sub-agents known."""
    session = Session(agent)
    assert session.hear("prompt-submit", session_id=SESSION_IDS.get(agent, "")) == "running"
    if agent in ("opencode", "kilo", "mimo"):
        session.hear("session.created", **sample(agent, "session.created-subagent"))
    return session


def test_the_table_is_complete() -> None:
    assert {(path.parent.name, path.stem) for path in SAMPLES.rglob("*.json")} == {case[:2] for case in CASES}


@pytest.mark.parametrize(("agent", "name", "state"), CASES)
def test_every_sample(agent: str, name: str, state: str) -> None:
    session = in_turn(agent)
    before = session.record
    payload = sample(agent, name)
    report = read(BY_KEY[agent], event_of(name), payload, session.now + 1)
    if state == NOTHING:
        assert report is None
        return
    assert report is not None
    if state == ENDED:
        assert report.event == "session-end"
        assert report.session_id in ("", before["session_id"])
        return
    session.hear(event_of(name), **payload)
    assert session.state == state
    assert session.state in STATES
    assert session.record["heard_at"] == session.now  # it was taken


@pytest.mark.parametrize(("agent", "session_id"), SESSION_IDS.items())
def test_session_ids_are_found(agent: str, session_id: str) -> None:
    found = set()
    for name, state in EXPECTED[agent].items():
        report = read(BY_KEY[agent], event_of(name), sample(agent, name), 1.0)
        if state != NOTHING and report and not report.agent_id and "subagent" not in name:
            found.add(report.session_id)
    assert found - {""} == {session_id}


TOOLS = {
    ("claude", "PreToolUse"): "Running pytest -q",
    ("claude", "PreToolUse-in-subagent"): "Search: def pay",
    ("claude", "PermissionRequest"): "Running pytest -q",
    ("claude", "PreToolUse-AskUserQuestion"): "Using AskUserQuestion",
    ("claude", "PreToolUse-ExitPlanMode"): "Using ExitPlanMode",
    ("codex", "PreToolUse"): "Running pytest -q",
    ("codex", "PermissionRequest"): "Running pip install x",
    ("copilot", "preToolUse"): "Running pytest -q",
    ("copilot", "preToolUse-ask_user"): "Using ask_user",
    ("cursor", "preToolUse"): "Running pytest -q",
    ("cursor", "beforeShellExecution"): "Running pytest -q",
    ("cursor", "beforeMCPExecution"): "Using search",
    ("cursor", "beforeReadFile"): "Reading a.py",
    ("gemini", "BeforeTool"): "Running pytest -q",
    ("goose", "PreToolUse"): "Running pytest -q",
    ("hermes", "pre_tool_call"): "Running pytest -q",
    ("hermes", "pre_tool_call-clarify"): "Using clarify",
    ("hermes", "shell-hook-stdin-pre_tool_call"): "Running pytest -q",
    ("opencode", "hook-tool.execute.before"): "Running pytest -q",
    ("opencode", "permission.asked"): "Running pip install x",
    ("mimo", "hook-tool.execute.before"): "Running pytest -q",
    ("pi", "tool_execution_start"): "Running pytest -q",
    ("qwen", "PreToolUse"): "Running pytest -q",
    ("vibe", "before_tool"): "Running pytest -q",
    ("amp", "tool.call"): "Running pytest -q",
    ("antigravity", "hook-PreToolUse"): "Running pytest -q",
}


@pytest.mark.parametrize(("agent", "name"), TOOLS)
def test_what_a_samples_tool_does(agent: str, name: str) -> None:
    report = read(BY_KEY[agent], event_of(name), sample(agent, name), 1.0)
    assert report is not None
    assert report.doing == TOOLS[agent, name]


QUESTIONS = {
    ("claude", "PreToolUse-AskUserQuestion"): "Which DB?",
    ("claude", "PreToolUse-ExitPlanMode"): "Approve the plan?",
    ("claude", "Elicitation"): "Pick a project",
    ("copilot", "preToolUse-ask_user"): "Which DB?",
    ("hermes", "pre_tool_call-clarify"): "Which DB?",
    ("opencode", "question.asked"): "Which DB?",
}


@pytest.mark.parametrize(("agent", "name"), QUESTIONS)
def test_a_samples_question_is_the_text(agent: str, name: str) -> None:
    session = in_turn(agent)
    session.hear(event_of(name), **sample(agent, name))
    assert session.text == QUESTIONS[agent, name]
    assert session.announced[-1].body == QUESTIONS[agent, name]


DETAILS = {
    ("claude", "PermissionRequest"): "Running pytest -q",
    ("claude", "Notification-permission_prompt"): "Claude needs your permission to use Bash",
    ("gemini", "Notification"): "Tool run_shell_command requires approval",
    ("hermes", "pre_approval_request"): "rm -rf build",
    ("kilo", "permission.updated-old-name"): "pip install x",
    ("kilo", "permission.asked"): "Running pip install x",
    ("amp", "thread.state-awaiting-approval"): "",
}


@pytest.mark.parametrize(("agent", "name"), DETAILS)
def test_what_a_sample_waits_for_is_announced(agent: str, name: str) -> None:
    session = in_turn(agent)
    session.hear(event_of(name), **sample(agent, name))
    assert session.text == "Needs input"
    [announced] = session.announced
    assert announced.title == f"{BY_KEY[agent].name} needs your input"
    assert announced.body == DETAILS[agent, name]


LAST_MESSAGES = {
    ("claude", "Stop"): "All tests pass now.",
    ("codex", "Stop"): "All tests pass now.",
    ("codex", "notify-agent-turn-complete"): "All tests pass now.",
    ("gemini", "AfterAgent"): "Done.",
    ("goose", "Stop"): "Done.",
    ("hermes", "post_llm_call"): "Done.",
    ("qwen", "Stop"): "Done.",
    ("cursor", "stop"): "",
    ("vibe", "post_agent_turn"): "",
    ("aider", "notifications-command"): "",
}


@pytest.mark.parametrize(("agent", "name"), LAST_MESSAGES)
def test_a_samples_last_message_is_announced(agent: str, name: str) -> None:
    session = in_turn(agent)
    session.hear(event_of(name), **sample(agent, name))
    [announced] = session.announced
    assert announced == ("completed", f"{BY_KEY[agent].name} has finished", LAST_MESSAGES[agent, name])


REASONS = {
    ("claude", "StopFailure"): ("Rate limit", "Rate limit: Usage limit reached"),
    ("qwen", "StopFailure"): ("Rate limit", "Rate limit"),
    ("opencode", "session.error"): ("bad key", "bad key"),
    ("cursor", "stop-error"): ("Error", "Error"),
    ("amp", "agent.end-error"): ("Error", "Error"),
}


@pytest.mark.parametrize(("agent", "name"), REASONS)
def test_a_samples_error_is_told(agent: str, name: str) -> None:
    session = in_turn(agent)
    session.hear(event_of(name), **sample(agent, name))
    text, body = REASONS[agent, name]
    assert session.text == text
    [announced] = session.announced
    assert (announced.kind, announced.body) == ("error", body)
