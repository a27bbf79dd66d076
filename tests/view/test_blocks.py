"""What the block of a workspace shows."""

from __future__ import annotations

import pytest

from seance_tools.view import (
    ASCII,
    SECTIONS,
    text,
)
from tests.view.world import THEME, World, columns, lines


def test_sections_that_have_nothing_to_show_are_left_out() -> None:
    world = World()
    world.do("workspace.append_log", workspace_id=7, message="hello")
    assert lines(world.render((34, 6)))[2:] == [" Workspace 7", "  · hello", "  ●", ""]


@pytest.mark.parametrize(
    ("section", "sign"),
    [
        ("notifications", "Approve"),
        ("status", "Claude Code"),
        ("logs", "rebuild"),
        ("progress", "75%"),
        ("branch", "main*"),
        ("ports", "5173"),
    ],
)
def test_each_section_has_a_toggle(shop: World, section: str, sign: str) -> None:
    assert sign in "\n".join(lines(shop.render()))
    theme = THEME._replace(shown=frozenset(SECTIONS) - {section})
    shown = "\n".join(lines(shop.render(theme=theme)))
    assert sign not in shown
    assert "shop-api" in shown
    assert "● ○ ○" in shown


@pytest.mark.parametrize(
    ("members", "shown", "ascii_shown"),
    [
        ({"dirty": False}, "⎇ main", "@ main"),
        ({"dirty": True}, "⎇ main*", "@ main*"),
        ({"dirty": None}, "⎇ main?", "@ main?"),
        ({"dirty": True, "ahead": 1, "behind": 2}, "⎇ main* ↑1↓2", "@ main* ^1v2"),
        ({"dirty": False, "ahead": 0, "behind": 12}, "⎇ main ↓12", "@ main v12"),
        ({"dirty": None, "operation": "rebase", "ahead": 3}, "⎇ main|REBASE? ↑3", "@ main|REBASE? ^3"),
    ],
)
def test_a_branch_has_its_marks(members: dict[str, object], shown: str, ascii_shown: str) -> None:
    world = World()
    world.hook("claude", "stop", (1, 11))
    world.update("surface", 11, branch="main", cwd="/w", **members)
    assert lines(world.render((34, 8)))[4] == f"  {shown} • /w"
    theme = THEME._replace(symbols=ASCII)
    assert lines(world.render((34, 8), theme=theme))[4] == f"  {ascii_shown} - /w"
    world.update("surface", 11, branch="a/rather/long/name", cwd="/home/me/work/shop")
    narrow = lines(world.render((34, 8)))[4]
    assert shown.removeprefix("⎇ main") + " • " in narrow, "the marks are never cut, the texts are"


def test_every_port_is_a_piece_of_its_own(shop: World) -> None:
    (row,) = [row for row in shop.render().rows if "⇄" in text(row)]
    assert [piece for piece, style in row if style == "port"] == ["3000", "5173"]


def test_the_latest_unread_notification_is_shown_in_two_lines_and_all_are_counted() -> None:
    world = World()
    world.do("workspace.append_log", workspace_id=1, message="x")
    for number in range(1, 22):
        world.notify(
            number,
            1,
            "Claude Code",
            "may I remove the build directory and everything that is in it?",
            read=number == 21,
        )
    shown = lines(world.render((30, 8)))
    assert shown[2:5] == [
        " Workspace 1                ⑳",
        " Claude Code: may I remove",
        " the build directory and eve…",
    ]
    world.notify(21, 1, "x", "y")
    assert lines(world.render((30, 8)))[2].endswith("(21)")


def test_an_inferred_state_is_marked_and_dim() -> None:
    world = World()
    world.do("agent.hook", agent="codebuff", event="stop", source="activity", workspace_id=1)
    row = next(row for row in world.render().rows if "Codebuff" in text(row))
    assert "~Idle" in text(row)
    assert ("~Idle", "dim") in row


def test_only_the_last_log_entry_is_shown_marked_by_its_level() -> None:
    world = World()
    signs = set()
    for level in ("info", "progress", "success", "warning", "error"):
        world.do("workspace.append_log", workspace_id=1, message=f"a {level}", level=level)
        (shown,) = [line for line in lines(world.render()) if "  " in line and " a " in line]
        assert level in shown
        signs.add(shown.split()[0])
    assert len(signs) == 5


@pytest.mark.parametrize(
    ("value", "bar"),
    [
        (0, "░░░░░░░░░░ 0%"),
        (0.05, "▒░░░░░░░░░ 5%"),
        (0.29, "▓▓▒░░░░░░░ 29%"),
        (0.999, "▓▓▓▓▓▓▓▓▓▒ 99%"),
        (1, "▓▓▓▓▓▓▓▓▓▓ 100%"),
    ],
)
def test_progress_is_full_only_when_done(value: float, bar: str) -> None:
    world = World()
    world.do("workspace.set_progress", workspace_id=1, value=value)
    assert lines(world.render())[3] == f"  {bar}"
    world.do("workspace.clear_progress", workspace_id=1)
    assert "%" not in "".join(lines(world.render()))


def test_the_directory_is_that_of_the_surface_with_an_agent() -> None:
    world = World()
    world.hook("claude", "stop", (1, 12))
    world.hook("claude", "stop", (1, 11))
    world.update("surface", 11, cwd="/home/me/first")
    world.update("surface", 12, cwd="/home/me/second", branch="topic")
    assert lines(world.render((34, 9)))[5] == "  ~/first"
    world.hook("claude", "approval-request", (1, 12))
    assert lines(world.render((34, 9)))[5] == "  ⎇ topic • ~/second"
    world.tables.clear("agent", "claude-11")
    world.tables.clear("agent", "claude-12")
    assert lines(world.render((34, 9)))[5] == "  ⎇ topic • ~/second"  # the first one


@pytest.mark.parametrize(
    ("cwd", "shown"),
    [
        ("/home/me", "  ~"),
        ("/home/me/x", "  ~/x"),
        ("/home/menu", "  /home/menu"),
        ("/", "  /"),
        ("/a" * 40 + "/last", "  …/last"),
    ],
)
def test_the_home_directory_is_a_tilde(cwd: str, shown: str) -> None:
    world = World()
    world.hook("claude", "stop", (1, 11), cwd=cwd)
    assert lines(world.render((34, 6)))[4] == shown


def test_dots_that_do_not_fit_become_a_number() -> None:
    world = World()
    world.do("workspace.append_log", workspace_id=1, message="x")
    world.update("workspace", 1, columns=columns(*(number == 16 for number in range(40))))
    assert "  ● 17/40" in lines(world.render((34, 8)))
    assert max(line.count("○") for line in lines(world.render((90, 8)))) == 39


def test_a_state_of_a_newer_broker_is_an_unknown_one() -> None:
    world = World()
    world.hook("claude", "stop", (1, 11))
    status = next(iter(world.tables.of_workspace("status", 1).values()))
    world.tables.update("status", status, state="dreaming")
    assert "  ? Claude Code" in "\n".join(lines(world.render()))


def test_the_active_workspace_stands_out(shop: World) -> None:
    shop.tables.set("selection", {"workspace_id": 2, "previous_workspace_id": None, "surface_id": None})
    styles = {piece.strip(): style for row in shop.render().rows for piece, style in row}
    assert (styles["文書サイト"], styles["shop-api"]) == ("active", "title")


@pytest.mark.parametrize(
    ("ago", "shown"),
    [
        (0, " ◆ Claude Code Needs input 0s"),
        (41, " ◆ Claude Code Needs input"),
        (125, " ◆ Claude Code Needs input 2m"),
    ],
)
def test_at_30_columns_the_state_is_whole_and_its_age_yields(ago: float, shown: str) -> None:
    world = World()
    world.hook("claude", "approval-request", (1, 11), ago)
    assert lines(world.render((30, 6)))[3] == shown


def test_the_idle_are_folded_onto_one_line_unless_unfolded(shop: World) -> None:
    shop.hook("kilo", "stop", (4, 41), 60)
    shop.hook("amp", "stop", (5, 51), 60)
    shop.notify(9, 5, "x", "y")
    ui, _ = shop.press(["f"])
    shown = lines(shop.render((41, 60), ui))
    assert "  ⏸ Workspace 4" in shown
    assert " Workspace 5" + "①".rjust(28) in shown
    assert any(line.startswith("  ◆ Claude Code") for line in shown)
    ui = ui._replace(expanded=frozenset({4}))
    assert " Workspace 4" in lines(shop.render((41, 60), ui))
    assert shop.press(["f"], ui)[0].folded is False


@pytest.mark.parametrize("branch", ["", "main", "feature/" + "x" * 80])
@pytest.mark.parametrize("size", range(8, 70, 3))
def test_a_long_path_keeps_the_head_of_its_last_part_at_every_width(size: int, branch: str) -> None:
    world = World()
    world.do("workspace.set_status", workspace_id=1, key="k", value="x")
    world.hook("claude", "stop", (1, 11))
    world.update("surface", 11, cwd="/srv/" + "deep/" * 1500 + "invoices", branch=branch, dirty=True)
    rows = [row for row in lines(world.render((size, 12))) if "⎇" in row or "…/" in row or "inv" in row]
    assert len(rows) == 1
    if not branch or size > 20:
        assert "…/i" in rows[0] or " in" in rows[0]
    if size > 14 + len(branch) * 9:
        assert "…/invoices" in rows[0]
    if branch and size > 11:
        assert "*" in rows[0]


@pytest.mark.parametrize("size", range(10, 60, 7))
def test_a_long_branch_keeps_its_star(size: int) -> None:
    world = World()
    world.hook("claude", "stop", (1, 11))
    world.update("surface", 11, cwd="", branch="feature/" + "x" * 80, dirty=True)
    [row] = [row for row in lines(world.render((size, 12))) if "⎇" in row]
    assert row.endswith("…*")
