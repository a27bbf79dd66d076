"""Agents' sessions: their records, and the status entries that are printed from them."""

from __future__ import annotations

from typing import Any

from seance_tools import lifecycle
from seance_tools.agents import Agent, agent_named
from seance_tools.methods import LEVELS, TEXT
from seance_tools.names import LIMITS
from seance_tools.state.lookup import Found, Process, find, has_ended, remember_end
from seance_tools.state.metadata import append_log, put_status, set_progress
from seance_tools.state.notifications import add, mark_seen
from seance_tools.state.places import ABROAD, Context, caller_ids, drop_if_empty, locate, remove_surface
from seance_tools.state.tables import Row, Tables
from seance_tools.text import clean
from seance_tools.wire import WireError

RECENT_SECONDS = 60.0  # what is told no later than that is told now, whatever the clock was before
FORGET_SECONDS = 24 * 60 * 60  # of silence of a session that nothing else would end


def _new_record(
    agent: Agent, found: Found, place: tuple[int, int | None], process: Process, report: lifecycle.Report
) -> Row:
    return {
        **lifecycle.blank(report.at),
        "session": found.key,
        "parent": found.parent,
        "agent": agent.key,
        "display_name": agent.name,
        "workspace_id": place[0],
        "surface_id": place[1],
        "cwd": "",
        "pid": process[0],
        "start_time": process[1],
        "reporter_pid": None,
        "reporter_start_time": None,
        "started_at": report.at,
    }


def _print_status(tables: Tables, record: Row) -> None:
    put_status(
        tables,
        {
            "workspace_id": record["workspace_id"],
            "key": record["session"],
            "value": record["text"] + _quiet(record["quiet_seconds"]),
            "priority": lifecycle.PRIORITIES[record["state"]],
            "is_agent": True,
            "display_name": record["display_name"] + _abroad(tables, record),
            "state": record["state"],
            "pid": None,  # the record goes with its process, and this with the record
            "start_time": None,
            "expires_at": None,
            "since": record["since"],
            "session": record["session"],
            "inferred": record["inferred"],
        },
    )


def _abroad(tables: Tables, record: Row) -> str:
    """Return what a status says of the machine its agent runs on, where its workspace does not say it."""
    host = record.get("host")  # an earlier version's row lacks it
    workspace = tables.get("workspace", record["workspace_id"])
    return f"@{host}" if host and not (workspace and workspace["place"] == ABROAD + host) else ""


def end_session(tables: Tables, record: Row, at: float, noticed: float) -> None:
    """Remove a session's record and its status, and the sessions inside it of which no process is known.

    at: of its last word. noticed: when its end was.
    """
    remember_end(tables, record, at, noticed)
    _remove(tables, record)
    for row in [row for row in tables.all("agent") if row.get("parent") == record["session"]]:
        if row["pid"] is None:
            end_session(tables, row, at, noticed)


def _remove(tables: Tables, record: Row) -> None:
    tables.clear("status", record["workspace_id"], record["session"])
    tables.clear("agent", record["session"])
    mark_seen(tables, kind="needs_input", session=record["session"])  # what is gone needs nothing
    surface = tables.get("surface", record["surface_id"] or 0)
    if surface and surface["place"].startswith(ABROAD) and not _has_agents(tables, surface["id"]):
        remove_surface(tables, surface["id"])  # nothing else tells that it is gone
    drop_if_empty(tables, record["workspace_id"])


def _has_agents(tables: Tables, surface_id: int) -> bool:
    return any(row["surface_id"] == surface_id for row in tables.all("agent"))


def _answer(params: Row, key: str, state: str | None, *, changed: bool) -> Row:
    return {"session": key, "state": state, "changed": changed, "reply": agent_named(params["agent"]).reply}


def agent_hook(tables: Tables, params: Row, context: Context) -> Row:
    """Take an event of an agent's session; unknown events are acknowledged and change nothing."""
    agent = agent_named(params["agent"])
    at = context.now if params["at"] is None else min(params["at"], context.now)
    report = lifecycle.read(agent, params["event"], params["payload"] or {}, at, params["source"])
    if report is None or not tables.options.get(f"{agent.key}-hooks", True):
        return _answer(params, "", None, changed=False)
    if report.event in ("progress", "log"):
        workspace_id = locate(tables, context)[0]
        take = _progress if report.event == "progress" else _log
        return take(tables, params, workspace_id, context.now)
    if _may_begin(report):
        locate(tables, context)
    surface = caller_ids(tables, context.caller)
    process = (params["pid"], params.get("start_time"))
    found = find(tables, agent, report, surface["id"] if surface else None, process)
    if found.record is not None:
        record = _placed(tables, found.record, surface) if surface else found.record
        return _take(tables, params, context, record, report)
    if not _may_begin(report) or has_ended(tables, agent, found.key, report, process, context.now):
        return _answer(params, found.key, None, changed=False)
    if len(tables.rows["agent"]) >= LIMITS["agents"]:
        raise WireError("limit_exceeded", f"at most {LIMITS['agents']} agents' sessions", "agent")
    record = _new_record(agent, found, locate(tables, context), process, report)
    record["host"] = clean(context.caller.host, LIMITS["name_characters"])
    return _take(tables, params, context, record, report)


def _placed(tables: Tables, record: Row, surface: Row) -> Row:
    """Return a session's record in the pane that was not known when it began."""
    if record["surface_id"] is not None:
        return record
    old = record["workspace_id"]
    moved = {**record, "workspace_id": surface["workspace_id"], "surface_id": surface["id"]}
    tables.clear("status", old, record["session"])
    tables.set("agent", moved)
    _print_status(tables, moved)
    drop_if_empty(tables, old)
    return moved


def _may_begin(report: lifecycle.Report) -> bool:
    """Return whether a report that no record is known for makes one."""
    if report.agent_id or report.parent_id:
        return False  # of a sub-agent, whose parent is not known
    return report.event == "notification" or lifecycle.TRANSITIONS[report.event] is not None


def _take(tables: Tables, params: Row, context: Context, record: Row, report: lifecycle.Report) -> Row:
    """Bring a session's record up to date with a report."""
    record, key = lifecycle.complete(_since_clock(record, report.at, context.now)), record["session"]
    if lifecycle.ends(record, report) and agent_named(record["agent"]).clear_status_on_end:
        end_session(tables, record, report.at, context.now)
        return _answer(params, key, None, changed=True)
    before = record
    who = (params.get("reporter_pid"), params.get("reporter_start_time"))
    if all(who) and who != _reporter(record):  # it tells what it has read, which may be old
        before = {**before, "at": min(before["at"], report.at)}
    after = lifecycle.advance(before, report)
    if params["pid"] and after is not before:
        after = {**after, "pid": params["pid"], "start_time": params.get("start_time")}
    if all(who) and after is not before:
        after = {**after, "reporter_pid": who[0], "reporter_start_time": who[1]}
    changed = tables.set("agent", after)
    _print_status(tables, after)
    _tell(tables, context, before, after, report)
    return _answer(params, key, after["state"], changed=changed)


def _since_clock(record: Row, at: float, now: float) -> Row:
    """Return a record, pulled back if the clock was: what is heard or seen `at` now is not stale."""
    if lifecycle.not_after(record, now) is record:
        return record
    return lifecycle.not_after(record, max(at, now - RECENT_SECONDS))


def _tell(tables: Tables, context: Context, before: Row, after: Row, report: lifecycle.Report) -> None:
    """Make the notification that a step calls for, and take back the mark of those that it has overtaken."""
    key = after["session"]
    if report.event == "prompt-submit" and not report.agent_id and report.reason not in lifecycle.WAKEUPS:
        mark_seen(tables, session=key)
    else:
        _mark_needs(tables, before, after)
    made = lifecycle.announcement(before, after, report)
    if made is None or not tables.options["notifications.enabled"]:
        return
    texts = {"title": made.title, "body": made.body}
    same = {**texts, "session": key, "kind": "message", "read": False}
    if made.kind == "message" and any(same.items() <= row.items() for row in tables.all("notification")):
        return
    add(tables, context, after["workspace_id"], after["surface_id"], session=key, kind=made.kind, **texts)


def _mark_needs(tables: Tables, before: Row, after: Row) -> None:
    """Take what a session waited for as read, once it waits no longer; a stopped one goes on waiting."""
    if (before["state"] == "needs_input" or before.get("needs")) and not after["needs"]:
        mark_seen(tables, kind="needs_input", session=after["session"])


def _quiet(seconds: int) -> str:
    if not seconds:
        return ""
    return f", quiet {seconds} s" if seconds < 120 else f", quiet {seconds // 60} min"


def expire(tables: Tables, now: float) -> None:
    """Bring sessions that have fallen silent up to date; those that nobody would see end go in the end."""
    for record in list(tables.all("agent")):
        forgotten = _forgotten_at(tables, record)
        if forgotten is not None and forgotten <= now:
            _remove(tables, record)  # not as ended: if it says something after all, it is back
        else:
            look(tables, record["session"], now)


def look(tables: Tables, session: str, now: float, seen: Row | None = None) -> bool:
    """Bring a session up to date with its silence and what was `seen` of it (lifecycle.review).

    Returns whether that changed anything. Nothing is told of it: the user has done it himself, or nobody
    knows; but what he need not look at any more counts as read.
    """
    record = tables.get("agent", session)
    if record is None:
        return False
    at = min((seen or {}).get("at", now), now)
    after = lifecycle.review(_since_clock(record, at, now), now, seen)
    if after is record:
        return False
    tables.set("agent", after)
    _print_status(tables, after)
    _mark_needs(tables, record, lifecycle.complete(after))
    return True


def _forgotten_at(tables: Tables, record: Row) -> float | None:
    """Return when a session that nothing would tell the end of is given up, None for any other."""
    if record["pid"] is not None or record.get("reporter_pid") is not None:
        return None
    surface = None if record["surface_id"] is None else tables.get("surface", record["surface_id"])
    if surface and surface["pid"] is not None:
        return None  # it goes with its pane
    return float(lifecycle.complete(record)["heard_at"] + FORGET_SECONDS)


def due(tables: Tables, record: Row) -> float | None:
    """Return when silence changes a session, in seconds since 1970, or None."""
    dues = (lifecycle.next_review(record), _forgotten_at(tables, record))
    return min((due for due in dues if due is not None), default=None)


def next_due(tables: Tables) -> float | None:
    """Return when silence changes the next session, in seconds since 1970, or None."""
    dues = (due(tables, record) for record in tables.all("agent"))
    return min((due for due in dues if due is not None), default=None)


def _progress(tables: Tables, params: Row, workspace_id: int, _now: float) -> Row:
    payload = params["payload"] or {}
    value = payload.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WireError("invalid_params", "payload.value: a number is needed", "payload")
    label = payload.get("label", "")
    if not isinstance(label, str):
        raise WireError("invalid_params", "payload.label: a string is needed", "payload")
    set_progress(tables, workspace_id, float(value), clean(label, TEXT))
    return _answer(params, "", None, changed=True)


def _log(tables: Tables, params: Row, workspace_id: int, now: float) -> Row:
    payload = params["payload"] or {}
    message, level = payload.get("message"), payload.get("level", "info")
    if not isinstance(message, str) or not message:
        raise WireError("invalid_params", "payload.message: a string is needed", "payload")
    if level not in LEVELS:
        raise WireError("invalid_params", "payload.level: must be one of " + ", ".join(LEVELS), "payload")
    append_log(tables, workspace_id, clean(message, TEXT), level, now)
    return _answer(params, "", None, changed=True)


def chosen(tables: Tables, params: Row) -> list[Row]:
    """Return the sessions that session, agent, surface_id and workspace_id of `params` are about."""
    wanted = {
        name: params[name]
        for name in ("session", "agent", "surface_id", "workspace_id")
        if params.get(name) is not None
    }
    rows = [row for row in tables.all("agent") if all(row[name] == wanted[name] for name in wanted)]
    return sorted(rows, key=lambda row: (row["workspace_id"], row["session"]))


def need_chosen(tables: Tables, params: Row) -> list[Row]:
    """Return what `chosen` does. Raises WireError where that is none."""
    rows = chosen(tables, params)
    if not rows:
        raise WireError("not_found", "no such agent's session")
    return rows


def agent_list(tables: Tables, params: Row, context: Context) -> Row:
    """List the agents' sessions."""
    return {"agents": chosen(tables, params)}


def agent_explain(tables: Tables, params: Row, context: Context) -> Row:
    """Tell why sessions are shown in their states."""
    rows = need_chosen(tables, params)
    return {"agents": [{**row, "explanation": lifecycle.explain(row, context.now)} for row in rows]}


def process_ended(tables: Tables, pid: int, start_time: int | None, now: float) -> None:
    """Remove what belongs to a process that has ended: sessions, status entries, surfaces.

    What a session does that it only reported is not known from now on.
    """

    def belongs(row: dict[str, Any]) -> bool:
        return bool(row["pid"] == pid and row["start_time"] == start_time)

    for record in [row for row in tables.all("agent") if belongs(row)]:
        if tables.get("agent", record["session"]):
            end_session(tables, record, record["at"], now)
    for row in [row for row in tables.all("status") if belongs(row)]:
        tables.clear("status", row["workspace_id"], row["key"])
    for row in [row for row in tables.all("surface") if belongs(row)]:
        remove_surface(tables, row["id"])
    for record in list(tables.all("agent")):
        after = lifecycle.unreported(record, now) if _reporter(record) == (pid, start_time) else record
        if after is not record:
            tables.set("agent", after)
            _print_status(tables, after)
            _mark_needs(tables, record, after)


def _reporter(row: Row) -> Process:
    return row.get("reporter_pid"), row.get("reporter_start_time")  # an earlier version's row lacks them


def processes(tables: Tables) -> set[tuple[int, int | None]]:
    """Return (process id, start time) of every process that something hangs on."""
    rows = [row for kind in ("agent", "status", "surface") for row in tables.all(kind)]
    found = [(row["pid"], row["start_time"]) for row in rows] + [_reporter(row) for row in rows]
    return {(pid, started) for pid, started in found if pid is not None}
