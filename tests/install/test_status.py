"""What `hooks status` says of hooks that are there and do not report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seance_tools import __version__
from seance_tools.agents import BY_KEY
from seance_tools.install import files, plan
from seance_tools.install.status import Status, look
from tests.install.test_plan import DOCUMENTED, INSTALLABLE, home, run, target

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
        (f"edited, or not of version {__version__}: Stop; mend it: seance-ctl install claude",),
    )


def differs(agent: str, environ: dict[str, str]) -> str:
    """How what is installed differs; it is outdated, and that is the first problem."""
    found = of(agent, environ)
    assert found.state == "outdated"
    text, mend = found.problems[0].split("; mend it: ")
    assert mend == f"seance-ctl install {agent}"
    return text


def test_hooks_that_were_edited_are_told_by_their_events(here: dict[str, str]) -> None:
    run("cursor", here, install=True)
    path = target("cursor", here)
    value = json.loads(path.read_text())
    value["hooks"]["stop"][0]["timeout"] = 9
    value["hooks"]["old"] = [{"command": "exec seance-hook cursor old"}]
    path.write_text(json.dumps(value))
    assert differs("cursor", here) == f"edited, or not of version {__version__}: stop, old"
    assert of("cursor", here).version == ""


def test_a_plugin_tells_its_version_and_that_it_was_edited(here: dict[str, str]) -> None:
    run("amp", here, install=True)
    assert (of("amp", here).state, of("amp", here).version) == ("installed", __version__)
    path = target("amp", here)
    text = path.read_text()
    path.write_text(text + "// mine\n")
    assert differs("amp", here) == "edited by hand"
    assert of("amp", here).version == __version__
    path.write_text(text.replace(f"seance-tools {__version__}:", "seance-tools 0.0.9:", 1))
    assert differs("amp", here) == f"of version 0.0.9, this is {__version__}"
    assert of("amp", here).version == "0.0.9"


def test_a_plugin_of_several_files_is_whole(here: dict[str, str]) -> None:
    run("hermes", here, install=True)
    (target("hermes", here) / "plugin.yaml").unlink()
    assert differs("hermes", here) == "some of its files are missing"


def test_lines_that_were_edited(here: dict[str, str]) -> None:
    run("aider", here, install=True)
    path = target("aider", here)
    path.write_text(path.read_text().replace("notifications: true", "notifications: false"))
    assert differs("aider", here) == f"edited, or not of version {__version__}"


@pytest.mark.parametrize(
    ("agent", "beside"),
    [
        ("opencode", "plugin/copy.js"),
        ("kilo", "plugins/seance-tools.ts"),
        ("pi", "extensions/seance-tools/index.ts"),
        ("amp", "plugins/copy.ts"),
        ("hermes", "plugins/copy/__init__.py"),
        ("goose", "../../.agents/plugins/copy/hooks/hooks.json"),
        ("copilot", "hooks/copy.json"),
    ],
)
def test_ours_in_two_places_is_a_problem_and_anothers_is_none(
    agent: str, beside: str, here: dict[str, str]
) -> None:
    run(agent, here, install=True)
    before = of(agent, here)
    pieces = dict(plan.pieces(BY_KEY[agent], here))
    path = Path(plan.directory(BY_KEY[agent], here), beside).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    other = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}'
    for foreign in (other, "// seance-tools\n", ""):
        path.write_text(foreign)
        assert of(agent, here) == before
    [text] = [each for piece, each in pieces.items() if len(pieces) == 1 or Path(piece).name == path.name]
    path.write_text(text)
    found = of(agent, here)
    twice = f"{path} reports too, so that all is told twice: take ours out of it by hand"
    assert (found.state, found.problems) == ("installed", (twice, *before.problems))


def test_codexs_own_configuration_may_have_ours_too(here: dict[str, str]) -> None:
    run("codex", here, install=True)
    path = target("codex", here).parent / "config.toml"
    row = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "{}"\n'
    path.write_text(row.format("say done"))
    assert len(of("codex", here).problems) == 1
    path.write_text(row.format("exec seance-hook codex Stop"))
    assert of("codex", here).problems[0] == (
        f"{path} reports too, so that all is told twice: take ours out of it by hand"
    )


def test_aiders_environment_counts_more_than_its_file(here: dict[str, str]) -> None:
    run("aider", here, install=True)
    assert of("aider", here).problems == ()
    found = of("aider", {**here, "AIDER_NOTIFICATIONS_COMMAND": "say done"})
    assert found.problems == ("AIDER_NOTIFICATIONS_COMMAND is set and counts instead: unset it",)


@pytest.mark.parametrize("agent", [agent.key for agent in INSTALLABLE])
def test_hooks_of_another_tool_are_no_conflict(agent: str, here: dict[str, str]) -> None:
    if agent in DOCUMENTED:
        target(agent, here, DOCUMENTED[agent])
    assert of(agent, here).state == "missing"
    assert of(agent, here).version == ""
    run(agent, here, install=True)
    assert (of(agent, here).state, of(agent, here).version) == ("installed", __version__)
    run(agent, here, install=False)
    assert of(agent, here).state == "missing"


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
    monkeypatch.setattr(files, "__file__", str(tmp_path / "a" / "b" / "files.py"))
    with pytest.raises(plan.Refused, match="install Séance Tools again"):
        of("claude", here)
    share = tmp_path / "share" / "seance-tools" / "hooks"
    share.mkdir(parents=True)
    (share / "claude.json").write_text('{"hooks": {}}')
    assert plan.sources() == str(share)
