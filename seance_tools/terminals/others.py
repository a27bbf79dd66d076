"""kitty, WezTerm, zellij and screen: what their own command-line programs can do.

kitty: `kitten @` (sw.kovidgoyal.net/kitty/remote-control). WezTerm: `wezterm cli` (wezterm.org/cli/cli).
zellij: `zellij action`; focus-pane-id, list-panes and dump-screen of a pane came with version 0.44
(zellij.dev/documentation/cli-actions), before that the program says no. screen: `screen -X` (screen(1)).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import ujson

from seance_tools.state.places import Place
from seance_tools.terminals.panes import Listing, Pane, Screen, last_lines
from seance_tools.terminals.run import Refused, environment, run


def named(environ: Mapping[str, str], kind: str, server: str, pane: str, title: str) -> Place | None:
    """Return the place that two variables name: the terminal's server, which may be missing, and the pane."""
    if not environ.get(pane):
        return None
    workspace = f"{kind}:{environ.get(server, '')}"
    return Place(f"{workspace}:{environ[pane]}", workspace, title)


def _parts(place: str) -> tuple[str, str]:
    """Return (server, pane) of a place."""
    server, _, pane = place.partition(":")[2].rpartition(":")
    return server, pane


def _number(pane: str) -> str:
    """Return a pane's number, and nothing else: it is part of an expression to some."""
    if not (pane.isascii() and pane.isdecimal()):
        raise Refused("the pane has no number")
    return pane


def _screen(text: str, lines: int | None) -> Screen:
    return Screen(last_lines(text, lines or len(text)))


def _loads(text: str) -> list[dict[str, Any]]:
    try:
        value = ujson.loads(text)
    except ValueError:
        return []
    return [item for item in value if type(item) is dict] if type(value) is list else []


def _pane(workspace: str, title: str, pane: object, name: object, cwd: object) -> Pane:
    return {
        "place": f"{workspace}:{pane}",
        "workspace": workspace,
        "workspace_title": title,
        "columns": [],
        "title": str(name or ""),
        "cwd": str(cwd or ""),
    }


async def _kitty(place: str, *words: str) -> str:
    server = _parts(place)[0]
    if not server:
        raise Refused("kitty listens nowhere: listen_on is not set in kitty.conf")
    return await run("kitten", "@", "--to", server, *words)


async def kitty_focus(place: str, _client: str | None) -> None:
    """Focus a kitty window. Raises Refused."""
    await _kitty(place, "focus-window", "--match", f"id:{_number(_parts(place)[1])}")


async def kitty_read(place: str, lines: int | None = None) -> Screen:
    """Return the screen of a kitty window, the last `lines` of it if given. Raises Refused."""
    pane = _number(_parts(place)[1])
    return _screen(await _kitty(place, "get-text", "--extent", "screen", "--match", f"id:{pane}"), lines)


async def kitty_list(place: str) -> Listing:
    """Return kitty's windows. Raises Refused."""
    windows = _loads(await _kitty(place, "ls"))
    workspace = f"kitty:{_parts(place)[0]}"
    return Listing(
        f"{workspace}:",
        [
            _pane(workspace, "kitty", row.get("id"), row.get("title"), row.get("cwd"))
            for window in windows
            for tab in window.get("tabs", ())
            for row in tab.get("windows", ())
        ],
    )


async def _wezterm(place: str, *words: str) -> str:
    server = _parts(place)[0]
    return await run("wezterm", "cli", *words, environ=environment(WEZTERM_UNIX_SOCKET=server))


async def wezterm_focus(place: str, _client: str | None) -> None:
    """Activate a WezTerm pane. Raises Refused."""
    await _wezterm(place, "activate-pane", "--pane-id", _number(_parts(place)[1]))


async def wezterm_read(place: str, lines: int | None = None) -> Screen:
    """Return the screen of a WezTerm pane, the last `lines` of it if given. Raises Refused."""
    return _screen(await _wezterm(place, "get-text", "--pane-id", _number(_parts(place)[1])), lines)


async def wezterm_list(place: str) -> Listing:
    """Return WezTerm's panes. Raises Refused."""
    workspace = f"wezterm:{_parts(place)[0]}"
    panes = []
    for row in _loads(await _wezterm(place, "list", "--format", "json")):
        cwd = unquote(urlsplit(str(row.get("cwd") or "")).path)
        panes.append(_pane(workspace, "WezTerm", row.get("pane_id"), row.get("title"), cwd))
    return Listing(f"{workspace}:", panes)


async def _zellij(place: str, *words: str) -> str:
    return await run("zellij", "--session", _parts(place)[0], "action", *words)


async def zellij_focus(place: str, _client: str | None) -> None:
    """Focus a zellij pane. Raises Refused."""
    await _zellij(place, "focus-pane-id", f"terminal_{_number(_parts(place)[1])}")


async def zellij_read(place: str, lines: int | None = None) -> Screen:
    """Return the screen of a zellij pane, the last `lines` of it if given. Raises Refused."""
    pane = f"terminal_{_number(_parts(place)[1])}"
    return _screen(await _zellij(place, "dump-screen", "--pane-id", pane), lines)


async def zellij_list(place: str) -> Listing:
    """Return the panes of a zellij session. Raises Refused."""
    session = _parts(place)[0]
    rows = _loads(await _zellij(place, "list-panes", "--json"))
    if not rows:
        raise Refused("zellij lists no panes")
    workspace = f"zellij:{session}"
    return Listing(
        f"{workspace}:",
        [
            _pane(workspace, session, row.get("id"), row.get("title"), row.get("pane_cwd"))
            for row in rows
            if not row.get("is_plugin")
        ],
    )


async def screen_focus(place: str, _client: str | None) -> None:
    """Select a window of screen. Raises Refused."""
    session, window = _parts(place)
    await run("screen", "-S", session, "-X", "select", _number(window))
