"""What keys and clicks do."""

from __future__ import annotations

import pytest

from seance_tools.view import (
    KEYS,
    QUIT,
    Command,
    Event,
    Ui,
    bindings,
    update,
)
from seance_tools.view.model import Spot
from tests.view.world import NOW, THEME, World, lines


def test_moving_goes_through_workspaces_and_pills_and_stops_at_the_ends(shop: World) -> None:
    ui = Ui()
    visited = []
    for _ in range(9):
        ui, _command = shop.press(["down"], ui)
        visited.append(ui.selected)
    assert visited == [
        Spot(1),
        Spot(1, "claude-11"),
        Spot(1, "codebuff-12"),
        Spot(1, "codex-15"),
        Spot(2),
        Spot(2, "claude-21"),
        Spot(3),
        Spot(3, "deploy"),
        Spot(3, "deploy"),
    ]
    assert shop.press(["up"], ui)[0].selected == Spot(3)
    assert shop.press(["home"], ui)[0].selected == Spot(1)
    assert shop.press(["end"])[0].selected == Spot(3, "deploy")
    assert shop.press(["j", "j", "k"])[0].selected == Spot(1)


def test_the_wheel_scrolls_without_selecting_and_stops_at_the_end(shop: World) -> None:
    size = (41, 10)
    ui, command = shop.press(["wheel-down"], size=size)
    assert (ui.selected, command, shop.render(size, ui).offset) == (None, None, 3)
    ui, _ = shop.press(["wheel-down"] * 30, ui, size)
    end = shop.render(size, ui).offset
    assert lines(shop.render(size, ui))[-1].endswith("↓0 below")
    ui, _ = shop.press(["wheel-up"], ui, size)
    assert shop.render(size, ui).offset == end - 3


def test_pages(shop: World) -> None:
    size = (41, 10)
    ui, _ = shop.press(["home", "page-down"], size=size)
    assert ui.selected == Spot(2)
    ui, _ = shop.press(["page-down"] * 5, ui, size)
    assert ui.selected == Spot(3, "deploy")
    ui, _ = shop.press(["page-up"] * 5, ui, size)
    assert ui.selected == Spot(1)


def test_enter_jumps_to_the_pane_of_the_pill_or_of_the_workspace(shop: World) -> None:
    assert shop.press(["down", "enter"])[1] == Command("surface.focus", {"surface_id": 11})
    assert shop.press(["down", "down", "down", "enter"])[1] == Command("surface.focus", {"surface_id": 12})
    assert shop.press(["enter"])[1] is None
    ui, command = shop.press(["end", "enter"])
    assert command is None
    assert "no pane" in ui.message


def click(world: World, part: str, ui: Ui | None = None) -> tuple[Ui, Command | None]:
    ui = ui or Ui()
    frame = world.render(ui=ui)
    row = next(number for number, line in enumerate(lines(frame)) if part in line)
    return update(ui, Event("click", row), frame, NOW)


def test_a_click_selects_and_jumps(shop: World) -> None:
    ui, command = click(shop, "Codebuff")
    assert (ui.selected, command) == (Spot(1, "codebuff-12"), Command("surface.focus", {"surface_id": 12}))
    ui, command = click(shop, "75%")
    assert (ui.selected, command) == (Spot(1), Command("surface.focus", {"surface_id": 11}))


def test_clicks_beside_the_list_do_nothing(shop: World) -> None:
    frame = shop.render()
    for row in (0, 1, 39, 40, 4000, -1):
        assert update(Ui(), Event("click", row), frame, NOW) == (Ui(), None)


def test_more_than_three_pills_are_folded_until_asked_for(shop: World) -> None:
    folded = "\n".join(lines(shop.render()))
    assert "+2 more" in folded
    assert "Gemini" not in folded
    for ui in (shop.press(["down", "e"])[0], shop.press(["down", "down", " "])[0], click(shop, "+2 more")[0]):
        unfolded = "\n".join(lines(shop.render(ui=ui)))
        assert "Gemini CLI" in unfolded
        assert "OpenCode" in unfolded
        assert "more" not in unfolded
        assert "Gemini" not in "\n".join(lines(shop.render(ui=click(shop, "show fewer", ui)[0])))


def test_n_goes_from_one_that_needs_input_to_the_next_and_round(shop: World) -> None:
    shop.hook("claude", "approval-request", (2, 21))
    shop.hook("kilo", "approval-request", (3, 31))
    spots = [Spot(1, "claude-11"), Spot(2, "claude-21"), Spot(3, "kilo-31"), Spot(1, "claude-11")]
    ui = Ui()
    for spot in spots:
        ui, command = shop.press(["n"], ui)
        assert (ui.selected, command) == (spot, None)
    assert shop.press(["n"], Ui(selected=Spot(2)))[0].selected == Spot(2, "claude-21")


def test_n_unfolds_the_pills_it_goes_to(shop: World) -> None:
    for surface, agent in enumerate(("amp", "kilo", "pi", "qwen"), 51):
        shop.hook(agent, "approval-request", (1, surface))
    ui, _ = shop.press(["n"] * 5)
    assert ui.selected == Spot(1, "qwen-54")
    frame = shop.render(ui=ui)
    assert frame.selected is not None
    assert frame.items[frame.selected].spot == Spot(1, "qwen-54")


def test_n_says_when_none_needs_input() -> None:
    assert World().press(["n"])[0].message == "none needs input"


def test_m_marks_the_workspace_read(shop: World) -> None:
    assert shop.press(["down", "down", "m"])[1] == Command("notification.mark_read", {"workspace_id": 1})
    assert shop.press(["m"])[1] is None


def test_g_shows_one_line_a_workspace(shop: World) -> None:
    ui, _ = shop.press(["g"])
    assert lines(shop.render((41, 7), ui))[2:6] == [
        "  ◆ shop-api               ◆1 ▶1 ⏸2 ⧗1 ②",
        "  ✖ 文書サイト",
        "  • Workspace 3",
        "",
    ]
    assert shop.press(["g"], ui)[0].compact is False


def test_a_filter_leaves_what_has_all_its_words(shop: World) -> None:
    ui, _ = shop.press([*"/WORK opencode"])
    assert ui.editing
    frame = shop.render(ui=ui)
    assert lines(frame)[-1] == "/WORK opencode▏"
    assert {item.spot.workspace_id for item in frame.items} == {1}
    ui, _ = shop.press(["enter"], ui)
    assert lines(shop.render(ui=ui))[-1] == "/WORK opencode"
    ui, _ = shop.press(["j", "escape"], ui)
    assert (ui.filter, ui.selected) == ("", Spot(1))
    assert len(shop.render(ui=ui).items) == 8


@pytest.mark.parametrize(
    ("words", "found"),
    [("deploy", {3}), ("STAGING", {3}), ("文書", {2}), ("main", {1}), ("rate", {2}), ("nowhere", set())],
)
def test_a_filter_looks_at_what_is_shown(shop: World, words: str, found: set[int]) -> None:
    frame = shop.render(ui=Ui(filter=words))
    assert {item.spot.workspace_id for item in frame.items} == found
    assert ("Nothing matches." in "\n".join(lines(frame))) == (not found)


def test_while_typing_a_filter_letters_are_no_commands(shop: World) -> None:
    ui, command = shop.press([*"/qsgn?", "backspace"])
    assert (ui.filter, command, ui.sort, ui.compact, ui.help) == ("qsgn", None, "manual", False, False)
    assert shop.press(["escape"], ui)[0] == Ui(sort="manual", filter="", editing=False)


def test_help_lists_the_keys_and_any_key_leaves_it(shop: World) -> None:
    ui, _ = shop.press(["?"])
    assert "jump to the pane" in "\n".join(lines(shop.render(ui=ui)))
    assert shop.press(["j"], ui) == (Ui(), None)
    assert shop.press(["q"], ui)[1] == QUIT


def test_q_quits_and_unknown_keys_do_nothing(shop: World) -> None:
    assert shop.press(["q"])[1] == QUIT
    for name in ("x", "é", "KEY_F5", ""):
        assert shop.press([name]) == (Ui(), None)


def press(world: World, name: str, keys: dict[str, str], ui: Ui | None = None) -> tuple[Ui, Command | None]:
    return update(ui or Ui(), Event(name), world.render(ui=ui or Ui()), NOW, keys)


def test_keys_given_in_the_config_replace_the_default_ones(shop: World) -> None:
    keys = bindings({"sidebar.keys.sort": ["n", "tab"], "sidebar.keys.quit": []})
    assert press(shop, "n", keys)[0].sort == press(shop, "tab", keys)[0].sort == "attention"
    for name in ("s", "q"):
        assert press(shop, name, keys) == (Ui(), None)
    assert press(shop, "j", keys)[0].selected == Spot(1)
    assert bindings({}) == bindings({"sidebar.keys.sort": ["s"]})


def test_the_help_shows_the_keys_that_are_in_force(shop: World) -> None:
    theme = THEME._replace(keys=bindings({"sidebar.keys.sort": ["x"], "sidebar.keys.quit": []}))
    shown = [line.split() for line in lines(shop.render(ui=Ui(help=True), theme=theme))]
    assert ["x", "sort"] in shown
    assert not any("quit" in line for line in shown)


def test_every_key_of_the_help_does_something(shop: World) -> None:
    assert {meaning for _, meaning in KEYS} >= {"move", "sort", "fold the idle", "quit"}
    for name, action in bindings({}).items():
        ui = Ui(selected=Spot(1), filter="o", offset=2)
        assert press(shop, name, {name: action}, ui) != (ui, None), name


def test_a_letter_that_moves_is_only_a_letter_in_a_filter(shop: World) -> None:
    assert shop.press([*"/jk ", "down"])[0].filter == "jk "
    assert shop.press([*"/jk ", "down"])[0].editing


def test_in_compact_mode_enter_goes_to_what_n_chose() -> None:
    world = World()
    for surface in (11, 12, 13):
        world.hook("claude", "approval-request" if surface != 11 else "stop", (1, surface), 50 - surface)
    seen = set()
    ui = Ui(compact=True)
    for _ in range(2):
        ui, command = world.press(["n", "enter"], ui)
        assert command
        assert command.method == "surface.focus"
        seen.add(command.params["surface_id"])
    assert seen == {12, 13}


def test_a_paste_is_no_key_but_text_for_the_filter() -> None:
    world = World()
    world.do("workspace.set_status", workspace_id=1, key="k", value="x")
    frame = world.render()
    assert update(Ui(), Event("q", pasted=True), frame, NOW) == (Ui(), None)
    ui = Ui(editing=True)
    assert update(ui, Event("q", pasted=True), world.render(ui=ui), NOW)[0].filter == "q"
    assert update(Ui(), Event("q"), frame, NOW)[1] == QUIT
