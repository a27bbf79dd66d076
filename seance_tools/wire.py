"""The wire: frames, requests, replies and errors. Bytes in, values out; no I/O.

A frame is one JSON object on one line. `Framer` turns bytes into lines with bounds; `decode` turns a line
into a request; `reply`, `failure` and `encode` turn values into lines. See seance-protocol(7).
"""

from __future__ import annotations

import math
from _json import make_scanner
from collections.abc import Collection
from typing import Any, NamedTuple

import ujson

from seance_tools.names import LIMITS

Id = str | int | float | None
_INT_LOW, _INT_HIGH = -(1 << 63), (1 << 63) - 1
_MAX_DEPTH = LIMITS["json_depth"]
_MAX_KEYS = LIMITS["object_keys"]

ERROR_CODES = {
    "parse_error": "the line is not one JSON object",
    "invalid_request": "no method, or a part of the request has the wrong type",
    "method_not_found": "no such method; the message names the closest one",
    "invalid_params": "a parameter is missing, unknown, mistyped, out of range or too long; `param` names it",
    "not_found": "no such workspace, surface, session or notification",
    "too_large": "the line is over the limit; it was discarded up to its end",
    "limit_exceeded": "a table is full",
    "not_supported": "known, but it cannot be done here",
    "unauthorized": "the socket belongs to another user",
    "busy": "too many connections",
    "internal": "a fault of the broker; its log has the details",
}


class WireError(Exception):
    """A request that cannot be done: `code` of ERROR_CODES, a message, and the parameter at fault."""

    def __init__(self, code: str, message: str, param: str | None = None, request_id: Id = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.request_id = request_id


class Request(NamedTuple):
    """One decoded request."""

    id: Id
    method: str
    params: dict[str, Any]
    caller: dict[str, Any] = {}  # noqa: RUF012 - never altered

    def with_caller(self, takes: Collection[str]) -> dict[str, Any]:
        """Return the parameters, with those of `caller` that the method takes where the ids are not given.

        takes: names of the method's parameters. `caller` stands beside params in a request and tells the
        pane it comes from, whatever the method; explicit ids win.
        """
        if not self.caller or "workspace_id" in self.params or "surface_id" in self.params:
            return self.params
        told = {name: value for name, value in self.caller.items() if name in takes}
        return {**told, **self.params}


class Framer:
    """Cuts a byte stream into lines, with bounds.

    A line over `request_bytes` is reported once as None and discarded up to its newline, so that its tail
    never runs as a request. `hopeless` is set when `unterminated_bytes` came without a newline: close then.
    """

    def __init__(
        self, limit: int = LIMITS["request_bytes"], hopeless_at: int = LIMITS["unterminated_bytes"]
    ) -> None:
        self.limit = limit
        self.hopeless_at = hopeless_at
        self.hopeless = False
        self._partial = bytearray()
        self._discarded = 0  # bytes thrown away of the line now being discarded

    @property
    def partial(self) -> bool:
        """True while a line has begun and not ended."""
        return bool(self._partial) or self._discarded > 0

    def feed(self, data: bytes) -> list[bytes | None]:
        """Return the lines that `data` completes, without their ends; None stands for one too large.

        Blank lines are skipped. A CR before the LF is white space to JSON and needs no care.
        """
        frames: list[bytes | None] = []
        lines = data.split(b"\n")
        rest = lines.pop()
        for line in lines:
            if self._discarded:
                self._discarded = 0
                continue
            if self._partial:
                self._partial += line
                line = bytes(self._partial)  # noqa: PLW2901 - the whole line, of which this was the end
                self._partial.clear()
            if len(line) > self.limit:
                frames.append(None)
            elif line and not line.isspace():
                frames.append(line)
        if rest:
            self._keep(rest, frames)
        return frames

    def _keep(self, rest: bytes, frames: list[bytes | None]) -> None:
        if self._discarded:
            self._discarded += len(rest)
        else:
            self._partial += rest
            if len(self._partial) > self.limit:
                self._discarded = len(self._partial)
                self._partial.clear()
                frames.append(None)
        self.hopeless = self._discarded >= self.hopeless_at


def _depth_over(text: str) -> bool:
    """Return True if brackets outside strings nest deeper than allowed."""
    depth = 0
    quoted = escaped = False
    for character in text:
        if quoted:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                quoted = False
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
            if depth > _MAX_DEPTH:
                return True
        elif character in "]}":
            depth -= 1
    return False


def check_value(value: Any) -> None:
    """Raise ValueError if a number is out of range or not finite, or an object has too many keys."""
    kind = type(value)
    if kind is dict:
        if len(value) > _MAX_KEYS:
            raise ValueError(f"object has more than {_MAX_KEYS} keys")
        items = value.values()
    elif kind is list:
        items = value
    else:
        items = (value,)
    for item in items:
        kind = type(item)
        if kind is str or kind is bool or item is None:
            continue
        if kind is int:
            if not _INT_LOW <= item <= _INT_HIGH:
                raise ValueError("integer out of range (±2^63)")
        elif kind is float:
            if not math.isfinite(item):
                raise ValueError("number is not finite")
        else:
            check_value(item)


def parse(line: bytes | str) -> Any:
    """Return the JSON value of `line`.

    Raises WireError `parse_error` for what is not strict JSON in UTF-8 within the limits.
    """
    try:
        text = line if isinstance(line, str) else line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WireError("parse_error", f"not UTF-8 at byte {error.start}") from None
    if text.count("[") + text.count("{") > _MAX_DEPTH and _depth_over(text):
        raise WireError("parse_error", f"nested deeper than {_MAX_DEPTH}")
    try:
        value, end = _SCAN(text, 0)
        if end == len(text):
            return value
    except (ValueError, RecursionError, StopIteration):
        pass  # space around it, or a fault: the slower way takes the one and tells the other
    import json

    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise WireError("parse_error", f"not JSON: {error.msg} at {where}") from None
    except (ValueError, RecursionError) as error:
        raise WireError("parse_error", f"not JSON: {error}") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


# Requests are read with the standard library's C scanner: ujson takes NaN, 1e999, 01, 1. and raw control
# characters, and finding those beforehand cost more (6.5 µs a request) than the strict parser (2.3 µs).
class _Strict:
    """What the scanner is told: the standard library's ways, but no NaN and Infinity."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = staticmethod(_refuse_constant)


_STRICT: Any = _Strict
_SCAN = make_scanner(_STRICT)  # without the package json, which is 1 ms of a command's start


def decode(line: bytes) -> Request:
    """Return the request of one line.

    Raises WireError with `request_id` set as far as it could be read.
    """
    value = parse(line)
    if type(value) is not dict:
        raise WireError("parse_error", "a request is a JSON object")
    request_id = value.get("id")
    if type(request_id) not in (str, int, float) or (
        type(request_id) is float and not math.isfinite(request_id)
    ):
        request_id = None
    method = value.get("method")
    if type(method) is not str:
        raise WireError("invalid_request", "method: a string is needed", "method", request_id)
    params = value.get("params")
    if params is None:
        params = {}
    elif type(params) is not dict:
        raise WireError("invalid_request", "params: an object is needed", "params", request_id)
    caller = value.get("caller")
    if caller is None:
        caller = {}
    elif type(caller) is not dict:
        raise WireError("invalid_request", "caller: an object is needed", "caller", request_id)
    try:
        check_value(params)
        if caller:
            check_value(caller)
    except ValueError as error:
        raise WireError("parse_error", str(error), None, request_id) from None
    return Request(request_id, method, params, caller)


def encode(value: Any) -> bytes:
    """Return `value` as one line of ASCII JSON with its newline. Raises ValueError on NaN and infinities."""
    text: str = ujson.dumps(value, allow_nan=False, escape_forward_slashes=False, ensure_ascii=True)
    return text.encode("ascii") + b"\n"


def reply(request_id: Id, result: Any) -> bytes:
    """Return the line of a successful answer."""
    if not result and type(request_id) is int:
        return b'{"id":%d,"ok":true,"result":{}}\n' % request_id  # what most answers are
    return encode({"id": request_id, "ok": True, "result": result})


def failure(request_id: Id, error: WireError) -> bytes:
    """Return the line of a refusal."""
    body = {"code": error.code, "message": error.message}
    if error.param is not None:
        body["param"] = error.param
    return encode({"id": request_id, "ok": False, "error": body})
