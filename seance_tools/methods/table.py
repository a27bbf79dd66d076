"""The METHODS table: one row a method, in the order of the man page."""

from __future__ import annotations

from typing import NamedTuple

from seance_tools.methods.params import (
    LEVELS,
    NAME,
    STATES,
    TEXT,
    Param,
    array,
    boolean,
    choice,
    integer,
    number,
    string,
    structure,
)
from seance_tools.state.tables import TOPICS

_PID_HIGH = (1 << 31) - 1
AGENT = 64  # characters; session keys hold it and a session's id beside it
SOURCES = ("hook", "log", "screen", "process", "api", "activity")


class Method(NamedTuple):
    """One method: name, parameters, help, what its result holds, other names, whether the broker does it."""

    name: str
    params: tuple[Param, ...]
    help: str
    result: str
    aliases: tuple[str, ...] = ()
    io: bool = False

    @property
    def handler(self) -> str:
        """The name of the function that does it."""
        return self.name.replace(".", "_")


CALLER = (
    integer("surface_id", "id of the surface; wins over env", None),
    structure("env", "the caller's environment variables that tell its pane", None),
    string("tty", "the caller's terminal device, where env tells nothing", None),
    integer("tty_session", "process id of that terminal's session leader", None, 1, _PID_HIGH),
)
# Where a report belongs: a workspace by its id, else the caller's.
WHERE = (
    integer("workspace_id", "id of the workspace, an unknown one is created; default: the caller's", None),
    *CALLER,
)
SURFACE = CALLER
WORKSPACE = integer("workspace_id", "id of the workspace")
_KEY = string("key", "key of the status entry, usually the agent's name")
_SESSION = (
    string("session", "key of the agent's session, as agent.list shows it", None, 2 * NAME),
    string("agent", "only sessions of this agent", None),
)

METHODS = (
    Method("system.ping", (), "Answer, to show that the broker lives.", "pong"),
    Method("system.capabilities", (), "List the methods.", "methods, protocol, version", io=True),
    Method(
        "system.identify",
        WHERE,
        "Tell the focused surface and, from surface_id or env, the caller's.",
        "window_index, workspace_id, workspace_index, pane_group_id, surface_id, browser_panel_id, caller",
    ),
    Method("system.tree", (), "Show everything, nested.", "windows"),
    Method(
        "system.health",
        (),
        "Tell how the broker is: uptime, version, counters, limits, store, warnings.",
        "status, pid, version, protocol, uptime_seconds, boot_id, counters, rows, limits, store, spool, "
        "warnings",
        io=True,
    ),
    Method("workspace.list", (), "List the workspaces in their order.", "workspaces"),
    Method("workspace.current", (), "Tell the selected workspace.", "workspace"),
    Method(
        "workspace.create",
        (string("title", "title of the workspace", None), boolean("select", "whether to select it", True)),
        "Make a workspace.",
        "workspace_id",
    ),
    Method("workspace.select", (WORKSPACE,), "Select a workspace.", ""),
    Method("workspace.close", (WORKSPACE,), "Remove a workspace with all that it shows.", ""),
    Method("workspace.rename", (WORKSPACE, string("title", "the new title")), "Rename a workspace.", ""),
    Method("workspace.next", (), "Select the workspace after the selected one.", "workspace_id"),
    Method("workspace.previous", (), "Select the workspace before the selected one.", "workspace_id"),
    Method("workspace.last", (), "Select the workspace that was selected before.", "workspace_id"),
    Method(
        "workspace.reorder",
        (
            WORKSPACE,
            integer("index", "its new place, from 0", None),
            integer("before", "id of the workspace it goes before", None),
            integer("after", "id of the workspace it goes after", None),
        ),
        "Move a workspace; give one of index, before, after.",
        "",
    ),
    Method(
        "workspace.pin",
        (WORKSPACE, boolean("pinned", "whether it is kept above the others", True)),
        "Keep a workspace above the others, or no longer.",
        "",
    ),
    Method(
        "workspace.set_status",
        (
            *WHERE,
            _KEY,
            string("value", "text of the status", limit=TEXT),
            integer("priority", "highest is shown first", 0, -(1 << 31), _PID_HIGH),
            boolean("is_agent", "whether it is an agent's status", False),
            string("display_name", "name for people", None),
            choice("state", "the state the text stands for", STATES, None),
            integer("pid", "the entry goes when this process ends", None, 1, _PID_HIGH),
            integer("ttl_ms", "the entry goes after so many milliseconds", None, 1),
        ),
        "Set a status entry.",
        "",
    ),
    Method("workspace.clear_status", (*WHERE, _KEY), "Clear a status entry.", "cleared"),
    Method(
        "workspace.set_progress",
        (
            *WHERE,
            number("value", "from 0.0 to 1.0; values outside are clamped"),
            string("label", "text beside the bar", "", TEXT, empty=True),
        ),
        "Show a progress bar.",
        "",
    ),
    Method("workspace.clear_progress", WHERE, "Remove the progress bar.", ""),
    Method(
        "workspace.append_log",
        (
            *WHERE,
            string("message", "the text", limit=TEXT),
            choice("level", "how grave it is", LEVELS, "info"),
        ),
        "Append a line to the log.",
        "",
        aliases=("workspace.log",),
    ),
    Method("workspace.clear_log", WHERE, "Empty the log.", ""),
    Method(
        "workspace.set_subagent_counts",
        (
            *WHERE,
            integer("subagent_count", "running sub-agents", 0, 0, 10**6, aliases=("subagents",)),
            integer("background_count", "running background tasks", 0, 0, 10**6, aliases=("background",)),
        ),
        "Set the numbers of sub-agents and background tasks.",
        "",
    ),
    Method(
        "surface.list",
        (integer("workspace_id", "only this workspace's surfaces", None),),
        "List the surfaces.",
        "surfaces",
    ),
    Method(
        "surface.focus",
        (*SURFACE, string("client", "the terminal's client to show it on; default: the last used", None)),
        "Bring a surface to the front of its terminal.",
        "",
        io=True,
    ),
    Method(
        "surface.report_cwd",
        (*SURFACE, string("cwd", "the directory the shell is in", limit=TEXT)),
        "Tell a surface's directory.",
        "",
    ),
    Method(
        "surface.report_git",
        (
            *SURFACE,
            string("branch", "the branch, or what is checked out"),
            boolean("dirty", "whether there are changes not committed", False),
        ),
        "Tell a surface's git branch.",
        "",
    ),
    Method("surface.clear_git", SURFACE, "Forget a surface's git branch.", ""),
    Method(
        "surface.report_state",
        (*SURFACE, choice("state", "whether the shell waits or runs something", ("prompt", "running"))),
        "Tell what a surface's shell does.",
        "",
    ),
    Method(
        "surface.health",
        (integer("surface_id", "only this surface", None),),
        "Tell which surfaces can be told of and focused.",
        "surfaces",
    ),
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
            integer("pid", "the agent's process; its end ends the session", None, 1, _PID_HIGH),
            integer(
                "reporter_pid",
                "the process that watches the agent and reports; at its end nobody knows the state",
                None,
                1,
                _PID_HIGH,
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
            *_SESSION,
            *(integer(f"{kind}_id", f"only this {kind}'s", None) for kind in ("surface", "workspace")),
        ),
        "List the agents' sessions.",
        "agents",
    ),
    Method(
        "agent.explain",
        (*_SESSION, integer("surface_id", "the agents of this surface", None)),
        "Tell why a session is shown in its state, how old that is and what would change it.",
        "agents, each with explanation: rule, source, age_seconds, would_change",
    ),
    Method(
        "agent.wait",
        (
            *_SESSION,
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
    Method(
        "events.subscribe",
        (
            array("topics", "kinds of rows to hear of; default all", TOPICS, None),
            integer("after_seq", "last change seen, to go on from there", None),
            string("boot_id", "the broker's run that after_seq belongs to", None),
            number(
                "heartbeat", "seconds between lines that say the broker lives; default: none", None, low=1
            ),
        ),
        "Get a snapshot, then every change as it happens, on this connection.",
        "snapshot, seq, boot_id, gap",
        io=True,
    ),
    Method(
        "history.query",
        (
            number("since", "seconds since 1970", None, low=0),
            number("until", "seconds since 1970", None, low=0),
            string("agent", "only this agent's", None),
            string("session", "only this session's", None),
            integer("surface_id", "only this surface's", None),
            integer("limit", "at most so many, the newest", 1000, 1, 10000),
        ),
        "List how the agents' states changed, oldest first, and how long each had lasted.",
        "transitions",
        io=True,
    ),
)
