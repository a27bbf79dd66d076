"""Makes docs/sidebar.svg: what the real sidebar shows of a real broker. `make picture`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from seance_tools import names
from seance_tools.client import Connection
from tests.conftest import answers
from tests.support import eventually, sealed_environment

COLUMNS = 38
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


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        environ = sealed_environment(Path(directory)) | {"LANG": "C.UTF-8", "COLUMNS": str(COLUMNS)}
        environ["HOME"] = "/home/you"
        broker = subprocess.Popen([sys.executable, "-m", "seance_tools.broker", "--foreground"], env=environ)
        try:
            eventually(lambda: answers(names.socket_path(environ)))
            with Connection(names.socket_path(environ)) as connection:
                tell(connection)
            command = [sys.executable, "-m", "seance_tools.sidebar", "--once", "--svg"]
            TARGET.write_bytes(subprocess.run(command, env=environ, capture_output=True, check=True).stdout)
        finally:
            broker.terminate()
            broker.wait()


if __name__ == "__main__":
    main()
