"""How long something has lasted, as a short text, and when that text changes."""

from __future__ import annotations

from collections.abc import Iterable

_MINUTE = 60
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def _seconds(since: float, now: float) -> int:
    """Return whole seconds. Both times lose their fraction, so that all ages change at the same moment."""
    return int(now) - int(since)


def age(since: float, now: float) -> str:
    """Return a duration, coarser as it grows: 41s, 9m, 3h, 2d."""
    seconds = max(_seconds(since, now), 0)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "0s"


def next_tick(sinces: Iterable[float], now: float) -> float | None:
    """Return in how many seconds the first of these ages is due to change, or None where there is none.

    Ages in seconds change each second; the others wait for the next whole minute of the clock, together.
    """
    ticks = []
    for since in sinces:
        seconds = _seconds(since, now)
        if seconds < _MINUTE:
            ticks.append(1 if seconds >= 0 else 1 - seconds)
        else:
            size = next(size for size, _ in _UNITS if seconds >= size)
            due = int(now) + size - seconds % size
            ticks.append(-(-due // _MINUTE) * _MINUTE - int(now))
    return min(ticks) - now % 1 if ticks else None
