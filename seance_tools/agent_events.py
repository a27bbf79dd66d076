"""What agents call their events, and which of ours each is.

Level 0: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Mark = tuple[tuple[str, object], ...]

# What agents call their events, and which of ours (lifecycle, TRANSITIONS) each is: a name of ours, or
# conditions (member of the payload, its value, our name) of which the first that holds counts, and at last
# what it is otherwise; "" is nothing to us. Our own names are understood from every agent without a row.
HOOKS = {  # the names of Claude Code, which many have taken over
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PreToolUse": "pre-tool-use",
    "PostToolUse": "post-tool-use",
    "PostToolUseFailure": "post-tool-use",
    "Notification": "notification",
    "SubagentStart": "subagent-start",
    "SubagentStop": "subagent-stop",
    "Stop": "stop",
    "StopFailure": "error",
    "SessionEnd": "session-end",
}
CLAUDE = {
    **HOOKS,
    "PermissionRequest": "approval-request",
    "PermissionDenied": "approval-response",
    "Elicitation": "question",
    "ElicitationResult": "approval-response",
    "PreCompact": "compact-start",
    "PostCompact": "compact-end",
    "CwdChanged": "session-update",
}
CODEX = {**CLAUDE, "Interrupt": "interrupt", "agent-turn-complete": "stop", "notify": "stop"}
OPENCODE = {
    "session.created": "session-start",
    "session.updated": "session-update",
    "session.deleted": "session-switch",
    "session.status": (
        ("status.type", "busy", "busy"),
        ("status.type", "retry", "busy"),
        ("status.type", "idle", "stop"),
        "",
    ),
    "session.idle": "stop",
    "session.error": (("error.name", "MessageAbortedError", "interrupt"), "error"),
    "session.compacted": "compact-end",
    "chat.message": "prompt-submit",
    "tool.execute.before": "pre-tool-use",
    "tool.execute.after": "post-tool-use",
    "permission.asked": "approval-request",
    "permission.updated": "approval-request",
    "permission.replied": "approval-response",
    "permission.v2.asked": "approval-request",
    "permission.v2.replied": "approval-response",
    "question.asked": "question",
    "question.replied": "approval-response",
    "question.rejected": "approval-response",
    "question.v2.asked": "question",
    "question.v2.replied": "approval-response",
    "question.v2.rejected": "approval-response",
    "server.instance.disposed": "session-end",
    "dispose": "session-end",
}
PI = {
    "session_start": "session-start",
    "agent_start": "prompt-submit",
    "tool_execution_start": "pre-tool-use",
    "tool_execution_end": "post-tool-use",
    "agent_end": (
        ("messages.-1.stopReason", "error", "error"),
        ("messages.-1.stopReason", "aborted", "interrupt"),
        "stop",
    ),
    "session_compact": "compact-end",
    "session_shutdown": "session-end",
}
VIBE = {"before_tool": "pre-tool-use", "after_tool": "post-tool-use", "post_agent_turn": "stop"}
HERMES = {
    "on_session_start": "session-start",
    "pre_llm_call": "prompt-submit",
    "pre_tool_call": "pre-tool-use",
    "post_tool_call": "post-tool-use",
    "pre_approval_request": (("surface", "smart", ""), "approval-request"),  # smart: nobody is asked
    "post_approval_response": (("surface", "smart", ""), "approval-response"),
    "subagent_start": "subagent-start",
    "subagent_stop": "subagent-stop",
    "post_llm_call": "llm-complete",
    "on_session_end": (("interrupted", True, "interrupt"), "stop"),  # of a turn, whatever its name says
    "on_session_reset": "session-switch",
    "on_session_finalize": "session-end",
}
GEMINI = {
    "SessionStart": "session-start",
    "BeforeAgent": "prompt-submit",
    "BeforeTool": "pre-tool-use",
    "AfterTool": "post-tool-use",
    "Notification": "notification",
    "AfterAgent": "stop",
    "SessionEnd": "session-end",
}
CURSOR = {
    "sessionStart": "session-start",
    "beforeSubmitPrompt": "prompt-submit",
    "preToolUse": "pre-tool-use",
    "beforeShellExecution": "pre-tool-use",
    "beforeMCPExecution": "pre-tool-use",
    "beforeReadFile": "pre-tool-use",
    "postToolUse": "post-tool-use",
    "postToolUseFailure": "post-tool-use",
    "afterShellExecution": "post-tool-use",
    "afterMCPExecution": "post-tool-use",
    "afterFileEdit": "post-tool-use",
    "subagentStart": "subagent-start",
    "subagentStop": "subagent-stop",
    "stop": (("status", "error", "error"), ("status", "aborted", "interrupt"), "stop"),
    "sessionEnd": "session-end",
}
COPILOT = {  # without its permissionRequest, which comes before the policy even for what is allowed
    **HOOKS,
    "sessionStart": "session-start",
    "userPromptSubmitted": "prompt-submit",
    "UserPromptSubmitted": "prompt-submit",
    "preToolUse": "pre-tool-use",
    "postToolUse": "post-tool-use",
    "postToolUseFailure": "post-tool-use",
    "subagentStart": "subagent-start",
    "subagentStop": "subagent-stop",
    "agentStop": "stop",
    "errorOccurred": (("recoverable", True, ""), "error"),
    "sessionEnd": "session-end",
}
AMP = {
    "session.start": "session-start",
    "agent.start": "prompt-submit",
    "tool.call": "pre-tool-use",
    "tool.result": "post-tool-use",
    "thread.state": (
        ("thread.state", "awaiting-approval", "approval-request"),
        ("thread.state", "running", "busy"),
        ("thread.state", "idle", "stop"),
        ("thread.state", "error", "error"),
        "",
    ),
    "agent.end": (("status", "error", "error"), ("status", "cancelled", "interrupt"), "stop"),
    "dispose": "session-end",
}
GOOSE = {**HOOKS, "BeforeShellExecution": "pre-tool-use", "AfterShellExecution": "post-tool-use"}
ANTIGRAVITY = {
    "statusLine": (
        ("tool_confirmation_pending", True, "approval-request"),
        ("agent_state", "thinking", "busy"),
        ("agent_state", "working", "busy"),
        ("agent_state", "tool_use", "busy"),
        ("agent_state", "idle", "stop"),
        "",
    ),
    "PreInvocation": "busy",
    "PreToolUse": "pre-tool-use",
    "PostToolUse": "post-tool-use",
    "Stop": "stop",
}
AIDER = {"notifications-command": "stop", "notification": "stop"}  # all that it ever says: your turn

# What lines of an agent's own log say that its hooks do not. A mark is what all hold of a line: (member, how
# its text begins, or its value). interrupted: the user has ended the turn. answered: a call of a tool has its
# result, be it that the user said no. asked_again: the model speaks, and has the results of all calls before.
# skip: lines of sub-agents, of which only a call's result counts. Of Claude Code's transcripts and Codex's
# rollouts, as third parties read them.
CLAUDE_LOG: dict[str, tuple[Mark, ...]] = {
    "skip": ((("isSidechain", True),),),
    "interrupted": (
        (("type", "user"), ("message.content", "[Request interrupted by user")),
        (("type", "user"), ("message.content.0.text", "[Request interrupted by user")),
    ),
    "answered": ((("type", "user"), ("message.content.0.type", "tool_result")),),
    "asked_again": ((("type", "assistant"),),),
}
CODEX_LOG: dict[str, tuple[Mark, ...]] = {
    "interrupted": ((("type", "event_msg"), ("payload.type", "turn_aborted")),),
    "answered": ((("type", "response_item"), ("payload.type", "function_call_output")),),
}
