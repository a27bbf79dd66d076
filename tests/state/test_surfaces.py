from __future__ import annotations

from typing import Any

import pytest

from seance_tools.state.places import Caller
from seance_tools.state.surroundings import set_git, set_ports
from seance_tools.wire import WireError
from tests.state.bench import Bench, pane


def test_a_shell_tells_of_itself(bench: Bench) -> None:
    here = Caller(place=pane(1))
    bench.call("surface.report_cwd", here, cwd="/home/someone/shop")
    bench.call("surface.report_git", here, branch="main", dirty=True)
    bench.call("surface.report_state", here, state="running")
    [surface] = bench.call("surface.list")["surfaces"]
    assert (surface["cwd"], surface["branch"], surface["dirty"]) == ("/home/someone/shop", "main", True)
    assert surface["shell_state"] == "running"
    [workspace] = bench.call("system.tree")["windows"][0]["workspaces"]
    unknown = {"ahead": None, "behind": None, "operation": ""}
    assert workspace["git"] == {"branch": "main", "dirty": True, **unknown, "git_source": "report"}
    assert workspace["ports"] is None
    [shown] = workspace["pane_groups"][0]["surfaces"]
    assert (shown["cwd"], shown["branch"], shown["dirty"]) == ("/home/someone/shop", "main", True)
    bench.call("surface.clear_git", here)
    assert bench.only("surface")["branch"] == ""
    assert bench.call("system.tree")["windows"][0]["workspaces"][0]["git"] is None


def test_what_the_broker_finds_out_of_surfaces_is_in_the_tree(bench: Bench) -> None:
    for number in (1, 2):
        bench.call("surface.report_cwd", Caller(place=pane(number)), cwd="/home/someone/shop")
    set_git(bench.tables, 2, branch="to\x1b[2Jpic", dirty=None, ahead=1, behind=2, operation="rebase")
    set_ports(bench.tables, [1, 2], {2: {5173, 3000}, 9: {1}})
    set_git(bench.tables, 9, branch="x")
    [workspace] = bench.call("system.tree")["windows"][0]["workspaces"]
    git = {"dirty": None, "ahead": 1, "behind": 2, "operation": "rebase", "git_source": "files"}
    assert workspace["git"] | git == workspace["git"]
    assert "\x1b" not in workspace["git"]["branch"]
    assert workspace["ports"] == [3000, 5173]
    assert [surface["ports"] for surface in workspace["pane_groups"][0]["surfaces"]] == [[], [3000, 5173]]
    set_git(bench.tables, 2)
    set_ports(bench.tables, [1, 2], None)
    [workspace] = bench.call("system.tree")["windows"][0]["workspaces"]
    assert (workspace["git"], workspace["ports"]) == (None, None)


def test_a_surface_must_be_named(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    with pytest.raises(WireError) as caught:
        bench.call("surface.report_cwd", cwd="/")
    assert caught.value.param == "surface_id"


def test_lists_of_a_workspace(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.hook("prompt-submit", pane(2, session=1))
    assert [row["id"] for row in bench.call("surface.list")["surfaces"]] == [1, 2]
    assert [row["id"] for row in bench.call("surface.list", workspace_id=2)["surfaces"]] == [2]


def test_health(bench: Bench) -> None:
    bench.hook("prompt-submit", pane(1))
    bench.hook("prompt-submit", surface_id=9, workspace_id=1)
    first, second = bench.call("surface.health")["surfaces"]
    assert (first["terminal"], first["focusable"], first["agents"]) == ("tmux", True, 1)
    assert (second["terminal"], second["attached"], second["focusable"]) == (None, False, False)
    assert bench.call("surface.health", surface_id=9)["surfaces"] == [second]
    with pytest.raises(WireError, match="no surface 99"):
        bench.call("surface.health", surface_id=99)


def test_what_a_shell_tells_at_its_prompt(bench: Bench) -> None:
    here = Caller(place=pane(1))
    bench.call("surface.report_shell", here, cwd="/home/someone/shop", state="prompt")
    surface = bench.only("surface")
    assert (surface["cwd"], surface["shell_state"], surface["exit_code"]) == (
        "/home/someone/shop",
        "prompt",
        None,
    )
    bench.now += 5
    bench.call("surface.report_shell", here, state="running")
    bench.call("surface.report_shell", here, state="prompt", exit_code=130, duration_ms=1200)
    bench.call("surface.report_shell", here, state="running")
    surface = bench.only("surface")
    assert (surface["cwd"], surface["shell_state"]) == ("/home/someone/shop", "running")
    assert (surface["exit_code"], surface["duration_ms"]) == (130, 1200)  # of the last command
    assert surface["reported_at"] == bench.now
    [shown] = bench.call("system.tree")["windows"][0]["workspaces"][0]["pane_groups"][0]["surfaces"]
    assert (shown["shell_state"], shown["exit_code"], shown["duration_ms"]) == ("running", 130, 1200)


def test_a_shell_may_name_its_workspace(bench: Bench) -> None:
    bench.call("surface.report_shell", Caller(place=pane(1)), workspace_id=7, cwd="/work")
    assert bench.only("surface")["workspace_id"] == 7


def test_the_last_words_of_a_shell_whose_pane_is_gone_make_no_surface(bench: Bench) -> None:
    bench.call("surface.report_shell", tty="/dev/pts/3", tty_session=77, state="running")
    bench.call("surface.report_shell", env={"TMUX_PANE": "%3"}, state="running")
    assert not list(bench.tables.all("surface"))
    with pytest.raises(WireError) as caught:
        bench.call("surface.report_shell", state="running")
    assert caught.value.param == "surface_id"


@pytest.mark.parametrize(
    "params", [{"exit_code": 256}, {"exit_code": -1}, {"duration_ms": -1}, {"state": "x"}]
)
def test_what_no_shell_tells(bench: Bench, params: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        bench.call("surface.report_shell", Caller(place=pane(1)), **params)
