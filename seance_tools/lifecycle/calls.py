"""Calls of tools, and what the user is asked about them, in whatever order their reports come.

Tools run side by side, and their hooks are processes that overtake each other by some milliseconds. So what
a report says of a call counts though a later one of another call was taken before it: a call's own times
decide. `child` is the sub-agent that the call is of, "" for the session itself.
"""

from __future__ import annotations

from seance_tools.lifecycle.payloads import Record, Report
from seance_tools.lifecycle.records import MOST_CALLS, add_need, same_call
from seance_tools.lifecycle.table import NEEDS_INPUT_KINDS

# A call that begins so long after a request is none of those that run beside it: the model has been asked
# again, which it is only once all is answered. Nothing else may tell that the user has said no.
ROUND_SECONDS = 30.0
_LATE_SECONDS = 10.0  # for so long a call that is over is remembered: reports come late by less
_BOUNDS = frozenset(  # of turns: none of the session's own calls goes on over them
    {"session-start", "session-switch", "prompt-submit", "stop", "llm-complete", "interrupt", "error"}
)


def others(needs: list[Record]) -> list[Record]:
    """Return the needs of agents that are none of this session's."""
    return [need for need in needs if need["agent_id"].startswith("(")]


def called(record: Record, report: Report, child: str) -> Record:
    """Return the members that change when a tool is called."""
    if _is_over(record, report, child):
        return {}
    call = {name: getattr(report, name) for name in ("tool_use_id", "tool_name", "doing", "at")}
    calls = [row for row in record["calls"] if not (report.tool_use_id and same_call(row, report, child))]
    waiting = record["needs"]
    left = [need for need in waiting if not _answered_by_call(record, need, report, child)]
    changed: Record = {"calls": [*calls, {"agent_id": child, **call}][-MOST_CALLS:]}
    changed["needs"] = [_with_id(need, report, child) for need in left]
    if any(need.get("passed_at") for need in waiting if need not in left):
        changed["asked_at"] = None  # this only follows: should it wait after all, its notification counts
    return changed


def ended(record: Record, report: Report, child: str) -> Record:
    """Return the members that change when a call is over; what the user was asked about it is answered."""
    call = _call_of(record["calls"], report, child)
    if call and not report.tool_use_id:
        report = report._replace(tool_use_id=call["tool_use_id"])
    calls = [row for row in record["calls"] if row is not call]
    changed = {"calls": calls, **answered(record, report, child, call)}
    if call:
        changed["needs"] = [_passed(need, call, report, child) for need in changed["needs"]]
    return changed


def answered(record: Record, report: Report, child: str, call: Record | None = None) -> Record:
    """Return the members that change when the user has answered, and the call may go on. call: if known."""
    before = record["needs"]
    left = _without_need([need for need in before if need["at"] <= report.at], report, child, call)
    needs = [need for need in before if need["at"] > report.at or need in left]
    row = {name: getattr(report, name) for name in ("tool_use_id", "tool_name", "doing", "at")}
    row["agent_id"] = child
    changed: Record = {"needs": needs}
    if (row["tool_use_id"] or row["tool_name"]) and row not in record["over"]:
        recent = [known for known in record["over"] if known["at"] > report.at - _LATE_SECONDS]
        changed["over"] = [*recent, row][-MOST_CALLS:]
    return changed


def asked(record: Record, report: Report, child: str) -> Record:
    """Return the members that change when the user is asked about a call, or about anything else."""
    if report.at < record["cut_at"] or _is_over(record, report, child):
        return {}
    report = _with_call(record, report, child)
    return {"needs": add_need(record["needs"], report, child)}


def overtaken(record: Record, report: Report) -> Record:
    """Return the members that change by a report of the session's own that a later one has overtaken."""
    if report.event in _BOUNDS:
        names = ("needs", "calls")
        left = {
            name: [row for row in record[name] if row["agent_id"] or row["at"] > report.at] for name in names
        }
        return {**left, "rested_at": max(report.at, record["rested_at"])}
    if report.at < max(record["rested_at"], record["cut_at"]):
        return {}  # of a turn that is over
    if report.event == "pre-tool-use":
        return {**called(record, report, ""), "acted_at": max(report.at, record["acted_at"])}
    if report.event == "post-tool-use":
        return ended(record, report, "")
    if report.event == "approval-response":
        return answered(record, report, "")
    if report.event in ("approval-request", "question") and report.kind not in NEEDS_INPUT_KINDS:
        changed = asked(record, report, "")
        return {**changed, "asked_at": report.at} if changed else {}
    return {}


def _without_need(needs: list[Record], report: Report, child: str, call: Record | None) -> list[Record]:
    """Return the needs without what a report answers: the one it names, else the only one of that tool.

    call: if it is known, its own need is the only one; what it was to do, the user may have changed.
    """
    left = [need for need in needs if not same_call(need, report, child)]
    if len(left) < len(needs):
        return left
    if call:
        made = report._replace(**{name: call[name] for name in ("tool_use_id", "tool_name", "doing")})
        return [need for need in needs if not same_call(need, made, child)]
    of_tool = [
        need
        for need in needs
        if need["agent_id"] == child and need["tool_name"] == report.tool_name and not need["request_id"]
    ]
    lone = report.tool_name and len(of_tool) == 1 and not (of_tool[0]["tool_use_id"] and report.tool_use_id)
    return [need for need in needs if need is not of_tool[0]] if lone else needs


def may_wait(record: Record, report: Report) -> bool:
    """Return whether a notification may be about a call that is not over; Claude Code's names the tool."""
    words = set(report.message.split())
    named = {row["tool_name"] for row in (*record["calls"], *record["over"])} & words
    return any(not named or row["tool_name"] in named for row in record["calls"])


def outlived(need: Record, at: float) -> bool:
    """Return whether a request is so old that what begins now shows it to be answered."""
    return bool(at - need["at"] >= ROUND_SECONDS)


def _with_id(need: Record, report: Report, child: str) -> Record:
    """Return a need with the id of its call, where the request was faster than the call."""
    late = need["at"] >= report.at and need["tool_name"] and not need["tool_use_id"]
    return {**need, "tool_use_id": report.tool_use_id} if late and same_call(need, report, child) else need


def _passed(need: Record, call: Record, report: Report, child: str) -> Record:
    """Return a need with when a call is over that the same agent has made after it asked."""
    later = need["agent_id"] == child and need["at"] < call["at"] and need.get("passed_at") is None
    return {**need, "passed_at": report.at} if later else need


def _answered_by_call(record: Record, need: Record, report: Report, child: str) -> bool:
    if need["agent_id"] != child or need["request_id"] or need["at"] > report.at:
        return False
    if need["tool_use_id"] and need["tool_use_id"] == report.tool_use_id:
        return False
    if not (need["tool_use_id"] and report.tool_use_id) and same_call(need, report, child):
        return True  # it is another call of the same tool; what nothing is known of is answered by any
    return outlived(need, report.at) or _in_later_round(record, need, report, child)


def _in_later_round(record: Record, need: Record, report: Report, child: str) -> bool:
    """Return whether a call is not one of those beside the one that the user is asked about.

    Those begin together. So when one that began after the request is over and another begins, the model has
    been asked again: the user has said no. A log tells it more surely, but nothing of sub-agents.
    """
    passed_at = need.get("passed_at")
    if passed_at is None or passed_at >= report.at:
        return False
    return bool(child or not record["transcript"])


def _is_over(record: Record, report: Report, child: str) -> bool:
    """Return whether the call that a report is about has had its end by then: the report is late."""
    if not (report.tool_use_id or report.tool_name):
        return False
    return any(row["at"] > report.at and same_call(row, report, child) for row in record["over"])


def _call_of(calls: list[Record], report: Report, child: str) -> Record | None:
    """Return the call that a report without its id is most likely about."""
    rows = [row for row in calls if row["agent_id"] == child and row["at"] <= report.at]
    if report.tool_use_id:
        return next((row for row in rows if row["tool_use_id"] == report.tool_use_id), None)
    same = [row for row in rows if report.tool_name and same_call(row, report, child)]
    of_tool = [row for row in rows if row["tool_name"] == report.tool_name]
    return same[0] if same else of_tool[0] if len(of_tool) == 1 else None


def _with_call(record: Record, report: Report, child: str) -> Report:
    """Return a request with what is known of its call: it does not give its id.

    A notification gives nothing, but Claude Code's names the tool in its text.
    """
    if report.tool_use_id or report.request_id or not (report.tool_name or report.kind):
        return report
    rows = [row for row in record["calls"] if row["agent_id"] == child and row["at"] <= report.at]
    if report.tool_name:
        rows = [row for row in rows if same_call(row, report, child)]
    elif len(rows) > 1:
        words = set(report.message.split())
        rows = [row for row in rows if row["tool_name"] in words]
    waiting = {need["tool_use_id"] for need in record["needs"]}
    fresh = [row for row in rows if not row["tool_use_id"] or row["tool_use_id"] not in waiting]
    if not rows or (not report.tool_name and len(rows) > 1):
        return report
    row = (fresh or rows)[0]
    return report._replace(
        **{name: getattr(report, name) or row[name] for name in ("tool_use_id", "tool_name", "doing")}
    )
