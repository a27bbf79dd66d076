"""Methods of the broker itself."""

from __future__ import annotations

from seance_tools.methods.row import WHERE, Method

ROWS = (
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
)
