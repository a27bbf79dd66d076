"""An answer that comes later than its request."""

from __future__ import annotations

from collections.abc import Callable

from seance_tools import wire
from seance_tools.state.tables import Row
from seance_tools.wire import WireError


class Answer:
    """An answer that comes later: called once with the result, or with why there is none.

    `slot` is filled, `then` called. `on_abandon` is called where the client has gone before.
    """

    def __init__(self, request_id: wire.Id, slot: bytearray, then: Callable[[], None]) -> None:
        self.given = False
        self.on_abandon: Callable[[], None] | None = None
        self._id = request_id
        self._slot = slot
        self._then = then

    def __call__(self, result: Row | WireError) -> None:
        """Give the answer."""
        if self.given:
            return
        self.given = True
        if isinstance(result, WireError):
            line = wire.failure(self._id, result)
        else:
            line = wire.reply(self._id, result)
        self._slot += line
        self._then()

    def abandon(self) -> None:
        """Tell the method that nobody waits for the answer any more."""
        self.given = True
        if self.on_abandon:
            self.on_abandon()
