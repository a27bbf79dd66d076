"""The seance-ctl program: its global options, and the one place that catches errors."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from seance_tools import __version__, client, fast, names
from seance_tools.ctl.table import COMMANDS
from seance_tools.methods import BY_NAME, closest
from seance_tools.wire import WireError

PROGRAM = "seance-ctl"


class _Seconds(click.FloatRange):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a number in the range; click lets `nan` pass."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is not a number", param, ctx)
        return number


SECONDS = _Seconds(0, names.LONGEST_TIMEOUT, min_open=True)
ROUTES = """\b
Besides these, on the fast way that hooks take:
  seance-ctl AGENT-hook EVENT  <<EOF … EOF   report an event; any agent's name will do
  seance-ctl METHOD            <<EOF … EOF   call a method, its parameters as JSON on stdin
"""


class Session:
    """What the commands share: global options, the connection, how to print."""

    def __init__(self, path: str, timeout: float, *, json_wanted: bool, ids: dict[str, int | None]) -> None:
        self.path = path
        self.timeout = timeout
        self.json_wanted = json_wanted
        self.ids = ids

    def connect(self, timeout: float | None = None, *, autostart: bool = True) -> client.Connection:
        """Return a connection to the broker, started if none runs. Raises NoBroker, TimeoutError."""
        return client.open_connection(
            self.path, self.timeout if timeout is None else timeout, autostart=autostart
        )

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result of one method. Raises NoBroker, TimeoutError, WireError."""
        with self.connect() as connection:
            return connection.request(method, {k: v for k, v in params.items() if v is not None})


def caller() -> dict[str, Any]:
    """Return the parameters that tell the broker the pane this runs in."""
    import ujson

    members: dict[str, Any] = ujson.loads("{" + ",".join(fast.caller_members({}, os.environ)) + "}")
    return members


def offer(parameter: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return a completer for a parameter of a method; its module is loaded only when it is asked."""

    def complete(context: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
        from seance_tools.ctl.complete import completer

        found = completer(parameter)
        return found(context, param, begun) if found else []

    return complete


class Commands(click.Group):
    """The commands of COMMANDS; help and completion load none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands' names."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command: its own function, or one made from its method's row."""
        entry = COMMANDS.get(cmd_name)
        if entry is None and fast.wants([cmd_name]):
            from seance_tools.ctl.complete import fast_command

            return fast_command(cmd_name)
        if entry is None:
            ctx.fail(f"no command {cmd_name}{closest(cmd_name, COMMANDS)}")
        if entry.method:
            from seance_tools.ctl.plain import command_for

            return command_for(cmd_name, entry)
        module = importlib.import_module(f"seance_tools.ctl.{entry.module}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what may follow: options, commands, hooks, and methods once a dot was typed."""
        from seance_tools.ctl.complete import words

        # click's own way would load every command only to see whether it is hidden
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        found = [CompletionItem(name, help=summary(name)) for name in sorted(COMMANDS)]
        return [item for item in found if item.value.startswith(incomplete)] + words(incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table of commands from COMMANDS."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(name)) for name in sorted(COMMANDS)])


def summary(name: str) -> str:
    """Return what a command does, in a line."""
    entry = COMMANDS[name]
    return entry.summary or BY_NAME[entry.method].help


@click.command(cls=Commands, epilog=ROUTES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--socket", "path", metavar="PATH", help="Path of the broker's socket.")
@click.option("--json", "json_wanted", is_flag=True, help="Print one JSON document instead of text.")
@click.option(
    "--workspace",
    type=int,
    metavar="N",
    help="The workspace that the command is about.",
    shell_complete=offer("workspace_id"),
)
@click.option(
    "--surface",
    type=int,
    metavar="N",
    help="The surface that the command is about.",
    shell_complete=offer("surface_id"),
)
@click.option(
    "--timeout",
    type=SECONDS,
    default=names.DEFAULT_TIMEOUT,
    metavar="SECONDS",
    help="How long to wait for an answer.",
)
@click.version_option(__version__, prog_name=PROGRAM)
@click.pass_context
def seance_ctl(
    ctx: click.Context,
    path: str | None,
    timeout: float,
    workspace: int | None,
    surface: int | None,
    *,
    json_wanted: bool,
) -> None:
    """Ask and tell the broker of Séance Tools what the agents on this machine are doing."""
    ids = {"workspace_id": workspace, "surface_id": surface}
    ctx.obj = Session(names.socket_path(os.environ, path or ""), timeout, json_wanted=json_wanted, ids=ids)


def run() -> None:
    """Run the program and exit: errors become one line and an exit code here and nowhere else."""
    code = _guarded()
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(code)  # standard output is flushed; the interpreter's farewell would take 3 ms


def _guarded() -> int:
    if sys.stdout is None:
        names.complain(PROGRAM, "standard output is closed")
        return names.EXIT_REFUSED
    try:
        code = seance_ctl.main(prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return names.EXIT_USAGE
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
    except (BrokenPipeError, SystemExit):  # click leaves by the latter where nobody reads on
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
    return code if isinstance(code, int) else names.EXIT_OK


def _drop_output() -> None:
    """Send what Python still wants to write at its end to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
