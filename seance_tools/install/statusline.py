"""Our place in a status line, which an agent has only one of: the user's own goes on behind it. Pure.

The user's command is not read and written anew: text is put before and behind it, within its quotes.
"""

from __future__ import annotations

import json
from typing import Any

from seance_tools.install import jsontext

KEY = "statusLine"


def _around(command: str) -> tuple[str, str]:
    """Return what comes before and behind the user's command, as it is written in JSON."""
    # The : because the user's may be empty, or a comment
    before = f"p=$(cat); printf '%s' \"$p\" | {{ {command}; }}; printf '%s' \"$p\" | {{ :; "
    return json.dumps(before)[1:-1], json.dumps("\n}")[1:-1]


def _command(text: str, root: jsontext.Node) -> jsontext.Node | None:
    """Return the status line's command. Raises ValueError where it is none."""
    if not isinstance(root.value, dict):
        raise ValueError("line 1: not an object")  # noqa: TRY004 - the file is at fault
    jsontext.once(text, root, (KEY,))
    line = root.find(KEY)
    if line is None:
        return None
    jsontext.once(text, line.node, ("command",))
    command = line.node.find("command")
    if command is None or not isinstance(command.node.value, str):
        raise ValueError(f'line {jsontext.line_of(text, line.start)}: "{KEY}" has no command')
    return command.node


def state(text: str, template: dict[str, Any], *, comments: bool) -> str:
    """Return "ours", "chained" (ours and then the user's), "theirs" or "" for none. Raises ValueError."""
    root = jsontext.scan(text, comments=comments)
    command = _command(text, root)
    if command is None:
        return ""
    own = template[KEY]["command"]
    if command.value == own:
        return "ours"
    before, behind = _around(own)
    written = text[command.start + 1 : command.end - 1]
    if written.startswith(before) and written.endswith(behind):
        return "chained"
    if own in command.value:
        line = jsontext.line_of(text, command.start)
        raise ValueError(f"line {line}: our command was edited; take it out by hand")
    return "theirs"


def add(text: str, template: dict[str, Any], *, comments: bool) -> str:
    """Return `text` with our command as status line, or before the user's. Raises ValueError."""
    found = state(text, template, comments=comments)
    root = jsontext.scan(text)
    if not found:
        return jsontext.insert(text, root, template[KEY], KEY)
    command = _command(text, root)
    if found != "theirs" or command is None:
        return text
    own = command.value
    if (len(own) - len(own.rstrip("\\"))) % 2:
        line = jsontext.line_of(text, command.start)
        raise ValueError(
            f"line {line}: the command ends with a backslash, which would swallow what we put behind"
        )
    before, behind = _around(template[KEY]["command"])
    start, end = command.start + 1, command.end - 1
    return text[:start] + before + text[start:end] + behind + text[end:]


def take_out(text: str, template: dict[str, Any], *, comments: bool) -> str:
    """Return `text` without our command; the user's stays as it was written. Raises ValueError."""
    found = state(text, template, comments=comments)
    root = jsontext.scan(text)
    command = _command(text, root)
    if found == "ours":
        index = next(i for i, item in enumerate(root.items) if item is root.find(KEY))
        return jsontext.remove(text, root, index)
    if found != "chained" or command is None:
        return text
    before, behind = _around(template[KEY]["command"])
    start, end = command.start + 1, command.end - 1
    return text[:start] + text[start + len(before) : end - len(behind)] + text[end:]
