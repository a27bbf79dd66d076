"""Repositories of every kind, read from their files; what git is asked, and that it disturbs nobody."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from seance_tools import git
from seance_tools.text import clean
from tests.support import eventually

Git = Callable[..., str]
# Written by dulwich 1.2.21: one table that sets HEAD, one that sets a branch, one that sets HEAD anew.
TABLES = {
    "one.ref": "524546540100100000000000000000020000000000000003720000380023484541440"
    "10f726566732f68656164732f6d61696e00001c0001",
    "two.ref": "524546540100100000000000000000040000000000000005720000470079726566732f68656164732f6d61696e00"
    + "aa" * 20
    + "00001c0001",
    "three.ref": "5245465401001000000000000000000600000000000000077200003b002348454144"
    "0112726566732f68656164732f746f7069632f7800001c0001",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Runs git in a directory below tmp_path, as somebody without any settings of his own."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")

    def run(where: str, *words: str, fails: bool = False) -> str:
        done = subprocess.run(
            ["git", *identity, *words], cwd=tmp_path / where, capture_output=True, text=True, check=False
        )
        assert fails == bool(done.returncode), done.stderr
        return done.stdout.strip()

    run(".", "init", "-q", "-b", "main", "shop")
    run("shop", "commit", "-q", "--allow-empty", "-m", "one")
    return run


def seen(path: Path) -> git.Head:
    found = git.find(str(path))
    assert found
    return git.head(found.directory)


def asked(path: Path, seconds: float = 30.0) -> git.Status | None:
    return asyncio.run(git.status(str(path), seconds))


def test_a_branch_is_read_from_below_too(run: Git, tmp_path: Path) -> None:
    below = tmp_path / "shop" / "a" / "b"
    below.mkdir(parents=True)
    assert git.find(str(below)) == (str(tmp_path / "shop" / ".git"), str(tmp_path / "shop"))
    assert seen(below) == ("main", "")
    run("shop", "switch", "-q", "-c", "topic/ünïcode")
    assert seen(below).branch == "topic/ünïcode"


@pytest.mark.usefixtures("run")
def test_outside_of_a_repository_there_is_none(tmp_path: Path) -> None:
    assert git.find(str(tmp_path)) is None
    (tmp_path / ".git").mkdir()
    assert git.find(str(tmp_path)) is None, "an empty .git is no repository"
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / ".git").write_text("gitdir: ../nowhere\n")
    assert git.find(str(tmp_path / "x")) is None
    with pytest.raises(FileNotFoundError):
        git.find(str(tmp_path / "gone"))


@pytest.mark.parametrize(
    "name", [b"new\nline", b"latin-\xe9", b"bell\x07 \xe2\x98 \xff", "c1-\x9b-\xfc".encode()]
)
def test_a_directory_is_found_by_what_is_reported_of_it(tmp_path: Path, name: bytes) -> None:
    directory = os.path.join(os.fsencode(tmp_path), name, b"below")
    os.makedirs(directory)
    (tmp_path / "another").mkdir()
    raw = directory.decode("utf-8", "replace")
    for reported in (clean(raw), re.sub("[\x00-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", raw)):
        assert os.fsencode(git.meant(reported)) == directory


def test_of_two_that_read_the_same_neither_is_taken(tmp_path: Path) -> None:
    for name in ("a\x01", "a\x02", "b\N{REPLACEMENT CHARACTER}"):
        (tmp_path / name).mkdir()
    assert git.meant(f"{tmp_path}/b\N{REPLACEMENT CHARACTER}") == f"{tmp_path}/b\N{REPLACEMENT CHARACTER}"
    for name in ("a\N{REPLACEMENT CHARACTER}", "gone", "c\N{REPLACEMENT CHARACTER}"):
        with pytest.raises(FileNotFoundError):
            git.meant(f"{tmp_path}/{name}")


def test_detached_worktree_submodule_bare_and_a_branch_without_commits(run: Git, tmp_path: Path) -> None:
    commit = run("shop", "rev-parse", "HEAD")
    run("shop", "worktree", "add", "-q", "-b", "side", "../side")
    assert seen(tmp_path / "side").branch == "side"
    run("shop", "switch", "-q", "--detach")
    assert seen(tmp_path / "shop").branch == f"@{commit[:7]}"
    assert seen(tmp_path / "side").branch == "side"
    run(".", "init", "-q", "-b", "outer", "outer")
    run("outer", "submodule", "add", "-q", "-b", "side", str(tmp_path / "shop"), "part")
    assert (seen(tmp_path / "outer").branch, seen(tmp_path / "outer" / "part").branch) == ("outer", "side")
    run(".", "clone", "-q", "--bare", "-b", "side", "shop", "bare")
    assert git.find(str(tmp_path / "bare")) == (str(tmp_path / "bare"), "")
    assert seen(tmp_path / "bare" / "objects").branch == "side"


@pytest.mark.parametrize("strategy", ["--merge", "--apply"])
def test_while_a_rebase_stops_its_branch_is_shown(run: Git, tmp_path: Path, strategy: str) -> None:
    conflict(run, tmp_path)
    run("shop", "rebase", strategy, "main", fails=True)
    assert seen(tmp_path / "shop") == ("topic", "rebase")
    run("shop", "rebase", "--abort")
    assert seen(tmp_path / "shop") == ("topic", "")


@pytest.mark.parametrize(
    ("words", "operation"),
    [
        (("merge", "main"), "merge"),
        (("cherry-pick", "main"), "cherry-pick"),
        (("revert", "HEAD~1"), "revert"),
        (("am", "../patch"), "am"),
    ],
)
def test_what_goes_on_is_told(run: Git, tmp_path: Path, words: tuple[str, ...], operation: str) -> None:
    conflict(run, tmp_path)
    (tmp_path / "patch").write_text(run("shop", "format-patch", "-1", "--stdout", "main"))
    run("shop", *words, fails=True)
    assert seen(tmp_path / "shop") == ("topic", operation)


def test_a_bisection_is_told_with_the_commit_it_is_at(run: Git, tmp_path: Path) -> None:
    for number in range(4):
        run("shop", "commit", "-q", "--allow-empty", "-m", f"{number}")
    run("shop", "bisect", "start", "HEAD", "HEAD~4")
    assert seen(tmp_path / "shop") == (f"@{run('shop', 'rev-parse', 'HEAD')[:7]}", "bisect")


def conflict(run: Git, tmp_path: Path) -> None:
    """Leave shop on branch topic, whose last two commits conflict with main and with each other."""
    file = tmp_path / "shop" / "file"
    for branch, texts in (("topic", ("a\n", "b\n")), ("main", ("c\n",))):
        run("shop", "switch", "-q", *(("-c",) if branch == "topic" else ()), branch)
        for text in texts:
            file.write_text(text)
            run("shop", "add", "file")
            run("shop", "commit", "-q", "-m", text)
    run("shop", "switch", "-q", "topic")


@pytest.mark.usefixtures("run")
def test_references_in_tables_are_read(tmp_path: Path) -> None:
    directory = tmp_path / "shop" / ".git"
    (directory / "HEAD").write_text("ref: refs/heads/.invalid\n")
    tables = directory / "reftable"
    tables.mkdir()
    assert seen(tmp_path / "shop").branch == "", "unknown as long as nothing tells"
    for name, content in TABLES.items():
        (tables / name).write_bytes(bytes.fromhex(content))
    (tables / "tables.list").write_text("one.ref\ntwo.ref\n")
    assert seen(tmp_path / "shop").branch == "main"
    (tables / "tables.list").write_text("one.ref\ntwo.ref\nthree.ref\n")
    assert seen(tmp_path / "shop").branch == "topic/x"
    (tables / "three.ref").write_bytes(b"REFT\x07nonsense")
    assert seen(tmp_path / "shop").branch == "", "what is not understood is not guessed at"


@pytest.mark.usefixtures("run")
def test_a_pipe_or_a_device_in_a_repository_keeps_nobody_waiting(tmp_path: Path) -> None:
    head = tmp_path / "shop" / ".git" / "HEAD"
    head.unlink()
    os.mkfifo(head)
    assert seen(tmp_path / "shop").branch == ""
    head.unlink()
    head.symlink_to("/dev/zero")
    assert seen(tmp_path / "shop").branch == ""
    (tmp_path / "x").mkdir()
    os.mkfifo(tmp_path / "x" / ".git")
    assert git.find(str(tmp_path / "x")) is None


def test_status_tells_changes_and_the_way_to_the_upstream(run: Git, tmp_path: Path) -> None:
    assert asked(tmp_path / "shop") == ("main", False, None, None)
    run(".", "clone", "-q", "shop", "copy")
    assert asked(tmp_path / "copy") == ("main", False, 0, 0)
    run("copy", "commit", "-q", "--allow-empty", "-m", "mine")
    for text in ("theirs", "theirs too"):
        run("shop", "commit", "-q", "--allow-empty", "-m", text)
    run("copy", "fetch", "-q")
    (tmp_path / "copy" / 'odd "name"\n*').write_text("new")
    assert asked(tmp_path / "copy") == ("main", True, 1, 2)
    run("copy", "switch", "-q", "--detach")
    status = asked(tmp_path / "copy")
    assert status
    assert status.branch == f"@{run('copy', 'rev-parse', 'HEAD')[:7]}"


@pytest.mark.usefixtures("run")
def test_a_great_many_changes_are_as_good_as_one(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / "shop" / f"a file with quite a long name, number {number}").touch()
    assert asked(tmp_path / "shop") == ("main", True, None, None)


@pytest.mark.usefixtures("run")
def test_where_git_cannot_tell_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop" / ".git" / "index").write_bytes(b"nonsense")
    assert asked(tmp_path / "shop") is None
    assert asked(tmp_path / "gone") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert asked(tmp_path / "shop") is None


def test_no_program_that_the_configuration_names_is_run(run: Git, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\n: >> {tmp_path}/was-run\n")
    evil.chmod(0o755)
    hooks = tmp_path / "shop" / ".git" / "hooks"
    for name in ("post-index-change", "fsmonitor-watchman"):
        (hooks / name).write_bytes(evil.read_bytes())
        (hooks / name).chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "diff.external", "core.sshCommand", "core.askPass"):
        run("shop", "config", key, str(evil))
    (tmp_path / "shop" / "file").write_text("x")
    assert asked(tmp_path / "shop") == ("main", True, None, None)
    assert not (tmp_path / "was-run").exists()


def test_the_repository_the_broker_was_started_in_plays_no_part(
    run: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(".", "init", "-q", "-b", "other", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert asked(tmp_path / "shop") == ("main", False, None, None)


def test_a_git_that_hangs_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\nsleep 1000 & echo $! > {tmp_path}/child\necho $$ > {tmp_path}/me\nwait\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    async def ask() -> git.Status | None:
        asking = asyncio.create_task(git.status(str(tmp_path), 1000.0))
        while not (tmp_path / "me").exists() or not (tmp_path / "me").read_text():
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        return await git.status(str(tmp_path), 0.5)

    assert asyncio.run(ask()) is None
    for name in ("me", "child"):
        pid = int((tmp_path / name).read_text())
        eventually(lambda pid=pid: not alive(pid), what=f"{name} has ended")  # type: ignore[misc]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def test_commits_in_a_loop_are_never_broken(run: Git, tmp_path: Path) -> None:
    file = tmp_path / "shop" / "file"
    over = threading.Event()
    looks = 0

    async def look() -> None:
        nonlocal looks
        while not over.is_set():
            assert seen(tmp_path / "shop").branch == "main"
            assert await git.status(str(tmp_path / "shop")) is not None
            looks += 1

    reader = threading.Thread(target=lambda: asyncio.run(look()))
    reader.start()
    try:
        for number in range(60):
            file.write_text(f"{number}")
            os.utime(file, (number, number))  # so that git would like to refresh its index
            run("shop", "add", "file")
            run("shop", "commit", "-q", "-m", f"{number}")
    finally:
        over.set()
        reader.join()
    assert run("shop", "rev-list", "--count", "HEAD") == "61"
    assert looks >= 10
    assert not list((tmp_path / "shop" / ".git").glob("*.lock"))


def test_a_status_writes_nothing_into_the_repository(run: Git, tmp_path: Path) -> None:
    file = tmp_path / "shop" / "file"
    file.write_text("x")
    run("shop", "add", "file")
    run("shop", "commit", "-q", "-m", "x")
    os.utime(file, (1, 1))
    before = listing(tmp_path / "shop")
    assert asked(tmp_path / "shop") == ("main", False, None, None)
    assert listing(tmp_path / "shop") == before
    run("shop", "status")
    assert listing(tmp_path / "shop") != before, "an ordinary one would have"


def listing(top: Path) -> set[tuple[str, int, int]]:
    files = [path for path in top.rglob("*") if stat.S_ISREG(path.stat().st_mode)]
    return {(str(path), path.stat().st_mtime_ns, path.stat().st_ino) for path in files}


@pytest.mark.usefixtures("run")
def test_another_users_repository_is_not_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = git.find(str(tmp_path / "shop"))
    assert found
    assert git.is_own(found)
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    assert not git.is_own(found)


def test_the_output_of_git_is_read_to_the_letter() -> None:
    head = b"# branch.oid (initial)\0# branch.head main\0"
    assert git.parse_status(head) == ("main", False, None, None)
    assert git.parse_status(head + b"# branch.upstream o/main\0") == ("main", False, None, None)
    ahead = b"# branch.upstream o/main\0# branch.ab +12 -3\0# stash 2\0"
    assert git.parse_status(head + ahead) == ("main", False, 12, 3)
    assert git.parse_status(head + ahead + b"? # branch.ab +9 -9\0") == ("main", True, 12, 3)
    assert git.parse_status(b"") is None


def test_reading_a_branch_is_cheap(run: Git, tmp_path: Path) -> None:
    run("shop", "status")
    began = time.thread_time()
    for _ in range(100):
        seen(tmp_path / "shop")
    assert time.thread_time() - began < 1.0, "some 0.1 ms each; this only notices a program being started"
