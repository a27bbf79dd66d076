"""Keeps the listening ports of surfaces true, while somebody watches.

/proc is looked through when a surface or an agent changed, and some times after, since a server takes its
time to listen: then no more, until something changes again or one of the servers that were found ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from seance_tools import names, ports, terminals
from seance_tools.broker.aside import Aside
from seance_tools.broker.core import Core
from seance_tools.state.places import ABROAD
from seance_tools.state.surroundings import happened, set_ports
from seance_tools.state.tables import Change

FOLLOW_SECONDS = (0.5, 5.0, 10.0, 20.0, 40.0)  # after a change
LEAST_SECONDS = 5.0  # between two looks
WATCHED = 64  # servers whose end is heard of


class Known(NamedTuple):
    """What a look needs of the tables: surfaces by place, by their agents' process ids, and all of them."""

    places: dict[str, int]
    processes: dict[int, int]
    surfaces: frozenset[int]


class Server(NamedTuple):
    """A process that listens, and the surface it belongs to."""

    pid: int
    start_time: int
    surface_id: int
    ports: frozenset[int]


def servers(known: Known, wanted: Callable[[int], bool]) -> list[Server]:
    """Return what listens on ports that are wanted and belongs to a surface."""
    found = []
    for pid, held in ports.holders(ports.sockets(wanted)).items():
        lineage = list(ports.lineage(pid))
        surface_id = _surface(lineage, known)
        if surface_id is not None:
            found.append(Server(pid, lineage[0].start_time, surface_id, frozenset(held)))
    return found


def _surface(lineage: Sequence[ports.Process], known: Known) -> int | None:
    """Return the surface that a process and its ancestors belong to, None for none.

    The nearest mark in an environment decides, be its surface known or not; a process that left the tree
    keeps it. Without any mark the terminal does.
    """
    for one in lineage:
        if one.pid in known.processes:
            return known.processes[one.pid]
        environ = ports.environment(one.pid, (*names.PLACE_VARIABLES, "SEANCE_SURFACE_ID"))
        number = environ.get("SEANCE_SURFACE_ID", "")
        if number.isascii() and number.isdecimal() and int(number) in known.surfaces:
            return int(number)
        place = terminals.recognise(environ, None, None)
        if place:
            return known.places.get(place.surface)
    if not lineage or not lineage[0].tty:
        return None
    place = terminals.recognise({}, lineage[0].tty, lineage[0].tty_session)
    return known.places.get(place.surface) if place else None


def is_wanted(hidden: Collection[int | str], port: int) -> bool:
    """Return whether a port is shown: none of `ports.hidden`, numbers and ranges "LOW-HIGH"."""
    for entry in hidden:
        low, _, high = str(entry).partition("-")
        if int(low) <= port <= int(high or low):
            return False
    return True


Find = Callable[[Known, Callable[[int], bool]], list[Server]]


class Ports:
    """One companion of the broker. find: what looks through /proc; follow, least: see above; seconds."""

    def __init__(
        self,
        core: Core,
        find: Find = servers,
        follow: Sequence[float] = FOLLOW_SECONDS,
        least: float = LEAST_SECONDS,
    ) -> None:
        self.core = core
        self._find = find
        self._follow = follow
        self._least = least
        self._aside = Aside()
        self._changed_at = 0.0
        self._looked_at = -least
        self._step = len(follow)  # the next of the looks that follow a change
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; what the last run had found is not known any more."""
        self.core.listeners.add(self._heard)
        self.core.on_audience.add(self._audience)
        self._looked_at = asyncio.get_running_loop().time() - self._least
        self._watched_or_not()

    async def stop(self) -> None:
        """Look no more."""
        self.core.listeners.discard(self._heard)
        self.core.on_audience.discard(self._audience)
        self._rest()
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def busy(self) -> bool:
        """Whether anything is under way or will be by itself."""
        return bool(self._timer or self._task)

    def _heard(self, changes: list[Change]) -> None:
        for kind, _, row, old in changes:
            if kind in ("agent", "surface") and row and happened(row, old):
                self._changed()
                return
            if kind == "config" and row and old and row["values"] != old["values"]:
                self._changed()
                return

    def _audience(self) -> None:
        asyncio.get_running_loop().call_soon(self._watched_or_not)

    def _watched_or_not(self) -> None:
        if self.core.audience:
            self._changed()
            return
        self._rest()
        set_ports(self.core.tables, self._known().surfaces, None)
        self.core.commit()

    def _rest(self) -> None:
        self._step = len(self._follow)
        if self._timer:
            self._timer.cancel()
            self._timer = None
        self._hear_ends([])

    def _changed(self) -> None:
        if self.core.audience:
            self._changed_at = asyncio.get_running_loop().time()
            self._step = 0
            self._plan()

    def _plan(self) -> None:
        """Have the next look at its time, unless an earlier one is due already."""
        if self._step >= len(self._follow) or self._task:
            return
        when = max(self._changed_at + self._follow[self._step], self._looked_at + self._least)
        if self._timer and self._timer.when() <= when:
            return
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._look)

    def _look(self) -> None:
        self._timer = None
        self._step += 1
        self._looked_at = asyncio.get_running_loop().time()
        self._task = self.core.spawn(self._take())
        self._task.add_done_callback(self._taken)

    def _taken(self, _task: asyncio.Task[None]) -> None:
        self._task = None
        self._plan()

    def _known(self) -> Known:
        tables = self.core.tables
        rows = [row for row in tables.all("surface") if not row["place"].startswith(ABROAD)]
        local = {row["id"] for row in rows}
        agents = [row for row in tables.all("agent") if row["pid"] and row["surface_id"] in local]
        return Known(
            {row["place"]: row["id"] for row in rows if row["place"]},
            {row["pid"]: row["surface_id"] for row in agents},
            frozenset(local),
        )

    async def _take(self) -> None:
        known = self._known()
        wanted = partial(is_wanted, self.core.tables.options["ports.hidden"])
        try:
            found = await self._aside.run("/proc", partial(self._find, known, wanted))
        except OSError:  # it hangs, or there is no /proc
            set_ports(self.core.tables, known.surfaces, None)
        else:
            if not self.core.audience:
                return
            held: dict[int, set[int]] = {}
            for server in found:
                held.setdefault(server.surface_id, set()).update(server.ports)
            set_ports(self.core.tables, known.surfaces, held)
            self._hear_ends(found)
        self.core.commit()

    def _hear_ends(self, found: Collection[Server]) -> None:
        """Look again when one of these ends; those of before are let go of."""
        wanted = {(server.pid, server.start_time) for server in list(found)[:WATCHED]}
        if self.core.ends.watch("ports", wanted, self._changed):
            self._changed()
