"""What a row of the METHODS table is, and the parameters that many methods take."""

from __future__ import annotations

from typing import NamedTuple

from seance_tools.methods.params import NAME, Param, integer, string, structure

PID_HIGH = (1 << 31) - 1
AGENT = 64  # characters; session keys hold it and a session's id beside it
SOURCES = ("hook", "log", "screen", "process", "api", "activity")


class Method(NamedTuple):
    """One method: name, parameters, help, what its result holds, other names, whether the broker does it."""

    name: str
    params: tuple[Param, ...]
    help: str
    result: str
    aliases: tuple[str, ...] = ()
    io: bool = False

    @property
    def handler(self) -> str:
        """The name of the function that does it."""
        return self.name.replace(".", "_")


CALLER = (
    integer("surface_id", "id of the surface; wins over env", None),
    structure("env", "the caller's environment variables that tell its pane", None),
    string("tty", "the caller's terminal device, where env tells nothing", None),
    integer("tty_session", "process id of that terminal's session leader", None, 1, PID_HIGH),
)
# Where a report belongs: a workspace by its id, else the caller's.
WHERE = (
    integer("workspace_id", "id of the workspace, an unknown one is created; default: the caller's", None),
    *CALLER,
)
SURFACE = CALLER
WORKSPACE = integer("workspace_id", "id of the workspace")
SESSION = (
    string("session", "key of the agent's session, as agent.list shows it", None, 2 * NAME),
    string("agent", "only sessions of this agent", None),
)
