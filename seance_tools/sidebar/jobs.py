"""Work that may block, done beside the loop: each job in a thread of its own, its result back in the loop."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

Done = Callable[[Any, Exception | None], None]


class Jobs:
    """Runs jobs and keeps their results until the loop takes them.

    wake: a pipe's end that does not block; a byte on it tells that a result is there.
    """

    def __init__(self, wake: int) -> None:
        self._wake = wake
        self._finished: queue.SimpleQueue[tuple[Done, Any, Exception | None]] = queue.SimpleQueue()

    def run(self, job: Callable[[], Any], done: Done) -> None:
        """Do `job` in a thread; `done` gets its result, or its exception, when `deliver` is called."""

        def work() -> None:
            result, failure = None, None
            try:
                result = job()
            except Exception as error:  # noqa: BLE001 - `done` reports it
                failure = error
            self._finished.put((done, result, failure))
            with contextlib.suppress(BlockingIOError):  # full of signals: the loop wakes anyway
                os.write(self._wake, b"\0")

        threading.Thread(target=work, daemon=True).start()

    def deliver(self) -> None:
        """Call what waits for the results that have come."""
        while not self._finished.empty():
            done, result, failure = self._finished.get()
            done(result, failure)
