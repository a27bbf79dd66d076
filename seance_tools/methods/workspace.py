"""Methods of workspaces and what they show."""

from __future__ import annotations

from seance_tools.methods.params import LEVELS, STATES, TEXT, boolean, choice, integer, number, string
from seance_tools.methods.row import CALLER, PID_HIGH, WHERE, WORKSPACE, Method

_KEY = string("key", "key of the status entry, usually the agent's name")

ROWS = (
    Method("workspace.list", (), "List the workspaces in their order.", "workspaces"),
    Method("workspace.current", (), "Tell the selected workspace.", "workspace"),
    Method(
        "workspace.create",
        (
            *CALLER,
            string("title", "title of the workspace", None),
            boolean("select", "whether to select it, in tmux on a client; default: only outside tmux", None),
        ),
        "Make a workspace; for a caller in tmux a session there.",
        "workspace_id",
        io=True,
    ),
    Method(
        "workspace.select",
        (WORKSPACE, string("client", "tmux's client to show it on; default: the last used", None)),
        "Select a workspace; a session of tmux is shown on a client too.",
        "",
        io=True,
    ),
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
            integer("priority", "highest is shown first", 0, -(1 << 31), PID_HIGH),
            boolean("is_agent", "whether it is an agent's status", False),
            string("display_name", "name for people", None),
            choice("state", "the state the text stands for", STATES, None),
            integer("pid", "the entry goes when this process ends", None, 1, PID_HIGH),
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
)
