"""Processes whose end is a reason to look again, watched by pidfd."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from functools import partial

import pytest

from seance_tools.broker.ends import Ends
from tests.support import descriptors


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    started = [subprocess.Popen(["sleep", "100"]) for _ in range(2)]
    yield started
    for process in started:
        process.kill()
        process.wait()


def nothing() -> None:
    raise AssertionError("nothing has ended")


def test_the_end_of_one_is_told_once_to_its_group(processes: list[subprocess.Popen[bytes]]) -> None:
    async def run() -> None:
        ended: asyncio.Queue[str] = asyncio.Queue()
        watcher = Ends(lambda: True)
        for group, process in zip("ab", processes, strict=True):
            assert not watcher.watch(group, [(process.pid, None)], partial(ended.put_nowait, group))
        processes[1].kill()
        assert await asyncio.wait_for(ended.get(), 10) == "b"
        assert len(watcher) == 1
        watcher.close()
        assert ended.empty()

    asyncio.run(run())


def test_no_descriptor_is_kept_or_taken_from_others(processes: list[subprocess.Popen[bytes]]) -> None:
    before = descriptors("pidfd")
    one, two = ((process.pid, None) for process in processes)
    gone = subprocess.Popen(["true"])
    gone.wait()

    async def run() -> None:
        watcher = Ends(lambda: len(watcher) < 1)
        watcher.watch("a", [one, two], nothing)
        assert len(watcher) == len(descriptors("pidfd", before)) == 1
        watcher.watch("a", [one], nothing)
        watcher.watch("a", [two], nothing)
        assert len(watcher) == 1
        watcher.watch("a", [], nothing)
        assert len(watcher) == len(descriptors("pidfd", before)) == 0
        watcher.watch("a", [one, two], nothing)
        watcher.close()
        assert not descriptors("pidfd", before)
        assert watcher.watch("a", [(gone.pid, 1)], nothing), "it is gone already, and that is said"
        assert not descriptors("pidfd", before)

    asyncio.run(run())
