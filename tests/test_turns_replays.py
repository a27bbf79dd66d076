"""Codebuff's log: recorded sequences replayed, and every sample.

A replay is a file of log lines; between them `{"saved": <run-state.json>, "at": <its modification time>}` is
a save that was looked at, and `{"expect": {…}}` what must be so now. since_line: the state began with the log
line that many lines back.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.turns import FORMATS, Codebuff, Lines, Turn, outcome, pid_of

DATA = Path(__file__).parent / "data" / "turns"
REPLAYS = sorted((DATA / "replays").glob("*.jsonl"))
SAMPLES = sorted([*(DATA / "codebuff").iterdir(), *(DATA / "freebuff").iterdir()])


def seconds(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["timestamp"]).timestamp()


def seen(turns: Codebuff, times: list[float], wanted: dict[str, Any]) -> dict[str, Any]:
    """What is so now, under the names that `wanted` has."""
    turn = turns.turn
    facts = {
        **turn._asdict(),
        "known": turns.known,
        "pid": turns.pid,
        "subagents": len(turn.subagents),
        "ids": sorted(turn.subagents),
        "since_line": wanted.get("since_line"),
    }
    if "since_line" in wanted:
        assert turn.since == times[-wanted["since_line"]]
    return {member: facts[member] for member in wanted}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def log_of(path: Path) -> list[dict[str, Any]]:
    return [row for row in rows(path) if "msg" in row]


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_replay(path: Path) -> None:
    turns = Codebuff()
    lines = Lines(from_start=True)
    lines.offset(1, 0)
    times: list[float] = []
    for number, row in enumerate(rows(path), 1):
        before = turns.turn
        if "expect" in row:
            assert seen(turns, times, row["expect"]) == row["expect"], f"{path.name}:{number}"
            continue
        if "about" in row:
            continue
        if "saved" in row:
            told = turns.saved(outcome(json.dumps(row["saved"]).encode()), row["at"])
        else:
            times.append(seconds(row))
            (line,) = lines.feed(json.dumps(row).encode() + b"\n")
            told = turns.read(line)
        assert (told is None) == (turns.turn == before), f"{path.name}:{number}"
        assert told in (None, turns.turn)
        if told and "msg" in row:
            assert told.at == times[-1]


def test_every_replay_expects_something() -> None:
    assert len(REPLAYS) > 20
    assert all(any("expect" in row for row in rows(path)) for path in REPLAYS)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_sample_is_known_for_what_it_is(path: Path) -> None:
    lines = Lines(from_start=True)
    found = lines.feed(json.dumps(json.loads(path.read_text())).encode() + b"\n")
    turns = FORMATS["codebuff"]()
    for line in found:
        turns.read(line)
    assert turns.known == ("-log-" in path.name)
    if "-log-" in path.name:
        assert turns.pid == pid_of(found[0]) in (48213, 48977)
    wanted = {"03": ("running", True), "04": ("running", True), "06": ("running", True)}
    assert (turns.turn.state, turns.turn.turn_open) == wanted.get(path.name[:2], ("idle", False))


@pytest.mark.parametrize("product", ["codebuff", "freebuff"])
def test_the_samples_in_their_order_are_a_turn(product: str) -> None:
    turns = Codebuff()
    told = {}
    for path in sorted((DATA / product).glob("*-log-*.json")):
        told[path.name[:2]] = turns.read(json.loads(path.read_text())) or turns.turn
    assert [told[n].state for n in ("02", "03", "11", "12", "16", "21")] == [
        "idle",
        *["running"] * 2,
        *["idle"] * 3,
    ]
    assert [len(told[n].subagents) for n in ("04", "05", "06", "07")] == [0, 1, 1, 0]
    assert [told[n].text for n in ("04", "05", "09", "10")] == ["", "file-picker", "editing test_cart.py", ""]
    assert told["12"].credits == 6
    assert told["03"].since == seconds(json.loads((DATA / product / "03-log-turn-start.json").read_text()))


EVENTS = st.sampled_from([line for path in REPLAYS for line in log_of(path)])


@given(st.lists(EVENTS, max_size=60))
def test_subagents_stay_within_what_began_whatever_the_order(lines: list[dict[str, Any]]) -> None:
    turns, begun = Codebuff(), 0
    for line in lines:
        begun += line["msg"].startswith(("Start agent", "Creating new agent block"))
        turns.read(line)
        assert len(turns.turn.subagents) <= begun
    turns.read({"msg": "[send-message] Sending message with sdk run config"})
    assert turns.turn.subagents == frozenset()
    assert turns.turn.state == "running"


@given(st.data())
def test_any_split_of_the_bytes_tells_the_same(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(REPLAYS))
    written = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in log_of(path)).encode()

    def told(pieces: list[bytes]) -> list[Turn | None]:
        lines, turns = Lines(from_start=True), Codebuff()
        return [turns.read(line) for piece in pieces for line in lines.feed(piece)]

    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=30)))
    pieces = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    assert told(pieces) == told([written])
