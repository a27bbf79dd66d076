"""The main job, as a person does it: source the wrapper, run codebuff, look at the sidebar."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.desk import ROOT, SHELLS, SOURCES, Desk
from tests.support import eventually

RUNNING = "Running"
IDLE = "Idle"


def start(desk: Desk, shell: str = "bash") -> tuple[str, str]:
    """Open a session "shop" with a shell that has sourced the wrapper, and a sidebar; return both panes."""
    work = desk.session("shop", SHELLS[shell], columns=120)
    sidebar = desk.split(work, "seance-sidebar")
    desk.type(work, f"source {ROOT}/wrappers/{SOURCES[shell]}")
    return work, sidebar


def run_codebuff(desk: Desk, work: str, sidebar: str) -> int:
    """Run codebuff and wait until the sidebar shows it; return the agent's process id."""
    desk.type(work, "codebuff")
    desk.sees(work, "codebuff>")
    desk.sees(sidebar, "shop", "Codebuff", RUNNING)
    desk.type(work, "pid")
    return int(eventually(lambda: re.findall(r"^(\d+)$", desk.screen(work), re.M))[0])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_session_is_running_idle_and_gone(desk: Desk, need: Callable[[str], str], shell: str) -> None:
    need(shell)
    work, sidebar = start(desk, shell)
    run_codebuff(desk, work, sidebar)
    desk.sees(sidebar, "Codebuff", IDLE, without=(RUNNING,))
    desk.type(work, "turn 2")
    desk.sees(sidebar, "Codebuff", RUNNING, without=(IDLE,))
    desk.sees(sidebar, "Codebuff", IDLE, without=(RUNNING,))
    desk.sees(sidebar, "Codebuff has finished")
    desk.type(work, "quit")
    desk.sees(sidebar, without=(RUNNING, IDLE), seconds=3)


def leave_by_exit(desk: Desk, work: str, _pid: int) -> None:
    desk.type(work, "exit 7")
    desk.type(work, "echo status $?")
    desk.sees(work, "status 7")


def leave_by_interrupt(desk: Desk, work: str, _pid: int) -> None:
    desk.keys(work, "C-c")
    desk.keys(work, "C-c")


def leave_by_kill(_desk: Desk, _work: str, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def leave_by_closing(desk: Desk, work: str, _pid: int) -> None:
    desk.tmux("kill-pane", "-t", work)


@pytest.mark.parametrize("leave", [leave_by_exit, leave_by_interrupt, leave_by_kill, leave_by_closing])
def test_no_pill_once_it_has_ended(desk: Desk, leave: Callable[[Desk, str, int], None]) -> None:
    work, sidebar = start(desk)
    pid = run_codebuff(desk, work, sidebar)
    leave(desk, work, pid)
    desk.sees(sidebar, without=("Codebuff",), seconds=3)


def test_two_panes_of_two_sessions_are_told_apart(desk: Desk) -> None:
    work, sidebar = start(desk)
    run_codebuff(desk, work, sidebar)
    other = desk.session("docs", SHELLS["bash"])
    desk.type(other, f"source {ROOT}/wrappers/seance.bash", "codebuff")
    screen = desk.sees(sidebar, "shop", "docs")
    eventually(lambda: desk.screen(sidebar).count("Codebuff") == 2, what=screen)
    desk.type(other, "quit")
    eventually(lambda: desk.screen(sidebar).count("Codebuff") == 1)
    desk.sees(sidebar, "shop")


def test_the_agent_is_not_disturbed(desk: Desk) -> None:
    work, sidebar = start(desk)
    desk.type(work, "codebuff --version; echo status $?")
    desk.sees(work, "status 0", "1.0.685")
    run_codebuff(desk, work, sidebar)
    desk.keys(work, "C-z")
    desk.sees(work, "Stopped")
    desk.type(work, "fg")
    desk.type(work, "quit")
    desk.type(work, "echo status $?")
    desk.sees(work, "status 0")
    for program in ("codebuff-wrapper:", "seance-broker:", "Traceback"):
        assert program not in desk.screen(work)


def test_the_sidebar_comes_back_with_the_broker(desk: Desk) -> None:
    work, sidebar = start(desk)
    run_codebuff(desk, work, sidebar)
    desk.type(work, "quit")
    desk.sees(sidebar, without=("Codebuff",))
    desk.type(work, "seance-broker --stop", "codebuff")
    desk.sees(sidebar, "Codebuff", RUNNING, seconds=15)


def test_nothing_is_left_in_the_temporary_directory(desk: Desk, tmp_path: Path) -> None:
    desk.environ["TMPDIR"] = str(tmp_path / "tmp")
    (tmp_path / "tmp").mkdir()
    work, sidebar = start(desk)
    run_codebuff(desk, work, sidebar)
    desk.type(work, "quit")
    desk.sees(sidebar, without=("Codebuff",))
    assert not list((tmp_path / "tmp").iterdir())
