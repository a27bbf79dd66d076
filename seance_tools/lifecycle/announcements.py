"""What the user is told of, once for each transition."""

from __future__ import annotations

from typing import NamedTuple

from seance_tools.lifecycle.payloads import Record, Report
from seance_tools.lifecycle.records import complete, subject
from seance_tools.lifecycle.table import WEAK_SOURCES
from seance_tools.text import clean

BODY = 400  # characters of an agent's last message
_REPEAT_SECONDS = 1.0  # the same event within so long is the same turn's
_TITLES = {"needs_input": "needs your input", "completed": "has finished", "error": "stopped with an error"}


class Announcement(NamedTuple):
    """A notification to make. kind: needs_input, completed, error, or message for an agent's own."""

    kind: str
    title: str
    body: str


def announcement(before: Record, after: Record, report: Report) -> Announcement | None:
    """Return what to tell the user of the step from one record to the next, None for nothing."""
    if after is before:
        return None
    before, name = complete(before), after["display_name"]
    asked = before["state"] == "needs_input" or before["needs"]  # of one that is stopped the state is unknown
    if after["state"] == "needs_input" and not asked:
        return _made("needs_input", name, after["needs"][0]["detail"])
    if after.get("parent"):
        return None  # another agent started it, and hears of the rest itself
    if after["base"]["state"] == "error" and before["base"]["state"] != "error":
        reason = after["base"]["text"]
        more = report.last_message or (report.error if report.error != reason else "")
        return _made("error", name, f"{reason}: {more}" if more else reason)
    if _turn_over(before, after, report):
        return _made("completed", name, report.last_message)
    if report.event == "notification" and report.message:
        return Announcement("message", name, report.message)
    return None


def _made(kind: str, name: str, body: str) -> Announcement:
    return Announcement(kind, f"{name} {_TITLES[kind]}", clean(body, BODY))


def _turn_over(before: Record, after: Record, report: Report) -> bool:
    """Return whether a turn has ended by itself: not by Esc, and not because a log fell silent."""
    if after["base"]["state"] != "idle" or report.source in WEAK_SOURCES:
        return False
    if report.event not in ("stop", "llm-complete", "subagent-stop"):
        return False
    if before["turn_since"] is not None and after["turn_since"] is None:
        return True
    new = before["state"] != "idle" or report.at - before["at"] >= _REPEAT_SECONDS
    return report.turn_end and report.event == "stop" and subject(before, report).kind != "child" and new
