"""The outcome of a run, from the end of run-state.json."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.turns import TAIL_BYTES, Outcome, outcome

DATA = Path(__file__).parent / "data" / "turns"
FLYING = {"type": "error", "message": "The session ended before this response completed. Partial progress …"}
OUTPUTS: list[tuple[dict[str, Any], Outcome]] = [
    (FLYING, Outcome("in flight")),
    ({"type": "lastMessage", "value": [{"role": "assistant", "content": "done"}]}, Outcome("settled")),
    (
        {"type": "structuredOutput", "value": {"output": {"type": "error", "message": "no"}}},
        Outcome("settled"),
    ),
    (
        {"type": "allMessages", "value": [{"content": [{"type": "json", "output": {"type": "x"}}]}]},
        Outcome("settled"),
    ),
    ({"type": "lastMessage", "value": ['"output":{"type":"error","message":"no"}}']}, Outcome("settled")),
    ({"type": "error", "message": "Run cancelled by user"}, Outcome("cancelled")),
    ({"type": "error", "message": "out of credits", "statusCode": 402}, Outcome("failed", "out of credits")),
    (
        {"type": "error", "message": "Agent run error: boom\n\n at x.ts:1"},
        Outcome("failed", "Agent run error: boom"),
    ),
    ({"type": "error", "message": "a\x1b[2Jb" + "é" * 999}, Outcome("failed", "a␛[2Jb" + "é" * 249 + "…")),
    ({"type": "error", "statusCode": 429}, Outcome("failed", "status 429")),
    ({"type": "error", "message": 5}, Outcome("failed", "the run failed")),
    ({"message": "of no type"}, Outcome("unknown")),
    ({"type": 3}, Outcome("unknown")),
]


def state(output: Any, size: int = 3) -> dict[str, Any]:
    """A run state whose messages have outputs of their own."""
    message = {
        "role": "tool",
        "content": [{"type": "json", "value": {"output": {"type": "error", "message": "inner"}}}],
    }
    text = {"role": "user", "content": 'say "output": {"type": "lastMessage"}}\n'}
    return {
        "sessionState": {"output": FLYING, "mainAgentState": {"messageHistory": [message, text] * size}},
        "output": output,
    }


@pytest.mark.parametrize(
    "layout", [{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}], ids=str
)
@pytest.mark.parametrize(("output", "wanted"), OUTPUTS)
def test_the_last_output_tells(output: dict[str, Any], wanted: Outcome, layout: dict[str, Any]) -> None:
    written = json.dumps(state(output), **layout).encode()
    assert outcome(written) == wanted
    assert outcome(written + b"\n") == wanted


@pytest.mark.parametrize("path", sorted([*DATA.glob("*/33-run-state-*.json")]), ids=lambda path: path.stem)
def test_the_samples_are_what_their_names_say(path: Path) -> None:
    kinds = {"cancelled": "cancelled", "error-402": "failed", "in-flight": "in flight", "turn-end": "settled"}
    assert outcome(path.read_bytes()).kind == kinds[path.stem.removeprefix("33-run-state-")]


@pytest.mark.parametrize(("output", "wanted"), OUTPUTS)
def test_the_front_may_be_cut_anywhere_before_the_output(output: dict[str, Any], wanted: Outcome) -> None:
    written = json.dumps(state(output), ensure_ascii=False).encode()
    start = written.rindex(b'"output": ' + json.dumps(output, ensure_ascii=False).encode())
    for cut in range(start + 1):
        assert outcome(written[cut:]) == wanted


def test_a_cut_within_the_output_is_unknown_and_not_an_inner_one() -> None:
    for output, _ in OUTPUTS:
        written = json.dumps(state(output)).encode()
        start = written.rindex(b'"output": ' + json.dumps(output).encode())
        for cut in range(start + 1, len(written) + 1):
            assert outcome(written[cut:]) == Outcome("unknown"), written[cut:]


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_an_unfinished_file_is_unknown(start: int, end: int) -> None:
    written = json.dumps(state({"type": "lastMessage", "value": []}), indent=2).encode()
    assert outcome(written[start % len(written) : end % len(written)]) == Outcome("unknown")


@given(st.binary(max_size=200) | st.text(alphabet='"output:{}[] ,1\\', max_size=200).map(str.encode))
def test_no_bytes_are_too_odd(tail: bytes) -> None:
    assert isinstance(outcome(tail), Outcome)


@pytest.mark.parametrize("output", [None, [], 7, "x", True])
def test_an_output_that_is_no_object_is_unknown(output: Any) -> None:
    assert outcome(json.dumps(state(output)).encode()) == Outcome("unknown")


def test_deep_nesting_is_unknown() -> None:
    assert outcome(b'{"output":' + b'{"output":' * 50_000) == Outcome("unknown")
    assert outcome(b'{"output":' + b"[" * 50_000 + b"]" * 50_000 + b"}") == Outcome("unknown")


def test_a_huge_state_is_read_from_its_tail_and_fast() -> None:
    written = json.dumps(state({"type": "error", "message": "boom"}, 20_000), indent=2).encode()
    assert len(written) > 4 << 20
    began = time.process_time()
    assert outcome(written[-TAIL_BYTES:]) == outcome(written) == Outcome("failed", "boom")
    assert time.process_time() - began < 2
