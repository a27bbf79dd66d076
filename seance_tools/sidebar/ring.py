"""What the sidebar's own terminal is to be told of notifications, as the broker has decided it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from seance_tools.notify import message, terminal
from seance_tools.state.tables import Tables

CHANNEL = "terminal"
NEWS_SECONDS = 300.0  # what is older is no news, and comes only because the broker was gone


class Ring:
    """Collects the sequences to write, from the events of the subscription.

    environ: tells whether a tmux stands between.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._tmux = bool(environ.get("TMUX"))
        self._texts: list[str] = []

    def hear(self, tables: Tables, event: dict[str, Any]) -> None:
        """Take an event that is not applied to the tables yet."""
        if event["event"] != "notification.set":
            return
        row = event["data"]
        old = tables.get("notification", row["id"]) or {}
        config = tables.get("config")
        news = CHANNEL in row.get("channels", ()) and CHANNEL not in old.get("channels", ())
        if not news or config is None or time.time() - row["created_at"] > NEWS_SECONDS:
            return
        kind = config["values"].get("notifications.terminal", "off")
        if kind != "off":
            agent = tables.get("agent", row["session"] or "") or {}
            shown = message(row, agent.get("host") or "", row["more"])
            self._texts.append(terminal.sequence(kind, shown, tmux=self._tmux))

    def take(self) -> str:
        """Return what is to be written now, and forget it."""
        texts, self._texts = self._texts, []
        return "".join(texts)
