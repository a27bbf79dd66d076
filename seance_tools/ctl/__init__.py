"""seance-ctl: hooks and methods take the fast way, everything else is a click command, loaded when called."""

from __future__ import annotations

import os
import sys

from seance_tools import fast


def main() -> None:
    """Run the program; see seance-ctl(1)."""
    if fast.wants(sys.argv[1:]):
        os._exit(fast.run(sys.argv[1:]))  # all output went by os.write; spares the farewell, 1.6 ms
    if sys.argv[1:2] == ["statusline"]:
        from seance_tools.ctl import segment

        if segment.wants(sys.argv[1:]):
            os._exit(segment.run(sys.argv[1:]))
    import gc

    gc.disable()  # looking for garbage in what is only being loaded takes 2 ms
    from seance_tools.ctl.program import run

    gc.freeze()
    gc.enable()
    run()
