"""The key that opens and closes the sidebar in tmux."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.attached import PREFIX, Attached
from tests.e2e.desk import ROOT, Desk
from tests.support import eventually

SCRIPT = ROOT / "wrappers" / "seance.tmux"
SHELL = "bash --norc"


def panes(desk: Desk, target: str) -> list[tuple[str, bool]]:
    """Return the panes of a window, and whether each is a sidebar."""
    lines = desk.tmux("list-panes", "-t", target, "-F", "#{pane_id} #{@seance-sidebar}").splitlines()
    return [(line.split()[0], line.endswith(" 1")) for line in lines]


def sidebar(desk: Desk, target: str) -> str:
    """Wait until a window has a sidebar at its left; return its pane."""

    def found() -> str:
        return next((pane for pane, is_one in panes(desk, target) if is_one), "")

    return eventually(found)


def layout(desk: Desk, target: str) -> str:
    return desk.tmux("display-message", "-p", "-t", target, "#{window_layout}")


def sessions(desk: Desk) -> str:
    return desk.tmux("list-sessions", "-F", "#{session_name}")


def people(desk: Desk) -> bool:
    """Return whether somebody is attached; the broker's own client is nobody."""
    return "0" in desk.tmux("list-clients", "-F", "#{client_control_mode}").split()


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """A session "shop" with two panes side by side and one below."""
    desk.session("shop", SHELL, columns=120, rows=29)
    desk.split("shop", SHELL, 33)
    desk.tmux("split-window", "-v", "-d", "-t", "shop", "-l", "7", SHELL)
    return desk


@pytest.fixture
def person(shop: Desk) -> Iterator[Attached]:
    with Attached(shop, "shop") as attached:
        eventually(lambda: people(shop))
        yield attached


@pytest.mark.parametrize("how", ["run-shell", "source-file"])
def test_a_key_opens_it_at_the_left_and_closes_it_with_the_layout_as_before(
    shop: Desk, person: Attached, how: str
) -> None:
    shop.tmux(how, str(SCRIPT))
    before, three = layout(shop, "shop"), panes(shop, "shop")
    active = shop.tmux("display-message", "-p", "-t", "shop", "#{pane_id}")
    for _ in range(2):
        person.type(PREFIX + "S")
        pane = sidebar(shop, "shop")
        shop.sees(pane, "SÉANCE")
        place = shop.tmux("display-message", "-p", "-t", pane, "#{pane_left} #{pane_width} #{pane_height}")
        assert place == "0 36 29"
        assert shop.tmux("display-message", "-p", "-t", "shop", "#{pane_id}") == active
        person.type(PREFIX + "S")
        eventually(lambda: panes(shop, "shop") == three)
        assert layout(shop, "shop") == before


def test_q_restores_the_layout_too(shop: Desk, person: Attached) -> None:
    shop.tmux("run-shell", str(SCRIPT))
    before = layout(shop, "shop")
    person.type(PREFIX + "S")
    pane = sidebar(shop, "shop")
    shop.sees(pane, "SÉANCE")
    shop.keys(pane, "q")
    eventually(lambda: layout(shop, "shop") == before)


def test_a_layout_that_was_changed_meanwhile_is_left_alone(shop: Desk, person: Attached) -> None:
    shop.tmux("run-shell", str(SCRIPT))
    person.type(PREFIX + "S")
    pane = sidebar(shop, "shop")
    shop.sees(pane, "SÉANCE")
    new = shop.split("shop", SHELL, 10)
    person.type(PREFIX + "S")
    eventually(lambda: pane not in dict(panes(shop, "shop")))
    assert new in dict(panes(shop, "shop"))
    assert len(panes(shop, "shop")) == 4


def test_it_kills_no_pane_but_its_own(shop: Desk, person: Attached) -> None:
    by_hand = shop.split("shop", "seance-sidebar", 30)
    shop.sees(by_hand, "SÉANCE")
    shop.tmux("run-shell", str(SCRIPT))
    four = panes(shop, "shop")
    person.type(PREFIX + "S")
    shop.sees(sidebar(shop, "shop"), "SÉANCE")
    person.type(PREFIX + "S")
    eventually(lambda: panes(shop, "shop") == four)
    assert "SÉANCE" in shop.screen(by_hand)


def test_a_zoomed_window_is_zoomed_again_and_a_hidden_sidebar_shown_first(
    shop: Desk, person: Attached
) -> None:
    def zoomed() -> bool:
        return shop.tmux("display-message", "-p", "-t", "shop", "#{window_zoomed_flag}") == "1"

    shop.tmux("run-shell", str(SCRIPT))
    shop.tmux("resize-pane", "-Z", "-t", "shop")
    person.type(PREFIX + "S")
    shop.sees(sidebar(shop, "shop"), "SÉANCE")
    assert not zoomed()
    shop.tmux("resize-pane", "-Z", "-t", "shop")
    person.type(PREFIX + "S")
    eventually(lambda: not zoomed())
    assert len(panes(shop, "shop")) == 4
    person.type(PREFIX + "S")
    eventually(lambda: len(panes(shop, "shop")) == 3)
    eventually(zoomed)


def test_no_session_stays_alive_with_only_a_sidebar(shop: Desk, person: Attached) -> None:
    shop.session("other", SHELL)
    shop.tmux("run-shell", str(SCRIPT))
    person.type(PREFIX + "S")
    pane = sidebar(shop, "shop")
    shop.sees(pane, "SÉANCE")
    for other, is_sidebar in panes(shop, "shop"):
        if not is_sidebar:
            shop.type(other, "exit")
    eventually(lambda: sessions(shop) == "other")
    del person


def test_a_sidebar_opened_by_hand_may_be_the_only_pane(desk: Desk) -> None:
    pane = desk.session("watch", "seance-sidebar", 60, 20)
    desk.sees(pane, "SÉANCE")
    desk.tmux("resize-window", "-t", "watch", "-x", "50")
    eventually(lambda: desk.screen(pane).splitlines()[1] == " " + "─" * 48)
    assert sessions(desk) == "watch"


def test_in_every_window_and_in_new_ones(shop: Desk, person: Attached) -> None:
    shop.tmux("new-window", "-d", "-t", "shop:", SHELL)
    shop.session("docs", SHELL)
    shop.tmux("set-option", "-g", "@seance-every-window", "on")
    shop.tmux("run-shell", str(SCRIPT))
    person.type(PREFIX + "S")
    for target in ("shop:0", "shop:1", "docs:0"):
        sidebar(shop, target)
    shop.tmux("new-window", "-d", "-t", "docs:", SHELL)
    sidebar(shop, "docs:1")
    person.type(PREFIX + "S")
    for target, count in (("shop:0", 3), ("shop:1", 1), ("docs:0", 1), ("docs:1", 1)):
        eventually(lambda target=target, count=count: len(panes(shop, target)) == count)  # type: ignore[misc]
    shop.tmux("new-window", "-d", "-t", "docs:", SHELL)
    assert "seance" not in shop.tmux("show-hooks", "-g")


def test_key_table_and_width_are_options_and_fish_may_be_the_shell(
    desk: Desk, need: Callable[[str], str]
) -> None:
    desk.session("shop", SHELL, columns=120, rows=29)
    desk.tmux("set-option", "-g", "default-shell", need("fish"))
    for name, value in (("key", "M-s"), ("table", "root"), ("width", "25%")):
        desk.tmux("set-option", "-g", f"@seance-{name}", value)
    desk.tmux("run-shell", str(SCRIPT))
    with Attached(desk, "shop") as person:
        eventually(lambda: people(desk))
        person.type("\x1bs")
        pane = sidebar(desk, "shop")
        desk.sees(pane, "SÉANCE")
        assert desk.tmux("display-message", "-p", "-t", pane, "#{pane_width}") == "30"
        person.type("\x1bs")
        eventually(lambda: len(panes(desk, "shop")) == 1)


def test_a_window_too_narrow_is_told_and_nothing_else(desk: Desk) -> None:
    desk.session("shop", SHELL, columns=120, rows=29)
    desk.tmux("set-option", "-g", "window-size", "manual")
    desk.tmux("resize-window", "-t", "shop", "-x", "2")
    desk.tmux("run-shell", str(SCRIPT))
    with Attached(desk, "shop") as person:
        eventually(lambda: people(desk))
        person.type(PREFIX + "S")
        eventually(lambda: "Séance Tools: " in person.screen(), 3.0, person.screen())
        assert len(panes(desk, "shop")) == 1


@pytest.mark.parametrize("by", ["hand", "client"])
def test_in_a_window_of_another_size_the_layout_is_as_before_but_scaled(
    shop: Desk, person: Attached, by: str
) -> None:
    def widths(target: str) -> list[int]:
        return [int(line) for line in shop.tmux("list-panes", "-t", target, "-F", "#{pane_width}").split()]

    shop.tmux("run-shell", str(SCRIPT))
    before = widths("shop")
    person.type(PREFIX + "S")
    shop.sees(sidebar(shop, "shop"), "SÉANCE")
    if by == "hand":
        shop.tmux("resize-window", "-t", "shop", "-x", "180")
    else:
        person.resize(180, 30)
    eventually(lambda: shop.tmux("display-message", "-p", "-t", "shop", "#{window_width}") == "180")
    person.type(PREFIX + "S")
    eventually(lambda: len(panes(shop, "shop")) == 3)
    eventually(lambda: shop.tmux("display-message", "-p", "-t", "shop", "#{window_width}") == "180")
    for now, then in zip(widths("shop"), before, strict=True):
        assert abs(now - then - 30) <= 1, (before, widths("shop"))


def test_it_does_not_open_where_a_pane_would_get_too_narrow(shop: Desk, person: Attached) -> None:
    shop.tmux("run-shell", str(SCRIPT))
    shop.split("shop", SHELL, 25)
    before = layout(shop, "shop")
    person.type(PREFIX + "S")
    eventually(lambda: "too narrow for a sidebar" in person.screen(), 3.0, person.screen())
    assert layout(shop, "shop") == before


def test_two_keys_at_once_open_one(shop: Desk, person: Attached) -> None:
    shop.tmux("run-shell", str(SCRIPT))
    [first, *_] = panes(shop, "shop")
    toggle = ["sh", str(SCRIPT.with_name("seance-tmux")), "toggle", first[0]]
    socket = shop.tmux("display-message", "-p", "#{socket_path},#{pid},0")
    environ = {**shop.environ, "TMUX": socket}
    shop.tmux("set-option", "-w", "-t", "shop", "@seance-opening", str(os.getpid()))
    subprocess.run(toggle, env=environ, check=True)  # the other one is at it
    assert len(panes(shop, "shop")) == 3
    shop.tmux("set-option", "-w", "-t", "shop", "@seance-opening", "4194305")  # no process has that number
    both = [subprocess.Popen(toggle, env=environ) for _ in range(2)]
    assert [process.wait(10) for process in both] == [0, 0]
    assert len(panes(shop, "shop")) <= 4
    assert shop.tmux("show-options", "-wqv", "-t", "shop", "@seance-opening") == ""
    del person


@pytest.mark.parametrize("how", ["run-shell", "source-file"])
def test_any_directory_will_do(shop: Desk, person: Attached, tmp_path: Path, how: str) -> None:
    directory = tmp_path / 'it\'s a #{pane_id} $HOME "dir"'
    directory.mkdir()
    for script in (SCRIPT, SCRIPT.with_name("seance-tmux")):
        shutil.copy(script, directory)
    path = str(directory / "seance.tmux")
    quoted = "'" + path.replace("'", "'\\''").replace("#", "##") + "'"
    shop.tmux(how, quoted if how == "run-shell" else path)
    person.type(PREFIX + "S")
    shop.sees(sidebar(shop, "shop"), "SÉANCE")
    person.type(PREFIX + "S")
    eventually(lambda: len(panes(shop, "shop")) == 3)


def test_the_scripts_are_clean(need: Callable[[str], str]) -> None:
    scripts = [str(SCRIPT), str(SCRIPT.with_name("seance-tmux"))]
    done = subprocess.run([need("shellcheck"), *scripts], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
