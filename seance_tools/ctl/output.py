"""How the commands print: tables and colours for people, plain lines for pipes; all of it cleaned."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from seance_tools.text import clean, fit, width

# Each state's colour; they are told apart by their words first.
COLOURS = {
    "needs_input": "yellow",
    "running": "green",
    "error": "red",
    "background": "cyan",
    "idle": "bright_black",
    "unknown": "bright_black",
}


def for_people() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def coloured() -> bool:
    """Return whether colours are wanted: on a terminal that has them, unless NO_COLOR says no."""
    return for_people() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def paint(text: str, state: str | None) -> str:
    """Return a text in the colour of a state, where colours are wanted."""
    colour = COLOURS.get(state or "")
    return click.style(text, fg=colour) if colour and coloured() else text


def print_json(value: Any) -> None:
    """Print one JSON document, in ASCII."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def print_line(text: Any) -> None:
    """Print one line of text that may come from programs."""
    click.echo(clean(str(text), 1 << 20))


def print_fields(result: dict[str, Any]) -> None:
    """Print a small result as `name: value` lines; an empty one as nothing."""
    for name, value in result.items():
        if value == "":
            continue
        shown = value if isinstance(value, str | int | float) else json.dumps(value)
        print_line(f"{name}: {str(shown).lower() if isinstance(value, bool) else shown}")


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[Any]], states: Sequence[str | None] = ()
) -> None:
    """Print rows: aligned below a head on a terminal, tab-separated and without a head in a pipe.

    states: the state of each row, whose colour it gets.
    """
    texts = [[clean("" if cell is None else str(cell), 1 << 16) for cell in row] for row in rows]
    if not for_people():
        for cells in texts:
            click.echo("\t".join(cells))
        return
    widths = [max(width(cell) for cell in column) for column in zip(head, *texts, strict=True)]
    click.echo("  ".join(fit(cell, size) for cell, size in zip(head, widths, strict=True)).rstrip())
    for index, cells in enumerate(texts):
        line = "  ".join(fit(cell, size) for cell, size in zip(cells, widths, strict=True)).rstrip()
        click.echo(paint(line, states[index] if states else None))
