from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from seance_tools import names
from seance_tools.client import Connection
from seance_tools.ctl.program import COMMANDS, seance_ctl
from tests.support import eventually

Run = Callable[..., Any]


@pytest.fixture
def ctl(environ: dict[str, str], script_runner: Any) -> Run:
    def run(*argv: str, **more: str) -> Any:
        return script_runner.run(["seance-ctl", *argv], env={**environ, **more})

    return run


@pytest.fixture
def tell(environ: dict[str, str], broker: object) -> Callable[..., dict[str, Any]]:  # noqa: ARG001 - must run
    def request(method: str, **params: Any) -> dict[str, Any]:
        with Connection(names.socket_path(environ)) as connection:
            return connection.request(method, params)

    return request


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_of_its_own(name: str) -> None:
    result = CliRunner().invoke(seance_ctl, [name, "--help"], env={"SEANCE_SOCKET_PATH": "/tmp/none.sock"})
    assert result.exit_code == 0
    assert COMMANDS[name][1].rstrip(".").split(":")[0].split(",")[0] in " ".join(result.output.split())


def test_help_lists_every_command_and_loads_none() -> None:
    probe = "import sys; from seance_tools.ctl import program; program.run()"
    result = subprocess.run([sys.executable, "-c", probe, "--help"], capture_output=True, text=True)
    assert result.returncode == 0
    for name, (_, summary) in COMMANDS.items():
        assert f"  {name} " in result.stdout
        assert summary[:20] in result.stdout
    assert "seance-ctl AGENT-hook EVENT" in result.stdout


def test_ping(ctl: Run, tell: object) -> None:  # noqa: ARG001 - the broker must run
    assert ctl("ping").stdout == "pong\n"
    assert json.loads(ctl("--json", "ping").stdout) == {"pong": True}


def test_tree_is_readable_and_harmless(ctl: Run, tell: Callable[..., Any]) -> None:
    tell("workspace.set_status", workspace_id=3, key="opencode", value="Running\x1b[2J", priority=5)
    tell("workspace.append_log", workspace_id=3, message="Tool execution completed")
    tell("workspace.set_progress", workspace_id=3, value=0.75, label="Processing...")
    result = ctl("tree")
    assert result.returncode == 0
    assert "*    3  Workspace 3" in result.stdout
    assert "OpenCode: Running␛[2J" in result.stdout
    assert "75% Processing..." in result.stdout
    assert "info: Tool execution completed" in result.stdout
    assert "\x1b" not in result.stdout
    assert json.loads(ctl("--json", "tree").stdout)["windows"][0]["workspaces"][0]["id"] == 3


def test_list_and_identify(ctl: Run, tell: Callable[..., Any]) -> None:
    tell("agent.hook", agent="codebuff", event="prompt-submit", surface_id=7, workspace_id=3)
    assert ctl("list-workspaces").stdout == "*    3  Workspace 3\n"
    assert ctl("identify", SEANCE_SURFACE_ID="7").stdout == "workspace 3  surface 7\n"
    assert "unknown" in ctl("identify", SEANCE_SURFACE_ID="8").stdout


def test_watch_prints_changes_as_they_happen(environ: dict[str, str], tell: Callable[..., Any]) -> None:
    with subprocess.Popen(
        ["seance-ctl", "watch", "--topic", "status", "--json"], env=environ, stdout=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout
        assert json.loads(watch.stdout.readline())["snapshot"] == {"status": []}
        tell("workspace.set_status", workspace_id=3, key="opencode", value="Running")
        event = json.loads(watch.stdout.readline())
        assert (event["event"], event["data"]["value"]) == ("status.set", "Running")
        watch.terminate()


def test_watch_ends_when_nobody_reads(
    environ: dict[str, str], tell: Callable[..., Any], need: Callable[[str], str]
) -> None:
    with subprocess.Popen(
        [need("bash"), "-c", "seance-ctl watch --json | head -1"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as shell:
        assert shell.stdout
        assert shell.stdout.readline().startswith("{")

        def nudged() -> bool:
            tell("workspace.append_log", workspace_id=3, message="m")
            return shell.poll() is not None

        eventually(nudged)
        assert shell.stderr
        assert shell.stderr.read() == ""


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["ping", "x"], "unexpected extra argument"),
        (["--timeout", "x", "ping"], "--timeout"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_2(ctl: Run, argv: list[str], message: str) -> None:
    result = ctl(*argv)
    assert (result.returncode, result.stdout) == (names.EXIT_USAGE, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_full_disk_and_closed_output(
    environ: dict[str, str], tell: Callable[..., Any], need: Callable[[str], str]
) -> None:
    tell("workspace.set_status", workspace_id=3, key="opencode", value="Running")
    for command in ("seance-ctl tree >/dev/full", "seance-ctl tree >&-", "seance-ctl --json tree | true"):
        result = subprocess.run([need("bash"), "-c", command], env=environ, capture_output=True, text=True)
        assert "Traceback" not in result.stderr
        assert result.stderr.count("\n") <= 1


def test_no_command_shows_the_help(ctl: Run) -> None:
    result = ctl()
    assert "Usage:" in result.stdout + result.stderr
