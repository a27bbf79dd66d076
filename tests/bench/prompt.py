"""What a report costs at a prompt and before a command: `python -m tests.bench prompt`, or this file.

In the shell itself, by its own clock: seven calls are timed, as there are eight names for files, then the
files are removed. In turns with seven calls of an empty function, so that a busy machine slows both. The
spool is on /dev/shm, as XDG_RUNTIME_DIR is in memory too; the pane is one of tmux.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.bench.figures import ROOT, Figure, Goal, Stand, quantile

CALLS = 7
GOAL = Goal(60)
SHELLS = {
    "bash": ["bash", "--noprofile", "--norc", "-i", "-c"],
    "zsh": ["zsh", "-d", "-f", "-i", "-c"],
}
# What runs at the prompt once a command has ended, and before one.
HOOKS = {
    "bash": {"prompt": "__seance_started=$began; __seance_report", "command": "__seance_report _"},
    "zsh": {"prompt": "__seance_started=1; __seance_report", "command": "__seance_report x x x"},
}
NOTHING = {"bash": "other=$began; nothing", "zsh": "other=1; nothing"}
LOOP = """
nothing() {{ :; }}
for ((round = 0; round < {rounds}; round++)); do
    began=${{EPOCHREALTIME/[^0-9]/}}
    for ((call = 0; call < {calls}; call++)); do {nothing}; done
    between=${{EPOCHREALTIME/[^0-9]/}}
    for ((call = 0; call < {calls}; call++)); do {hook}; done
    ended=${{EPOCHREALTIME/[^0-9]/}}
    echo $((between - began)) $((ended - between))
    rm -f "$XDG_RUNTIME_DIR"/seance/spool/*
done
"""


def microseconds(
    shell: str, hook: str, rounds: int, environ: Mapping[str, str]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return (of a call of nothing, of our hook), one value for each round."""
    loop = LOOP.format(rounds=rounds, calls=CALLS, nothing=NOTHING[shell], hook=HOOKS[shell][hook])
    if shell == "zsh":  # its clock is a number with a fraction
        loop = loop.replace("${EPOCHREALTIME/[^0-9]/}", "$((int(rint(EPOCHREALTIME * 1000000))))")
        loop = f"zmodload zsh/mathfunc\n{loop}"
    output = subprocess.run(
        [*SHELLS[shell], f". {ROOT}/wrappers/seance.{shell}\n{loop}"],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    ).stdout
    pairs = [tuple(float(word) / CALLS for word in line.split()) for line in output.splitlines()]
    nothing, ours = zip(*pairs, strict=True)
    return nothing, ours


def figures(environ: dict[str, str], rounds: int) -> Iterator[Figure]:
    """Yield the figures of all shells that are installed."""
    runtime = Path(environ["XDG_RUNTIME_DIR"])
    (runtime / "seance" / "spool").mkdir(parents=True)
    environ = {**environ, "TMUX": "/tmp/tmux-1000/default,4242,0", "TMUX_PANE": "%12"}
    for shell in filter(shutil.which, SHELLS):
        for hook, what in (("prompt", "a report at the prompt"), ("command", "a report before a command")):
            nothing, ours = microseconds(shell, hook, rounds, environ)
            ratio = quantile(ours, 0.5) / quantile(nothing, 0.5)
            yield Figure(
                "shell", f"{shell}: {what}", ours, "µs", GOAL, f"µs, {ratio:.1f} × an empty function"
            )


def measure(stand: Stand, scale: float) -> list[Figure]:
    """Return the figures, with 60 µs as what may be taken at a prompt."""
    with stand.home() as environ:
        return list(figures(environ, max(int(500 * scale), 20)))


def main() -> None:
    """Print the figures of this checkout."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shm) as directory:
        for figure in figures({**os.environ, "XDG_RUNTIME_DIR": directory}, rounds):
            print(f"{figure.what:<32} {figure.value:6.1f} {figure.beside}")


if __name__ == "__main__":
    main()
