"""A desk with the stand-in agent on PATH, and nothing left behind."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seance_tools import names
from tests.conftest import stop_stray_broker
from tests.e2e.desk import ROOT, Desk
from tests.support import eventually


def processes_with(text: str) -> list[str]:
    """Return the command lines of the processes whose environment holds `text`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if text.encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue  # it has ended, or is not ours
    return found


@pytest.fixture
def desk(environ: dict[str, str], tmp_path: Path, need: Callable[[str], str]) -> Iterator[Desk]:
    """A desk; at its end no process of the test may be left but the broker, and that goes too."""
    programs = tmp_path / "agents"
    programs.mkdir()
    shutil.copy(ROOT / "tests/standins/codebuff", programs / "codebuff")
    environ["PATH"] = f"{programs}:{environ['PATH']}"
    environ["PS1"] = environ["PROMPT"] = "$ "
    desk = Desk(need("tmux"), tmp_path, environ)
    yield desk
    desk.close()
    stop_stray_broker(names.socket_path(environ))
    left = f"HOME={environ['HOME']}\0"
    try:
        eventually(lambda: not processes_with(left))
    except AssertionError:
        raise AssertionError(f"left behind: {processes_with(left)}") from None
