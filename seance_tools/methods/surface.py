"""Methods of surfaces, the panes of terminals."""

from __future__ import annotations

from seance_tools.methods.params import TEXT, boolean, choice, integer, string, typed
from seance_tools.methods.row import SURFACE, WHERE, Method

DIRECTIONS = ("vertical", "horizontal", "right", "down")

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
        "surface.split",
        (
            *SURFACE,
            choice("direction", "vertical, right: beside; horizontal, down: below", DIRECTIONS, "vertical"),
            string("command", "a shell command to run there instead of a shell", None, limit=TEXT),
        ),
        "Make a surface beside another in tmux; the focus stays.",
        "surface_id",
        io=True,
    ),
    Method("surface.close", SURFACE, "Close a surface in tmux, with what runs in it.", "", io=True),
    Method(
        "surface.send_text",
        (
            *SURFACE,
            typed("text", "what is typed; the end of a line is Enter"),
            boolean("enter", "whether Enter follows", False),
        ),
        "Type into a surface in tmux.",
        "",
        aliases=("surface.send",),
        io=True,
    ),
    Method(
        "surface.send_key",
        (*SURFACE, string("key", "enter, escape, up, f5, ctrl+c, alt+b, shift+tab …; tmux's names too")),
        "Press a key in a surface in tmux.",
        "",
        io=True,
    ),
    Method(
        "surface.read_screen",
        (
            *SURFACE,
            integer("lines", "the last so many, also of what is above; default: the screen", None, 1, 500),
        ),
        "Show what a surface in tmux shows; the cursor's row and column count from 0.",
        "text, shell_state, cursor_row, cursor_col, rows, cols",
        io=True,
    ),
    Method(
        "surface.last",
        WHERE,
        "Go back to the surface used before in a workspace in tmux.",
        "surface_id",
        io=True,
    ),
    Method(
        "surface.reorder",
        (
            *SURFACE,
            integer("index", "its new place in its column, from 0", None),
            integer("before", "id of the surface it goes before", None),
            integer("after", "id of the surface it goes after", None),
        ),
        "Move a surface within its column in tmux; give one of index, before, after.",
        "surface_id, index",
        io=True,
    ),
    Method(
        "surface.report_shell",
        (
            *WHERE,
            string("cwd", "the directory the shell is in", None, limit=TEXT),
            choice("state", "whether the shell waits or runs something", ("prompt", "running"), None),
            integer("exit_code", "how the last command ended", None, high=255),
            integer("duration_ms", "how long it took, in milliseconds", None),
        ),
        "Tell what a surface's shell knows at its prompt, or of it; what is left out stays as it was.",
        "",
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
