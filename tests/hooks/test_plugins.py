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
SCRIPTS = sorted([*SOURCES.glob("*.js"), *SOURCES.glob("*.ts")])
PAYLOADS = Path(__file__).parent.parent / "data" / "payloads"
# Hosts: load the plugin, call what it asked for, and end on their own like an agent
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
"""


def sample(agent: str, name: str) -> Any:
    return json.loads((PAYLOADS / agent / f"{name}.json").read_text())


@pytest.fixture
def host(need: Callable[[str], str], tmp_path: Path) -> Callable[..., None]:
    """Install an agent's plugin, and run it in a host."""

    def run(agent: str, script: str, environ: dict[str, str], events: list[Any]) -> None:
        [change] = plan.changes(BY_KEY[agent], environ, install=True)
        module = tmp_path / f"{agent}.mjs"  # what bun and the agents' loaders take as it is, node does not
        module.write_text(change.after or "")
        done = subprocess.run(
            [need("node"), "--input-type=module", "-e", script, str(module), json.dumps({"events": events})],
            env=environ,
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


def test_scripts_share_how_they_report() -> None:
    texts = [path.read_text() for path in SCRIPTS]
    shared = {text.split("// --- begin shared: report\n")[1].split("// --- end shared")[0] for text in texts}
    assert len(texts) == 3
    assert len(shared) == 1
    rows = "".join(f"  {json.dumps(name) if '-' in name else name}: " for name in names.PLACE_HEADERS)
    assert all(row in shared.copy().pop() for row in rows.split(": ") if row.strip())


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
await hooks["tool.execute.before"]();
await hooks.event({ event: { type: "session.created", properties: { title: "x".repeat(1e7) } } });
await hooks.dispose();""",
    )
    host("opencode", script, pane, [])
    assert [len(text) < 10_000 for text in spool.files()] == [True] * 3


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
