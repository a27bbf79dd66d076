"""Codebuff's turns as the sidebar shows them: two panes, silence, failures, kills, new chats; in tmux."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path

from seance_tools import client, names
from tests.e2e.desk import ROOT, SHELLS, Desk
from tests.support import eventually

RUNNING, IDLE = "Running", "Idle"


def configure(desk: Desk, text: str = "[codebuff]\nidle-timeout = 1\n") -> None:
    path = Path(desk.environ["XDG_CONFIG_HOME"]) / "seance" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def pane(desk: Desk, name: str, directory: Path | None = None) -> str:
    """Open a session with a shell that has sourced the wrapper; return its pane."""
    work = desk.session(name, SHELLS["bash"], columns=120)
    if directory:
        directory.mkdir(parents=True, exist_ok=True)
        desk.type(work, f"cd {directory}")
    desk.type(work, f"source {ROOT}/wrappers/seance.bash")
    return work


def run(desk: Desk, work: str, command: str = "codebuff") -> None:
    desk.type(work, "clear", command)
    desk.sees(work, "codebuff>")


def ask(desk: Desk, work: str, word: str, answer: str = r"\d+") -> str:
    """Type a word at the stand-in and return its answer."""
    desk.type(work, word)
    return str(eventually(lambda: re.findall(rf"^({answer})$", desk.screen(work), re.M))[-1])


def shows(desk: Desk, sidebar: str, **wanted: str) -> None:
    """Wait until the sidebar shows Codebuff so in each of these sessions; "" for not at all."""

    def shown() -> dict[str, str]:
        found, name = {}, ""
        for line in desk.screen(sidebar).splitlines():
            words = line.split()
            if words and words[0] in wanted and len(words) <= 2:
                name = words[0]
            row = re.match(r"\s*\S Codebuff +(.+?)(?: +\S+)?$", line)
            if row and name:
                found[name] = row[1].lstrip("~")
        return {name: found.get(name, "") for name in wanted}

    try:
        eventually(lambda: shown() == wanted, 15.0)
    except AssertionError:
        raise AssertionError(f"wanted {wanted}, got {shown()} on\n{desk.screen(sidebar)}") from None


def test_two_panes_of_one_project_and_one_of_the_same_base_name(desk: Desk, tmp_path: Path) -> None:
    configure(desk)
    a, b, c = (
        pane(desk, name, tmp_path / directory / "shop")
        for name, directory in (("a", "one"), ("b", "one"), ("c", "two"))
    )
    sidebar = desk.session("z", "seance-sidebar")
    for work in (a, b, c):
        run(desk, work)
    shows(desk, sidebar, a=IDLE, b=IDLE, c=IDLE)
    desk.type(b, "turn-silent 60")
    shows(desk, sidebar, a=IDLE, b=RUNNING, c=IDLE)
    desk.type(c, "turn-silent 60")
    shows(desk, sidebar, a=IDLE, b=RUNNING, c=RUNNING)
    desk.type(a, "noise")
    desk.keys(b, "C-c")
    shows(desk, sidebar, a=IDLE, b=IDLE, c=RUNNING)
    desk.keys(c, "C-c")
    desk.type(a, "turn-silent 60")
    shows(desk, sidebar, a=RUNNING, b=IDLE, c=IDLE)
    desk.keys(a, "C-c")
    shows(desk, sidebar, a=IDLE, b=IDLE, c=IDLE)


def begin(desk: Desk) -> tuple[str, str]:
    """Run codebuff in session "a" beside a sidebar; return both panes once it is idle."""
    configure(desk)
    work = pane(desk, "a")
    sidebar = desk.session("z", "seance-sidebar")
    run(desk, work)
    shows(desk, sidebar, a=IDLE)
    return work, sidebar


def test_a_turn_that_is_silent_for_long_stays_running(desk: Desk) -> None:
    work, sidebar = begin(desk)
    desk.type(work, "turn-silent 4")
    shows(desk, sidebar, a=RUNNING)
    begun = time.monotonic()
    eventually(lambda: IDLE in desk.screen(sidebar), 15.0)
    assert time.monotonic() - begun > 2.5  # more than twice the idle-timeout
    shows(desk, sidebar, a=IDLE)
    desk.sees(sidebar, "Codebuff has finished")


def test_noise_while_idle_is_nothing_and_a_cancel_is_no_finish(desk: Desk) -> None:
    work, sidebar = begin(desk)
    desk.type(work, "turn-silent 60")
    shows(desk, sidebar, a=RUNNING)
    desk.keys(work, "C-c")
    shows(desk, sidebar, a=IDLE)
    desk.type(work, "noise", "noise", "edit cart.py")
    shows(desk, sidebar, a="editing cart.py")
    desk.keys(work, "C-c")
    shows(desk, sidebar, a=IDLE)
    assert "finished" not in desk.screen(sidebar)


def test_failures_with_and_without_a_line(desk: Desk) -> None:
    work, sidebar = begin(desk)
    desk.type(work, "fail provider down")
    shows(desk, sidebar, a="provider down")
    desk.type(work, "noise", "no-credits")
    shows(desk, sidebar, a="You are out of credits.")
    desk.type(work, "turn-silent 60")
    shows(desk, sidebar, a=RUNNING)
    desk.keys(work, "C-c")
    shows(desk, sidebar, a=IDLE)


def test_killed_in_a_turn(desk: Desk) -> None:
    work, sidebar = begin(desk)
    pid = int(ask(desk, work, "pid"))
    desk.type(work, "turn-silent 60")
    shows(desk, sidebar, a=RUNNING)
    os.kill(pid, signal.SIGKILL)
    shows(desk, sidebar, a="")


def test_the_launcher_replaces_its_child(desk: Desk, tmp_path: Path) -> None:
    programs = tmp_path / "agents"
    shutil.move(programs / "codebuff", programs / "codebuff-binary")
    shutil.copy(ROOT / "tests/standins/codebuff-launcher", programs / "codebuff")
    work, sidebar = begin(desk)
    child = int(ask(desk, work, "pid"))
    desk.type(work, "turn-silent 60")
    shows(desk, sidebar, a=RUNNING)
    launcher = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(launcher, signal.SIGUSR1)
    shows(desk, sidebar, a=IDLE)
    desk.type(work, "turn-silent 60")
    shows(desk, sidebar, a=RUNNING)
    desk.keys(work, "C-c")
    shows(desk, sidebar, a=IDLE)
    desk.type(work, "pid")
    eventually(lambda: len(set(re.findall(r"^(\d+)$", desk.screen(work), re.M))) == 2, what="another process")


def test_a_new_chat_and_one_resumed_later(desk: Desk) -> None:
    work, sidebar = begin(desk)
    for _ in range(2):
        desk.type(work, "new", "turn-silent 60")
        shows(desk, sidebar, a=RUNNING)
        desk.keys(work, "C-c")
        shows(desk, sidebar, a=IDLE)
    desk.type(work, "quit")
    shows(desk, sidebar, a="")
    run(desk, work, "codebuff --continue")
    shows(desk, sidebar, a=IDLE)
    desk.type(work, "noise", "turn-silent 60")
    shows(desk, sidebar, a=RUNNING)
    desk.keys(work, "C-c")
    shows(desk, sidebar, a=IDLE)


def test_a_session_started_without_the_wrapper_is_adopted(desk: Desk) -> None:
    configure(desk)
    work = pane(desk, "a")
    sidebar = desk.session("z", "seance-sidebar")
    run(desk, work)
    shows(desk, sidebar, a=IDLE)
    with client.Connection(names.socket_path(desk.environ), 2.0) as connection:
        surface = connection.request("agent.list")["agents"][0]["surface_id"]
    desk.type(work, "quit")
    shows(desk, sidebar, a="")
    run(desk, work, "command codebuff")
    desk.type(work, "edit cart.py")
    desk.sees(work, "editing>")
    shell = desk.session("s", SHELLS["bash"], columns=120)
    desk.type(shell, f"seance-ctl adopt --surface {surface}; echo status $?")
    desk.sees(shell, "Codebuff, process", "status 0")
    shows(desk, sidebar, a="editing cart.py")
    desk.type(shell, "clear", f"seance-ctl adopt --surface {surface}; echo status $?")
    desk.sees(shell, "not shown already", "status 1")
    desk.type(work, "", "quit")
    shows(desk, sidebar, a="")
