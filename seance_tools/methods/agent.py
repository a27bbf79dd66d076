"""Methods of agents' sessions and notifications."""

from __future__ import annotations

from seance_tools.methods.params import (
    STATES,
    TEXT,
    array,
    boolean,
    choice,
    integer,
    number,
    string,
    structure,
)
from seance_tools.methods.row import AGENT, PID_HIGH, SESSION, SOURCES, WHERE, Method

ROWS = (
    Method(
        "notification.create",
        (
            *WHERE,
            string("title", "what it is about"),
            string("body", "the message", "", TEXT, empty=True),
            string("subtitle", "a second line", "", empty=True),
        ),
        "Notify the user.",
        "notification_id",
    ),
    Method(
        "notification.list",
        (
            integer("workspace_id", "only this workspace's", None),
            integer("surface_id", "only this surface's", None),
            boolean("unread", "only those not read", False),
        ),
        "List the notifications, newest first.",
        "notifications, unread",
    ),
    Method(
        "notification.clear",
        (
            integer("notification_id", "only this one", None),
            integer("workspace_id", "only this workspace's", None),
            integer("surface_id", "only this surface's", None),
        ),
        "Remove notifications; without a parameter, all.",
        "cleared",
    ),
    Method(
        "notification.mark_read",
        (
            integer("notification_id", "only this one", None),
            integer("workspace_id", "only this workspace's", None),
            integer("surface_id", "only this surface's", None),
            boolean("read", "whether they count as read", True),
        ),
        "Mark notifications as read; without a parameter, all.",
        "marked",
    ),
    Method(
        "agent.hook",
        (
            string("agent", "the agent's name, known or not", limit=AGENT),
            string("event", "what happened: prompt-submit, stop …"),
            structure("payload", "what the agent said about it", None),
            *WHERE,
            integer("pid", "the agent's process; its end ends the session", None, 1, PID_HIGH),
            integer(
                "reporter_pid",
                "the process that watches the agent and reports; at its end nobody knows the state",
                None,
                1,
                PID_HIGH,
            ),
            number("at", "when it happened, in seconds since 1970; default: now", None, low=0),
            choice("source", "where the report comes from", SOURCES, "hook"),
        ),
        "Report an event of an agent's session.",
        "session, state, changed, reply",
    ),
    Method(
        "agent.list",
        (
            *SESSION,
            *(integer(f"{kind}_id", f"only this {kind}'s", None) for kind in ("surface", "workspace")),
        ),
        "List the agents' sessions.",
        "agents",
    ),
    Method(
        "agent.explain",
        (*SESSION, integer("surface_id", "the agents of this surface", None)),
        "Tell why a session is shown in its state, how old that is and what would change it.",
        "agents, each with explanation: rule, source, age_seconds, would_change",
    ),
    Method(
        "agent.wait",
        (
            *SESSION,
            *(
                integer(f"{kind}_id", f"any session of this {kind}", None)
                for kind in ("surface", "workspace")
            ),
            array("states", "the states to wait for; any of them will do", STATES, ["idle", "needs_input"]),
            number("timeout", "seconds to wait at most; default: no end", None, low=0),
        ),
        "Answer once a session is in one of the states, at once if it is; or once it ends.",
        "outcome: reached, ended or timeout; session, state",
        io=True,
    ),
)
