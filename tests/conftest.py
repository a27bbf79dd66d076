"""Fixtures: a sealed environment, a broker of one's own, and tools that must be there in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from seance_tools import client, names
from tests.notify.desktop import Bus, Desktop
from tests.support import eventually, needed, sealed_environment

# In CI the same examples each time: a search that finds something new belongs to a person's desk.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A sealed environment, also put in place of the test process's own."""
    sealed = sealed_environment(tmp_path)
    for name in [*names.ENVIRONMENT, *names.PLACE_VARIABLES]:
        monkeypatch.delenv(name, raising=False)
    for name, value in sealed.items():
        monkeypatch.setenv(name, value)
    return sealed


@pytest.fixture
def start_broker(environ: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a broker of this test's own in the foreground and wait until it serves; ended with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*options: str, **more: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "seance_tools.broker", "--foreground", *options],
            env={**environ, **more},
            stderr=subprocess.PIPE,
        )
        started.append(process)
        eventually(lambda: answers(names.socket_path({**environ, **more})) or process.poll() is not None)
        return process

    yield start
    for process in started:
        process.terminate()
        process.wait(10)
        assert process.stderr
        process.stderr.close()
    stop_stray_broker(names.socket_path(environ))


@pytest.fixture
def broker(start_broker: Callable[..., subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """A broker of this test's own."""
    return start_broker()


def answers(path: str) -> bool:
    try:
        with client.Connection(path, 2.0) as connection:
            return connection.request("system.ping") == {"pong": True}
    except (client.NoBroker, ConnectionError, TimeoutError):
        return False


def stop_stray_broker(path: str) -> None:
    """Stop the broker that a program under test may have started."""
    environment = {**os.environ, "SEANCE_SOCKET_PATH": path}
    subprocess.run(
        [sys.executable, "-m", "seance_tools.broker", "--stop"], env=environment, capture_output=True
    )


@pytest.fixture
def bus(need: Callable[[str], str]) -> Iterator[Bus]:
    """A D-Bus of this test's own."""
    one = Bus(need("dbus-daemon"))
    yield one
    one.close()


@pytest.fixture
def screen(bus: Bus) -> Iterator[Desktop]:
    """A stand-in for the desktop, on that bus."""
    one = Desktop(bus)
    yield one
    one.close()


@pytest.fixture
def need() -> Callable[[str], str]:
    """Return the path of a program; without it the test is skipped, in CI it fails."""
    return needed
