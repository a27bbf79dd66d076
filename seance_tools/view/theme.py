"""What the sidebar's parts look like: signs, styles, and which sections are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from seance_tools.options import COLOUR_NAMES
from seance_tools.view.bindings import bindings

SECTIONS = ("notifications", "status", "logs", "progress", "branch", "ports")


class Symbols(NamedTuple):
    """One set of signs. `states` and `levels` have a shape for each; "" stands for none given."""

    plain: bool  # ASCII only: texts are turned into ASCII too
    title: str
    states: dict[str, str]
    levels: dict[str, str]
    bar: str
    rule: str
    ellipsis: str
    subagents: str
    background: str
    progress: tuple[str, str, str]  # done, half done, to do
    branch: str
    ahead: str
    behind: str
    separator: str
    ports: str
    column: str
    active_column: str
    above: str
    below: str
    warning: str
    caret: str

    def state(self, state: str | None) -> str:
        """Return the sign of a state; a state from a newer broker is an unknown one."""
        return self.states.get(state or "", self.states["unknown"])

    def level(self, level: str) -> str:
        """Return the sign of a log level."""
        return self.levels.get(level, self.levels["info"])

    def badge(self, count: int) -> str:
        """Return a count in a circle, or in brackets where there is no such character."""
        if self.plain or not 1 <= count <= 20:
            return f"({count})"
        return chr(0x2460 + count - 1)


UNICODE = Symbols(
    plain=False,
    title="SÉANCE",
    states={
        "needs_input": "◆",
        "error": "✖",
        "running": "▶",
        "background": "⧗",
        "idle": "⏸",
        "unknown": "?",
        "": "•",
    },
    levels={"info": "·", "progress": "›", "success": "✔", "warning": "▲", "error": "✖"},
    bar="▌",
    rule="─",
    ellipsis="…",
    subagents="⑂",
    background="⧗",
    progress=("▓", "▒", "░"),
    branch="⎇",
    ahead="↑",
    behind="↓",
    separator="•",
    ports="⇄",
    column="○",
    active_column="●",
    above="↑",
    below="↓",
    warning="▲",
    caret="▏",
)
ASCII = Symbols(
    plain=True,
    title="SEANCE",
    states={
        "needs_input": "!",
        "error": "x",
        "running": ">",
        "background": "~",
        "idle": "-",
        "unknown": "?",
        "": "*",
    },
    levels={"info": ".", "progress": ">", "success": "+", "warning": "!", "error": "x"},
    bar="|",
    rule="-",
    ellipsis="..",
    subagents="&",
    background="~",
    progress=("#", "=", "-"),
    branch="@",
    ahead="^",
    behind="v",
    separator="-",
    ports=":",
    column="o",
    active_column="*",
    above="^",
    below="v",
    warning="!",
    caret="_",
)

Rgb = tuple[int, int, int]
_STEPS = (0, 95, 135, 175, 215, 255)  # of each primary in the cube of 256 colours


class Style(NamedTuple):
    """How a style is drawn. rgb, palette: its colour of 24 bits and of 256; name: of 8, "" for none."""

    rgb: Rgb | None = None
    palette: int | None = None
    name: str = ""
    bold: bool = False
    dim: bool = False  # only where there is no grey to say it with


_AMBER = Style((0xAF, 0x73, 0x00), 130, "magenta", bold=True)
_RED = Style((0xD7, 0x2D, 0x2D), 160, "red", bold=True)
_GREEN = Style((0x2E, 0x84, 0x43), 28, "green")
_BLUE = Style((0x2F, 0x78, 0xC8), 32, "")
_GREY = Style((0x78, 0x78, 0x78), 243, "", dim=True)

# Every colour can be read on black and on white alike (contrast of at least 3 to either).
STYLES: dict[str, Style] = {
    "": Style(),
    "title": Style(bold=True),
    "active": _BLUE._replace(bold=True, name="blue"),
    "bar": _BLUE._replace(bold=True, name="blue"),
    "dim": _GREY,
    "port": _GREY,
    "rule": _GREY,
    "notification": _AMBER._replace(bold=False),
    "badge": _AMBER,
    "needs_input": _AMBER,
    "error": _RED,
    "running": _GREEN,
    "background": _BLUE,
    "idle": _GREY,
    "unknown": _GREY,
    "success": _GREEN,
    "warning": _AMBER._replace(bold=False),
    "progress": _BLUE,
    "trouble": _RED,
}


class Theme(NamedTuple):
    """What a person chose.

    symbols: the signs. shown: sections shown, of SECTIONS. home: directory to shorten paths with. styles:
    how each style is drawn. keys: what each key does, by the key's name. links: whether ports are links.
    """

    symbols: Symbols = UNICODE
    shown: frozenset[str] = frozenset(SECTIONS)
    home: str = ""
    styles: Mapping[str, Style] = STYLES
    keys: Mapping[str, str] = bindings({})
    links: bool = True


def themed(theme: Theme, values: Mapping[str, Any]) -> Theme:
    """Return the theme with sections, colours and keys as the options of config.toml say."""
    shown = [section for section in SECTIONS if values.get(f"sidebar.show_{section}", True)]
    styles = {
        name: coloured(style, values.get(f"sidebar.colors.{name}", "")) for name, style in STYLES.items()
    }
    links = values.get("sidebar.links", True)
    return theme._replace(shown=frozenset(shown), styles=styles, keys=bindings(values), links=links)


def coloured(style: Style, colour: str | int) -> Style:
    """Return a style in a colour of config.toml: "#rrggbb", a number of 256, a name of 8, "" for its own."""
    if colour == "":
        return style
    plain = Style(bold=style.bold)
    if isinstance(colour, int):
        return plain._replace(palette=colour, name=_nearest(_of_256(colour)))
    if colour in COLOUR_NAMES:
        return plain._replace(name=colour)
    rgb = (int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16))
    palette = min(range(16, 256), key=lambda number: _distance(_of_256(number), rgb))
    return plain._replace(rgb=rgb, palette=palette, name=_nearest(rgb))


def _of_256(number: int) -> Rgb:
    """Return the usual colour of a number of 256; the first 16 are the terminal's own, and guessed."""
    if number < 16:
        level = 255 if number > 8 else 128 if number == 8 else 192
        bits = 7 if number == 8 else number & 7
        return (level * (bits & 1), level * (bits >> 1 & 1), level * (bits >> 2 & 1))
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    red, rest = divmod(number - 16, 36)
    return (_STEPS[red], _STEPS[rest // 6], _STEPS[rest % 6])


def _distance(one: Rgb, other: Rgb) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def _nearest(rgb: Rgb) -> str:
    return COLOUR_NAMES[min(range(8), key=lambda number: _distance(_of_256(number), rgb))]


def ansi(style: Style, colours: int) -> str:
    """Return the escape sequence that begins a style on a terminal of so many colours, "" for none."""
    parts = ["1"] if style.bold else []
    if style.rgb and colours >= 1 << 24:
        parts.append("38;2;{};{};{}".format(*style.rgb))
    elif style.palette is not None and colours >= 256:
        parts.append(f"38;5;{style.palette}")
    else:
        if style.name and colours >= 8:
            parts.append(f"3{COLOUR_NAMES.index(style.name)}")
        if style.dim:
            parts.append("2")
    return f"\x1b[{';'.join(parts)}m" if parts else ""


def rgb_of(style: Style) -> Rgb | None:
    """Return a style's colour for a picture, None for the ordinary one."""
    if style.rgb:
        return style.rgb
    if style.palette is not None:
        return _of_256(style.palette)
    return _of_256(COLOUR_NAMES.index(style.name)) if style.name else None
