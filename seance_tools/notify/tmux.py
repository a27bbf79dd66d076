"""tmux's own means: a message in the status line, and an option of the pane that a format can show.

Nothing is ever written into a pane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seance_tools.notify import Message

UNREAD = "@seance-unread"  # the option of a pane: how many notifications of it are unread; unset for none
SECONDS = 5  # that a message stays, unless a key takes it away before
SEPARATOR = "\x1f"
CLIENTS = ("list-clients", "-F", SEPARATOR.join(("#{client_tty}", "#{pane_id}", "#{client_control_mode}")))


def literal(text: str) -> str:
    """Return a clean text so that tmux shows it as it is: no format, command or time in it is expanded."""
    return text.replace("%", "%%").replace("#", "##")


def message_commands(message: Message, clients: str, pane: str) -> list[list[str]]:
    """Return the commands that show a message to whoever does not look at `pane`, one a client.

    clients: what CLIENTS printed. pane: tmux's name, "" for a notification of none.
    """
    text = literal(f"{message.title}: {message.body}" if message.body else message.title)
    commands = []
    for line in clients.replace("\\037", SEPARATOR).splitlines():
        terminal, shown, control = line.split(SEPARATOR, 2) if line.count(SEPARATOR) == 2 else ("", "", "")
        if terminal and control != "1" and not (pane and shown == pane):
            commands.append(["display-message", "-c", terminal, "-d", str(SECONDS * 1000), "--", text])
    return commands


def flag_command(counts: Mapping[str, int]) -> Sequence[str]:
    """Return the command that tells tmux how many notifications of each pane are unread."""
    words: list[str] = []
    for pane, count in counts.items():
        change = ("-p", "-t", pane, UNREAD, str(count)) if count else ("-p", "-u", "-t", pane, UNREAD)
        words += ["set-option", "-q", *change, ";"]
    return words[:-1]
