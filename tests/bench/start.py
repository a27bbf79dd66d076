"""How long a broker takes from its start to its first answer, and a wrapper until the agent's first word."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from pathlib import Path

from seance_tools import names
from seance_tools.client import Connection, NoBroker
from tests.bench.figures import Figure, Goal, Stand, ratios


def first_answer(stand: Stand, environ: dict[str, str]) -> float:
    """Return the milliseconds from starting a broker to its first answer; it is stopped afterwards."""
    path = names.socket_path(environ)
    begun = time.perf_counter()
    process = subprocess.Popen(
        [stand.program("seance-broker"), "--foreground"], env=environ, stderr=subprocess.DEVNULL
    )
    try:
        while True:
            try:
                with Connection(path) as connection:
                    connection.request("system.ping")
                    return (time.perf_counter() - begun) * 1000
            except (NoBroker, ConnectionError):
                time.sleep(0.001)
    finally:
        process.terminate()
        process.wait()


def on_a_terminal(argv: list[str], environ: dict[str, str]) -> float:
    """Return the milliseconds from the start of a command on a terminal of its own to its end."""
    main, terminal = pty.openpty()
    begun = time.perf_counter()
    subprocess.run(argv, env=environ, stdin=terminal, stdout=terminal, stderr=terminal, check=True)
    taken = (time.perf_counter() - begun) * 1000
    os.close(main)
    os.close(terminal)
    return taken


def measure(stand: Stand, scale: float) -> list[Figure]:
    """Return the figures of the broker's and the wrapper's start."""
    runs = max(int(30 * scale), 5)
    with stand.home() as environ:
        starts = [first_answer(stand, environ) for _ in range(runs)]
    with stand.home() as environ:
        agent = Path(environ["HOME"], "bin", "codebuff")
        agent.parent.mkdir()
        agent.write_text("#!/bin/sh\nexit 0\n")
        agent.chmod(0o755)
        environ["PATH"] = f"{agent.parent}:{environ['PATH']}"
        alone, wrapped, bare = [], [], []
        for _ in range(runs):
            alone.append(on_a_terminal([str(agent)], environ))
            wrapped.append(on_a_terminal([stand.program("codebuff-wrapper")], environ))
            bare.append(on_a_terminal([stand.python, "-c", "pass"], environ))
    delay = tuple(a - b for a, b in zip(wrapped, alone, strict=True))
    return [
        Figure("starts", "broker: start to first answer", tuple(starts), "ms", Goal(150)),
        Figure("starts", "codebuff-wrapper: delay of the agent", delay, "ms", Goal(50)),
        Figure(
            "starts",
            "codebuff-wrapper: delay of the agent",
            ratios(delay, bare),
            "×",
            Goal(4),
            "× python -c pass",
        ),
    ]
