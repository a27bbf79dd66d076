"""What the log of a session says, whatever its format: `Turn` is told, `Turns` reads the lines."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, NamedTuple

from seance_tools.names import LIMITS
from seance_tools.text import clean
from seance_tools.tools import describe_tool
from seance_tools.turns.outcome import Outcome

Line = dict[str, Any]
CHARACTERS = LIMITS["name_characters"]
_MOST = 1e12  # a number over this is not a count of anything


class Turn(NamedTuple):
    """What a session does, as far as its log says.

    state: running, idle, error or ended. text: what it does ("file-picker", "editing cart.py", "retrying"),
    "" where nothing more is known. reason: of an error. subagents: ids of those at work. credits: spent in
    this turn. waiting: messages in the queue. maybe_needs_input: a tool was called and neither allowed nor
    done; whether it waits or runs only its age can tell. turn_open: the turn has begun and not ended.
    since: when the state began, at: when any of this changed last, both by the log's own clock in seconds
    since 1970 (0 where it never said). rule: what decided the state, for people.
    """

    state: str = "idle"
    text: str = ""
    reason: str = ""
    subagents: frozenset[str] = frozenset()
    credits: float = 0
    waiting: int = 0
    maybe_needs_input: bool = False
    turn_open: bool = False
    since: float = 0.0
    at: float = 0.0
    rule: str = ""


class Turns:
    """One session's log; a format is a subclass with `_take`.

    known: a line of this format was seen; until then the caller has only the activity to go by. pid: the
    process that wrote the last line, None where lines do not say. turn: what is so now.
    """

    def __init__(self) -> None:
        self.known = False
        self.pid: int | None = None
        self.turn = Turn()
        self._at = 0.0

    def read(self, line: Line) -> Turn | None:
        """Take the next line; returns what is so now, None where nothing changed. Any line is harmless."""
        before = self.turn
        self._at = _seconds(line.get("timestamp"), self._at)
        self._take(line)
        return self.turn if self.turn != before else None

    def saved(self, outcome: Outcome, at: float) -> Turn | None:  # noqa: ARG002 - not every format has such a file
        """Take a save of the file beside the log: its outcome and the time of its modification.

        Returns as `read` does.
        """
        return None

    def _take(self, line: Line) -> None:
        """Change `turn` by what `line` says."""
        raise NotImplementedError

    def _change(self, **fields: Any) -> None:
        """Put `fields` into the turn; `since` and `at` follow by themselves."""
        after = self.turn._replace(**fields)
        if after.state != self.turn.state:
            after = after._replace(since=self._at)
        if after != self.turn:
            self.turn = after._replace(at=self._at)


def pid_of(line: Line) -> int | None:
    """Return the process that wrote a line, None where it does not say."""
    pid = line.get("pid")
    return pid if type(pid) is int and 0 < pid < _MOST else None


def name(data: Line, member: str) -> str:
    """Return a text of `data` that names something, cleaned; "" where there is none."""
    value = data.get(member)
    return clean(value, CHARACTERS) if isinstance(value, str) else ""


def count(data: Line, member: str) -> float:
    """Return a number of `data` that counts something; 0 where there is none."""
    value = data.get(member)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return value if 0 <= value < _MOST and math.isfinite(value) else 0


def message_of(error: Any, otherwise: str) -> str:
    """Return the first line of an error's message: `error` is a text, or an object with one."""
    value = error.get("message") if isinstance(error, dict) else error
    head = value[:4096].strip() if isinstance(value, str) else ""
    return clean(head.splitlines()[0].rstrip(), CHARACTERS) if head else otherwise


def doing(tool: str, arguments: Any) -> str:
    """Return what a tool does, in the small letters of a turn's text ("editing cart.py")."""
    text = describe_tool(tool, arguments)
    return text[:1].lower() + text[1:]


def _seconds(timestamp: Any, otherwise: float) -> float:
    """Return an ISO 8601 time as seconds since 1970; `otherwise` if it is none."""
    if not isinstance(timestamp, str):
        return otherwise
    try:
        time = datetime.fromisoformat(timestamp)
        seconds = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        return otherwise
    return seconds if seconds > 0 else otherwise
