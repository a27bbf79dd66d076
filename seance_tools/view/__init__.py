"""The sidebar's view: tables, size, ui state, theme and time in; rows of styled text out. Pure.

`render` makes a frame, `update` takes a key or click on it, `next_tick` says when the next frame is due.
"""

from seance_tools.ages import next_tick
from seance_tools.view.bindings import KEYS, bindings
from seance_tools.view.keys import say, update
from seance_tools.view.model import QUIT, Command, Event, Frame, Piece, Row, Trouble, Ui
from seance_tools.view.picture import coloured_text, document, svg
from seance_tools.view.screen import plain, render, snapshot, text
from seance_tools.view.survey import Survey
from seance_tools.view.theme import ASCII, SECTIONS, STYLES, UNICODE, Style, Theme, ansi, themed

__all__ = [
    "ASCII",
    "KEYS",
    "QUIT",
    "SECTIONS",
    "STYLES",
    "UNICODE",
    "Command",
    "Event",
    "Frame",
    "Piece",
    "Row",
    "Style",
    "Survey",
    "Theme",
    "Trouble",
    "Ui",
    "ansi",
    "bindings",
    "coloured_text",
    "document",
    "next_tick",
    "plain",
    "render",
    "say",
    "snapshot",
    "svg",
    "text",
    "themed",
    "update",
]
