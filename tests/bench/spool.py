"""How many files of the spool the broker takes in a second."""

from __future__ import annotations

import os
import signal
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
    return [Figure("spool", "files of 1.6 KB taken", tuple(rates), "/s", Goal(10_000, least=True))]
