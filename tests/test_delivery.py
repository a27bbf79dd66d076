from __future__ import annotations

from typing import Any

import pytest

from seance_tools import delivery
from seance_tools.delivery import Decision, Pace
from seance_tools.options import look_up

NOON, NIGHT = 12 * 60, 23 * 60


def options(**more: Any) -> dict[str, Any]:
    found = look_up({"notifications": more})
    assert found.problems == ()
    return found.values


def test_nothing_goes_out_until_a_channel_is_switched_on() -> None:
    assert delivery.decide(options(), seen=False, minute=NOON).channels == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tmux_message", True),
        ("terminal", "osc99"),
        ("desktop", True),
        ("sound", "~/ding.wav"),
        ("command", ["cat"]),
    ],
)
def test_each_channel_has_its_switch(name: str, value: Any) -> None:
    assert delivery.decide(options(**{name: value}), seen=False, minute=NOON) == Decision((name,))


def test_one_that_is_seen_goes_out_only_where_that_is_wanted() -> None:
    assert delivery.decide(options(desktop=True), seen=True, minute=NOON) == Decision((), "seen")
    wanted = options(desktop=True, only_when_away=False)
    assert delivery.decide(wanted, seen=True, minute=NOON).channels == ("desktop",)


@pytest.mark.parametrize(
    ("hours", "minute", "quiet"),
    [
        ("22:00-07:00", 22 * 60, True),
        ("22:00-07:00", 22 * 60 - 1, False),
        ("22:00-07:00", 0, True),
        ("22:00-07:00", 7 * 60 - 1, True),
        ("22:00-07:00", 7 * 60, False),
        ("9:30-17:00", 9 * 60 + 29, False),
        ("9:30-17:00", 9 * 60 + 30, True),
        ("9:30-17:00", 17 * 60, False),
        ("00:00-23:59", 1439, False),
        ("", 0, False),
    ],
)
def test_quiet_hours(hours: str, minute: int, quiet: bool) -> None:
    channels = delivery.decide(options(desktop=True, quiet_hours=hours), seen=False, minute=minute).channels
    assert channels == (() if quiet else ("desktop",))


@pytest.mark.parametrize(
    "hours", ["22-7", "24:00-01:00", "22:60-07:00", "07:00-07:00", "always", "22:00–07:00"]
)
def test_hours_that_are_none_are_named(hours: str) -> None:
    [problem] = look_up({"notifications": {"quiet_hours": hours}}).problems
    assert problem.startswith("notifications.quiet_hours: ")


@pytest.mark.parametrize("command", ["notify-send", [1], [""], ["a\0b"], {"a": 1}])
def test_a_command_is_a_list_of_words(command: Any) -> None:
    [problem] = look_up({"notifications": {"command": command}}).problems
    assert problem.startswith("notifications.command: ")


def test_no_more_than_so_many_a_minute_and_the_rest_together() -> None:
    pace, went = Pace(), []
    for number in range(5):
        pace, goes = delivery.admit(pace, number, 100.0 + number, most=2)
        went.append(goes)
    assert went == [True, True, False, False, False]
    assert delivery.due(pace, 2) == 160.0
    assert delivery.release(pace, 159.9, 2) == (pace, ())
    pace, together = delivery.release(pace, 160.0, 2)
    assert together == (2, 3, 4)
    assert delivery.due(pace, 2) is None
    pace, goes = delivery.admit(pace, 9, 160.5, most=2)
    assert not goes, "the one that stood for three counts, and so does the second"
    assert delivery.due(pace, 2) == 161.0


def test_what_comes_behind_those_that_wait_waits_with_them() -> None:
    pace, _ = delivery.admit(Pace(held=(1,)), 2, 500.0, most=5)
    assert delivery.release(pace, 500.0, 5)[1] == (1, 2)


def test_a_lower_limit_from_config_toml_is_no_trouble() -> None:
    pace = Pace((1.0, 2.0, 3.0), (7,))
    assert delivery.due(pace, 1) == 63.0
    assert delivery.release(pace, 10.0, 1)[1] == ()
