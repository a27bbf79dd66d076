"""Work that a hanging filesystem may hold up, done in threads beside the loop and given up in time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar, cast

T = TypeVar("T")
SECONDS = 2.0
LOST = 4  # threads that may hang at a time; past that nothing is begun


class Aside:
    """Does one piece of work at a time. What hangs is left behind, and its key refused until it is through.

    The threads are daemons: a broker that ends does not wait for them.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._lock = asyncio.Lock()
        self._running: set[str] = set()  # keys of the threads there are: the lock is free, so they hang

    async def run(self, key: str, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises; TimeoutError where it hangs.

        key: what would hang, as a mount point.
        """
        async with self._lock:
            if key in self._running or len(self._running) >= LOST:
                raise TimeoutError
            self._running.add(key)
            loop = asyncio.get_running_loop()
            done: asyncio.Future[T] = loop.create_future()

            def finish(result: T | None, error: Exception | None) -> None:
                self._running.discard(key)
                if done.done():
                    return  # nobody waits any more
                if error:
                    done.set_exception(error)
                else:
                    done.set_result(cast(T, result))

            def thread() -> None:
                result, failure = None, None
                try:
                    result = work()
                except Exception as error:  # noqa: BLE001 - raised again where it is waited for
                    failure = error
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(finish, result, failure)

            threading.Thread(target=thread, daemon=True).start()
            return await asyncio.wait_for(done, self._seconds)
