from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.terminals import control
from seance_tools.terminals.control import Client, Reader, Server, Session
from seance_tools.terminals.tmux_server import SEPARATOR
from tests.support import eventually
from tests.terminal import Terminal
from tests.terminals import conftest

PRINTED = (
    b"%begin 1 276 0\n%end 1 276 0\n%session-changed $0 one\n"
    b"%begin 2 288 1\n%0\x1ftitle\n%end of a title\n%end 2 287 1\n%end 2 288 1\n"
    b"%layout-change @1 x\n%begin 3 289 1\nparse error\n%error 3 289 1\n%exit\n"
)


@given(st.lists(st.integers(0, len(PRINTED)), max_size=8))
def test_blocks_and_messages_however_they_come_in_pieces(cuts: list[int]) -> None:
    heard: list[str] = []
    answered: list[tuple[str, bool]] = []
    reader = Reader(heard.append, lambda text, good: answered.append((text, good)))
    edges = [0, *sorted(cuts), len(PRINTED)]
    for start, end in itertools.pairwise(edges):
        reader.feed(PRINTED[start:end])
    assert heard == ["%session-changed $0 one", "%layout-change @1 x", "%exit"]
    assert answered == [("%0\x1ftitle\n%end of a title\n%end 2 287 1", True), ("parse error", False)]


def server(*sessions: tuple[Any, ...], **more: Any) -> Server:
    facts = {"version": (3, 3), "focus_events": False, "exit_unattached": False, **more}
    return Server(sessions=tuple(Session(*row) for row in sessions), **facts)


@pytest.mark.parametrize(
    ("given_server", "wanted"),
    [
        (server(("$0", 0, 5)), "$0"),
        (server(("$0", 0, 5), ("$1", 0, 9)), "$0"),
        (server(("$0", 1, 5), ("$1", 0, 9)), None),  # a person is there
        (server(("$0", 1, 5)), None),
        (server(("$0", 0, 5), focus_events=True), None),
        (server(("$0", 0, 5, False)), None),
        (server(("$0", 0, 5, False), ("$1", 0, 9)), "$1"),
        (server(("$0", 0, 5), exit_unattached=True), None),
        (server(("$0", 0, 5), version=(3, 1)), None),
    ],
)
def test_the_session_it_attaches_to(given_server: Server, wanted: str | None) -> None:
    assert given_server.choose() == wanted
    assert given_server.fits(wanted)


def test_when_it_may_not_stay() -> None:
    two = server(("$0", 0, 9), ("$1", 0, 5))
    assert two.fits("$0")  # used last, but by itself
    assert not server(("$0", 1, 9), ("$1", 0, 5)).fits("$0")
    assert not server(("$0", 1, 9), ("$1", 0, 5)).fits("$1")
    assert not server(("$0", 0, 5), focus_events=True).fits("$0")
    assert not server(("$0", 0, 5, False)).fits("$0")
    assert not server(("$0", 0, 5), exit_unattached=True).fits("$0")
    assert not two.fits("$7")
    assert not two.fits(None)


def test_its_own_client_does_not_count() -> None:
    fields = ("7", "3.3a", "off", "0", "$0", "1", "99", "off")
    found = control.read_server([SEPARATOR.join(fields)], "$0")
    assert found == server(("$0", 0, 99))
    fields = ("7", "next-3.6", "1", "1", "$0", "2", "99", "keep-last")
    found = control.read_server([SEPARATOR.join(fields)], "$0")
    assert found == server(("$0", 1, 99, False), version=(3, 6), focus_events=True, exit_unattached=True)


@pytest.mark.parametrize(
    ("message", "hint", "audience"),
    [
        ("%layout-change @1 x", True, False),
        ("%subscription-changed panes $0 - - - : x", True, False),
        ("%subscription-changed options $0 - - - : 1", True, True),
        ("%client-detached /dev/pts/2", True, True),
        ("%paste-buffer-changed buffer0", False, False),
        ("%client-session-changed /dev/pts/2 $0 one", True, True),
        ("%exit", False, False),
    ],
)
def test_what_follows_from_messages(message: str, *, hint: bool, audience: bool) -> None:
    assert (control.is_hint(message), control.is_about_audience(message)) == (hint, audience)


Work = Callable[[Client, list[str]], Awaitable[None]]


def listening(tmux: conftest.Server, session: str | None, work: Work) -> None:
    """Do `work` with a client and the list of what it has heard."""

    async def run() -> None:
        heard: list[str] = []
        client = Client(heard.append)
        client.start(tmux.place("%0"), session)
        try:
            await soon(lambda: tmux.clients() or session is None)
            if session is not None:
                assert await client.subscribe()
                await soon(lambda: sum(line.startswith("%subscription-changed") for line in heard) == 2)
                heard.clear()
            await work(client, heard)
        finally:
            await client.close()
        assert client.ended.is_set()

    asyncio.run(run())


def has(heard: list[str], name: str) -> bool:
    return any(message.split(" ")[0] == name for message in heard)


async def soon(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(eventually, condition)


def test_it_answers_and_tells_of_what_happens_in_any_session(tmux: conftest.Server) -> None:
    tmux("new-session", "-d", "-s", "one", "cat")
    tmux("new-session", "-d", "-s", "two", "cat")

    async def work(client: Client, heard: list[str]) -> None:
        assert await client.ask('display-message -p "#{session_name}"') == "one"
        assert await client.ask("no-such-command") is None
        assert await client.ask('display-message -p "still there"') == "still there"
        tmux("rename-session", "-t", "two", "other")
        await soon(lambda: has(heard, "%session-renamed"))
        tmux("select-pane", "-t", "%1", "-T", "a title")
        await soon(lambda: has(heard, "%subscription-changed"))

    listening(tmux, "$0", work)
    assert tmux.clients() == []


def test_it_has_no_part_in_sizes(tmux: conftest.Server) -> None:
    tmux("new-session", "-d", "-s", "one", "-x", "100", "-y", "30", "cat")

    async def work(_client: Client, _heard: list[str]) -> None:
        tmux("resize-window", "-t", "one", "-x", "90", "-y", "20")
        tmux("set-window-option", "-u", "-t", "one", "window-size")
        assert tmux("display-message", "-p", "-t", "one", "#{window_width}x#{window_height}") == "90x20"

    listening(tmux, "$0", work)


def test_a_listener_counts_nowhere(tmux: conftest.Server) -> None:
    tmux("new-session", "-d", "-s", "one", "cat")

    async def work(_client: Client, heard: list[str]) -> None:
        assert tmux.clients() == []
        assert "(attached)" not in tmux("list-sessions")
        tmux("rename-session", "-t", "one", "two")
        await soon(lambda: has(heard, "%session-renamed"))

    listening(tmux, None, work)


def test_a_listener_is_told_who_leaves_and_what_is_active(
    tmux: conftest.Server, environ: dict[str, str]
) -> None:
    tmux("new-session", "-d", "-s", "one", "-x", "80", "-y", "24", "cat")

    async def work(client: Client, heard: list[str]) -> None:
        await client.heard_of.wait()
        with Person(tmux, environ, "attach", "-t", "one"):
            await soon(tmux.clients)
            for name, command in (
                ("%window-pane-changed", ("split-window", "cat")),
                ("%session-window-changed", ("new-window", "cat")),
                ("%sessions-changed", ("new-session", "-d", "cat")),
            ):
                tmux(*command)
                await soon(lambda name=name: has(heard, name))  # type: ignore[misc]
        await soon(lambda: has(heard, "%client-detached"))

    listening(tmux, None, work)


def test_it_hears_of_options_that_make_it_leave(tmux: conftest.Server) -> None:
    tmux("new-session", "-d", "-s", "one", "cat")

    async def work(client: Client, heard: list[str]) -> None:
        for name in ("focus-events", "exit-unattached", "destroy-unattached"):
            heard.clear()
            tmux("set-option", "-g", name, "on")
            await soon(lambda: any(map(control.is_about_audience, heard)))
            found = await control.look(tmux.place("%0"), client.session)
            assert found
            assert not found.fits(client.session)
            tmux("set-option", "-g", name, "off")

    listening(tmux, "$0", work)


class Person:
    """A client on a terminal of its own."""

    def __init__(self, tmux: conftest.Server, environ: dict[str, str], *command: str) -> None:
        argv = ["tmux", "-u", "-S", tmux.socket, *command]
        self.terminal = Terminal(argv, {**environ, "TERM": "xterm-256color"}, Path("/"))

    def __enter__(self) -> Self:
        return self

    def leave(self) -> None:
        os.kill(self.terminal.pid, 15)

    def __exit__(self, *_: object) -> None:
        self.leave()
        self.terminal.wait()
        self.terminal.hang_up()


def test_a_pane_still_hears_that_the_terminal_has_lost_the_focus(
    tmux: conftest.Server, environ: dict[str, str], tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    tmux("new-session", "-d", "-s", "one", f"printf '\\033[?1004h'; stty raw -echo; exec cat > '{seen}'")
    tmux("set-option", "-g", "focus-events", "on")
    with Person(tmux, environ, "attach", "-t", "one") as person:
        eventually(lambda: tmux("display-message", "-p", "-t", "one", "#{session_attached}") == "1")

        async def work(_client: Client, heard: list[str]) -> None:
            found = await control.look(tmux.place("%0"))
            assert found
            assert found.fits(None)
            person.terminal.type("\x1b[O")
            await soon(lambda: seen.read_bytes().endswith(b"\x1b[O"))
            tmux("new-window", "-t", "one", "cat")  # it hears of this all the same
            await soon(lambda: has(heard, "%session-window-changed"))

        listening(tmux, None, work)


@pytest.mark.parametrize("session", ["$0", None])
def test_while_nothing_happens_it_says_nothing(tmux: conftest.Server, session: str | None) -> None:
    tmux("new-session", "-d", "-s", "one", "cat")

    async def work(_client: Client, heard: list[str]) -> None:
        heard.clear()
        await asyncio.sleep(2.2)  # tmux compares once a second what has changed
        assert heard == []

    listening(tmux, session, work)


def test_it_goes_with_the_server(tmux: conftest.Server) -> None:
    tmux("new-session", "-d", "-s", "one", "cat")

    async def work(client: Client, _heard: list[str]) -> None:
        tmux.end()
        await asyncio.wait_for(client.ended.wait(), 10)
        assert await client.ask("list-panes") is None

    listening(tmux, "$0", work)


def test_no_server_is_started(tmp_path: Path, need: Callable[[str], str]) -> None:
    need("tmux")

    async def run() -> None:
        client = Client(lambda _: None)
        client.start(f"tmux:{tmp_path}/none,1,1:%0", "$0")
        await asyncio.wait_for(client.ended.wait(), 10)
        await client.close()

    asyncio.run(run())
    assert not (tmp_path / "none").exists()
