"""Names, paths, limits and exit codes that every program shares.

Level 0: imports nothing but `os` and `sys`, because the hooks' and the wrapper's start pays for it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOL = 1

# Exit codes of every program; the man pages print this table.
EXIT_OK = 0
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_NO_BROKER = 3
EXIT_TIMEOUT = 4
EXIT_ENDED = 5
EXIT_CODES = {
    EXIT_OK: "done",
    EXIT_REFUSED: "the broker refused the request, or the program could not do it",
    EXIT_USAGE: "the command line or the JSON on standard input is wrong; nothing was sent",
    EXIT_NO_BROKER: "no broker answers and none could be started",
    EXIT_TIMEOUT: "the broker did not answer in time, or what was waited for did not come in time",
    EXIT_ENDED: "seance-ctl wait: the agent ended",
}

# Environment variables that the programs read; the man pages print this table.
ENVIRONMENT = {
    "SEANCE_SOCKET_PATH": "path of the broker's socket; wins over the configuration and the default",
    "SEANCE_SURFACE_ID": "id of the surface that a report is about; wins over what the terminal says",
    "SEANCE_WORKSPACE_ID": "id of the workspace that a report is about; wins over what the terminal says",
    "SEANCE_HOST": "name of this machine for the broker of another one; default in a container or over ssh: "
    "its host name",
    "SEANCE_CODEBUFF_PID": "set by codebuff-wrapper: process id of the agent it became",
    "SEANCE_FREEBUFF_PID": "the same, set by freebuff-wrapper",
    "SEANCE_POOLSIDE_PID": "the same, set by pool-wrapper",
    "SEANCE_CODEBUFF_HOOKS_DISABLED": "1: codebuff-wrapper runs the agent and reports nothing",
    "SEANCE_FREEBUFF_HOOKS_DISABLED": "the same for freebuff-wrapper",
    "SEANCE_POOLSIDE_HOOKS_DISABLED": "the same for pool-wrapper",
    "SEANCE_SHELL_REPORTS": "0: the shell functions do not report what the shell itself is doing",
    "SEANCE_COMMAND": "set by the shell functions for codebuff-wrapper: the command that was typed",
    "SEANCE_WRAPPED": "set by codebuff-wrapper: agent:pid:hops, so that it never wraps a session twice",
    "SEANCE_LOG": "path of the broker's log when detached; default broker.log in the state directory",
    "XDG_RUNTIME_DIR": "where the socket lives: seance/seance.sock below it, else ~/.seance/seance.sock",
    "XDG_STATE_HOME": "where the state lives: seance/ below it, default ~/.local/state",
    "XDG_CONFIG_HOME": "where config.toml lives: seance/ below it, default ~/.config",
    "NO_COLOR": "set and not empty: no colours",
    "TMUX": "tmux's server of the pane; with TMUX_PANE it tells the surface",
    "TMUX_PANE": "tmux's name of the pane",
    "KITTY_LISTEN_ON": "kitty's socket; with KITTY_WINDOW_ID it tells the surface",
    "KITTY_WINDOW_ID": "kitty's name of the pane",
    "WEZTERM_UNIX_SOCKET": "WezTerm's socket; with WEZTERM_PANE it tells the surface",
    "WEZTERM_PANE": "WezTerm's name of the pane",
    "ZELLIJ_SESSION_NAME": "zellij's session; with ZELLIJ_PANE_ID it tells the surface",
    "ZELLIJ_PANE_ID": "zellij's name of the pane",
    "STY": "screen's session; with WINDOW it tells the surface",
    "WINDOW": "screen's name of the pane",
}

# What a report carries of its environment, so that the broker can tell the pane it comes from, by the
# header that a file in the spool has for it. Architecture, "Identity".
PLACE_HEADERS = {
    "Host": "SEANCE_HOST",
    "Tmux": "TMUX",
    "Pane": "TMUX_PANE",
    "Kitty": "KITTY_LISTEN_ON",
    "Kitty-Window": "KITTY_WINDOW_ID",
    "Wezterm": "WEZTERM_UNIX_SOCKET",
    "Wezterm-Pane": "WEZTERM_PANE",
    "Zellij": "ZELLIJ_SESSION_NAME",
    "Zellij-Pane": "ZELLIJ_PANE_ID",
    "Screen": "STY",
    "Screen-Window": "WINDOW",
}
PLACE_VARIABLES = tuple(PLACE_HEADERS.values())
# Files that Docker and Podman put into every container.
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")

# Limits of the broker, by the name under which `system.health` and the man pages show them.
# Units stand in the name; figures from the reliability document.
LIMITS = {
    "request_bytes": 1 << 20,
    "unterminated_bytes": 4 << 20,
    "json_depth": 64,
    "object_keys": 256,
    "text_characters": 4096,
    "name_characters": 256,
    "connections": 1024,
    "descriptors_kept_back": 32,
    "half_line_seconds": 30,
    "subscriber_events": 1024,
    "subscriber_bytes": 4 << 20,
    "replay_events": 4096,
    "workspaces": 4096,
    "surfaces": 4096,
    "agents": 4096,
    "status_entries": 64,
    "log_entries": 200,
    "notifications": 200,
    "socket_path_bytes": 107,
    "spool_files": 4096,
    "spool_body_bytes": 16 << 20,
    "spool_age_seconds": 24 * 60 * 60,
}

DEFAULT_TIMEOUT = 2.0  # seconds a client waits for an answer
LONGEST_TIMEOUT = 10_000_000  # seconds; more than the system's timers take is an error of its own
SUN_PATH_BYTES = LIMITS["socket_path_bytes"]


def home(environ: Mapping[str, str]) -> str:
    """Return the user's home directory from `environ`, else from the password database."""
    return environ.get("HOME") or os.path.expanduser("~")


def _base(environ: Mapping[str, str], variable: str, fallback: str) -> str:
    """Return an XDG base directory; relative values are ignored as the XDG specification says."""
    value = environ.get(variable, "")
    return value if value.startswith("/") else os.path.join(home(environ), fallback)


def host(environ: Mapping[str, str]) -> str:
    """Return this machine's name for a broker that may run on another one, "" where that cannot be.

    A container and what was reached over ssh may have the socket of another machine's broker.
    """
    given = environ.get("SEANCE_HOST", "")
    if given:
        return given
    elsewhere = environ.get("SSH_CONNECTION") or any(map(os.path.exists, CONTAINER_MARKS))
    return os.uname().nodename if elsewhere else ""


def place_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that tell the pane of a report, the machine's name among them where it matters."""
    found = {name: environ[name] for name in PLACE_VARIABLES if environ.get(name)}
    machine = host(environ)
    return {**found, "SEANCE_HOST": machine} if machine else found


def config_path(environ: Mapping[str, str]) -> str:
    """Return the path of config.toml."""
    return os.path.join(_base(environ, "XDG_CONFIG_HOME", ".config"), "seance", "config.toml")


def state_directory(environ: Mapping[str, str]) -> str:
    """Return the directory of the broker's database and log."""
    return os.path.join(_base(environ, "XDG_STATE_HOME", ".local/state"), "seance")


def database_path(environ: Mapping[str, str]) -> str:
    """Return the path of the broker's database; a broker at another than the usual socket has its own.

    Raises ValueError as `socket_path` does.
    """
    path = socket_path(environ)
    mark = (
        "" if path == _usual_socket(environ) else "-" + path.strip("/").replace("%", "%25").replace("/", "%")
    )
    return os.path.join(state_directory(environ), f"state{mark}.db")


def socket_path(environ: Mapping[str, str], given: str = "") -> str:
    """Return the path of the broker's socket; every program asks here and nowhere else.

    given: by an option, wins over everything else.

    Raises ValueError with one line for the person when the path is too long for a socket.
    """
    given = given or environ.get("SEANCE_SOCKET_PATH", "")
    path = os.path.abspath(os.path.expanduser(given)) if given else _usual_socket(environ)
    size = len(os.fsencode(path))
    if size > SUN_PATH_BYTES:
        raise ValueError(f"socket path is {size} bytes, at most {SUN_PATH_BYTES} work: {path}")
    return path


def spool_path(socket: str) -> str:
    """Return the path of the spool of the broker at that socket."""
    return os.path.join(os.path.dirname(socket), "spool")


def spool_link(environ: Mapping[str, str], socket: str) -> str:
    """Return where a link to the spool of the broker at `socket` has to be, "" where none is needed.

    A hook cannot read config.toml: without SEANCE_SOCKET_PATH it looks beside the default socket. The broker
    that config.toml sends elsewhere leaves a link there. Raises ValueError as `socket_path` does.
    """
    default = spool_path(_default_socket(environ))
    usual = socket == _usual_socket(environ)
    return default if usual and default != spool_path(socket) else ""


def _usual_socket(environ: Mapping[str, str]) -> str:
    path = _configured_socket(environ) or _default_socket(environ)
    return os.path.abspath(os.path.expanduser(path))


def _default_socket(environ: Mapping[str, str]) -> str:
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    directory = os.path.join(runtime, "seance") if runtime.startswith("/") else ""
    return os.path.join(directory or os.path.join(home(environ), ".seance"), "seance.sock")


def _configured_socket(environ: Mapping[str, str]) -> str:
    """Return the socket's path in config.toml, "" where there is none.

    A file that cannot be read is as good as none here; `seance-ctl config check` and `doctor` tell of it.
    """
    content = read_plain_file(config_path(environ))
    if b"socket" not in content:  # spares nearly everyone the TOML parser, 10 ms of a hook's start
        return ""
    import tomllib

    try:
        section = tomllib.loads(content.decode()).get("socket")
    except (ValueError, RecursionError):
        return ""
    value = section.get("path") if isinstance(section, dict) else None
    return value if isinstance(value, str) else ""


def read_plain_file(path: str) -> bytes:
    """Return what a regular file holds, nothing where there is none or it cannot be read.

    Never waits, as opening a FIFO would.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        if os.fstat(descriptor).st_mode & 0o170000 != 0o100000:  # S_ISREG, without importing `stat`
            return b""
        chunks = []
        while chunk := os.read(descriptor, 1 << 16):
            chunks.append(chunk)
        return b"".join(chunks)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def complain(program: str, message: object) -> None:
    """Write one line for the person to standard error; a closed or full one is nobody's fault."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(message))
    line = f"{program}: {shown}\n".encode(errors="backslashreplace")
    try:
        os.write(2, line)
    except OSError:
        sys.stderr = None
