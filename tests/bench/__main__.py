"""Every benchmark in one run: `python -m tests.bench [--scale PART] [--write] [NAME...]`.

The programs are installed from a copy first. Figures are printed as a table and written as JSON to
build/bench.json; with --write also into docs/performance.md. Where only some are named, those of the others
are kept from before.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import click

from seance_tools import __version__
from tests.bench.figures import ROOT, Figure, Goal, Stand

NAMES = ("hook", "prompt", "commands", "broker", "spool", "latency", "footprint", "start")
BEGIN, END = "<!-- figures: make bench -->\n", "<!-- end of figures -->\n"


def shown(value: float) -> str:
    """Return a number with as many digits as it needs."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def line(figure: Figure) -> str:
    """Return a figure as a line of the table."""
    low, high = figure.spread
    unit = f" {figure.unit}" if figure.unit else ""
    value = f"{shown(figure.value)}{f' {figure.beside}' if figure.beside else unit}"
    spread = f"{shown(low)} … {shown(high)}" if len(figure.values) > 1 else ""
    goal = ""
    if figure.goal:
        sign = "≥" if figure.goal.least else "≤"
        goal = (
            f"{sign} {shown(figure.goal.bound)}, {'met' if figure.goal.met(figure.value) else '**missed**'}"
        )
    return f"| {figure.what} | {value} | {spread} | {goal} |"


def table(figures: list[Figure]) -> str:
    """Return all figures as Markdown, a table for each group."""
    parts = []
    for group in dict.fromkeys(figure.group for figure in figures):
        rows = [line(figure) for figure in figures if figure.group == group]
        head = f"### {group.capitalize()}\n\n| what | measured | spread | goal |\n| --- | --- | --- | --- |"
        parts.append("\n".join([head, *rows]))
    return "\n\n".join(parts) + "\n"


def machine() -> str:
    """Return one line that says where and with what was measured."""
    found = [f"Python {platform.python_version()}"]
    for command in (["tmux", "-V"], ["bash", "-c", "echo bash $BASH_VERSION"], ["zsh", "--version"]):
        if shutil.which(command[0]):
            output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            found.append(" ".join(output.split()[:2]).partition("(")[0])
    rows = Path("/proc/cpuinfo").read_text().splitlines()
    models = [row.partition(":")[2].strip() for row in rows if row.startswith("model name")]
    model = models[0] if models else platform.machine()
    return (
        f"Version {__version__}, {date.today().isoformat()}: {os.cpu_count()} cores of {model}, "
        f"Linux {platform.release().partition('-')[0]}, {', '.join(found)}."
    )


def merged(rows: list[dict[str, Any]], figures: list[Figure]) -> list[Figure]:
    """Return the figures of an earlier run, those of the same groups replaced by these, in the old order."""
    new = {figure.group: [other for other in figures if other.group == figure.group] for figure in figures}
    old = [
        Figure(
            row["group"],
            row["what"],
            tuple(row["values"]),
            row["unit"],
            Goal(*row["goal"]) if row["goal"] else None,
            row["beside"],
            row["of"],
        )
        for row in rows
    ]
    groups = dict.fromkeys(figure.group for figure in (*old, *figures))
    kept = {group: [figure for figure in old if figure.group == group] for group in groups}
    return [figure for group in groups for figure in new.get(group, kept[group])]


@click.command()
@click.option(
    "--scale", default=1.0, help="Part of the runs and seconds to spend; 1 is the documented figure."
)
@click.option("--write", is_flag=True, help="Write the table into docs/performance.md.")
@click.argument("wanted", metavar="NAME...", nargs=-1, type=click.Choice(NAMES))
def main(scale: float, wanted: tuple[str, ...], *, write: bool) -> None:
    """Run the benchmarks; those named, or all."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        stand = Stand(Path(directory))
        for name in wanted or NAMES:
            click.echo(f"{name} …", err=True)
            figures += importlib.import_module(f"tests.bench.{name}").measure(stand, scale)
    output = ROOT / "build" / "bench.json"
    output.parent.mkdir(exist_ok=True)
    if wanted and output.exists():
        figures = merged(json.loads(output.read_text()), figures)
    text = f"{machine()}\n\n{table(figures)}"
    click.echo(text)
    rows = [{**figure._asdict(), "value": figure.value, "machine": machine()} for figure in figures]
    output.write_text(json.dumps(rows, indent=1))
    if write:
        page = ROOT / "docs" / "performance.md"
        before, _, rest = page.read_text().partition(BEGIN)
        page.write_text(f"{before}{BEGIN}{text}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    sys.exit(main())
