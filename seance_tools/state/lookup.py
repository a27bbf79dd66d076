"""Which session's record a report is about: that of its pane, or of another agent inside it.

An agent can start another one of its kind in its own pane (`claude -p` from within claude). The first keeps
the pane's key; the other has one of its own, and its `parent` is the first. Whoever comes after the first
finds its key free, because a record goes with its process.

Where no pane is known, the process tells: one of it has one record, whatever its session is called, unless
it may have several at work. Where no process is known either, only the sessions' ids do.
"""

from __future__ import annotations

from typing import NamedTuple

from seance_tools import lifecycle
from seance_tools.agents import Agent
from seance_tools.state.tables import Row, Tables

UNPLACED = "unattached"
MOST_ENDED = 256  # sessions that are remembered to have ended
Process = tuple[int | None, int | None]  # its id and start time


class Found(NamedTuple):
    """The key that a report's record has or would have, the record if there is one, its parent's key."""

    key: str
    record: Row | None
    parent: str | None = None


def session_key(agent_key: str, mode: str, surface_id: int | None, session_id: str, pid: int | None) -> str:
    """Return the key of a session: `<agent>-<surface>`, or `<agent>-<session id>` in session mode."""
    if mode == "session" and session_id:
        return f"{agent_key}-{session_id}"
    if surface_id is not None:
        return f"{agent_key}-{surface_id}"
    return f"{agent_key}-{session_id or pid or UNPLACED}"


def process_of(row: Row) -> Process:
    """Return the process that a row belongs to."""
    return row["pid"], row["start_time"]


def find(
    tables: Tables, agent: Agent, report: lifecycle.Report, surface_id: int | None, process: Process
) -> Found:
    """Return the record that a report is about."""
    key = session_key(agent.key, agent.mode, surface_id, report.session_id, process[0])
    main = tables.get("agent", key)
    if agent.mode == "session":
        return Found(key, main)
    if surface_id is None or main is None:
        row = _elsewhere(tables, agent, report, process, unplaced=surface_id is None)
        if row:
            return Found(row["session"], row, row.get("parent"))
    if surface_id is None:
        return Found(key, main)
    if main and process == process_of(main) and report.session_id in ("", main["session_id"]):
        return Found(key, main)
    for row in tables.all("agent"):
        if row["agent"] == agent.key and row["surface_id"] == surface_id and row.get("parent"):
            same = process == process_of(row) if process[0] else report.session_id == row["session_id"]
            if same:
                return Found(row["session"], row, row["parent"])
    suffix = _inside(main, report, process) if main else ""
    return Found(f"{key}-{suffix}", None, key) if suffix else Found(key, main)


def _elsewhere(
    tables: Tables, agent: Agent, report: lifecycle.Report, process: Process, *, unplaced: bool
) -> Row | None:
    """Return the record that a report without a pane is about, or one whose pane was not known before.

    A report of a pane is only joined to one of the same process.
    """
    rows = [row for row in tables.all("agent") if row["agent"] == agent.key]
    of_process = [row for row in rows if process[0] and process == process_of(row)]
    if not agent.many_sessions and of_process:
        return next((row for row in of_process if _concerns(row, report)), of_process[0])
    if not unplaced:
        return None
    doubtful = [row for row in rows if row["surface_id"] is None and not (process[0] and row["pid"])]
    return next((row for row in [*of_process, *doubtful] if _concerns(row, report)), None)


def _concerns(row: Row, report: lifecycle.Report) -> bool:
    """Return whether a report's session is that of a record, or one of its sub-agents' or former ones."""
    if not report.session_id:
        return False
    known = {row["session_id"], *lifecycle.complete(row)["former"]} - {""}
    return bool({report.session_id, report.parent_id} & known) or lifecycle.is_child(
        lifecycle.complete(row), report.session_id
    )


def _inside(main: Row, report: lifecycle.Report, process: Process) -> str:
    """Return what tells a session that runs inside the pane's own one from it; "" if it is the pane's own."""
    other, own = report.session_id, main["session_id"]
    if not other or not own or other == own or report.agent_id or report.parent_id:
        return ""
    if process[0] and main["pid"]:
        return str(process[0]) if process != process_of(main) else ""
    main = lifecycle.complete(main)
    if report.shared or lifecycle.is_child(main, other) or other in main["former"]:
        return ""
    # No process tells them apart. One agent has one session at a time, so that another in mid-turn is not
    # its own, unless it says that it follows.
    follows = report.reason in lifecycle.SWITCHES or report.event in (*lifecycle.CLOSING, "compact-end")
    return "" if main["turn_since"] is None or follows else other


def remember_end(tables: Tables, record: Row, at: float, noticed: float) -> None:
    """Remember that a session has ended, so that a report of it that comes late does not bring it back.

    at: of its last word. noticed: when its end was.
    """
    names = ("session", "session_id", "pid", "start_time")
    tables.set("ended", {**{name: record[name] for name in names}, "at": at, "noticed": noticed})
    rows = tables.rows["ended"]
    while len(rows) > MOST_ENDED:
        tables.clear("ended", *next(iter(rows)))


def has_ended(
    tables: Tables, agent: Agent, key: str, report: lifecycle.Report, process: Process, now: float
) -> bool:
    """Return whether a report comes late, from a session that has ended."""
    row = tables.get("ended", key)
    if row is None:
        return False
    if process[0] and row.get("pid") and process != process_of(row):
        return False  # resumed by another process: that of the report lives
    ended, noticed = row["at"], float(row.get("noticed") or row["at"])
    if noticed > now:  # the clock was set back since
        ended = noticed = 0.0
    if "prompt-submit" not in agent.events.values() and report.at > noticed:
        return False  # it never says that a turn begins; whatever it says after its end begins one
    same = report.session_id and report.session_id == row["session_id"]
    return bool(report.at < ended or (same and report.event not in lifecycle.OPENING))
