"""What the logs of agents' sessions say: bytes and lines in, what the session does out. Pure.

    lines, turns = Lines(), FORMATS["codebuff"]()
    for line in lines.feed(read(lines.offset(inode, size))):
        turn = turns.read(line)  # None: nothing changed
    turn = turns.saved(outcome(tail_of_run_state), modified)

A new log format is a class with one method and a row in FORMATS.
"""

from seance_tools.turns.codebuff import Codebuff
from seance_tools.turns.lines import Lines
from seance_tools.turns.model import Line, Turn, Turns, pid_of
from seance_tools.turns.outcome import TAIL_BYTES, Outcome, outcome
from seance_tools.turns.poolside import Poolside

FORMATS: dict[str, type[Turns]] = {"codebuff": Codebuff, "poolside": Poolside}

__all__ = [
    "FORMATS",
    "TAIL_BYTES",
    "Codebuff",
    "Line",
    "Lines",
    "Outcome",
    "Poolside",
    "Turn",
    "Turns",
    "outcome",
    "pid_of",
]
