"""Untrusted text: cleaning, measuring and cutting it.

Text that comes from programs reaches a terminal only through `clean`; nothing else measures or cuts by
display width. Rules from the reliability document: controls become visible, bidi controls, surrogates,
private use and unassigned characters become U+FFFD, other format characters go, and so do those that
terminals do not agree on; at most two combining marks a base character. What is measured and cut is the
grapheme cluster, never a part of one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

REPLACEMENT = "\ufffd"
ELLIPSIS = "…"
MAX_COMBINING = 2
MAX_CHARACTERS = 4096
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Skin tones and the Hangul fillers: terminals do not agree on the columns that they take.
_UNSURE = frozenset("\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff\u115f\u1160\u3164\uffa0")
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
    category = unicodedata.category(character)
    if character in _BIDI or category in ("Cc", "Cs", "Co", "Cn"):
        return REPLACEMENT
    if category == "Cf" or character in _UNSURE:
        return ""
    return " " if category in ("Zs", "Zl", "Zp") else character


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def clean(value: str, limit: int = MAX_CHARACTERS) -> str:
    """Return `value` on one line, with nothing in it that a terminal would act on.

    Text over `limit` characters (at least 1) is cut at a base character and ends in `…`. Cleaning what is
    clean changes nothing.
    """
    if len(value) <= limit and value.isascii() and value.isprintable():
        return value
    pieces: list[str] = []
    marks = 0
    for character in value[: limit + 1]:
        kept = _clean_character(character)
        if not kept:
            continue
        if _is_mark(kept):
            marks += 1
            if marks > MAX_COMBINING or not pieces:
                continue
        else:
            marks = 0
        pieces.append(kept)
    if len(value) > limit:
        end = min(limit - 1, len(pieces))
        while 0 < end < len(pieces) and _is_mark(pieces[end]):  # a base does not lose its marks: it goes too
            end -= 1
        pieces[end:] = ELLIPSIS
    return "".join(pieces)


def to_ascii(value: str) -> str:
    """Return a cleaned text in ASCII: accents go, what has no counterpart becomes `?`."""
    if value.isascii():
        return value
    letters = unicodedata.normalize("NFKD", value)
    return "".join(letter if letter.isascii() else "?" for letter in letters if not _is_mark(letter))


@lru_cache(maxsize=8192)
def _cluster_width(cluster: str) -> int:
    from wcwidth import wcswidth  # 30 ms to import, and most programs clean text but never measure it

    return max(wcswidth(cluster), 0)


def _clusters(value: str) -> Iterator[str]:
    from wcwidth import iter_graphemes

    return iter_graphemes(value)


def width(value: str) -> int:
    """Return the columns a cleaned text takes."""
    if value.isascii():
        return len(value)
    return sum(map(_cluster_width, _clusters(value)))


def _head(value: str, columns: int) -> str:
    """Return the longest beginning of whole clusters that takes at most `columns`."""
    if columns <= 0:
        return ""
    if value.isascii():
        return value[:columns]
    taken = end = 0
    for cluster in _clusters(value):
        taken += _cluster_width(cluster)
        if taken > columns:
            break
        end += len(cluster)
    return value[:end]


def cut(value: str, columns: int, ellipsis: str = ELLIPSIS) -> str:
    """Return the cleaned `value` cut to at most `columns`; a cut one ends in `ellipsis`.

    A wide character is never halved, so the result may be a column short: see `fit`. Where not even the
    ellipsis fits, nothing is left.
    """
    if width(value) <= columns:
        return value
    room = columns - width(ellipsis)
    return _head(value, room) + ellipsis if room >= 0 else ""


def fit(value: str, columns: int, ellipsis: str = ELLIPSIS) -> str:
    """Return the cleaned `value` cut or filled with spaces to exactly `columns`."""
    shown = cut(value, columns, ellipsis)
    return shown + " " * (columns - width(shown))


def wrap(value: str, columns: int, lines: int, ellipsis: str = ELLIPSIS) -> list[str]:
    """Return the cleaned `value` on at most `lines` lines of at most `columns`, broken at spaces.

    A word longer than a line is broken anywhere; what does not fit on the last line is cut as `cut` does.
    """
    rows: list[str] = []
    rest = value.strip(" ")
    while rest and len(rows) < lines:
        head = _head(rest, columns)
        if len(rows) == lines - 1 or head == rest or not head:
            rows.append(cut(rest, columns, ellipsis))
            break
        space = len(head) if rest[len(head)] == " " else head.rfind(" ")
        if space > 0:
            head = head[:space]
        rows.append(head.rstrip(" "))
        rest = rest[len(head) :].lstrip(" ")
    return rows


def cut_path(path: str, columns: int, ellipsis: str = ELLIPSIS) -> str:
    """Return a cleaned path cut from its left, keeping the head of its last part (`…/shop-api`)."""
    if width(path) <= columns:
        return path
    last = path.rstrip("/").rpartition("/")[2]
    shown = cut(last, columns - width(ellipsis) - 1, ellipsis)
    if shown in ("", ellipsis):  # no room for where it is, only for its name
        return cut(last, columns, ellipsis)
    return f"{ellipsis}/{shown}"
