"""Makes docs/sidebar.svg: the real sidebar and broker, drawn as a terminal shows them. `make picture`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from html import escape
from pathlib import Path
from typing import Any

from seance_tools import names
from seance_tools.client import Connection
from tests.conftest import answers
from tests.sidebar.pane import Pane
from tests.support import eventually, sealed_environment

COLUMNS, ROWS = 36, 22
WIDTH, HEIGHT = 8.4, 18  # of a character, in pixels
GROUND, INK = "#1b1d23", "#d7dae0"
TARGET = Path(__file__).parent.parent / "docs" / "sidebar.svg"


def tell(connection: Connection) -> None:
    """Report what three workspaces' agents do at some moment of a working day."""
    now = time.time()

    def hook(workspace: int, surface: int, agent: str, event: str, ago: float, **payload: Any) -> None:
        where = {"workspace_id": workspace, "surface_id": surface, "at": now - ago}
        connection.request("agent.hook", {**where, "agent": agent, "event": event, "payload": payload})

    for title in ("shop-api", "docs", "infra"):
        connection.request("workspace.create", {"title": title})
    hook(1, 1, "claude", "approval-request", 125)
    hook(1, 2, "codebuff", "pre-tool-use", 41, tool_name="str_replace", tool_input={"path": "cart.py"})
    hook(1, 2, "codebuff", "subagent-update", 41, subagents=["a", "b", "c"])
    hook(1, 3, "opencode", "stop", 540)
    message = {"workspace_id": 1, "title": "Claude Code", "body": "Approve: make deploy?"}
    connection.request("notification.create", message)
    connection.request("workspace.log", {"workspace_id": 1, "message": "Completed index rebuild"})
    connection.request(
        "workspace.set_progress", {"workspace_id": 1, "value": 0.75, "label": "Processing 3/4"}
    )
    connection.request("surface.report_cwd", {"surface_id": 1, "cwd": "/home/you/work/shop-api"})
    connection.request("surface.report_git", {"surface_id": 1, "branch": "main", "dirty": True})
    hook(2, 4, "codex", "prompt-submit", 12)
    connection.request("surface.report_cwd", {"surface_id": 4, "cwd": "/home/you/work/docs"})
    hook(3, 5, "gemini", "error", 63, message="rate limit")
    connection.request("workspace.select", {"workspace_id": 1})


def colour(value: str, default: str) -> str:
    return default if value == "default" else value if value.startswith("#") else f"#{value}"


def svg(screen: Any) -> str:
    """Return the emulator's screen as an SVG."""
    width, height = COLUMNS * WIDTH + 20, ROWS * HEIGHT + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-size="14"'
        ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace">',
        "<title>seance-sidebar: what three workspaces' agents are doing</title>",
        f'<rect width="100%" height="100%" rx="6" fill="{GROUND}"/>',
    ]
    for row in range(ROWS):
        for column in range(COLUMNS):
            cell = screen.buffer[row][column]
            if cell.data.strip():
                weight = ' font-weight="bold"' if cell.bold else ""
                lines.append(
                    f'<text x="{10 + column * WIDTH:g}" y="{24 + row * HEIGHT}" fill="{colour(cell.fg, INK)}"'
                    f"{weight}>{escape(cell.data)}</text>"
                )
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        environ = sealed_environment(Path(directory)) | {"COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        environ["HOME"] = "/home/you"
        broker = subprocess.Popen([sys.executable, "-m", "seance_tools.broker", "--foreground"], env=environ)
        try:
            eventually(lambda: answers(names.socket_path(environ)))
            with Connection(names.socket_path(environ)) as connection:
                tell(connection)
            pane = Pane(environ, size=(COLUMNS, ROWS))
            pane.shows("rate limit")
            TARGET.write_text(svg(pane.screen))
            pane.close()
        finally:
            broker.terminate()
            broker.wait()


if __name__ == "__main__":
    os.environ.pop("NO_COLOR", None)
    main()
