"""What tests share: waiting for conditions, sealed environments."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

T = TypeVar("T")
_BY_THE_KERNEL = re.compile(r"not permitted|Permission denied|No space left on device")  # as errno(3) puts it


def eventually(condition: Callable[[], T], seconds: float = 10.0, what: str = "") -> T:
    """Return the first true value of `condition`, asked again and again; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what or condition}; last value {value!r}")
        time.sleep(0.02)


async def soon(condition: Callable[[], object], what: str = "", seconds: float = 10.0) -> None:
    """Let the loop run until `condition` holds; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what or condition}"
        await asyncio.sleep(0.005)


def cannot(what: str, said: str = "") -> NoReturn:
    """Skip a test for want of something, `what`. In CI, where all is there, it fails instead.

    said: why it failed; where that tells that the kernel refuses it, CI can do without as well.
    """
    message = f"{what}: {said.strip()}" if said else what
    if os.environ.get("CI") and not _BY_THE_KERNEL.search(said):
        pytest.fail(message)
    pytest.skip(message)


def needed(program: str) -> str:
    """Return the path of a program; as `cannot` without it."""
    return shutil.which(program) or cannot(f"{program} is not installed")


def only_root() -> None:
    """Go on as root; as `cannot` for everybody else."""
    if os.geteuid():
        cannot("only root can give files away or become another user")


def unshared(*options: str) -> list[str]:
    """Return the words that run a command in namespaces of its own; as `cannot` where there can be none."""
    words = [needed("unshare"), *options]
    tried = subprocess.run(
        [*words, "true"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    )
    if tried.returncode:
        cannot("no namespaces can be made here", tried.stderr or f"status {tried.returncode}")
    return words


def descriptors(kind: str, but: Collection[str] = ()) -> dict[str, str]:
    """Return what fdinfo tells of this process's descriptors of a kind, as "pidfd", by their numbers.

    but: those that are left out, since they were there before.
    """
    found = {}
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            if kind in os.readlink(f"/proc/self/fd/{number}"):
                found[number] = Path(f"/proc/self/fdinfo/{number}").read_text()
    return {number: text for number, text in found.items() if number not in but}


def sealed_environment(directory: Path) -> dict[str, str]:
    """Return an environment with a HOME, XDG directories and a socket of its own below `directory`."""
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "CI") if name in os.environ}
    run = directory / "run"
    run.mkdir(mode=0o700, exist_ok=True)
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(directory),
        "XDG_RUNTIME_DIR": str(run),
        "XDG_STATE_HOME": str(directory / "state"),
        "XDG_CONFIG_HOME": str(directory / "config"),
        "TERM": "xterm-256color",
        "PYTHONPATH": str(Path(__file__).parent.parent),
        "PYTHONWARNINGS": "error",
    }
