"""Files in the spool: bytes → a request, whatever the bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seance_tools import spoolfile
from seance_tools.agents import AGENTS
from seance_tools.methods import METHODS
from seance_tools.names import LIMITS, PLACE_HEADERS
from seance_tools.spoolfile import Report, is_tool_event, parse, read_payload
from seance_tools.wire import WireError

HOOK = b"Agent: claude\nEvent: Stop\n"


def test_the_example_of_the_documents() -> None:
    report = parse(
        b"Agent: claude\nEvent: Stop\nWorkspace: 3\nSurface: 12\n"
        b"Tmux: /run/user/1000/tmux,4242,0\nPane: %12\nPid: 48213 1180233\nPid: 48100\n"
        b'\n{"session_id": "s"}',
        12.5,
    )
    assert report == Report(report.request, ((48213, 1180233), (48100, None)))
    assert report.request.method == "agent.hook"
    assert report.request.params == {
        "agent": "claude",
        "event": "Stop",
        "payload": {"session_id": "s"},
        "at": 12.5,
    }
    assert report.request.caller == {
        "workspace_id": 3,
        "surface_id": 12,
        "env": {"TMUX": "/run/user/1000/tmux,4242,0", "TMUX_PANE": "%12"},
    }


def test_every_terminals_variables_come_back() -> None:
    header = "".join(f"{header}: of {variable}\n" for header, variable in PLACE_HEADERS.items()).encode()
    env = parse(HOOK + header + b"\n", 1.0).request.caller["env"]
    assert env == {variable: f"of {variable}" for variable in PLACE_HEADERS.values()}


@pytest.mark.parametrize(
    ("device", "path"),
    [
        (34816, "/dev/pts/0"),
        (34823, "/dev/pts/7"),
        (0x10008812, "/dev/pts/65554"),
        (1025, "/dev/tty1"),
        (1088, ""),
    ],
)
def test_a_terminal_is_known_by_its_number(device: int, path: str) -> None:
    caller = parse(HOOK + f"Tty: {device} 4242\n\n".encode(), 1.0).request.caller
    assert caller == ({"tty": path, "tty_session": 4242} if path else {})


def test_a_terminals_own_name_for_the_pane_wins_over_its_number() -> None:
    assert set(parse(HOOK + b"Tty: 34816 4242\nPane: %1\n\n", 1.0).request.caller) == {"env"}


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("At: 7.25", 7.25),
        ("At: nan", 1.0),
        ("At: -3", 1.0),
        ("At: inf", 1.0),
        ("At: soon", 1.0),
        ("At:", 1.0),
    ],
)
def test_the_writers_time_wins_if_it_is_one(line: str, at: float) -> None:
    assert parse(HOOK + line.encode() + b"\n\n", 1.0).request.params["at"] == at


@pytest.mark.parametrize(
    "line", ["Surface: -1", "Surface: ", "Surface: 1e3", "Surface: ²", "Surface: " + "9" * 16]
)
def test_what_is_no_id_is_left_out(line: str) -> None:
    assert parse(HOOK + line.encode() + b"\n\n", 1.0).request.caller == {}


def test_processes_are_those_that_are_numbers() -> None:
    report = parse(HOOK + b"Pid: 12 34\nPid: x 3\nPid: \nPid: 7 x\nPid: 8  9 10\nAgent-Pid: 12\n\n", 1.0)
    assert report.processes == ((12, 34), (7, None), (8, None))
    assert report.agent_pid == 12


def stat(name: bytes, terminal: int = 34823) -> bytes:
    """A line of /proc/PID/stat of process 48213, whose parent is 48100, in session 47."""
    return b"48213 (%b) S 48100 48213 47 %d -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 1180233" % (
        name,
        terminal,
    ) + (b" 2433024 204" + b" 0" * 28 + b"\n")


@given(st.binary(max_size=15), st.binary(max_size=80))
def test_the_parents_stat_tells_of_it_whatever_its_name(name: bytes, body: bytes) -> None:
    header, found = spoolfile.split(HOOK + b"Parent: " + stat(name) + body)
    assert header == HOOK + b"Pid: 48213 1180233\nPid: 48100\nTty: 34823 47"
    assert found == body


@pytest.mark.parametrize("body", [b"", b"{}", b"\n\n{}", b"Pid: 1\n\nParent: 2", stat(b"x")])
def test_behind_the_parent_everything_is_payload(body: bytes) -> None:
    assert spoolfile.split(HOOK + b"Parent: " + stat(b"sh", 0) + body)[1] == body
    report = parse(HOOK + b"Parent: " + stat(b"sh", 0) + body, 1.0)
    assert report.processes == ((48213, 1180233), (48100, None))
    assert "tty" not in report.request.caller


@pytest.mark.parametrize("body", [b"", b"{}", b"1 (x) S 2\n\n{}", b"\nPid: 7\n\n"])
def test_of_a_parent_that_had_ended_nothing_is_told(body: bytes) -> None:
    assert spoolfile.split(HOOK + b"Parent: " + body) == (HOOK.rstrip(), body)


def test_in_a_payload_a_parent_is_none() -> None:
    assert parse(HOOK + b"\n\nParent: " + stat(b"sh"), 1.0).processes == ()


def test_the_first_of_two_headers_counts_and_strange_lines_do_not() -> None:
    report = parse(b"Agent: claude\nAgent: codex\nno colon\n: x\n Surface: 4\nEvent: a: b\n\n", 1.0)
    assert (report.request.params["agent"], report.request.params["event"]) == ("claude", "a: b")
    assert report.request.caller == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"Agent: claude\nEvent: Stop",
        b"Agent: claude\nEvent: Stop\n",
        b"Agent: claude\n\nEvent: Stop\n\n",
        b"Event: Stop\n\n",
        b"Agent: \nEvent: Stop\n\n",
        b"\n\nAgent: claude\nEvent: Stop\n\n",
        b"\x7fELF" + bytes(1000),
        b"Agent: claude\nEvent: " + b"x" * 70_000 + b"\n\n",
    ],
)
def test_without_a_header_it_is_no_report(data: bytes) -> None:
    with pytest.raises(ValueError, match="no header"):
        parse(data, 1.0)


PAYLOADS: list[tuple[bytes, dict[str, Any], str]] = [
    (b"", {}, ""),
    (b" \n\t", {}, ""),
    (b'{"a":1}', {"a": 1}, ""),
    (b'{"a":1}\n', {"a": 1}, ""),
    (b'{"a":"\xff\xfe"}', {"a": "\ufffd\ufffd"}, ""),
    (b'{"a":"\\ud800"}', {"a": "\ud800"}, ""),
    (b"[1]", {}, "malformed"),
    (b"null", {}, "malformed"),
    (b"{", {}, "malformed"),
    (b'{"a":1}{"b":2}', {}, "malformed"),
    (b'{"a":1}\0', {}, "malformed"),
    (b"9" * 5000, {}, "malformed"),
    (b"[" * 5000, {}, "malformed"),
    (b'{"a":' + b"9" * 30 + b',"b":2}', {"a": None, "b": 2}, ""),
    (b'{"a":1e999,"b":[NaN,1.5]}', {"a": None, "b": [None, 1.5]}, ""),
]


@pytest.mark.parametrize(("body", "payload", "problem"), PAYLOADS)
def test_a_payload_is_taken_as_far_as_it_can_be(body: bytes, payload: dict[str, Any], problem: str) -> None:
    assert read_payload(body) == (payload, problem)
    report = parse(HOOK + b"\n" + body, 1.0)
    assert (report.request.params["payload"], report.problem) == (payload, problem)


def test_a_large_payload_is_no_matter_and_a_deep_one_is_cut() -> None:
    wide = {f"key {n}": "x" * 1000 for n in range(5000)}
    deep: Any = "end"
    for _ in range(100):
        deep = [deep]
    body = json.dumps({"session_id": "s", "wide": wide, "deep": deep}).encode()
    assert len(body) > LIMITS["request_bytes"]
    payload, problem = read_payload(body)
    assert (payload["session_id"], payload["wide"], problem) == ("s", wide, "")
    assert json.dumps(payload["deep"]) == "[" * 7 + "null" + "]" * 7


def test_of_a_payload_that_was_not_read_the_event_counts() -> None:
    report = parse(HOOK + b'\n{"a":', 1.0, whole=False)
    assert (report.request.params["payload"], report.problem) == ({}, "oversized")
    report = parse(HOOK + b"\n" + b" " * (LIMITS["spool_body_bytes"] + 1), 1.0)
    assert (report.request.params["payload"], report.problem) == ({}, "oversized")


def test_a_plain_request_has_its_parameters_as_body() -> None:
    report = parse(b'Method: workspace.set_status\nSurface: 4\n\n{"key":"k","value":"v"}', 1.0)
    assert report.request.method == "workspace.set_status"
    assert report.request.params == {"key": "k", "value": "v"}
    assert report.request.caller == {"surface_id": 4}
    assert parse(b"Method: workspace.next\n\n", 1.0).request.params == {}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"Method: workspace.frobnicate\n\n", "method_not_found"),
        (b"Method: workspace.rename\n\n[]", "parse_error"),
        (b"Method: workspace.rename\n\n{", "parse_error"),
        (b'Method: workspace.rename\n\n{"workspace_id":1e999}', "parse_error"),
        (b"Method: workspace.rename\n\n" + b" " * (1 << 20) + b"{}", "too_large"),
        *((f"Method: {row.name}\n\n".encode(), "not_supported") for row in METHODS if row.io),
    ],
)
def test_a_plain_request_is_as_strict_as_on_the_socket(data: bytes, code: str) -> None:
    with pytest.raises(WireError) as caught:
        parse(data, 1.0)
    assert caught.value.code == code


def test_a_directory_that_is_not_utf_8_is_taken_as_it_can_be_shown() -> None:
    report = parse(b'Method: surface.report_shell\n\n{"cwd":"/a\xff"}', 1.0)
    assert report.request.params["cwd"] == "/a\ufffd"


@pytest.mark.parametrize("agent", [agent.key for agent in AGENTS])
@pytest.mark.parametrize("event", ["pre-tool-use", "post-tool-use"])
def test_tool_events_are_known_in_every_agents_words(agent: str, event: str) -> None:
    row = next(row for row in AGENTS if row.key == agent)
    for native in [event, *(name for name, ours in row.events.items() if ours == event)]:
        assert is_tool_event(f"Agent: {agent}\nEvent: {native}\n\n{{}}".encode())


@pytest.mark.parametrize(
    "data",
    [
        b"Agent: claude\nEvent: Stop\n\nEvent: PreToolUse\n",
        b"Agent: claude\nEvent: UserPromptSubmit\n\n",
        b"Method: workspace.log\n\nAgent: claude\nEvent: PreToolUse\n\n",
        b"",
    ],
)
def test_other_reports_are_no_tool_events(data: bytes) -> None:
    assert not is_tool_event(data)


@given(st.binary(), st.booleans())
def test_no_bytes_do_any_harm(data: bytes, whole: bool) -> None:
    for content in (data, HOOK + data, HOOK + b"\n" + data, b"Method: workspace.log\n\n" + data):
        try:
            parse(content, 1.0, whole=whole)
        except (ValueError, WireError):
            continue


def test_the_man_page_can_tell_of_every_header() -> None:
    assert set(PLACE_HEADERS) < set(spoolfile.HEADERS)
