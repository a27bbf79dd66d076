"""tmux, asked from a thread beside the loop: who sees the sidebar's pane, and for whom it shall jump."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import NamedTuple

SECONDS = 2.0  # a tmux that does not answer by then is taken for none
MARK = "@seance-sidebar"  # the option of panes that the key has opened,
_WAITS = "@seance-waits"  # and of those whose sidebar needs the hooks
_CHANNEL = "seance-sidebar-seen"
_HOOKS = ("session-window-changed", "client-session-changed", "client-attached", "window-layout-changed")
_HOOK_NUMBER = 8731  # ours in the list of each hook; set again, it is still one
_CLOSE_SECONDS = 0.25  # the end does not wait longer for tmux
# Clients with a terminal, whose names are paths: a control client, as the broker has one, sees nothing.
_FIELDS = (
    "#{S:#{m:*/*,#{session_attached_list}}}",
    "#{m:*/*,#{window_active_clients_list}}",
    "#{window_zoomed_flag}",
    "#{pane_active}",
    "#{window_panes}",
    f"#{{{MARK}}}",
)


class Sight(NamedTuple):
    """hidden: there are clients, and none of them shows the pane. alone: opened by the key, and last."""

    hidden: bool
    alone: bool


class Tmux:
    """The tmux that the sidebar runs in, by its environment; all methods may block."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.pane = environ.get("TMUX_PANE", "") if environ.get("TMUX") else ""
        self.popup = bool(environ.get("TMUX")) and not self.pane
        self._waiting: subprocess.Popen[str] | None = None
        self._hooked = False

    def look(self, *, hidden: bool = False) -> Sight | None:
        """Return whether the pane can be seen; None where tmux does not say.

        hidden: what is expected. Where it is, tmux is told to call as soon as that may have changed: `wait`
        waits for it.
        """
        if not hidden or self._waiting:
            sight = _read(self._run("display-message", "-p", "-t", self.pane, " ".join(_FIELDS)))
            if sight is None or not sight.hidden or self._waiting:
                return sight
        command = ["tmux", "set-option", "-p", "-t", self.pane, _WAITS, "1", ";"]
        for hook in _HOOKS:
            command += ["set-hook", "-g", f"{hook}[{_HOOK_NUMBER}]", f"wait-for -S {_CHANNEL}", ";"]
        command += ["display-message", "-p", "-t", self.pane, " ".join(_FIELDS), ";", "wait-for", _CHANNEL]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._hooked = True
        assert process.stdout
        sight = _read(process.stdout.readline())
        if sight is None or not sight.hidden:
            _end(process)
        else:
            self._waiting = process
        return sight

    def wait(self) -> None:
        """Wait until tmux says that another window is shown, a client came or the layout changed."""
        if self._waiting:
            self._waiting.communicate()
            self._waiting = None

    def client(self) -> str:
        """Return the terminal that the person looks at the sidebar on, "" where tmux does not say."""
        target = ("-t", self.pane) if self.pane else ()
        return self._run("display-message", "-p", *target, "#{client_tty}").strip()

    def close(self) -> None:
        """Let go of what waits, and take the hooks away where no other sidebar needs them."""
        if self._waiting:
            self._waiting.kill()
        if self._hooked:
            self._run("set-option", "-pqu", "-t", self.pane, _WAITS, seconds=_CLOSE_SECONDS)
            others = f"#{{S:#{{W:#{{P:#{{{_WAITS}}}}}}}}}"
            unset = " ; ".join(f"set-hook -gu '{hook}[{_HOOK_NUMBER}]'" for hook in _HOOKS)
            self._run("if-shell", "-F", others, "", unset, seconds=_CLOSE_SECONDS)

    def _run(self, *arguments: str, seconds: float = SECONDS) -> str:
        try:
            done = subprocess.run(
                ["tmux", *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _read(line: str) -> Sight | None:
    words = line.split()
    if len(words) < len(_FIELDS) - 1:
        return None
    attached, shown, zoomed, active = (bool(word.strip("0")) for word in words[:4])
    alone = words[4] == "1" and words[5:] == ["1"]
    return Sight(hidden=attached and (not shown or (zoomed and not active)), alone=alone)
