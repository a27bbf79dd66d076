"""What sends notifications out: hears of new ones, has `delivery` decide, and keeps the broker from waiting.

What went out is in the notification's row: `channels`, and `more` for how many others it stands for there.
The channel `terminal` is no more than that: sidebars see it in the row and write on their own terminals.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Coroutine
from typing import Any

from seance_tools import terminals
from seance_tools.broker.answer import Answer
from seance_tools.broker.core import Core
from seance_tools.broker.panes import surface_focus
from seance_tools.delivery import Decision, Pace, admit, decide, due, release
from seance_tools.notify import command, message, sound
from seance_tools.notify import tmux as status_line
from seance_tools.notify.desktop import Desktop, Unreachable
from seance_tools.state.places import place_of
from seance_tools.state.tables import Change, Row
from seance_tools.wire import WireError, encode

log = logging.getLogger("seance-broker")
STOP_SECONDS = 2.0  # a desktop or tmux that does not answer by then is left as it is
Work = Callable[[Row, int], Coroutine[Any, Any, None]]


class Channels:
    """The companion. A channel that fails is told of in system.health until it works again."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._paces: dict[str, Pace] = {}
        self._release: asyncio.TimerHandle | None = None
        self._programs = command.Programs()
        self._desktop = Desktop(os.environ, self._clicked)
        self._on_desktop: set[int] = set()  # ids that it has been given and that are not read
        self._flags: dict[str, int] = {}  # unread ones by the place of a pane, as tmux knows them
        self._flagging = asyncio.Lock()
        self._stopping = False
        self._problems: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._senders: dict[str, Work] = {
            "tmux_message": self._show_in_tmux,
            "desktop": self._show_on_desktop,
            "sound": self._play,
            "command": self._run_command,
        }

    def start(self) -> None:
        """Hear of what is new from now on; what came before is not told again."""
        self._core.listeners.add(self._heard)
        self._flag()

    async def stop(self) -> None:
        """End the programs, and take away what is on the desktop and in tmux."""
        self._stopping = True
        self._core.listeners.discard(self._heard)
        if self._release:
            self._release.cancel()
        self._programs.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await self._tell_tmux({})
                await self._desktop.close()

    def _heard(self, changes: list[Change]) -> None:
        told = [change for change in changes if change.kind == "notification"]
        new = [change.row["id"] for change in told if change.row and change.old is None]
        if new:  # afterwards, as the changes are just being told
            asyncio.get_running_loop().call_soon(self._decide, new)
        gone = frozenset(int(change.key[0]) for change in told if change.row is None or change.row["read"])
        if gone & self._on_desktop:
            self._on_desktop -= gone
            self._spawn(self._take_from_desktop(gone))
        if told or any(change.kind in ("config", "surface") for change in changes):
            self._flag()

    def _decide(self, numbers: list[int]) -> None:
        most = self._core.tables.options["notifications.per_minute"]
        now = asyncio.get_running_loop().time()
        for number in numbers:
            row = self._core.tables.get("notification", number)
            if row is None:
                continue
            decision = self._decision(seen=row["read"])
            if decision.kept:
                log.debug("notification %d goes out nowhere: %s", number, decision.kept)
            for channel in decision.channels:
                self._paces[channel], goes = admit(self._paces.get(channel, Pace()), number, now, most)
                if goes:
                    self._send(channel, number, 0)
        self._core.commit()
        self._schedule(most)

    def _decision(self, *, seen: bool) -> Decision:
        local = time.localtime()
        return decide(self._core.tables.options, seen=seen, minute=local.tm_hour * 60 + local.tm_min)

    def _schedule(self, most: int) -> None:
        if self._release:
            self._release.cancel()
            self._release = None
        times = [at for pace in self._paces.values() if (at := due(pace, most)) is not None]
        if times:
            self._release = asyncio.get_running_loop().call_at(min(times), self._send_held)

    def _send_held(self) -> None:
        """Send what had to wait, as far as it is still news."""
        most = self._core.tables.options["notifications.per_minute"]
        channels = self._decision(seen=False).channels
        for channel, pace in self._paces.items():
            waiting = tuple(filter(self._unread, pace.held)) if channel in channels else ()
            now = asyncio.get_running_loop().time()
            self._paces[channel], numbers = release(pace._replace(held=waiting), now, most)
            if numbers:
                self._send(channel, numbers[-1], len(numbers) - 1)
        self._core.commit()
        self._schedule(most)

    def _unread(self, number: int) -> bool:
        row = self._core.tables.get("notification", number)
        return row is not None and not row["read"]

    def _send(self, channel: str, number: int, more: int) -> None:
        """Send a notification out on one channel, and note that in its row; the caller commits."""
        row = self._core.tables.rows["notification"][number,]
        # The terminal is written by sidebars, which subscribe; tmux tells whether somebody was shown it.
        if channel != "tmux_message" and (channel != "terminal" or self._core.audience):
            self._note(channel, number, more)
        if channel in self._senders:
            self._spawn(self._senders[channel](row, more))

    def _note(self, channel: str, number: int, more: int) -> None:
        row = self._core.tables.get("notification", number)
        if row:
            self._core.tables.update("notification", row, channels=[*row["channels"], channel], more=more)

    async def _show_in_tmux(self, row: Row, more: int) -> None:
        place = self._place(row)
        pane = place.rpartition(":")[2]
        servers, arrived = {} if place else self._servers(), False
        for server in [place] if place else servers.values():
            clients = await terminals.tmux(server, *status_line.CLIENTS)
            shown = message(row, self._host(row), more)
            for words in status_line.message_commands(shown, clients or "", pane):
                arrived |= await terminals.tmux(server, *words) is not None
        if arrived:
            self._note("tmux_message", row["id"], more)
            self._core.commit()

    async def _show_on_desktop(self, row: Row, more: int) -> None:
        if not self._unread(row["id"]) and self._core.tables.options["notifications.only_when_away"]:
            return
        self._on_desktop.add(row["id"])
        subject = row["session"] or f"notification {row['id']}"
        try:
            await self._desktop.show(subject, message(row, self._host(row), more))
        except Unreachable as error:
            self._tell("desktop", str(error))
        else:
            self._tell("desktop", "")

    async def _take_from_desktop(self, numbers: frozenset[int]) -> None:
        try:
            await self._desktop.withdraw(numbers)
        except Unreachable as error:
            log.debug("%s", error)

    async def _play(self, _row: Row, _more: int) -> None:
        path = os.path.expanduser(self._core.tables.options["notifications.sound"])
        argv = sound.player(path)
        if argv is None:
            names = ", ".join(words[0] for words in sound.PLAYERS)
            self._tell("sound", f"no player for notifications.sound is installed: {names}")
            return
        self._tell("sound", await self._programs.run(argv, b"", os.environ))

    async def _run_command(self, row: Row, more: int) -> None:
        argv = self._core.tables.options["notifications.command"]
        problem = await self._programs.run(argv, encode(self._event(row, more)), os.environ)
        self._tell("command", f"notifications.command: {problem}" if problem else "")

    def _event(self, row: Row, more: int) -> Row:
        """Return what a command of the user's gets to know of a notification."""
        tables = self._core.tables
        workspace = tables.get("workspace", row["workspace_id"]) or {}
        agent = tables.get("agent", row["session"] or "") or {}
        own = (
            "id",
            "kind",
            "title",
            "subtitle",
            "body",
            "workspace_id",
            "surface_id",
            "session",
            "created_at",
        )
        return {
            "event": "notification",
            **{name: row[name] for name in own},
            "more": more,
            "workspace": workspace.get("title", ""),
            **{name: agent.get(name) or "" for name in ("agent", "display_name", "state", "cwd", "host")},
        }

    def _clicked(self, number: int) -> None:
        """Go to the pane of a notification that was clicked."""
        row = self._core.tables.get("notification", number)
        if row is None:
            return
        self._core.tables.update("notification", row, read=True)
        self._core.commit()
        try:
            wanted: Row = {"surface_id": row["surface_id"], "client": None}
            surface_focus(self._core, wanted, Answer(None, bytearray(), _nobody_waits))
        except WireError as error:
            log.info("cannot jump to the pane of a notification: %s", error.message)

    def _place(self, row: Row) -> str:
        """Return the place of a notification's pane if that is tmux's, else ""."""
        place = place_of(self._core.tables, row["surface_id"])
        return place if place.startswith("tmux:") else ""

    def _servers(self) -> dict[str, str]:
        """Return a place of each tmux server."""
        places = [row["place"] for row in self._core.tables.all("surface")]
        return {terminals.server_of(place): place for place in places if place.startswith("tmux:")}

    def _host(self, row: Row) -> str:
        agent = self._core.tables.get("agent", row["session"] or "")
        return str(agent.get("host") or "") if agent else ""

    def _flag(self) -> None:
        """Have tmux told how many of each pane are unread, where that has changed."""
        counts: dict[str, int] = {}
        if self._core.tables.options["notifications.tmux_flag"]:
            for row in self._core.tables.all("notification"):
                place = "" if row["read"] else self._place(row)
                if place:
                    counts[place] = counts.get(place, 0) + 1
        if counts != self._flags and not self._flagging.locked() and not self._stopping:
            self._spawn(self._tell_tmux(counts))

    async def _tell_tmux(self, counts: dict[str, int]) -> None:
        async with self._flagging:
            servers: dict[str, dict[str, int]] = {}
            for place in {*counts, *self._flags}:
                if counts.get(place, 0) != self._flags.get(place, 0):
                    servers.setdefault(terminals.server_of(place), {})[place] = counts.get(place, 0)
            self._flags = counts
            for changes in servers.values():
                panes = {place.rpartition(":")[2]: count for place, count in changes.items()}
                await terminals.tmux(next(iter(changes)), *status_line.flag_command(panes))
        asyncio.get_running_loop().call_soon(self._flag)  # for what has changed meanwhile

    def _tell(self, channel: str, problem: str) -> None:
        """Note what is wrong with a channel, "" for nothing any more; the same thing is told once."""
        old = self._problems.pop(channel, "")
        if old in self._core.notes:
            self._core.notes.remove(old)
        if problem:
            self._problems[channel] = problem
            self._core.notes.append(problem)
            if problem != old:
                log.warning("%s", problem)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._core.spawn(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _nobody_waits() -> None:
    """Take the answer to a jump: a click has nobody to tell."""
