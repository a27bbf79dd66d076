"""Lines by offset, from bytes alone and from a file that grows, shrinks and is made anew."""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.turns import Lines

WORDS = st.text('ab{}[]",\\\n\x00é€🙂', max_size=9)
OBJECTS = st.lists(st.dictionaries(WORDS, WORDS | st.integers(-9, 9), max_size=3), max_size=8)


def fresh(**options: Any) -> Lines:
    lines = Lines(from_start=True, **options)
    assert lines.offset(1, 0) == 0
    return lines


def test_only_ended_lines_are_given() -> None:
    lines = fresh()
    assert lines.feed(b'{"a":1}\n{"b"') == [{"a": 1}]
    assert lines.feed(b":2}") == []
    assert lines.feed(b"\n\n  \r\n") == [{"b": 2}]
    assert lines.bad == 0


@given(OBJECTS, st.data())
def test_any_split_gives_the_same_lines(objects: list[dict[str, Any]], data: st.DataObject) -> None:
    written = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=20)))
    lines = fresh()
    found = []
    for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True):
        assert lines.offset(1, len(written)) == a
        found += lines.feed(written[a:b])
    assert found == objects
    assert lines.bad == 0
    assert lines.offset(1, len(written)) == len(written)


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"[]",
        b"7",
        b'"x"',
        b"null",
        b'{"a":\xff}',
        b'{"a":"\xc3"}',
        b"{" * 5000,
        b"[" * 90000,
        b'{"a":' + b"9" * 5000 + b"}",
    ],
    ids=range(10),
)
def test_bad_lines_are_counted_and_passed_over(bad: bytes) -> None:
    lines = fresh()
    assert lines.feed(b'{"a":1}\n' + bad + b'\n{"b":2}\n') == [{"a": 1}, {"b": 2}]
    assert lines.bad == 1


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_no_bytes_are_too_odd(pieces: list[bytes]) -> None:
    lines = fresh()
    for piece in pieces:
        assert all(isinstance(line, dict) for line in lines.feed(piece))
    lines.feed(b"\n")
    assert lines.feed(b'{"a":1}\n') == [{"a": 1}]


@pytest.mark.parametrize("size", [1, 7, 5000])
def test_too_long_a_line_is_left_out_to_its_end(size: int) -> None:
    lines = fresh(limit=100)
    written = b'{"a":"' + b"x" * 1000 + b'"}\n' + b'{"b":"' + b"x" * 92 + b'"}\n{"c":3}\n'
    found = []
    for at in range(0, len(written), size):
        found += lines.feed(written[at : at + size])
    assert found == [{"b": "x" * 92}, {"c": 3}]
    assert lines.bad == 1


def test_what_is_kept_of_a_long_line_is_bounded() -> None:
    lines = fresh(limit=1 << 20)
    piece = b"x" * (1 << 16)
    tracemalloc.start()
    for _ in range(512):
        lines.feed(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20
    assert lines.feed(b'\n{"a":1}\n') == [{"a": 1}]
    assert lines.bad == 1


def test_a_line_of_megabytes_is_read_in_pieces_and_fast() -> None:
    lines = fresh()
    line = json.dumps(
        {"msg": "End agent", "data": {"fullResponse": 'é\\" ' * (2 << 20)}}, ensure_ascii=False
    ).encode()
    written = line + b'\n{"a":1}\n'
    began = time.process_time()
    found = []
    for at in range(0, len(written), 1 << 16):
        found += lines.feed(written[at : at + (1 << 16)])
    assert time.process_time() - began < 2
    assert [len(found), found[1]] == [2, {"a": 1}]
    assert len(found[0]["data"]["fullResponse"]) == 4 * (2 << 20)


class Log:
    """A file and the one who follows it."""

    def __init__(self, path: Path, lines: Lines) -> None:
        self.path = path
        self.lines = lines

    def write(self, data: bytes, mode: str = "ab") -> None:
        with self.path.open(mode) as file:
            file.write(data)

    def follow(self) -> list[dict[str, Any]]:
        with self.path.open("rb") as file:
            is_now = os.fstat(file.fileno())
            file.seek(self.lines.offset(is_now.st_ino, is_now.st_size))
            return self.lines.feed(file.read())


def test_a_log_that_is_there_is_followed_from_its_end(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl", Lines())
    log.write(b'{"old":1}\n')
    assert log.follow() == []
    log.write(b'{"new":1}\n')
    assert log.follow() == [{"new": 1}]
    assert log.follow() == []
    assert log.lines.bad == 0


def test_a_line_half_written_when_the_log_is_joined_is_not_ours(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl", Lines())
    log.write(b'{"old":1}\n{"half"')
    assert log.follow() == []
    log.write(b':1}\n{"new":1}\n')
    assert log.follow() == [{"new": 1}]
    assert log.lines.bad == 0


def test_a_log_may_be_read_from_its_beginning(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl", Lines(from_start=True))
    log.write(b'{"old":1}\n')
    assert log.follow() == [{"old": 1}]


def test_an_empty_log_is_followed_from_its_beginning(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl", Lines())
    log.write(b"")
    assert log.follow() == []
    log.write(b'{"new":1}\n')
    assert log.follow() == [{"new": 1}]


def test_a_shorter_log_is_another_content(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl", Lines(from_start=True))
    log.write(b'{"a":1}\n{"b":1}\n{"half')
    assert log.follow() == [{"a": 1}, {"b": 1}]
    log.write(b'{"c":1}\n', "wb")
    assert log.follow() == [{"c": 1}]
    assert log.lines.bad == 0


def test_a_log_made_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl", Lines())
    log.write(b'{"a":1}\n{"half')
    assert log.follow() == []
    log.path.rename(tmp_path / "kept")  # so that the inode is another one
    log.write(b'{"longer than the old one was":1}\n{"b":2}\n')
    assert log.follow() == [{"longer than the old one was": 1}, {"b": 2}]
    assert log.lines.bad == 0


def test_a_log_cut_while_a_long_line_is_passed_over_begins_anew(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl", Lines(from_start=True, limit=10))
    log.write(b"x" * 50)
    assert log.follow() == []
    log.write(b'{"a":1}\n', "wb")
    assert log.follow() == [{"a": 1}]
