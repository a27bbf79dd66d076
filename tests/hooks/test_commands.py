"""The command lines that agents run: silent, without effect where we are gone, for any shell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seance_tools.agents import AGENTS, BY_KEY
from seance_tools.install import plan, statusline
from seance_tools.lifecycle import TRANSITIONS
from tests.hooks.conftest import Spool

SOURCES = Path(__file__).parent.parent.parent / "hooks"
BIN = SOURCES.parent / "bin"
GUARDED = r"! command -v seance-hook >/dev/null 2>&1 \|\| exec seance-hook {} ([\w.-]+)"
SHELLS = [["sh", "-c"], ["bash", "-c"], ["zsh", "-c"], ["fish", "-c"], ["busybox", "sh", "-c"]]
HOOKS = {
    "claude": "claude.json",
    "codex": "codex.json",
    "gemini": "gemini.json",
    "qwen": "qwen.json",
    "cursor": "cursor.json",
    "copilot": "copilot.json",
    "goose": "goose/hooks/hooks.json",
}


def commands(agent: str) -> list[tuple[str, dict[str, Any]]]:
    """Every hook of an agent's file, with the event it is at."""
    hooks = json.loads((SOURCES / HOOKS[agent]).read_text())["hooks"]
    return [
        (event, hook) for event, rows in hooks.items() for row in rows for hook in row.get("hooks", [row])
    ]


@pytest.mark.parametrize("agent", HOOKS)
def test_each_event_is_reported_by_its_name_and_means_something(agent: str) -> None:
    found = commands(agent)
    assert found
    for event, hook in found:
        match = re.fullmatch(GUARDED.format(agent), hook.get("command") or hook["bash"])
        assert match
        assert match[1] == event
        assert BY_KEY[agent].events.get(event, event if event in TRANSITIONS else None)


@pytest.mark.parametrize("agent", HOOKS)
def test_limits_are_in_the_agents_unit(agent: str) -> None:
    limits = [hook.get("timeout") or hook["timeoutSec"] for _, hook in commands(agent)]
    in_milliseconds = agent in ("gemini", "qwen")
    assert all(1000 <= limit <= 5000 if in_milliseconds else 1 <= limit <= 5 for limit in limits)


def test_what_ends_a_turn_and_what_needs_the_user_is_asked_for() -> None:
    """Those that an agent has, by what they mean."""
    for agent in HOOKS:
        means: set[object] = set()
        for event, _ in commands(agent):
            known = BY_KEY[agent].events.get(event, event)
            means |= {known} if isinstance(known, str) else {known[-1]}  # type: ignore[index]
        assert {"prompt-submit", "pre-tool-use", "stop", "session-end"} <= means, agent
        if agent in ("claude", "codex", "qwen"):
            assert "approval-request" in means


def test_text_files_have_the_same_command() -> None:
    vibe = tomllib.loads((SOURCES / "vibe.toml").read_text())["hooks"]
    for hook in vibe:
        match = re.fullmatch(GUARDED.format("vibe"), hook["command"])
        assert match
        assert match[1] == hook["type"]
    lines = dict(line.split(": ", 1) for line in (SOURCES / "aider.yml").read_text().splitlines())
    command = json.loads(lines["notifications-command"]).removesuffix(" </dev/null")
    assert re.fullmatch(GUARDED.format("aider"), command)


def run(shell: list[str], command: str, environ: dict[str, str], payload: str = "{}") -> str:
    done = subprocess.run([*shell, command], env=environ, input=payload, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_every_shell_runs_it(
    shell: list[str], pane: dict[str, str], spool: Spool, need: Callable[[str], str]
) -> None:
    need(shell[0])
    [hook] = [hook for event, hook in commands("claude") if event == "Stop"]
    path = {**pane, "PATH": f"{BIN}:/usr/bin:/bin"}
    assert run(shell, hook["command"], path, '{"session_id": "s1"}') == ""
    [report] = spool.requests()
    assert (report.request.params["agent"], report.request.params["event"]) == ("claude", "Stop")
    assert report.request.params["payload"] == {"session_id": "s1"}


def installed(home: Path) -> list[tuple[str, str]]:
    """Every command line of every agent, as it stands in the files that were installed."""
    environ = {"HOME": str(home)}
    found = []
    for agent in (agent for agent in AGENTS if agent.install):
        for change in plan.changes(agent, environ, install=True):
            text = change.after or ""
            if change.path.endswith(".json"):
                found += [(agent.key, command) for command in commands_in(json.loads(text))]
            elif change.path.endswith(".toml"):
                found += [(agent.key, command) for command in commands_in(tomllib.loads(text))]
            elif change.path.endswith(".yml"):
                line = next(line for line in text.splitlines() if "command: " in line)
                found.append((agent.key, json.loads(line.partition(": ")[2])))
    return found


def commands_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value[key] for key in ("command", "bash") if isinstance(value.get(key), str)]
        return own + [each for item in value.values() for each in commands_in(item)]
    return [each for item in value for each in commands_in(item)] if isinstance(value, list) else []


def test_every_installed_line_does_nothing_where_we_are_gone(
    pane: dict[str, str], spool: Spool, tmp_path: Path
) -> None:
    lines = installed(tmp_path)
    assert {agent for agent, _ in lines} == {*HOOKS, "vibe", "aider", "antigravity"}
    assert len(lines) == sum(len(commands(agent)) for agent in HOOKS) + 3 + 1 + 1
    gone = tmp_path / "gone"
    gone.mkdir()
    (gone / "seance-hook").symlink_to(tmp_path / "uninstalled" / "seance-hook")
    for path in ("/usr/bin:/bin", f"{gone}:/usr/bin:/bin", f"{tmp_path}/none:/usr/bin:/bin"):
        for _, line in lines:
            assert run(["sh", "-c"], line, {**pane, "PATH": path}) == ""
    assert spool.files() == []


def test_every_installed_line_reports(pane: dict[str, str], spool: Spool, tmp_path: Path) -> None:
    lines = installed(tmp_path)
    for agent, line in lines:
        assert run(["sh", "-c"], line, {**pane, "PATH": f"{BIN}:/usr/bin:/bin"}) == BY_KEY[agent].reply + (
            "\n" if BY_KEY[agent].reply else ""
        )
    told = [row.request.params["agent"] for row in spool.requests()]
    assert sorted(told) == sorted(agent for agent, _ in lines)


def test_codexs_lines_stay_the_same_over_versions_and_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codex trusts a line as it is written: another one would have to be approved anew."""
    agent = BY_KEY["codex"]
    made = []
    for version in ("0.1.0", "7.0.0"):
        place = tmp_path / version / "share" / "seance-tools" / "hooks"
        shutil.copytree(SOURCES, place)
        monkeypatch.setattr(plan, "__version__", version)
        monkeypatch.setattr(plan, "sources", lambda place=place: str(place))
        home = {"HOME": str(tmp_path / f"home of {version}")}
        [change] = plan.changes(agent, home, install=True)
        made.append(change.after)
        assert version not in str(change.after)
        assert str(tmp_path) not in str(change.after)
        [plugin] = plan.changes(BY_KEY["pi"], home, install=True)
        assert str(plugin.after).startswith(f"// seance-tools {version}: ")
    assert made[0] == made[1]
    # The lines that people have approved; whoever changes one of them asks all of them to approve it again
    assert [hook["command"] for _, hook in commands("codex")] == [
        f"! command -v seance-hook >/dev/null 2>&1 || exec seance-hook codex {event}"
        for event in (
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "SubagentStart",
            "SubagentStop",
            "Stop",
            "Interrupt",
            "SessionEnd",
        )
    ]


def test_claude_is_given_hooks_and_nothing_else_for_one_launch() -> None:
    """Hooks of several files add up; anything else, such as a status line, would hide the user's own."""
    assert list(json.loads((SOURCES / "claude.json").read_text())) == ["hooks"]


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_where_we_are_gone_it_does_nothing(
    shell: list[str], pane: dict[str, str], spool: Spool, need: Callable[[str], str]
) -> None:
    need(shell[0])
    for agent in HOOKS:
        command = commands(agent)[0][1]
        assert run(shell, command.get("command") or command["bash"], {**pane, "PATH": "/usr/bin:/bin"}) == ""
    assert spool.files() == []


def test_codex_gets_its_reply(pane: dict[str, str], spool: Spool) -> None:
    command = commands("codex")[0][1]["command"]
    assert run(["sh", "-c"], command, {**pane, "PATH": f"{BIN}:/usr/bin:/bin"}) == '{"continue":true}\n'
    assert len(spool.files()) == 1


def test_the_hook_is_one_process(pane: dict[str, str], spool: Spool, need: Callable[[str], str]) -> None:
    trace = Path(pane["HOME"]) / "trace"
    command = commands("claude")[0][1]["command"]
    traced = [
        need("strace"),
        "-f",
        "-qq",
        "-e",
        "trace=clone,clone3,fork,vfork",
        "-o",
        str(trace),
        "sh",
        "-c",
    ]
    run(traced, command, {**pane, "PATH": f"{BIN}:/usr/bin:/bin"})
    assert trace.read_text() == ""
    assert len(spool.files()) == 1


@pytest.mark.parametrize("own", ["", " ", "# nothing"])
def test_an_empty_status_line_is_one_too(own: str, pane: dict[str, str], spool: Spool) -> None:
    template = json.loads((SOURCES / "antigravity.json").read_text())
    text = statusline.add(json.dumps({"statusLine": {"command": own}}), template, comments=True)
    command = json.loads(text)["statusLine"]["command"]
    assert run(["sh", "-c"], command, {**pane, "PATH": f"{BIN}:/usr/bin:/bin"}) == ""
    assert len(spool.files()) == 1


@pytest.mark.parametrize("own", ["cat", "cat; #x", "printf '%s' \"$(cat)\" &&\n true", "{ cat; } # it"])
def test_the_users_status_line_goes_on_behind_ours(own: str, pane: dict[str, str], spool: Spool) -> None:
    template = json.loads((SOURCES / "antigravity.json").read_text())
    text = statusline.add(json.dumps({"statusLine": {"command": own}}), template, comments=True)
    command = json.loads(text)["statusLine"]["command"]
    payload = '{"agent_state": "idle", "a": "%s \\\\n"}'
    with_us = {**pane, "PATH": f"{BIN}:/usr/bin:/bin"}
    assert run(["sh", "-c"], command, with_us, payload) == payload
    [report] = spool.heard()
    assert report
    assert report.event == "stop"
    assert run(["sh", "-c"], command, {**pane, "PATH": "/usr/bin:/bin"}, payload) == payload
    assert len(spool.files()) == 1


def test_our_own_status_line_prints_nothing(pane: dict[str, str], spool: Spool) -> None:
    command = json.loads((SOURCES / "antigravity.json").read_text())["statusLine"]["command"]
    path = {**pane, "PATH": f"{BIN}:{os.defpath}"}
    assert run(["sh", "-c"], command, path, '{"tool_confirmation_pending": true}') == ""
    [report] = spool.heard()
    assert report
    assert report.event == "approval-request"
