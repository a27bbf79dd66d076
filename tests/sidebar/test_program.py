"""Options, the plain snapshot and the exit codes."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from seance_tools import names
from seance_tools.sidebar.program import unicode_wanted
from tests.sidebar.pane import SIDEBAR, Open, once
from tests.sidebar.standin import Broker


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("options", [[], ["--once"]])
def test_without_a_terminal_it_prints_one_plain_snapshot(environ: dict[str, str], options: list[str]) -> None:
    done = once(environ, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(
        r" SÉANCE {48,49}▶ 1\n ─{58}\n shop-api\n  ▶ Claude Code  Running +\d+s\n  ●\n", done.stdout
    ), done.stdout


@pytest.mark.usefixtures("shop")
def test_once_on_a_terminal_is_plain_too(pane: Open) -> None:
    one = pane("--once")
    assert one.ended() == 0
    assert "Claude Code" in one.text()
    assert b"\x1b" not in one.output


@pytest.mark.usefixtures("shop")
def test_json_is_one_document(environ: dict[str, str]) -> None:
    done = once(environ, "--once", "--json")
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    data = json.loads(done.stdout)
    assert data["states"] == {"running": 1}
    assert data["workspaces"][0]["status"][0]["display_name"] == "Claude Code"


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("more", "running"),
    [
        ({}, "\x1b[38;5;28mRunning\x1b[m"),
        ({"COLORTERM": "truecolor"}, "\x1b[38;2;46;132;67mRunning\x1b[m"),
        ({"NO_COLOR": "1"}, "  Running"),
    ],
)
def test_ansi_has_colours_without_a_terminal(
    environ: dict[str, str], more: dict[str, str], running: str
) -> None:
    assert running in once({**environ, **more}, "--ansi").stdout


def test_svg_is_a_picture_in_the_colours_of_the_config(shop: Broker, environ: dict[str, str]) -> None:
    shop.set("config", values={"sidebar.colors.running": "#123456"}, problems=[])
    root = ET.fromstring(once(environ, "--once", "--svg").stdout)
    assert {element.get("fill") for element in root if element.text == "Running"} == {"#123456"}


@pytest.mark.usefixtures("standin")
def test_once_without_agents(environ: dict[str, str]) -> None:
    assert "No agents yet." in once(environ).stdout


def test_once_without_a_broker_says_why_and_exits_3(environ: dict[str, str]) -> None:
    path = names.socket_path(environ)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text("in the way of a broker")
    done = once(environ)
    assert done.returncode == names.EXIT_NO_BROKER
    assert done.stdout == ""
    assert done.stderr.startswith("seance-sidebar: ")
    assert done.stderr.count("\n") == 1


def test_once_with_a_silent_broker_exits_4(environ: dict[str, str], tmp_path: Path) -> None:
    path = str(tmp_path / "silent.sock")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(path)
        silent.listen(8)
        done = once(environ, "--socket", path)
    assert done.returncode == names.EXIT_TIMEOUT
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("shop")
def test_a_reader_that_has_seen_enough_is_no_fault(environ: dict[str, str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as stdout:
        done = subprocess.run(
            [*SIDEBAR, "--once"], env=environ, stdout=stdout, stderr=subprocess.PIPE, timeout=30
        )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.usefixtures("shop")
def test_a_full_disk_is_told(environ: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*SIDEBAR, "--once"], env=environ, stdout=full, stderr=subprocess.PIPE, timeout=30
        )
    assert done.returncode == names.EXIT_REFUSED
    assert done.stderr == b"seance-sidebar: cannot write: No space left on device\n"


@pytest.mark.parametrize(
    ("options", "code", "part"),
    [
        (["--help"], 0, "--once"),
        (["--version"], 0, "seance-sidebar"),
        (["--nonsense"], 2, "No such option"),
        (["--socket", "/" + "x" * 200], 2, "at most 107"),
    ],
)
def test_options(environ: dict[str, str], options: list[str], code: int, part: str) -> None:
    done = once(environ, *options)
    assert done.returncode == code
    assert part in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({"LANG": "de_DE.UTF-8"}, True),
        ({"LANG": "C.utf8"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),
        ({"LC_CTYPE": "C.UTF-8"}, False),
        ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, True),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, False),
        ({"LANG": "C", "LC_ALL": "en_US.UTF-8"}, True),
        ({}, False),
    ],
)
def test_the_locale_decides_the_signs(environ: dict[str, str], wanted: bool) -> None:
    assert unicode_wanted(environ) is wanted
