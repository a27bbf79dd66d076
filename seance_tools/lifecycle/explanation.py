"""Why a session is shown as it is, for people."""

from __future__ import annotations

from seance_tools.lifecycle.payloads import Record
from seance_tools.lifecycle.records import complete
from seance_tools.lifecycle.silence import UNKNOWN_RULE, next_review
from seance_tools.lifecycle.table import END, NEEDS_INPUT_KINDS, TRANSITIONS


def explain(record: Record, now: float) -> Record:
    """Return why a record is in its state: the rule and evidence, how old, and what would change it.

    age_seconds: since the evidence was given. silent_seconds: since anything was heard. would_change: state →
    the events that lead to it.
    """
    record = complete(record)
    ways: dict[str, list[str]] = {}
    for event, state in TRANSITIONS.items():
        if state is not None and state != record["state"]:
            ways.setdefault(state, []).append(event)
    if record["state"] != "needs_input":
        ways["needs_input"].append("notification of kind " + " or ".join(sorted(NEEDS_INPUT_KINDS)))
    if record["state"] != "background":
        ways["background"] = ["stop with background_tasks"]
    if record["transcript"] and record["state"] in ("running", "needs_input"):
        ways.setdefault("idle", []).append("an interruption in " + record["transcript"])
    if next_review(record) is not None:
        ways["unknown"] = [UNKNOWN_RULE]
    ways["ended"] = [END, *(["the end of process " + str(record["pid"])] if record["pid"] else [])]
    evidence = record["evidence"]
    return {
        "rule": evidence.get("rule", "nothing was reported yet"),
        "evidence": evidence,
        "source": record["source"],
        "inferred": record["inferred"],
        "waits_for": [need["detail"] or need["text"] for need in record["needs"]],
        "age_seconds": round(max(now - evidence.get("at", record["since"]), 0.0), 3),
        "silent_seconds": round(max(now - record["heard_at"], 0.0), 3),
        "in_state_seconds": round(max(now - record["since"], 0.0), 3),
        "would_change": ways,
    }
