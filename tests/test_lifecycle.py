from __future__ import annotations

from typing import Any

import pytest

from seance_tools import lifecycle
from seance_tools.lifecycle import TRANSITIONS, advance, describe_tool, read


def record(**members: Any) -> dict[str, Any]:
    return {
        "state": "unknown",
        "text": "Unknown",
        "since": 0.0,
        "at": 0.0,
        "source": "hook",
        "inferred": False,
        "evidence": {},
        "subagent_count": 0,
        "background_count": 0,
        "session_id": "",
        "cwd": "",
        "display_name": "X",
        **members,
    }


@pytest.mark.parametrize("event", sorted(TRANSITIONS))
def test_every_event_has_its_state(event: str) -> None:
    after = advance(record(), read(event, {}, 5.0))
    wanted = TRANSITIONS[event]
    assert after["state"] == (wanted or "unknown")
    if wanted:
        assert after["text"] == lifecycle.TEXTS[wanted]
        assert after["evidence"]["event"] == event
        assert after["since"] == 5.0


def test_since_is_when_the_state_began() -> None:
    first = advance(record(), read("prompt-submit", {}, 5.0))
    second = advance(first, read("post-tool-use", {}, 9.0))
    assert (second["since"], second["at"]) == (5.0, 9.0)


def test_an_older_report_changes_nothing() -> None:
    last = advance(record(), read("stop", {}, 9.0))
    assert advance(last, read("prompt-submit", {}, 8.0)) is last


def test_an_unknown_event_changes_nothing() -> None:
    last = record()
    assert advance(last, read("fan-started", {}, 8.0)) is last


def test_stop_with_background_tasks_is_background() -> None:
    tasks = [{"id": "1", "status": "running"}, {"id": "2", "status": "completed"}]
    after = advance(record(), read("stop", {"background_tasks": tasks}, 5.0))
    assert (after["state"], after["background_count"]) == ("background", 1)
    after = advance(after, read("stop", {"background_tasks": []}, 6.0))
    assert (after["state"], after["background_count"]) == ("idle", 0)


@pytest.mark.parametrize("kind", sorted(lifecycle.NEEDS_INPUT_KINDS))
def test_notifications_that_need_the_user(kind: str) -> None:
    assert advance(record(), read("notification", {"notification_type": kind}, 5.0))["state"] == "needs_input"


@pytest.mark.parametrize(
    "kind", ["idle_prompt", "auth_success", "agent_completed", "elicitation_complete", "", "new"]
)
def test_notifications_that_do_not(kind: str) -> None:
    idle = advance(record(), read("stop", {}, 1.0))
    assert advance(idle, read("notification", {"notification_type": kind}, 5.0))["state"] == "idle"


def test_the_payloads_status_and_name_win() -> None:
    after = advance(record(), read("prompt-submit", {"status": "Thinking", "display_name": "My Agent"}, 1.0))
    assert (after["text"], after["display_name"]) == ("Thinking", "My Agent")


def test_an_error_gives_its_reason() -> None:
    after = advance(record(), read("error", {"message": "rate limit"}, 1.0))
    assert (after["state"], after["text"]) == ("error", "rate limit")


@pytest.mark.parametrize(
    "payload",
    [
        {"session_id": "s1"},
        {"sessionId": "s1"},
        {"notification": {"session_id": "s1"}},
        {"data": {"session_id": "s1"}},
        {"session": {"id": "s1"}},
        {"context": {"session_id": "s1"}},
        {"sessionID": "s1"},
    ],
)
def test_session_ids_are_found_where_agents_put_them(payload: dict[str, Any]) -> None:
    assert read("stop", payload, 1.0).session_id == "s1"


@pytest.mark.parametrize("payload", [{"session_id": 5}, {"session_id": None}, {"session": "x"}, {"data": []}])
def test_odd_payloads_say_nothing(payload: dict[str, Any]) -> None:
    assert read("stop", payload, 1.0).session_id == ""


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("Read", {"file_path": "/src/cart.py"}, "Reading cart.py"),
        ("str_replace", {"path": "tests/test_cart.py"}, "Editing test_cart.py"),
        ("Bash", {"command": "make test"}, "Running make test"),
        ("run_terminal_command", {"command": "ls"}, "Running ls"),
        ("Grep", {"pattern": "x = 1"}, "Search: x = 1"),
        ("Bash", {}, "Using Bash"),
        ("mystery", {"a": 1}, "Using mystery"),
        ("Bash", {"command": "a\x1b[2J"}, "Running a␛[2J"),
        ("", None, ""),
    ],
)
def test_tools_are_described(name: str, arguments: Any, text: str) -> None:
    assert describe_tool(name, arguments) == text


def test_pre_tool_use_says_what_it_does() -> None:
    payload = {"tool_name": "Bash", "tool_input": {"command": "make test"}}
    after = advance(record(), read("pre-tool-use", payload, 1.0))
    assert (after["state"], after["text"]) == ("running", "Running make test")
    assert advance(after, read("post-tool-use", payload, 2.0))["text"] == "Running"


def test_subagents_are_a_number_of_theirs() -> None:
    after = advance(record(), read("subagent-update", {"subagent_count": 3}, 1.0))
    assert (after["subagent_count"], after["state"]) == (3, "unknown")
    assert advance(after, read("subagent-update", {"subagents": ["a"]}, 2.0))["subagent_count"] == 1
    assert advance(after, read("subagent-update", {"subagents": -1}, 2.0))["subagent_count"] == 3
