"""From files in the spool to the broker's state: in order, each once, whatever lies there."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from seance_tools import names
from seance_tools.broker import intake as module
from seance_tools.broker.core import Core
from seance_tools.broker.intake import Intake
from seance_tools.client import Connection
from seance_tools.events import Event
from seance_tools.spool import BeingWritten, Spool, Unusable
from seance_tools.store import Store
from tests.support import eventually, soon
from tests.test_spool import odd_files

HOOK = str(Path(__file__).parent.parent / "bin" / "seance-hook")
Start = Callable[..., subprocess.Popen[bytes]]


class Desk:
    """A core with an intake, its spool and its database below a directory; all that it published."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "spool"
        self.events: list[Event] = []
        self.core = Core(Store(str(directory / "state.db")), "boot", self.events.extend)
        self.core.start()
        self.intake = Intake(self.core, str(self.path))

    def put(self, name: str, content: bytes | str, modified: float | None = None) -> Path:
        """Put a file into the spool as a writer does; `modified` is its age in seconds, negative."""
        self.path.mkdir(mode=0o700, exist_ok=True)
        path = self.path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if modified is not None:
            now = time.time()
            os.utime(path, (now + modified, now + modified))
        return path

    def say(self, name: str, message: str, modified: float | None = None) -> Path:
        """Put a file that appends a line to the log of workspace 1."""
        return self.put(name, f'Method: workspace.log\nWorkspace: 1\n\n{{"message":"{message}"}}', modified)

    def hook(
        self, name: str, event: str, modified: float | None = None, more: str = "", body: str = ""
    ) -> Path:
        """Put a file that reports an event of an agent in surface 5."""
        return self.put(name, f"Agent: claude\nEvent: {event}\nSurface: 5\n{more}\n{body}", modified)

    def said(self) -> list[str]:
        """The lines of the log, in the order in which they were appended."""
        changes = [event.change for event in self.events]
        return [change.row["message"] for change in changes if change.kind == "log" and change.row]

    def agents(self) -> list[dict[str, Any]]:
        return list(self.core.tables.all("agent"))

    @property
    def counters(self) -> dict[str, Any]:
        return self.core.spool

    def kill(self) -> None:
        """End as a kill -9 would: nothing is finished, only the kernel lets go."""
        spool = self.intake._spool  # noqa: SLF001 - closing it is the kernel's part
        if spool:
            spool.close()
        self.core.store.close()


@pytest.fixture(autouse=True)
def _sealed(environ: dict[str, str]) -> None:
    """Nothing here reads the user's own config.toml."""


def go(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 50))


def test_what_waited_is_taken_in_order_before_anything_is_served(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        for name, message, age in (("b", "2", -7.0), ("c", "1", -9.0), ("a", "3", -5.0), ("d", "4", -5.0)):
            desk.say(name, message, age)
        stamp = desk.path / "a"
        os.utime(desk.path / "d", ns=(stamp.stat().st_mtime_ns, stamp.stat().st_mtime_ns))
        desk.intake.start()
        assert desk.said() == ["1", "2", "3", "4"]
        assert list(desk.path.iterdir()) == []
        assert desk.counters["taken"] == 4
        await desk.intake.stop()

    go(main())


def test_a_report_is_what_the_socket_would_have_made_of_it(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.hook("a", "prompt-submit", -20)
        path = desk.hook("b", "PreToolUse", -10, body='{"tool_name":"Bash","tool_input":{"command":"make"}}')
        at = path.stat().st_mtime
        desk.intake.start()
        [record] = desk.agents()
        assert (record["agent"], record["surface_id"], record["state"]) == ("claude", 5, "running")
        assert record["text"] == "Running make"
        assert record["at"] == pytest.approx(at)
        await desk.intake.stop()

    go(main())


def test_the_writers_time_decides_which_report_is_stale(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        now = time.time()
        desk.hook("a", "stop", -9, more=f"At: {now - 2}\n")
        desk.hook("b", "prompt-submit", -8, more=f"At: {now - 3}\n")
        desk.intake.start()
        assert desk.agents()[0]["state"] == "idle"
        await desk.intake.stop()

    go(main())


def test_the_pane_is_known_by_its_terminals_names(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.put("a", "Agent: claude\nEvent: prompt-submit\nZellij: work\nZellij-Pane: 3\n\n")
        desk.put("b", "Agent: codex\nEvent: prompt-submit\nTty: 34823 1\n\n")
        desk.intake.start()
        places = {row["place"].rsplit(",", 1)[0] for row in desk.core.tables.all("surface")}
        assert places == {"zellij:work:3", "tty:/dev/pts/7,1"}
        await desk.intake.stop()

    go(main())


def test_files_are_taken_as_they_are_closed(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.intake.start()
        desk.intake.watch()
        with open(desk.path / "late", "wb") as late:
            late.write(b"Method: workspace.log\nWorkspace: 1\n\n")
            late.flush()
            desk.say("early", "early")
            os.rename(desk.say(".moved", "moved"), desk.path / "moved")
            await soon(lambda: len(desk.said()) == 2)
            assert (desk.path / "late").exists()
            late.write(b'{"message":"late"}')
        await soon(lambda: len(desk.said()) == 3)
        assert desk.said() == ["early", "moved", "late"]
        await soon(lambda: not list(desk.path.iterdir()))
        await desk.intake.stop()

    go(main())


def test_a_report_being_written_at_the_start_is_taken_once_it_is_whole(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        with open(desk.put("a", "Method: workspace.log\nWorkspace: 1\n\n"), "ab") as file:
            desk.intake.start()
            assert desk.said() == []
            desk.intake.watch()
            file.write(b'{"message":"whole"}')
        await soon(lambda: desk.said() == ["whole"])
        await desk.intake.stop()

    go(main())


def test_ten_thousand_reports_arrive_in_order_and_each_once(tmp_path: Path) -> None:
    total = 10_000

    async def main() -> None:
        desk = Desk(tmp_path)
        desk.intake.start()
        desk.intake.watch()

        def write() -> None:
            for number in range(total):
                desk.say(f"{number % 1024}-{number // 1024}", str(number))
                if number % 1000 == 999:  # never more than the bound at once
                    eventually(lambda: len(os.listdir(desk.path)) < 2000)

        writer = threading.Thread(target=write)
        writer.start()
        await soon(lambda: len(desk.said()) >= total, seconds=40)
        writer.join()
        assert desk.said() == [str(number) for number in range(total)]
        assert (desk.counters["taken"], desk.counters["dropped"], desk.counters["waiting"]) == (total, 0, 0)
        await soon(lambda: not os.listdir(desk.path))
        await desk.intake.stop()

    go(main())


def test_a_flood_costs_old_tool_events_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(names.LIMITS, "spool_files", 10)

    async def main() -> None:
        desk = Desk(tmp_path)
        taken: list[str] = []
        call = desk.core.call

        def recorded(request: Any, method: Any) -> Any:
            taken.append(request.params["payload"]["name"])
            return call(request, method)

        monkeypatch.setattr(desk.core, "call", recorded)
        for number in range(20):
            event = "PreToolUse" if number % 4 else "Stop"
            desk.hook(f"{number:02}", event, number - 100, body=f'{{"name":"{number:02}"}}')
        desk.intake.start()
        # 15 of the 20 are tool events; the 10 oldest of them are gone
        assert taken == ["00", "04", "08", "12", "14", "15", "16", "17", "18", "19"]
        for number in range(25):
            desk.hook(f"{number:02}", "Stop", number - 50, body=f'{{"name":"{number:02}"}}')
        taken.clear()
        desk.intake.watch()
        await soon(lambda: not os.listdir(desk.path))
        assert taken == [f"{number:02}" for number in range(15, 25)]
        assert desk.counters["dropped"] == 25
        await desk.intake.stop()

    with caplog.at_level(logging.WARNING):
        go(main())
    assert [record.message for record in caplog.records] == [
        "spool: dropped 10 reports, more than 10 waited",
        "spool: dropped 15 reports, more than 10 waited",
    ]


def test_the_bound_is_what_the_documents_promise(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        for number in range(5000):
            desk.say(f"{number:04}", str(number), number - 6000)
        desk.intake.start()
        assert len(desk.said()) < 4096  # the rest once the socket is served, before anything new
        desk.say("new", "new")
        desk.intake.watch()
        await soon(lambda: not os.listdir(desk.path))
        assert desk.said() == [*[str(number) for number in range(904, 5000)], "new"]
        assert desk.counters["dropped"] == 904
        await desk.intake.stop()

    go(main())


def test_what_is_older_than_a_day_at_the_start_is_put_aside(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.say("old", "old", -86_500.0)
        desk.say("new", "new", -86_000.0)
        desk.intake.start()
        assert desk.said() == ["new"]
        assert desk.counters["set_aside"] == 1
        [aside] = (tmp_path / "spool-aside").iterdir()
        assert '"old"' in aside.read_text()
        await desk.intake.stop()

    go(main())


def test_odd_files_never_stop_the_rest(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.say("first", "1", -9)
        spool = Spool(str(desk.path))
        odd = odd_files(spool)
        spool.close()
        desk.put("headless", b"\xff\0no header", -5)
        desk.put("empty", b"", -14)
        desk.say("last", "2")
        desk.intake.start()
        assert desk.said() == ["1", "2"]
        assert desk.counters["unreadable"] == len(odd) + 2
        assert caplog.records[0].message == "spool: 'empty' is gone: it was empty"
        for name in (*odd, "headless"):
            assert [f"spool: '{name}' is now" in record.message for record in caplog.records].count(True) == 1
        assert len(os.listdir(tmp_path / "spool-aside")) == len(odd) + 1
        assert os.listdir(desk.path) == []
        await desk.intake.stop()

    with caplog.at_level(logging.WARNING):
        go(main())


def test_what_a_payload_lacks_is_counted_and_the_event_counts(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.hook("a", "prompt-submit", -9, body="[not an object]")
        large = desk.hook("b", "stop", -8, body='{"status":"not read"')
        os.truncate(large, (16 << 20) + 70_000)
        os.utime(large, (time.time() - 8, time.time() - 8))
        desk.hook("c", "approval-request", -7, body='{"x":"' + "x" * (2 << 20) + '","message":"May I?"}')
        desk.intake.start()
        assert desk.agents()[0]["state"] == "needs_input"
        assert (desk.counters["malformed"], desk.counters["oversized"], desk.counters["taken"]) == (1, 1, 3)
        await desk.intake.stop()

    go(main())


def test_what_the_methods_refuse_is_counted_and_gone(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.put("a", "Method: workspace.frobnicate\n\n", -9)
        desk.put("b", "Method: events.subscribe\n\n", -8)
        desk.put("c", 'Method: workspace.log\nWorkspace: 1\n\n{"message":1}', -7)
        desk.put("d", f"Agent: {'x' * 300}\nEvent: stop\n\n", -6)
        desk.say("e", "ok", -5)
        desk.intake.start()
        assert desk.said() == ["ok"]
        assert desk.counters["refused"] == 4
        assert desk.core.spool["last_refusal"].startswith("agent: ")
        assert os.listdir(desk.path) == []
        await desk.intake.stop()

    go(main())


def test_a_fault_costs_one_file_and_is_kept_to_be_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        call = desk.core.call

        def faulty(request: Any, method: Any) -> Any:
            if request.params["message"] == "2":
                raise RuntimeError("a fault")
            return call(request, method)

        monkeypatch.setattr(desk.core, "call", faulty)
        for number in range(1, 4):
            desk.say(str(number), str(number), number - 10)
        desk.intake.start()
        assert desk.said() == ["1", "3"]
        assert desk.core.counters["faults"] == 1
        assert len(os.listdir(tmp_path / "spool-aside")) == 1
        await desk.intake.stop()

    go(main())


@pytest.mark.parametrize("processed", range(4))
def test_nothing_is_taken_twice_after_a_kill_between_saving_and_removing(
    tmp_path: Path, processed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after `processed` of three files were removed; the next broker is killed at once as well."""

    async def main() -> None:
        monkeypatch.setattr(module, "BATCH", 3)
        first = Desk(tmp_path)
        for number in range(5):
            first.say(str(number), str(number), number - 10)
        remove = Spool.remove

        class KilledError(Exception):
            pass

        def killed(spool: Spool, files: list[str]) -> list[str]:
            remove(spool, files[:processed])
            if files:
                raise KilledError
            return []

        monkeypatch.setattr(Spool, "remove", killed)
        with pytest.raises(KilledError):
            first.intake.start()
        first.kill()
        second = Desk(tmp_path)
        if processed < 3:
            with pytest.raises(KilledError):
                second.intake.start()
        second.kill()
        monkeypatch.setattr(Spool, "remove", remove)
        third = Desk(tmp_path)
        third.intake.start()
        assert [*first.said(), *second.said(), *third.said()] == ["0", "1", "2", "3", "4"]
        await third.intake.stop()

    go(main())


def test_while_nothing_can_be_saved_reports_count_and_their_files_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLOW_SECONDS", 0.05)

    async def main() -> None:
        (tmp_path / "state.db").mkdir()
        first = Desk(tmp_path)
        assert first.core.store.degraded
        first.say("a", "1")
        first.intake.start()
        first.intake.watch()
        first.say("b", "2")
        await soon(lambda: first.counters["kept"] == 2)
        assert first.said() == ["1", "2"]
        assert sorted(os.listdir(first.path)) == ["a", "b"]
        first.kill()
        second = Desk(tmp_path)  # what could not be saved counts anew
        second.intake.start()
        second.intake.watch()
        assert second.said() == ["1", "2"]
        (tmp_path / "state.db").rmdir()
        assert second.core.store.recover(second.core.tables)
        second.kill()
        third = Desk(tmp_path)  # and not again, once it is saved
        third.intake.start()
        assert third.said() == []
        assert os.listdir(third.path) == []
        assert [row["message"] for row in third.core.tables.all("log")] == ["1", "2"]
        await third.intake.stop()

    go(main())


def test_once_it_can_be_saved_again_what_was_kept_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLOW_SECONDS", 0.05)

    async def main() -> None:
        (tmp_path / "state.db").mkdir()
        desk = Desk(tmp_path)
        desk.say("a", "1")
        desk.intake.start()
        desk.intake.watch()
        assert os.listdir(desk.path) == ["a"]
        (tmp_path / "state.db").rmdir()
        assert desk.core.store.recover(desk.core.tables)
        await soon(lambda: not os.listdir(desk.path))
        assert desk.said() == ["1"]
        assert (desk.counters["kept"], desk.counters["taken"]) == (0, 1)
        await desk.intake.stop()

    go(main())


def test_what_is_kept_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(names.LIMITS, "spool_files", 10)

    async def main() -> None:
        (tmp_path / "state.db").mkdir()
        desk = Desk(tmp_path)
        desk.intake.start()
        desk.intake.watch()
        for number in range(14):
            desk.say(f"{number:02}", str(number))
            await soon(lambda: len(desk.said()) == number + 1)  # noqa: B023 - used up in this round
        assert sorted(os.listdir(desk.path)) == [f"{number:02}" for number in range(4, 14)]
        await desk.intake.stop()

    with caplog.at_level(logging.WARNING):
        go(main())
    lines = [record.message for record in caplog.records]
    assert lines.count("spool: 1 reports go before they are saved, too many are kept") == 4


@pytest.mark.parametrize("mended", [True, False])
def test_a_stop_saves_what_was_kept_or_leaves_it_to_the_next_start(tmp_path: Path, *, mended: bool) -> None:
    async def main() -> None:
        (tmp_path / "state.db").mkdir()
        first = Desk(tmp_path)
        first.say("a", "1")
        first.intake.start()
        if mended:
            (tmp_path / "state.db").rmdir()
        await first.intake.stop()
        first.core.stop()
        assert not first.path.exists()
        assert (tmp_path / "spool-left").exists() == (not mended)
        if not mended:
            (tmp_path / "state.db").rmdir()
        second = Desk(tmp_path)
        second.intake.start()
        assert second.said() == ([] if mended else ["1"])
        assert [row["message"] for row in second.core.tables.all("log")] == ["1"]
        await second.intake.stop()
        assert not (tmp_path / "spool-left").exists()

    go(main())


def test_a_file_whose_close_is_told_before_it_is_done_is_taken_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLOW_SECONDS", 60.0)
    read, asked = Spool.read, []

    def early(spool: Spool, name: str, limit: int, *, closed: bool = True) -> Any:
        asked.append(name)
        if asked.count("a") <= 3:
            raise BeingWritten
        return read(spool, name, limit, closed=closed)

    async def main() -> None:
        desk = Desk(tmp_path)
        desk.intake.start()
        desk.intake.watch()
        monkeypatch.setattr(Spool, "read", early)
        desk.say("a", "1")
        await soon(lambda: desk.said() == ["1"])
        assert asked == ["a"] * 4
        await desk.intake.stop()

    go(main())


def test_an_empty_file_that_nobody_writes_is_no_report_after_a_while(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        path = desk.put("a", b"")
        desk.intake.start()
        desk.intake.watch()
        assert path.exists()
        os.utime(path, (time.time() - 20, time.time() - 20))
        await soon(lambda: not path.exists())
        assert desk.counters["unreadable"] == 1
        assert not (tmp_path / "spool-aside").exists()
        await desk.intake.stop()

    go(main())


def test_what_is_no_file_is_noticed_when_it_appears(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.intake.start()
        desk.intake.watch()
        os.mkfifo(desk.path / "fifo")
        (desk.path / "directory").mkdir()
        (desk.path / "link").symlink_to("fifo")
        await soon(lambda: desk.counters["unreadable"] == 3)
        assert os.listdir(desk.path) == []
        await desk.intake.stop()

    with caplog.at_level(logging.WARNING):
        go(main())
    assert [record.message.split("'")[1] for record in caplog.records] == ["fifo", "directory", "link"]


def sleeper(name: str, directory: Path) -> subprocess.Popen[bytes]:
    """Start a process whose program has that name."""
    path = directory / name
    path.write_text("#!/bin/sh\necho\nread line\n")
    path.chmod(0o755)
    process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    return process


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is Claude Code as far as its name goes."""
    process = sleeper("claude", tmp_path)
    yield process
    process.kill()
    process.communicate()


def started(process: subprocess.Popen[bytes]) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]


def test_a_session_ends_with_the_process_that_reported(
    tmp_path: Path, claude: subprocess.Popen[bytes]
) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.hook("a", "prompt-submit", more=f"Pid: 4194305 {started(claude)}\nPid: {claude.pid}\n")
        desk.intake.start()
        assert [record["pid"] for record in desk.agents()] == [claude.pid]
        claude.kill()
        await soon(lambda: not desk.agents())
        await desk.intake.stop()

    go(main())


def test_no_other_program_is_taken_for_the_agent(tmp_path: Path, claude: subprocess.Popen[bytes]) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        pids = f"Pid: {claude.pid} {started(claude)}\n"
        desk.put("a", f"Agent: codex\nEvent: prompt-submit\nSurface: 5\n{pids}\n")
        desk.put("b", f"Agent: codebuff\nEvent: prompt-submit\nSurface: 6\nAgent-Pid: {claude.pid}\n{pids}\n")
        desk.intake.start()
        assert {row["agent"]: row["pid"] for row in desk.agents()} == {"codex": None, "codebuff": claude.pid}
        await desk.intake.stop()

    go(main())


@pytest.mark.parametrize(
    ("event", "state"),
    [
        ("PreToolUse", "needs_input"),
        ("SessionStart", "needs_input"),
        ("Stop", "idle"),
        ("SessionEnd", None),
    ],
)
def test_of_an_agent_that_has_ended_only_the_end_counts(
    tmp_path: Path, event: str, state: str | None
) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.hook("a", "PermissionRequest", -9)
        desk.hook("b", event, -8, more="Pid: 4194305 12345\nPid: 4194306\n")
        desk.intake.start()
        assert [record["state"] for record in desk.agents()] == ([state] if state else [])
        assert desk.counters["ended"] == (state == "needs_input")
        assert os.listdir(desk.path) == []
        await desk.intake.stop()

    go(main())


def test_where_descriptors_run_out_reports_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLOW_SECONDS", 0.05)

    async def main() -> None:
        desk = Desk(tmp_path)
        desk.say("a", "1")
        read = Spool.read

        def full(*_: Any, **__: Any) -> None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        monkeypatch.setattr(Spool, "read", full)
        desk.intake.start()
        assert desk.said() == []
        assert os.listdir(desk.path) == ["a"]
        monkeypatch.setattr(Spool, "read", read)
        await soon(lambda: desk.said() == ["1"])
        await desk.intake.stop()

    go(main())


def test_without_inotify_it_looks_now_and_then_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLOW_SECONDS", 0.05)

    def refuse(_: str) -> None:
        raise Unusable("the limit fs.inotify.max_user_instances is reached")

    monkeypatch.setattr(module, "Watch", refuse)

    async def main() -> None:
        desk = Desk(tmp_path)
        desk.intake.start()
        desk.intake.watch()
        assert "max_user_instances" in desk.counters["problem"]
        for number in range(3):
            desk.say("a", str(number))
            await soon(lambda: desk.said()[-1:] == [str(number)])  # noqa: B023 - used up in this round
        await desk.intake.stop()

    go(main())


def test_what_inotify_has_lost_is_found(tmp_path: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())

    async def main() -> None:
        desk = Desk(tmp_path)
        desk.intake.start()
        desk.intake.watch()
        for number in range(limit + 10):  # the loop does not run meanwhile
            os.close(os.open(desk.path / ".being-made", os.O_CREAT | os.O_WRONLY))
            os.close(os.open(desk.path / f".{number % 2}", os.O_CREAT | os.O_WRONLY))
        desk.say("lost", "found")
        await soon(lambda: desk.said() == ["found"])
        for path in desk.path.iterdir():
            path.unlink()
        await desk.intake.stop()

    go(main())


@pytest.mark.parametrize("how", ["removed", "moved"])
def test_the_spool_is_made_again_when_somebody_takes_it_away(tmp_path: Path, how: str) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.intake.start()
        desk.intake.watch()
        if how == "removed":
            shutil.rmtree(desk.path)
        else:
            os.rename(desk.path, tmp_path / "moved")
        await soon(desk.path.is_dir)
        desk.say("a", "again")
        await soon(lambda: desk.said() == ["again"])
        await desk.intake.stop()

    go(main())


def test_a_clean_stop_takes_what_is_there_and_removes_the_spool(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.intake.start()
        desk.intake.watch()
        desk.say("a", "last")
        await desk.intake.stop()
        assert desk.said() == ["last"]
        assert not desk.path.exists()

    go(main())


def test_what_is_still_being_written_at_a_stop_is_taken_by_the_next_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "STOP_SECONDS", 0.001)

    async def main() -> None:
        desk = Desk(tmp_path)
        desk.intake.start()
        with open(desk.path / "a", "wb") as file:
            await desk.intake.stop()
            assert not desk.path.exists()  # hooks do nothing
            file.write(b'Method: workspace.log\nWorkspace: 1\n\n{"message":"late"}')
        after = Desk(tmp_path)
        after.intake.start()
        assert after.said() == ["late"]
        await after.intake.stop()

    go(main())
    assert ["still being written" in record.message for record in caplog.records] == [True]


def test_what_is_no_report_yet_does_not_keep_the_spool_alive(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        desk.intake.start()
        desk.put(".being-made", b"others'")
        await desk.intake.stop()
        assert not desk.path.exists()
        after = Desk(tmp_path)
        after.intake.start()
        assert (after.path / ".being-made").read_bytes() == b"others'"
        assert os.listdir(tmp_path).count("spool-left") == 0
        await after.intake.stop()

    go(main())


def test_another_brokers_spool_is_left_to_it(tmp_path: Path) -> None:
    async def main() -> None:
        first = Desk(tmp_path)
        first.intake.start()
        (tmp_path / "second").mkdir()
        second = Desk(tmp_path / "second")
        second.intake = Intake(second.core, str(first.path))
        second.intake.start()
        second.intake.watch()
        assert "another broker" in second.counters["problem"]
        await second.intake.stop()
        assert first.path.is_dir()
        await first.intake.stop()

    go(main())


def test_hooks_find_the_spool_of_a_broker_that_config_toml_sent_elsewhere(
    environ: dict[str, str], tmp_path: Path, start_broker: Start
) -> None:
    config = Path(names.config_path(environ))
    config.parent.mkdir(parents=True)
    config.write_text(f'[socket]\npath = "{tmp_path}/other/s.sock"\n')
    (tmp_path / "other").mkdir(mode=0o700)
    broker = start_broker()
    link = tmp_path / "run" / "seance" / "spool"
    assert link.resolve() == tmp_path / "other" / "spool"
    subprocess.run([HOOK, "claude", "UserPromptSubmit"], env=environ, input=b"{}", check=True)
    eventually(lambda: health(environ)["spool"]["taken"] == 1)
    broker.terminate()
    broker.wait(10)
    assert not os.path.lexists(link)
    assert not (tmp_path / "other" / "spool").exists()


def health(environ: dict[str, str]) -> dict[str, Any]:
    with Connection(names.socket_path(environ), 5.0) as connection:
        return dict(connection.request("system.health"))


def test_a_hook_shows_up_in_the_broker_and_the_spool_goes_with_it(
    environ: dict[str, str], start_broker: Start
) -> None:
    broker = start_broker()
    spool = Path(names.spool_path(names.socket_path(environ)))
    subprocess.run([HOOK, "claude", "PreToolUse"], env=environ, input=b'{"session_id":"s"}', check=True)
    eventually(lambda: health(environ)["spool"]["taken"] == 1)
    assert health(environ)["spool"]["path"] == str(spool)
    assert health(environ)["warnings"] == []
    broker.terminate()
    broker.wait(10)
    assert not spool.exists()


def test_nothing_is_lost_or_taken_twice_while_brokers_are_killed(
    environ: dict[str, str], start_broker: Start
) -> None:
    total, kills = 150, 8
    tell = r'"$0" tester log "{\"message\":\"$i\"}"'
    script = f"i=0; while [ $i -lt {total} ]; do {tell}; i=$((i+1)); done; echo $i"
    broker = start_broker()
    hooks = subprocess.Popen(["sh", "-c", script, HOOK], env=environ, stdout=subprocess.PIPE)
    for _ in range(kills):
        taken = health(environ)["spool"]["taken"]
        eventually(lambda: hooks.poll() is not None or health(environ)["spool"]["taken"] > taken)  # noqa: B023
        broker.send_signal(signal.SIGKILL)
        broker.wait()
        broker = start_broker()
    assert hooks.communicate(timeout=30)[0] == f"{total}\n".encode()
    spool = names.spool_path(names.socket_path(environ))
    eventually(lambda: os.listdir(spool) == [])
    with Connection(names.socket_path(environ), 5.0) as connection:
        rows = connection.request("events.subscribe", {"topics": ["log"]})["snapshot"]["log"]
    assert [int(row["message"]) for row in rows] == list(range(total))
