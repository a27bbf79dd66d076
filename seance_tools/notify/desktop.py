"""The desktop's notifications, over D-Bus: org.freedesktop.Notifications, version 1.2 of its specification.

Needs the package dbus-fast (the extra `desktop`), which is imported with the first notification. The bus is
connected to only while a notification of ours is on the desktop.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from seance_tools.notify import Message as Shown

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

SECONDS = 3.0  # for each answer of the bus; a service that has to be started first may need as long
NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
APPLICATION = "Séance"
_BUS, _BUS_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"
_SIGNALS = f"type='signal',sender='{NAME}',interface='{NAME}',path='{PATH}'"
_UNUSABLE = "the desktop's notifications cannot be used"


def installed() -> bool:
    """Return whether the package that this needs is there."""
    return importlib.util.find_spec("dbus_fast") is not None


def address(environ: Mapping[str, str]) -> str:
    """Return the address of the user's session bus, "" where none is to be found.

    The variable is missing in a broker that was started over ssh; the bus of the runtime directory will do.
    """
    given = environ.get("DBUS_SESSION_BUS_ADDRESS", "")
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    path = os.path.join(runtime, "bus")
    return given or (f"unix:path={path}" if runtime and os.path.exists(path) else "")


class Unreachable(Exception):
    """The desktop cannot be told anything; the text says why."""


class Desktop:
    """Shows notifications, one for each subject: a later one of the same subject replaces the one before.

    clicked: called with the id of our notification (not the desktop's) that was clicked.
    """

    def __init__(self, environ: Mapping[str, str], clicked: Callable[[int], None]) -> None:
        self._environ = environ
        self._clicked = clicked
        self._bus: MessageBus | None = None
        self._lock = asyncio.Lock()  # one at a time, so that what is shown and what is closed stay in order
        self._markup = False
        self._shown: dict[str, tuple[int, int]] = {}  # by subject: the desktop's number of it, and ours
        self._heard: list[Message] = []  # that came while it was spoken to

    async def show(self, subject: str, message: Shown) -> None:
        """Show a message. Raises Unreachable."""
        async with self._lock, self._reachable():
            old = self._shown.get(subject, (0, 0))[0]
            body = message.body
            if self._markup:
                import html  # half a megabyte, for those who have the desktop told

                body = html.escape(body, quote=False)
            actions = ["default", "Show the pane"]
            values = [APPLICATION, old, "", message.title, body, actions, {}, -1]
            number = (await self._call("Notify", "susssasa{sv}i", values))[0]
            self._shown[subject] = (number, message.number)

    async def withdraw(self, numbers: frozenset[int]) -> None:
        """Take away what is still shown of our notifications with these ids. Raises Unreachable."""
        async with self._lock:
            subjects = [subject for subject, (_, ours) in self._shown.items() if ours in numbers]
            if not subjects:
                return
            async with self._reachable():
                for number, _ in [self._shown.pop(subject) for subject in subjects]:
                    with contextlib.suppress(Unreachable):  # some answer so where it is closed already
                        await self._call("CloseNotification", "u", [number])

    async def close(self) -> None:
        """Take away all that is shown, and let go of the bus."""
        with contextlib.suppress(Unreachable):
            await self.withdraw(frozenset(ours for _, ours in self._shown.values()))
        self._disconnect()

    @contextlib.asynccontextmanager
    async def _reachable(self) -> AsyncIterator[None]:
        """Connect if need be, and let go if nothing is shown afterwards; all that fails is Unreachable."""
        try:
            if self._bus is None or not self._bus.connected:
                await self._connect()
            yield
        except Unreachable:
            self._disconnect()
            raise
        except Exception as error:
            self._disconnect()
            reason = "it does not answer" if isinstance(error, TimeoutError) else error
            raise Unreachable(f"{_UNUSABLE}: {reason}") from error
        finally:
            heard, self._heard = self._heard, []
            for signal in heard:
                self._act(signal)
            self._let_go()

    async def _connect(self) -> None:
        if not installed():
            raise Unreachable("the desktop's notifications need dbus-fast: install seance-tools[desktop]")
        from dbus_fast.aio import MessageBus

        bus_address = address(self._environ)
        if not bus_address:
            raise Unreachable(f"{_UNUSABLE}: there is no session bus")
        self._shown.clear()  # another connection's numbers
        bus = MessageBus(bus_address, auth_timeout=SECONDS)
        async with asyncio.timeout(SECONDS):
            await bus.connect()
        self._bus = bus
        bus.add_message_handler(self._hear)
        await self._call("AddMatch", "s", [_SIGNALS], bus=True)
        self._markup = "body-markup" in (await self._call("GetCapabilities"))[0]

    def _disconnect(self) -> None:
        self._shown.clear()
        if self._bus:
            self._bus.disconnect()
            self._bus = None

    def _let_go(self) -> None:
        if not self._shown and self._bus:
            self._disconnect()

    async def _call(
        self, member: str, signature: str = "", values: list[Any] | None = None, *, bus: bool = False
    ) -> list[Any]:
        from dbus_fast import Message, MessageType

        assert self._bus
        where = (_BUS, _BUS_PATH, _BUS) if bus else (NAME, PATH, NAME)
        call = Message(*where, member, signature=signature, body=values or [])
        async with asyncio.timeout(SECONDS):
            answer = await self._bus.call(call)
        if answer is None or answer.message_type == MessageType.ERROR:
            raise Unreachable(f"{_UNUSABLE}: {answer.body[0] if answer and answer.body else member}")
        return list(answer.body)

    def _hear(self, message: Message) -> None:
        if message.interface != NAME or message.member not in ("ActionInvoked", "NotificationClosed"):
            return
        if self._lock.locked():  # it may be about what is just being shown, whose number is not known yet
            self._heard.append(message)
        else:
            self._act(message)
            self._let_go()

    def _act(self, message: Message) -> None:
        """Act on a click, and forget what the person has closed."""
        number = message.body[0] if message.body else 0
        subject = next((name for name, (theirs, _) in self._shown.items() if theirs == number), None)
        if subject is None:
            return  # another program's
        if message.member == "ActionInvoked":
            self._clicked(self._shown[subject][1])
            return
        del self._shown[subject]
