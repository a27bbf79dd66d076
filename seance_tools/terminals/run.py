"""Running a terminal's own command-line program: its words as they are, no shell, bounded in time."""

from __future__ import annotations

import asyncio
import os
import subprocess

SECONDS = 2.0  # a terminal that does not answer by then is left alone
# What would make such a program think that it runs inside a terminal of its kind: the broker runs in none.
_OWN = ("TMUX", "TMUX_PANE", "ZELLIJ", "ZELLIJ_PANE_ID", "STY", "WINDOW")


class Refused(Exception):
    """A terminal did not do what it was told to; the text says why, in a line."""


class Gone(Refused):
    """What it was told to do something with is not there any more."""


def environment(**more: str) -> dict[str, str]:
    """Return the environment for a terminal's program: the broker's own, without the pane it came from."""
    return {**{name: value for name, value in os.environ.items() if name not in _OWN}, **more}


async def run(*argv: str, text: str = "", environ: dict[str, str] | None = None) -> str:
    """Return what a program printed; `text` is its input. Raises Refused with what it complained.

    It is done in a thread: a task of asyncio's that is cancelled while it starts a process may wait for ever
    (seen with Python 3.11.7).
    """
    return await asyncio.to_thread(_run, argv, text, environment() if environ is None else environ)


def _run(argv: tuple[str, ...], text: str, environ: dict[str, str]) -> str:
    name = argv[0]
    try:
        done = subprocess.run(
            argv, input=text.encode(), capture_output=True, timeout=SECONDS, env=environ, check=False
        )
    except FileNotFoundError:
        raise Refused(f"{name} is not on the broker's PATH") from None
    except subprocess.TimeoutExpired:
        raise Refused(f"{name} does not answer within {SECONDS:g} s") from None
    except (OSError, ValueError) as error:  # descriptors ran out; a NUL in a word
        raise Refused(f"{name}: {error}") from None
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").split("\n")[0]
        raise Refused(f"{name}: {complaint or f'exit status {done.returncode}'}")
    return done.stdout.decode(errors="replace")
