"""Commands that go on: watch."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from seance_tools.ctl.program import Session
from seance_tools.text import clean


def sentence(event: dict[str, Any]) -> str:
    """Return one change as a line for people."""
    row = event.get("data", {})
    kind, _, verb = str(event["event"]).partition(".")
    where = f"workspace {row['workspace_id']}" if "workspace_id" in row else ""
    what = row.get("key") or row.get("session") or row.get("title") or row.get("id") or ""
    value = row.get("value") or row.get("text") or row.get("message") or ""
    parts = [time.strftime("%H:%M:%S"), kind, verb, str(what), str(value), where]
    return clean("  ".join(part for part in parts if part))


@click.command()
@click.option("--topic", "topics", multiple=True, help="Only changes of this kind of row; may be repeated.")
@click.option("--json", "json_wanted", is_flag=True, help="Print one JSON document a line.")
@click.pass_obj
def watch(session: Session, topics: tuple[str, ...], *, json_wanted: bool) -> None:
    """Print every change as it happens, until interrupted."""
    with session.connect() as connection:
        first = connection.subscribe({"topics": list(topics)} if topics else {})
        if json_wanted or session.json_wanted:
            click.echo(json.dumps(first))
        for event in connection.events():
            click.echo(json.dumps(event) if json_wanted or session.json_wanted else sentence(event))
