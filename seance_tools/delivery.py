"""Where a notification goes out: switches, quiet hours, whether it was seen, and how many a minute.

Options and times in, decisions out; what a channel does is in `notify/`. The sidebar and tmux's flag of
unread ones are no channels in this sense: they show what there is, at any hour.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

# The switches below [notifications], each a channel.
CHANNELS = ("tmux_message", "terminal", "desktop", "sound", "command")
TERMINAL_KINDS = ("off", "bell", "osc9", "osc99", "osc777")
PACE_SECONDS = 60.0  # what `per_minute` counts in
_HOURS = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])-([01]?[0-9]|2[0-3]):([0-5][0-9])").fullmatch


class Decision(NamedTuple):
    """The channels that a notification goes out on; where there are none, `kept` says why."""

    channels: tuple[str, ...]
    kept: str = ""


class Pace(NamedTuple):
    """Of one channel: when something went out within the last minute, and the ids that wait."""

    sent: tuple[float, ...] = ()
    held: tuple[int, ...] = ()


def minutes(hours: str) -> tuple[int, int] | None:
    """Return (first, past the last) minute of the day of `"22:00-07:00"`, None for "".

    Raises ValueError for anything else.
    """
    if not hours:
        return None
    found = _HOURS(hours)
    if not found:
        raise ValueError('hours as in "22:00-07:00" are needed, or "" for none')
    first, past = (int(found[n]) * 60 + int(found[n + 1]) for n in (1, 3))
    if first == past:
        raise ValueError("quiet hours that begin when they end are none, or all: name two times")
    return first, past


def quiet(hours: str, minute: int) -> bool:
    """Return whether a minute of the local day (0 to 1439) is inside the hours, which may cross midnight.

    The clock on the wall counts, so that a change to summer time needs no thought.
    """
    span = minutes(hours)
    if span is None:
        return False
    first, past = span
    return first <= minute < past if first < past else minute >= first or minute < past


def decide(options: Mapping[str, Any], *, seen: bool, minute: int) -> Decision:
    """Return where a new notification goes out.

    seen: whether somebody looked at its pane when it came. minute: of the local day, 0 to 1439.
    """
    chosen = tuple(name for name in CHANNELS if _on(options[f"notifications.{name}"]))
    if not chosen:
        return Decision((), "no channel is on")
    if seen and options["notifications.only_when_away"]:
        return Decision((), "seen")
    if quiet(options["notifications.quiet_hours"], minute):
        return Decision((), "quiet hours")
    return Decision(chosen)


def _on(value: Any) -> bool:
    return value not in (False, "", "off", [])


def admit(pace: Pace, number: int, now: float, most: int) -> tuple[Pace, bool]:
    """Return (the pace after it, whether the notification goes out now); else it waits.

    now: of any clock that only goes forward, in seconds. most: how many a minute.
    """
    pace = _recent(pace, now)
    if pace.held or len(pace.sent) >= most:
        return pace._replace(held=(*pace.held, number)), False
    return pace._replace(sent=(*pace.sent, now)), True


def release(pace: Pace, now: float, most: int) -> tuple[Pace, tuple[int, ...]]:
    """Return (the pace after it, ids that go out now, together as one); none while there is no room."""
    pace = _recent(pace, now)
    if not pace.held or len(pace.sent) >= most:
        return pace, ()
    return Pace((*pace.sent, now)), pace.held


def due(pace: Pace, most: int) -> float | None:
    """Return when `release` has something to give out, None where nothing waits."""
    if not pace.held:
        return None
    return pace.sent[-most] + PACE_SECONDS if len(pace.sent) >= most else 0.0


def _recent(pace: Pace, now: float) -> Pace:
    return pace._replace(sent=tuple(at for at in pace.sent if now - at < PACE_SECONDS))
