"""The seance-sidebar program: options, the plain snapshot, and what ends it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping

import click
import ujson

from seance_tools import __version__, client, names
from seance_tools.state.tables import Tables
from seance_tools.view import ASCII, UNICODE, Theme, coloured_text, document, plain, snapshot, svg, themed
from seance_tools.wire import WireError

PROGRAM = "seance-sidebar"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--socket", "path", metavar="PATH", help="Path of the broker's socket.")
@click.option("--once", is_flag=True, help="Print one plain snapshot and end; also without a terminal.")
@click.option("--json", "form", flag_value="json", help="With --once: one JSON document.")
@click.option("--ansi", "form", flag_value="ansi", help="With --once: with colours.")
@click.option("--svg", "form", flag_value="svg", help="With --once: as a picture.")
@click.option("--ascii", "ascii_wanted", is_flag=True, help="Draw with ASCII characters only.")
@click.version_option(__version__, prog_name=PROGRAM)
def sidebar(path: str | None, form: str | None, *, once: bool, ascii_wanted: bool) -> None:
    """Show what every agent is doing: running, idle, or waiting for you.

    A broker is started where none runs. Press ? for the keys.
    """
    try:
        path = names.socket_path({**os.environ, "SEANCE_SOCKET_PATH": path} if path else os.environ)
    except ValueError as error:
        names.complain(PROGRAM, error)
        sys.exit(names.EXIT_USAGE)
    symbols = ASCII if ascii_wanted or not unicode_wanted(os.environ) else UNICODE
    theme = Theme(symbols, home=names.home(os.environ))
    if once or form or not os.isatty(1):
        sys.exit(_print_once(path, theme, form or ""))
    from seance_tools.sidebar.loop import Loop
    from seance_tools.sidebar.screen import Screen

    try:
        Loop(path, theme).run(Screen(os.environ))
    except Exception as error:  # noqa: BLE001 - the boundary: one line for the person, not a trace
        names.complain(PROGRAM, f"cannot go on: {error!r}")
        sys.exit(names.EXIT_REFUSED)


def unicode_wanted(environ: Mapping[str, str]) -> bool:
    """Return whether the locale's characters are UTF-8.

    Python itself sets LC_CTYPE to C.UTF-8 where it found the C locale: that value says nothing.
    """
    kind = environ.get("LC_CTYPE", "")
    locale = environ.get("LC_ALL") or (kind if kind != "C.UTF-8" else "") or environ.get("LANG", "")
    return "utf8" in locale.replace("-", "").lower()


def colours_of(environ: Mapping[str, str]) -> int:
    """Return how many colours text for a terminal or a pipe may have, as the environment says."""
    if environ.get("NO_COLOR"):
        return 0
    return 1 << 24 if environ.get("COLORTERM") in ("truecolor", "24bit") else 256


def _shown(tables: Tables, theme: Theme, form: str) -> str:
    """Return everything in one of the forms json, ansi, svg, or "" for plain text."""
    if form == "json":
        return ujson.dumps(document(tables), ensure_ascii=False, escape_forward_slashes=False) + "\n"
    settings = tables.get("config")
    theme = themed(theme, settings["values"] if settings else {})
    columns = shutil.get_terminal_size().columns
    rows = snapshot(tables, columns - 1, theme, time.time())
    if form == "svg":
        return svg(rows, theme.styles)
    return coloured_text(rows, theme.styles, colours_of(os.environ)) if form == "ansi" else plain(rows)


def _print_once(path: str, theme: Theme, form: str) -> int:
    """Print one snapshot; returns the exit code."""
    try:
        with client.open_connection(path) as connection:
            tables = Tables.from_snapshot(connection.subscribe()["snapshot"])
        data = _shown(tables, theme, form).encode("utf-8", "replace")
    except client.NoBroker as error:
        names.complain(PROGRAM, error)
        return names.EXIT_NO_BROKER
    except TimeoutError as error:
        names.complain(PROGRAM, f"the broker does not answer: {error}")
        return names.EXIT_TIMEOUT
    except Exception as error:  # noqa: BLE001 - the boundary, as above
        names.complain(PROGRAM, error if isinstance(error, WireError) else f"cannot show it: {error!r}")
        return names.EXIT_REFUSED
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        pass  # whoever read has seen enough
    except OSError as error:
        names.complain(PROGRAM, f"cannot write: {error.strerror}")
        return names.EXIT_REFUSED
    return names.EXIT_OK
