"""What runs beside the requests: each keeps the state true to a part of the surroundings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from seance_tools.broker.channels import Channels
from seance_tools.broker.core import Core
from seance_tools.broker.evidence import Evidence
from seance_tools.broker.ports import Ports
from seance_tools.broker.repositories import Repositories
from seance_tools.broker.tmux import TmuxServers


class Companion(Protocol):
    """One of them. It lives in the event loop, hears of changes by `core.listeners`, and never blocks."""

    def start(self) -> None:
        """Begin; the loop runs, the broker serves already."""

    async def stop(self) -> None:
        """End, with everything that it started."""


COMPANIONS: tuple[Callable[[Core], Companion], ...] = (Channels, Repositories, Ports, TmuxServers, Evidence)
