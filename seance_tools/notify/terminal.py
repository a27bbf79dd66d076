"""The terminal's own notifications: OSC 9, 99 and 777, or the bell, for a program to write on its terminal.

OSC 9 is iTerm2's and many others', 99 kitty's (its "desktop notifications" protocol), 777 urxvt's and foot's.
"""

from __future__ import annotations

from seance_tools.notify import Message

_ESCAPE, _END = "\x1b", "\x1b\\"
BELL = "\a"


def sequence(kind: str, message: Message, *, tmux: bool = False) -> str:
    """Return what to write for a message; the texts in it are clean, so that nothing ends it too early.

    kind: of `delivery.TERMINAL_KINDS`. tmux: whether a tmux stands between, which passes it on where its
    allow-passthrough says so; the bell is its own business.
    """
    if kind == "bell":
        return BELL
    title, body = message.title, message.body
    if kind == "osc9":
        text = f"{title}: {body}" if body else title
        parts = [f"9; {text}" if text[:1].isdigit() else f"9;{text}"]  # "4;" would be a progress bar
    elif kind == "osc777":
        parts = [f"777;notify;{title.replace(';', ',')};{body}"]
    else:
        name = f"i=seance-{message.number}"
        parts = [f"99;{name}:d=0:p=title;{title}", f"99;{name}:d=1:p=body;{body}"]
    whole = "".join(f"{_ESCAPE}]{part}{_END}" for part in parts)
    return f"{_ESCAPE}Ptmux;{whole.replace(_ESCAPE, _ESCAPE * 2)}{_END}" if tmux else whole
