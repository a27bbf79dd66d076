"""The broker's state: `Tables` holds it, the functions of this package do the methods of METHODS.

Pure: time and caller come in as a `Context`; no I/O. A method `a.b_c` is done by the function `a_b_c`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seance_tools.methods import METHODS, Method
from seance_tools.state import metadata, overview, sessions
from seance_tools.state.places import Caller, Context, Place
from seance_tools.state.tables import KINDS, TOPICS, Change, Row, Tables

__all__ = ["KINDS", "TOPICS", "Caller", "Change", "Context", "Place", "Row", "Tables", "call"]

Handler = Callable[[Tables, Row, Context], Row]


def _handler(method: Method) -> Handler:
    for module in (overview, metadata, sessions):
        function: Handler | None = getattr(module, method.handler, None)
        if function is not None:
            return function
    raise LookupError(f"no function {method.handler} for {method.name}")


HANDLERS: dict[str, Handler] = {row.name: _handler(row) for row in METHODS if not row.io}


def call(tables: Tables, method: Method, params: dict[str, Any], context: Context) -> Row:
    """Do a method of METHODS with validated `params` and return its result. Raises WireError."""
    return HANDLERS[method.name](tables, params, context)
