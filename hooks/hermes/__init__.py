# seance-tools: tells Séance Tools what Hermes is doing; `seance-ctl uninstall hermes` removes this folder.
"""Tells Séance Tools what Hermes is doing.

It prints nothing and leaves one small file an event; where no broker runs it does nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time
from collections.abc import Callable
from typing import Any

AGENT = "hermes"
# --- begin generated: plugin-places
PLACES = {
    "Workspace": "SEANCE_WORKSPACE_ID",
    "Surface": "SEANCE_SURFACE_ID",
    "Host": "SEANCE_HOST",
    "Tmux": "TMUX",
    "Pane": "TMUX_PANE",
    "Kitty": "KITTY_LISTEN_ON",
    "Kitty-Window": "KITTY_WINDOW_ID",
    "Wezterm": "WEZTERM_UNIX_SOCKET",
    "Wezterm-Pane": "WEZTERM_PANE",
    "Zellij": "ZELLIJ_SESSION_NAME",
    "Zellij-Pane": "ZELLIJ_PANE_ID",
    "Screen": "STY",
    "Screen-Window": "WINDOW",
}
# --- end generated
# What each hook is told and we pass on; the rest may be large and is nobody's business.
EVENTS = {
    "on_session_start": (),
    "pre_llm_call": (),
    "post_llm_call": ("assistant_response",),
    "pre_tool_call": ("tool_name", "args", "tool_call_id"),
    "post_tool_call": ("tool_name", "args", "tool_call_id"),
    "pre_approval_request": ("session_key", "surface", "command", "description", "tool_call_id"),
    "post_approval_response": ("session_key", "surface", "choice", "tool_call_id"),
    "subagent_start": ("parent_session_id", "child_session_id", "child_role"),
    "subagent_stop": ("parent_session_id", "child_session_id", "child_role", "child_status"),
    "on_session_end": ("completed", "interrupted", "reason"),
    "on_session_reset": ("reason",),
    "on_session_finalize": ("reason",),
}
MOST = 512  # files that wait for a broker; what is more is dropped
LONGEST = 4097  # characters of a text: one more than the broker keeps, which marks its cut
_count = itertools.count()


def _spool() -> str:
    given = os.environ.get("SEANCE_SOCKET_PATH", "")
    if given:
        return os.path.join(os.path.dirname(os.path.expanduser(given)), "spool")
    run = os.environ.get("XDG_RUNTIME_DIR", "")
    base = os.path.join(run, "seance") if run.startswith("/") else os.path.expanduser("~/.seance")
    return os.path.join(base, "spool")


def _header(event: str) -> str:
    lines = [f"Agent: {AGENT}", f"Event: {event}", f"At: {time.time()}"]
    for name, variable in PLACES.items():
        value = os.environ.get(variable, "")
        wanted = str.isdecimal if name in ("Workspace", "Surface") else str.isprintable
        if value and wanted(value):
            lines.append(f"{name}: {value}")
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(") ")[2].split()
    lines += [f"Pid: {os.getpid()} {fields[19]}", f"Pid: {os.getppid()}"]
    if fields[4] != "0":
        lines.append(f"Tty: {fields[4]} {fields[3]}")
    return "\n".join(lines)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:LONGEST]
    if isinstance(value, dict):
        return {str(key)[:LONGEST]: _cut(item) for key, item in value.items()}
    return [_cut(item) for item in value] if isinstance(value, list | tuple) else value


def report(event: str, payload: dict[str, Any]) -> None:
    """Leave one event in the broker's spool. See seance-hook(1)."""
    spool = _spool()
    if os.stat(spool).st_uid != os.getuid():
        return
    content = f"{_header(event)}\n\n{json.dumps(_cut(payload), default=str)}"
    path = os.path.join(spool, f"{AGENT}-{os.getpid()}-{next(_count) % MOST}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(content)


def _callback(event: str) -> Callable[..., None]:
    members = ("session_id", "parent_session_id", *EVENTS[event])

    def tell(**told: Any) -> None:
        # No broker, no room, another release's ways: the agent must not notice
        with contextlib.suppress(Exception):
            report(event, {name: told[name] for name in members if told.get(name) is not None})

    return tell


def register(ctx: Any) -> None:
    """Ask Hermes to be told; hooks that this release does not have are left out."""
    for event in EVENTS:
        with contextlib.suppress(Exception):
            ctx.register_hook(event, _callback(event))
