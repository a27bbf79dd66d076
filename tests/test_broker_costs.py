"""How often the broker commits and calls the system, counted: what makes it quick, without a clock."""

from __future__ import annotations

import asyncio
import json
import re
import select
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from seance_tools.broker.core import Core
from seance_tools.broker.server import SLICE, Server
from seance_tools.state.tables import Change
from seance_tools.store import Store
from tests.support import cannot
from tests.test_broker import raw, read_lines


def statuses(numbers: range) -> bytes:
    params = ({"workspace_id": 1, "key": "build", "value": f"step {number}"} for number in numbers)
    return b"".join(
        json.dumps({"id": 1, "method": "workspace.set_status", "params": given}).encode() + b"\n"
        for given in params
    )


class CountingStore(Store):
    """Counts its transactions, and how many of `watched` had an answer to read before one of them."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.transactions = self.early = 0
        self.watched: list[socket.socket] = []
        self.broken = False

    def write(self, changes: Sequence[Change], now: float) -> None:
        if self.broken:
            raise RuntimeError("a fault of the broker's own")
        self.transactions += 1
        self.early += len(select.select(self.watched, [], [], 0)[0])
        super().write(changes, now)


class Run:
    """A broker's server in this process, and clients of it that do not block."""

    def __init__(self, store: CountingStore, path: Path, stack: ExitStack) -> None:
        self.store = store
        self.path = str(path)
        self.stack = stack
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(self.path)
        listening.listen(100)
        listening.setblocking(False)
        self.server = Server(listening)
        self.server.core = self.core = Core(store, "boot", self.server.publish)
        self.server.start()

    async def clients(self, count: int) -> list[socket.socket]:
        found = []
        for _ in range(count):
            found.append(self.stack.enter_context(socket.socket(socket.AF_UNIX)))
            found[-1].setblocking(False)
            found[-1].connect(self.path)
        while len(self.server.connections) < count:
            await asyncio.sleep(0)
        self.store.watched = found
        return found


async def answers(sock: socket.socket, count: int) -> int:
    """Return how many answers say ok, of so many."""
    data = b""
    while data.count(b"\n") < count:
        chunk = await asyncio.get_running_loop().sock_recv(sock, 1 << 16)
        assert chunk
        data += chunk
    return data.count(b'"ok":true')


Serve = Callable[[Callable[[Run], Awaitable[None]]], None]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Do something with a broker in this process."""

    def run(what: Callable[[Run], Awaitable[None]]) -> None:
        async def within() -> None:
            with ExitStack() as stack:
                store = CountingStore(str(tmp_path / "state.db"))
                serving = Run(store, tmp_path / "sock", stack)
                try:
                    await what(serving)
                finally:
                    store.broken = False
                    serving.server.stop()
                    serving.core.stop()

        asyncio.run(asyncio.wait_for(within(), 30))

    return run


def test_all_who_ask_at_once_share_a_commit(serve: Serve) -> None:
    async def what(run: Run) -> None:
        clients = await run.clients(50)
        for number, client in enumerate(clients):
            client.sendall(statuses(range(number, number + 2)))
        assert [await answers(client, 2) for client in clients] == [2] * 50
        assert run.store.transactions == 1
        assert run.store.early == 0  # nobody is answered before it is saved

    serve(what)


def test_a_pipeline_is_committed_in_slices(serve: Serve) -> None:
    async def what(run: Run) -> None:
        [client] = await run.clients(1)
        sending = asyncio.get_running_loop().sock_sendall(client, statuses(range(2 * SLICE)))
        _, answered = await asyncio.gather(sending, answers(client, 2 * SLICE))
        assert answered == 2 * SLICE
        assert 2 <= run.store.transactions <= 10  # a slice, or what the socket's buffer holds

    serve(what)


def test_what_may_not_be_saved_is_not_acknowledged(serve: Serve) -> None:
    async def what(run: Run) -> None:
        asyncio.get_running_loop().set_exception_handler(run.core.fault)
        clients = await run.clients(2)
        run.store.broken = True
        for client in clients:
            client.sendall(statuses(range(1)))
        for client in clients:
            assert await asyncio.get_running_loop().sock_recv(client, 100) == b""
        assert run.core.counters["faults"] == 1
        run.store.broken = False
        [*_, client] = await run.clients(1)
        client.sendall(statuses(range(1)))
        assert await answers(client, 1) == 1

    serve(what)


def test_what_was_done_is_saved_when_the_broker_stops(serve: Serve, tmp_path: Path) -> None:
    async def what(run: Run) -> None:
        run.core.tables.set("counter", {"name": "x", "value": 1})

    serve(what)
    assert list(Store(str(tmp_path / "state.db")).load()) == [("counter", {"name": "x", "value": 1})]


def test_a_pipeline_takes_less_than_a_system_call_for_two_requests(
    environ: dict[str, str], broker: subprocess.Popen[bytes], need: Callable[[str], str], tmp_path: Path
) -> None:
    counted = tmp_path / "strace"
    with raw(environ) as sock:
        sock.sendall(statuses(range(1)))
        read_lines(sock, 1)
        command = [need("strace"), "-f", "-o", str(counted), "-p", str(broker.pid)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            assert strace.stderr
            said = strace.stderr.readline()
            if "attached" not in said:
                cannot("processes may not be traced here", said)
            sock.sendall(statuses(range(1000)))
            read_lines(sock, 1000)
            strace.send_signal(signal.SIGINT)
            strace.stderr.read()
    calls = re.findall(r"^\d+ +(\w+)\(", counted.read_text(), re.M)
    assert 10 < len(calls) < 500, calls
