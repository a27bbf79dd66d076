"""How the results of methods are printed: a function `print_` and the command's name each."""

from __future__ import annotations

import time
from typing import Any

import click

from seance_tools.ages import age
from seance_tools.ctl.output import paint, print_fields, print_line, print_table
from seance_tools.text import clean

Result = dict[str, Any]


def _when(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))


def print_ping(result: Result) -> None:
    """Print the answer to a ping."""
    click.echo("pong" if result.get("pong") else "no pong")


def print_capabilities(result: Result) -> None:
    """Print the methods, one a line."""
    for name in result["methods"]:
        print_line(name)


def print_identify(result: Result) -> None:
    """Print which workspace and surface the caller is."""
    found = result["caller"]
    if found is None:
        click.echo("unknown: nothing was reported from this pane yet")
    else:
        click.echo(f"workspace {found['workspace_id']}  surface {found['surface_id']}")


def print_list_workspaces(result: Result) -> None:
    """Print the workspaces; `*` marks the selected one."""
    rows = [
        ("*" if row["active"] else "", row["id"], row["title"], row["agents"] or "", row["unread"] or "")
        for row in result["workspaces"]
    ]
    print_table(("", "ID", "TITLE", "AGENTS", "UNREAD"), rows)


def print_current_workspace(result: Result) -> None:
    """Print the selected workspace."""
    row = result["workspace"]
    if row is None:
        click.echo("none")
    else:
        click.echo(f"{row['id']}\t{clean(row['title'])}")


def _branch(row: Result) -> str:
    """Return a branch with * where there are changes, ? where that is not known."""
    mark = "?" if row["dirty"] is None else "*" if row["dirty"] else ""
    return f"{row['branch']}{mark}" if row["branch"] else ""


def print_list_surfaces(result: Result) -> None:
    """Print the surfaces."""
    rows = [
        (
            "*" if row["focused"] else "",
            row["id"],
            row["workspace_id"],
            row["cwd"],
            _branch(row),
            row["title"],
        )
        for row in result["surfaces"]
    ]
    print_table(("", "ID", "WORKSPACE", "DIRECTORY", "BRANCH", "TITLE"), rows)


def print_read_screen(result: Result) -> None:
    """Print what a surface shows, line by line."""
    for line in result["text"].split("\n"):
        print_line(line)


def print_surface_health(result: Result) -> None:
    """Print what is known of the surfaces."""
    rows = [
        (
            row["id"],
            row["terminal"] or "unknown",
            "yes" if row["focusable"] else "no",
            row["shell_state"],
            row["agents"],
        )
        for row in result["surfaces"]
    ]
    print_table(("ID", "TERMINAL", "FOCUSABLE", "SHELL", "AGENTS"), rows)


def print_list_notifications(result: Result) -> None:
    """Print the notifications, newest first; `•` marks those not read."""
    now = time.time()
    rows = [
        (
            "" if row["read"] else "•",
            row["id"],
            row["workspace_id"],
            age(row["created_at"], now),
            row["title"],
            " ".join(text for text in (row["subtitle"], row["body"]) if text),
        )
        for row in result["notifications"]
    ]
    print_table(("", "ID", "WORKSPACE", "AGE", "TITLE", "TEXT"), rows)


def print_agents(result: Result) -> None:
    """Print the agents' sessions."""
    now = time.time()
    agents = result["agents"]
    rows = [
        (
            row["session"],
            row["display_name"],
            row["workspace_id"],
            row["surface_id"],
            row["state"],
            age(row["since"], now),
            ("~" if row["inferred"] else "") + row["text"],
        )
        for row in agents
    ]
    head = ("SESSION", "AGENT", "WORKSPACE", "SURFACE", "STATE", "AGE", "TEXT")
    print_table(head, rows, [row["state"] for row in agents])


def print_explain(result: Result) -> None:
    """Print why each session is shown in its state."""
    for row in result["agents"]:
        why = row["explanation"]
        click.echo(f"{clean(row['session'])}: {paint(row['state'], row['state'])}, {clean(row['text'])}")
        print_line(f"  because of: {why['rule']}")
        print_line(f"  told by: {why['source']}{', inferred' if why['inferred'] else ''}")
        print_line(
            f"  told {age(0, why['age_seconds'])} ago, in this state for {age(0, why['in_state_seconds'])}"
        )
        for state, ways in why["would_change"].items():
            print_line(f"  {state} after: {', '.join(ways)}")


def print_history(result: Result) -> None:
    """Print the transitions of the agents' states, oldest first."""
    lines = result["transitions"]
    rows = [
        (
            _when(line["at"]),
            line["session"],
            line["before"] or "-",
            "" if line["seconds"] is None else age(0, line["seconds"]),
            line["state"] or "ended",
            line["text"],
        )
        for line in lines
    ]
    print_table(("WHEN", "SESSION", "FROM", "LASTED", "TO", "TEXT"), rows, [line["state"] for line in lines])


def print_health(result: Result) -> None:
    """Print how the broker is."""
    simple = {name: result[name] for name in ("status", "pid", "version", "protocol", "uptime_seconds")}
    print_fields(simple)
    for group in ("counters", "rows"):
        print_line(f"{group}: " + ", ".join(f"{name} {value}" for name, value in result[group].items()))
    print_line(f"store: {result['store']['path']}")
    for warning in result["warnings"]:
        print_line(f"warning: {warning}")


def print_tree(result: Result) -> None:
    """Print workspaces with their agents, log, progress and surfaces."""
    now = time.time()
    for window in result["windows"]:
        for row in window["workspaces"]:
            unread = f"  ({row['unread']} unread)" if row["unread"] else ""
            print_line(f"{'*' if row['active'] else ' '} {row['id']:>4}  {row['title']}{unread}")
            for status in row["status"]:
                mark = "~" if status["inferred"] else ""
                text = f"{status['display_name']}: {mark}{status['value']}  {age(status['since'], now)}"
                click.echo("        " + paint(clean(text), status["state"]))
            for line in _details(row):
                print_line(f"        {line}")


def _details(row: Result) -> list[str]:
    lines = []
    if row["subagent_count"] or row["background_count"]:
        lines.append(f"sub-agents {row['subagent_count']}, background {row['background_count']}")
    if row["log"]:
        lines.append(f"{row['log'][-1]['level']}: {row['log'][-1]['message']}")
    if row["progress"]["active"]:
        lines.append(f"{row['progress']['value']:.0%} {row['progress']['label']}".rstrip())
    for group in row["pane_groups"]:
        for surface in group["surfaces"]:
            branch = f" ({_branch(surface)})" if surface["branch"] else ""
            lines.append(f"surface {surface['id']}  {surface['cwd']}{branch}".rstrip())
    return lines
