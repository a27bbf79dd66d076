"""The block of one workspace: first which lines it has (`outline`), then each line when it is drawn.

Only what is on the screen is drawn, so that a thousand agents cost no more than what is seen of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

from seance_tools.ages import age
from seance_tools.state.metadata import counts, latest_log
from seance_tools.text import clean, cut, cut_path, to_ascii, width, wrap
from seance_tools.view.model import Piece, Place, Row, Spot, Ui
from seance_tools.view.survey import Git, Survey
from seance_tools.view.theme import Symbols, Theme

Record = dict[str, Any]
VISIBLE_STATUSES = 3
NOTIFICATION_LINES = 2
_CHARACTERS_A_COLUMN = 3  # a base and its marks: what is further on cannot be seen
_BAR_CELLS = (4, 10)
_AGE_COLUMNS = 4  # " 41s"
_TEXT_COLUMNS = 7  # what a pill's name leaves at least to its text


class Look(NamedTuple):
    """What drawing a line needs to know: columns to fill, theme, time.

    sinces: what is drawn adds the time of each age to it.
    """

    columns: int
    theme: Theme
    now: float
    sinces: list[float]

    @property
    def indent(self) -> str:
        """What the lines below a workspace's name begin with; a narrow pane has no room for it."""
        return " " if self.columns >= 32 else ""

    def tidy(self, value: str) -> str:
        """Return a foreign text as it may be shown, in the characters of the theme."""
        return _tidy(value, self._limit, self.theme.symbols.plain)

    @property
    def _limit(self) -> int:
        return _CHARACTERS_A_COLUMN * self.columns + 2

    def path(self, value: str) -> str:
        """Return a foreign path as it may be shown; of one too long for any cut, only its last part."""
        if len(value) > self._limit:
            last = value.rstrip("/").rpartition("/")[2]
            return f"{self.theme.symbols.ellipsis}/{self.tidy(last)}"
        return self.tidy(value)

    def cut(self, value: str, columns: int) -> str:
        """Return a tidy text cut to `columns`."""
        return cut(value, columns, self.theme.symbols.ellipsis)


class Line(NamedTuple):
    """The parts of a line: those from the left, of which the last is cut, and those at the right edge."""

    left: list[Piece]
    right: list[Piece]


class Entry(NamedTuple):
    """One line of the list: how to draw it, what a click on it means, whether it can be selected."""

    draw: Callable[[Look], Line]
    place: Place
    item: bool = False


@lru_cache(maxsize=4096)
def _tidy(value: str, limit: int, plain: bool) -> str:  # noqa: FBT001 - a key of the cache
    shown = clean(value, limit)
    return to_ascii(shown) if plain else shown


def compose(look: Look, line: Line) -> Row:
    """Return the line as pieces that fill exactly `look.columns`."""
    right = line.right
    taken = sum(width(text) for text, _ in right)
    if taken and look.columns - taken < 8:
        right, taken = [], 0
    room = look.columns - taken - bool(taken)
    pieces: list[Piece] = []
    for text, style in line.left:
        shown = look.cut(text, room)
        pieces.append((shown, style))
        room -= width(shown)
        if shown != text:
            break
    return (*pieces, (" " * (room + bool(taken)), ""), *right)


def outline(workspace: Record, survey: Survey, ui: Ui, look: Look) -> Iterator[Entry]:
    """Yield the lines of a workspace, top to bottom."""
    workspace_id = workspace["id"]
    shown = look.theme.shown
    place = Place(Spot(workspace_id))
    if ui.compact or (ui.folded and workspace_id not in ui.expanded and survey.idle(workspace_id)):
        yield Entry(partial(_summary, workspace, survey), place, item=True)
        return
    yield Entry(partial(_name, workspace, survey), place, item=True)
    if "notifications" in shown and survey.unread[workspace_id]:
        for text in _notification(survey.unread[workspace_id], look):
            yield Entry(partial(_indented, text, "notification"), place)
    if "status" in shown:
        yield from _pills(workspace_id, survey, ui)
    log = latest_log(survey.tables, workspace_id) if "logs" in shown else None
    if log:
        yield Entry(partial(_log, log), place)
    progress = survey.tables.get("progress", workspace_id) if "progress" in shown else None
    if progress and progress["active"]:
        yield Entry(partial(_progress, progress), place)
    if "branch" in shown:
        git, cwd = survey.git(workspace_id), survey.directory(workspace_id)
        if git.branch or cwd:
            yield Entry(partial(_directory, git, cwd), place)
    ports = survey.ports(workspace_id) if "ports" in shown else []
    if ports:
        yield Entry(partial(_ports, ports), place)
    yield Entry(partial(_columns, workspace["columns"]), place)


def _pills(workspace_id: int, survey: Survey, ui: Ui) -> Iterator[Entry]:
    rows = survey.statuses(workspace_id)
    expanded = workspace_id in ui.expanded
    visible = rows if expanded else rows[:VISIBLE_STATUSES]
    for row in visible:
        place = Place(Spot(workspace_id, row["key"]))
        yield Entry(partial(_pill, row, survey.agent(row), visible), place, item=True)
    if len(rows) > VISIBLE_STATUSES:
        text = "  show fewer" if expanded else f"  +{len(rows) - VISIBLE_STATUSES} more"
        yield Entry(partial(_indented, text, "dim"), Place(Spot(workspace_id), expands=True))


def _badges(subagents: int, background: int, look: Look) -> list[Piece]:
    """Return the counts of sub-agents and background tasks, each followed by a space."""
    symbols = look.theme.symbols
    pairs = ((symbols.subagents, subagents, "running"), (symbols.background, background, "background"))
    return [(f"{symbol}{count} ", style) for symbol, count, style in pairs if count]


def _unread(workspace_id: int, survey: Survey, look: Look) -> list[Piece]:
    unread = len(survey.unread[workspace_id])
    return [(look.theme.symbols.badge(unread), "badge")] if unread else []


def _name(workspace: Record, survey: Survey, look: Look) -> Line:
    count = counts(survey.tables, workspace["id"])
    right = _badges(count["subagent_count"], count["background_count"], look)
    right += _unread(workspace["id"], survey, look)
    if right:
        right[-1] = (right[-1][0].rstrip(), right[-1][1])
    style = "active" if survey.active == workspace["id"] else "title"
    return Line([(look.tidy(workspace["title"]), style)], right)


def _summary(workspace: Record, survey: Survey, look: Look) -> Line:
    """Draw a whole workspace on one line: its foremost state, its name, how many of each state."""
    symbols = look.theme.symbols
    states: dict[str, int] = {}
    for row in survey.statuses(workspace["id"]):
        state = row["state"] or ""
        states[state] = states.get(state, 0) + 1
    first = next(iter(states), None)
    sign = (" ", "") if first is None else (symbols.state(first), state_style(first))
    right = [(f"{symbols.state(state)}{count} ", state_style(state)) for state, count in states.items()]
    if len(right) == 1 and sum(states.values()) == 1:
        right = []
    right += _unread(workspace["id"], survey, look)
    if right:
        right[-1] = (right[-1][0].rstrip(), right[-1][1])
    style = "active" if survey.active == workspace["id"] else "title"
    return Line([(look.indent, ""), sign, (" ", ""), (look.tidy(workspace["title"]), style)], right)


def _notification(unread: list[Record], look: Look) -> list[str]:
    latest = max(unread, key=lambda row: (row["created_at"], row["id"]))
    texts = [look.tidy(latest[name]) for name in ("title", "subtitle", "body") if latest.get(name)]
    return wrap(
        ": ".join(texts), look.columns - len(look.indent), NOTIFICATION_LINES, look.theme.symbols.ellipsis
    )


def _indented(text: str, style: str, look: Look) -> Line:
    return Line([(look.indent, ""), (text, style)], [])


def state_style(state: str | None) -> str:
    """Return the name of the style of a state."""
    return state if state in ("needs_input", "error", "running", "background", "idle") else "unknown"


def _pill(row: Record, agent: Record | None, visible: list[Record], look: Look) -> Line:
    symbols = look.theme.symbols
    style = state_style(row["state"])
    right = _badges(agent["subagent_count"], agent["background_count"], look) if agent else []
    since: Piece = (age(row["since"], look.now), "dim")
    left: list[Piece] = [(look.indent, ""), (symbols.state(row["state"]), style), (" ", "")]
    room = look.columns - len(look.indent) - 2 - _AGE_COLUMNS
    if room < 17:  # none for a text beside the name; the sign tells the state
        look.sinces.append(row["since"])
        return Line([*left, (look.tidy(row["display_name"]), "")], [*right, since])
    gap = 2 if look.columns >= 30 else 1
    limit = room - gap - _TEXT_COLUMNS
    names = [look.cut(look.tidy(other["display_name"]), limit) for other in visible]
    name = look.cut(look.tidy(row["display_name"]), limit)
    name += " " * (max(map(width, names)) - width(name) + gap)
    value = look.tidy(row["value"])
    if row["inferred"]:
        value, style = f"~{value}", "dim"
    left += (name, ""), (value, style)
    used = sum(width(text) for text, _ in left + right)
    if used <= look.columns < used + 1 + width(since[0]):  # the text is worth more than its age
        since = ("", "")
        right[-1:] = [(text.rstrip(), style) for text, style in right[-1:]]
    else:
        look.sinces.append(row["since"])
    return Line(left, [*right, since])


def _log(row: Record, look: Look) -> Line:
    level = row["level"]
    style = level if level in ("success", "warning", "error") else "dim"
    text = look.tidy(row["message"])
    return Line([(look.indent, ""), (look.theme.symbols.level(level), style), (" ", ""), (text, "dim")], [])


def _progress(row: Record, look: Look) -> Line:
    value = min(max(row["value"], 0.0), 1.0)
    low, high = _BAR_CELLS
    cells = min(max(look.columns // 3, low), high)
    done, half, todo = look.theme.symbols.progress
    halves = int(value * cells * 2 + 1e-9)
    bar = done * (halves // 2) + half * (halves % 2)
    bar += todo * (cells - halves // 2 - halves % 2)
    percent = f" {int(value * 100 + 1e-9)}% "  # downwards: 100 only when done
    return Line([(look.indent, ""), (bar, "progress"), (percent, ""), (look.tidy(row["label"]), "dim")], [])


def _shorten(path: str, home: str) -> str:
    if home and (path == home or path.startswith(home.rstrip("/") + "/")):
        return "~" + path[len(home.rstrip("/")) :]
    return path


def _marks(git: Git, symbols: Symbols) -> str:
    """Return what stands behind a branch: what goes on, * for changes (? where unknown), ahead and behind."""
    operation = f"|{git.operation.upper()}" if git.operation else ""
    star = "?" if git.dirty is None else "*" if git.dirty else ""
    pairs = ((symbols.ahead, git.ahead), (symbols.behind, git.behind))
    counts = "".join(f"{symbol}{count}" for symbol, count in pairs if count)
    return f"{operation}{star}{' ' if counts else ''}{counts}"


def _directory(git: Git, cwd: str, look: Look) -> Line:
    symbols = look.theme.symbols
    room = look.columns - len(look.indent)
    path = look.path(_shorten(cwd, look.theme.home))
    if not git.branch:
        return Line([(look.indent, ""), (cut_path(path, room, symbols.ellipsis), "dim")], [])
    marks = look.tidy(_marks(git, symbols))
    name = look.tidy(git.branch)
    between = f" {symbols.separator} " if path else ""
    room -= width(symbols.branch) + 1 + width(marks) + width(between)
    if width(name) + width(path) > room:  # the directory yields first, down to its last part
        least = min(width(path), room // 2)
        name = look.cut(name, max(room - least, 0))
        path = cut_path(path, max(room - width(name), 0), symbols.ellipsis)
    return Line([(look.indent, ""), (f"{symbols.branch} {name}{marks}", "dim"), (between + path, "dim")], [])


def _ports(ports: list[int], look: Look) -> Line:
    left: list[Piece] = [(look.indent, ""), (look.theme.symbols.ports, "dim")]
    for port in ports:
        left += (" ", ""), (str(port), "port")
    return Line(left, [])


def _columns(columns: list[Record], look: Look) -> Line:
    symbols = look.theme.symbols
    flags = [bool(column["active"]) for column in columns] or [True]
    if 2 * len(flags) - 1 > look.columns - len(look.indent):  # so many do not fit: say which of how many
        number = flags.index(True) + 1 if True in flags else 1
        return Line([(look.indent, ""), (f"{symbols.active_column} {number}/{len(flags)}", "dim")], [])
    dots: list[Piece] = [(look.indent, "")]
    for index, active in enumerate(flags):
        dot = symbols.active_column if active else symbols.column
        dots.append((f"{' ' if index else ''}{dot}", "" if active else "dim"))
    return Line(dots, [])
