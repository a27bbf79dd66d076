"""A blocking client of the broker: connect, ask, subscribe, and start the broker where none runs."""

from __future__ import annotations

import os
import re
import select
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, Self

import ujson

from seance_tools import names
from seance_tools.wire import Framer, WireError, encode

MAX_LINE = 256 << 20  # a snapshot of a full broker; far over anything it sends
_MOMENT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?").fullmatch
STARTS, STARTS_SECONDS = 5, 10.0  # auto-start at most so often; reliability, "Limits"
START_SECONDS = 5.0  # how long a started broker may take to answer


class NoBroker(Exception):
    """No broker answers at the path."""


def _connect(path: str, deadline: float) -> socket.socket:
    """Return a connected socket. A full backlog answers EAGAIN at once: tried again until the deadline."""
    while True:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        sock.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            sock.connect(path)
        except BlockingIOError:
            sock.close()
            if time.monotonic() >= deadline:
                raise TimeoutError(f"the broker's queue is full: {path}") from None
            time.sleep(0.005)
        except TimeoutError:
            sock.close()
            raise
        except OSError as error:
            sock.close()
            raise NoBroker(f"no broker at {path}: {error.strerror}") from None
        else:
            return sock


class Connection:
    """One connection; requests are sent and answered in order. A context manager.

    timeout: seconds for connecting and for each answer; None waits for ever. Raises NoBroker when nothing
    listens at `path`, TimeoutError when it does not answer in time.
    """

    def __init__(self, path: str, timeout: float | None = names.DEFAULT_TIMEOUT) -> None:
        self.path = path
        self.timeout = timeout
        self._framer = Framer(MAX_LINE, MAX_LINE)
        self._lines: list[bytes] = []
        self._number = 0
        patience = names.DEFAULT_TIMEOUT if timeout is None else timeout
        self._socket = _connect(path, time.monotonic() + patience)
        self._socket.settimeout(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """Return the descriptor, for select and poll."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of a method. Raises WireError when the broker refuses it."""
        self._number += 1
        self._socket.sendall(encode({"id": self._number, "method": method, "params": params or {}}))
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        while not self._lines:
            self._receive(deadline)
        return unwrap(self._lines.pop(0))

    def subscribe(self, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Subscribe to changes; returns the snapshot, seq and boot_id. Then use `events` or `receive`."""
        return self.request("events.subscribe", params)

    def receive(self) -> list[dict[str, Any]]:
        """Return the events that have come, without waiting. Raises ConnectionError at the broker's end."""
        while select.select([self._socket], [], [], 0)[0]:
            self._receive(None)
        lines, self._lines = self._lines, []
        return [ujson.loads(line) for line in lines]

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield events for ever, waiting for each. Raises ConnectionError when the broker is gone."""
        self._socket.settimeout(None)
        while True:
            while self._lines:
                yield ujson.loads(self._lines.pop(0))
            self._receive(None)

    def _receive(self, deadline: float | None) -> None:
        self._socket.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))
        data = self._socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the broker closed the connection")
        self._lines += [line for line in self._framer.feed(data) if line is not None]


def unwrap(line: bytes) -> dict[str, Any]:
    """Return the result in one answer's line. Raises WireError with what the broker said."""
    try:
        answer = ujson.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise WireError("internal", "what answers is no broker: not a JSON object")
    result = answer.get("result")
    if answer.get("ok") and isinstance(result, dict):
        return result
    error = answer.get("error") or {}
    raise WireError(
        error.get("code", "internal"), error.get("message", "no reason given"), error.get("param")
    )


def _may_start(path: str) -> bool:
    """Count this start in a file beside the socket; False when there were too many just now."""
    now = time.time()
    try:
        fd = os.open(path + ".starts", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return True  # no directory yet: the broker itself will say what is wrong
    with os.fdopen(fd, "r+") as file:
        recent = [float(word) for word in file.read().split() if _MOMENT(word)]
        recent = [moment for moment in recent if 0 <= now - moment < STARTS_SECONDS]
        if len(recent) >= STARTS:
            return False
        file.seek(0)
        file.truncate()
        file.write(" ".join(str(moment) for moment in [*recent, round(now, 3)]))
    return True


def start_broker(path: str) -> None:
    """Start a detached broker for `path` and wait until it serves.

    Raises NoBroker with the broker's own reason when it cannot serve, or where config.toml says that
    nobody shall start it.
    """
    import subprocess  # 5 ms with the configuration, which most commands need not wait for

    from seance_tools import config

    if not config.read(os.environ).values["broker.autostart"]:
        raise NoBroker(f"no broker at {path}, and broker.autostart is off; start it with: seance-broker")
    if not _may_start(path):
        raise NoBroker(
            f"the broker was started {STARTS} times in {STARTS_SECONDS:.0f} s and is gone again: {path}"
        )
    environment = {**os.environ, "SEANCE_SOCKET_PATH": path}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "seance_tools.broker"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            timeout=START_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoBroker(f"the broker did not start within {START_SECONDS:.0f} s") from None
    if done.returncode == names.EXIT_OK or _serves(path):  # another starter may have been quicker
        return
    reason = done.stderr.decode(errors="replace").strip().removeprefix("seance-broker: ")
    raise NoBroker(reason or f"the broker exited with {done.returncode}")


def _serves(path: str) -> bool:
    try:
        _connect(path, time.monotonic() + names.DEFAULT_TIMEOUT).close()
    except (NoBroker, TimeoutError):
        return False
    return True


def open_connection(
    path: str, timeout: float | None = names.DEFAULT_TIMEOUT, *, autostart: bool = True
) -> Connection:
    """Return a connection, starting a broker first where none runs and `autostart` says so."""
    try:
        return Connection(path, timeout)
    except NoBroker:
        if not autostart:
            raise
    start_broker(path)
    return Connection(path, timeout)
