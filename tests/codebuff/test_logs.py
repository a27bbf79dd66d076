"""The logs of one session, on real files and processes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seance_tools.codebuff.logs import Logs, saved_outcome
from seance_tools.codebuff.owners import Owners

BEGUN = 1789376400.0  # 2026-09-14T09:00:00Z

GONE = 4_194_303  # the highest process id there can be


def line(msg: str, minute: int = 1, pid: int | None = None) -> str:
    stamp = f"2026-09-14T{9 if minute >= 0 else 8:02d}:{minute % 60:02d}:00.000Z"
    return json.dumps({"msg": msg, "timestamp": stamp, **({"pid": pid} if pid else {})}) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def logs_of(before: set[str]) -> Logs:
    return Logs(Owners(os.getpid(), "SEANCE_TEST_PID"), before, BEGUN)


def said(logs: Logs, log: Path) -> list[Any]:
    return [item["msg"] for item in logs.read(str(log))]


def test_a_new_log_is_read_from_its_beginning_and_on(log: Path) -> None:
    logs = logs_of(set())
    assert said(logs, log) == []
    log.write_text(line("old", -1) + line("one") + line("half")[:9])
    assert said(logs, log) == ["old", "one"]
    assert said(logs, log) == []
    with log.open("a") as file:
        file.write(line("half")[9:] + "{}" + "\n" + line("two", -1))
        file.flush()
        assert [item.get("msg") for item in logs.read(str(log))] == ["half", None, "two"]


def test_of_a_log_that_was_there_only_what_is_of_this_session(log: Path) -> None:
    log.write_text(line("old", -1) + json.dumps({"msg": "timeless"}) + "\n" + line("resumed"))
    logs = logs_of({str(log)})
    assert said(logs, log) == ["resumed"]
    with log.open("a") as file:
        file.write(json.dumps({"msg": "timeless"}) + "\n")
        file.flush()
        assert said(logs, log) == ["timeless"]


def test_a_log_that_is_replaced_or_cut_is_read_anew(log: Path, tmp_path: Path) -> None:
    logs = logs_of(set())
    log.write_text(line("one") + line("two"))
    assert said(logs, log) == ["one", "two"]
    log.write_text(line("cut"))
    assert said(logs, log) == ["cut"]
    (tmp_path / "new").write_text(line("new") + line("newer") + line("newest"))
    (tmp_path / "new").rename(log)
    assert said(logs, log) == ["new", "newer", "newest"]


def test_long_lines_come_whole(log: Path) -> None:
    long = json.dumps({"msg": "long", "x": "é" * 2_000_000}, ensure_ascii=False) + "\n"
    log.write_text(long + line("after"))
    assert said(logs_of(set()), log) == ["long", "after"]


def test_what_cannot_be_read_has_no_lines(log: Path, tmp_path: Path) -> None:
    logs = logs_of(set())
    os.mkfifo(log)
    assert said(logs, log) == []
    log.unlink()
    log.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text(line("elsewhere"))
    assert said(logs, log) == []
    assert said(logs, tmp_path) == []


@pytest.fixture
def other(log: Path) -> Iterator[int]:
    """A process of another session that has the log open."""
    with subprocess.Popen(
        ["sh", "-c", f"exec 7>>{log}; echo; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        yield process.pid
        process.communicate(b"\n")


def test_lines_of_another_session_in_the_same_log_are_left_out(log: Path, other: int) -> None:
    logs = Logs(Owners(other + 1_000_000, "SEANCE_TEST_PID"), set(), BEGUN)
    log.write_text(line("theirs", pid=other) + line("an ended one's", pid=GONE) + line("nobody's"))
    assert said(logs, log) == ["nobody's"]
    assert said(logs_of(set()), log) == ["theirs", "nobody's"]  # a child of the agent's


def test_what_others_wrote_before_the_session_went_on_with_a_log_is_passed_over(log: Path) -> None:
    logs = logs_of(set())
    log.write_text(line("theirs") + '{"msg":"a line that they')
    status = log.stat()
    logs.pass_over(str(log), status.st_ino, status.st_size)
    with log.open("a") as file:
        file.write(' wrote on"}\n' + line("ours"))
        file.flush()
        assert said(logs, log) == ["ours"]
    logs.pass_over(str(log), status.st_ino, log.stat().st_size)
    with log.open("a") as file:
        file.write(line("more"))
        file.flush()
        assert said(logs, log) == ["more"]


def test_what_a_session_holds(log: Path, other: int) -> None:
    status = log.stat()
    assert (status.st_dev, status.st_ino) in Owners(other, "SEANCE_TEST_PID").held(".jsonl")
    assert Owners(other, "SEANCE_TEST_PID").held(".ndjson") == set()
    assert Owners(other + 1_000_000, "SEANCE_TEST_PID").held(".jsonl") == set()


def test_a_save_is_told_with_its_time(tmp_path: Path) -> None:
    path = tmp_path / "run-state.json"
    assert saved_outcome(str(path)) is None
    path.write_text("x" * 300_000 + '{"output":{"type":"error","message":"no credits"}}')
    os.utime(path, (5.0, 7.5))
    assert saved_outcome(str(path)) == (("failed", "no credits"), 7.5)


def test_a_log_that_we_open_too_is_ours_at_once(log: Path, other: int, tmp_path: Path) -> None:
    with subprocess.Popen(
        ["sh", "-c", f"exec 6>>{tmp_path}/own.jsonl; echo; read x; exec 7>>{log}; echo; read x"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        owners = Owners(process.pid, "SEANCE_TEST_PID")
        assert owners.is_ours(f"{tmp_path}/own.jsonl")
        assert not owners.is_ours(str(log))
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        assert owners.is_ours(str(log))
        assert Owners(other, "SEANCE_TEST_PID").is_ours(str(log))
        process.communicate(b"\n")


def test_a_log_that_nobody_has_open_is_not_ours_but_for_our_first(log: Path) -> None:
    def is_ours() -> bool:
        return Owners(os.getpid(), "SEANCE_TEST_PID").is_ours(str(log))

    for text, ours in (
        ("", False),
        ("{}\n", False),
        (line("x", pid=GONE), False),
        (line("x", pid=os.getpid())[:-1], False),
        (line("x", pid=os.getpid()), True),
    ):
        log.write_text(text)
        assert is_ours() is ours


def test_a_log_stays_with_the_session_that_had_it_open(log: Path, tmp_path: Path) -> None:
    owners = Owners(os.getpid(), "SEANCE_TEST_PID")
    with log.open("a"):
        assert owners.is_ours(str(log))
    assert owners.is_ours(str(log))
    other = tmp_path / "other.jsonl"
    other.write_text(line("x", pid=os.getpid()))
    assert not owners.is_ours(str(other))  # it has a log
    other.rename(log)
    assert not owners.is_ours(str(log))  # another file of that name
    log.unlink()
    assert not owners.is_ours(str(log))
