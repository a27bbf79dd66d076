"""tmux: how its panes are listed, and what it is told to do with one.

Whatever comes from outside goes to tmux as a word of its own or as input, never through a shell or a line of
commands, and `#` is doubled where tmux would expand a format. A pane is always named, and the server must
still be the one that is meant: pane ids begin anew with every server, so its process id is asked for first.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping
from typing import Any, Protocol

from seance_tools.liveness import start_time
from seance_tools.state.places import Place
from seance_tools.terminals.keys import Key
from seance_tools.terminals.panes import Listing, Pane, Screen, last_lines
from seance_tools.terminals.run import Gone, Refused, run


class Asker(Protocol):
    """A control client: its session, which counts it as attached, and how it is asked for something."""

    session: str | None

    async def ask(self, line: str) -> str | None:
        """Have a line of commands done; return what it printed."""


SEPARATOR = "\x1f"  # tmux lets it into no name or title; of directories only the last field is one
FIELDS = (
    "#{pid}",
    "#{pane_id}",
    "#{pane_pid}",
    "#{session_id}",
    "#{window_index}",
    "#{window_active}",
    "#{pane_active}",
    "#{window_zoomed_flag}",
    "#{session_attached}",
    "#{session_activity}",
    "#{window_name}",
    "#{session_name}",
    "#{pane_title}",
    "#{s/\n/ /:pane_current_path}",
)
DIRECTIONS = {"vertical": "-h", "horizontal": "-v", "right": "-h", "down": "-v"}
_ACTIVE = "#{P:#{?pane_active,#{pane_id},}}"  # of the window of the pane that is asked about
_buffers = itertools.count(1)


def recognise(environ: Mapping[str, str]) -> Place | None:
    """Return the place that TMUX and TMUX_PANE name, None where they name no pane of today."""
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


def server_of(place: str) -> str:
    """Return what the places of the server begin with that `place`, a pane's or a session's, belongs to."""
    return place.rpartition(":")[0] + ":"


def socket_of(place: str) -> str:
    """Return the path of the socket of that server."""
    return _parts(place)[0]


def _parts(place: str) -> tuple[str, str, str]:
    """Return (socket, process id of the server, the pane or session) of a place."""
    server, _, name = place.rpartition(":")
    socket, pid, _ = server.removeprefix("tmux:").rsplit(",", 2)
    return socket, pid, name


def literal(text: str) -> str:
    """Return a text so that tmux takes it as it is where it expands formats: `#()` runs nothing."""
    return text.replace("#", "##")


def word(text: str) -> str:
    """Return a text as one word of tmux's command line, where a `;` at the end of a word ends a command."""
    return text[:-1] + "\\;" if text.endswith(";") else text


async def command(place: str, *words: str, text: str = "") -> str:
    """Return what the commands in `words` printed, done by the server of `place`. Raises Refused."""
    return await run("tmux", "-u", "-S", socket_of(place), *words, text=text)


async def facts(place: str, *formats: str) -> list[str]:
    """Return what tmux's formats say of a pane that is there still; only the last may have spaces.

    Raises Refused.
    """
    _, pid, pane = _parts(place)
    form = " ".join(("#{pid} #{pane_id} #{pane_dead}", *formats))
    found = (await command(place, "display-message", "-p", "-t", pane, form)).removesuffix("\n")
    words = found.split(" ", 2 + len(formats))
    if words[:3] != [pid, pane, "0"]:
        raise Gone("the pane is gone")
    return words[3:]


async def on_pane(place: str, *words: str, text: str = "") -> str:
    """Do what `command` does once the pane is known to be there still. Raises Refused."""
    await facts(place)
    return await command(place, *words, text=text)


async def list_panes(place: str, asker: Asker | None = None) -> Listing | None:
    """Return the panes of the tmux server that `place` belongs to, None where that does not answer.

    asker: the server's control client, which takes no process for it. Of another server than the one that
    is meant no panes are listed.
    """
    fields, own = SEPARATOR.join(FIELDS), None
    if asker is None:
        try:
            output: str | None = await command(place, "list-panes", "-a", "-F", fields)
        except Refused:
            return None
    else:
        output, own = await asker.ask('list-panes -a -F "' + fields.replace("\n", "\\n") + '"'), asker.session
    return None if output is None else Listing(server_of(place), read_panes(server_of(place), output, own))


def read_panes(prefix: str, output: str, own: str | None = None) -> list[Pane]:
    """Return the panes that tmux has listed, if it is the server of `prefix` that listed them.

    own: the session that counts a control client as attached, which looks at nothing. A window may be in
    several sessions: its panes are listed with each, and belong to the oldest of them.
    """
    pid = prefix.rsplit(",", 2)[1]
    if SEPARATOR not in output:
        output = output.replace("\\037", SEPARATOR)  # as some versions print it
    lines = [line.split(SEPARATOR, len(FIELDS) - 1) for line in output.split("\n")]
    panes: dict[str, Pane] = {}
    columns: dict[str, dict[int, dict[str, Any]]] = {}
    for line in sorted((line for line in lines if len(line) == len(FIELDS) and line[0] == pid), key=_session):
        pane = _read_pane(prefix, line, columns, own)
        first = panes.setdefault(pane["place"], pane)
        for member in ("active", "visible"):
            first[member] = first[member] or pane[member]
    for row in panes.values():
        row["columns"] = [columns[row["workspace"]][index] for index in sorted(columns[row["workspace"]])]
    return list(panes.values())


def _session(line: list[str]) -> int:
    return int(line[3][1:])


def _read_pane(
    prefix: str, line: list[str], columns: dict[str, dict[int, dict[str, Any]]], own: str | None
) -> Pane:
    _, pane, pid, session, index, shown, chosen, zoomed, attached, activity, window, name, title, cwd = line
    workspace, is_shown, is_chosen, is_zoomed = prefix + session, shown == "1", chosen == "1", zoomed == "1"
    column = {"index": int(index), "title": window, "active": is_shown}
    columns.setdefault(workspace, {})[int(index)] = column
    return {
        "place": prefix + pane,
        "workspace": workspace,
        "workspace_title": name,
        "cwd": cwd,
        "title": title,
        "active": is_shown and is_chosen,
        "visible": int(attached or 0) > (session == own) and is_shown and (is_chosen or not is_zoomed),
        "zoomed": is_zoomed and is_chosen,
        "activity": int(activity or 0),
        "pid": int(pid) if pid.isdecimal() else 0,
    }


async def focus(place: str, client: str | None) -> None:
    """Bring a pane to the front: its window, the pane, and for `client` (a tty) its session. Raises Refused.

    Without a client, the one used last. Where the client is not there, nothing is changed.
    """
    pane = _parts(place)[2]
    if client is None:
        client = await _last_client(place)
    shown = ("switch-client", "-c", word(client), "-t", pane, ";") if client else ()
    await on_pane(place, *shown, "select-window", "-t", pane, ";", "select-pane", "-t", pane)


async def switch(place: str, client: str | None = None, beside: str = "") -> bool:
    """Show the session of a place, or one itself, on a client; return whether there is one. Raises Refused.

    Without a client, the one used last, if can be of those that look at `beside`, a session's place.
    """
    if client is None:
        client = await _last_client(place, beside)
    if client:
        await command(place, "switch-client", "-c", word(client), "-t", _parts(place)[2])
    return bool(client)


async def _last_client(place: str, beside: str = "") -> str:
    """Return the name of the client that was used last; a control client, our own too, is none."""
    session = beside.rpartition(":")[2]
    form = "#{client_control_mode} #{session_id} #{client_activity} #{client_name}"
    lines = [line.split(" ", 3) for line in (await command(place, "list-clients", "-F", form)).splitlines()]
    people = [line for line in lines if len(line) == 4 and line[0] == "0"]
    used = [(line[1] == session, int(line[2] or 0), line[3]) for line in people]
    return max(used)[2] if used else ""


async def split(place: str, direction: str, program: str | None = None) -> str:
    """Split a pane and return the place of the new one, which does not take the focus. Raises Refused.

    It starts in that pane's directory; a window that is zoomed stays so. program: a shell command to run
    there instead of the user's shell.
    """
    zoomed, here = await facts(place, "#{window_zoomed_flag}", "#{pane_current_path}")
    keep = ("-Z",) if zoomed == "1" else ()  # where it is not zoomed, that would zoom it
    where = ("-d", *keep, DIRECTIONS[direction], "-t", _parts(place)[2], *_in_directory(here))
    words = [word(program)] if program else []
    made = await command(place, "split-window", *where, "-P", "-F", "#{pane_id}", *words)
    return server_of(place) + made.strip()


def _in_directory(path: str) -> tuple[str, ...]:
    """Return the words that have something start in a directory, none where that is not known.

    tmux would expand a format with another pane than the one that is meant.
    """
    return ("-c", word(literal(path))) if path else ()


async def close(place: str) -> None:
    """Close a pane; another one that is zoomed stays so. Raises Refused."""
    zoomed, active = await facts(place, "#{window_zoomed_flag}", _ACTIVE)
    pane = _parts(place)[2]
    again = (";", "resize-pane", "-Z", "-t", active) if zoomed == "1" and active != pane else ()
    await command(place, "kill-pane", "-t", pane, *again)


async def send_text(place: str, text: str) -> None:
    """Type a text into a pane, a line's end as Enter. Raises Refused.

    It goes as tmux's input into a buffer and from there to the pane: no key binding or copy mode takes it,
    nobody sees it in a process list.
    """
    typed = text.replace("\r\n", "\r").replace("\n", "\r")
    name, pane = f"seance-{os.getpid()}-{next(_buffers)}", _parts(place)[2]
    words = ("load-buffer", "-b", name, "-", ";", "paste-buffer", "-d", "-r", "-b", name, "-t", pane)
    try:
        await on_pane(place, *words, text=typed)
    except Refused:
        with contextlib.suppress(Refused):  # there is none
            await command(place, "delete-buffer", "-b", name)
        raise


async def send_key(place: str, key: Key) -> None:
    """Press a key in a pane. Raises Refused, also in copy mode, which would take the key itself."""
    if key.character:
        await send_text(place, key.character)
        return
    pane = _parts(place)[2]
    if (await on_pane(place, "display-message", "-p", "-t", pane, "#{pane_in_mode}")).strip() != "0":
        raise Refused("the pane is in copy mode, which would take the key")
    await command(place, "send-keys", "-t", pane, word(key.name))


async def read_screen(place: str, lines: int | None = None) -> Screen:
    """Return a pane's screen; with `lines`, the last so many of it and what has gone over its top.

    Raises Refused.
    """
    _, pid, pane = _parts(place)
    facts = "#{pid} #{pane_id} #{cursor_y} #{cursor_x} #{pane_height} #{pane_width}"
    above = ("-S", f"-{lines}") if lines else ()
    output = await command(
        place, "display-message", "-p", "-t", pane, facts, ";", "capture-pane", "-p", "-t", pane, *above
    )
    head, _, text = output.partition("\n")
    found = head.split()
    if found[:2] != [pid, pane] or len(found) != 6:
        raise Gone("the pane is gone")
    row, column, height, width = map(int, found[2:])
    return Screen(last_lines(text, lines or height), row, column, height, width)


async def last_pane(place: str) -> str:
    """Go back to the pane used before in the session of a place; return that pane's place. Raises Refused.

    Where the window has none, to the window used before.
    """
    _, pid, name = _parts(place)
    if (await command(place, "display-message", "-p", "-t", name, "#{pid}")).strip() != pid:
        raise Gone("the session is gone")
    session = (await command(place, "display-message", "-p", "-t", name, "#{session_id}")).strip()
    if not session:
        raise Gone("the session is gone")
    try:
        await command(place, "last-pane", "-t", f"{session}:")
    except Refused:
        await command(place, "last-window", "-t", session)
    shown = await command(place, "display-message", "-p", "-t", f"{session}:", "#{pane_id}")
    return server_of(place) + shown.strip()


async def window_panes(place: str) -> list[str]:
    """Return the places of the panes of a pane's window, in their order. Raises Refused."""
    found = await on_pane(place, "list-panes", "-t", _parts(place)[2], "-F", "#{pane_id}")
    return [server_of(place) + pane for pane in found.split()]


async def move(place: str, order: list[str], index: int) -> None:
    """Move a pane to an index among the panes of its window, `order`. Raises Refused.

    The layout stays, and which pane is active, was so before, and is zoomed: with -d it is the position that
    stays active, and without it the target is made so, which changes nothing where it is.
    """
    zoomed, active = await facts(place, "#{window_zoomed_flag}", _ACTIVE)
    panes = [_parts(other)[2] for other in order]
    pane = _parts(place)[2]
    at = panes.index(pane)
    words: list[str] = []
    while at != index:
        step = at + (1 if index > at else -1)
        source, target = (panes[step], pane) if pane == active else (pane, panes[step])
        words += [";"] if words else []
        words += ["swap-pane", *(["-Z"] if zoomed == "1" else []), *(["-d"] if target != active else [])]
        words += ["-s", source, "-t", target]
        panes[at], panes[step] = panes[step], pane
        at = step
    if words:
        await command(place, *words)


async def new_session(place: str, title: str | None) -> tuple[str, str]:
    """Make a session on the server of a pane, shown to nobody yet; return the places of it and its pane.

    It starts in that pane's directory; its environment is the server's. Raises Refused.
    """
    [here] = await facts(place, "#{pane_current_path}")
    named = ("-s", word(literal(title))) if title else ()
    form = ("-P", "-F", "#{session_id} #{pane_id}")
    made = await command(place, "new-session", "-d", "-E", *named, *_in_directory(here), *form)
    session, pane = made.split()
    return server_of(place) + session, server_of(place) + pane
