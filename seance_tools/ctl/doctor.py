"""seance-ctl doctor: what is wrong with the installation, and how to mend it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click

from seance_tools import __version__, client, config, names
from seance_tools.agents import AGENTS
from seance_tools.ctl import shell_init
from seance_tools.ctl.output import coloured, print_json, print_line
from seance_tools.ctl.program import Session
from seance_tools.install.plan import Refused
from seance_tools.install.status import look
from seance_tools.notify import desktop, sound
from seance_tools.wire import WireError

WATCHES = "/proc/sys/fs/inotify/max_user_watches"
FEW_WATCHES = 8192
PROGRAMS = (
    "seance",
    "seance-broker",
    "seance-ctl",
    "seance-hook",
    "seance-sidebar",
    "codebuff-wrapper",
    "freebuff-wrapper",
    "pool-wrapper",
)


class Finding(NamedTuple):
    """One thing looked at: ok, warning or wrong; what it is, and how to mend it."""

    level: str
    text: str
    mend: str = ""


def _broker(session: Session) -> Iterator[Finding]:
    try:
        with session.connect() as connection:
            health = connection.request("system.health")
    except (client.NoBroker, ConnectionError, TimeoutError, WireError) as error:
        yield Finding(
            "wrong", f"broker: {error or 'does not answer in time'}", "start it: seance-broker --foreground"
        )
        return
    yield Finding("ok", f"broker: version {health['version']}, process {health['pid']}, at {session.path}")
    if health["version"] != __version__:
        yield Finding(
            "wrong",
            f"broker: is version {health['version']}, these programs are {__version__}",
            "start it anew: seance-broker --stop",
        )
    for warning in health["warnings"]:
        yield Finding("wrong", f"broker: {warning}", "see its log in " + names.state_directory(os.environ))


def _programs(_session: Session) -> Iterator[Finding]:
    here = os.path.dirname(os.path.abspath(sys.argv[0]))
    for program in PROGRAMS:
        found = shutil.which(program)
        if found is None:
            mend = f"put {here} on PATH" if os.path.exists(os.path.join(here, program)) else "install again"
            yield Finding("warning", f"program: {program} is not on PATH", mend)
        elif os.path.dirname(os.path.realpath(found)) != os.path.realpath(here):
            yield Finding(
                "warning", f"program: {program} on PATH is another one: {found}", f"put {here} before it"
            )
        else:
            yield Finding("ok", f"program: {found}")


def _surroundings(_session: Session) -> Iterator[Finding]:
    tmux = shutil.which("tmux")
    if tmux:
        yield Finding("ok", f"tmux: {tmux}")
    else:
        yield Finding("warning", "tmux: not installed; panes are told apart by their terminal device only")
    try:
        with open(WATCHES) as file:
            watches = int(file.read())
    except (OSError, ValueError):
        yield Finding("warning", "inotify: cannot be asked for its limits")
        return
    level = "ok" if watches >= FEW_WATCHES else "warning"
    yield Finding(level, f"inotify: {watches} watches allowed", "raise fs.inotify.max_user_watches")


def _config(_session: Session) -> Iterator[Finding]:
    options = config.read(os.environ)
    problems = options.problems
    for problem in problems:
        yield Finding("wrong", f"config: {problem}", "see seance.toml(5)")
    for problem in options.unknown:
        yield Finding("warning", f"config: {problem}", "see seance.toml(5)")
    if not problems:
        yield Finding("ok", f"config: {names.config_path(os.environ)}")


def _agents(_session: Session) -> Iterator[Finding]:
    for agent in AGENTS:
        found = next((path for path in map(shutil.which, agent.binaries) if path), None)
        if found:
            yield Finding("ok", f"agent: {agent.name} at {found}")
        if (
            agent.log_root
            and not os.path.isdir(os.path.join(names.home(os.environ), agent.log_root))
            and found
        ):
            yield Finding(
                "ok", f"agent: {agent.name} has not run yet: ~/{agent.log_root} comes with its first run"
            )


def _hooks(_session: Session) -> Iterator[Finding]:
    for agent in (agent for agent in AGENTS if agent.install):
        try:
            found = look(agent, os.environ)
        except Refused as error:
            yield Finding("warning", f"hooks: {error}")
            return
        if found.there and found.state == "missing":
            yield Finding("ok", f"hooks: {agent.name} has none; seance-ctl install {agent.key}")
        for problem in found.problems if found.there or found.state != "conflict" else ():
            yield Finding("warning", f"hooks: {agent.name}: {problem}")
        if found.state == "installed" and not found.problems:
            yield Finding("ok", f"hooks: {agent.name} in {found.path}")


def _shells(_session: Session) -> Iterator[Finding]:
    for shell in shell_init.SHELLS:
        path = shell_init.rc_file(shell, os.environ)
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                if shell_init.MARK not in file.read():
                    continue
        except OSError:
            continue
        login = shell_init.login_file(os.environ) if shell == "bash" else ""
        if login:
            text = (
                f"shell: bash reports, but not as a login shell, as tmux starts it: that does not read {path}"
            )
            yield Finding("warning", text, f"put into {login}: {shell_init.LOGIN_LINE}")
        else:
            yield Finding("ok", f"shell: {shell} by {path}")


def _notifications(_session: Session) -> Iterator[Finding]:
    values = config.read(os.environ).values
    if values["notifications.desktop"] and not desktop.installed():
        mend = "install seance-tools[desktop] where the broker is installed"
        yield Finding("wrong", "notifications.desktop: the package dbus-fast is not installed", mend)
    elif values["notifications.desktop"] and not desktop.address(os.environ):
        yield Finding("warning", "notifications.desktop: there is no session bus here")
    if values["notifications.sound"] and not sound.player(values["notifications.sound"]):
        programs = ", ".join(words[0] for words in sound.PLAYERS)
        yield Finding("wrong", "notifications.sound: no player is installed", f"install one of {programs}")
    program = [*values["notifications.command"], ""][0]
    if program and not shutil.which(program):
        yield Finding("wrong", f"notifications.command: {program} is not found")


CHECKS: tuple[Callable[[Session], Iterator[Finding]], ...] = (
    _programs,
    _config,
    _broker,
    _surroundings,
    _agents,
    _hooks,
    _shells,
    _notifications,
)
_COLOURS = {"ok": "green", "warning": "yellow", "wrong": "red"}


@click.command()
@click.pass_context
def doctor(ctx: click.Context, /) -> None:
    """Look for what is wrong with the installation, and say how to mend it; exit 1 if anything is."""
    session: Session = ctx.obj
    findings = [finding for check in CHECKS for finding in check(session)]
    if session.json_wanted:
        print_json([finding._asdict() for finding in findings])
    else:
        for level, text, mend in findings:
            shown = click.style(f"{level:8}", fg=_COLOURS[level]) if coloured() else f"{level:8}"
            click.echo(shown, nl=False)
            print_line(text + (f" ({mend})" if mend and level != "ok" else ""))
    if any(finding.level == "wrong" for finding in findings):
        ctx.exit(names.EXIT_REFUSED)
