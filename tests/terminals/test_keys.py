from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.terminals.keys import Key, read_key


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("enter", "Enter"),
        ("Return", "Enter"),
        ("ctrl+c", "C-c"),
        ("C-c", "C-c"),
        ("^c", "C-c"),
        ("ctrl+C", "C-c"),
        ("control+alt+delete", "C-M-DC"),
        ("shift+tab", "BTab"),
        ("alt+b", "M-b"),
        ("M-b", "M-b"),
        ("ctrl+[", "C-["),
        ("page_up", "PPage"),
        ("PPage", "PPage"),
        ("f12", "F12"),
        ("shift+f5", "S-F5"),
        ("S-Up", "S-Up"),
        ("alt++", "M-+"),
        ("M--", "M--"),
        ("alt+;", "M-;"),
    ],
)
def test_both_ways_of_writing_a_key(text: str, name: str) -> None:
    assert read_key(text) == Key(name)


@pytest.mark.parametrize(
    ("text", "typed"), [("a", "a"), ("shift+a", "A"), ("+", "+"), ("-", "-"), ("é", "é")]
)
def test_a_plain_character_is_typed(text: str, typed: str) -> None:
    assert read_key(text) == Key(character=typed)


@pytest.mark.parametrize(
    "text", ["", "hello", "super+a", "ctrl+", "f13", "ctrl+1", "alt+é", "Ctrl+c+d", "\x1b"]
)
def test_what_is_no_key(text: str) -> None:
    with pytest.raises(ValueError, match=r"key|knows"):
        read_key(text)


@given(st.text(max_size=12))
def test_a_name_is_never_one_that_tmux_would_type_out(text: str) -> None:
    try:
        key = read_key(text)
    except ValueError:
        return
    if key.name:
        *_, base = key.name.split("-") if not key.name.endswith("-") else [key.name[:-2], "-"]
        assert base in ("-", "") or len(base) == 1 or base[0].isupper()
        assert key.name.isascii()
    else:
        assert len(key.character) == 1 or key.character.isupper()
