"""Poolside's trajectory: the samples as a session, and what a turn is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.turns import FORMATS, Lines, Outcome, Poolside, Turn, pid_of

DATA = Path(__file__).parent / "data" / "turns" / "poolside"
SAMPLES = sorted(DATA.iterdir())
BEGAN = 1789380000.0  # the samples' time


def line(kind: str, step: str = "st_1", second: int = 0, **body: Any) -> dict[str, Any]:
    stamp = f"2026-09-14T10:00:{second:02d}.000Z"
    return {"id": "e", "step_id": step, "timestamp": stamp, "type": kind, kind.replace(".", "_"): body}


def after(*lines: dict[str, Any]) -> Poolside:
    turns = Poolside()
    for one in (line("session.input", prompt="x"), line("tool_call.inference.start"), *lines):
        turns.read(one)
    return turns


TOOL = line("tool_call.parsed", id="t1", name="shell", args={"command": "pytest -q"})


def test_the_samples_in_their_order_are_a_session() -> None:
    turns = FORMATS["poolside"]()
    told: dict[str, Turn] = {}
    for path in SAMPLES:
        told[path.name[:2]] = turns.read(json.loads(path.read_text())) or turns.turn
        assert turns.known
    assert [told[n].state for n in ("01", "02", "10", "12", "13", "14", "15", "20")] == [
        "idle",
        "running",
        "running",
        "running",
        "running",
        "error",
        "ended",
        "ended",
    ]
    assert [told[n].text for n in ("08", "09", "10", "11", "12")] == ["", *["running pytest -q"] * 3, ""]
    assert [told[n].maybe_needs_input for n in ("08", "09", "10", "11", "12")] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert [told[n].turn_open for n in ("01", "02", "13", "14", "15")] == [False, True, True, False, False]
    assert told["14"].reason == "model unavailable"
    assert told["15"].reason == ""
    assert told["02"].since == BEGAN
    assert told["02"].rule == 'log line "session.input"'
    assert turns.pid is None
    assert pid_of(json.loads(SAMPLES[0].read_text())) is None


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_alone(path: Path) -> None:
    lines, turns = Lines(from_start=True), Poolside()
    (found,) = lines.feed(json.dumps(json.loads(path.read_text())).encode() + b"\n")
    turns.read(found)
    assert turns.known == (path.name[:2] != "20")
    running = path.name[:2] in ("02", "03", "09")
    assert turns.turn.turn_open == running == (turns.turn.state == "running")


def test_a_step_without_a_tool_ends_the_turn() -> None:
    turns = after(line("assistant_message.end", assistant_message="done"))
    assert turns.turn.state == "running"
    told = turns.read(line("tool_call.inference.end", second=5))
    assert told
    assert (told.state, told.turn_open, told.since) == ("idle", False, BEGAN + 5)


def test_a_step_with_a_tool_does_not_even_if_the_tool_was_faster() -> None:
    turns = after(TOOL, line("tool_call.result", id="t1"), line("tool_call.inference.end"))
    assert (turns.turn.state, turns.turn.text, turns.turn.maybe_needs_input) == ("running", "", False)
    turns.read(line("tool_call.inference.start", "st_2"))
    turns.read(line("tool_call.inference.end", "st_2"))
    assert turns.turn.state == "idle"


def test_a_step_ends_no_turn_while_a_tool_is_open() -> None:
    turns = after(TOOL, line("tool_call.inference.start", "st_2"), line("tool_call.inference.end", "st_2"))
    assert (turns.turn.state, turns.turn.maybe_needs_input) == ("running", True)
    turns.read(line("tool_call.approval", id="t1", approved=True))
    turns.read(line("tool_call.inference.end", "st_2"))
    assert (turns.turn.state, turns.turn.maybe_needs_input) == ("running", False)


def test_the_tool_that_may_wait_is_the_one_shown() -> None:
    turns = after(TOOL, line("tool_call.parsed", id="t2", name="edit", args={"path": "src/cart.py"}))
    assert turns.turn.text == "editing cart.py"
    turns.read(line("tool_call.approval", id="t2"))
    assert (turns.turn.text, turns.turn.maybe_needs_input) == ("running pytest -q", True)
    turns.read(line("tool_call.result", id="t1", execution_error_kind="approval_denied", is_error=True))
    assert (turns.turn.text, turns.turn.maybe_needs_input) == ("editing cart.py", False)
    turns.read(line("tool_call.result", id="t2"))
    assert turns.turn.text == ""


def test_steps_without_an_id_are_told_by_their_start() -> None:
    said = [TOOL, line("tool_call.result", id="t1"), line("tool_call.inference.end")]
    again = [line("tool_call.inference.start"), line("tool_call.inference.end")]
    turns = after(*[{**one, "step_id": None} for one in said])
    assert turns.turn.state == "running"
    for one in again:
        turns.read({**one, "step_id": None})
    assert turns.turn.state == "idle"


def test_more_tools_than_can_be_are_not_kept() -> None:
    turns = after(*[{**TOOL, "tool_call_parsed": {"id": str(n), "name": "x"}} for n in range(3000)])
    for n in range(1024):
        turns.read(line("tool_call.approval", id=str(n)))
    assert not turns.turn.maybe_needs_input


def test_a_new_input_begins_anew() -> None:
    turns = after(TOOL, line("session.input", second=7))
    assert (turns.turn.text, turns.turn.maybe_needs_input, turns.turn.since) == ("", False, BEGAN + 7)
    turns.read(line("tool_call.result", id="t1"))
    assert turns.turn.state == "running"


def test_an_error_is_left_by_the_next_try() -> None:
    turns = after(line("session.error", error={"message": "overloaded\n…"}))
    assert (turns.turn.state, turns.turn.reason) == ("error", "overloaded")
    turns.read(line("tool_call.result", id="t1"))
    assert turns.turn.state == "error"
    turns.read(line("tool_call.inference.start", "st_2"))
    assert (turns.turn.state, turns.turn.reason) == ("running", "")


def test_a_resumed_session_is_idle_until_its_input() -> None:
    turns = after(TOOL, line("session.exit", reason="user_exit"))
    assert (turns.turn.state, turns.turn.maybe_needs_input) == ("ended", False)
    turns.read(line("session.start"))
    assert turns.turn.state == "idle"
    turns.read(line("session.input"))
    assert turns.turn.state == "running"


def test_a_save_says_nothing_here() -> None:
    turns = after()
    assert turns.saved(Outcome("settled"), 2e9) is None
    assert turns.turn.state == "running"


def test_what_goes_out_is_clean_and_short() -> None:
    turns = after(line("tool_call.parsed", id="t", name="\x1b[2J" * 999, args={}))
    assert "\x1b" not in turns.turn.text
    assert 0 < len(turns.turn.text) <= 256
    turns.read(line("session.error", error="\x07" * 999))
    assert set(turns.turn.reason) == {"␇", "…"}
    assert len(turns.turn.reason) == 256


WORDS = st.text("ab 1\n\x1bé\ud800", max_size=5)
JSON = st.none() | st.booleans() | st.floats() | WORDS | st.lists(WORDS, max_size=2)
BODY = (
    st.dictionaries(st.sampled_from(["id", "name", "args", "error"]), JSON | st.dictionaries(WORDS, JSON))
    | JSON
)
KINDS = [json.loads(path.read_text()).get("type", "?") for path in SAMPLES]


@given(st.lists(st.tuples(st.sampled_from(KINDS), BODY, JSON, JSON), max_size=25))
def test_no_line_is_too_odd(said: list[tuple[str, Any, Any, Any]]) -> None:
    turns = Poolside()
    for kind, body, step, stamp in said:
        turns.read({"type": kind, kind.replace(".", "_"): body, "step_id": step, "timestamp": stamp})
        turn = turns.turn
        assert turn.turn_open == (turn.state == "running")
        assert turn.turn_open or not (turn.text or turn.maybe_needs_input)
        assert not turn.maybe_needs_input or turn.text
        assert bool(turn.reason) == (turn.state == "error")
    turns.read({"type": ["session.input"]})
