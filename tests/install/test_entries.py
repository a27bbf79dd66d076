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
    for name in ("claude", "codex", "copilot", "gemini", "qwen", "cursor")
}


def add(text: str, template: str = "claude") -> str:
    return entries.add(text, TEMPLATES[template], comments=True)


def take_out(text: str, original: Any = None, template: str = "claude", *, comments: bool = True) -> str:
    return entries.take_out(text, TEMPLATES[template], original, comments=comments)


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
    back = take_out(add(text))
    assert jsontext.scan(back).value == without_empties(value)
    if value and without_empties(value) == value:
        assert back == text


@settings(deadline=None)
@given(documents())
def test_what_was_there_before_us_stays_even_if_empty(document: tuple[str, Any]) -> None:
    text, value = document
    assert jsontext.scan(take_out(add(text), value)).value == value


def test_what_only_our_hooks_needed_goes_with_them() -> None:
    mine = '{"hooks": {"stop": [{"command": "./audit.sh"}]}}'
    assert json.loads(take_out(add("{}", "cursor"), {}, "cursor")) == {}
    kept = json.loads(take_out(add(mine, "cursor"), {}, "cursor"))  # the user's own needs it
    assert kept == {**json.loads(mine), "version": 1}
    other = add("{}", "cursor").replace('"version": 1', '"version": 2')
    assert json.loads(take_out(other, {}, "cursor")) == {"version": 2}


@pytest.mark.parametrize("agent", sorted(TEMPLATES))
def test_an_empty_file_gets_the_template(agent: str) -> None:
    text = add("{}\n", agent)
    assert json.loads(text) == TEMPLATES[agent]
    assert text == (SOURCES / f"{agent}.json").read_text()
    left = json.loads(take_out(text, template=agent, comments=False))
    assert left == {key: value for key, value in TEMPLATES[agent].items() if key != "hooks"}
    assert take_out(text, {}, agent) == "{}\n"


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
    left = json.loads(take_out(text))
    assert left == {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "line 1: not an object"),
        ('{\n  "hooks": []\n}', 'line 2: "hooks" is not an object'),
        ('{\n  "hooks": {\n    "Stop": {}}}', 'line 3: "Stop" of "hooks" is not an array'),
        ('{"a": 1,\n}', "line 2: a comma with nothing after it"),
        ('{\n  "hooks": {\n    "Stop": null}}', 'line 3: "Stop" of "hooks" is not an array'),
        (
            '{"hooks": {},\n"hooks": {}}',
            'line 1: "hooks" is there twice, and only the last counts; join the two',
        ),
        (
            '{"hooks": {\n"Other": [],\n"Other": []}}',
            'line 2: "Other" is there twice, and only the last counts; join the two',
        ),
    ],
)
def test_what_hooks_cannot_be_put_into_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="line") as caught:
        add(text)
    assert str(caught.value) == reason
    with pytest.raises(ValueError, match="line"):
        take_out(text)


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


def test_what_is_no_event_may_be_anything() -> None:
    text = '{"hooks": {"enabled": true, "disabled": null, "Other": {"a": 1}}}'
    after = add(text)
    assert json.loads(after)["hooks"]["Other"] == {"a": 1}
    assert take_out(after) == text


@pytest.mark.parametrize("event", ["Stop", "SessionStart", "SessionEnd"])
def test_what_was_edited_is_put_right_in_its_place(event: str) -> None:
    value = json.loads(json.dumps(TEMPLATES["claude"]))
    value["hooks"][event][0]["hooks"][0]["timeout"] = 1
    assert list(json.loads(add(json.dumps(value)))["hooks"]) == list(TEMPLATES["claude"]["hooks"])
    value["hooks"][event] *= 2
    assert json.loads(add(json.dumps(value))) == TEMPLATES["claude"]
