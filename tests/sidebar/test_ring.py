"""What the sidebar writes on its terminal for a notification: once, when the broker has decided so."""

from __future__ import annotations

import time
from typing import Any

import pytest

from seance_tools.options import look_up
from seance_tools.sidebar.ring import Ring
from seance_tools.state.tables import Tables
from tests.sidebar.pane import Open
from tests.sidebar.standin import Broker
from tests.support import eventually


def row(**more: Any) -> dict[str, Any]:
    plain = {"id": 1, "workspace_id": 1, "surface_id": 1, "title": "Claude has finished", "subtitle": ""}
    plain |= {"body": "", "read": False, "session": "claude-1", "kind": "completed", "more": 0}
    return {**plain, "created_at": time.time(), "channels": ["terminal"], **more}


def tables(kind: str = "osc9") -> Tables:
    made = Tables()
    made.set("config", {"values": look_up({"notifications": {"terminal": kind}}).values, "problems": []})
    return made


def event(**more: Any) -> dict[str, Any]:
    return {"event": "notification.set", "data": row(**more)}


def test_it_rings_once_for_each() -> None:
    ring, known = Ring({}), tables()
    for text in (event(channels=[]), event(), event(read=True), event(channels=["terminal", "command"])):
        ring.hear(known, text)
        known.apply_event(text)
    assert ring.take() == "\x1b]9;Claude has finished\x1b\\"
    assert ring.take() == ""


def test_it_tells_the_machine_and_how_many_more() -> None:
    ring, known = Ring({"TMUX": "x"}), tables()
    known.set("agent", {"session": "claude-1", "host": "web1"})
    ring.hear(known, event(more=2))
    assert ring.take() == "\x1bPtmux;\x1b\x1b]9;Claude has finished on web1 (+2 more)\x1b\x1b\\\x1b\\"


@pytest.mark.parametrize("more", [{"created_at": 1000.0}, {"channels": ["desktop"]}])
def test_it_does_not_ring(more: dict[str, Any]) -> None:
    ring = Ring({})
    ring.hear(tables(), event(**more))
    ring.hear(tables("off"), event())
    ring.hear(Tables(), event())
    ring.hear(tables(), {"event": "notification.clear", "data": {"id": 1}})
    assert ring.take() == ""


def test_an_earlier_versions_broker_knows_no_channels() -> None:
    ring, old = Ring({}), event()
    del old["data"]["channels"], old["data"]["more"]
    ring.hear(tables(), old)
    assert ring.take() == ""


def test_the_terminal_gets_it_between_two_frames(shop: Broker, pane: Open) -> None:
    shop.set("config", values=look_up({"notifications": {"terminal": "osc777"}}).values, problems=[])
    one = pane()
    one.shows("Claude Code")
    shop.set("notification", **row())

    def rang() -> bool:
        one.pump()
        return b"\x1b]777;notify;Claude has finished;\x1b\\" in one.output

    eventually(rang)
    one.shows("Claude has finished")
    before = one.output.partition(b"\x1b]777;")[0]
    assert before.count(b"\x1b[?2026h") == before.count(b"\x1b[?2026l"), "not inside a frame"
