"""AGENTS: the table of coding agents, one row each.

Level 0: Shell functions, help and man pages are printed from this table; adding an agent is adding a row
here, its event names in `agent_events` and, where the agent loads something, a file in hooks/.
"""

from __future__ import annotations

from seance_tools import agent_events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NOTHING: dict[str, str] = {}
_NO_MARKS: dict[str, tuple[agent_events.Mark, ...]] = {}
_HELP = ("--version", "-v", "--help", "-h")
_NOT_CODEBUFF = (*_HELP, "login", "publish")
_MANAGE: tuple[str, ...] = ("mcp", "config", "doctor", "update", "upgrade", "install", "plugin", "plugins")
_MANAGE += ("agents", "auth", "setup-token", "migrate-installer", "remote-control")


class Agent:
    """One coding agent.

    key: its name on the wire and in status keys. name: for people. binaries: its commands; the first is
    the one a wrapper runs. log_root: directory below the home directory that its session logs live under
    ("" where it has none), log_suffix: how their names end, log_format: which of the FORMATS of `turns` their
    lines have ("" for none of them). not_sessions: command words and options of invocations that are not
    sessions. mode: "surface" (one status per pane) or "session" (one per
    session id). clear_status_on_end: a session's end removes its status. has_notification_hook: it says
    by itself when it needs input. reply: what its hooks must print.

    events: its names for what happens, to ours. layers: members of its payloads whose own members count as
    the payload's. fields: where its payloads have something else than all others do (lifecycle, FIELDS).
    transcript: what the log says that its hooks name in transcript_path (lifecycle.transcript); none where it
    is not read. prompt: pattern of its screen that shows its prompt, "" for none known; busy: words of a
    screen that, though it does, waits for no prompt.
    many_sessions: one process may have several sessions at work. tells_prompts: it says when a turn begins.

    install: what it loads to report to us, () for nothing: the way (see install.plan), its directory (the
    variable that moves it|where it is below the home directory), the path in there, the source in hooks/.
    launch: the option that gives it these hooks for one launch, "" for none.
    """

    def __init__(
        self,
        key: str,
        name: str,
        binaries: tuple[str, ...],
        *,
        log_root: str = "",
        log_suffix: str = "",
        log_format: str = "",
        not_sessions: tuple[str, ...] = (),
        mode: str = "surface",
        clear_status_on_end: bool = True,
        has_notification_hook: bool = True,
        reply: str = "",
        events: Mapping[str, object] = agent_events.HOOKS,
        layers: tuple[str, ...] = (),
        fields: Mapping[str, str] = _NOTHING,
        many_sessions: bool = False,
        tells_prompts: bool = True,
        transcript: Mapping[str, tuple[agent_events.Mark, ...]] = _NO_MARKS,
        prompt: str = "",
        busy: tuple[str, ...] = (),
        install: tuple[str, ...] = (),
        launch: str = "",
    ) -> None:
        self.key = key
        self.name = name
        self.binaries = binaries
        self.log_root = log_root
        self.log_suffix = log_suffix
        self.log_format = log_format
        self.not_sessions = not_sessions
        self.mode = mode
        self.clear_status_on_end = clear_status_on_end
        self.has_notification_hook = has_notification_hook
        self.reply = reply
        self.events = events
        self.layers = layers
        self.fields = fields
        self.many_sessions = many_sessions
        self.tells_prompts = tells_prompts
        self.transcript = transcript
        self.prompt = prompt
        self.busy = busy
        self.install = install
        self.launch = launch


def _like_opencode(key: str, name: str, config: str) -> Agent:
    return Agent(
        key,
        name,
        (key,),
        events=agent_events.OPENCODE,
        layers=("properties", "input", "output"),
        fields={"message": "status.message message title"},
        many_sessions=True,
        install=(
            "file",
            f"XDG_CONFIG_HOME/{config}|.config/{config}",
            "plugin/seance-tools.js",
            "opencode.js",
        ),
    )


AGENTS = (
    Agent(
        "codebuff",
        "Codebuff",
        ("codebuff", "cb"),
        log_root=".config/manicode",
        log_suffix=".jsonl",
        log_format="codebuff",
        not_sessions=_NOT_CODEBUFF,
        has_notification_hook=False,
    ),
    Agent(
        "freebuff",
        "Freebuff",
        ("freebuff",),
        log_root=".config/manicode",
        log_suffix=".jsonl",
        log_format="codebuff",
        not_sessions=_NOT_CODEBUFF,
        has_notification_hook=False,
    ),
    Agent(
        "poolside",
        "Poolside",
        ("pool",),
        log_root=".local/state/poolside/trajectories",
        log_suffix=".ndjson",
        log_format="poolside",
        not_sessions=("--version", "--help", "-h", "login", "config", "mcp", "history", "exec", "acp"),
        has_notification_hook=False,
    ),
    Agent(
        "claude",
        "Claude Code",
        ("claude",),
        not_sessions=(*_HELP, *_MANAGE),
        events=agent_events.CLAUDE,
        transcript=agent_events.CLAUDE_LOG,
        # Its input line stands right below a border, where dialogs have a title; it is there while it works,
        # too, but then with these words. As third-party readers have its screen, versions 1 and 2.
        prompt=r"^[╭ ]*─{8,}.*\n[│ ]*[>❯](?!\s*\d+\.)(?:\s.*)?\n",
        busy=("esc to interrupt", "Esc to cancel", "Enter to select", "Do you want to"),
        install=("json", "CLAUDE_CONFIG_DIR|.claude", "settings.json"),
        launch="--settings",
    ),
    Agent(
        "codex",
        "Codex",
        ("codex",),
        events=agent_events.CODEX,
        transcript=agent_events.CODEX_LOG,
        reply='{"continue":true}',
        install=("json", "CODEX_HOME|.codex", "hooks.json"),
    ),
    _like_opencode("opencode", "OpenCode", "opencode"),
    _like_opencode("kilo", "Kilo", "kilo"),
    _like_opencode("mimo", "MiMo Code", "mimocode"),
    Agent(
        "pi",
        "Pi",
        ("pi",),
        events=agent_events.PI,
        fields={"last_message": "messages.-1.content.-1.text", "error": "messages.-1.errorMessage"},
        install=("file", "PI_CODING_AGENT_DIR|.pi/agent", "extensions/seance-tools.ts"),
    ),
    Agent(
        "vibe",
        "Mistral Vibe",
        ("vibe",),
        events=agent_events.VIBE,
        has_notification_hook=False,
        tells_prompts=False,
        install=("block", "VIBE_HOME|.vibe", "hooks.toml"),
    ),
    Agent(
        "hermes",
        "Hermes",
        ("hermes",),
        events=agent_events.HERMES,
        layers=("extra",),
        fields={"message": "command description"},
        many_sessions=True,
        install=("folder", "HERMES_HOME|.hermes", "plugins/seance-tools"),
    ),
    Agent(
        "gemini",
        "Gemini CLI",
        ("gemini",),
        events=agent_events.GEMINI,
        install=("json", "|.gemini", "settings.json"),
    ),
    Agent(
        "qwen",
        "Qwen Code",
        ("qwen",),
        events=agent_events.CLAUDE,
        install=("json", "|.qwen", "settings.json"),
    ),
    Agent(
        "cursor",
        "Cursor CLI",
        ("cursor-agent",),
        events=agent_events.CURSOR,
        has_notification_hook=False,
        install=("json", "|.cursor", "hooks.json"),
    ),
    Agent(
        "copilot",
        "Copilot CLI",
        ("copilot",),
        events=agent_events.COPILOT,
        install=("json", "COPILOT_HOME|.copilot", "hooks/seance-tools.json"),
    ),
    Agent(
        "amp",
        "Amp",
        ("amp",),
        events=agent_events.AMP,
        fields={"message": "", "error": ""},  # its `message` is the prompt
        many_sessions=True,
        install=("file", "XDG_CONFIG_HOME/amp|.config/amp", "plugins/seance-tools.ts"),
    ),
    Agent(
        "goose",
        "Goose",
        ("goose",),
        events=agent_events.GOOSE,
        has_notification_hook=False,
        # other agents use ~/.agents too: that it is there does not tell of Goose
        install=("folder", "|.config/goose", "../../.agents/plugins/seance-tools"),
    ),
    Agent(
        "antigravity",
        "Antigravity",
        ("agy",),
        events=agent_events.ANTIGRAVITY,
        install=("statusline", "|.gemini/antigravity-cli", "settings.json"),
    ),
    Agent(
        "aider",
        "Aider",
        ("aider",),
        events=agent_events.AIDER,
        tells_prompts=False,
        install=("block", "|.aider", "../.aider.conf.yml"),
    ),
)

BY_KEY = {agent.key: agent for agent in AGENTS}


def display_name(key: str) -> str:
    """Return the name for people of the agent `key`, or the key itself where the table has no row."""
    agent = BY_KEY.get(key)
    return agent.name if agent else key


def agent_named(key: str) -> Agent:
    """Return the row of `key`; an agent the table does not know gets a plain one of its own."""
    return BY_KEY.get(key) or Agent(key, key, (key,))
