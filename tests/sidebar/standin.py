"""A broker that says and does what a test wants."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import Any

import ujson

from seance_tools.state.tables import Tables
from seance_tools.wire import WireError, encode, failure

NOW = 1_700_000_000.0


class Broker:
    """A stand-in broker: a snapshot for whoever subscribes, changes as the test makes them.

    refuse: what requests other than a subscription are answered with, None for an empty result.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.tables = Tables()
        self.requests: list[dict[str, Any]] = []
        self.refuse: str | None = None
        self.boot_id = "boot-1"
        self.seq = 0
        self._subscribers: list[socket.socket] = []
        self._connections: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener: socket.socket
        self.open()

    def open(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """End as a killed broker does."""
        os.unlink(self.path)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._connections.clear()
            self._subscribers.clear()

    def set(self, kind: str, /, **row: Any) -> None:
        """Set a row and tell the subscribers."""
        with self._lock:
            self.tables.set(kind, row)
            lines = []
            for change in self.tables.take_changes():
                self.seq += 1
                lines.append(encode({"seq": self.seq, **change.event()}))
            for subscriber in self._subscribers:
                subscriber.sendall(b"".join(lines))

    def beat(self) -> None:
        """Say that it lives."""
        with self._lock:
            for subscriber in self._subscribers:
                subscriber.sendall(encode({"event": "heartbeat", "seq": self.seq}))

    def status(
        self, value: str, key: str = "claude-1", *, state: str = "running", workspace_id: int = 1
    ) -> None:
        """Set an agent's status."""
        row = {"workspace_id": workspace_id, "key": key, "value": value, "display_name": "Claude Code"}
        row |= {"priority": 5, "is_agent": True, "state": state, "since": time.time(), "session": key}
        self.set("status", **row, inferred=False, pid=None, start_time=None, expires_at=None)

    def workspace(self, title: str = "shop-api", workspace_id: int = 1) -> None:
        row = {"id": workspace_id, "title": title, "pinned": False, "position": workspace_id, "place": ""}
        self.set("workspace", **row, columns=[], created_at=NOW, titled_by="user")

    def surface(self, surface_id: int = 11, workspace_id: int = 1, **members: Any) -> None:
        row = {
            "id": surface_id,
            "workspace_id": workspace_id,
            "place": "",
            "title": "",
            "cwd": "",
            "branch": "",
        }
        self.set("surface", **{**row, "dirty": False, "created_at": NOW, **members})

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection, connection.makefile("rb") as lines:
            for line in lines:
                request = ujson.loads(line)
                with self._lock:
                    connection.sendall(self._answer(connection, request))
                    self.requests.append(request)
        with self._lock:
            for group in (self._connections, self._subscribers):
                if connection in group:
                    group.remove(connection)

    def _answer(self, connection: socket.socket, request: dict[str, Any]) -> bytes:
        if request["method"] != "events.subscribe":
            if self.refuse:
                return failure(request["id"], WireError("not_supported", self.refuse))
            return encode({"id": request["id"], "ok": True, "result": {}})
        self._subscribers.append(connection)
        result: dict[str, Any] = {"seq": self.seq, "boot_id": self.boot_id, "gap": False}
        if request["params"].get("boot_id") == self.boot_id and request["params"]["after_seq"] == self.seq:
            result["snapshot"] = None
        else:
            result["snapshot"] = self.tables.snapshot()
        return encode({"id": request["id"], "ok": True, "result": result})
