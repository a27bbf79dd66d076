"""Processes whose end is a reason to look again: of a pane, of a server that listens.

Nothing is kept of them. A process without a pidfd, because there are no descriptors for it or it is gone
already, is not watched: what has become of it is found with the next look.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable

from seance_tools.liveness import open_process

log = logging.getLogger("seance-broker")
Process = tuple[int, int | None]  # its id, and its start time where that is known


class Ends:
    """Watches processes by pidfd, in groups: what is watched of a group is told anew each time."""

    def __init__(self, has_room: Callable[[], bool]) -> None:
        """has_room: whether there is a descriptor for one more."""
        self._has_room = has_room
        self._watched: dict[str, dict[Process, int]] = {}  # the descriptors

    def __len__(self) -> int:
        """Return how many descriptors are used."""
        return sum(map(len, self._watched.values()))

    def watch(self, group: str, processes: Iterable[Process], ended: Callable[[], None]) -> bool:
        """Watch these processes and no others of the group any more; return whether some are gone already.

        ended: called at the end of each.
        """
        wanted = set(processes)
        watched = self._watched.setdefault(group, {})
        gone = False
        for process in set(watched) - wanted:
            self._let_go(watched.pop(process))
        for process in wanted - set(watched):
            if not self._has_room():
                log.debug("no descriptor to watch process %d", process[0])
                break
            try:
                descriptor = open_process(*process)
            except OSError as error:
                log.debug("cannot watch process %d: %s", process[0], error.strerror)
                continue
            if descriptor is None:
                gone = True
                continue
            watched[process] = descriptor
            asyncio.get_running_loop().add_reader(descriptor, self._has_ended, group, process, ended)
        if not watched:
            del self._watched[group]
        return gone

    def close(self) -> None:
        """Let go of all."""
        for watched in self._watched.values():
            for descriptor in watched.values():
                self._let_go(descriptor)
        self._watched.clear()

    def _has_ended(self, group: str, process: Process, ended: Callable[[], None]) -> None:
        self._let_go(self._watched[group].pop(process))
        ended()

    @staticmethod
    def _let_go(descriptor: int) -> None:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
