"""What installing or removing an agent's hooks changes: files read, their new text made; nothing written.

Ways: json, our entries among the hooks of a file; statusline, our command in a file's only status line;
block, lines of ours at the end of a file; file and folder, files that are ours alone.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from seance_tools import names
from seance_tools.agents import Agent
from seance_tools.install import block, entries, files, jsontext, statusline

MARK = "seance-tools"  # in every file that is ours alone
# These read plain JSON and nothing else; the others' readers allow comments
_STRICT = frozenset({"codex", "cursor"})
# Top-level lines of the user's own that ours would contradict
_CLASHES = {"aider": ("notifications:", "notifications-command:")}


class Refused(Exception):
    """A file is not changed; the text says which and why."""


class Change(NamedTuple):
    """A file, what it holds and what it shall hold; None for no file. keep: a backup is made first."""

    path: str
    before: str | None
    after: str | None
    keep: bool


def sources() -> str:
    """Return the directory of the files that agents load: in a checkout, or where they are installed."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    place = os.path.dirname(package)
    candidates = [os.path.join(place, "hooks")]
    while place != os.path.dirname(place):
        candidates.append(os.path.join(place, "share", "seance-tools", "hooks"))
        place = os.path.dirname(place)
    found = next((path for path in candidates if os.path.exists(os.path.join(path, "claude.json"))), "")
    if not found:
        raise Refused("the files for the agents are gone; install Séance Tools again")
    return found


def directory(agent: Agent, environ: Mapping[str, str]) -> str:
    """Return the directory of an agent's configuration."""
    moved, _, usual = agent.install[1].partition("|")
    variable, _, below = moved.partition("/")
    base = environ.get(variable, "") if variable else ""
    home = names.home(environ)
    return os.path.join(os.path.expanduser(base), below) if base else os.path.join(home, usual)


def target(agent: Agent, environ: Mapping[str, str]) -> str:
    """Return the path of the file or folder that an agent's hooks are in."""
    return os.path.normpath(os.path.join(directory(agent, environ), agent.install[2]))


def is_there(agent: Agent, environ: Mapping[str, str]) -> bool:
    """Return whether an agent is installed: its program is on PATH, or it has a configuration."""
    found = any(shutil.which(binary, path=environ.get("PATH")) for binary in agent.binaries)
    return found or os.path.isdir(directory(agent, environ))


def pieces(agent: Agent, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of each file that an agent loads or whose text is put into one of its files."""
    place = target(agent, environ)
    name = agent.install[3] if len(agent.install) > 3 else agent.key
    root = sources()
    source = next((os.path.join(root, each) for each in sorted(os.listdir(root)) if _is(each, name)), "")
    if not source:
        raise Refused(f"hooks/{name} is gone; install Séance Tools again")
    if not os.path.isdir(source):
        text = files.read(source) or ""
        if name != agent.key and name == "opencode.js":
            text = text.replace("opencode", agent.key).replace("OpenCode", agent.name)
        yield place, text
        return
    for folder, below, found in os.walk(source):
        below[:] = sorted(each for each in below if each != "__pycache__")
        for each in sorted(found):
            path = os.path.join(folder, each)
            yield os.path.join(place, os.path.relpath(path, source)), files.read(path) or ""


def _is(file: str, name: str) -> bool:
    return file == name or os.path.splitext(file)[0] == name


def changes(agent: Agent, environ: Mapping[str, str], *, install: bool) -> list[Change]:
    """Return the changes that install an agent's hooks or remove them, none where all is as it shall be.

    Raises Refused with the file and the reason, its line where there is one.
    """
    way = agent.install[0]
    make = _own if way in ("file", "folder") else _shared
    found = []
    for path, text in pieces(agent, environ):
        try:
            change = make(agent, path, text, install=install)
        except (ValueError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise Refused(f"{path}: {reason}") from None
        if change.before != change.after:
            found.append(change)
    return found


def _own(_agent: Agent, path: str, text: str, *, install: bool) -> Change:
    before = files.read(path)
    if before is not None and before != text and MARK not in before:
        if install:
            raise ValueError("is there already and is not ours; move it away")
        return Change(path, before, before, keep=False)
    return Change(path, before, text if install else None, keep=False)


def _shared(agent: Agent, path: str, text: str, *, install: bool) -> Change:
    before = files.read(path)
    add, take_out = _WAYS[agent.install[0]]
    if install:
        return Change(path, before, add(agent, before or "", text), keep=True)
    if before is None:
        return Change(path, None, None, keep=False)
    original = files.backup_of(path)
    if original is not None and add(agent, original, text) == before:
        return Change(path, before, original, keep=False)
    after: str | None = take_out(agent, before, text)
    # What is left of a file that we made is nothing
    if original is None and after != before and _is_blank(agent, after or "", text):
        after = None
    return Change(path, before, after, keep=False)


def _is_blank(agent: Agent, text: str, source: str) -> bool:
    if agent.install[0] == "block" or not text.strip():
        return not text.strip()
    value, template = jsontext.scan(text).value, json.loads(source)
    return all(template.get(key) == item for key, item in value.items())


def _filled(text: str) -> str:
    """Return a JSON file's text; an empty one is an empty object."""
    return text if text.strip(jsontext.BOM + " \t\r\n") else text.rstrip(" \t\r\n") + "{}\n"


def _comments(agent: Agent) -> bool:
    return agent.key not in _STRICT


def _add_entries(agent: Agent, text: str, source: str) -> str:
    return entries.add(_filled(text), json.loads(source), comments=_comments(agent))


def _take_out_entries(agent: Agent, text: str, _source: str) -> str:
    return entries.take_out(text, comments=_comments(agent)) if text.strip() else text


def _add_statusline(agent: Agent, text: str, source: str) -> str:
    return statusline.add(_filled(text), json.loads(source), comments=_comments(agent))


def _take_out_statusline(agent: Agent, text: str, source: str) -> str:
    return statusline.take_out(text, json.loads(source), comments=_comments(agent)) if text.strip() else text


def _add_block(agent: Agent, text: str, source: str) -> str:
    rest = block.take_out(text)
    for number, line in enumerate(rest.splitlines(), 1):
        if line.startswith(_CLASHES.get(agent.key, ())):
            name = line.partition(":")[0]
            raise ValueError(f"line {number}: {name} has a value of your own, and there can be only one")
    if agent.install[2].endswith(".toml"):
        _check_toml(rest, "{}")
        _check_toml(
            block.add(text, source), '"hooks" is written otherwise than as [[hooks]]: ours do not fit in'
        )
    return block.add(text, source)


def _check_toml(text: str, problem: str) -> None:
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(problem.format(error)) from None


def _take_out_block(_agent: Agent, text: str, _source: str) -> str:
    return block.take_out(text)


_Edit = Callable[[Agent, str, str], str]
_WAYS: dict[str, tuple[_Edit, _Edit]] = {
    "json": (_add_entries, _take_out_entries),
    "statusline": (_add_statusline, _take_out_statusline),
    "block": (_add_block, _take_out_block),
}


def carry_out(change: Change) -> None:
    """Make a change. Raises Refused where it cannot be made; then nothing is changed."""
    path = change.path
    try:
        if change.keep and change.before is not None:
            files.back_up(path, change.before)
        files.replace(path, change.before, change.after)
        if change.after is None:
            _remove_folder_of(path)
        elif files.backup_of(path) == change.after:  # it is what it was, and the backup of no more use
            os.unlink(path + files.BACKUP)
    except (ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise Refused(f"{path}: {reason}") from None


def _remove_folder_of(path: str) -> None:
    """Remove a plugin's own folders once they are empty."""
    folder = os.path.dirname(path)
    for _ in range(2):
        ours = MARK in (os.path.basename(folder), os.path.basename(os.path.dirname(folder)))
        if not ours or any(each != "__pycache__" for each in os.listdir(folder)):
            return
        shutil.rmtree(folder)
        folder = os.path.dirname(folder)
