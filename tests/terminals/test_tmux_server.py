from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seance_tools.terminals import Refused, tmux_server
from seance_tools.terminals.keys import read_key
from tests.support import eventually
from tests.terminals.conftest import Server

HOSTILE = "; #(touch pwned) #{pid} $(touch pwned) `id` 'a' \"b\" \\; ${X} %0 ~ é 日本;"
# What is typed or named: with everything in it that tmux or a shell would act on.
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60),
    st.lists(
        st.sampled_from(
            [";", "\\", "#", "{", "(", "#{pid}", "#(id)", "'", '"', "$", "\n", "-", " ", "~", "%"]
        )
    )
    .map("".join)
    .filter(bool),
)
few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@given(text=texts)
def test_what_is_typed_comes_as_it_is(tmux: Server, typed: Callable[[], bytes], text: str) -> None:
    before = len(typed())
    wanted = text.replace("\r\n", "\r").replace("\n", "\r").encode()
    asyncio.run(tmux_server.send_text(tmux.place("%0"), text))
    eventually(lambda: len(typed()) >= before + len(wanted))
    assert typed()[before:] == wanted
    assert tmux("list-buffers") == ""


def test_text_goes_past_copy_mode_and_a_key_says_so(tmux: Server, typed: Callable[[], bytes]) -> None:
    tmux("copy-mode", "-t", "%0")
    place = tmux.place("%0")
    with pytest.raises(Refused, match="copy mode"):
        asyncio.run(tmux_server.send_key(place, read_key("enter")))
    asyncio.run(tmux_server.send_text(place, "q;"))
    eventually(lambda: typed() == b"q;")
    assert tmux("display-message", "-p", "-t", "%0", "#{pane_in_mode}") == "1"


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("enter", b"\r"),
        ("ctrl+c", b"\x03"),
        ("C-[", b"\x1b"),
        ("up", b"\x1b[A"),
        ("alt+;", b"\x1b;"),
        ("shift+tab", b"\x1b[Z"),
        (";", b";"),
        ("f5", b"\x1b[15~"),
        ("backspace", b"\x7f"),
        ("space", b" "),
        ("ctrl+\\", b"\x1c"),
        ("alt+#", b"\x1b#"),
    ],
)
def test_keys(tmux: Server, typed: Callable[[], bytes], key: str, wanted: bytes) -> None:
    asyncio.run(tmux_server.send_key(tmux.place("%0"), read_key(key)))
    eventually(lambda: typed() == wanted, what=key)


numbers = itertools.count()


@few
@given(title=texts)
def test_a_name_runs_nothing(tmux: Server, tmp_path: Path, title: str) -> None:
    """The name is what tmux makes of such a text where it expands nothing: `:` and `.` become `_`."""
    if not Path(tmux.socket).exists():
        tmux("new-session", "-d", "-c", str(tmp_path), "cat")
    title = f"{next(numbers)}{title}"
    session, pane = asyncio.run(tmux_server.new_session(tmux.place("%0"), title))
    name = tmux("display-message", "-p", "-t", session.rpartition(":")[2], "#{session_name}")
    plain = "".join(character for character in title if character.isascii() and character.isprintable())
    found = "".join(character for character in name if character.isascii() and character.isprintable())
    kept = plain.replace(":", "_").replace(".", "_").replace("\\", "")
    if title.isascii() and title.isprintable():
        assert found.replace("\\", "") == kept
    assert str(tmux.pid) not in name or str(tmux.pid) in title
    assert not (tmp_path / "pwned").exists()
    tmux("kill-session", "-t", session.rpartition(":")[2])
    assert pane.startswith(session.rpartition(":")[0])


def test_directories_and_titles_that_look_like_formats(tmux: Server, tmp_path: Path) -> None:
    odd = tmp_path / "a\nb\x1fc\\037;#(touch pwned)#{pid}"
    odd.mkdir()
    tmux("new-session", "-d", "-s", "one", "-c", str(odd).replace("#", "##"), "cat")
    place = tmux.place("%0")
    split = asyncio.run(tmux_server.split(place, "vertical", "exec cat;"))
    session, pane = asyncio.run(tmux_server.new_session(place, HOSTILE))
    listing = asyncio.run(tmux_server.list_panes(place))
    assert listing
    panes = {row["place"]: row for row in listing.panes}
    for name in (place, split, pane):
        assert panes[name]["cwd"] == str(odd).replace("\n", " ")
    assert panes[pane]["workspace"] == session
    assert panes[pane]["workspace_title"] == HOSTILE.replace("\\", "\\\\").replace("${", "\\${")
    assert not list(tmp_path.rglob("pwned"))


def test_a_split_is_where_its_pane_is_not_the_active_one(tmux: Server, tmp_path: Path) -> None:
    odd = tmp_path / "a #{pane_id}\n;#(touch pwned)"
    odd.mkdir()
    tmux("new-session", "-d", "-x", "100", "-y", "40", "-c", str(odd).replace("#", "##"), "cat")
    tmux("split-window", "-c", "/", "cat")
    tmux("new-window", "-c", "/usr", "cat")
    made = asyncio.run(tmux_server.split(tmux.place("%0"), "right", "exec cat"))
    listing = asyncio.run(tmux_server.list_panes(tmux.place("%0")))
    assert listing
    assert {row["place"]: row["cwd"] for row in listing.panes}[made] == str(odd).replace("\n", " ")
    assert not list(tmp_path.rglob("pwned"))


def zoomed(tmux: Server) -> str:
    form = "#{window_zoomed_flag} #{P:#{?pane_active,#{pane_id},}}"
    return tmux("display-message", "-p", "-t", "%0", form)


def test_a_zoom_stays_whatever_is_done_to_other_panes(tmux: Server) -> None:
    tmux("new-session", "-d", "-x", "100", "-y", "40", "cat")
    tmux("split-window", "-d", "-t", "%0", "cat")
    place, other = tmux.place("%0"), tmux.place("%1")
    for pane in (place, other):
        one = asyncio.run(tmux_server.split(pane, "right", "cat"))
        assert zoomed(tmux) == "0 %0", "what was not zoomed is not zoomed"
        asyncio.run(tmux_server.close(one))
    tmux("resize-pane", "-Z", "-t", "%0")
    made = [asyncio.run(tmux_server.split(pane, "right", "cat")) for pane in (place, other)]
    assert zoomed(tmux) == "1 %0"
    for index in (3, 0, 2):
        for pane in (place, other):
            asyncio.run(tmux_server.move(pane, asyncio.run(tmux_server.window_panes(pane)), index))
            assert zoomed(tmux) == "1 %0"
    asyncio.run(tmux_server.close(other))
    assert zoomed(tmux) == "1 %0"
    for pane in made:
        asyncio.run(tmux_server.close(pane))
    assert tmux("list-panes", "-F", "#{pane_id}") == "%0"
    one = asyncio.run(tmux_server.split(place, "right", "cat"))
    tmux("resize-pane", "-Z", "-t", one.rpartition(":")[2])
    asyncio.run(tmux_server.close(one))
    assert zoomed(tmux) == "0 %0"


def test_a_split_takes_nobodys_focus(tmux: Server) -> None:
    tmux("new-session", "-d", "-x", "100", "-y", "40", "cat")
    place = tmux.place("%0")
    below = asyncio.run(tmux_server.split(place, "down", "cat"))
    beside = asyncio.run(tmux_server.split(place, "right", "cat"))
    shown = tmux("list-panes", "-F", "#{pane_id} #{pane_active} #{pane_left} #{pane_top}").splitlines()
    assert shown == ["%0 1 0 0", "%2 0 51 0", "%1 0 0 21"]
    assert (below[-2:], beside[-2:]) == ("%1", "%2")


def test_a_screen_and_what_has_gone_over_its_top(tmux: Server) -> None:
    tmux("new-session", "-d", "-x", "40", "-y", "5", "seq 9; printf 'a\\033[31m b'; exec cat")
    place = tmux.place("%0")
    eventually(lambda: "a b" in asyncio.run(tmux_server.read_screen(place)).text)
    screen = asyncio.run(tmux_server.read_screen(place))
    assert screen == ("6\n7\n8\n9\na b", 4, 3, 5, 40)
    assert asyncio.run(tmux_server.read_screen(place, 7)).text == "4\n5\n6\n7\n8\n9\na b"
    assert asyncio.run(tmux_server.read_screen(place, 2)).text == "9\na b"


def test_empty_lines_below_do_not_count(tmux: Server) -> None:
    tmux("new-session", "-d", "-x", "40", "-y", "9", "seq 3; exec cat")
    place = tmux.place("%0")
    eventually(lambda: asyncio.run(tmux_server.read_screen(place, 2)).text == "2\n3")


@pytest.mark.parametrize(("start", "index", "order"), [(0, 2, "1203"), (3, 0, "3012"), (1, 1, "0123")])
def test_panes_change_places_and_the_layout_stays(tmux: Server, start: int, index: int, order: str) -> None:
    tmux("new-session", "-d", "-x", "100", "-y", "40", "cat")
    for _ in range(3):
        tmux("split-window", "-d", "-t", "%0", "cat")
        tmux("select-layout", "even-vertical")
    tmux("swap-pane", "-s", "%1", "-t", "%3")
    layout = tmux("list-panes", "-F", "#{pane_top}")
    place = tmux.place(f"%{start}")
    asyncio.run(tmux_server.move(place, asyncio.run(tmux_server.window_panes(place)), index))
    assert tmux("list-panes", "-F", "#{pane_id}").replace("%", "").replace("\n", "") == order
    assert tmux("list-panes", "-F", "#{pane_top}") == layout


@pytest.mark.parametrize("moved", ["%0", "%2", "%3"])
@pytest.mark.parametrize("index", range(4))
def test_who_is_active_and_was_before_stays_so_when_panes_move(tmux: Server, moved: str, index: int) -> None:
    def state() -> str:
        active, last = "#{P:#{?pane_active,#{pane_id},}}", "#{P:#{?pane_last,#{pane_id},}}"
        return tmux("display-message", "-p", f"{active} {last}")

    tmux("new-session", "-d", "-x", "100", "-y", "40", "cat")
    for _ in range(3):
        tmux("split-window", "-d", "-t", "%0", "cat")
        tmux("select-layout", "even-vertical")
    for pane in ("%2", "%0"):
        tmux("select-pane", "-t", pane)
    assert state() == "%0 %2"
    place = tmux.place(moved)
    asyncio.run(tmux_server.move(place, asyncio.run(tmux_server.window_panes(place)), index))
    assert tmux("list-panes", "-F", "#{pane_id}").splitlines().index(moved) == index
    assert state() == "%0 %2"


def test_a_client_that_is_not_there_changes_nothing(tmux: Server) -> None:
    tmux("new-session", "-d", "-x", "80", "-y", "24", "cat")
    tmux("split-window", "cat")
    tmux("new-window", "cat")
    with pytest.raises(Refused, match="find client"):
        asyncio.run(tmux_server.focus(tmux.place("%0"), "/dev/pts/nope"))
    assert tmux("list-panes", "-a", "-F", "#{window_active}#{pane_active}").split() == ["00", "01", "11"]


def test_the_last_pane_else_the_last_window(tmux: Server) -> None:
    tmux("new-session", "-d", "cat")
    tmux("split-window", "cat")
    assert asyncio.run(tmux_server.last_pane(tmux.place("%1"))).endswith(":%0")
    tmux("new-window", "cat")
    assert asyncio.run(tmux_server.last_pane(tmux.place("%2"))).endswith(":%0")
    tmux("new-session", "-d", "-s", "other", "cat")
    with pytest.raises(Refused, match="no last window"):
        asyncio.run(tmux_server.last_pane(tmux.place("%3")))


@pytest.mark.parametrize(
    "act",
    [
        lambda place: tmux_server.focus(place, None),
        lambda place: tmux_server.split(place, "down"),
        tmux_server.close,
        lambda place: tmux_server.send_text(place, "x"),
        lambda place: tmux_server.send_key(place, read_key("up")),
        tmux_server.read_screen,
        tmux_server.last_pane,
        tmux_server.window_panes,
        lambda place: tmux_server.new_session(place, "x"),
        lambda place: tmux_server.move(place, [place], 0),
    ],
)
@pytest.mark.parametrize("gone", ["pane", "server"])
def test_a_pane_that_is_gone_is_never_another_one(
    tmux: Server, gone: str, act: Callable[[str], object]
) -> None:
    tmux("new-session", "-d", "-x", "80", "-y", "24", "cat")
    tmux("split-window", "cat")
    place = tmux.place("%1")
    if gone == "pane":
        tmux("kill-pane", "-t", "%1")
    else:
        tmux.end()
        tmux("new-session", "-d", "-x", "80", "-y", "24", "cat")
        tmux("split-window", "cat")
    with pytest.raises(Refused):
        asyncio.run(act(place))  # type: ignore[arg-type]  # a coroutine each
    assert len(tmux("list-panes", "-a").splitlines()) == (1 if gone == "pane" else 2)
    assert tmux("capture-pane", "-p", "-t", "%0").strip() == ""


def test_panes_of_grouped_sessions_belong_to_the_oldest(tmux: Server) -> None:
    tmux("new-session", "-d", "-s", "zz", "cat")
    tmux("new-session", "-d", "-s", "aa", "-t", "zz")
    listing = asyncio.run(tmux_server.list_panes(tmux.place("%0")))
    assert listing
    [pane] = listing.panes
    assert pane["workspace_title"] == "zz"


def test_what_is_shown_and_what_is_hidden_by_a_zoom() -> None:
    def line(pane: str, *, chosen: str, zoomed: str, attached: str) -> str:
        fields = ("7", pane, "99", "$0", "1", "1", chosen, zoomed, attached, "9", "w", "s", "t", "/")
        return tmux_server.SEPARATOR.join(fields)

    prefix = "tmux:/s,7,1:"
    output = "\n".join(
        (
            line("%0", chosen="1", zoomed="1", attached="1"),
            line("%1", chosen="0", zoomed="1", attached="1"),
            line("%2", chosen="0", zoomed="0", attached="1"),
            line("%3", chosen="1", zoomed="0", attached="0"),
            "8" + line("%4", chosen="1", zoomed="0", attached="0"),
        )
    )
    found = [(row["active"], row["visible"], row["zoomed"]) for row in tmux_server.read_panes(prefix, output)]
    assert found == [(True, True, True), (False, False, False), (False, True, False), (True, False, False)]
