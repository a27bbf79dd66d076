"""What follows when an agent says nothing: some end their turn without an event, above all after Esc."""

from __future__ import annotations

from typing import Any

from seance_tools.lifecycle.calls import others
from seance_tools.lifecycle.payloads import Record
from seance_tools.lifecycle.records import MOST_CALLS, complete
from seance_tools.lifecycle.step import settle
from seance_tools.lifecycle.transitions import base_of

QUIET_STEPS = (60, 300, 900)  # seconds of silence that are told of, each once
UNKNOWN_SECONDS = 1800  # of silence after which nobody knows what a session does
UNREPORTED_RULE = "its monitor has ended"
UNKNOWN_RULE = f"no event for {UNKNOWN_SECONDS // 60} minutes"
INTERRUPTED_RULE = "its transcript says that it was interrupted"
ANSWERED_RULE = "its transcript says that the call has its result"
ASKED_AGAIN_RULE = "its transcript goes on"
PROMPT_RULE = "its prompt is on the screen"
STOPPED_RULE = "its process is stopped"
CONTINUED_RULE = "its process goes on"
_STILL_SECONDS = 3.0  # a pane that has not changed for so long shows what it will go on showing


def vouched_for(record: Record) -> bool:
    """Return whether something would tell of a session's end: a process, a pane or a monitor."""
    known = any(record.get(name, 0) is not None for name in ("pid", "surface_id"))
    return known or record.get("reporter_pid") is not None


def next_review(record: Record) -> float | None:
    """Return when silence alone changes the record, in seconds since 1970; None if it never does.

    Only hooks fall silent: whoever watches a log or a screen says himself what its silence means. A session
    that waits for the user goes on waiting, unless nobody would notice its end.
    """
    record = complete(record)
    if record["state"] == "needs_input" and not vouched_for(record):
        return float(record["heard_at"] + UNKNOWN_SECONDS)
    if record["state"] != "running" or not record["hooked"]:
        return None
    step = next((step for step in QUIET_STEPS if step > record["quiet_seconds"]), UNKNOWN_SECONDS)
    return float(record["heard_at"] + step)


def review(record: Record, now: float, seen: dict[str, Any] | None = None) -> Record:
    """Return the record that follows from silence and from what was seen of the agent; the same if nothing.

    seen: what else is known, as far as it is: at (when it was seen), process ("gone", "stopped" or "runs");
    of its transcript interrupted, answered (the id of a tool's call that has its result), asked_again (the
    model speaks again); of its screen prompt_visible, quiet_since (when it last changed).
    """
    before = complete(record)
    if before["state"] not in ("running", "needs_input") and not before["stopped"]:
        return record
    after = _seen(before, min((seen or {}).get("at", now), now), seen or {})
    if after is not None:
        return after
    due = next_review(before)
    if due is None or due > now:
        return record
    heard = before["heard_at"]
    if heard + UNKNOWN_SECONDS > now:
        return {**before, "quiet_seconds": max(step for step in QUIET_STEPS if heard + step <= now)}
    return _inferred(before, now, "unknown", UNKNOWN_RULE)


def unreported(record: Record, now: float) -> Record:
    """Return the record that follows when the monitor that reported it has ended before its agent."""
    before = complete(record)
    if before["hooked"] or before["state"] == "unknown":
        return record  # the agent speaks for itself
    return _inferred(before, now, "unknown", UNREPORTED_RULE)


def _inferred(before: Record, at: float, state: str, rule: str, source: str = "") -> Record:
    """Return the record of a session whose turn is over, or of which nothing is known any more."""
    changed = {**base_of(state), "needs": others(before["needs"]), "turn_since": None, "quiet_seconds": 0}
    changed |= {
        "subagents": {},
        "subagent_count": 0,
        "calls": [],
        "over": [],
        "answered": True,
        "stopped": False,
    }
    if state == "unknown":
        changed["needs"] = []
    else:
        changed |= {"at": max(before["at"], at), "cut_at": at}  # what is older was before it
    return _because(before, changed, at, rule, source)


def _because(before: Record, changed: Record, at: float, rule: str, source: str) -> Record:
    evidence = {"event": "", "at": at, "rule": rule}
    told = {"evidence": evidence, "inferred": True, "source": source or before["source"]}
    return settle(before, changed, at, told)


def _seen(record: Record, at: float, seen: dict[str, Any]) -> Record | None:
    """Return the record that follows from what was seen `at` some time, None where that proves nothing."""
    newer = at >= record["heard_at"]
    process = seen.get("process")
    if process == "gone" and newer:
        return _inferred(record, at, "unknown", "its process has ended", "process")
    if newer and process in ("stopped", "runs") and record["stopped"] != (process == "stopped"):
        rule = CONTINUED_RULE if record["stopped"] else STOPPED_RULE
        return _because(record, {"stopped": not record["stopped"]}, at, rule, "process")
    if seen.get("interrupted") and at >= record["acted_at"]:
        return _inferred(record, at, "idle", INTERRUPTED_RULE, "log")
    if record["stopped"]:
        return None
    if seen.get("answered") or seen.get("asked_again"):
        return _goes_on(record, at, seen)
    quiet_since = seen.get("quiet_since")
    still = quiet_since is not None and record["heard_at"] <= quiet_since <= at - _STILL_SECONDS
    if seen.get("prompt_visible") and still:
        return _inferred(record, at, "idle", PROMPT_RULE, "screen")
    return None


def _goes_on(record: Record, at: float, seen: dict[str, Any]) -> Record | None:
    """Return the record of a session that waits for the user no longer, by its transcript."""
    call = seen.get("answered")

    def over(need: Record) -> bool:
        if need["at"] > at:
            return False
        return bool(need["tool_use_id"] == call if call else not need["agent_id"])

    gone = [need for need in record["needs"] if over(need)]
    if not gone:
        return None
    changed: Record = {"needs": [need for need in record["needs"] if need not in gone]}
    changed["answered"] = record["answered"] or any(not need["agent_id"] for need in gone)
    changed["calls"] = [row for row in record["calls"] if not call or row["tool_use_id"] != call]
    names = ("agent_id", "tool_use_id", "tool_name", "doing")
    rows = [{**{name: need[name] for name in names}, "at": at} for need in gone]
    changed["over"] = [*record["over"], *rows][-MOST_CALLS:]  # a late report of the request brings none back
    return _because(record, changed, at, ANSWERED_RULE if call else ASKED_AGAIN_RULE, "log")
