from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from seance_tools import terminals
from seance_tools.state.places import focusable
from seance_tools.terminals import TERMINALS, Refused
from tests.support import eventually
from tests.terminal import Terminal
from tests.terminals.conftest import Record, calls

KITTY = "kitty:unix:/tmp/kitty-1:4"
WEZTERM = "wezterm:/run/w/gui-sock-1:4"
ZELLIJ = "zellij:odd:name:4"


@pytest.mark.parametrize(
    ("program", "place", "words"),
    [
        ("kitten", KITTY, ["@", "--to", "unix:/tmp/kitty-1", "focus-window", "--match", "id:4"]),
        ("wezterm", WEZTERM, ["cli", "activate-pane", "--pane-id", "4"]),
        ("zellij", ZELLIJ, ["--session", "odd:name", "action", "focus-pane-id", "terminal_4"]),
        ("screen", "screen:77.host:4", ["-S", "77.host", "-X", "select", "4"]),
    ],
)
def test_focus(record: Record, program: str, place: str, words: list[str]) -> None:
    log = record(program)
    asyncio.run(terminals.focus(place, None))
    assert [argv for argv, _ in calls(log)] == [words]
    assert focusable({"place": place})


def test_wezterm_is_asked_at_its_own_socket(record: Record) -> None:
    log = record("wezterm")
    asyncio.run(terminals.focus(WEZTERM, None))
    assert calls(log)[0][1]["WEZTERM_UNIX_SOCKET"] == "/run/w/gui-sock-1"


@pytest.mark.parametrize(
    ("program", "place", "words"),
    [
        ("kitten", KITTY, ["get-text", "--extent", "screen", "--match", "id:4"]),
        ("wezterm", WEZTERM, ["get-text", "--pane-id", "4"]),
        ("zellij", ZELLIJ, ["dump-screen", "--pane-id", "terminal_4"]),
    ],
)
def test_read(record: Record, program: str, place: str, words: list[str]) -> None:
    log = record(program, "one\ntwo\n\n")
    assert asyncio.run(terminals.read_screen(place)) == "one\ntwo"
    assert calls(log)[0][0][-len(words) :] == words


@pytest.mark.parametrize(
    ("program", "place", "output"),
    [
        ("kitten", KITTY, [{"tabs": [{"windows": [{"id": 4, "title": "t", "cwd": "/a b"}]}]}]),
        ("wezterm", WEZTERM, [{"pane_id": 4, "title": "t", "cwd": "file://host/a%20b"}]),
        ("zellij", ZELLIJ, [{"id": 1, "is_plugin": True}, {"id": 4, "title": "t", "pane_cwd": "/a b"}]),
    ],
)
def test_list(record: Record, program: str, place: str, output: object) -> None:
    record(program, json.dumps(output))
    listing = asyncio.run(terminals.list_panes(place))
    assert listing
    assert place.startswith(listing.prefix)
    [pane] = listing.panes
    assert (pane["place"], pane["title"], pane["cwd"]) == (place, "t", "/a b")


@pytest.mark.parametrize("place", [KITTY, WEZTERM, ZELLIJ, "screen:77.host:4", "tty:/dev/pts/9,1,1", ""])
def test_what_a_terminal_does_not_tell(record: Record, place: str) -> None:
    for program in ("kitten", "wezterm", "zellij", "screen"):
        record(program, "sorry\n", status=1)
    assert asyncio.run(terminals.list_panes(place)) is None
    assert asyncio.run(terminals.read_screen(place)) is None
    with pytest.raises(Refused):
        asyncio.run(terminals.focus(place, None))


def test_a_program_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="kitten is not on the broker's PATH"):
        asyncio.run(terminals.focus(KITTY, None))


def test_no_number_is_no_pane(record: Record) -> None:
    log = record("kitten")
    with pytest.raises(Refused):
        asyncio.run(terminals.focus("kitty:unix:/tmp/k:4 or all", None))
    assert not log.exists()


@pytest.mark.parametrize("place", ["kitty::4", "tty:/dev/pts/9,1,1", ""])
def test_plain_terminals_cannot_be_focused(place: str) -> None:
    assert not focusable({"place": place})


def test_every_kind_of_place_has_a_row() -> None:
    assert list(TERMINALS) == ["tmux", "kitty", "wezterm", "zellij", "screen", "tty"]


def test_screen_itself(need: Callable[[str], str], environ: dict[str, str], tmp_path: Path) -> None:
    program = need("screen")
    directory = tmp_path / "screens"
    directory.mkdir(mode=0o700)
    environ["SCREENDIR"] = str(directory)
    with Terminal([program, "-c", "/dev/null", "-S", "work", "cat"], environ, tmp_path):
        [name] = [path.name for path in eventually(lambda: list(directory.iterdir()))]

        def ask() -> str:
            shown = [program, "-S", name, "-Q", "number"]
            return subprocess.run(shown, env=environ, capture_output=True, text=True).stdout

        subprocess.run([program, "-S", name, "-X", "screen", "cat"], env=environ, check=True)
        eventually(lambda: ask().startswith("1"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SCREENDIR", str(directory))
            asyncio.run(terminals.focus(f"screen:{name}:0", None))
        eventually(lambda: ask().startswith("0"))
        subprocess.run([program, "-S", name, "-X", "quit"], env=environ)
