"""The socket that comes back."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from seance_tools.sidebar.arrival import Arrival
from seance_tools.sidebar.jobs import Jobs
from seance_tools.sidebar.link import HEARTBEAT_SECONDS, STALE_SECONDS, Link, pause
from tests.sidebar.standin import Broker
from tests.support import eventually


@pytest.mark.parametrize("by_rename", [False, True])
def test_a_file_of_that_name_is_told_and_no_other(tmp_path: Path, *, by_rename: bool) -> None:
    path, other = tmp_path / "broker.sock", tmp_path / "broker.sock.17"
    arrival = Arrival(str(path))
    try:
        other.touch()
        assert select.select([arrival.fileno()], [], [], 2.0)[0]
        assert not arrival.arrived()
        other.rename(path) if by_rename else path.touch()
        assert select.select([arrival.fileno()], [], [], 2.0)[0]
        assert arrival.arrived()
        assert not arrival.arrived()
        assert not os.get_inheritable(arrival.fileno())
    finally:
        arrival.close()


def test_the_pauses_grow_to_half_a_minute() -> None:
    pauses = [pause(failures) for failures in range(1, 40)]
    assert pauses == sorted(pauses)
    assert pauses[:4] == [0.1, 0.2, 0.4, 0.8]
    assert pauses[11] == 1.0
    assert 8 < sum(pauses[:12]) < 11
    assert pauses[-1] == pauses[20] == 30.0


class Clock:
    """A clock that stands until a test moves it; and a link that goes by it."""

    def __init__(self, path: str) -> None:
        self.now = 0.0
        self.wake, woken = os.pipe()
        self.woken = woken
        self.jobs = Jobs(woken)
        self.link = Link(path, self.jobs, lambda: self.now)

    def settled(self) -> bool:
        """Deliver what has come; tell whether the link has something to wait for."""
        self.jobs.deliver()
        return self.link.due is not None

    def changed(self) -> bool:
        """Return whether there was anything to draw since last asked."""
        changed, self.link.changed = self.link.changed, False
        return changed

    def trouble(self) -> str:
        return self.link.trouble.title if self.link.trouble else ""

    def pass_time(self) -> float:
        """Let the time come at which the link has something to do; return how long that was."""
        eventually(self.settled)
        assert self.link.due is not None
        waited = self.link.due - self.now
        self.now = self.link.due
        self.link.attempt()
        return waited

    def close(self) -> None:
        self.link.close()
        os.close(self.wake)
        os.close(self.woken)


def test_once_gone_for_long_the_broker_is_awaited_not_asked_for(standin: Broker) -> None:
    clock = Clock(standin.path)
    eventually(lambda: clock.settled() and clock.link.connection)
    standin.close()

    def lost() -> bool:
        if clock.link.connection:
            clock.link.receive()
        return clock.link.connection is None

    eventually(lost)
    while not clock.link.arrival:
        assert clock.pass_time() <= 2.0
        eventually(clock.settled)
    clock.changed()
    waits = [clock.pass_time() for _ in range(8)]
    assert waits[-3:] == [30.0, 30.0, 30.0]
    assert not clock.changed()
    eventually(clock.settled)
    standin.open()
    arrival = clock.link.arrival
    assert arrival
    assert select.select([arrival.fileno()], [], [], 2.0)[0]
    eventually(clock.settled)
    clock.link.arrived()
    assert clock.pass_time() == 0.0
    eventually(lambda: clock.settled() and clock.link.connection)
    assert not clock.trouble()
    assert clock.changed()
    clock.close()


def test_a_broker_that_says_nothing_is_hung_until_it_says_something(standin: Broker) -> None:
    clock = Clock(standin.path)
    eventually(lambda: clock.settled() and clock.link.connection)
    assert standin.requests[-1]["params"]["heartbeat"] == HEARTBEAT_SECONDS < STALE_SECONDS
    assert clock.pass_time() == STALE_SECONDS
    assert clock.trouble() == "no answer"
    assert clock.link.due is None
    assert clock.link.connection
    standin.beat()
    assert select.select([clock.link.connection], [], [], 2.0)[0]
    clock.changed()
    clock.link.receive()
    assert not clock.trouble()
    assert clock.changed()
    clock.now += 60
    standin.beat()
    assert select.select([clock.link.connection], [], [], 2.0)[0]
    clock.changed()
    clock.link.receive()
    assert not clock.changed()
    assert clock.pass_time() == STALE_SECONDS
    clock.close()
