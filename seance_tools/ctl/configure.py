"""seance-ctl config: check, path, get, set."""

from __future__ import annotations

import json
import os
import tomllib
from typing import Any

import click
from click.shell_completion import CompletionItem

from seance_tools import config as file
from seance_tools import names
from seance_tools.ctl.output import print_json, print_line, print_table
from seance_tools.ctl.program import PROGRAM, Session
from seance_tools.methods import closest
from seance_tools.options import BY_KEY, Option


def _offer_keys(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(key, help=BY_KEY[key].help) for key in BY_KEY if key.startswith(begun)]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def config() -> None:
    """Look at config.toml, and change it without touching the rest of it."""


@config.command()
def path() -> None:
    """Print where config.toml is looked for."""
    click.echo(names.config_path(os.environ))


@config.command()
@click.pass_context
def check(ctx: click.Context, /) -> None:
    """Say what is wrong with config.toml, by key and line; exit 1 if anything is."""
    options = file.read(os.environ)
    for problem in (*options.problems, *options.unknown):
        names.complain(PROGRAM, problem)
    if options.problems or options.unknown:
        ctx.exit(names.EXIT_REFUSED)


def _known(key: str) -> Option:
    if key not in BY_KEY:
        raise click.UsageError(f"no key {key}{closest(key, BY_KEY)}")
    return BY_KEY[key]


@config.command()
@click.argument("key", required=False, shell_complete=_offer_keys)
@click.pass_obj
def get(session: Session, key: str | None) -> None:
    """Print what the file says of a key, or its default; without a key, all of them."""
    values = file.read(os.environ).values
    if key is None:
        if session.json_wanted:
            print_json(values)
        else:
            print_table(("KEY", "VALUE"), [(name, json.dumps(values[name])) for name in sorted(values)])
        return
    value = values[_known(key).key]
    print_json(value) if session.json_wanted else print_line(_plain(value))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _read_value(option: Option, text: str) -> Any:
    """Return a value as TOML would read it; a bare word counts as a string. Raises UsageError."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    if option.type == "string" and not isinstance(value, str):
        value = text
    try:
        return option.check(value)
    except ValueError as error:
        raise click.UsageError(f"{option.key}: {error}") from None


@config.command(name="set")
@click.argument("key", shell_complete=_offer_keys)
@click.argument("value")
def set_(key: str, value: str) -> None:
    """Set a key; comments, order and form of the rest of the file stay."""
    option = _known(key)
    file.write(os.environ, key, _read_value(option, value))
