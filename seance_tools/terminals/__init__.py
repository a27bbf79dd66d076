"""Terminals, one table: how a pane is recognised from the environment, listed, focused and read.

A place begins with its terminal's name in the table. Where a row has nothing for it, a terminal cannot.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import NamedTuple

from seance_tools import names
from seance_tools.liveness import start_time
from seance_tools.state.places import ABROAD, Place
from seance_tools.terminals import others
from seance_tools.terminals import tmux_server as _tmux
from seance_tools.terminals.panes import Listing, Screen
from seance_tools.terminals.run import Gone, Refused
from seance_tools.terminals.tmux_server import Asker, server_of, server_prefix

__all__ = [
    "TERMINALS",
    "Asker",
    "Gone",
    "Listing",
    "Refused",
    "Screen",
    "focus",
    "list_panes",
    "read_screen",
    "recognise",
    "server_of",
    "server_prefix",
    "tmux",
]


class Terminal(NamedTuple):
    """What one kind of terminal can do; the functions but the first raise Refused."""

    recognise: Callable[[Mapping[str, str]], Place | None]
    list_panes: Callable[[str], Awaitable[Listing | None]] | None = None
    focus: Callable[[str, str | None], Awaitable[None]] | None = None
    read: Callable[[str, int | None], Awaitable[Screen]] | None = None


# The order counts: tmux may run inside any of the others, and what is in tmux is tmux's.
TERMINALS: dict[str, Terminal] = {
    "tmux": Terminal(_tmux.recognise, _tmux.list_panes, _tmux.focus, _tmux.read_screen),
    "kitty": Terminal(
        lambda environ: others.named(environ, "kitty", "KITTY_LISTEN_ON", "KITTY_WINDOW_ID", "kitty"),
        others.kitty_list,
        others.kitty_focus,
        others.kitty_read,
    ),
    "wezterm": Terminal(
        lambda environ: others.named(environ, "wezterm", "WEZTERM_UNIX_SOCKET", "WEZTERM_PANE", "WezTerm"),
        others.wezterm_list,
        others.wezterm_focus,
        others.wezterm_read,
    ),
    "zellij": Terminal(
        lambda environ: others.named(
            environ, "zellij", "ZELLIJ_SESSION_NAME", "ZELLIJ_PANE_ID", environ.get("ZELLIJ_SESSION_NAME", "")
        ),
        others.zellij_list,
        others.zellij_focus,
        others.zellij_read,
    ),
    "screen": Terminal(
        lambda environ: others.named(environ, "screen", "STY", "WINDOW", environ.get("STY", "")),
        focus=others.screen_focus,
    ),
    "tty": Terminal(lambda _environ: None),  # any other: known by its device, and listed, but no more
}


def elsewhere(environ: Mapping[str, str]) -> str:
    """Return the name of the machine that a report's environment is of, "" for this one.

    Process ids, terminals and sockets of another machine, or of a container, mean nothing here.
    """
    host = environ.get("SEANCE_HOST", "")
    return "" if not host or host in _own_names() else host


@cache
def _own_names() -> frozenset[str]:
    return frozenset((os.uname().nodename, names.host(os.environ)))


def _abroad(host: str, environ: Mapping[str, str], tty: str | None, tty_session: int | None) -> Place | None:
    words = [environ[name] for name in names.PLACE_VARIABLES if name != "SEANCE_HOST" and environ.get(name)]
    if not words and tty:
        words = [tty, str(tty_session or 0)]
    return Place(f"{ABROAD}{host}:{','.join(words)}", f"{ABROAD}{host}", host) if words else None


def recognise(environ: Mapping[str, str], tty: str | None, tty_session: int | None) -> Place | None:
    """Return the place that a report's environment names, else that of its terminal device, else None.

    tty: path of the device. tty_session: process id of its session leader, whose end ends the surface; where
    it has ended there is no place any more. In tmux it is the server's affair which panes there are.
    """
    host = elsewhere(environ)
    if host:
        return _abroad(host, environ, tty, tty_session)
    place = next((place for row in TERMINALS.values() if (place := row.recognise(environ))), None)
    if place and place.owner:
        return place
    started = start_time(tty_session) if tty_session else None
    if tty_session and started is None:
        return None
    owner = (tty_session, started) if tty_session and started is not None else None
    if place or not tty:
        return place._replace(owner=owner) if place else None
    name = f"tty:{tty},{tty_session or 0},{started or 0}"
    return Place(name, name, os.path.basename(os.path.dirname(tty)) + "/" + os.path.basename(tty), owner)


def _terminal(place: str) -> Terminal:
    return TERMINALS.get(place.partition(":")[0], TERMINALS["tty"])


async def focus(place: str, client: str | None) -> None:
    """Bring a pane to the front; in tmux on `client` (a tty), else on the one used last. Raises Refused."""
    function = _terminal(place).focus
    if function is None:
        raise Refused("the terminal cannot be told to")
    await function(place, client)


async def list_panes(place: str, asker: Asker | None = None) -> Listing | None:
    """Return the panes of the terminal that `place` is in, None where it does not tell them.

    asker: a tmux server's control client, if it has one.
    """
    if place.startswith("tmux:"):
        return await _tmux.list_panes(place, asker)
    function = _terminal(place).list_panes
    try:
        return await function(place) if function else None
    except Refused:
        return None


async def read_screen(place: str) -> str | None:
    """Return the visible text of a pane, None where its terminal does not tell it."""
    function = _terminal(place).read
    try:
        return (await function(place, None)).text if function else None
    except Refused:
        return None


async def tmux(place: str, *words: str) -> str | None:
    """Return what tmux commands printed on the server of `place`, None where they failed or took too long."""
    try:
        return await _tmux.command(place, *words)
    except Refused:
        return None
