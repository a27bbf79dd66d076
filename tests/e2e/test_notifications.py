"""Notifications in tmux: a message, an option of the pane, and the terminal's own by way of the sidebar."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from seance_tools import client, names
from tests.e2e.attached import Attached
from tests.e2e.desk import Desk
from tests.notify.desktop import Bus, Desktop
from tests.support import eventually
from tests.terminal import Terminal

UNREAD = "#{@seance-unread}"


def configure(desk: Desk, *lines: str) -> None:
    path = Path(names.config_path(desk.environ))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["[notifications]", *lines]) + "\n")


def turn(desk: Desk, pane: str, message: str = "all tests pass") -> None:
    """Let an agent in a pane do a turn, which ends in a notification."""
    server = desk.tmux("display-message", "-p", "#{socket_path},#{pid},0")
    environ = {**desk.environ, "TMUX": server, "TMUX_PANE": pane}
    payload = {"session_id": "s1", "last_assistant_message": message}
    for event in ("UserPromptSubmit", "Stop"):
        command = ["seance-ctl", "claude-hook", event]
        subprocess.run(command, env=environ, input=json.dumps(payload), text=True, check=True)


def unread(desk: Desk, pane: str) -> str:
    return desk.tmux("display-message", "-p", "-t", pane, UNREAD)


@pytest.fixture
def pane(desk: Desk) -> str:
    """A pane in a window that nobody looks at; the session "shop" has another one in front."""
    first = desk.session("shop", "cat", columns=120, rows=29)
    desk.tmux("new-window", "-t", "shop", "cat")
    return first


@pytest.fixture
def person(desk: Desk, pane: str) -> Iterator[Attached]:
    assert pane
    with Attached(desk, "shop") as attached:
        eventually(lambda: desk.tmux("list-clients"))
        yield attached


def test_a_message_is_shown_to_who_looks_elsewhere_and_nothing_in_it_is_run(
    desk: Desk, pane: str, person: Attached, tmp_path: Path
) -> None:
    configure(desk, "tmux_message = true")
    mark = tmp_path / "pwned"
    text = f"100 %H #{{pid}} #(touch {mark})\x1b[2J"
    turn(desk, pane, text)
    shown = eventually(lambda: next((row for row in person.screen().splitlines() if "finished" in row), ""))
    assert shown.startswith("Claude Code has finished: 100 %H #{pid} #(touch ")
    assert not mark.exists()
    assert desk.screen(pane).strip() == "", "nothing is written into the agent's pane"


def test_a_pane_knows_how_many_of_it_are_unread(desk: Desk, pane: str) -> None:
    turn(desk, pane)
    eventually(lambda: unread(desk, pane) == "1")
    with client.Connection(names.socket_path(desk.environ), 10.0) as connection:
        connection.request("notification.mark_read")
    eventually(lambda: unread(desk, pane) == "")
    turn(desk, pane)
    eventually(lambda: unread(desk, pane) == "1")
    assert desk.tmux("display-message", "-p", "-t", pane, f"#{{P:{UNREAD}}}") == "1"
    subprocess.run(["seance-broker", "--stop"], env=desk.environ, check=True)
    assert unread(desk, pane) == "", "a broker that has stopped leaves nothing there"


def test_the_terminals_own_notification_passes_tmux(desk: Desk, pane: str) -> None:
    configure(desk, 'terminal = "osc777"')
    desk.tmux("set-option", "-g", "allow-passthrough", "on")
    desk.tmux("new-window", "-t", "shop", "seance-sidebar")
    argv = ["tmux", "-u", "-S", desk.socket, "attach", "-t", "shop"]
    with Terminal(argv, desk.environ, Path(os.environ["HOME"])) as terminal:
        terminal.expect("SÉANCE")
        turn(desk, pane)
        terminal.expect("\x1b]777;notify;Claude Code has finished;all tests pass\x1b\\")
        desk.tmux("detach-client", "-s", "shop")
        terminal.wait()


def test_a_click_on_the_desktop_jumps_to_the_pane(
    desk: Desk, pane: str, person: Attached, bus: Bus, screen: Desktop
) -> None:
    configure(desk, "desktop = true")
    desk.environ["DBUS_SESSION_BUS_ADDRESS"] = bus.address
    assert desk.tmux("display-message", "-p", "-t", pane, "#{window_active}") == "0"
    turn(desk, pane)
    screen.click(screen.only()[0])
    eventually(lambda: desk.tmux("display-message", "-p", "-t", pane, "#{window_active}") == "1")
    screen.only(0)
    assert person.screen()


def test_the_bell_rings_in_the_sidebars_window(desk: Desk, pane: str) -> None:
    configure(desk, 'terminal = "bell"')
    window = desk.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "shop", "seance-sidebar")
    desk.sees(window, "SÉANCE")
    turn(desk, pane)
    eventually(lambda: desk.tmux("display-message", "-p", "-t", window, "#{window_bell_flag}") == "1")
    assert desk.tmux("display-message", "-p", "-t", pane, "#{window_bell_flag}") == "0"
