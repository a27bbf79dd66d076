from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seance_tools import terminals
from seance_tools.liveness import start_time

Tmux = Callable[..., str]


@pytest.fixture
def tmux(environ: dict[str, str], tmp_path: Path, need: Callable[[str], str]) -> Iterator[Tmux]:
    program = need("tmux")
    socket = str(tmp_path / "t")

    def run(*argv: str) -> str:
        command = [program, "-S", socket, "-f", os.devnull, *argv]
        done = subprocess.run(command, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    yield run
    subprocess.run([program, "-S", socket, "kill-server"], capture_output=True)


def environment_of(tmux: Tmux, pane: str) -> dict[str, str]:
    socket, pid = tmux("display-message", "-p", "-t", pane, "#{socket_path},#{pid}").split(",")
    return {"TMUX": f"{socket},{pid},0", "TMUX_PANE": pane}


def test_a_pane_is_server_process_and_pane(tmux: Tmux) -> None:
    tmux("new-session", "-d", "-s", "work", "cat")
    environ = environment_of(tmux, "%0")
    place = terminals.recognise(environ, "/dev/pts/9", 1)
    socket, pid, _ = environ["TMUX"].split(",")
    started = start_time(int(pid))
    assert place
    assert place.surface == f"tmux:{socket},{pid},{started}:%0"
    assert place.workspace == f"tmux:{socket},{pid},{started}:$0"
    assert place.owner == (int(pid), started)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"TMUX": "/tmp/x,1"},
        {"TMUX": "/tmp/x,abc,0", "TMUX_PANE": "%1"},
        {"TMUX": "/tmp/x,1,0", "TMUX_PANE": "1"},
        {"TMUX": "/tmp/x,4194304,0", "TMUX_PANE": "%1"},
    ],
)
def test_what_names_no_pane_of_today_is_no_place(environ: dict[str, str]) -> None:
    assert terminals.recognise(environ, None, None) is None


@pytest.mark.parametrize(
    ("environ", "surface"),
    [
        ({"KITTY_LISTEN_ON": "unix:/tmp/k", "KITTY_WINDOW_ID": "4"}, "kitty:unix:/tmp/k:4"),
        ({"WEZTERM_UNIX_SOCKET": "/tmp/w", "WEZTERM_PANE": "4"}, "wezterm:/tmp/w:4"),
        ({"ZELLIJ_SESSION_NAME": "z", "ZELLIJ_PANE_ID": "4"}, "zellij:z:4"),
        ({"STY": "77.host", "WINDOW": "4"}, "screen:77.host:4"),
    ],
)
def test_other_terminals(environ: dict[str, str], surface: str) -> None:
    place = terminals.recognise(environ, "/dev/pts/9", 1)
    assert place
    assert place.surface == surface


def test_a_pane_ends_with_the_leader_of_its_session() -> None:
    kitty = {"KITTY_LISTEN_ON": "unix:/tmp/k", "KITTY_WINDOW_ID": "4"}
    place = terminals.recognise(kitty, None, os.getpid())
    assert place
    assert place.owner == (os.getpid(), start_time(os.getpid()))
    nobody = terminals.recognise(kitty, None, None)
    assert nobody
    assert nobody.owner is None
    for environ, tty in ((kitty, None), ({}, "/dev/pts/9")):
        assert terminals.recognise(environ, tty, 1 << 30) is None  # it has ended


def test_a_plain_terminal_is_its_device_and_session_leader() -> None:
    place = terminals.recognise({}, "/dev/pts/9", os.getpid())
    started = start_time(os.getpid())
    assert place
    assert place.surface == f"tty:/dev/pts/9,{os.getpid()},{started}"
    assert place.owner == (os.getpid(), started)
    assert place.workspace_title == "pts/9"


def test_the_panes_of_a_server(tmux: Tmux, tmp_path: Path) -> None:
    tmux("new-session", "-d", "-s", "work", "-n", "one", "-c", str(tmp_path), "cat")
    tmux("new-window", "-t", "work", "-n", "two", "cat")
    tmux("split-window", "-t", "work:two", "cat")
    tmux("new-session", "-d", "-s", "we ird 'x' é", "cat")
    place = terminals.recognise(environment_of(tmux, "%0"), None, None)
    assert place
    listed = asyncio.run(terminals.list_panes(place.surface))
    assert listed
    prefix, panes = listed[0], sorted(listed[1], key=lambda pane: pane["place"])
    assert [pane["place"] for pane in panes] == [f"{prefix}%{number}" for number in (0, 1, 2, 3)]
    assert panes[0]["cwd"] == str(tmp_path)
    assert panes[0]["workspace_title"] == "work"
    assert panes[3]["workspace_title"] == "we ird 'x' é"
    assert panes[0]["columns"] == panes[2]["columns"]
    assert [(c["title"], c["active"]) for c in panes[0]["columns"]] == [("one", False), ("two", True)]


def test_another_server_at_the_same_socket_is_not_taken_for_the_old_one(tmux: Tmux) -> None:
    tmux("new-session", "-d", "cat")
    place = terminals.recognise(environment_of(tmux, "%0"), None, None)
    assert place
    old = place.surface.replace(f",{place.owner[0] if place.owner else 0},", ",1,")
    listed = asyncio.run(terminals.list_panes(old))
    assert listed
    assert listed[1] == []


def test_a_server_that_is_gone(tmp_path: Path) -> None:
    listed = asyncio.run(terminals.list_panes(f"tmux:{tmp_path}/none,1,1:%0"))
    assert listed is None or listed[1] == []
