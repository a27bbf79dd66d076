"""Keys, mouse reports and pastes, in whatever pieces they come."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.sidebar.typed import Typed
from seance_tools.view import Event

NAMES = {
    "\x1b": "escape",
    "\x1b[A": "up",
    "\x1bOB": "down",
    "\x1b[5~": "page-up",
    "\r": "enter",
    "\x1b[[A": "f1",
}
PASTE = "\x1b[200~qé\r\x1b[A\x1b[201~"
PARTS = [
    *NAMES,
    *("j", "é", "◆", "\x1b[<0;5;7M", "\x1b[<65;100;30M", "\x1b[<0;5;7m", "\x1b[1;5X", "\x1bx", "\x1bOB"),
    *("\x1b\x1b[A", "\x1b[12\x1b[A", "\x1bO\x1b[A", "\x1b[[\x1b[A", "\x1b[é", "\x1b[" + "1" * 90, PASTE),
]


def name(token: str) -> str:
    return NAMES.get(token) or (token if len(token) == 1 and token.isprintable() else "")


def typed(*pieces: bytes) -> list[Event]:
    one = Typed(name)
    return [event for piece in pieces for event in one.feed(piece)] + one.settle()


@given(st.lists(st.sampled_from(PARTS), max_size=8), st.lists(st.integers(0, 80), max_size=12))
def test_any_split_gives_the_same_events(parts: list[str], cuts: list[int]) -> None:
    data = "".join(parts).encode()
    ends = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in pairwise(ends)]
    assert typed(*pieces) == typed(data) == typed(*(data[n : n + 1] for n in range(len(data))))


@given(st.binary(max_size=60))
def test_noise_is_taken_apart_whatever_it_is(data: bytes) -> None:
    assert typed(*(data[n : n + 1] for n in range(len(data)))) == typed(data)


@pytest.mark.parametrize(
    ("data", "events"),
    [
        ("\x1b[A", [Event("up")]),
        ("j\x1bOBk", [Event("j"), Event("down"), Event("k")]),
        ("\x1b[<0;5;7M\x1b[<0;5;7mj", [Event("click", 6), Event("j")]),
        ("\x1b[<68;5;7M", [Event("wheel-up", 6)]),
        ("\x1b\x1b[A", [Event("escape"), Event("up")]),
        ("\x1b[12\x1b[Ajj", [Event("up"), Event("j"), Event("j")]),
        ("\x1bqj", [Event("j")]),
        (
            PASTE + "j",
            [Event("q", pasted=True), Event("é", pasted=True), Event("j")],
        ),
    ],
)
def test_events(data: str, events: list[Event]) -> None:
    assert typed(data.encode()) == events


def test_a_lone_escape_is_the_key_once_nothing_follows() -> None:
    one = Typed(name)
    assert one.feed(b"\x1b") == []
    assert one.patience() == 0.05
    assert one.settle() == [Event("escape")]
    assert one.patience() is None
    assert one.feed(b"[A") == [Event("["), Event("A")]


def test_half_a_sequence_is_waited_for_longer_and_then_forgotten() -> None:
    one = Typed(name)
    assert one.feed(b"\x1b[<0;5") == []
    assert one.patience() == 1.0
    assert one.settle() == []
    assert one.feed(b"j") == [Event("j")]


def test_a_paste_without_an_end_ends_in_the_end() -> None:
    one = Typed(name)
    assert one.feed(b"\x1b[200~q") == [Event("q", pasted=True)]
    assert one.patience() == 5.0
    assert one.settle() == []
    assert one.feed(b"j") == [Event("j")]
