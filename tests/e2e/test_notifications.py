"""Notifications in tmux: a message, an option of the pane, and the terminal's own by way of the sidebar."""

from __future__ import annotations

import contextlib
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
        eventually(lambda: "0" in desk.tmux("list-clients", "-F", "#{client_control_mode}").split())
        yield attached


def test_a_message_is_shown_to_who_looks_elsewhere_and_nothing_in_it_is_run(
    desk: Desk, pane: str, person: Attached, tmp_path: Path
) -> None:
    configure(desk, "tmux_message = true")
    desk.tmux("set-option", "-g", "display-time", "5000")
    mark = tmp_path / "pwned"
    text = f"100 %H #{{pid}} #(touch {mark})\x1b[2J"
    turn(desk, pane, text)
    shown = eventually(lambda: next((row for row in person.screen().splitlines() if "finished" in row), ""))
    assert shown.startswith("Claude Code has finished: 100 %H #{pid} #(touch ")
    assert not mark.exists()
    assert desk.screen(pane).strip() == "", "nothing is written into the agent's pane"
    eventually(lambda: channels(desk) == [["tmux_message"]])


def channels(desk: Desk) -> list[list[str]]:
    with client.Connection(names.socket_path(desk.environ), 10.0) as connection:
        rows = connection.request("notification.list")["notifications"]
    return [row["channels"] for row in rows]


def test_a_message_freezes_panes_no_longer_than_tmuxs_own(desk: Desk, pane: str, person: Attached) -> None:
    configure(desk, "tmux_message = true")
    turn(desk, pane)
    eventually(lambda: "finished" in person.screen())
    desk.type("shop", "still drawn")
    eventually(lambda: "still drawn" in person.screen(), 3.0)  # 0.75 s by default


@pytest.mark.parametrize("nobody", ["zero", "sidebar"])
def test_what_did_not_arrive_is_not_said_to_have(desk: Desk, pane: str, nobody: str) -> None:
    """With display-time 0 a message would freeze the panes until a key is pressed; there is no sidebar."""
    configure(desk, "tmux_message = true", 'terminal = "bell"', 'command = ["true"]')
    desk.tmux("set-option", "-g", "display-time", "0" if nobody == "zero" else "750")
    with contextlib.ExitStack() as stack:
        if nobody == "zero":
            person = stack.enter_context(Attached(desk, "shop"))
            eventually(lambda: "0" in desk.tmux("list-clients", "-F", "#{client_control_mode}").split())
        turn(desk, pane)
        eventually(lambda: channels(desk) == [["command"]])
        if nobody == "zero":
            desk.type("shop", "still drawn")
            eventually(lambda: "still drawn" in person.screen())
        assert channels(desk) == [["command"]]


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
