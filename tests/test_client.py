from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from seance_tools import client, names
from seance_tools.client import Connection, NoBroker
from seance_tools.wire import WireError


def test_nothing_there_is_no_broker(environ: dict[str, str]) -> None:
    with pytest.raises(NoBroker, match="no broker at"):
        Connection(names.socket_path(environ))


def test_a_socket_nobody_serves_is_no_broker(environ: dict[str, str]) -> None:
    path = names.socket_path(environ)
    os.mkdir(os.path.dirname(path), 0o700)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(path)
    with pytest.raises(NoBroker, match="refused"):
        Connection(path)


def test_a_full_queue_times_out(environ: dict[str, str]) -> None:
    path = names.socket_path(environ)
    os.mkdir(os.path.dirname(path), 0o700)
    with socket.socket(socket.AF_UNIX) as full:
        full.bind(path)
        full.listen(0)
        waiting = []
        try:
            for _ in range(3):
                sock = socket.socket(socket.AF_UNIX)
                sock.setblocking(False)
                waiting.append(sock)
                sock.connect_ex(path)
            with pytest.raises(TimeoutError):
                Connection(path, 0.1)
        finally:
            for sock in waiting:
                sock.close()


def test_a_broker_that_ends_at_once_is_not_started_for_ever(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = names.socket_path(environ)
    os.mkdir(os.path.dirname(path), 0o700)
    Path(path).write_text("in the way")
    monkeypatch.setattr(client, "STARTS", 2)
    for _ in range(2):
        with pytest.raises(NoBroker, match="not a socket"):
            client.open_connection(path)
    with pytest.raises(NoBroker, match="started 2 times"):
        client.open_connection(path)


@pytest.mark.usefixtures("broker")
def test_a_connection_serves_many_requests(environ: dict[str, str]) -> None:
    with Connection(names.socket_path(environ)) as connection:
        for _ in range(3):
            assert connection.request("system.ping") == {"pong": True}
        assert connection.receive() == []


def test_nobody_starts_it_where_autostart_is_off(environ: dict[str, str]) -> None:
    path = Path(names.config_path(environ))
    path.parent.mkdir(parents=True)
    path.write_text("[broker]\nautostart = false\n")
    with pytest.raises(NoBroker, match=r"autostart is off; start it with: seance-broker"):
        client.open_connection(names.socket_path(environ))
    assert not os.path.exists(names.socket_path(environ))


@pytest.mark.parametrize("line", [b"nonsense", b"[]", b"5", b'{"ok":true}', b'{"ok":true,"result":5}'])
def test_what_is_no_answer_is_an_error(line: bytes) -> None:
    with pytest.raises(WireError):
        client.unwrap(line)
