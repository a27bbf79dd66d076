"""AGENTS: the table of coding agents, one row each.

Level 0: imports nothing. Shell functions, help and man pages are printed from this table; adding an agent
is adding a row here and, where the agent loads something, a file in hooks/.
"""

from __future__ import annotations


class Agent:
    """One coding agent.

    key: its name on the wire and in status keys. name: for people. binaries: its commands; the first is
    the one a wrapper runs. log_root: directory below the home directory that its session logs live under
    ("" where it has none), log_suffix: how their names end. log_excludes: command words and options
    of invocations that are not sessions. mode: "surface" (one status per pane) or "session" (one per
    session id). clear_status_on_end: a session's end removes its status. has_notification_hook: it says
    by itself when it needs input. reply: what its hooks must print.
    """

    __slots__ = (
        "binaries",
        "clear_status_on_end",
        "has_notification_hook",
        "key",
        "log_root",
        "log_suffix",
        "mode",
        "name",
        "not_sessions",
        "reply",
    )

    def __init__(
        self,
        key: str,
        name: str,
        binaries: tuple[str, ...],
        *,
        log_root: str = "",
        log_suffix: str = "",
        not_sessions: tuple[str, ...] = (),
        mode: str = "surface",
        clear_status_on_end: bool = True,
        has_notification_hook: bool = True,
        reply: str = "",
    ) -> None:
        self.key = key
        self.name = name
        self.binaries = binaries
        self.log_root = log_root
        self.log_suffix = log_suffix
        self.not_sessions = not_sessions
        self.mode = mode
        self.clear_status_on_end = clear_status_on_end
        self.has_notification_hook = has_notification_hook
        self.reply = reply


AGENTS = (
    Agent(
        "codebuff",
        "Codebuff",
        ("codebuff", "cb"),
        log_root=".config/manicode",
        log_suffix=".jsonl",
        not_sessions=("--version", "-v", "--help", "-h", "login", "publish"),
        has_notification_hook=False,
    ),
    Agent("claude", "Claude Code", ("claude",)),
    Agent("codex", "Codex", ("codex",), reply='{"continue":true}'),
    Agent("opencode", "OpenCode", ("opencode",)),
    Agent("kilo", "Kilo", ("kilo",)),
    Agent("mimo", "MiMo Code", ("mimo",)),
    Agent("pi", "Pi", ("pi",)),
    Agent("vibe", "Mistral Vibe", ("vibe",), has_notification_hook=False),
    Agent("hermes", "Hermes", ("hermes",)),
    Agent("gemini", "Gemini CLI", ("gemini",)),
    Agent("qwen", "Qwen Code", ("qwen",)),
    Agent("cursor", "Cursor CLI", ("cursor-agent",), has_notification_hook=False),
    Agent("copilot", "Copilot CLI", ("copilot",)),
    Agent("amp", "Amp", ("amp",)),
    Agent("goose", "Goose", ("goose",), has_notification_hook=False),
    Agent("antigravity", "Antigravity", ("agy",)),
    Agent("aider", "Aider", ("aider",)),
)

BY_KEY = {agent.key: agent for agent in AGENTS}


def display_name(key: str) -> str:
    """Return the name for people of the agent `key`, or the key itself where the table has no row."""
    agent = BY_KEY.get(key)
    return agent.name if agent else key


def agent_named(key: str) -> Agent:
    """Return the row of `key`; an agent the table does not know gets a plain one of its own."""
    return BY_KEY.get(key) or Agent(key, key, (key,))
