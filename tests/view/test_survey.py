"""The order of the workspaces, and what is kept of them from frame to frame."""

from __future__ import annotations

import random

from seance_tools.view import SECTIONS, Survey, Ui, render
from tests.view.world import NOW, THEME, World


def test_s_cycles_the_sort(shop: World) -> None:
    def order(ui: Ui) -> list[int]:
        return [item.spot.workspace_id for item in shop.render(ui=ui).items if item.spot.key is None]

    ui = Ui()
    assert order(ui) == [1, 2, 3]
    shop.hook("claude", "prompt-submit", (1, 11), 3)
    ui, _ = shop.press(["s"], ui)
    assert (ui.sort, ui.message) == ("attention", "sorted: attention")
    assert order(ui) == [2, 1, 3]
    shop.do("workspace.append_log", -1, workspace_id=2, message="x")
    shop.do("workspace.set_status", -5, workspace_id=3, key="deploy", value="Now")
    ui, _ = shop.press(["s"], ui)
    assert (ui.sort, order(ui)) == ("recent", [3, 2, 1])
    assert shop.press(["s"], ui)[0].sort == "manual"


def test_of_those_that_need_input_the_one_that_waited_longest_comes_first() -> None:
    world = World()
    for workspace_id, ago in ((1, 10), (2, 500), (3, 90)):
        world.hook("claude", "approval-request", (workspace_id, workspace_id), ago)
    assert [row["id"] for row in Survey(world.tables).order("attention")] == [2, 3, 1]


def test_a_survey_that_is_kept_changes_nothing_on_the_screen(shop: World) -> None:
    chance = random.Random(6)
    kept = Survey(shop.tables)
    ui, theme = Ui(), THEME
    for number in range(400):
        workspace = chance.randint(1, 5)
        match chance.randint(0, 9):
            case 0:
                event = chance.choice(["stop", "prompt-submit", "approval-request", "session-end"])
                shop.hook(chance.choice(["claude", "amp"]), event, (workspace, workspace * 10))
            case 1:
                shop.do("workspace.append_log", workspace_id=workspace, message=f"line {number}")
            case 2:
                shop.do("workspace.set_progress", workspace_id=workspace, value=chance.random())
            case 3:
                shop.do("workspace.set_subagent_counts", workspace_id=workspace, subagent_count=number % 3)
            case 4:
                shop.notify(number, workspace, "x", f"{number}")
            case 5:
                shop.do("workspace.clear_status", workspace_id=3, key="deploy")
                shop.do("workspace.set_status", workspace_id=workspace, key="k", value=f"{number}")
            case 6:
                selection = {"workspace_id": workspace, "previous_workspace_id": None, "surface_id": None}
                shop.tables.set("selection", selection)
            case 7:
                ui = ui._replace(folded=not ui.folded, expanded=frozenset({workspace}))
            case 8:
                ui = ui._replace(compact=not ui.compact, filter=chance.choice(["", "o"]))
            case _:
                theme = theme._replace(shown=frozenset(chance.sample(SECTIONS, 4)))
        size = (chance.choice([30, 41]), 20)
        fresh = render(shop.tables, size, ui, theme, NOW + number)
        assert render(shop.tables, size, ui, theme, NOW + number, None, kept) == fresh
