from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inotify import calls

from seance_tools import watch
from tests.support import eventually


class Watched:
    """A watcher, its warnings, and what it has seen."""

    def __init__(self, root: Path) -> None:
        self.warnings: list[str] = []
        self.watcher = watch.Watcher(str(root), ".jsonl", self.warnings.append)
        self.seen: list[str] = []

    def look(self, seconds: float = 0.0) -> list[str]:
        """Wait as the monitor does: for the descriptor, or until the slow look is due."""
        if self.watcher.fileno() >= 0:
            select.select([self.watcher], [], [], seconds)
        else:
            time.sleep(min(self.watcher.timeout() or 0.0, seconds))
        self.seen += self.watcher.changed()
        return self.seen

    def await_change(self, path: Path, seconds: float = 2.5) -> None:
        eventually(lambda: str(path) in self.look(0.1), seconds, f"{path} in {self.seen}")
        self.seen.clear()

    def settle(self) -> None:
        """Take all that is there, so that what comes next is new."""
        while self.watcher.fileno() >= 0 and select.select([self.watcher], [], [], 0)[0]:
            self.watcher.changed()
        self.seen.clear()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / ".config" / "manicode"


@pytest.fixture
def watched(root: Path) -> Iterator[Watched]:
    root.mkdir(parents=True)
    it = Watched(root)
    yield it
    it.watcher.close()


def write(path: Path, text: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)
    return path


def test_sees_a_write_to_a_log_that_is_held_open(watched: Watched, root: Path) -> None:
    log = root / "a" / "log.jsonl"
    log.parent.mkdir()
    with log.open("a") as file:
        for _ in range(3):
            file.write("{}\n")
            file.flush()
            watched.await_change(log)


def test_says_nothing_about_what_was_there_before(root: Path) -> None:
    write(root / "a" / "log.jsonl")
    watched = Watched(root)
    assert watched.look() == []
    write(root / "a" / "log.jsonl")
    watched.await_change(root / "a" / "log.jsonl")
    watched.watcher.close()


def test_other_names_and_reading_and_closing_are_no_writes(watched: Watched, root: Path) -> None:
    log = write(root / "log.jsonl")
    watched.await_change(log)
    write(root / "run-state.json")
    write(root / "log.jsonl.tmp")
    log.read_text()
    log.open("a").close()
    os.rename(root / "run-state.json", root / "other.json")
    select.select([watched.watcher], [], [], 1.0)
    assert watched.watcher.changed() == []


def test_a_new_file_is_written_once_it_has_content(watched: Watched, root: Path) -> None:
    (root / "log.jsonl").touch()
    assert select.select([watched.watcher], [], [], 1.0)[0]
    assert watched.look() == []
    watched.await_change(write(root / "log.jsonl"))


def test_sleeps_while_nothing_happens(watched: Watched, root: Path) -> None:
    write(root / "a" / "log.jsonl")
    watched.await_change(root / "a" / "log.jsonl")
    watched.settle()
    assert watched.watcher.timeout() is None
    assert not select.select([watched.watcher], [], [], 0.3)[0]


def test_the_root_is_made_later(root: Path) -> None:
    watched = Watched(root)
    log = write(root / "projects" / "shop" / "chats" / "c" / "log.jsonl")
    watched.await_change(log)
    write(log)
    watched.await_change(log)
    watched.watcher.close()


def test_a_neighbour_is_not_taken_for_the_root(root: Path) -> None:
    root.parent.mkdir()
    watched = Watched(root)
    write(root.parent / "other" / "log.jsonl")
    assert select.select([watched.watcher], [], [], 2.0)[0]
    assert watched.watcher.changed() == []
    log = write(root / "log.jsonl")
    watched.await_change(log)
    watched.watcher.close()


@pytest.mark.parametrize("gone", ["manicode", ".config", "manicode/a"])
def test_deleted_and_made_again(watched: Watched, root: Path, gone: str) -> None:
    log = write(root / "a" / "log.jsonl")
    watched.await_change(log)
    top = root.parent.parent / ".config" if gone == ".config" else root.parent / gone
    for _ in range(3):
        shutil.rmtree(top)
        log = write(root / "a" / "log.jsonl")
        watched.await_change(log)
        watched.settle()
        write(log)
        watched.await_change(log)


@pytest.mark.parametrize("again", ["", "remade"])
@pytest.mark.parametrize("when", ["before", "watched", "listed"])
def test_the_root_goes_while_it_is_looked_into(
    watched: Watched, root: Path, when: str, again: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes, and may come again, between the event and the look, the watch and the list."""
    log = root / "log.jsonl"

    def first_remove(name: str, target: Any) -> None:
        real = getattr(target, name)

        def and_then(*arguments: Any) -> Any:
            if {str(root), bytes(root)} & {item for item in arguments if isinstance(item, str | bytes)}:
                monkeypatch.setattr(target, name, real)
                shutil.rmtree(root)
                if again:
                    write(log)
            return real(*arguments)

        monkeypatch.setattr(target, name, and_then)

    for _ in range(20):
        watched.await_change(write(log))
        watched.settle()
        write(log)
        if when == "before":
            shutil.rmtree(root)
            if again:
                write(log)
        elif when == "watched":
            first_remove("inotify_add_watch", calls)
        else:
            first_remove("_list", watch)
        watched.look(2.0)
        monkeypatch.undo()
        assert not watched.warnings


@pytest.mark.parametrize("moved", ["manicode", ".config", "manicode/a"])
def test_renamed_and_made_again(watched: Watched, root: Path, moved: str) -> None:
    log = write(root / "a" / "b" / "log.jsonl")
    watched.await_change(log)
    top = root.parent.parent / ".config" if moved == ".config" else root.parent / moved
    top.rename(root.parent.parent / "elsewhere")
    log = write(root / "a" / "b" / "log.jsonl")
    watched.await_change(log)
    watched.settle()
    write(log)
    watched.await_change(log)
    write(root.parent.parent / "elsewhere" / "log.jsonl")
    write(root.parent.parent / "elsewhere" / "b" / "log.jsonl")
    write(root.parent.parent / "elsewhere" / "a" / "b" / "log.jsonl")
    time.sleep(0.05)
    assert watched.look() == []


def test_renaming_is_not_writing(watched: Watched, root: Path) -> None:
    log = write(root / "a" / "b" / "log.jsonl")
    watched.await_change(log)
    watched.settle()
    (root / "a").rename(root / "z")
    (root / "z" / "b" / "log.jsonl").rename(root / "z" / "b" / "old.jsonl")
    select.select([watched.watcher], [], [], 1.0)
    assert watched.look() == []
    write(root / "z" / "b" / "old.jsonl")
    watched.await_change(root / "z" / "b" / "old.jsonl")


def test_replaced_by_renaming_is_written(watched: Watched, root: Path) -> None:
    log = write(root / "log.jsonl")
    watched.await_change(log)
    write(root / "log.tmp").rename(log)
    watched.await_change(log)


def test_truncation_is_a_write(watched: Watched, root: Path) -> None:
    log = write(root / "log.jsonl")
    watched.await_change(log)
    os.truncate(log, 0)
    watched.await_change(log)


def test_names_that_are_not_utf_8(watched: Watched, root: Path) -> None:
    directory = os.fsencode(root) + b"/\xff\xfe"
    os.mkdir(directory)
    path = directory + b"/\xff.jsonl"
    with open(path, "ab") as file:
        file.write(b"{}\n")
    watched.await_change(Path(os.fsdecode(path)))


def test_links_are_not_followed_but_the_root_may_be_one(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "loop").symlink_to(real)
    root = tmp_path / "root"
    root.symlink_to(real)
    watched = Watched(root)
    log = write(root / "a" / "log.jsonl")
    assert eventually(lambda: watched.look(0.1)) == [str(log)]
    watched.seen.clear()
    write(tmp_path / "outside.jsonl")
    (real / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    select.select([watched.watcher], [], [], 1.0)
    assert watched.look() == []
    watched.watcher.close()


def test_200_directories_each_with_a_write(watched: Watched, root: Path) -> None:
    logs = [write(root / "projects" / str(number) / "chats" / "c" / "log.jsonl") for number in range(200)]
    eventually(lambda: len(set(watched.look(0.1))) == 200, 2.5, "200 of 200")
    assert set(watched.seen) == set(map(str, logs))


def test_an_overflow_loses_nothing(watched: Watched, root: Path) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    quiet = write(root / "quiet" / "log.jsonl")
    watched.await_change(quiet)
    watched.settle()
    flood = root / "flood"
    flood.mkdir()
    watched.look(1.0)
    for number in range(limit // 2 + 10):  # alternating, so that the kernel cannot merge the events
        name = flood / f"{number % 2}.json"
        name.touch()
        name.unlink()
    watched.await_change(write(quiet))  # its event came after the overflow
    late = write(root / "late" / "log.jsonl")
    watched.await_change(late)


def test_20000_writes_while_stopped(watched: Watched, root: Path) -> None:
    logs = [write(root / str(number) / "log.jsonl") for number in range(20)]
    eventually(lambda: len(set(watched.look(0.1))) == 20)
    watched.settle()
    for _ in range(1000):
        for log in logs:
            write(log, "x")
    eventually(lambda: len(set(watched.look(0.1))) == 20, 2.5)
    watched.settle()
    write(logs[7])
    watched.await_change(logs[7])


def test_the_descriptor_does_not_survive_an_exec_nor_block(watched: Watched) -> None:
    assert not os.get_inheritable(watched.watcher.fileno())
    assert not os.get_blocking(watched.watcher.fileno())


def test_close_gives_the_descriptor_back(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    watched = Watched(root)
    watched.watcher.close()
    watched.watcher.close()
    assert len(os.listdir("/proc/self/fd")) == before


def count(watched: Watched) -> int:
    return Path(f"/proc/self/fdinfo/{watched.watcher.fileno()}").read_text().count("inotify wd:")


def test_directories_that_leave_are_watched_no_more(watched: Watched, root: Path) -> None:
    assert count(watched) == 2  # the root, and its parent for the root's coming and going
    for number in range(3):
        watched.await_change(write(root / "a" / "b" / "log.jsonl"))
        assert count(watched) == 4
        (root / "a").rename(root.parent / f"a{number}")
        watched.look(0.5)
        assert count(watched) == 2


def test_a_tree_that_another_one_has_replaced_is_watched_no_more(watched: Watched, root: Path) -> None:
    log = write(root / "a" / "b" / "log.jsonl")
    watched.await_change(log)
    root.rename(root.parent / "old")
    watched.await_change(write(log))
    assert count(watched) == 4


def test_what_is_above_the_root_is_watched_no_more_when_it_is_there(tmp_path: Path) -> None:
    watched = Watched(tmp_path / "a" / "b" / "c")
    watched.await_change(write(tmp_path / "a" / "b" / "c" / "log.jsonl"))
    assert count(watched) == 2
    watched.watcher.close()


def test_unreadable_directories_are_passed_over() -> None:
    if os.geteuid():
        pytest.skip("needs another user to be")
    top = Path(tempfile.mkdtemp())
    try:
        top.chmod(0o755)
        closed, log = top / "closed", write(top / "open" / "log.jsonl")
        closed.mkdir(mode=0o000)
        log.chmod(0o666)
        os.seteuid(65534)  # root may read everything
        try:
            watched = Watched(top)
            write(log)
            watched.await_change(log)
            assert watched.warnings == []
            watched.watcher.close()
        finally:
            os.seteuid(0)
    finally:
        shutil.rmtree(top)


LIMITED = """
import os, sys, time
from pathlib import Path
from tests.test_watch import Watched, write
root = Path(sys.argv[1])
watched = Watched(root)
assert watched.watcher.fileno() == -1, "watches in spite of the limit"
print(*watched.warnings, sep="\\n")
begun, spent = time.monotonic(), time.process_time()
for directory in ("3", "new"):
    log = write(root / directory / "log.jsonl")
    watched.look(2.5)
    assert watched.seen == [str(log)], watched.seen
    watched.seen.clear()
assert (time.process_time() - spent) / (time.monotonic() - begun) < 0.01
"""


@pytest.mark.parametrize(("sysctl", "limit"), [("max_inotify_watches", 10), ("max_inotify_instances", 0)])
def test_limits_of_the_system_are_named_and_lived_with(root: Path, sysctl: str, limit: int) -> None:
    for number in range(20):
        write(root / str(number) / "log.jsonl")
    script = f'echo {limit} >/proc/sys/user/{sysctl} && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    if subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    run = subprocess.run([*command, sys.executable, "-c", LIMITED, str(root)], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    limit_name = sysctl.replace("inotify", "user")
    assert (
        run.stdout == f"the limit fs.inotify.{limit_name} is reached; looking at {root} every 2 s instead\n"
    )


def test_looks_slowly_where_the_binding_is_missing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inotify", None)
    watched = Watched(root)
    assert watched.watcher.fileno() == -1
    assert len(watched.warnings) == 1
    root.mkdir(parents=True)
    (root / "loop").symlink_to(root)
    log = write(root / "a" / "log.jsonl")
    assert eventually(lambda: watched.look(0.1), 2.5) == [str(log)]
    watched.seen.clear()
    shutil.rmtree(root)
    watched.await_change(write(log))


def test_the_adapters_stay_out_of_it() -> None:
    code = (
        "import sys; from seance_tools.watch import Watcher; Watcher('/nowhere', '', print);"
        "print('inotify.adapters' in sys.modules)"
    )
    environ = {**os.environ, "DEBUG": "*"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ)
    assert (run.stdout, run.stderr) == ("False\n", "")


def test_holders(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl")
    assert watch.holders(str(log)) == {}
    with log.open("a") as file:
        link = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        assert watch.holders(str(log)) == {link: os.getpid()}
        assert watch.leads_to(link, str(log))
        assert not watch.leads_to(link, str(write(tmp_path / "other" / "log.jsonl")))
    assert not watch.leads_to(link, str(log))
