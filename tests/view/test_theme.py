"""Signs and colours can be told apart and read."""

from __future__ import annotations

import pytest

from seance_tools.options import BY_KEY, SIDEBAR_COLOURS
from seance_tools.text import width
from seance_tools.view import (
    ASCII,
    STYLES,
    UNICODE,
    Style,
    Theme,
    ansi,
    themed,
)
from seance_tools.view.theme import coloured, rgb_of


def test_states_differ_by_shape_in_both_sets_of_signs() -> None:
    for symbols in (UNICODE, ASCII):
        assert len(set(symbols.states.values())) == len(symbols.states) == 7
        assert all(
            width(sign) == 1 for sign in [*symbols.states.values(), *symbols.levels.values(), symbols.bar]
        )
    assert all(value.isascii() for field in ASCII if isinstance(field, str) for value in field)


def luminance(rgb: tuple[int, int, int]) -> float:
    parts = [value / 255 for value in rgb]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def of_256(palette: int) -> tuple[int, int, int]:
    if palette >= 232:
        return (8 + 10 * (palette - 232),) * 3
    steps = (0, 95, 135, 175, 215, 255)
    red, rest = divmod(palette - 16, 36)
    return steps[red], steps[rest // 6], steps[rest % 6]


@pytest.mark.parametrize("name", [name for name, style in STYLES.items() if style.rgb])
def test_every_colour_can_be_read_on_black_and_on_white(name: str) -> None:
    style = STYLES[name]
    assert style.rgb
    assert style.palette is not None
    for rgb in (style.rgb, of_256(style.palette)):
        light = luminance(rgb)
        assert 1.05 / (light + 0.05) >= 3.0
        assert (light + 0.05) / 0.05 >= 3.0


def test_every_style_has_a_key_of_the_config_and_every_key_a_style() -> None:
    assert {name for name, _ in SIDEBAR_COLOURS} == set(STYLES) - {""}


@pytest.mark.parametrize(
    ("colour", "style"),
    [
        ("", STYLES["running"]),
        ("#ff0000", Style((255, 0, 0), 196, "red")),
        ("#010101", Style((1, 1, 1), 16, "black")),
        (33, Style(None, 33, "cyan")),
        (245, Style(None, 245, "white")),
        (9, Style(None, 9, "red")),
        ("yellow", Style(name="yellow")),
    ],
)
def test_colours_of_the_config(colour: str | int, style: Style) -> None:
    assert BY_KEY["sidebar.colors.running"].check(colour) == colour
    assert themed(Theme(), {"sidebar.colors.running": colour}).styles["running"] == style


def test_a_colour_of_the_config_leaves_bold_text_bold() -> None:
    assert coloured(STYLES["error"], "blue").bold


@pytest.mark.parametrize(
    ("style", "colours", "sequence"),
    [
        (STYLES["error"], 1 << 24, "\x1b[1;38;2;215;45;45m"),
        (STYLES["error"], 256, "\x1b[1;38;5;160m"),
        (STYLES["error"], 8, "\x1b[1;31m"),
        (STYLES["error"], 0, "\x1b[1m"),
        (STYLES["dim"], 8, "\x1b[2m"),
        (STYLES["dim"], 0, "\x1b[2m"),
        (STYLES[""], 256, ""),
    ],
)
def test_sequences_for_terminals_of_all_kinds(style: Style, colours: int, sequence: str) -> None:
    assert ansi(style, colours) == sequence


def test_every_colour_has_a_form_for_pictures() -> None:
    assert rgb_of(STYLES["error"]) == (0xD7, 0x2D, 0x2D)
    assert rgb_of(Style(palette=196)) == (255, 0, 0)
    assert rgb_of(Style(palette=8)) == (128, 128, 128)
    assert rgb_of(Style(name="green")) == (0, 192, 0)
    assert rgb_of(Style(bold=True)) is None
