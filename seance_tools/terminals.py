"""Terminals: how a pane is recognised from the environment of what runs in it, and listed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from seance_tools.liveness import start_time
from seance_tools.state.places import Place

TMUX_SECONDS = 2.0  # a tmux that does not answer by then is left alone
_SEPARATOR = "\x1f"
_FIELDS = (
    "#{pane_id}",
    "#{session_id}",
    "#{window_index}",
    "#{window_active}",
    "#{window_name}",
    "#{session_name}",
    "#{pane_current_path}",
    "#{pane_title}",
)


def _tmux(environ: Mapping[str, str]) -> Place | None:
    pane, parts = environ.get("TMUX_PANE", ""), environ.get("TMUX", "").rsplit(",", 2)
    if not pane.startswith("%") or len(parts) != 3 or not (parts[1].isascii() and parts[1].isdecimal()):
        return None
    socket, pid, session = parts[0], int(parts[1]), parts[2]
    started = start_time(pid)
    if started is None:
        return None  # a server that is gone: what the variables name is no pane of today
    server = server_prefix(socket, pid, started)
    return Place(f"{server}{pane}", f"{server}${session}", "", (pid, started))


def server_prefix(socket: str, pid: int, started: int) -> str:
    """Return what the places of one tmux server begin with; no two servers' are ever the same."""
    return f"tmux:{socket},{pid},{started}:"


def _named(environ: Mapping[str, str], kind: str, server: str, pane: str, title: str) -> Place | None:
    if not environ.get(pane):
        return None
    return Place(
        f"{kind}:{environ.get(server, '')}:{environ[pane]}", f"{kind}:{environ.get(server, '')}", title
    )


def recognise(environ: Mapping[str, str], tty: str | None, tty_session: int | None) -> Place | None:
    """Return the place that a report's environment names, else that of its terminal device, else None.

    tty: path of the device. tty_session: process id of its session leader, whose end ends the surface.
    """
    place = (
        _tmux(environ)
        or _named(environ, "kitty", "KITTY_LISTEN_ON", "KITTY_WINDOW_ID", "kitty")
        or _named(environ, "wezterm", "WEZTERM_UNIX_SOCKET", "WEZTERM_PANE", "WezTerm")
        or _named(
            environ, "zellij", "ZELLIJ_SESSION_NAME", "ZELLIJ_PANE_ID", environ.get("ZELLIJ_SESSION_NAME", "")
        )
        or _named(environ, "screen", "STY", "WINDOW", environ.get("STY", ""))
    )
    if place or not tty:
        return place
    started = start_time(tty_session) if tty_session else None
    name = f"tty:{tty},{tty_session or 0},{started or 0}"
    owner = (tty_session, started) if tty_session and started is not None else None
    return Place(name, name, os.path.basename(os.path.dirname(tty)) + "/" + os.path.basename(tty), owner)


async def _run_tmux(place: str, *arguments: str) -> bytes | None:
    """Return what a tmux command printed, None where the server of `place` did not do it in time."""
    socket = place.rpartition(":")[0].removeprefix("tmux:").rsplit(",", 2)[0]
    try:
        process = await asyncio.create_subprocess_exec(
            "tmux",
            "-u",
            "-S",
            socket,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        output, _ = await asyncio.wait_for(process.communicate(), TMUX_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        return None
    return output if process.returncode == 0 else None


async def focus(place: str, client: str | None) -> bool:
    """Bring a tmux pane to the front: its window, the pane, and for `client` (a tty) its session.

    Without a client, the one used last. Returns whether that worked; the server must be the one meant.
    """
    pid = place.rsplit(",", 2)[1]
    pane = place.rpartition(":")[2]
    if (
        await _run_tmux(place, "display-message", "-p", "-t", pane, "#{pid} #{pane_id}")
        != f"{pid} {pane}\n".encode()
    ):
        return False
    switch = ["switch-client", *(["-c", client] if client else []), "-t", pane]
    await _run_tmux(place, *switch)  # fails where no client is attached, and that is well
    return await _run_tmux(place, "select-window", "-t", pane, ";", "select-pane", "-t", pane) is not None


async def tmux_panes(place: str) -> tuple[str, list[dict[str, Any]]] | None:
    """Return (prefix of its places, its panes) of the tmux server that `place` belongs to.

    The panes are what `state.places.place_panes` takes. None when that server does not answer, or is not
    the one that was meant.
    """
    prefix = place.rpartition(":")[0] + ":"
    output = await _run_tmux(place, "list-panes", "-a", "-F", _SEPARATOR.join(("#{pid}", *_FIELDS)))
    if output is None:
        return None
    return prefix, _read_panes(prefix, output.decode(errors="replace"))


def _read_panes(prefix: str, output: str) -> list[dict[str, Any]]:
    """Return the panes that tmux lists, if it is the server of `prefix` that lists them."""
    pid = prefix.rsplit(",", 2)[1]
    lines = [
        line.split(_SEPARATOR, len(_FIELDS)) for line in output.replace("\\037", _SEPARATOR).splitlines()
    ]
    panes: list[dict[str, Any]] = []
    columns: dict[str, dict[int, dict[str, Any]]] = {}
    for server, pane, session, index, active, window, title, cwd, pane_title in (
        line for line in lines if len(line) == len(_FIELDS) + 1
    ):
        if server != pid:
            continue
        workspace = prefix + session
        columns.setdefault(workspace, {})[int(index)] = {
            "index": int(index),
            "title": window,
            "active": active == "1",
        }
        panes.append(
            {
                "place": prefix + pane,
                "workspace": workspace,
                "workspace_title": title,
                "cwd": cwd,
                "title": pane_title,
            }
        )
    for row in panes:
        row["columns"] = [columns[row["workspace"]][index] for index in sorted(columns[row["workspace"]])]
    return panes
