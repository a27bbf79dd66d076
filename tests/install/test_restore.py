"""Uninstalling: byte for byte what it was; with edits in between only ours go; backups are never stale."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seance_tools.agents import BY_KEY
from seance_tools.install import jsontext, plan
from seance_tools.install.files import BACKUP
from seance_tools.install.plan import Refused
from tests.install.documents import documents
from tests.install.test_plan import DOCUMENTED, INSTALLABLE, everything, home, run, target

__all__ = ["home"]

# What a file may hold that comes back even where the backup is gone
PLAIN = [
    *DOCUMENTED.items(),
    ("codex", '{"a": 1}'),
    ("claude", '\ufeff{"a": 1}\r\n'),
    ("claude", "\ufeff{}"),
    ("claude", "{\n  // nothing yet\n}\n"),
    ("cursor", '{"version": 1, "hooks": {"stop": [{"command": "x"}]}}'),
    ("vibe", "# no line end"),
    ("vibe", '[[hooks]]\r\nname = "x"\r\n'),
    ("vibe", "\n\n"),
    ("aider", "model: x"),
    ("aider", "\ufeffmodel: x\r\n"),
    ("antigravity", '{"a": 1}'),
]
# What nobody can know without it, and the backup does
UNTOLD = [
    ("claude", '{"hooks": {"Stop": []}}'),
    ("claude", '{"hooks": {}}\n'),
    ("claude", '{"hooks": { "Stop" : [ ] , "Other": [] } }'),
    ("cursor", '{"hooks": {"stop": [{"command": "x"}]}}'),
    ("cursor", '{"version": 1}'),
    ("claude", "{ }"),
    ("claude", ""),
    ("vibe", ""),
    ("aider", "---\n"),
]


def backup(path: Path) -> Path:
    return Path(f"{path}{BACKUP}")


@pytest.mark.parametrize(("agent", "text"), [*PLAIN, *UNTOLD])
def test_it_is_again_what_it_was(agent: str, text: str, home: dict[str, str]) -> None:
    path = target(agent, home, text)
    run(agent, home, install=True)
    assert backup(path).read_bytes() == text.encode()
    assert not run(agent, home, install=True)
    run(agent, home, install=False)
    assert everything(home) == {str(path): text.encode()}
    assert not run(agent, home, install=False)


@pytest.mark.parametrize(("agent", "text"), PLAIN)
def test_it_is_so_without_the_backup(agent: str, text: str, home: dict[str, str]) -> None:
    path = target(agent, home, text)
    run(agent, home, install=True)
    backup(path).unlink()
    assert not run(agent, home, install=True)
    assert not backup(path).exists()  # it would have held hooks of ours
    run(agent, home, install=False)
    assert everything(home) == {str(path): text.encode()}


@settings(deadline=None, max_examples=60)
@given(documents(), st.sets(st.sampled_from(["Stop", "SessionStart", "PreToolUse"])), st.integers(1, 5))
def test_after_another_version_too(document: tuple[str, Any], missing: set[str], limit: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        home = {"HOME": directory}
        path = target("claude", home, document[0])
        [(_, source)] = plan.pieces(BY_KEY["claude"], home)
        template = json.loads(source)
        for event in missing:
            del template["hooks"][event]
        for rows in template["hooks"].values():
            rows[0]["hooks"][0]["timeout"] = limit
        command = {"type": "command", "command": "exec seance-hook claude Old"}
        template["hooks"]["Old"] = [{"hooks": [command]}]
        old = plan.with_ours(BY_KEY["claude"], document[0], json.dumps(template))
        plan.carry_out(plan.Change(str(path), document[0], old, "make"))
        run("claude", home, install=True)
        assert backup(path).read_bytes() == document[0].encode()
        run("claude", home, install=False)
        assert everything(home) == {str(path): document[0].encode()}


@settings(deadline=None, max_examples=60)
@given(documents(), documents())
def test_edits_in_between_stay(document: tuple[str, Any], other: tuple[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        home = {"HOME": directory}
        path = target("claude", home, document[0])
        run("claude", home, install=True)
        text = path.read_bytes().decode()
        root = jsontext.scan(text)
        edited = jsontext.insert(text, root, other[1], "mine")
        path.write_bytes(edited.encode())
        run("claude", home, install=False)
        left = jsontext.scan(path.read_bytes().decode()).value
        assert left == {**document[1], "mine": other[1]}
        assert not backup(path).exists()


@pytest.mark.parametrize(
    ("agent", "before", "edit", "after"),
    [
        ("claude", '{"hooks": {"Stop": []}}', ("{", '{"a": 1, '), '{"a": 1, "hooks": {"Stop": []}}'),
        ("claude", '{"hooks": {}}', ("{", '{"a": 1, '), '{"a": 1, "hooks": {}}'),
        ("cursor", '{"b": 2}', ('"b": 2', '"b": 3'), '{"b": 3}'),
        ("vibe", "# mine", ("# mine", "# yours"), "# yours"),
        ("vibe", "# mine\n", ("# mine", "# yours"), "# yours\n"),
        ("aider", "model: x", ("x", "y"), "model: y"),
    ],
)
def test_only_ours_go(
    agent: str, before: str, edit: tuple[str, str], after: str, home: dict[str, str]
) -> None:
    path = target(agent, home, before)
    run(agent, home, install=True)
    path.write_text(path.read_text().replace(*edit, 1))
    run(agent, home, install=False)
    assert everything(home) == {str(path): after.encode()}


def test_what_comes_behind_our_lines_begins_its_own_line(home: dict[str, str]) -> None:
    path = target("aider", home, "model: x")
    run("aider", home, install=True)
    path.write_text(path.read_text() + "weak-model: y\n")
    run("aider", home, install=False)
    assert path.read_text() == "model: x\nweak-model: y\n"


def test_a_refusal_leaves_no_backup(home: dict[str, str]) -> None:
    path = target("claude", home, "{}")
    path.chmod(0o400)
    with pytest.raises(Refused, match="is read-only"):
        run("claude", home, install=True)
    assert everything(home) == {str(path): b"{}"}


def test_a_failure_leaves_no_backup(home: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = target("claude", home, "{}")
    replace = os.replace

    def fail(source: str, goal: str) -> None:
        if goal == str(path):
            raise OSError(28, "No space left on device")
        replace(source, goal)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(Refused, match="No space left"):
        run("claude", home, install=True)
    assert everything(home) == {str(path): b"{}"}


def test_a_backup_of_other_times_is_not_believed(home: dict[str, str]) -> None:
    path = target("claude", home, '{"new": 1}')
    backup(path).write_text('{"old": 1}')
    run("claude", home, install=True)
    assert backup(path).read_text() == '{"new": 1}'
    run("claude", home, install=False)
    assert everything(home) == {str(path): b'{"new": 1}'}
    backup(path).write_text('{"old": 1}')
    path.unlink()
    run("claude", home, install=True)
    assert not backup(path).exists()  # there was no file
    run("claude", home, install=False)
    assert everything(home) == {}


def test_a_backup_that_holds_ours_is_not_believed(home: dict[str, str]) -> None:
    path = target("claude", home, '{"a": 1}')
    run("claude", home, install=True)
    backup(path).write_bytes(path.read_bytes())
    run("claude", home, install=False)
    assert everything(home) == {str(path): b'{"a": 1}'}


def test_where_ours_were_taken_out_by_hand_the_backup_goes(home: dict[str, str]) -> None:
    path = target("claude", home, '{"hooks": {"Stop": []}}')
    run("claude", home, install=True)
    path.write_text('{"b": 2}')
    [change] = run("claude", home, install=False)
    assert change.before == change.after
    assert everything(home) == {str(path): b'{"b": 2}'}
    run("claude", home, install=True)
    path.unlink()
    assert run("claude", home, install=False)
    assert everything(home) == {}


def test_a_backup_that_cannot_be_made_or_read_is_told(home: dict[str, str]) -> None:
    path = target("claude", home, "{}")
    backup(path).mkdir()
    with pytest.raises(Refused, match=r"its backup settings\.json\.seance-backup cannot be written: "):
        run("claude", home, install=True)
    assert path.read_text() == "{}"
    backup(path).rmdir()
    run("claude", home, install=True)
    backup(path).write_bytes(b"\xff")
    with pytest.raises(Refused, match=r"its backup settings\.json\.seance-backup: line 1: not UTF-8"):
        run("claude", home, install=False)


def test_a_file_that_was_never_ours_is_not_looked_into(home: dict[str, str]) -> None:
    path = target("claude", home, '{"broken": ,}')
    assert not run("claude", home, install=False)
    assert everything(home) == {str(path): b'{"broken": ,}'}


@pytest.mark.parametrize("agent", [agent.key for agent in INSTALLABLE])
def test_folders_that_were_made_go_with_what_was_in_them(agent: str, home: dict[str, str]) -> None:
    run(agent, home, install=True)
    if agent == "hermes":
        (target(agent, home) / "__pycache__").mkdir()
        (target(agent, home) / "__pycache__" / "x.pyc").touch()
    run(agent, home, install=False)
    # ~/.config is everybody's
    assert [path for path in Path(home["HOME"]).rglob("*") if path.name != ".config"] == []


def test_a_moved_directory_goes_and_no_more(home: dict[str, str], tmp_path: Path) -> None:
    moved = {**home, "CLAUDE_CONFIG_DIR": str(tmp_path / "a" / "b"), "XDG_CONFIG_HOME": str(tmp_path / "x")}
    for agent in ("claude", "opencode"):
        run(agent, moved, install=True)
        run(agent, moved, install=False)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "x"]


def test_folders_of_others_stay(home: dict[str, str]) -> None:
    other = target("opencode", home).parent.parent / "opencode.json"
    other.write_text("{}")
    run("opencode", home, install=True)
    mine = target("hermes", home) / "mine.py"
    run("hermes", home, install=True)
    mine.write_text("")
    for agent in ("opencode", "hermes"):
        run(agent, home, install=False)
    assert everything(home) == {str(other): b"{}", str(mine): b""}
    assert [path.name for path in other.parent.iterdir()] == ["opencode.json"]
