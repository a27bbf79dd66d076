"""Where an agent's logs are, and what they are called."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from seance_tools import names
from seance_tools.agents import Agent

_STATE = ".local/state/"  # what the XDG base directory may put elsewhere
_WILD = re.compile(r"[*?]")


class Place(NamedTuple):
    """Logs: below the directory `root`, names end in `suffix`, whole paths match `pattern`; "" for none."""

    root: str
    suffix: str
    pattern: re.Pattern[str] | None = None

    def has(self, path: str) -> bool:
        """Return whether a path below the root that has the suffix is a log."""
        return self.pattern is None or self.pattern.fullmatch(path) is not None


def place_of(agent: Agent, glob: str, environ: Mapping[str, str]) -> Place | None:
    """Return where the agent's logs are; None where neither its row nor a glob of the user's tells."""
    if glob:
        return of_glob(os.path.join(names.home(environ), glob.removeprefix("~/")))
    if not agent.log_root:
        return None
    state = environ.get("XDG_STATE_HOME", "")
    if agent.log_root.startswith(_STATE) and state.startswith("/"):
        return Place(os.path.join(state, agent.log_root.removeprefix(_STATE)), agent.log_suffix)
    return Place(os.path.join(names.home(environ), agent.log_root), agent.log_suffix)


def of_glob(glob: str) -> Place:
    """Return the place that a glob names: `*` and `?` within one directory, `**` for any number of them."""
    parts = os.path.normpath(glob).split("/")
    plain = next((index for index, part in enumerate(parts) if _WILD.search(part)), len(parts) - 1)
    suffix = _WILD.split(parts[-1])[-1]
    return Place("/".join(parts[:plain]) or "/", suffix, re.compile(_regex(parts), re.DOTALL))


def _regex(parts: list[str]) -> str:
    regex = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            regex += ".*" if last else "(?:.*/)?"
            continue
        for piece in re.findall(r"\*+|.", part, re.DOTALL):
            if piece[0] == "*":
                regex += "[^/]*"
            elif piece == "?":
                regex += "[^/]"
            else:
                regex += re.escape(piece)
        regex += "" if last else "/"
    return regex
