"""What a hook event means: event → state of an agent's session. Pure.

    report = read(agent, "PreToolUse", payload, at)   # None: it means nothing to us
    after = advance(record, report)                    # the next record; its arguments are never altered
    announcement(record, after, report)                # what to tell the user, once for each transition
    review(record, now, seen)                          # what follows from silence and from what is seen

TRANSITIONS (table.py) is the table of events and their states; what each does beyond that is one function in
transitions.py. Agents' own names for events stand in their rows of AGENTS, the places of fields in their
payloads in FIELDS (payloads.py). Rules (Architecture, "Agents"):

- a report older than the last one taken is acknowledged and ignored, but for what it says of a tool's call;
- counts are sizes of sets of ids, never +1 or -1, and sub-agents change nothing but their own set;
- what waits for the user is a set too: the state is needs_input until it is empty;
- an event that the table does not know changes nothing.
"""

from seance_tools.lifecycle.announcements import Announcement, announcement
from seance_tools.lifecycle.explanation import explain
from seance_tools.lifecycle.payloads import FIELDS, Record, Report, read
from seance_tools.lifecycle.records import blank, complete, is_child, not_after
from seance_tools.lifecycle.silence import next_review, review, unreported, vouched_for
from seance_tools.lifecycle.step import advance, ends
from seance_tools.lifecycle.table import (
    CLOSING,
    END,
    NEEDS_INPUT_KINDS,
    OPENING,
    PRIORITIES,
    SWITCHES,
    TEXTS,
    TRANSITIONS,
    WAKEUPS,
)
from seance_tools.lifecycle.transcript import Transcript

__all__ = [
    "CLOSING",
    "END",
    "FIELDS",
    "NEEDS_INPUT_KINDS",
    "OPENING",
    "PRIORITIES",
    "SWITCHES",
    "TEXTS",
    "TRANSITIONS",
    "WAKEUPS",
    "Announcement",
    "Record",
    "Report",
    "Transcript",
    "advance",
    "announcement",
    "blank",
    "complete",
    "ends",
    "explain",
    "is_child",
    "next_review",
    "not_after",
    "read",
    "review",
    "unreported",
    "vouched_for",
]
