"""What the broker itself finds out about surfaces: the repository they are in, the ports they listen on."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from seance_tools.names import LIMITS
from seance_tools.state.tables import Row, Tables
from seance_tools.text import clean

# The members of a surface that are found out or reported, as long as nothing is known. dirty, ahead, behind
# and ports are None where they are not known; ahead and behind also without an upstream branch.
NO_GIT: Row = {
    "branch": "",
    "dirty": False,
    "ahead": None,
    "behind": None,
    "operation": "",
    "git_source": None,  # files, report
}
UNKNOWN: Row = {**NO_GIT, "ports": None}
# What of a surface changes without that anything has happened in it.
_FOUND_OUT = frozenset(UNKNOWN) | {"active", "visible", "zoomed", "title", "workspace_id", "place"}


def happened(row: Row, old: Row | None) -> bool:
    """Return whether a change of a surface, or of an agent's session, tells that something went on in it."""
    if old is None:
        return True
    if "heard_at" in row:  # a session: time and what is seen of it change it too
        return bool(row["heard_at"] != old.get("heard_at"))
    return any(row[name] != old.get(name) for name in row if name not in _FOUND_OUT)


def set_git(tables: Tables, surface_id: int, **git: object) -> None:
    """Set what the files of a surface's repository tell: members of NO_GIT; none of them: it is in none."""
    row = tables.get("surface", surface_id)
    if row is None:
        return
    if "branch" in git:
        git = {**git, "branch": clean(str(git["branch"]), LIMITS["name_characters"]), "git_source": "files"}
    tables.update("surface", row, **{**NO_GIT, **git})


def set_ports(tables: Tables, surfaces: Collection[int], ports: Mapping[int, Collection[int]] | None) -> None:
    """Set the ports that these surfaces listen on; None where that is not known."""
    for surface_id in surfaces:
        row = tables.get("surface", surface_id)
        if row is not None:
            found = None if ports is None else sorted(ports.get(surface_id, ()))
            if found != row.get("ports"):
                tables.update("surface", row, ports=found)


def git_of(surfaces: Collection[Row]) -> Row | None:
    """Return what stands for a workspace of these surfaces: the first one's repository, None for none."""
    row = next((row for row in surfaces if row["branch"]), None)
    return None if row is None else {name: row.get(name, NO_GIT[name]) for name in NO_GIT}


def ports_of(surfaces: Collection[Row]) -> list[int] | None:
    """Return the ports that a workspace of these surfaces listens on, None where nobody has looked."""
    known = [ports for row in surfaces if (ports := row.get("ports")) is not None]
    return sorted(set().union(*known)) if known else None
