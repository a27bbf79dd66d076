"""The rule of the architecture: a module imports only from lower levels, the core does no I/O."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "seance_tools"
# Lowest first. A level's modules may not import each other, except in the core, where the order of this
# list counts; parts of one package (state, view, broker, ctl) may.
NAMES = ("names", "agent_events", "agents")
CORE = (
    "text",
    "ages",
    "tools",
    "wire",
    "delivery",
    "options",
    "lifecycle",
    "activity",
    "state.tables",
    "methods",
    "spoolfile",
    "reftable",
    "turns",
    "state",
    "events",
    "view",
)
LEVELS = [
    *((name,) for name in (*NAMES, *CORE)),
    ("notices",),
    ("child", "config", "mounts", "watch", "listen", "spool", "store", "install"),
    ("liveness", "client"),
    ("terminals", "fast", "notify", "git", "folders", "ports", "tails"),
    ("broker", "ctl", "sidebar", "codebuff"),
    ("docgen",),
]
IMPURE = {"os", "socket", "time", "asyncio", "subprocess", "logging", "click", "blessed", "select", "sqlite3"}


def modules() -> dict[str, Path]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        found[name] = path
    return {name: path for name, path in found.items() if name != "__init__"}


def level(name: str) -> int:
    """The index of the level whose entry is the longest prefix of the module's name."""
    best = max(
        (
            (len(entry), index)
            for index, row in enumerate(LEVELS)
            for entry in row
            if f"{name}.".startswith(f"{entry}.")
        ),
        default=None,
    )
    assert best, f"{name} has no level: give it one here and in ARCHITECTURE.md"
    return best[1]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_only_from_lower_levels(name: str) -> None:
    known = modules()
    for imported in imports(known[name]):
        other = imported.removeprefix("seance_tools.")
        if imported == other or other not in known or other.split(".")[0] == name.split(".")[0]:
            continue
        assert level(other) < level(name), f"{name} imports {other}"


@pytest.mark.parametrize("name", sorted(modules()))
def test_the_core_does_no_input_or_output(name: str) -> None:
    if any(f"{name}.".startswith(f"{entry}.") for entry in CORE):
        assert not {imported.split(".")[0] for imported in imports(modules()[name])} & IMPURE


@pytest.mark.parametrize("name", NAMES)
def test_level_0_imports_os_and_sys_only(name: str) -> None:
    assert imports(modules()[name]) <= {
        "os",
        "sys",
        "tomllib",
        "__future__",
        "__future__.annotations",
        "collections.abc",
        "collections.abc.Mapping",
        "seance_tools",
        *(f"seance_tools.{lower}" for lower in NAMES[: NAMES.index(name)]),
    }


@pytest.mark.parametrize("name", sorted(modules()))
def test_modules_stay_small(name: str) -> None:
    assert len(modules()[name].read_text().splitlines()) <= 400
