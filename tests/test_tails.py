from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from seance_tools import tails
from seance_tools.mounts import Mounts
from seance_tools.notices import Notices
from seance_tools.tails import LINE_BYTES, MOST_BEHIND, MOST_WATCHES, READ_BYTES, Tails
from tests.support import eventually


@pytest.fixture
def files() -> Iterator[Tails]:
    complaints: list[str] = []
    made = Tails(complaints.append)
    yield made
    made.close()
    assert complaints == []


def append(path: Path, *lines: object) -> None:
    with path.open("a") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))


def test_only_what_is_new_is_read(files: Tails, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    append(path, {"n": 1})
    assert files.fileno() == -1  # nothing is loaded before the first file
    assert files.add(str(path))
    assert files.read(str(path)) == ([], False)
    append(path, {"n": 2}, {"n": 3})
    assert eventually(files.changed) == [str(path)]
    assert files.read(str(path)) == ([{"n": 2}, {"n": 3}], False)
    assert files.changed() == []


def test_a_huge_file_costs_nothing(files: Tails, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl"
    path.touch()
    os.truncate(path, 1 << 30)
    read: list[int] = []
    real = os.pread

    def count(descriptor: int, size: int, offset: int) -> bytes:
        data = real(descriptor, size, offset)
        read.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", count)
    assert files.add(str(path))
    append(path, {}, {"n": 1})  # the first goes on with the line that was there
    assert files.read(str(path)) == ([{"n": 1}], False)
    assert sum(read) < 100


def test_half_a_line_waits_for_its_end_and_a_long_one_is_left_out(files: Tails, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.touch()
    files.add(str(path))
    with path.open("a") as file:
        for text, found in (
            ('{"n":', []),
            ("1}\n", [{"n": 1}]),
            ('{"n":"' + "x" * LINE_BYTES, []),
            ('"}\n{"n":2}\n', [{"n": 2}]),
            ('no JSON\n{"n":3}\n', [{"n": 3}]),
        ):
            file.write(text)
            file.flush()
            assert files.read(str(path)) == (found, False)


def test_much_is_read_in_pieces_and_too_much_is_passed_over(files: Tails, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.touch()
    files.add(str(path))
    row = {"text": "x" * 1000}
    append(path, {"n": 0}, *[row] * ((MOST_BEHIND + READ_BYTES) // 1000), {"n": 1})
    found, more, pieces = [], True, 0
    while more:
        entries, more = files.read(str(path))
        found += entries
        pieces += 1
    assert found[-1] == {"n": 1}
    assert {"n": 0} not in found
    assert pieces == MOST_BEHIND // READ_BYTES + 1


def test_a_file_that_comes_later_is_read_from_its_beginning(files: Tails, tmp_path: Path) -> None:
    path = tmp_path / "sub" / "t.jsonl"
    assert files.add(str(path))
    assert files.read(str(path)) == ([], False)
    path.parent.mkdir()
    append(path, {"n": 1})
    assert files.read(str(path)) == ([{"n": 1}], False)
    files.add(str(path))  # from now on it is watched
    append(path, {"n": 2})
    assert eventually(files.changed) == [str(path)]
    assert files.read(str(path)) == ([{"n": 2}], False)


def test_a_file_that_is_replaced(files: Tails, tmp_path: Path) -> None:
    path, other = tmp_path / "t.jsonl", tmp_path / "u.jsonl"
    append(path, {"n": 1})
    files.add(str(path))
    append(other, {"n": 2})
    other.rename(path)
    assert eventually(files.changed) == [str(path)]
    assert files.read(str(path)) == ([{"n": 2}], False)
    files.add(str(path))
    append(path, {"n": 3})
    assert eventually(files.changed) == [str(path)]
    assert files.read(str(path)) == ([{"n": 3}], False)


def test_one_that_is_let_go_is_read_no_more(files: Tails, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.touch()
    files.add(str(path))
    files.remove(str(path))
    append(path, {"n": 1})
    assert files.read(str(path)) == ([], False)
    files.changed()
    assert watches(files) == 0


def watches(files: Tails) -> int:
    """How many files inotify watches, as the kernel says."""
    return Path(f"/proc/self/fdinfo/{files.fileno()}").read_text().count("inotify wd:")


def test_the_number_of_watches_is_bounded(files: Tails, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in range(MOST_WATCHES + 6)]
    for path in paths:
        path.touch()
        assert files.add(str(path))
    assert watches(files) == MOST_WATCHES
    append(paths[-1], {"n": 1})
    assert files.read(str(paths[-1])) == ([{"n": 1}], False)  # when it is asked for
    assert not os.get_inheritable(files.fileno())


@pytest.mark.parametrize("kind", ["fifo", "directory", "relative", "device"])
def test_what_is_no_file_is_not_opened(kind: str, files: Tails, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        os.mkdir(path)
    elif kind == "relative":
        path = "t"
    else:
        path = "/dev/zero"
    files.add(path)
    assert files.read(path) == ([], False)


def test_a_link_to_another_machine_is_not_followed(
    files: Tails, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (tmp_path / "link").symlink_to("far")
    (tmp_path / "loop").symlink_to("loop")
    (far / "t.jsonl").touch()
    assert files.add(f"{tmp_path}/link/t.jsonl")
    files.remove(f"{tmp_path}/link/t.jsonl")
    monkeypatch.setattr(tails, "Mounts", lambda: Mounts(f"1 1 0:1 / {far} rw - nfs server:/ rw\n"))
    assert not files.add(f"{tmp_path}/link/t.jsonl")
    assert not files.add(f"{tmp_path}/loop/t.jsonl")


def test_a_limit_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    files = Tails(said.append)

    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no")

    monkeypatch.setattr(Notices, "add", refuse)
    for _ in range(2):
        assert files.add(str(tmp_path / "t.jsonl"))
    assert said == ["the limit fs.inotify.max_user_watches is reached; transcripts are read late"]
    files.close()
