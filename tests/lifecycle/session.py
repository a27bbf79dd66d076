"""One session's record, told of events as an agent tells them."""

from __future__ import annotations

from typing import Any

from seance_tools.agents import agent_named
from seance_tools.lifecycle import Announcement, advance, announcement, blank, read, review


class Session:
    """A record that follows its agent; time goes on by a second with each event."""

    def __init__(self, agent: str = "claude") -> None:
        self.agent = agent_named(agent)
        self.now = 100.0
        self.record: dict[str, Any] = {
            **blank(self.now),
            "session": f"{agent}-1",
            "parent": None,
            "display_name": self.agent.name,
            "pid": None,
            "cwd": "",
        }
        self.announced: list[Announcement] = []

    def hear(self, event: str, /, _at: float | None = None, _by: str = "hook", **payload: Any) -> str:
        """Take an event and return the state that follows. _at: the sender's time, _by: the source."""
        if _at is None:
            self.now += 1
        report = read(self.agent, event, payload, self.now if _at is None else _at, _by)
        if report is not None:
            before, self.record = self.record, advance(self.record, report)
            made = announcement(before, self.record, report)
            if made:
                self.announced.append(made)
        return self.state

    def wait(self, seconds: float, **seen: Any) -> str:
        """Let time pass, and return the state that follows from it and from what was `seen`."""
        self.now += seconds
        self.record = review(self.record, self.now, seen)
        return self.state

    @property
    def state(self) -> str:
        state: str = self.record["state"]
        return state

    @property
    def text(self) -> str:
        text: str = self.record["text"]
        return text

    @property
    def rule(self) -> str:
        rule: str = self.record["evidence"]["rule"]
        return rule


BASH: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make test"}}
PERMISSION: dict[str, Any] = {
    "notification_type": "permission_prompt",
    "message": "Claude needs your permission to use Bash",
}


def at_work(agent: str = "claude") -> Session:
    """A session s1 of that agent whose turn has begun."""
    session = Session(agent)
    session.hear("prompt-submit", session_id="s1")
    return session


def kinds(session: Session) -> list[str]:
    """The kinds of what was announced, in order."""
    return [made.kind for made in session.announced]
