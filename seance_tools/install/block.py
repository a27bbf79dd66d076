"""A block of lines of ours at the end of a text file, between two marks. Pure."""

from __future__ import annotations

import re

BEGIN = "# --- begin seance-tools: written by `seance-ctl install`, removed by `seance-ctl uninstall`"
END = "# --- end seance-tools"
_BEGIN = re.compile(r"^# --- begin seance-tools\b.*\n?", re.MULTILINE)
_END = re.compile(r"^# --- end seance-tools\b.*\n?", re.MULTILINE)
# What our lines are, of whatever version
_OURS = re.compile(
    r"\s*|\[\[hooks\]\]|(name|type|timeout|notifications)\s*[=:].*|[\w-]*command\s*[=:].*seance-hook.*"
)


def _spans(text: str) -> list[tuple[int, int]]:
    """Return where our blocks are, marks included. Raises ValueError where one of two marks is missing."""
    found: list[tuple[int, int]] = []
    at = 0
    while True:
        begin, end = _BEGIN.search(text, at), _END.search(text, at)
        if not begin and not end:
            return found
        second = _BEGIN.search(text, begin.end()) if begin else None
        if not begin or not end or end.start() < begin.start() or (second and second.start() < end.start()):
            line = text.count("\n", 0, (begin or end).start()) + 1  # type: ignore[union-attr] # not both
            raise ValueError(
                f"line {line}: one of the two marks around our lines is gone; remove those by hand"
            )
        found.append((begin.start(), end.end()))
        at = end.end()


def content(text: str) -> str | None:
    """Return the lines of our blocks, None where there is none. Raises ValueError for half a block."""
    spans = _spans(text)
    return "".join(_inner(text[start:end]) for start, end in spans) if spans else None


def _inner(block: str) -> str:
    lines = block.replace("\r\n", "\n").splitlines(keepends=True)
    return "".join(lines[1:-1])


def check(text: str, lines: str) -> None:
    """Make sure that nothing between our marks is somebody else's. Raises ValueError with its line.

    lines: ours, of this version.
    """
    own = lines.splitlines()
    for start, end in _spans(text):
        first = text.count("\n", 0, start) + 2
        for number, line in enumerate(_inner(text[start:end]).splitlines(), first):
            if line not in own and not _OURS.fullmatch(line):
                raise ValueError(f"line {number}: is not ours but between our marks; move it out of them")


def add(text: str, lines: str) -> str:
    """Return `text` with our lines in its block, at the end where there is none yet. Raises ValueError."""
    spans = _spans(text)
    start, end = spans[0] if spans else (0, len(text))
    newline = _newline(text[start:end])
    block = f"{BEGIN}\n{lines}{END}\n".replace("\n", newline)
    if spans:
        return text[:start] + block + take_out(text[end:])
    # An empty line before it tells that the text ended with a line end, so that it does again without us
    return text + (newline if text else "") + block


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def take_out(text: str) -> str:
    """Return `text` without our blocks. Raises ValueError for half a block."""
    for start, end in reversed(_spans(text)):
        before, after = text[:start], text[end:]
        newline = _newline(text[start:end])
        if before.endswith("\n" + newline) or (not after and before.endswith(newline)):
            before = before.removesuffix(newline)
        text = before + after
    return text
