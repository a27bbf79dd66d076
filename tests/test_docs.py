"""The documents tell the truth: complete man pages, examples that run, generated parts up to date."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seance_tools import docgen, names
from seance_tools.agents import AGENTS
from seance_tools.ctl.table import COMMANDS, SILENT, flag
from seance_tools.lifecycle import TRANSITIONS
from seance_tools.methods import BY_NAME, METHODS
from seance_tools.options import OPTIONS
from seance_tools.wire import ERROR_CODES

ROOT = Path(__file__).parent.parent
PAGES = sorted(ROOT.glob("man/man*/*"))


def page(name: str) -> str:
    [path] = ROOT.glob(f"man/man*/{name}")
    return path.read_text().replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")


def test_generated_parts_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "seance_tools.docgen", "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_part_that_docgen_makes_is_used_somewhere() -> None:
    found = [re.findall(r"--- begin generated: ([a-z-]+)", path.read_text()) for path in docgen.files()]
    used = {name for names in found for name in names}
    assert used == set(docgen.PARTS)


def test_renew_replaces_only_what_is_between_the_marks() -> None:
    text = "a\n# --- begin generated: x\nold\n# --- end generated\nb\n"
    wanted = text.replace("old\n", "new\n")
    assert docgen.renew(text, {"x": lambda: "new\n"}) == wanted
    assert docgen.renew(wanted, {"x": lambda: "new\n"}) == wanted


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_man_pages_are_clean(path: Path, need: Callable[[str], str]) -> None:
    done = subprocess.run([need("mandoc"), "-Tlint", "-Wwarning", path], capture_output=True, text=True)
    assert done.stdout == ""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_see_also_names_pages_that_exist(path: Path) -> None:
    known = {page_path.stem for page_path in PAGES}
    named = re.findall(r"^\.BR ([a-z.\\-]+) \(\d\)", path.read_text(), re.M)
    assert named
    assert {name.replace("\\-", "-") for name in named} <= known


def test_every_hook_event_is_in_the_man_page() -> None:
    section = page("seance-ctl.1").split(".SS Hooks", 1)[1].split(".SS", 1)[0]
    assert re.findall(r"^\.BR ([a-z-]+) [,.]$", section, re.M)[: len(TRANSITIONS)] == list(TRANSITIONS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_its_options_are_in_the_man_page(name: str) -> None:
    text = page("seance-ctl.1").split("begin generated: commands", 1)[1]
    assert f"\n.B {name}" in text
    entry = COMMANDS[name]
    if entry.method:
        section = text.split(f"\n.B {name}", 1)[1].split("\n.TP", 1)[0]
        for param in BY_NAME[entry.method].params:
            if param.name not in SILENT and param.name not in entry.fixed:
                assert flag(param.name) in section


def test_every_method_and_parameter_is_in_the_protocols_page() -> None:
    text = page("seance-protocol.7")
    for row in METHODS:
        section = text.split(f"\n.B {row.name}", 1)[1].split("\n.TP\n.B ", 1)[0]
        for name in row.aliases:
            assert name in section
        for param in row.params:
            assert f".I {param.name}" in section
    for code in ERROR_CODES:
        assert f".B {code}\n" in text


@pytest.mark.parametrize(
    "name", ["seance-ctl.1", "seance-sidebar.1", "seance-broker.1", "codebuff-wrapper.1"]
)
def test_exit_codes_are_in_every_programs_page(name: str) -> None:
    text = page(name)
    for code in names.EXIT_CODES:
        assert f".B {code}\n" in text


def test_environment_limits_agents_and_keys_are_told() -> None:
    tools, broker, toml = page("seance-tools.7"), page("seance-broker.1"), page("seance.toml.5")
    for variable in names.ENVIRONMENT:
        assert f".B {variable}\n" in tools
    for limit, value in names.LIMITS.items():
        assert f".B {limit}\n{value:,}" in broker
    for agent in AGENTS:
        assert f".B {agent.key}\n" in tools
    for option in OPTIONS:
        assert f".B {option.key}" in toml


def test_the_options_of_the_programs_are_in_their_pages(environ: dict[str, str]) -> None:
    for program in ("seance-broker", "seance-sidebar", "seance-ctl"):
        shown = subprocess.run(
            [program, "--help"], env=environ, capture_output=True, text=True, check=True
        ).stdout
        section = shown.split("Options:", 1)[1].split("Commands:", 1)[0]
        options = set(re.findall(r"--[a-z][a-z-]+", section))
        assert options, program
        for option in options:
            assert option in page(f"{program}.1"), (program, option)


def examples(text: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)


@pytest.mark.usefixtures("broker")
def test_the_readmes_examples_run(environ: dict[str, str], need: Callable[[str], str]) -> None:
    pane = {**environ, "SEANCE_SURFACE_ID": "1", "SEANCE_WORKSPACE_ID": "1"}
    run = 0
    for example in examples((ROOT / "README.md").read_text()):
        if "<<EOF" not in example:
            continue  # make, the sidebar and the shells are tried elsewhere
        script = "\n".join(line for line in example.splitlines() if line != "seance-ctl watch")
        done = subprocess.run([need("bash"), "-euc", script], env=pane, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), example
        run += 1
    assert run >= 2


@pytest.mark.usefixtures("broker")
def test_the_man_pages_examples_run(environ: dict[str, str], need: Callable[[str], str]) -> None:
    text = page("seance-ctl.1")
    found = re.findall(r"^\.nf\n(.*?)^\.fi", text, re.M | re.S)
    assert found
    for example in found:
        done = subprocess.run([need("bash"), "-euc", example], env=environ, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), example
