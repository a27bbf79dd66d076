"""seance-ctl statusline: counts by state, at once or not at all."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from seance_tools import names
from seance_tools.client import Connection
from seance_tools.ctl import segment
from seance_tools.sidebar import program
from seance_tools.view import ASCII, UNICODE
from seance_tools.view.screen import _ORDER
from tests.e2e.attached import Attached
from tests.e2e.desk import Desk
from tests.support import eventually

COUNTS = segment.count(["running", "idle", "running", None, "needs_input", "dreaming"])


@pytest.mark.parametrize(
    ("form", "plain", "text"),
    [
        ("text", False, "◆1 ▶2 ⏸1 ?1"),
        ("text", True, "!1 >2 -1 ?1"),
        ("tmux", False, "#[fg=yellow]◆1#[default] #[fg=green]▶2#[default] ⏸1 ?1"),
        ("{needs_input}/{running} }", False, "1/2 }"),
    ],
)
def test_forms(form: str, plain: bool, text: str) -> None:
    assert segment.segment(COUNTS, form, plain=plain) == text


@pytest.mark.parametrize("form", ["bogus", "", "{x}", "{running} {idle", "{running}{}", "running"])
def test_a_format_that_is_none_is_a_usage_error(environ: dict[str, str], form: str) -> None:
    for options in (("statusline", "--format", form), ("--timeout", "1", "statusline", f"--format={form}")):
        done = run(environ, *options)
        assert (done.returncode, done.stdout) == (names.EXIT_USAGE, "")
        assert done.stderr.startswith("seance-ctl: no such ")
        assert done.stderr.count("\n") == 1


def test_without_agents_it_is_empty() -> None:
    assert segment.segment(segment.count([]), "text", plain=False) == ""


def test_signs_order_and_locale_are_the_sidebars() -> None:
    assert tuple(segment.SIGNS) == _ORDER
    for state, signs in segment.SIGNS.items():
        assert signs == (UNICODE.states[state], ASCII.states[state])
    for environ in ({"LANG": "C"}, {"LANG": "de_DE.UTF-8"}, {"LC_ALL": "C", "LANG": "C.utf8"}, {}):
        assert segment.unicode_wanted(environ) == program.unicode_wanted(environ)


def run(environ: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["seance-ctl", *options], env={**environ, "LANG": "C.UTF-8"}, capture_output=True, text=True
    )


def report(environ: dict[str, str], **states: str) -> None:
    with Connection(names.socket_path(environ)) as connection:
        for key, state in states.items():
            params = {"workspace_id": 1, "key": key, "value": "x", "state": state}
            connection.request("workspace.set_status", params)


@pytest.mark.usefixtures("broker")
def test_it_asks_the_broker(environ: dict[str, str]) -> None:
    done = run(environ, "statusline")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    report(environ, a="running", b="running", c="needs_input")
    path = names.socket_path(environ)
    for options in (("statusline",), ("--socket", path, "statusline"), ("statusline", "--format", "text")):
        done = run(environ, *options)
        assert (done.returncode, done.stdout, done.stderr) == (0, "◆1 ▶2\n", "")
    assert run(environ, "statusline", "--ascii", "--format={running}!").stdout == "2!\n"
    assert "status line" in run(environ, "statusline", "--help").stdout


def test_without_a_broker_it_prints_nothing_and_starts_none(environ: dict[str, str]) -> None:
    for options in (("statusline",), ("--timeout", "1", "statusline")):
        done = run(environ, *options)
        assert (done.returncode, done.stdout, done.stderr) == (names.EXIT_NO_BROKER, "", "")
    assert not os.path.exists(names.socket_path(environ))


@pytest.mark.parametrize("answer", [b"", b"{"])
def test_it_never_waits_for_a_broker_that_hangs(
    environ: dict[str, str], tmp_path: Path, answer: bytes
) -> None:
    path = str(tmp_path / "silent.sock")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(path)
        silent.listen(8)
        environ["SEANCE_SOCKET_PATH"] = path
        process = subprocess.Popen(["seance-ctl", "statusline"], env=environ, stdout=subprocess.PIPE)
        with silent.accept()[0] as connection:

            def has_ended() -> bool:
                with suppress(OSError):
                    connection.sendall(answer)  # a little each time must not make it wait for ever
                return process.poll() is not None

            eventually(has_ended)
            assert process.returncode == names.EXIT_TIMEOUT
        assert process.stdout
        assert process.stdout.read() == b""
        process.stdout.close()


def test_it_loads_no_parser() -> None:
    code = (
        "import sys; from seance_tools.ctl import segment; segment.show('/nowhere', 'text', False);"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split()
    assert "ujson" in loaded
    assert not {"click", "json", "socket", "typing", "wcwidth", "seance_tools.view"} & set(loaded)


def test_tmux_shows_it_in_its_status_line(
    desk: Desk, environ: dict[str, str], start_broker: Callable[..., object]
) -> None:
    start_broker()
    environ["LANG"] = "C.UTF-8"
    desk.session("shop", "bash --norc", columns=120, rows=29)
    desk.tmux("set-option", "-g", "status-interval", "1")
    desk.tmux("set-option", "-g", "status-right", "<#(seance-ctl statusline --format tmux)>")
    with Attached(desk, "shop") as person:
        report(environ, a="running")
        eventually(lambda: "<▶1>" in person.screen())
        report(environ, a="needs_input", b="idle")
        eventually(lambda: "<◆1 ⏸1>" in person.screen())
