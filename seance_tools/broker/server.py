"""The broker's connections: bytes in, answers and events out, everything bounded."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import select
import socket
import struct
from collections import deque
from typing import Any

from seance_tools import wire
from seance_tools.broker.answer import Answer
from seance_tools.broker.core import Core, initial
from seance_tools.broker.requests import METHODS_OF_THE_BROKER
from seance_tools.events import Event, Queue
from seance_tools.methods import Method, find, takes, validate
from seance_tools.names import LIMITS
from seance_tools.state.tables import TOPICS
from seance_tools.wire import WireError

log = logging.getLogger("seance-broker")
CHUNK = 32 << 10  # larger writes to a peer that does not read are quadratic in asyncio
SILENT_SECONDS = 1.0  # a subscriber who lags behind may read nothing for so long
SLICE = 500  # requests of one client before others have their turn
ANSWERS_BYTES = 1 << 20  # unread answers of one client, past which its requests wait
ANSWERS_PENDING = 256  # the same for answers that are still to come, or wait behind one
HANGUP_SECONDS = 1.0  # between looks whether a half-closed peer is gone; and to read its end
ACCEPT_PAUSE = 1.0  # seconds without accepting once descriptors ran out
_BUSY = wire.failure(None, WireError("busy", "too many connections"))


class Connection(asyncio.Protocol):
    """One client: requests are answered in order; after events.subscribe its changes follow."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.queue: Queue | None = None
        self._framer = wire.Framer()
        self._transport: Any = None
        self._answers = bytearray()
        self._paused = False
        self._backlog: deque[bytes | None] = deque()  # lines that are not answered yet
        self._working = False
        self._taken = 0  # bytes that went to the peer
        self._lag: asyncio.TimerHandle | None = None
        self._slots: deque[bytearray] = deque()  # answers that wait for one before them
        self._behind = 0  # bytes of those
        self._pending: list[Answer] = []
        self._closing = False
        self._heartbeat: asyncio.TimerHandle | None = None
        self._half_line: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = transport
        self._transport.set_write_buffer_limits(high=CHUNK)
        self.server.connections.add(self)
        self.server.core.clients = len(self.server.connections)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Forget the client."""
        self.server.connections.discard(self)
        self.server.core.clients = len(self.server.connections)
        self.server.leave(self)
        for answer in self._pending:
            answer.abandon()
        for timer in (self._half_line, self._heartbeat, self._lag):
            if timer:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Do every request that is complete now."""
        lines = self._framer.feed(data)
        self._backlog += lines
        if self._framer.hopeless:
            self._closing = True
        self._watch_half_line(fresh=bool(lines))
        self._work()

    def _work(self) -> None:
        """Do what has come, a bounded part at a time: no client fills the memory or starves others."""
        for _ in range(SLICE):
            if not self._backlog or self._answers_wait():
                break
            self._take(self._backlog.popleft())
        self.server.settle(self)

    def settled(self) -> None:
        """Write the answers to what is saved now.

        What is left is done once the peer has read its answers, and after the others had their turn.
        """
        self.flush()
        if self._transport.is_closing():
            return
        if self._backlog:
            self._transport.pause_reading()
            if not self._working and not self._answers_wait():
                self._working = True
                asyncio.get_running_loop().call_soon(self._work_on)
        elif not self._paused:
            self._transport.resume_reading()

    def _work_on(self) -> None:
        self._working = False
        if not self._transport.is_closing():
            self._work()

    def _answers_wait(self) -> bool:
        waiting = len(self._answers) + self._behind
        return waiting > ANSWERS_BYTES or len(self._slots) > ANSWERS_PENDING

    def eof_received(self) -> bool:
        """Finish the answers before closing: `printf … | socat` closes its side first.

        A last line without its end counts. With the other side closed too, nobody waits any more.
        """
        self._closing = True
        self._backlog += self._framer.feed(b"\n") if self._framer.partial else []
        self._work()
        self._ask_for_hangup()
        return True

    def _ask_for_hangup(self) -> None:
        """Close once the peer is gone altogether; after a half-close the event loop no longer tells."""
        if self._transport.is_closing():
            return
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), 0)
        if any(events & select.POLLHUP for _, events in poll.poll(0)):
            self._transport.abort()
        else:
            asyncio.get_running_loop().call_later(HANGUP_SECONDS, self._ask_for_hangup)

    def pause_writing(self) -> None:
        """Keep answers and events here, and read no further requests, while the peer does not read."""
        self._paused = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on writing and reading."""
        self._paused = False
        self.flush()
        if not self._paused and not self._transport.is_closing():
            self._work()

    def flush(self) -> None:
        """Write what waits: answers first, then events, as far as the peer reads.

        What was done is saved before: nothing is acknowledged that could be lost.
        """
        self.server.core.commit()
        if self._transport.is_closing():
            return
        while not self._paused:
            chunk = bytes(self._answers[:CHUNK])
            if chunk:
                del self._answers[:CHUNK]
            elif self.queue and not self._slots:
                chunk = self.queue.take(CHUNK)
            else:
                break
            self._transport.write(chunk)
            self._taken += len(chunk)
        if self._closing and not (self._answers or self._slots or self._backlog or self.queue):
            self._transport.close()

    def show(self, events: list[Event]) -> None:
        """Queue events for this subscriber; one that lags too far behind is cut off."""
        assert self.queue is not None
        for event in events:
            self.queue.add(event)
        self.flush()
        if self.queue.overfull:
            self._cut_off()
        elif self.queue.lagging and not self._lag:
            self._lag = asyncio.get_running_loop().call_later(SILENT_SECONDS, self._look_at_lag, self._taken)

    def _look_at_lag(self, taken: int) -> None:
        """Cut off a subscriber who lags behind and has taken nothing since `taken`."""
        self._lag = None
        if not self.queue or not self.queue.lagging or self._transport.is_closing():
            return
        if self._taken == taken:
            self._cut_off()
        else:
            self._lag = asyncio.get_running_loop().call_later(SILENT_SECONDS, self._look_at_lag, self._taken)

    def _cut_off(self) -> None:
        """End the connection of a subscriber that does not read, with a line that says so if one fits.

        Behind half an answer none does. A peer that does not even read its end loses the rest.
        """
        self.server.core.counters["slow_consumers"] += 1
        self.queue = None
        self.server.leave(self)
        if not self._answers:
            self._transport.write(wire.encode({"event": "slow_consumer"}))
        self._transport.close()
        asyncio.get_running_loop().call_later(HANGUP_SECONDS, self.abort)

    def abort(self) -> None:
        """End the connection at once; what waits for the client is lost."""
        if self in self.server.connections:  # asyncio's abort fails on what is lost already
            self._transport.abort()

    def _take(self, line: bytes | None) -> None:
        """Answer one line; behind an answer that is still to come, answers wait."""
        slot = bytearray()
        slot += self._answer(line, slot)
        if slot and not self._slots:
            self._answers += slot
        else:
            self._slots.append(slot)
            self._behind += len(slot)

    def _answer(self, line: bytes | None, slot: bytearray) -> bytes:
        """Return the answer to one line, nothing where it will be put into `slot` later."""
        core = self.server.core
        core.counters["requests"] += 1
        request_id: wire.Id = None
        try:
            if line is None:
                raise WireError("too_large", f"a request may have {LIMITS['request_bytes']} bytes at most")
            request = wire.decode(line)
            request_id = request.id
            method = find(request.method)
            result = self._do(request, method, slot)
            return b"" if result is None else wire.reply(request_id, result)
        except WireError as error:
            core.counters["refused"] += 1
            return wire.failure(request_id if error.request_id is None else error.request_id, error)
        except Exception:
            core.counters["faults"] += 1
            log.exception("fault while answering")
            return wire.failure(
                request_id, WireError("internal", "a fault of the broker; its log tells more")
            )

    def _do(self, request: wire.Request, method: Method, slot: bytearray) -> dict[str, Any] | None:
        if not method.io:
            return self.server.core.call(request, method)
        self.server.core.commit()  # what this batch changed so far is in what these methods see
        params = validate(method, request.with_caller(takes(method)))
        if method.name == "events.subscribe":
            return self._subscribe(params)

        answer = Answer(request.id, slot, self._fill)
        result = METHODS_OF_THE_BROKER[method.name](self.server.core, params, answer)
        if result is None:
            self._pending.append(answer)
        return result

    def _fill(self) -> None:
        """Move the answers that have come, as far as they are in order, to those that are written."""
        self._pending = [answer for answer in self._pending if not answer.given]
        while self._slots and self._slots[0]:
            self._answers += self._slots.popleft()
        self._behind = sum(map(len, self._slots))
        self._work()

    def _subscribe(self, params: dict[str, Any]) -> dict[str, Any]:
        core = self.server.core
        result, missed = initial(core.feed, core.tables, params)
        self.queue = Queue(params["topics"] or TOPICS)
        self.queue.replay(missed)
        self.server.join(self)
        if self._heartbeat:
            self._heartbeat.cancel()
            self._heartbeat = None
        if params["heartbeat"]:
            self._beat(params["heartbeat"])
        return result

    def _beat(self, seconds: float) -> None:
        if self._heartbeat:
            self._heartbeat.cancel()
            if not self._paused and not self._slots:
                self._answers += wire.encode({"event": "heartbeat", "seq": self.server.core.feed.seq})
                self.flush()
        self._heartbeat = asyncio.get_running_loop().call_later(seconds, self._beat, seconds)

    def _watch_half_line(self, *, fresh: bool) -> None:
        """Close a connection whose line is not complete some time after its first byte.

        fresh: whether a line was completed, so that what is there now has only begun.
        """
        if self._half_line and (fresh or not self._framer.partial):
            self._half_line.cancel()
            self._half_line = None
        if self._framer.partial and not self._half_line and not self._transport.is_closing():
            loop = asyncio.get_running_loop()
            self._half_line = loop.call_later(LIMITS["half_line_seconds"], self._transport.close)


class Server:
    """Accepts clients on a listening socket and passes events on to those who subscribed."""

    def __init__(self, sock: socket.socket) -> None:
        self.core: Core  # set by the program, whose Core publishes to this server
        self.connections: set[Connection] = set()
        self.subscribers: set[Connection] = set()
        self._socket = sock
        self._tasks: set[asyncio.Task[Any]] = set()
        self._unsettled: list[Connection] = []  # that have done something in this turn of the event loop
        self._descriptors = _raise_descriptor_limit()

    def start(self) -> None:
        """Begin to accept."""
        asyncio.get_running_loop().add_reader(self._socket, self._accept)

    def stop(self) -> None:
        """Accept no more and close every connection."""
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        for connection in list(self.connections):
            connection.abort()

    def settle(self, connection: Connection) -> None:
        """Save what a connection has done, then have it answer: once a turn of the event loop, for all."""
        if not self._unsettled:
            asyncio.get_running_loop().call_soon(self._settle)
        self._unsettled.append(connection)

    def _settle(self) -> None:
        unsettled, self._unsettled = self._unsettled, []
        try:
            self.core.commit()
            for connection in unsettled:
                connection.settled()
        except Exception:
            for connection in unsettled:
                connection.abort()  # what may not be saved is not acknowledged
            raise

    def join(self, subscriber: Connection) -> None:
        """Pass events on to a connection from now on."""
        self.subscribers.add(subscriber)
        self._count_audience()

    def leave(self, subscriber: Connection) -> None:
        """Pass events on to a connection no longer."""
        self.subscribers.discard(subscriber)
        self._count_audience()

    def _count_audience(self) -> None:
        before, self.core.audience = self.core.audience, len(self.subscribers)
        if bool(before) != bool(self.core.audience):
            for heard in list(self.core.on_audience):
                heard()

    def publish(self, events: list[Event]) -> None:
        """Pass events on to every subscriber."""
        for subscriber in list(self.subscribers):
            subscriber.show(events)

    def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            client, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            log.warning("cannot accept: %s", error.strerror)
            loop.remove_reader(self._socket)
            loop.call_later(ACCEPT_PAUSE, self.start)
            return
        client.setblocking(False)
        refusal = self._refusal(client)
        if refusal:
            with client, contextlib.suppress(OSError):  # gone already
                client.send(refusal, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            return
        task = loop.create_task(loop.connect_accepted_socket(lambda: Connection(self), client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _refusal(self, client: socket.socket) -> bytes:
        """Return the line that turns a client away, or nothing."""
        _, uid, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid != os.getuid():
            return wire.failure(None, WireError("unauthorized", "this broker serves another user"))
        free = self._descriptors - self.core.descriptors - len(self.connections)
        full = len(self.connections) >= LIMITS["connections"] or free <= LIMITS["descriptors_kept_back"]
        return _BUSY if full else b""


def _raise_descriptor_limit() -> int:
    """Raise the soft limit of open files towards the hard one, as far as is of use; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = LIMITS["connections"] + LIMITS["agents"] + 2 * LIMITS["descriptors_kept_back"]
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft
