"""What installing changes in files as agents document them, as people edit them, and as nobody should."""

from __future__ import annotations

import json
import os
import stat
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from seance_tools.agents import AGENTS, BY_KEY
from seance_tools.install import entries, jsontext, plan
from seance_tools.install.plan import Refused
from tests.install.documents import documents

INSTALLABLE = [agent for agent in AGENTS if agent.install]
SHARED = [agent for agent in INSTALLABLE if agent.install[0] not in ("file", "folder")]
# As the agents' documentation and hand-edited files have them
DOCUMENTED = {
    "claude": """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": {
    "allow": ["Bash(npm run lint)", "Bash(npm run test:*)"],
    "deny": ["Read(./.env)"]
  },
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [
          {"type": "command", "command": "jq -r '.tool_input.file_path' | xargs npx prettier --write"}
        ]
      }
    ]
  },
  "statusLine": {"type": "command", "command": "~/.claude/statusline.sh"}
}
""",
    "codex": '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"python3 stop.py","timeout":30}]}]}}',
    "gemini": """{
\t// the theme
\t"ui": { "theme": "GitHub" },
\t"hooks": {
\t\t"BeforeTool": [ // security
\t\t\t{ "matcher": "write_file", "hooks": [ { "type": "command", "command": "./check.sh" } ] }
\t\t]
\t}
}""",
    "qwen": '\ufeff{\r\n  "model": {"name": "qwen3-coder"}\r\n}\r\n',
    "cursor": '{\n  "version": 1,\n  "hooks": {\n    "stop": [{ "command": "./audit.sh" }]\n  }\n}\n',
    "antigravity": '{\n  "statusLine": {"type": "command", "command": "my-line \\u0041 # mine"}\n}\n',
    "vibe": '# my hooks\n[[hooks]]\nname = "lint"\ntype = "post_agent_turn"\ncommand = "make" # always\n',
    "aider": "# my settings\nmodel: sonnet\nauto-commits: false\n",
}


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}


def run(agent: str, environ: dict[str, str], *, install: bool) -> list[plan.Change]:
    done = plan.changes(BY_KEY[agent], environ, install=install)
    for change in done:
        plan.carry_out(change)
    return done


def target(agent: str, environ: dict[str, str], text: str | None = None) -> Path:
    path = Path(plan.target(BY_KEY[agent], environ))
    path.parent.mkdir(parents=True, exist_ok=True)
    if text is not None:
        path.write_bytes(text.encode())
    return path


def everything(environ: dict[str, str]) -> dict[str, bytes]:
    found = [path for path in Path(environ["HOME"]).rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in found}


@pytest.mark.parametrize("agent", [agent.key for agent in INSTALLABLE])
def test_where_nothing_was_nothing_is_left(agent: str, home: dict[str, str]) -> None:
    assert run(agent, home, install=True)
    installed = everything(home)
    assert not run(agent, home, install=True)
    assert everything(home) == installed
    assert run(agent, home, install=False)
    assert everything(home) == {}
    assert not run(agent, home, install=False)


@pytest.mark.parametrize("link", ["settings.json", "."])
@pytest.mark.parametrize("leads_to", ["gone/file", "gone", "x"])
def test_a_link_that_leads_nowhere_makes_no_folder(
    link: str, leads_to: str, home: dict[str, str], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = tmp_path / ".claude" / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(elsewhere / leads_to)
    if link == "settings.json" and "/" not in leads_to:  # where it leads, a file can be
        run("claude", home, install=True)
        assert entries.ours(jsontext.scan((elsewhere / leads_to).read_text()).value)
        run("claude", home, install=False)
    else:
        with pytest.raises(Refused, match=r"is a link to .*, which is not there"):
            run("claude", home, install=True)
        assert run("claude", home, install=False) == []
    assert list(elsewhere.iterdir()) == []
    assert place.is_symlink()


@pytest.mark.parametrize("agent", sorted(DOCUMENTED))
def test_documented_files_are_kept_and_come_back_to_the_byte(agent: str, home: dict[str, str]) -> None:
    path = target(agent, home, DOCUMENTED[agent])
    run(agent, home, install=True)
    text = path.read_bytes().decode()
    assert text != DOCUMENTED[agent]
    kept = [line.rstrip(",") for line in DOCUMENTED[agent].splitlines() if "//" in line or "#" in line]
    if agent != "antigravity":
        assert all(line in text for line in kept)
    assert Path(f"{path}.seance-backup").read_bytes().decode() == DOCUMENTED[agent]
    assert not run(agent, home, install=True)
    run(agent, home, install=False)
    assert everything(home) == {str(path): DOCUMENTED[agent].encode()}


@pytest.mark.parametrize("agent", sorted(DOCUMENTED))
def test_what_changed_meanwhile_stays(agent: str, home: dict[str, str]) -> None:
    path = target(agent, home, DOCUMENTED[agent])
    run(agent, home, install=True)
    text = path.read_bytes().decode()
    path.write_bytes((text + "\n").encode())
    run(agent, home, install=False)
    assert path.read_bytes().decode() == DOCUMENTED[agent] + "\n"


@settings(deadline=None)
@given(documents())
def test_json_files_come_back_to_the_byte(document: tuple[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        home = {"HOME": directory}
        path = target("claude", home, document[0])
        run("claude", home, install=True)
        assert entries.ours(jsontext.scan(path.read_bytes().decode()).value)
        run("claude", home, install=False)
        assert everything(home) == {str(path): document[0].encode()}


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "  \r\n"])
@pytest.mark.parametrize("agent", ["claude", "antigravity"])
def test_an_empty_file_is_an_empty_object(agent: str, text: str, home: dict[str, str]) -> None:
    path = target(agent, home, text)
    run(agent, home, install=True)
    assert path.read_text().startswith("\ufeff") == text.startswith("\ufeff")
    assert json.loads(path.read_text().lstrip("\ufeff"))
    run(agent, home, install=False)
    assert everything(home) == {str(path): text.encode()}


@pytest.mark.parametrize(
    ("agent", "text", "reason"),
    [
        ("claude", b'{\n  "a": 1,\n}\n', "line 3: a comma with nothing after it"),
        ("claude", b'{"a"', "line 1: expected ':'"),
        ("claude", b"[]", "line 1: not an object"),
        ("claude", b'{\n"a": "\xff"}', "line 2: not UTF-8"),
        ("codex", b'{\n// mine\n"hooks": {}}', "line 2: a comment, which this agent cannot read"),
        ("antigravity", b'{"statusLine": {"type": "none"}}', 'line 1: "statusLine" has no command'),
        ("vibe", b"[[hooks]]\nname = \n", "Invalid value (at line 2, column 8)"),
        ("vibe", b"hooks = []\n", '"hooks" is written otherwise than as [[hooks]]'),
        ("aider", b"a: b\nnotifications-command: say hi\n", "line 2: notifications-command has a value"),
        ("pi", b"// seance-tools helps me\n", "is there already and is not ours"),
        ("vibe", b"\xef\xbb\xbf# mine\n", "line 1: begins with a byte order mark, which TOML has not"),
        ("codex", b"\xef\xbb\xbf{}", "line 1: begins with a byte order mark, which this agent cannot read"),
    ],
)
def test_broken_files_are_refused_with_the_reason(
    agent: str, text: bytes, reason: str, home: dict[str, str]
) -> None:
    path = target(agent, home)
    path.write_bytes(text)
    with pytest.raises(Refused) as caught:
        run(agent, home, install=True)
    assert str(caught.value).startswith(f"{path}: {reason}")
    assert everything(home) == {str(path): text}


def test_a_read_only_file_is_refused(home: dict[str, str]) -> None:
    path = target("claude", home, "{}")
    path.chmod(0o444)
    with pytest.raises(Refused, match="is read-only"):
        run("claude", home, install=True)
    assert path.read_text() == "{}"


def test_a_status_line_of_ours_that_was_edited_is_left_alone(home: dict[str, str]) -> None:
    path = target("antigravity", home, DOCUMENTED["antigravity"])
    run("antigravity", home, install=True)
    edited = path.read_text().replace("p=$(cat); ", "p=$(cat);  ")
    path.write_text(edited)
    for install in (True, False):
        with pytest.raises(Refused, match="line 2: our command was edited"):
            run("antigravity", home, install=install)
    assert path.read_text() == edited


@pytest.mark.parametrize("kind", ["directory", "fifo"])
def test_what_is_no_file_is_refused(kind: str, home: dict[str, str]) -> None:
    path = target("claude", home)
    path.mkdir() if kind == "directory" else os.mkfifo(path)
    with pytest.raises(Refused, match="not a regular file"):
        run("claude", home, install=True)


def test_a_link_stays_a_link_and_the_mode_stays(home: dict[str, str], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text('{"a": 1}')
    real.chmod(0o640)
    path = target("claude", home)
    path.symlink_to(real)
    run("claude", home, install=True)
    assert path.is_symlink()
    assert "seance-hook" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert list(real.parent.iterdir()) == [real]
    run("claude", home, install=False)
    assert path.is_symlink()
    assert real.read_text() == '{"a": 1}'


def test_the_backup_is_the_first_one(home: dict[str, str]) -> None:
    path = target("claude", home, '{"a": 1}')
    run("claude", home, install=True)
    value = json.loads(path.read_text())
    value["hooks"]["Stop"] = []
    path.write_text(json.dumps(value))
    assert run("claude", home, install=True)
    assert Path(f"{path}.seance-backup").read_text() == '{"a": 1}'


def test_a_file_that_somebody_changes_meanwhile_is_not_replaced(home: dict[str, str]) -> None:
    path = target("claude", home, "{}")
    [change] = plan.changes(BY_KEY["claude"], home, install=True)
    path.write_text('{"a": 1}')
    with pytest.raises(Refused, match="changed by somebody else"):
        plan.carry_out(change)
    assert path.read_text() == '{"a": 1}'


def test_an_agents_own_variable_moves_its_directory(home: dict[str, str], tmp_path: Path) -> None:
    moved = {**home, "CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "XDG_CONFIG_HOME": str(tmp_path / "x")}
    assert plan.target(BY_KEY["claude"], moved) == f"{tmp_path}/c/settings.json"
    assert plan.target(BY_KEY["mimo"], moved) == f"{tmp_path}/x/mimocode/plugin/seance-tools.js"
    assert plan.target(BY_KEY["claude"], home) == f"{tmp_path}/.claude/settings.json"
    assert plan.target(BY_KEY["goose"], home) == f"{tmp_path}/.agents/plugins/seance-tools"
    assert plan.target(BY_KEY["aider"], home) == f"{tmp_path}/.aider.conf.yml"


def test_an_agent_is_there_by_its_program_or_its_configuration(home: dict[str, str], tmp_path: Path) -> None:
    assert not any(plan.is_there(agent, home) for agent in INSTALLABLE)
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / ".claude").mkdir()
    assert [agent.key for agent in INSTALLABLE if plan.is_there(agent, home)] == ["claude", "codex"]


def test_vibes_file_is_toml_with_its_hooks_and_ours(home: dict[str, str]) -> None:
    path = target("vibe", home, DOCUMENTED["vibe"])
    run("vibe", home, install=True)
    types = [hook["type"] for hook in tomllib.loads(path.read_text())["hooks"]]
    assert types == ["post_agent_turn", "before_tool", "after_tool", "post_agent_turn"]


def test_the_backup_and_the_file_are_whole_after_a_failure(
    home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = target("claude", home, '{"a": 1}')

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Refused, match="No space left"):
        run("claude", home, install=True)
    assert path.read_text() == '{"a": 1}'
    assert [each for each in path.parent.iterdir() if each != path and "backup" not in each.name] == []


def test_uninstall_takes_the_file_behind_a_link_that_pointed_nowhere(
    home: dict[str, str], tmp_path: Path
) -> None:
    real = tmp_path / "dotfiles" / "none.json"
    real.parent.mkdir()
    path = target("claude", home)
    path.symlink_to(real)
    run("claude", home, install=True)
    assert real.exists()
    run("claude", home, install=False)
    assert path.is_symlink()
    assert not real.exists()
