"""Keeps the git state of surfaces true: branch from files, the rest from `git status` while watched.

Nothing is polled. A repository is looked at when a surface comes into it, when its shell shows a prompt or
its agent reports, and when something in its git directory changes. What others change in the working tree is
seen at the next of these. Surfaces in one repository share one look at it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import NamedTuple

from seance_tools import git
from seance_tools.broker.aside import Aside
from seance_tools.broker.core import Core
from seance_tools.folders import Folders
from seance_tools.mounts import Mounts
from seance_tools.state.places import ABROAD
from seance_tools.state.surroundings import happened, set_git
from seance_tools.state.tables import Change

LOOK_DELAY = 0.1  # what comes together is looked at once
PAUSE_SECONDS = 0.5  # at least, between two `git status` in a repository,
PAUSE_SHARE = 10  # and so many times as long as the last one took; so long between two looks at files, too
STATUSES = 2  # of different repositories at a time
WATCHED = 256  # git directories that are watched

Ask = Callable[[str], Awaitable[git.Status | None]]


class Look(NamedTuple):
    """What a look at a directory found. willing: whether `git status` may be asked there."""

    repository: git.Repository
    head: git.Head
    willing: bool


class _Shared:
    """A repository, its surfaces, and what git has told of it (None: not known)."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.surfaces: set[int] = set()
        self.status: git.Status | None = None
        self.stale = False
        self.task: asyncio.Task[None] | None = None


class Repositories:
    """One companion of the broker. ask: what asks git, given the top of a working tree."""

    def __init__(self, core: Core, ask: Ask = git.status) -> None:
        self.core = core
        self._ask = ask
        self._aside = Aside()
        self._turns = asyncio.Semaphore(STATUSES)
        self._folders: Folders
        self._shared: dict[str, _Shared] = {}  # by git directory
        self._of: dict[int, str] = {}  # surface: git directory
        self._due: set[int] = set()
        self._moved: set[int] = set()  # surfaces in another directory than when their branch was reported
        self._timer: asyncio.TimerHandle | None = None
        self._not_before = 0.0  # in the time of the loop
        self._looking: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look at every surface's directory, and go on."""
        self._folders = Folders(self.core.notes.append)
        if self._folders.fileno() >= 0:
            asyncio.get_running_loop().add_reader(self._folders.fileno(), self._written)
        self.core.listeners.add(self._heard)
        self.core.on_audience.add(self._audience)
        self._look_soon(row["id"] for row in self.core.tables.all("surface"))

    async def stop(self) -> None:
        """End every git that runs."""
        self.core.listeners.discard(self._heard)
        self.core.on_audience.discard(self._audience)
        if self._timer:
            self._timer.cancel()
        tasks = [shared.task for shared in self._shared.values() if shared.task]
        tasks += [self._looking] if self._looking else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._folders.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._folders.fileno())
        self._folders.close()

    @property
    def busy(self) -> bool:
        """Whether anything is under way or will be by itself."""
        return bool(self._timer or self._looking or any(shared.task for shared in self._shared.values()))

    def _heard(self, changes: list[Change]) -> None:
        for kind, key, row, old in changes:
            if kind == "surface":
                surface_id = int(key[0])
                if row is None:
                    self._leave(surface_id)
                elif old is None or row["cwd"] != old["cwd"]:
                    self._moved.add(surface_id)
                    self._look_soon([surface_id])
                elif (row["shell_state"] != "running" and happened(row, old)) or (
                    row.get("git_source") is None and old.get("git_source") == "report"
                ):
                    self._look_soon([surface_id])
            elif kind == "agent" and row and row["surface_id"] is not None and happened(row, old):
                self._look_soon([row["surface_id"]])
            elif kind == "config" and row and (old is None or row["values"] != old["values"]):
                self._look_soon(self._of)

    def _written(self) -> None:
        for path in self._folders.changed():
            shared = self._shared.get(path) or self._shared.get(os.path.dirname(path))
            if shared:
                self._look_soon(shared.surfaces)

    def _look_soon(self, surfaces: Iterable[int]) -> None:
        self._due.update(surfaces)
        if self._due and not self._timer and not self._looking:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time() + LOOK_DELAY, self._not_before), self._look)

    def _look(self) -> None:
        self._timer = None
        self._looking = self.core.spawn(self._look_at_due())
        self._looking.add_done_callback(self._looked)

    def _looked(self, _task: asyncio.Task[None]) -> None:
        self._looking = None
        self._look_soon(())

    async def _look_at_due(self) -> None:
        due, self._due = self._due, set()
        began = asyncio.get_running_loop().time()
        of_agents = self._directories_of_agents()
        places: dict[str, list[int]] = {}
        for surface_id in due:
            cwd = self._directory(surface_id, of_agents)
            if cwd is not None:
                places.setdefault(cwd, []).append(surface_id)
        mounts = Mounts()
        below: dict[str, list[str]] = {}  # by mount point
        for cwd in places:
            below.setdefault(mounts.point(cwd) if cwd.startswith("/") else "", []).append(cwd)
        for point, directories in below.items():
            looks = await self._look_below(point, directories, mounts)
            of_agents = self._directories_of_agents()
            for cwd in directories:
                look = looks.get(cwd)
                for surface_id in places[cwd]:
                    if self._directory(surface_id, of_agents) == cwd:
                        self._enter(surface_id, look)
                if look and look.repository.directory not in self._shared:
                    self._unwatch(look.repository.directory)
        self.core.commit()
        ended = asyncio.get_running_loop().time()
        self._not_before = ended + PAUSE_SHARE * (ended - began)

    def _directories_of_agents(self) -> dict[int, str]:
        """Return the directories of agents on this machine, by their surfaces."""
        rows = reversed(list(self.core.tables.all("agent")))  # of several, the first
        return {row["surface_id"]: str(row["cwd"]) for row in rows if not row.get("host")}

    def _directory(self, surface_id: int, of_agents: dict[int, str]) -> str | None:
        """Return the directory a surface is in, or its agent where only that is known; None: it is gone.

        It is "" for a surface of another machine.
        """
        row = self.core.tables.get("surface", surface_id)
        if row is None:
            return None
        if row["place"].startswith(ABROAD):
            return ""
        if row["cwd"]:
            return str(row["cwd"])
        return of_agents.get(surface_id, "")

    async def _look_below(self, point: str, directories: list[str], mounts: Mounts) -> dict[str, Look]:
        """Return what is found in directories of one filesystem; nothing where that hangs."""
        if not point:
            return {}
        network = self.core.tables.options["git.network"]
        try:
            return await self._aside.run(
                point, partial(self._examine_all, directories, mounts, network=network)
            )
        except OSError:
            return {}

    def _examine_all(self, directories: list[str], mounts: Mounts, *, network: bool) -> dict[str, Look]:
        found = {}
        for cwd in directories:
            with contextlib.suppress(OSError, ValueError):  # it is gone, or no path: nothing is known of it
                look = self._examine(cwd, mounts, network=network)
                if look:
                    found[cwd] = look
        return found

    def _examine(self, cwd: str, mounts: Mounts, *, network: bool) -> Look | None:
        """Find and read a directory's repository, and have it watched; in a thread, as it may hang."""
        cwd = git.meant(cwd)
        repository = git.find(cwd)
        if repository is None:
            return None
        directory = repository.directory
        far = any(mounts.is_network(os.path.realpath(path)) for path in (cwd, directory))
        if not far and directory not in self._shared and len(self._shared) < WATCHED:
            self._folders.add(directory)  # before it is read, so that nothing falls between
            if os.path.isdir(os.path.join(directory, "reftable")):
                self._folders.add(os.path.join(directory, "reftable"))
        willing = bool(repository.top) and (network or not far) and git.is_own(repository)
        return Look(repository, git.head(directory), willing)

    def _enter(self, surface_id: int, look: Look | None) -> None:
        row = self.core.tables.rows["surface"][surface_id,]
        reported = row.get("git_source") == "report"
        if look is None or (reported and surface_id not in self._moved):
            self._leave(surface_id)
            if not reported:
                set_git(self.core.tables, surface_id)
            return
        self._moved.discard(surface_id)
        directory = look.repository.directory
        if self._of.get(surface_id) != directory:
            self._leave(surface_id)
        shared = self._shared.setdefault(directory, _Shared(look))
        shared.look = look
        shared.surfaces.add(surface_id)
        self._of[surface_id] = directory
        shared.stale = True
        self._show(shared)
        self._ask_soon(shared)

    def _leave(self, surface_id: int) -> None:
        directory = self._of.pop(surface_id, None)
        if directory is None:
            return
        shared = self._shared[directory]
        shared.surfaces.discard(surface_id)
        if not shared.surfaces:
            del self._shared[directory]
            self._unwatch(directory)
            if shared.task:
                shared.task.cancel()

    def _unwatch(self, directory: str) -> None:
        for path in (directory, os.path.join(directory, "reftable")):
            self._folders.remove(path)

    def _show(self, shared: _Shared) -> None:
        look, told = shared.look, shared.status
        branch = look.head.branch or (told.branch if told else "")
        known = {"ahead": told.ahead, "behind": told.behind} if told else {}
        unknown = None if look.repository.top else False  # a bare one has nothing that could be changed
        dirty = told.dirty if told else unknown
        for surface_id in shared.surfaces:
            git_members = {"branch": branch, "operation": look.head.operation, "dirty": dirty, **known}
            set_git(self.core.tables, surface_id, **git_members)

    def _willing(self, shared: _Shared) -> bool:
        return bool(self.core.audience) and shared.look.willing and self.core.tables.options["git.status"]

    def _ask_soon(self, shared: _Shared) -> None:
        if self._willing(shared):
            if not shared.task:
                shared.task = self.core.spawn(self._ask_git(shared))
        elif shared.status:
            shared.status = None
            self._show(shared)

    async def _ask_git(self, shared: _Shared) -> None:
        """Ask git as long as there is something new, never twice at a time."""
        loop = asyncio.get_running_loop()
        try:
            while shared.stale and self._willing(shared):
                async with self._turns:
                    shared.stale = False
                    began = loop.time()
                    status = await self._ask(shared.look.repository.top)
                    took = loop.time() - began
                shared.status = status if self._willing(shared) else None
                self._show(shared)
                self.core.commit()
                await asyncio.sleep(max(PAUSE_SECONDS, PAUSE_SHARE * took))
        finally:
            shared.task = None

    def _audience(self) -> None:
        asyncio.get_running_loop().call_soon(self._watched_or_not)

    def _watched_or_not(self) -> None:
        """Ask for everything when somebody watches; forget what is not kept true when nobody does."""
        for shared in self._shared.values():
            shared.stale = True
            self._ask_soon(shared)
        self.core.commit()
