"""Agents' sessions: their records, and the status entries that are printed from them."""

from __future__ import annotations

from typing import Any

from seance_tools import lifecycle
from seance_tools.agents import agent_named
from seance_tools.methods import LEVELS, TEXT
from seance_tools.names import LIMITS
from seance_tools.state.metadata import append_log, put_status, set_progress
from seance_tools.state.notifications import add
from seance_tools.state.places import Context, drop_if_empty, locate, remove_surface
from seance_tools.state.tables import Row, Tables
from seance_tools.text import clean
from seance_tools.wire import WireError


def session_key(agent_key: str, mode: str, surface_id: int | None, session_id: str, pid: int | None) -> str:
    """Return the key of a session: `<agent>-<surface>`, or `<agent>-<session id>` in session mode."""
    if mode == "session" and session_id:
        return f"{agent_key}-{session_id}"
    if surface_id is not None:
        return f"{agent_key}-{surface_id}"
    return f"{agent_key}-{session_id or pid or UNPLACED}"


UNPLACED = "unattached"


def _new_record(
    params: Row, key: str, workspace_id: int, surface_id: int | None, report: lifecycle.Report
) -> Row:
    agent = agent_named(params["agent"])
    return {
        "session": key,
        "agent": agent.key,
        "display_name": agent.name,
        "workspace_id": workspace_id,
        "surface_id": surface_id,
        "session_id": report.session_id,
        "cwd": report.cwd,
        "pid": params["pid"],
        "start_time": params.get("start_time"),
        "state": "unknown",
        "text": lifecycle.TEXTS["unknown"],
        "since": report.at,
        "started_at": report.at,
        "at": report.at,
        "source": report.source,
        "inferred": False,
        "evidence": {},
        "subagent_count": 0,
        "background_count": 0,
    }


def _print_status(tables: Tables, record: Row) -> None:
    put_status(
        tables,
        {
            "workspace_id": record["workspace_id"],
            "key": record["session"],
            "value": record["text"],
            "priority": lifecycle.PRIORITIES[record["state"]],
            "is_agent": True,
            "display_name": record["display_name"],
            "state": record["state"],
            "pid": None,  # the record goes with its process, and this with the record
            "start_time": None,
            "expires_at": None,
            "since": record["since"],
            "session": record["session"],
            "inferred": record["inferred"],
        },
    )


def end_session(tables: Tables, record: Row) -> None:
    """Remove a session's record and its status; tables are as if it had never been, the history knows it."""
    tables.clear("status", record["workspace_id"], record["session"])
    tables.clear("agent", record["session"])
    drop_if_empty(tables, record["workspace_id"])


def _answer(params: Row, key: str, state: str | None, *, changed: bool) -> Row:
    return {"session": key, "state": state, "changed": changed, "reply": agent_named(params["agent"]).reply}


def agent_hook(tables: Tables, params: Row, context: Context) -> Row:
    """Take an event of an agent's session; unknown events are acknowledged and change nothing."""
    event, payload = params["event"], params["payload"] or {}
    at = context.now if params["at"] is None else min(params["at"], context.now)
    report = lifecycle.read(event, payload, at, params["source"])
    switched_off = not tables.options.get(f"{params['agent']}-hooks", True)
    if switched_off or event not in lifecycle.TRANSITIONS:
        return _answer(params, "", None, changed=False)
    agent = agent_named(params["agent"])
    if event == lifecycle.END:
        return _end(tables, params, context, report)
    workspace_id, surface_id = locate(tables, context)
    if event == "progress":
        return _progress(tables, params, workspace_id)
    if event == "log":
        return _log(tables, params, workspace_id, context.now)
    key = session_key(agent.key, agent.mode, surface_id, report.session_id, params["pid"])
    record = tables.get("agent", key)
    if (
        record
        and params["pid"]
        and (params["pid"], params.get("start_time")) != (record["pid"], record["start_time"])
    ):
        record = {**record, "pid": params["pid"], "start_time": params.get("start_time")}
    if record is None:
        if len(tables.rows["agent"]) >= LIMITS["agents"]:
            raise WireError("limit_exceeded", f"at most {LIMITS['agents']} agents' sessions", "agent")
        record = _new_record(params, key, workspace_id, surface_id, report)
    after = lifecycle.advance(record, report)
    changed = tables.set("agent", after)
    if event == "notification" and report.message and tables.options["notifications.enabled"]:
        add(tables, context, workspace_id, surface_id, title=after["display_name"], body=report.message)
    _print_status(tables, after)
    return _answer(params, key, after["state"], changed=changed)


def _end(tables: Tables, params: Row, context: Context, report: lifecycle.Report) -> Row:
    agent = agent_named(params["agent"])
    surface = None
    if context.caller.surface_id is not None:
        surface = tables.get("surface", context.caller.surface_id)
    elif context.caller.place is not None:
        surface = tables.at_place("surface", context.caller.place.surface)
    key = session_key(
        agent.key, agent.mode, surface["id"] if surface else None, report.session_id, params["pid"]
    )
    record = tables.get("agent", key)
    if record is None or report.at < record["at"]:
        return _answer(params, key, None, changed=False)
    if agent.clear_status_on_end:
        end_session(tables, record)
    return _answer(params, key, None, changed=True)


def _progress(tables: Tables, params: Row, workspace_id: int) -> Row:
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


def process_ended(tables: Tables, pid: int, start_time: int | None) -> None:
    """Remove what belongs to a process that has ended: sessions, status entries, surfaces."""

    def belongs(row: dict[str, Any]) -> bool:
        return bool(row["pid"] == pid and row["start_time"] == start_time)

    for record in [row for row in tables.all("agent") if belongs(row)]:
        end_session(tables, record)
    for row in [row for row in tables.all("status") if belongs(row)]:
        tables.clear("status", row["workspace_id"], row["key"])
    for row in [row for row in tables.all("surface") if belongs(row)]:
        remove_surface(tables, row["id"])


def processes(tables: Tables) -> set[tuple[int, int | None]]:
    """Return (process id, start time) of every process that something hangs on."""
    return {
        (row["pid"], row["start_time"])
        for kind in ("agent", "status", "surface")
        for row in tables.all(kind)
        if row["pid"] is not None
    }
