"""The broker: the one process that owns the state of one user on one machine."""

from __future__ import annotations


def main() -> None:
    """Run the program; see seance-broker(1)."""
    from seance_tools.broker.program import broker

    broker(prog_name="seance-broker")
