"""What is shown: clean, and nothing in it that a terminal or tmux would act on."""

from __future__ import annotations

import re
from typing import Any

import pytest

from seance_tools.notify import Message, message, terminal, tmux
from tests.hostile import corpus


def row(**more: Any) -> dict[str, Any]:
    return {"id": 7, "title": "Claude Code has finished", "subtitle": "", "body": "all tests pass", **more}


def test_texts() -> None:
    assert message(row()) == Message(7, "Claude Code has finished", "all tests pass")
    assert message(row(subtitle="s"), "web1", 3) == Message(
        7, "Claude Code has finished on web1 (+3 more)", "s: all tests pass", 3
    )


@pytest.mark.parametrize("kind", ["osc9", "osc99", "osc777"])
@pytest.mark.parametrize("behind", [False, True])
def test_a_sequence_ends_where_we_end_it(kind: str, behind: bool) -> None:
    for text in corpus(500):
        shown = message(row(title=text, body=text), text)
        written = terminal.sequence(kind, shown, tmux=behind)
        if behind:
            whole = re.fullmatch(r"\x1bPtmux;((?:\x1b\x1b|[^\x1b])*)\x1b\\", written)
            assert whole
            written = whole[1].replace("\x1b\x1b", "\x1b")
        assert re.fullmatch(r"(?:\x1b\][^\x00-\x1f\x7f-\x9f]*\x1b\\)+", written)


def test_sequences() -> None:
    shown = Message(7, "a; b", "c; d")
    assert terminal.sequence("bell", shown, tmux=True) == "\a"
    assert terminal.sequence("osc9", shown) == "\x1b]9;a; b: c; d\x1b\\"
    assert terminal.sequence("osc9", Message(7, "4;1;50", "")) == "\x1b]9; 4;1;50\x1b\\"
    assert terminal.sequence("osc777", shown) == "\x1b]777;notify;a, b;c; d\x1b\\"
    assert terminal.sequence("osc99", shown) == (
        "\x1b]99;i=seance-7:d=0:p=title;a; b\x1b\\\x1b]99;i=seance-7:d=1:p=body;c; d\x1b\\"
    )
    assert (
        terminal.sequence("osc9", Message(7, "a", ""), tmux=True) == "\x1bPtmux;\x1b\x1b]9;a\x1b\x1b\\\x1b\\"
    )


def test_tmux_shows_a_message_to_those_who_look_elsewhere() -> None:
    clients = "\x1f".join(("/dev/pts/1", "%1", "0", "750")) + "\n"
    clients += "/dev/pts/2\\037%2\\0370\\037750\n"  # how tmux 3.3 prints the separator in some locales
    clients += "\x1f".join(("/dev/pts/3", "%3", "1", "750")) + "\n"
    clients += "\x1f".join(("/dev/pts/4", "%4", "0", "0")) + "\n"  # it would stand until a key is pressed
    clients += "\x1f".join(("", "%3", "0", "750")) + "\nnonsense\n"
    shown = Message(7, "-x #(id)", "100 %H")
    assert tmux.message_commands(shown, clients, "%1") == [
        ["display-message", "-c", "/dev/pts/2", "--", "-x ##(id): 100 %%H"]
    ]
    assert len(tmux.message_commands(shown, clients, "")) == 2


def test_flags_are_set_and_unset_in_one_command() -> None:
    assert tmux.flag_command({"%1": 2, "%3": 0}) == [
        *("set-option", "-q", "-p", "-t", "%1", "@seance-unread", "2", ";"),
        *("set-option", "-q", "-p", "-u", "-t", "%3", "@seance-unread"),
    ]
