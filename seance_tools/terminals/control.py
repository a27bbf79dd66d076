"""A tmux server's control client (tmux(1), "CONTROL MODE"): it tells of every change, so nothing is polled.

tmux tells a client that is attached of everything. Such a client counts, though: in `list-clients` and
`#{session_attached}`, for `destroy-unattached` and `exit-unattached`, in where a plain `tmux attach` goes, as
one that has the focus; and what a program in its session means for the person's terminal (`display-message`,
`display-popup`, `switch-client`, `detach-client`, a bell) would come to it. So this one attaches only while
no person is attached to the server at all, and then where it is felt least:
- To the session used longest ago: a plain `tmux attach` prefers the others, and of those the one it would
  have taken. It leaves at once when the first person comes, and comes back when the last has gone.
- Not with `focus-events` on, where the pane would be told that it has the focus; not to a session with
  `destroy-unattached` or a server with `exit-unattached`, which would not end. When that is switched on
  later, it leaves within a second.
- Else it listens, as a client that waits for a signal which nobody gives: attached to nothing, counted and
  listed nowhere. tmux 3.3a tells it of sessions made, renamed and ended, of windows and panes that become
  active, of modes and buffers, and of clients that leave. It does not tell it of clients that come or go to
  another session, nor of titles, directories, zoom, a window's name, or a pane that is made, moved or ended
  without being active; those are found with the next list. Every report from a pane brings one, everything
  that is done to a pane here, and the end of a pane's first process.
It has no part in the sizes of windows. The user's hooks `client-attached` and `client-session-changed` fire
when it attaches.

Tried, and not done: a client that suspends itself counts nowhere, but tmux 3.3a crashes when its session is
destroyed by `destroy-unattached`. A session of its own would be seen in every list of sessions.

Its end is that of its standard input: it goes with the broker, whatever ends that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
from collections.abc import Callable
from typing import NamedTuple

from seance_tools.terminals.run import SECONDS, Refused, environment
from seance_tools.terminals.tmux_server import SEPARATOR, command, socket_of

# Of these messages a change of what is shown follows, or of who looks at it.
HINTS = frozenset(
    {
        "%client-detached",
        "%client-session-changed",
        "%layout-change",
        "%session-changed",
        "%session-renamed",
        "%session-window-changed",
        "%sessions-changed",
        "%subscription-changed",
        "%unlinked-window-add",
        "%unlinked-window-close",
        "%unlinked-window-renamed",
        "%window-add",
        "%window-close",
        "%window-pane-changed",
        "%window-renamed",
    }
)
# Of these it follows that it may have to attach elsewhere.
AUDIENCE = frozenset(
    {
        "%client-detached",
        "%client-session-changed",
        "%session-changed",
        "%sessions-changed",
        "%subscription-changed options",
    }
)
OLDEST = (3, 2)  # the first tmux with attach-session -f, -N and subscriptions
# Of what no message tells, tmux itself compares once a second: panes of other sessions, titles, directories.
# Some 1 ms of tmux's time for 100 panes.
_PANES = (
    "#{S:#{session_id}#{session_attached}"
    "#{W:#{window_id}#{window_active}#{window_zoomed_flag}"
    "#{P:#{pane_id}#{pane_active}#{pane_title}#{pane_current_path}}}}"
)
_OPTIONS = "#{focus-events}#{exit-unattached}#{S:#{destroy-unattached}}"
SUBSCRIBE = f'refresh-client -B "panes::{_PANES}" -B "options::{_OPTIONS}"'
READ_BYTES = 1 << 16
_CHANNEL = "seance-listens"  # nobody signals it


class Session(NamedTuple):
    """A session: its id, how many look at it, when it was used last (seconds since 1970), whether it stays.

    A session that does not stay is destroyed when its last client leaves.
    """

    id: str
    attached: int
    used: int
    stays: bool = True


class Server(NamedTuple):
    """What decides how to listen to a tmux server."""

    version: tuple[int, int]
    focus_events: bool
    exit_unattached: bool
    sessions: tuple[Session, ...]

    def _allowed(self) -> list[Session]:
        """Return the sessions that a client may be attached to; none while a person is attached anywhere."""
        if self.version < OLDEST or self.exit_unattached or self.focus_events:
            return []
        if any(row.attached for row in self.sessions):
            return []
        return [row for row in self.sessions if row.stays]

    def fits(self, session: str | None) -> bool:
        """Return whether a client attached to `session`, or to none, is attached rightly."""
        allowed = [row.id for row in self._allowed()]
        return session in allowed if allowed else session is None

    def choose(self) -> str | None:
        """Return the session to attach to, None to listen only."""
        allowed = self._allowed()
        return min(allowed, key=lambda row: row.used).id if allowed else None


async def look(place: str, own: str | None = None) -> Server | None:
    """Return what there is to know of the server of `place`, None where it does not answer.

    own: the session that its control client is attached to, which does not count.
    """
    pid = socket_and_pid(place)[1]
    form = SEPARATOR.join(
        (
            *("#{pid}", "#{version}", "#{focus-events}", "#{exit-unattached}"),
            *("#{session_id}", "#{session_attached}", "#{session_activity}", "#{destroy-unattached}"),
        )
    )
    with contextlib.suppress(Refused):
        lines = (await command(place, "list-sessions", "-F", form)).replace("\\037", SEPARATOR).splitlines()
        return read_server([line for line in lines if line.startswith(pid + SEPARATOR)], own)
    return None


def socket_and_pid(place: str) -> tuple[str, str]:
    """Return the socket and the process id of the server of a place."""
    socket = socket_of(place)
    return socket, place.rpartition(":")[0].rsplit(",", 2)[1]


def read_server(lines: list[str], own: str | None = None) -> Server | None:
    """Return what `look` has asked for, None where that is nothing."""
    rows = [line.split(SEPARATOR) for line in lines]
    rows = [row for row in rows if len(row) == 8]
    if not rows:
        return None
    numbers = re.findall("[0-9]+", rows[0][1])[:2]
    version = (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else (0, 0)
    sessions = tuple(
        Session(row[4], int(row[5] or 0) - (row[4] == own), int(row[6] or 0), _is_off(row[7])) for row in rows
    )
    return Server(version, not _is_off(rows[0][2]), not _is_off(rows[0][3]), sessions)


def _is_off(value: str) -> bool:
    return value in ("0", "off", "")


def arguments(socket: str, session: str | None) -> list[str]:
    """Return the command line of a control client."""
    if session is None:
        return ["tmux", "-u", "-S", socket, "-C", "wait-for", _CHANNEL]
    attach = ("attach-session", "-f", "ignore-size,no-output", "-t", session)
    return ["tmux", "-N", "-u", "-S", socket, "-C", *attach]


class Reader:
    """Reads what a control client prints: messages, and blocks that answer commands."""

    def __init__(self, heard: Callable[[str], None], answered: Callable[[str, bool], None]) -> None:
        """heard: called with each message. answered: with a block's text, and whether it is good."""
        self._heard = heard
        self._answered = answered
        self._rest = b""
        self._block: list[str] | None = None
        self._mark = ""  # what the block began with: time, number, and flags; its end has the same

    def feed(self, data: bytes) -> None:
        """Take what has come."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(line.decode(errors="replace").removesuffix("\r"))

    def _line(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        if self._block is None:
            if name == "%begin":
                self._block, self._mark = [], rest
            elif name.startswith("%"):
                self._heard(line)
        elif name in ("%end", "%error") and rest == self._mark:
            block, self._block = self._block, None
            if self._mark.endswith(" 1"):  # else it is not of a command that came by the input
                self._answered("\n".join(block), name == "%end")
        else:
            self._block.append(line)


def is_hint(message: str) -> bool:
    """Return whether a change of what is shown follows from a message, or of who looks at it."""
    return message.split(" ", 1)[0] in HINTS


def is_about_audience(message: str) -> bool:
    """Return whether it follows from a message that the client may have to attach elsewhere."""
    words = message.split(" ", 2)
    return words[0] in AUDIENCE or " ".join(words[:2]) in AUDIENCE


def is_somebody(message: str) -> bool:
    """Return whether a message says that another client has come, or gone to another session."""
    return message.startswith("%client-session-changed ")


class Client:
    """One control client, from `start` to `close`.

    heard_of: set once the server knows it. ended: set once it says nothing any more. session: the id of the
    one it is attached to, None for none.
    """

    def __init__(self, heard: Callable[[str], None]) -> None:
        self.heard_of = asyncio.Event()
        self.ended = asyncio.Event()
        self._attached = asyncio.Event()
        self.session: str | None = None
        self._heard = heard
        self._reader = Reader(self._hear, self._answer)
        self._waiting: list[asyncio.Future[str | None]] = []
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, place: str, session: str | None) -> None:
        """Start it for the server of `place`. Raises OSError."""
        self._process = subprocess.Popen(
            arguments(socket_of(place), session),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(TERM="dumb"),
            start_new_session=True,  # what a terminal sends to the broker's process group is not for it
        )
        self.session = session
        assert self._process.stdout
        asyncio.get_running_loop().add_reader(self._process.stdout, self._readable)

    async def subscribe(self) -> bool:
        """Have tmux tell also of what it has no message for; return whether it does.

        Before it is attached, tmux would refuse.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                await self._attached.wait()
                return await self.ask(SUBSCRIBE) is not None
        return False

    async def ask(self, line: str) -> str | None:
        """Have tmux do a line of commands; return what it printed, None where it did not do it in time.

        Nothing from outside may be in the line.
        """
        if self.ended.is_set() or not self._process or not self._process.stdin or self._process.stdin.closed:
            return None
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        try:
            self._process.stdin.write(line.encode() + b"\n")
            async with asyncio.timeout(SECONDS):  # wait_for may swallow that it is cancelled, until 3.12
                return await answer
        except BrokenPipeError:
            return None
        except TimeoutError:
            self._hang_up()  # the answers that follow would be taken for others
            return None

    async def close(self) -> None:
        """End it, by its own means if it can."""
        if self._process is None:
            return
        self._hang_up()
        try:
            async with asyncio.timeout(SECONDS):
                await self.ended.wait()
        except TimeoutError:
            self._process.kill()
            self._end()
        await asyncio.to_thread(self._process.wait)

    def _hang_up(self) -> None:
        if self._process and self._process.stdin:
            self._process.stdin.close()

    def _readable(self) -> None:
        assert self._process
        assert self._process.stdout
        data = os.read(self._process.stdout.fileno(), READ_BYTES)
        self.heard_of.set()
        if data:
            self._reader.feed(data)
        else:
            self._end()

    def _end(self) -> None:
        """Note its end: nothing is answered any more."""
        if self.ended.is_set():
            return
        self.ended.set()
        self.heard_of.set()  # nobody need wait for them any more
        self._attached.set()
        assert self._process
        assert self._process.stdout
        asyncio.get_running_loop().remove_reader(self._process.stdout)
        self._process.stdout.close()
        for answer in self._waiting:
            if not answer.done():
                answer.set_result(None)
        self._waiting.clear()

    def _hear(self, message: str) -> None:
        words = message.split(" ", 2)
        if words[0] == "%session-changed" and len(words) > 1:  # its session was killed, say
            self.session = words[1]
            self._attached.set()
        self._heard(message)

    def _answer(self, text: str, good: bool) -> None:  # noqa: FBT001 - a callback
        if self._waiting:
            answer = self._waiting.pop(0)
            if not answer.done():
                answer.set_result(text if good else None)
