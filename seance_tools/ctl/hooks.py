"""seance-ctl install, uninstall and hooks: what the agents load to report to us."""

from __future__ import annotations

import difflib
import os

import click
from click.shell_completion import CompletionItem

from seance_tools import names
from seance_tools.agents import AGENTS, BY_KEY, Agent
from seance_tools.ctl.output import print_json, print_line, print_table
from seance_tools.ctl.program import PROGRAM, Session
from seance_tools.install import plan
from seance_tools.install.files import BACKUP
from seance_tools.install.plan import Change, Refused
from seance_tools.install.status import look
from seance_tools.methods import closest

_INSTALLABLE = {agent.key: agent for agent in AGENTS if agent.install}


def _offer(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(key, help=a.name) for key, a in _INSTALLABLE.items() if key.startswith(begun)]


def _chosen(given: tuple[str, ...], *, every: bool = False) -> list[Agent]:
    """Return the rows of the agents that were named. Raises UsageError."""
    if given and every:
        raise click.UsageError("name agents or --all, not both")
    for key in given:
        if key in BY_KEY and key not in _INSTALLABLE:
            raise click.UsageError(f"{BY_KEY[key].name} has no hooks: its wrapper watches its session log")
        if key not in _INSTALLABLE:
            raise click.UsageError(f"no agent {key}{closest(key, _INSTALLABLE)}")
    return [_INSTALLABLE[key] for key in given]


@click.command()
@click.argument("agents", nargs=-1, metavar="[AGENT]...", shell_complete=_offer)
@click.option("--all", "every", is_flag=True, help="All agents, whether they are on this machine or not.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.pass_context
def install(ctx: click.Context, /, agents: tuple[str, ...], *, every: bool, dry_run: bool) -> None:
    """Let agents report by their own hooks; without a name, those that are on this machine.

    Changes only entries of our own; the rest of each file stays. Exit 1 where a file was refused.
    """
    chosen = _chosen(agents, every=every)
    if not agents:
        rows = _INSTALLABLE.values()
        chosen = [agent for agent in rows if every or plan.is_there(agent, os.environ)]
    if not chosen:
        names.complain(PROGRAM, "no agent with hooks is on this machine; name one, or --all")
        ctx.exit(names.EXIT_REFUSED)
    done = [agent for agent in chosen if _change(agent, install=True, dry_run=dry_run)]
    for agent in done if not dry_run else ():
        for problem in look(agent, os.environ).problems:
            names.complain(PROGRAM, f"{agent.name}: {problem}")
    if done != chosen:
        ctx.exit(names.EXIT_REFUSED)


@click.command()
@click.argument("agents", nargs=-1, metavar="[AGENT]...", shell_complete=_offer)
@click.option("--all", "every", is_flag=True, help="All agents, as without a name.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.pass_context
def uninstall(ctx: click.Context, /, agents: tuple[str, ...], *, every: bool, dry_run: bool) -> None:
    """Take our hooks out of the agents' files again; without a name, out of all.

    A file that nobody else changed is again what it was. Exit 1 where a file was refused.
    """
    chosen = _chosen(agents, every=every) or list(_INSTALLABLE.values())
    done = [agent for agent in chosen if _change(agent, install=False, dry_run=dry_run)]
    if done != chosen:
        ctx.exit(names.EXIT_REFUSED)


def _change(agent: Agent, *, install: bool, dry_run: bool) -> bool:
    """Change an agent's files and say what was done; return whether nothing was refused."""
    try:
        changes = plan.changes(agent, os.environ, install=install)
        for change in changes:
            if dry_run:
                plan.check(change)
                _show(change)
            else:
                plan.carry_out(change)
                print_line(f"{agent.name}: {_deed(change)}")
    except Refused as error:
        names.complain(PROGRAM, f"{agent.name}: {error}")
        return False
    if not changes and install:
        print_line(f"{agent.name}: nothing to do")
    return True


def _deed(change: Change) -> str:
    if change.before == change.after:
        return f"removed {change.path}{BACKUP}"
    if change.before is None:
        return f"made {change.path}"
    return f"{'removed' if change.after is None else 'changed'} {change.path}"


def _show(change: Change) -> None:
    before, after = change.before, change.after
    if before == after:
        print_line(f"# {_deed(change)}")  # what reads patches goes past it
    old, new = (change.path if text is not None else os.devnull for text in (before, after))
    lines, wanted = ((text or "").splitlines() for text in (before, after))
    for line in difflib.unified_diff(lines, wanted, old, new, lineterm=""):
        print_line(line)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def hooks() -> None:
    """Look at the agents' hooks: status."""


@hooks.command()
@click.argument("agents", nargs=-1, metavar="[AGENT]...", shell_complete=_offer)
@click.option("--json", "json_too", is_flag=True, help="Print one JSON document instead of text.")
@click.pass_context
def status(ctx: click.Context, /, agents: tuple[str, ...], *, json_too: bool) -> None:
    """Tell which hooks are installed, and what keeps them from reporting; exit 1 if anything does."""
    session: Session = ctx.obj
    try:
        rows = [look(agent, os.environ) for agent in _chosen(agents) or _INSTALLABLE.values()]
    except Refused as error:
        names.complain(PROGRAM, error)
        ctx.exit(names.EXIT_REFUSED)
    if session.json_wanted or json_too:
        print_json([{**row._asdict(), "problems": list(row.problems)} for row in rows])
    else:
        shown = [
            (
                row.agent,
                "" if row.there else "not here",
                f"{row.state} {row.version}".rstrip(),
                "; ".join(row.problems) or row.path,
            )
            for row in rows
            if agents or row.there or row.state != "missing"
        ]
        print_table(("AGENT", "", "HOOKS", ""), shown)
    if any(row.problems for row in rows):
        ctx.exit(names.EXIT_REFUSED)
