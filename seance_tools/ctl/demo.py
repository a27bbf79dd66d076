"""seance-ctl demo: four stand-in agents, a broker and a sidebar of their own, all gone at the end."""

from __future__ import annotations

import contextlib
import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import click

from seance_tools import client, names
from seance_tools.ctl.actors import MINUTE

# Workspace, and the agents in it.
STAGE = (("shop-api", ("codebuff", "claude")), ("handbook", ("codex",)), ("infra", ("gemini",)))
SIDEBAR_COLUMNS = 38
ENDING_SECONDS = 5.0
_KEPT_OUT = ("TMUX", "SEANCE_")  # variables that lead to the person's own tmux and broker


@click.command()
@click.option("--seconds", type=float, default=MINUTE, show_default=True, help="How long it goes on.")
@click.option("--no-tmux", is_flag=True, help="Only the sidebar, in this terminal.")
@click.pass_context
def demo(ctx: click.Context, /, seconds: float, *, no_tmux: bool) -> None:
    """Show the sidebar with four stand-in agents that live a minute of a working day.

    They have a broker, a home directory and a tmux of their own: nothing of yours is touched, and all is
    gone at the end. q in the sidebar ends it early.
    """
    if not (os.isatty(0) and os.isatty(1)):
        raise click.UsageError("a terminal is needed")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    with _stage() as (directory, environ):
        if no_tmux or not shutil.which("tmux", path=environ["PATH"]):
            _in_this_terminal(environ, directory, seconds)
        else:
            _in_tmux(environ, directory, seconds)
    ctx.exit(names.EXIT_OK)


def _end(number: int, _frame: FrameType | None) -> None:
    raise click.exceptions.Exit(128 + number)


@contextlib.contextmanager
def _stage() -> Iterator[tuple[Path, dict[str, str]]]:
    """Give a directory and an environment of the demo's own; the broker and the directory go at the end."""
    directory = Path(tempfile.mkdtemp(prefix="seance-demo-"))
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_KEPT_OUT)}
    programs = directory / "programs"
    for path in (programs, directory / "run"):
        path.mkdir(mode=0o700)
    environ |= {
        "HOME": str(directory),
        "XDG_RUNTIME_DIR": str(directory / "run"),
        "XDG_STATE_HOME": str(directory / "state"),
        "XDG_CONFIG_HOME": str(directory / "config"),
        "PATH": f"{programs}:{Path(sys.executable).parent}:{environ.get('PATH', os.defpath)}",
    }
    agent = programs / "codebuff"
    agent.write_text(f"#!/bin/sh\nexec {shlex.join(_actor('codebuff'))}\n")
    agent.chmod(0o700)
    for workspace, _ in STAGE:
        (directory / workspace).mkdir()
    broker = [sys.executable, "-m", "seance_tools.broker"]
    try:
        subprocess.run(broker, env=environ, capture_output=True, check=True)
        yield directory, environ
    finally:
        subprocess.run([*broker, "--stop"], env=environ, capture_output=True, check=False)
        _remove(directory)


def _remove(directory: Path) -> None:
    """Remove the directory, again where a program that is just ending has written into it."""
    deadline = time.monotonic() + ENDING_SECONDS
    while directory.exists() and time.monotonic() < deadline:
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.05)


def _actor(agent: str) -> list[str]:
    return [sys.executable, "-m", "seance_tools.ctl.actors", agent]


def _command(agent: str) -> list[str]:
    return ["codebuff-wrapper"] if agent == "codebuff" else _actor(agent)


def _in_tmux(environ: dict[str, str], directory: Path, seconds: float) -> None:
    """Give each workspace a session of our own tmux, with a sidebar at the left, and show the first."""
    tmux = ["tmux", "-u", "-S", str(directory / "tmux"), "-f", os.devnull]

    def tell(*arguments: str) -> None:
        done = subprocess.run([*tmux, *arguments], env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise click.UsageError(f"tmux: {done.stderr.strip()}")

    size = shutil.get_terminal_size()
    sidebar = f"{shlex.join([sys.executable, '-m', 'seance_tools.sidebar'])}; tmux kill-server"
    try:
        for workspace, (first, *others) in STAGE:
            where = ("-c", str(directory / workspace))
            area = ("-x", str(size.columns), "-y", str(size.lines))
            tell("new-session", "-d", "-s", workspace, *area, *where, *_command(first))
            for agent in others:
                tell("split-window", "-v", "-d", "-t", workspace, *where, *_command(agent))
            tell("split-window", "-hbf", "-t", workspace, "-l", str(SIDEBAR_COLUMNS), "sh", "-c", sidebar)
            tell("set-option", "-p", "-t", f"{workspace}:0.0", "@seance-sidebar", "1")
        tell("set-option", "-g", "mouse", "on")
        tell("set-option", "-g", "status-right", " q in the sidebar ends the demo ")
        shown = subprocess.Popen([*tmux, "attach-session", "-t", STAGE[0][0]], env=environ)
        _wait(shown, seconds)
    finally:
        subprocess.run([*tmux, "kill-server"], env=environ, capture_output=True, check=False)


def _in_this_terminal(environ: dict[str, str], directory: Path, seconds: float) -> None:
    """Run the agents on terminals that nobody sees, and the sidebar on this one."""
    with client.Connection(names.socket_path(environ)) as connection:
        for workspace, _ in STAGE:
            connection.request("workspace.create", {"title": workspace})
    running: list[subprocess.Popen[bytes]] = []
    try:
        surface = 0
        for number, (workspace, agents) in enumerate(STAGE, 1):
            for agent in agents:
                surface += 1
                ids = {"SEANCE_WORKSPACE_ID": str(number), "SEANCE_SURFACE_ID": str(surface)}
                running.append(_out_of_sight(_command(agent), {**environ, **ids}, directory / workspace))
        _wait(subprocess.Popen([sys.executable, "-m", "seance_tools.sidebar"], env=environ), seconds)
    finally:
        for process in running:
            process.kill()
            process.wait()


def _out_of_sight(command: list[str], environ: dict[str, str], cwd: Path) -> subprocess.Popen[bytes]:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command, env=environ, cwd=cwd, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    threading.Thread(target=_drain, args=(master,), daemon=True).start()
    return process


def _drain(master: int) -> None:
    with contextlib.suppress(OSError):  # the agent has ended
        while os.read(master, 4096):
            pass
    os.close(master)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until a program of ours ends, or end it after so long."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass  # the minute is over
    finally:
        process.terminate()
        process.wait(ENDING_SECONDS)
