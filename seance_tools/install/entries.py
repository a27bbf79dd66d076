"""Our entries among the hooks of a JSON file: put in, found again by their command, taken out. Pure."""

from __future__ import annotations

import re
from typing import Any

from seance_tools.install import jsontext
from seance_tools.install.jsontext import Node

# The whole line and no more: a command of the user's that calls seance-hook among other things is his.
_OURS = re.compile(r"(! command -v seance-hook >/dev/null 2>&1 \|\| )?exec seance-hook [a-z]+ [\w.-]+")
HOOKS = "hooks"


def is_ours(entry: Any) -> bool:
    """Return whether an entry is ours: by its command, or because all the hooks in it are."""
    if not isinstance(entry, dict):
        return False
    command = entry.get("command")
    if isinstance(command, str) and _OURS.fullmatch(command):
        return True
    inner = entry.get(HOOKS)
    return isinstance(inner, list) and bool(inner) and all(map(is_ours, inner))


def add(text: str, template: dict[str, Any], *, comments: bool) -> str:
    """Return `text` with the template's hooks; those of ours that are not as in the template are replaced.

    Raises ValueError, with the line, where the text is not what the agent could read.
    """
    before = _checked(text, comments=comments).value
    wanted: dict[str, list[Any]] = template[HOOKS]
    stale = {event for event, mine in ours(before).items() if mine != wanted.get(event)}
    result = _without(text, stale)
    for key, value in template.items():
        root = jsontext.scan(result)
        member = root.find(key)
        if member is None:
            result = jsontext.insert(result, root, value, key)
        elif key == HOOKS:
            result = _completed(result, wanted)
    _check_others(before, jsontext.scan(result).value, {key for key in template if key not in before})
    return result


def _completed(text: str, wanted: dict[str, list[Any]]) -> str:
    present = ours(jsontext.scan(text).value)
    for event, entries in wanted.items():
        if event in present:
            continue
        hooks = jsontext.scan(text).find(HOOKS)
        assert hooks
        member = hooks.node.find(event)
        if member is None:
            text = jsontext.insert(text, hooks.node, entries, event)
            continue
        for entry in entries:
            hooks = jsontext.scan(text).find(HOOKS)
            assert hooks
            member = hooks.node.find(event)
            assert member
            text = jsontext.insert(text, member.node, entry)
    return text


def take_out(text: str, *, comments: bool) -> str:
    """Return `text` without our hooks, and without the arrays and objects that held nothing else.

    Raises ValueError as `add` does.
    """
    before = _checked(text, comments=comments).value
    result = _without(text, set(ours(before)))
    _check_others(before, jsontext.scan(result).value, set())
    return result


def _without(text: str, events: set[str]) -> str:
    """Return `text` without our hooks for these events."""
    while True:
        root = jsontext.scan(text)
        place = _first_of_ours(root, events)
        if place is None:
            return text
        text = jsontext.remove(text, *place)


def _first_of_ours(root: Node, events: set[str]) -> tuple[Node, int] | None:
    """Return the container and the index of what has to go first."""
    for place, member in enumerate(root.items):
        if member.key != HOOKS or member is not root.find(HOOKS):
            continue
        for index, event in enumerate(member.node.items):
            if event.key not in events:
                continue
            found = _in_event(event.node)
            if found is None:
                continue
            if len(found[0].items) > 1 or found[0] is not event.node:
                return found
            return (root, place) if len(member.node.items) == 1 else (member.node, index)
    return None


def _in_event(array: Node) -> tuple[Node, int] | None:
    for index, entry in enumerate(array.items):
        if is_ours(entry.node.value):
            return array, index
        inner = entry.node.find(HOOKS)
        for place, hook in enumerate(inner.node.items if inner else ()):
            if inner and is_ours(hook.node.value):
                return inner.node, place
    return None


def ours(value: Any) -> dict[str, list[Any]]:
    """Return our entries in a file's value, by event; of mixed ones only our part."""
    hooks = value.get(HOOKS) if isinstance(value, dict) else None
    found: dict[str, list[Any]] = {}
    for event, entries in hooks.items() if isinstance(hooks, dict) else ():
        for entry in entries if isinstance(entries, list) else ():
            mine, _ = _parted(entry)
            if mine is not None:
                found.setdefault(event, []).append(mine)
    return found


def _parted(entry: Any) -> tuple[Any, Any]:
    """Return what of an entry is ours and what is not, None for nothing."""
    if is_ours(entry):
        return entry, None
    inner = entry.get(HOOKS) if isinstance(entry, dict) else None
    if not isinstance(inner, list) or not any(map(is_ours, inner)):
        return None, entry
    mine = [hook for hook in inner if is_ours(hook)]
    return {**entry, HOOKS: mine}, {**entry, HOOKS: [hook for hook in inner if not is_ours(hook)]}


def _checked(text: str, *, comments: bool) -> Node:
    """Return the scanned text. Raises ValueError where hooks cannot be put into it."""
    root = jsontext.scan(text, comments=comments)
    if not isinstance(root.value, dict):
        raise ValueError("line 1: not an object")  # noqa: TRY004 - the file is at fault
    hooks = root.find(HOOKS)
    if hooks is None:
        return root
    if not isinstance(hooks.node.value, dict):
        raise ValueError(f'line {jsontext.line_of(text, hooks.start)}: "hooks" is not an object')  # noqa: TRY004
    for event in hooks.node.items:
        if isinstance(event.node.value, dict | str) and event.key:
            line = jsontext.line_of(text, event.start)
            raise ValueError(f'line {line}: "{event.key}" of "hooks" is not an array')
    return root


def _check_others(before: Any, after: Any, new: set[str]) -> None:
    """Make sure that nothing but our own entries differs. Raises ValueError."""
    rest = {key: value for key, value in after.items() if key == HOOKS or key not in new}
    if _others(before) != _others(rest):
        raise ValueError("could not be changed without touching other entries")


def _others(value: dict[str, Any]) -> dict[str, Any]:
    """Return a file's value without our entries and what is empty without them."""
    found = dict(value)
    hooks = found.pop(HOOKS, None)
    kept = {}
    for event, entries in (hooks or {}).items():
        rest = [_parted(entry)[1] for entry in entries] if isinstance(entries, list) else entries
        rest = [entry for entry in rest if entry is not None] if isinstance(entries, list) else rest
        if rest or not isinstance(entries, list):
            kept[event] = rest
    return {**found, HOOKS: kept} if kept else found
