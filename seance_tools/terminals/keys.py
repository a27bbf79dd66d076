"""Names of keys: the original's (`ctrl+c`, `enter`, `shift+tab`) and tmux's (`C-c`, `Enter`, `BTab`)."""

from __future__ import annotations

from typing import NamedTuple

_NAMES = {
    "enter": "Enter",
    "return": "Enter",
    "tab": "Tab",
    "btab": "BTab",
    "escape": "Escape",
    "esc": "Escape",
    "backspace": "BSpace",
    "bspace": "BSpace",
    "delete": "DC",
    "dc": "DC",
    "insert": "IC",
    "ic": "IC",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "home": "Home",
    "end": "End",
    "pageup": "PPage",
    "page_up": "PPage",
    "ppage": "PPage",
    "pgup": "PPage",
    "pagedown": "NPage",
    "page_down": "NPage",
    "npage": "NPage",
    "pgdn": "NPage",
    "space": "Space",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
_MODIFIERS = {"ctrl": "C", "control": "C", "alt": "M", "option": "M", "shift": "S"}
_TMUX_MODIFIERS = {"C": "C", "M": "M", "S": "S"}
_CONTROLLED = frozenset("abcdefghijklmnopqrstuvwxyz@[\\]^_?")  # the characters that ctrl makes another of


class Key(NamedTuple):
    """A key: either a name that tmux knows, or a character that is typed as it is."""

    name: str = ""
    character: str = ""


def read_key(text: str) -> Key:
    """Return the key that a name stands for. Raises ValueError for what is none.

    tmux types out a name that it does not know, so only known ones may get there.
    """
    modifiers, base = _split(text)
    name = _NAMES.get(base.lower()) if len(base) > 1 else None
    if name is None and not (len(base) == 1 and base.isprintable()):
        raise ValueError("no such key; try enter, tab, escape, up, f5, ctrl+c, alt+b, shift+tab")
    if name == "Tab" and modifiers == {"S"}:
        return Key("BTab")
    if name is not None:
        return Key("".join(f"{letter}-" for letter in "CMS" if letter in modifiers) + name)
    if "S" in modifiers:
        modifiers, base = modifiers - {"S"}, base.upper()
    if not modifiers:
        return Key(character=base)
    if "C" in modifiers:
        base = base.lower()
        if base not in _CONTROLLED:
            raise ValueError(f"a terminal knows no ctrl with {base}")
    elif not base.isascii():
        raise ValueError(f"a terminal knows no alt with {base}")
    return Key("".join(f"{letter}-" for letter in "CM" if letter in modifiers) + base)


def _split(text: str) -> tuple[set[str], str]:
    """Return (modifiers, the rest) of a key's name in either way of writing it."""
    modifiers: set[str] = set()
    if len(text) == 2 and text[0] == "^":
        return {"C"}, text[1]
    for separator, known in (("+", _MODIFIERS), ("-", _TMUX_MODIFIERS)):
        while separator in text[1:]:
            word, rest = text.split(separator, 1)
            letter = known.get(word if separator == "-" else word.lower())
            if letter is None or not rest:
                break
            modifiers.add(letter)
            text = rest
    return modifiers, text
