"""What tests share: waiting for conditions, sealed environments."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


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
