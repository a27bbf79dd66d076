"""The sidebar: shows in a pane what every agent is doing."""

from __future__ import annotations


def main() -> None:
    """Run the program; see seance-sidebar(1)."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while still starting ends it without a trace
    from seance_tools.sidebar.program import sidebar

    sidebar(prog_name="seance-sidebar")
