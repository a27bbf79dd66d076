"""Parameters of methods: what each is called, what it may hold, how it is checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from seance_tools.names import LIMITS
from seance_tools.text import clean

REQUIRED: Any = object()
_ID_HIGH = (1 << 53) - 1  # ids stay exact in every JSON parser
NAME = LIMITS["name_characters"]
TEXT = LIMITS["text_characters"]
LEVELS = ("info", "progress", "success", "warning", "error")
STATES = ("running", "idle", "needs_input", "error", "background", "unknown")

_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?").fullmatch
_DECIMAL = re.compile(r"-?[0-9]{1,18}").fullmatch

Check = Callable[[Any], Any]


class Param(NamedTuple):
    """One parameter: its name, JSON type, help, default (REQUIRED if none), further spellings and check.

    `check` takes the JSON value and returns the value to use; it raises ValueError saying what is needed.
    """

    name: str
    type: str
    help: str
    default: Any
    aliases: tuple[str, ...]
    check: Check


def integer(
    name: str,
    help_text: str,
    default: Any = REQUIRED,
    low: int = 0,
    high: int = _ID_HIGH,
    aliases: tuple[str, ...] = (),
) -> Param:
    """Return an integer parameter between `low` and `high`; decimal strings are taken too (shells quote)."""

    def check(value: Any) -> int:
        if (type(value) is str and _DECIMAL(value)) or (type(value) is float and value.is_integer()):
            value = int(value)
        if type(value) is not int:
            raise ValueError("an integer is needed")
        if not low <= value <= high:
            raise ValueError(f"must be between {low} and {high}")
        return value

    return Param(name, "integer", help_text, default, aliases, check)


def number(name: str, help_text: str, default: Any = REQUIRED, *, low: float | None = None) -> Param:
    """Return a number parameter, at least `low` if given; decimal strings are taken too."""

    def check(value: Any) -> float:
        if type(value) is str and _NUMBER(value):
            value = float(value)
        if type(value) not in (int, float):
            raise ValueError("a number is needed")
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError("must be finite")
        if low is not None and value < low:
            raise ValueError(f"must be at least {low}")
        return float(value)

    return Param(name, "number", help_text, default, (), check)


def boolean(name: str, help_text: str, default: Any = REQUIRED) -> Param:
    """Return a boolean parameter; the strings true and false are taken too."""

    def check(value: Any) -> bool:
        if type(value) is bool:
            return value
        if value in ("true", "false"):
            return bool(value == "true")
        raise ValueError("true or false is needed")

    return Param(name, "boolean", help_text, default, (), check)


def string(
    name: str,
    help_text: str,
    default: Any = REQUIRED,
    limit: int = NAME,
    *,
    empty: bool = False,
    aliases: tuple[str, ...] = (),
) -> Param:
    """Return a text parameter of at most `limit` characters, cleaned of what a terminal would act on."""

    def check(value: Any) -> str:
        if type(value) is not str:
            raise ValueError("a string is needed")
        if len(value) > limit:
            raise ValueError(f"is {len(value)} characters, at most {limit} are allowed")
        cleaned = clean(value, limit)
        if not cleaned and not empty:
            raise ValueError("must not be empty")
        return cleaned

    return Param(name, "string", help_text, default, aliases, check)


def typed(name: str, help_text: str) -> Param:
    """Return a parameter for what is typed into a pane: as it came, control characters and all, but NUL."""

    def check(value: Any) -> str:
        if type(value) is not str:
            raise ValueError("a string is needed")
        if not value:
            raise ValueError("must not be empty")
        if len(value) > TEXT:
            raise ValueError(f"is {len(value)} characters, at most {TEXT} are allowed")
        if "\0" in value:
            raise ValueError("must not have a NUL")
        return value

    return Param(name, "string", help_text, REQUIRED, (), check)


def choice(name: str, help_text: str, choices: tuple[str, ...], default: Any = REQUIRED) -> Param:
    """Return a parameter that is one of `choices`."""

    def check(value: Any) -> str:
        if value not in choices:
            raise ValueError("must be one of " + ", ".join(choices))
        return str(value)

    return Param(name, "|".join(choices), help_text, default, (), check)


def structure(name: str, help_text: str, default: Any = REQUIRED) -> Param:
    """Return an object parameter; what it holds is the method's own affair."""

    def check(value: Any) -> dict[str, Any]:
        if type(value) is not dict:
            raise ValueError("an object is needed")
        return value

    return Param(name, "object", help_text, default, (), check)


def array(name: str, help_text: str, choices: tuple[str, ...] = (), default: Any = REQUIRED) -> Param:
    """Return a list-of-strings parameter, each one of `choices` if given; `a,b` in a string is taken too."""

    def check(value: Any) -> list[str]:
        if type(value) is str:
            value = [item for item in value.split(",") if item]
        if type(value) is not list or not all(type(item) is str for item in value):
            raise ValueError("a list of strings is needed")
        if not value:
            raise ValueError("must not be empty")
        for item in value:
            if choices and item not in choices:
                raise ValueError(f"{clean(item, 40)}: must be one of " + ", ".join(choices))
        return value

    return Param(name, "array", help_text, default, (), check)
