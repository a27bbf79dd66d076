"""Untrusted text: cleaning, measuring and cutting it.

Text that comes from programs reaches a terminal only through `clean`; nothing else measures or cuts by
display width. Rules from the reliability document: controls become visible, bidi controls, surrogates,
private use and unassigned characters become U+FFFD, other format characters go, at most two combining
marks a base character.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from wcwidth import wcwidth

REPLACEMENT = "\ufffd"
ELLIPSIS = "…"
MAX_COMBINING = 2
MAX_CHARACTERS = 4096
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SPACES = frozenset("\t\n\r\v\f\x85\u2028\u2029")


@lru_cache(maxsize=4096)
def _clean_character(character: str) -> str:
    """Return what stands for one character: itself, a visible picture, a space, U+FFFD or nothing."""
    if character in _SPACES:
        return " "
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code < 0xA0 and code > 0x7F:
        return REPLACEMENT
    category = unicodedata.category(character)
    if character in _BIDI or category in ("Cs", "Co", "Cn"):
        return REPLACEMENT
    if category == "Cf":
        return ""
    return " " if category in ("Zs", "Zl", "Zp") else character


def clean(value: str, limit: int = MAX_CHARACTERS) -> str:
    """Return `value` on one line, with nothing in it that a terminal would act on.

    Text over `limit` characters is cut at a grapheme's edge and ends in `…`.
    """
    if len(value) <= limit and value.isascii() and value.isprintable():
        return value
    marked = len(value) > limit
    pieces: list[str] = []
    marks = 0
    for character in value[: limit + 1]:
        kept = _clean_character(character)
        if not kept:
            continue
        if unicodedata.category(kept)[0] == "M":
            marks += 1
            if marks > MAX_COMBINING or not pieces:
                continue
        else:
            marks = 0
        pieces.append(kept)
    if marked or len(pieces) > limit:
        pieces = pieces[: limit - 1]
        while pieces and unicodedata.category(pieces[-1])[0] == "M":
            pieces.pop()
        pieces.append(ELLIPSIS)
    return "".join(pieces)


@lru_cache(maxsize=8192)
def character_width(character: str) -> int:
    """Return the columns one cleaned character takes: 0, 1 or 2."""
    return max(wcwidth(character), 0)


def width(value: str) -> int:
    """Return the columns a cleaned text takes."""
    if value.isascii():
        return len(value)
    return sum(character_width(character) for character in value)


def cut(value: str, columns: int, ellipsis: str = ELLIPSIS) -> str:
    """Return the cleaned `value` cut to at most `columns`; a cut one ends in `ellipsis`.

    A wide character is never halved, so the result may be a column short: see `fit`.
    """
    if width(value) <= columns:
        return value
    room = columns - width(ellipsis)
    if room < 0:
        return ""
    taken = 0
    for index, character in enumerate(value):
        taken += character_width(character)
        if taken > room:
            return value[:index] + ellipsis
    return value


def fit(value: str, columns: int, ellipsis: str = ELLIPSIS) -> str:
    """Return the cleaned `value` cut or filled with spaces to exactly `columns`."""
    shown = cut(value, columns, ellipsis)
    return shown + " " * (columns - width(shown))


def cut_path(path: str, columns: int, ellipsis: str = ELLIPSIS) -> str:
    """Return a cleaned path cut from its left, keeping the head of its last part (`…/shop-api`)."""
    if width(path) <= columns:
        return path
    last = path.rstrip("/").rpartition("/")[2]
    return cut(f"{ellipsis}/{last}", columns, ellipsis)
