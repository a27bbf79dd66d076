"""From a report to the terminal: how long until the sidebar has written a change, and what load it bears."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from typing import Any

from seance_tools import names, wire
from seance_tools.client import Connection
from tests.bench.figures import Figure, Goal, Stand, agents, cpu_seconds
from tests.bench.footprint import Screen, sidebar

AGENTS = 1000
BATCH_SECONDS = 0.1


class Load(threading.Thread):
    """Sends status changes of many workspaces at a steady rate, pipelined, and counts what is answered."""

    def __init__(self, path: str, rate: float, workspaces: range) -> None:
        super().__init__(daemon=True)
        self.rate = rate
        self.workspaces = workspaces
        self.sent = self.answered = self.refused = 0
        self._path = path
        self._ended = threading.Event()

    def run(self) -> None:
        """Send until `stop`; a batch every tenth of a second."""
        numbers = itertools.cycle(self.workspaces)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(self._path)
            begun = time.monotonic()
            while not self._ended.is_set():
                due = int((time.monotonic() - begun) * self.rate) - self.sent
                sock.sendall(b"".join(self._request(next(numbers)) for _ in range(due)))
                self.sent += due
                while self.answered < self.sent:
                    data = sock.recv(1 << 18)
                    self.answered += data.count(b"\n")
                    self.refused += data.count(b'"ok":false')
                time.sleep(BATCH_SECONDS)

    def _request(self, workspace: int) -> bytes:
        params: dict[str, Any] = {
            "workspace_id": workspace,
            "key": "load",
            "value": f"step {time.monotonic()}",
        }
        return wire.encode({"id": 1, "method": "workspace.set_status", "params": params})

    def stop(self) -> None:
        """End, once the last batch is answered."""
        self._ended.set()
        self.join()


def to_the_terminal(connection: Connection, screen: Screen, rate: float, count: int) -> tuple[float, ...]:
    """Return the milliseconds from an agent's report to its being on the terminal, for each of them.

    The reports come at that rate, or what of it one agent can make, while `Load` sends the others.
    """
    taken = []
    for number in range(count):
        value = f"mark{number:05}"
        begin = len(screen.written)
        begun = time.perf_counter()
        connection.request(
            "agent.hook",
            {
                "workspace_id": 1,
                "surface_id": 1,
                "agent": "claude",
                "event": ("stop", "prompt-submit")[number % 2],
                "payload": {"session_id": "session-1", "status": value},
            },
        )
        taken.append((screen.wait_for(value.encode(), begin) - begun) * 1000)
        time.sleep(max(1 / rate - taken[-1] / 1000, 0))
    return tuple(taken)


def measure(stand: Stand, scale: float) -> list[Figure]:
    """Return the figures of the way to the terminal, and of a thousand agents."""
    found = []
    count = max(int(60 * scale), 10)
    with stand.home() as environ, stand.broker(environ) as broker, sidebar(stand, environ) as screen:
        path = names.socket_path(environ)
        with Connection(path) as connection:
            agents(connection, 20)
            screen.wait_for(b"project-1")
            for rate in (1.0, 1000.0):
                load = Load(path, rate, range(1, 21))
                if rate > 1:
                    load.start()
                # Not in step with anything that is drawn by the clock.
                taken = to_the_terminal(connection, screen, 1.37 if rate == 1 else 3.37, count)
                if rate > 1:
                    load.stop()
                name = f"report to terminal at {rate:,.0f}/s"
                found.append(Figure("latency", f"{name}: median", taken, "ms", Goal(15)))
                found.append(Figure("latency", f"{name}: 99th of 100", taken, "ms", Goal(50), of=0.99))
            agents(connection, AGENTS)
            seconds = 60 * scale
            load = Load(path, AGENTS * 10, range(1, AGENTS + 1))
            pids = {"broker": broker.pid, "sidebar": screen.process.pid}
            before = {name: cpu_seconds(pid) for name, pid in pids.items()}
            begun = time.monotonic()
            load.start()
            time.sleep(seconds)
            load.stop()
            took = time.monotonic() - begun
            for name, most in (("broker", 50), ("sidebar", 15)):
                used = (cpu_seconds(pids[name]) - before[name]) / took * 100
                what = f"1,000 agents × 10/s: {name}'s part of a core"
                found.append(Figure("load", what, (used,), "%", Goal(most)))
            lost = float(load.sent - load.answered + load.refused)
            found.append(Figure("load", "1,000 agents × 10/s: lost or refused", (lost,), "", Goal(0)))
    return found
