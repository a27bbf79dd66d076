from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools import wire
from seance_tools.names import LIMITS
from seance_tools.wire import Framer, WireError


def request(params: str = "{}", request_id: str = "1") -> bytes:
    return f'{{"id":{request_id},"method":"system.ping","params":{params}}}'.encode()


@given(st.lists(st.binary(max_size=40).filter(lambda b: b"\n" not in b)), st.lists(st.integers(1, 50)))
def test_framer_gives_the_same_lines_however_they_are_split(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    framer = Framer()
    got = []
    position = 0
    for cut in [*cuts, len(stream) + 1]:
        got += framer.feed(stream[position : position + cut])
        position += cut
    assert got == [line for line in lines if line.strip()]
    assert not framer.partial


def test_framer_takes_crlf_and_skips_blank_lines() -> None:
    assert [json.loads(line or b"") for line in Framer().feed(b'{"a":1}\r\n\r\n\n{"b":2}\n')] == [
        {"a": 1},
        {"b": 2},
    ]


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_the_tail_of_a_line_too_large_never_runs(piece: int) -> None:
    stream = b"x" * 100 + b'{"method":"evil"}\n' + b'{"method":"next"}\n'
    framer = Framer(limit=50, hopeless_at=1000)
    got = [
        line for start in range(0, len(stream), piece) for line in framer.feed(stream[start : start + piece])
    ]
    assert got == [None, b'{"method":"next"}']
    assert not framer.hopeless


def test_framer_gives_up_on_a_line_that_never_ends() -> None:
    framer = Framer(limit=50, hopeless_at=200)
    got = [line for _ in range(30) for line in framer.feed(b"y" * 10)]
    assert got == [None]
    assert framer.hopeless


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "01",
        "1.",
        "-",
        ".5",
        "+1",
        "tru",
        '"a\tb"',
        "9" * 4301,
        str(2**63),
        str(-(2**63) - 1),
        "[1,]",
        "'a'",
    ],
)
def test_what_is_not_strict_json_is_refused(value: str) -> None:
    with pytest.raises(WireError) as caught:
        wire.decode(request(f'{{"a":{value}}}'))
    assert caught.value.code == "parse_error"


def test_a_parse_error_says_where() -> None:
    with pytest.raises(WireError, match="line 1 column 46"):
        wire.decode(request('{"a":}'))


@pytest.mark.parametrize("depth", [65, 1000, 100_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    with pytest.raises(WireError, match="nested deeper"):
        wire.decode(request("[" * depth + "]" * depth))


def test_brackets_in_strings_are_not_depth() -> None:
    text = "[" * 100 + '\\"{'
    assert wire.decode(request(f'{{"a":"{text}"}}')).params["a"] == "[" * 100 + '"{'


def test_too_many_keys_are_refused() -> None:
    keys = ",".join(f'"k{i}":1' for i in range(LIMITS["object_keys"] + 1))
    with pytest.raises(WireError, match="256 keys"):
        wire.decode(request(f"{{{keys}}}"))


@pytest.mark.parametrize(
    "text", ["1", '"a"', "-1.25", "1e100", str(2**63), str(2**64), '"\\u00e9\\ud83d\\ude00"', "0.1"]
)
def test_ids_are_echoed(text: str) -> None:
    answer = json.loads(wire.reply(wire.decode(request(request_id=text)).id, {}))
    assert answer["id"] == json.loads(text)
    assert type(answer["id"]) is type(json.loads(text))


@pytest.mark.parametrize("text", ["null", "true", "[1]", "{}"])
def test_other_ids_become_null(text: str) -> None:
    assert wire.decode(request(request_id=text)).id is None


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"[]", "parse_error"),
        (b"\xff{}", "parse_error"),
        (b"{}", "invalid_request"),
        (b'{"method":1}', "invalid_request"),
        (b'{"method":"a","params":[]}', "invalid_request"),
    ],
)
def test_bad_requests_are_refused(line: bytes, code: str) -> None:
    with pytest.raises(WireError) as caught:
        wire.decode(line)
    assert caught.value.code == code


def test_a_refusal_carries_the_id_it_could_read() -> None:
    with pytest.raises(WireError) as caught:
        wire.decode(b'{"id":7,"method":1}')
    assert caught.value.request_id == 7
    assert json.loads(wire.failure(7, caught.value)) == {
        "id": 7,
        "ok": False,
        "error": {"code": "invalid_request", "message": "method: a string is needed", "param": "method"},
    }


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_what_is_encoded_is_one_ascii_line_of_the_same_value(value: dict[str, Any]) -> None:
    line = wire.encode(value)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert json.loads(line) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_outgoing_line_holds_what_json_does_not_know(value: float) -> None:
    with pytest.raises((ValueError, OverflowError)):
        wire.encode({"a": value})
