from __future__ import annotations

import json

from seance_tools.events import Event, Feed, Queue
from seance_tools.state.tables import TOPICS, Change


def status(number: int, key: str = "k") -> Change:
    return Change("status", (1, key), {"workspace_id": 1, "key": key, "value": f"v{number}"})


def log(number: int) -> Change:
    return Change("log", (1, number), {"workspace_id": 1, "number": number})


def seqs(data: bytes) -> list[int]:
    return [json.loads(line)["seq"] for line in data.splitlines()]


def overrun(queue: Queue) -> bool:
    return queue.lagging or queue.overfull


def test_changes_are_numbered_without_gaps_and_private_ones_not_shown() -> None:
    feed = Feed("boot")
    events = feed.publish([log(1), Change("counter", ("x",), {"name": "x"}), log(2)])
    assert [event.seq for event in events] == [1, 2]
    assert json.loads(events[0].line) == {
        "seq": 1,
        "event": "log.set",
        "data": {"workspace_id": 1, "number": 1},
    }
    cleared = Event(3, Change("log", (1, 2), None))
    assert json.loads(cleared.line) == {
        "seq": 3,
        "event": "log.clear",
        "data": {"workspace_id": 1, "number": 2},
    }


def test_replay() -> None:
    feed = Feed("boot", size=4)
    feed.publish([log(number) for number in range(6)])
    assert [event.seq for event in feed.since(2, "boot") or []] == [3, 4, 5, 6]
    assert feed.since(6, "boot") == []
    assert feed.since(1, "boot") is None
    assert feed.since(7, "boot") is None
    assert feed.since(3, "another") is None
    assert feed.since(3, None) is None


def test_status_coalesces_by_key_and_log_does_not() -> None:
    queue = Queue(TOPICS)
    for seq, change in enumerate([status(1), log(1), status(2), status(1, "other"), log(2)], 1):
        queue.add(Event(seq, change))
    assert seqs(queue.take(1 << 20)) == [2, 3, 4, 5]
    assert len(queue) == 0


def test_take_gives_whole_lines_about_a_size() -> None:
    queue = Queue(TOPICS)
    for seq in range(1, 5):
        queue.add(Event(seq, log(seq)))
    assert seqs(queue.take(1)) == [1]
    assert seqs(queue.take(1 << 20)) == [2, 3, 4]
    assert queue.take(1) == b""


def test_topics_filter() -> None:
    queue = Queue(["log"])
    queue.add(Event(1, status(1)))
    queue.add(Event(2, log(1)))
    assert seqs(queue.take(1 << 20)) == [2]


def test_a_queue_is_bounded_by_number_and_by_size() -> None:
    queue = Queue(TOPICS, limit=3)
    for seq in range(1, 4):
        queue.add(Event(seq, log(seq)))
    assert not overrun(queue)
    queue.add(Event(4, log(4)))
    assert overrun(queue)
    queue = Queue(TOPICS, limit_bytes=100)
    queue.add(Event(1, log(1)))
    assert not overrun(queue)
    queue.add(Event(2, log(2)))
    assert overrun(queue)


def test_coalescing_keeps_a_busy_status_within_bounds() -> None:
    queue = Queue(TOPICS, limit=3, limit_bytes=200)
    for seq in range(1, 10_000):
        queue.add(Event(seq, status(seq % 7)))
    assert not overrun(queue)
    assert seqs(queue.take(1 << 20)) == [9999]


def test_a_replay_may_be_of_any_size_until_it_is_read() -> None:
    queue = Queue(TOPICS, limit_bytes=100)
    queue.replay(Event(seq, log(seq)) for seq in range(1, 11))
    queue.add(Event(11, log(11)))
    assert not overrun(queue)
    assert len(seqs(queue.take(1 << 20))) == 11
    queue.add(Event(12, log(12)))
    queue.add(Event(13, log(13)))
    assert queue.overfull


def test_a_burst_is_bounded_for_those_who_read_too() -> None:
    queue = Queue(TOPICS, limit=2)
    for seq in range(1, 17):
        queue.add(Event(seq, log(seq)))
    assert queue.lagging
    assert not queue.overfull
    queue.add(Event(17, log(17)))
    assert queue.overfull
