"""Poolside's trajectory: which turn runs, which tool it uses, whether that may wait for a word.

A line is `{id, step_id, timestamp, type, <type with _ for .>: {…}}`. A turn runs from `session.input` to the
end of a step that called no tool while none is open. A tool that was called and neither allowed nor done may
wait for the person or simply take long: its age tells.
"""

from __future__ import annotations

from typing import ClassVar

from seance_tools.turns.model import Line, Turns, doing, message_of, name

_MOST = 1024  # tools open at once; more are not believed
_QUIET = frozenset(
    {
        "thought.start",
        "thought.end",
        "assistant_message.start",
        "assistant_message.end",
        "tool_call.start",
        "model_reminder",
    }
)


class Poolside(Turns):
    """One trajectory file of `pool`; resumed sessions go on in the same file."""

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[str, str] = {}  # tools called: id → what it does
        self._allowed: dict[str, str] = {}  # the same, once there was a word about them
        self._called: str | None = None  # the last step that called a tool

    def _take(self, line: Line) -> None:
        kind = line.get("type")
        if not isinstance(kind, str):
            return
        take = self._KINDS.get(kind)
        self.known = self.known or take is not None or kind in _QUIET
        if take:
            body = line.get(kind.replace(".", "_"))
            said = body if isinstance(body, dict) else {}
            take(self, said, name(line, "step_id"), f'log line "{kind}"')

    def _begin(self, rule: str) -> None:
        self._asked.clear()
        self._allowed.clear()
        self._change(
            state="running",
            text="",
            reason="",
            maybe_needs_input=False,
            turn_open=True,
            since=self._at,
            rule=rule,
        )

    def _end(self, state: str, rule: str, reason: str = "") -> None:
        self._asked.clear()
        self._allowed.clear()
        self._change(state=state, text="", reason=reason, maybe_needs_input=False, turn_open=False, rule=rule)

    def _show(self) -> None:
        """Say what the tools that are open do: the one that may wait for a word before the others."""
        texts = [*self._allowed.values(), *self._asked.values()]
        self._change(text=texts[-1] if texts else "", maybe_needs_input=bool(self._asked))

    def _session_start(self, _said: Line, _step: str, rule: str) -> None:
        if self.turn.state != "idle":
            self._end("idle", rule)

    def _input(self, _said: Line, _step: str, rule: str) -> None:
        self._begin(rule)

    def _inference_start(self, _said: Line, _step: str, rule: str) -> None:
        self._called = None
        if not self.turn.turn_open:  # the log was joined in the middle of a turn, or the agent tries again
            self._begin(rule)

    def _parsed(self, said: Line, step: str, rule: str) -> None:
        if not self.turn.turn_open:
            self._begin(rule)
        self._called = step
        if len(self._asked) + len(self._allowed) < _MOST:
            self._asked[name(said, "id")] = doing(name(said, "name"), said.get("args")) or "using a tool"
        self._show()

    def _approval(self, said: Line, _step: str, _rule: str) -> None:
        text = self._asked.pop(name(said, "id"), "")
        if text:
            self._allowed[name(said, "id")] = text
        self._show()

    def _result(self, said: Line, _step: str, _rule: str) -> None:
        for tools in (self._asked, self._allowed):
            tools.pop(name(said, "id"), None)
        self._show()

    def _inference_end(self, _said: Line, step: str, rule: str) -> None:
        tools = self._asked or self._allowed or self._called == step
        if self.turn.turn_open and not tools:
            self._end("idle", f"{rule} of a step without a tool")

    def _error(self, said: Line, _step: str, rule: str) -> None:
        self._end("error", rule, message_of(said.get("error"), "the session failed"))

    def _exit(self, _said: Line, _step: str, rule: str) -> None:
        self._end("ended", rule)

    _KINDS: ClassVar = {
        "session.start": _session_start,
        "session.input": _input,
        "tool_call.inference.start": _inference_start,
        "tool_call.parsed": _parsed,
        "tool_call.approval": _approval,
        "tool_call.result": _result,
        "tool_call.inference.end": _inference_end,
        "session.error": _error,
        "session.exit": _exit,
    }
