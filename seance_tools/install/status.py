"""How the hooks of an agent are: installed or not, of this version, and what keeps them from reporting."""

from __future__ import annotations

import glob
import json
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from seance_tools import __version__
from seance_tools.agents import Agent
from seance_tools.install import entries, files, jsontext, plan
from seance_tools.install.plan import Refused

PROGRAM = "seance-hook"
# Below an agent's directory, what else it loads: ours there too would report everything twice. Claude Code
# counts identical commands once, and of Vibe's hooks of one name one counts.
_LOADED = {
    **dict.fromkeys(("opencode", "kilo", "mimo"), ("plugin/*.[jt]s", "plugins/*.[jt]s")),
    "pi": ("extensions/*.[jt]s", "extensions/*/index.[jt]s"),
    "amp": ("plugins/*.ts",),
    "copilot": ("hooks/*.json",),
    "hermes": ("plugins/*/__init__.py",),
    "goose": ("../../.agents/plugins/*/hooks/hooks.json",),
    "codex": ("config.toml",),
}


class Status(NamedTuple):
    """An agent's hooks. there: the agent is installed. state: installed, outdated, missing or conflict.

    version: of what is installed, "" where nothing is or it does not tell.
    problems: what keeps them from reporting, each with how to mend it.
    """

    agent: str
    name: str
    there: bool
    state: str
    version: str
    path: str
    problems: tuple[str, ...]


def look(agent: Agent, environ: Mapping[str, str]) -> Status:
    """Return how the hooks of an agent are. Raises Refused where our own files are gone."""
    path = plan.target(agent, environ)
    there = plan.is_there(agent, environ)
    pieces = list(plan.pieces(agent, environ))
    try:
        changes = plan.changes(agent, environ, install=True)
        found = [text for piece, source in pieces if (text := _present(agent, piece, source)) is not None]
    except Refused as error:
        return Status(agent.key, agent.name, there, "conflict", "", path, (str(error),))
    if not found:
        return Status(agent.key, agent.name, there, "missing", "", path, ())
    problems: list[str] = []
    version = __version__
    if changes:
        version = next((told for text in found if (told := plan.version(text))), "")
        problems.append(f"{_drift(agent, pieces, found)}; mend it: seance-ctl install {agent.key}")
    used = any(f"exec {PROGRAM}" in text for _, text in pieces)
    if used and not shutil.which(PROGRAM, path=environ.get("PATH")):
        problems.append(f"{PROGRAM} is not on PATH: its hooks do nothing; put its directory there")
    problems += _doubles(agent, plan.directory(agent, environ), pieces)
    problems += _hindrances(agent, environ, path)
    state = "outdated" if changes else "installed"
    return Status(agent.key, agent.name, there, state, version, path, tuple(problems))


def _present(agent: Agent, path: str, source: str) -> str | None:
    """Return a file's text if it has anything of ours, of whatever version, else None."""
    try:
        text = files.read(path)
        if text is None or plan.is_own(agent):
            return text  # plan.changes has made sure that it is ours
        return text if plan.has_ours(agent, text, source) else None
    except (ValueError, OSError) as error:
        raise Refused(f"{path}: {error}") from None


def _drift(agent: Agent, pieces: list[tuple[str, str]], found: list[str]) -> str:
    """Return how what is installed differs from this version."""
    if agent.install[0] == "json":
        wanted = json.loads(pieces[0][1])[entries.HOOKS]
        mine = entries.ours(jsontext.scan(found[0]).value)
        events = ", ".join(event for event in {**wanted, **mine} if mine.get(event) != wanted.get(event))
        return f"edited, or not of version {__version__}: {events or 'what is beside the hooks'}"
    if not plan.is_own(agent):
        return f"edited, or not of version {__version__}"
    if len(found) < len(pieces):
        return "some of its files are missing"
    other = next((told for text in found if (told := plan.version(text)) not in (None, __version__)), None)
    return f"of version {other}, this is {__version__}" if other else "edited by hand"


def _doubles(agent: Agent, directory: str, pieces: list[tuple[str, str]]) -> Iterator[str]:
    """Tell of other files with hooks of ours that the agent loads as well."""
    known = {os.path.realpath(path) for path, _ in pieces}
    for pattern in _LOADED.get(agent.key, ()):
        for path in sorted(glob.glob(os.path.normpath(os.path.join(glob.escape(directory), pattern)))):
            if os.path.realpath(path) not in known and _reports(path):
                yield f"{path} reports too, so that all is told twice: take ours out of it by hand"


def _reports(path: str) -> bool:
    """Return whether a file is a plugin of ours or has hooks of ours."""
    try:
        text = files.read(path) or ""
    except (ValueError, OSError):
        return False  # then the agent cannot read it either
    parse = tomllib.loads if path.endswith(".toml") else _json
    return plan.version(text) is not None or bool(entries.ours(_read(path, parse)))


def _hindrances(agent: Agent, environ: Mapping[str, str], path: str) -> Iterator[str]:
    look_at = _HINDRANCES.get(agent.key)
    if look_at:
        yield from look_at(plan.directory(agent, environ), path)
    for variable in _OVERRIDES.get(agent.key, ()):
        if environ.get(variable):
            yield f"{variable} is set and counts instead: unset it"


def _read(path: str, parse: Callable[[str], Any]) -> dict[str, Any]:
    """Return what a file of the agent's says, {} where it cannot be read: the agent tells of that itself."""
    try:
        value = parse(files.read(path) or "")
    except (ValueError, OSError):
        return {}
    return value if isinstance(value, dict) else {}


def _json(text: str) -> Any:
    return jsontext.scan(text).value


def _section(value: dict[str, Any], name: str) -> dict[str, Any]:
    section = value.get(name)
    return section if isinstance(section, dict) else {}


def _all_disabled(_directory: str, path: str) -> Iterator[str]:
    if _read(path, _json).get("disableAllHooks") is True:
        yield f"disableAllHooks in {path} turns all hooks off"


def _gemini(_directory: str, path: str) -> Iterator[str]:
    settings = _read(path, _json)
    if _section(settings, "hooksConfig").get("enabled") is False:
        yield f"hooksConfig.enabled in {path} turns all hooks off"
    yield from _all_disabled(_directory, path)


def _codex(directory: str, path: str) -> Iterator[str]:
    config = _read(os.path.join(directory, "config.toml"), tomllib.loads)
    features = _section(config, "features")
    if features.get("hooks", features.get("codex_hooks")) is False:
        yield "features.hooks = false in config.toml turns all hooks off"
    known = _section(_section(config, "hooks"), "state")
    trusted = {key for key, row in known.items() if isinstance(row, dict) and row.get("trusted_hash")}
    places = {f"{each}:{place}" for each in (path, os.path.realpath(path)) for place in _places(path)}
    count = len(places & trusted)
    wanted = len(_places(path))
    if count < wanted:
        yield f"{wanted - count} of {wanted} hooks are not trusted yet: approve them in Codex with /hooks"


def _places(path: str) -> list[str]:
    """Return how Codex names the places of our hooks in its file."""
    found = []
    for event, groups in _section(_read(path, _json), entries.HOOKS).items():
        name = "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            hooks = group.get(entries.HOOKS) if isinstance(group, dict) else None
            for index, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                if entries.is_ours(hook):
                    found.append(f"{name}:{number}:{index}")
    return found


def _vibe(directory: str, _path: str) -> Iterator[str]:
    config = _read(os.path.join(directory, "config.toml"), tomllib.loads)
    if config.get("enable_experimental_hooks") is not True:
        yield f"hooks are off: put enable_experimental_hooks = true into {directory}/config.toml"


def _hermes(directory: str, _path: str) -> Iterator[str]:
    try:
        config = files.read(os.path.join(directory, "config.yaml")) or ""
    except (ValueError, OSError):
        config = ""
    if plan.MARK not in config:
        yield f"not enabled: hermes plugins enable {plan.MARK}"


_OVERRIDES = {"aider": ("AIDER_NOTIFICATIONS", "AIDER_NOTIFICATIONS_COMMAND")}
_HINDRANCES: dict[str, Callable[[str, str], Iterator[str]]] = {
    "claude": _all_disabled,
    "qwen": _all_disabled,
    "gemini": _gemini,
    "codex": _codex,
    "vibe": _vibe,
    "hermes": _hermes,
}
