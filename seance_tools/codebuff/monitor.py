"""The monitor: the process that stays beside a session, watches its logs and reports what it does."""

from __future__ import annotations

import math
import os
import select
import time
from typing import Any

from seance_tools import config, names, watch
from seance_tools.activity import RUNNING, Activity
from seance_tools.agents import Agent
from seance_tools.codebuff.reporter import Reporter

REST_SECONDS = 0.2  # after a look at the logs, so that a busy agent does not keep the monitor busy


def main(agent: Agent, facts: dict[str, Any], pidfd: int, variable: str) -> None:
    """Watch a session until the agent ends; at once over where the configuration switches it off.

    facts: params of agent.hook that hold for the session. pidfd: of the agent. variable: the environment
    variable in which the agent's children find its process id. Raises nothing; this is the boundary.
    """
    program = f"{agent.key}-wrapper"
    try:
        options = config.read(os.environ)
        if not options.values[f"{agent.key}-hooks"]:
            return
        base = {"agent": agent.key, "source": "activity", **facts}
        autostart = options.values["broker.autostart"]
        reporter = Reporter(program, names.socket_path(os.environ), base, autostart=autostart)
        reporter.state(RUNNING, time.time())
        for problem in options.problems:
            reporter.note(problem)
        reporter.deliver(time.monotonic())
        root = os.path.join(names.home(os.environ), agent.log_root)
        watcher = watch.Watcher(root, agent.log_suffix, reporter.note)
        owners = Owners(facts["pid"], variable)
        Monitor(pidfd, reporter, watcher, owners, options.values[f"{agent.key}.idle-timeout"]).run()
    except Exception as error:  # noqa: BLE001 - the process ends here, and nobody would see a traceback
        names.complain(program, error)


class Owners:
    """Tells logs of this session from those of others: all sessions on the machine share one tree of logs.

    pid: of this session's agent. variable: the environment variable that has a session's agent's pid.
    """

    def __init__(self, pid: int, variable: str) -> None:
        self._pid = pid
        self._variable = os.fsencode(variable) + b"="
        self._known: dict[str, tuple[str, bool]] = {}  # log: (link to it of a process that has it open, ours)

    def is_ours(self, log: str) -> bool:
        """Return False only if another wrapped session has the log open and ours has not."""
        link, ours = self._known.get(log, ("", True))
        if link and watch.leads_to(link, log):
            return ours
        self._known.pop(log, None)
        ours = True
        for link, pid in watch.holders(log).items():
            session = self._session(pid)
            if session:
                ours = session == self._pid
                self._known[log] = (link, ours)
                if ours:
                    break
        return ours

    def _session(self, pid: int) -> int:
        """Return the agent's pid of the session that a process belongs to, 0 for none."""
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            return 0
        value = next((item.partition(b"=")[2] for item in variables if item.startswith(self._variable)), b"")
        return int(value) if value.isdigit() else 0


class Monitor:
    """Watches the logs of one session and says by the activity rule what it does, until the agent ends.

    pidfd: of the agent. idle_timeout: seconds of silence that make it idle. It sleeps without a timeout while
    the session is idle.
    """

    def __init__(
        self, pidfd: int, reporter: Reporter, watcher: watch.Watcher, owners: Owners, idle_timeout: float
    ) -> None:
        self._pidfd = pidfd
        self._reporter = reporter
        self._watcher = watcher
        self._owners = owners
        self._activity = Activity(time.monotonic(), idle_timeout)
        self._rest_until = 0.0

    def run(self) -> None:
        """Report what happens, and at last the end."""
        while True:
            self._reporter.deliver(time.monotonic())
            if self._wait():
                break
            written = [log for log in self._watcher.changed() if self._owners.is_ours(log)]
            self._activity, event = self._activity.advance(time.monotonic(), written=bool(written))
            if event:
                self._reporter.state(event, time.time())
        self._watcher.close()
        self._reporter.end(time.time())

    def _wait(self) -> bool:
        """Sleep until there is something to do; returns whether the agent has ended."""
        now = time.monotonic()
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        timeouts = [self._activity.timeout(now), self._watcher.timeout(), self._reporter.timeout(now)]
        if now < self._rest_until:
            timeouts.append(self._rest_until - now)
        elif self._watcher.fileno() >= 0:
            poller.register(self._watcher.fileno(), select.POLLIN)
        if self._reporter.fileno() >= 0:
            poller.register(self._reporter.fileno(), select.POLLIN)
        seconds = min((timeout for timeout in timeouts if timeout is not None), default=None)
        milliseconds = None if seconds is None else math.ceil(seconds * 1000)
        ready = {descriptor for descriptor, _ in poller.poll(milliseconds)}
        if self._watcher.fileno() in ready:
            self._rest_until = time.monotonic() + REST_SECONDS
        if self._reporter.fileno() in ready:
            self._reporter.hear(time.monotonic())
        return self._pidfd in ready
