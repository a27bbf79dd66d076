"""seance-ctl for people: one click command each, loaded only when it is called."""

from __future__ import annotations


def main() -> None:
    """Run the program; see seance-ctl(1)."""
    from seance_tools.ctl.program import run

    run()
