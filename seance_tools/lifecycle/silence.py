"""What follows when an agent says nothing: some end their turn without an event, above all after Esc."""

from __future__ import annotations

from typing import Any

from seance_tools.lifecycle.payloads import Record
from seance_tools.lifecycle.records import complete
from seance_tools.lifecycle.step import settle
from seance_tools.lifecycle.transitions import base_of

QUIET_STEPS = (60, 300, 900)  # seconds of silence that are told of, each once
UNKNOWN_SECONDS = 1800  # of silence after which nobody knows what a session does
UNREPORTED_RULE = "its monitor has ended"
UNKNOWN_RULE = f"no event for {UNKNOWN_SECONDS // 60} minutes"
_STILL_SECONDS = 3.0  # a pane that has not changed for so long shows what it will go on showing


def next_review(record: Record) -> float | None:
    """Return when silence alone changes the record, in seconds since 1970; None if it never does.

    Only hooks fall silent: whoever watches a log or a screen says himself what its silence means.
    """
    if record["state"] != "running" or record["source"] != "hook":
        return None
    record = complete(record)
    step = next((step for step in QUIET_STEPS if step > record["quiet_seconds"]), UNKNOWN_SECONDS)
    return float(record["heard_at"] + step)


def review(record: Record, now: float, seen: dict[str, Any] | None = None) -> Record:
    """Return the record that follows from silence and from what was seen of the agent; the same if nothing.

    seen: what else is known, as far as it is: at (when it was seen), process ("gone" …), interrupted (its
    transcript says so), prompt_visible (on its screen), quiet_since (when its pane last changed).
    """
    before = complete(record)
    if before["state"] not in ("running", "needs_input"):
        return record
    state, rule = _seen(before, now, seen or {})
    due = next_review(before)
    if not state and (due is None or due > now):
        return record
    heard = before["heard_at"]
    if not state and heard + UNKNOWN_SECONDS > now:
        return {**before, "quiet_seconds": max(step for step in QUIET_STEPS if heard + step <= now)}
    return _inferred(before, now, *((state, rule) if state else ("unknown", UNKNOWN_RULE)))


def unreported(record: Record, now: float) -> Record:
    """Return the record that follows when the monitor that reported it has ended before its agent."""
    before = complete(record)
    if before["source"] == "hook" or before["state"] == "unknown":
        return record  # the agent speaks for itself
    return _inferred(before, now, "unknown", UNREPORTED_RULE)


def _inferred(before: Record, now: float, state: str, rule: str) -> Record:
    changed = {**base_of(state), "needs": [], "turn_since": None, "quiet_seconds": 0}
    changed |= {"subagents": {}, "subagent_count": 0}
    evidence = {"event": "", "at": now, "rule": rule}
    return settle(before, changed, now, {"evidence": evidence, "inferred": True})


def _seen(record: Record, now: float, seen: dict[str, Any]) -> tuple[str, str]:
    """Return (state, rule) that evidence newer than the last event speaks for, or empty texts."""
    at = seen.get("at", now)
    if at < record["heard_at"]:
        return "", ""
    if seen.get("process") == "gone":
        return "unknown", "its process has ended"
    if seen.get("interrupted"):
        return "idle", "its transcript says that it was interrupted"
    quiet_since = seen.get("quiet_since")
    if seen.get("prompt_visible") and quiet_since is not None and at - quiet_since >= _STILL_SECONDS:
        return "idle", "its prompt is on the screen"
    return "", ""
