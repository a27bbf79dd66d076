"""What the log that an agent keeps of a session says of what its hooks do not tell, above all after Esc."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from seance_tools.lifecycle.payloads import Record, member_at

if TYPE_CHECKING:
    from seance_tools.agent_events import Mark

# Where agents' logs have the same thing.
_CALL = ("message.content.0.tool_use_id", "payload.call_id")
_MESSAGE = "message.id"
_TIME = "timestamp"


class Transcript:
    """Reads the entries of one log in their order. marks: the agent's row of AGENTS has them."""

    def __init__(self, marks: Mapping[str, tuple[Mark, ...]]) -> None:
        self._marks = marks
        self._message = ""  # the model's last, which may come in several entries

    def read(self, entries: Iterable[Record]) -> list[Record]:
        """Return what entries say, each as `lifecycle.review` takes it; nothing of one without its time."""
        signs = []
        for entry in entries:
            at = _seconds(entry.get(_TIME))
            sign = self._sign(entry) if at is not None else {}
            if sign:
                signs.append({"at": at, **sign})
        return signs

    def _sign(self, entry: Record) -> Record:
        others = self._is(entry, "skip")
        if not others and self._is(entry, "interrupted"):
            return {"interrupted": True}
        if self._is(entry, "answered"):  # its call's id tells whose it is
            call = next((value for path in _CALL if (value := member_at(entry, path))), "")
            return {"answered": call} if isinstance(call, str) and call else {}
        if others:
            return {}
        message = member_at(entry, _MESSAGE)
        if self._is(entry, "asked_again") and isinstance(message, str) and message != self._message:
            before, self._message = self._message, message
            return {"asked_again": True} if before else {}  # the first may be that which has called the tools
        return {}

    def _is(self, entry: Record, name: str) -> bool:
        return any(all(_holds(entry, *pair) for pair in mark) for mark in self._marks.get(name, ()))


def _holds(entry: Record, path: str, wanted: Any) -> bool:
    value = member_at(entry, path)
    if isinstance(wanted, str):
        return isinstance(value, str) and value.startswith(wanted)
    return bool(value is wanted)


def _seconds(value: Any) -> float | None:
    """Return a time stamp of RFC 3339 in seconds since 1970, None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        return None
    return when.timestamp() if when.tzinfo else None
