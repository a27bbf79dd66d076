"""A session's record: what it holds besides its state, and whose business a report is.

base: what the session itself does, {"state", "text"}; sub-agents and questions to the user come on top.
needs: what waits for the user, each {"agent_id", "request_id", "tool_use_id", "tool_name", "doing", "text",
"detail", "at"}; while there is one, the state is needs_input. An agent_id that is one of OTHERS_KINDS in
parentheses is that of an agent outside this session; passed_at: when a call was over that the same agent had
made after it asked, if there was one. answered: the last of them is, and no tool was called since; asked_at:
when the agent last asked in this turn, else None; notified: when each kind of notification was last heard
that it asks; calls_told: calls of tools are reported at all. calls:
those that are not over, over: those that lately were, each {"agent_id", "tool_use_id", "tool_name", "doing",
"at"}. rested_at: when the session's own calls and needs were last over, by the end or the beginning of a
turn; cut_at: when its sub-agents' were too. turn_since: when the turn that is not over began, else None.
acted_at: when the agent last did something of its own. subagents: id → {"at", "name"} of those at work; gone:
id → when it ended. former: ids of sessions that this agent has left. heard_at: when anything was heard of the
session. quiet_seconds: for how long it has said nothing though it is at work, 0 while that is short. hooked:
the agent speaks for itself, nobody watches it. stopped: its process is (Ctrl-Z), whatever it did; the state
is unknown then. transcript: path of its log.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from seance_tools.lifecycle.payloads import Record, Report
from seance_tools.lifecycle.table import CLOSING, OPENING, TEXTS

MOST_SUBAGENTS = 64
MOST_GONE = 64
MOST_NEEDS = 16
MOST_CALLS = 16
MOST_FORMER = 8
# Members in which every number is a time, in seconds since 1970.
_TIMED = (
    *("since", "at", "acted_at", "heard_at", "turn_since", "asked_at", "cut_at", "rested_at"),
    *("evidence", "needs", "calls", "over", "subagents", "gone", "notified"),
)


def blank(at: float) -> Record:
    """Return the members that this package keeps of a session, before anything is known of it."""
    return {
        "state": "unknown",
        "text": TEXTS["unknown"],
        "since": at,
        "at": at,
        "source": "hook",
        "inferred": False,
        "evidence": {},
        "session_id": "",
        "subagent_count": 0,
        "background_count": 0,
        "base": {"state": "unknown", "text": TEXTS["unknown"]},
        "needs": [],
        "answered": False,
        "asked_at": None,
        "notified": {},
        "calls_told": False,
        "calls": [],
        "over": [],
        "cut_at": 0.0,
        "rested_at": 0.0,
        "turn_since": None,
        "acted_at": at,
        "subagents": {},
        "gone": {},
        "former": [],
        "heard_at": at,
        "quiet_seconds": 0,
        "hooked": True,
        "stopped": False,
        "transcript": "",
    }


def complete(record: Record) -> Record:
    """Return a record with every member; one that an earlier version wrote lacks some."""
    if "acted_at" in record:
        return record
    at = record["at"]
    state = record["state"]
    new = {**blank(at), "hooked": record.get("source", "hook") == "hook"}
    if "base" in record:
        needs = [{"at": record["since"], **need} for need in record["needs"]]
        return {**new, **record, "needs": needs}
    shown = {"base": {"state": state, "text": record["text"]}} if state != "needs_input" else {}
    return {**new, "turn_since": at if state == "running" else None, **shown, **record}


def not_after(record: Record, at: float) -> Record:
    """Return a record in which nothing is later than `at`; the same one if nothing is.

    For when the clock was set back: what is reported from then on comes after all that is known.
    """
    whole = complete(record)
    if max(whole["at"], whole["heard_at"]) <= at:
        return record
    return {**record, **{name: _not_after(whole[name], at) for name in _TIMED}}


def _not_after(value: Any, at: float) -> Any:
    if isinstance(value, dict):
        return {key: _not_after(inner, at) for key, inner in value.items()}
    if isinstance(value, list):
        return [_not_after(inner, at) for inner in value]
    return min(value, at) if isinstance(value, int | float) else value


class Subject(NamedTuple):
    """Whose a report is. kind: own, child (the sub-agent `child`'s), new (a session after this) or other."""

    kind: str
    child: str = ""


def subject(record: Record, report: Report) -> Subject:
    """Return whose a report is: the session's own, a sub-agent's, a following session's or nobody's here."""
    if report.agent_id:
        return Subject("child", report.agent_id)
    session_id, current = report.session_id, record["session_id"]
    if session_id and (report.parent_id or is_child(record, session_id)):
        return Subject("child", session_id)
    if not session_id or not current or session_id == current:
        return Subject("own")
    if report.shared and record["turn_since"] is not None:
        asked = report.event in ("approval-request", "question", "approval-response")
        return Subject("child", session_id) if asked else Subject("other")
    if report.event in CLOSING or (session_id in record["former"] and report.event not in OPENING):
        return Subject("other")
    return Subject("new")


def is_child(record: Record, session_id: str) -> bool:
    """Return whether a session is known as a sub-agent's."""
    return session_id in record["subagents"] or session_id in record["gone"]


def _bounded(rows: dict[str, Any], most: int) -> dict[str, Any]:
    """Return the newest of the rows; a dictionary keeps the order in which they were put in."""
    return dict(list(rows.items())[-most:])


def begin_subagent(record: Record, child: str, name: str, at: float) -> Record:
    """Return the members that change when a sub-agent begins, whatever order its reports come in."""
    if record["gone"].get(child, -1.0) >= at:
        return {}
    known = record["subagents"].get(child, {"at": at, "name": ""})
    row = {"at": max(at, known["at"]), "name": name or known["name"]}
    subagents = _bounded({**record["subagents"], child: row}, MOST_SUBAGENTS)
    gone = {key: value for key, value in record["gone"].items() if key != child}
    return {"subagents": subagents, "gone": gone, "subagent_count": len(subagents)}


def end_subagent(record: Record, child: str, at: float) -> Record:
    """Return the members that change when a sub-agent ends; it needs nothing any more."""
    known = record["subagents"].get(child)
    if known and known["at"] > at:
        return {}
    subagents = {key: row for key, row in record["subagents"].items() if key != child}
    gone = {key: value for key, value in record["gone"].items() if key != child}
    gone[child] = max(at, record["gone"].get(child, at))
    needs = [need for need in record["needs"] if need["agent_id"] != child]
    changed: Record = {"subagents": subagents, "gone": _bounded(gone, MOST_GONE), "needs": needs}
    if known:
        changed["subagent_count"] = len(subagents)
    return changed


def named_subagent(record: Record, name: str) -> str:
    """Return the sub-agent of that name that has worked longest; some agents name it only so at its end."""
    return next((child for child, row in record["subagents"].items() if name and row["name"] == name), "")


def same_call(need: Record, report: Report, child: str) -> bool:
    """Return whether a report is about a call of a tool, or about what the user is asked.

    need: a member of a record's needs, calls or over.
    """
    for name in ("request_id", "tool_use_id"):
        mine, theirs = need.get(name), getattr(report, name)
        if mine and theirs:
            return bool(mine == theirs)
    if need["agent_id"] != child:
        return False
    if not need["tool_name"] or not report.tool_name:
        return True
    if need["tool_name"] != report.tool_name:
        return False
    return not need["doing"] or not report.doing or bool(need["doing"] == report.doing)


def add_need(needs: list[Record], report: Report, child: str) -> list[Record]:
    """Return the needs with the report's among them, once; the older report of the same keeps its texts."""
    detail = report.question or report.message or report.doing
    text = report.status or (report.question if report.event == "question" else "") or TEXTS["needs_input"]
    for index, need in enumerate(needs):
        if same_call(need, report, child):
            known = {name: need[name] or getattr(report, name) for name in ("request_id", "tool_use_id")}
            merged = {**need, **known, "detail": need["detail"] or detail, "at": max(need["at"], report.at)}
            return [*needs[:index], merged, *needs[index + 1 :]]
    need = {
        "agent_id": child,
        "request_id": report.request_id,
        "tool_use_id": report.tool_use_id,
        "tool_name": report.tool_name,
        "doing": report.doing,
        "text": text,
        "detail": detail,
        "at": report.at,
    }
    return [*needs, need][-MOST_NEEDS:]
