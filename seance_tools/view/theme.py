"""What the sidebar's parts look like: signs, styles, and which sections are shown."""

from __future__ import annotations

from typing import NamedTuple

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
    """What a person chose: signs, sections shown (of SECTIONS), home directory to shorten paths with."""

    symbols: Symbols = UNICODE
    shown: frozenset[str] = frozenset(SECTIONS)
    home: str = ""
