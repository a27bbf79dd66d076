"""The seance-ctl program: its commands, its global options, and the one place that catches errors."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from seance_tools import __version__, client, names
from seance_tools.agents import AGENTS
from seance_tools.methods import METHODS
from seance_tools.wire import WireError

PROGRAM = "seance-ctl"

# command: (module of this package, summary). The function has the command's name, with underscores.
COMMANDS = {
    "identify": ("show", "Tell which surface and workspace this pane is."),
    "list-workspaces": ("show", "List the workspaces in their order."),
    "ping": ("show", "Ask the broker whether it lives."),
    "tree": ("show", "Show everything: workspaces, surfaces, agents and their states."),
    "watch": ("follow", "Print every change as it happens."),
}
ROUTES = """\b
Besides these, on the fast way that hooks take:
  seance-ctl AGENT-hook EVENT  <<EOF … EOF   report an event; any agent's name will do
  seance-ctl METHOD            <<EOF … EOF   call a method, its parameters as JSON on stdin
"""


class Session:
    """What the commands share: global options, the connection, how to print."""

    def __init__(self, path: str, timeout: float, *, json_wanted: bool) -> None:
        self.path = path
        self.timeout = timeout
        self.json_wanted = json_wanted

    def connect(self) -> client.Connection:
        """Return a connection to the broker, started if none runs. Raises NoBroker, TimeoutError."""
        return client.open_connection(self.path, self.timeout)

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result of one method. Raises NoBroker, TimeoutError, WireError."""
        with self.connect() as connection:
            return connection.request(method, {k: v for k, v in params.items() if v is not None})


class Commands(click.Group):
    """The commands of COMMANDS; help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands' names."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, loading its module."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"seance_tools.ctl.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands from COMMANDS."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.command(cls=Commands, epilog=ROUTES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--socket", "path", metavar="PATH", help="Path of the broker's socket.")
@click.option("--json", "json_wanted", is_flag=True, help="Print one JSON document instead of text.")
@click.option("--timeout", type=float, default=names.DEFAULT_TIMEOUT, help="Seconds to wait for an answer.")
@click.version_option(__version__, prog_name=PROGRAM)
@click.pass_context
def seance_ctl(ctx: click.Context, path: str | None, timeout: float, *, json_wanted: bool) -> None:
    """Ask and tell the broker of Séance Tools what the agents on this machine are doing."""
    ctx.obj = Session(path or names.socket_path(os.environ), timeout, json_wanted=json_wanted)


def known_words() -> list[str]:
    """Return every first word that seance-ctl takes: commands, hooks of known agents, methods."""
    hooks = [f"{agent.key}-hook" for agent in AGENTS]
    return sorted([*COMMANDS, *hooks, *(name for row in METHODS for name in (row.name, *row.aliases))])


def run() -> None:
    """Run the program and exit: errors become one line and an exit code here and nowhere else."""
    sys.exit(_guarded())


def _guarded() -> int:
    if sys.stdout is None:
        names.complain(PROGRAM, "standard output is closed")
        return names.EXIT_REFUSED
    try:
        seance_ctl.main(prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.UsageError, ValueError) as error:
        message = error.format_message() if isinstance(error, click.ClickException) else error
        names.complain(PROGRAM, message)
        return names.EXIT_USAGE
    except WireError as error:
        names.complain(PROGRAM, error.message)
        return names.EXIT_REFUSED
    except TimeoutError:
        names.complain(PROGRAM, "the broker does not answer in time")
        return names.EXIT_TIMEOUT
    except BrokenPipeError:
        _drop_output()  # `| head -1` has all it wanted
        return names.EXIT_OK
    except (client.NoBroker, ConnectionError) as error:
        names.complain(PROGRAM, error)
        return names.EXIT_NO_BROKER
    except (click.Abort, KeyboardInterrupt):
        return 130
    except OSError as error:
        _drop_output()
        names.complain(PROGRAM, f"cannot write: {error.strerror}")
        return names.EXIT_REFUSED
    return names.EXIT_OK


def _drop_output() -> None:
    """Send what Python still wants to write at its end to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
