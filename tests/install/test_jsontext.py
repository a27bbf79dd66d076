"""The JSON editor: reads what is JSON, and what it puts in it can take out to the byte."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seance_tools.install import jsontext
from tests.install.documents import documents, values


@settings(deadline=None)
@given(documents(whole=values))
def test_reads_whatever_is_json(document: tuple[str, Any]) -> None:
    text, value = document
    assert jsontext.scan(text).value == value


def containers(node: jsontext.Node) -> list[jsontext.Node]:
    found = [node] if isinstance(node.value, dict | list) else []
    return found + [inner for item in node.items for inner in containers(item.node)]


@settings(deadline=None)
@given(documents(), st.data())
def test_what_was_put_in_is_there_and_comes_out_to_the_byte(
    document: tuple[str, Any], data: st.DataObject
) -> None:
    text, _ = document
    all_of = containers(jsontext.scan(text))
    place = data.draw(st.integers(0, len(all_of) - 1))
    node = all_of[place]
    key = "new" if isinstance(node.value, dict) else None
    after = jsontext.insert(text, node, {"a": [1]}, key)
    grown = containers(jsontext.scan(after))[place]
    expected = {**node.value, "new": {"a": [1]}} if key else [*node.value, {"a": [1]}]
    assert grown.value == expected
    assert [item.node.value for item in grown.items[:-1]] == [item.node.value for item in node.items]
    back = jsontext.remove(after, grown, len(grown.items) - 1)
    assert jsontext.scan(back).value == jsontext.scan(text).value
    if node.items:
        assert back == text


@settings(deadline=None)
@given(documents(), st.data())
def test_any_part_can_be_taken_out(document: tuple[str, Any], data: st.DataObject) -> None:
    text, _ = document
    all_of = containers(jsontext.scan(text))
    place = data.draw(st.integers(0, len(all_of) - 1))
    node = all_of[place]
    if not node.items:
        return
    index = data.draw(st.integers(0, len(node.items) - 1))
    rest = containers(jsontext.scan(jsontext.remove(text, node, index)))[place]
    assert [item.node.value for item in rest.items] == [
        item.node.value for number, item in enumerate(node.items) if number != index
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: the end comes too early"),
        ("{", "line 1: expected a name in double quotes"),
        ('{"a": 1,\n}', "line 2: a comma with nothing after it"),
        ('{"a": [1,\n2,\n]}', "line 3: a comma with nothing after it"),
        ('{"a": 1\n"b": 2}', "line 2: expected ',' or '}'"),
        ('{"a"\n 1}', "line 2: expected ':'"),
        ("{a: 1}", "line 1: expected a name in double quotes"),
        ("{'a': 1}", "line 1: expected a name in double quotes"),
        ('{"a": NaN}', "line 1: unexpected 'N'"),
        ('{"a": 01}', "line 1: unexpected '0'"),
        ('{"a": 1}\n{}', "line 2: something after the end"),
        ('{"a": "b\n"}', "line 1: unexpected '\"'"),
        ("{}\n/* x", "line 2: a comment that does not end"),
        ("[" * 1000, "line 1: nested too deeply"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="line") as caught:
        jsontext.scan(text)
    assert str(caught.value) == reason


def test_comments_are_refused_where_the_agent_cannot_read_them() -> None:
    text = '{\n  "a": 1 // one\n}'
    assert jsontext.scan(text).value == {"a": 1}
    with pytest.raises(ValueError, match="line 2: a comment"):
        jsontext.scan(text, comments=False)
    assert jsontext.scan('{"a": "// no comment"}', comments=False).value == {"a": "// no comment"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", '{\n  "new": 1\n}'),
        ('{"a": 1}', '{"a": 1, "new": 1}'),
        ('{\n    "a": 1\n}\n', '{\n    "a": 1,\n    "new": 1\n}\n'),
        ('{\n\t"a": 1 // one\n}\n', '{\n\t"a": 1, // one\n\t"new": 1\n}\n'),
        ('{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 1,\r\n  "new": 1\r\n}\r\n'),
        ("{\n  // none yet\n}\n", '{\n  // none yet\n  "new": 1\n}\n'),
    ],
)
def test_what_is_put_in_is_laid_out_as_the_rest(text: str, expected: str) -> None:
    assert jsontext.insert(text, jsontext.scan(text), 1, "new") == expected
