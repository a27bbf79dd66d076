"""The sidebar's loop: waits for keys, changes, signals and ticks, and draws when something changed."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType

from seance_tools import client
from seance_tools.sidebar.jobs import Jobs
from seance_tools.sidebar.link import Link
from seance_tools.sidebar.screen import Screen, TerminalError
from seance_tools.sidebar.tmux import Sight, Tmux
from seance_tools.state.tables import Tables
from seance_tools.view import (
    QUIT,
    Command,
    Event,
    Frame,
    Row,
    Survey,
    Theme,
    Ui,
    next_tick,
    render,
    say,
    snapshot,
    themed,
    update,
)
from seance_tools.wire import WireError

FRAME_SECONDS = 0.05
FRAME_SHARE = 1 / 100  # of a core for drawing: a frame that took long keeps the next one waiting,
LONGEST_FRAME_SECONDS = 1.0  # but not for longer
NEWS_SECONDS = 0.01  # another state of an agent is drawn so soon after any frame,
NEWS_SHARE = 1 / 10  # though such frames take no more than this of a core
READ_SECONDS = 0.02  # what comes while a frame is waited for is read so often
PLAIN_SECONDS = 1.0  # where every frame is written below the last one
SIGHT_SECONDS = 5.0  # while there is something to draw, tmux is asked so often whether anybody sees it;
LONGEST_SIGHT_SECONDS = 30.0  # where nobody does, less and less often;
CALLED_SECONDS = 0.1  # when it has called, as often as this
PATIENCE = 0.15  # the first frame waits so long for the broker, so that it need not be drawn twice
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
HANDLED = (*ENDING, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)


class Loop:
    """One run of the sidebar; it connects to the broker at `path` at once, while the screen is made ready."""

    def __init__(self, path: str, theme: Theme) -> None:
        self._path = path
        self._theme = theme
        self._ui = Ui()
        self._frame: Frame | None = None
        self._survey = Survey(Tables())
        self._changed = True
        self._config: object = None
        self._wake, self._woken = os.pipe()
        for end in (self._wake, self._woken):
            os.set_blocking(end, False)
        self._jobs = Jobs(self._woken)
        self._link = Link(path, self._jobs, time.monotonic)
        self._screen: Screen
        self._next_frame = 0.0
        self._cost = 0.0  # seconds of CPU that the last frame took
        self._drawn_at = 0.0
        self._news_at = 0.0  # for when a frame was last brought forward
        self._read_at = 0.0
        self._tmux = Tmux(os.environ)
        self._hidden = False
        self._unsure = True  # tmux may say otherwise by now
        self._looking = False  # it has been asked
        self._asking = False  # nothing is drawn before it has answered
        self._asked_at = 0.0
        self._look_at = 0.0  # the time from which it may be asked again
        self._sight_pause = SIGHT_SECONDS
        self._waiting = False  # it has been told to call
        self._ticks_at: float | None = None  # when what is drawn changes by itself
        self._keys_at: float | None = None  # when what the keyboard held back is complete
        self._over = False

    def run(self, screen: Screen) -> None:
        """Show what the agents do until a key or a signal ends it, or the terminal is gone."""
        self._screen = screen
        self._next_frame = time.monotonic() + PATIENCE
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        for number in HANDLED:
            signal.signal(number, _noted)
        try:
            with screen:
                while self._step():
                    pass
        except TerminalError:
            pass  # the pane was closed: that ends it as well as a key
        finally:
            self._link.close()
            self._tmux.close()

    def _step(self) -> bool:
        """Wait for what comes next and act on it; False ends the loop."""
        self._follow_link()
        if self._unsure and not self._looking and time.monotonic() >= self._look_at:
            self._look()
        if self._drawable() and time.monotonic() >= self._next_frame:
            if self._link.connection:
                self._link.receive()
                self._follow_link()
            self._draw()
        self._screen.ring(self._link.ring.take())
        ready = _wait(self._descriptors(), self._timeout())
        going = self._woke() if self._wake in ready else True
        if self._screen.output in ready:
            self._screen.flush()
        if self._link.connection and self._link.connection.fileno() in ready:
            self._link.receive()
            self._read_at = time.monotonic() + READ_SECONDS
        if self._link.arrival and self._link.arrival.fileno() in ready:
            self._link.arrived()
        clock = time.monotonic()
        if self._screen.keyboard in ready:
            going = self._press(self._screen.read()) and going
        elif self._keys_at is not None and clock >= self._keys_at:
            going = self._press(self._screen.settle()) and going
        if self._ticks_at is not None and clock >= self._ticks_at:
            self._tick(clock)
        return going and not self._over

    def _follow_link(self) -> None:
        """Let the link do what is due, and note what it has brought."""
        if not self._hidden:
            self._link.attempt()
        if self._link.changed:
            self._link.changed = False
            self._changed = self._unsure = True
            self._take_config()
        if self._link.news:
            self._link.news = False
            pause = max(self._cost / NEWS_SHARE, FRAME_SECONDS)
            due = max(self._drawn_at + NEWS_SECONDS, self._news_at + pause)
            if due < self._next_frame:
                self._next_frame = self._news_at = due

    def _drawable(self) -> bool:
        return self._changed and not (self._hidden or self._asking or self._screen.behind)

    def _descriptors(self) -> dict[int, int]:
        """Return what to wait for, and for what of it."""
        wanted = {self._wake: select.POLLIN}
        if self._screen.keyboard is not None:
            wanted[self._screen.keyboard] = select.POLLIN
        if self._screen.behind:
            wanted[self._screen.output] = select.POLLOUT
        reading = not self._drawable() or time.monotonic() >= self._read_at
        if self._link.connection and reading:
            wanted[self._link.connection.fileno()] = select.POLLIN
        if self._link.arrival and not self._hidden:
            wanted[self._link.arrival.fileno()] = select.POLLIN
        return wanted

    def _timeout(self) -> float | None:
        """Return for how long nothing will be due by itself, None for ever."""
        times = [self._keys_at, self._look_at if self._unsure and not self._looking else None]
        if not self._hidden:
            times += [self._ticks_at, self._link.due]
        if self._drawable():
            times.append(self._next_frame)
            if self._link.connection and time.monotonic() < self._read_at:
                times.append(self._read_at)
        due = [moment for moment in times if moment is not None]
        return max(min(due) - time.monotonic(), 0.0) if due else None

    def _tick(self, clock: float) -> None:
        """Draw an age anew or take a message away; ask tmux first, unless it answered just now."""
        self._ticks_at = None
        self._changed = True
        if self._tmux.pane and clock - self._asked_at > SIGHT_SECONDS and not self._hidden:
            self._asking = self._unsure = True
            self._look_at = clock

    def _look(self) -> None:
        """Ask tmux whether anybody sees the pane, and whether it is the last one of its window."""
        self._unsure = False
        self._asked_at = time.monotonic()
        self._look_at = self._asked_at + self._sight_pause
        if self._tmux.pane and self._screen.styled:
            hidden, self._looking = self._hidden, True
            self._jobs.run(lambda: self._tmux.look(hidden=hidden), self._looked)
        else:
            self._asking = False

    def _looked(self, sight: Sight | None, _failure: Exception | None) -> None:
        self._looking = self._asking = False
        self._over = bool(sight and sight.alone)
        self._hidden = bool(sight and sight.hidden)
        if not self._hidden:
            self._sight_pause = SIGHT_SECONDS
            return
        self._sight_pause = min(self._sight_pause * 2, LONGEST_SIGHT_SECONDS)
        # The hooks do not tell of swap-window: with something to draw it asks now and then all the same.
        self._changed = self._changed or self._ticks_at is not None
        self._unsure = self._unsure or self._changed
        self._ticks_at = None
        if not self._waiting:
            self._waiting = True
            self._jobs.run(self._tmux.wait, self._called)

    def _called(self, _result: object, _failure: Exception | None) -> None:
        """Ask at once, as the pane may be seen now."""
        self._waiting = False
        self._unsure = True
        self._sight_pause = SIGHT_SECONDS
        self._look_at = self._asked_at + CALLED_SECONDS

    def _render(self) -> Frame:
        if self._survey.tables is not self._link.tables:
            self._survey = Survey(self._link.tables)
        link = self._link
        size = self._screen.size
        return render(link.tables, size, self._ui, self._theme, time.time(), link.trouble, self._survey)

    def _draw(self) -> None:
        begun = time.thread_time()
        if self._screen.styled:
            self._frame = self._render()
            self._screen.draw(self._frame.rows)
            self._cost = time.thread_time() - begun
            pause = min(max(FRAME_SECONDS, self._cost / FRAME_SHARE), LONGEST_FRAME_SECONDS)
        else:
            self._screen.draw(_plain(self._link, self._screen.size[0], self._theme, time.time()))
            pause = PLAIN_SECONDS
        self._changed = False
        self._drawn_at = time.monotonic()
        self._next_frame = self._drawn_at + pause
        self._ticks_at = self._next_tick()

    def _next_tick(self) -> float | None:
        """Return when what is on the screen changes by itself: an age, or a message that goes."""
        if not self._frame or not self._screen.styled:
            return None
        now = time.time()
        ticks = [next_tick(self._frame.sinces, now), self._ui.until - now if self._ui.until > now else None]
        waits = [tick for tick in ticks if tick is not None]
        return time.monotonic() + min(waits) if waits else None

    def _woke(self) -> bool:
        """Act on the signals and results that have come; False ends the loop."""
        arrived = set(os.read(self._wake, 4096))
        if arrived & set(ENDING):
            return False
        if signal.SIGTSTP in arrived:
            self._suspend()
            self._changed = True
        elif signal.SIGCONT in arrived:
            self._screen.enter()
            self._changed = True
        if signal.SIGWINCH in arrived:
            self._screen.resized()
            self._changed = self._unsure = True
            self._look_at = 0.0
        self._jobs.deliver()
        if self._link.trouble is None and self._frame is None:
            self._next_frame = 0.0
        return True

    def _suspend(self) -> None:
        """Stop as the shell's job, with the terminal given back; go on when continued."""
        self._screen.leave()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, _noted)
        self._screen.enter()

    def _press(self, events: list[Event]) -> bool:
        """Act on the keys and clicks that have come; False ends the loop."""
        patience = self._screen.patience()
        self._keys_at = None if patience is None else time.monotonic() + patience
        if events:
            self._hidden = self._asking = False
        for event in events:
            if self._frame is None or self._frame.ui is not self._ui:  # a key before it changed the list
                self._frame = self._render()
            self._ui, command = update(self._ui, event, self._frame, time.time(), self._theme.keys)
            if command == QUIT:
                return False
            if command:
                self._jobs.run(self._job(command), self._done)
            self._changed = True
        self._next_frame = min(self._next_frame, time.monotonic() + FRAME_SECONDS)
        return True

    def _job(self, command: Command) -> Callable[[], object]:
        def ask() -> Command:
            params = command.params
            if command.method == "surface.focus":
                seen_on = self._tmux.client()
                params = {**params, "client": seen_on} if seen_on else params
            with client.Connection(self._path) as connection:
                connection.request(command.method, params)
            return command

        return ask

    def _done(self, command: Command | None, failure: Exception | None) -> None:
        if command and command.method == "surface.focus" and self._tmux.popup:
            self._over = True  # it would stand before what was jumped to
        if failure:
            message = failure.message if isinstance(failure, WireError) else str(failure)
            self._ui = say(self._ui, message, time.time())
            self._changed = True

    def _take_config(self) -> None:
        """Take over what the broker says of config.toml, when that has changed."""
        row = self._link.tables.get("config")
        if row is self._config or row is None:
            return
        self._config = row
        self._theme = themed(self._theme, row["values"])
        self._screen.paint(self._theme.styles, links=self._theme.links)
        if row["problems"]:
            self._ui = say(self._ui, row["problems"][0], time.time())


def _noted(number: int, frame: FrameType | None) -> None:
    """Do nothing: the wake-up pipe has the signal, and the loop acts on it."""


def _wait(wanted: dict[int, int], seconds: float | None) -> set[int]:
    poll = select.poll()
    for descriptor, events in wanted.items():
        poll.register(descriptor, events)
    return {descriptor for descriptor, _ in poll.poll(None if seconds is None else seconds * 1000 + 1)}


def _plain(link: Link, columns: int, theme: Theme, now: float) -> list[Row]:
    """Return everything as rows without styles, for a terminal that can only be written on."""
    trouble = link.trouble
    if trouble:
        return [((f"{trouble.title}: {trouble.reason}" if trouble.reason else trouble.title, ""),)]
    return snapshot(link.tables, columns - 1, theme, now)
