"""What a request costs the broker, beside tmux's control mode, and how that grows.

Every request is durable: answered once it is in SQLite. Costs are the broker's own seconds of CPU, which
other programs of the machine disturb least.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from seance_tools import names
from seance_tools.client import Connection
from tests.bench.figures import Figure, Goal, Stand, agents, megabytes, ratios

GROUP = "broker"
ROUNDS = 11
AGENTS, EACH = 1000, 10  # how many, and updates a second of each
BLOCK = 10_000  # log lines sent at once
RING = 200  # lines of a log
READ = 1 << 18


def request(method: str, **params: Any) -> bytes:
    return json.dumps({"id": 1, "method": method, "params": params}).encode() + b"\n"


def status(number: int, workspace: int = 1) -> bytes:
    value = f"step {number}"
    return request("workspace.set_status", workspace_id=workspace, key="build", value=value, state="running")


def line_of_log(number: int) -> bytes:
    return request("workspace.append_log", workspace_id=1, message=f"line {number}")


def set_option(number: int) -> bytes:
    return b'set-option -g @build "step %d"\n' % number


class Peer:
    """A conversation over two descriptors: requests go in, answers come out; `mark` is in each once."""

    def __init__(self, reads: int, writes: int, mark: bytes) -> None:
        self.reads, self.writes, self.mark = reads, writes, mark

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.writes, view) :]

    def await_answers(self, count: int) -> None:
        """Read until so many answers have come."""
        kept = b""
        while count > 0:
            chunk = kept + os.read(self.reads, READ)
            assert len(chunk) > len(kept), "the other side has ended"
            count -= chunk.count(self.mark)
            kept = chunk[-(len(self.mark) - 1) :] if len(self.mark) > 1 else b""

    def round_trip(self, line: Callable[[int], bytes], count: int = 1000) -> float:
        """Return the microseconds from a request to its answer, one after the other; the median."""
        taken = []
        for number in range(count):
            data = line(number)
            begun = time.perf_counter()
            self.send(data)
            self.await_answers(1)
            taken.append(time.perf_counter() - begun)
        return statistics.median(taken) * 1e6

    def rate(self, line: Callable[[int], bytes], numbers: range) -> float:
        """Return how many requests a second are answered where none waits for the answer before it."""
        requests = b"".join(line(number) for number in numbers)
        begun = time.perf_counter()
        sender = threading.Thread(target=self.send, args=(requests,))
        sender.start()
        self.await_answers(len(numbers))
        sender.join()
        return len(numbers) / (time.perf_counter() - begun)


class Broker:
    """A running broker: its process, and how to talk to it."""

    def __init__(self, path: str, pid: int) -> None:
        self.path, self.pid = path, pid

    @contextmanager
    def peer(self) -> Iterator[Peer]:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self.path)
            yield Peer(sock.fileno(), sock.fileno(), b"\n")

    def cpu(self) -> float:
        """Return the seconds of CPU that its process has had, by the scheduler's exact count."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e9

    def cost(self, count: int = 1000) -> float:
        """Return the microseconds of its CPU for one update that is answered before the next."""
        with self.peer() as peer:
            peer.round_trip(status, 100)
            before = self.cpu()
            peer.round_trip(status, count)
            return (self.cpu() - before) / count * 1e6


@contextmanager
def tmux() -> Iterator[Peer]:
    """A control-mode client of a tmux server of our own."""
    with tempfile.TemporaryDirectory() as directory:
        environ = {**os.environ, "TMUX_TMPDIR": directory}
        environ.pop("TMUX", None)
        command = ["tmux", "-f", "/dev/null", "-C", "new-session"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
        assert process.stdin
        assert process.stdout
        peer = Peer(process.stdout.fileno(), process.stdin.fileno(), b"\n%end ")
        try:
            peer.await_answers(1)
            yield peer
        finally:
            subprocess.run(["tmux", "kill-server"], env=environ, check=True)
            process.communicate()


def against_tmux(broker: Broker, rounds: int, count: int) -> list[Figure]:
    """The round trip and the rate of updates, in turn with those of tmux."""
    trips: list[tuple[float, float]] = []
    rates: list[tuple[float, float]] = []
    with broker.peer() as peer, tmux() as other:
        for _ in range(rounds + 1):
            trips.append((peer.round_trip(status), other.round_trip(set_option)))
            rates.append((peer.rate(status, range(count)), other.rate(set_option, range(count))))
    trip, their_trip = zip(*trips[1:], strict=True)  # the first round warms the caches
    rate, their_rate = zip(*rates[1:], strict=True)
    return [
        Figure(GROUP, "round trip", trip, "µs", Goal(100)),
        Figure(GROUP, "round trip", ratios(trip, their_trip), "×", Goal(4), "× tmux -C"),
        Figure(GROUP, "pipelined status updates", rate, "/s"),
        Figure(
            GROUP, "pipelined status updates", ratios(rate, their_rate), "×", Goal(1, least=True), "× tmux -C"
        ),
    ]


def log_appends(broker: Broker, count: int) -> list[Figure]:
    """A great number of log lines: their rate, what memory they take, and that the ring has the last."""
    blocks = [range(start, start + BLOCK) for start in range(0, count, BLOCK)]
    with broker.peer() as peer:
        peer.rate(line_of_log, range(BLOCK))
        before = megabytes(broker.pid)
        rates = tuple(peer.rate(line_of_log, block) for block in blocks)
        grown = megabytes(broker.pid) - before
    assert ring(broker) == [f"line {number}" for number in blocks[-1][-RING:]]
    what = f"{len(blocks) * BLOCK:,} pipelined log appends"
    return [
        Figure(GROUP, what, rates, "/s", Goal(50_000, least=True)),
        Figure(GROUP, f"{what}: memory grown", (grown,), "MB", Goal(16)),
    ]


def ring(broker: Broker) -> list[str]:
    """Return the messages of the log."""
    with Connection(broker.path) as connection:
        return [row["message"] for row in connection.subscribe({"topics": ["log"]})["snapshot"]["log"]]


def unread(broker: Broker, rounds: int, count: int) -> Figure:
    """How much of his speed a publisher keeps when a subscriber never reads."""
    parts = []
    with broker.peer() as publisher:
        for _ in range(rounds):
            alone = publisher.rate(line_of_log, range(count))
            with broker.peer() as subscriber:
                subscriber.send(request("events.subscribe", topics=["log"]))
                os.read(subscriber.reads, 1)
                parts.append(publisher.rate(line_of_log, range(count)) / alone)
    what = "publisher beside a subscriber who never reads"
    return Figure(GROUP, what, tuple(parts), "×", Goal(0.5, least=True), "× alone")


def by_workspaces(broker: Broker, rounds: int) -> list[Figure]:
    """What an update costs with so many workspaces, each with an agent and a status entry."""
    found: dict[int, tuple[float, ...]] = {}
    made = 0
    with Connection(broker.path) as connection, broker.peer() as peer:
        for wanted in (1, 100, 1000):
            agents(connection, wanted)
            peer.rate(lambda number: status(0, number + 1), range(made, wanted))
            made = wanted
            found[wanted] = tuple(broker.cost() for _ in range(rounds))
    growth = ratios(found[1000], found[1])
    return [
        *(Figure(GROUP, f"CPU of an update, {n:,} workspaces", costs, "µs") for n, costs in found.items()),
        Figure(GROUP, "CPU of an update, 1,000 workspaces", growth, "×", Goal(1.5), "× 1 workspace"),
    ]


def by_subscribers(broker: Broker, rounds: int) -> list[Figure]:
    """What an update costs with so many subscribers who read, and what each of them adds."""
    found: dict[int, tuple[float, ...]] = {}
    for wanted in (0, 1, 10, 100):
        with subscribers(broker, wanted):
            found[wanted] = tuple(broker.cost() for _ in range(rounds))
    slopes = {
        n: tuple((many - none) / n for many, none in zip(found[n], found[0], strict=True)) for n in (10, 100)
    }
    return [
        *(Figure(GROUP, f"CPU of an update, {n} subscribers", costs, "µs") for n, costs in found.items()),
        *(
            Figure(GROUP, f"CPU that each of {n} subscribers adds", slope, "µs")
            for n, slope in slopes.items()
        ),
    ]


@contextmanager
def subscribers(broker: Broker, count: int) -> Iterator[None]:
    """So many subscribers, and a thread that reads what they get."""
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        for _ in range(count):
            peer = stack.enter_context(broker.peer())
            peer.send(request("events.subscribe", topics=["status"]))
            selector.register(peer.reads, selectors.EVENT_READ)
        reading = [True]
        reader = threading.Thread(target=drain, args=(selector, reading))
        reader.start()
        try:
            yield
        finally:
            reading.clear()
            reader.join()


def drain(selector: selectors.BaseSelector, reading: list[bool]) -> None:
    while reading:
        for key, _ in selector.select(0.1):
            os.read(key.fd, READ)


def many_agents(broker: Broker, seconds: float) -> Figure:
    """The part of a core that a thousand agents take, each with a connection of its own."""
    with ExitStack() as stack:
        peers = [stack.enter_context(broker.peer()) for _ in range(AGENTS)]
        before, begun, sent = broker.cpu(), time.monotonic(), 0
        while (now := time.monotonic() - begun) < seconds:
            due = min(int(now * AGENTS * EACH), sent + AGENTS)  # one each at a time
            for number in range(sent, due):
                peers[number % AGENTS].send(status(number, number % AGENTS + 1))
            for number in range(sent, due):
                peers[number % AGENTS].await_answers(1)
            sent = due
            time.sleep(0.01)
        used = broker.cpu() - before
    what = f"{AGENTS:,} connections, {sent / now / AGENTS:.1f} updates a second each: part of a core"
    return Figure(GROUP, what, (used / now * 100,), "%", Goal(50))


def measure(stand: Stand, scale: float) -> list[Figure]:
    """Return the figures of the request path."""
    rounds = max(int(ROUNDS * scale), 3)
    with stand.home() as environ, stand.broker(environ) as process:
        broker = Broker(names.socket_path(environ), process.pid)
        return [
            *against_tmux(broker, rounds, max(int(50_000 * scale), 5000)),
            *log_appends(broker, int(1_000_000 * scale)),
            unread(broker, rounds, max(int(50_000 * scale), 10_000)),
            *by_subscribers(broker, rounds),
            *by_workspaces(broker, rounds),
            many_agents(broker, 60 * scale),
        ]
