"""The sound: a player that is installed anyway, and the file to play."""

from __future__ import annotations

import shutil

# In this order: PipeWire's, PulseAudio's, libcanberra's, ALSA's. The file comes last.
PLAYERS: tuple[tuple[str, ...], ...] = (
    ("pw-play",),
    ("paplay",),
    ("canberra-gtk-play", "-f"),
    ("aplay", "-q"),
)


def player(path: str) -> list[str] | None:
    """Return the command that plays a sound file, None where no player is installed."""
    for program, *options in PLAYERS:
        found = shutil.which(program)
        if found:
            return [found, *options, path]
    return None
