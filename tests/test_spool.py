"""The spool's directory and what may lie in it, with the real file system and the real inotify."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from seance_tools.spool import BeingWritten, Content, OddFile, Spool, Unusable, Watch

LIMIT = 1000


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(str(tmp_path / "spool"))


def put(spool: Spool, name: str, data: bytes = b"x", modified: float | None = None) -> Path:
    path = Path(spool.path) / name
    path.write_bytes(data)
    if modified is not None:
        os.utime(path, (modified, modified))
    return path


def test_it_is_private_whatever_the_umask(tmp_path: Path) -> None:
    for mask in (0, 0o777):
        before = os.umask(mask)
        try:
            spool = Spool(str(tmp_path / f"spool{mask}"))
        finally:
            os.umask(before)
        assert stat.S_IMODE(os.stat(spool.path).st_mode) == 0o700
        spool.close()


def test_one_that_was_left_is_taken_up_and_made_private(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir(mode=0o755)
    (tmp_path / "spool" / "a").write_bytes(b"waits")
    spool = Spool(str(tmp_path / "spool"))
    assert stat.S_IMODE(os.stat(spool.path).st_mode) == 0o700
    assert [entry.name for entry in spool.entries()] == ["a"]


def test_only_one_broker_takes_from_it(spool: Spool) -> None:
    with pytest.raises(Unusable, match="another broker's"):
        Spool(spool.path)
    spool.close()
    Spool(spool.path).close()


def test_what_is_no_directory_is_refused_and_left(tmp_path: Path) -> None:
    (tmp_path / "spool").write_bytes(b"mine")
    with pytest.raises(Unusable, match="cannot be used"):
        Spool(str(tmp_path / "spool"))
    assert (tmp_path / "spool").read_bytes() == b"mine"


def test_a_link_from_earlier_gives_way_to_a_directory(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "spool").symlink_to(tmp_path / "elsewhere")
    Spool(str(tmp_path / "spool")).close()
    assert not (tmp_path / "spool").is_symlink()
    assert (tmp_path / "elsewhere").is_dir()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give a directory away")
def test_another_users_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    os.chown(tmp_path / "spool", 65534, 65534)
    with pytest.raises(Unusable, match="another user"):
        Spool(str(tmp_path / "spool"))


def test_entries_come_by_time_then_by_name(spool: Spool) -> None:
    for name, modified in (("c", 5.0), ("b", 7.0), ("a", 7.0), (".hidden", 1.0), ("\udcff", 3.0)):
        put(spool, name, modified=modified)
    assert [entry.name for entry in spool.entries()] == ["\udcff", "c", "a", "b"]


def test_a_file_is_read_with_what_identifies_it(spool: Spool) -> None:
    path = put(spool, "a", b"\0\xff" * 400)
    assert spool.read("a", LIMIT) == Content(spool.entries()[0], b"\0\xff" * 400, whole=True)
    assert spool.entries()[0].inode == path.stat().st_ino


def test_of_a_file_too_large_only_the_beginning_is_read(spool: Spool) -> None:
    path = put(spool, "a", b"Agent: claude")
    os.truncate(path, 1 << 40)  # a hole: reading it would fill the memory
    content = spool.read("a", LIMIT)
    assert content
    assert not content.whole
    assert content.data.startswith(b"Agent: claude")
    assert len(content.data) < 1 << 20


def test_a_file_that_is_gone_is_nothing(spool: Spool) -> None:
    assert spool.read("a", LIMIT) is None
    assert spool.remove(["a"]) == []


def test_a_file_that_is_being_written_is_left_until_it_is_closed(spool: Spool) -> None:
    with open(put(spool, "a", b"half"), "ab", buffering=0) as file:
        for closed in (False, True):  # the close that we were told of may be an earlier one
            with pytest.raises(BeingWritten):
                spool.read("a", LIMIT, closed=closed)
        file.write(b" and half")
    content = spool.read("a", LIMIT, closed=False)
    assert content
    assert content.data == b"half and half"


def test_a_file_that_changes_while_it_is_looked_at_is_read_whole(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = open(put(spool, "a", b""), "ab", buffering=0)  # noqa: SIM115 - closed late on purpose
    lease = fcntl.fcntl

    def late(descriptor: int, command: int, argument: int) -> object:
        if command == fcntl.F_SETLEASE and not file.closed:
            file.write(b"whole")
            file.close()
        return lease(descriptor, command, argument)

    monkeypatch.setattr(fcntl, "fcntl", late)
    content = spool.read("a", LIMIT, closed=False)
    assert content == Content(spool.entries()[0], b"whole", whole=True)


def test_an_empty_file_is_one_that_is_being_made_until_it_is_old(spool: Spool) -> None:
    put(spool, "a", b"")
    with pytest.raises(BeingWritten):
        spool.read("a", LIMIT)
    put(spool, "a", b"", time.time() - 20)
    content = spool.read("a", LIMIT)
    assert content
    assert content.data == b""


def test_a_writer_that_comes_while_we_look_does_not_end_us(tmp_path: Path) -> None:
    """It waits until the lease is given back, and the kernel sends us a signal."""
    script = """
import fcntl, subprocess, sys
from pathlib import Path
from seance_tools.spool import Spool
path, lease = sys.argv[1], fcntl.fcntl
def slow(descriptor, command, argument):
    done = lease(descriptor, command, argument)
    if (command, argument) == (fcntl.F_SETLEASE, fcntl.F_RDLCK):
        global writer
        writer = subprocess.Popen(["sh", "-c", 'echo >>"$0"', path + "/a"])
        while ") S " not in Path(f"/proc/{writer.pid}/stat").read_text():
            assert writer.poll() is None
    return done
fcntl.fcntl = slow
spool = Spool(path)
Path(path, "a").write_text("a")
spool.read("a", 100)
sys.exit(writer.wait())
"""
    command = [sys.executable, "-c", script, str(tmp_path / "spool")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")


def test_files_of_one_clock_tick_come_in_the_order_of_their_numbers(spool: Spool) -> None:
    for name in ("1023-0", "0-0", "9-0", "10-0", "1022-1"):
        put(spool, name, modified=5.0)
    for name in ("pi-3-511", "pi-3-0", "pi-3-1"):
        put(spool, name, modified=6.0)
    names = [entry.name for entry in spool.entries()]
    assert names == ["1022-1", "1023-0", "0-0", "9-0", "10-0", "pi-3-511", "pi-3-0", "pi-3-1"]


def test_what_comes_while_we_look_is_left_for_the_next_time(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(spool, "a", modified=5.0)
    listed = os.listdir

    def late(directory: int) -> list[str]:
        found = listed(directory)
        put(spool, "c", modified=7.0)
        put(spool, "b", modified=4.0)
        return found

    monkeypatch.setattr(os, "listdir", late)
    assert [entry.name for entry in spool.entries()] == ["b", "a"]
    assert [entry.name for entry in spool.entries()] == ["b", "a", "c"]


def odd_files(spool: Spool) -> dict[str, str]:
    """Put all kinds of what is no report into a spool; returns their names, and why they are none."""
    directory = Path(spool.path)
    victim = directory.parent / "victim"
    victim.write_bytes(b"Agent: claude\nEvent: Stop\n\n")
    (directory / "link").symlink_to(victim)
    (directory / "dangling").symlink_to("nowhere")
    (directory / "directory").mkdir()
    (directory / "directory" / "inside").write_bytes(b"x")
    os.mkfifo(directory / "fifo")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(directory / "socket"))
    found = dict.fromkeys(("link", "dangling"), "symbolic link") | {
        "directory": "not a file",
        "fifo": "not a file",
        "socket": "No such device",
    }
    if os.getuid() == 0:
        os.chown(put(spool, "foreign"), 65534, 65534)
        found["foreign"] = "another user"
    else:
        put(spool, "secret").chmod(0)
        found["secret"] = "Permission denied"
    return found


def test_odd_files_are_known_and_can_be_put_aside(spool: Spool, tmp_path: Path) -> None:
    odd = odd_files(spool)
    for name, reason in odd.items():
        with pytest.raises(OddFile, match=reason):
            spool.read(name, LIMIT, closed=False)
        assert os.path.lexists(spool.put_aside(name))
    assert spool.entries() == []
    assert (tmp_path / "victim").exists()
    assert stat.S_IMODE(os.stat(spool.aside).st_mode) == 0o700
    assert len(os.listdir(spool.aside)) == len(odd)


def test_what_can_be_neither_moved_nor_removed_is_passed_over(spool: Spool) -> None:
    Path(spool.aside).write_bytes(b"in the way")
    (Path(spool.path) / "a").mkdir()
    assert spool.remove(["a"]) == ["a"]
    put(spool, "b")
    assert spool.put_aside("b") == os.path.join(spool.path, "b")
    assert spool.entries() == []


def test_it_goes_when_it_is_empty_and_stays_while_it_is_not(spool: Spool) -> None:
    put(spool, ".being-made")
    assert not spool.finish()
    os.unlink(Path(spool.path) / ".being-made")
    assert spool.finish()
    assert spool.finish()
    assert not os.path.exists(spool.path)


def test_once_it_is_withdrawn_writers_find_none_and_the_next_broker_all(spool: Spool, tmp_path: Path) -> None:
    put(spool, "a", b"waits")
    with open(Path(spool.path) / ".being-made", "wb") as file:
        assert spool.withdraw()
        assert not (tmp_path / "spool").exists()
        file.write(b"made")
    content = spool.read("a", LIMIT)
    assert content
    assert content.data == b"waits"
    assert not spool.finish()
    after = Spool(str(tmp_path / "spool"))
    after.take_up()
    assert os.listdir(after.path) == []  # the one before is still at it
    spool.close()
    put(after, "a", b"new")
    after.take_up()
    assert not os.path.exists(after.left)
    assert sorted(path.read_bytes() for path in Path(after.path).iterdir()) == [b"made", b"new", b"waits"]
    for path in Path(after.path).iterdir():
        path.unlink()
    assert after.withdraw()
    assert after.finish()
    assert sorted(os.listdir(tmp_path)) == []


def test_a_withdrawal_that_something_is_in_the_way_of_leaves_the_spool(spool: Spool) -> None:
    Path(spool.left).write_bytes(b"mine")
    assert not spool.withdraw()
    assert os.path.isdir(spool.path)
    with pytest.raises(NotADirectoryError):
        spool.take_up()
    assert spool.finish()


def told(watch: Watch) -> tuple[list[str], bool, bool]:
    assert select.select([watch], [], [], 5.0)[0]
    return watch.take()


def test_a_watch_tells_of_what_is_closed_or_moved_in(spool: Spool, tmp_path: Path) -> None:
    watch = Watch(spool.path)
    file = open(Path(spool.path) / "b", "wb")  # noqa: SIM115 - closed late on purpose
    put(spool, "a")
    put(spool, ".c")
    assert told(watch) == (["a"], False, False)
    file.close()
    os.rename(Path(spool.path) / ".c", Path(spool.path) / "c")
    (tmp_path / "d").write_bytes(b"x")
    os.rename(tmp_path / "d", Path(spool.path) / "d")
    assert told(watch) == (["b", "c", "d"], False, False)
    watch.close()


def test_a_watch_tells_of_what_is_no_file_when_it_appears(spool: Spool, tmp_path: Path) -> None:
    watch = Watch(spool.path)
    odd = odd_files(spool)
    os.link(tmp_path / "victim", Path(spool.path) / "linked")
    os.mkdir(tmp_path / "moved")
    os.rename(tmp_path / "moved", Path(spool.path) / "moved")
    names, lost, gone = told(watch)
    assert (lost, gone) == (False, False)
    assert {*odd, "linked", "moved"} - {"foreign", "secret"} <= set(names)
    watch.close()


def test_a_watch_says_when_it_has_lost_some(spool: Spool) -> None:
    watch = Watch(spool.path)
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(limit + 10):
        put(spool, "ab"[number % 2])  # the same one twice in a row would be one event
    lost = False
    while select.select([watch], [], [], 0)[0]:
        lost |= watch.take()[1]
    assert lost
    watch.close()


@pytest.mark.parametrize("how", ["removed", "moved"])
def test_a_watch_says_when_the_directory_is_gone(spool: Spool, how: str) -> None:
    watch = Watch(spool.path)
    if how == "removed":
        os.rmdir(spool.path)
    else:
        os.rename(spool.path, f"{spool.path}-moved")
    assert told(watch)[2]
    watch.close()


def test_where_inotify_is_used_up_the_limit_is_named(spool: Spool, need: Callable[[str], str]) -> None:
    unshare = [need("unshare"), "-r"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    ask = "import sys; from seance_tools.spool import Watch; Watch(sys.argv[1])"
    for limit in ("instances", "watches"):
        script = f'echo 0 >/proc/sys/user/max_inotify_{limit}; exec "$@"'
        command = ["sh", "-c", script, "sh", sys.executable, "-c", ask, spool.path]
        done = subprocess.run([*unshare, *command], capture_output=True, text=True)
        assert f"Unusable: the limit fs.inotify.max_user_{limit} is reached" in done.stderr
