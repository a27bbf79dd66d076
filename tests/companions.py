"""A core with one companion beside it, for tests that play a scene with the two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seance_tools.broker.core import Core
from seance_tools.broker.ports import Ports
from seance_tools.broker.repositories import Repositories
from seance_tools.methods import find
from seance_tools.store import Store
from seance_tools.wire import Request


class CompanionDesk:
    """The core, its state below `directory`. A subclass makes the companion."""

    companion: Ports | Repositories

    def __init__(self, directory: Path) -> None:
        self.core = Core(Store(str(directory / "state.db")), "boot", lambda _: None)
        self.core.start()

    def do(self, method: str, **params: Any) -> None:
        self.core.call(Request(1, method, params, {}), find(method))
        self.core.commit()

    def watch(self, audience: int) -> None:
        """Have so many people look."""
        self.core.audience = audience
        for heard in list(self.core.on_audience):
            heard()

    def surface(self, surface_id: int) -> Any:
        row = self.core.tables.get("surface", surface_id)
        assert row
        return row

    async def comes(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                await asyncio.sleep(0.002)

    async def rests(self) -> None:
        """Wait until nothing is due any more."""
        await self.comes(lambda: not self.companion.busy)
