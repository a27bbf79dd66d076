"""How a Codebuff run came out, from the end of its run-state.json."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from seance_tools.names import LIMITS
from seance_tools.text import clean

TAIL_BYTES = 1 << 18  # enough of the file: errors are short, and a long answer is told by the log as well

IN_FLIGHT = "in flight"
SETTLED = "settled"
FAILED = "failed"
CANCELLED = "cancelled"
UNKNOWN = "unknown"

# Every snapshot of a run that is not over carries this for an answer; the last save has the real one.
_IN_FLIGHT = "The session ended before this response completed"
_CANCELLED = "Run cancelled by user"
_KEY = re.compile(r'"output"\s*:\s*')  # inside a string the quotes would be escaped: this is always a key
# The file's last brace. On a line of its own it is not indented: older releases write the file in place, and
# what is read of one half written may end in the brace of an inner object.
_END = re.compile(r"(?: *|\s*\n)}\s*\Z")
_JSON = json.JSONDecoder(strict=False)  # ujson cannot begin in the middle of a text


class Outcome(NamedTuple):
    """IN_FLIGHT, SETTLED, FAILED with its reason, CANCELLED, or UNKNOWN where the file does not tell."""

    kind: str
    reason: str = ""


def outcome(tail: bytes) -> Outcome:
    """Return the outcome that stands at the end of run-state.json.

    tail: the last bytes of the file (TAIL_BYTES are enough), cut anywhere, in any layout. Never raises.
    """
    output = _last_output(tail.decode("utf-8", "replace"))
    if not isinstance(output, dict) or not isinstance(output.get("type"), str):
        return Outcome(UNKNOWN)
    if output["type"] != "error":
        return Outcome(SETTLED)
    message = output.get("message")
    message = message.strip() if isinstance(message, str) else ""
    if message.startswith(_IN_FLIGHT):
        return Outcome(IN_FLIGHT)
    if message.startswith(_CANCELLED):
        return Outcome(CANCELLED)
    code = output.get("statusCode")
    first = message.partition("\n")[0] or (f"status {code}" if type(code) is int else "the run failed")
    return Outcome(FAILED, clean(first, LIMITS["name_characters"]))


def _last_output(text: str) -> Any:
    """Return the value of the key `output` that only the file's last brace follows; None without one."""
    for key in _KEY.finditer(text):
        try:
            value, end = _JSON.raw_decode(text, key.end())
        except (ValueError, RecursionError):
            continue
        if _END.match(text, end):
            return value
    return None
