"""Who listens: sockets and processes from /proc, the surface they belong to, and how rarely it is looked."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seance_tools import client, names, ports
from seance_tools.broker.ports import Known, Ports, Server, is_wanted, servers
from seance_tools.liveness import start_time
from seance_tools.options import look_up
from tests.companions import CompanionDesk
from tests.support import descriptors, eventually

NOBODY = Known({}, {}, frozenset())
# Listens on a free port, says which, and stays until its input ends.
LISTEN = """
import os, socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], os.getpid(), flush=True)
sys.stdin.read()
"""
# The same, having left its parents' tree and session.
DAEMON = """
import os, socket, sys
server = socket.create_server(("127.0.0.1", 0))
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
print(server.getsockname()[1], os.getpid(), flush=True)
sys.stdin.read()
"""


@contextmanager
def listening(*words: str, program: str = LISTEN, **more: str) -> Iterator[tuple[int, int]]:
    """Yield (port, process id) of a program that listens, with these variables in its environment."""
    environ = {"PATH": os.environ["PATH"], **more}
    command = [*words, sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdout
        port, pid = map(int, process.stdout.readline().split())
        yield port, pid


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::"])
def test_a_listening_socket_of_either_family_is_found_with_its_holder(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip("no IPv6 here")
    with server:
        port = server.getsockname()[1]
        found = ports.sockets(lambda number: number == port)
        assert list(found.values()) == [port]
        assert ports.holders(found)[os.getpid()] == {port}
        assert ports.sockets(lambda number: number != port and number in found.values()) == {}
    assert ports.sockets(lambda number: number == port) == {}


def test_connections_are_no_servers_and_without_any_no_process_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    with server, socket.create_connection(server.getsockname()) as connection:
        port = connection.getsockname()[1]
        assert ports.sockets(lambda number: number == port) == {}
    monkeypatch.setattr(os, "listdir", lambda *_: pytest.fail("looked"))
    assert ports.holders({}) == {}


def test_a_process_is_known_with_its_ancestors_session_and_terminal() -> None:
    me, parent = list(ports.lineage(os.getpid()))[:2]
    assert me == (os.getpid(), os.getppid(), start_time(os.getpid()), me.tty, os.getsid(0))
    assert parent.pid == os.getppid()
    assert list(ports.lineage(4194304)) == []
    leader, follower = os.openpty()
    command = ["setsid", "--ctty", "sh", "-c", "echo $$; read line"]
    with subprocess.Popen(command, stdin=follower, stdout=subprocess.PIPE) as process:
        assert process.stdout
        found = ports.process(int(process.stdout.readline()))
        assert found
        assert found.tty == os.ttyname(follower)
        os.write(leader, b"\n")
    os.close(leader)
    os.close(follower)


def test_the_environment_a_process_was_started_with_is_read() -> None:
    with listening(TMUX_PANE="%3", OTHER="x") as (_, pid):
        assert ports.environment(pid, ("TMUX_PANE", "TMUX")) == {"TMUX_PANE": "%3"}
    assert ports.environment(4194304, ("TMUX",)) == {}


def belonging(known: Known, port: int) -> list[tuple[int, int]]:
    return [(one.pid, one.surface_id) for one in servers(known, lambda number: number == port)]


def test_a_server_belongs_to_the_surface_that_its_environment_names() -> None:
    known = Known({"kitty:k:7": 4}, {}, frozenset({4, 9}))
    with listening(KITTY_WINDOW_ID="7", KITTY_LISTEN_ON="k") as (port, pid):
        assert belonging(known, port) == [(pid, 4)]
        assert belonging(NOBODY, port) == []
    with listening(SEANCE_SURFACE_ID="9", KITTY_WINDOW_ID="7", KITTY_LISTEN_ON="k") as (port, pid):
        assert belonging(known, port) == [(pid, 9)], "ids given by hand win"


def test_without_a_mark_its_ancestors_tell() -> None:
    known = Known({"kitty:k:7": 4}, {}, frozenset({4}))
    bare = ("sh", "-c", 'env -i "$@"; true', "sh")
    with listening(*bare, KITTY_WINDOW_ID="7", KITTY_LISTEN_ON="k") as (port, pid):
        assert ports.environment(pid, ("KITTY_WINDOW_ID",)) == {}
        assert belonging(known, port) == [(pid, 4)]
        parent = next(iter(ports.lineage(pid))).parent
        assert belonging(Known({}, {parent: 5}, frozenset({5})), port) == [(pid, 5)], "an agent is one too"


def test_the_nearest_mark_decides_though_nobody_knows_its_surface() -> None:
    known = Known({"kitty:k:7": 4}, {}, frozenset({4}))
    inner = ("sh", "-c", 'KITTY_WINDOW_ID=8 "$@"; true', "sh")
    with listening(*inner, KITTY_WINDOW_ID="7", KITTY_LISTEN_ON="k") as (port, _):
        assert belonging(known, port) == []


def test_one_that_left_the_tree_still_has_its_mark() -> None:
    known = Known({"kitty:k:7": 4}, {}, frozenset({4}))
    with listening(program=DAEMON, KITTY_WINDOW_ID="7", KITTY_LISTEN_ON="k") as (port, pid):
        assert os.getpid() not in [one.pid for one in ports.lineage(pid)]
        assert belonging(known, port) == [(pid, 4)]


def test_where_nothing_is_marked_the_terminal_tells() -> None:
    leader, follower = os.openpty()
    command = ["setsid", "--ctty", "env", "-i", sys.executable, "-c", LISTEN]
    with subprocess.Popen(command, stdin=follower, stdout=subprocess.PIPE) as process:
        assert process.stdout
        port, pid = map(int, process.stdout.readline().split())
        place = f"tty:{os.ttyname(follower)},{pid},{start_time(pid)}"
        try:
            assert belonging(Known({place: 6}, {}, frozenset({6})), port) == [(pid, 6)]
        finally:
            os.write(leader, b"\x04")
    os.close(leader)
    os.close(follower)


def test_which_ports_are_hidden_is_an_option() -> None:
    default = look_up({}).values["ports.hidden"]
    assert [port for port in (22, 53, 631, 3000, 5353, 8080) if is_wanted(default, port)] == [3000, 8080]
    chosen = look_up({"ports": {"hidden": [3000, "8000-8100"]}}).values["ports.hidden"]
    wanted = [port for port in (22, 3000, 7999, 8000, 8100, 8101) if is_wanted(chosen, port)]
    assert wanted == [22, 7999, 8101]
    wrongs: list[Any] = [[0], ["8-7"], ["x"], [70000], [True], [1.5], {}]
    for wrong in wrongs:
        options = look_up({"ports": {"hidden": wrong}})
        assert options.problems, wrong
        assert options.values["ports.hidden"] == default


class Desk(CompanionDesk):
    """A core with its look at ports; what it finds is stood in for, and counted."""

    def __init__(self, directory: Path, follow: tuple[float, ...], least: float) -> None:
        self.before = descriptors("pidfd")
        super().__init__(directory)
        self.companion = Ports(self.core, self.find, follow, least)
        self.found: list[Server] = []
        self.looks: list[float] = []
        self.hangs = False

    def find(self, *_: object) -> list[Server]:
        self.looks.append(time.monotonic())
        if self.hangs:
            raise TimeoutError
        return self.found

    def ports(self, surface_id: int = 1) -> Any:
        return self.surface(surface_id)["ports"]


def play(
    tmp_path: Path,
    scene: Callable[[Desk], Coroutine[Any, Any, None]],
    follow: tuple[float, ...] = (0.01, 0.02, 0.03),
    least: float = 0.0,
) -> None:
    async def run() -> None:
        desk = Desk(tmp_path, follow, least)
        desk.do("surface.report_cwd", surface_id=1, cwd="/")
        desk.companion.start()
        try:
            await scene(desk)
        finally:
            await desk.companion.stop()
            desk.core.stop()
            assert not descriptors("pidfd", desk.before)

    asyncio.run(run())


def test_nobody_watching_nothing_is_looked_at_and_nothing_is_known(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.do("surface.report_state", surface_id=1, state="prompt")
        await desk.rests()
        assert (desk.looks, desk.ports()) == ([], None)
        desk.found = [Server(os.getpid(), start_time(os.getpid()) or 0, 1, frozenset({5173, 3000}))]
        desk.watch(1)
        await desk.comes(lambda: desk.ports() == [3000, 5173])
        desk.watch(0)
        await desk.comes(lambda: desk.ports() is None)
        looks = len(desk.looks)
        desk.do("surface.report_state", surface_id=1, state="running")
        await desk.rests()
        assert len(desk.looks) == looks

    play(tmp_path, scene)


def test_a_change_is_followed_by_some_looks_and_then_by_none(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.watch(1)
        await desk.comes(lambda: len(desk.looks) == 3)
        await desk.rests()
        desk.do("surface.report_state", surface_id=1, state="running")
        await desk.comes(lambda: len(desk.looks) == 6)
        await desk.rests()
        desk.do("workspace.append_log", workspace_id=1, message="no matter of ports")
        desk.core.tables.update("surface", desk.core.tables.rows["surface"][1,], ports=[1], branch="x")
        desk.core.commit()
        await desk.rests()
        assert len(desk.looks) == 6
        desk.do("agent.hook", agent="claude", event="stop", surface_id=1)
        await desk.comes(lambda: len(desk.looks) == 9)
        await desk.rests()

    play(tmp_path, scene)


def test_however_much_happens_there_is_time_between_two_looks(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.watch(1)
        number = 0
        while len(desk.looks) < 4:
            number += 1
            desk.do("surface.report_cwd", surface_id=1, cwd=f"/{number}")
            await asyncio.sleep(0.001)
        pauses = [later - sooner for sooner, later in zip(desk.looks, desk.looks[1:], strict=False)]
        assert min(pauses) >= 0.09, "a tenth of a second was asked for"

    play(tmp_path, scene, least=0.1)


def test_the_end_of_a_server_is_heard_of(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
            desk.found = [Server(process.pid, start_time(process.pid) or 0, 1, frozenset({3000}))]
            desk.watch(1)
            await desk.comes(lambda: desk.ports() == [3000])
            await desk.rests()
            assert len(descriptors("pidfd", desk.before)) == 1
            desk.found = []
            process.terminate()
        await desk.comes(lambda: desk.ports() == [])
        assert not descriptors("pidfd", desk.before)

    play(tmp_path, scene)


def test_of_other_machines_nothing_is_known_and_a_glance_at_a_pane_is_no_change(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.do("surface.report_cwd", surface_id=2, cwd="/")
        desk.core.tables.update("surface", desk.core.tables.rows["surface"][2,], place="host:far:%1")
        desk.core.commit()
        desk.watch(1)
        await desk.comes(lambda: desk.ports(1) == [])
        await desk.rests()
        assert desk.ports(2) is None
        looks = len(desk.looks)
        desk.core.tables.update("surface", desk.core.tables.rows["surface"][1,], active=True, visible=True)
        desk.core.commit()
        await desk.rests()
        assert len(desk.looks) == looks

    play(tmp_path, scene)


def test_a_look_that_hangs_leaves_them_unknown(tmp_path: Path) -> None:
    async def scene(desk: Desk) -> None:
        desk.watch(1)
        await desk.comes(lambda: desk.ports() == [])
        desk.hangs = True
        desk.do("surface.report_state", surface_id=1, state="prompt")
        await desk.comes(lambda: desk.ports() is None)

    play(tmp_path, scene)


@pytest.mark.usefixtures("broker")
def test_a_daemon_of_a_pane_appears_and_goes(environ: dict[str, str]) -> None:
    path = names.socket_path(environ)
    with client.Connection(path, 10.0) as teller, client.Connection(path, 10.0) as watcher:
        watcher.subscribe()

        def shown() -> Any:
            (window,) = teller.request("system.tree")["windows"]
            (workspace,) = window["workspaces"]
            (surface,) = workspace["pane_groups"][0]["surfaces"]
            assert workspace["ports"] == surface["ports"]
            return surface["ports"]

        with listening(program=DAEMON, SEANCE_SURFACE_ID="7") as (port, _):
            teller.request("surface.report_state", {"surface_id": 7, "state": "running"})
            eventually(lambda: shown() == [port])
        eventually(lambda: shown() == [])
