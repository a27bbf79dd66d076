"""A status line's segment: how many agents are in each state. Called every second, so it takes the fast way.

It never starts a broker, never waits longer than PATIENCE, and prints nothing where there is none.
"""

from __future__ import annotations

import os

from seance_tools import fast, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PATIENCE = 0.3  # seconds for everything
# In the order of the sidebar's header, with its signs; a test keeps them the same.
SIGNS = {
    "needs_input": ("◆", "!"),
    "error": ("✖", "x"),
    "running": ("▶", ">"),
    "background": ("⧗", "~"),
    "idle": ("⏸", "-"),
    "unknown": ("?", "?"),
}
COLOURS = {"needs_input": "yellow", "error": "red", "running": "green", "background": "blue"}
FORMS = ("text", "tmux")
_REQUEST = '{"id":1,"method":"events.subscribe","params":{"topics":["status"]}}\n'


def wants(argv: list[str]) -> bool:
    """Return True if the command line is one that `run` understands: statusline [--format F] [--ascii]."""
    return argv[:1] == ["statusline"] and _options(argv[1:]) is not None


def _options(argv: list[str]) -> tuple[str, bool] | None:
    """Return (format, whether ASCII is wanted), or None for anything else."""
    form, plain = "text", False
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--ascii":
            plain = True
        elif word == "--format" and rest:
            form = rest.pop(0)
        elif word.startswith("--format="):
            form = word.partition("=")[2]
        else:
            return None
    return form, plain


def run(argv: list[str]) -> int:
    """Print the segment for a command line that `wants` accepts, and return the exit code."""
    options = _options(argv[1:])
    assert options
    try:
        path = names.socket_path(os.environ)
    except ValueError as error:
        names.complain(fast.PROGRAM, error)
        return names.EXIT_USAGE
    return show(path, *options)


def show(path: str, form: str, plain: bool) -> int:  # noqa: FBT001 - given by position
    """Print the segment of the broker at `path` and return the exit code; 2 for a form that is none."""
    reason = fault(form)
    if reason:
        names.complain(fast.PROGRAM, reason)
        return names.EXIT_USAGE
    import _signal  # type: ignore[import-not-found]  # `signal` itself takes 4 ms

    import ujson

    _signal.signal(_signal.SIGALRM, lambda *_: os._exit(names.EXIT_TIMEOUT))
    _signal.setitimer(_signal.ITIMER_REAL, PATIENCE)
    try:
        answer = ujson.loads(fast.exchange(path, _REQUEST, PATIENCE))
        states = [row["state"] for row in answer["result"]["snapshot"]["status"]]
    except fast.NothingThere:
        return names.EXIT_NO_BROKER
    except TimeoutError:
        return names.EXIT_TIMEOUT
    except (ConnectionError, ValueError, KeyError, TypeError):
        return names.EXIT_REFUSED  # it has ended or is of another version; this is no place to say so
    text = segment(count(states), form, plain=plain or not unicode_wanted(os.environ))
    try:
        if text:
            os.write(1, f"{text}\n".encode("utf-8", "replace"))
    except OSError:
        return names.EXIT_REFUSED
    return names.EXIT_OK


def count(states: list[Any]) -> dict[str, int]:
    """Return how many there are of each state of SIGNS; one that is not known counts as unknown."""
    counts = dict.fromkeys(SIGNS, 0)
    for state in states:
        if state:
            counts[state if state in SIGNS else "unknown"] += 1
    return counts


def fault(form: str) -> str | None:
    """Return what is wrong with a form in a line, None for one that `segment` understands."""
    if form in FORMS:
        return None
    pieces = form.split("{")[1:]
    words = [piece.partition("}") for piece in pieces]
    if not pieces:
        return f"no such format: {form!r}; give text, tmux, or a text with {{running}}"
    for word, end, _ in words:
        if word not in SIGNS or not end:
            return f"no such word in the format: {'{' + word + end!r}; there are {', '.join(SIGNS)}"
    return None


def segment(counts: dict[str, int], form: str, *, plain: bool) -> str:
    """Return the segment in a form: text, tmux (with its colours), or a text with {running} and the like."""
    if "{" in form:
        for state, number in counts.items():
            form = form.replace("{" + state + "}", str(number))
        return form
    parts = []
    for state, number in counts.items():
        if number:
            part = f"{SIGNS[state][plain]}{number}"
            colour = COLOURS.get(state) if form == "tmux" else None
            parts.append(f"#[fg={colour}]{part}#[default]" if colour else part)
    return " ".join(parts)


def unicode_wanted(environ: Mapping[str, str]) -> bool:
    """Return whether the locale's characters are UTF-8; as in the sidebar."""
    kind = environ.get("LC_CTYPE", "")
    locale = environ.get("LC_ALL") or (kind if kind != "C.UTF-8" else "") or environ.get("LANG", "")
    return "utf8" in locale.replace("-", "").lower()
