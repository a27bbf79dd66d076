"""What the files of the spool report: a request each, with the process of the agent that it is about."""

from __future__ import annotations

import logging

from seance_tools import lifecycle, liveness, spoolfile, terminals
from seance_tools.agents import agent_named
from seance_tools.spool import Content, OddFile
from seance_tools.state.tables import Row
from seance_tools.wire import WireError

log = logging.getLogger("seance-broker")

Found = tuple[int | None, bool]  # an agent's process id, whether any of its processes lives


class Reports:
    """Reads files' contents; what does not count is logged, and counted in `counters`."""

    def __init__(self, counters: Row) -> None:
        self._counters = counters
        self._agents: dict[tuple[tuple[spoolfile.Process, ...], str, int | None], Found] = {}

    def forget(self) -> None:
        """Forget which processes were there; they are looked at anew."""
        self._agents.clear()

    def read(self, content: Content) -> spoolfile.Report | None:
        """Return the report of a file, None where it does not count. Raises OddFile, WireError."""
        name = content.entry.name
        try:
            report = spoolfile.parse(content.data, content.entry.modified / 1e9, whole=content.whole)
        except ValueError as error:
            raise OddFile(str(error)) from None
        if report.problem:
            self._counters[report.problem] += 1
            log.warning("spool: %a has a payload that is %s", name, report.problem)
        if report.request.method == spoolfile.HOOK and not self._add_process(report):
            self._counters["ended"] += 1
            log.info("spool: %a does not count: its process has ended", name)
            return None
        return report

    def _add_process(self, report: spoolfile.Report) -> bool:
        """Add the agent's process id to a report; returns whether the report counts.

        Where nothing lives any more that had to do with it, it counts unless it says that the agent is alive.
        """
        params = report.request.params
        if terminals.elsewhere(report.request.caller.get("env") or {}):
            return True  # its processes are another machine's
        agent = agent_named(params["agent"])
        question = (report.processes, agent.key, report.agent_pid)
        if question not in self._agents:
            try:
                found = liveness.find_agent(report.processes, agent.binaries, report.agent_pid)
            except OSError as error:
                raise WireError("busy", f"processes cannot be looked at: {error.strerror}") from None
            self._agents[question] = found
        pid, alive = self._agents[question]
        if pid is not None:
            params["pid"] = pid
        if alive or not report.processes:
            return True
        meaning = lifecycle.read(agent, params["event"], params["payload"], params["at"])
        if meaning is None:
            return True
        state = lifecycle.TRANSITIONS.get(meaning.event)
        return state not in ("running", "needs_input") and meaning.event not in lifecycle.OPENING
