"""OPTIONS: the table of what config.toml can hold, one row a key; the man pages print it.

A key with a dot lives in a table of the file: `codebuff.idle-timeout` is `idle-timeout` below `[codebuff]`.
Keys that are not in the table change nothing and are told of; the original's own file may hold some.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from seance_tools.agents import AGENTS, Agent
from seance_tools.delivery import TERMINAL_KINDS, minutes
from seance_tools.names import LIMITS


class Option(NamedTuple):
    """One option: its key, TOML type, default, help, further places of it, and check.

    `check` takes the file's value and returns the value to use; it raises ValueError saying what is needed.
    """

    key: str
    type: str
    default: Any
    help: str
    places: tuple[str, ...]
    check: Callable[[Any], Any]


class Options(NamedTuple):
    """Every option's value by its key, what was wrong with the file, and keys nobody knows, one line each.

    A line begins with the key, or with the file where that cannot be read at all. wrong: keys of options
    whose value in the file is wrong. logs: the glob of an agent's session logs, by its key.
    """

    values: dict[str, Any]
    problems: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    wrong: frozenset[str] = frozenset()
    logs: dict[str, str] = {}  # noqa: RUF012 - never altered


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("true or false is needed")
    return value


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value <= 0:
        raise ValueError("a number of seconds over 0 is needed")
    return float(value)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError("a string is needed")
    return value


def _count(low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high} is needed")
        return value

    return check


def _one_of(*words: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in words:
            raise ValueError("must be one of " + ", ".join(words))
        return str(value)

    return check


def _keys(value: Any) -> list[str]:
    keys = [value] if type(value) is str else value
    if type(keys) is not list or not all(type(key) is str for key in keys):
        raise ValueError("a key or a list of keys is needed")
    for key in keys:
        if key not in NAMED_KEYS and not (len(key) == 1 and key.isprintable() and key != " "):
            raise ValueError(f"{key!r} is no key: a character, or one of {', '.join(NAMED_KEYS)}")
    return list(dict.fromkeys(keys))


def _ports(value: Any) -> list[int | str]:
    entries = value if type(value) is list else [value]
    for entry in entries:
        found = re.fullmatch("([0-9]{1,5})(?:-([0-9]{1,5}))?", str(entry))  # true is none, and no port
        if not found or not 0 < int(found[1]) <= int(found[2] or found[1]) <= 65535:
            raise ValueError('a list of ports from 1 to 65535, or ranges of them like "8000-8100", is needed')
    return list(entries)


def _colour(value: Any) -> str | int:
    if type(value) is int and 0 <= value <= 255:
        return value
    if type(value) is str and (value in ("", *COLOUR_NAMES) or re.fullmatch("#[0-9a-fA-F]{6}", value)):
        return value
    raise ValueError(f'"#rrggbb", a number from 0 to 255, or one of {", ".join(COLOUR_NAMES)} is needed')


def _quiet_hours(value: Any) -> str:
    minutes(_text(value))
    return str(value)


def _words(value: Any) -> list[str]:
    if type(value) is not list or not all(type(word) is str and "\0" not in word for word in value):
        raise ValueError('a list of words is needed, as in ["notify-send", "Agent"]')
    if value and not value[0]:
        raise ValueError("the first word is the program's name")
    return value


def _toggle(key: str, name: str) -> Option:
    text = f"whether {name}'s sessions are reported and shown"
    return Option(f"{key}-hooks", "boolean", True, text, (f"behavior.{key}-hooks",), _boolean)


def _followed(agent: Agent) -> tuple[Option, ...]:
    silence = "seconds without a write of its log after which a session is idle, where that alone tells"
    evidence = "what tells a session's state: its turns, the writes of its log, or both (auto)"
    detection = _one_of("auto", "turns", "activity")
    return (
        Option(f"{agent.key}.idle-timeout", "seconds", 5.0, silence, (), _seconds),
        Option(f"{agent.key}.detection", "string", "auto", evidence, (), detection),
    )


def _section(name: str, what: str) -> Option:
    return Option(f"sidebar.show_{name}", "boolean", True, f"whether the sidebar shows {what}", (), _boolean)


def _key(action: str, keys: tuple[str, ...], text: str) -> Option:
    return Option(f"sidebar.keys.{action}", "keys", list(keys), f"sidebar: {text}", (), _keys)


def _style(name: str, text: str) -> Option:
    return Option(f"sidebar.colors.{name}", "colour", "", f"{text}; empty for the built-in one", (), _colour)


def _limit(name: str, low: int, text: str) -> Option:
    return Option(f"limits.{name}", "integer", LIMITS[name], text, (), _count(low, 100_000))


def _notifications(name: str, kind: str, default: Any, check: Callable[[Any], Any], text: str) -> Option:
    return Option(f"notifications.{name}", kind, default, text, (), check)


NAMED_KEYS = (
    *("up", "down", "left", "right", "home", "end", "page-up", "page-down"),
    *("enter", "escape", "space", "tab", "backspace"),
)
COLOUR_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")

# What the sidebar's keys do: action, its keys, what the help and the man page say of it.
SIDEBAR_KEYS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("up", ("up", "k"), "move"),
    ("down", ("down", "j"), "move"),
    ("first", ("home",), "first, last"),
    ("last", ("end",), "first, last"),
    ("page-up", ("page-up",), "a page"),
    ("page-down", ("page-down",), "a page"),
    ("jump", ("enter",), "jump to the pane"),
    ("expand", ("e", "space"), "all statuses"),
    ("next", ("n",), "next needing input"),
    ("mark-read", ("m",), "mark read"),
    ("filter", ("/",), "filter"),
    ("sort", ("s",), "sort"),
    ("compact", ("g",), "one line each"),
    ("fold", ("f",), "fold the idle"),
    ("back", ("escape",), "take back"),
    ("help", ("?",), "this help"),
    ("quit", ("q",), "quit"),
)
# What has a colour in the sidebar, and what that is.
SIDEBAR_COLOURS: tuple[tuple[str, str], ...] = (
    ("title", "names of workspaces"),
    ("active", "name of the active workspace"),
    ("bar", "mark of the selection"),
    ("dim", "ages, directories, logs and other details"),
    ("port", "listening ports"),
    ("rule", "the line below the header"),
    ("notification", "the latest unread notification"),
    ("badge", "number of unread notifications"),
    ("needs_input", "agents that need input"),
    ("error", "agents that failed, and errors in logs"),
    ("running", "running agents"),
    ("background", "background work"),
    ("idle", "idle agents"),
    ("unknown", "agents in an unknown state"),
    ("success", "successes in logs"),
    ("warning", "warnings in logs"),
    ("progress", "the progress bar"),
    ("trouble", "what is wrong with the connection"),
)

# Where notifications go besides the sidebar, and when: name, type, default, check, what it does.
NOTIFICATIONS: tuple[tuple[str, str, Any, Callable[[Any], Any], str], ...] = (
    ("tmux_flag", "boolean", True, _boolean, "whether tmux's pane option @seance-unread counts unread ones"),
    (
        "tmux_message",
        "boolean",
        False,
        _boolean,
        "whether tmux shows them in the status line; panes stand still for its display-time (0: no message)",
    ),
    ("terminal", "string", "off", _one_of(*TERMINAL_KINDS), "what sidebars write on their terminals for one"),
    ("desktop", "boolean", False, _boolean, "whether the desktop shows them; a click jumps to the pane"),
    ("sound", "string", "", _text, "a sound file that is played for one"),
    ("command", "words", [], _words, "a program that is run for one, with the event as JSON on its input"),
    ("quiet_hours", "string", "", _quiet_hours, 'local hours without all these, as in "22:00-07:00"'),
    ("only_when_away", "boolean", True, _boolean, "whether nothing goes out while you look at the pane"),
    ("per_minute", "integer", 10, _count(1, 1000), "so many a minute on each of them; the rest go as one"),
)

OPTIONS = (
    *(_toggle(agent.key, agent.name) for agent in AGENTS),
    *(row for agent in AGENTS if agent.log_root for row in _followed(agent)),
    Option("socket.path", "string", "", "path of the broker's socket; empty for the default", (), _text),
    _section("notifications", "the latest unread notification"),
    _section("status", "the agents and other status entries"),
    _section("logs", "the latest line of the log"),
    _section("progress", "the progress bar"),
    _section("branch", "git branch and directory"),
    _section("ports", "listening ports"),
    Option("sidebar.links", "boolean", True, "whether ports are links for the browser", (), _boolean),
    Option(
        "git.status",
        "boolean",
        True,
        "whether git status is asked for changes and for commits ahead and behind, while somebody watches",
        (),
        _boolean,
    ),
    Option("git.network", "boolean", False, "whether it is asked on network filesystems too", (), _boolean),
    Option(
        "ports.hidden",
        "ports",
        [22, 53, 111, 631, 5353],
        'listening ports that are not shown; ranges like "8000-8100" too',
        (),
        _ports,
    ),
    *(_key(*row) for row in SIDEBAR_KEYS),
    *(_style(*row) for row in SIDEBAR_COLOURS),
    Option(
        "notifications.enabled",
        "boolean",
        True,
        "whether what agents notify of is kept and shown",
        (),
        _boolean,
    ),
    *(_notifications(*row) for row in NOTIFICATIONS),
    _limit(
        "status_entries",
        64,
        "status entries of a workspace that programs set, but for agents' own; more are refused",
    ),
    _limit("log_entries", 200, "lines of a workspace's log; past that the oldest goes"),
    _limit("notifications", 1, "notifications; past that the oldest goes"),
    Option(
        "broker.autostart",
        "boolean",
        True,
        "whether the programs start the broker where none runs",
        (),
        _boolean,
    ),
    Option(
        "broker.log-level",
        "string",
        "info",
        "what the broker's log holds: debug, info, warning or error",
        (),
        _one_of("debug", "info", "warning", "error"),
    ),
)
BY_KEY = {option.key: option for option in OPTIONS}
_PLACES = frozenset(place for option in OPTIONS for place in (option.key, *option.places))
_TABLES = frozenset(place.rpartition(".")[0] for place in _PLACES)


def _unknown(document: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield a line for every key of the file that no option has."""
    for name, value in document.items():
        key = f"{prefix}{name}"
        if key in (*_PLACES, "agents") or (key in _TABLES and type(value) is not dict):
            continue  # what is wrong about the latter is told as a problem
        if type(value) is dict and key in _TABLES:
            yield from _unknown(value, f"{key}.")
        else:
            import difflib  # only for who is wrong

            near = difflib.get_close_matches(key, _PLACES, 1)
            yield f"{key}: no such key" + (f" (did you mean {near[0]}?)" if near else "")


def line_of(text: str, key: str) -> int | None:
    """Return the line of a TOML file that sets a dotted key, or its table; None where it is not found."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        begun = line.strip()
        if begun.startswith("["):
            table = begun.strip("[] \t").partition("]")[0].strip().replace('"', "")
            if table == key:
                return number
            continue
        name = begun.partition("=")[0].strip().replace('"', "")
        if name and key == (f"{table}.{name}" if table else name):
            return number
    return None


def _find(document: dict[str, Any], key: str) -> Any:
    """Return the value at a dotted key, None where it is not there; raises ValueError for a wrong table."""
    value: Any = document
    parts = key.split(".")
    for depth, part in enumerate(parts):
        if type(value) is not dict:
            raise ValueError(f"{'.'.join(parts[:depth])}: a table is needed")
        value = value.get(part)
        if value is None:
            return None
    return value


def _shared_keys(values: dict[str, Any]) -> Iterator[str]:
    """Yield a line for every key that the file gives to two actions of the sidebar."""
    owners: dict[str, str] = {}
    for action, default, _ in SIDEBAR_KEYS:
        option = f"sidebar.keys.{action}"
        for key in values[option] if values[option] != list(default) else ():
            if key in owners:
                yield f"{option}: {key!r} is the key of {owners[key]} already"
            owners.setdefault(key, action)


def _logs(document: dict[str, Any], problems: dict[str, None]) -> dict[str, str]:
    """Return the globs of `[agents.NAME] log`; what is wrong with them is added to `problems`."""
    tables = document.get("agents", {})
    if type(tables) is not dict:
        problems["agents: a table is needed"] = None
        return {}
    logs = {}
    for name, table in tables.items():
        log = table.get("log") if type(table) is dict else None
        if type(log) is str and log.startswith(("~/", "/")):
            logs[name] = log
        else:
            problems[f"agents.{name}.log: a glob that begins with ~/ or / is needed"] = None
    return logs


def look_up(document: dict[str, Any]) -> Options:
    """Return the options of a parsed config.toml; one that is missing or wrong has its default."""
    values: dict[str, Any] = {}
    problems: dict[str, None] = {}  # in order, each once
    wrong: set[str] = set()
    for option in OPTIONS:
        values[option.key] = option.default
        for key in (option.key, *option.places):
            try:
                value = _find(document, key)
            except ValueError as error:
                problems[str(error)] = None
                continue
            if value is None:
                continue
            try:
                values[option.key] = option.check(value)
            except ValueError as error:
                problems[f"{key}: {error}"] = None
                wrong.add(option.key)
            break
    problems |= dict.fromkeys(_shared_keys(values))
    logs = _logs(document, problems)
    return Options(values, tuple(problems), tuple(_unknown(document)), frozenset(wrong), logs)
