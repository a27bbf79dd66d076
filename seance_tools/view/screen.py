"""The whole screen: header, the workspaces' blocks, footer; what is selected and how far it is scrolled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from seance_tools.state.tables import Tables
from seance_tools.text import width, wrap
from seance_tools.view.bindings import LABEL_COLUMNS, help_rows
from seance_tools.view.blocks import Entry, Line, Look, compose, outline, state_style
from seance_tools.view.model import Frame, Item, Piece, Place, Row, Spot, Trouble, Ui
from seance_tools.view.survey import Survey
from seance_tools.view.theme import Symbols, Theme

Record = dict[str, Any]
_ORDER = ("needs_input", "error", "running", "background", "idle", "unknown")
HINT = ("No agents yet.", "Source the wrapper in your shell, then run codebuff.")


class _List(NamedTuple):
    """All lines of the list, drawn or not; None is an empty line.

    items: what can be selected. waiting: the status entries that need input, in order.
    """

    entries: list[Entry | None]
    items: list[Item]
    waiting: list[Spot]


def render(
    tables: Tables,
    size: tuple[int, int],
    ui: Ui,
    theme: Theme,
    now: float,
    trouble: Trouble | None = None,
    survey: Survey | None = None,
) -> Frame:
    """Return the screen for a pane of `size` (columns, lines): a row for each line, a column less wide.

    survey: one kept from the last frame makes this one cheaper, and no different.
    """
    columns, lines = max(size[0] - 1, 0), max(size[1], 0)
    look = Look(columns, theme, now, [])
    if survey:
        survey.refresh(tables)
    survey = survey or Survey(tables)
    header = _header(survey, look) if lines >= 4 else []
    if ui.help:
        return _still(header + _help(look), look, lines, ui)
    workspaces = survey.order(ui.sort)
    words = ui.filter.casefold().split()
    shown = [row for row in workspaces if survey.matches(row, words)] if words else workspaces
    if not shown:
        body = [] if lines < 2 else _empty(look, trouble, some=bool(workspaces))
        footer = _footer(ui, look, trouble, (0, 0)) if lines > 1 else None
        return _still(header + body, look, lines, ui, footer)
    listed = _list(shown, survey, ui, look)
    chosen = _selected(ui, listed.items)
    room = lines - len(header)
    footer = _footer(ui, look, trouble, (0, 0)) if lines > 1 else None
    height = room - (footer is not None)
    if len(listed.entries) > height and lines > 1:  # it scrolls: the last line says how far
        height = room - 1
        above = _offset(ui, listed, chosen, height)
        footer = _footer(ui, look, trouble, (above, max(len(listed.entries) - above - height, 0)))
    offset = _offset(ui, listed, chosen, height)
    drawn, places = _window(listed, chosen, offset, height, look)
    missing = height - len(drawn)
    rows = [*header, *drawn, *([((" " * columns, ""),)] * missing)]
    clicks = [*([None] * len(header)), *places, *([None] * missing)]
    if footer is not None:
        rows.append(footer)
        clicks.append(None)
    return Frame(
        tuple(rows),
        tuple(clicks),
        tuple(listed.items),
        tuple(listed.waiting),
        chosen,
        offset,
        height,
        ui,
        _target(ui, listed.items, chosen, survey),
        tuple(look.sinces),
    )


def snapshot(tables: Tables, columns: int, theme: Theme, now: float) -> list[Row]:
    """Return everything as rows of at most `columns`, for where there is no screen."""
    look = Look(max(columns, 1), theme, now, [])
    survey = Survey(tables)
    rows = _header(survey, look)
    workspaces = survey.order("manual")
    if workspaces:
        listed = _list(workspaces, survey, Ui(), look)
        return rows + _window(listed, None, 0, len(listed.entries), look)[0]
    return rows + _empty(look, None, some=False)


def plain(rows: Iterable[Row]) -> str:
    """Return rows as lines of text without styles."""
    return "".join(text(row).rstrip(" ") + "\n" for row in rows)


def text(row: Row) -> str:
    """Return a row without its styles."""
    return "".join(piece for piece, _ in row)


def _plain(pieces: list[Piece], look: Look, right: list[Piece] | None = None) -> Row:
    return compose(look, Line(pieces, right or []))


def _still(rows: list[Row], look: Look, lines: int, ui: Ui, footer: Row | None = None) -> Frame:
    """Return a screen on which nothing can be selected."""
    blank = ((" " * look.columns, ""),)
    rows = rows[: lines - (footer is not None)]
    rows += [blank] * (lines - len(rows) - (footer is not None))
    if footer is not None:
        rows.append(footer)
    return Frame(tuple(rows), (None,) * len(rows), (), (), None, 0, 0, ui)


def _header(survey: Survey, look: Look) -> list[Row]:
    symbols = look.theme.symbols
    totals = survey.totals()
    states = [state for state in _ORDER if totals[state]]
    for spaced in (True, False):
        right: list[Piece] = []
        for state in states:
            sign = symbols.state(state)
            part = f"{sign} {totals[state]}" if spaced else f"{sign}{totals[state]}"
            gap = "" if not right else "  " if spaced else " "
            right.append((gap + part, state_style(state)))
        if sum(width(part) for part, _ in right) + width(symbols.title) + 2 <= look.columns:
            break
    if right and sum(width(part) for part, _ in right) + 8 > look.columns:  # the numbers are worth more
        return [_plain([(" ", ""), *right], look), _rule(look)]
    return [_plain([(f" {symbols.title}", "title")], look, right), _rule(look)]


def _rule(look: Look) -> Row:
    return _plain([(" ", ""), (look.theme.symbols.rule * max(look.columns - 1, 0), "rule")], look)


def _paragraph(words: str, style: str, look: Look, lines: int) -> list[Row]:
    rows = wrap(look.tidy(words), look.columns - 1, lines, look.theme.symbols.ellipsis)
    return [_plain([(" ", ""), (row, style)], look) for row in rows]


def _empty(look: Look, trouble: Trouble | None, *, some: bool) -> list[Row]:
    if some:
        return _paragraph("Nothing matches.", "dim", look, 2)
    if trouble:
        return _paragraph(trouble.reason, "dim", look, 6)
    return _paragraph(HINT[0], "title", look, 2) + _paragraph(HINT[1], "dim", look, 4)


def _help(look: Look) -> list[Row]:
    symbols = look.theme.symbols
    rows = []
    for keys, meaning in help_rows(look.theme.keys):
        name = look.tidy(keys.replace("↑", symbols.above).replace("↓", symbols.below))
        name += " " * (LABEL_COLUMNS - width(name))
        rows.append(_plain([(" ", ""), (name, "title"), (f" {meaning}", "")], look))
    return rows


def _list(workspaces: list[Record], survey: Survey, ui: Ui, look: Look) -> _List:
    inner = look._replace(columns=max(look.columns - 1, 0))  # the first column is the selection's bar
    seen_as = (ui.compact, ui.folded, inner.columns, inner.theme)
    entries: list[Entry | None] = []
    items: list[Item] = []
    waiting: list[Spot] = []
    for workspace in workspaces:
        if entries and not ui.compact:
            entries.append(None)
        workspace_id = workspace["id"]
        made_from = (len(entries), workspace_id in ui.expanded, seen_as, *survey.everything(workspace))
        known = survey.blocks.get(workspace_id)
        if known is None or known[0] != made_from:
            known = (made_from, _block(workspace, survey, ui, inner, len(entries)))
            survey.blocks[workspace_id] = known
        block: _List = known[1]
        entries += block.entries
        items += block.items
        waiting += block.waiting
    return _List(entries, items, waiting)


def _block(workspace: Record, survey: Survey, ui: Ui, inner: Look, start: int) -> _List:
    """Return the lines of one workspace, the first of which is line `start` of the list."""
    entries: list[Entry | None] = []
    items: list[Item] = []
    surface = survey.surface(workspace["id"])
    main = surface["id"] if surface else None
    for entry in outline(workspace, survey, ui, inner):
        if entry.item:
            line = start + len(entries)
            surface_id = _surface(entry.place.spot, survey)
            items.append(Item(entry.place.spot, main if surface_id is None else surface_id, line, line))
        entries.append(entry)
    items[0] = items[0]._replace(last=start + len(entries) - 1)
    return _List(entries, items, survey.waiting(workspace["id"]))


def _surface(spot: Spot, survey: Survey) -> int | None:
    """Return the surface of the agent behind a status entry, None for a workspace and where none is known."""
    status = None if spot.key is None else survey.tables.get("status", spot.workspace_id, spot.key)
    agent = survey.agent(status) if status else None
    return agent["surface_id"] if agent else None


def _target(ui: Ui, items: list[Item], chosen: int | None, survey: Survey) -> int | None:
    """Return the surface to jump to: the selected entry's own, even where only its workspace is listed."""
    if chosen is None:
        return None
    item = items[chosen]
    hidden = ui.selected is not None and ui.selected.workspace_id == item.spot.workspace_id
    surface_id = _surface(ui.selected, survey) if ui.selected and hidden else None
    return item.surface_id if surface_id is None else surface_id


def _selected(ui: Ui, items: list[Item]) -> int | None:
    """Return the number of the selected item; where it has gone, its workspace's or what took its place."""
    if ui.selected is None or not items:
        return None
    numbers = {item.spot: number for number, item in enumerate(items)}
    number = numbers.get(ui.selected, numbers.get(Spot(ui.selected.workspace_id)))
    return min(ui.number, len(items) - 1) if number is None else number


def _offset(ui: Ui, listed: _List, chosen: int | None, height: int) -> int:
    """Return how many lines are scrolled away above, so that a followed selection can be seen."""
    offset = min(max(ui.offset, 0), max(len(listed.entries) - height, 0))
    if ui.follow and chosen is not None:
        item = listed.items[chosen]
        if item.last >= offset + height:
            offset = item.last - height + 1
        offset = min(offset, item.first)
    return offset


def _window(
    listed: _List, chosen: int | None, offset: int, height: int, look: Look
) -> tuple[list[Row], list[Place | None]]:
    """Draw the lines that are seen."""
    inner = look._replace(columns=max(look.columns - 1, 0))
    symbols: Symbols = look.theme.symbols
    marked = range(0)
    if chosen is not None:
        marked = range(listed.items[chosen].first, listed.items[chosen].last + 1)
    rows: list[Row] = []
    places: list[Place | None] = []
    for number, entry in enumerate(listed.entries[offset : offset + height], offset):
        places.append(entry.place if entry else None)
        if not look.columns:
            rows.append((("", ""),))
            continue
        bar: Piece = (symbols.bar, "bar") if number in marked else (" ", "")
        drawn = compose(inner, entry.draw(inner)) if entry else ((" " * inner.columns, ""),)
        rows.append((bar, *drawn))
    return rows, places


def _tail(words: str, columns: int) -> str:
    """Return the end of a text that is being typed."""
    while words and width(words) > columns:
        words = words[1:]
    return words


def _footer(ui: Ui, look: Look, trouble: Trouble | None, beyond: tuple[int, int]) -> Row | None:
    """Return the line at the bottom, or None where there is nothing to say."""
    symbols = look.theme.symbols
    left: list[Piece] = []
    if ui.editing:
        left = [(f"/{_tail(look.tidy(ui.filter), look.columns - 3)}{symbols.caret}", "title")]
    elif ui.message and look.now < ui.until:
        left = [(f" {look.tidy(ui.message)}", "title")]
    elif trouble:
        left = [(f" {symbols.warning} {look.tidy(trouble.title)}", "trouble")]
    elif ui.filter:
        left = [(f"/{look.tidy(ui.filter)}", "dim")]
    above, below = beyond
    if not above and not below:
        return _plain(left, look) if left else None
    words = [f"{symbols.above}{above} above", f"{symbols.below}{below} below"]
    long = " ".join(words)
    if left or width(long) + 1 > look.columns:
        long = f"{symbols.above}{above} {symbols.below}{below}"
    if left:
        return _plain(left, look, [(long, "dim")])
    return _plain([(" " if width(long) < look.columns else "", ""), (long, "dim")], look)
