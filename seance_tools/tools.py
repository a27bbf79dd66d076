"""What an agent's tool does, in a few words, whatever the agent calls it."""

from __future__ import annotations

import re
from typing import Any

from seance_tools.text import clean

_LENGTH = 80
_FILE = ("file_path", "path", "filePath", "absolute_path", "target_file", "filename", "notebook_path")
_COMMAND = ("command", "cmd", "script", "code")
_SOUGHT = ("pattern", "query", "regex", "search_term", "glob_pattern")
_ADDRESS = ("url", "prompt")
_TASK = ("description", "task", "title", "agent", "subagent_type", "prompt")
# Words of a tool's name, what it does, the members of its input that say to what. The first row that has
# one of the name's words counts.
_VERBS: tuple[tuple[frozenset[str], str, tuple[str, ...]], ...] = (
    (frozenset({"read", "view", "cat"}), "Reading", _FILE),
    (frozenset({"write", "create"}), "Writing", _FILE),
    (frozenset({"edit", "editor", "replace", "patch", "multiedit", "notebookedit"}), "Editing", _FILE),
    (frozenset({"bash", "shell", "terminal", "exec", "execute", "command"}), "Running", _COMMAND),
    (frozenset({"fetch", "webfetch", "browse"}), "Fetching", _ADDRESS),
    (frozenset({"glob", "grep", "search", "find", "ripgrep"}), "Search:", _SOUGHT),
    (frozenset({"ls", "list"}), "Listing", ("path", "directory", "dir_path")),
    (frozenset({"task", "agent", "subagent", "delegate", "spawn"}), "Delegating:", _TASK),
)
_FILES = frozenset({"Reading", "Writing", "Editing"})
_QUESTIONS = frozenset({"askuserquestion", "exitplanmode", "askuser", "clarify", "requestuserinput"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.M)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _line(command: list[Any]) -> str:
    """Return a command that is given as words; what a shell is told to run stands for all of it."""
    words = [word for word in command if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words)


def _object(arguments: dict[str, Any], members: tuple[str, ...], verb: str) -> str:
    """Return what a tool is used on, "" where its input does not say."""
    for member in members:
        value = arguments.get(member)
        if isinstance(value, list):
            value = _line(value)
        if isinstance(value, str) and value.strip():
            value = value.strip().split("\n", 1)[0]
            return value.rstrip("/").rpartition("/")[2] if verb in _FILES else value
    for value in arguments.values() if verb == "Editing" else ():
        patched = _PATCHED.search(value) if isinstance(value, str) else None
        if patched:
            return patched[1].strip().rpartition("/")[2]
    return ""


def describe_tool(name: str, arguments: Any) -> str:
    """Return what a tool does in a few words ("Reading cart.py", "Running make test"); "" without a name."""
    if not name:
        return ""
    if name.lower().startswith("mcp__"):
        server, _, tool = name[len("mcp__") :].partition("__")
        return clean(f"{server}: {tool}" if tool else f"Using {server}", _LENGTH)
    given = arguments if isinstance(arguments, dict) else {}
    words = set(_words(name.rpartition("__")[2]))  # what stands before it is an extension
    for known, verb, members in _VERBS:
        if words & known:
            value = _object(given, members, verb)
            return clean(f"{verb} {value}" if value else f"Using {name}", _LENGTH)
    return clean(f"Using {name}", _LENGTH)


def asks_the_user(name: str) -> bool:
    """Return whether a tool does nothing but ask the user."""
    return "".join(_words(name)) in _QUESTIONS


def question_of(name: str, arguments: Any) -> str:
    """Return what a tool or request asks the user, "" where it does not say."""
    given = arguments if isinstance(arguments, dict) else {}
    questions = given.get("questions")
    first = questions[0] if isinstance(questions, list) and questions else given
    value = first.get("question") if isinstance(first, dict) else first
    if isinstance(value, str) and value:
        return clean(value, _LENGTH)
    return "Approve the plan?" if "".join(_words(name)) == "exitplanmode" else ""
