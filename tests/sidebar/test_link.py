"""The broker goes, comes back, hangs or says what cannot be understood."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from seance_tools import client, names
from seance_tools.state.tables import Tables
from tests.conftest import stop_stray_broker
from tests.sidebar.pane import Open
from tests.sidebar.standin import Broker
from tests.support import eventually


def test_it_comes_back_with_the_broker(shop: Broker, pane: Open) -> None:
    one = pane()
    one.shows("Running")
    shop.close()
    shown = one.shows("reconnecting", 2.0)
    assert "shop-api" in shown  # what was known last stays on the screen
    shop.boot_id, shop.seq = "boot-2", 0
    shop.tables = Tables()
    shop.open()
    shop.workspace("fresh")
    started = time.monotonic()
    shown = one.shows("fresh", 5.0)
    assert time.monotonic() - started < 2.0
    assert "shop-api" not in shown
    assert "reconnecting" not in shown
    shop.status("Again")
    one.shows("Again", 2.0)


def test_it_goes_on_from_the_last_change_it_saw(shop: Broker, pane: Open) -> None:
    one = pane()
    one.shows("Running")
    seen = shop.seq
    shop.close()
    one.shows("reconnecting", 2.0)
    shop.open()
    eventually(lambda: "reconnecting" not in one.text(), 3.0)
    params = shop.requests[-1]["params"]
    assert params == {"boot_id": "boot-1", "after_seq": seen, "heartbeat": 60}
    assert "shop-api" in one.text()


def test_without_a_broker_it_says_so_and_waits_for_one(environ: dict[str, str], pane: Open) -> None:
    path = names.socket_path(environ)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text("in the way of a broker")
    one = pane()
    shown = one.shows("no broker")
    assert "SÉANCE" in shown
    os.unlink(path)
    late = Broker(path)
    late.workspace("late")
    one.shows("late", 3.0)
    late.close()


@pytest.mark.parametrize(
    "line",
    [
        b'{"seq":9,"event":"status.set","data":{"no":"key"}}\n',
        b"not JSON\n",
        b'{"seq":9,"event":"status.set","data":7}\n',
    ],
)
def test_what_it_cannot_read_is_told_and_does_not_end_it(shop: Broker, pane: Open, line: bytes) -> None:
    one = pane()
    one.shows("Claude Code")
    for subscriber in shop._subscribers:  # noqa: SLF001 - the test's own stand-in
        subscriber.sendall(line)
    eventually(lambda: len([r for r in shop.requests if r["method"] == "events.subscribe"]) > 1, 3.0)
    shop.status("Still here")
    one.shows("Still here", 3.0)


def test_events_it_does_not_know_are_passed_over(shop: Broker, pane: Open) -> None:
    one = pane()
    one.shows("Claude Code")
    for subscriber in shop._subscribers:  # noqa: SLF001 - the test's own stand-in
        subscriber.sendall(b'{"event":"heartbeat"}\n{"seq":99,"event":"weather.set","data":{"id":1}}\n')
    shop.status("Still here")
    one.shows("Still here", 3.0)
    assert len([request for request in shop.requests if request["method"] == "events.subscribe"]) == 1


@pytest.mark.parametrize("options", [[], ["--once"]])
def test_it_starts_a_broker_where_none_runs(environ: dict[str, str], pane: Open, options: list[str]) -> None:
    one = pane(*options)
    one.shows("No agents yet.")
    try:
        with client.Connection(names.socket_path(environ)) as connection:
            assert connection.request("system.ping") == {"pong": True}
    finally:
        stop_stray_broker(names.socket_path(environ))


def test_with_the_real_broker_which_is_killed_and_comes_back(
    start_broker: Callable[..., subprocess.Popen[bytes]], environ: dict[str, str], pane: Open
) -> None:
    running = start_broker()

    def hook(event: str) -> None:
        with client.Connection(names.socket_path(environ)) as connection:
            connection.request(
                "agent.hook", {"agent": "codebuff", "event": event, "workspace_id": 1, "surface_id": 2}
            )

    one = pane()
    one.shows("No agents yet.")
    hook("prompt-submit")
    one.shows("▶ Codebuff", 2.0)
    hook("approval-request")
    one.shows("◆ Codebuff", 2.0)
    running.kill()
    running.wait()
    one.shows("reconnecting", 2.0)
    start_broker()
    eventually(lambda: "reconnecting" not in one.text(), 2.0)
    assert "◆ Codebuff" in one.text()
    hook("stop")
    one.shows("⏸ Codebuff", 2.0)
    hook("session-end")
    eventually(lambda: "⏸ Codebuff" not in one.text(), 2.0)


@pytest.mark.usefixtures("broker")
def test_a_notification_is_shown_until_m_marks_it_read(environ: dict[str, str], pane: Open) -> None:
    with client.Connection(names.socket_path(environ)) as connection:
        connection.request(
            "notification.create", {"workspace_id": 1, "title": "Approve", "body": "rm -rf build?"}
        )
    one = pane()
    assert "①" in one.shows("Approve: rm -rf build?")
    one.press("jm")
    eventually(lambda: "Approve" not in one.text(), 2.0)
    assert "①" not in one.text()


def test_keys_of_the_config_file_count_at_once_and_a_wrong_one_is_told_by_its_line(
    start_broker: Callable[..., subprocess.Popen[bytes]], environ: dict[str, str], pane: Open
) -> None:
    path = Path(names.config_path(environ))
    path.parent.mkdir(parents=True)
    start_broker()
    one = pane(size=(150, 12))
    one.shows("No agents yet.")
    path.write_text('[sidebar.keys]\nhelp = "x"\nsort = "xx"\n')
    one.shows(f"{path}:3: sidebar.keys.sort: 'xx' is no key"[:100], 5.0)
    one.press("x")
    one.shows("next needing input", 2.0)
