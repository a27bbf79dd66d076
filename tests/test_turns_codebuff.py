"""Codebuff's log: what no recording shows."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools.turns import Codebuff, Outcome, outcome, pid_of
from seance_tools.turns.codebuff import COULD_NOT

DATA = Path(__file__).parent / "data" / "turns"
ROOT = "5b0f2c9e"


def seconds(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["timestamp"]).timestamp()


def test_the_run_state_samples_decide_as_their_names_say() -> None:
    for name, state, reason in [
        ("in-flight", "running", ""),
        ("turn-end", "idle", ""),
        ("cancelled", "idle", ""),
        ("error-402", "error", "out of credits"),
    ]:
        turns = running()
        turns.saved(
            outcome((DATA / "codebuff" / f"33-run-state-{name}.json").read_bytes()), turns.turn.since + 9
        )
        assert (turns.turn.state, turns.turn.reason) == (state, reason)


def say(msg: str, data: Any = None, second: int = 0, pid: Any = 7) -> dict[str, Any]:
    stamp = f"2026-09-14T09:{second // 60:02d}:{second % 60:02d}.000Z"
    return {"level": "DEBUG", "timestamp": stamp, "pid": pid, "data": data, "msg": msg}


SENDING = say("[send-message] Sending message with sdk run config", {"runConfig": {"agent": "base2"}})


def start(kind: str, number: int = 1, prompt: str = "", second: int = 1, run: str = "") -> dict[str, Any]:
    tail = f" - Prompt: {prompt}" if prompt else ""
    return say(f"Start agent {kind} step {number} ({ROOT}{tail})", {"runId": run or f"run-{kind}"}, second)


def end(kind: str, number: int = 1, prompt: str = "", **data: Any) -> dict[str, Any]:
    tail = f" - Prompt: {prompt}" if prompt else ""
    return say(f"End agent {kind} step {number} ({ROOT}{tail})", data, 2)


def running(*lines: dict[str, Any]) -> Codebuff:
    turns = Codebuff()
    for line in (SENDING, start("base2", run="run-root"), *lines):
        turns.read(line)
    return turns


def test_agents_of_one_type_are_told_apart_by_their_steps_where_ids_are_not_joined() -> None:
    blocks = [
        say("Creating new agent block (no spawn_agents match)", {"agentId": i, "agentType": "fp"})
        for i in "ab"
    ]
    starts = [
        start("fp", 1, "second", run="run-b"),
        start("fp", 1, "first", run="run-a"),
    ]  # not the blocks' order
    turns = running(*blocks, *starts)
    assert turns.turn.subagents == {"a", "b"}
    turns.read(end("fp", 1, "first", agentId="a", shouldEndTurn=True))
    assert turns.turn.subagents == {"b"}
    turns.read(start("fp", 3, run="run-b"))
    assert turns.turn.subagents == {"b"}
    turns.read(end("fp", 3, agentId="b", shouldEndTurn=True))
    assert turns.turn.subagents == frozenset()


def test_agents_without_any_id_are_counted_by_type_and_never_below_none() -> None:
    turns = running(*[say(f"Start agent fp step {n} ({ROOT})", {}) for n in (1, 2)])
    assert len(turns.turn.subagents) == 2
    for left in (1, 0, 0):
        turns.read(say("Agent run cancelled by user (abort error)", {"agentType": "fp"}))
        assert len(turns.turn.subagents) == left
    assert turns.turn.state == "running"


def test_a_step_of_an_agent_that_ends_elsewhere_leaves_the_others() -> None:
    turns = running(start("fp", 1, "x"))
    turns.read(end("fp", 9, "y", agentId="stranger", shouldEndTurn=True))
    turns.read(say("Agent run cancelled by user (abort error)", {"agentType": "fp", "agentId": "stranger"}))
    assert len(turns.turn.subagents) == 1


def test_a_prompt_may_hold_brackets_and_newlines() -> None:
    turns = running(start("fp", 1, "a) step 1 (\nb"))
    turns.read(end("fp", 1, "a) step 1 (\nb", agentId="x", shouldEndTurn=True))
    assert turns.turn.subagents == frozenset()


def test_a_save_counts_only_if_newer_than_the_line_or_after_one_in_flight() -> None:
    settled, flying = Outcome("settled"), Outcome("in flight")
    began = seconds(SENDING)
    for at in (began - 5, began - 0.0004, began, began + 0.0009):  # the line tells milliseconds
        assert running().saved(settled, at) is None
    assert running().saved(settled, began + 0.001)
    turns = running()
    assert turns.saved(flying, began - 5) is None
    told = turns.saved(settled, began - 4)  # a file server's clock may be behind
    assert told
    assert (told.state, told.rule) == ("idle", "run-state.json: settled")


def test_a_save_in_flight_counts_for_its_own_turn_only() -> None:
    turns = running()
    turns.saved(Outcome("in flight"), seconds(SENDING) + 1)
    turns.read(say("Main prompt finished", second=3))
    turns.read({**SENDING, "timestamp": "2026-09-14T09:01:00.000Z"})
    assert turns.saved(Outcome("settled"), seconds(SENDING) + 3) is None
    assert turns.turn.turn_open


def test_saves_without_a_turn_or_that_do_not_tell_change_nothing() -> None:
    for kind in ("in flight", "settled", "failed", "cancelled", "unknown"):
        turns = Codebuff()
        assert turns.saved(Outcome("in flight"), 2e9) is None
        assert turns.saved(Outcome(kind, "x"), 2e9) is None
    assert running().saved(Outcome("unknown"), 2e9) is None


def test_an_old_runs_last_save_does_not_end_the_new_turn() -> None:
    turns = running(SENDING)
    assert turns.saved(Outcome("cancelled"), seconds(SENDING) + 3) is None
    assert turns.turn.state == "running"


def test_a_failure_in_an_old_save_is_no_news_after_a_cancel() -> None:
    turns = running(
        say("Agent run cancelled by user (abort error)", {"agentType": "base2", "runId": "run-root"})
    )
    assert turns.turn.state == "idle"
    assert turns.saved(Outcome("failed", "too late"), seconds(SENDING) + 3) is None


def test_a_failure_in_a_save_after_a_cancelled_one_is_no_news_either() -> None:
    turns = running()
    assert turns.saved(Outcome("cancelled"), seconds(SENDING) + 3)
    assert turns.saved(Outcome("failed", "too late"), seconds(SENDING) + 4) is None
    turns.read(SENDING)
    turns.read(say("Main prompt finished"))
    assert turns.saved(Outcome("failed", "in time"), seconds(SENDING) + 5)


@pytest.mark.parametrize("kind", ["failed", "cancelled", "settled"])
def test_steps_after_an_end_that_only_a_save_told_go_on(kind: str) -> None:
    turns = running()
    turns.saved(Outcome(kind, "x"), seconds(SENDING) + 3)
    assert not turns.turn.turn_open
    turns.read(start("base2", 3))
    assert (turns.turn.state, turns.turn.reason) == ("running", "")


FINISHED = say("Main prompt finished")


def step(word: str, run: str, kind: str = "base2", **data: Any) -> dict[str, Any]:
    """A step whose input id is the run's own."""
    return say(f"{word} agent {kind} step 1 (input-{run})", {"runId": run, **data})


def cancel(run: str, kind: str = "base2") -> dict[str, Any]:
    return say(
        "Agent run cancelled by user (abort error)", {"agentType": kind, "agentId": "ag", "runId": run}
    )


LATE: dict[str, list[tuple[dict[str, Any], str]]] = {
    "a finish that never came is not waited for once the root's last step is over": [
        (SENDING, "running"),
        (step("Start", "b"), "running"),
        (step("End", "b", shouldEndTurn=True), "running"),
        (FINISHED, "idle"),
        (SENDING, "running"),
        (FINISHED, "idle"),
    ],
    "a failed run's finish comes after the new line": [
        (say("Agent execution failed", {"agentType": "base2", "runId": "run-root", "error": "x"}), "error"),
        (SENDING, "running"),
        (FINISHED, "running"),
        (FINISHED, "idle"),
    ],
    "a failed run whose client says so too logs no finish": [
        (say("Agent execution failed", {"agentType": "base2", "runId": "run-root", "error": "x"}), "error"),
        (say("SDK client.run() failed", {"error": {"message": "x"}}), "error"),
        (SENDING, "running"),
        (FINISHED, "idle"),
    ],
    "a cancel of a run that never logged a step, when the new run's is known": [
        (SENDING, "running"),
        (SENDING, "running"),
        (step("Start", "c"), "running"),
        (cancel("b"), "running"),
        (cancel("c"), "idle"),
    ],
    "the end of a step whose start nobody saw": [
        (SENDING, "running"),
        (step("End", "z", shouldEndTurn=True), "running"),
        (FINISHED, "running"),
    ],
    "the end of another run's step within the turn": [
        (SENDING, "running"),
        (step("Start", "b"), "running"),
        (step("End", "z", shouldEndTurn=True), "running"),
        (FINISHED, "running"),
    ],
    "the old run had only its finish left to log": [
        (end("base2", shouldEndTurn=True), "running"),
        (SENDING, "running"),
        (FINISHED, "running"),
    ],
    "the root goes on after a step that was to be the last": [
        (SENDING, "running"),
        (step("Start", "b"), "running"),
        (step("End", "b", shouldEndTurn=True), "running"),
        (step("Start", "b"), "running"),
        (FINISHED, "running"),
    ],
    "an older release logs the old run's abort": [
        (SENDING, "running"),
        (say("SDK client.run() failed", {"error": {"name": "AbortError"}}), "running"),
        (FINISHED, "idle"),
    ],
    "of two runs that begin the later is the turn's": [
        (SENDING, "running"),
        (step("Start", "b"), "running"),
        (step("Start", "c"), "running"),
        (cancel("b"), "running"),
        (cancel("c"), "idle"),
        (step("Start", "b"), "idle"),
        (step("Start", "c"), "idle"),
    ],
    "what the last process owed is not waited for": [
        (cancel("run-root"), "idle"),
        ({**SENDING, "pid": 8}, "running"),
        ({**FINISHED, "pid": 8}, "idle"),
    ],
}


@pytest.mark.parametrize("case", LATE)
def test_late_lines(case: str) -> None:
    turns = running()
    for number, (line, state) in enumerate(LATE[case]):
        turns.read(line)
        assert turns.turn.state == state, number


@pytest.mark.parametrize(
    ("kind", "state"),
    [("cancelled", "idle"), ("failed", "error"), ("settled", "idle"), ("in flight", "idle")],
)
def test_a_finish_without_an_answer_is_explained_by_the_save_after_it(kind: str, state: str) -> None:
    turns = running(say("Main prompt finished", {"outputType": "error"}, 3))
    assert (turns.turn.state, turns.turn.rule.startswith(COULD_NOT)) == ("idle", True)
    turns.saved(Outcome(kind, "x"), seconds(SENDING) + 4)
    assert turns.turn.state == state


def test_another_process_is_no_news_while_nothing_runs() -> None:
    turns = running(FINISHED)
    assert turns.read(say("anything", pid=8)) is None


def test_a_sub_agent_of_the_roots_type_is_not_the_root() -> None:
    turns = running(say(f"Start agent base2 step 1 ({ROOT}-base2x1)", {"runId": "run-x"}))
    assert turns.turn.subagents == {"x1"}
    turns.read(say("Agent execution failed", {"agentType": "base2", "agentId": "x1", "error": "x"}))
    assert (turns.turn.state, len(turns.turn.subagents)) == ("running", 0)


def test_the_roots_next_step_waits_for_no_sub_agent_of_the_last() -> None:
    turns = running(start("fp"))
    assert len(turns.turn.subagents) == 1
    turns.read(start("base2", 3))
    assert (len(turns.turn.subagents), turns.turn.text) == (0, "")


def test_a_cancel_empties_the_queue() -> None:
    queue = say("[message-queue] Queue blocked: stream not idle", {"queueLength": 2})
    assert running(queue, FINISHED).turn.waiting == 2
    assert running(queue, cancel("run-root")).turn.waiting == 0


@pytest.mark.parametrize("length", [-3, 1e300, float("nan"), True, "2", None])
def test_an_odd_length_of_the_queue_is_none(length: Any) -> None:
    turns = running(say("[message-queue] Queue blocked: stream not idle", {"queueLength": length}))
    assert turns.turn.waiting == 0


BLOCK = "Creating new agent block (no spawn_agents match)"
ONE_OR_TWO: dict[str, tuple[int, list[dict[str, Any]]]] = {
    "a block after its first step": (1, [start("fp"), say(BLOCK, {"agentType": "fp", "agentId": "a"})]),
    "a block told twice": (1, [say(BLOCK, {"agentType": "fp", "agentId": "a"})] * 2),
    "a block and another's step": (
        2,
        [
            say(BLOCK, {"agentType": "fp", "agentId": "a"}),
            say(f"Start agent fp step 1 ({ROOT}-fpb)", {"runId": "run-b"}),
        ],
    ),
    "steps that nothing tells apart": (2, [say(f"Start agent fp step 1 ({ROOT})", {})] * 2),
    "steps one after the other": (
        1,
        [say(f"Start agent fp step 1 ({ROOT})", {}), end("fp"), say(f"Start agent fp step 3 ({ROOT})", {})],
    ),
    "a block without a type": (0, [say(BLOCK, {"agentId": "a"})]),
    "an id in the step's name": (
        0,
        [
            say(f"Start agent fp step 1 ({ROOT}-fpa)", {}),
            say("Agent execution failed", {"agentType": "fp", "agentId": "a"}),
        ],
    ),
    "an id in the step's end": (
        0,
        [
            start("fp"),
            end("fp", agentId="a"),
            say("Agent execution failed", {"agentType": "fp", "agentId": "a"}),
        ],
    ),
    "more than can be": (1024, [start("fp", run=f"run-{n}") for n in range(3000)]),
}


@pytest.mark.parametrize("case", ONE_OR_TWO)
def test_sub_agents_are_counted(case: str) -> None:
    number, lines = ONE_OR_TWO[case]
    assert len(running(*lines).turn.subagents) == number


def test_times_are_those_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        for stamp, wanted in [
            ("2026-09-14T09:00:00.250Z", 1789376400.25),
            ("2026-09-14T11:00:00.250+02:00", 1789376400.25),
            ("2026-09-14T09:00:00.250", 1789376400.25),
            ("1960-01-01T00:00:00Z", 0.0),
            ("0001-01-01T00:00:00+23:59", 0.0),
            ("soon", 0.0),
            (5, 0.0),
        ]:
            turns = Codebuff()
            turns.read({**SENDING, "timestamp": stamp})
            assert turns.turn.since == wanted
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_turn_without_a_time_is_ended_by_its_lines() -> None:
    turns = Codebuff()
    told = turns.read({"msg": SENDING["msg"]})
    assert told
    assert (told.state, told.since, told.at) == ("running", 0.0, 0.0)
    assert turns.saved(Outcome("settled"), 2e9) is None
    assert turns.read({"msg": "Main prompt finished", "timestamp": "yesterday"})
    assert turns.turn.state == "idle"


def test_credits_are_never_counted_twice_and_begin_anew() -> None:
    turns = running(
        say("Added 4 credits from web_search to agent state", {"credits": 4, "totalCredits": 4}),
        end("base2", stepCreditsUsed=4),
    )
    assert turns.turn.credits == 4
    for odd in (True, -3, float("nan"), 10**400, "9", None):
        turns.read(end("base2", stepCreditsUsed=odd))
        turns.read(say("Added 1 credits from x to agent state", {"totalCredits": odd}))
    assert turns.turn.credits == 4
    turns.read(SENDING)
    assert turns.turn.credits == 0
    turns.read(step("Start", "b"))
    turns.read(step("End", "b", stepCreditsUsed=1))
    assert turns.turn.credits == 1


def test_what_goes_out_is_clean_and_short() -> None:
    dirty = "\x1b]0;x\x07" + "é" * 5000
    turns = running(
        say("Creating new agent block (no spawn_agents match)", {"agentId": dirty, "agentType": dirty}),
    )
    assert len(turns.turn.text) == 256
    texts = [turns.turn.text, *turns.turn.subagents]
    for _ in range(2):
        turns.read(say(f"Start agent \x1b[2J{'y' * 300} step 1 ({ROOT})", {"runId": ""}))
    texts += [turns.turn.text, *turns.turn.subagents]
    assert len(turns.turn.subagents) == 3
    turns.read(say("write_file " + dirty, {"path": dirty}))
    texts.append(turns.turn.text)
    turns.read(say("Agent execution failed", {"agentType": "base2", "error": {"message": dirty}}))
    texts.append(turns.turn.reason)
    assert turns.turn.state == "error"
    assert all(text and len(text) <= 256 and not set(text) & {"\x1b", "\x07"} for text in texts)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"message": "\n one \n two"}, "one"),
        ("plain", "plain"),
        ({"message": ""}, "the agent's run failed"),
        ({"message": 5}, "the agent's run failed"),
        (None, "the agent's run failed"),
    ],
)
def test_an_error_gives_the_first_line_of_its_reason(error: Any, reason: str) -> None:
    turns = running(say("Agent execution failed", {"agentType": "base2", "error": error}))
    assert (turns.turn.state, turns.turn.reason) == ("error", reason)


def test_the_lines_of_another_process_are_told_by_their_pid() -> None:
    assert [pid_of({"pid": pid}) for pid in (7, True, -1, "7", 7.0, None, 10**30)] == [7, *[None] * 6]
    assert pid_of({}) is None
    turns = running()
    assert turns.pid == 7
    turns.read(say("anything", pid=8))
    assert (turns.pid, turns.turn.state) == (8, "idle")


WORDS = st.text("ab 1-()\n\x1b\x9bé\u202e\ud800", max_size=9)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
MEMBERS = [
    "agentType",
    "agentId",
    "runId",
    "runConfig",
    "error",
    "path",
    "shouldEndTurn",
    "stepCreditsUsed",
    "totalCredits",
    "queueLength",
    "agent",
    "message",
    "input",
]
MESSAGES = [beginning for beginning, _ in Codebuff._LINES] + [  # noqa: SLF001 - each line that is known
    f"Start agent base2 step 1 ({ROOT})",
    f"End agent base2 step 1 ({ROOT})",
    f"Start agent fp step 1 ({ROOT}-fpx)",
    f"End agent fp step 1 ({ROOT}-fpx)",
    "x custom tool call & result (y)",
    SENDING["msg"],
]
GARBAGE = st.fixed_dictionaries(
    {"msg": st.sampled_from(MESSAGES) | st.builds("{}{}".format, st.sampled_from(MESSAGES), WORDS) | JSON},
    optional={
        "data": st.dictionaries(st.sampled_from(MEMBERS), JSON | st.sampled_from(["base2", "fp", "run-root"]))
        | JSON,
        "timestamp": st.datetimes().map(datetime.isoformat) | JSON,
        "pid": st.sampled_from([7, 8]) | JSON,
    },
)


@given(st.lists(GARBAGE, max_size=20))
def test_no_line_is_too_odd(lines: list[dict[str, Any]]) -> None:
    turns = running()
    for line in lines:
        turns.read(line)
        turn = turns.turn
        assert turn.turn_open == (turn.state == "running")
        assert turn.state in ("running", "idle", "error")
        assert not turn.subagents or turn.turn_open
        assert turn.credits >= 0
        assert turn.waiting >= 0
        assert max(map(len, (turn.text, turn.reason, *turn.subagents, "")), default=0) <= 256
        assert bool(turn.reason) == (turn.state == "error")
