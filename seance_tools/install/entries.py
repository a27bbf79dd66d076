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
    command = entry.get("command", entry.get("bash"))  # Copilot names the shell
    if isinstance(command, str) and _OURS.fullmatch(command):
        return True
    inner = entry.get(HOOKS)
    return isinstance(inner, list) and bool(inner) and all(map(is_ours, inner))


def add(text: str, template: dict[str, Any], *, comments: bool) -> str:
    """Return `text` with the template's hooks; those of ours that are not as in the template are replaced.

    Raises ValueError, with the line, where the text is not what the agent could read.
    """
    before = _checked(text, template, comments=comments).value
    wanted: dict[str, list[Any]] = template[HOOKS]
    stale = {event for event, mine in ours(before).items() if mine != wanted.get(event)}
    kept = {event: rows for event, rows in before.get(HOOKS, {}).items() if event in wanted}
    result = _without(text, stale, kept)
    for key, value in template.items():
        root = jsontext.scan(result)
        member = root.find(key)
        if member is None:
            result = jsontext.insert(result, root, value, key)
        elif key == HOOKS:
            result = _completed(result, member.node.start, wanted)
    _check_others(before, jsontext.scan(result).value, {key for key in template if key not in before})
    return result


def _completed(text: str, start: int, wanted: dict[str, list[Any]]) -> str:
    """Return `text` with what is missing of ours; start: where its hooks are."""
    hooks = jsontext.part(text, start)
    present = ours({HOOKS: hooks.value})
    for event, entries in wanted.items():
        if event in present:
            continue
        if hooks.find(event) is None:
            text = jsontext.insert(text, hooks, entries, event)
        else:
            for entry in entries:
                array = jsontext.part(text, start).find(event)
                assert array
                text = jsontext.insert(text, array.node, entry)
        hooks = jsontext.part(text, start)
    return text


def take_out(text: str, template: dict[str, Any], original: dict[str, Any] | None, *, comments: bool) -> str:
    """Return `text` without our hooks, and without what was put in only to hold them.

    original: the file's value before us, None where nobody knows: then arrays and objects go that held
    nothing else. Raises ValueError as `add` does.
    """
    before = _checked(text, template, comments=comments).value
    result = _without(text, set(ours(before)), (original or {}).get(HOOKS))
    put_in = {key for key in template if key != HOOKS and original is not None and key not in original}
    if not jsontext.scan(result).value.get(HOOKS):  # what is left of hooks would need them
        for key in put_in:
            root = jsontext.scan(result)
            index = next((i for i, item in enumerate(root.items) if item.key == key), None)
            if index is not None and root.items[index].node.value == template[key]:
                result = jsontext.remove(result, root, index)
    after = {key: before[key] for key in put_in if key in before} | jsontext.scan(result).value
    _check_others(before, after, set())
    return result


def _without(text: str, events: set[str], kept: Any) -> str:
    """Return `text` without our hooks for these events.

    kept: the hooks that there were before us; what they name stays, even if it is empty now.
    """
    member = jsontext.scan(text).find(HOOKS) if events else None
    while member:
        hooks = jsontext.part(text, member.node.start)
        place = _first_of_ours(hooks, events, kept if isinstance(kept, dict) else {})
        if place is None:
            break
        if place[0] is hooks and len(hooks.items) == 1 and kept is None:
            root = jsontext.scan(text)
            return jsontext.remove(
                text, root, next(i for i, item in enumerate(root.items) if item.key == HOOKS)
            )
        text = jsontext.remove(text, *place)
    return text


def _first_of_ours(hooks: Node, events: set[str], kept: dict[str, Any]) -> tuple[Node, int] | None:
    """Return the container and the index of what has to go first."""
    for index, event in enumerate(hooks.items):
        found = _in_event(event.node) if event.key in events else None
        if found:
            emptied = found[0] is event.node and len(event.node.items) == 1
            return (hooks, index) if emptied and event.key not in kept else found
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


def _checked(text: str, template: dict[str, Any], *, comments: bool) -> Node:
    """Return the scanned text. Raises ValueError where hooks cannot be put into it."""
    root = jsontext.scan(text, comments=comments)
    if not isinstance(root.value, dict):
        raise ValueError("line 1: not an object")  # noqa: TRY004 - the file is at fault
    jsontext.once(text, root, (HOOKS,))
    hooks = root.find(HOOKS)
    if hooks is None:
        return root
    if not isinstance(hooks.node.value, dict):
        raise ValueError(f'line {jsontext.line_of(text, hooks.start)}: "hooks" is not an object')  # noqa: TRY004
    jsontext.once(text, hooks.node, tuple(hooks.node.value))
    for event in hooks.node.items:
        if event.key in template[HOOKS] and not isinstance(event.node.value, list):
            line = jsontext.line_of(text, event.start)
            raise ValueError(f'line {line}: "{event.key}" of "hooks" is not an array')
    return root


def _check_others(before: Any, after: Any, new: set[str]) -> None:
    """Make sure that nothing but our own entries differs. Raises ValueError."""
    rest = {key: value for key, value in after.items() if key == HOOKS or key not in new}
    if others(before) != others(rest):
        raise ValueError("could not be changed without touching other entries")


def others(value: dict[str, Any]) -> dict[str, Any]:
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
