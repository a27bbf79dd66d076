"""The first processes of panes, watched by pidfd."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator

import pytest

from seance_tools.broker.pane_processes import PaneProcesses
from tests.support import descriptors


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    started = [subprocess.Popen(["sleep", "100"]) for _ in range(2)]
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_the_end_of_one_is_told_once_with_its_server(processes: list[subprocess.Popen[bytes]]) -> None:
    async def run() -> None:
        ended: asyncio.Queue[str] = asyncio.Queue()
        watcher = PaneProcesses(ended.put_nowait, lambda: True)
        for server, process in zip("ab", processes, strict=True):
            watcher.watch(server, [process.pid])
        processes[1].kill()
        assert await asyncio.wait_for(ended.get(), 10) == "b"
        assert len(watcher) == 1
        watcher.close()
        assert ended.empty()

    asyncio.run(run())


def test_no_descriptor_is_kept_or_taken_from_others(processes: list[subprocess.Popen[bytes]]) -> None:
    before = descriptors("pidfd")
    pids = [process.pid for process in processes]
    gone = subprocess.Popen(["true"])
    gone.wait()

    async def run() -> None:
        watcher = PaneProcesses(lambda _server: None, lambda: len(watcher) < 1)
        watcher.watch("a", [*pids, gone.pid])
        assert len(watcher) == len(descriptors("pidfd", before)) == 1
        watcher.watch("a", pids[:1])
        watcher.watch("a", pids[1:])
        assert len(watcher) == 1
        watcher.watch("a", [])
        assert len(watcher) == len(descriptors("pidfd", before)) == 0
        watcher.watch("a", pids)
        watcher.close()
        assert not descriptors("pidfd", before)

    asyncio.run(run())
