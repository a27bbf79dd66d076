"""Every sample of what agents say, on its whole way: by seance-hook or the agent's plugin into the spool."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from seance_tools.agents import AGENTS, BY_KEY
from seance_tools.lifecycle import Report, read
from tests.hooks.conftest import Spool
from tests.hooks.test_plugins import EMITTER, OPENCODE, PAYLOADS, SOURCES, host
from tests.lifecycle.test_samples import EXPECTED, event_of, sample

__all__ = ["host"]

HOOK = SOURCES.parent / "bin" / "seance-hook"
SAMPLED = {path.name for path in PAYLOADS.iterdir()}
# What their plugins ask for: the samples' names of it. The others are events that nobody wants to know of,
# of older releases, or of what a plugin is told otherwise.
FAMILY = [
    "permission.asked",
    "permission.asked-from-subagent",
    "permission.replied",
    "permission.replied-old-shape",
    "permission.updated-old-name",
    "question.asked",
    "question.rejected",
    "question.replied",
    "session.compacted",
    "session.created",
    "session.created-subagent",
    "session.deleted",
    "session.error",
    "session.error-aborted",
    "session.idle",
    "session.idle-subagent",
    "session.status-busy",
    "session.status-idle",
    "session.status-retry",
    "session.updated",
]
FAMILY_HOOKS = ["chat.message", "tool.execute.before", "tool.execute.after"]
EMITTED = {
    "pi": [
        "session_start",
        "session_start-new",
        "agent_start",
        "tool_execution_start",
        "tool_execution_end",
        "agent_end",
        "agent_end-aborted",
        "session_compact",
        "session_shutdown",
        "session_shutdown-new",
    ],
    "amp": [
        "session.start",
        "agent.start",
        "tool.result",
        "thread.state-awaiting-approval",
        "agent.end-done",
        "agent.end-error",
        "agent.end-cancelled",
    ],
}
# What no plugin asks for
NOT_ASKED_FOR = {
    "opencode": {"message.updated", "server.instance.disposed"},
    "pi": {"before_agent_start", "input", "turn_start", "turn_end"},
    "amp": {"tool.call"},
    "hermes": {"shell-hook-stdin-pre_tool_call"},
}
# What a report decides by and shows; plugins pass on no more of a payload than that needs
MEMBERS = (
    "event",
    "native",
    "session_id",
    "parent_id",
    "agent_id",
    "tool_use_id",
    "tool_name",
    "doing",
    "asks",
    "question",
    "kind",
    "reason",
    "background",
    "subagents",
    "shared",
)


def meaning(report: Report | None) -> Any:
    """All that a report says, but when."""
    return report and report._replace(at=0.0)


def test_every_agent_with_hooks_has_samples_and_expectations() -> None:
    assert {agent.key for agent in AGENTS if agent.install} == set(EXPECTED) == SAMPLED
    expected = {(agent, name) for agent, rows in EXPECTED.items() for name in rows}
    assert {(path.parent.name, path.stem) for path in PAYLOADS.glob("*/*")} == expected


@pytest.mark.parametrize("agent", sorted(EXPECTED))
def test_every_sample_arrives_by_the_hook(agent: str, pane: dict[str, str], spool: Spool) -> None:
    for name in EXPECTED[agent]:
        payload = (PAYLOADS / agent / f"{name}.json").read_bytes()
        command = [str(HOOK), agent, event_of(name)]
        done = subprocess.run(command, env=pane, input=payload, capture_output=True)
        expected = f"{BY_KEY[agent].reply}\n" if BY_KEY[agent].reply else ""
        assert (done.returncode, done.stdout.decode(), done.stderr) == (0, expected, b"")
        [request] = spool.requests()
        assert request.request.params["event"] == event_of(name)
        assert request.request.params["payload"] == json.loads(payload)
        [heard] = spool.heard()
        direct = read(BY_KEY[agent], event_of(name), sample(agent, name), 1.0)
        assert meaning(heard) == meaning(direct), name
        next(spool.directory.iterdir()).unlink()


def compare(agent: str, samples: list[str], spool: Spool) -> None:
    heard = spool.heard()
    for name, report in zip(samples, heard, strict=True):
        direct = read(BY_KEY[agent], event_of(name), sample(agent, name), 1.0)
        assert report
        assert direct
        for member in MEMBERS:
            assert getattr(report, member) == getattr(direct, member), (name, member)
        if report.event in ("approval-request", "question", "error"):  # elsewhere nobody shows it
            assert report.message == direct.message, name
        if report.event in ("approval-request", "question", "approval-response") and agent != "amp":
            assert report.request_id == direct.request_id, name  # Amp's `id` is that of a message


@pytest.mark.parametrize("agent", ["opencode", "kilo", "mimo"])
def test_every_sample_arrives_by_opencodes_plugin(
    agent: str, host: Callable[..., None], pane: dict[str, str], spool: Spool
) -> None:
    known = {*FAMILY, *(f"hook-{name}" for name in FAMILY_HOOKS), *NOT_ASKED_FOR["opencode"]}
    assert known == set(EXPECTED[agent])
    events: list[Any] = [["event", {"event": sample(agent, name)}] for name in FAMILY]
    events += [[name, *sample(agent, f"hook-{name}").values()] for name in FAMILY_HOOKS]
    events += [["event", {"event": sample(agent, name)}] for name in sorted(NOT_ASKED_FOR["opencode"])]
    host(agent, OPENCODE, pane, events)
    last = max(spool.directory.iterdir(), key=lambda path: int(path.name.rpartition("-")[2]))
    assert "Event: dispose" in last.read_text()
    last.unlink()
    compare(agent, [*FAMILY, *(f"hook-{name}" for name in FAMILY_HOOKS)], spool)


@pytest.mark.parametrize("agent", ["pi", "amp"])
def test_every_sample_arrives_by_the_plugins_that_are_told_events(
    agent: str, host: Callable[..., None], pane: dict[str, str], spool: Spool
) -> None:
    samples = EMITTED[agent]
    assert {*samples, *NOT_ASKED_FOR[agent]} == set(EXPECTED[agent])
    host(agent, EMITTER, pane, [[event_of(name), sample(agent, name), {}] for name in samples])
    if agent == "amp":  # it is told of the end too
        last = max(spool.directory.iterdir(), key=lambda path: int(path.name.rpartition("-")[2]))
        last.unlink()
    compare(agent, samples, spool)


def test_every_sample_arrives_by_hermes_plugin(environ: dict[str, str], spool: Spool) -> None:
    assert environ["XDG_RUNTIME_DIR"] in str(spool.directory)
    spec = importlib.util.spec_from_file_location("seance_hermes_samples", SOURCES / "hermes" / "__init__.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    callbacks: dict[str, Callable[..., None]] = {}

    class Host:
        register_hook = staticmethod(callbacks.__setitem__)

    module.register(Host())
    samples = [name for name in EXPECTED["hermes"] if name not in NOT_ASKED_FOR["hermes"]]
    for name in samples:
        callbacks[event_of(name)](**sample("hermes", name))
    compare("hermes", samples, spool)
