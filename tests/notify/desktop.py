"""A D-Bus of the test's own, and on it a stand-in for the desktop that shows notifications."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from typing import Any

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

from tests.support import eventually

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"


class Bus:
    """A message bus on a socket of its own."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen(
            [program, "--session", "--nofork", "--nopidfile", "--print-address"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        self.address = self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout
        self._process.stdout.close()


class Desktop:
    """Answers as a desktop does. shown: the notifications on it, by their number; calls: all that was asked.

    deaf: it never answers Notify.
    """

    def __init__(self, bus: Bus, *, capabilities: tuple[str, ...] = ("actions", "body-markup")) -> None:
        self.shown: dict[int, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.deaf = False
        self._capabilities = list(capabilities)
        self._last = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._bus: MessageBus = self._run(self._open(bus.address))

    def click(self, number: int) -> None:
        self._emit("ActionInvoked", "us", [number, "default"])

    def dismiss(self, number: int) -> None:
        self._close(number, 2)

    def only(self, count: int = 1) -> tuple[int, dict[str, Any]]:
        """Wait until so many are shown; return the latest, with its number."""
        eventually(lambda: len(self.shown) == count, what=f"{count} shown, not {self.shown}")
        latest = max(self.shown, default=0)
        return latest, self.shown.get(latest, {})

    def listeners(self) -> int:
        """How many others than this one are on the bus."""

        async def ask() -> int:
            answer = await self._bus.call(
                Message("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ListNames")
            )
            assert answer
            return len([name for name in answer.body[0] if name.startswith(":")]) - 1

        return int(self._run(ask()))

    def close(self) -> None:
        if not self._thread.is_alive():
            return

        async def leave() -> None:
            self._bus.disconnect()
            await self._bus.wait_for_disconnect()  # type: ignore[no-untyped-call]

        self._run(leave())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _open(self, address: str) -> MessageBus:
        bus = await MessageBus(address).connect()
        bus.add_message_handler(self._asked)
        await bus.request_name(NAME)
        return bus

    def _asked(self, call: Message) -> Message | bool | None:
        if call.message_type != MessageType.METHOD_CALL or call.interface != NAME:
            return None
        self.calls.append(str(call.member))
        if call.member == "GetCapabilities":
            return Message.new_method_return(call, "as", [self._capabilities])
        if call.member == "CloseNotification":
            self._close(call.body[0], 3)
            return Message.new_method_return(call)
        assert call.member == "Notify"
        if self.deaf:
            return True  # taken, never answered
        application, replaced, _icon, title, body, actions, _hints, _timeout = call.body
        self._last = number = replaced or self._last + 1
        self.shown[number] = {"application": application, "title": title, "body": body, "actions": actions}
        return Message.new_method_return(call, "u", [number])

    def _close(self, number: int, reason: int) -> None:
        if self.shown.pop(number, None):
            self._emit("NotificationClosed", "uu", [number, reason])

    def _emit(self, member: str, signature: str, values: list[Any]) -> None:
        signal = Message.new_signal(PATH, NAME, member, signature, values)
        self._loop.call_soon_threadsafe(self._bus.send, signal)
