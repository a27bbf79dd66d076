"""What is decided of a session, from lines and writes; no processes."""

from __future__ import annotations

from typing import Any

import pytest

from seance_tools.activity import Activity
from seance_tools.codebuff.rules import ACTIVITY, AUTO, TURNS, Rules, Verdict
from seance_tools.turns import FORMATS, Outcome

STARTED = {"msg": "Enhanced CLI fingerprint generated successfully"}
SENDING = {
    "msg": "[send-message] Sending message with sdk run config",
    "data": {"runConfig": {"agent": "base2"}},
    "timestamp": "2026-09-14T09:00:00.000Z",
}
FINISHED = {"msg": "Main prompt finished", "timestamp": "2026-09-14T09:01:00.000Z"}
NOISE = {"msg": "Connection check failed; backing off"}


def rules_of(detection: str, *lines: dict[str, Any], form: str = "codebuff") -> Rules:
    rules = Rules(Activity(0.0, 5.0), FORMATS[form]() if form else None, detection)
    for line in lines:
        assert rules.turns
        rules.turns.read(line)
    return rules


def at(rules: Rules, now: float, *, written: bool = False) -> tuple[str, str]:
    return rules.advance(now, written=written)[:2]


def test_auto_begins_as_documented() -> None:
    rules = rules_of(AUTO, STARTED)
    assert at(rules, 1.0) == ("prompt-submit", "activity")
    assert at(rules, 4.0, written=True) == ("prompt-submit", "activity")
    assert rules.timeout(4.0) == 1.0  # the writes of a log that is understood are no activity
    assert at(rules, 5.0) == ("stop", "activity")
    assert at(rules, 6.0, written=True) == ("stop", "activity")
    assert rules.timeout(6.0) is None


def test_auto_goes_by_the_activity_of_a_log_that_nobody_understands() -> None:
    rules = rules_of(AUTO, {"msg": "hello"})
    assert at(rules, 4.0, written=True) == ("prompt-submit", "activity")
    assert at(rules, 8.9) == ("prompt-submit", "activity")
    assert at(rules, 9.0) == ("stop", "activity")
    assert at(rules, 10.0, written=True) == ("prompt-submit", "activity")


@pytest.mark.parametrize("detection", [AUTO, TURNS])
def test_quiet_is_not_idle_in_a_turn_and_a_write_is_not_running_after_it(detection: str) -> None:
    rules = rules_of(detection, STARTED, SENDING)
    assert at(rules, 3600.0) == ("prompt-submit", "log")
    assert rules.timeout(3600.0) is None
    assert rules.turns
    rules.turns.read(FINISHED)
    assert at(rules, 3601.0) == ("stop", "log")
    rules.turns.read(NOISE)
    assert at(rules, 3602.0, written=True) == ("stop", "log")


def test_turns_alone_begin_idle_and_never_guess() -> None:
    rules = rules_of(TURNS)
    assert at(rules, 0.0, written=True) == ("session-start", "log")
    assert at(rules, 3600.0, written=True) == ("session-start", "log")


@pytest.mark.parametrize("form", ["codebuff", ""])
def test_activity_alone_reads_nothing(form: str) -> None:
    rules = rules_of(ACTIVITY, form=form)
    assert rules.turns is None
    assert at(rules, 5.0) == ("stop", "activity")
    assert at(rules, 6.0, written=True) == ("prompt-submit", "activity")


def test_what_a_verdict_says() -> None:
    step = {"msg": "Start agent base2 step 1 (u)", "data": {"runId": "r"}}
    spawn = {"msg": "Start agent thinker step 1 (u-thinker7)", "data": {"runId": "s"}}
    edit = {"msg": "write_file a.py", "data": {"path": "src/a.py"}}
    rules = rules_of(AUTO, SENDING, step, spawn, edit)
    since = 1789376400.0
    assert rules.verdict() == Verdict("prompt-submit", "log", (), "editing a.py", ("7",), since, since)
    rules = rules_of(AUTO, SENDING, {"msg": "SDK client.run() failed", "data": {"error": {"message": "no"}}})
    assert rules.verdict()[:3] == ("error", "log", (("message", "no"),))
    added = {"msg": "Added 3 credits from x to agent state", "data": {"totalCredits": 3}}
    rules = rules_of(AUTO, SENDING, added, FINISHED)
    assert rules.verdict()[:3] == ("stop", "log", (("credits", 3),))


def test_the_end_of_the_writer_ends_its_turn_only_if_one_is_open() -> None:
    rules = rules_of(AUTO, SENDING)
    rules.lost(7)
    assert at(rules, 1.0) == ("interrupt", "log")
    assert rules.turns
    rules.turns.read({**SENDING, "timestamp": "2026-09-14T09:05:00.000Z"})
    assert at(rules, 2.0) == ("prompt-submit", "log")
    rules = rules_of(AUTO, SENDING, {"msg": "SDK client.run() failed", "data": {"error": "gone"}})
    rules.lost(7)
    assert rules.verdict().event == "error"


def test_a_cancelled_turn_has_not_finished() -> None:
    cancelled = {"msg": "Agent run cancelled by user (abort error)", "data": {"agentType": "base2"}}
    rules = rules_of(AUTO, SENDING, cancelled, FINISHED)
    assert rules.verdict()[:2] == ("interrupt", "log")
    rules = rules_of(AUTO, SENDING)
    assert rules.turns
    rules.turns.saved(Outcome("cancelled"), 1789376500.0)
    assert rules.verdict()[:2] == ("interrupt", "log")
    rules = rules_of(AUTO, SENDING)
    assert rules.turns
    rules.turns.saved(Outcome("settled"), 1789376500.0)
    assert rules.verdict()[:2] == ("stop", "log")


def test_a_new_turn_is_told_from_the_one_before() -> None:
    rules = rules_of(AUTO, SENDING)
    first = rules.verdict()
    assert rules.turns
    rules.turns.read({**SENDING, "timestamp": "2026-09-14T09:05:00.000Z"})
    assert rules.verdict() == first._replace(since=first.since + 300, at=first.at + 300)


def test_every_state_of_a_turn_has_an_event() -> None:
    lines = [{"type": "session.input"}, {"type": "session.exit"}]
    assert rules_of(AUTO, *lines[:1], form="poolside").verdict().event == "prompt-submit"
    assert rules_of(AUTO, *lines, form="poolside").verdict().event == "interrupt"


def test_a_run_that_came_to_no_answer_is_not_said_to_have_finished() -> None:
    rules = rules_of(TURNS, SENDING, {**FINISHED, "data": {"outputType": "error"}})
    assert at(rules, 1.0) == ("interrupt", "log")
    assert rules.turns
    rules.turns.saved(Outcome("failed", "no network"), 1789376461.0)
    assert rules.verdict()[:3] == ("error", "log", (("message", "no network"),))


def pool(kind: str, second: int, **body: Any) -> dict[str, Any]:
    stamp = f"2026-09-14T09:00:{second:02d}.000Z"
    return {"type": kind, "step_id": "s", "timestamp": stamp, kind.replace(".", "_"): body}


def test_a_tool_of_poolside_that_is_neither_allowed_nor_done_waits_for_the_person() -> None:
    rules = rules_of(TURNS, pool("session.input", 1), form="poolside")
    assert rules.turns
    call = pool("tool_call.parsed", 2, id="t1", name="bash", args={"command": "make"})
    for begin, answer in (
        (100.0, pool("tool_call.approval", 40, id="t1", approved=True)),
        (200.0, pool("tool_call.result", 50, id="t1")),
    ):
        assert rules.timeout(begin) is None
        rules.turns.read(call)
        running = at(rules, begin, written=True)
        assert running[1] == "log"
        assert rules.timeout(begin + 4.0) == 6.0
        assert at(rules, begin + 9.9) == running
        assert at(rules, begin + 10.0) == ("notification", "activity")
        assert dict(rules.verdict().payload) == {"notification_type": "permission", "message": "running make"}
        assert rules.timeout(begin + 10.0) is None
        rules.turns.read(answer)
        rules.turns.read(pool("tool_call.parsed", 51, id="t2", name="bash", args={}))
        assert rules.verdict()[:2] == ("approval-response", "log")  # the next one has not waited yet
        rules.turns.read(pool("tool_call.result", 52, id="t2"))
        assert at(rules, begin + 50.0) == ("approval-response", "log")
    rules.turns.read(pool("session.input", 59))
    assert at(rules, 300.0) == ("prompt-submit", "log")


def test_a_tool_of_poolside_that_is_allowed_may_take_its_time() -> None:
    rules = rules_of(TURNS, pool("session.input", 1), form="poolside")
    assert rules.turns
    rules.turns.read(pool("tool_call.parsed", 2, id="t1", name="bash", args={}))
    rules.turns.read(pool("tool_call.approval", 3, id="t1", approved=True))
    assert at(rules, 1.0) == ("prompt-submit", "log")
    assert rules.timeout(1.0) is None
    assert at(rules, 3600.0) == ("prompt-submit", "log")
