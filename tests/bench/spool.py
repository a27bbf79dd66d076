"""How many files of the spool the broker takes in a second."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from seance_tools import names
from tests.bench.figures import Figure, Goal, Stand

FILES = 3000
REPORT = b"Agent: claude\nEvent: PreToolUse\nWorkspace: 1\nSurface: 1\n\n"
PAYLOAD = b'{"session_id":"s","tool_name":"Read","tool_input":{"file_path":"/src/cart.py"},"pad":"%s"}' % (
    b"x" * 1500
)


def measure(stand: Stand, scale: float) -> list[Figure]:
    """Return the figure: the broker is stopped while the files are written, then timed until none is left."""
    rates = []
    with stand.home() as environ, stand.broker(environ) as broker:
        spool = Path(names.spool_path(names.socket_path(environ)))
        for run in range(max(int(8 * scale), 3)):
            os.kill(broker.pid, signal.SIGSTOP)
            for number in range(FILES):
                (spool / f"{run}-{number}").write_bytes(REPORT + PAYLOAD)
            begun = time.perf_counter()
            os.kill(broker.pid, signal.SIGCONT)
            while any(os.scandir(spool)):
                time.sleep(0.002)
            rates.append(FILES / (time.perf_counter() - begun))
    found = [Figure("spool", "files of 1.6 KB taken", tuple(rates), "/s", Goal(10_000, least=True))]
    if shutil.which("inotifywait"):
        with stand.home() as environ:
            seen = tuple(told_of(Path(environ["HOME"]), environ) for _ in rates)
        found.append(
            Figure("spool", "inotifywait: files of 1.6 KB written and told of, not read", seen, "/s")
        )
    return found


def told_of(home: Path, environ: dict[str, str]) -> float:
    """Return how many files a second inotifywait tells of while they are written."""
    directory = Path(tempfile.mkdtemp(dir=home))
    command = ["inotifywait", "--monitor", "--event", "close_write", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ) as process:
        assert process.stdout
        assert process.stderr
        while b"established" not in process.stderr.readline():
            pass
        begun = time.perf_counter()
        writer = threading.Thread(target=write, args=(directory,))
        writer.start()
        for _ in range(FILES):
            process.stdout.readline()
        taken = time.perf_counter() - begun
        writer.join()
        process.terminate()
    return FILES / taken


def write(directory: Path) -> None:
    """Write the files."""
    for number in range(FILES):
        (directory / str(number)).write_bytes(REPORT + PAYLOAD)
