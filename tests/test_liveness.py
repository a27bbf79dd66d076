"""Which process is the agent: real processes, with names of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from seance_tools.liveness import binaries_of, find_agent, start_time
from tests.support import eventually

WAIT = "import sys; print(flush=True); sys.stdin.read()"


class Processes:
    """Starts processes that wait, and ends them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stack = ExitStack()

    def start(self, *command: str | Path, argv0: str | None = None) -> int:
        process = subprocess.Popen(
            [argv0 or command[0], *command[1:]],
            executable=command[0],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._stack.callback(self._end, process)
        assert process.stdout
        process.stdout.readline()
        return process.pid

    def script(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.communicate()

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    yield started
    started.close()


def test_a_program_is_known_by_its_file_and_its_first_word(processes: Processes) -> None:
    pid = processes.start(sys.executable, "-c", WAIT, argv0="claude --resume")
    names = binaries_of(pid)
    assert {"claude", os.path.basename(os.path.realpath(sys.executable))} <= names


@pytest.mark.parametrize("name", ["codex", "codex.js", "codex.mjs", "codex.py"])
def test_a_script_is_known_by_its_own_name(processes: Processes, name: str) -> None:
    script = processes.script(name, WAIT)
    assert "codex" in binaries_of(processes.start(sys.executable, "-I", script, "claude"))
    assert "claude" not in binaries_of(processes.start(sys.executable, "-I", script, "claude"))


def test_a_module_is_known_by_its_name(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    processes.script("aider.py", WAIT)
    monkeypatch.chdir(processes.directory)
    assert "aider" in binaries_of(processes.start(sys.executable, "-m", "aider"))


def test_a_shells_script_is_known_and_its_command_is_not(processes: Processes) -> None:
    script = processes.script("claude", "#!/bin/sh\necho\nread line\n")
    assert "claude" in binaries_of(processes.start(script))
    assert "claude" not in binaries_of(processes.start("/bin/sh", "-c", "echo; read line", "claude"))


def test_what_another_program_works_on_is_not_its_name(processes: Processes) -> None:
    assert "claude" not in binaries_of(processes.start(processes.script("x", "#!/bin/cat\n"), "claude"))


def test_nothing_is_known_of_what_is_gone() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert binaries_of(process.pid) == frozenset()
    assert start_time(process.pid) is None


def test_the_nearest_agent_among_ancestors_counts(processes: Processes) -> None:
    claude = processes.script("claude", "#!/bin/sh\nsh -c 'sh -c \"echo \\$\\$; read line\"; :'; :\n")
    outer = subprocess.Popen([claude], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert outer.stdout
        inner = int(outer.stdout.readline())
        candidates = [(inner, start_time(inner))]
        assert parent_of(parent_of(inner)) == outer.pid
        assert find_agent(candidates, ("claude",)) == (outer.pid, True)
        assert find_agent(candidates, ("codex",)) == (None, True)
        assert find_agent(candidates, ("codex",), outer.pid) == (outer.pid, True)
        assert find_agent(candidates, ("codex",), os.getpid()) == (os.getpid(), True)
        assert find_agent(candidates, ("codex",), 2**22 + 1) == (None, True)
    finally:
        outer.communicate(b"\n")
    assert find_agent(candidates, ("claude",)) == (None, False)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_another_process_with_the_same_id_does_not_count(processes: Processes) -> None:
    pid = processes.start(processes.script("claude", "#!/bin/sh\necho\nread line\n"))
    started = start_time(pid)
    assert started
    assert find_agent([(pid, started)], ("claude",)) == (pid, True)
    assert find_agent([(pid, started - 1)], ("claude",)) == (None, False)
    assert find_agent([], ("claude",)) == (None, False)


def test_a_parent_is_no_younger_than_its_child(processes: Processes) -> None:
    pid = processes.start(processes.script("claude", "#!/bin/sh\necho\nread line\n"))
    started = start_time(pid)
    assert started
    gone = 2**22 + 1
    assert find_agent([(gone, started), (pid, None)], ("claude",)) == (pid, True)
    assert find_agent([(gone, started - 1), (pid, None)], ("claude",)) == (None, False)
    assert find_agent([(pid, None)], ("claude",)) == (pid, True)


def test_a_process_that_ended_and_was_not_waited_for_is_gone() -> None:
    process = subprocess.Popen(["true"])
    eventually(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    assert start_time(process.pid) is None
    assert find_agent([(process.pid, 1)], ("true",)) == (None, False)
    process.wait()
