"""Numbered changes, for those who subscribe: the replay of the last ones, and the queue of one subscriber.

Pure: the broker moves the bytes.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable

from seance_tools import wire
from seance_tools.names import LIMITS
from seance_tools.state.tables import PRIVATE, Change

BURST = 8  # limits' worth of changes that may wait for one who reads
# Only the last value of these matters to a subscriber that lags behind.
COALESCED = frozenset({"status", "progress", "counts"})


class Event:
    """A numbered change; its line is made once, when somebody first wants it."""

    __slots__ = ("_line", "change", "seq")

    def __init__(self, seq: int, change: Change) -> None:
        self.seq = seq
        self.change = change
        self._line = b""

    @property
    def line(self) -> bytes:
        """The event as subscribers get it."""
        if not self._line:
            self._line = wire.encode({"seq": self.seq, **self.change.event()})
        return self._line


class Feed:
    """Numbers changes and keeps the last ones for those who come back.

    boot_id: name of this run of the broker; numbers of another run mean nothing.
    """

    def __init__(self, boot_id: str, size: int = LIMITS["replay_events"]) -> None:
        self.boot_id = boot_id
        self.seq = 0
        self._kept: deque[Event] = deque(maxlen=size)

    def publish(self, changes: Iterable[Change]) -> list[Event]:
        """Return the changes that may be shown, numbered."""
        events = []
        for change in changes:
            if change.kind not in PRIVATE:
                self.seq += 1
                events.append(Event(self.seq, change))
        self._kept.extend(events)
        return events

    def since(self, after_seq: int, boot_id: str | None) -> list[Event] | None:
        """Return the events after `after_seq`, or None where some of them are gone or were another run's."""
        if boot_id != self.boot_id or after_seq > self.seq:
            return None
        missing = self.seq - after_seq
        if missing > len(self._kept):
            return None
        return list(self._kept)[len(self._kept) - missing :] if missing else []


class Queue:
    """What waits for one subscriber."""

    def __init__(
        self,
        topics: Iterable[str],
        limit: int = LIMITS["subscriber_events"],
        limit_bytes: int = LIMITS["subscriber_bytes"],
    ) -> None:
        self.topics = frozenset(topics)
        self.limit = limit
        self.limit_bytes = limit_bytes
        self._replaying = False  # a replay may be of any size: it is bounded by what is kept
        self._waiting: OrderedDict[object, Event] = OrderedDict()
        self._bytes = 0

    @property
    def lagging(self) -> bool:
        """Whether so many changes wait that one who has read nothing for a while is to be cut off."""
        return len(self._waiting) > self.limit

    @property
    def overfull(self) -> bool:
        """Whether so much waits that the subscriber is to be cut off at once."""
        much = self._bytes > self.limit_bytes or len(self._waiting) > BURST * self.limit
        return much and not self._replaying

    def replay(self, events: Iterable[Event]) -> None:
        """Queue what a subscriber has missed, however much that is."""
        for event in events:
            self.add(event)
        self._replaying = bool(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, event: Event) -> None:
        """Queue an event; a waiting one of the same row gives way where only the last value matters."""
        change = event.change
        if change.kind not in self.topics:
            return
        name: object = event.seq
        if change.kind in COALESCED:
            name = (change.kind, change.key)
            old = self._waiting.pop(name, None)
            if old:
                self._bytes -= len(old.line)
        self._waiting[name] = event
        self._bytes += len(event.line)

    def take(self, size: int) -> bytes:
        """Return up to about `size` bytes of lines (at least one line if any waits) and forget them."""
        lines = []
        taken = 0
        while self._waiting and taken < size:
            _, event = self._waiting.popitem(last=False)
            lines.append(event.line)
            taken += len(event.line)
        self._bytes -= taken
        self._replaying = self._replaying and bool(self._waiting)
        return b"".join(lines)
