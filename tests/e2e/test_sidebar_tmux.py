"""The sidebar for people at tmux: whose terminal jumps, and what is drawn when nobody looks."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from seance_tools import names
from seance_tools.client import Connection
from seance_tools.sidebar.loop import FRAME_SECONDS
from tests.e2e.attached import Attached
from tests.e2e.desk import Desk
from tests.support import eventually

SHELL = "bash --norc"
pytestmark = pytest.mark.usefixtures("broker")


def pane_id(desk: Desk, session: str) -> str:
    return desk.tmux("display-message", "-p", "-t", session, "#{pane_id}")


def report(desk: Desk, pane: str, event: str = "prompt-submit") -> None:
    """Let an agent in a pane report, as its hook would there."""
    desk.type(pane, f"seance-ctl claude-hook {event} </dev/null")


def sessions_of_clients(desk: Desk) -> dict[str, str]:
    lines = desk.tmux("list-clients", "-F", "#{client_tty} #{session_name}").splitlines()
    return dict(line.split(" ", 1) for line in lines if line[0] != " ")  # not the broker's control client


@pytest.fixture
def two(desk: Desk) -> tuple[Desk, str, str]:
    """Sessions "shop" with a sidebar and "docs" with an agent; their panes."""
    agent = desk.session("docs", SHELL, columns=120, rows=29)
    desk.session("shop", SHELL, columns=120, rows=29)
    sidebar = desk.split("shop", "seance-sidebar")
    report(desk, agent)
    desk.sees(sidebar, "docs", "Claude Code")
    return desk, sidebar, agent


@pytest.mark.parametrize("how", ["key", "click"])
def test_it_jumps_on_the_terminal_of_who_asked_and_on_no_other(two: tuple[Desk, str, str], how: str) -> None:
    desk, sidebar, _ = two
    desk.tmux("set-option", "-g", "mouse", "on")
    with Attached(desk, "shop") as person:
        eventually(lambda: len(sessions_of_clients(desk)) == 1)
        [tty] = sessions_of_clients(desk)
        desk.session("other", SHELL, columns=120, rows=29)
        with Attached(desk, "other") as someone:
            eventually(lambda: len(sessions_of_clients(desk)) == 2)
            someone.type("echo $((40 + 2))\r")  # the client used last is not the one meant
            desk.sees("other", "42")
            if how == "key":
                desk.tmux("select-pane", "-t", sidebar)
                person.type("jj")
                desk.sees(sidebar, "▌ ▶ Claude Code")
                person.type("\r")
            else:
                eventually(lambda: "Claude Code" in person.screen())
                lines = person.screen().splitlines()
                row = next(number for number, line in enumerate(lines, 1) if "Claude Code" in line)
                person.click(100, row)
            eventually(lambda: sessions_of_clients(desk)[tty] == "docs", what=desk.screen(sidebar))
            assert sorted(sessions_of_clients(desk).values()) == ["docs", "other"]


def test_from_a_popup_it_jumps_and_the_popup_goes(two: tuple[Desk, str, str], tmp_path: Path) -> None:
    desk, _, _ = two
    with Attached(desk, "shop") as person:
        eventually(lambda: sessions_of_clients(desk))
        [tty] = sessions_of_clients(desk)
        mark = tmp_path / "ended"
        desk.tmux("run-shell", "-b", f"tmux display-popup -E 'seance-sidebar; touch {mark}'")
        eventually(lambda: person.screen().count("Claude Code") > 1, what=person.screen())
        person.type("jj\r")
        eventually(lambda: sessions_of_clients(desk)[tty] == "docs")
        eventually(mark.exists)


def written(desk: Desk, pane: str) -> int:
    """Return how many bytes the sidebar of a pane has written."""
    pid = desk.tmux("display-message", "-p", "-t", pane, "#{pane_pid}")
    found = re.search(r"wchar: (\d+)", Path(f"/proc/{pid}/io").read_text())
    assert found
    return int(found.group(1))


def change(environ: dict[str, str], value: str) -> None:
    with Connection(names.socket_path(environ)) as connection:
        connection.request("workspace.set_status", {"workspace_id": 1, "key": "x", "value": value})


def hide_by_another_window(desk: Desk) -> None:
    desk.tmux("new-window", "-t", "shop:", SHELL)


def show_the_window(desk: Desk) -> None:
    desk.tmux("select-window", "-t", "shop:0")


def zoom(desk: Desk) -> None:
    desk.tmux("resize-pane", "-Z", "-t", "shop:0.0")


def hide_by_another_session(desk: Desk) -> None:
    desk.tmux("switch-client", "-t", "docs")


def show_the_session(desk: Desk) -> None:
    desk.tmux("switch-client", "-t", "shop")


@pytest.mark.parametrize(
    ("hide", "show"),
    [
        (hide_by_another_window, show_the_window),
        (zoom, zoom),
        (hide_by_another_session, show_the_session),
    ],
)
def test_nothing_is_drawn_while_hidden_and_all_at_once_when_seen_again(
    two: tuple[Desk, str, str],
    environ: dict[str, str],
    hide: Callable[[Desk], None],
    show: Callable[[Desk], None],
) -> None:
    desk, sidebar, _ = two
    with Attached(desk, "shop") as person:
        eventually(lambda: sessions_of_clients(desk))
        hide(desk)
        number = 0

        def still() -> bool:
            """Make changes, and tell whether the sidebar wrote nothing about them."""
            nonlocal number
            before = written(desk, sidebar)
            for _ in range(5):
                number += 1
                change(environ, f"step {number}")
            time.sleep(4 * FRAME_SECONDS)  # there is no condition for nothing to happen
            return written(desk, sidebar) - before < 100  # a question to tmux, not five frames

        def quiet() -> bool:
            return all(still() for _ in range(3))

        eventually(quiet, 15.0)
        assert f"step {number}" not in desk.screen(sidebar)
        show(desk)
        eventually(lambda: f"step {number}" in person.screen(), 3.0, person.screen())


def test_an_age_is_not_drawn_once_nobody_sees_it(two: tuple[Desk, str, str]) -> None:
    desk, sidebar, agent = two
    with Attached(desk, "shop"):
        eventually(lambda: sessions_of_clients(desk))
        report(desk, agent, "stop")
        desk.sees(sidebar, "Idle")
        hide_by_another_window(desk)
        eventually(lambda: "wait-for" in children(desk, sidebar), 8.0)  # without a change of the broker's
        before = written(desk, sidebar)
        time.sleep(2.5)  # there is no condition for nothing to happen
        assert written(desk, sidebar) - before == 0


def test_a_switch_to_yet_another_window_draws_nothing(
    two: tuple[Desk, str, str], environ: dict[str, str]
) -> None:
    desk, sidebar, _ = two
    with Attached(desk, "shop") as person:
        eventually(lambda: sessions_of_clients(desk))
        hide_by_another_window(desk)
        desk.tmux("new-window", "-t", "shop:", SHELL)

        def waits() -> bool:
            change(environ, str(os.urandom(4)))
            return "wait-for" in children(desk, sidebar)

        eventually(waits, 15.0)
        change(environ, "not yet")
        shown = desk.screen(sidebar)
        for number in (1, 2, 1, 2):
            desk.tmux("select-window", "-t", f"shop:{number}")
            eventually(lambda: "wait-for" in children(desk, sidebar))
        assert desk.screen(sidebar) == shown
        show_the_window(desk)
        eventually(lambda: "not yet" in person.screen(), 3.0, person.screen())


def test_a_swapped_window_is_up_to_date_soon(two: tuple[Desk, str, str], environ: dict[str, str]) -> None:
    desk, sidebar, _ = two
    with Attached(desk, "shop") as person:
        eventually(lambda: sessions_of_clients(desk))
        hide_by_another_window(desk)

        def waits() -> bool:
            change(environ, str(os.urandom(4)))
            return "wait-for" in children(desk, sidebar)

        eventually(waits, 15.0)
        change(environ, "swapped")
        desk.tmux("swap-window", "-d", "-s", "shop:0", "-t", "shop:1")
        eventually(lambda: "swapped" in person.screen(), 12.0, person.screen())


def hooks(desk: Desk) -> str:
    return desk.tmux("show-hooks", "-g") + desk.tmux("show-hooks", "-gw")


def test_the_last_sidebar_takes_its_hooks_away(two: tuple[Desk, str, str], environ: dict[str, str]) -> None:
    desk, sidebar, _ = two
    desk.tmux("set-hook", "-g", "client-attached[3]", "display-message mine")
    other = desk.split("docs", "seance-sidebar", 40)
    with Attached(desk, "shop"):
        eventually(lambda: sessions_of_clients(desk))
        hide_by_another_window(desk)

        def wait() -> bool:
            change(environ, str(os.urandom(4)))
            return all("wait-for" in children(desk, pane) for pane in (sidebar, other))

        eventually(wait, 15.0)
        desk.keys(sidebar, "q")
        eventually(lambda: sidebar not in desk.tmux("list-panes", "-a", "-F", "#{pane_id}").split())
        assert hooks(desk).count("[8731]") == 4
        desk.tmux("kill-pane", "-t", other)
        eventually(lambda: "8731" not in hooks(desk))
        assert "mine" in hooks(desk)


def test_on_a_detached_session_it_draws_for_whoever_captures_the_pane(
    two: tuple[Desk, str, str], environ: dict[str, str]
) -> None:
    desk, sidebar, _ = two
    desk.tmux("new-window", "-t", "shop:", SHELL)
    for number in range(3):
        change(environ, f"step {number}")
        desk.sees(sidebar, f"step {number}")


def test_no_child_waits_for_tmux_once_it_has_ended(
    two: tuple[Desk, str, str], environ: dict[str, str]
) -> None:
    desk, sidebar, _ = two
    pid = desk.tmux("display-message", "-p", "-t", sidebar, "#{pane_pid}")

    with Attached(desk, "shop"):
        eventually(lambda: sessions_of_clients(desk))
        hide_by_another_window(desk)

        def waits() -> bool:
            change(environ, str(os.urandom(4)))
            return bool([pid for pid in descendants(pid) if "wait-for" in command(pid)])

        eventually(waits, 15.0)
        waiting = [pid for pid in descendants(pid) if "wait-for" in command(pid)]
        desk.keys(sidebar, "q")
        eventually(lambda: not any("wait-for" in command(one) for one in waiting))


def children(desk: Desk, pane: str) -> str:
    """Return the command lines of the children of a pane's sidebar."""
    pid = desk.tmux("display-message", "-p", "-t", pane, "#{pane_pid}")
    return " ".join(command(child) for child in descendants(pid))


def command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def descendants(pid: str) -> list[str]:
    """Return the children of all threads of a process."""
    return [
        child
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
