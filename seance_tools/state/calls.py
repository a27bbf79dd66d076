"""From a method's name to the function of this package that does it: `a.b_c` is done by `a_b_c`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seance_tools.methods import METHODS, Method
from seance_tools.state import metadata, notifications, overview, sessions, surfaces, workspaces
from seance_tools.state.places import Context
from seance_tools.state.tables import Row, Tables

Handler = Callable[[Tables, Row, Context], Row]


def _handler(method: Method) -> Handler | None:
    for module in (overview, workspaces, metadata, surfaces, notifications, sessions):
        function: Handler | None = getattr(module, method.handler, None)
        if function is not None:
            return function
    if method.io:
        return None
    raise LookupError(f"no function {method.handler} for {method.name}")


# Some that the broker does have a part here that it calls.
HANDLERS: dict[str, Handler] = {row.name: found for row in METHODS if (found := _handler(row))}


def call(tables: Tables, method: Method, params: dict[str, Any], context: Context) -> Row:
    """Do a method of METHODS with validated `params` and return its result. Raises WireError."""
    return HANDLERS[method.name](tables, params, context)
