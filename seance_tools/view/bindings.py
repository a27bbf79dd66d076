"""Which key does what: the defaults, changed by config.toml, and how the help writes it down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seance_tools.options import SIDEBAR_KEYS

LABEL_COLUMNS = 9
_LABELS = {
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "page-up": "PgUp",
    "page-down": "PgDn",
    "backspace": "Bksp",
    "escape": "Esc",
}
_MOUSE = (("click", "jump to the pane"), ("wheel", "scroll"))


def bindings(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what each key does. A key given in config.toml no longer does what it does by default."""
    by_default: dict[str, str] = {}
    given: dict[str, str] = {}
    for action, default, _ in SIDEBAR_KEYS:
        keys: Sequence[str] = values.get(f"sidebar.keys.{action}", default)
        target = by_default if tuple(keys) == default else given
        for key in keys:
            target.setdefault(key, action)
    return {**by_default, **given}


def label(key: str) -> str:
    """Return a key's name as the help shows it."""
    return _LABELS.get(key) or (key if len(key) == 1 else key.capitalize())


def help_rows(keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the help: keys and what they do, those that do nothing left out."""
    rows: list[tuple[str, str]] = []
    for action, _, meaning in SIDEBAR_KEYS:
        names = [label(key) for key, does in keys.items() if does == action]
        if names and rows and rows[-1][1] == meaning:  # up and down share a line
            names, rows = [rows[-1][0], *names], rows[:-1]
        if names:
            rows.append((" ".join(names), meaning))
        if action == "jump":
            rows += _MOUSE
    return rows


KEYS = tuple(help_rows(bindings({})))  # for the man page
