"""The sidebar for scripts and pictures: one JSON document, text with colours, an SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from seance_tools.state.metadata import counts, latest_log
from seance_tools.state.tables import Tables
from seance_tools.text import width
from seance_tools.view.model import Row
from seance_tools.view.screen import text
from seance_tools.view.survey import Survey
from seance_tools.view.theme import Style, ansi, rgb_of

Record = dict[str, Any]
_STATUS = ("key", "display_name", "value", "state", "priority", "since", "inferred", "session")
_LOG = ("level", "message", "timestamp")
_WIDTH, _HEIGHT, _MARGIN = 8.4, 18, 10  # of a character and around all, in pixels
_GROUND, _INK = "#1b1d23", "#d7dae0"


def document(tables: Tables) -> Record:
    """Return what the sidebar shows as plain data: how many agents are in each state, and each workspace."""
    survey = Survey(tables)
    return {
        "states": dict(survey.totals()),
        "workspaces": [_workspace(row, survey) for row in survey.order("manual")],
    }


def _pick(row: Record | None, members: Iterable[str]) -> Record | None:
    return None if row is None else {name: row[name] for name in members}


def _workspace(row: Record, survey: Survey) -> Record:
    workspace_id = row["id"]
    progress = survey.tables.get("progress", workspace_id)
    return {
        "id": workspace_id,
        "title": row["title"],
        "active": survey.active == workspace_id,
        "unread": len(survey.unread[workspace_id]),
        "status": [_status(status, survey) for status in survey.statuses(workspace_id)],
        "log": _pick(latest_log(survey.tables, workspace_id), _LOG),
        "progress": _pick(progress if progress and progress["active"] else None, ("value", "label")),
        **survey.git(workspace_id)._asdict(),
        "directory": survey.directory(workspace_id),
        "ports": survey.ports(workspace_id),
        "columns": row["columns"],
        **counts(survey.tables, workspace_id),
    }


def _status(row: Record, survey: Survey) -> Record:
    agent = survey.agent(row) or {}
    more = ("surface_id", "subagent_count", "background_count")
    return {**{name: row[name] for name in _STATUS}, **{name: agent.get(name) for name in more}}


def coloured_text(rows: Iterable[Row], styles: Mapping[str, Style], colours: int) -> str:
    """Return rows as lines with escape sequences for a terminal of so many colours."""
    lines = []
    for row in rows:
        parts = []
        for piece, style in row:
            start = ansi(styles[style], colours)
            parts.append(f"{start}{piece}\x1b[m" if start and piece.strip() else piece)
        lines.append("".join(parts).rstrip(" ") + "\n")
    return "".join(lines)


def svg(rows: Iterable[Row], styles: Mapping[str, Style]) -> str:
    """Return rows as an SVG picture of a dark terminal, every character in its cell."""
    drawn = list(rows)
    columns = max((width(text(row)) for row in drawn), default=1)
    size = (columns * _WIDTH + 2 * _MARGIN, len(drawn) * _HEIGHT + 2 * _MARGIN)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]:g} {size[1]:g}" font-size="14"'
        ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace">',
        "<title>seance-sidebar: what every agent is doing</title>",
        f'<rect width="100%" height="100%" rx="6" fill="{_GROUND}"/>',
    ]
    for number, row in enumerate(drawn):
        column = 0
        for piece, style in row:
            lines += _cells(piece, styles[style], column, _MARGIN + 14 + number * _HEIGHT)
            column += width(piece)
    return "\n".join([*lines, "</svg>", ""])


def _cells(piece: str, style: Style, column: int, y: int) -> Iterable[str]:
    """Yield a text element for each word of a piece, so that a font of another width moves none far."""
    rgb = rgb_of(style)
    fill = "#{:02x}{:02x}{:02x}".format(*rgb) if rgb else _INK
    weight = ' font-weight="bold"' if style.bold else ""
    for index, word in _words(piece):
        x = _MARGIN + (column + width(piece[:index])) * _WIDTH
        length = f' textLength="{width(word) * _WIDTH:g}"'
        yield f'<text x="{x:g}" y="{y}" fill="{fill}"{weight}{length}>{escape(word)}</text>'


def _words(piece: str) -> Iterable[tuple[int, str]]:
    start = 0
    for word in piece.split(" "):
        if word:
            yield start, word
        start += len(word) + 1
