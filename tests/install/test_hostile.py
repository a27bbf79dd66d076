"""Files as nobody should have them: refused with the reason, or changed with nothing else touched."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seance_tools import __version__
from seance_tools.agents import BY_KEY
from seance_tools.install import plan
from seance_tools.install.plan import Refused
from tests.install.test_plan import everything, home, run, target
from tests.support import only_root

__all__ = ["home"]

NOBODY = 65534


def everything_done(
    agent: str, environ: dict[str, str], carry_out: Callable[[plan.Change], None], *, install: bool = True
) -> None:
    for change in plan.changes(BY_KEY[agent], environ, install=install):
        carry_out(change)


def refused(agent: str, environ: dict[str, str], *, install: bool = True) -> str:
    """The reason; a dry run gives the same one, and nothing is changed."""
    before = everything(environ)
    reasons = set()
    for carry_out in (plan.check, plan.carry_out):
        with pytest.raises(Refused) as caught:
            everything_done(agent, environ, carry_out, install=install)
        reasons.add(str(caught.value))
        assert everything(environ) == before
    [reason] = reasons
    return reason.partition(": ")[2]


@contextmanager
def somebody_else() -> Iterator[None]:
    """Be a user without rights for a while, where the tests run with all."""
    if os.geteuid():
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def open_home() -> Iterator[dict[str, str]]:
    """A home directory of nobody's."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        if not os.geteuid():
            os.chown(directory, NOBODY, NOBODY)
        yield {"HOME": directory, "PATH": ""}


@pytest.mark.parametrize(
    ("agent", "text", "reason"),
    [
        ("claude", '{"hooks": {"Stop": {"hooks": []}}}', 'line 1: "Stop" of "hooks" is not an array'),
        ("claude", '{"hooks": 1}', 'line 1: "hooks" is not an object'),
        ("claude", '[{"hooks": {}}]', "line 1: not an object"),
        ("claude", '"x"', "line 1: not an object"),
        ("claude", '{"a": 1} // x\n{}', "line 2: something after the end"),
        ("claude", '{"hooks": {"Stop": [],}}', "line 1: a comma with nothing after it"),
        ("antigravity", '{"statusLine": null}', 'line 1: "statusLine" has no command'),
        ("antigravity", '{"statusLine": "x"}', 'line 1: "statusLine" has no command'),
        ("antigravity", "[]", "line 1: not an object"),
        (
            "antigravity",
            '{"statusLine": {"command": "a"},\n"statusLine": {"command": "b"}}',
            'line 1: "statusLine" is there twice, and only the last counts; join the two',
        ),
        (
            "antigravity",
            '{"statusLine": {"command": "a \\\\"}}',
            "line 1: the command ends with a backslash, which would swallow what we put behind",
        ),
        ("aider", '"notifications": false\n', "line 1: notifications has a value of your own"),
        ("aider", "--notifications-command: x\n", "line 1: --notifications-command has a value of your own"),
        (
            "aider",
            "# x\nnotifications-command : x\n",
            "line 2: notifications-command has a value of your own",
        ),
        ("aider", "{model: x}\n", 'line 1: not one "name: value" a line; put ours in by hand'),
    ],
)
def test_the_reason_is_told(agent: str, text: str, reason: str, home: dict[str, str]) -> None:
    target(agent, home, text)
    assert refused(agent, home).startswith(reason)


@pytest.mark.parametrize("text", ["a: 1\n", "# notifications: off\n", "x:\n  notifications: false\n"])
def test_aiders_comments_and_other_names_are_no_clash(text: str, home: dict[str, str]) -> None:
    path = target("aider", home, text)
    run("aider", home, install=True)
    assert path.read_text().startswith(text)


@pytest.mark.parametrize(
    "text",
    [
        '{\r\n  "a": 1,\r\n  "hooks": {\r\n    "Stop": []\r\n  }\r\n}\r\n',
        '{"a": 1, "hooks": {"Stop": []}}',
        "\t",
    ],
)
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "copilot"])
def test_twice_gives_the_same_bytes(agent: str, text: str, home: dict[str, str]) -> None:
    path = target(agent, home, text)
    run(agent, home, install=True)
    once = path.read_bytes()
    assert b"\n" not in once.replace(b"\r\n", b"") or b"\r\n" not in once  # one kind of line ends
    assert not run(agent, home, install=True)
    assert path.read_bytes() == once


def test_comments_and_odd_layout_stay(home: dict[str, str]) -> None:
    text = '/* a */ {"hooks": /* b */ {"Stop": [ /* c */ ] // d\n, "X": [1]}, // e\n"z":{} /* f */} // g'
    path = target("claude", home, text)
    run("claude", home, install=True)
    assert [path.read_text().count(f"/* {c} */") for c in "abcf"] == [1] * 4
    assert [path.read_text().count(f"// {c}") for c in "deg"] == [1] * 3
    run("claude", home, install=False)
    assert path.read_text() == text


def test_hooks_of_ours_that_were_edited_are_put_right(home: dict[str, str]) -> None:
    path = target("claude", home)
    run("claude", home, install=True)
    made = path.read_bytes()
    value = json.loads(made)
    value["hooks"]["Stop"][0]["matcher"] = "x"
    value["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] = 9
    path.write_text(json.dumps(value))
    run("claude", home, install=True)
    assert json.loads(path.read_text()) == json.loads(made)


def test_a_megabyte_is_a_file_like_any_other(home: dict[str, str]) -> None:
    value = {"permissions": [f"Bash(npm run thing {i}:*)" for i in range(30_000)], "hooks": {"Stop": []}}
    text = json.dumps(value, indent=2)
    assert len(text) > 1_000_000
    path = target("claude", home, text)
    run("claude", home, install=True)
    value["hooks"] = json.loads(target("claude", home).read_text())["hooks"]
    assert json.loads(path.read_text()) == value
    run("claude", home, install=False)
    assert everything(home) == {str(path): text.encode()}


def test_more_than_anybody_writes_is_refused(home: dict[str, str]) -> None:
    target("claude", home, " " * (4 << 20) + "{}")
    assert refused("claude", home) == "larger than 4 MiB"


@pytest.mark.parametrize("kind", ["relative", "chain", "folder", "dangling"])
def test_links_stay_and_what_they_point_to_changes(kind: str, home: dict[str, str], tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    real = dotfiles / "settings.json"
    path = Path(plan.target(BY_KEY["claude"], home))
    if kind != "dangling":
        real.write_text('{"a": 1}')
    if kind == "folder":
        path.parent.symlink_to("dotfiles")
        links = [path.parent]
    else:
        path.parent.mkdir()
        links = [path]
        path.symlink_to("../dotfiles/settings.json" if kind == "relative" else tmp_path / "one")
        if kind != "relative":
            (tmp_path / "one").symlink_to("dotfiles/two")
            (dotfiles / "two").symlink_to("settings.json")
            links += [tmp_path / "one", dotfiles / "two"]
    where = [os.readlink(link) for link in links]
    run("claude", home, install=True)
    assert "seance-hook" in real.read_text()
    assert not run("claude", home, install=True)
    run("claude", home, install=False)
    assert [os.readlink(link) for link in links] == where
    if kind == "dangling":
        assert not real.exists()
        assert dotfiles.is_dir()  # not the agent's, whoever made it
    else:
        assert real.read_text() == '{"a": 1}'
    assert not list(tmp_path.rglob("*.seance-*"))


def test_a_link_in_a_circle_is_refused(home: dict[str, str]) -> None:
    path = target("claude", home)
    path.symlink_to(path.name)
    assert refused("claude", home) == "Too many levels of symbolic links"


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o555])
def test_a_read_only_file_is_refused_in_a_dry_run_too(mode: int, home: dict[str, str]) -> None:
    path = target("claude", home, "{}")
    path.chmod(mode)
    assert refused("claude", home) == "is read-only"


def test_a_folder_that_is_a_file_is_refused(home: dict[str, str]) -> None:
    (Path(home["HOME"]) / ".claude").write_text("")
    assert refused("claude", home) == "Not a directory"


def test_a_folder_that_cannot_be_written_is_refused(open_home: dict[str, str]) -> None:
    with somebody_else():
        path = target("claude", open_home, "{}")
        path.parent.chmod(0o555)
        assert refused("claude", open_home) == f"nothing can be written into {path.parent}"
        assert refused("amp", {**open_home, "XDG_CONFIG_HOME": str(path.parent)}) == (
            f"nothing can be written into {path.parent}"
        )
        path.parent.chmod(0o755)


@pytest.mark.parametrize(
    ("mode", "reason"), [(0o400, "Permission denied"), (0o644, "belongs to another user or group")]
)
def test_a_file_of_roots_is_refused(mode: int, reason: str, open_home: dict[str, str]) -> None:
    only_root()
    with somebody_else():
        path = target("claude", open_home)
    path.write_text("{}")
    path.chmod(mode)
    with somebody_else(), pytest.raises(Refused) as caught:
        everything_done("claude", open_home, plan.check)
    assert str(caught.value) == f"{path}: {reason}"
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]


def test_owner_and_mode_stay_for_file_and_backup(open_home: dict[str, str]) -> None:
    only_root()
    path = target("claude", open_home, "{}")
    os.chown(path, NOBODY, NOBODY)
    path.chmod(0o600)
    run("claude", open_home, install=True)
    for each in (path, Path(f"{path}.seance-backup")):
        status = each.stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (NOBODY, NOBODY, 0o600)


@pytest.mark.parametrize("agent", ["opencode", "pi", "amp"])
def test_a_plugin_of_somebody_elses_is_left_alone(agent: str, home: dict[str, str]) -> None:
    text = "// A plugin of mine, like that of seance-tools 0.1.0: it tells all\nexport default 1;\n"
    path = target(agent, home, text)
    assert refused(agent, home) == "is there already and is not ours; move it away"
    assert not run(agent, home, install=False)
    assert everything(home) == {str(path): text.encode()}


@pytest.mark.parametrize("agent", ["opencode", "kilo", "mimo", "pi", "amp"])
def test_a_plugin_of_ours_is_known_by_its_first_line(agent: str, home: dict[str, str]) -> None:
    path = target(agent, home)
    run(agent, home, install=True)
    text = path.read_text()
    first, _, rest = text.partition("\n")
    older = first.replace(__version__, "0.0.9")
    assert older != first
    path.write_text(f"{older}\r\n// edited\r\n")
    run(agent, home, install=True)
    assert path.read_text() == text
    path.write_text(f"{older}\n{rest}")
    run(agent, home, install=False)
    assert everything(home) == {}


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("plugin.json", '{"name": "seance-tools", "description": "of mine"}'),
        ("plugin.json", "[]"),
        ("plugin.json", "{"),
        ("hooks/hooks.json", '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}'),
        ("hooks/hooks.json", "{}"),
        ("hooks/hooks.json", "[1]"),
    ],
)
def test_gooses_files_of_somebody_else_are_left_alone(file: str, text: str, home: dict[str, str]) -> None:
    path = Path(plan.target(BY_KEY["goose"], home)) / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert refused("goose", home) == "is there already and is not ours; move it away"
    assert not run("goose", home, install=False)
    assert everything(home) == {str(path): text.encode()}


def test_gooses_files_of_another_version_are_ours(home: dict[str, str]) -> None:
    run("goose", home, install=True)
    made = everything(home)
    folder = Path(plan.target(BY_KEY["goose"], home))
    for file, old, new in (("plugin.json", '"1.0.0"', '"0.9"'), ("hooks/hooks.json", ": 5", ": 7")):
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))
    assert len(run("goose", home, install=True)) == 2
    assert everything(home) == made


def test_copilots_file_keeps_what_the_user_put_into_it(home: dict[str, str]) -> None:
    path = target("copilot", home)
    run("copilot", home, install=True)
    value = json.loads(path.read_text())
    value["hooks"]["agentStop"].append({"type": "command", "bash": "say done"})
    path.write_text(json.dumps(value))
    assert not run("copilot", home, install=True)
    run("copilot", home, install=False)
    assert json.loads(path.read_text()) == {
        "version": 1,
        "hooks": {"agentStop": [{"type": "command", "bash": "say done"}]},
    }


def test_lines_of_the_users_between_our_marks_are_not_thrown_away(home: dict[str, str]) -> None:
    path = target("vibe", home)
    run("vibe", home, install=True)
    path.write_text(path.read_text().replace("timeout = 5\n", 'timeout = 5\nmatch = "bash"\n', 1))
    for install in (True, False):
        reason = refused("vibe", home, install=install)
        assert reason == "line 7: is not ours but between our marks; move it out of them"
