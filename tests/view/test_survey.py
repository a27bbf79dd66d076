"""The order of the workspaces."""

from __future__ import annotations

from seance_tools.view import (
    Ui,
)
from seance_tools.view.survey import Survey
from tests.view.world import World


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
