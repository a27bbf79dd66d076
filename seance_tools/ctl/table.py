"""The commands of seance-ctl, one row each; help, completions and the man page are printed from here."""

from __future__ import annotations

from typing import Any, NamedTuple


class Entry(NamedTuple):
    """One command.

    summary: for the help; empty: the method's own. method: what it calls, "" for a command with a function
    of its own. arguments: parameters that may be given by position. fixed: parameters it always gives.
    module: where its function is, or the printer of its result (`print_` and its name), if it has one.
    """

    summary: str = ""
    method: str = ""
    arguments: tuple[str, ...] = ()
    fixed: dict[str, Any] = {}  # noqa: RUF012 - never altered
    module: str = ""


COMMANDS = {
    "adopt": Entry("Show agents that were started without their wrapper.", module="adopt"),
    "agents": Entry(method="agent.list", module="show"),
    "capabilities": Entry(method="system.capabilities", module="show"),
    "clear-git": Entry(method="surface.clear_git"),
    "clear-log": Entry(method="workspace.clear_log", arguments=("workspace_id",)),
    "clear-notifications": Entry(method="notification.clear"),
    "clear-progress": Entry(method="workspace.clear_progress", arguments=("workspace_id",)),
    "clear-status": Entry(method="workspace.clear_status", arguments=("key",)),
    "close-surface": Entry(method="surface.close", arguments=("surface_id",)),
    "close-workspace": Entry(method="workspace.close", arguments=("workspace_id",)),
    "completions": Entry("Print the completions of a shell: bash, zsh or fish.", module="complete"),
    "config": Entry("Look at config.toml: check, path, get, set.", module="configure"),
    "current-workspace": Entry(method="workspace.current", module="show"),
    "demo": Entry("Show the sidebar with four stand-in agents; nothing of yours is touched.", module="demo"),
    "doctor": Entry("Look for what is wrong with the installation, and say how to mend it.", module="doctor"),
    "explain": Entry(method="agent.explain", arguments=("session",), module="show"),
    "focus": Entry(method="surface.focus", arguments=("surface_id",)),
    "health": Entry(method="system.health", module="show"),
    "history": Entry(method="history.query", module="show"),
    "hooks": Entry("Look at the hooks of the agents: status.", module="hooks"),
    "identify": Entry(method="system.identify", module="show"),
    "install": Entry("Let agents report by their own hooks.", module="hooks"),
    "last-pane": Entry(method="surface.last"),
    "last-workspace": Entry(method="workspace.last"),
    "list-notifications": Entry(method="notification.list", module="show"),
    "list-surfaces": Entry(method="surface.list", module="show"),
    "list-workspaces": Entry(method="workspace.list", module="show"),
    "log": Entry(method="workspace.append_log", arguments=("message",)),
    "mark-read": Entry(method="notification.mark_read", arguments=("notification_id",)),
    "new-workspace": Entry(method="workspace.create", arguments=("title",)),
    "next-workspace": Entry(method="workspace.next"),
    "notify": Entry(method="notification.create", arguments=("title", "body")),
    "pin-workspace": Entry(method="workspace.pin", arguments=("workspace_id",)),
    "ping": Entry(method="system.ping", module="show"),
    "previous-workspace": Entry(method="workspace.previous"),
    "read-screen": Entry(method="surface.read_screen", module="show"),
    "rename-workspace": Entry(method="workspace.rename", arguments=("title",)),
    "reorder-surface": Entry(method="surface.reorder", arguments=("surface_id",)),
    "reorder-workspace": Entry(method="workspace.reorder", arguments=("workspace_id",)),
    "report-cwd": Entry(method="surface.report_cwd", arguments=("cwd",)),
    "report-git": Entry(method="surface.report_git", arguments=("branch",)),
    "report-shell": Entry(method="surface.report_shell"),
    "report-state": Entry(method="surface.report_state", arguments=("state",)),
    "select-workspace": Entry(method="workspace.select", arguments=("workspace_id",)),
    "send": Entry(method="surface.send_text", arguments=("text",)),
    "send-key": Entry(method="surface.send_key", arguments=("key",)),
    "set-idle": Entry(
        "Say that an agent is idle.",
        "agent.hook",
        arguments=("agent",),
        fixed={"event": "stop", "source": "api"},
    ),
    "set-progress": Entry(method="workspace.set_progress", arguments=("value", "label")),
    "set-status": Entry(method="workspace.set_status", arguments=("key", "value")),
    "split": Entry(method="surface.split"),
    "shell-init": Entry("Print the line for a shell's rc file: bash, zsh or fish.", module="shell_init"),
    "statusline": Entry(
        "Print how many agents are in each state, for a status line; never starts a broker.",
        module="statusline",
    ),
    "subagent-update": Entry(method="workspace.set_subagent_counts"),
    "surface-health": Entry(method="surface.health", arguments=("surface_id",), module="show"),
    "tree": Entry(method="system.tree", module="show"),
    "uninstall": Entry("Take our hooks out of the agents' files again.", module="hooks"),
    "wait": Entry("Wait until an agent is in a state; the exit code tells what came.", module="follow"),
    "watch": Entry("Print every change as it happens.", module="follow"),
}
# Parameters that a person need not give: the caller's pane is told by the program itself.
SILENT = frozenset({"env", "tty", "tty_session", "payload", "at", "source"})


def flag(parameter: str) -> str:
    """Return the option that stands for a parameter of a method: workspace_id is --workspace."""
    return "--" + parameter.removesuffix("_id").replace("_", "-")
