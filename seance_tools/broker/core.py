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
from typing import Any

from seance_tools import liveness, names, terminals, wire
from seance_tools.events import Event, Feed
from seance_tools.methods import Method, takes, validate
from seance_tools.options import Options
from seance_tools.state import calls, metadata, sessions
from seance_tools.state.places import Caller, Context, place_panes
from seance_tools.state.tables import Change, Row, Tables
from seance_tools.store import Store

log = logging.getLogger("seance-broker")
RECOVER_SECONDS = 5.0
LOOK_SECONDS = 5.0  # between looks at config.toml where inotify cannot be used
ASK_SECONDS = 5.0  # between looks at processes that have no pidfd
TMUX_DELAY = 0.1  # panes that come and go together are listed once


class Core:
    """Owns the state. `publish` is called with the events of every batch of changes."""

    def __init__(self, store: Store, boot_id: str, publish: Callable[[list[Event]], None]) -> None:
        self.tables = Tables()
        self.store = store
        self.feed = Feed(boot_id)
        self.publish = publish
        self.listeners: set[Callable[[list[Change]], None]] = set()
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
        metadata.expire(self.tables, time.time())
        sessions.expire(self.tables, time.time())
        for row in list(self.tables.all("surface")):
            self._list_panes(row["place"])
        self.commit()

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

    def stop(self) -> None:
        """Close the store and let go of all processes."""
        for descriptor in self._watched.values():
            os.close(descriptor)
        for handle in self._listing.values():
            handle.cancel()
        self.store.close()

    def call(self, request: wire.Request, method: Method) -> Row:
        """Do one request and return its result; the caller commits. Raises WireError."""
        params = validate(method, request.with_caller(takes(method)))
        for name in ("pid", "reporter_pid"):
            if params.get(name) is not None:
                params[name.replace("pid", "start_time")] = self._start_time(params[name])
        caller = self.caller(params)
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
        if caller.place is not None and method.name == "agent.hook":
            if caller.place.owner:
                self._watch(*caller.place.owner)
            self._list_panes(caller.place.surface)
        return result

    @staticmethod
    def caller(params: Row) -> Caller:
        """Return who a request comes from, as its parameters tell."""
        environ: dict[str, Any] = params.get("env") or {}
        texts = {
            name: value
            for name in names.PLACE_VARIABLES
            if type(value := environ.get(name)) is str
            and value.isprintable()
            and len(value) <= names.LIMITS["text_characters"]
        }
        place = terminals.recognise(texts, params.get("tty"), params.get("tty_session"))
        return Caller(params.get("surface_id"), params.get("workspace_id"), place)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work beside the requests; a fault in it is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

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
        self._schedule_expiry()
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
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - names.LIMITS["descriptors_kept_back"]
        if len(self._watched) + self.clients >= limit:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

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
        return len(self._watched)

    def _process_ended(self, process: tuple[int, int | None]) -> None:
        descriptor = self._watched.pop(process)
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
        places = {row["place"] for row in self.tables.all("surface")}
        sessions.process_ended(self.tables, *process, time.time())
        for place in places:
            self._list_panes(place)
        self.commit()

    def _schedule_expiry(self) -> None:
        dues = (metadata.next_expiry(self.tables), sessions.next_due(self.tables))
        due = min((due for due in dues if due is not None), default=None)
        if due == self._expires_at:
            return
        if self._expiry:
            self._expiry.cancel()
        self._expires_at = due
        if due is not None:
            delay = max(due - time.time(), 0.0)
            self._expiry = asyncio.get_running_loop().call_later(delay, self._expire)

    def _expire(self) -> None:
        self._expires_at = None
        metadata.expire(self.tables, time.time())
        sessions.expire(self.tables, time.time())
        self.commit()
        self._schedule_expiry()

    def _list_panes(self, place: str) -> None:
        """Have the tmux server of a place list its panes soon, once for all who ask meanwhile."""
        if not place.startswith("tmux:"):
            return
        server = place.rpartition(":")[0]
        if server not in self._listing:
            loop = asyncio.get_running_loop()
            self._listing[server] = loop.call_later(TMUX_DELAY, self._list_now, server, place)

    def _list_now(self, server: str, place: str) -> None:
        del self._listing[server]
        self.spawn(self._take_panes(place))

    async def _take_panes(self, place: str) -> None:
        listed = await terminals.tmux_panes(place)
        if listed:
            place_panes(self.tables, *listed, time.time())
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
