"""Completion on the command line, with live values from the broker if one answers at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from seance_tools import client, names
from seance_tools.agents import AGENTS
from seance_tools.lifecycle import TRANSITIONS
from seance_tools.methods import BY_NAME, REQUIRED, find
from seance_tools.wire import WireError

PATIENCE = 0.3  # seconds; a person who pressed Tab waits
VARIABLE = "_SEANCE_CTL_COMPLETE"
SHELLS = ("bash", "fish", "zsh")

EVENTS = list(TRANSITIONS)

Items = list[tuple[str, str]]


def _ask(method: str) -> dict[str, Any]:
    try:
        path = names.socket_path(os.environ)
        with client.Connection(path, PATIENCE) as connection:
            return connection.request(method)
    except (client.NoBroker, ConnectionError, TimeoutError, ValueError, WireError):
        return {}  # nothing to offer; the command itself will say what is wrong


def _workspaces() -> Items:
    return [(str(row["id"]), row["title"]) for row in _ask("workspace.list").get("workspaces", ())]


def _surfaces() -> Items:
    return [(str(row["id"]), row["cwd"] or row["title"]) for row in _ask("surface.list").get("surfaces", ())]


def _sessions() -> Items:
    rows = _ask("agent.list").get("agents", ())
    return [(row["session"], f"{row['display_name']}: {row['text']}") for row in rows]


def _statuses() -> Items:
    shown = _ask("system.tree").get("windows", ())
    rows = [row for window in shown for workspace in window["workspaces"] for row in workspace["status"]]
    return [(row["key"], row["value"]) for row in rows]


def _agents() -> Items:
    return [(agent.key, agent.name) for agent in AGENTS]


def _states() -> Items:
    return [("prompt", "the shell waits"), ("running", "it runs something")]


_LIVE: dict[str, Callable[[], Items]] = {
    "workspace_id": _workspaces,
    "before": _workspaces,
    "after": _workspaces,
    "surface_id": _surfaces,
    "session": _sessions,
    "agent": _agents,
    "key": _statuses,
    "state": _states,
}


def completer(parameter: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]] | None:
    """Return click's completer for a parameter of a method, or None where there is nothing to offer."""
    source = _LIVE.get(parameter)
    if source is None:
        return None

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(value, help=text) for value, text in source() if value.startswith(begun)]

    return complete


def words(begun: str) -> list[CompletionItem]:
    """Return the first words besides commands: methods by their names, hooks of the known agents."""
    found = [(name, row.help) for name, row in BY_NAME.items()] if "." in begun else []
    found += [(f"{agent.key}-hook", f"Report an event of {agent.name}.") for agent in AGENTS]
    return [CompletionItem(word, help=text) for word, text in found if word.startswith(begun)]


def fast_command(name: str) -> click.Command:
    """Return a stand-in for a hook or method, which the fast way does: for its help and completion."""
    options: list[click.Parameter] = [
        click.Option(["--workspace"], type=int, metavar="N", shell_complete=completer("workspace_id")),
        click.Option(["--surface"], type=int, metavar="N", shell_complete=completer("surface_id")),
    ]
    if name.endswith("-hook"):
        text = f"Report an event of {name.removesuffix('-hook')}; a JSON object on standard input tells more."
        return click.Command(
            name, params=[click.Argument(["event"], type=click.Choice(EVENTS)), *options], help=text
        )
    method = find(name)
    rows = [
        f"  {p.name} ({p.type}{', required' if p.default is REQUIRED else ''}): {p.help}"
        for p in method.params
    ]
    told = "\n".join(["\b", "Its parameters are a JSON object on standard input:", *rows]) if rows else ""
    return click.Command(name, params=options, help=f"{method.help}\n\n{told}")


def source(shell: str) -> str:
    """Return the completion script of a shell."""
    from seance_tools.ctl.program import PROGRAM, seance_ctl

    kind = get_completion_class(shell)
    assert kind  # SHELLS are click's own
    return kind(seance_ctl, {}, PROGRAM, VARIABLE).source().strip() + "\n"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completions(shell: str) -> None:
    """Print the completions of a shell, to be sourced or put where it looks for them."""
    click.echo(source(shell), nl=False)
