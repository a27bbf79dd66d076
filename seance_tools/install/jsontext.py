"""JSON as text: puts members in and takes them out, and leaves every other character as it is. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

BOM = "\ufeff"
_DEEPEST = 100
_SPACE = " \t\r\n"
_SPACES = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_PLAIN = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.+-])")


class Node(NamedTuple):
    """A value of the text: from start to end, what it is, and the parts of an object or array."""

    start: int
    end: int
    value: Any
    items: list[Item]

    def find(self, key: str) -> Item | None:
        """Return the member of that name; of several the last, as everybody reads it."""
        return next((item for item in reversed(self.items) if item.key == key), None)


class Item(NamedTuple):
    """A part of an object or array. start: of its name, or of its value where it has none."""

    key: str | None
    start: int
    node: Node


class _Scanner:
    def __init__(self, text: str, *, comments: bool) -> None:
        self.text = text
        self.comments = comments
        self.at = len(BOM) if text.startswith(BOM) else 0

    def fail(self, reason: str) -> ValueError:
        line = self.text.count("\n", 0, self.at) + 1
        return ValueError(f"line {line}: {reason}")

    def space(self) -> str:
        """Go past white space and comments; return the next character, "" at the end."""
        while True:
            self.at = _SPACES.match(self.text, self.at).end()  # type: ignore[union-attr] # it may be empty
            character = self.text[self.at : self.at + 1]
            if character != "/":
                return character
            comment = _COMMENT.match(self.text, self.at)
            if not comment:
                raise self.fail("a comment that does not end" if self.comments else "unexpected '/'")
            if not self.comments:
                raise self.fail("a comment, which this agent cannot read")
            self.at = comment.end()

    def node(self, depth: int = 0) -> Node:
        opening = self.space()
        if depth > _DEEPEST:
            raise self.fail("nested too deeply")
        if opening in ("{", "["):
            return self.container("}" if opening == "{" else "]", depth)
        found = _STRING.match(self.text, self.at) or _PLAIN.match(self.text, self.at)
        if not found:
            raise self.fail(f"unexpected {opening!r}" if opening else "the end comes too early")
        start, self.at = self.at, found.end()
        return Node(start, self.at, json.loads(found[0]), [])

    def container(self, closing: str, depth: int) -> Node:
        start = self.at
        items: list[Item] = []
        self.at += 1
        more = self.space() != closing
        while more:
            items.append(self.item(depth, named=closing == "}"))
            more = self.space() == ","
            if more:
                self.at += 1
                if self.space() == closing:
                    raise self.fail("a comma with nothing after it")
            elif self.space() != closing:
                raise self.fail(f"expected ',' or '{closing}'")
        self.at += 1
        value = {i.key: i.node.value for i in items} if closing == "}" else [i.node.value for i in items]
        return Node(start, self.at, value, items)

    def item(self, depth: int, *, named: bool) -> Item:
        if not named:
            node = self.node(depth + 1)
            return Item(None, node.start, node)
        self.space()
        name = _STRING.match(self.text, self.at)
        if not name:
            raise self.fail("expected a name in double quotes")
        self.at = name.end()
        if self.space() != ":":
            raise self.fail("expected ':'")
        self.at += 1
        return Item(json.loads(name[0]), name.start(), self.node(depth + 1))


def scan(text: str, *, comments: bool = True) -> Node:
    """Return the value that `text` is. Raises ValueError, with the line, for what is no JSON.

    comments: those of JavaScript are allowed, and a BOM.
    """
    if text.startswith(BOM) and not comments:
        raise ValueError("line 1: begins with a byte order mark, which this agent cannot read")
    scanner = _Scanner(text, comments=comments)
    node = scanner.node()
    if scanner.space():
        raise scanner.fail("something after the end")
    return node


def part(text: str, start: int) -> Node:
    """Return the value that begins at a place in a text that `scan` has read. Raises ValueError."""
    scanner = _Scanner(text, comments=True)
    scanner.at = start
    return scanner.node()


def once(text: str, container: Node, names: tuple[str, ...]) -> None:
    """Make sure that no member of these names is there twice: only one counts. Raises ValueError."""
    for item in container.items:
        if item.key in names and item is not container.find(item.key):
            line = line_of(text, item.start)
            raise ValueError(
                f'line {line}: "{item.key}" is there twice, and only the last counts; join the two'
            )


def line_of(text: str, position: int) -> int:
    """Return the number of the line that a position is in."""
    return text.count("\n", 0, position) + 1


def insert(text: str, container: Node, value: Any, key: str | None = None) -> str:
    """Return `text` with a value as the last part of a container of it, laid out as the parts before it."""
    if container.items:
        last = container.items[-1]
        indent = _indent_of_own_line(text, last.start)
        written = _written(text, value, key, indent)
        if indent is None:
            return f"{text[: last.node.end]}, {written}{text[last.node.end :]}"
        rest = _after_comment(text, last.node.end)
        comma = f"{text[: last.node.end]},{text[last.node.end : rest]}"
        return f"{comma}{_newline(text)}{indent}{written}{text[rest:]}"
    start = container.start + 1
    if "\n" not in text.strip() and text.strip(_SPACE + BOM) != "{}":
        return text[:start] + _written(text, value, key, None) + text[start:]
    for comment in _COMMENT.finditer(text, start, container.end - 1):
        start = comment.end()
    line = text.rfind("\n", 0, container.start) + 1
    outer = text[line : len(text) - len(text[line:].lstrip(" \t" + BOM))].lstrip(BOM)
    indent = outer + _unit(text)
    tail = "" if "\n" in text[start : container.end - 1] else _newline(text) + outer
    return f"{text[:start]}{_newline(text)}{indent}{_written(text, value, key, indent)}{tail}{text[start:]}"


def remove(text: str, container: Node, index: int) -> str:
    """Return `text` without a part of a container of it: what `insert` put in goes, and nothing else."""
    items = container.items
    start, end = items[index].start, items[index].node.end
    behind = index + 1 < len(items)
    before = _comma(text, items[index - 1].node.end) if index else container.start
    lead, in_comment = _end_of_gap(text, before + 1, start)
    rest = text[end:]
    if behind:
        comma = _comma(text, end)
        rest = text[end:comma] + text[comma + 1 :]
    elif not index and lead == before + 1 and text[end:].lstrip(_SPACE)[:1] in ("}", "]"):
        rest = text[end:].lstrip(_SPACE)
    if in_comment and not rest.lstrip(" \t").startswith(("\n", "\r")):
        lead = text.index("\n", lead) + 1  # or the comment would swallow what follows
    if index and not behind:
        return text[:before] + text[before + 1 : lead] + rest
    return text[:lead] + rest


def _end_of_gap(text: str, start: int, end: int) -> tuple[int, bool]:
    """Return where the last comment between two places ends, else `start`, and whether its line ends it."""
    in_comment = False
    for comment in _COMMENT.finditer(text, start, end):
        start, in_comment = comment.end(), comment[0].startswith("//")
    return start, in_comment


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """Return one step of indentation: that of the first indented line."""
    found = re.search(r"\n([ \t]+)[\"{\[]", text)
    return found[1] if found else "  "


def _indent_of_own_line(text: str, start: int) -> str | None:
    line = text[text.rfind("\n", 0, start) + 1 : start]
    return line if "\n" in text[:start] and not line.strip(" \t") else None


def _after_comment(text: str, end: int) -> int:
    """Return where a comment on the same line ends, else `end`."""
    found = re.compile(r"[ \t]*(//[^\r\n]*|/\*[^\r\n]*?\*/)(?=[ \t]*[\r\n])").match(text, end)
    return found.end() if found else end


def _comma(text: str, position: int) -> int:
    """Return where the comma is that comes after a part, past comments."""
    while text[position] != ",":
        comment = _COMMENT.match(text, position)
        position = comment.end() if comment else position + 1
    return position


def _written(text: str, value: Any, key: str | None, indent: str | None) -> str:
    name = "" if key is None else json.dumps(key) + ": "
    if indent is None:
        return name + json.dumps(value)
    return name + json.dumps(value, indent=_unit(text)).replace("\n", _newline(text) + indent)
