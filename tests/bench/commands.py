"""How long seance-ctl takes as a whole process, beside what else can start or talk to a Unix socket."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from seance_tools import names
from tests.bench.figures import Command, Figure, Goal, Stand, interleaved, ratios

CLICK = """
import click

@click.command()
@click.option("--name", default="world")
def main(name):
    click.echo(name)

main()
"""
PING = b'{"id":1,"method":"system.ping"}\n'


def measure(stand: Stand, scale: float) -> list[Figure]:
    """Return the figures: with acknowledgement to `python -c pass`, other commands to a click program."""
    with stand.home() as environ, stand.broker(environ):
        home = Path(environ["HOME"])
        (home / "click_program.py").write_text(CLICK)
        ctl, socket = stand.program("seance-ctl"), names.socket_path(environ)
        where = ("--workspace", "1", "--surface", "1")
        status = b'{"workspace_id":1,"key":"build","value":"running"}'
        commands = {
            "python -c pass": Command((stand.python, "-c", "pass")),
            "a click program": Command((stand.python, str(home / "click_program.py"))),
            "seance-ctl codebuff-hook stop": Command((ctl, "codebuff-hook", "stop", *where), b"{}"),
            "seance-ctl workspace.set_status": Command((ctl, "workspace.set_status"), status),
            "seance-ctl tree": Command((ctl, "tree")),
            "seance-ctl list-workspaces": Command((ctl, "workspace.list")),
            "seance-ctl statusline": Command((ctl, "statusline"), b"{}"),
            "seance-ctl --help": Command((ctl, "--help")),
        }
        if nc := shutil.which("nc"):
            commands["nc, a ping"] = Command((nc, "-U", "-N", socket), PING)
        if socat := shutil.which("socat"):
            commands["socat, a ping"] = Command((socat, "-", f"UNIX-CONNECT:{socket}"), PING)
        server = (shutil.which("tmux") or "tmux", "-f", "/dev/null", "-S", str(home / "tmux"))
        if shutil.which("tmux"):
            subprocess.run([*server, "new-session", "-d", "sleep 1000"], env=environ, check=True)
            commands["tmux set-option"] = Command((*server, "set-option", "-g", "@bench", "1"))
        commands = {name: command for name, command in commands.items() if works(command, environ, home)}
        times = interleaved(commands, max(int(40 * scale), 5), environ, home)
        if shutil.which("tmux"):
            subprocess.run([*server, "kill-server"], env=environ, check=True)
    found = [
        Figure("command lines", name, values, "ms") for name, values in times.items() if "seance" not in name
    ]
    for name in (name for name in times if name.startswith("seance-ctl")):
        fast = "hook" in name or "workspace." in name
        peer, goal = ("python -c pass", 1.4) if fast else ("a click program", 1.25)
        found.append(Figure("command lines", name, times[name], "ms"))
        ratio = ratios(times[name], times[peer])
        found.append(Figure("command lines", name, ratio, "×", Goal(goal), f"× {peer}"))
    return found


def works(command: Command, environ: dict[str, str], home: Path) -> bool:
    """Return whether a command can be timed here; peers differ from system to system in their options."""
    done = subprocess.run(
        command.argv, input=command.stdin, env=environ, cwd=home, capture_output=True, check=False, timeout=20
    )
    if done.returncode and "seance" in str(command.argv[0]) and "python" not in str(command.argv[0]):
        raise RuntimeError(f"{command.argv}: {done.stderr.decode()}")
    return not done.returncode
