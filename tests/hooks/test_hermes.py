"""The plugin that Hermes loads."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.conftest import Spool

SOURCE = Path(__file__).parent.parent.parent / "hooks" / "hermes"
PAYLOADS = Path(__file__).parent.parent / "data" / "payloads" / "hermes"


class Hermes:
    """A host that knows some hooks, and calls what was registered."""

    def __init__(self) -> None:
        self.callbacks: dict[str, Callable[..., object]] = {}

    def register_hook(self, name: str, callback: Callable[..., object]) -> None:
        if name == "on_session_reset":
            raise ValueError("an older release")
        self.callbacks[name] = callback

    def call(self, name: str, **more: Any) -> None:
        told = json.loads((PAYLOADS / f"{name}.json").read_text())
        assert self.callbacks[name.partition("-")[0]](**told, **more) is None


@pytest.fixture
def hermes(environ: dict[str, str]) -> Hermes:  # noqa: ARG001 - what the plugin looks at
    spec = importlib.util.spec_from_file_location("seance_hermes", SOURCE / "__init__.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    host = Hermes()
    module.register(host)
    return host


def test_its_events_arrive(hermes: Hermes, spool: Spool, capfd: pytest.CaptureFixture[str]) -> None:
    for name in (
        "on_session_start",
        "pre_llm_call",
        "pre_tool_call",
        "pre_approval_request",
        "post_approval_response",
        "post_tool_call",
        "subagent_start",
        "subagent_stop",
        "post_llm_call",
        "on_session_end-interrupted",
        "on_session_finalize",
    ):
        hermes.call(name)
    heard = [report for report in spool.heard() if report]
    assert [report.event for report in heard] == [
        "session-start",
        "prompt-submit",
        "pre-tool-use",
        "approval-request",
        "approval-response",
        "post-tool-use",
        "subagent-start",
        "subagent-stop",
        "llm-complete",
        "interrupt",
        "session-end",
    ]
    assert heard[2].doing == "Running pytest -q"
    assert heard[3].message == "rm -rf build"
    assert capfd.readouterr() == ("", "")
    assert spool.requests()[0].processes[0][0] == os.getpid()


def test_every_hook_of_the_manifest_is_asked_for(hermes: Hermes) -> None:
    lines = (SOURCE / "plugin.yaml").read_text().split("provides_hooks:\n")[1].splitlines()
    assert {line.removeprefix("  - ") for line in lines} == {*hermes.callbacks, "on_session_reset"}


def test_without_a_broker_nothing_happens(hermes: Hermes, tmp_path: Path) -> None:
    hermes.call("pre_llm_call")
    assert list((tmp_path / "run").iterdir()) == []


def test_whatever_comes_hermes_does_not_notice(hermes: Hermes, spool: Spool) -> None:
    loop: list[Any] = []
    loop.append(loop)
    hermes.callbacks["pre_tool_call"](tool_name="x", args=loop)
    hermes.callbacks["pre_tool_call"]()
    hermes.callbacks["pre_tool_call"](
        tool_name=object(), args={"a": "x" * 10**7, "b": b"\xff", "c": "\ud800"}
    )
    assert [len(text) < 10_000 for text in spool.files()] == [True] * 2


def test_files_that_nobody_takes_do_not_pile_up(hermes: Hermes, spool: Spool) -> None:
    for _ in range(600):
        hermes.callbacks["pre_llm_call"](session_id="s")
    assert len(spool.files()) == 512
