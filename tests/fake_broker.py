"""A broker for tests that only records: a real socket, every request kept, `{}` for an answer."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from tests.support import eventually

Answer = Callable[[dict[str, Any]], dict[str, Any] | bytes | None]


class FakeBroker:
    """Serves at `path` from a thread until closed; a context manager.

    answer: makes of a request the answer's members besides the id, or the bytes of it; None: no answer.
    """

    def __init__(self, path: str, answer: Answer = lambda _: {"ok": True, "result": {}}) -> None:
        self.requests: list[dict[str, Any]] = []
        self.moments: list[float] = []  # time.monotonic() of each
        self.connections = 0
        self._path = path
        self._answer = answer
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, *, leave_socket: bool = False) -> None:
        """Go away; `leave_socket` as a killed broker does."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # its client has gone
        if not leave_socket and os.path.exists(self._path):
            os.unlink(self._path)

    def events(self) -> list[str]:
        """The hook events reported so far, in order; lines for the log left out."""
        hooks = [request["params"] for request in list(self.requests) if request["method"] == "agent.hook"]
        return [params["event"] for params in hooks if params["event"] != "log"]

    def await_events(self, *expected: str, seconds: float = 10.0) -> None:
        """Wait until exactly these events have been reported."""
        with contextlib.suppress(AssertionError):  # the comparison says more
            eventually(lambda: len(self.events()) >= len(expected), seconds)
        assert self.events() == list(expected)

    def notes(self) -> list[str]:
        """The lines for the workspace's log."""
        params = [request["params"] for request in list(self.requests)]
        return [item["payload"]["message"] for item in params if item.get("event") == "log"]

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return  # closed
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rwb") as stream:
            try:
                for line in stream:
                    request = json.loads(line)
                    self.moments.append(time.monotonic())
                    self.requests.append(request)
                    members = self._answer(request)
                    if members is not None:
                        if not isinstance(members, bytes):
                            members = json.dumps({"id": request["id"], **members}).encode() + b"\n"
                        stream.write(members)
                        stream.flush()
            except OSError:
                return  # the client, or the test, is through with it
