from __future__ import annotations

import math
from typing import Any

import pytest

from seance_tools.options import BY_KEY, OPTIONS, line_of, look_up


def test_defaults() -> None:
    options = look_up({})
    assert options.problems == ()
    assert options.values == {option.key: option.default for option in OPTIONS}
    assert options.values["codebuff-hooks"] is True
    assert options.values["codebuff.idle-timeout"] == 5.0


def test_every_default_passes_its_own_check_and_every_row_has_help() -> None:
    for option in OPTIONS:
        assert option.check(option.default) == option.default
        assert option.help
        assert option.type
    assert len(BY_KEY) == len(OPTIONS)


@pytest.mark.parametrize(
    ("document", "key", "value"),
    [
        ({"codebuff-hooks": False}, "codebuff-hooks", False),
        ({"behavior": {"codebuff-hooks": False}}, "codebuff-hooks", False),
        ({"codebuff-hooks": True, "behavior": {"codebuff-hooks": False}}, "codebuff-hooks", True),
        ({"codebuff": {"idle-timeout": 3}}, "codebuff.idle-timeout", 3.0),
        ({"codebuff": {"idle-timeout": 0.5}}, "codebuff.idle-timeout", 0.5),
        ({"socket": {"path": "/x"}}, "socket.path", "/x"),
        ({"sidebar": {"keys": {"sort": "x"}}}, "sidebar.keys.sort", ["x"]),
        ({"sidebar": {"keys": {"sort": ["tab", "é", "tab"]}}}, "sidebar.keys.sort", ["tab", "é"]),
        ({"sidebar": {"keys": {"sort": []}}}, "sidebar.keys.sort", []),
        ({"sidebar": {"colors": {"idle": "#00fF12"}}}, "sidebar.colors.idle", "#00fF12"),
        ({"sidebar": {"colors": {"idle": 255}}}, "sidebar.colors.idle", 255),
    ],
)
def test_values(document: dict[str, Any], key: str, value: Any) -> None:
    options = look_up(document)
    assert options.values[key] == value
    assert options.problems == ()


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"codebuff-hooks": "no"}, "codebuff-hooks: true or false is needed"),
        ({"behavior": {"codebuff-hooks": 0}}, "behavior.codebuff-hooks: true or false is needed"),
        ({"behavior": 1}, "behavior: a table is needed"),
        ({"codebuff": {"idle-timeout": "5"}}, "codebuff.idle-timeout: a number of seconds over 0 is needed"),
        ({"codebuff": {"idle-timeout": 0}}, "codebuff.idle-timeout: a number of seconds over 0 is needed"),
        ({"codebuff": {"idle-timeout": True}}, "codebuff.idle-timeout: a number of seconds over 0 is needed"),
        (
            {"codebuff": {"idle-timeout": math.nan}},
            "codebuff.idle-timeout: a number of seconds over 0 is needed",
        ),
        ({"socket": {"path": 1}}, "socket.path: a string is needed"),
        (
            {"limits": {"status_entries": 5}},
            "limits.status_entries: a whole number from 64 to 100000 is needed",
        ),
        (
            {"broker": {"log-level": "loud"}},
            "broker.log-level: must be one of debug, info, warning, error",
        ),
    ],
)
def test_what_is_wrong_is_named_once_and_has_its_default(document: dict[str, Any], problem: str) -> None:
    options = look_up(document)
    assert problem in options.problems
    assert len(set(options.problems)) == len(options.problems)
    assert options.values == look_up({}).values


@pytest.mark.parametrize("value", [1, ["xx"], [1], " ", "", "\t", "\u0301\u0301", "ctrl-x", True])
def test_what_is_no_key_of_the_sidebar(value: Any) -> None:
    [problem] = look_up({"sidebar": {"keys": {"sort": value}}}).problems
    assert problem.startswith("sidebar.keys.sort: ")


@pytest.mark.parametrize("value", ["#12345", "#12345g", "pink", -1, 256, True, [1], 1.5])
def test_what_is_no_colour(value: Any) -> None:
    [problem] = look_up({"sidebar": {"colors": {"idle": value}}}).problems
    assert problem.startswith('sidebar.colors.idle: "#rrggbb", a number from 0 to 255')


def test_a_key_for_two_actions_is_told_but_a_default_yields() -> None:
    keys = {"sort": ["x", "n"], "fold": "x"}
    assert look_up({"sidebar": {"keys": keys}}).problems == (
        "sidebar.keys.fold: 'x' is the key of sort already",
    )
    assert look_up({"sidebar": {"keys": {"sort": "n"}}}).problems == ()


def test_unknown_keys_are_told_and_change_nothing() -> None:
    options = look_up(
        {"theme": {"dark": 1}, "codebuff-hook": False, "sidebar": {"show_log": False}, "limits": {}}
    )
    assert options.unknown == (
        "theme: no such key",
        "codebuff-hook: no such key (did you mean codebuff-hooks?)",
        "sidebar.show_log: no such key (did you mean sidebar.show_logs?)",
    )
    assert options.problems == ()
    assert options.values == look_up({}).values


TEXT = """# a comment
codebuff-hooks = 1

[sidebar] # more
  show_logs = "x"
"show_ports" = 3
[behavior]
claude-hooks = 5
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("codebuff-hooks", 2),
        ("sidebar", 4),
        ("sidebar.show_logs", 5),
        ("sidebar.show_ports", 6),
        ("behavior.claude-hooks", 8),
        ("claude-hooks", None),
    ],
)
def test_the_line_of_a_key(key: str, line: int | None) -> None:
    assert line_of(TEXT, key) == line
