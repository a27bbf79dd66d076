"""How much longer seance-hook takes than a shell that does nothing: `python tests/bench/hook.py [RUNS]`.

Whole processes, from their start until they are waited for, in pairs (`sh -c :`, seance-hook, and again), so
that a busy machine slows both. What is printed is the median of the pairs' ratios. The spool is on /dev/shm,
as XDG_RUNTIME_DIR usually is in memory too.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOOK = Path(__file__).parent.parent.parent / "bin" / "seance-hook"
SIZES = (0, 2_000, 20_000, 200_000, 1_000_000)
NOTHING = ["/bin/sh", "-c", ":"]


def seconds(command: list[str], payload: Path, environ: dict[str, str]) -> float:
    """Return how long a command takes with a file as its input."""
    with payload.open("rb") as file:
        began = time.perf_counter()
        subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, env=environ, check=True)
        return time.perf_counter() - began


def measure(directory: Path, size: int, runs: int, *, broker: bool) -> str:
    """Return one line: milliseconds of both, and the ratio."""
    spool = directory / "seance" / "spool"
    payload = directory / "payload"
    payload.write_bytes(b"x" * size)
    environ = {**os.environ, "SEANCE_SOCKET_PATH": str(directory / "seance" / "seance.sock")}
    if broker:
        spool.mkdir(mode=0o700, parents=True)
    pairs = []
    for _ in range(runs):
        base = seconds(NOTHING, payload, environ)
        pairs.append((seconds([str(HOOK), "claude", "Stop"], payload, environ), base))
        for path in spool.glob("*"):
            path.unlink()
    if broker:
        spool.rmdir()
        spool.parent.rmdir()
    hook, base = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
    ratio = statistics.median(mine / other for mine, other in pairs)
    name = f"{size:>9,} bytes" if broker else "without a broker"
    return f"{name:>16}  hook {hook:.2f} ms  sh {base:.2f} ms  ratio {ratio:.2f}"


def main() -> None:
    """Measure every size of payload, and a hook without a broker."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as directory:
        print(measure(Path(directory), 2_000, runs, broker=False))
        for size in SIZES:
            print(measure(Path(directory), size, runs, broker=True))


if __name__ == "__main__":
    main()
