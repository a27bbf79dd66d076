"""The tables seen by workspace, gathered once a frame; and the order the workspaces are shown in."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, NamedTuple

from seance_tools.state.metadata import latest_log, statuses
from seance_tools.state.places import ordered
from seance_tools.state.tables import Tables
from seance_tools.view.model import Spot

Record = dict[str, Any]


class Git(NamedTuple):
    """What is known of a repository; None for what is not, as in state.surroundings."""

    branch: str = ""
    dirty: bool | None = False
    ahead: int | None = None
    behind: int | None = None
    operation: str = ""


class Survey:
    """What each workspace has: surfaces, agents, unread notifications, statuses by rank.

    One may be kept from frame to frame and taken anew with `refresh`. blocks: for the screen, what it made
    of a workspace, and what it was made from.
    """

    def __init__(self, tables: Tables) -> None:
        self.blocks: dict[int, tuple[tuple[Any, ...], Any]] = {}
        self.refresh(tables)

    def refresh(self, tables: Tables) -> None:
        """Take what each workspace has now."""
        self.tables = tables
        known = tables.rows["workspace"]
        self.blocks = {number: block for number, block in self.blocks.items() if (number,) in known}
        self.agents: dict[int, list[Record]] = defaultdict(list)
        self.surfaces: dict[int, list[Record]] = defaultdict(list)
        self.unread: dict[int, list[Record]] = defaultdict(list)
        for row in tables.all("agent"):
            self.agents[row["workspace_id"]].append(row)
        for row in tables.all("surface"):
            self.surfaces[row["workspace_id"]].append(row)
        for row in tables.all("notification"):
            if not row["read"]:
                self.unread[row["workspace_id"]].append(row)
        selection = tables.get("selection")
        self.active = selection["workspace_id"] if selection else None
        self._statuses: dict[int, list[Record]] = {}

    def everything(self, workspace: Record) -> tuple[Any, ...]:
        """Return all rows that a workspace's block is made from; rows are never altered, only replaced."""
        workspace_id = workspace["id"]
        tables = self.tables
        return (
            workspace,
            workspace_id == self.active,
            *tables.of_workspace("status", workspace_id).values(),
            *self.agents.get(workspace_id, ()),
            *self.surfaces.get(workspace_id, ()),
            *self.unread.get(workspace_id, ()),
            latest_log(tables, workspace_id),
            tables.get("progress", workspace_id),
            tables.get("counts", workspace_id),
        )

    def statuses(self, workspace_id: int) -> list[Record]:
        """Return the status entries of a workspace, highest priority first."""
        rows = self._statuses.get(workspace_id)
        if rows is None:
            rows = self._statuses[workspace_id] = statuses(self.tables, workspace_id)
        return rows

    def agent(self, status: Record) -> Record | None:
        """Return the agent's record that a status entry was printed from, or None."""
        return self.tables.get("agent", status["session"]) if status["session"] else None

    def surface(self, workspace_id: int) -> Record | None:
        """Return the surface that stands for a workspace: that of its foremost agent, else its first."""
        foremost = [self.agent(status) for status in self.statuses(workspace_id)]
        for record in [*foremost, *self.agents[workspace_id]]:
            if record and record["surface_id"] is not None:
                known = self.tables.get("surface", record["surface_id"])
                if known:
                    return known
        surfaces = self.surfaces[workspace_id]
        return surfaces[0] if surfaces else None

    def directory(self, workspace_id: int) -> str:
        """Return the directory of a workspace, "" where unknown."""
        surface = self.surface(workspace_id) or {}
        agents = self.agents[workspace_id]
        return surface.get("cwd") or next((row["cwd"] for row in agents if row["cwd"]), "")

    def git(self, workspace_id: int) -> Git:
        """Return the git state of the surface that stands for a workspace."""
        surface = self.surface(workspace_id) or {}
        found = Git(**{name: surface[name] for name in Git._fields if name in surface})
        return found._replace(branch=found.branch or "", operation=found.operation or "")

    def ports(self, workspace_id: int) -> list[int]:
        """Return the ports that something in a workspace listens on."""
        return sorted({port for row in self.surfaces[workspace_id] for port in row.get("ports") or ()})

    def idle(self, workspace_id: int) -> bool:
        """Return whether nothing in a workspace works, waits for the person or is news to them."""
        progress = self.tables.get("progress", workspace_id)
        states = {row["state"] for row in self.statuses(workspace_id)}
        return states <= {"idle"} and not self.unread[workspace_id] and not (progress and progress["active"])

    def waiting(self, workspace_id: int) -> list[Spot]:
        """Return the status entries of a workspace that need input."""
        rows = self.statuses(workspace_id)
        return [Spot(workspace_id, row["key"]) for row in rows if row["state"] == "needs_input"]

    def totals(self) -> Counter[str]:
        """Return how many status entries there are in each state."""
        return Counter(row["state"] for row in self.tables.all("status") if row["state"])

    def order(self, sort: str) -> list[Record]:
        """Return the workspaces in the order of a member of SORTS."""
        rows = ordered(self.tables)
        if sort == "attention":
            rows.sort(key=self._attention)
        elif sort == "recent":
            rows.sort(key=self._moment, reverse=True)
        return rows

    def matches(self, workspace: Record, words: list[str]) -> bool:
        """Return whether all words (in lower case) are in what a workspace shows."""
        workspace_id = workspace["id"]
        texts = [workspace["title"], self.git(workspace_id).branch, self.directory(workspace_id)]
        for row in self.statuses(workspace_id):
            texts += row["display_name"], row["value"]
        shown = "\n".join(texts).casefold()
        return all(word in shown for word in words)

    def _attention(self, workspace: Record) -> tuple[float, float]:
        """Rank: highest priority first, and who has waited longest."""
        rows = self.statuses(workspace["id"])
        return (-rows[0]["priority"], rows[0]["since"]) if rows else (float("inf"), 0.0)

    def _moment(self, workspace: Record) -> float:
        """Return when something last happened in a workspace."""
        log = latest_log(self.tables, workspace["id"])
        moments: list[float] = [workspace["created_at"], log["timestamp"] if log else 0.0]
        moments += [row["since"] for row in self.statuses(workspace["id"])]
        return max(moments)
