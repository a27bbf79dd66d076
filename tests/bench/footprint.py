"""Memory, and wake-ups while nothing happens, of broker, sidebar and monitor."""

from __future__ import annotations

import os
import pty
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seance_tools import names
from seance_tools.client import Connection
from tests.bench.figures import Figure, Goal, Stand, agents, megabytes, wake_ups
from tests.support import eventually

IDLE_SECONDS = 61.0


class Screen:
    """What a program on a terminal of 36 by 50 has written, and when."""

    def __init__(self, argv: list[str], environ: dict[str, str]) -> None:
        import fcntl
        import struct
        import termios

        self.main, self.terminal = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 36, 0, 0))
        self.process = subprocess.Popen(
            argv,
            env=environ | {"TERM": "xterm-256color"},
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=self.terminal,
            start_new_session=True,
        )
        self.written = bytearray()
        self.heard = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self.main, 1 << 16)
            except OSError:
                return
            with self.heard:
                self.written += data
                self.heard.notify_all()

    def wait_for(self, part: bytes, begin: int = 0, seconds: float = 20.0) -> float:
        """Return the moment (time.perf_counter) at which a part had been written, from `begin` on."""
        with self.heard:
            if not self.heard.wait_for(lambda: self.written.find(part, begin) >= 0, seconds):
                raise AssertionError(f"{part!r} is not shown: {bytes(self.written[-400:])!r}")
            return time.perf_counter()

    def close(self) -> None:
        """End the program."""
        self.process.terminate()
        self.process.wait()
        os.close(self.terminal)
        os.close(self.main)


@contextmanager
def sidebar(stand: Stand, environ: dict[str, str]) -> Iterator[Screen]:
    """Run a sidebar until the block ends."""
    screen = Screen([stand.program("seance-sidebar")], environ)
    try:
        yield screen
    finally:
        screen.close()


@contextmanager
def monitor(stand: Stand, environ: dict[str, str]) -> Iterator[int]:
    """Run a wrapped agent that only waits; lend the process id of its monitor."""
    agent = Path(environ["HOME"], "bin", "codebuff")
    agent.parent.mkdir()
    agent.write_text("#!/bin/sh\nexec sleep 1000\n")
    agent.chmod(0o755)
    screen = Screen(
        [stand.program("codebuff-wrapper")], environ | {"PATH": f"{agent.parent}:{environ['PATH']}"}
    )
    try:
        yield eventually(lambda: _monitor_of(environ["HOME"], screen.process.pid))
    finally:
        screen.process.kill()
        screen.close()


def _monitor_of(home: str, agent: int) -> int:
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes()
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        ours = f"HOME={home}".encode() in environ.split(b"\0")
        if not (ours and b"codebuff-wrapper" in command):
            continue
        if os.getsid(pid) not in (pid, os.getsid(agent)):  # neither the agent nor what forks the monitor
            return pid
    return 0


def measure(stand: Stand, scale: float) -> list[Figure]:
    """Return the figures; the sidebar's ages wake it once a minute, and a heartbeat does."""
    found = []
    seconds = IDLE_SECONDS if scale >= 1 else 10.0
    with (
        stand.home() as environ,
        stand.broker(environ) as broker,
        sidebar(stand, environ) as screen,
        monitor(stand, environ) as watching,
        Connection(names.socket_path(environ)) as connection,
    ):
        agents(connection, 10, "stop")
        screen.wait_for(b"project-1")
        time.sleep(seconds)  # the ages of the first minute change each second
        pids = {"broker, 10 agents": broker.pid, "sidebar": screen.process.pid, "monitor": watching}
        most = {"broker, 10 agents": 28, "sidebar": 32, "monitor": 16}
        before = {name: wake_ups(pid) for name, pid in pids.items()}
        time.sleep(seconds)
        for name, pid in pids.items():
            count = float(wake_ups(pid) - before[name]) * 60 / seconds
            goal = Goal(2 if name == "sidebar" else 0)
            found.append(Figure("idle", f"{name.partition(',')[0]}: wake-ups a minute", (count,), "", goal))
        for name, pid in pids.items():
            found.append(Figure("memory", f"{name}: resident", (megabytes(pid),), "MB", Goal(most[name])))
            found.append(Figure("memory", f"{name}: PSS", (megabytes(pid, "Pss"),), "MB"))
        agents(connection, 1000)
        found.append(
            Figure("memory", "broker, 1,000 agents: resident", (megabytes(broker.pid),), "MB", Goal(64))
        )
        found.append(Figure("memory", "broker, 1,000 agents: PSS", (megabytes(broker.pid, "Pss"),), "MB"))
    return found
