from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seance_tools import client
from seance_tools.codebuff.monitor import Teller
from seance_tools.codebuff.reporter import ANSWER_SECONDS, FIRST_PAUSE, LONGEST_PAUSE, Reporter
from seance_tools.codebuff.rules import Verdict
from tests.fake_broker import FakeBroker
from tests.support import eventually

BASE = {"agent": "codebuff", "pid": 42, "payload": {"cwd": "/w"}}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "broker.sock")


@pytest.fixture
def broker(path: str) -> Iterator[FakeBroker]:
    with FakeBroker(path) as it:
        yield it


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that a broker was to be started for; none is."""
    paths: list[str] = []

    def start(path: str) -> None:
        paths.append(path)
        raise client.NoBroker("none to be had")

    monkeypatch.setattr(client, "start_broker", start)
    return paths


def reporter_of(path: str) -> Reporter:
    return Reporter("test", path, BASE)


def test_a_state_is_told_once_with_what_every_report_has(path: str, broker: FakeBroker) -> None:
    reporter = reporter_of(path)
    reporter.state("stop", 12.5)
    assert reporter.timeout(100.0) == 0.0
    reporter.deliver(100.0)
    reporter.deliver(101.0)
    assert reporter.timeout(101.0) is None
    assert [request["params"] for request in broker.requests] == [{**BASE, "event": "stop", "at": 12.5}]
    reporter.end(13.0)
    assert broker.requests[-1]["params"] == {**BASE, "event": "session-end", "at": 13.0}
    assert broker.connections == 1


def test_only_the_present_state_is_told_after_an_absence(path: str, starts: list[str]) -> None:
    reporter = reporter_of(path)
    reporter.state("prompt-submit", 1.0)
    reporter.deliver(100.0)
    reporter.state("stop", 2.0)
    with FakeBroker(path) as broker:
        reporter.deliver(100.0 + FIRST_PAUSE)
        assert [(r["params"]["event"], r["params"]["at"]) for r in broker.requests] == [("stop", 2.0)]
    assert starts == [path]
    reporter.end(3.0)


def test_attempts_become_rare_and_are_frequent_again_after_success(path: str, starts: list[str]) -> None:
    reporter = reporter_of(path)
    reporter.state("stop", 1.0)
    now, pauses = 0.0, []
    for _ in range(10):
        reporter.deliver(now)
        pause = reporter.timeout(now)
        assert pause is not None
        pauses.append(pause)
        reporter.deliver(now + pause / 2)  # too early: nothing is tried
        assert reporter.timeout(now) == pause
        now += pause
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE
    with FakeBroker(path):
        reporter.deliver(now)
        assert reporter.timeout(now) is None
    lose(reporter, now)
    assert reporter.timeout(now) == FIRST_PAUSE
    assert len(starts) == 1


def lose(reporter: Reporter, now: float) -> None:
    """Let the reporter notice that its broker has gone."""

    def lost() -> bool:
        reporter.hear(now)
        return reporter.fileno() < 0

    eventually(lost)


def test_the_state_is_told_anew_to_a_broker_that_comes_back(path: str) -> None:
    reporter = reporter_of(path)
    with FakeBroker(path) as broker:
        reporter.state("stop", 1.0)
        reporter.deliver(0.0)
    lose(reporter, 10.0)
    with FakeBroker(path) as broker:
        reporter.deliver(11.0)
        assert broker.events() == ["stop"]
        assert broker.requests[0]["params"]["at"] == 1.0
        reporter.end(2.0)


@pytest.mark.parametrize("killed", [True, False])
def test_a_killed_broker_is_started_again_and_a_stopped_one_is_not(
    path: str, starts: list[str], killed: bool
) -> None:
    reporter = reporter_of(path)
    broker = FakeBroker(path)
    reporter.state("stop", 1.0)
    reporter.deliver(0.0)
    broker.close(leave_socket=killed)
    lose(reporter, 10.0)
    reporter.deliver(11.0)
    assert starts == ([path] if killed else [])
    reporter.end(2.0)
    assert starts == ([path] if killed else [])
    if killed:
        os.unlink(path)


def test_none_is_started_where_that_is_switched_off(path: str, starts: list[str]) -> None:
    reporter = Reporter("test", path, BASE, autostart=False)
    reporter.state("stop", 1.0)
    reporter.deliver(0.0)
    Path(path).touch()
    reporter.deliver(FIRST_PAUSE)
    reporter.deliver(10.0)
    assert starts == []
    assert reporter.timeout(10.0) == 4 * FIRST_PAUSE


def test_a_refusal_is_not_repeated(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    error = {"code": "invalid_params", "message": "pid: must be between"}
    with FakeBroker(path, lambda _: {"ok": False, "error": error}) as broker:
        reporter = reporter_of(path)
        reporter.state("stop", 1.0)
        reporter.deliver(0.0)
        reporter.deliver(1.0)
        assert len(broker.requests) == 1
        assert reporter.timeout(1.0) is None
        reporter.end(2.0)
    assert "test: pid: must be between" in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["hangs", "no answer", "nonsense"])
def test_a_broker_that_does_not_answer_costs_little(path: str, kind: str) -> None:
    def answer(_: dict[str, Any]) -> bytes | None:
        return None if kind == "no answer" else b"HTTP/1.1 400 Bad Request\r\n"

    with socket.socket(socket.AF_UNIX) as listener:
        broker = None
        if kind == "hangs":
            listener.bind(path)
            listener.listen()
        else:
            broker = FakeBroker(path, answer)
        reporter = reporter_of(path)
        reporter.state("prompt-submit", 1.0)
        begun = time.monotonic()
        reporter.deliver(0.0)
        reporter.end(2.0)
        assert time.monotonic() - begun < 2 * ANSWER_SECONDS + 0.5
        if broker:
            broker.close()


def test_lines_for_the_log_come_after_the_state_and_are_not_lost(path: str, starts: list[str]) -> None:
    reporter = reporter_of(path)
    reporter.note("x" * 10_000)
    reporter.state("stop", 1.0)
    reporter.deliver(0.0)
    assert starts == [path]
    with FakeBroker(path) as broker:
        reporter.deliver(1.0)
        assert [request["params"]["event"] for request in broker.requests] == ["stop", "log"]
        params = broker.requests[1]["params"]
        assert params["payload"] == {"message": "x" * 4096, "level": "warning"}
        assert params["agent"] == "codebuff"
        reporter.deliver(2.0)
        assert len(broker.requests) == 2
        reporter.end(3.0)


def test_what_it_does_is_told_after_its_state_and_again_to_a_new_broker(path: str) -> None:
    reporter = reporter_of(path)
    said = [
        ("prompt-submit", {"cwd": "/w"}),
        ("pre-tool-use", {"cwd": "/w", "status": "editing cart.py"}),
        ("subagent-update", {"cwd": "/w", "subagents": ["a", "b"]}),
    ]
    with FakeBroker(path) as broker:
        reporter.subagents(["a", "b"], 1.0)
        reporter.doing("editing cart.py", 1.0)
        reporter.state("prompt-submit", 1.0)
        reporter.doing("editing cart.py", 1.0, source="log")
        reporter.deliver(0.0)
        assert [(r["params"]["event"], r["params"]["payload"]) for r in broker.requests] == said
        assert [r["params"].get("source") for r in broker.requests] == [None, "log", None]
        reporter.doing("", 2.0)
        reporter.deliver(1.0)
        assert broker.requests[-1]["params"]["payload"] == {"cwd": "/w"}
        reporter.doing("editing cart.py", 2.0)
    lose(reporter, 10.0)
    with FakeBroker(path) as broker:
        reporter.deliver(11.0)
        assert [(r["params"]["event"], r["params"]["payload"]) for r in broker.requests] == said
        reporter.state("stop", 3.0, source="log", credits=3)
        reporter.deliver(12.0)
        assert broker.events()[3:] == ["stop"]
        assert broker.requests[-1]["params"]["payload"] == {"cwd": "/w", "credits": 3}
        reporter.end(4.0)


def test_a_report_never_seems_older_than_the_one_before(path: str, broker: FakeBroker) -> None:
    teller = Teller(reporter_of(path))
    for verdict in (
        Verdict("prompt-submit", "log", since=100.0, at=100.0),
        Verdict("stop", "log", since=99.0, at=99.0),
        Verdict("stop", "log", since=99.0, at=99.0),
        Verdict("prompt-submit", "log", doing="thinker", subagents=("a",), since=101.0, at=102.0),
        Verdict("prompt-submit", "log", since=101.0, at=103.0),
    ):
        teller.tell(verdict)
    teller.reporter.deliver(0.0)
    assert [(r["params"]["event"], r["params"]["at"]) for r in broker.requests] == [
        ("prompt-submit", 100.0),
        ("stop", 100.0),
        ("prompt-submit", 102.0),
        ("pre-tool-use", 102.0),
        ("subagent-update", 102.0),
        ("pre-tool-use", 103.0),
        ("subagent-update", 103.0),
    ]
    teller.reporter.end(104.0)
