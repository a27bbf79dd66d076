"""The broker as a process, over its real socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seance_tools import client, names
from seance_tools.client import Connection
from seance_tools.wire import WireError
from tests.support import eventually

Start = Callable[..., subprocess.Popen[bytes]]


@contextmanager
def raw(environ: dict[str, str]) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
        sock.connect(names.socket_path(environ))
        yield sock


def read_all(sock: socket.socket) -> list[dict[str, Any]]:
    data = b""
    while chunk := sock.recv(1 << 16):
        data += chunk
    return [json.loads(line) for line in data.splitlines()]


def read_lines(sock: socket.socket, count: int) -> list[dict[str, Any]]:
    chunks = []
    ends = 0
    while ends < count:
        chunks.append(sock.recv(1 << 16))
        assert chunks[-1], f"closed after {chunks!r}"
        ends += chunks[-1].count(b"\n")
    data = b"".join(chunks)
    return [json.loads(line) for line in data[: data.rindex(b"\n")].split(b"\n")]


def connect(environ: dict[str, str]) -> Connection:
    return Connection(names.socket_path(environ), 10.0)


@pytest.mark.usefixtures("broker")
def test_requests_are_pipelined_and_answered_in_order(environ: dict[str, str]) -> None:
    with raw(environ) as sock:
        lines = [
            f'{{"id":{n},"method":"workspace.append_log","params":{{"workspace_id":1,"message":"m{n}"}}}}\n'
            for n in range(500)
        ]
        sock.sendall("".join(lines).encode())
        assert [answer["id"] for answer in read_lines(sock, 500)] == list(range(500))


@pytest.mark.usefixtures("broker")
def test_a_half_closed_client_gets_all_its_answers(environ: dict[str, str]) -> None:
    for _ in range(100):
        with raw(environ) as sock:
            sock.sendall(b'{"id":1,"method":"system.ping"}\n{"id":2,"method":"system.tree"}\n')
            sock.shutdown(socket.SHUT_WR)
            assert [answer["id"] for answer in read_all(sock)] == [1, 2]


@pytest.mark.usefixtures("broker")
def test_an_oversize_line_is_refused_once_and_its_tail_never_runs(environ: dict[str, str]) -> None:
    evil = b'{"id":9,"method":"workspace.set_status","params":{"workspace_id":66,"key":"k","value":"evil"}}'
    with raw(environ) as sock:
        sock.sendall(b" " * (1 << 20) + evil + b'\n{"id":2,"method":"workspace.list"}\n')
        first, second = read_lines(sock, 2)
    assert (first["id"], first["error"]["code"]) == (None, "too_large")
    assert second["result"] == {"workspaces": []}


@pytest.mark.usefixtures("broker")
def test_a_line_that_never_ends_closes_the_connection(environ: dict[str, str]) -> None:
    with raw(environ) as sock:
        try:
            for _ in range(80):
                sock.sendall(b"x" * (1 << 16))
        except OSError:
            pass
        try:
            answers = read_all(sock)
        except ConnectionResetError:
            return
        assert [answer["error"]["code"] for answer in answers] == ["too_large"]


@pytest.mark.usefixtures("broker")
def test_bad_lines_are_refused_and_the_next_one_served(environ: dict[str, str]) -> None:
    with raw(environ) as sock:
        sock.sendall(b'nonsense\n{"id":"x","method":"no.such"}\n\r\n{"id":3,"method":"system.ping"}\r\n')
        answers = read_lines(sock, 3)
    assert [(a["id"], a.get("error", {}).get("code")) for a in answers] == [
        (None, "parse_error"),
        ("x", "method_not_found"),
        (3, None),
    ]


@pytest.mark.usefixtures("broker")
def test_capabilities_name_every_method(environ: dict[str, str]) -> None:
    with connect(environ) as connection:
        result = connection.request("system.capabilities")
    assert {"workspace.log", "workspace.append_log", "events.subscribe", "agent.hook"} <= set(
        result["methods"]
    )
    assert result["protocol"] == 1


def test_kill_9_and_start_again_shows_the_same(start_broker: Start, environ: dict[str, str]) -> None:
    first = start_broker()
    with connect(environ) as connection:
        connection.request(
            "workspace.set_status",
            {"workspace_id": 123, "key": "opencode", "value": "Running", "priority": 5},
        )
        connection.request(
            "workspace.set_progress", {"workspace_id": 123, "value": 0.75, "label": "Processing..."}
        )
        connection.request(
            "workspace.append_log", {"workspace_id": 123, "message": "Tool execution completed"}
        )
        connection.request("workspace.set_subagent_counts", {"workspace_id": 123, "subagent_count": 3})
        connection.request(
            "agent.hook", {"agent": "codebuff", "event": "prompt-submit", "surface_id": 7, "pid": os.getpid()}
        )
        before = connection.request("system.tree")
    first.kill()
    first.wait()
    start_broker()
    with connect(environ) as connection:
        assert connection.request("system.tree") == before


def test_what_ended_while_the_broker_was_down_is_gone(start_broker: Start, environ: dict[str, str]) -> None:
    agent = subprocess.Popen(["sleep", "100"])
    first = start_broker()
    with connect(environ) as connection:
        connection.request(
            "agent.hook", {"agent": "codebuff", "event": "prompt-submit", "surface_id": 7, "pid": agent.pid}
        )
        assert connection.request("agent.list")["agents"][0]["pid"] == agent.pid
    first.kill()
    first.wait()
    agent.kill()
    agent.wait()
    start_broker()
    with connect(environ) as connection:
        assert connection.request("agent.list")["agents"] == []


@pytest.mark.usefixtures("broker")
def test_an_agent_goes_with_its_process(environ: dict[str, str]) -> None:
    agent = subprocess.Popen(["sleep", "100"])
    with connect(environ) as connection:
        connection.request(
            "agent.hook", {"agent": "codebuff", "event": "prompt-submit", "surface_id": 7, "pid": agent.pid}
        )
        connection.request(
            "workspace.set_status", {"workspace_id": 1, "key": "k", "value": "x", "pid": agent.pid}
        )
        agent.kill()
        agent.wait()
        eventually(lambda: connection.request("agent.list")["agents"] == [], 2.0)
        tree = connection.request("system.tree")
        assert all(not workspace["status"] for workspace in tree["windows"][0]["workspaces"])


@pytest.mark.usefixtures("broker")
def test_a_process_that_is_gone_already_leaves_nothing(environ: dict[str, str]) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    with connect(environ) as connection:
        connection.request(
            "agent.hook", {"agent": "codebuff", "event": "prompt-submit", "surface_id": 7, "pid": gone.pid}
        )
        assert connection.request("agent.list")["agents"] == []


@pytest.mark.usefixtures("broker")
def test_a_status_expires_by_itself(environ: dict[str, str]) -> None:
    with connect(environ) as connection:
        connection.request(
            "workspace.set_status", {"workspace_id": 1, "key": "k", "value": "x", "ttl_ms": 50}
        )
        eventually(
            lambda: not connection.request("system.tree")["windows"][0]["workspaces"][0]["status"], 2.0
        )


@pytest.mark.usefixtures("broker")
def test_subscribers_get_a_snapshot_then_numbered_changes(environ: dict[str, str]) -> None:
    with connect(environ) as subscriber, connect(environ) as other:
        other.request("workspace.set_status", {"workspace_id": 1, "key": "k", "value": "x"})
        first = subscriber.subscribe()
        assert first["snapshot"]["status"][0]["value"] == "x"
        other.request("workspace.set_status", {"workspace_id": 1, "key": "k", "value": "y"})
        other.request("workspace.clear_status", {"workspace_id": 1, "key": "k"})
        stream = subscriber.events()
        events = [next(stream), next(stream)]
    assert [event["seq"] for event in events] == [first["seq"] + 1, first["seq"] + 2]
    assert [event["event"] for event in events] == ["status.set", "status.clear"]
    assert events[0]["data"]["value"] == "y"


@pytest.mark.usefixtures("broker")
def test_a_subscriber_that_comes_back_gets_what_it_missed(environ: dict[str, str]) -> None:
    with connect(environ) as other:
        with connect(environ) as subscriber:
            first = subscriber.subscribe()
        other.request("workspace.append_log", {"workspace_id": 1, "message": "m"})
        with connect(environ) as subscriber:
            again = subscriber.subscribe({"after_seq": first["seq"], "boot_id": first["boot_id"]})
            assert (again["snapshot"], again["gap"], again["seq"]) == (None, False, first["seq"])
            event = next(subscriber.events())
            assert event["seq"] == first["seq"] + 1
        with connect(environ) as subscriber:
            again = subscriber.subscribe({"after_seq": first["seq"], "boot_id": "another run"})
            assert again["gap"]
            assert again["snapshot"]["log"]


@pytest.mark.usefixtures("broker")
def test_topics_and_their_names(environ: dict[str, str]) -> None:
    with connect(environ) as subscriber, connect(environ) as other:
        assert set(subscriber.subscribe({"topics": ["log"]})["snapshot"]) == {"log"}
        other.request("workspace.set_status", {"workspace_id": 1, "key": "k", "value": "x"})
        other.request("workspace.append_log", {"workspace_id": 1, "message": "m"})
        assert next(subscriber.events())["event"] == "log.set"
    with connect(environ) as subscriber, pytest.raises(WireError, match="counter"):
        subscriber.subscribe({"topics": ["counter"]})


@pytest.mark.usefixtures("broker")
def test_a_subscriber_that_does_not_read_is_cut_off_and_the_others_never_notice(
    environ: dict[str, str],
) -> None:
    count = 6000
    with raw(environ) as lazy, connect(environ) as reader, raw(environ) as publisher:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.sendall(b'{"id":1,"method":"events.subscribe","params":{"topics":["log"]}}\n')
        read_lines(lazy, 1)
        reader.subscribe({"topics": ["log"]})
        stream = reader.events()
        seen = 0
        text = "m" * 200
        for start in range(0, count, 100):
            publisher.sendall(
                "".join(
                    f'{{"id":{n},"method":"workspace.log","params":{{"workspace_id":1,"message":"{text}"}}}}\n'
                    for n in range(start, start + 100)
                ).encode()
            )
            read_lines(publisher, 100)
            while seen < start + 100:
                seen += next(stream)["event"] == "log.set"
        assert seen == count
        with connect(environ) as connection:
            eventually(lambda: connection.request("system.health")["counters"]["slow_consumers"] == 1)
        data = b""
        try:
            while chunk := lazy.recv(1 << 16):
                data += chunk
        except ConnectionResetError:
            pass  # what it had not read is lost
    assert data.count(b"log.set") < count


def test_the_files_are_private_and_gone_after_a_clean_stop(
    broker: subprocess.Popen[bytes], environ: dict[str, str]
) -> None:
    path = Path(names.socket_path(environ))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    broker.send_signal(signal.SIGTERM)
    assert broker.wait(5) == 0
    assert not path.exists()


def test_a_second_broker_refuses_even_if_the_first_is_stopped(
    broker: subprocess.Popen[bytes], environ: dict[str, str]
) -> None:
    broker.send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        second = subprocess.run(
            [sys.executable, "-m", "seance_tools.broker"], env=environ, capture_output=True, text=True
        )
        assert second.returncode == names.EXIT_REFUSED
        assert "already running" in second.stderr
        assert second.stderr.count("\n") == 1
        assert time.monotonic() - began < 10
        with pytest.raises(TimeoutError), Connection(names.socket_path(environ), 0.3) as connection:
            connection.request("system.ping")
    finally:
        broker.send_signal(signal.SIGCONT)


def test_detached_start_returns_when_it_serves_and_stop_ends_it(
    environ: dict[str, str], script_runner: Any
) -> None:
    assert script_runner.run(["seance-broker"], env=environ).returncode == 0
    path = names.socket_path(environ)
    with Connection(path) as connection:
        assert connection.request("system.ping") == {"pong": True}
    assert script_runner.run(["seance-broker", "--stop"], env=environ).returncode == 0
    with pytest.raises(client.NoBroker):
        Connection(path)
    again = script_runner.run(["seance-broker", "--stop"], env=environ)
    assert (again.returncode, again.stderr) == (names.EXIT_NO_BROKER, f"seance-broker: no broker at {path}\n")


def test_a_wrong_thing_at_the_path_is_named(environ: dict[str, str], script_runner: Any) -> None:
    path = Path(names.socket_path(environ))
    path.parent.mkdir(mode=0o700)
    path.write_text("precious")
    result = script_runner.run(["seance-broker"], env=environ)
    assert (result.returncode, result.stderr) == (
        1,
        f"seance-broker: {path} is there already and is not a socket\n",
    )
    assert path.read_text() == "precious"


def test_a_path_too_long_says_so(environ: dict[str, str], script_runner: Any) -> None:
    result = script_runner.run(["seance-broker"], env={**environ, "SEANCE_SOCKET_PATH": "/tmp/" + "x" * 103})
    assert result.returncode == 1
    assert "108 bytes" in result.stderr


def test_a_disk_that_cannot_be_written_does_not_stop_it(start_broker: Start, environ: dict[str, str]) -> None:
    Path(environ["XDG_STATE_HOME"]).write_text("a file where the directory should be")
    start_broker()
    with connect(environ) as connection:
        connection.request("workspace.set_status", {"workspace_id": 1, "key": "k", "value": "x"})
        assert connection.request("workspace.list")["workspaces"][0]["id"] == 1


def test_when_descriptors_run_out_it_says_busy_and_comes_back(
    start_broker: Start, environ: dict[str, str], need: Callable[[str], str]
) -> None:
    prlimit = need("prlimit")
    broker = start_broker()
    subprocess.run([prlimit, f"--pid={broker.pid}", "--nofile=64"], check=True)
    path = names.socket_path(environ)
    clients = []
    with connect(environ) as first:
        for _ in range(100):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(path)
            clients.append(sock)
        assert first.request("system.ping") == {"pong": True}
        for sock in clients:
            sock.close()

    def answers() -> bool:
        try:
            with Connection(path, 0.5) as connection:
                return connection.request("system.ping") == {"pong": True}
        except (TimeoutError, ConnectionError, WireError, client.NoBroker):
            return False

    eventually(answers, 5.0)


def test_two_sockets_have_two_states(start_broker: Start, environ: dict[str, str], tmp_path: Path) -> None:
    other = str(tmp_path / "other.sock")
    os.chmod(tmp_path, 0o700)
    start_broker()
    start_broker(SEANCE_SOCKET_PATH=other)
    with connect(environ) as connection:
        connection.request("workspace.set_status", {"workspace_id": 1, "key": "k", "value": "x"})
    with Connection(other) as connection:
        assert connection.request("workspace.list")["workspaces"] == []
    assert len(list(Path(environ["XDG_STATE_HOME"], "seance").glob("*.db"))) == 2


def test_a_stopped_broker_is_gone_before_its_connections_are(
    broker: subprocess.Popen[bytes], environ: dict[str, str]
) -> None:
    """Whoever loses a connection looks at the path: a socket there means that the broker was killed."""
    with connect(environ) as connection:
        connection.subscribe()
        broker.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionError):
            next(connection.events())
        assert not os.path.exists(names.socket_path(environ))
