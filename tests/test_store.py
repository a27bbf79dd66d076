from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from seance_tools.state.tables import Change, Tables
from seance_tools.store import Store, statements, transition


def log(number: int) -> Change:
    return Change("log", (1, number), {"workspace_id": 1, "number": number})


def agent(state: str, since: float, old: dict[str, Any] | None = None) -> Change:
    row = {
        "session": "codebuff-1",
        "agent": "codebuff",
        "surface_id": 1,
        "workspace_id": 1,
        "state": state,
        "since": since,
        "text": state,
        "source": "hook",
    }
    return Change("agent", ("codebuff-1",), row, old)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "state.db")


def test_rows_come_back_in_the_order_they_were_first_written(path: str) -> None:
    store = Store(path)
    store.write([log(number) for number in range(9, 12)], 1.0)
    store.write([Change("log", (1, 10), {"workspace_id": 1, "number": 10, "message": "ü\ud800"})], 1.0)
    store.write([Change("log", (1, 11), None)], 1.0)
    store.close()
    assert list(Store(path).load()) == [
        ("log", {"workspace_id": 1, "number": 9}),
        ("log", {"workspace_id": 1, "number": 10, "message": "ü\ud800"}),
    ]


def test_only_the_last_of_several_changes_of_a_row_counts(path: str) -> None:
    store = Store(path)
    store.write([log(1), Change("log", (1, 1), None)], 1.0)
    assert list(store.load()) == []


def test_what_was_cleared_meanwhile_is_deleted_only_if_it_was_written(path: str) -> None:
    store = Store(path)
    store.write([log(1), log(2)], 1.0)
    cleared = [Change("log", (1, number), None, log(number).row) for number in range(1, 5)]
    changes = [log(3), cleared[0], log(4), cleared[2], log(5)]
    assert [key for _, key in statements(changes)[0]] == ["[1,1]"]
    store.write(changes, 1.0)
    assert [row["number"] for _, row in store.load()] == [2, 4, 5]
    store.write([cleared[1], log(2), cleared[3], log(4), cleared[3]], 1.0)  # what is set again is a new row
    assert [row["number"] for _, row in store.load()] == [5, 2]


def test_transitions() -> None:
    first = agent("running", 10.0)
    assert transition(first, 10.0) == (
        10.0,
        "codebuff-1",
        "codebuff",
        1,
        1,
        "running",
        None,
        None,
        "running",
        "hook",
    )
    second = agent("idle", 15.0, first.row)
    line = transition(second, 15.0)
    assert line
    assert line[5:8] == ("idle", "running", 5.0)
    assert transition(agent("idle", 15.0, second.row), 16.0) is None
    ended = transition(Change("agent", ("codebuff-1",), None, second.row), 18.0)
    assert ended
    assert ended[5:8] == (None, "idle", 3.0)
    assert transition(log(1), 1.0) is None


def test_the_files_are_private(path: str) -> None:
    old = os.umask(0)
    try:
        Store(path).write([log(1)], 1.0)
    finally:
        os.umask(old)
    for file in Path(path).parent.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
    assert Path(path).parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "content",
    [b"not a database, but long enough to be read as one" * 100, b"SQLite format 3\0" + b"x" * 5000],
)
def test_a_corrupt_file_is_put_aside(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(content)
    store = Store(path)
    assert not store.degraded
    assert Path(store.set_aside).read_bytes() == content
    store.write([log(1)], 1.0)
    store.close()
    assert len(list(Store(path).load())) == 1


def test_a_newer_schema_is_put_aside_not_overwritten(path: str) -> None:
    Store(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    store = Store(path)
    assert os.path.exists(store.set_aside)


def test_a_disk_that_cannot_be_written_degrades_and_recovers(path: str) -> None:
    os.makedirs(path)  # a directory where the file should be
    store = Store(path)
    assert store.degraded
    store.write([log(1)], 1.0)
    tables = Tables()
    tables.apply("log", {"workspace_id": 1, "number": 1})
    assert not store.recover(tables)
    os.rmdir(path)
    assert store.recover(tables)
    assert not store.degraded
    assert len(list(store.load())) == 1


WRITER = """
import sys
from seance_tools.state.tables import Change
from seance_tools.store import Store
store = Store(sys.argv[1])
first = max((row["number"] for _, row in store.load()), default=0) + 1
for number in range(first, first + 100000):
    store.write([Change("log", (1, number), {"workspace_id": 1, "number": number})], 1.0)
    print(number, flush=True)
"""


def test_what_was_acknowledged_survives_kill_9(path: str) -> None:
    """Ten of the two hundred kills of the reliability document; the rest is a matter of patience."""
    for _ in range(10):
        writer = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), path], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout
        acknowledged = 0
        for _ in range(random.randint(1, 40)):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split("\n")
        writer.wait()
        writer.stdout.close()
        acknowledged = max([acknowledged, *(int(word) for word in rest[:-1])])
        numbers = [row["number"] for _, row in Store(path).load()]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= acknowledged


def test_a_row_that_is_cleared_and_set_again_is_a_new_one(path: str) -> None:
    store = Store(path)
    store.write([log(1), log(2)], 1.0)
    store.write([Change("log", (1, 1), None), log(3), log(1)], 1.0)
    assert [row["number"] for _, row in store.load()] == [2, 3, 1]


@pytest.mark.parametrize("row", ["{", "{}", "[]", '{"workspace_id": 1}', "5"])
def test_a_bad_row_stops_no_other(path: str, row: str) -> None:
    store = Store(path)
    store.write([log(1), log(2)], 1.0)
    store.close()
    database = sqlite3.connect(path)
    database.execute("UPDATE row SET row = ? WHERE id = 1", (row,))
    database.commit()
    database.close()
    store = Store(path)
    assert [row["number"] for _, row in store.load()] == [2]
    assert store.unreadable == 1


def test_the_history_of_a_degraded_time_is_not_lost(path: str) -> None:
    os.makedirs(path)
    store = Store(path)
    first = agent("running", 10.0)
    store.write([first], 10.0)
    with pytest.raises(OSError, match="cannot be read"):
        store.history({}, 10)
    os.rmdir(path)
    assert store.recover(Tables())
    anyone = dict.fromkeys(("since", "until", "agent", "session", "surface_id"))
    assert [line["state"] for line in store.history(anyone, 10)] == ["running"]
