"""The METHODS table, put together from its parts: the order is the man page's."""

from __future__ import annotations

from seance_tools.methods import agent, feed, surface, system, workspace
from seance_tools.methods.row import Method

METHODS: tuple[Method, ...] = (*system.ROWS, *workspace.ROWS, *surface.ROWS, *agent.ROWS, *feed.ROWS)
