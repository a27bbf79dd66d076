"""The broker without its sockets: requests in, answers and changes out, the store, and processes' ends."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import resource
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from seance_tools import liveness, names, terminals, wire
from seance_tools.broker.ends import Ends
from seance_tools.events import Event, Feed
from seance_tools.methods import Method, takes, validate
from seance_tools.options import Options
from seance_tools.state import calls, dues, sessions
from seance_tools.state.panes import take_panes
from seance_tools.state.places import Caller, Context, Place
from seance_tools.state.tables import Change, Row, Tables
from seance_tools.store import Store

log = logging.getLogger("seance-broker")
RECOVER_SECONDS = 5.0
LOOK_SECONDS = 5.0  # between looks at config.toml where inotify cannot be used
ASK_SECONDS = 5.0  # between looks at processes that have no pidfd
LIST_DELAY = 0.1  # panes that come and go together are listed once,
LIST_PAUSE = 1.0  # and so long after the last list where a report is the only reason
# What a pane's shell or agent reports by itself: something may have changed there of which nobody tells.
FROM_PANES = frozenset(
    ("agent.hook", *(f"surface.report_{what}" for what in ("shell", "cwd", "state", "git")))
)


class Core:
    """Owns the state. `publish` is called with the events of every batch of changes."""

    def __init__(self, store: Store, boot_id: str, publish: Callable[[list[Event]], None]) -> None:
        self.tables = Tables()
        self.store = store
        self.feed = Feed(boot_id)
        self.publish = publish
        self.listeners: set[Callable[[list[Change]], None]] = set()
        self.waiters: set[object] = set()  # agent.wait that have no answer yet
        self.warnings: list[str] = []  # what is wrong with config.toml
        self.notes: list[str] = []  # what else the person should know
        self.spool: Row = {}  # what the intake tells of itself
        self.clients = 0  # connections; the server counts them
        self.audience = 0  # subscribers; the server counts them
        self.on_audience: set[Callable[[], None]] = set()  # called when the first comes, or the last goes
        self.started = time.time()
        self.counters = dict.fromkeys(("requests", "refused", "faults", "slow_consumers"), 0)
        self._watched: dict[tuple[int, int | None], int] = {}
        self._recovering = False
        self._unwatchable: set[tuple[int, int]] = set()  # processes without a pidfd: asked every few seconds
        self._expiry: asyncio.TimerHandle | None = None
        self._expires_at: float | None = None
        self._listing: dict[str, asyncio.TimerHandle] = {}
        self._listed_at: dict[str, float] = {}  # by server, in the time of the loop
        self.askers: dict[str, terminals.Asker] = {}  # of tmux servers that have a control client
        self.ends = Ends(self._has_room)
        self._listed_cwds: dict[str, dict[str, str]] = {}  # by server and place, as listed last
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Take up the state of the last run; what ended meanwhile goes. Needs the running loop."""
        for kind, row in self.store.load():
            self.tables.apply(kind, row)
        if self.store.unreadable:
            log.error("%d rows of the database could not be read and were left out", self.store.unreadable)
        if self.store.set_aside:
            log.error("the database could not be read; it was put aside as %s", self.store.set_aside)
        for process in sessions.processes(self.tables):
            self._watch(*process)
        dues.expire(self.tables, time.time())
        for row in list(self.tables.all("surface")):
            self.list_panes(row["place"])
        self.commit()
        self._expire_by(dues.next_due(self.tables))

    def configure(self, options: Options) -> None:
        """Take over config.toml; where it, or a key of it, is wrong, what was valid last stays in force."""
        broken = any(problem.startswith("cannot read") for problem in options.problems)
        old = self.tables.get("config")
        kept = old["values"] if old else {}
        values = {k: kept.get(k, v) if broken or k in options.wrong else v for k, v in options.values.items()}
        self.tables.options = values
        logging.getLogger().setLevel(values["broker.log-level"].upper())
        self.warnings = [*options.problems, *options.unknown]
        self.tables.set("config", {"values": values, "problems": list(options.problems)})
        self.commit()

    def watch_config(self) -> None:
        """Read config.toml, and again whenever it changes."""
        from seance_tools import config, watch  # 25 ms that the first answer need not wait for

        path = names.config_path(os.environ)
        loop = asyncio.get_running_loop()
        watchers: dict[str, watch.Watcher] = {}

        def look() -> None:
            # dotfiles are often links: both the link's place and the file's are watched
            for place in {path, os.path.realpath(path)} - set(watchers):
                watcher = watch.Watcher(os.path.dirname(place), os.path.basename(place), self.notes.append)
                watchers[place] = watcher
                if watcher.fileno() >= 0:
                    loop.add_reader(watcher.fileno(), look)
            slow = [seconds for watcher in watchers.values() if (seconds := watcher.timeout()) is not None]
            if slow:  # inotify cannot be used: it is looked at now and then
                loop.call_later(min(slow) + LOOK_SECONDS, look)
            for watcher in watchers.values():
                watcher.changed()
            self.configure(config.read(os.environ))

        look()

    async def settle(self, seconds: float) -> None:
        """Let what runs beside the requests end, for so long at most.

        It would be cancelled, and a task of Python 3.11 that is while it starts a program waits for ever.
        """
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    def stop(self) -> None:
        """Save what is not saved yet, close the store and let go of all processes."""
        self.commit()
        for descriptor in self._watched.values():
            os.close(descriptor)
        self.ends.close()
        for handle in self._listing.values():
            handle.cancel()
        self.store.close()

    def call(self, request: wire.Request, method: Method) -> Row:
        """Do one request and return its result; the caller commits. Raises WireError."""
        params = validate(method, request.with_caller(takes(method)))
        caller = self.caller(params)
        for name in ("pid", "reporter_pid"):
            if caller.host and name in params:
                params[name] = None  # another machine's
            if params.get(name) is not None:
                params[name.replace("pid", "start_time")] = self._start_time(params[name])
        place = caller.place
        new = place is not None and self.tables.at_place("surface", place.surface) is None
        before = self.tables.mark()
        try:
            result = calls.call(self.tables, method, params, Context(time.time(), caller))
        except wire.WireError:
            self.tables.undo(before)  # what is refused changes nothing
            raise
        if params.get("pid") is not None:
            self._watch(params["pid"], params["start_time"])
        if params.get("reporter_start_time") is not None:
            self._watch(params["reporter_pid"], params["reporter_start_time"])
        made = new and place is not None and self.tables.at_place("surface", place.surface) is not None
        if made and place is not None:
            self.notice(place)
        elif place is not None and method.name in FROM_PANES:
            self.list_panes(place.surface, pause=LIST_PAUSE)
        return result

    def notice(self, place: Place) -> None:
        """Follow what goes with a surface's place: the process whose end ends it, its terminal's list."""
        if place.owner:
            self._watch(*place.owner)
        self.list_panes(place.surface)

    @staticmethod
    def caller(params: Row) -> Caller:
        """Return who a request comes from, as its parameters tell."""
        environ: dict[str, Any] = params.get("env") or {}
        place, host, tty = None, "", params.get("tty")
        if environ or tty:  # most requests name their ids
            texts = {
                name: value
                for name in names.PLACE_VARIABLES
                if type(value := environ.get(name)) is str
                and value.isprintable()
                and len(value) <= names.LIMITS["text_characters"]
            }
            place = terminals.recognise(texts, tty, params.get("tty_session"))
            host = terminals.elsewhere(texts)
        return Caller(params.get("surface_id"), params.get("workspace_id"), place, host)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work beside the requests; a fault in it is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def fault(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Note a fault that nobody caught: it is counted, logged, and the broker goes on."""
        self.counters["faults"] += 1
        log.error("fault: %s", context.get("message"), exc_info=context.get("exception"))

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception():
            self.counters["faults"] += 1
            log.error("fault", exc_info=task.exception())

    def commit(self) -> None:
        """Save the changes since the last commit, then show them to the subscribers."""
        changes = self.tables.take_changes()
        if not changes:
            return
        self.store.write(changes, time.time())
        if self.store.degraded and not self._recovering:
            log.error("state cannot be saved: %s", self.store.degraded)
            self._recovering = True
            asyncio.get_running_loop().call_later(RECOVER_SECONDS, self._recover)
        self._expire_by(dues.next_due_of(self.tables, changes))
        self.publish(self.feed.publish(changes))
        for listener in list(self.listeners):
            listener(changes)

    def _recover(self) -> None:
        if self.store.recover(self.tables):
            self._recovering = False
            log.info("state is saved again")
        else:
            asyncio.get_running_loop().call_later(RECOVER_SECONDS, self._recover)

    def _watch(self, pid: int, started: int | None) -> None:
        process = (pid, started)
        if process in self._watched:
            return
        try:
            self._need_descriptor()
            descriptor = liveness.open_process(pid, started) if started is not None else None
        except OSError as error:  # no descriptors left, or a thread's id
            if started is None:
                return
            if not self._unwatchable:
                log.warning("cannot watch process %d, so asking: %s", pid, error.strerror)
                asyncio.get_running_loop().call_later(ASK_SECONDS, self._ask_processes)
            self._unwatchable.add((pid, started))
            return
        if descriptor is None:
            sessions.process_ended(self.tables, pid, started, time.time())
            return
        self._watched[process] = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._process_ended, process)

    def _ask_processes(self) -> None:
        for pid, started in list(self._unwatchable):
            with contextlib.suppress(OSError):
                if liveness.start_time(pid) != started:
                    self._unwatchable.discard((pid, started))
                    sessions.process_ended(self.tables, pid, started, time.time())
        self.commit()
        if self._unwatchable:
            asyncio.get_running_loop().call_later(ASK_SECONDS, self._ask_processes)

    def _need_descriptor(self) -> None:
        """Raise OSError if processes would take the descriptors that are kept back for files and clients."""
        if self.descriptors + self.clients >= self._most_descriptors():
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def _has_room(self) -> bool:
        """Return whether there is a descriptor for what need not be watched: the rest has half of them."""
        return self.descriptors + self.clients < self._most_descriptors() // 2

    @staticmethod
    def _most_descriptors() -> int:
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0] - names.LIMITS["descriptors_kept_back"]

    @staticmethod
    def _start_time(pid: int) -> int | None:
        try:
            return liveness.start_time(pid)
        except OSError as error:
            raise wire.WireError(
                "busy", f"process {pid} cannot be looked at: {error.strerror}", "pid"
            ) from None

    @property
    def descriptors(self) -> int:
        """How many descriptors processes take."""
        return len(self._watched) + len(self.ends)

    def _process_ended(self, process: tuple[int, int | None]) -> None:
        descriptor = self._watched.pop(process)
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
        places = {row["place"] for row in self.tables.all("surface")}
        sessions.process_ended(self.tables, *process, time.time())
        for place in places:
            self.list_panes(place)
        self.commit()

    def _expire_by(self, due: float | None) -> None:
        """Have `_expire` called at that time, if it is not called earlier anyway.

        What was due then may have been put off meanwhile: `_expire` looks for itself, and for what is next.
        """
        if due is None or (self._expires_at is not None and self._expires_at <= due):
            return
        if self._expiry:
            self._expiry.cancel()
        self._expires_at = due
        self._expiry = asyncio.get_running_loop().call_later(max(due - time.time(), 0.0), self._expire)

    def _expire(self) -> None:
        self._expires_at = None
        dues.expire(self.tables, time.time())
        self.commit()
        self._expire_by(dues.next_due(self.tables))

    def list_panes(self, place: str, pause: float = 0.0) -> None:
        """Have the terminal of a place list its panes soon, once for all who ask meanwhile.

        pause: seconds since it last did that have to be over.
        """
        server = terminals.server_of(place)
        if server == ":":
            return
        loop = asyncio.get_running_loop()
        when = max(loop.time() + LIST_DELAY, self._listed_at.get(server, -pause) + pause)
        waiting = self._listing.get(server)
        if waiting and waiting.when() <= when:
            return
        if waiting:
            waiting.cancel()
        self._listing[server] = loop.call_at(when, self._list_now, server, place)

    def _list_now(self, server: str, place: str) -> None:
        del self._listing[server]
        self._listed_at[server] = asyncio.get_running_loop().time()
        self.spawn(self.take_panes(place))

    async def take_panes(self, place: str) -> None:
        """Bring the surfaces of the terminal that `place` is in up to date with what it lists."""
        listed = await terminals.list_panes(place, self.askers.get(terminals.server_of(place)))
        before = self._listed_cwds.pop(terminals.server_of(place), {})
        if listed is None:
            return
        self._listed_cwds[listed.prefix] = {pane["place"]: pane["cwd"] for pane in listed.panes}
        for pane in listed.panes:
            row = self.tables.at_place("surface", pane["place"])
            if row and row["cwd"] and before.get(pane["place"]) == pane["cwd"]:
                del pane["cwd"]  # what its shell has told since, by another name perhaps, stays
        take_panes(self.tables, *listed, time.time())
        pids = {pane["place"]: pane.get("pid") for pane in listed.panes}
        surfaces = (row["place"] for row in self.tables.all("surface"))
        first = {(pid, None) for place in surfaces if (pid := pids.get(place))}
        self.ends.watch(listed.prefix, first, partial(self.list_panes, listed.prefix))
        self.commit()


def initial(feed: Feed, tables: Tables, params: Row) -> tuple[Row, list[Event]]:
    """Return (result, events to send after it) of a validated events.subscribe."""
    topics = params["topics"]
    result: Row = {"seq": feed.seq, "boot_id": feed.boot_id, "gap": False, "snapshot": None}
    if params["after_seq"] is not None:
        missed = feed.since(params["after_seq"], params["boot_id"])
        if missed is not None:
            return {**result, "seq": params["after_seq"]}, missed
        result["gap"] = True
    result["snapshot"] = tables.snapshot(topics) if topics else tables.snapshot()
    return result, []
