"""What `hooks status` says of hooks that are there and do not report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seance_tools.agents import BY_KEY
from seance_tools.install import plan
from seance_tools.install.status import Status, look
from tests.install.test_plan import home, run, target

__all__ = ["home"]


@pytest.fixture
def here(home: dict[str, str]) -> dict[str, str]:
    """A home where seance-hook is on PATH."""
    program = Path(home["PATH"]) / "seance-hook"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return home


def of(agent: str, environ: dict[str, str]) -> Status:
    return look(BY_KEY[agent], environ)


def test_missing_installed_and_outdated(here: dict[str, str]) -> None:
    assert (of("claude", here).there, of("claude", here).state) == (False, "missing")
    run("claude", here, install=True)
    found = of("claude", here)
    assert (found.there, found.state, found.problems) == (True, "installed", ())
    path = target("claude", here)
    value = json.loads(path.read_text())
    del value["hooks"]["Stop"]
    path.write_text(json.dumps(value))
    found = of("claude", here)
    assert (found.state, found.problems) == (
        "outdated",
        ("not as this version has it: seance-ctl install claude",),
    )


def test_the_program_is_missing(home: dict[str, str]) -> None:
    run("claude", home, install=True)
    assert of("claude", home).problems == (
        "seance-hook is not on PATH: its hooks do nothing; put its directory there",
    )


def test_a_plugin_that_writes_the_spool_itself_needs_no_program(home: dict[str, str]) -> None:
    run("pi", home, install=True)
    assert of("pi", home).problems == ()


@pytest.mark.parametrize(
    ("agent", "file", "text", "problem"),
    [
        ("claude", ".claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks in"),
        ("qwen", ".qwen/settings.json", '{"disableAllHooks": true}', "disableAllHooks in"),
        ("gemini", ".gemini/settings.json", '{"hooksConfig": {"enabled": false}}', "hooksConfig.enabled in"),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n", "features.hooks = false"),
        ("vibe", ".vibe/config.toml", "enable_experimental_hooks = false\n", "hooks are off: put"),
        ("hermes", ".hermes/config.yaml", "plugins: {enabled: [x]}\n", "not enabled: hermes plugins enable"),
    ],
)
def test_the_agent_has_its_hooks_turned_off(
    agent: str, file: str, text: str, problem: str, here: dict[str, str]
) -> None:
    path = Path(here["HOME"]) / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    run(agent, here, install=True)
    assert of(agent, here).problems[0].startswith(problem)


def test_codex_hooks_that_are_not_trusted(here: dict[str, str]) -> None:
    path = target("codex", here, '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}')
    run("codex", here, install=True)
    wanted = "10 of 10 hooks are not trusted yet: approve them in Codex with /hooks"
    assert of("codex", here).problems == (wanted,)
    places = [f"{path}:stop:1:0", f"{path}:session_start:0:0", f"{path}:stop:0:0"]
    rows = [f'[hooks.state."{place}"]\ntrusted_hash = "sha256:1"\n' for place in places]
    (path.parent / "config.toml").write_text("".join(rows))
    assert of("codex", here).problems == (wanted.replace("10 of", "8 of"),)


def test_a_conflict_is_told_with_its_reason(here: dict[str, str]) -> None:
    path = target("aider", here, "notifications: false\n")
    found = of("aider", here)
    assert found.state == "conflict"
    assert found.problems == (
        f"{path}: line 1: notifications has a value of your own, and there can be only one",
    )
    target("claude", here, "{")
    assert of("claude", here).state == "conflict"


def test_a_status_line_is_ours_alone_or_before_the_users(here: dict[str, str]) -> None:
    run("antigravity", here, install=True)
    assert of("antigravity", here).state == "installed"
    run("antigravity", here, install=False)
    target("antigravity", here, '{"statusLine": {"command": "x"}}')
    assert of("antigravity", here).state == "missing"
    run("antigravity", here, install=True)
    assert of("antigravity", here).state == "installed"


def test_our_own_files_are_gone(
    here: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plan, "__file__", str(tmp_path / "a" / "b" / "plan.py"))
    with pytest.raises(plan.Refused, match="install Séance Tools again"):
        of("claude", here)
    share = tmp_path / "share" / "seance-tools" / "hooks"
    share.mkdir(parents=True)
    (share / "claude.json").write_text('{"hooks": {}}')
    assert plan.sources() == str(share)
