"""Codebuff's and Freebuff's log.jsonl: which turn runs, what it does, how it ended.

What a line means stands in `_LINES`, by the beginning of its `msg`. A turn runs from the `Sending message`
line to the first end: `Main prompt finished`, the root agent's cancel or failure, the client's failure, or
the save of run-state.json that has the real outcome. Lines of sub-agents never end a turn, and every other
line (offline, advertisements, hovering) changes nothing.

Esc leaves no line at once, so a new prompt can be sent while the run before it has still to end, and its
last lines come within the new turn. They are told by what they carry: steps by the user input id (sub-agents
have it too, with a suffix), the root's cancel and failure by the run id of its steps. What cannot be known:
- `Main prompt finished` carries no id. While an old run has yet to log it, the first such line is taken to be
  that one's, unless the new root's last step said that it ends the turn; if that is wrong, the save of
  run-state.json ends the turn.
- A cancel or failure of a run that never logged a step: the old run's, if that one never logged a step.
- Edits, tools, retries and `Added N credits` carry no id: they are taken to be of the turn that is open.
- After /new the old run's last lines land in the new chat's log, where nothing tells that there was one.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any, ClassVar, NamedTuple

from seance_tools.text import clean
from seance_tools.turns.model import CHARACTERS, Line, Turn, Turns, count, doing, message_of, name, pid_of
from seance_tools.turns.outcome import CANCELLED, FAILED, IN_FLIGHT, UNKNOWN, Outcome
from seance_tools.turns.subagents import Subagents

_REMEMBERED = 16  # ended runs whose late lines are known for what they are
_OUT_OF_CREDITS = 402
COULD_NOT = "the run came to no answer"  # how the rule begins by which such a turn ends
_HEAD = 1024  # of a msg: more is never needed to know the line
_STEP = re.compile(r"(?:Start|End) agent ((\S+) step \d+ \((\S+?)(?:\)| - Prompt: ).*)", re.DOTALL)
_TOOL = re.compile(r"(\S{1,200}) (?:custom )?tool call & result")


class _Said(NamedTuple):
    """A line that is known: its message and data, and what it is called as a rule."""

    msg: str
    data: Line
    rule: str


class _Step(NamedTuple):
    """What the message of a step says. key: the same in its start and its end."""

    key: str
    kind: str
    input: str

    @property
    def agent(self) -> str:
        """The sub-agent's id, which newer releases put after its type at the end of the input id; else ""."""
        return self.input.rpartition(f"-{self.kind}")[2] if f"-{self.kind}" in self.input else ""


class Codebuff(Turns):
    """The log of one Codebuff or Freebuff process; where several write one log, feed it the lines of one.

    Another pid than before is another process: what the last one had open is over.
    """

    def __init__(self) -> None:
        super().__init__()
        self._forget()

    def _forget(self) -> None:
        """Begin as if nothing had been read."""
        self._root = ""  # the root's agent type
        self._input = ""  # the user input id of the turn's root, once a step told it
        self._run = ""  # the run id of the turn's root
        self._old_inputs: deque[str] = deque(maxlen=_REMEMBERED)
        self._old_runs: deque[str] = deque(maxlen=_REMEMBERED)
        self._owed = 0  # old runs that have yet to log that they finished
        self._overlapped = False  # such a run was there when the turn began
        self._nameless = False  # it was the one before, which never logged a step
        self._last_step = False  # the root's last step said that it ends the turn
        self._began = 0.0
        self._counting = False  # every save from now on is of this turn
        self._cancelled = False
        self._spent = 0.0
        self._subagents = Subagents()

    def saved(self, outcome: Outcome, at: float) -> Turn | None:
        """Take a save of run-state.json: its outcome and the modification time of the file that was read.

        The save that belongs to the prompt is made before the `Sending message` line and still has the
        outcome of the turn before; yet it may be looked at after that line. So a save counts only if the file
        is newer than the line (which tells milliseconds), or once the turn has been seen in flight: the
        saves after that one are of this turn.
        """
        before = self.turn
        newer = 0 < round(self._began * 1000) < int(at * 1000)
        self._at = max(self._at, at)
        rule = f"run-state.json: {outcome.kind}"
        if outcome.kind == IN_FLIGHT:
            self._counting = self._counting or self.turn.turn_open
        elif outcome.kind == UNKNOWN or not (newer or self._counting):
            pass
        elif not self.turn.turn_open:
            # A failure that logs nothing but the end of the turn; a cancelled run is no failure.
            if outcome.kind == FAILED and self.turn.state == "idle" and not self._cancelled:
                self._change(state="error", reason=outcome.reason, rule=rule)
        elif outcome.kind == FAILED:
            self._end(rule, outcome.reason)
        elif outcome.kind != CANCELLED or not self._overlapped:  # else it may be the old run's last save
            self._end(rule, cancelled=outcome.kind == CANCELLED)
        return self.turn if self.turn != before else None

    def _take(self, line: Line) -> None:
        self._follow(pid_of(line))
        msg = line.get("msg")
        if not isinstance(msg, str):
            return
        msg = msg[:_HEAD]
        data = line.get("data")
        said = data if isinstance(data, dict) else {}
        for beginning, take in self._LINES:
            if msg.startswith(beginning):
                self.known = True
                take(self, _Said(msg, said, f'log line "{beginning.strip()}"'))
                return
        tool = _TOOL.match(msg)
        if tool:
            self.known = True
            self._do(doing(tool[1], said.get("input")))

    def _follow(self, pid: int | None) -> None:
        if pid is None or pid == self.pid:
            return
        if self.pid is not None:
            if self.turn.state != "idle":
                self._end(f"process {pid} writes the log now")
            self._forget()
        self.pid = pid

    def _end(
        self, rule: str, reason: str | None = None, *, cancelled: bool = False, retire: bool = False
    ) -> None:
        """End the turn, in error if there is a reason.

        retire: late lines of this run are ignored from now on. An end that only the save tells is not so
        sure: should a step of the same run begin after it, the turn goes on.
        """
        if retire:
            self._retire()
        self._cancelled = cancelled
        self._subagents.clear()
        self._change(
            state="idle" if reason is None else "error",
            text="",
            reason=reason or "",
            subagents=frozenset(),
            waiting=0 if cancelled else self.turn.waiting,  # a cancel may clear the queue without a word
            turn_open=False,
            rule=rule,
        )

    def _retire(self) -> None:
        if self._input:
            self._old_inputs.append(self._input)
        if self._run:
            self._old_runs.append(self._run)
        self._input = self._run = ""

    def _begin(self, rule: str, **fields: Any) -> None:
        self._began = self._at
        self._counting = self._last_step = False
        self._subagents.clear()
        self._change(
            state="running",
            text="",
            reason="",
            subagents=frozenset(),
            turn_open=True,
            since=self._at,
            rule=rule,
            **fields,
        )

    def _do(self, text: str) -> None:
        """Say what the open turn does."""
        if self.turn.turn_open:
            self._change(text=text, subagents=self._subagents.ids)

    def _is_old(self, step: _Step) -> bool:
        return any(step.input == old or step.input.startswith(f"{old}-") for old in self._old_inputs)

    def _is_root(self, step: _Step) -> bool:
        return step.kind == self._root and (step.input == self._input or not step.agent)

    def _is_stray(self, run: str) -> bool:
        """Return whether the root's run of this id is not the one of the open turn."""
        if not self._run:
            return run in self._old_runs or (self._nameless and self._owed > 0)
        return bool(run) and run != self._run

    def _sending(self, said: _Said) -> None:
        if self.turn.turn_open:
            self._owed += 1
        self._overlapped = self._owed > 0
        self._nameless = self.turn.turn_open and not self._run
        self._retire()
        config = said.data.get("runConfig")
        self._root = name(config, "agent") if isinstance(config, dict) else ""
        self._spent = 0
        self._begin(said.rule, credits=0)

    def _step_start(self, said: _Said) -> None:
        step = _step(said)
        if step is None or self._is_old(step):
            return
        if not self.turn.turn_open:  # the log was joined in the middle, or the save told of an end too early
            self._begin(said.rule)
        if not self._root and not step.agent:
            self._root = step.kind
        run = name(said.data, "runId")
        if self._is_root(step):
            if self._input != step.input:  # of two runs the one that begins later is the turn's
                self._retire()
            self._input, self._run = step.input, run
            self._last_step = False
            self._subagents.clear()  # those of the step before: each step waits for its own
            self._do("")
        else:
            self._subagents.begin_step(step.kind, step.agent, run, step.key)
            self._do(step.kind)

    def _step_end(self, said: _Said) -> None:
        step = _step(said)
        if step is None or self._is_old(step) or not self.turn.turn_open:
            return
        last = said.data.get("shouldEndTurn") is True
        if self._is_root(step):
            if step.input != self._input and (self._input or self._owed):
                return  # of a run that is not the turn's
            self._last_step = last
            self._subagents.clear()
        else:
            self._subagents.end_step(step.kind, name(said.data, "agentId"), step.key, last=last)
        self._spent = min(self._spent + count(said.data, "stepCreditsUsed"), 1e12)
        self._change(credits=max(self.turn.credits, self._spent))
        self._do(self._subagents.newest)

    def _new_block(self, said: _Said) -> None:
        kind = name(said.data, "agentType")
        if kind:
            self._subagents.begin(kind, name(said.data, "agentId"))
            self._do(kind)

    def _credits(self, said: _Said) -> None:
        # The total is of one agent, and the steps' sum lacks the open ones: neither is ever too much.
        if self.turn.turn_open:
            self._change(credits=max(self.turn.credits, count(said.data, "totalCredits")))

    def _edit(self, said: _Said) -> None:
        path = name(said.data, "path") or said.msg.split()[-1]
        self._do(doing("edit", {"path": path}))

    def _retry(self, _said: _Said) -> None:
        self._do("retrying")

    def _finished(self, said: _Said) -> None:
        if self._owed and not (self.turn.turn_open and self._last_step):
            self._owed -= 1
        elif self.turn.turn_open:
            self._owed = 0
            # It may have been cancelled without a line of that; the save that follows tells if it failed.
            failed = name(said.data, "outputType") == "error"
            self._end(f"{COULD_NOT}, {said.rule}" if failed else said.rule, retire=True)

    def _ended_run(self, said: _Said) -> bool:
        """Take the end of one agent's run; returns whether it was the root's of the open turn."""
        kind, agent, run = (name(said.data, member) for member in ("agentType", "agentId", "runId"))
        if not self.turn.turn_open:
            return False
        if kind == self._root and not self._subagents.has(agent, run):
            return not self._is_stray(run)
        self._subagents.end(kind, agent, run)
        self._do(self._subagents.newest)
        return False

    def _run_cancelled(self, said: _Said) -> None:
        if self._ended_run(said):
            self._owed += 1
            self._end(said.rule, cancelled=True, retire=True)

    def _run_failed(self, said: _Said) -> None:
        if self._ended_run(said):
            error = said.data.get("error")
            # Out of credits is thrown on, and nothing follows; any other failure is followed by the finish.
            self._owed += not (isinstance(error, dict) and error.get("statusCode") == _OUT_OF_CREDITS)
            self._end(said.rule, message_of(error, "the agent's run failed"), retire=True)

    def _client_failed(self, said: _Said) -> None:
        error = said.data.get("error")
        if not self.turn.turn_open:
            self._owed = max(self._owed - 1, 0)  # the run that failed logs no finish after this
            return
        if not (isinstance(error, dict) and error.get("name") == "AbortError"):
            self._end(said.rule, message_of(error, "the run failed"), retire=True)
        elif self._owed:  # older releases log this of a cancelled run
            self._owed -= 1
        else:
            self._end(said.rule, cancelled=True, retire=True)

    def _queue(self, said: _Said) -> None:
        self._change(waiting=int(count(said.data, "queueLength")))

    def _queue_next(self, said: _Said) -> None:
        self._change(waiting=max(int(count(said.data, "queueLength")) - 1, 0))

    def _nothing(self, said: _Said) -> None:
        """Take a line that shows only that the log is one we know."""

    _LINES: ClassVar = (
        ("[send-message] Sending message", _sending),
        ("Start agent ", _step_start),
        ("End agent ", _step_end),
        ("Creating new agent block", _new_block),
        ("Added ", _credits),
        ("write_file ", _edit),
        ("processStrReplace: ", _edit),
        ("processFileBlock: ", _edit),
        ("Main prompt finished", _finished),
        ("Agent run cancelled by user", _run_cancelled),
        ("Agent execution failed", _run_failed),
        ("SDK client.run() failed", _client_failed),
        ("Stream recovery", _retry),
        ("[message-queue] Queue blocked", _queue),
        ("[message-queue] Processing next message", _queue_next),
        ("[message-queue] Processing lock released", _nothing),
        ("Enhanced CLI fingerprint", _nothing),
        ("Loaded chat state", _nothing),
        ("Reconnection detected", _nothing),
        ("Connection check failed", _nothing),
        ("Health check failed", _nothing),
        ("Feedback button hovered", _nothing),
        ("[ads]", _nothing),
    )


def _step(said: _Said) -> _Step | None:
    found = _STEP.match(said.msg)
    return _Step(found[1], clean(found[2], CHARACTERS), found[3]) if found else None
