"""The sidebar for scripts and pictures."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from seance_tools.view import STYLES, coloured_text, document, plain, snapshot, svg
from tests.hostile import corpus
from tests.view.world import NOW, THEME, World


def test_the_document_holds_what_the_screen_shows(shop: World) -> None:
    data = json.loads(json.dumps(document(shop.tables)))
    assert data["states"] == {"needs_input": 1, "running": 1, "idle": 2, "background": 1, "error": 1}
    first = data["workspaces"][0]
    assert (first["title"], first["unread"], first["branch"], first["dirty"]) == ("shop-api", 2, "main", True)
    assert (first["progress"], first["ports"]) == (
        {"value": 0.75, "label": "Processing 3/4 items"},
        [3000, 5173],
    )
    assert first["log"]["message"] == "Completed index rebuild"
    pill = first["status"][0]
    assert (pill["display_name"], pill["state"], pill["surface_id"]) == ("Claude Code", "needs_input", 11)
    assert first["status"][1]["subagent_count"] == 3
    script = data["workspaces"][2]["status"][0]
    assert (script["key"], script["state"], script["surface_id"]) == ("deploy", None, None)


def test_with_colours_it_is_the_plain_snapshot_and_sequences(shop: World) -> None:
    rows = snapshot(shop.tables, 40, THEME, NOW)
    shown = coloured_text(rows, STYLES, 256)
    assert "\x1b[1;38;5;130mNeeds input\x1b[m" in shown
    assert coloured_text(rows, dict.fromkeys(STYLES, STYLES[""]), 256) == plain(rows)


def test_the_picture_has_every_word_in_its_cell(shop: World) -> None:
    rows = snapshot(shop.tables, 40, THEME, NOW)
    root = ET.fromstring(svg(rows, STYLES))
    texts = [element for element in root if element.tag.endswith("text")]
    assert "".join(element.text or "" for element in texts) == "".join(plain(rows).split())
    assert {element.get("fill") for element in texts if element.text == "Needs"} == {"#af7300"}


def test_any_text_makes_a_picture_that_can_be_read() -> None:
    world = World()
    for number, text in enumerate(corpus(600)):
        world.hook("claude", "stop", (1 + number % 50, number + 1), status=text)
        world.update("workspace", 1 + number % 50, title=text)
    rows = snapshot(world.tables, 40, THEME, NOW)
    ET.fromstring(svg(rows, STYLES))
    assert "\x1b" not in plain(rows)
