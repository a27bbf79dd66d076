"""What clients may ask of the broker before it defends itself and the others."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from seance_tools.client import Connection
from tests.support import eventually
from tests.test_broker import connect, raw, read_lines

Start = Callable[..., subprocess.Popen[bytes]]


def memory(process: subprocess.Popen[bytes]) -> int:
    """Resident memory in MiB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) // 1024


def logs(count: int, text: str = "m") -> bytes:
    line = json.dumps({"id": 1, "method": "workspace.log", "params": {"workspace_id": 1, "message": text}})
    return (line.encode() + b"\n") * count


def health(environ: dict[str, str]) -> dict[str, int]:
    with connect(environ) as connection:
        counters: dict[str, int] = connection.request("system.health")["counters"]
        return counters


@pytest.mark.usefixtures("broker")
def test_one_large_batch_cuts_off_nobody_who_reads(environ: dict[str, str]) -> None:
    with connect(environ) as subscriber, raw(environ) as publisher:
        subscriber.subscribe({"topics": ["log"]})
        publisher.sendall(logs(2000))
        read_lines(publisher, 2000)
        stream = subscriber.events()
        seen = 0
        while seen < 2000:
            event = next(stream)
            assert event["event"] != "slow_consumer"
            seen += event["event"] == "log.set"
    assert health(environ)["slow_consumers"] == 0


@pytest.mark.usefixtures("broker")
def test_all_that_is_kept_can_be_had_again(environ: dict[str, str]) -> None:
    with connect(environ) as subscriber, raw(environ) as publisher:
        first = subscriber.subscribe({"topics": ["log"]})
        publisher.sendall(logs(1500))
        read_lines(publisher, 1500)
        with raw(environ) as late:
            wanted = {"after_seq": first["seq"], "boot_id": first["boot_id"], "topics": ["log"]}
            request = json.dumps({"id": 1, "method": "events.subscribe", "params": wanted})
            late.sendall(request.encode() + b"\n")
            publisher.sendall(logs(1))
            read_lines(publisher, 1)
            lines = read_lines(late, 1502)
    assert lines[0]["result"]["snapshot"] is None
    numbers = [line["seq"] for line in lines[1:]]
    assert numbers == sorted(set(numbers))
    assert health(environ)["slow_consumers"] == 0


def test_a_lazy_subscriber_is_cut_off_at_a_lines_end(
    broker: subprocess.Popen[bytes], environ: dict[str, str]
) -> None:
    before = memory(broker)
    with raw(environ) as lazy, raw(environ) as publisher:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        publisher.sendall(logs(200, "x" * 4000))
        read_lines(publisher, 200)
        lazy.sendall(b'{"id":1,"method":"events.subscribe"}\n')  # a snapshot of 800 KB, hardly read
        for _ in range(20):
            publisher.sendall(logs(100, "y" * 1000))
            read_lines(publisher, 100)
        eventually(lambda: health(environ)["slow_consumers"] == 1)
        data = b""
        try:
            while chunk := lazy.recv(1 << 16):
                data += chunk
        except ConnectionResetError:
            pass  # it lost what it had not read
    for line in data.split(b"\n")[:-1]:
        json.loads(line)
    assert memory(broker) - before < 30
    assert health(environ)["faults"] == 0


def test_a_flood_of_large_answers_waits_for_its_reader(
    broker: subprocess.Popen[bytes], environ: dict[str, str]
) -> None:
    with raw(environ) as publisher:
        publisher.sendall(logs(200, "x" * 1000))
        read_lines(publisher, 200)
    before = memory(broker)
    with raw(environ) as greedy, connect(environ) as other:
        greedy.sendall(b'{"id":1,"method":"system.tree"}\n' * 300)
        assert other.request("system.ping") == {"pong": True}
        assert memory(broker) - before < 30
        assert len(read_lines(greedy, 300)) == 300


def test_large_answers_behind_one_that_is_still_to_come_are_bounded(
    broker: subprocess.Popen[bytes], environ: dict[str, str]
) -> None:
    with raw(environ) as publisher, raw(environ) as greedy, connect(environ) as connection:
        publisher.sendall(logs(200, "x" * 1000))
        read_lines(publisher, 200)
        hook = {"agent": "codebuff", "event": "prompt-submit", "surface_id": 7}
        connection.request("agent.hook", hook)
        before = memory(broker)
        wait = b'{"id":1,"method":"agent.wait","params":{"surface_id":7}}\n'
        greedy.sendall(wait + b'{"id":2,"method":"system.tree"}\n' * 200)
        eventually(lambda: health(environ)["waiting"] == 1)
        assert memory(broker) - before < 20
        connection.request("agent.hook", {**hook, "event": "stop"})
        assert [answer["id"] for answer in read_lines(greedy, 201)] == [1] + [2] * 200
    assert health(environ)["faults"] == 0


@pytest.mark.usefixtures("broker")
def test_many_waits_are_bounded_and_all_answered(environ: dict[str, str]) -> None:
    with raw(environ) as waiter, connect(environ) as connection:
        hook = {"agent": "codebuff", "event": "prompt-submit", "surface_id": 7}
        connection.request("agent.hook", hook)
        waiter.sendall(b'{"id":1,"method":"agent.wait","params":{"surface_id":7}}\n' * 1000)
        eventually(lambda: health(environ)["waiting"] > 200)
        assert health(environ)["waiting"] < 300
        connection.request("agent.hook", {**hook, "event": "stop"})
        answers = read_lines(waiter, 1000)
        assert {answer["result"]["outcome"] for answer in answers} == {"reached"}


def test_a_half_closed_waiter_that_is_gone_is_forgotten(
    broker: subprocess.Popen[bytes], environ: dict[str, str]
) -> None:
    with connect(environ) as connection:
        connection.request("agent.hook", {"agent": "codebuff", "event": "prompt-submit", "surface_id": 7})
        before = len(os.listdir(f"/proc/{broker.pid}/fd"))
        for _ in range(20):
            with raw(environ) as waiter:
                waiter.sendall(b'{"id":1,"method":"agent.wait","params":{"surface_id":7}}\n')
                waiter.shutdown(socket.SHUT_WR)
        eventually(lambda: health(environ)["waiting"] == 0)
        eventually(lambda: len(os.listdir(f"/proc/{broker.pid}/fd")) <= before)


@pytest.mark.usefixtures("broker")
def test_a_half_closed_waiter_that_is_there_gets_its_answer(environ: dict[str, str]) -> None:
    with connect(environ) as connection, raw(environ) as waiter:
        hook = {"agent": "codebuff", "event": "prompt-submit", "surface_id": 7}
        connection.request("agent.hook", hook)
        waiter.sendall(b'{"id":1,"method":"agent.wait","params":{"surface_id":7}}\n')
        waiter.shutdown(socket.SHUT_WR)
        eventually(lambda: health(environ)["waiting"] == 1)
        connection.request("agent.hook", {**hook, "event": "stop"})
        assert read_lines(waiter, 1)[0]["result"]["outcome"] == "reached"


@pytest.mark.usefixtures("broker")
def test_a_last_line_without_its_end_counts(environ: dict[str, str]) -> None:
    with raw(environ) as sock:
        sock.sendall(b'{"id":1,"method":"system.ping"}')
        sock.shutdown(socket.SHUT_WR)
        assert read_lines(sock, 1)[0]["result"] == {"pong": True}


def test_processes_take_no_descriptors_from_clients(
    environ: dict[str, str], start_broker: Start, need: Callable[[str], str]
) -> None:
    broker = start_broker()
    subprocess.run([need("prlimit"), f"--pid={broker.pid}", "--nofile=60"], check=True)
    sleepers = [subprocess.Popen(["sleep", "100"]) for _ in range(60)]
    try:
        with connect(environ) as connection:
            for number, sleeper in enumerate(sleepers):
                status = {"workspace_id": 1, "key": f"k{number}", "value": "x", "pid": sleeper.pid}
                connection.request("workspace.set_status", status)
            for sleeper in sleepers:
                sleeper.kill()
                sleeper.wait()

            def gone() -> bool:
                return bool(connection.request("system.health")["rows"]["status"] == 0)

            eventually(gone, 15.0)
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()


@pytest.mark.usefixtures("broker")
def test_what_is_refused_changes_nothing(environ: dict[str, str]) -> None:
    with raw(environ) as sock, connect(environ) as connection:
        bad = {"agent": "myagent", "event": "progress", "surface_id": 777, "payload": {"value": "z"}}
        sock.sendall(json.dumps({"id": 1, "method": "agent.hook", "params": bad}).encode() + b"\n")
        assert not read_lines(sock, 1)[0]["ok"]
        assert connection.request("surface.list")["surfaces"] == []
        assert connection.request("workspace.list")["workspaces"] == []


@pytest.mark.parametrize("tmux", ["/x\0,1,0", "/x,\u00b2,0", "/x\x1b[2J,1,0", "\ud800,1,0"])
@pytest.mark.usefixtures("broker")
def test_odd_environments_name_no_place(environ: dict[str, str], tmux: str) -> None:
    with raw(environ) as sock:
        env = {"TMUX": tmux, "TMUX_PANE": "%1"}
        for method in ("surface.focus", "workspace.clear_log"):
            sock.sendall(json.dumps({"id": 1, "method": method, "params": {"env": env}}).encode() + b"\n")
        assert [answer["error"]["code"] for answer in read_lines(sock, 2)] == ["invalid_params"] * 2


def test_a_broker_that_starts_without_a_disk_recovers(
    environ: dict[str, str], start_broker: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    del monkeypatch
    state = Path(environ["XDG_STATE_HOME"])
    state.write_text("in the way")
    broker = start_broker()
    with connect(environ) as connection:
        connection.request("workspace.log", {"workspace_id": 1, "message": "kept"})
        state.unlink()
        eventually(lambda: connection.request("system.health")["status"] == "ok", 15.0)
    broker.kill()
    broker.wait()
    start_broker()
    with connect(environ) as connection:
        [workspace] = connection.request("system.tree")["windows"][0]["workspaces"]
        assert workspace["log"][0]["message"] == "kept"


def test_the_callers_pane_stands_beside_the_parameters(
    environ: dict[str, str], broker: subprocess.Popen[bytes]
) -> None:
    del broker
    with connect(environ) as connection:
        assert isinstance(connection, Connection)
        connection.request("workspace.create", {"title": "first"})
    pane = {**environ, "SEANCE_WORKSPACE_ID": "1", "SEANCE_SURFACE_ID": "007"}
    done = subprocess.run(
        ["seance-ctl", "workspace.log"], env=pane, input='{"message": "m"}', capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    with connect(environ) as connection:
        [workspace] = connection.request("system.tree")["windows"][0]["workspaces"]
        assert workspace["log"][0]["message"] == "m"
