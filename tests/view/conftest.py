"""The example of the documentation as a fixture."""

from __future__ import annotations

import pytest

from tests.view.world import World, columns


@pytest.fixture
def shop() -> World:
    """The example of the documentation, and two smaller workspaces."""
    world = World()
    world.hook("claude", "approval-request", (1, 11), 125)
    world.hook("codebuff", "prompt-submit", (1, 12), 41)
    world.hook("codebuff", "subagent-update", (1, 12), 41, subagents=3)
    world.hook("opencode", "stop", (1, 13), 540)
    world.hook("gemini", "stop", (1, 14), 2.5 * 86400, background_tasks=[{}])
    world.hook("codex", "stop", (1, 15), 7300)
    world.do("workspace.append_log", workspace_id=1, message="Completed index rebuild")
    world.do("workspace.set_progress", workspace_id=1, value=0.75, label="Processing 3/4 items")
    world.update("workspace", 1, title="shop-api", columns=columns(True, False, False))
    world.update("surface", 11, cwd="/home/me/work/shop-api", branch="main", dirty=True, ports=[5173, 3000])
    world.notify(1, 1, "Older", "one")
    world.notify(2, 1, "Approve", "rm -rf build?")
    world.notify(3, 1, "Read", "already", read=True)
    world.hook("claude", "error", (2, 21), 5, reason="rate limit")
    world.update("workspace", 2, title="文書サイト")
    world.do("workspace.set_subagent_counts", workspace_id=2, subagent_count=2, background_count=1)
    world.do("workspace.append_log", workspace_id=2, message="tests failed", level="error")
    world.do("workspace.set_status", workspace_id=3, key="deploy", value="Waiting for staging")
    return world
