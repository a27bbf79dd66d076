"""seance-ctl adopt: show agents that were started without their wrapper."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import click

from seance_tools import names
from seance_tools.ctl.program import PROGRAM, Session

WRAPPER = "codebuff-wrapper"


@click.command()
@click.option("--surface", type=int, metavar="N", help="Only in this surface.")
@click.option("--agent", metavar="NAME", help="Only this agent.")
@click.pass_context
def adopt(ctx: click.Context, /, surface: int | None, agent: str | None) -> None:
    """Show agents that were started without their wrapper, by the logs they have open.

    Prints one line for each that was found; exit 1 where there is none.
    """
    session: Session = ctx.obj
    surface = session.ids["surface_id"] if surface is None else surface
    place = "all"
    if surface is not None:
        rows = session.request("surface.list")["surfaces"]
        place = next((row["place"] for row in rows if row["id"] == surface), "")
        if not place:
            names.complain(PROGRAM, f"surface {surface} is not known, or has no terminal")
            ctx.exit(names.EXIT_REFUSED)
    program = shutil.which(os.path.join(os.path.dirname(sys.argv[0]), WRAPPER)) or shutil.which(WRAPPER)
    if program is None:
        names.complain(PROGRAM, f"{WRAPPER}: not found")
        ctx.exit(names.EXIT_REFUSED)
    environ = {name: value for name, value in os.environ.items() if name != "SEANCE_COMMAND"}
    environ["SEANCE_SOCKET_PATH"] = session.path
    command = [program, "--attach", place, *(["--agent", agent] if agent else [])]
    ctx.exit(subprocess.run(command, env=environ, check=False).returncode)
