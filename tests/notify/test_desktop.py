"""The desktop's notifications, against a stand-in on a bus of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from seance_tools.notify import Message, desktop
from seance_tools.notify.desktop import Unreachable
from tests.notify.desktop import Bus, Desktop
from tests.support import eventually, soon

DONE = Message(7, "Claude Code has finished", "<b>a</b> & b")


def with_one(
    address: str, work: Callable[[desktop.Desktop], Awaitable[None]], clicked: Callable[[int], None] = print
) -> None:
    async def run() -> None:
        one = desktop.Desktop({"DBUS_SESSION_BUS_ADDRESS": address}, clicked)
        await work(one)
        await one.close()

    asyncio.run(run())


def test_it_shows_replaces_and_takes_away(bus: Bus, screen: Desktop) -> None:
    async def work(one: desktop.Desktop) -> None:
        await one.show("claude-1", DONE)
        first = screen.only()
        assert first[1] == {
            "application": "Séance",
            "title": DONE.title,
            "body": "&lt;b&gt;a&lt;/b&gt; &amp; b",
            "actions": ["default", "Show the pane"],
        }
        await one.show("claude-1", DONE._replace(number=8, title="again"))
        assert screen.only()[1]["title"] == "again"
        assert screen.only()[0] == first[0]
        await one.show("codex-2", DONE._replace(number=9))
        await one.withdraw(frozenset({7}))  # the one that was replaced: nothing to take away
        screen.only(2)
        await one.withdraw(frozenset({8}))
        assert screen.only()[1]["title"] == DONE.title

    with_one(bus.address, work)
    assert screen.shown == {}, "nothing stays when we end"


def test_a_desktop_without_markup_gets_none(bus: Bus) -> None:
    plain = Desktop(bus, capabilities=())

    async def work(one: desktop.Desktop) -> None:
        await one.show("claude-1", DONE)
        assert plain.only()[1]["body"] == DONE.body

    with_one(bus.address, work)
    plain.close()


def test_a_click_is_told_and_the_bus_is_left_once_nothing_is_shown(bus: Bus, screen: Desktop) -> None:
    clicks: list[int] = []

    async def work(one: desktop.Desktop) -> None:
        await one.show("claude-1", DONE)
        assert screen.listeners() == 1
        number = screen.only()[0]
        screen.click(number + 1)  # another program's
        screen.click(number)
        await soon(lambda: clicks)
        screen.dismiss(number)
        await asyncio.to_thread(eventually, lambda: screen.listeners() == 0)

    with_one(bus.address, work, clicks.append)
    assert clicks == [DONE.number]


def test_a_desktop_that_does_not_answer(bus: Bus, screen: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desktop, "SECONDS", 0.2)
    screen.deaf = True

    async def work(one: desktop.Desktop) -> None:
        with pytest.raises(Unreachable, match="does not answer"):
            await one.show("claude-1", DONE)
        screen.deaf = False
        await one.show("claude-1", DONE)

    with_one(bus.address, work)


def test_a_bus_without_a_desktop_and_no_bus(bus: Bus, tmp_path: Path) -> None:
    async def work(one: desktop.Desktop) -> None:
        with pytest.raises(Unreachable, match=r"cannot be used: .*org\.freedesktop\.Notifications"):
            await one.show("claude-1", DONE)

    with_one(bus.address, work)

    async def gone(one: desktop.Desktop) -> None:
        with pytest.raises(Unreachable, match=r"cannot be used: .*No such file"):
            await one.show("claude-1", DONE)

    with_one(f"unix:path={tmp_path}/none", gone)

    async def none(one: desktop.Desktop) -> None:
        with pytest.raises(Unreachable, match="no session bus"):
            await one.show("claude-1", DONE)

    with_one("", none)


def test_a_bus_that_went_away_is_connected_to_anew(
    bus: Bus, screen: Desktop, need: Callable[[str], str]
) -> None:
    environ = {"DBUS_SESSION_BUS_ADDRESS": bus.address}
    other = Bus(need("dbus-daemon"))
    second = Desktop(other)

    async def run() -> None:
        one = desktop.Desktop(environ, print)
        await one.show("claude-1", DONE)
        assert one._bus  # noqa: SLF001 - the end of the connection is what is waited for
        environ["DBUS_SESSION_BUS_ADDRESS"] = other.address
        gone = one._bus  # noqa: SLF001
        screen.close()
        bus.close()
        await soon(lambda: not gone.connected)
        await one.show("claude-1", DONE)
        second.only()
        await one.close()

    asyncio.run(run())
    second.close()
    other.close()


def test_the_address_of_the_bus(tmp_path: Path) -> None:
    assert desktop.address({}) == ""
    assert desktop.address({"XDG_RUNTIME_DIR": str(tmp_path)}) == ""
    (tmp_path / "bus").touch()
    assert desktop.address({"XDG_RUNTIME_DIR": str(tmp_path)}) == f"unix:path={tmp_path}/bus"
    given = {"XDG_RUNTIME_DIR": str(tmp_path), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"}
    assert desktop.address(given) == "unix:path=/x"


def test_without_the_package_it_says_what_to_install(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desktop, "installed", lambda: False)

    async def work(one: desktop.Desktop) -> None:
        with pytest.raises(Unreachable, match=r"seance-tools\[desktop\]"):
            await one.show("claude-1", DONE)

    with_one(bus.address, work)
