from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.activity import IDLE, RUNNING, Activity

BEGUN = Activity(last_write=100.0, idle_timeout=5.0)


def replay(*steps: tuple[float, bool]) -> list[str]:
    """Return the events of a session that begins at 0, from (time, whether the log was written)."""
    activity, events = Activity(0.0, 5.0), []
    for now, written in steps:
        activity, event = activity.advance(now, written=written)
        events.append(event)
    return events


def test_a_session_begins_running_and_says_so_only_once() -> None:
    assert BEGUN.running
    assert BEGUN.advance(101.0, written=True) == (BEGUN._replace(last_write=101.0), "")


@pytest.mark.parametrize(("silence", "event"), [(0.0, ""), (4.99, ""), (5.0, IDLE), (60.0, IDLE)])
def test_five_seconds_of_silence_are_idle(silence: float, event: str) -> None:
    assert BEGUN.advance(100.0 + silence, written=False) == (BEGUN._replace(running=not event), event)


def test_every_write_begins_the_silence_anew() -> None:
    assert replay((4.0, True), (8.9, False), (9.0, False)) == ["", "", IDLE]


def test_a_write_ends_idleness_and_idleness_is_said_once() -> None:
    assert replay((5.0, False), (9.0, False), (700.0, True), (701.0, True)) == [IDLE, "", RUNNING, ""]


def test_a_write_noticed_late_counts_before_the_silence() -> None:
    assert replay((30.0, True), (34.0, False), (35.0, False)) == ["", "", IDLE]


def test_an_idle_session_needs_no_waking() -> None:
    assert BEGUN.timeout(102.0) == 3.0
    assert BEGUN.timeout(109.0) == 0.0
    assert BEGUN._replace(running=False).timeout(109.0) is None


@given(st.lists(st.tuples(st.floats(0, 20), st.booleans())))
def test_events_alternate_and_the_last_one_is_the_state(steps: list[tuple[float, bool]]) -> None:
    activity, now, events = BEGUN, 100.0, [RUNNING]
    for pause, written in steps:
        now += pause
        activity, event = activity.advance(now, written=written)
        events += [event] if event else []
    assert all(one != other for one, other in itertools.pairwise(events))
    assert activity.running == (events[-1] == RUNNING)


@given(st.floats(0, 1e6), st.floats(0.1, 100))
def test_waking_at_the_timeout_is_enough(silence: float, idle_timeout: float) -> None:
    activity = Activity(100.0, idle_timeout)
    now = 100.0 + silence
    wait = activity.timeout(now)
    assert wait is not None
    assert activity.advance(now + wait + 1e-3, written=False)[1] == IDLE
