"""The table of what may happen in an agent's session, and the state that follows."""

from __future__ import annotations

PRIORITIES = {"needs_input": 10, "error": 10, "running": 5, "idle": 0, "unknown": 0, "background": -1}
TEXTS = {
    "needs_input": "Needs input",
    "error": "Error",
    "running": "Running",
    "idle": "Idle",
    "unknown": "Unknown",
    "background": "Background",
}
STOPPED = "Stopped"  # the text of a session whose process is, by Ctrl-Z
END = "session-end"

# event: the state that follows of itself; None leaves it as it is. What hangs on more than the event is
# in `transitions`, one function an event.
TRANSITIONS: dict[str, str | None] = {
    "session-start": "idle",
    "prompt-submit": "running",
    "busy": "running",  # at work, and nothing more is said
    "pre-tool-use": "running",
    "post-tool-use": "running",
    "notification": None,
    "approval-request": "needs_input",
    "question": "needs_input",
    "approval-response": "running",
    "stop": "idle",  # background while background tasks run
    "llm-complete": "idle",
    "interrupt": "idle",
    "idle-prompt": "idle",  # its prompt has waited for a while
    "error": "error",
    "compact-start": "running",
    "compact-end": None,
    "subagent-start": None,
    "subagent-stop": None,
    "subagent-update": None,
    "session-update": None,
    "session-switch": "idle",  # the agent goes on with another session
    "progress": None,
    "log": None,
    END: None,
}
OPENING = frozenset({"session-start", "prompt-submit"})  # a session that is not the last one may begin so
CLOSING = frozenset(
    {
        "stop",
        "llm-complete",
        "interrupt",
        "idle-prompt",
        "error",
        "notification",
        "session-switch",
        END,
    }
)
NEEDS_INPUT_KINDS = frozenset(
    {
        "permission_prompt",
        "worker_permission_prompt",
        "elicitation_dialog",
        "elicitation_url_dialog",
        "agent_needs_input",
        "permission",
        "question",
        "ToolPermission",
    }
)
OTHERS_KINDS = frozenset({"agent_needs_input", "worker_permission_prompt"})  # not of this session's turn
SWITCHES = frozenset({"clear", "resume", "new", "reload", "fork"})  # reasons that leave the agent running
# Sources of prompts that nobody has typed: UserPromptSubmit in code.claude.com/docs/en/hooks.md.
WAKEUPS = frozenset({"system", "loop_wakeup", "schedule_wakeup", "poll_event"})
# Some events are another one by what their report says: event: (field of the report, its values, the event).
REFINEMENTS: dict[str, tuple[tuple[str, frozenset[str | bool], str], ...]] = {
    "notification": (
        ("kind", frozenset(NEEDS_INPUT_KINDS), "approval-request"),
        ("kind", frozenset({"idle_prompt", "agent_idle"}), "idle-prompt"),
        ("kind", frozenset({"elicitation_complete", "elicitation_response"}), "approval-response"),
    ),
    "session-start": (("reason", frozenset({"compact"}), "compact-end"),),
    END: (("reason", frozenset(SWITCHES), "session-switch"),),
    "pre-tool-use": (("asks", frozenset({True}), "question"),),
    "post-tool-use": (("interrupted", frozenset({True}), "interrupt"),),
}
# Sources that only see the outside of an agent. Architecture, "Agents".
WEAK_SOURCES = frozenset({"activity", "screen"})
# Events that say nothing of what the agent does next: what it did before may have been interrupted meanwhile.
PASSIVE = frozenset({"post-tool-use", "notification", "session-update", "subagent-update"})
