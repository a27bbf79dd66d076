"""The broker's look at repositories: when it looks, when it asks git, and what it then says."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import os
import subprocess
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seance_tools import client, git, names
from seance_tools.broker import repositories as module
from seance_tools.broker.aside import Aside
from seance_tools.broker.repositories import Repositories
from seance_tools.mounts import Mounts
from seance_tools.options import look_up
from tests.companions import CompanionDesk
from tests.support import descriptors, eventually

CLEAN = git.Status("main", False, 1, 2)


class Desk(CompanionDesk):
    """A core with its look at repositories; git is stood in for. asked: the working trees it was about."""

    def __init__(self, directory: Path) -> None:
        self.before = descriptors("inotify")
        super().__init__(directory)
        self.companion = Repositories(self.core, self.ask)
        self.asked: list[str] = []
        self.answer: git.Status | None = CLEAN
        self.gate: asyncio.Event | None = None  # git does not answer before it is set
        self.running = 0

    async def ask(self, top: str) -> git.Status | None:
        assert not self.running, "twice at a time"
        self.asked.append(os.path.basename(top))
        self.running += 1
        try:
            if self.gate:
                await self.gate.wait()
        finally:
            self.running -= 1
        return self.answer

    def git(self, surface_id: int = 1) -> tuple[Any, ...]:
        row = self.surface(surface_id)
        return tuple(row[name] for name in ("branch", "operation", "dirty", "ahead", "behind"))

    def shows(self, surface_id: int, *members: Any) -> bool:
        return self.git(surface_id) == members


def play(tmp_path: Path, scene: Callable[[Desk], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        desk = Desk(tmp_path)
        desk.companion.start()
        try:
            await scene(desk)
        finally:
            await desk.companion.stop()
            desk.core.stop()
            assert not desk.running

    asyncio.run(run())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_DELAY", 0.01)
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(module, "PAUSE_SHARE", 0)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


def repository(path: Path, branch: str = "main") -> Path:
    for name in ("objects", "refs"):
        (path / ".git" / name).mkdir(parents=True)
    switch(path, branch)
    return path


def switch(path: Path, branch: str) -> None:
    """Write HEAD as git does: beside it, then in its place."""
    (path / ".git" / "HEAD.lock").write_text(f"ref: refs/heads/{branch}\n")
    (path / ".git" / "HEAD.lock").rename(path / ".git" / "HEAD")


def test_the_branch_is_known_without_anybody_watching_and_git_is_not_asked(
    tmp_path: Path, shop: Path
) -> None:
    async def scene(desk: Desk) -> None:
        desk.do("surface.report_cwd", surface_id=1, cwd=str(shop))
        await desk.comes(lambda: desk.git() == ("main", "", None, None, None))
        switch(shop, "topic")
        await desk.comes(lambda: desk.git()[0] == "topic")
        (shop / ".git" / "MERGE_HEAD").touch()
        await desk.comes(lambda: desk.git()[1] == "merge")
        desk.do("surface.report_cwd", surface_id=1, cwd=str(tmp_path))
        await desk.comes(lambda: desk.git() == ("", "", False, None, None))
        assert desk.asked == []

    play(tmp_path, scene)


def test_who_watches_has_git_asked_once_for_all_surfaces_of_a_repository(tmp_path: Path, shop: Path) -> None:
    (shop / "below").mkdir()

    async def scene(desk: Desk) -> None:
        for surface_id, cwd in enumerate((shop, shop, shop / "below"), 1):
            desk.do("surface.report_cwd", surface_id=surface_id, cwd=str(cwd))
        await desk.comes(lambda: all(desk.git(number)[0] for number in (1, 2, 3)))
        desk.watch(1)
        for surface_id in (1, 2, 3):
            await desk.comes(partial(desk.shows, surface_id, "main", "", False, 1, 2))
        await desk.rests()
        assert desk.asked == ["shop"]
        desk.watch(0)
        await desk.comes(lambda: desk.git() == ("main", "", None, None, None))

    play(tmp_path, scene)


def test_prompts_agents_and_writes_have_git_asked_again_and_nothing_else_does(
    tmp_path: Path, shop: Path
) -> None:
    async def scene(desk: Desk) -> None:
        desk.watch(1)
        desk.do("surface.report_cwd", surface_id=1, cwd=str(shop))
        await desk.comes(lambda: desk.git()[2] is False)
        steps: list[Callable[[], object]] = [
            lambda: desk.do("surface.report_state", surface_id=1, state="prompt"),
            lambda: desk.do("agent.hook", agent="claude", event="prompt-submit", surface_id=1),
            lambda: desk.do("agent.hook", agent="claude", event="stop", surface_id=1),
            (shop / ".git" / "index").touch,
        ]
        for count, step in enumerate(steps, 2):
            await desk.rests()
            desk.answer = git.Status("main", True, count, 0)
            step()
            await desk.comes(partial(desk.shows, 1, "main", "", True, count, 0))
        await desk.rests()
        asked = len(desk.asked)
        desk.do("surface.report_state", surface_id=1, state="running")
        (shop / ".git" / "index.lock").touch()
        (shop / "file").touch()
        desk.do("surface.report_cwd", surface_id=2, cwd=str(tmp_path))
        await desk.rests()
        assert len(desk.asked) == asked

    play(tmp_path, scene)


def test_what_comes_while_git_runs_is_one_more_question(tmp_path: Path, shop: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.watch(1)
        desk.gate = asyncio.Event()
        desk.do("surface.report_cwd", surface_id=1, cwd=str(shop))
        await desk.comes(lambda: desk.asked)
        for number in range(20):
            switch(shop, f"b{number}")
        await desk.comes(lambda: desk.git()[0] == "b19")
        assert desk.git()[2] is None
        desk.gate.set()
        await desk.rests()
        assert len(desk.asked) == 2
        assert desk.git() == ("b19", "", False, 1, 2)

    play(tmp_path, scene)


def test_a_git_that_does_not_tell_leaves_it_unknown(tmp_path: Path, shop: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.watch(1)
        desk.do("surface.report_cwd", surface_id=1, cwd=str(shop))
        await desk.comes(lambda: desk.git()[2] is False)
        desk.answer = None
        (shop / ".git" / "index").touch()
        await desk.comes(lambda: desk.git() == ("main", "", None, None, None))

    play(tmp_path, scene)


def test_git_is_not_asked_elsewhere_nor_by_those_who_do_not_want_it(
    tmp_path: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare"
    repository(bare)
    bare = bare / ".git"

    async def scene(desk: Desk) -> None:
        desk.watch(1)
        monkeypatch.setattr(Mounts, "is_network", lambda *_: True)
        desk.do("surface.report_cwd", surface_id=1, cwd=str(shop))
        desk.do("surface.report_cwd", surface_id=2, cwd=str(bare))
        await desk.comes(lambda: desk.git() == ("main", "", None, None, None))
        await desk.comes(lambda: desk.git(2) == ("main", "", False, None, None))
        assert desk.asked == []
        desk.core.configure(look_up({"git": {"network": True}}))
        await desk.comes(lambda: desk.git() == ("main", "", False, 1, 2))
        assert desk.asked == ["shop"]
        desk.core.configure(look_up({"git": {"network": True, "status": False}}))
        await desk.comes(lambda: desk.git() == ("main", "", None, None, None))
        await desk.rests()  # no look is under way while what it would find is exchanged
        desk.core.configure(look_up({}))
        monkeypatch.undo()
        monkeypatch.setattr(git, "is_own", lambda *_: False)
        desk.do("surface.report_state", surface_id=1, state="prompt")
        await desk.rests()
        assert desk.asked == ["shop"]

    play(tmp_path, scene)


def test_what_a_shell_reports_counts_until_it_goes_to_another_repository(tmp_path: Path, shop: Path) -> None:
    other = repository(tmp_path / "other", "side")

    async def scene(desk: Desk) -> None:
        desk.do("surface.report_cwd", surface_id=1, cwd=str(shop))
        await desk.comes(lambda: desk.git()[0] == "main")
        desk.do("surface.report_git", surface_id=1, branch="told", dirty=True)
        switch(shop, "topic")
        desk.do("surface.report_state", surface_id=1, state="prompt")
        await desk.rests()
        assert desk.git() == ("told", "", True, None, None)
        desk.do("surface.report_cwd", surface_id=1, cwd=str(tmp_path))
        await desk.rests()
        assert desk.git()[0] == "told"
        desk.do("surface.report_cwd", surface_id=1, cwd=str(other))
        await desk.comes(lambda: desk.git() == ("side", "", None, None, None))
        desk.do("surface.report_git", surface_id=1, branch="told")
        desk.do("surface.clear_git", surface_id=1)
        await desk.comes(lambda: desk.git()[0] == "side")

    play(tmp_path, scene)


def test_a_directory_of_another_machine_is_not_looked_for_here(tmp_path: Path, shop: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.do("surface.report_state", surface_id=1, state="prompt")
        desk.core.tables.update("surface", desk.core.tables.rows["surface"][1,], place="host:far:%1")
        desk.core.commit()
        desk.do("surface.report_cwd", surface_id=1, cwd=str(shop))
        desk.do("surface.report_cwd", surface_id=2, cwd=str(shop))
        await desk.comes(lambda: desk.git(2)[0] == "main")
        await desk.rests()
        assert desk.git(1)[0] == ""
        desk.do("surface.report_git", surface_id=1, branch="told")
        await desk.rests()
        assert desk.git(1)[0] == "told"

    play(tmp_path, scene)


def test_an_agents_directory_stands_in_for_an_unknown_one(tmp_path: Path, shop: Path) -> None:
    async def scene(desk: Desk) -> None:
        payload = {"cwd": str(shop)}
        desk.do("agent.hook", agent="claude", event="prompt-submit", surface_id=1, payload=payload)
        await desk.comes(lambda: desk.git()[0] == "main")

    play(tmp_path, scene)


def test_what_is_gone_is_watched_no_more_and_its_git_ended(tmp_path: Path, shop: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.watch(1)
        desk.gate = asyncio.Event()
        desk.do("surface.report_cwd", surface_id=1, cwd=str(shop))
        await desk.comes(lambda: desk.running)
        desk.core.tables.clear("surface", 1)
        desk.core.commit()
        await desk.comes(lambda: not desk.running)
        (watched,) = descriptors("inotify", desk.before).values()
        assert "inotify wd" not in watched
        assert not desk.companion.busy

    play(tmp_path, scene)


def test_without_inotify_it_says_so_once_and_shells_still_tell(
    tmp_path: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inotify import calls

    def refused(*_: object) -> int:
        ctypes.set_errno(errno.ENOSPC)
        raise calls.InotifyError("no")

    monkeypatch.setattr(calls, "inotify_add_watch", refused)
    other = repository(tmp_path / "other")

    async def scene(desk: Desk) -> None:
        for surface_id, path in enumerate((shop, other), 1):
            desk.do("surface.report_cwd", surface_id=surface_id, cwd=str(path))
        await desk.comes(lambda: desk.git(2)[0] == "main")
        switch(shop, "topic")
        desk.do("surface.report_state", surface_id=1, state="prompt")
        await desk.comes(lambda: desk.git()[0] == "topic")
        (note,) = desk.core.notes
        assert "max_user_watches" in note

    play(tmp_path, scene)


def test_what_hangs_is_left_behind_and_not_begun_again() -> None:
    async def scene() -> None:
        aside = Aside(0.05)
        through = threading.Event()
        with pytest.raises(TimeoutError):
            await aside.run("/far", lambda: through.wait(20))
        began: list[int] = []
        with pytest.raises(TimeoutError):
            await aside.run("/far", lambda: began.append(1))
        assert began == []
        assert await aside.run("/near", lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await aside.run("/near", lambda: 1 // 0)
        through.set()
        async with asyncio.timeout(10):
            while not began:
                try:
                    await aside.run("/far", lambda: began.append(1))
                except TimeoutError:
                    await asyncio.sleep(0.005)

    asyncio.run(scene())


def test_with_a_real_git_a_sidebar_would_see_changes_come_and_go(
    environ: dict[str, str], start_broker: Callable[..., subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    top = tmp_path / "project"
    more = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def run(*words: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=top, check=True, env={**environ, **more})

    top.mkdir()
    run("init", "-q", "-b", "main")
    run("commit", "-q", "--allow-empty", "-m", "one")
    start_broker(**more)
    path = names.socket_path(environ)
    with client.Connection(path, 10.0) as teller, client.Connection(path, 10.0) as watcher:
        watcher.subscribe()

        def shown() -> Any:
            (window,) = teller.request("system.tree")["windows"]
            (workspace,) = window["workspaces"]
            return workspace["git"] and tuple(workspace["git"][name] for name in ("branch", "dirty"))

        teller.request("surface.report_cwd", {"surface_id": 1, "cwd": str(top)})
        eventually(lambda: shown() == ("main", False))
        (top / "file").write_text("x")
        run("add", "file")
        eventually(lambda: shown() == ("main", True))
        run("commit", "-q", "-m", "two")
        eventually(lambda: shown() == ("main", False))
        run("switch", "-q", "-c", "topic")
        eventually(lambda: shown() == ("topic", False))
