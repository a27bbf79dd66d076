"""Methods of surfaces, the panes of terminals."""

from __future__ import annotations

from seance_tools.methods.params import TEXT, boolean, choice, integer, string
from seance_tools.methods.row import SURFACE, Method

ROWS = (
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
)
