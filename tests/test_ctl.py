from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from seance_tools import names
from seance_tools.client import Connection
from seance_tools.ctl.program import seance_ctl, summary
from seance_tools.ctl.table import COMMANDS
from seance_tools.methods import METHODS
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
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"Usage: seance-ctl {name} ")


def test_every_method_has_a_command() -> None:
    called = {entry.method for entry in COMMANDS.values() if entry.method} | {
        "agent.wait",
        "events.subscribe",
    }
    assert called == {row.name for row in METHODS}


def test_help_lists_every_command_and_loads_none() -> None:
    probe = (
        "import sys; from seance_tools.ctl import program; program._guarded(); print(*sys.modules, sep='\\n')"
    )
    result = subprocess.run([sys.executable, "-c", probe, "--help"], capture_output=True, text=True)
    assert result.returncode == 0
    for name in COMMANDS:
        assert f"  {name} " in result.stdout
        assert summary(name)[:20] in result.stdout
    assert "seance-ctl AGENT-hook EVENT" in result.stdout
    loaded = {line for line in result.stdout.splitlines() if line.startswith("seance_tools.ctl.")}
    assert loaded == {"seance_tools.ctl.program", "seance_tools.ctl.table"}


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
    assert ctl("list-workspaces").stdout == "*\t3\tWorkspace 3\t1\t\n"
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
        (["nonsense"], "no command nonsense"),
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


@pytest.mark.usefixtures("tell")
def test_a_day_with_workspaces(ctl: Run) -> None:
    assert ctl("new-workspace", "--title", "shop").stdout == "workspace_id: 1\n"
    assert ctl("new-workspace", "docs").stdout == "workspace_id: 2\n"
    assert ctl("select-workspace", "1").stdout == ""
    assert ctl("current-workspace").stdout == "1\tshop\n"
    assert ctl("last-workspace").stdout == "workspace_id: 2\n"
    assert ctl("next-workspace").stdout == "workspace_id: 1\n"
    assert ctl("previous-workspace").stdout == "workspace_id: 2\n"
    assert ctl("rename-workspace", "--workspace", "1", "--title", "new name").returncode == 0
    assert ctl("reorder-workspace", "1", "--after", "2").returncode == 0
    assert ctl("pin-workspace", "1").returncode == 0
    assert [line.split("\t")[2] for line in ctl("list-workspaces").stdout.splitlines()] == [
        "new name",
        "docs",
    ]
    assert ctl("pin-workspace", "1", "--no-pinned").returncode == 0
    assert ctl("close-workspace", "2").returncode == 0
    result = ctl("close-workspace", "2")
    assert (result.returncode, result.stderr) == (1, "seance-ctl: no workspace 2\n")


@pytest.mark.usefixtures("tell")
def test_metadata_commands(ctl: Run) -> None:
    assert (
        ctl("set-status", "build", "ok", "--workspace", "1", "--priority", "3", "--state", "idle").returncode
        == 0
    )
    assert ctl("--workspace", "1", "set-progress", "0.5", "--label", "compiling").returncode == 0
    assert ctl("log", "--workspace", "1", "hello", "--level", "warning").returncode == 0
    assert ctl("subagent-update", "--workspace", "1", "--subagents", "2", "--background", "1").returncode == 0
    tree = ctl("tree").stdout
    for text in ("build: ok", "50% compiling", "warning: hello", "sub-agents 2, background 1"):
        assert text in tree
    assert ctl("clear-status", "build", "--workspace", "1").stdout == "cleared: true\n"
    assert ctl("clear-log", "1").returncode == ctl("clear-progress", "1").returncode == 0
    assert "hello" not in ctl("tree").stdout


@pytest.mark.usefixtures("tell")
def test_notifications(ctl: Run) -> None:
    assert ctl("notify", "--title", "t", "--body", "b", "--subtitle", "s", "--workspace", "1").returncode == 0
    assert ctl("notify", "second", "--workspace", "1").returncode == 0
    lines = [line.split("\t") for line in ctl("list-notifications").stdout.splitlines()]
    assert [(line[0], line[1], line[4], line[5]) for line in lines] == [
        ("•", "2", "second", ""),
        ("•", "1", "t", "s b"),
    ]
    assert ctl("mark-read", "2").stdout == "marked: 1\n"
    assert len(ctl("list-notifications", "--unread").stdout.splitlines()) == 1
    assert ctl("clear-notifications").stdout == "cleared: 2\n"


def test_surfaces_and_agents(ctl: Run, tell: Callable[..., Any]) -> None:
    tell("agent.hook", agent="codebuff", event="prompt-submit", surface_id=7, workspace_id=3)
    here = {"SEANCE_SURFACE_ID": "7"}
    assert ctl("report-cwd", "/home/someone/shop", **here).returncode == 0
    assert ctl("report-git", "main", "--dirty", **here).returncode == 0
    assert ctl("report-state", "running", **here).returncode == 0
    assert ctl("list-surfaces").stdout == "\t7\t3\t/home/someone/shop\tmain*\t\n"
    assert ctl("surface-health").stdout == "7\tunknown\tno\trunning\t1\n"
    assert ctl("clear-git", **here).returncode == 0
    assert ctl("agents").stdout.split("\t")[:5] == ["codebuff-7", "Codebuff", "3", "7", "running"]
    assert "because of: prompt-submit" in ctl("explain", "codebuff-7").stdout
    assert ctl("set-idle", "codebuff", **here).returncode == 0
    lines = ctl("history").stdout.splitlines()
    assert [line.split("\t")[4] for line in lines] == ["running", "idle"]
    assert "cannot be told" in ctl("focus", "7").stderr


def test_wait_tells_by_its_exit_code(ctl: Run, tell: Callable[..., Any], environ: dict[str, str]) -> None:
    tell("agent.hook", agent="codebuff", event="stop", surface_id=7, workspace_id=3)
    assert ctl("wait", "--surface", "7", "--until", "idle,needs_input").returncode == 0
    assert ctl("wait", "--surface", "8").returncode == 1
    assert ctl("wait", "codebuff-7", "--until", "running", "--timeout", "0.1").returncode == 4
    assert ctl("wait", "codebuff-7", "--until", "sleeping").returncode == 2
    with subprocess.Popen(["seance-ctl", "wait", "codebuff-7", "--until", "error"], env=environ) as waiting:
        # ended only once the wait is known: the broker counts its request
        tell("agent.hook", agent="codebuff", event="prompt-submit", surface_id=7)
        eventually(lambda: tell("system.health")["counters"]["waiting"] == 1)
        tell("agent.hook", agent="codebuff", event="session-end", surface_id=7)
        assert waiting.wait(10) == names.EXIT_ENDED


def test_people_get_tables_and_colours_and_nothing_dangerous(
    environ: dict[str, str], tell: Callable[..., Any]
) -> None:
    tell("agent.hook", agent="codebuff", event="prompt-submit", surface_id=7, payload={"status": "a\x1b]0;b"})
    main, other = os.openpty()
    subprocess.run(["seance-ctl", "agents"], env=environ, stdout=other, check=True)
    os.close(other)
    shown = os.read(main, 4096).decode()
    os.close(main)
    head, row = shown.splitlines()
    assert head.split() == ["SESSION", "AGENT", "WORKSPACE", "SURFACE", "STATE", "AGE", "TEXT"]
    assert row.startswith("\x1b[32mcodebuff-7")
    assert "a␛]0;b" in row
    assert head.index("AGENT") == row.removeprefix("\x1b[32m").index("Codebuff")


def test_no_color(environ: dict[str, str], tell: Callable[..., Any]) -> None:
    tell("agent.hook", agent="codebuff", event="prompt-submit", surface_id=7)
    main, other = os.openpty()
    subprocess.run(["seance-ctl", "agents"], env={**environ, "NO_COLOR": "1"}, stdout=other, check=True)
    os.close(other)
    shown = os.read(main, 4096)
    os.close(main)
    assert b"\x1b" not in shown


def complete(environ: dict[str, str], *words: str) -> list[str]:
    given = {"_SEANCE_CTL_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("seance-ctl", *words))}
    result = subprocess.run(
        ["seance-ctl"],
        env={**environ, **given, "COMP_CWORD": str(len(words))},
        capture_output=True,
        text=True,
    )
    assert result.stderr == ""
    return [line.partition(",")[2] for line in result.stdout.split()]


def test_completion_offers_live_values(environ: dict[str, str], tell: Callable[..., Any]) -> None:
    tell("workspace.create", title="shop")
    tell("agent.hook", agent="codebuff", event="stop", surface_id=7, workspace_id=1)
    assert complete(environ, "select-workspace", "") == ["1"]
    assert complete(environ, "focus", "") == ["7"]
    assert complete(environ, "explain", "c") == ["codebuff-7"]
    assert complete(environ, "list-w") == ["list-workspaces"]
    assert "workspace.set_status" in complete(environ, "workspace.")
    assert "codebuff-hook" in complete(environ, "codeb")
    assert complete(environ, "codebuff-hook", "prompt") == ["prompt-submit"]
    assert complete(environ, "set-status", "--state", "need") == ["needs_input"]


def test_completion_without_a_broker_is_quiet_and_starts_none(environ: dict[str, str]) -> None:
    assert complete(environ, "select-workspace", "") == []
    assert not os.path.exists(names.socket_path(environ))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_sound(ctl: Run, need: Callable[[str], str], shell: str) -> None:
    script = ctl("completions", shell).stdout
    assert "_SEANCE_CTL_COMPLETE" in script
    check = ["--no-execute"] if shell == "fish" else ["-n"]
    done = subprocess.run([need(shell), *check], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.usefixtures("tell")
@pytest.mark.parametrize(
    "command", ["watch --json", "health", "capabilities", "config get", "tree", "--help"]
)
def test_who_has_read_enough_may_go(
    environ: dict[str, str], need: Callable[[str], str], command: str
) -> None:
    nudge = "for n in 1 2 3 4 5 6; do seance-ctl log --workspace 1 m; done &" if "watch" in command else ""
    script = f"{nudge} seance-ctl {command} | head -1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run([need("bash"), "-c", script], env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.usefixtures("tell")
def test_json_may_stand_behind_the_command(ctl: Run) -> None:
    assert json.loads(ctl("ping", "--json").stdout) == {"pong": True}


@pytest.mark.parametrize(
    "argv", [["--timeout", "inf", "ping"], ["wait", "x", "--timeout", "nan"], ["--timeout", "0", "ping"]]
)
def test_odd_times_are_usage_errors(ctl: Run, argv: list[str]) -> None:
    result = ctl(*argv)
    assert result.returncode == names.EXIT_USAGE
    assert result.stderr.count("\n") == 1


def test_the_help_of_hooks_and_methods(ctl: Run) -> None:
    shown = ctl("workspace.set_progress", "--help").stdout
    assert "label (string)" in shown
    assert "value (number, required)" in shown
    assert "prompt-submit" in ctl("claude-hook", "-h").stdout


def test_a_broken_config_stops_nothing(ctl: Run, tell: Callable[..., Any], environ: dict[str, str]) -> None:
    path = names.config_path(environ)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("# socket\n[x\n")
    assert ctl("ping").stdout == "pong\n"
    assert ctl("claude-hook", "stop").returncode == 0
    assert "line 2" in ctl("config", "check").stderr
    os.unlink(path)
    os.mkfifo(path)
    assert "not a regular file" in ctl("config", "check").stderr
    assert tell("system.ping") == {"pong": True}


def test_arguments_are_not_echoed_raw(ctl: Run) -> None:
    assert "\x1b" not in ctl("\x1b]0;x\x07").stderr
