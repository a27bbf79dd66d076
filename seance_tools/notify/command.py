"""A program of the user's: run aside, given a text, bounded in time, and never waited for by anybody else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

from seance_tools import names

SECONDS = 10.0  # a program that has not ended by then is ended, with all that it has started
MOST = 4  # programs at once; more wait
# What belongs to the pane that happened to start the broker, not to what the program is about.
_OF_A_PANE = frozenset({*names.PLACE_VARIABLES, "SEANCE_SURFACE_ID", "SEANCE_WORKSPACE_ID", "SEANCE_WRAPPED"})


def surroundings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that a program runs in: the user's, without what tells a pane."""
    return {name: value for name, value in environ.items() if name not in _OF_A_PANE}


class Programs:
    """The programs that run, MOST at once. `stop` ends them; nothing has to be cancelled.

    A task of Python 3.11 that is cancelled while it starts a program waits for ever.
    """

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(MOST)
        self._running: set[asyncio.subprocess.Process] = set()
        self._stopped = False

    async def run(self, argv: Sequence[str], text: bytes, environ: Mapping[str, str]) -> str:
        """Run a program in the home directory with `text` on standard input; its output is not wanted.

        Returns what went wrong, "" if nothing.
        """
        async with self._room:
            if self._stopped:
                return ""
            home = names.home(environ)
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    env=surroundings(environ),
                    cwd=home if os.path.isdir(home) else "/",
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:  # ValueError: a NUL in a word
                return f"{argv[0]}: {getattr(error, 'strerror', None) or error}"
            self._running.add(process)
            try:
                return await self._wait(process, argv[0], text)
            finally:
                self._running.discard(process)

    def stop(self) -> None:
        """End the programs, with all that they have started; no more are run."""
        self._stopped = True
        for process in self._running:
            _kill(process)

    async def _wait(self, process: asyncio.subprocess.Process, name: str, text: bytes) -> str:
        if self._stopped:
            _kill(process)
        try:
            async with asyncio.timeout(SECONDS):
                await process.communicate(text)  # who does not read it all is forgiven
        except TimeoutError:
            _kill(process)
            await process.wait()
            return f"{name}: ended after {SECONDS:.0f} s"
        return f"{name}: exit status {process.returncode}" if process.returncode else ""


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
