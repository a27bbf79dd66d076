"""A block of lines of ours at the end of a text file, between two marks. Pure."""

from __future__ import annotations

BEGIN = "# --- begin seance-tools: written by `seance-ctl install`, removed by `seance-ctl uninstall`"
END = "# --- end seance-tools"


def _span(text: str) -> tuple[int, int] | None:
    """Return where our block is, its marks included. Raises ValueError where one of them is missing."""
    start, end = text.find(BEGIN), text.find(END)
    if start < 0 and end < 0:
        return None
    if start < 0 or end < start:
        line = text.count("\n", 0, max(start, end)) + 1
        raise ValueError(f"line {line}: one of the two marks around our lines is gone; remove those by hand")
    end += len(END)
    return start, end + (text[end : end + 1] == "\n")


def content(text: str) -> str | None:
    """Return the lines of our block, None where there is none. Raises ValueError for half a block."""
    span = _span(text)
    if span is None:
        return None
    block = text[slice(*span)]
    return block.partition("\n")[2].rpartition(END)[0]


def add(text: str, lines: str) -> str:
    """Return `text` with our lines in its block, at the end where there is none yet. Raises ValueError."""
    block = f"{BEGIN}\n{lines}{END}\n"
    span = _span(text)
    if span:
        return text[: span[0]] + block + text[span[1] :]
    if not text:
        return block
    # The line ends that it begins with are its own, and go with it
    return text + ("\n" if text.endswith("\n") else "\n\n") + block


def take_out(text: str) -> str:
    """Return `text` without our block. Raises ValueError for half a block."""
    span = _span(text)
    if span is None:
        return text
    before, after = text[: span[0]], text[span[1] :]
    if before.endswith("\n\n"):
        before = before[:-1]
    return before + after
