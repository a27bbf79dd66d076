"""seance-ctl install, uninstall and hooks status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seance_tools import __version__

Run = Callable[..., Any]


@pytest.fixture
def ctl(environ: dict[str, str], script_runner: Any) -> Run:
    environ["PATH"] = environ["PATH"].partition(":")[0] + ":/usr/bin:/bin"

    def run(*argv: str) -> Any:
        return script_runner.run(["seance-ctl", *argv], env=environ)

    return run


def test_install_takes_the_agents_that_are_there(ctl: Run, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    path = tmp_path / ".claude" / "settings.json"
    shown = ctl("install", "--dry-run")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith(f"--- /dev/null\n+++ {path}\n")
    assert not path.exists()
    done = ctl("install")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"Claude Code: made {path}\n", "")
    assert ctl("install").stdout == "Claude Code: nothing to do\n"
    [row] = json.loads(ctl("hooks", "status", "claude", "--json").stdout)
    assert (row["agent"], row["there"], row["state"], row["problems"]) == ("claude", True, "installed", [])
    assert ctl("hooks", "status").stdout == f"claude\t\tinstalled {__version__}\t{path}\n"
    assert ctl("uninstall").stdout == f"Claude Code: removed {path}\n"
    assert not path.exists()


def test_one_refused_file_does_not_keep_the_others(ctl: Run, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    path = tmp_path / ".claude" / "settings.json"
    path.write_text('{"a": 1,}')
    done = ctl("install", "claude", "pi")
    assert done.returncode == 1
    assert done.stderr == f"seance-ctl: Claude Code: {path}: line 1: a comma with nothing after it\n"
    assert "Pi: made" in done.stdout
    assert path.read_text() == '{"a": 1,}'


def test_what_keeps_new_hooks_from_reporting_is_said_at_once(ctl: Run) -> None:
    done = ctl("install", "vibe")
    assert done.returncode == 0
    assert "enable_experimental_hooks = true" in done.stderr


def test_all_and_none(ctl: Run, tmp_path: Path) -> None:
    none = ctl("install")
    assert none.returncode == 1
    assert none.stderr == "seance-ctl: no agent with hooks is on this machine; name one, or --all\n"
    assert ctl("install", "--all").stdout.count(": made ") == 18
    assert ctl("uninstall").stdout.count(": removed ") == 18
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_all_is_without_names(ctl: Run, tmp_path: Path) -> None:
    assert ctl("install", "pi").returncode == 0
    done = ctl("uninstall", "--all")
    assert (done.returncode, done.stdout) == (
        0,
        f"Pi: removed {tmp_path}/.pi/agent/extensions/seance-tools.ts\n",
    )
    for command in ("install", "uninstall"):
        both = ctl(command, "--all", "pi")
        assert both.returncode == 2
        assert "name agents or --all, not both" in both.stderr


def test_a_dry_run_ends_as_the_real_one_would(ctl: Run, tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o400)
    for more in ((), ("--dry-run",)):
        done = ctl("install", "claude", *more)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"seance-ctl: Claude Code: {path}: is read-only\n"
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]


def test_a_backup_alone_is_removed_and_told(ctl: Run, tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text("{}")
    backup = path.with_name("settings.json.seance-backup")
    backup.write_text("{}")
    assert ctl("uninstall", "--dry-run").stdout == f"# removed {backup}\n"
    assert backup.exists()
    assert ctl("uninstall").stdout == f"Claude Code: removed {backup}\n"
    assert not backup.exists()
    assert ctl("uninstall").stdout == ""


@pytest.mark.parametrize(
    ("agent", "reason"),
    [("claud", "no agent claud (did you mean claude?)"), ("codebuff", "Codebuff has no hooks")],
)
def test_unknown_agents_are_told(ctl: Run, agent: str, reason: str) -> None:
    done = ctl("install", agent)
    assert done.returncode == 2
    assert reason in done.stderr


@pytest.mark.usefixtures("broker")
def test_doctor_tells_of_hooks_in_a_line_each(ctl: Run, tmp_path: Path) -> None:
    (tmp_path / ".gemini").mkdir()
    ctl("install", "codex")
    lines = ctl("doctor").stdout.splitlines()
    assert "ok      hooks: Gemini CLI has none; seance-ctl install gemini" in lines
    trust = "10 of 10 hooks are not trusted yet: approve them in Codex with /hooks"
    assert f"warning hooks: Codex: {trust}" in lines
