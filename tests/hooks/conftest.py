"""A spool, and a look into it."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from seance_tools import names, spoolfile
from seance_tools.agents import agent_named
from seance_tools.lifecycle import Report, read


def _told(text: str) -> float:
    """The time that a file tells; a hook leaves that to the file system."""
    found = re.search(r"^At: (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


class Spool:
    """The spool of a sealed environment, with no broker that would empty it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def make(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True)

    def files(self) -> list[str]:
        """What was written, by the times that the writers tell."""
        return sorted((path.read_text() for path in self.directory.iterdir()), key=_told)

    def requests(self) -> list[spoolfile.Report]:
        reports = [spoolfile.parse(text.encode(), time.time()) for text in self.files()]
        assert all(not report.problem for report in reports)
        return reports

    def heard(self) -> list[Report | None]:
        """What the lifecycle makes of each."""
        rows = [report.request.params for report in self.requests()]
        return [read(agent_named(row["agent"]), row["event"], row["payload"], row["at"]) for row in rows]


@pytest.fixture
def spool(environ: dict[str, str]) -> Spool:
    """The spool of this test's own; its directory is there."""
    found = Spool(Path(names.spool_path(names.socket_path(environ))))
    found.make()
    return found


@pytest.fixture
def pane(environ: dict[str, str]) -> dict[str, str]:
    """The environment of an agent in a pane."""
    return {**environ, "TMUX": "/tmp/tmux,1,0", "TMUX_PANE": "%3", "SEANCE_SURFACE_ID": "7", "STY": "a\nb"}
