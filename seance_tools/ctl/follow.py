"""Commands that go on: watch and wait."""

from __future__ import annotations

import json
import time
from typing import Any

import click
from click.shell_completion import CompletionItem

from seance_tools import names
from seance_tools.ctl.output import print_json, print_line
from seance_tools.ctl.program import SECONDS, Session, caller
from seance_tools.methods import STATES
from seance_tools.state.tables import TOPICS
from seance_tools.wire import WireError


def sentence(event: dict[str, Any]) -> str:
    """Return one change as a line for people."""
    row = event.get("data", {})
    kind, _, verb = str(event["event"]).partition(".")
    where = f"workspace {row['workspace_id']}" if "workspace_id" in row else ""
    what = row.get("key") or row.get("session") or row.get("title") or row.get("id") or ""
    value = row.get("value") or row.get("text") or row.get("message") or ""
    parts = [time.strftime("%H:%M:%S"), kind, verb, str(what), str(value), where]
    return "  ".join(part for part in parts if part)


@click.command()
@click.option(
    "--topic", "topics", multiple=True, type=click.Choice(TOPICS), help="Only changes of this kind of row."
)
@click.option("--json", "json_wanted", is_flag=True, help="Print one JSON document a line.")
@click.pass_obj
def watch(session: Session, topics: tuple[str, ...], *, json_wanted: bool) -> None:
    """Print every change as it happens, until interrupted."""
    json_wanted = json_wanted or session.json_wanted
    with session.connect() as connection:
        first = connection.subscribe({"topics": list(topics)} if topics else {})
        if json_wanted:
            click.echo(json.dumps(first))
        for event in connection.events():
            if json_wanted:
                click.echo(json.dumps(event))
            else:
                print_line(sentence(event))


def _offer_states(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    before, comma, last = begun.rpartition(",")
    return [CompletionItem(before + comma + state) for state in STATES if state.startswith(last)]


@click.command()
@click.argument("wanted", metavar="[SESSION]", required=False)
@click.option("--session", "wanted_too", metavar="TEXT", help="Key of the session, as `agents` shows it.")
@click.option("--agent", metavar="TEXT", help="Any session of this agent.")
@click.option("--surface", type=int, metavar="N", help="Any session of this surface.")
@click.option("--workspace", type=int, metavar="N", help="Any session of this workspace.")
@click.option(
    "--until",
    shell_complete=_offer_states,
    default="idle,needs_input",
    metavar="STATES",
    help="States, comma-separated; any will do.",
)
@click.option("--timeout", type=SECONDS, metavar="SECONDS", help="Give up after so long; default: never.")
@click.pass_context
def wait(ctx: click.Context, /, wanted: str | None, wanted_too: str | None, until: str, **given: Any) -> None:
    """Wait until an agent is in one of some states; at once if it is already.

    Exit codes: 0 it is, 1 there is no such agent, 4 the time is over, 5 the agent ended.
    """
    session: Session = ctx.obj
    states = [state for state in until.split(",") if state]
    wrong = [state for state in states if state not in STATES]
    if wrong or not states:
        raise click.UsageError(
            f"--until: {wrong[0] if wrong else 'empty'}: must be some of {', '.join(STATES)}"
        )
    params = {
        "session": wanted or wanted_too,
        "agent": given["agent"],
        "surface_id": session.ids["surface_id"] if given["surface"] is None else given["surface"],
        "workspace_id": session.ids["workspace_id"] if given["workspace"] is None else given["workspace"],
    }
    params = {name: value for name, value in params.items() if value is not None}
    with session.connect() as connection:
        params = params or _own_surface(connection.request("system.identify", caller()))
        timeout = given["timeout"]  # the broker tells when it is over, unless it hangs
        connection.timeout = None if timeout is None else timeout + session.timeout
        result = connection.request("agent.wait", {**params, "states": states, "timeout": given["timeout"]})
    if session.json_wanted:
        print_json(result)
    ctx.exit(
        {"reached": names.EXIT_OK, "timeout": names.EXIT_TIMEOUT, "ended": names.EXIT_ENDED}[
            result["outcome"]
        ]
    )


def _own_surface(identity: dict[str, Any]) -> dict[str, int]:
    found = identity["caller"]
    if not found:
        raise WireError("not_found", "which agent? Name a session, --agent or --surface")
    return {"surface_id": found["surface_id"]}
