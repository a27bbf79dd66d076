"""Signs and colours can be told apart and read."""

from __future__ import annotations

import pytest

from seance_tools.text import width
from seance_tools.view import (
    ASCII,
    STYLES,
    UNICODE,
)


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
