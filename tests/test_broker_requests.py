"""Methods that the broker itself does, and the contract of all of them, over the real socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seance_tools import names
from seance_tools.client import Connection
from seance_tools.methods import METHODS, REQUIRED, Method
from seance_tools.wire import WireError
from tests.support import eventually
from tests.test_broker import connect, raw, read_lines
from tests.test_methods import WRONG, full

Start = Callable[..., subprocess.Popen[bytes]]
HOOK = {"agent": "codebuff", "surface_id": 7, "workspace_id": 1}


def hook(connection: Connection, event: str, **more: Any) -> None:
    connection.request("agent.hook", {**HOOK, "event": event, **more})


def faulty(method: Method) -> list[tuple[str, dict[str, Any]]]:
    """Requests that must be refused, with the parameter that the refusal must name."""
    found: list[tuple[str, dict[str, Any]]] = [("colour", full(method) | {"colour": 1})]
    for param in method.params:
        found.append((param.name, full(method) | {param.name: WRONG.get(param.type, "no such choice")}))
        if param.default is REQUIRED:
            found.append((param.name, {k: v for k, v in full(method).items() if k != param.name}))
        if param.type == "string":
            found.append((param.name, full(method) | {param.name: "x" * 5000}))
    return found


@pytest.mark.usefixtures("broker")
def test_every_method_refuses_what_is_wrong_by_name(environ: dict[str, str]) -> None:
    cases = [(method.name, *case) for method in METHODS for case in faulty(method)]
    with raw(environ) as sock:
        sock.sendall(
            b"".join(
                json.dumps({"id": n, "method": method, "params": params}).encode() + b"\n"
                for n, (method, _, params) in enumerate(cases)
            )
        )
        answers = read_lines(sock, len(cases))
    for (method, param, _), answer in zip(cases, answers, strict=True):
        assert answer["error"]["code"] == "invalid_params", (method, answer)
        assert answer["error"]["param"] == param, (method, answer)


@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize("method", [m for m in METHODS if m.name != "agent.wait"], ids=lambda m: m.name)
def test_every_method_answers_or_says_why_not(environ: dict[str, str], method: Method) -> None:
    with connect(environ) as connection:
        hook(connection, "prompt-submit")
        with raw(environ) as sock:
            line = json.dumps({"id": 1, "method": method.name, "params": full(method)})
            sock.sendall(line.encode() + b"\n")
            [answer, *_] = read_lines(sock, 1)
    if answer["ok"]:
        promised = method.result.split(",")[0].split(" ")[0]
        assert not promised or promised in answer["result"]
    else:
        assert answer["error"]["code"] in ("not_found", "not_supported", "invalid_params")


@pytest.mark.usefixtures("broker")
def test_wait_answers_at_once_if_it_holds_already(environ: dict[str, str]) -> None:
    with connect(environ) as connection:
        hook(connection, "stop")
        wanted = {"surface_id": 7, "states": ["needs_input", "idle"]}
        assert connection.request("agent.wait", wanted) == {
            "outcome": "reached",
            "session": "codebuff-7",
            "state": "idle",
        }


@pytest.mark.usefixtures("broker")
def test_wait_answers_when_it_comes_to_hold(environ: dict[str, str]) -> None:
    with connect(environ) as connection, raw(environ) as waiter:
        hook(connection, "prompt-submit")
        waiter.sendall(
            b'{"id":1,"method":"agent.wait","params":{"agent":"codebuff","states":"needs_input,idle"}}\n'
            b'{"id":2,"method":"system.ping"}\n'
        )
        hook(connection, "post-tool-use")
        hook(connection, "approval-request")
        first, second = read_lines(waiter, 2)
    assert (first["id"], first["result"]["state"]) == (1, "needs_input")
    assert second["id"] == 2  # in order, though its own answer was ready at once


@pytest.mark.usefixtures("broker")
def test_wait_tells_that_the_agent_ended(environ: dict[str, str]) -> None:
    agent = subprocess.Popen(["sleep", "100"])
    with connect(environ) as connection, raw(environ) as waiter:
        hook(connection, "prompt-submit", pid=agent.pid)
        waiter.sendall(b'{"id":1,"method":"agent.wait","params":{"surface_id":7}}\n')
        eventually(lambda: connection.request("system.health")["counters"]["waiting"] == 1)
        agent.kill()
        agent.wait()
        [answer] = read_lines(waiter, 1)
        assert answer["result"]["outcome"] == "ended"


@pytest.mark.usefixtures("broker")
def test_wait_has_an_end_and_needs_an_agent(environ: dict[str, str]) -> None:
    with connect(environ) as connection:
        hook(connection, "prompt-submit")
        result = connection.request("agent.wait", {"surface_id": 7, "states": "error", "timeout": 0.05})
        assert result["outcome"] == "timeout"
        with pytest.raises(WireError) as caught:
            connection.request("agent.wait", {"surface_id": 8})
        assert caught.value.code == "not_found"


@pytest.mark.usefixtures("broker")
def test_a_waiter_that_goes_away_is_forgotten(environ: dict[str, str]) -> None:
    with connect(environ) as connection:
        hook(connection, "prompt-submit")
        with raw(environ) as waiter:
            waiter.sendall(b'{"id":1,"method":"agent.wait","params":{"surface_id":7}}\n')
        hook(connection, "stop")
        assert connection.request("system.health")["counters"]["faults"] == 0


@pytest.mark.usefixtures("broker")
def test_history_tells_transitions_with_how_long_each_lasted(environ: dict[str, str]) -> None:
    with connect(environ) as connection:
        start = time.time() - 100
        for seconds, event in enumerate(["prompt-submit", "stop", "prompt-submit", "error"]):
            hook(connection, event, at=start + seconds * 10)
        hook(connection, "session-end")
        lines = connection.request("history.query", {"agent": "codebuff"})["transitions"]
        assert [(line["before"], line["state"]) for line in lines] == [
            (None, "running"),
            ("running", "idle"),
            ("idle", "running"),
            ("running", "error"),
            ("error", None),
        ]
        assert [line["seconds"] for line in lines[1:4]] == pytest.approx([10, 10, 10])
        newest = connection.request("history.query", {"limit": 1, "until": start + 25})["transitions"]
        assert [line["state"] for line in newest] == ["running"]
        assert connection.request("history.query", {"since": start + 35})["transitions"] == lines[4:]
        assert connection.request("history.query", {"surface_id": 8})["transitions"] == []


def test_history_survives_a_restart(start_broker: Start, environ: dict[str, str]) -> None:
    first = start_broker()
    with connect(environ) as connection:
        hook(connection, "prompt-submit")
    first.kill()
    first.wait()
    start_broker()
    with connect(environ) as connection:
        [line] = connection.request("history.query")["transitions"]
        assert line["state"] == "running"


@pytest.mark.usefixtures("broker")
def test_health(environ: dict[str, str]) -> None:
    with connect(environ) as connection:
        hook(connection, "prompt-submit")
        with pytest.raises(WireError):
            connection.request("no.such")
        health = connection.request("system.health")
    assert (health["status"], health["warnings"], health["protocol"]) == ("ok", [], names.PROTOCOL)
    assert health["rows"]["agent"] == 1
    assert health["limits"] == names.LIMITS
    assert health["counters"]["refused"] == 1
    assert health["store"]["path"] == names.database_path(environ)


def test_health_says_what_of_the_spool_was_refused(start_broker: Start, environ: dict[str, str]) -> None:
    start_broker()
    spool = Path(names.spool_path(names.socket_path(environ)))
    for number, (name, line) in enumerate(
        (("a", "1 report was refused"), ("b", "2 reports were refused, the last one")), 1
    ):
        (spool / f".{name}").write_text("Method: workspace.frobnicate\n\n")
        (spool / f".{name}").rename(spool / name)
        with connect(environ) as connection:
            eventually(lambda: connection.request("system.health")["spool"]["refused"] == number)  # noqa: B023
            [warning] = connection.request("system.health")["warnings"]
        assert warning == f"{line}: no method workspace.frobnicate (did you mean workspace.create?)"


def test_health_says_that_nothing_can_be_saved(start_broker: Start, environ: dict[str, str]) -> None:
    Path(environ["XDG_STATE_HOME"]).write_text("in the way")
    start_broker()
    with connect(environ) as connection:
        health = connection.request("system.health")
        assert health["status"] == "degraded"
        assert "cannot be saved" in health["warnings"][0]


@pytest.mark.usefixtures("broker")
def test_a_heartbeat_comes_only_if_asked_for(environ: dict[str, str]) -> None:
    with raw(environ) as sock:
        sock.sendall(b'{"id":1,"method":"events.subscribe","params":{"heartbeat":1}}\n')
        began = time.monotonic()
        answer, beat = read_lines(sock, 2)
        assert beat == {"event": "heartbeat", "seq": answer["result"]["seq"]}
        assert time.monotonic() - began > 0.9


@pytest.mark.usefixtures("broker")
def test_focus_of_what_cannot_be_focused(environ: dict[str, str]) -> None:
    with connect(environ) as connection:
        hook(connection, "prompt-submit")
        with pytest.raises(WireError) as caught:
            connection.request("surface.focus", {"surface_id": 7})
        assert caught.value.code == "not_supported"
        with pytest.raises(WireError) as caught:
            connection.request("surface.focus", {"surface_id": 8})
        assert caught.value.code == "not_found"


@pytest.mark.usefixtures("broker")
def test_focus_brings_a_tmux_pane_to_the_front(
    environ: dict[str, str], tmp_path: Path, need: Callable[[str], str]
) -> None:
    program, socket = need("tmux"), str(tmp_path / "t")

    def tmux(*argv: str) -> str:
        command = [program, "-S", socket, "-f", os.devnull, *argv]
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.strip()

    tmux("new-session", "-d", "-s", "work", "cat")
    tmux("new-window", "-t", "work", "cat")
    tmux("split-window", "-t", "work", "cat")
    pid = tmux("display-message", "-p", "#{pid}")
    try:
        with connect(environ) as connection:
            for number in (0, 1):
                place = {"TMUX": f"{socket},{pid},0", "TMUX_PANE": f"%{number}"}
                hook = {"agent": "codebuff", "event": "stop", "env": place}
                connection.request("agent.hook", hook)
                surface = connection.request("agent.list")["agents"][-1]["surface_id"]
                connection.request("surface.focus", {"surface_id": surface})
                assert tmux("display-message", "-p", "-t", "work", "#{pane_id}") == f"%{number}"
                assert connection.request("system.identify")["surface_id"] == surface

            def titles() -> list[str]:
                return [row["title"] for row in connection.request("workspace.list")["workspaces"]]

            eventually(lambda: titles() == ["work"])
            tmux("kill-server")
            eventually(lambda: connection.request("agent.list")["agents"] == [], 3.0)
    finally:
        subprocess.run([program, "-S", socket, "kill-server"], capture_output=True)


def test_signals_end_it_cleanly(start_broker: Start) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        broker = start_broker()
        broker.send_signal(number)
        assert broker.wait(5) == 0


def configure(environ: dict[str, str], text: str) -> None:
    path = Path(names.config_path(environ))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def option(environ: dict[str, str], key: str) -> Any:
    with connect(environ) as connection:
        [row] = connection.subscribe({"topics": ["config"]})["snapshot"]["config"] or [{"values": {}}]
    return row["values"].get(key)


@pytest.mark.parametrize("there", [True, False])
def test_config_is_read_again_when_it_changes(
    start_broker: Start, environ: dict[str, str], there: bool
) -> None:
    if there:
        configure(environ, "[limits]\nstatus_entries = 70\n")
    start_broker()

    eventually(lambda: option(environ, "limits.status_entries") == (70 if there else 64))
    configure(environ, "codebuff-hooks = false\n[limits]\nstatus_entries = 80\n")
    eventually(lambda: option(environ, "limits.status_entries") == 80)
    with connect(environ) as connection:
        hook(connection, "prompt-submit")
        assert connection.request("agent.list")["agents"] == []
        for number in range(80):
            status = {"workspace_id": 1, "key": f"k{number}", "value": "x"}
            connection.request("workspace.set_status", status)
        with pytest.raises(WireError, match="at most 80"):
            connection.request("workspace.set_status", {"workspace_id": 1, "key": "more", "value": "x"})


@pytest.mark.usefixtures("broker")
def test_the_last_config_that_could_be_read_stays_in_force(environ: dict[str, str]) -> None:
    configure(environ, "[limits]\nstatus_entries = 80\n")
    with connect(environ) as connection:
        eventually(lambda: option(environ, "limits.status_entries") == 80)
        configure(environ, "[limits\n")
        eventually(lambda: "cannot read" in str(connection.request("system.health")["warnings"]))
        assert option(environ, "limits.status_entries") == 80
        configure(environ, "nonsense = 1\n")
        eventually(lambda: "nonsense: no such key" in str(connection.request("system.health")["warnings"]))
        assert option(environ, "limits.status_entries") == 64
