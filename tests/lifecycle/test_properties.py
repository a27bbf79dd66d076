"""Whatever comes, in whatever order and however often."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from seance_tools.lifecycle import PRIORITIES, TEXTS, TRANSITIONS, explain
from seance_tools.lifecycle.records import MOST_CALLS, MOST_FORMER, MOST_GONE, MOST_NEEDS, MOST_SUBAGENTS
from seance_tools.methods import STATES
from tests.lifecycle.session import Session
from tests.lifecycle.test_samples import CASES, event_of, sample

AGENTS = sorted({agent for agent, _, _ in CASES})
ids = st.sampled_from(["", "a", "b", "c"])
payloads = st.fixed_dictionaries(
    {},
    optional={
        "session_id": ids,
        "parent_session_id": ids,
        "agent_id": ids,
        "tool_use_id": ids,
        "requestID": ids,
        "tool_name": st.sampled_from(["Bash", "Read", "AskUserQuestion"]),
        "notification_type": st.sampled_from(["permission_prompt", "idle_prompt", "agent_needs_input", "x"]),
        "background_tasks": st.lists(st.just({"status": "running"}), max_size=2),
        "subagents": st.one_of(st.integers(-1, 100), st.lists(ids, max_size=3)),
        "source": st.sampled_from(["startup", "clear", "compact", "system"]),
        "reason": st.sampled_from(["clear", "other"]),
        "is_interrupt": st.booleans(),
        "message": st.just("m"),
    },
)
evidence = st.fixed_dictionaries(
    {},
    optional={
        "at": st.integers(90, 200).map(float),
        "interrupted": st.booleans(),
        "answered": st.sampled_from(["", "a", "toolu_01"]),
        "asked_again": st.booleans(),
        "process": st.sampled_from(["runs", "stopped", "gone"]),
        "prompt_visible": st.booleans(),
        "quiet_since": st.integers(90, 200).map(float),
    },
)
own = st.tuples(st.sampled_from(sorted(TRANSITIONS)), payloads)


def check(session: Session) -> None:
    record = session.record
    assert record["state"] in STATES
    assert record["base"]["state"] in set(STATES) - {"needs_input"}
    assert (record["state"] == "needs_input") == (bool(record["needs"]) and not record["stopped"])
    assert record["subagent_count"] >= 0
    assert record["background_count"] >= 0
    for name, most in (
        ("subagents", MOST_SUBAGENTS),
        ("gone", MOST_GONE),
        ("needs", MOST_NEEDS),
        ("former", MOST_FORMER),
        ("calls", MOST_CALLS),
        ("over", MOST_CALLS),
    ):
        assert len(record[name]) <= most
    assert not set(record["subagents"]) & set(record["gone"])
    assert record["text"]
    json.dumps(record)
    explain(record, session.now)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(AGENTS),
    st.lists(st.tuples(own, st.integers(0, 20), st.sampled_from(["hook", "activity"])), max_size=40),
)
def test_any_events_in_any_order(
    agent: str, events: list[tuple[tuple[str, dict[str, Any]], int, str]]
) -> None:
    session = Session(agent)
    for (event, payload), at, source in events:
        before = json.dumps(session.record)
        record = session.record
        session.hear(event, _at=100.0 + at, _by=source, **payload)
        assert json.dumps(record) == before  # arguments are never altered
        check(session)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_samples_in_any_order(data: st.DataObject) -> None:
    agent = data.draw(st.sampled_from(AGENTS))
    names = [name for known, name, _ in CASES if known == agent]
    session = Session(agent)
    for name in data.draw(st.lists(st.sampled_from(names), max_size=25)):
        session.hear(event_of(name), **sample(agent, name))
        check(session)
        if data.draw(st.booleans()):
            session.wait(data.draw(st.sampled_from([1, 61, 2000])), **data.draw(evidence))
            check(session)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 6), st.booleans()), max_size=12),
    st.randoms(),
)
def test_a_set_of_subagents_does_not_hang_on_the_order_of_reports(
    reports: list[tuple[str, int, bool]], random: Any
) -> None:
    """Each report is a beginning or an end at a time of its own."""
    distinct = {(child, at): begins for child, at, begins in reports}
    rows = [(child, at, begins) for (child, at), begins in distinct.items()]
    last = {child: max(at for other, at, _ in rows if other == child) for child, _, _ in rows}
    wanted = {child for child, at, begins in rows if begins and at == last[child]}
    random.shuffle(rows)
    session = Session()
    for child, at, begins in rows:
        session.hear("SubagentStart" if begins else "SubagentStop", _at=200.0 + at, agent_id=child)
    assert set(session.record["subagents"]) == wanted
    assert session.record["subagent_count"] == len(wanted)


# A turn of Claude Code with calls side by side: what comes of each call, in the order in which it happens.
CALL = st.sampled_from(
    [
        ("PreToolUse", "PostToolUse"),
        ("PreToolUse", "PermissionRequest", "PostToolUse"),
        ("PreToolUse", "PermissionRequest", "Notification", "PostToolUse"),
        (
            "PreToolUse",
            "PermissionRequest",
            "Notification",
            "answered",
        ),  # denied: only the transcript says so
        ("PreToolUse", "PermissionRequest", "PermissionDenied"),
        ("PreToolUse", "PermissionRequest"),  # it waits
        ("PreToolUse",),  # it works
    ]
)
END = st.sampled_from(["", "Stop", "StopFailure", "interrupted", "UserPromptSubmit"])
ENDED = {"Stop": "idle", "StopFailure": "error", "interrupted": "idle", "UserPromptSubmit": "running"}
Happened = tuple[float, str, dict[str, Any]]


def may_come(left: list[list[str]], calls: list[tuple[tuple[str, ...], str]], index: int) -> bool:
    """Whether what is next of a call may come: calls side by side begin before the first of them is over."""
    if left[index][:1] != ["PreToolUse"]:
        return bool(left[index])
    beside = [number for number, (_, agent_id) in enumerate(calls) if agent_id == calls[index][1]]
    told = [list(calls[number][0][: len(calls[number][0]) - len(left[number])]) for number in beside]
    over = ("PostToolUse", "PermissionDenied", "answered")
    asks = any("PermissionRequest" in events and events[-1] not in over for events in told)
    return not (asks and any(events and events[-1] in over for events in told))


@st.composite
def turns(draw: st.DrawFn) -> tuple[list[Happened], str]:
    """Return (what happens in a turn, in order; the state after it)."""
    calls = draw(st.lists(st.tuples(CALL, st.sampled_from(["", "a1"])), min_size=1, max_size=4))
    left = [list(events) for events, _ in calls]
    happened: list[Happened] = [(100.0, "UserPromptSubmit", {})]
    while nexts := [number for number in range(len(calls)) if may_come(left, calls, number)]:
        index = draw(st.sampled_from(nexts))
        event, agent_id = left[index].pop(0), calls[index][1]
        payload: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": f"make {index}"}}
        if event != "PermissionRequest":
            payload["tool_use_id"] = f"t{index}"
        if agent_id:
            payload["agent_id"] = agent_id
        if event == "Notification":
            payload = {"notification_type": "permission_prompt", "message": "may I?"}
        elif event == "answered":
            payload = {"answered": f"t{index}"}
        # The notification comes seconds after its request, which no report is late by.
        happened.append((happened[-1][0] + (1.5 if event == "Notification" else 0.25), event, payload))
    end = draw(END)
    if end:
        happened.append((happened[-1][0] + 0.25, end, {}))
    waits = [events[-1] == "PermissionRequest" for events, agent_id in calls if agent_id or not end]
    over = end in ("UserPromptSubmit", "interrupted")
    asks = any(waits) and not over
    return happened, "needs_input" if asks else ENDED.get(end, "running")


def tell(happened: list[Happened]) -> Session:
    session = Session()
    for at, event, payload in happened:
        if event in ("answered", "interrupted"):
            session.now = max(session.now, at)
            session.wait(0, **{"at": at, "interrupted": event == "interrupted", **payload})
        else:
            session.hear(event, _at=at, **payload)
    return session


@settings(max_examples=300, deadline=None)
@given(turns())
def test_a_turn_in_its_order_ends_in_the_right_state(turn: tuple[list[Happened], str]) -> None:
    happened, state = turn
    assert tell(happened).state == state


@settings(max_examples=500, deadline=None)
@given(turns(), st.data())
def test_a_turn_in_any_order_and_however_often_ends_in_the_right_state(
    turn: tuple[list[Happened], str], data: st.DataObject
) -> None:
    """Reports overtake each other by up to a second; the log is read no sooner than that."""
    happened, state = turn
    late: list[tuple[float, Happened]] = []
    for row in happened:
        delay = 1.0 if row[1] in ("answered", "interrupted") else data.draw(st.floats(0, 1))
        late.append((row[0] + delay, row))
    late += [(when + data.draw(st.floats(0, 5)), row) for when, row in late if data.draw(st.booleans())]
    late.sort(key=lambda one: one[0])
    session = tell([row for _, row in late])
    assert session.state == state
    check(session)


def test_every_state_has_its_words() -> None:
    assert set(TEXTS) == set(PRIORITIES) == set(STATES)
    assert set(TRANSITIONS.values()) - {None} <= set(STATES)
