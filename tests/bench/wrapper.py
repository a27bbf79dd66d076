"""How long codebuff-wrapper holds up the agent's first instruction. Run: python tests/bench/wrapper.py

Each round runs the agent alone, through the wrapper, and a bare interpreter, one after the other; the
agent is a shell script that ends at once. Prints medians and the ratio to the bare interpreter.
"""

from __future__ import annotations

import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 30


def run(argv: list[str], environ: dict[str, str]) -> float:
    """Return the seconds from the start of a command on a terminal of its own to its end."""
    main, terminal = pty.openpty()
    begun = time.perf_counter()
    subprocess.run(argv, env=environ, stdin=terminal, stdout=terminal, stderr=terminal, check=True)
    taken = time.perf_counter() - begun
    os.close(main)
    os.close(terminal)
    return taken


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        agent = Path(directory, "codebuff")
        agent.write_text("#!/bin/sh\nexit 0\n")
        agent.chmod(0o755)
        path = f"{directory}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        socket = f"{directory}/nobody.sock"
        environ = {"PATH": path, "HOME": directory, "SEANCE_SOCKET_PATH": socket, "TERM": "dumb"}
        config = Path(directory, ".config/seance/config.toml")
        config.parent.mkdir(parents=True)
        config.write_text("[broker]\nautostart = false\n")
        commands = {
            "the agent alone": [str(agent)],
            "through codebuff-wrapper": ["codebuff-wrapper"],
            "python -c pass": [sys.executable, "-c", "pass"],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, argv in commands.items():
                times[name].append(run(argv, environ) * 1000)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print("| what | median ms | ratio to `python -c pass` |\n| --- | --- | --- |")
    for name, median in medians.items():
        print(f"| {name} | {median:.1f} | {median / medians['python -c pass']:.2f} |")
    print(f"\nheld up by {medians['through codebuff-wrapper'] - medians['the agent alone']:.1f} ms")


if __name__ == "__main__":
    main()
