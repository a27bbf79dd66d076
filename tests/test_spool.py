"""The spool's directory and what may lie in it, with the real file system and the real inotify."""

from __future__ import annotations

import os
import select
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seance_tools.spool import Content, OddFile, Spool, Unusable, Watch

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
        assert spool.read("a", LIMIT, closed=False) is None
        file.write(b" and half")
    content = spool.read("a", LIMIT, closed=False)
    assert content
    assert content.data == b"half and half"


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
