"""seance-ctl statusline, for help, completion and the global options; `segment` does it."""

from __future__ import annotations

import click

from seance_tools.ctl import segment
from seance_tools.ctl.program import Session


@click.command()
@click.option(
    "--format", "form", default="text", metavar="FORM", help="text, tmux, or a text with {running}."
)
@click.option("--ascii", "plain", is_flag=True, help="ASCII characters only.")
@click.pass_context
def statusline(ctx: click.Context, /, form: str, *, plain: bool) -> None:
    """Print how many agents are in each state, for a status line or a prompt.

    It prints nothing and exits 3 where no broker runs, and never waits longer than 0.3 seconds. FORM is
    text (the default), tmux (with tmux's colours), or a text in which {needs_input}, {error}, {running},
    {background}, {idle} and {unknown} are replaced.
    """
    session: Session = ctx.obj
    ctx.exit(segment.show(session.path, form, plain))
