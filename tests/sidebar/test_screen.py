"""What is written to terminals of all kinds, and how they are left."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import socket
import termios
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from seance_tools import names
from tests.hostile import corpus
from tests.sidebar.pane import Open, Pane
from tests.sidebar.standin import Broker
from tests.support import eventually


def test_hostile_texts_send_nothing_of_their_own(shop: Broker, pane: Open) -> None:
    one = pane()
    one.shows("Claude Code")
    texts = [text for text in corpus() if len(text) < 400]
    for start in range(0, len(texts), 400):
        shop.surface(cwd=texts[start], branch=texts[start + 1])
        shop.status(" ".join(texts[start : start + 30]))
        shop.workspace(texts[start + 2] + "\x1b[2J\x1b]0;x\x07")
        one.pump(0.1)
    shop.workspace("the end")
    one.shows("the end")
    assert_only_ours(one)


def assert_only_ours(one: Pane) -> None:
    """Check that nothing but our own sequences and printable characters went to the terminal."""
    ours = rb"\x1b\[(?:\d+;1H|K|\?(?:2026|1049|25|7|12|1000|1006|2004)[hl]|H|2?J|[0-9;]*m|22;0;0t)"
    rest = re.sub(ours, b"", one.output).decode()
    assert all(character.isprintable() for character in rest), sorted(
        {c for c in rest if not c.isprintable()}
    )
    assert one.lines()[0].startswith(" SÉANCE")


def test_every_text_of_the_corpus_on_a_terminal_leaves_all_else_as_it_is(standin: Broker, pane: Open) -> None:
    texts = corpus()
    assert len(texts) >= 4000
    for number in range(1, 42):
        standin.workspace(f"at first {number}.", number)
    one = pane(size=(120, 44))
    one.shows("at first 1.")
    one.press("g")
    one.shows("at first 41.")
    for start in range(0, len(texts), 40):
        for number, text in enumerate(texts[start : start + 40], 1):
            standin.workspace(text, number)
        standin.workspace(f"batch {start}.", 41)
        one.shows(f"batch {start}.")
        shown = one.lines()
        assert shown[0] == " SÉANCE"
        assert shown[1] == " " + "─" * 118
        assert shown[42:] == [f"    batch {start}.", ""]
        assert all(not line[:4].strip() for line in shown[2:42])
    assert_only_ours(one)
    assert one.screen.title == ""


def test_a_port_is_a_link_of_ours_where_the_terminal_and_the_person_want_that(
    shop: Broker, pane: Open
) -> None:
    link = rb"\x1b\]8;;http://localhost:(\d+)/\x1b\\(?:\x1b\[[0-9;]*m)?(\d+)(?:\x1b[^\]\\]*)?\x1b\]8;;\x1b\\"
    shop.set("config", values={"sidebar.links": True}, problems=[])
    shop.surface(ports=[5173, 3000])
    one = pane()
    one.shows("⇄ 3000 5173")
    assert re.findall(link, one.output) == [(b"3000", b"3000"), (b"5173", b"5173")]
    console = pane(TERM="linux")
    console.shows("3000 5173")
    assert b"\x1b]8" not in console.output
    shop.set("config", values={"sidebar.links": False}, problems=[])
    two = pane()
    two.shows("⇄ 3000 5173")
    assert b"\x1b]8" not in two.output


@pytest.mark.usefixtures("shop")
def test_no_color_leaves_the_movement(pane: Open) -> None:
    one = pane(NO_COLOR="1")
    one.shows("Claude Code")
    assert one.lines()[3].startswith("  ▶ Claude Code")
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9][;0-9]*m", one.output)
    assert b"\x1b[1m" in one.output


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("more", "colour"),
    [
        ({"TERM": "xterm"}, rb"\x1b\[3[0-7]m"),
        ({"TERM": "xterm-256color"}, rb"\x1b\[38;5;28m"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, rb"\x1b\[38;2;46;132;67m"),
        ({"TERM": "vt100"}, rb"\x1b\[1m"),
        ({"TERM": "no-such-terminal"}, rb"\x1b\[38;5;28m"),
    ],
)
def test_colours_are_those_of_the_terminal(pane: Open, more: dict[str, str], colour: bytes) -> None:
    one = pane(**more)
    one.shows("Claude Code")
    assert re.search(colour, one.output)
    one.press("q")
    assert one.ended() == 0
    assert termios.tcgetattr(one.slave) == one.before


@pytest.mark.parametrize("term", ["dumb", "", "unknown"])
def test_a_terminal_that_can_only_be_written_on_gets_plain_text(shop: Broker, pane: Open, term: str) -> None:
    one = pane(TERM=term)
    one.shows("▶ Claude Code")
    shop.status("Needs input", state="needs_input")
    one.shows("◆ Claude Code  Needs input")
    assert b"\x1b" not in one.output
    one.press("q")
    assert one.ended(1.0) == 0
    assert termios.tcgetattr(one.slave) == one.before


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("options", [{"LANG": "C"}, {"LANG": "", "LC_ALL": "POSIX"}])
def test_without_utf8_it_draws_in_ascii(pane: Open, options: dict[str, str]) -> None:
    one = pane(**options)
    one.shows("> Claude Code")
    assert one.output.isascii()


@pytest.mark.usefixtures("shop")
def test_the_option_ascii(pane: Open) -> None:
    one = pane("--ascii")
    one.shows("> Claude Code")
    assert one.output.isascii()


def restored(one: Pane) -> None:
    assert termios.tcgetattr(one.slave) == one.before
    end = one.output[one.output.rindex(b"\x1b[?1006l") :]
    assert b"\x1b[?1000l" in end
    assert one.output.rindex(b"\x1b[?2004l") > one.output.rindex(b"\x1b[?2004h")
    assert b"\x1b[?7h" in end
    assert b"\x1b[?25h" in end
    assert b"\x1b[?1049l" in end
    assert b"Traceback" not in one.output


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("key", ["q", "\x03", "\x1c"])
def test_keys_that_end_it(pane: Open, key: str) -> None:
    one = pane()
    one.shows("Claude Code")
    assert termios.tcgetattr(one.slave) != one.before
    one.press(key)
    assert one.ended(1.0) == 0
    restored(one)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_that_end_it(pane: Open, number: signal.Signals) -> None:
    one = pane()
    one.shows("Claude Code")
    one.process.send_signal(number)
    assert one.ended(1.0) == 0
    restored(one)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_it_though_the_terminal_has_stopped_reading(
    shop: Broker, pane: Open, number: signal.Signals
) -> None:
    one = pane(size=(200, 100))
    one.shows("Claude Code")
    stop_reading(shop, one)
    assert one.process.poll() is None
    one.process.send_signal(number)
    assert one.process.wait(1.0) == 0
    assert termios.tcgetattr(one.slave) == one.before


def stop_reading(shop: Broker, one: Pane) -> None:
    """Make changes and read none of them, until the pseudo-terminal holds no more."""

    for number in range(2, 50):
        shop.workspace(f"workspace {number}", number)
        shop.status("x" * 150, workspace_id=number)
    poll = select.poll()
    poll.register(one.slave, select.POLLOUT)
    numbers = count()

    def full() -> bool:
        one.resize((150 + next(numbers) % 50, 100))  # draws everything anew
        return not poll.poll(0)

    eventually(full, 20.0)


def test_a_terminal_that_reads_again_shows_the_last_state(shop: Broker, pane: Open) -> None:
    one = pane(size=(200, 100))
    one.shows("Claude Code")
    stop_reading(shop, one)
    one.resize((90, 40))
    shop.workspace("the last one")
    one.shows("the last one")
    eventually(lambda: one.lines()[1] == " " + "─" * 88)
    assert fcntl.fcntl(one.slave, fcntl.F_GETFL) & os.O_NONBLOCK == 0


@pytest.mark.usefixtures("shop")
def test_a_closed_pane_ends_it(pane: Open) -> None:
    one = pane()
    one.shows("Claude Code")
    os.close(one.slave)
    os.close(one.master)
    one.master = one.slave = -1
    assert one.process.wait(2.0) == 0


def test_it_ends_at_once_while_the_broker_hangs(environ: dict[str, str], pane: Open) -> None:
    path = names.socket_path(environ)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(path)
        silent.listen(8)
        one = pane()
        one.shows("connecting", 2.0)
        one.press("q")
        assert one.ended(1.0) == 0
        restored(one)


def test_ctrl_z_stops_it_with_the_terminal_given_back_and_it_goes_on(
    shop: Broker, environ: dict[str, str], tmux: Callable[..., str]
) -> None:
    def content() -> str:
        return tmux("capture-pane", "-p")

    tmux("send-keys", "exec 2>&1; PS1='$ '; stty -a >before; python -m seance_tools.sidebar", "Enter")
    eventually(lambda: "Claude Code" in content())
    tmux("send-keys", "C-z")
    eventually(lambda: "Stopped" in content())
    tmux("send-keys", "stty -a >stopped; clear; fg", "Enter")
    eventually(lambda: "Claude Code" in content())
    shop.status("Later")
    eventually(lambda: "Later" in content())
    tmux("send-keys", "q")
    eventually(lambda: "Claude Code" not in content())
    tmux("send-keys", "stty -a >after; echo ended $?", "Enter")
    eventually(lambda: "ended 0" in content())
    before, stopped, after = (
        Path(environ["HOME"], name).read_text() for name in ("before", "stopped", "after")
    )
    assert before == stopped == after


def test_in_tmux_a_row_of_wide_characters_leaves_its_neighbours_alone(
    shop: Broker, tmux: Callable[..., str]
) -> None:
    shop.workspace("日本語のワークスペースの長い名前", 2)
    shop.workspace("👍🏽❤\ufe0f🇩🇪 क्षि 👩\u200d👩\u200d👧 \x1b[2J\x1b]0;title\x07\u202e", 3)
    shop.workspace("last", 4)
    tmux("send-keys", "exec python -m seance_tools.sidebar", "Enter")
    content = eventually(lambda: [text for text in [tmux("capture-pane", "-p")] if " last" in text])[
        0
    ].splitlines()
    assert content[2:5] == [" shop-api", content[3], " ●"]
    assert content[6].startswith(" 日本語のワークスペース")
    assert content[6].endswith("…")
    assert (content[7], content[10], content[12], content[13]) == (" ●", " ●", " last", " ●")
    assert "title" not in tmux("display-message", "-p", "#{pane_title}")


@pytest.mark.usefixtures("shop")
def test_without_a_keyboard_it_still_shows(pane: Open) -> None:
    with open(os.devnull, "rb") as null:
        one = pane(stdin=null.fileno())
        one.shows("Claude Code")
        one.process.terminate()
        assert one.ended(1.0) == 0
