"""The plugins that agents load, in a host that calls them as their agents do: their reports arrive."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seance_tools import names
from seance_tools.agents import BY_KEY
from seance_tools.install import plan
from tests.hooks.conftest import Spool

SOURCES = Path(__file__).parent.parent.parent / "hooks"
SCRIPTS = [SOURCES / name for name in ("amp.ts", "opencode.js", "pi.ts")]
PAYLOADS = Path(__file__).parent.parent / "data" / "payloads"
# Hosts: load the plugin, call what it asked for, and end on their own like an agent
TRACES = """
const names = ["uncaughtException", "unhandledRejection", "exit", "beforeExit", "SIGINT", "SIGTERM"];
const traces = () =>
  JSON.stringify([
    Object.getOwnPropertyNames(globalThis),
    names.map((name) => process.listenerCount(name)),
    [process.cwd(), process.umask(), process.env, process.exitCode, process.title],
  ]);
const before = traces();
"""
OPENCODE = """
const { SeanceTools, ...others } = await import(process.argv[1]);
if (Object.keys(others).length) throw new Error("exports more than the plugin");
const hooks = await SeanceTools({});
const { events } = JSON.parse(process.argv[2]);
for (const [hook, ...given] of events) {
  const answer = await hooks[hook](...given);
  if (answer !== undefined) throw new Error(`${hook} answers`);
}
await hooks.dispose();
if (traces() !== before) throw new Error("leaves traces");
"""
EMITTER = """
const plugin = (await import(process.argv[1])).default;
const handlers = {};
let end = async () => {};
plugin({ on: (name, handler) => (handlers[name] = handler), onDispose: (handler) => (end = handler) });
const { events } = JSON.parse(process.argv[2]);
for (const [name, ...given] of events) {
  const answer = handlers[name](...given);
  if (name !== "session_shutdown" && answer !== undefined) throw new Error(`${name} answers`);
  await answer;
}
await end();
if (traces() !== before) throw new Error("leaves traces");
"""


def sample(agent: str, name: str) -> Any:
    return json.loads((PAYLOADS / agent / f"{name}.json").read_text())


@pytest.fixture
def host(need: Callable[[str], str], tmp_path: Path) -> Callable[..., None]:
    """Install an agent's plugin, and run it in a host."""

    def run(agent: str, script: str, environ: dict[str, str], events: list[Any]) -> None:
        [change] = plan.changes(BY_KEY[agent], {"HOME": str(tmp_path / "none")}, install=True)
        module = tmp_path / f"{agent}.mjs"  # what bun and the agents' loaders take as it is, node does not
        module.write_text(change.after or "")
        given = [str(module), json.dumps({"events": events})]
        done = subprocess.run(
            [need("node"), "--input-type=module", "-e", TRACES + script, *given],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    return run


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_clean(path: Path, need: Callable[[str], str], tmp_path: Path) -> None:
    module = tmp_path / f"{path.stem}.mjs"
    module.write_text(path.read_text())
    done = subprocess.run([need("node"), "--check", str(module)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_script_is_an_agents_and_looks_for_every_pane() -> None:
    assert {path.name for path in SOURCES.glob("*.[jt]s")} == {*(path.name for path in SCRIPTS), "report.js"}
    for path in SCRIPTS:
        places = path.read_text().split("const PLACES = {\n")[1].split("};\n")[0]
        rows = [row.strip().replace('"', "") for row in places.split(",\n") if row.strip()]
        assert dict(row.split(": ") for row in rows) == {
            "Workspace": "SEANCE_WORKSPACE_ID",
            "Surface": "SEANCE_SURFACE_ID",
            **names.PLACE_HEADERS,
        }


OPENCODE_EVENTS = [
    ["event", {"event": sample("opencode", "session.created")}],
    ["chat.message", *sample("opencode", "hook-chat.message").values()],
    ["event", {"event": sample("opencode", "session.status-busy")}],
    ["tool.execute.before", *sample("opencode", "hook-tool.execute.before").values()],
    ["event", {"event": sample("opencode", "permission.asked")}],
    ["event", {"event": {"type": "message.part.updated", "properties": {}}}],
    ["event", {"event": sample("opencode", "permission.replied")}],
    ["tool.execute.after", *sample("opencode", "hook-tool.execute.after").values()],
    ["event", {"event": sample("opencode", "session.idle")}],
]


@pytest.mark.parametrize("agent", ["opencode", "kilo", "mimo"])
def test_opencode_and_its_kin(
    agent: str, host: Callable[..., None], pane: dict[str, str], spool: Spool
) -> None:
    host(agent, OPENCODE, pane, OPENCODE_EVENTS)
    heard = spool.heard()
    assert all(heard)
    assert [report.event for report in heard if report] == [
        "session-start",
        "prompt-submit",
        "busy",
        "pre-tool-use",
        "approval-request",
        "approval-response",
        "post-tool-use",
        "stop",
        "session-end",
    ]
    assert {report.session_id for report in heard[:-1] if report} == {"ses_6a01"}
    assert heard[3]
    assert heard[3].doing == "Running pytest -q"
    requests = spool.requests()
    assert {request.request.params["agent"] for request in requests} == {agent}
    where = requests[0].request.caller
    assert where == {"surface_id": 7, "env": {"TMUX": "/tmp/tmux,1,0", "TMUX_PANE": "%3"}}
    assert len(requests[0].processes) == 2
    assert requests[0].processes[0][1]
    assert requests[0].processes[1] == (os.getpid(), None)


def test_pi(host: Callable[..., None], pane: dict[str, str], spool: Spool) -> None:
    names_of = ["session_start", "agent_start", "tool_execution_start", "tool_execution_end", "agent_end"]
    events = [[name, sample("pi", name), {"cwd": "/w"}] for name in [*names_of, "session_shutdown"]]
    host("pi", EMITTER, pane, events)
    heard = [report for report in spool.heard() if report]
    assert [report.event for report in heard] == [
        "session-start",
        "prompt-submit",
        "pre-tool-use",
        "post-tool-use",
        "stop",
        "session-end",
    ]
    assert heard[1].cwd == "/w"
    assert heard[2].doing == "Running pytest -q"


def test_amp(host: Callable[..., None], pane: dict[str, str], spool: Spool) -> None:
    names_of = ["session.start", "agent.start", "tool.result"]
    events = [[name, sample("amp", name)] for name in names_of]
    events.append(["thread.state", sample("amp", "thread.state-awaiting-approval")])
    events.append(["agent.end", sample("amp", "agent.end-cancelled")])
    host("amp", EMITTER, pane, events)
    heard = [report for report in spool.heard() if report]
    assert [report.event for report in heard] == [
        "session-start",
        "prompt-submit",
        "post-tool-use",
        "approval-request",
        "interrupt",
        "session-end",
    ]
    assert {report.session_id for report in heard[:-1]} == {"T-1"}


def test_without_a_broker_nothing_happens(
    host: Callable[..., None], pane: dict[str, str], tmp_path: Path
) -> None:
    host("opencode", OPENCODE, pane, OPENCODE_EVENTS)
    assert list((tmp_path / "run").iterdir()) == []


def test_whatever_comes_the_host_does_not_notice(
    host: Callable[..., None], pane: dict[str, str], spool: Spool
) -> None:
    script = OPENCODE.replace(
        "await hooks.dispose();",
        """const odd = { type: "session.idle" };
odd.self = odd;
await hooks.event({ event: odd });
await hooks.event({ event: { type: "session.idle", properties: 1n } });
await hooks.event({});
await hooks.event();
await hooks["chat.message"]();
await hooks["tool.execute.after"](null);
await hooks["tool.execute.before"]();
await hooks.event({ event: { type: "session.created", properties: { title: "x".repeat(1e7) } } });
await hooks.dispose();""",
    )
    host("opencode", script, pane, [])
    assert [len(text) < 10_000 for text in spool.files()] == [True] * 5


def test_files_that_nobody_takes_do_not_pile_up(
    host: Callable[..., None], pane: dict[str, str], spool: Spool
) -> None:
    script = OPENCODE.replace(
        "await hooks.dispose();",
        'for (let i = 0; i < 600; i++) await hooks.event({ event: { type: "session.idle" } });\n'
        "await hooks.dispose();",
    )
    host("opencode", script, pane, [])
    assert len(spool.files()) == 512


HOSTS = [
    ("opencode", OPENCODE, OPENCODE_EVENTS),
    ("pi", EMITTER, [["agent_start", {}, {}], ["session_shutdown", {}]]),
    ("amp", EMITTER, [["agent.start", {}], ["agent.end", {"status": "done"}]]),
]


@pytest.mark.parametrize(("agent", "script", "events"), HOSTS, ids=["opencode", "pi", "amp"])
@pytest.mark.parametrize("fault", ["absent", "file", "circle", "full", "foreign", "no home", "no streams"])
def test_nothing_that_is_wrong_with_the_spool_reaches_the_host(
    fault: str,
    agent: str,
    script: str,
    events: list[Any],
    host: Callable[..., None],
    pane: dict[str, str],
    tmp_path: Path,
) -> None:
    """Nothing is printed, the host's own code goes on, and it ends by itself."""
    directory = Path(names.spool_path(names.socket_path(pane)))
    directory.parent.mkdir(parents=True, exist_ok=True)
    if fault == "file":
        directory.write_text("")
    elif fault == "circle":
        directory.symlink_to(directory.name)
    elif fault == "full":
        directory.symlink_to("/proc/self/fd")  # a directory of ours in which nothing can be made
    elif fault == "foreign":
        directory.mkdir() if os.geteuid() == 0 else directory.symlink_to("/proc/1/task")
        if os.geteuid() == 0:
            os.chown(directory, 65534, 65534)
    elif fault == "no home":
        pane = {name: value for name, value in pane.items() if name not in ("HOME", "XDG_RUNTIME_DIR")}
        pane["SEANCE_SOCKET_PATH"] = str(tmp_path / "nowhere" / "s")
    elif fault == "no streams":
        script = 'const { closeSync } = await import("node:fs");\n[0, 1].forEach(closeSync);\n' + script
    host(agent, script, pane, events)
    assert not list(tmp_path.rglob(f"{agent}-*"))


@pytest.mark.parametrize("agent", ["pi", "amp"])
def test_a_release_that_refuses_an_event_loads_the_plugin(
    agent: str, host: Callable[..., None], pane: dict[str, str], spool: Spool
) -> None:
    taken = {"pi": "agent_end", "amp": "agent.end"}[agent]
    script = EMITTER.replace(
        "on: (name, handler) => (handlers[name] = handler)",
        """on: (name, handler) => {
  if (!name.startsWith("agent")) throw new Error(name);
  handlers[name] = handler;
}""",
    )
    host(agent, script, pane, [[taken, None]])
    assert {report.event for report in spool.heard() if report} >= {"stop"}


def test_the_end_does_not_wait_for_a_file_system_that_hangs(
    host: Callable[..., None], pane: dict[str, str], spool: Spool
) -> None:
    """What reads nothing and never ends stands for it: the write into the spool has no end."""
    script = OPENCODE.replace(
        "await hooks.dispose();",
        """const { promises } = await import("node:fs");
await hooks.event({ event: { type: "session.idle" } });
const keep = setInterval(() => {}, 1000);
await hooks.dispose();
clearInterval(keep);""",
    )
    script = (
        """const fs = (await import("node:fs")).promises;
const { syncBuiltinESMExports } = await import("node:module");
fs.stat = () => new Promise(() => {});
syncBuiltinESMExports();
"""
        + script
    )
    host("opencode", script, pane, [])
    assert spool.files() == []


def test_a_pane_that_is_no_number_is_not_told(
    host: Callable[..., None], pane: dict[str, str], spool: Spool
) -> None:
    host("opencode", OPENCODE, {**pane, "SEANCE_SURFACE_ID": "a", "SEANCE_WORKSPACE_ID": "-1"}, [])
    [report] = spool.requests()
    assert report.request.caller == {"env": {"TMUX": "/tmp/tmux,1,0", "TMUX_PANE": "%3"}}
