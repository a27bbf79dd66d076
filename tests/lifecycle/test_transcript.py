"""What agents' own logs say, line by line."""

from __future__ import annotations

from typing import Any

import pytest

from seance_tools.agents import AGENTS, agent_named
from seance_tools.lifecycle import Transcript, read

STAMP = "2026-09-14T10:00:00.500Z"
AT = 1789380000.5


def claude(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    """An entry of a transcript of Claude Code."""
    role = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "isSidechain": False, "timestamp": STAMP, "message": role, **more}


def result(call: str, content: str = "12 passed") -> dict[str, Any]:
    return claude("user", [{"type": "tool_result", "tool_use_id": call, "content": content}])


def said(message: str, *content: dict[str, Any]) -> dict[str, Any]:
    return claude("assistant", list(content) or [{"type": "text", "text": "x"}], message={"id": message})


def signs(agent: str, *entries: dict[str, Any]) -> list[dict[str, Any]]:
    return Transcript(agent_named(agent).transcript).read(entries)


ESC = "[Request interrupted by user]"
ESC_TOOL = "[Request interrupted by user for tool use]"
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected"


@pytest.mark.parametrize("text", [ESC, ESC_TOOL])
def test_claude_codes_interruption(text: str) -> None:
    wanted = [{"at": AT, "interrupted": True}]
    assert signs("claude", claude("user", text)) == wanted
    assert signs("claude", claude("user", [{"type": "text", "text": text}])) == wanted


def test_codexs_interruption() -> None:
    entry = {
        "timestamp": STAMP,
        "type": "event_msg",
        "payload": {"type": "turn_aborted", "reason": "interrupted"},
    }
    output = {
        "timestamp": STAMP,
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "call_1", "output": "x"},
    }
    assert signs("codex", entry, output) == [
        {"at": AT, "interrupted": True},
        {"at": AT, "answered": "call_1"},
    ]


def test_a_calls_result_is_an_answer_whatever_it_is() -> None:
    assert signs("claude", result("t1"), result("t2", REJECTED)) == [
        {"at": AT, "answered": "t1"},
        {"at": AT, "answered": "t2"},
    ]
    assert signs("claude", result("t1", REJECTED) | {"isSidechain": True}) == [{"at": AT, "answered": "t1"}]


def test_another_message_of_the_model_is_another_round() -> None:
    entries = [said("m1"), said("m1", {"type": "tool_use"}), said("m2"), said("m2")]
    assert signs("claude", *entries) == [{"at": AT, "asked_again": True}]


@pytest.mark.parametrize(
    "entry",
    [
        claude("user", f"what does {ESC} mean?"),
        claude("assistant", ESC),
        claude("user", ESC, isSidechain=True),
        said("m1") | {"isSidechain": True},
        claude("user", [{"type": "text", "text": ESC}], isSidechain=True),
        claude("user", [{"type": "tool_result", "tool_use_id": 5}]),
        claude("user", ESC, timestamp=None),
        claude("user", ESC, timestamp="soon"),
        claude("user", ESC, timestamp="2026-09-14T10:00:00"),  # of which zone?
        claude("user", ESC, timestamp=1789380000),
        claude("user", None),
        {"type": "user", "timestamp": STAMP},
        {"type": "user", "timestamp": STAMP, "message": "x"},
        {"timestamp": STAMP},
        {},
    ],
)
def test_what_says_nothing(entry: dict[str, Any]) -> None:
    assert signs("claude", entry) == []


def test_only_agents_whose_logs_are_understood_have_one() -> None:
    for agent in AGENTS:
        report = read(agent, "prompt-submit", {"transcript_path": "/t.jsonl"}, 1.0)
        assert report is not None
        assert report.transcript == ("/t.jsonl" if agent.transcript else "")
        assert set(agent.transcript) <= {"skip", "interrupted", "answered", "asked_again"}
