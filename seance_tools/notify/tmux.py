"""tmux's own means: a message in the status line, and an option of the pane that a format can show.

Nothing is ever written into a pane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seance_tools.notify import Message

UNREAD = "@seance-unread"  # the option of a pane: how many notifications of it are unread; unset for none
SEPARATOR = "\x1f"
_FIELDS = ("#{client_tty}", "#{pane_id}", "#{client_control_mode}", "#{display-time}")
CLIENTS = ("list-clients", "-F", SEPARATOR.join(_FIELDS))


def literal(text: str) -> str:
    """Return a clean text so that tmux shows it as it is: no format, command or time in it is expanded."""
    return text.replace("%", "%%").replace("#", "##")


def message_commands(message: Message, clients: str, pane: str) -> list[list[str]]:
    """Return the commands that show a message to whoever does not look at `pane`, one a client.

    clients: what CLIENTS printed. pane: tmux's name, "" for a notification of none.

    While a message stands there, for its own `display-time`, tmux draws nothing else on a client. With that
    at 0 it would be until a key is pressed: such a client gets none.
    """
    text = literal(f"{message.title}: {message.body}" if message.body else message.title)
    commands = []
    for line in clients.replace("\\037", SEPARATOR).splitlines():
        fields = line.split(SEPARATOR)
        terminal, shown, control, display_time = fields if len(fields) == len(_FIELDS) else ("", "", "", "")
        if terminal and control != "1" and display_time != "0" and not (pane and shown == pane):
            commands.append(["display-message", "-c", terminal, "--", text])
    return commands


def flag_command(counts: Mapping[str, int]) -> Sequence[str]:
    """Return the command that tells tmux how many notifications of each pane are unread."""
    words: list[str] = []
    for pane, count in counts.items():
        change = ("-p", "-t", pane, UNREAD, str(count)) if count else ("-p", "-u", "-t", pane, UNREAD)
        words += ["set-option", "-q", *change, ";"]
    return words[:-1]
