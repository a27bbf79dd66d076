from __future__ import annotations

import json
from typing import Any

import pytest

from seance_tools.agents import Agent
from seance_tools.state import sessions
from seance_tools.state.lookup import MOST_ENDED
from seance_tools.state.notifications import mark_seen
from seance_tools.state.places import Caller
from seance_tools.state.tables import Tables
from seance_tools.wire import WireError
from tests.state.bench import Bench, pane


def claude(
    bench: Bench, event: str, *, pid: int | None = None, at: float | None = None, **payload: Any
) -> Any:
    """Report an event of Claude Code in pane 1; a second passes before."""
    bench.now += 1
    return bench.hook(event, pane(1), agent="claude", payload=payload, pid=pid, at=at)


def states(bench: Bench) -> dict[str, str]:
    return {row["session"]: row["state"] for row in bench.tables.all("agent")}


def notifications(bench: Bench, *, read: bool | None = None) -> list[tuple[str, str]]:
    rows = [row for row in bench.tables.all("notification") if read in (None, row["read"])]
    return [(row["title"], row["body"]) for row in rows]


def test_lists_by_agent_surface_workspace(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.hook("prompt-submit", pane(1), agent="claude")
    bench.hook("prompt-submit", pane(2, session=1))
    assert [row["session"] for row in bench.call("agent.list")["agents"]] == [
        "claude-1",
        "codebuff-1",
        "codebuff-2",
    ]
    assert len(bench.call("agent.list", agent="codebuff")["agents"]) == 2
    assert len(bench.call("agent.list", surface_id=1)["agents"]) == 2
    assert len(bench.call("agent.list", workspace_id=2)["agents"]) == 1
    assert bench.call("agent.list", session="none")["agents"] == []


def test_explain_says_which_rule_how_old_and_what_would_change_it(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), pid=77)
    bench.now += 60
    [row] = bench.call("agent.explain", session="codebuff-1")["agents"]
    explanation = row["explanation"]
    assert (row["state"], explanation["rule"], explanation["source"]) == ("running", "prompt-submit", "hook")
    assert (explanation["age_seconds"], explanation["inferred"]) == (60.0, False)
    assert "stop" in explanation["would_change"]["idle"]
    assert "running" not in explanation["would_change"]
    assert explanation["would_change"]["ended"] == ["session-end", "the end of process 77"]
    assert explanation["would_change"]["background"] == ["stop with background_tasks"]


def test_explain_needs_a_session(bench: Bench) -> None:
    with pytest.raises(WireError) as caught:
        bench.call("agent.explain", surface_id=5)
    assert caught.value.code == "not_found"


def test_a_new_process_in_the_same_pane_takes_the_row_over(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), pid=77)
    bench.hook("prompt-submit", pane(1), pid=78)
    assert bench.only("agent")["pid"] == 78


def test_native_names_are_understood(bench: Bench) -> None:
    assert claude(bench, "UserPromptSubmit")["state"] == "running"
    assert bench.hook("permission.asked", pane(2), agent="opencode")["state"] == "needs_input"
    answer = bench.hook("SessionStart", pane(3), agent="codex", payload={"source": "startup"})
    assert (answer["state"], answer["reply"]) == ("idle", '{"continue":true}')


@pytest.mark.parametrize(
    ("agent", "reply"), [("claude", ""), ("gemini", ""), ("cursor", ""), ("copilot", ""), ("opencode", "")]
)
def test_other_agents_get_no_reply(bench: Bench, agent: str, reply: str) -> None:
    assert bench.hook("stop", pane(1), agent=agent)["reply"] == reply


# One row a pane, whatever its session is called


@pytest.mark.parametrize("pid", [None, 77])
@pytest.mark.parametrize("source", ["clear", "resume", "compact"])
def test_one_row_though_the_session_id_changes(bench: Bench, pid: int | None, source: str) -> None:
    claude(bench, "UserPromptSubmit", pid=pid, session_id="s1")
    if source != "compact":
        assert claude(bench, "SessionEnd", pid=pid, session_id="s1", reason=source)["state"] == "idle"
    claude(bench, "SessionStart", pid=pid, session_id="s2", source=source)
    assert bench.only("agent")["session_id"] == "s2"
    assert bench.only("agent")["state"] == ("running" if source == "compact" else "idle")
    claude(bench, "UserPromptSubmit", pid=pid, session_id="s2")
    assert not claude(bench, "SessionEnd", pid=pid, session_id="s1", reason="other")["changed"]
    assert states(bench) == {"claude-1": "running"}
    claude(bench, "SessionEnd", pid=pid, session_id="s2", reason="other")
    assert states(bench) == {}


def test_the_end_of_an_old_session_before_the_new_one_says_anything(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", session_id="s1")
    claude(bench, "SessionStart", session_id="s2", source="resume")
    assert not claude(bench, "SessionEnd", session_id="s1", reason="resume")["changed"]
    assert bench.only("agent")["session_id"] == "s2"


def test_sessions_one_after_the_other_are_one_row_each_time(bench: Bench) -> None:
    for pid in (77, 78, 79):
        claude(bench, "UserPromptSubmit", pid=pid, session_id=f"s{pid}")
        assert states(bench) == {"claude-1": "running"}
        sessions.process_ended(bench.tables, pid, 5, bench.now)
        assert states(bench) == {}


# Agents inside agents


def test_an_agent_inside_its_like_leaves_the_outer_ones_state(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", pid=77, session_id="outer")
    assert claude(bench, "SessionStart", pid=88, session_id="inner")["session"] == "claude-1-88"
    claude(bench, "UserPromptSubmit", pid=88, session_id="inner")
    claude(bench, "Stop", pid=88, session_id="inner")
    assert states(bench) == {"claude-1": "running", "claude-1-88": "idle"}
    inner = bench.tables.get("agent", "claude-1-88")
    assert inner is not None
    assert (inner["parent"], inner["pid"], inner["surface_id"]) == ("claude-1", 88, 1)
    assert notifications(bench) == []
    claude(bench, "SessionEnd", pid=88, session_id="inner")
    assert states(bench) == {"claude-1": "running"}
    assert bench.only("agent")["pid"] == 77
    assert claude(bench, "Stop", pid=77, session_id="outer")["state"] == "idle"


def test_an_inner_agent_keeps_its_row_when_the_outer_one_goes(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", pid=77, session_id="outer")
    claude(bench, "UserPromptSubmit", pid=88, session_id="inner")
    sessions.process_ended(bench.tables, 77, 5, bench.now)
    claude(bench, "Stop", pid=88, session_id="inner")
    assert states(bench) == {"claude-1-88": "idle"}


def test_agents_that_no_process_tells_apart(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", session_id="outer")
    for event in ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"):
        claude(bench, event, session_id="inner")
        assert states(bench)["claude-1"] == "running"
    assert states(bench) == {"claude-1": "running", "claude-1-inner": "idle"}
    claude(bench, "SessionEnd", session_id="outer")
    assert states(bench) == {}  # nothing else would ever end the inner one


def test_at_rest_another_session_takes_the_row(bench: Bench) -> None:
    claude(bench, "Stop", session_id="s1")
    claude(bench, "SessionStart", session_id="s2", source="startup")
    assert bench.only("agent")["session_id"] == "s2"


def test_a_late_word_of_an_unknown_session_makes_no_row(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", session_id="s2")
    for event in ("Stop", "SessionEnd", "StopFailure"):
        assert not claude(bench, event, session_id="s1")["changed"]
    assert states(bench) == {"claude-1": "running"}


def test_another_agent_inside_has_a_row_of_its_own(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", pid=77)
    bench.hook("UserPromptSubmit", pane(1), agent="codex", pid=88)
    bench.hook("Stop", pane(1), agent="codex", pid=88)
    assert states(bench) == {"claude-1": "running", "codex-1": "idle"}


# What comes too late, or about nobody


def test_a_sessions_end_is_the_last_word(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", session_id="s1")
    claude(bench, "SessionEnd", session_id="s1", reason="other")
    ended = bench.now
    for event in ("Stop", "PostToolUse", "SubagentStop", "Notification", "SessionEnd"):
        assert not claude(bench, event, session_id="s1")["changed"]
    assert not claude(bench, "UserPromptSubmit", at=ended - 0.5)["changed"]
    assert states(bench) == {}
    claude(bench, "UserPromptSubmit", session_id="s1")  # resumed
    assert states(bench) == {"claude-1": "running"}


def test_a_stale_end_ends_nothing(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit")
    assert not claude(bench, "SessionEnd", at=bench.now - 10)["changed"]
    assert states(bench) == {"claude-1": "running"}


def test_ends_are_remembered_up_to_a_limit(bench: Bench) -> None:
    for number in range(MOST_ENDED + 5):
        bench.hook("stop", pane(number))
        bench.hook("session-end", pane(number))
    assert len(bench.tables.rows["ended"]) == MOST_ENDED
    assert "ended" not in bench.tables.snapshot()


@pytest.mark.parametrize("event", ["SubagentStart", "SubagentStop", "PreToolUse", "Stop"])
def test_a_subagent_of_a_session_nobody_knows_makes_no_row(bench: Bench, event: str) -> None:
    assert not claude(bench, event, agent_id="a")["changed"]
    assert not any(bench.tables.rows[kind] for kind in ("agent", "surface", "workspace"))


def test_a_clock_that_was_set_back_stops_nothing(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit")
    bench.now -= 3600
    assert claude(bench, "Stop")["state"] == "idle"


def test_times_to_come_count_as_now(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", at=bench.now + 3600)
    assert claude(bench, "Stop")["state"] == "idle"


# Notifications


def test_each_transition_is_notified_of_once(bench: Bench) -> None:
    claude(bench, "SessionStart")
    claude(bench, "Stop")
    assert notifications(bench) == []  # there was no prompt
    bash: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make test"}}
    for _ in range(50):
        claude(bench, "UserPromptSubmit")
    for _ in range(50):
        claude(bench, "PermissionRequest", **bash)
        claude(bench, "Notification", notification_type="permission_prompt", message="may I?")
    assert notifications(bench) == [("Claude Code needs your input", "Running make test")]
    claude(bench, "PostToolUse", **bash)
    for _ in range(50):
        claude(bench, "Stop", last_assistant_message="All tests\npass now.")
    assert notifications(bench)[1:] == [("Claude Code has finished", "All tests pass now.")]
    claude(bench, "UserPromptSubmit")
    for _ in range(50):
        claude(bench, "StopFailure", error="rate_limit")
    assert notifications(bench)[2:] == [("Claude Code stopped with an error", "Rate limit")]
    row = next(iter(bench.tables.all("notification")))
    assert (row["surface_id"], row["session"], row["kind"]) == (1, "claude-1", "needs_input")


def test_none_again_after_a_restart(bench: Bench) -> None:
    for events in (["UserPromptSubmit", "PermissionRequest"], ["PostToolUse", "Stop"]):
        for event in events:
            claude(bench, event)
        told = notifications(bench)
        saved = json.loads(json.dumps(bench.tables.snapshot(bench.tables.rows)))
        options = bench.tables.options
        bench.tables = Tables.from_snapshot(saved)
        bench.tables.options = options
        claude(bench, events[-1])
        sessions.expire(bench.tables, bench.now)
        assert notifications(bench) == told


def test_subagents_stops_are_not_notified_of(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit")
    claude(bench, "SubagentStart", agent_id="a")
    claude(bench, "Stop", agent_id="a")
    claude(bench, "SubagentStop", agent_id="a", last_assistant_message="3 files")
    assert notifications(bench) == []


def test_a_need_that_is_over_counts_as_read(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit")
    claude(bench, "PermissionRequest")
    claude(bench, "PostToolUse")
    assert notifications(bench, read=False) == []
    claude(bench, "Stop", last_assistant_message="Done.")
    assert notifications(bench, read=False) == [("Claude Code has finished", "Done.")]
    claude(bench, "UserPromptSubmit")  # whoever writes the next prompt has seen it
    assert notifications(bench, read=False) == []
    claude(bench, "Stop", last_assistant_message="Done.")
    assert notifications(bench, read=False) == [("Claude Code has finished", "Done.")]


def test_what_others_wait_for_stays_unread(bench: Bench) -> None:
    bench.call("notification.create", Caller(place=pane(1)), title="a")
    bench.hook("approval-request", pane(1), agent="codex")
    claude(bench, "PermissionRequest")
    claude(bench, "PostToolUse")
    claude(bench, "UserPromptSubmit")
    assert [title for title, _ in notifications(bench, read=False)] == ["a", "Codex needs your input"]


def test_an_agents_own_message_is_kept_once_while_it_is_unread(bench: Bench) -> None:
    claude(bench, "Stop")
    for _ in range(50):
        claude(bench, "Notification", notification_type="auth_success", message="Signed in")
    claude(bench, "Notification", notification_type="agent_completed", message="Done")
    assert notifications(bench) == [("Claude Code", "Signed in"), ("Claude Code", "Done")]
    bench.call("notification.mark_read")
    claude(bench, "Notification", notification_type="auth_success", message="Signed in")
    assert len(notifications(bench)) == 3


def test_a_prompt_that_waits_is_no_message(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit")
    claude(bench, "Notification", notification_type="idle_prompt", message="waiting for your input")
    assert (states(bench), notifications(bench)) == ({"claude-1": "idle"}, [])


def test_notifications_can_be_switched_off(bench: Bench) -> None:
    bench.tables.options = {**bench.tables.options, "notifications.enabled": False}
    for event in ("UserPromptSubmit", "PermissionRequest", "Stop"):
        claude(bench, event)
    claude(bench, "Notification", notification_type="auth_success", message="Signed in")
    assert notifications(bench) == []


# Silence


def test_silence_is_told_and_at_last_nothing_is_known(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit")
    bench.hook("prompt-submit", pane(2), source="log")
    shown = []
    while (due := sessions.next_due(bench.tables)) is not None:
        bench.now = due
        sessions.expire(bench.tables, bench.now)
        status = bench.tables.get("status", 1, "claude-1")
        assert status is not None
        shown.append((status["state"], status["value"], status["inferred"]))
    assert shown == [
        ("running", "Running, quiet 60 s", False),
        ("running", "Running, quiet 5 min", False),
        ("running", "Running, quiet 15 min", False),
        ("unknown", "Unknown", True),
    ]
    assert states(bench) == {"claude-1": "unknown", "codebuff-2": "running"}
    assert notifications(bench) == []
    bench.tables.take_changes()
    sessions.expire(bench.tables, bench.now + 1e6)
    assert bench.tables.take_changes() == []


def test_a_row_of_an_earlier_version_is_taken_up(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", session_id="s1")
    old = [
        "session",
        "agent",
        "display_name",
        "workspace_id",
        "surface_id",
        "session_id",
        "cwd",
        "pid",
        "start_time",
        "state",
        "text",
        "since",
        "started_at",
        "at",
        "source",
        "inferred",
        "evidence",
        "subagent_count",
        "background_count",
    ]
    row = bench.only("agent")
    bench.tables.apply("agent", {name: row[name] for name in old})
    assert sessions.next_due(bench.tables) == row["at"] + 60
    sessions.expire(bench.tables, row["at"] + 60)
    assert claude(bench, "Stop", session_id="s1", at=row["at"] - 5)["state"] == "running"
    assert claude(bench, "Stop", session_id="s1")["state"] == "idle"
    sessions.process_ended(bench.tables, 1, 1, bench.now)
    assert bench.call("agent.explain", agent="claude")["agents"][0]["explanation"]["rule"] == "stop"


def test_agents_of_session_mode_have_a_row_a_session(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "seance_tools.agents.BY_KEY", {"many": Agent("many", "Many", ("many",), mode="session")}
    )
    for name in ("s1", "s2"):
        bench.hook("prompt-submit", pane(1), agent="many", payload={"session_id": name})
    bench.hook("stop", pane(1), agent="many", payload={"session_id": "s1"})
    assert states(bench) == {"many-s1": "idle", "many-s2": "running"}
    bench.hook("session-end", pane(1), agent="many", payload={"session_id": "s1"})
    assert states(bench) == {"many-s2": "running"}


def test_a_record_may_outlive_its_session(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    stays = Agent("stays", "Stays", ("stays",), clear_status_on_end=False)
    monkeypatch.setattr("seance_tools.agents.BY_KEY", {"stays": stays})
    bench.hook("prompt-submit", pane(1), agent="stays")
    bench.hook("session-end", pane(1), agent="stays")
    assert states(bench) == {"stays-1": "idle"}


def test_nobody_knows_what_a_session_does_whose_monitor_has_ended(bench: Bench) -> None:
    for event in ("prompt-submit", "stop"):
        assert bench.hook(event, pane(1), pid=77, reporter_pid=78, source="log")["changed"]
        assert {(77, 5), (78, 5)} <= sessions.processes(bench.tables)
        bench.now += 9
        sessions.process_ended(bench.tables, 78, 6, bench.now)
        assert bench.only("agent")["state"] != "unknown"
        sessions.process_ended(bench.tables, 78, 5, bench.now)
        row = bench.only("agent")
        assert (row["state"], row["inferred"], row["since"]) == ("unknown", True, bench.now)
        assert row["evidence"]["rule"] == "its monitor has ended"
        assert bench.only("status")["state"] == "unknown"
    bench.hook("prompt-submit", pane(1), pid=77, reporter_pid=79, source="log")
    sessions.process_ended(bench.tables, 78, 5, bench.now)  # another one has taken over
    assert bench.only("agent")["state"] == "running"
    bench.hook("prompt-submit", pane(1), pid=77)
    sessions.process_ended(bench.tables, 79, 5, bench.now)  # the agent speaks for itself
    assert bench.only("agent")["state"] == "running"


def test_a_reporter_that_is_no_process_here_is_not_kept(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), pid=77, source="log")
    row = bench.only("agent")
    assert (row["reporter_pid"], row["reporter_start_time"]) == (None, None)
    assert sessions.processes(bench.tables) == {(77, 5), (42, 99)}


def test_a_session_that_is_seen_to_wait_goes_on_with_its_turn(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1), agent="poolside", pid=77, source="log")
    begun = bench.only("agent")["turn_since"]
    bench.hook(
        "pre-tool-use", pane(1), agent="poolside", pid=77, source="log", payload={"status": "running make"}
    )
    bench.now += 10
    asked = {"notification_type": "permission", "message": "running make"}
    bench.hook("notification", pane(1), agent="poolside", pid=77, source="activity", payload=asked)
    row = bench.only("agent")
    assert (row["state"], row["inferred"], row["needs"][0]["detail"]) == ("needs_input", True, "running make")
    assert [note["kind"] for note in bench.tables.all("notification")] == ["needs_input"]
    bench.hook("approval-response", pane(1), agent="poolside", pid=77, source="log")
    row = bench.only("agent")
    assert (row["state"], row["inferred"], row["turn_since"]) == ("running", False, begun)


# Without a pane


def apart(bench: Bench, event: str, agent: str = "claude", pid: int | None = 77, **payload: Any) -> Any:
    """Report an event of an agent whose pane is not known; a second passes before."""
    bench.now += 1
    return bench.hook(event, agent=agent, payload=payload, pid=pid)


def test_one_process_without_a_pane_is_one_row_whatever_its_session_is_called(bench: Bench) -> None:
    apart(bench, "SessionStart", session_id="s1")
    apart(bench, "SessionEnd", session_id="s1", reason="clear")
    apart(bench, "SessionStart", session_id="s2", source="clear")
    assert apart(bench, "UserPromptSubmit", session_id="s2")["session"] == "claude-s1"
    assert apart(bench, "Stop")["state"] == "idle"
    assert bench.only("agent")["session_id"] == "s2"


def test_a_row_that_began_without_its_sessions_id_is_the_same(bench: Bench) -> None:
    apart(bench, "UserPromptSubmit")
    apart(bench, "Stop", session_id="s1")
    assert states(bench) == {"claude-77": "idle"}
    apart(bench, "UserPromptSubmit", pid=None, session_id="s1")  # now its process is not known
    assert states(bench) == {"claude-77": "running"}


def test_an_agent_inside_another_without_a_pane_has_a_row_of_its_own(bench: Bench) -> None:
    apart(bench, "UserPromptSubmit", session_id="outer")
    apart(bench, "UserPromptSubmit", pid=88, session_id="inner")
    apart(bench, "Stop", pid=88, session_id="inner")
    assert states(bench) == {"claude-outer": "running", "claude-inner": "idle"}


def test_where_not_even_a_process_is_known_the_ids_tell(bench: Bench) -> None:
    for name in ("s1", "s2"):
        apart(bench, "UserPromptSubmit", pid=None, session_id=name)
    apart(bench, "Stop", pid=None, session_id="s1")
    assert states(bench) == {"claude-s1": "idle", "claude-s2": "running"}


def test_sub_agents_that_are_sessions_are_joined_without_a_pane(bench: Bench) -> None:
    def hear(event: str, session_id: str, pid: int | None, **properties: Any) -> None:
        apart(bench, event, "opencode", pid, properties={"sessionID": session_id, **properties})

    for pid in (77, None):
        root, child, other = (f"{name}{pid}" for name in ("root", "child", "other"))
        hear("session.status", root, pid, status={"type": "busy"})
        hear("session.created", child, pid, info={"id": child, "parentID": root})
        hear("session.status", child, pid, status={"type": "busy"})
        hear("session.idle", child, pid)
        hear("permission.asked", child, pid, id="p1")
        assert states(bench)[f"opencode-{root}"] == "needs_input"
        hear("permission.replied", child, pid, requestID="p1")
        hear("session.status", other, pid, status={"type": "busy"})  # its process may have several
        hear("session.idle", other, pid)
        assert states(bench) == {f"opencode-{root}": "running", f"opencode-{other}": "idle"}
        for row in list(bench.tables.all("agent")):
            bench.tables.clear("agent", row["session"])


def test_a_hook_without_the_panes_variables_is_of_the_same_process(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", pid=77, session_id="s1")
    apart(bench, "Stop", session_id="s1")
    assert states(bench) == {"claude-1": "idle"}


def test_a_row_finds_its_pane_later(bench: Bench) -> None:
    apart(bench, "UserPromptSubmit", session_id="s1")
    claude(bench, "PreToolUse", pid=77, session_id="s1")
    row = bench.only("agent")
    assert (row["session"], row["surface_id"]) == ("claude-s1", bench.only("surface")["id"])
    assert bench.only("status")["workspace_id"] == bench.only("workspace")["id"] == row["workspace_id"]
    claude(bench, "Stop", pid=77, session_id="s1")
    assert states(bench) == {"claude-s1": "idle"}


# Resumed


def test_an_agent_that_tells_no_prompts_is_seen_again_when_it_is_resumed(bench: Bench) -> None:
    def vibe(event: str, pid: int | None) -> bool:
        bench.now += 1
        return bool(
            bench.hook(event, pane(1), agent="vibe", payload={"session_id": "s1"}, pid=pid)["changed"]
        )

    assert vibe("before_tool", 77)
    bench.now += 60
    said = bench.now
    sessions.process_ended(bench.tables, 77, 5, bench.now + 0.5)
    # what it said last is taken only now, and its process is gone
    late = {"payload": {"session_id": "s1"}, "at": said}
    bench.now += 1
    assert not bench.hook("post_agent_turn", pane(1), agent="vibe", **late)["changed"]
    assert vibe("before_tool", 78)
    assert states(bench) == {"vibe-1": "running"}
    sessions.process_ended(bench.tables, 78, 5, bench.now)
    assert vibe("post_agent_turn", None)
    assert states(bench) == {"vibe-1": "idle"}


def test_a_resumed_antigravity_is_seen_again(bench: Bench) -> None:
    status = {"session_id": "ag-1", "agent_state": "working"}
    for pid in (77, 78):
        bench.now += 1
        bench.hook("statusLine", pane(1), agent="antigravity", payload=status, pid=pid)
        assert states(bench) == {"antigravity-1": "running"}
        sessions.process_ended(bench.tables, pid, 5, bench.now)


def test_another_process_brings_back_what_had_ended_before_the_broker_heard_of_it(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit", pid=77, session_id="s1")
    sessions.process_ended(bench.tables, 77, 5, bench.now)
    claude(bench, "PostToolUse", pid=78, session_id="s1")
    assert states(bench) == {"claude-1": "running"}


def test_a_row_of_an_earlier_version_says_that_a_session_has_ended(bench: Bench) -> None:
    bench.tables.set("ended", {"session": "vibe-1", "session_id": "s1", "at": 1000.0})
    bench.hook("session-start", pane(1), agent="codex")
    for at, known in ((999.0, {}), (1000.5, {"vibe-1": "running"})):
        bench.now = 1001.0
        bench.hook("before_tool", pane(1), agent="vibe", payload={"session_id": "s1"}, at=at)
        assert {key: state for key, state in states(bench).items() if key == "vibe-1"} == known


# Nobody would tell of its end


def test_a_row_without_a_process_and_a_pane_goes_after_a_day(bench: Bench) -> None:
    bench.hook("prompt-submit", agent="claude")
    bench.hook("stop", agent="codex", payload={"session_id": "s1"})
    began = bench.now
    seen = []
    while (due := sessions.next_due(bench.tables)) is not None:
        bench.now = due
        sessions.expire(bench.tables, bench.now)
        seen.append((bench.now - began, states(bench)))
    assert seen[3] == (1800.0, {"claude-unattached": "unknown", "codex-s1": "idle"})
    assert seen[-1] == (86400.0, {})
    assert not any(bench.tables.rows[kind] for kind in ("agent", "status", "workspace", "ended"))
    bench.hook("post-tool-use", agent="codex", payload={"session_id": "s1"})  # it lives after all
    assert states(bench) == {"codex-s1": "running"}


def test_what_something_tells_the_end_of_stays(bench: Bench) -> None:
    apart(bench, "Stop", pid=77, session_id="s1")
    claude(bench, "Stop", session_id="s2")
    bench.hook("stop", agent="codebuff", reporter_pid=78, source="log")
    sessions.expire(bench.tables, bench.now + 1e6)
    assert len(states(bench)) == 3
    assert sessions.next_due(bench.tables) is None


# Seen by the broker


def test_a_need_that_is_seen_to_be_over_counts_as_read(bench: Bench) -> None:
    claude(bench, "UserPromptSubmit")
    claude(bench, "PermissionRequest", tool_name="Bash")
    bench.now += 1
    assert sessions.look(bench.tables, "claude-1", bench.now, {"interrupted": True})
    assert notifications(bench, read=False) == []
    status = bench.tables.get("status", 1, "claude-1")
    assert status is not None
    assert (status["state"], status["value"], status["inferred"]) == ("idle", "Idle", True)
    assert not sessions.look(bench.tables, "claude-1", bench.now, {"interrupted": True})
    assert not sessions.look(bench.tables, "nobody", bench.now, {"interrupted": True})
    [row] = bench.call("agent.explain", session="claude-1")["agents"]
    assert row["explanation"]["rule"] == "its transcript says that it was interrupted"
    assert (row["explanation"]["source"], row["explanation"]["inferred"]) == ("log", True)


def test_a_whole_turn_is_told_of_once_at_each_transition_and_read_by_looking_at_it(bench: Bench) -> None:
    bash: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make test"}}
    may: dict[str, Any] = {"notification_type": "permission_prompt", "message": "may I?"}
    claude(bench, "UserPromptSubmit", session_id="s1")
    for number in "12":
        claude(bench, "PreToolUse", session_id="s1", tool_use_id=number, **bash)
        claude(bench, "PermissionRequest", session_id="s1", **bash)
        claude(bench, "Notification", session_id="s1", **may)
        claude(bench, "PostToolUse", session_id="s1", tool_use_id=number, **bash)
        claude(bench, "Notification", session_id="s1", **may)  # late
    bench.hook("approval-request", pane(2), agent="codex")
    claude(bench, "Stop", session_id="s1", last_assistant_message="All done.")
    claude(bench, "Notification", session_id="s1", notification_type="idle_prompt", message="waiting")
    assert notifications(bench) == [
        *[("Claude Code needs your input", "Running make test")] * 2,
        ("Codex needs your input", ""),
        ("Claude Code has finished", "All done."),
    ]
    mark_seen(bench.tables, surface_id=1)  # what surface.focus does
    assert notifications(bench, read=False) == [("Codex needs your input", "")]
    claude(bench, "UserPromptSubmit", session_id="s1")
    claude(bench, "Stop", session_id="s1", last_assistant_message="Again.")
    assert notifications(bench, read=False)[1:] == [("Claude Code has finished", "Again.")]
