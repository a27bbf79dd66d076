"""A stage for the wrapper: a home of its own, an agent on PATH, and a broker that records."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.fake_broker import FakeBroker
from tests.support import eventually
from tests.terminal import Terminal

WRAPPER = f"#!{sys.executable}\nimport sys\nfrom seance_tools.codebuff import main\nsys.exit(main())\n"
STANDIN = Path(__file__).parent.parent / "standins" / "codebuff"


class Stage:
    """Where a wrapped agent runs; `path` is its home, `broker` hears of it."""

    def __init__(self, path: Path, environ: dict[str, str]) -> None:
        self.path = path
        self.socket = str(path / "broker.sock")
        self.environ = {**environ, "PATH": f"{path}/bin:/usr/bin:/bin", "SEANCE_SOCKET_PATH": self.socket}
        self.broker = FakeBroker(self.socket)
        self.program("bin/codebuff-wrapper", WRAPPER)
        self.program("bin/codebuff", STANDIN.read_text().replace("/usr/bin/env python3", sys.executable, 1))

    def program(self, name: str, text: str) -> Path:
        """Make an executable script below the home."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def agent(self, text: str) -> None:
        """Put a script of the test's in the agent's place."""
        self.program("bin/codebuff", text)

    def configure(self, text: str) -> None:
        """Write config.toml."""
        path = self.path / "config" / "seance" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def terminal(
        self, *argv: str, closed: tuple[int, ...] = (), environ: Mapping[str, str] | None = None
    ) -> Terminal:
        """Run a command on a terminal, codebuff-wrapper unless told."""
        command = argv or ("codebuff-wrapper",)
        return Terminal(command, {**self.environ, **(environ or {})}, self.path, closed=closed)

    def processes(self) -> dict[int, str]:
        """Every process of this stage, by its command line; those that have ended do not count."""
        found = {}
        mark = os.fsencode(f"XDG_RUNTIME_DIR={self.environ['XDG_RUNTIME_DIR']}")
        for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
            try:
                if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found[pid] = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
            except OSError:
                continue  # ended, or another user's
        return found

    def monitors(self) -> list[int]:
        """The monitors that run."""
        return [pid for pid, command in self.processes().items() if "codebuff-wrapper" in command]


@pytest.fixture
def stage(tmp_path: Path, environ: dict[str, str]) -> Iterator[Stage]:
    """A stage; at the end nothing that ran on it is left."""
    it = Stage(tmp_path, environ)
    yield it
    try:
        eventually(lambda: not it.processes(), 10.0, "everything ends with the agent")
    finally:
        it.broker.close()
        for pid in it.processes():
            os.kill(pid, signal.SIGTERM)
