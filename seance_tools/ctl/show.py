"""Commands that show: ping, identify, list-workspaces, tree."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import click

from seance_tools import fast
from seance_tools.ctl.program import Session
from seance_tools.text import clean
from seance_tools.view.ages import age


def print_json(value: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def caller(environ: Any = os.environ) -> dict[str, Any]:
    """Return the parameters that tell the broker the pane this runs in."""
    return dict(json.loads("{" + ",".join(fast.caller_members({}, environ)) + "}"))


@click.command()
@click.pass_obj
def ping(session: Session) -> None:
    """Ask the broker whether it lives."""
    result = session.request("system.ping")
    print_json(result) if session.json_wanted else click.echo("pong")


@click.command()
@click.pass_obj
def identify(session: Session) -> None:
    """Tell which surface and workspace this pane is; the broker must have heard of it."""
    result = session.request("system.identify", **caller())
    if session.json_wanted:
        print_json(result)
        return
    found = result["caller"]
    if found is None:
        click.echo("unknown: nothing was reported from this pane yet")
    else:
        click.echo(f"workspace {found['workspace_id']}  surface {found['surface_id']}")


@click.command()
@click.pass_obj
def list_workspaces(session: Session) -> None:
    """List the workspaces in their order; `*` marks the selected one."""
    result = session.request("workspace.list")
    if session.json_wanted:
        print_json(result)
        return
    for row in result["workspaces"]:
        click.echo(f"{'*' if row['active'] else ' '} {row['id']:>4}  {clean(row['title'])}")


@click.command()
@click.pass_obj
def tree(session: Session) -> None:
    """Show everything: workspaces, surfaces, agents and their states."""
    result = session.request("system.tree")
    if session.json_wanted:
        print_json(result)
        return
    for row in result["windows"][0]["workspaces"]:
        click.echo(f"{'*' if row['active'] else ' '} {row['id']:>4}  {clean(row['title'])}")
        for line in _lines(row):
            click.echo(f"        {clean(line)}")


def _lines(row: dict[str, Any]) -> list[str]:
    now = time.time()
    lines = [f"{s['display_name']}: {s['value']}  {age(s['since'], now)}" for s in row["status"]]
    if row["subagent_count"] or row["background_count"]:
        lines.append(f"sub-agents {row['subagent_count']}, background {row['background_count']}")
    if row["log"]:
        lines.append(f"{row['log'][-1]['level']}: {row['log'][-1]['message']}")
    if row["progress"]["active"]:
        lines.append(f"{row['progress']['value']:.0%} {row['progress']['label']}".rstrip())
    return lines
