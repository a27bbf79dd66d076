"""What follows from a report: one function an event where the table alone does not say.

Each is a function of (record, report) and returns (members that change, the rule that says so); an empty rule
means that the event says nothing of the state.
"""

from __future__ import annotations

from collections.abc import Callable

from seance_tools.lifecycle.calls import answered, asked, called, ended, may_wait, others, outlived
from seance_tools.lifecycle.payloads import Record, Report
from seance_tools.lifecycle.records import MOST_FORMER, MOST_SUBAGENTS
from seance_tools.lifecycle.table import END, NEEDS_INPUT_KINDS, OTHERS_KINDS, TEXTS, WAKEUPS, WEAK_SOURCES

Change = tuple[Record, str]
_FIRST = frozenset({"", "startup", "new"})  # reasons for a session to begin that did not exist before
_RESTS = frozenset({"idle", "background", "error"})
# Claude Code's notification of a permission comes some 6 s after the request, if not answered by then.
_NOTIFIED_SECONDS = 30.0


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
        "asked_at": None,
        "calls": [],
        "over": [],
        "turn_since": None,
        "subagents": {},
        "gone": {},
        "subagent_count": 0,
        "background_count": 0,
    }


def _not_own(record: Record) -> Record:
    """Return the needs and calls that are not the session's own: those of its sub-agents and of others."""
    return {name: [row for row in record[name] if row["agent_id"]] for name in ("needs", "calls", "over")}


def _rests(record: Record, at: float, state: str, text: str = "") -> Record:
    """Return the members of a session whose turn is over."""
    left = _not_own(record)
    was_asked = len(left["needs"]) < len(record["needs"])
    return {
        **base_of(state, text),
        **left,
        "rested_at": at,
        "turn_since": None,
        "answered": record["answered"] or was_asked,
    }


def _session_start(record: Record, report: Report) -> Change:
    mine = report.session_id and report.session_id == record["session_id"]
    if mine and record["turn_since"] is not None and report.reason in _FIRST:
        return {}, ""  # the first prompt's hook was faster
    rule = f"{report.event}, {report.reason}" if report.reason else report.event
    changed = afresh(report.session_id or record["session_id"], record["former"])
    return changed | base_of("idle", report.status) | {"cut_at": report.at}, rule


def _session_switch(record: Record, report: Report) -> Change:
    left = report.session_id or record["session_id"]
    changed = afresh("", [*record["former"], *([left] if left else [])])
    return changed | {"cut_at": report.at}, report.event


def _prompt_submit(record: Record, report: Report) -> Change:
    changed = _runs({**record, "turn_since": None}, report)
    left: Record = _not_own(record)
    if report.reason in WAKEUPS:  # nobody was there to answer what others ask
        left["rested_at"] = report.at
    else:
        left["needs"] = [need for need in left["needs"] if need["at"] > report.at]  # its hook was faster
        left["cut_at"] = report.at
    asked_at = record["asked_at"] if left["needs"] else None
    return changed | left | {"answered": False, "asked_at": asked_at}, report.event


def _busy(record: Record, report: Report) -> Change:
    needs = [need for need in record["needs"] if _stays_though_busy(need, report)]
    text = report.status or (f"Retrying: {report.message}" if report.message else "")
    if not text and record["base"]["state"] == "running":
        text = record["base"]["text"]
    return _runs(record, report, text) | {"needs": needs}, report.event


def _stays_though_busy(need: Record, report: Report) -> bool:
    """Return whether a need is not known to be over by its agent's saying that it is at work."""
    if need["agent_id"] or need["request_id"]:
        return True
    return bool(need["tool_name"]) and not outlived(need, report.at)  # another tool may run beside it


def _pre_tool_use(record: Record, report: Report) -> Change:
    changed = _runs(record, report, report.status or report.doing) | {"answered": False, "calls_told": True}
    return changed | called(record, report, ""), report.event


def _post_tool_use(record: Record, report: Report) -> Change:
    changed = ended(record, report, "")
    known = len(changed["calls"]) < len(record["calls"])
    if len(changed["needs"]) < len(record["needs"]):
        changed["answered"] = True
    if record["base"]["state"] in _RESTS and record["calls_told"] and not known:
        return changed, ""  # of a call of the turn that is over: it was cut short, or its hook was slow
    return _runs(record, report) | changed, report.event


def _approval_request(record: Record, report: Report) -> Change:
    told = report.kind in NEEDS_INPUT_KINDS  # a notification: it comes some seconds after the request itself
    if not told:
        return _asks(record, report, told=False)
    notified = record.get("notified", {})
    if report.at <= notified.get(report.kind, 0.0):
        return {}, ""  # heard already, or a later one was
    changed, rule = _asks(record, report, told=True)
    return {**changed, "notified": {**notified, report.kind: report.at}}, rule


def _asks(record: Record, report: Report, *, told: bool) -> Change:
    rule = f"notification of kind {report.kind}" if told else report.event
    if report.kind in OTHERS_KINDS:
        return asked(record, report._replace(request_id=""), f"({report.kind})"), rule
    if told and len(others(record["needs"])) < len(record["needs"]):
        return {"needs": [{**need, "passed_at": None} for need in record["needs"]]}, rule  # they wait still
    if report.kind == "permission_prompt" and _comes_late(record, report):
        return {}, ""
    changed = asked(record, report, "")
    if not told:
        changed |= {"answered": False, "asked_at": report.at}
    base = record["base"]
    changed |= _runs(record, report, base["text"] if base["state"] == "running" else TEXTS["running"])
    return changed, rule


def _comes_late(record: Record, report: Report) -> bool:
    """Return whether a notification tells of a request that was answered: nothing waits by what is known."""
    if record["asked_at"] is not None and report.at - record["asked_at"] < _NOTIFIED_SECONDS:
        return True
    return bool(record["answered"] and record["calls_told"]) and not may_wait(record, report)


def _notification(record: Record, report: Report) -> Change:
    if report.kind == "agent_completed" and others(record["needs"]):
        needs = [need for need in record["needs"] if need not in others(record["needs"])]
        return {"needs": needs}, f"notification of kind {report.kind}"
    return {}, ""


def _question(record: Record, report: Report) -> Change:
    changed, rule = _approval_request(record, report)
    return changed, f"{rule}: {report.tool_name}" if report.asks else rule


def _approval_response(record: Record, report: Report) -> Change:
    changed = answered(record, report, "")
    if len(changed["needs"]) < len(record["needs"]):
        return changed | {"answered": True}, report.event
    if record["base"]["state"] == "unknown":
        return _runs(record, report), report.event
    return changed, ""


def _stop(record: Record, report: Report) -> Change:
    if report.background:
        changed = _rests(record, report.at, "background", report.status)
        changed |= {"turn_since": record["turn_since"], "background_count": report.background}
        tasks = "task" if report.background == 1 else "tasks"
        return changed, f"{report.event} with {report.background} background {tasks}"
    if record["base"]["state"] == "error" and record["turn_since"] is None:
        return {"background_count": 0}, ""  # the turn has ended with the error
    return _rests(record, report.at, "idle", report.status) | {"background_count": 0}, report.event


def _interrupt(record: Record, report: Report) -> Change:
    changed = _rests(record, report.at, "idle", report.status)
    changed |= {"needs": others(record["needs"]), "calls": [], "answered": True, "cut_at": report.at}
    return changed | {"subagents": {}, "subagent_count": 0}, report.event


def _idle_prompt(record: Record, report: Report) -> Change:
    if record["base"]["state"] in ("idle", "background", "error"):
        return {}, ""
    return _interrupt(record, report)[0], "idle_prompt"  # the user pressed Esc, of which nothing tells


def _error(record: Record, report: Report) -> Change:
    changed = _rests(record, report.at, "error", report.status or report.error)
    return changed | {"background_count": report.background or 0}, report.event


def _compact_start(_record: Record, report: Report) -> Change:
    return base_of("running", "Compacting"), report.event  # not a turn: the user may have asked for it


def _compact_end(record: Record, report: Report) -> Change:
    if record["turn_since"] is not None and record["base"]["state"] != "background":
        return base_of("running"), report.event
    if record["base"]["state"] in ("running", "unknown"):
        return base_of("idle"), report.event
    return {}, ""


def _subagent_update(record: Record, report: Report) -> Change:
    if isinstance(report.subagents, tuple):
        rows = {child: {"at": report.at, "name": ""} for child in report.subagents[-MOST_SUBAGENTS:]}
        gone = {child: at for child, at in record["gone"].items() if child not in rows}
        return {"subagents": rows, "gone": gone, "subagent_count": len(rows)}, ""
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
    "notification": _notification,
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
