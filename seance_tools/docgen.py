"""Writes the generated parts of shell files and man pages from the tables: `make generate`.

A part stands between a line with `--- begin generated: NAME` and one with `--- end generated`, in whatever
comment the file's language has. `--check` writes nothing and fails if a part is not up to date.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from seance_tools import names, spoolfile
from seance_tools.agents import AGENTS
from seance_tools.ctl.program import summary
from seance_tools.ctl.table import COMMANDS, SILENT, flag
from seance_tools.lifecycle import TEXTS
from seance_tools.methods import BY_NAME, METHODS, REQUIRED, STATES, Param
from seance_tools.options import OPTIONS
from seance_tools.view import ASCII, KEYS, UNICODE
from seance_tools.wire import ERROR_CODES

ROOT = Path(__file__).parent.parent
FOLDERS = ("wrappers", "man", "bin", "hooks")
_PART = re.compile(
    r"(?P<begin>^.*--- begin generated: (?P<name>[a-z-]+).*\n)(?:.*\n)*?(?P<end>^.*--- end generated.*$)",
    re.M,
)


def roff(text: str) -> str:
    """Return text with what roff would act on escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").replace("–", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def _entries(rows: Iterator[tuple[str, str]]) -> str:
    return "".join(f".TP\n.B {roff(term)}\n{roff(text)}\n" for term, text in rows)


def exit_codes() -> str:
    """Return the exit codes as roff."""
    return _entries((str(code), text) for code, text in names.EXIT_CODES.items())


def environment() -> str:
    """Return the environment variables as roff."""
    return _entries(iter(names.ENVIRONMENT.items()))


def limits() -> str:
    """Return the limits as roff."""
    return _entries((name, f"{value:,}") for name, value in names.LIMITS.items())


def error_codes() -> str:
    """Return the wire's error codes as roff."""
    return _entries(iter(ERROR_CODES.items()))


def _parameter(param: Param) -> str:
    spellings = " or ".join((param.name, *param.aliases))
    if param.default is REQUIRED:
        need = "required"
    elif param.default is None:
        need = "optional"
    else:
        need = f"default {str(param.default).lower() if isinstance(param.default, bool) else param.default!r}"
    return f".RS\n.TP\n.I {roff(spellings)}\n{roff(f'({param.type}, {need}) {param.help}')}\n.RE\n"


def methods() -> str:
    """Return METHODS as roff."""
    text = ""
    for row in METHODS:
        text += f".TP\n.B {roff(', '.join((row.name, *row.aliases)))}\n{roff(row.help)}"
        text += f" Result: {roff(row.result)}.\n" if row.result else "\n"
        text += "".join(_parameter(param) for param in row.params)
    return text


def agents() -> str:
    """Return the agents as roff."""
    return _entries((row.key, f"{row.name} ({', '.join(row.binaries)})") for row in AGENTS)


def commands() -> str:
    """Return seance-ctl's commands as roff."""
    text = ""
    for name, entry in sorted(COMMANDS.items()):
        params = [p for p in BY_NAME[entry.method].params if p.name not in SILENT] if entry.method else []
        options = ", ".join(flag(param.name) for param in params if param.name not in entry.fixed)
        places = "".join(f" [{argument.removesuffix('_id').upper()}]" for argument in entry.arguments)
        calls = f" Calls {entry.method}." if entry.method else ""
        taken = f" Options: {options}." if options else ""
        text += f".TP\n.B {roff(name + places)}\n{roff(summary(name) + calls + taken)}\n"
    return text


def options() -> str:
    """Return the keys of config.toml as roff."""
    return _entries(
        (
            " or ".join((option.key, *option.places)),
            f"({option.type}, default {json.dumps(option.default)}) {option.help}",
        )
        for option in OPTIONS
    )


def keys() -> str:
    """Return the sidebar's keys as roff."""
    return _entries(iter(KEYS))


def states() -> str:
    """Return the states with their signs as roff."""
    return _entries((f"{UNICODE.states[state]}  {ASCII.states[state]}", TEXTS[state]) for state in STATES)


def wrapped() -> str:
    """Return the shell functions' lines: agents watched by their logs, and those that take our hooks."""
    rows = [(command, agent.binaries[0]) for agent in AGENTS if agent.log_root for command in agent.binaries]
    text = "".join(f"__seance_wrap {command} {first}-wrapper\n" for command, first in rows)
    for agent in (agent for agent in AGENTS if agent.launch):
        words = " ".join(agent.not_sessions)
        text += f"__seance_hook {agent.binaries[0]} {agent.launch} {agent.key}.json '{words}'\n"
    return text


def replies() -> str:
    """Return seance-hook's lines that print what an agent expects of its hooks."""
    rows = [(agent.key, agent.reply) for agent in AGENTS if agent.reply]
    return "".join(f"    {key}) printf '%s\\n' {shlex.quote(reply)} ;;\n" for key, reply in rows)


def places() -> str:
    """Return seance-hook's lines that report the variables which tell the pane."""
    rows = names.PLACE_HEADERS.items()
    return "".join(f'        add {header} "${{{variable}-}}"\n' for header, variable in rows)


def _headers() -> dict[str, str]:
    return {"Workspace": "SEANCE_WORKSPACE_ID", "Surface": "SEANCE_SURFACE_ID", **names.PLACE_HEADERS}


def plugin_places() -> str:
    """Return the variables that tell the pane, by their headers, for a plugin in Python."""
    rows = "".join(f'    "{header}": "{variable}",\n' for header, variable in _headers().items())
    return f"PLACES = {{\n{rows}}}\n"


def plugin_report() -> str:
    """Return how a plugin in JavaScript reports: its host loads one file, so each has it."""
    rows = "".join(
        f'  {json.dumps(header) if "-" in header else header}: "{variable}",\n'
        for header, variable in _headers().items()
    )
    imports, blank, rest = (ROOT / "hooks" / "report.js").read_text().partition("\n\n")
    return f"{imports}{blank}const PLACES = {{\n{rows}}};\n{rest}"


def shell_places() -> str:
    """Return the shell functions' lines that report those variables: bash, zsh and fish read them alike."""
    rows = names.PLACE_HEADERS.items()
    return "".join(f"    __seance_place {header} {variable}\n" for header, variable in rows)


def agent_pids() -> str:
    """Return seance-hook's lines that report an agent's process as its wrapper tells it."""
    keys = [agent.key for agent in AGENTS if agent.log_root]
    return "".join(f'        {key}) number Agent-Pid "${{SEANCE_{key.upper()}_PID-}}" ;;\n' for key in keys)


def spool_headers() -> str:
    """Return the headers of a file in the spool as roff."""
    return _entries(iter(spoolfile.HEADERS.items()))


PARTS: dict[str, Callable[[], str]] = {
    "exit-codes": exit_codes,
    "environment": environment,
    "limits": limits,
    "error-codes": error_codes,
    "methods": methods,
    "commands": commands,
    "known-agents": agents,
    "agents": wrapped,
    "options": options,
    "keys": keys,
    "states": states,
    "replies": replies,
    "places": places,
    "shell-places": shell_places,
    "agent-pids": agent_pids,
    "plugin-places": plugin_places,
    "plugin-report": plugin_report,
    "spool-headers": spool_headers,
}


def renew(text: str, parts: dict[str, Callable[[], str]]) -> str:
    """Return `text` with every generated part made anew. Raises KeyError for a part nobody makes."""
    return _PART.sub(lambda m: m["begin"] + parts[m["name"]]() + m["end"], text)


def files() -> list[Path]:
    """Return the files that may have generated parts."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    return [path for path in found if "__pycache__" not in path.parts]


def main() -> None:
    """Run `python -m seance_tools.docgen [--check]`."""
    stale = []
    for path in files():
        text = path.read_text()
        wanted = renew(text, PARTS)
        if wanted != text:
            stale.append(path)
            if "--check" not in sys.argv[1:]:
                path.write_text(wanted)
    if stale and "--check" in sys.argv[1:]:
        paths = " ".join(str(path.relative_to(ROOT)) for path in stale)
        names.complain("docgen", f"not up to date, run `make generate`: {paths}")
        sys.exit(names.EXIT_REFUSED)


if __name__ == "__main__":
    main()
