"""tmux servers, listened to: their changes reach the surfaces' rows without anybody's asking for them.

A server is listened to while one of its panes is known and that is of use: somebody subscribes, or an agent
has a session there. Else its client goes after a while. What it says is only a hint; the truth is the list of
panes that is asked for then.
"""

from __future__ import annotations

import asyncio
import logging

from seance_tools import terminals
from seance_tools.broker.core import Core
from seance_tools.state.panes import out_of_sight
from seance_tools.state.places import place_of
from seance_tools.state.tables import Change
from seance_tools.terminals import control

log = logging.getLogger("seance-broker")
LINGER_SECONDS = 60.0  # a client stays so long after the last who had a use for it
# Until a server that did not answer, or has sent the client away, is tried again: at first, and at most.
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 0.1, 30.0
SETTLE_SECONDS = 0.05  # after somebody came or went, before it is looked whether the client may stay


class Follower:
    """One server's control client, started anew whenever it ends or has to attach elsewhere."""

    def __init__(self, core: Core, place: str) -> None:
        self.linger: asyncio.TimerHandle | None = None
        self._core = core
        self._place = place
        self._server = terminals.server_of(place)
        self._moved = asyncio.Event()
        self._settle: asyncio.TimerHandle | None = None
        self._attachable = True
        self._task = core.spawn(self._follow())

    async def stop(self) -> None:
        """End it, with its client; who looks at the server's panes is not known from now on."""
        for timer in (self.linger, self._settle):
            if timer:
                timer.cancel()
        self._task.cancel()
        await asyncio.wait((self._task,))
        out_of_sight(self._core.tables, self._server)
        self._core.commit()

    async def _follow(self) -> None:
        loop, delay = asyncio.get_running_loop(), RETRY_SECONDS
        while True:
            began = loop.time()
            server = await control.look(self._place)
            if server:
                await self._listen(server.choose() if self._attachable else None)
            if loop.time() - began > LONGEST_RETRY_SECONDS:
                delay = RETRY_SECONDS
            if not self._moved.is_set():
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST_RETRY_SECONDS)

    async def _listen(self, session: str | None) -> None:
        """Listen until the client ends, or has to attach elsewhere: then `_moved` is set."""
        self._moved.clear()
        client = control.Client(self._hear)
        try:
            client.start(self._place, session)
        except OSError as error:
            log.warning("cannot listen to tmux: %s", error.strerror)
            return
        ended = asyncio.create_task(client.ended.wait())
        try:
            if session is not None:
                self._attachable = await client.subscribe() or client.ended.is_set()
                if not self._attachable:
                    log.warning("a tmux server does not take subscriptions: %s", self._server)
                    return
                self._core.askers[self._server] = client
            await client.heard_of.wait()
            self._core.list_panes(self._place)
            self._moved.set()  # who came or left before the server knew it, it was not told of
            while not client.ended.is_set():
                moved = asyncio.create_task(self._moved.wait())
                await asyncio.wait((moved, ended), return_when=asyncio.FIRST_COMPLETED)
                moved.cancel()
                if self._moved.is_set():
                    self._moved.clear()
                    if not await self._may_stay(client):
                        self._moved.set()
                        return
            self._moved.clear()  # it is tried again after a while
        finally:
            ended.cancel()
            self._core.askers.pop(self._server, None)
            await client.close()

    async def _may_stay(self, client: control.Client) -> bool:
        if client.session is None and not self._attachable:
            return True
        server = await control.look(self._place, client.session)
        return server is None or server.fits(client.session)

    def _hear(self, message: str) -> None:
        if control.is_hint(message):
            self._core.list_panes(self._place)
        if control.is_somebody(message):
            self._moved.set()
        elif control.is_about_audience(message) and not self._settle:
            self._settle = asyncio.get_running_loop().call_later(SETTLE_SECONDS, self._settled)

    def _settled(self) -> None:
        self._settle = None
        self._moved.set()


def _may_matter(change: Change) -> bool:
    """Return whether a change may decide which servers are followed: few of the many do."""
    if change.kind not in ("surface", "agent"):
        return False
    where = "place" if change.kind == "surface" else "surface_id"
    return change.row is None or change.old is None or change.row[where] != change.old[where]


class TmuxServers:
    """Follows the tmux servers that it is of use to follow."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._followers: dict[str, Follower] = {}
        self._due: asyncio.Handle | None = None

    def start(self) -> None:
        """Follow the servers that are known, and those that come."""
        self._core.listeners.add(self._changed)
        self._core.on_audience.add(self._review_soon)
        self._review()

    async def stop(self) -> None:
        """Let go of all of them."""
        self._core.listeners.discard(self._changed)
        self._core.on_audience.discard(self._review_soon)
        if self._due:
            self._due.cancel()
        followers, self._followers = self._followers, {}
        for follower in followers.values():
            await follower.stop()

    def _changed(self, changes: list[Change]) -> None:
        if any(_may_matter(change) for change in changes):
            self._review_soon()

    def _review_soon(self) -> None:
        if not self._due:
            self._due = asyncio.get_running_loop().call_soon(self._review)

    def _review(self) -> None:
        """Begin to follow what has come to be of use, and let go, soon, of what no longer is."""
        self._due = None
        places = {
            terminals.server_of(row["place"]): row["place"]
            for row in self._core.tables.all("surface")
            if row["place"].startswith("tmux:")
        }
        wanted = set(places) if self._core.audience else self._with_agents()
        for server in wanted:
            follower = self._followers.get(server)
            if follower is None:
                self._followers[server] = Follower(self._core, places[server])
            elif follower.linger:
                follower.linger.cancel()
                follower.linger = None
        for server, follower in list(self._followers.items()):
            if server not in places:
                self._drop(server)
            elif server not in wanted and not follower.linger:
                loop = asyncio.get_running_loop()
                follower.linger = loop.call_later(LINGER_SECONDS, self._drop, server)

    def _with_agents(self) -> set[str]:
        found = set()
        for agent in self._core.tables.all("agent"):
            place = place_of(self._core.tables, agent["surface_id"])
            if place.startswith("tmux:"):
                found.add(terminals.server_of(place))
        return found

    def _drop(self, server: str) -> None:
        follower = self._followers.pop(server, None)
        if follower:
            self._core.spawn(follower.stop())
