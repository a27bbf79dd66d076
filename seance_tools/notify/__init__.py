"""The channels that notifications go out on, one module for each kind; `Message` is what they are given."""

from __future__ import annotations

from typing import Any, NamedTuple

from seance_tools.text import clean

TITLE, BODY = 120, 240  # characters; a desktop or a status line shows no more


class Message(NamedTuple):
    """What a channel shows. number: the notification's id. more: how many others this one stands for too."""

    number: int
    title: str
    body: str
    more: int = 0


def message(row: dict[str, Any], host: str = "", more: int = 0) -> Message:
    """Return what to show of a notification's row: cleaned texts, each on one line.

    host: where its agent runs, "" for here. more: how many others it stands for too.
    """
    title = clean(row["title"], TITLE)
    if host:
        title += f" on {clean(host, TITLE)}"
    if more:
        title += f" (+{more} more)"
    body = ": ".join(text for text in (row["subtitle"], row["body"]) if text)
    return Message(row["id"], title, clean(body, BODY), more)
