"""Methods that tell what happens and what happened."""

from __future__ import annotations

from seance_tools.methods.params import array, integer, number, string
from seance_tools.methods.row import Method
from seance_tools.state.tables import TOPICS

ROWS = (
    Method(
        "events.subscribe",
        (
            array("topics", "kinds of rows to hear of; default all", TOPICS, None),
            integer("after_seq", "last change seen, to go on from there", None),
            string("boot_id", "the broker's run that after_seq belongs to", None),
            number(
                "heartbeat", "seconds between lines that say the broker lives; default: none", None, low=1
            ),
        ),
        "Get a snapshot, then every change as it happens, on this connection.",
        "snapshot, seq, boot_id, gap",
        io=True,
    ),
    Method(
        "history.query",
        (
            number("since", "seconds since 1970", None, low=0),
            number("until", "seconds since 1970", None, low=0),
            string("agent", "only this agent's", None),
            string("session", "only this session's", None),
            integer("surface_id", "only this surface's", None),
            integer("limit", "at most so many, the newest", 1000, 1, 10000),
        ),
        "List how the agents' states changed, oldest first, and how long each had lasted.",
        "transitions",
        io=True,
    ),
)
