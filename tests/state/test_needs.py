"""What an agent needs, as the notifications tell it: unread while it does, read once it does not."""

from __future__ import annotations

from typing import Any

import pytest

from seance_tools import names
from seance_tools.state import sessions
from seance_tools.state.places import remove_surface
from seance_tools.wire import WireError
from tests.state.bench import Bench, pane

BASH: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make test"}}


def claude(bench: Bench, event: str, **payload: Any) -> str:
    """Report an event of Claude Code in pane 1 a second later, and return the state that follows."""
    bench.now += 1
    payload = {"session_id": "s1", **payload}
    state: str = bench.hook(event, pane(1), agent="claude", payload=payload, pid=77)["state"]
    return state


def unread(bench: Bench) -> list[str]:
    return [row["kind"] for row in bench.tables.all("notification") if not row["read"]]


@pytest.fixture
def asking(bench: Bench) -> Bench:
    """An agent that has finished something before, and waits for the user now; another waits too."""
    bench.hook("approval-request", pane(2), agent="codex")
    claude(bench, "UserPromptSubmit")
    claude(bench, "PreToolUse", tool_use_id="b", **BASH)
    assert claude(bench, "PermissionRequest", **BASH) == "needs_input"
    assert unread(bench) == ["needs_input", "needs_input"]
    return bench


def end(bench: Bench) -> None:
    claude(bench, "SessionEnd", reason="prompt_input_exit")


def die(bench: Bench) -> None:
    sessions.process_ended(bench.tables, 77, 5, bench.now)


def lose_the_pane(bench: Bench) -> None:
    remove_surface(bench.tables, 2)


@pytest.mark.parametrize("ends", [end, die, lose_the_pane])
def test_what_is_gone_needs_nothing(asking: Bench, ends: Any) -> None:
    ends(asking)
    assert [row["agent"] for row in asking.tables.all("agent")] == ["codex"]
    assert unread(asking) == ["needs_input"]  # the other's


def test_what_has_finished_stays_unread_when_it_is_gone(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit")
    claude(bench, "Stop")
    end(bench)
    assert unread(bench) == ["completed"]


def test_an_agent_inside_goes_with_the_outer_one(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit")
    inner: dict[str, Any] = {"agent": "claude", "payload": {"session_id": "s2", **BASH}}
    bench.hook("PermissionRequest", pane(1), **inner)
    assert unread(bench) == ["needs_input"]
    end(bench)
    assert not bench.tables.rows["agent"]
    assert unread(bench) == []


def test_what_nobody_would_see_end_needs_nothing_when_it_is_given_up(bench: Bench) -> None:
    bench.hook("approval-request", agent="claude", payload={"session_id": "s1"})
    assert unread(bench) == ["needs_input"]
    sessions.expire(bench.tables, bench.now + sessions.FORGET_SECONDS)
    assert not bench.tables.rows["agent"]
    assert unread(bench) == []


def test_what_nobody_reports_any_more_needs_nothing_that_is_known(bench: Bench) -> None:
    bench.hook("approval-request", pane(1), pid=77, reporter_pid=78, source="log")
    assert unread(bench) == ["needs_input"]
    sessions.process_ended(bench.tables, 78, 5, bench.now)
    assert unread(bench) == []


def test_a_stopped_agent_goes_on_waiting(asking: Bench) -> None:
    for process, state in (("stopped", "unknown"), ("runs", "needs_input")):
        asking.now += 20
        sessions.look(asking.tables, "claude-2", asking.now, {"at": asking.now, "process": process})
        assert asking.tables.rows["agent"]["claude-2",]["state"] == state
        assert unread(asking) == ["needs_input", "needs_input"]
    sessions.look(asking.tables, "claude-2", asking.now, {"at": asking.now, "process": "stopped"})
    assert claude(asking, "Notification", notification_type="permission_prompt") == "needs_input"
    assert unread(asking) == ["needs_input", "needs_input"]  # it is not told of again
    assert claude(asking, "PostToolUse", tool_use_id="b", **BASH) == "running"
    assert unread(asking) == ["needs_input"]


def test_a_prompt_that_nobody_typed_shows_nothing_to_be_seen(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit")
    claude(bench, "Stop")
    claude(bench, "UserPromptSubmit", source="system")
    assert unread(bench) == ["completed"]
    claude(bench, "UserPromptSubmit", source="user")
    assert unread(bench) == []


def test_an_agents_own_status_is_not_limited_as_those_of_callers_are(bench: Bench) -> None:
    most = names.LIMITS["status_entries"]
    for number in range(most + 1):
        assert bench.hook("prompt-submit", pane(number), agent="claude")["state"] == "running"
    assert len(bench.tables.of_workspace("status", 1)) == most + 1
    for number in range(most):
        bench.call("workspace.set_status", workspace_id=1, key=f"k{number}", value="x")
    with pytest.raises(WireError, match="at most 64 status entries"):
        bench.call("workspace.set_status", workspace_id=1, key="one more", value="x")
    bench.call("workspace.set_status", workspace_id=1, key="k0", value="y")
    assert bench.hook("prompt-submit", pane(most + 1), agent="claude")["state"] == "running"
