"""A tmux server of a test's own, and programs that only record how they were called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seance_tools.liveness import start_time
from tests.support import eventually

Record = Callable[..., Path]


class Server:
    """A tmux server at a socket of its own; a context manager that ends it."""

    def __init__(self, program: str, socket: str, environ: dict[str, str]) -> None:
        self.socket = socket
        self._program = program
        self._environ = environ

    def __call__(self, *argv: str) -> str:
        command = [self._program, "-u", "-S", self.socket, "-f", os.devnull, *argv]
        done = subprocess.run(command, env=self._environ, capture_output=True, text=True)
        assert done.returncode == 0, f"{argv}: {done.stderr}"
        return done.stdout.removesuffix("\n")

    @property
    def pid(self) -> int:
        return int(self("display-message", "-p", "#{pid}"))

    def place(self, name: str) -> str:
        """Return the place of a pane (%0) or session ($0) of the server that runs now."""
        return f"tmux:{self.socket},{self.pid},{start_time(self.pid)}:{name}"

    def clients(self) -> list[str]:
        return self("list-clients", "-F", "#{client_control_mode} #{client_flags}").splitlines()

    def end(self) -> None:
        """End it, and wait until it is gone."""
        command = [self._program, "-S", self.socket, "display-message", "-p", "#{pid}", ";", "kill-server"]
        pid = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        eventually(lambda: not pid or start_time(int(pid)) is None)


@pytest.fixture
def tmux(environ: dict[str, str], tmp_path: Path, need: Callable[[str], str]) -> Iterator[Server]:
    """A tmux server that is not started yet."""
    server = Server(need("tmux"), str(tmp_path / "t"), environ)
    yield server
    server.end()


@pytest.fixture
def typed(tmux: Server, tmp_path: Path) -> Callable[[], bytes]:
    """A session "typed" whose pane writes what it gets into a file, byte by byte; return what came so far."""
    target, ready = tmp_path / "typed", tmp_path / "ready"
    tmux("new-session", "-d", "-s", "typed", f"stty raw -echo; touch '{ready}'; exec cat >> '{target}'")
    eventually(ready.exists)
    return lambda: target.read_bytes() if target.exists() else b""


@pytest.fixture
def record(tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Record:
    """Put a program on PATH that records its words and environment and prints a text; return the record."""

    def put(name: str, output: str = "", status: int = 0) -> Path:
        path, log = tmp_path / "bin" / name, tmp_path / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"#!{sys.executable}\nimport json, os, sys\n"
            f"open({str(log)!r}, 'a').write(json.dumps([sys.argv[1:], dict(os.environ)]) + '\\n')\n"
            f"sys.stdout.write({output!r})\nsys.exit({status})\n"
        )
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:{environ['PATH']}")
        return log

    return put


def calls(log: Path) -> list[tuple[list[str], dict[str, str]]]:
    return [tuple(json.loads(line)) for line in log.read_text().splitlines()]
