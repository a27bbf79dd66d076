"""A file in the spool: header lines `Name: value`, an empty line, and the agent's payload as it came.

Bytes in, values out; no I/O. What an agent sends is taken as far as it can be: a payload that is no JSON
object, or too large to be read, leaves an event without a payload.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import ujson

from seance_tools import wire
from seance_tools.agents import agent_named
from seance_tools.methods import find
from seance_tools.names import LIMITS, PLACE_HEADERS
from seance_tools.wire import WireError

HEADERS = {  # what the man page says of each
    "Agent": "the agent's name; with Event",
    "Event": "what happened, in the agent's words or ours",
    "Method": "instead of the two: a method of the socket, whose parameters are the body",
    "Workspace": "SEANCE_WORKSPACE_ID, if it is a number",
    "Surface": "SEANCE_SURFACE_ID, if it is a number",
    **PLACE_HEADERS,
    "Tty": "number of the controlling terminal and id of its session, fields 7 and 6 of proc(5)'s stat",
    "Agent-Pid": "what the agent's wrapper says is the agent's process id",
    "Pid": "a process between the agent and the writer, and when it started, field 22 of stat; the nearest "
    "first. One without a start time must be as old as the one before it",
    "Parent": "instead of Pid and Tty: the whole stat of the writer's parent. It is the last header, and the "
    "payload follows without an empty line",
    "At": "when it happened, in seconds since 1970; else the file's modification time counts",
}
HEADER_BYTES = 1 << 16
HOOK = "agent.hook"
_DEPTH = 8  # of a payload; nothing that is looked for lies deeper
_DIGITS = 15  # of an id or a time; such numbers are exact everywhere
# The line in /proc/PID/stat: the name may hold anything, the rest are a letter and some 50 numbers.
_STAT = re.compile(rb"([0-9]+) \(.{0,64}\) [A-Za-z]((?: -?[0-9]+){19,})\n", re.DOTALL)
_PARENT = b"\nParent: "
_IDS = {"Workspace": "workspace_id", "Surface": "surface_id"}
_TOOL_EVENTS = frozenset({"pre-tool-use", "post-tool-use"})

Process = tuple[int, int | None]  # id and start time


class Report(NamedTuple):
    """What a file asks for: a request, whole but for the agent's process, and what may be that.

    processes: those that may be the agent or below it, the nearest first. agent_pid: what the wrapper says it
    is. problem: "oversized" or "malformed" where the payload could not be taken, else "".
    """

    request: wire.Request
    processes: tuple[Process, ...] = ()
    agent_pid: int | None = None
    problem: str = ""


def parse(data: bytes, at: float, *, whole: bool = True) -> Report:
    """Return the report of a file whose beginning, or `whole`, is `data`; `at` is its modification time.

    Raises ValueError for what has no header, WireError for a plain request that cannot be one.
    """
    header, body = split(data)
    if len(header) > HEADER_BYTES:
        raise ValueError("no header")
    values, pids = _values(header)
    where = _where(values)
    if "Method" in values:
        return _request(values["Method"], where, body, whole=whole)
    if "Agent" not in values or "Event" not in values:
        raise ValueError("no header: neither Agent and Event nor Method")
    readable = whole and len(body) <= LIMITS["spool_body_bytes"]
    payload, problem = read_payload(body) if readable else ({}, "oversized")
    params = {
        "agent": values["Agent"],
        "event": values["Event"],
        "payload": payload,
        "at": _time(values.get("At", ""), at),
    }
    request = wire.Request(None, HOOK, params, where)
    return Report(request, _processes(pids), _integer(values.get("Agent-Pid", "")), problem)


def split(data: bytes) -> tuple[bytes, bytes]:
    """Return (header, body) of a file, what Parent tells as Pid and Tty. Raises ValueError for no header."""
    header, end, body = data.partition(b"\n\n")
    before, parent, after = data.partition(_PARENT)
    if parent and (not end or len(before) < len(header)):
        return _split_at_parent(before, after)
    if not end:
        raise ValueError("no header")
    return header, body


def _split_at_parent(header: bytes, after: bytes) -> tuple[bytes, bytes]:
    found = _STAT.match(after)
    if not found:  # it ended before its stat was read
        return header, after
    # fields 4, 6, 7 and 22 of proc(5)'s stat; a match has them all
    fields = found[2].split()
    parent, session, terminal, started = fields[0], fields[2], fields[3], fields[18]
    header += b"\nPid: %b %b\nPid: %b" % (found[1], started, parent)
    if terminal != b"0":
        header += b"\nTty: %b %b" % (terminal, session)
    return header, after[found.end() :]


def is_tool_event(data: bytes) -> bool:
    """Return whether a file that begins with `data` tells of a tool: there are many, and none is for long."""
    values, _ = _values(min(data.partition(b"\n\n")[0], data.partition(_PARENT)[0], key=len))
    event = values.get("Event", "")
    return agent_named(values.get("Agent", "")).events.get(event, event) in _TOOL_EVENTS


def read_payload(body: bytes) -> tuple[dict[str, Any], str]:
    """Return (payload, problem): the JSON object in `body`, {} for an empty one and where there is none."""
    if not body or body.isspace():
        return {}, ""
    try:
        value = ujson.loads(body.decode("utf-8", "replace"))
    except (ValueError, OverflowError, RecursionError, TypeError):
        return {}, "malformed"
    return (_trimmed(value, _DEPTH), "") if type(value) is dict else ({}, "malformed")


def _trimmed(value: Any, depth: int) -> Any:
    """Return a JSON value without what we could not write down again: huge numbers, deep nests."""
    kind = type(value)
    if kind is str or kind is bool:
        return value
    if kind is int:
        return value if -(1 << 63) <= value < 1 << 63 else None
    if kind is float:
        return value if math.isfinite(value) else None
    if value is None or not depth:
        return None
    if kind is dict:
        return {name: _trimmed(item, depth - 1) for name, item in value.items()}
    return [_trimmed(item, depth - 1) for item in value]


def _request(name: str, where: dict[str, Any], body: bytes, *, whole: bool) -> Report:
    if find(name).io:
        raise WireError("not_supported", f"{name}: has an answer, and nobody waits for it here")
    if not whole or len(body) > LIMITS["request_bytes"]:
        raise WireError("too_large", f"a request may have {LIMITS['request_bytes']} bytes at most")
    # A shell tells its directory byte for byte; one that is not UTF-8 shows with replacement characters.
    given = wire.parse(body.decode("utf-8", "replace")) if body and not body.isspace() else {}
    if type(given) is not dict:
        raise WireError("parse_error", "parameters are a JSON object")
    try:
        wire.check_value(given)
    except ValueError as error:
        raise WireError("parse_error", str(error)) from None
    return Report(wire.Request(None, name, given, where))


def _values(header: bytes) -> tuple[dict[str, str], list[str]]:
    """Return the headers by name, and every value of Pid; lines that are no headers are passed over."""
    values: dict[str, str] = {}
    pids: list[str] = []
    for line in header.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(":")
        value = value.strip()
        if name == "Pid":
            pids.append(value)
        elif value:
            values.setdefault(name, value)
    return values, pids


def _integer(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None


def _time(text: str, otherwise: float) -> float:
    try:
        at = float(text)
    except ValueError:
        return otherwise
    return at if math.isfinite(at) and at >= 0 else otherwise


def _pair(text: str) -> tuple[int | None, int | None]:
    first, _, second = text.partition(" ")
    return _integer(first), _integer(second.lstrip())


def _processes(pids: list[str]) -> tuple[Process, ...]:
    return tuple((pid, started) for pid, started in map(_pair, pids) if pid is not None)


def _where(values: dict[str, str]) -> dict[str, Any]:
    """Return the parameters that tell the pane a report comes from."""
    where: dict[str, Any] = {}
    env: dict[str, str] = {}
    for name, value in values.items():
        if name in PLACE_HEADERS:
            env[PLACE_HEADERS[name]] = value
        elif name in _IDS and (number := _integer(value)) is not None:
            where[_IDS[name]] = number
    if env:
        where["env"] = env
    if not (env.keys() - {"SEANCE_HOST"}) and "Tty" in values:
        device, session = _pair(values["Tty"])
        terminal = terminal_name(device or 0)
        if terminal and session:
            where |= {"tty": terminal, "tty_session": session}
    return where


def terminal_name(device: int) -> str:
    """Return the path of the terminal with that device number (field 7 of stat), "" for a kind not known."""
    major, minor = device >> 8 & 0xFFF, device & 0xFF | device >> 12 & 0xFFF00
    if major == 136:
        return f"/dev/pts/{minor}"
    return f"/dev/tty{minor}" if major == 4 and minor < 64 else ""
