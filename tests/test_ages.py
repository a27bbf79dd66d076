"""Ages, and when the next one changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.ages import age
from seance_tools.view import Ui, next_tick
from tests.view.world import NOW, World, lines


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "0s"),
        (0, "0s"),
        (41, "41s"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h"),
        (86399, "23h"),
        (86400, "1d"),
        (2.5 * 86400, "2d"),
    ],
)
def test_ages_are_coarser_as_they_grow(seconds: float, shown: str) -> None:
    assert age(NOW - seconds, NOW) == shown


@given(st.lists(st.floats(-100, 300_000), min_size=1, max_size=5), st.floats(0, 1))
def test_the_next_tick_is_when_an_age_changes_or_within_the_minute_after(
    ages: list[float], fraction: float
) -> None:
    world = World()
    now = int(NOW) + fraction
    for number, seconds in enumerate(ages):
        world.do("workspace.set_status", NOW - now + seconds, workspace_id=1, key=str(number), value="x")
    sinces = [row["since"] for row in world.tables.all("status")]
    tick = next_tick(sinces, now)
    assert tick is not None
    assert tick >= 0

    def shown(moment: float) -> list[str]:
        return [age(since, moment) for since in sinces]

    assert shown(now + tick + 0.001) != shown(now)
    if min(now - since for since in sinces) < 60:
        assert tick <= 1 or max(sinces) > now
        for part in (0.25, 0.5, 0.99):
            young = [age(since, now + max(tick * part - 0.001, 0)) for since in sinces if now - since < 60]
            assert young == [age(since, now) for since in sinces if now - since < 60]
    else:
        assert (now + tick) % 60 == pytest.approx(0, abs=0.001) or (now + tick) % 60 > 59.999
        assert shown(now + max(tick - 60.001, 0)) == shown(now)


def test_ages_in_minutes_tick_once_a_minute_however_many_they_are() -> None:
    world = World()
    for number in range(300):
        world.do("workspace.set_status", 61 + number * 13.37, workspace_id=number, key="k", value="x")
    ticks, now = 0, NOW
    while now < NOW + 600:
        tick = next_tick([row["since"] for row in world.tables.all("status")], now)
        assert tick is not None
        now += tick + 1e-6
        ticks += 1
    assert ticks <= 11


def test_all_ages_change_at_the_same_moment() -> None:
    world = World()
    for number in range(100):
        world.do("workspace.set_status", number * 1.37, workspace_id=number, key="k", value="x")
    ticks, now = 0, NOW
    while now < NOW + 10:
        tick = next_tick([row["since"] for row in world.tables.all("status")], now)
        assert tick is not None
        now += tick + 1e-6
        ticks += 1
    assert ticks <= 11


def test_without_ages_there_is_no_tick() -> None:
    assert next_tick((), NOW) is None


def test_a_frame_tells_the_ages_that_are_on_the_screen_and_no_others() -> None:
    world = World()
    for number in range(1, 30):
        world.do("workspace.set_status", number, workspace_id=number, key="k", value="x")
    frame = world.render((41, 12))
    shown = [row for row in lines(frame) if row.endswith("s")]
    assert len(shown) == len(frame.sinces) > 1
    assert [f"{age(since, NOW)}" for since in frame.sinces] == [row.split()[-1] for row in shown]
    assert world.render((41, 12), Ui(help=True)).sinces == ()
    assert world.render((41, 12), Ui(compact=True)).sinces == ()
