"""What a hook event means: event → state of an agent's session.

Everything that decides an agent's state from its events is in this file. TRANSITIONS is the table; `read`
takes from a payload what the table needs, wherever the agent puts it; `advance` makes the next record from
the last one and never alters its arguments. Rules (Architecture, "Agents"):

- a report older than the last one taken is acknowledged and ignored;
- counts are sizes of sets of ids, never +1 or -1;
- an event that the table does not know changes nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from seance_tools.names import LIMITS
from seance_tools.text import clean

Record = dict[str, Any]
PRIORITIES = {"needs_input": 10, "error": 10, "running": 5, "idle": 0, "unknown": 0, "background": -1}
TEXTS = {
    "needs_input": "Needs input",
    "error": "Error",
    "running": "Running",
    "idle": "Idle",
    "unknown": "Unknown",
    "background": "Background",
}
END = "session-end"

# event: the state that follows; None leaves it as it is.
TRANSITIONS: dict[str, str | None] = {
    "session-start": "idle",
    "prompt-submit": "running",
    "pre-tool-use": "running",
    "post-tool-use": "running",
    "notification": None,  # needs_input for the kinds of NEEDS_INPUT_KINDS
    "approval-request": "needs_input",
    "approval-response": "running",
    "stop": "idle",  # background while background tasks run
    "llm-complete": "idle",
    "interrupt": "idle",
    "error": "error",
    "subagent-update": None,
    "progress": None,
    "log": None,
    END: None,
}
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

# Where agents put the same thing; the first that is there counts. Wire, "Hooks on the command line".
_PATHS = {
    "session_id": (
        ("session_id",),
        ("sessionId",),
        ("sessionID",),
        ("notification", "session_id"),
        ("data", "session_id"),
        ("session", "id"),
        ("context", "session_id"),
    ),
    "cwd": (
        ("cwd",),
        ("working_directory",),
        ("working_dir",),
        ("project_dir",),
        ("workspace", "current_dir"),
    ),
    "tool_name": (("tool_name",), ("toolName",), ("tool", "name"), ("tool",)),
    "status": (("status",),),
    "display_name": (("display_name",),),
    "kind": (("notification_type",), ("kind",)),
    "message": (("message",), ("reason",), ("error",)),
}
_INPUT_PATHS = (("tool_input",), ("toolInput",), ("toolArgs",), ("args",), ("input",))
_VERBS = (  # part of a tool's name, what it does, the input that says to what
    ("read", "Reading", ("file_path", "path", "filePath", "absolute_path")),
    ("view", "Reading", ("file_path", "path", "filePath")),
    ("write", "Writing", ("file_path", "path", "filePath")),
    ("edit", "Editing", ("file_path", "path", "filePath")),
    ("replace", "Editing", ("file_path", "path", "filePath")),
    ("patch", "Editing", ("file_path", "path", "filePath")),
    ("bash", "Running", ("command", "cmd")),
    ("shell", "Running", ("command", "cmd")),
    ("terminal", "Running", ("command", "cmd")),
    ("exec", "Running", ("command", "cmd")),
    ("glob", "Search:", ("pattern", "query")),
    ("grep", "Search:", ("pattern", "query")),
    ("search", "Search:", ("query", "pattern")),
    ("fetch", "Fetching", ("url",)),
    ("task", "Delegating:", ("description",)),
    ("agent", "Delegating:", ("description",)),
)


class Report(NamedTuple):
    """One event of an agent's session, as far as its payload says: texts cleaned, "" where unknown."""

    event: str
    at: float
    source: str = "hook"
    session_id: str = ""
    cwd: str = ""
    tool_name: str = ""
    doing: str = ""
    status: str = ""
    display_name: str = ""
    kind: str = ""
    message: str = ""
    background: int = 0
    subagents: int | None = None


def _find(payload: Record, paths: tuple[tuple[str, ...], ...]) -> Any:
    for path in paths:
        value: Any = payload
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None and value != "" and not isinstance(value, dict):
            return value
    return None


def _text(payload: Record, name: str) -> str:
    value = _find(payload, _PATHS[name])
    return clean(value, LIMITS["name_characters"]) if isinstance(value, str) else ""


def describe_tool(name: str, arguments: Any) -> str:
    """Return what a tool does in a few words ("Reading cart.py", "Running make test")."""
    lowered = name.lower()
    given = arguments if isinstance(arguments, dict) else {}
    for part, verb, members in _VERBS:
        if part in lowered:
            value = next((given[member] for member in members if isinstance(given.get(member), str)), "")
            if value and verb in ("Reading", "Writing", "Editing"):
                value = value.rstrip("/").rpartition("/")[2]
            return clean(f"{verb} {value}", 80) if value else clean(f"Using {name}", 80)
    return clean(f"Using {name}", 80) if name else ""


def read(event: str, payload: Record, at: float, source: str = "hook") -> Report:
    """Return what `payload` says of `event`, taken from wherever the agent puts it."""
    arguments = next((payload[p[0]] for p in _INPUT_PATHS if isinstance(payload.get(p[0]), dict)), None)
    tool = _text(payload, "tool_name")
    tasks = payload.get("background_tasks")
    running = (
        [t for t in tasks if not isinstance(t, dict) or t.get("status", "running") == "running"]
        if isinstance(tasks, list)
        else []
    )
    subagents = payload.get("subagent_count", payload.get("subagents"))
    if isinstance(subagents, list):
        subagents = len(subagents)
    return Report(
        event,
        at,
        source,
        session_id=_text(payload, "session_id"),
        cwd=_text(payload, "cwd"),
        tool_name=tool,
        doing=describe_tool(tool, arguments),
        status=_text(payload, "status"),
        display_name=_text(payload, "display_name"),
        kind=_text(payload, "kind"),
        message=_text(payload, "message"),
        background=len(running),
        subagents=subagents if type(subagents) is int and subagents >= 0 else None,
    )


def next_state(report: Report) -> tuple[str | None, str]:
    """Return (state or None for unchanged, the rule that says so)."""
    if report.event == "notification" and report.kind in NEEDS_INPUT_KINDS:
        return "needs_input", f"notification of kind {report.kind}"
    if report.event in ("stop", "llm-complete") and report.background:
        return "background", f"{report.event} with {report.background} background tasks"
    return TRANSITIONS.get(report.event), report.event


def _status_text(state: str, report: Report) -> str:
    if report.status:
        return report.status
    if state == "running" and report.event == "pre-tool-use" and report.doing:
        return report.doing
    if state == "error" and report.message:
        return report.message
    return TEXTS[state]


def advance(record: Record, report: Report) -> Record:
    """Return the record that follows `record` after `report`; the same object if nothing changes.

    record: members state, text, since, at, source, evidence, subagent_count, background_count, and those
    that this function passes on untouched.
    """
    if report.event not in TRANSITIONS or report.at < record["at"]:
        return record
    state, rule = next_state(report)
    changed: Record = {"at": report.at}
    if report.subagents is not None:
        changed["subagent_count"] = report.subagents
    if state is not None:
        evidence: Record = {"event": report.event, "at": report.at, "rule": rule}
        if report.tool_name:
            evidence["tool_name"] = report.tool_name
        changed |= {
            "state": state,
            "text": _status_text(state, report),
            "source": report.source,
            "inferred": report.source in ("activity", "screen"),
            "background_count": report.background if state == "background" else 0,
            "evidence": evidence,
        }
        if state != record["state"]:
            changed["since"] = report.at
    for name in ("session_id", "cwd", "display_name"):
        value = getattr(report, name)
        if value:
            changed[name] = value
    return {**record, **changed}


def explain(record: Record, now: float) -> Record:
    """Return why a record is in its state: the rule and evidence, how old, and what would change it.

    age_seconds: since the evidence was given. would_change: state → the events that lead to it.
    """
    ways: dict[str, list[str]] = {}
    for event, state in TRANSITIONS.items():
        if state is not None and state != record["state"]:
            ways.setdefault(state, []).append(event)
    if record["state"] != "needs_input":
        ways["needs_input"].append("notification of kind " + " or ".join(sorted(NEEDS_INPUT_KINDS)))
    if record["state"] != "background":
        ways["background"] = ["stop with background_tasks"]
    ways["ended"] = [END, *(["the end of process " + str(record["pid"])] if record["pid"] else [])]
    evidence = record["evidence"]
    return {
        "rule": evidence.get("rule", "nothing was reported yet"),
        "evidence": evidence,
        "source": record["source"],
        "inferred": record["inferred"],
        "age_seconds": round(max(now - evidence.get("at", record["since"]), 0.0), 3),
        "in_state_seconds": round(max(now - record["since"], 0.0), 3),
        "would_change": ways,
    }
