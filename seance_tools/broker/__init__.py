"""The broker: the one process that owns the state of one user on one machine."""

from __future__ import annotations


def main() -> None:
    """Run the program; see seance-broker(1)."""
    import sys

    # asyncio does without it where it is not there; it would be 4 MB and some milliseconds for nothing.
    sys.modules["ssl"] = None  # type: ignore[assignment]
    from seance_tools.broker.program import broker

    broker(prog_name="seance-broker")
