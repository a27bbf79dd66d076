"""What follows from a report: one function an event where the table alone does not say.

Each is a function of (record, report) and returns (members that change, the rule that says so); an empty rule
means that the event says nothing of the state.
"""

from __future__ import annotations

from collections.abc import Callable

from seance_tools.lifecycle.payloads import Record, Report
from seance_tools.lifecycle.records import MOST_FORMER, MOST_SUBAGENTS, add_need, without_need
from seance_tools.lifecycle.table import END, NEEDS_INPUT_KINDS, TEXTS, WEAK_SOURCES

Change = tuple[Record, str]
_FIRST = frozenset({"", "startup", "new"})  # reasons for a session to begin that did not exist before
_OTHERS_NEED = frozenset({"agent_needs_input", "worker_permission_prompt"})  # not of this session's turn


def base_of(state: str, text: str = "") -> Record:
    """Return the member that says what a session itself does; without a text, the state's usual one."""
    return {"base": {"state": state, "text": text or TEXTS[state]}}


def _runs(record: Record, report: Report, text: str = "") -> Record:
    """Return the members of a session that is at work: its turn is open, if that is known and not guessed."""
    since = record["turn_since"]
    if since is None and report.source not in WEAK_SOURCES:
        since = report.at
    return {**base_of("running", text or report.status), "turn_since": since}


def afresh(session_id: str, former: list[str]) -> Record:
    """Return the members of a session of which nothing is left over."""
    return {
        **base_of("idle"),
        "session_id": session_id,
        "former": [known for known in former if known != session_id][-MOST_FORMER:],
        "needs": [],
        "answered": False,
        "turn_since": None,
        "subagents": {},
        "gone": {},
        "subagent_count": 0,
        "background_count": 0,
    }


def _of_others(record: Record) -> list[Record]:
    """Return the needs of the sub-agents alone."""
    return [need for need in record["needs"] if need["agent_id"]]


def _rests(record: Record, state: str, text: str = "") -> Record:
    """Return the members of a session whose turn is over."""
    asked = len(_of_others(record)) < len(record["needs"])
    return {
        **base_of(state, text),
        "turn_since": None,
        "needs": _of_others(record),
        "answered": record["answered"] or asked,
    }


def _session_start(record: Record, report: Report) -> Change:
    mine = report.session_id and report.session_id == record["session_id"]
    if mine and record["turn_since"] is not None and report.reason in _FIRST:
        return {}, ""  # the first prompt's hook was faster
    rule = f"{report.event}, {report.reason}" if report.reason else report.event
    changed = afresh(report.session_id or record["session_id"], record["former"])
    return changed | base_of("idle", report.status), rule


def _session_switch(record: Record, report: Report) -> Change:
    left = report.session_id or record["session_id"]
    return afresh("", [*record["former"], *([left] if left else [])]), report.event


def _prompt_submit(record: Record, report: Report) -> Change:
    changed = _runs({**record, "turn_since": None}, report)
    return changed | {"needs": [], "answered": False}, report.event


def _busy(record: Record, report: Report) -> Change:
    needs = [need for need in record["needs"] if need["agent_id"] or need["request_id"]]
    text = report.status or (f"Retrying: {report.message}" if report.message else "")
    if not text and record["base"]["state"] == "running":
        text = record["base"]["text"]
    return _runs(record, report, text) | {"needs": needs}, report.event


def _pre_tool_use(record: Record, report: Report) -> Change:
    # A tool is called before the user is asked for it, so that a call answers what was asked before.
    needs = [need for need in record["needs"] if need["agent_id"] or need["request_id"]]
    changed = _runs(record, report, report.status or report.doing)
    return changed | {"needs": needs, "answered": False, "calls_told": True}, report.event


def _post_tool_use(record: Record, report: Report) -> Change:
    needs = without_need(record["needs"], report, "")
    answered = record["answered"] or len(needs) < len(record["needs"])
    return _runs(record, report) | {"needs": needs, "answered": answered}, report.event


def _approval_request(record: Record, report: Report) -> Change:
    told = report.kind in NEEDS_INPUT_KINDS  # a notification: it comes some seconds after the request itself
    rule = f"notification of kind {report.kind}" if told else report.event
    if told and record["needs"]:
        return {}, rule
    if report.kind == "permission_prompt" and record["answered"] and record["calls_told"]:
        return {}, ""  # late: nothing was called since the last was answered
    changed: Record = {"needs": add_need(record["needs"], report, "")}
    if not told:
        changed["answered"] = False
    if report.kind not in _OTHERS_NEED:
        base = record["base"]
        changed |= _runs(record, report, base["text"] if base["state"] == "running" else TEXTS["running"])
    return changed, rule


def _question(record: Record, report: Report) -> Change:
    changed, rule = _approval_request(record, report)
    return changed, f"{rule}: {report.tool_name}" if report.asks else rule


def _approval_response(record: Record, report: Report) -> Change:
    needs = without_need(record["needs"], report, "")
    if len(needs) < len(record["needs"]):
        return {"needs": needs, "answered": True}, report.event
    if record["base"]["state"] == "unknown":
        return _runs(record, report), report.event
    return {}, ""


def _stop(record: Record, report: Report) -> Change:
    if report.background:
        changed = _rests(record, "background", report.status)
        changed |= {"turn_since": record["turn_since"], "background_count": report.background}
        tasks = "task" if report.background == 1 else "tasks"
        return changed, f"{report.event} with {report.background} background {tasks}"
    if record["base"]["state"] == "error" and record["turn_since"] is None:
        return {}, ""  # the turn has ended with the error
    return _rests(record, "idle", report.status) | {"background_count": 0}, report.event


def _interrupt(record: Record, report: Report) -> Change:
    changed = _rests(record, "idle", report.status)
    return changed | {"needs": [], "subagents": {}, "subagent_count": 0, "answered": True}, report.event


def _idle_prompt(record: Record, report: Report) -> Change:
    if record["base"]["state"] in ("idle", "background", "error"):
        return {}, ""
    return _interrupt(record, report)[0], "idle_prompt"  # the user pressed Esc, of which nothing tells


def _error(record: Record, report: Report) -> Change:
    return _rests(record, "error", report.status or report.error), report.event


def _compact_start(_record: Record, report: Report) -> Change:
    return base_of("running", "Compacting"), report.event  # not a turn: the user may have asked for it


def _compact_end(record: Record, report: Report) -> Change:
    if record["turn_since"] is not None and record["base"]["state"] != "background":
        return base_of("running"), report.event
    if record["base"]["state"] in ("running", "unknown"):
        return base_of("idle"), report.event
    return {}, ""


def _subagent_update(_record: Record, report: Report) -> Change:
    if isinstance(report.subagents, tuple):
        rows = {child: {"at": report.at, "name": ""} for child in report.subagents[-MOST_SUBAGENTS:]}
        return {"subagents": rows, "subagent_count": len(rows)}, ""
    return ({} if report.subagents is None else {"subagents": {}, "subagent_count": report.subagents}), ""


EVENTS: dict[str, Callable[[Record, Report], Change]] = {
    "session-start": _session_start,
    "session-switch": _session_switch,
    "prompt-submit": _prompt_submit,
    "busy": _busy,
    "pre-tool-use": _pre_tool_use,
    "post-tool-use": _post_tool_use,
    "approval-request": _approval_request,
    "question": _question,
    "approval-response": _approval_response,
    "stop": _stop,
    "llm-complete": _stop,
    "interrupt": _interrupt,
    "idle-prompt": _idle_prompt,
    "error": _error,
    "compact-start": _compact_start,
    "compact-end": _compact_end,
    "subagent-update": _subagent_update,
    END: _session_switch,
}
