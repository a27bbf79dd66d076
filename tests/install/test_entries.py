"""Our entries among the hooks of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from seance_tools.install import entries, jsontext
from tests.install.documents import documents

SOURCES = Path(__file__).parent.parent.parent / "hooks"
TEMPLATES = {
    name: json.loads((SOURCES / f"{name}.json").read_text())
    for name in ("claude", "codex", "gemini", "qwen", "cursor")
}


def add(text: str, template: str = "claude") -> str:
    return entries.add(text, TEMPLATES[template], comments=True)


def without_empties(value: dict[str, Any]) -> dict[str, Any]:
    ours = TEMPLATES["claude"]["hooks"]
    hooks = {event: rows for event, rows in value.get("hooks", {}).items() if rows or event not in ours}
    rest = {key: item for key, item in value.items() if key != "hooks"}
    return {**rest, "hooks": hooks} if hooks else rest


@settings(deadline=None)
@given(documents())
def test_nothing_else_changes_and_twice_is_once(document: tuple[str, Any]) -> None:
    text, value = document
    after = add(text)
    assert add(after) == after
    grown = jsontext.scan(after).value
    assert {key: item for key, item in grown.items() if key != "hooks"} == {
        key: item for key, item in value.items() if key != "hooks"
    }
    wanted = TEMPLATES["claude"]["hooks"]
    before = value.get("hooks", {})
    assert grown["hooks"] == {
        event: [*before.get(event, []), *wanted.get(event, [])] for event in {**before, **wanted}
    }
    assert list(grown["hooks"])[: len(before)] == list(before)


@settings(deadline=None)
@given(documents())
def test_what_was_added_goes_to_the_byte(document: tuple[str, Any]) -> None:
    text, value = document
    back = entries.take_out(add(text), comments=True)
    assert jsontext.scan(back).value == without_empties(value)
    if value and without_empties(value) == value:
        assert back == text


@pytest.mark.parametrize("agent", sorted(TEMPLATES))
def test_an_empty_file_gets_the_template(agent: str) -> None:
    text = add("{}\n", agent)
    assert json.loads(text) == TEMPLATES[agent]
    assert text == (SOURCES / f"{agent}.json").read_text()
    left = json.loads(entries.take_out(text, comments=False))
    assert left == {key: value for key, value in TEMPLATES[agent].items() if key != "hooks"}


def test_what_another_version_installed_is_brought_up_to_date() -> None:
    value = {"hooks": json.loads(json.dumps(TEMPLATES["claude"]["hooks"]))}
    value["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 1
    value["hooks"]["OldEvent"] = [{"hooks": [{"type": "command", "command": "exec seance-hook claude Old"}]}]
    value["hooks"]["PreToolUse"].append({"hooks": [{"type": "command", "command": "seance-hook mine x"}]})
    text = add(json.dumps(value, indent=2))
    after = json.loads(text)
    assert "OldEvent" not in after["hooks"]
    assert after["hooks"]["Stop"] == TEMPLATES["claude"]["hooks"]["Stop"]
    assert after["hooks"]["PreToolUse"] == value["hooks"]["PreToolUse"]


def test_what_the_user_put_into_our_group_stays() -> None:
    value = json.loads(json.dumps(TEMPLATES["claude"]))
    value["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "say done"})
    text = json.dumps(value)
    assert add(text) == text
    left = json.loads(entries.take_out(text, comments=True))
    assert left == {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "line 1: not an object"),
        ('{\n  "hooks": []\n}', 'line 2: "hooks" is not an object'),
        ('{\n  "hooks": {\n    "Stop": {}}}', 'line 3: "Stop" of "hooks" is not an array'),
        ('{"a": 1,\n}', "line 2: a comma with nothing after it"),
    ],
)
def test_what_hooks_cannot_be_put_into_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="line") as caught:
        add(text)
    assert str(caught.value) == reason
    with pytest.raises(ValueError, match="line"):
        entries.take_out(text, comments=True)


def test_a_users_command_that_calls_us_among_other_things_is_his() -> None:
    own = {"hooks": [{"type": "command", "command": "log.sh; exec seance-hook claude Stop"}]}
    piped = {
        "matcher": "x",
        "hooks": [{"type": "command", "command": "tee /x | (exec seance-hook claude Stop) && play"}],
    }
    text = add(json.dumps({"hooks": {"Stop": [own, piped]}}, indent=2))
    after = json.loads(text)["hooks"]["Stop"]
    assert after[:2] == [own, piped]
    assert len(after) == 3
