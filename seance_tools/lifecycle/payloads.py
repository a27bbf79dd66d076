"""What an agent's payload says, taken from wherever the agent puts it: payload → Report."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import ujson

from seance_tools.agents import Agent
from seance_tools.lifecycle.table import REFINEMENTS, TRANSITIONS
from seance_tools.names import LIMITS
from seance_tools.text import clean
from seance_tools.tools import asks_the_user, describe_tool, question_of

Record = dict[str, Any]
_NAME = LIMITS["name_characters"]
_QUOTED_BYTES = 1 << 16  # of a tool's input that is JSON in a string; what is longer is not looked into
_CODE = re.compile(r"[a-z]+(_[a-z]+)*")

# Where agents put the same thing, dots lead inwards; the first text that is there counts. A row of AGENTS
# may have another place for a field.
FIELDS = {
    "session_id": "session_id sessionId sessionID session_key conversation_id conversationId thread-id "
    "thread.id info.id notification.session_id data.session_id session.id context.session_id",
    "parent_id": "parent_session_id parentSessionId parentID info.parentID",
    "agent_id": "agent_id agentId subagent_id child_session_id agentName",
    "agent_name": "agent_type agentDisplayName subagent_type child_role",
    "request_id": "requestID permissionID elicitation_id id",
    "tool_use_id": "tool_use_id tool_call_id toolCallId toolUseID callID tool.callID",
    "tool_name": "tool_name toolName tool.name tool toolCall.name permission",
    "cwd": "new_cwd cwd working_directory working_dir project_dir workspace.current_dir workspace_roots.0 "
    "workspacePaths.0 info.directory",
    "kind": "notification_type kind notification.notification_type",
    "reason": "source reason",
    "message": "message notification.message title description",
    "last_message": "last_assistant_message last-assistant-message prompt_response assistant_response",
    "error": "error error.message error.data.message error_message message reason",
    "transcript": "transcript_path transcriptPath",
}
_ARGUMENTS = ("tool_input", "toolInput", "toolArgs", "args", "toolCall.args", "input", "metadata")
_LONG = frozenset({"message", "last_message", "error", "transcript"})
# Events that are about a tool without naming it: a member of the payload, and the tool that has it.
_UNNAMED_TOOLS = (("command", "shell"), ("file_path", "read"))


Places = tuple[tuple[str, str], ...]  # of one thing: (the member to look for, the path from the payload)


@cache
def _places(agent: Agent) -> dict[str, Places]:
    """Return where an agent puts each of FIELDS."""
    return {name: _split(*paths.split()) for name, paths in {**FIELDS, **agent.fields}.items()}


@cache
def _split(*paths: str) -> Places:
    return tuple((path.partition(".")[0], path) for path in paths)


class Report(NamedTuple):
    """One event of an agent's session, as far as its payload says: texts cleaned, "" where unknown.

    event: ours, native: the agent's name for it. session_id: of the session it is about, parent_id: of that
    one's parent if it is a sub-agent's. agent_id, agent_name: the sub-agent it is about. request_id: of what
    the user is asked. doing: what the tool does. asks: the tool only asks the user. question: what. kind: of
    a notification. reason: why a session began or ended. background: number of running background tasks,
    subagents: number or ids of sub-agents, None where nothing is said. shared: one process of this agent may
    have several sessions at work. turn_end: this always ends a turn, for an agent that tells no beginnings.
    transcript: path of the session's log, where the agent's row says how to read it.
    """

    event: str
    at: float
    source: str = "hook"
    native: str = ""
    session_id: str = ""
    parent_id: str = ""
    agent_id: str = ""
    agent_name: str = ""
    request_id: str = ""
    tool_use_id: str = ""
    tool_name: str = ""
    doing: str = ""
    asks: bool = False
    question: str = ""
    cwd: str = ""
    status: str = ""
    display_name: str = ""
    kind: str = ""
    reason: str = ""
    message: str = ""
    last_message: str = ""
    error: str = ""
    transcript: str = ""
    interrupted: bool = False
    background: int | None = None
    subagents: int | tuple[str, ...] | None = None
    shared: bool = False
    turn_end: bool = False


def member_at(payload: Record, path: str) -> Any:
    """Return what is at a path of names and list indices, None where nothing is."""
    value: Any = payload
    for name in path.split("."):
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.lstrip("-").isdecimal():
            value = value[int(name)] if -len(value) <= int(name) < len(value) else None
        else:
            return None
    return value


def _text(payload: Record, places: Places, limit: int = _NAME) -> str:
    for member, path in places:
        if member in payload:  # few are: a hook runs at every tool call
            value = payload[member] if member == path else member_at(payload, path)
            if isinstance(value, str) and value:
                return clean(value, limit)
    return ""


def _arguments(payload: Record) -> Record | None:
    """Return a tool's input; some agents give it as JSON in a string."""
    for member, path in _split(*_ARGUMENTS):
        if member not in payload:
            continue
        value = member_at(payload, path)
        if isinstance(value, str) and value.startswith("{") and len(value) <= _QUOTED_BYTES:
            try:
                value = ujson.loads(value)
            except (ValueError, OverflowError, RecursionError):
                continue  # a text of the tool's, not its input
        if isinstance(value, dict):
            return value
    return None


def _event(agent: Agent, native: str, payload: Record) -> str:
    """Return our name for an agent's event, "" for one that means nothing to us."""
    known = agent.events.get(native, native)
    if isinstance(known, str):
        return known if known in TRANSITIONS else ""
    assert isinstance(known, tuple)  # AGENTS has nothing else
    *conditions, otherwise = known
    for path, value, event in conditions:
        if member_at(payload, path) == value:
            return str(event)
    return str(otherwise)


def _refined(report: Report) -> Report:
    for field, values, event in REFINEMENTS.get(report.event, ()):
        if getattr(report, field) in values:
            return report._replace(event=event)
    return report


def _background(payload: Record) -> int | None:
    tasks = payload.get("background_tasks")
    if not isinstance(tasks, list):
        return None
    rows = [task if isinstance(task, dict) else {} for task in tasks]
    running = [row for row in rows if row.get("status", "running") == "running"]
    return len({_text(row, _split("id")) or number for number, row in enumerate(running)})


def _subagents(payload: Record) -> int | tuple[str, ...] | None:
    value = payload.get("subagent_count", payload.get("subagents"))
    if isinstance(value, list):
        ids = tuple(clean(item, _NAME) for item in value if isinstance(item, str) and item)
        return ids if len(ids) == len(value) else len(value)
    return value if type(value) is int and value >= 0 else None


def _tool(event: str, texts: dict[str, str], payload: Record) -> dict[str, Any]:
    """Return the fields that tell of a tool or of what the user is asked."""
    name, arguments = texts["tool_name"], _arguments(payload)
    doing = describe_tool(name, arguments)
    if not name and event in ("pre-tool-use", "approval-request"):
        tools = (tool for member, tool in _UNNAMED_TOOLS if member in payload)
        doing = describe_tool(next(tools, ""), payload)
    if not name and (texts["kind"].startswith("elicitation") or texts["native"].startswith("Elicitation")):
        name = "elicitation"  # its dialog and its answer have nothing else in common
    question = question_of(name, arguments) or question_of(name, payload)
    return {
        "tool_name": name,
        "doing": doing,
        "asks": asks_the_user(name),
        "question": question or (texts["message"] if event == "question" else ""),
    }


def read(agent: Agent, native: str, payload: Record, at: float, source: str = "hook") -> Report | None:
    """Return what `payload` says of an agent's event; None for an event that means nothing to us.

    native: the agent's own name for the event or ours; what the payload calls it does not count.
    """
    body = dict(payload)
    for layer in agent.layers:
        inner = payload.get(layer)
        body |= inner if isinstance(inner, dict) else {}
    event = _event(agent, native, body)
    if not event:
        return None
    texts = {
        name: _text(body, places, LIMITS["text_characters"] if name in _LONG else _NAME)
        for name, places in _places(agent).items()
    }
    texts["native"] = native
    if not agent.transcript:
        texts["transcript"] = ""
    own = native not in agent.events  # scripts speak our names, and may say what shall be shown
    texts["status"] = _text(body, _split("status")) if own else ""
    texts["display_name"] = _text(body, _split("display_name")) if own else ""
    code = body.get("error")
    if isinstance(code, str) and _CODE.fullmatch(code):
        texts["error"] = code.replace("_", " ").capitalize()
    return _refined(
        Report(
            event,
            at,
            source,
            **{**texts, **_tool(event, texts, body)},
            interrupted=body.get("is_interrupt") is True,
            background=_background(body),
            subagents=_subagents(body),
            shared=agent.many_sessions,
            turn_end=not agent.tells_prompts,
        )
    )
