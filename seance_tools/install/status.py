"""How the hooks of an agent are: installed or not, of this version, and what keeps them from reporting."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from seance_tools.agents import Agent
from seance_tools.install import block, entries, files, jsontext, plan, statusline
from seance_tools.install.plan import Refused

PROGRAM = "seance-hook"


class Status(NamedTuple):
    """An agent's hooks. there: the agent is installed. state: installed, outdated, missing or conflict.

    problems: what keeps them from reporting, each with how to mend it.
    """

    agent: str
    name: str
    there: bool
    state: str
    path: str
    problems: tuple[str, ...]


def look(agent: Agent, environ: Mapping[str, str]) -> Status:
    """Return how the hooks of an agent are. Raises Refused where our own files are gone."""
    path = plan.target(agent, environ)
    there = plan.is_there(agent, environ)
    pieces = list(plan.pieces(agent, environ))
    try:
        changes = plan.changes(agent, environ, install=True)
        present = any(_has_ours(agent, *piece) for piece in pieces)
    except Refused as error:
        return Status(agent.key, agent.name, there, "conflict", path, (str(error),))
    state = "installed" if not changes else "outdated" if present else "missing"
    problems: list[str] = []
    if present:
        if changes:
            problems.append(f"not as this version has it: seance-ctl install {agent.key}")
        used = any(f"exec {PROGRAM}" in text for _, text in pieces)
        if used and not shutil.which(PROGRAM, path=environ.get("PATH")):
            problems.append(f"{PROGRAM} is not on PATH: its hooks do nothing; put its directory there")
        problems += _hindrances(agent, environ, path)
    return Status(agent.key, agent.name, there, state, path, tuple(problems))


def _has_ours(agent: Agent, path: str, source: str) -> bool:
    """Return whether a file has anything of ours, of whatever version."""
    try:
        text = files.read(path)
        if text is None or not text.strip():
            return False
        way = agent.install[0]
        if way == "block":
            return block.content(text) is not None
        if way == "statusline":
            return statusline.state(text, json.loads(source), comments=True) in ("ours", "chained")
        return bool(entries.ours(jsontext.scan(text).value)) if way == "json" else plan.MARK in text
    except (ValueError, OSError) as error:
        raise Refused(f"{path}: {error}") from None


def _hindrances(agent: Agent, environ: Mapping[str, str], path: str) -> Iterator[str]:
    look_at = _HINDRANCES.get(agent.key)
    if look_at:
        yield from look_at(plan.directory(agent, environ), path)


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


_HINDRANCES: dict[str, Callable[[str, str], Iterator[str]]] = {
    "claude": _all_disabled,
    "qwen": _all_disabled,
    "gemini": _gemini,
    "codex": _codex,
    "vibe": _vibe,
    "hermes": _hermes,
}
