"""Texts that programs might send to make a terminal do something, or to upset a row."""

from __future__ import annotations

import random

_SEQUENCES = (
    "\x1b[2J", "\x1b[H", "\x1b[31m", "\x1b[?1049l",
    "\x1b[?25h", "\x1b[6n", "\x1b[c", "\x1b[20t", "\x1b[1;1H",
    "\x1bc", "\x1b7", "\x1b(0",
    "\x1b#8", "\x1b]0;title\x07", "\x1b]2;title\x1b\\", "\x1b]52;c;aGk=\x07",
    "\x1b]8;;http://x\x1b\\link", "\x1b]777;notify;a;b\x07",
    "\x1b]0;never ends", "\x1bP+q544e\x1b\\",
    "\x1bPtmux;\x1b\x1b]0;x\x07\x1b\\", "\x1bP never ends",
    "\x1b_apc\x1b\\", "\x1b^pm\x1b\\", "\x1bXsos\x1b\\",
    "\x1bk title\x1b\\", "\x9b2J", "\x9d0;title\x9c", "\x90q\x9c",
    "\x9b", "\x1b", "\x1b[", "\x1b]", "\x9f\x9e\x98",
    "\x1b[\x1b[2J2J", "\x1b\x00[2J", "\x1b\u200b[2J", "\u200b\x1b]0;t\x07",
)  # fmt: skip
_CHARACTERS = (
    "\r", "\n", "\r\n", "\b", "\b\b\b\b", "\a", "\t",
    "\v", "\f", "\x00", "\x7f", "\x0e", "\x0f", "\x1a", "\x85",
    "\u2028", "\u2029", "\u202e",
    "\u202a\u202b\u202c\u202d", "\u2066x\u2069", "\u200e\u200f\u061c", "\u200b\u200c\u200d",
    "\ufeff", "\u2060", "\u00ad", "\ufff9\ufffa\ufffb",
    "\U000e0041\U000e007f", "\ud800", "\udfff", "\ud83d\ude00",
    "\ue000", "\uf8ff", "\U000f0000", "\ufffe",
    "\uffff", "\U0010ffff", "\u0378", "\u0300\u0301\u0302\u0303", "\u20dd",
    "\ufe0f", "\ufe0e", "\u3000", "\u00a0", "\u115f", "\u3164",
    "\uffa0", "\u2800", "\u0e33", "\u0d4e", "\u1161", "\u11a8",
    "\U0001f1e9", "\U0001f3fd", "\uff9e",
)  # fmt: skip
_WORDS = (
    "plain", "", " ", "日本語", "한국어", "e\u0301a\u0308", "👩\u200d👩\u200d👧",
    "🇩🇪", "❤\ufe0f", "👍🏽", "क्षि", "กำ", "שלום", "x" * 300,
    "日" * 300, "a" + "\u0301" * 300, "'\"\\$(id)`;|&", "%s%n{0}", "/" * 200, "~/work/" + "d" * 200,
)  # fmt: skip


def corpus(count: int = 4000) -> list[str]:
    """Return `count` texts, the same ones each time: every sign and sequence alone, inside, and mixed."""
    pieces = (*_SEQUENCES, *_CHARACTERS, *_WORDS, *map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)))
    texts = [form.format(piece) for piece in pieces for form in ("{}", "a{}b", "{}b", "日{}")]
    chance = random.Random(22)
    while len(texts) < count:
        texts.append("".join(chance.choices(pieces, k=chance.randint(2, 12))))
    return texts[:count]
