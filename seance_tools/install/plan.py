"""What installing or removing an agent's hooks changes: files read, their new text made; nothing written.

Ways: json, our entries among the hooks of a file; statusline, our command in a file's only status line;
block, lines of ours at the end of a file; file and folder, files that are ours alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from seance_tools import __version__, names
from seance_tools.agents import Agent
from seance_tools.install import block, entries, files, jsontext, statusline, yamllines

MARK = "seance-tools"  # what our plugins are called, and the first line of their files begins with
_FIRST_LINE = re.compile(r"(?P<comment>//|#) seance-tools(?: (?P<version>\d[\w.+-]*))?: ")
# These read plain JSON and nothing else; the others' readers allow comments
_STRICT = frozenset({"codex", "cursor"})
# Names in a YAML file that ours would contradict; Aider's reader takes them with hyphens before them too
_CLASHES = frozenset({"notifications", "no-notifications", "notifications-command"})


class Refused(Exception):
    """A file is not changed; the text says which and why."""


class Change(NamedTuple):
    """A file, what it holds and what it shall hold; None for no file.

    backup: "make", what it holds is kept first; "drop", what is kept goes, as nothing of ours is left; or "".
    folders: those that go with the file, the innermost first, if nothing else is in them.
    """

    path: str
    before: str | None
    after: str | None
    backup: str = ""
    folders: tuple[str, ...] = ()


def sources() -> str:
    """Return the directory of the files that agents load. Raises Refused where it is gone."""
    found = files.shipped(os.path.join("hooks", "claude.json"))
    if not found:
        raise Refused("the files for the agents are gone; install Séance Tools again")
    return os.path.dirname(found)


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
        text = _marked(files.read(source) or "")
        if name != agent.key and name == "opencode.js":
            text = text.replace("opencode", agent.key).replace("OpenCode", agent.name)
        yield place, text
        return
    for folder, below, found in os.walk(source):
        below[:] = sorted(each for each in below if each != "__pycache__")
        for each in sorted(found):
            path = os.path.join(folder, each)
            yield os.path.join(place, os.path.relpath(path, source)), _marked(files.read(path) or "")


def _is(file: str, name: str) -> bool:
    return file == name or os.path.splitext(file)[0] == name


def _marked(text: str) -> str:
    """Return a plugin's text with our version in its first line."""
    return _FIRST_LINE.sub(rf"\g<comment> {MARK} {__version__}: ", text, count=1) if version(text) else text


def version(text: str) -> str | None:
    """Return the version that a plugin's first line tells, None where it is not one of ours."""
    found = _FIRST_LINE.match(text)
    return found and (found["version"] or __version__)


def changes(agent: Agent, environ: Mapping[str, str], *, install: bool) -> list[Change]:
    """Return the changes that install an agent's hooks or remove them, none where all is as it shall be.

    Raises Refused with the file and the reason, its line where there is one.
    """
    make = _own if is_own(agent) else _shared
    found = []
    for path, text in pieces(agent, environ):
        try:
            if install:
                _need_place(path)
            change = make(agent, path, text, install=install)
            kept = change.backup == "drop" and os.path.lexists(path + files.BACKUP)
        except (ValueError, OSError) as error:
            raise Refused(f"{path}: {files.reason(error)}") from None
        if change.before != change.after or kept:
            found.append(change._replace(folders=_folders(agent, environ, path)))
    return found


def _need_place(path: str) -> None:
    """Make sure that a file can be at a path. Raises ValueError where a link leads to no folder.

    We make folders of the agent's own alone: who has linked them elsewhere may not have that at hand.
    """
    place = path = os.path.abspath(path)
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    real = os.path.realpath(place)
    if not os.path.exists(place) and not (place == path and os.path.isdir(os.path.dirname(real))):
        raise ValueError(f"{'is' if place == path else place + ' is'} a link to {real}, which is not there")


def _folders(agent: Agent, environ: Mapping[str, str], path: str) -> tuple[str, ...]:
    """Return the folders of a file that are the agent's and not everybody's, the innermost first."""
    home = names.home(environ)
    stops = {os.path.normpath(each) for each in (home, os.path.join(home, ".config"))}
    if environ.get(agent.install[1].partition("|")[0].partition("/")[0]):
        stops.add(os.path.dirname(os.path.normpath(directory(agent, environ))))
    found = []
    folder = os.path.dirname(path)
    while folder not in (*stops, os.path.dirname(folder)):
        found.append(folder)
        folder = os.path.dirname(folder)
    return tuple(found)


def is_own(agent: Agent) -> bool:
    """Return whether the files that an agent loads are ours alone."""
    return agent.install[0] in ("file", "folder")


def is_ours(text: str, source: str) -> bool:
    """Return whether a file is what an installer of ours, of whatever version, has made of `source`."""
    if text == source or version(source):
        return text == source or version(text) is not None
    try:
        value, own = jsontext.scan(text).value, json.loads(source)
    except ValueError:
        return False
    if entries.HOOKS in own:
        return bool(entries.ours(value)) and not entries.others(value)
    return isinstance(value, dict) and {**value, "version": ""} == {**own, "version": ""}


def _own(_agent: Agent, path: str, text: str, *, install: bool) -> Change:
    before = files.read(path)
    if before is not None and not is_ours(before, text):
        if install:
            raise ValueError("is there already and is not ours; move it away")
        return Change(path, before, before)
    return Change(path, before, text if install else None)


def _shared(agent: Agent, path: str, text: str, *, install: bool) -> Change:
    before = files.read(path)
    present = before is not None and has_ours(agent, before, text)
    if install:
        backup = "drop" if before is None else "" if present else "make"
        return Change(path, before, _WAYS[agent.install[0]].add(agent, before or "", text), backup)
    if before is None or not present:
        return Change(path, before, before, "drop")
    original = files.backup_of(path)
    if original is not None and has_ours(agent, original, text):
        original = None  # not what it was before us
    return Change(path, before, _without(agent, before, text, original), "drop")


def _without(agent: Agent, before: str, source: str, original: str | None) -> str | None:
    """Return what is left of a file without us, None for nothing: the original where only we changed it."""
    take_out = _WAYS[agent.install[0]].take_out
    bare = take_out(agent, before, source, None)
    try:
        made = take_out(agent, with_ours(agent, original or "", source), source, None)
    except ValueError:  # the backup is none that we made
        return bare
    if bare == made:
        return original
    return bare if original is None else take_out(agent, before, source, original)


def with_ours(agent: Agent, text: str, source: str) -> str:
    """Return a file's text with our part as this version has it. Raises ValueError."""
    return _WAYS[agent.install[0]].add(agent, text, source)


def has_ours(agent: Agent, text: str, source: str) -> bool:
    """Return whether a file has anything of ours, of whatever version. Raises ValueError."""
    # A file that never had anything need not be one that could be read
    return "seance" in text and _WAYS[agent.install[0]].has(agent, text, source)


def _filled(text: str) -> str:
    """Return a JSON file's text; an empty one is an empty object."""
    return text if text.strip(jsontext.BOM + " \t\r\n") else text.rstrip(" \t\r\n") + "{}\n"


def _comments(agent: Agent) -> bool:
    return agent.key not in _STRICT


def _add_entries(agent: Agent, text: str, source: str) -> str:
    return entries.add(_filled(text), json.loads(source), comments=_comments(agent))


def _take_out_entries(agent: Agent, text: str, source: str, original: str | None) -> str:
    value = None if original is None else jsontext.scan(_filled(original)).value
    return entries.take_out(text, json.loads(source), value, comments=_comments(agent))


def _has_entries(agent: Agent, text: str, _source: str) -> bool:
    return bool(entries.ours(jsontext.scan(text, comments=_comments(agent)).value))


def _add_statusline(agent: Agent, text: str, source: str) -> str:
    return statusline.add(_filled(text), json.loads(source), comments=_comments(agent))


def _take_out_statusline(agent: Agent, text: str, source: str, _original: str | None) -> str:
    return statusline.take_out(text, json.loads(source), comments=_comments(agent))


def _has_statusline(agent: Agent, text: str, source: str) -> bool:
    return statusline.state(text, json.loads(source), comments=_comments(agent)) in ("ours", "chained")


def _add_block(agent: Agent, text: str, source: str) -> str:
    block.check(text, source)
    rest = block.take_out(text)
    if agent.install[2].endswith(".toml"):
        _check_toml(rest, "{}")
        problem = '"hooks" is written otherwise than as [[hooks]]: ours do not fit in'
        _check_toml(block.add(text, source), problem)
    else:
        for name, number in yamllines.keys(rest).items():
            if name.lstrip("-") in _CLASHES:
                raise ValueError(f"line {number}: {name} has a value of your own, and there can be only one")
    return block.add(text, source)


def _check_toml(text: str, problem: str) -> None:
    import tomllib

    if text.startswith(jsontext.BOM):
        raise ValueError("line 1: begins with a byte order mark, which TOML has not; take it out")
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(problem.format(error)) from None


def _take_out_block(_agent: Agent, text: str, source: str, _original: str | None) -> str:
    block.check(text, source)
    return block.take_out(text)


def _has_block(_agent: Agent, text: str, _source: str) -> bool:
    return block.content(text) is not None


class _Way(NamedTuple):
    """How our part of a file is put in, taken out (the last argument is the text before us) and found."""

    add: Callable[[Agent, str, str], str]
    take_out: Callable[[Agent, str, str, str | None], str]
    has: Callable[[Agent, str, str], bool]


_WAYS = {
    "json": _Way(_add_entries, _take_out_entries, _has_entries),
    "statusline": _Way(_add_statusline, _take_out_statusline, _has_statusline),
    "block": _Way(_add_block, _take_out_block, _has_block),
}


def check(change: Change) -> None:
    """Make sure that a change can be made. Raises Refused where it cannot."""
    try:
        if change.before != change.after:
            files.check(change.path, change.before)
    except (ValueError, OSError) as error:
        raise Refused(f"{change.path}: {files.reason(error)}") from None


def carry_out(change: Change) -> None:
    """Make a change. Raises Refused where it cannot be made; then nothing is changed."""
    check(change)
    path = change.path
    try:
        if change.before != change.after:
            _replace(change)
        if change.backup == "drop":
            files.drop_backup(path)
        if change.after is None:
            _remove_empty(change.folders)
    except (ValueError, OSError) as error:
        raise Refused(f"{path}: {files.reason(error)}") from None


def _replace(change: Change) -> None:
    if change.backup == "make" and change.before is not None:
        files.back_up(change.path, change.before)
    try:
        files.replace(change.path, change.before, change.after)
    except (ValueError, OSError):
        if change.backup == "make":
            files.drop_backup(change.path)
        raise


def _remove_empty(folders: tuple[str, ...]) -> None:
    """Remove folders in which nothing is, or only what Python left there."""
    for folder in folders:
        if not os.path.isdir(folder):
            continue
        cache = os.path.join(folder, "__pycache__")
        left = set(os.listdir(folder)) - ({"__pycache__"} if os.path.basename(folder) == MARK else set())
        if left or os.path.islink(folder):
            return
        if os.path.isdir(cache):
            shutil.rmtree(cache)
        os.rmdir(folder)
