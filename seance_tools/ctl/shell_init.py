"""seance-ctl shell-init: the line that has a shell source our functions, printed or put into its rc file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import click

from seance_tools import names
from seance_tools.ctl.output import print_line
from seance_tools.ctl.program import PROGRAM
from seance_tools.install import files

SHELLS = ("bash", "zsh", "fish")
MARK = "# seance-tools: see `seance-ctl shell-init`"
LOGIN_FILES = (".bash_profile", ".bash_login", ".profile")  # of them bash reads the first there is
LOGIN_LINE = '[ -z "$BASH_VERSION" ] || . ~/.bashrc'


def source(shell: str) -> str:
    """Return the file that a shell sources. Raises ValueError where it is gone."""
    path = files.shipped(os.path.join("wrappers", f"seance.{shell}"))
    if not path:
        raise ValueError(f"seance.{shell} is gone; install Séance Tools again")
    return path


def rc_file(shell: str, environ: Mapping[str, str]) -> str:
    """Return the path of the file that an interactive shell reads when it starts."""
    home = names.home(environ)
    if shell == "zsh":
        return os.path.join(environ.get("ZDOTDIR") or home, ".zshrc")
    if shell == "fish":
        return str(Path(names.config_path(environ)).parents[1] / "fish" / "config.fish")
    return os.path.join(home, ".bashrc")


def login_file(environ: Mapping[str, str]) -> str:
    """Return the file that should have a login shell of bash read ~/.bashrc, and does not; "" if it does."""
    home = names.home(environ)
    for name in LOGIN_FILES:
        path = os.path.join(home, name)
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        return "" if "bashrc" in text or MARK in text else path
    return os.path.join(home, LOGIN_FILES[0])


def line(shell: str, path: str) -> str:
    """Return the line for the rc file; once the file is gone, it does nothing."""
    quoted = shlex.quote(path)
    return (
        f"test ! -r {quoted}; or source {quoted}" if shell == "fish" else f"[ ! -r {quoted} ] || . {quoted}"
    )


def without(text: str) -> str:
    """Return the text of an rc file without lines of ours."""
    return "".join(row for row in text.splitlines(keepends=True) if not row.rstrip().endswith(MARK))


def added(text: str, row: str) -> str:
    """Return the text of an rc file with our line, where it was or at the end."""
    ours = f"{row} {MARK}\n"
    rows = text.splitlines(keepends=True)
    for index, old in enumerate(rows):
        if old.rstrip().endswith(MARK):
            return "".join(rows[:index]) + ours + without("".join(rows[index + 1 :]))
    return text + ("" if not text or text.endswith("\n") else "\n") + ours


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.option("--install", "way", flag_value="install", help="Add the line to the shell's rc file, once.")
@click.option("--uninstall", "way", flag_value="uninstall", help="Take it out again.")
@click.pass_context
def shell_init(ctx: click.Context, /, shell: str, way: str | None) -> None:
    """Print the line for a shell's rc file: agents show in the sidebar, and what the shell is doing."""
    path = rc_file(shell, os.environ)
    try:
        row = line(shell, source(shell)) if way != "uninstall" else ""
        if way is None:
            print_line(row)
            return
        before = files.read(path)
        after = added(before or "", row) if row else without(before or "")
        if after != (before or ""):
            files.replace(path, before, after)
    except (ValueError, OSError) as error:
        names.complain(PROGRAM, f"{path}: {files.reason(error)}")
        ctx.exit(names.EXIT_REFUSED)
    done = "added; new shells report" if row else "removed"
    print_line(f"{path}: {done if after != (before or '') else 'nothing to do'}")
    login = login_file(os.environ) if shell == "bash" and row else ""
    if login:
        reason = f"login shells, as tmux starts them, do not read ~/.bashrc; put into {login}: {LOGIN_LINE}"
        names.complain(PROGRAM, reason)
