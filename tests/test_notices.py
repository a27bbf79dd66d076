"""The descriptor that the kernel tells of changes by."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from seance_tools.notices import Notices, Unusable, is_limit, why


@pytest.fixture
def notices() -> Iterator[Notices]:
    made = Notices()
    yield made
    made.close()


def test_events_come_with_the_bytes_of_their_names_in_their_order(notices: Notices, tmp_path: Path) -> None:
    wd = notices.add(str(tmp_path), notices.bits.IN_CREATE | notices.bits.IN_DELETE_SELF)
    assert notices.read() == ([], False)
    names = [b"a", b"\xff.jsonl", "ü".encode() * 8]
    for name in names:
        os.close(os.open(os.fsencode(tmp_path) + b"/" + name, os.O_CREAT))
    assert notices.read() == ([(wd, notices.bits.IN_CREATE, name) for name in names], False)


def test_what_is_lost_is_told_and_nothing_else_is(notices: Notices, tmp_path: Path) -> None:
    notices.add(str(tmp_path), notices.bits.IN_CREATE)
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(limit + 2):
        os.mkdir(tmp_path / f"{number % 2}")
        os.rmdir(tmp_path / f"{number % 2}")
    events, lost = notices.read()
    while (more := notices.read())[0]:
        events += more[0]
        lost |= more[1]
    assert lost
    assert len(events) == limit
    assert {name for _, _, name in events} == {b"0", b"1"}


def test_a_watch_that_is_given_up_or_gone_tells_nothing(notices: Notices, tmp_path: Path) -> None:
    wd = notices.add(str(tmp_path), notices.bits.IN_CREATE)
    notices.remove(wd)
    notices.remove(wd)
    assert notices.read() == ([(wd, notices.bits.IN_IGNORED, b"")], False)
    (tmp_path / "a").touch()
    assert notices.read() == ([], False)


def test_it_neither_survives_an_exec_nor_blocks_and_is_given_back(notices: Notices) -> None:
    assert not os.get_inheritable(notices.fileno())
    assert not os.get_blocking(notices.fileno())
    notices.close()
    notices.close()
    assert notices.fileno() == -1


def test_a_path_that_is_not_there_is_another_error_than_a_limit(notices: Notices, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        notices.add(str(tmp_path / "a"), notices.bits.IN_CREATE)
    assert not is_limit(missing.value)
    limit = OSError(errno.ENOSPC, "no")
    assert is_limit(limit)
    assert why(limit) == "the limit fs.inotify.max_user_watches is reached"
    assert why(OSError(errno.ENOMEM, "no")) == "inotify cannot be used: Cannot allocate memory"


def test_without_the_package_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inotify", None)
    with pytest.raises(Unusable, match=r"^inotify cannot be loaded \(.*\)$"):
        Notices()
