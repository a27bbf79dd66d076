"""Decides what is reported of a session: by its turns where its log is understood, else by its activity.

Pure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from seance_tools.activity import IDLE, RUNNING, Activity
from seance_tools.turns import Turn, Turns

AUTO, TURNS, ACTIVITY = "auto", "turns", "activity"  # what detection can be
_EVENTS = {"running": RUNNING, "idle": IDLE, "ended": IDLE, "error": "error"}

# Rules by which a turn ends of itself; others tell that it was cancelled, or that its process has gone.
_FINISHES = ('log line "Main prompt finished', "run-state.json: settled", 'log line "tool_call.inference.end')


WAIT_SECONDS = 10.0  # a tool that was called and neither allowed nor done for so long waits for the person


class Verdict(NamedTuple):
    """What a session does: a hook event with its payload, and on what evidence.

    source: "log" where turns decide, "activity" where it is inferred. doing: what the open turn does. since:
    when the turn or the state began and at: when any of this changed, by the log's clock; 0 where that is
    not known. subagents: ids of those at work.
    """

    event: str
    source: str
    payload: tuple[tuple[str, Any], ...] = ()
    doing: str = ""
    subagents: tuple[str, ...] = ()
    since: float = 0.0
    at: float = 0.0


class Rules:
    """What is known of a session. detection: AUTO, TURNS or ACTIVITY. turns: None for logs nobody can read.

    In AUTO a session begins by the documented rule, Running until its log has been silent for a while; from
    the first turn on the turns alone decide. Until then, writes of a log that is understood are no activity.
    """

    def __init__(self, activity: Activity, turns: Turns | None, detection: str) -> None:
        self.turns = None if detection == ACTIVITY else turns
        self._activity = activity
        self._always = detection == TURNS
        self._open_tool: tuple[float, float] | None = None  # the turn's time when a tool may wait, and ours
        self._waits = False
        self._waited = 0.0  # when the turn began in which a tool waited

    @property
    def follows(self) -> bool:
        """Whether the turns decide."""
        return self.turns is not None and (self._always or self.turns.turn.rule != "")

    def advance(self, now: float, *, written: bool) -> Verdict:
        """Return what is so at `now`, by the activity's clock. written: a log was, since the last call."""
        known = self.turns is not None and self.turns.known
        self._activity, _ = self._activity.advance(now, written=written and not known)
        self._take_wait(now)
        return self.verdict()

    def _take_wait(self, now: float) -> None:
        """Note for how long a tool of the turn may have waited for the person."""
        turn = self.turns.turn if self.turns is not None else None
        if turn is None or not turn.maybe_needs_input:
            self._open_tool, self._waits = None, False
            return
        if self._open_tool is None or self._open_tool[0] != turn.at:
            self._open_tool = (turn.at, now)
        self._waits = now - self._open_tool[1] >= WAIT_SECONDS
        if self._waits:
            self._waited = turn.since

    def verdict(self) -> Verdict:
        """Return what is so as of the last line and the last look."""
        if self.turns is None or not self.follows:
            return Verdict(RUNNING if self._activity.running else IDLE, "activity")
        turn = self.turns.turn
        event = _EVENTS[turn.state] if turn.rule or not self._always else "session-start"
        payload: tuple[tuple[str, Any], ...] = ()
        if event == IDLE and not turn.rule.startswith(_FINISHES):
            event = "interrupt"
        if self._waits and self._open_tool and self._open_tool[0] == turn.at:
            # That it waits is inferred: a tool that nobody need allow may take long.
            asked = (("notification_type", "permission"), ("message", turn.text))
            return Verdict("notification", "activity", asked, since=turn.since)
        if event == RUNNING and self._waited and turn.since == self._waited:
            event = "approval-response"  # the turn goes on
        if event == "error":
            payload = (("message", turn.reason),)
        elif event == IDLE and turn.credits:
            payload = (("credits", turn.credits),)
        return Verdict(event, "log", payload, turn.text, tuple(sorted(turn.subagents)), turn.since, turn.at)

    def timeout(self, now: float) -> float | None:
        """Return the seconds until silence alone changes something; None if it never does."""
        if not self.follows:
            return self._activity.timeout(now)
        if self._open_tool is None or self._waits:
            return None
        return max(self._open_tool[1] + WAIT_SECONDS - now, 0.0)

    def lost(self, pid: int) -> None:
        """Take the end of the process that wrote the log; its turn is over, whatever the log says."""
        if self.turns is not None and self.turns.turn.turn_open:
            last = self.turns.turn
            self.turns = type(self.turns)()
            self.turns.known = True
            self.turns.turn = Turn(since=last.at, at=last.at, rule=f"process {pid} has ended")
