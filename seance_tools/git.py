"""Git repositories, read from their files without git; and `git status` for what only that can tell.

Nothing of a repository is trusted: its files are read only where they are regular ones, and git is started
only in what belongs to this user, with the hooks and the monitor that its configuration may name switched
off. (Clean filters run as they do for a person's own `git status`.)
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import stat
from typing import NamedTuple

from seance_tools import reftable
from seance_tools.text import REPLACEMENT, clean

STATUS_SECONDS = 2.0  # a git that has not told by then is ended
_KILL_SECONDS = 1.0  # for it to be gone
_FILE_BYTES = 4096
_STATUS_BYTES = 1 << 16  # of its output: the head is told first, and one change is as good as many
_HASH = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORT = 7
# What shells replace before they report a directory: [:cntrl:] of any locale.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# What is in the git directory while something goes on, and what that is.
_OPERATIONS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
_COMMAND = (
    *("git", "--no-optional-locks"),
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("status", "--porcelain=v2", "--branch", "--ahead-behind", "-z"),
    *("--no-renames", "--untracked-files=normal", "--ignore-submodules=dirty"),
)


class Repository(NamedTuple):
    """Where a repository is.

    directory: its git directory, with HEAD in it; a worktree's or submodule's is its own. top: of the
    working tree, "" without one.
    """

    directory: str
    top: str


class Head(NamedTuple):
    """What is checked out: a branch, or "@" and the commit's first digits; "" where it cannot be read.

    operation: rebase, am, merge, cherry-pick, revert or bisect while that goes on, else "".
    """

    branch: str
    operation: str = ""


class Status(NamedTuple):
    """What `git status` tells. branch: as in Head. ahead, behind: commits, None without an upstream."""

    branch: str
    dirty: bool
    ahead: int | None
    behind: int | None


def meant(path: str) -> str:
    """Return the directory that a reported path, cleaned and without what JSON cannot hold, stands for.

    Control characters and bytes that are not UTF-8 were replaced in it: the names in the directory above
    tell. Raises OSError where none is meant, or more than one may be.
    """
    if REPLACEMENT not in path and os.path.isdir(path):
        return path
    place = "/"
    for part in filter(None, path.split("/")):
        names = [part]
        if REPLACEMENT in part or not os.path.lexists(os.path.join(place, part)):
            names = [name for name in os.listdir(place) if part in _reported(name)]
        if len(names) != 1:
            raise FileNotFoundError(path)
        place = os.path.join(place, names[0])
    return place


def _reported(name: str) -> tuple[str, str]:
    """Return what a name in a directory may be reported as: by an agent, by a shell."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return clean(text), clean(_CONTROL.sub(REPLACEMENT, text))


def find(path: str) -> Repository | None:
    """Return the repository that a directory is in, None for none; git's own rules.

    The search goes upwards, not beyond the filesystem. Raises OSError where the directory cannot be seen.
    """
    device = os.stat(path).st_dev
    while os.stat(path).st_dev == device:
        linked = _linked(os.path.join(path, ".git"))
        if linked:
            return Repository(linked, path)
        if _is_repository(path):
            return Repository(path, "")
        above = os.path.dirname(path)
        if above == path:
            return None
        path = above
    return None


def _linked(path: str) -> str:
    """Return the git directory that `.git`, a directory or a file that names one, stands for; "" for none."""
    if not os.path.isdir(path):
        named = _line(path).partition("gitdir: ")
        if named[0] or not named[2]:
            return ""
        path = os.path.normpath(os.path.join(os.path.dirname(path), named[2]))
    return path if _is_repository(path) else ""


def _is_repository(path: str) -> bool:
    def has(name: str) -> bool:
        return os.path.lexists(os.path.join(path, name))

    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def _read(path: str, limit: int) -> bytes:
    """Return the beginning of a regular file; none for all else, which could keep us waiting."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return b""
    with open(descriptor, "rb", buffering=0) as file:
        try:
            return file.read(limit) or b""
        except OSError:
            return b""


def _line(path: str) -> str:
    return os.fsdecode(_read(path, _FILE_BYTES).partition(b"\n")[0]).rstrip()


def head(directory: str) -> Head:
    """Return what is checked out in the repository of this git directory."""
    text = _line(os.path.join(directory, "HEAD"))
    tables: dict[str, str | None] = {}
    if text == f"ref: {reftable.INVALID}":
        tables = _tables(os.path.join(directory, "reftable"))
        text = tables.get("HEAD") or ""
    operation = ""
    for name, meaning in _OPERATIONS:
        if tables.get(name) or os.path.lexists(os.path.join(directory, name)):
            operation = meaning
            before = _line(os.path.join(directory, name, "head-name"))
            text = f"ref: {before}" if before.startswith("refs/") else text
            break
    return Head(_name(text), operation)


def _tables(directory: str) -> dict[str, str | None]:
    """Return the references beside `refs/` of a stack of tables; {} where one of them cannot be read."""
    found: dict[str, str | None] = {}
    for name in os.fsdecode(_read(os.path.join(directory, "tables.list"), 1 << 16)).split():
        table = _read(os.path.join(directory, os.path.basename(name)), reftable.FIRST_BYTES)
        try:
            found |= reftable.roots(table)
        except ValueError:
            return {}
    return found


def _name(text: str) -> str:
    """Return the branch, or short commit, that the text of a HEAD stands for; "" for none."""
    if text.startswith("ref:"):
        name = text[4:].strip()
        return name.removeprefix("refs/heads/" if name.startswith("refs/heads/") else "refs/")
    return f"@{text[:_SHORT]}" if _HASH.fullmatch(text) else ""


def is_own(repository: Repository) -> bool:
    """Return whether a repository, its working tree included, belongs to this user: git may run in it."""
    places = (repository.directory, repository.top, os.path.join(repository.top, ".git"))
    with contextlib.suppress(OSError):
        return all(os.lstat(place).st_uid == os.geteuid() for place in places)
    return False


def parse_status(output: bytes) -> Status | None:
    """Return what `git status --porcelain=v2 --branch -z` printed (git-status(1)), None for nothing."""
    headers: dict[str, str] = {}
    dirty = False
    for record in output.split(b"\0"):
        if record.startswith(b"# "):
            name, _, value = os.fsdecode(record[2:]).partition(" ")
            headers[name] = value
        elif record:
            dirty = True
            break
    if "branch.head" not in headers:
        return None
    branch = headers["branch.head"]
    if branch == "(detached)":
        branch = _name(headers.get("branch.oid", ""))
    counts = re.fullmatch(r"\+(\d+) -(\d+)", headers.get("branch.ab", ""))
    ahead, behind = (int(counts[1]), int(counts[2])) if counts else (None, None)
    return Status(branch, dirty, ahead, behind)


def _environment() -> dict[str, str]:
    """Return git's environment: nothing of a repository that the broker was started in, no questions."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    more = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    return {**kept, **more, "LC_ALL": "C"}


async def status(top: str, seconds: float = STATUS_SECONDS) -> Status | None:
    """Ask git for the status of the working tree at `top`; None where it cannot tell in time.

    It takes no lock, and is ended with all it has started.
    """
    starting = asyncio.ensure_future(_start(top))
    try:
        process = await asyncio.shield(starting)
    except OSError:
        return None  # no git, or no such directory any more
    except asyncio.CancelledError:  # itself it must not be: on Python 3.11 it may wait for ever then
        with contextlib.suppress(OSError):
            await _end(await starting)
        raise
    assert process.stdout
    output = b""
    try:
        async with asyncio.timeout(seconds):
            while len(output) < _STATUS_BYTES and (piece := await process.stdout.read(_STATUS_BYTES)):
                output += piece
            if len(output) < _STATUS_BYTES and await process.wait():
                return None
    except TimeoutError:
        return None
    finally:
        await _end(process)
    return parse_status(output)


async def _start(top: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *_COMMAND,
        cwd=top,
        env=_environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):  # a disk that does not answer keeps it: it goes when that does
        await asyncio.wait_for(process.wait(), _KILL_SECONDS)
