"""The first process of each pane that is known: its end is the moment at which a pane may be gone.

It is only a reason to list the panes. A process without a pidfd, because there are no descriptors for it or
it is gone already, is not watched: what has become of its pane is found with the next list.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable

from seance_tools.liveness import open_process

log = logging.getLogger("seance-broker")


class PaneProcesses:
    """Watches them by pidfd. `ended` is called with what the places of the pane's server begin with."""

    def __init__(self, ended: Callable[[str], None], has_room: Callable[[], bool]) -> None:
        """has_room: whether there is a descriptor for one more."""
        self._ended = ended
        self._has_room = has_room
        self._watched: dict[str, dict[int, int]] = {}  # by server, then process id: the descriptor

    def __len__(self) -> int:
        """Return how many descriptors are used."""
        return sum(map(len, self._watched.values()))

    def watch(self, server: str, pids: Iterable[int]) -> None:
        """Watch these processes of a server's panes, and no others of it any more."""
        wanted = set(pids)
        watched = self._watched.setdefault(server, {})
        for pid in set(watched) - wanted:
            self._let_go(watched.pop(pid))
        for pid in wanted - set(watched):
            if not self._has_room():
                log.debug("no descriptor to watch the process %d of a pane", pid)
                break
            try:
                descriptor = open_process(pid, None)
            except OSError as error:
                log.debug("cannot watch the process %d of a pane: %s", pid, error.strerror)
                continue
            if descriptor is not None:
                watched[pid] = descriptor
                asyncio.get_running_loop().add_reader(descriptor, self._has_ended, server, pid)
        if not watched:
            del self._watched[server]

    def close(self) -> None:
        """Let go of all."""
        for server in list(self._watched):
            self.watch(server, ())

    def _has_ended(self, server: str, pid: int) -> None:
        self._let_go(self._watched[server].pop(pid))
        self._ended(server)

    @staticmethod
    def _let_go(descriptor: int) -> None:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
