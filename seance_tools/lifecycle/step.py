"""From a record and a report to the next record."""

from __future__ import annotations

from seance_tools.lifecycle.calls import answered, asked, called, ended, overtaken
from seance_tools.lifecycle.payloads import Record, Report
from seance_tools.lifecycle.records import (
    begin_subagent,
    complete,
    end_subagent,
    is_child,
    named_subagent,
    subject,
)
from seance_tools.lifecycle.table import END, PASSIVE, STOPPED, TRANSITIONS, WEAK_SOURCES
from seance_tools.lifecycle.transitions import EVENTS, afresh, base_of

FRESH_SECONDS = 60.0  # for so long a strong source's word stands against a weak one's
_CHILD_ENDS = frozenset(
    {"subagent-stop", "stop", "llm-complete", "interrupt", "error", "session-switch", END}
)
_OF_CALLS = {
    "approval-request": asked,
    "question": asked,
    "approval-response": answered,
    "pre-tool-use": called,
    "post-tool-use": ended,
}
_CHILD_RUNS = frozenset({"session-start", "prompt-submit", "busy", "pre-tool-use", "post-tool-use"})


def advance(record: Record, report: Report) -> Record:
    """Return the record that follows `record` after `report`; the same object if nothing changes.

    record: at least the members of `blank`; further ones are passed on untouched.
    """
    if report.event not in TRANSITIONS:
        return record
    before = complete(record)
    whose = subject(before, report)
    if report.event in ("subagent-start", "subagent-stop") and whose.kind != "child":
        child = named_subagent(before, report.agent_name) or report.agent_name
        whose = whose._replace(kind="child" if child else "other", child=child)
    if whose.kind == "other":
        return record
    if whose.kind == "child":
        changed, rule = _of_child(before, report, whose.child)
    else:
        if report.at < before["at"]:
            return _late(record, before, report) if whose.kind == "own" else record
        if _outweighed(before, report):
            return record
        left = {}
        if whose.kind == "new":
            left = afresh(report.session_id, [*before["former"], before["session_id"]])
            if report.event == "compact-end":  # the same conversation under another id
                left = {name: left[name] for name in ("session_id", "former")}
        changed, rule = _own({**before, **left}, report)
        changed = left | changed
    changed |= {"heard_at": max(report.at, before["heard_at"]), "quiet_seconds": 0, "stopped": False}
    return settle(before, changed, report.at, _evidence(report, rule) if rule else None)


def ends(record: Record, report: Report) -> bool:
    """Return whether a report is the end of the record's own session, and not a stale one."""
    before = complete(record)
    return report.event == END and report.at >= before["at"] and subject(before, report).kind == "own"


def _late(record: Record, before: Record, report: Report) -> Record:
    """Return the record that follows a report which a later one has overtaken; the same if nothing does."""
    changed = overtaken(before, report) if report.source not in WEAK_SOURCES else {}
    if all(before[name] == value for name, value in changed.items()):
        return record
    told = changed.get("needs", before["needs"]) != before["needs"]
    return settle(before, changed, before["at"], _evidence(report, report.event) if told else None)


def _outweighed(record: Record, report: Report) -> bool:
    """Return whether a report that only saw the outside stands against a better one that is still fresh."""
    if report.source not in WEAK_SOURCES or record["source"] in WEAK_SOURCES or not record["evidence"]:
        return False
    raises = TRANSITIONS[report.event] == "needs_input"
    return not raises and report.at - record["heard_at"] < FRESH_SECONDS


def _own(record: Record, report: Report) -> tuple[Record, str]:
    step = EVENTS.get(report.event)
    changed, rule = step(record, report) if step else ({}, "")
    names = ("cwd", "display_name", "transcript")
    told: Record = {name: getattr(report, name) for name in names if getattr(report, name)}
    if report.event not in PASSIVE and not report.kind:
        told["acted_at"] = report.at
    if report.session_id and "session_id" not in changed:
        told["session_id"] = report.session_id
    return {**told, **changed, "at": report.at}, rule


def _of_child(record: Record, report: Report, child: str) -> tuple[Record, str]:
    """Return what a sub-agent's report changes: what is its own, never what its parent does."""
    event, at = report.event, report.at
    changed: Record = {}
    rule = ""
    if event in _CHILD_ENDS:
        changed = end_subagent(record, child, at)
        if report.background is not None and record["base"]["state"] == "background":
            changed |= {"background_count": report.background}
            if not report.background:
                changed |= base_of("idle") | {"turn_since": None}
                rule = "no background task is left"
    elif event == "subagent-start" or (event in _CHILD_RUNS and child == report.session_id):
        changed = begin_subagent(record, child, report.agent_name, at)
    elif event == "session-update" and not is_child(record, child):
        changed = end_subagent(record, child, 0.0)  # known, though not at work
    if at <= record["gone"].get(child, -1.0):
        return changed, rule
    if event in _OF_CALLS:
        changed |= _OF_CALLS[event](record, report, child)
    if event in ("approval-request", "question"):
        changed["asked_at"] = report.at
    if changed.get("needs", record["needs"]) != record["needs"]:
        rule = rule or f"{event} of sub-agent {record['subagents'].get(child, {}).get('name') or child}"
    return changed, rule


def _evidence(report: Report, rule: str) -> Record:
    evidence: Record = {"event": report.native or report.event, "at": report.at, "rule": rule}
    if report.tool_name:
        evidence["tool_name"] = report.tool_name
    inferred = report.source in WEAK_SOURCES or report.event == "idle-prompt"
    hooked = report.source == "hook"
    return {"evidence": evidence, "source": report.source, "inferred": inferred, "hooked": hooked}


def settle(before: Record, changed: Record, at: float, evidence: Record | None) -> Record:
    """Return `before` with members changed, and what shows of it made to match.

    evidence: the members evidence, source, inferred and hooked where there is a new reason for the state.
    """
    after = {**before, **changed}
    need = after["needs"][0] if after["needs"] else None
    state = "needs_input" if need else after["base"]["state"]
    text = need["text"] if need else after["base"]["text"]
    if after["stopped"]:
        state, text = "unknown", STOPPED
    after |= {"state": state, "text": text, **(evidence or {})}
    if state != before["state"]:
        after["since"] = at
    return after
