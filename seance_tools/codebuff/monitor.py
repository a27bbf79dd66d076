"""The monitor: the process that stays beside a session, watches its logs and reports what it does."""

from __future__ import annotations

import math
import os
import select
import time
from typing import Any

from seance_tools import child, config, names, watch
from seance_tools.activity import Activity
from seance_tools.agents import Agent
from seance_tools.codebuff import pid_variable
from seance_tools.codebuff.logs import RUN_STATE, Logs, saved_outcome
from seance_tools.codebuff.owners import Owners
from seance_tools.codebuff.places import Place, place_of
from seance_tools.codebuff.reporter import Reporter
from seance_tools.codebuff.rules import ACTIVITY, AUTO, Rules, Verdict
from seance_tools.liveness import start_time
from seance_tools.options import Options
from seance_tools.turns import FORMATS

REST_SECONDS = 0.2  # after a look at the logs, so that a busy agent does not keep the monitor busy


def main(agent: Agent, facts: dict[str, Any], pidfd: int, program: str, *, joins: bool = False) -> None:
    """Watch a session until the agent ends; at once over where the configuration switches it off.

    facts: params of agent.hook that hold for the session. pidfd: of the agent. program: who complains. joins:
    the session began long ago, and what it did since then is not to be told. Raises nothing; this is the
    boundary.
    """
    try:
        options = config.read(os.environ)
        if not options.values.get(f"{agent.key}-hooks", True):
            return
        base = {"agent": agent.key, "source": ACTIVITY, "reporter_pid": os.getpid(), **facts}
        autostart = options.values["broker.autostart"]
        reporter = Reporter(program, names.socket_path(os.environ), base, autostart=autostart)
        teller = Teller(reporter)
        rules = _rules(agent, options, joins=joins)
        if not joins:
            teller.tell(rules.verdict())
        for problem in options.problems:
            reporter.note(problem)
        reporter.deliver(time.monotonic())
        place = place_of(agent, options.logs.get(agent.key, ""), os.environ)
        if place is None:
            reporter.note(f"where {agent.key} has its logs is not known: set agents.{agent.key}.log")
        owners = Owners(facts["pid"], pid_variable(agent))
        sight = Sight(place, owners, reporter, _begun(facts["pid"])) if place else None
        Monitor(pidfd, teller, rules, sight).run(joins=joins)
    except Exception as error:  # noqa: BLE001 - the process ends here, and nobody would see a traceback
        names.complain(program, error)


def _rules(agent: Agent, options: Options, *, joins: bool) -> Rules:
    def option(name: str) -> Any:
        return options.values.get(f"{agent.key}.{name}", options.values[f"codebuff.{name}"])

    form = FORMATS.get(agent.log_format)
    detection = option("detection") if form else AUTO
    activity = Activity(time.monotonic(), option("idle-timeout"), running=not joins)
    return Rules(activity, form() if form else None, detection)


def _begun(pid: int) -> float:
    """Return when a process began, in seconds since 1970."""
    ticks = start_time(pid)
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.time() - since_boot + (since_boot if ticks is None else ticks / os.sysconf("SC_CLK_TCK"))


class Teller:
    """Tells the reporter of a session what has changed since the last verdict."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self._last = Verdict("", "")
        self._at = 0.0

    def tell(self, verdict: Verdict) -> None:
        """Take the present verdict."""
        last, self._last = self._last, verdict
        if verdict == last:
            return
        # Two clocks: a report that seems older than the one before it would be ignored.
        self._at = max(verdict.at or time.time(), self._at)
        said, before = ((one.event, one.source, one.payload, one.since) for one in (verdict, last))
        if said != before:
            self.reporter.state(verdict.event, self._at, source=verdict.source, **dict(verdict.payload))
        if verdict.doing != (last.doing if said == before else ""):
            self.reporter.doing(verdict.doing, self._at, source=verdict.source)
        if verdict.subagents != last.subagents:
            self.reporter.subagents(verdict.subagents, self._at, source=verdict.source)
        if verdict.event != last.event:
            self.reporter.deliver(time.monotonic())  # the next may be only a line away


class Sight:
    """The logs of one session: which were written, and the lines that were."""

    def __init__(self, place: Place, owners: Owners, reporter: Reporter, begun: float) -> None:
        self.owners = owners
        self.watcher = watch.Watcher(place.root, (place.suffix, RUN_STATE), reporter.note)
        self.logs = Logs(owners, set(self.watcher.files()), begun)
        self._place = place

    def open(self) -> list[str]:
        """Return the logs that the session has open."""
        files = self.watcher.files()
        held = self.owners.held(self._place.suffix)
        return [path for path in files if files[path][:2] in held and self._place.has(path)]

    def changed(self) -> tuple[list[str], list[str]]:
        """Return the session's logs that were written, and the saves of run-state.json beside any log."""
        changed = self.watcher.changed()
        saves = [path for path in changed if os.path.basename(path) == RUN_STATE]
        files = self.watcher.files()
        ours = []
        for log in changed:
            if log in saves or not self._place.has(log):
                continue
            if self.owners.is_ours(log):
                ours.append(log)
            elif log in files:
                _, inode, size, _ = files[log]
                self.logs.pass_over(log, inode, size)
        return ours, saves


class Monitor:
    """Watches the logs of one session and says what it does, until the agent ends.

    pidfd: of the agent. sight: None where it has no logs. It sleeps without a timeout while nothing can
    change by itself.
    """

    def __init__(self, pidfd: int, teller: Teller, rules: Rules, sight: Sight | None) -> None:
        self._pidfd = pidfd
        self._teller = teller
        self._reporter = teller.reporter
        self._rules = rules
        self._sight = sight
        self._chat = ""  # the directory of the log in which the last turn began
        self._writer = (0, -1)  # the process that wrote the log of the open turn, and its pidfd
        self._rest_until = 0.0

    def run(self, *, joins: bool = False) -> None:
        """Report what happens, and at last the end. joins: not what has happened up to now."""
        if self._sight:
            for log in self._sight.open():
                self._read(log, told=not joins)
            self._take_save(os.path.join(self._chat, RUN_STATE))
            self._follow_writer()
        self._teller.tell(self._rules.verdict())
        while True:
            ended, lost = self._wait()
            if ended:
                break
            written = self._look()
            if lost and self._writer[1] >= 0:
                self._rules.lost(self._writer[0])
            self._teller.tell(self._rules.advance(time.monotonic(), written=written))
            self._follow_writer()
            self._reporter.deliver(time.monotonic())
        if self._sight:
            self._sight.watcher.close()
        self._reporter.end(time.time())

    def _look(self) -> bool:
        """Read what was written; returns whether a log of the session was."""
        if self._sight is None:
            return False
        logs, saves = self._sight.changed()
        for log in logs:
            self._read(log, told=True)
        for path in saves:
            self._take_save(path)
        return bool(logs)

    def _take_save(self, path: str) -> None:
        """Read a run-state.json, if it is the open chat's."""
        turns = self._rules.turns
        if turns and os.path.dirname(path) == self._chat:
            saved = saved_outcome(path)
            if saved and turns.saved(*saved):
                self._teller.tell(self._rules.verdict())

    def _read(self, log: str, *, told: bool) -> None:
        """Read the lines of a log. told: tell of every state in them, not of the last one only."""
        turns = self._rules.turns
        if self._sight is None or turns is None:
            return
        for line in self._sight.logs.read(log):
            since = turns.turn.since
            turn = turns.read(line)
            if turn and turn.turn_open and turn.since != since:
                self._chat = os.path.dirname(log)
            if turn and told:
                self._teller.tell(self._rules.verdict())

    def _follow_writer(self) -> None:
        """Keep a pidfd of the process whose turn is open: a launcher may replace its child at any time."""
        turns = self._rules.turns
        number = turns.pid if turns and turns.turn.turn_open and turns.pid else 0
        pid = self._sight.owners.writer(number) if self._sight and number else 0
        if pid == self._writer[0]:
            return
        if self._writer[1] >= 0:
            os.close(self._writer[1])
        self._writer = (pid, -1)
        if pid:
            try:
                self._writer = (pid, child.open_pidfd(pid))
            except OSError:  # it has ended already
                self._rules.lost(pid)
                self._teller.tell(self._rules.verdict())
                self._writer = (0, -1)

    def _wait(self) -> tuple[bool, bool]:
        """Sleep until there is something to do; returns whether the agent, or the log's writer, ended."""
        now = time.monotonic()
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        timeouts = [self._rules.timeout(now), self._reporter.timeout(now)]
        inotify = self._sight.watcher.fileno() if self._sight else -1
        if self._sight:
            timeouts.append(self._sight.watcher.timeout())
        if now < self._rest_until:
            timeouts.append(self._rest_until - now)
        elif inotify >= 0:
            poller.register(inotify, select.POLLIN)
        for descriptor in (self._reporter.fileno(), self._writer[1]):
            if descriptor >= 0:
                poller.register(descriptor, select.POLLIN)
        seconds = min((timeout for timeout in timeouts if timeout is not None), default=None)
        milliseconds = None if seconds is None else math.ceil(seconds * 1000)
        ready = {descriptor for descriptor, _ in poller.poll(milliseconds)}
        if inotify in ready:
            self._rest_until = time.monotonic() + REST_SECONDS
        if self._reporter.fileno() in ready:
            self._reporter.hear(time.monotonic())
        return self._pidfd in ready, self._writer[1] in ready
