"""What a shell tells arrives: with a broker of its own, and a real terminal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from seance_tools import client, names
from tests.shell.prompt import SHELLS, Shell, source
from tests.support import eventually


def surfaces() -> list[dict[str, Any]]:
    with client.Connection(names.socket_path(os.environ), 5) as connection:
        rows: list[dict[str, Any]] = connection.request("surface.list")["surfaces"]
        return rows


def foreground(shell: int) -> str:
    """The program that the keys of a shell's terminal go to, field 8 of proc(5)'s stat."""
    group = Path(f"/proc/{shell}/stat").read_text().rpartition(") ")[2].split()[5]
    return Path(f"/proc/{group}/comm").read_text().strip()


def problems() -> dict[str, Any]:
    with client.Connection(names.socket_path(os.environ), 5) as connection:
        spool: dict[str, Any] = connection.request("system.health")["spool"]
        return {name: spool[name] for name in ("refused", "unreadable", "malformed", "dropped")}


@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize("name", [b"new\nline", b"latin-\xe9", b"escape\x1b[2J"])
@pytest.mark.parametrize("shell", SHELLS)
def test_the_branch_is_known_whatever_the_name_of_the_directory(
    shell: str, name: bytes, environ: dict[str, str], tmp_path: Path
) -> None:
    """The shell cannot tell such a name, and what is shown of it is harmless."""
    top = os.path.join(os.fsencode(tmp_path), b"odd-" + name)
    os.makedirs(os.path.join(top, b"below"))
    for directory in (b"objects", b"refs"):
        os.makedirs(os.path.join(top, b".git", directory))
    (Path(os.fsdecode(top)) / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    with Shell(shell, {**environ, "LC_ALL": "C.UTF-8"}, tmp_path, source(shell)) as prompt:
        prompt.terminal.type("cd odd-*/below\n")

        def shown() -> bool:
            prompt.terminal.read()
            return any(row["branch"] == "topic" and row["cwd"].isprintable() for row in surfaces())

        eventually(shown)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_surface_comes_and_goes_with_its_shell(
    shell: str, environ: dict[str, str], broker: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    with Shell(shell, environ, tmp_path, source(shell)) as prompt:

        def shows(**members: Any) -> dict[str, Any] | None:
            prompt.terminal.read()
            return next((row for row in surfaces() if members.items() <= row.items()), None)

        eventually(lambda: shows(cwd=str(tmp_path), shell_state="prompt", exit_code=None))
        prompt.terminal.type("sleep 60\n")
        eventually(lambda: shows(shell_state="running"))
        eventually(lambda: foreground(prompt.terminal.pid) == "sleep")  # earlier, bash may lose the Ctrl-C
        prompt.terminal.type("\x03")
        row = eventually(lambda: shows(shell_state="prompt", exit_code=130))
        assert row
        assert row["duration_ms"] > 0
        prompt.terminal.type("cd sub; (exit 3)\n" if shell != "fish" else "cd sub; sh -c 'exit 3'\n")
        eventually(lambda: shows(cwd=f"{tmp_path}/sub", exit_code=3))
        prompt.terminal.type("exit\n")
        prompt.terminal.wait()
        eventually(lambda: not surfaces())
        assert set(problems().values()) == {0}
    assert broker.poll() is None
