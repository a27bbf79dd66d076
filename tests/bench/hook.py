"""How much longer seance-hook takes than a shell that does nothing, with payloads from 0 to 1 MB.

Whole processes, from their start until they are waited for, in turns. The spool is on /dev/shm, as
XDG_RUNTIME_DIR usually is in memory too.
"""

from __future__ import annotations

from pathlib import Path

from seance_tools import names
from tests.bench.figures import ROOT, Command, Figure, Goal, Stand, interleaved, ratios

GROUP = "hook"
HOOK = str(ROOT / "bin" / "seance-hook")
NOTHING = ("/bin/sh", "-c", ":")
SIZES = {"0 bytes": 0, "2 KB": 2_000, "200 KB": 200_000, "1 MB": 1_000_000}
# Nobody could do less with a shell: the header, then cat for the payload.
LEAST = ("/bin/sh", "-c", 'printf "Agent: a\\n\\n" >"$0" && exec cat >>"$0"')


def measure(stand: Stand, scale: float) -> list[Figure]:
    """Return the ratios of each size, without a broker first."""
    runs = max(int(150 * scale), 20)
    found = []
    with stand.home() as environ:
        spool = Path(names.spool_path(names.socket_path(environ)))
        home = Path(environ["HOME"])
        found += compare("no broker", 2_000, spool, environ, home, runs)
        spool.mkdir(mode=0o700, parents=True)
        for name, size in SIZES.items():
            found += compare(name, size, spool, environ, home, runs)
    return found


def compare(
    name: str, size: int, spool: Path, environ: dict[str, str], home: Path, runs: int
) -> list[Figure]:
    """Return the figures of one size: the whole process, and its ratio to the others."""
    payload = b"x" * size
    commands = {
        "sh": Command(NOTHING, payload),
        "least": Command((*LEAST, str(home / "least")), payload),
        "hook": Command((HOOK, "claude", "Stop"), payload),
    }

    def clear() -> None:
        for path in spool.glob("*"):
            path.unlink()

    times = interleaved(commands, runs, environ, home, clear)
    what = f"seance-hook, {name}"
    return [
        Figure(GROUP, what, times["hook"], "ms"),
        Figure(GROUP, what, ratios(times["hook"], times["sh"]), "×", Goal(2.2), "× sh -c :"),
        Figure(GROUP, what, ratios(times["hook"], times["least"]), "×", None, "× sh with printf and cat"),
    ]
