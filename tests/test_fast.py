from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seance_tools import fast, names
from seance_tools.client import Connection

ALLOWED = {
    "__future__",
    "seance_tools",
    "seance_tools.ctl",
    "seance_tools.fast",
    "seance_tools.names",
    "_json",
    "_socket",
}
PROBE = """
import sys
before = set(sys.modules)
from seance_tools import ctl, fast
code = fast.run(sys.argv[1:])
print(" ".join(sorted(set(sys.modules) - before)), file=sys.stderr)
sys.exit(code)
"""


def run(environ: dict[str, str], *argv: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(["seance-ctl", *argv], env=environ, input=text, capture_output=True, text=True)


def tree(environ: dict[str, str]) -> list[dict[str, Any]]:
    with Connection(names.socket_path(environ)) as connection:
        workspaces: list[dict[str, Any]] = connection.request("system.tree")["windows"][0]["workspaces"]
        return workspaces


@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize("argv", [["codebuff-hook", "prompt-submit"], ["system.ping"]])
def test_the_fast_way_imports_nothing_but_the_pinned_modules(
    environ: dict[str, str], argv: list[str]
) -> None:
    probe = subprocess.run(
        [sys.executable, "-c", PROBE, *argv],
        env=environ,
        input='{"session_id": "s"}' * (len(argv) - 1),
        capture_output=True,
        text=True,
    )
    assert probe.returncode == 0, probe.stderr
    assert set(probe.stderr.split()) <= ALLOWED


@pytest.mark.usefixtures("broker")
def test_the_examples_of_the_status_document(environ: dict[str, str]) -> None:
    text = '{"workspace_id": 1, "key": "test", "value": "Running", "priority": 5}\n'
    result = run(environ, "--json", "workspace.set_status", text=text)
    assert (result.returncode, json.loads(result.stdout), result.stderr) == (0, {}, "")
    for method, params in [
        (
            "workspace.set_status",
            {
                "workspace_id": 123,
                "key": "opencode",
                "value": "Running",
                "priority": 5,
                "is_agent": True,
                "display_name": "OpenCode",
            },
        ),
        ("workspace.set_progress", {"workspace_id": 123, "value": 0.75, "label": "Processing..."}),
        (
            "workspace.append_log",
            {"workspace_id": 123, "message": "Tool execution completed", "level": "info"},
        ),
        ("workspace.set_subagent_counts", {"workspace_id": 123, "subagent_count": 3, "background_count": 1}),
    ]:
        assert run(environ, method, text=json.dumps(params, indent=2)).returncode == 0
    result = run(environ, "--json", "tree")
    first, second = json.loads(result.stdout)["windows"][0]["workspaces"]
    assert first["status"][0]["value"] == "Running"
    assert (second["progress"]["value"], second["subagent_count"], second["log"][0]["level"]) == (
        0.75,
        3,
        "info",
    )
    result = run(environ, "workspace.clear_status", text='{"workspace_id": 123, "key": "opencode"}')
    assert json.loads(result.stdout) == {"cleared": True}


@pytest.mark.usefixtures("broker")
def test_hooks_with_a_heredoc(environ: dict[str, str]) -> None:
    pane = {**environ, "SEANCE_SURFACE_ID": "9", "SEANCE_WORKSPACE_ID": "4"}
    assert (
        run(
            pane, "myagent-hook", "prompt-submit", text='{"status": "Thinking", "display_name": "My Agent"}'
        ).stdout
        == ""
    )
    run(pane, "myagent-hook", "progress", text='{"value": 0.75, "label": "Processing 3/4 items"}')
    run(pane, "myagent-hook", "log", text='{"message": "Completed index rebuild", "level": "info"}')
    [workspace] = tree(environ)
    assert workspace["id"] == 4
    assert (
        workspace["status"][0]["key"],
        workspace["status"][0]["value"],
        workspace["status"][0]["display_name"],
    ) == (
        "myagent-9",
        "Thinking",
        "My Agent",
    )
    assert workspace["progress"]["label"] == "Processing 3/4 items"
    assert workspace["log"][0]["message"] == "Completed index rebuild"
    run(pane, "myagent-hook", "stop")
    assert tree(environ)[0]["status"][0]["value"] == "Idle"
    run(pane, "myagent-hook", "session-end")
    assert tree(environ)[0]["status"] == []


@pytest.mark.usefixtures("broker")
def test_options_win_over_the_environment(environ: dict[str, str]) -> None:
    pane = {**environ, "SEANCE_SURFACE_ID": "9", "SEANCE_WORKSPACE_ID": "4"}
    run(pane, "myagent-hook", "stop", "--surface", "11", "--workspace=5")
    assert [(w["id"], w["status"][0]["key"]) for w in tree(environ)] == [(5, "myagent-11")]
    assert run(environ, "workspace.append_log", "--workspace", "5", text='{"message": "m"}').returncode == 0
    assert tree(environ)[0]["log"][0]["message"] == "m"


@pytest.mark.usefixtures("broker")
def test_the_reply_that_the_agent_expects(environ: dict[str, str]) -> None:
    assert run(environ, "codex-hook", "stop").stdout == '{"continue":true}\n'
    assert json.loads(run(environ, "--json", "codex-hook", "stop").stdout)["state"] == "idle"


@pytest.mark.usefixtures("broker")
def test_a_large_payload(environ: dict[str, str]) -> None:
    text = json.dumps({"session_id": "s", "tool_response": "line\n" * 100_000})
    assert run(environ, "claude-hook", "post-tool-use", text=text).returncode == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":}', "Expecting value at line 1 column 6"),
        ('{"a":1}\n{"b":2}', "Extra data at line 2 column 1"),
        ('{"a": 01}', "line 1 column 8"),
        ('{"a": NaN}', "NaN is not JSON"),
        ("[1]", "a JSON object is needed"),
        ('{"a":"\t"}', "Invalid control character"),
        ('{"a":' + "[" * 100_000, "not JSON"),
        ('{"a":"' + "x" * (1 << 20) + '"}', "at most"),
    ],
)
def test_bad_input_is_told_with_its_place_and_nothing_is_sent(
    environ: dict[str, str], text: str, message: str
) -> None:
    result = run(environ, "workspace.set_status", text=text)
    assert (result.returncode, result.stdout) == (names.EXIT_USAGE, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path(names.socket_path(environ)).exists()  # not even a broker was started


def test_input_that_is_not_utf_8(environ: dict[str, str]) -> None:
    result = subprocess.run(
        ["seance-ctl", "system.ping"], env=environ, input=b'{"a":"\xff"}', capture_output=True
    )
    assert result.returncode == names.EXIT_USAGE
    assert b"not UTF-8 at byte 6" in result.stderr


@pytest.mark.parametrize(
    "argv",
    [
        ["codebuff-hook"],
        ["-hook", "stop"],
        ["codebuff-hook", "stop", "more"],
        ["system.ping", "x"],
        ["system.ping", "--nope"],
        ["codebuff-hook", "stop", "--surface", "x"],
        ["codebuff-hook", "stop", "--surface"],
        ["system.ping", "--timeout", "soon"],
    ],
)
def test_a_wrong_command_line(environ: dict[str, str], argv: list[str]) -> None:
    result = run(environ, *argv)
    assert (result.returncode, result.stdout) == (names.EXIT_USAGE, "")
    assert result.stderr.startswith("seance-ctl: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.usefixtures("broker")
def test_a_refusal_is_one_line_and_exit_1(environ: dict[str, str]) -> None:
    result = run(environ, "workspace.set_statu", text="{}")
    assert (result.returncode, result.stdout) == (1, "")
    assert (
        result.stderr == "seance-ctl: workspace.set_statu: no method workspace.set_statu"
        " (did you mean workspace.set_status?)\n"
    )


def test_the_broker_is_started_where_none_runs(environ: dict[str, str]) -> None:
    from tests.conftest import stop_stray_broker

    result = run(environ, "system.ping")
    try:
        assert (result.returncode, result.stdout) == (0, '{"pong":true}\n')
    finally:
        stop_stray_broker(names.socket_path(environ))


def test_no_broker_and_none_can_be_started(environ: dict[str, str]) -> None:
    path = Path(names.socket_path(environ))
    path.parent.mkdir(mode=0o700)
    path.write_text("")
    result = run(environ, "system.ping")
    assert (result.returncode, result.stdout) == (names.EXIT_NO_BROKER, "")
    assert "not a socket" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_broker_that_hangs(broker: subprocess.Popen[bytes], environ: dict[str, str]) -> None:
    import signal

    broker.send_signal(signal.SIGSTOP)
    try:
        result = run(environ, "--timeout", "0.2", "system.ping")
    finally:
        broker.send_signal(signal.SIGCONT)
    assert result.returncode == names.EXIT_TIMEOUT
    assert "does not answer within 0.2 s" in result.stderr


@pytest.mark.usefixtures("broker")
def test_output_that_cannot_be_written(environ: dict[str, str], need: Callable[[str], str]) -> None:
    shell = need("bash")
    full = subprocess.run(
        [shell, "-c", "seance-ctl system.ping >/dev/full"],
        env=environ,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert full.returncode == names.EXIT_REFUSED
    assert full.stderr == "seance-ctl: cannot write: No space left on device\n"
    closed = subprocess.run(
        [shell, "-c", "seance-ctl system.ping >&-"],
        env=environ,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in closed.stderr
    head = subprocess.run(
        [shell, "-c", "seance-ctl system.tree | true"],
        env=environ,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert head.stderr == ""


def test_what_tells_the_pane() -> None:
    environ = {
        "TMUX": 'a"b\x1b,1,2',
        "TMUX_PANE": "%3",
        "SEANCE_SURFACE_ID": "7",
        "OTHER": "x",
        "SEANCE_WORKSPACE_ID": "٣",
        "SEANCE_HOST": "web1",
    }
    members = json.loads("{" + ",".join(fast.caller_members({}, environ)) + "}")
    env = {"TMUX": 'a"b\x1b,1,2', "TMUX_PANE": "%3", "SEANCE_HOST": "web1"}
    assert members == {"surface_id": 7, "env": env}


def test_outside_of_multiplexers_the_terminal_device_tells_it() -> None:
    main, other = os.openpty()
    saved = os.dup(2)
    try:
        os.dup2(other, 2)
        members = json.loads("{" + ",".join(fast.caller_members({}, {})) + "}")
    finally:
        os.dup2(saved, 2)
        for descriptor in (main, other, saved):
            os.close(descriptor)
    assert members["tty"].startswith("/dev/pts/")
    assert members["tty_session"] == os.getsid(0)


def test_a_request_is_not_sent_twice(environ: dict[str, str]) -> None:
    """The broker may have done it before it ended."""
    import socket
    import threading

    path = names.socket_path(environ)
    os.mkdir(os.path.dirname(path), 0o700)
    received = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()

        def take() -> None:
            client, _ = listener.accept()
            with client:
                received.append(client.recv(4096))

        thread = threading.Thread(target=take)
        thread.start()
        result = run(environ, "system.ping")
        thread.join()
    assert result.returncode == names.EXIT_NO_BROKER
    assert "ended before it answered" in result.stderr
    assert len(received) == 1


def test_a_socket_given_by_an_option_is_checked_like_any_other(
    environ: dict[str, str], tmp_path: Path
) -> None:
    for argv in (["system.ping"], ["ping"]):
        result = run(environ, "--socket", str(tmp_path / ("x" * 120)), *argv)
        assert result.returncode == names.EXIT_USAGE
        assert "at most 107" in result.stderr
    assert not list(tmp_path.glob("x*"))
