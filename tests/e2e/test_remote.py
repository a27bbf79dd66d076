"""The broker of one machine, reports of others: over ssh, from containers, and those of other users."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seance_tools import client, names
from tests.conftest import stop_stray_broker
from tests.e2e.desk import ROOT
from tests.support import eventually, sealed_environment, unshared

SHIM = """#!/bin/sh
timeout 2 seance-ctl "$1-hook" "$2" 2>/dev/null
exit 0
"""
PROMPT = json.dumps({"session_id": "s1", "cwd": "/src"})


def ask(environ: dict[str, str], method: str, **params: Any) -> Any:
    with client.Connection(names.socket_path(environ), 10.0) as connection:
        return connection.request(method, params)


def agents(environ: dict[str, str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ask(environ, "agent.list")["agents"]
    return rows


@pytest.fixture
def there(tmp_path: Path) -> dict[str, str]:
    """The environment on the other machine: its own HOME, and a socket where the forwarded one will be."""
    home = tmp_path / "there"
    home.mkdir()
    return sealed_environment(home)


@pytest.fixture
def port(tmp_path: Path, need: Callable[[str], str]) -> Iterator[int]:
    """The port of an sshd of this test's own, that knows our key only."""
    need("ssh")
    sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin") or need("sshd")
    directory = tmp_path / "sshd"
    directory.mkdir()
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], check=True
        )
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        number = int(sock.getsockname()[1])
    options = {
        "ListenAddress": f"127.0.0.1:{number}",
        "HostKey": directory / "host",
        "AuthorizedKeysFile": directory / "user.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "PermitRootLogin": "yes",
        "StreamLocalBindUnlink": "yes",
    }
    (directory / "config").write_text("".join(f"{name} {value}\n" for name, value in options.items()))
    separation = Path("/run/sshd")  # where a package's sshd wants to be jailed, and only a service makes it
    made = os.getuid() == 0 and not separation.exists()
    if made:
        separation.mkdir(mode=0o755)
    process = subprocess.Popen([sshd, "-D", "-e", "-f", str(directory / "config")], stderr=subprocess.PIPE)
    assert process.stderr
    try:
        assert any(b"listening" in line for line in process.stderr), "sshd serves"
        yield number
    finally:
        process.terminate()
        process.wait(10)
        process.stderr.close()
        if made:
            separation.rmdir()


def ssh(port: int, tmp_path: Path, *arguments: str) -> list[str]:
    known = f"UserKnownHostsFile={tmp_path}/known"
    options = ("-o", "StrictHostKeyChecking=no", "-o", known, "-o", "ExitOnForwardFailure=yes", "-q")
    key = str(tmp_path / "sshd" / "user")
    return ["ssh", "-F", os.devnull, "-i", key, "-p", str(port), *options, *arguments]


def remotely(there: dict[str, str], *argv: str) -> str:
    """Return a shell's command line that runs a program in the other machine's environment."""
    wanted = ("PATH", "HOME", "SEANCE_SOCKET_PATH", "SEANCE_HOST", "PYTHONPATH", "SEANCE_CODEBUFF_PID")
    return " ".join(["env", *(f"'{name}={there[name]}'" for name in wanted if name in there), *argv])


def test_over_ssh_an_agents_hooks_reach_the_broker_here(
    broker: subprocess.Popen[bytes], environ: dict[str, str], there: dict[str, str], port: int, tmp_path: Path
) -> None:
    assert broker.poll() is None
    forwarded = str(tmp_path / "forwarded.sock")
    Path(forwarded).touch()  # what an earlier connection left
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    (bin_directory / "seance-hook").write_text(SHIM)
    (bin_directory / "seance-hook").chmod(0o755)
    there |= {"SEANCE_SOCKET_PATH": forwarded, "SEANCE_HOST": "web1", "SEANCE_CODEBUFF_PID": "1"}
    there["PATH"] = f"{bin_directory}:{there['PATH']}"
    tunnel = subprocess.Popen(
        ssh(port, tmp_path, "-N", "-R", f"{forwarded}:{names.socket_path(environ)}", "127.0.0.1"),
        stdin=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: Path(forwarded).is_socket() or tunnel.poll() is not None)

        def hook(agent: str, event: str) -> subprocess.CompletedProcess[str]:
            command = ssh(port, tmp_path, "127.0.0.1", remotely(there, "seance-hook", agent, event))
            return subprocess.run(command, input=PROMPT, capture_output=True, text=True)

        assert (hook("codex", "UserPromptSubmit").stdout, hook("codebuff", "prompt-submit").stdout) == (
            '{"continue":true}\n',
            "",
        )
        found = {row["agent"]: row for row in agents(environ)}
        assert set(found) == {"codex", "codebuff"}
        for row in found.values():
            assert (row["host"], row["state"], row["pid"]) == ("web1", "running", None)
        shown = subprocess.run(["seance-sidebar", "--once"], env=environ, capture_output=True, text=True)
        assert "Codex@web1" in shown.stdout
        tunnel.terminate()
        tunnel.wait(10)
        done = hook("codex", "Stop")
        assert (done.returncode, done.stderr) == (0, ""), "an agent does not notice that the tunnel is gone"
    finally:
        tunnel.terminate()
        tunnel.wait(10)
        stop_stray_broker(forwarded)  # the hook without a tunnel has started one


CONTAINER = ("--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--uts", "--net")


def contained(environ: dict[str, str], script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in namespaces of its own for users, processes, the host's name and the network."""
    command = [*unshared(*CONTAINER), "sh", "-c", script]
    return subprocess.run(command, env=environ, capture_output=True, text=True)


@pytest.fixture
def inside(environ: dict[str, str]) -> dict[str, str]:
    """The environment in a container that has the directory of socket and spool mounted."""
    mounted = {**environ, "SEANCE_HOST": "box", "SEANCE_SOCKET_PATH": names.socket_path(environ)}
    mounted["PATH"] = f"{ROOT / 'bin'}:{environ['PATH']}"
    return mounted


def test_a_hook_in_a_container_reaches_the_spool_and_its_process_is_not_taken_for_one_of_ours(
    broker: subprocess.Popen[bytes], environ: dict[str, str], inside: dict[str, str]
) -> None:
    assert broker.poll() is None
    done = contained(inside, f"seance-hook claude UserPromptSubmit <<EOF\n{PROMPT}\nEOF\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    [row] = eventually(lambda: agents(environ))
    assert (row["host"], row["state"], row["pid"]) == ("box", "running", None)
    assert ask(environ, "system.health")["spool"]["ended"] == 0
    contained(inside, f"seance-hook claude SessionEnd <<EOF\n{PROMPT}\nEOF\n")
    eventually(lambda: not agents(environ))


def test_without_a_name_of_its_own_a_containers_report_is_counted_and_shows_nothing_wrong(
    broker: subprocess.Popen[bytes], environ: dict[str, str], inside: dict[str, str]
) -> None:
    assert broker.poll() is None
    del inside["SEANCE_HOST"]
    contained(inside, f"seance-hook claude UserPromptSubmit <<EOF\n{PROMPT}\nEOF\n")
    eventually(lambda: ask(environ, "system.health")["spool"]["ended"] == 1)
    assert agents(environ) == []


def test_a_program_in_a_container_reaches_the_socket(
    broker: subprocess.Popen[bytes], environ: dict[str, str], inside: dict[str, str]
) -> None:
    assert broker.poll() is None
    inside["SEANCE_CODEBUFF_PID"] = "1"  # the container's first process, which here is another one
    done = contained(inside, "seance-ctl codebuff-hook prompt-submit </dev/null")
    assert (done.returncode, done.stderr) == (0, "")
    [row] = agents(environ)
    assert (row["host"], row["pid"]) == ("box", None)


def test_a_report_can_name_a_pane_of_this_machine(
    broker: subprocess.Popen[bytes], environ: dict[str, str], inside: dict[str, str]
) -> None:
    assert broker.poll() is None
    hook = {"agent": "codebuff", "event": "session-start", "surface_id": 3, "workspace_id": 2}
    ask(environ, "agent.hook", **hook)
    inside["SEANCE_SURFACE_ID"] = "3"
    contained(inside, f"seance-hook claude UserPromptSubmit <<EOF\n{PROMPT}\nEOF\n")
    [row] = eventually(lambda: [row for row in agents(environ) if row["agent"] == "claude"])
    assert (row["host"], row["surface_id"], row["workspace_id"]) == ("box", 3, 2)


def test_two_users_have_a_broker_each(
    start_broker: Callable[..., Any], environ: dict[str, str], there: dict[str, str]
) -> None:
    start_broker()
    start_broker(**there)
    ask(environ, "workspace.create", title="mine")
    ask(there, "workspace.create", title="theirs")
    for whose, title in ((environ, "mine"), (there, "theirs")):
        assert [row["title"] for row in ask(whose, "workspace.list")["workspaces"]] == [title]
    ask(there, "system.ping")
    subprocess.run(["seance-broker", "--stop"], env=there, check=True)
