"""Whole screens: exactly as wide as the pane, whatever is in them; what is beyond, what else is said."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seance_tools.state.tables import Tables
from seance_tools.view import (
    ASCII,
    STYLES,
    UNICODE,
    Theme,
    Trouble,
    Ui,
    coloured_text,
    plain,
    render,
    say,
    snapshot,
    text,
)
from seance_tools.view.model import Spot
from tests.hostile import corpus
from tests.view.world import NOW, THEME, World, check_frame, lines

GOLDEN = Path(__file__).parent.parent / "data" / "view"


def golden(name: str, screen: str) -> None:
    """Compare a screen with the one on file; SEANCE_WRITE_GOLDEN=1 writes it instead, to be looked at."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SEANCE_WRITE_GOLDEN"):
        path.write_text(screen, encoding="utf-8")
    assert screen == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("size", [20, 30, 40, 80])
@pytest.mark.parametrize(("name", "symbols"), [("unicode", UNICODE), ("ascii", ASCII)])
def test_whole_screens(shop: World, name: str, symbols: Any, size: int) -> None:
    theme = Theme(symbols, home="/home/me")
    screens = [
        shop.render((size, 30), Ui(selected=Spot(1)), theme),
        shop.render((size, 12), Ui(offset=4), theme),
        shop.render((size, 8), Ui(compact=True), theme),
        shop.render((size, 18), Ui(help=True), theme),
        shop.render((size, 14), Ui(folded=True), theme),
        render(Tables(), (size, 8), Ui(), theme, NOW),
    ]
    if name == "ascii":
        assert all(text(row).isascii() for frame in screens for row in frame.rows)
    golden(
        f"{name}-{size}",
        "".join(f"{text(row)}|\n" for frame in screens for row in [*frame.rows, (("=" * (size - 1), ""),)]),
    )


@pytest.mark.parametrize("colours", [0, 8, 256, 1 << 24])
def test_a_whole_screen_with_colours_and_without(shop: World, colours: int) -> None:
    shown = coloured_text(shop.render((40, 30), Ui(selected=Spot(1))).rows, STYLES, colours)
    golden(f"colours-{colours}", shown.replace("\x1b[", "^"))


def test_a_plain_snapshot_is_everything_without_a_screen(shop: World) -> None:
    golden("snapshot", plain(snapshot(shop.tables, 40, THEME, NOW)))


UIS = [
    Ui(),
    Ui(selected=Spot(1), follow=True, expanded=frozenset({1})),
    Ui(compact=True, offset=999),
    Ui(help=True),
    Ui(filter="shop", editing=True),
    Ui(filter="nothing has this"),
    say(Ui(), "a message that is somewhat long", NOW),
]


@pytest.mark.parametrize("ui", UIS)
@pytest.mark.parametrize("symbols", [UNICODE, ASCII])
def test_any_size(shop: World, ui: Ui, symbols: Any) -> None:
    sizes = [
        *itertools.product(range(1, 45, 4), range(1, 20, 3)),
        (2, 2),
        (20, 4),
        (500, 200),
        (1, 200),
        (500, 1),
    ]
    for size in sizes:
        for tables in (shop.tables, Tables()):
            for trouble in (None, Trouble("no broker", "no broker at /run/user/1000/seance/seance.sock")):
                check_frame(render(tables, size, ui, Theme(symbols), NOW, trouble), size)


TEXT = st.text(st.characters(codec=None), max_size=80) | st.sampled_from(corpus())


def fill(world: World, texts: list[str]) -> None:
    """Put texts into every field that a screen shows."""
    pool = itertools.cycle(texts or [""])
    for workspace_id in (1, 2):
        world.hook("claude", "prompt-submit", (workspace_id, workspace_id), 5)
        world.update("workspace", workspace_id, title=next(pool))
        world.update(
            "surface",
            workspace_id,
            cwd=next(pool),
            branch=next(pool),
            dirty=workspace_id == 1,
            ports=[1, 65535],
        )
        world.do("workspace.append_log", workspace_id=workspace_id, message="x")
        log = next(iter(world.tables.of_workspace("log", workspace_id).values()))
        world.tables.update("log", log, message=next(pool))
        world.tables.set(
            "progress", {"workspace_id": workspace_id, "active": True, "value": 0.5, "label": next(pool)}
        )
        for status in list(world.tables.of_workspace("status", workspace_id).values()):
            world.tables.update(
                "status", status, value=next(pool), display_name=next(pool), inferred=workspace_id == 2
            )
        world.notify(workspace_id, workspace_id, next(pool), next(pool))


@given(
    st.lists(TEXT, max_size=12),
    st.tuples(st.integers(1, 120), st.integers(1, 40)),
    st.sampled_from([UNICODE, ASCII]),
)
@settings(max_examples=300, deadline=None)
def test_rows_are_exactly_as_wide_as_wanted_for_any_text(
    texts: list[str], size: tuple[int, int], symbols: Any
) -> None:
    world = World()
    fill(world, texts)
    for ui in (Ui(), Ui(compact=True), Ui(filter=(texts or ["x"])[0], editing=True)):
        check_frame(world.render(size, ui, Theme(symbols)), size)


def test_the_corpus_does_not_act_on_the_terminal() -> None:
    texts = corpus()
    world = World()
    for start in range(0, len(texts), 12):
        fill(world, texts[start : start + 12])
        frame = world.render((31, 40))
        for row in frame.rows:
            assert text(row).isprintable(), text(row)
        check_frame(frame, (31, 40))


@pytest.mark.parametrize(
    ("columns", "title", "counts"),
    [
        (60, " SÉANCE", "◆ 1  ✖ 1  ▶ 1  ⧗ 1  ⏸ 2"),
        (30, " SÉANCE", "◆1 ✖1 ▶1 ⧗1 ⏸2"),
        (20, "", " ◆1 ✖1 ▶1 ⧗1 ⏸2"),
        (12, "", " ◆1 ✖1 ▶1 …"),
    ],
)
def test_the_header_gives_its_room_to_the_counts_first(
    shop: World, columns: int, title: str, counts: str
) -> None:
    header = lines(shop.render((columns, 5)))[0]
    assert header == (title + counts.rjust(columns - 1 - len(title)) if title else counts)


def test_a_message_goes_after_three_seconds(shop: World) -> None:
    ui = say(Ui(), "no method surface.focus", NOW)
    assert lines(shop.render(ui=ui, now=NOW + 2.9))[-1] == " no method surface.focus"
    assert lines(shop.render(ui=ui, now=NOW + 3.1))[-1] == ""


def test_trouble_is_told_below_what_was_known_last(shop: World) -> None:
    trouble = Trouble("reconnecting", "The broker has gone.")
    shown = lines(render(shop.tables, (41, 40), Ui(), THEME, NOW, trouble))
    assert shown[-1] == " ▲ reconnecting"
    assert "shop-api" in shown[2]
    shown = lines(render(shop.tables, (41, 10), Ui(), THEME, NOW, trouble))
    assert shown[-1] == " ▲ reconnecting                   ↑0 ↓13"


def test_trouble_without_anything_known_tells_its_reason() -> None:
    trouble = Trouble("no broker", "no broker at /tmp/s.sock: Connection refused")
    shown = lines(render(Tables(), (30, 8), Ui(), THEME, NOW, trouble))
    assert shown[2:4] == [" no broker at /tmp/s.sock:", " Connection refused"]
    assert shown[-1] == " ▲ no broker"


def test_without_agents_it_says_how_to_start() -> None:
    shown = "\n".join(lines(render(Tables(), (60, 8), Ui(), THEME, NOW)))
    assert "No agents yet." in shown
    assert "run codebuff" in shown


def test_the_bar_marks_a_workspace_whole_and_a_pill_alone(shop: World) -> None:
    def marked(ui: Ui) -> list[str]:
        return [line for line in lines(shop.render(ui=ui)) if line.startswith("▌")]

    assert len(marked(Ui(selected=Spot(1)))) == 11
    (pill,) = marked(Ui(selected=Spot(1, "codebuff-12")))
    assert "Codebuff" in pill
    assert marked(Ui()) == []


def test_the_screen_follows_the_selection_and_says_what_is_beyond(shop: World) -> None:
    size = (41, 10)
    ui, _ = shop.press(["end"], size=size)
    shown = lines(shop.render(size, ui))
    assert any(line.startswith("▌") and "deploy" in line for line in shown)
    assert shown[-1] == " ↑12 above ↓1 below"
    ui, _ = shop.press(["home"], ui, size)
    shown = lines(shop.render(size, ui))
    assert shown[2].startswith("▌shop-api")
    assert shown[-1] == " ↑0 above ↓13 below"


def test_above_and_below_add_up_to_all_lines(shop: World) -> None:
    listed = sum(1 for place in shop.render((41, 100)).places if place) + 2  # two empty lines between
    for offset in range(30):
        frame = shop.render((41, 10), Ui(offset=offset))
        above, below = (int(word[1:]) for word in lines(frame)[-1].split() if word[0] in "↑↓")
        assert above == frame.offset
        assert above + frame.height + below == listed


def test_a_selection_that_has_gone_leaves_its_workspace_or_its_neighbour_selected(shop: World) -> None:
    ui, _ = shop.press(["down", "down", "down"])
    assert ui.selected == Spot(1, "codebuff-12")
    shop.tables.clear("status", 1, "codebuff-12")
    frame = shop.render(ui=ui)
    assert frame.selected is not None
    assert frame.items[frame.selected].spot == Spot(1)
    ui, _ = shop.press(["end"])
    shop.tables.clear("status", 3, "deploy")
    shop.tables.clear("workspace", 3)
    frame = shop.render(ui=ui)
    assert frame.selected == len(frame.items) - 1
