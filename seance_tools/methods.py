"""METHODS: the table of what the wire can do, and the validation that follows from it.

Help, capabilities, completions and man pages are printed from this table. A method named `a.b_c` is done by
the function `a_b_c` of the `state` package; those marked `io` are done by the broker, which owns the
connections, the clock and the database.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from seance_tools.names import LIMITS
from seance_tools.state.tables import TOPICS
from seance_tools.text import clean
from seance_tools.wire import WireError

REQUIRED: Any = object()
_ID_HIGH = (1 << 53) - 1  # ids stay exact in every JSON parser
NAME = LIMITS["name_characters"]
TEXT = LIMITS["text_characters"]
LEVELS = ("info", "progress", "success", "warning", "error")
STATES = ("running", "idle", "needs_input", "error", "background", "unknown")

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


class Method(NamedTuple):
    """One method: name, parameters, help, what its result holds, other names, whether the broker does it."""

    name: str
    params: tuple[Param, ...]
    help: str
    result: str
    aliases: tuple[str, ...] = ()
    io: bool = False

    @property
    def handler(self) -> str:
        """The name of the function that does it."""
        return self.name.replace(".", "_")


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
        if type(value) is str:
            try:
                value = float(value)
            except ValueError:
                raise ValueError("a number is needed") from None
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
        for item in value:
            if choices and item not in choices:
                raise ValueError(f"{clean(item, 40)}: must be one of " + ", ".join(choices))
        return value

    return Param(name, "array", help_text, default, (), check)


WORKSPACE = integer("workspace_id", "id of the workspace; an unknown one is created")
_KEY = string("key", "key of the status entry, usually the agent's name")
_CALLER = (
    integer("surface_id", "id of the surface; wins over env", None),
    integer("workspace_id", "id of the workspace; wins over env", None),
    structure("env", "the caller's environment variables that tell its pane", None),
    string("tty", "the caller's terminal device, where env tells nothing", None),
    integer("tty_session", "process id of that terminal's session leader", None, 1, (1 << 31) - 1),
)

METHODS = (
    Method("system.ping", (), "Answer, to show that the broker lives.", "pong"),
    Method("system.capabilities", (), "List the methods.", "methods, protocol, version", io=True),
    Method(
        "system.identify",
        _CALLER,
        "Tell the focused surface and, from env, the caller's.",
        "window_index, workspace_id, workspace_index, pane_group_id, surface_id, browser_panel_id, caller",
    ),
    Method("system.tree", (), "Show everything, nested.", "windows"),
    Method("workspace.list", (), "List the workspaces in their order.", "workspaces"),
    Method(
        "workspace.set_status",
        (
            WORKSPACE,
            _KEY,
            string("value", "text of the status", limit=TEXT),
            integer("priority", "highest is shown first", 0, -(1 << 31), (1 << 31) - 1),
            boolean("is_agent", "whether it is an agent's status", False),
            string("display_name", "name for people", None),
            choice("state", "the state the text stands for", STATES, None),
            integer("pid", "the entry goes when this process ends", None, 1, (1 << 31) - 1),
            integer("ttl_ms", "the entry goes after so many milliseconds", None, 1),
        ),
        "Set a status entry.",
        "",
    ),
    Method("workspace.clear_status", (WORKSPACE, _KEY), "Clear a status entry.", "cleared"),
    Method(
        "workspace.set_progress",
        (
            WORKSPACE,
            number("value", "from 0.0 to 1.0; values outside are clamped"),
            string("label", "text beside the bar", "", TEXT, empty=True),
        ),
        "Show a progress bar.",
        "",
    ),
    Method("workspace.clear_progress", (WORKSPACE,), "Remove the progress bar.", ""),
    Method(
        "workspace.append_log",
        (
            WORKSPACE,
            string("message", "the text", limit=TEXT),
            choice("level", "how grave it is", LEVELS, "info"),
        ),
        "Append a line to the log.",
        "",
        aliases=("workspace.log",),
    ),
    Method("workspace.clear_log", (WORKSPACE,), "Empty the log.", ""),
    Method(
        "workspace.set_subagent_counts",
        (
            WORKSPACE,
            integer("subagent_count", "running sub-agents", 0, 0, 10**6, aliases=("subagents",)),
            integer("background_count", "running background tasks", 0, 0, 10**6, aliases=("background",)),
        ),
        "Set the numbers of sub-agents and background tasks.",
        "",
    ),
    Method(
        "agent.hook",
        (
            string("agent", "the agent's name, known or not"),
            string("event", "what happened: prompt-submit, stop …"),
            structure("payload", "what the agent said about it", None),
            *_CALLER,
            integer("pid", "the agent's process; its end ends the session", None, 1, (1 << 31) - 1),
            number("at", "when it happened, in seconds since 1970; default: now", None, low=0),
            choice(
                "source", "where the report comes from", ("hook", "log", "screen", "activity", "api"), "hook"
            ),
        ),
        "Report an event of an agent's session.",
        "session, state, changed, reply",
    ),
    Method("agent.list", (), "List the agents' sessions.", "agents"),
    Method(
        "events.subscribe",
        (
            array("topics", "kinds of rows to hear of; default all", TOPICS, None),
            integer("after_seq", "last change seen, to go on from there", None),
            string("boot_id", "the broker's run that after_seq belongs to", None),
        ),
        "Get a snapshot, then every change as it happens, on this connection.",
        "snapshot, seq, boot_id, gap",
        io=True,
    ),
)

BY_NAME: dict[str, Method] = {name: row for row in METHODS for name in (row.name, *row.aliases)}
_PARAMS = {
    row.name: {name: param for param in row.params for name in (param.name, *param.aliases)}
    for row in METHODS
}
_DEFAULTS = {
    row.name: {p.name: p.default for p in row.params if p.default is not REQUIRED} for row in METHODS
}
_REQUIRED = {row.name: tuple(p.name for p in row.params if p.default is REQUIRED) for row in METHODS}


def closest(name: str, known: Mapping[str, Any]) -> str:
    """Return ` (did you mean …?)` for the known name nearest to `name`, or nothing where none is near."""
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
    params = dict(_DEFAULTS[method.name])
    seen = set()
    for name, value in given.items():
        param = known.get(name)
        if param is None:
            raise WireError(
                "invalid_params",
                f"{clean(name, 80)}: no such parameter{closest(name, known)}",
                clean(name, 80),
            )
        if param.name in seen:
            raise WireError("invalid_params", f"{name}: given twice", name)
        seen.add(param.name)
        if value is None and param.default is not REQUIRED:
            continue
        try:
            params[param.name] = param.check(value)
        except ValueError as error:
            raise WireError("invalid_params", f"{name}: {error}", name) from None
    for name in _REQUIRED[method.name]:
        if name not in params:
            raise WireError("invalid_params", f"{name}: missing", name)
    return params
