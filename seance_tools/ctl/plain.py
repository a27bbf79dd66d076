"""Commands that are a method and no more: made from the method's row, options and all."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import click

from seance_tools.ctl.output import print_fields, print_json
from seance_tools.ctl.program import Session, caller, offer
from seance_tools.ctl.table import SILENT, Entry, flag
from seance_tools.methods import BY_NAME, REQUIRED, Method, Param

_TYPES: dict[str, click.ParamType[Any]] = {"integer": click.INT, "number": click.FLOAT}


def _option(param: Param) -> click.Option:
    spellings = [flag(name) for name in (param.name, *param.aliases)]
    if param.type == "boolean":
        if param.default is False:
            return click.Option([*spellings, param.name], is_flag=True, default=None, help=param.help)
        spellings[0] += f"/--no-{spellings[0][2:]}"
        return click.Option([*spellings, param.name], is_flag=True, default=None, help=param.help)
    if "|" in param.type:
        return click.Option(
            [*spellings, param.name], type=click.Choice(param.type.split("|")), help=param.help
        )
    metavar = "N" if param.type in _TYPES else "TEXT"
    return click.Option(
        [*spellings, param.name],
        type=_TYPES.get(param.type, click.STRING),
        metavar=metavar,
        help=param.help,
        shell_complete=offer(param.name),
    )


def _argument(param: Param) -> click.Argument:
    kind = _TYPES.get(param.type, click.STRING)
    metavar = param.name.removesuffix("_id").upper()
    return click.Argument(
        [f"given_{param.name}"],
        type=kind,
        required=False,
        metavar=f"[{metavar}]",
        shell_complete=offer(param.name),
    )


def command_for(name: str, entry: Entry) -> click.Command:
    """Return the click command of a row: each parameter an option, some also by position."""
    method = BY_NAME[entry.method]
    shown = [param for param in method.params if param.name not in SILENT and param.name not in entry.fixed]
    by_name = {param.name: param for param in shown}
    params: list[click.Parameter] = [_argument(by_name[argument]) for argument in entry.arguments]
    params += [_option(param) for param in shown]
    params.append(
        click.Option(["--json", "json_too"], is_flag=True, help="Print one JSON document instead of text.")
    )

    def run(ctx: click.Context, /, **given: Any) -> None:
        session: Session = ctx.obj
        result = session.request(method.name, **_parameters(session, method, entry, given))
        printer = _printer(name, entry)
        if session.json_wanted or given["json_too"]:
            print_json(result)
        elif printer:
            printer(result)
        else:
            print_fields(result)

    return click.Command(
        name,
        params=params,
        callback=click.pass_context(run),
        help=entry.summary or method.help,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _printer(name: str, entry: Entry) -> Callable[[dict[str, Any]], None] | None:
    if not entry.module:
        return None
    module = importlib.import_module(f"seance_tools.ctl.{entry.module}")
    printer: Callable[[dict[str, Any]], None] = getattr(module, "print_" + name.replace("-", "_"))
    return printer


def _parameters(session: Session, method: Method, entry: Entry, given: dict[str, Any]) -> dict[str, Any]:
    """Return a method's parameters: given ones, fixed ones, global ids, and who calls."""
    params = {**entry.fixed}
    for param in method.params:
        value = given.get(f"given_{param.name}")
        if value is None:
            value = given.get(param.name)
        if value is None:
            value = session.ids.get(param.name)
        if value is not None:
            params[param.name] = value
    known = {param.name for param in method.params}
    if "env" in known and not {"workspace_id", "surface_id"} & set(params):
        params = {**{key: value for key, value in caller().items() if key in known}, **params}
    missing = [p.name for p in method.params if p.default is REQUIRED and p.name not in params]
    others = [name for name in missing if name != "workspace_id"]
    if others:
        raise click.UsageError(f"{others[0].removesuffix('_id')} is needed; see --help")
    if missing:
        params["workspace_id"] = _own_workspace(session)
    return params


def _own_workspace(session: Session) -> int:
    found = session.request("system.identify", **caller())["caller"]
    if not found:
        raise click.UsageError(
            "which workspace? Name one with --workspace; nothing was reported from this pane yet"
        )
    return int(found["workspace_id"])
