"""The top-level keys of a YAML file of plain lines, so that more such lines can be put behind them. Pure.

Not a YAML parser: what is not laid out one key a line is refused, for a reader may take our lines for
something else there.
"""

from __future__ import annotations

import re

_KEY = re.compile(r"""(["']?)(?P<name>[\w-]+)\1[ \t]*:(?:[ \t]|$)""")
_ELSE = re.compile(
    r"[ \t]*(#.*)?|[ \t]+\S.*|-([ \t].*)?"
)  # nothing, a comment, what belongs to the key before
_KEEPS_LINES = re.compile(r".*[:\s][|>][0-9]?\+[0-9]?[ \t]*(#.*)?")


def keys(text: str) -> dict[str, int]:
    """Return the names at the top level, each with its line. Raises ValueError, with the line."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), 1):
        key = _KEY.match(line)
        if key:
            found[key["name"]] = number
        elif line == "---" and not found:
            continue
        elif not _ELSE.fullmatch(line):
            raise ValueError(f'line {number}: not one "name: value" a line; put ours in by hand')
        elif line.strip(" \t") and not line.lstrip(" \t").startswith("#") and not found:
            raise ValueError(f"line {number}: the names do not begin at the left; put ours in by hand")
        if _KEEPS_LINES.fullmatch(line):
            raise ValueError(f"line {number}: a text that keeps what follows; put ours in by hand")
    return found
