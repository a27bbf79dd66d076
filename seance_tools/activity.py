"""The activity rule: whether a session runs or is idle, from the times at which its log was written.

A session begins running. A write makes it run, and `idle_timeout` seconds without one make it idle. Times
are seconds of any steady clock.
"""

from __future__ import annotations

from typing import NamedTuple

RUNNING = "prompt-submit"  # the hook events of the two states
IDLE = "stop"


class Activity(NamedTuple):
    """What is known of a session: when its log was last written, and whether it is taken to run."""

    last_write: float
    idle_timeout: float
    running: bool = True

    def advance(self, now: float, *, written: bool) -> tuple[Activity, str]:
        """Return what follows at `now`, and the hook event to report: RUNNING, IDLE or "" for none.

        written: whether the log was written since the last call; a write counts before the silence does,
        so one that is noticed late still ends it.
        """
        if written:
            event = "" if self.running else RUNNING
            return self._replace(last_write=now, running=True), event
        if self.running and now - self.last_write >= self.idle_timeout:
            return self._replace(running=False), IDLE
        return self, ""

    def timeout(self, now: float) -> float | None:
        """Return the seconds until silence alone changes something; None if it never does."""
        return max(self.last_write + self.idle_timeout - now, 0.0) if self.running else None
