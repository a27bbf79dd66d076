"""text: nothing in it acts on a terminal, and its width is what the terminal makes of it."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.text import ELLIPSIS, MAX_COMBINING, clean, cut, cut_path, fit, to_ascii, width, wrap
from tests.hostile import corpus

ANY = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(corpus())


def acts_on_a_terminal(text: str) -> set[str]:
    """The characters in `text` that are no letter, mark, number, sign or plain space."""
    return {
        character
        for character in text
        if character != " "
        and (unicodedata.category(character)[0] in "CZ" or character in "\u200e\u200f\u061c")
    }


@pytest.mark.parametrize("limit", [4096, 40])
def test_nothing_of_the_corpus_acts_on_a_terminal(limit: int) -> None:
    for text in corpus():
        cleaned = clean(text, limit)
        assert not acts_on_a_terminal(cleaned), repr(text)
        assert len(cleaned) <= limit
        cleaned.encode("utf-8")  # no surrogate is left


@given(ANY, st.integers(1, 80))
def test_cleaning_what_is_clean_changes_nothing(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    assert not acts_on_a_terminal(cleaned)
    assert clean(cleaned, limit) == cleaned


@given(st.text(st.characters(categories=["M", "Ll"]), max_size=40))
def test_a_base_keeps_at_most_two_marks(text: str) -> None:
    run = longest = 0
    for character in clean(text):
        run = run + 1 if unicodedata.category(character)[0] == "M" else 0
        longest = max(longest, run)
    assert longest <= MAX_COMBINING


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("a\tb\nc", "a b c"),
        ("\x1b[2J", "␛[2J"),
        ("a\x7fb\x9b", "a␡b\ufffd"),
        ("a\u202eb", "a\ufffdb"),
        ("a\u200bb\ufeff", "ab"),
        ("\u0301a\u0301", "a\u0301"),
        ("日本語 ❤\ufe0f", "日本語 ❤\ufe0f"),
        ("\udce9\ue000\uffff", "\ufffd\ufffd\ufffd"),
    ],
)
def test_what_becomes_of_a_text(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.parametrize(
    ("text", "limit", "cleaned"),
    [
        ("abcd", 4, "abcd"),
        ("abcdef", 4, "abc…"),
        ("abe\u0301d", 5, "abe\u0301d"),
        ("abe\u0301de", 5, "abe\u0301…"),
        ("abce\u0301f", 5, "abc…"),
        ("abc", 1, "…"),
    ],
)
def test_a_long_text_is_cut_where_no_base_loses_its_marks(text: str, limit: int, cleaned: str) -> None:
    assert clean(text, limit) == cleaned


def test_a_long_text_takes_no_longer_than_its_limit() -> None:
    start = time.perf_counter()
    assert len(clean("\x1b日" * 5_000_000, 4096)) == 4096
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("🇩🇪", 2),
        ("👍🏽", 2),
        ("❤\ufe0f", 2),
        ("각", 2),
        ("\u1100\u1161\u11a8", 2),
        ("कि", 2),
        ("", 0),
    ],
)
def test_width_is_that_of_whole_clusters(text: str, columns: int) -> None:
    assert width(text) == columns
    assert width(f"{text} {text}") == 2 * columns + 1


@given(ANY, st.integers(0, 60))
def test_fit_fills_exactly(text: str, columns: int) -> None:
    assert width(fit(clean(text), columns)) == columns


@given(ANY, st.integers(0, 60), st.sampled_from([ELLIPSIS, ".."]))
def test_cut_never_takes_more_and_says_that_it_cut(text: str, columns: int, ellipsis: str) -> None:
    text = clean(text)
    shown = cut(text, columns, ellipsis)
    assert width(shown) <= columns
    if shown != text:
        assert not shown or (shown.endswith(ellipsis) and text.startswith(shown.removesuffix(ellipsis)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [("日本語", "日…"), ("abcd日", "abc…"), ("ab🇩🇪c", "ab…"), ("abe\u0301de", "abe\u0301…")],
)
def test_a_cluster_is_never_cut_in_half(text: str, shown: str) -> None:
    assert cut(text, 4) == shown


@given(ANY, st.integers(1, 40), st.integers(1, 4))
def test_wrap_keeps_to_its_columns_and_lines(text: str, columns: int, lines: int) -> None:
    rows = wrap(clean(text), columns, lines)
    assert len(rows) <= lines
    assert all(width(row) <= columns for row in rows)


def test_wrap_breaks_at_spaces_and_cuts_the_last_line() -> None:
    assert wrap("Approve: rm -rf build?", 18, 2) == ["Approve: rm -rf", "build?"]
    assert wrap("one two three four five", 9, 2) == ["one two", "three fo…"]
    assert wrap("a" * 10, 4, 3) == ["aaaa", "aaaa", "aa"]
    assert wrap("日本語日本語", 5, 9) == ["日本", "語日", "本語"]
    assert wrap("", 5, 2) == []


def test_a_path_keeps_the_head_of_its_last_part() -> None:
    assert cut_path("~/work/shop-api", 15) == "~/work/shop-api"
    assert cut_path("~/work/shop-api", 12) == "…/shop-api"
    assert cut_path("~/work/shop-api", 8) == "…/shop-…"
    assert cut_path("~/work/日本語/", 8) == "…/日本語"


@given(ANY)
def test_ascii_is_ascii(text: str) -> None:
    assert to_ascii(clean(text)).isascii()


def test_ascii_drops_accents_and_marks_the_rest() -> None:
    assert to_ascii("Séance café") == "Seance cafe"
    assert to_ascii("日本 ▶") == "?? ?"


@pytest.mark.parametrize("code", [*range(0x1F3FB, 0x1F400), 0x115F, 0x1160, 0x3164, 0xFFA0])
def test_characters_whose_width_terminals_do_not_agree_on_go(code: int) -> None:
    assert clean(f"a{chr(code)}b\U0001f44d{chr(code)}") == "ab\U0001f44d"


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (13, "/srv/invoices"),
        (12, "…/invoices"),
        (9, "…/invoic…"),
        (4, "…/i…"),
        (3, "in…"),
        (2, "i…"),
        (1, "…"),
    ],
)
def test_a_cut_path_keeps_the_head_of_its_last_part(columns: int, shown: str) -> None:
    assert cut_path("/srv/invoices", columns) == shown
