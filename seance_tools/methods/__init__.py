"""METHODS: the table of what the wire can do, and the validation that follows from it.

Help, capabilities, completions and man pages are printed from this table. A method named `a.b_c` is done by
the function `a_b_c` of the `state` package; those marked `io` are done by the broker, which owns the
connections, the clock and the database.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from seance_tools.methods.params import LEVELS, NAME, REQUIRED, STATES, TEXT, Param
from seance_tools.methods.row import Method
from seance_tools.methods.table import METHODS
from seance_tools.text import clean
from seance_tools.wire import WireError

__all__ = [
    "BY_NAME",
    "LEVELS",
    "METHODS",
    "NAME",
    "REQUIRED",
    "STATES",
    "TEXT",
    "Method",
    "Param",
    "closest",
    "find",
    "takes",
    "validate",
]

BY_NAME: dict[str, Method] = {name: row for row in METHODS for name in (row.name, *row.aliases)}
# What `validate` needs of each parameter: its first name, its default and its check.
_PARAMS = {
    row.name: {name: (p.name, p.default, p.check) for p in row.params for name in (p.name, *p.aliases)}
    for row in METHODS
}
_DEFAULTS = {
    row.name: {p.name: p.default for p in row.params if p.default is not REQUIRED} for row in METHODS
}
_REQUIRED = {row.name: tuple(p.name for p in row.params if p.default is REQUIRED) for row in METHODS}


def takes(method: Method) -> Collection[str]:
    """Return the names of a method's parameters, in all their spellings."""
    return _PARAMS[method.name]


def closest(name: str, known: Mapping[str, Any]) -> str:
    """Return ` (did you mean …?)` for the known name nearest to `name`, or nothing where none is near."""
    import difflib  # only for who is wrong

    near = difflib.get_close_matches(name[:NAME], known, 1)
    return f" (did you mean {near[0]}?)" if near else ""


def find(name: str) -> Method:
    """Return the row of a method's name or alias; raises WireError naming the closest one."""
    row = BY_NAME.get(name)
    if row is None:
        raise WireError("method_not_found", f"no method {clean(name, 80)}{closest(name, BY_NAME)}")
    return row


def validate(method: Method, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every parameter of `method` by its first name, checked and with defaults filled in.

    An optional parameter given as null counts as not given. Raises WireError `invalid_params` naming the
    parameter.
    """
    known = _PARAMS[method.name]
    params: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise WireError(
                "invalid_params",
                f"{clean(name, 80)}: no such parameter{closest(name, known)}",
                clean(name, 80),
            )
        first, default, check = known[name]
        if first in params:
            raise WireError("invalid_params", f"{name}: given twice", name)
        if value is None and default is not REQUIRED:
            params[first] = default
            continue
        try:
            params[first] = check(value)
        except ValueError as error:
            raise WireError("invalid_params", f"{name}: {error}", name) from None
    for name in _REQUIRED[method.name]:
        if name not in params:
            raise WireError("invalid_params", f"{name}: missing", name)
    return {**_DEFAULTS[method.name], **params}
