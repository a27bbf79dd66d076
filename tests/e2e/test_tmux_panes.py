"""Panes of real tmux servers: rows that follow them, and what is done to them by seance-ctl."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seance_tools import client, names
from tests.e2e.attached import Attached
from tests.e2e.desk import Desk
from tests.support import eventually

Start = Callable[..., subprocess.Popen[bytes]]


class Watched:
    """A broker that knows panes of a desk, and somebody who subscribes; `desk` may be another one's too."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._path = names.socket_path(desk.environ)
        self._subscriber = client.Connection(self._path, 5.0)
        self._subscriber.request("events.subscribe", {})

    def close(self) -> None:
        self._subscriber.close()

    def ask(self, method: str, **params: Any) -> Any:
        with client.Connection(self._path, 5.0) as connection:
            return connection.request(method, params)

    def report(self, pane: str, desk: Desk | None = None) -> int:
        """Report an agent from a pane; return the surface's id."""
        environ = self.environ(pane, desk)
        self.ask("agent.hook", agent="claude", event="prompt-submit", env=environ)
        return int(self.surface(pane, desk)["id"])

    def environ(self, pane: str, desk: Desk | None = None) -> dict[str, str]:
        desk = desk or self.desk
        pid = desk.tmux("display-message", "-p", "#{pid}")
        return {"TMUX": f"{desk.socket},{pid},0", "TMUX_PANE": pane}

    def surfaces(self, desk: Desk | None = None) -> dict[str, Any]:
        rows = self.ask("surface.list")["surfaces"]
        server = f"tmux:{(desk or self.desk).socket},"
        return {row["place"].rpartition(":")[2]: row for row in rows if row["place"].startswith(server)}

    def surface(self, pane: str, desk: Desk | None = None) -> Any:
        return self.surfaces(desk)[pane]

    def workspace(self, pane: str) -> Any:
        """Return the workspace that the tree shows a pane in."""
        number = self.surface(pane)["workspace_id"]
        rows = self.ask("system.tree")["windows"][0]["workspaces"]
        return next(row for row in rows if row["id"] == number)

    def columns(self, pane: str) -> list[str]:
        return [column["title"] for column in self.workspace(pane)["columns"]]

    def ctl(self, pane: str, *argv: str, status: int = 0) -> Any:
        """Run seance-ctl as in a pane; return what it printed as JSON, or its complaint."""
        command = ["seance-ctl", "--json", *argv]
        environ = {**self.desk.environ, **self.environ(pane)}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == status, f"{argv}: {done.stderr}"
        return json.loads(done.stdout) if status == 0 else done.stderr


@pytest.fixture
def watched(desk: Desk, start_broker: Start) -> Iterator[Watched]:
    """Three panes with agents: %0 and %1 in the window "left" of "one", %2 alone in "two"."""
    desk.session("one", "cat")
    desk.tmux("rename-window", "-t", "one", "left")
    desk.split("%0", "cat")
    desk.session("two", "cat")
    start_broker()
    found = Watched(desk)
    for pane in ("%0", "%1", "%2"):
        found.report(pane)
    eventually(lambda: len(desk.tmux("list-clients").splitlines()) == 1)
    eventually(lambda: found.columns("%0") == ["left"])
    yield found
    found.close()


def test_rows_follow_joining_breaking_and_moving(watched: Watched) -> None:
    def title(pane: str) -> str:
        return str(watched.workspace(pane)["title"])

    tmux = watched.desk.tmux
    ids = {pane: row["id"] for pane, row in watched.surfaces().items()}
    tmux("join-pane", "-d", "-s", "%1", "-t", "%2")
    eventually(lambda: title("%1") == "two")
    tmux("break-pane", "-d", "-s", "%1", "-t", "two:", "-n", "broken")
    eventually(lambda: "broken" in watched.columns("%2"))
    tmux("move-window", "-d", "-s", "two:broken", "-t", "one:")
    eventually(lambda: title("%1") == "one")
    tmux("move-pane", "-d", "-s", "%1", "-t", "%2")
    eventually(lambda: title("%1") == "two")
    tmux("swap-pane", "-d", "-s", "%0", "-t", "%2")
    eventually(lambda: (title("%0"), title("%2")) == ("two", "one"))
    assert {pane: row["id"] for pane, row in watched.surfaces().items()} == ids


def test_rows_follow_names_titles_and_directories(watched: Watched, tmp_path: Path) -> None:
    desk = watched.desk
    desk.tmux("rename-session", "-t", "two", "zwei")
    eventually(lambda: watched.workspace("%2")["title"] == "zwei")
    desk.tmux("rename-window", "-t", "%2", "fenster")
    eventually(lambda: watched.columns("%2") == ["fenster"])
    desk.tmux("select-pane", "-t", "%1", "-T", "a title")
    eventually(lambda: watched.surface("%1")["title"] == "a title")
    desk.tmux("respawn-pane", "-k", "-t", "%2", "-c", str(tmp_path), "cat")
    eventually(lambda: watched.surface("%2")["cwd"] == str(tmp_path))


def test_rows_follow_what_is_active_and_zoomed(watched: Watched) -> None:
    def active() -> list[str]:
        return sorted(pane for pane, row in watched.surfaces().items() if row["active"])

    assert active() == ["%0", "%2"]
    watched.desk.tmux("select-pane", "-t", "%1")
    eventually(lambda: active() == ["%1", "%2"])
    watched.desk.tmux("resize-pane", "-Z", "-t", "%1")
    eventually(lambda: watched.surface("%1")["zoomed"])
    watched.desk.tmux("new-window", "-t", "one", "cat")
    eventually(lambda: active() == ["%2", "%3"])  # a pane beside known ones is known too


def test_rows_go_with_panes_windows_and_sessions(watched: Watched) -> None:
    watched.desk.tmux("kill-pane", "-t", "%1")
    eventually(lambda: sorted(watched.surfaces()) == ["%0", "%2"])
    watched.desk.tmux("kill-session", "-t", "one")  # its client's own, perhaps
    eventually(lambda: sorted(watched.surfaces()) == ["%2"])
    watched.desk.tmux("rename-session", "-t", "two", "left")
    eventually(lambda: watched.workspace("%2")["title"] == "left")


def test_nothing_leaks_from_an_old_server_to_a_new_one(watched: Watched) -> None:
    old = {row["id"] for row in watched.surfaces().values()}
    watched.desk.tmux("kill-server")
    eventually(lambda: not watched.surfaces())
    assert watched.ask("agent.list")["agents"] == []
    eventually(lambda: not Path(watched.desk.socket).exists() or _starts(watched.desk))
    new = watched.report("%0")
    assert new not in old
    eventually(lambda: watched.workspace("%0")["title"] == "three")
    watched.desk.tmux("rename-session", "-t", "three", "four")
    eventually(lambda: watched.workspace("%0")["title"] == "four")


def _starts(desk: Desk) -> bool:
    command = ["tmux", "-S", desk.socket, "-f", os.devnull, "new-session", "-d", "-s", "three", "cat"]
    return subprocess.run(command, env=desk.environ, capture_output=True).returncode == 0


def test_two_servers_are_two(watched: Watched, tmp_path: Path) -> None:
    other = Desk("tmux", tmp_path / "other", watched.desk.environ)
    Path(other.socket).parent.mkdir()
    other.session("one", "cat")
    try:
        number = watched.report("%0", other)
        assert number != watched.surface("%0")["id"]
        eventually(lambda: len(other.tmux("list-clients").splitlines()) == 1)
        other.tmux("rename-session", "-t", "one", "far")
        eventually(lambda: "far" in [row["title"] for row in watched.ask("workspace.list")["workspaces"]])
        assert watched.workspace("%0")["title"] == "one"
        other.close()
        eventually(lambda: not watched.surfaces(other))
        assert sorted(watched.surfaces()) == ["%0", "%1", "%2"]
    finally:
        other.close()


def test_what_a_person_looks_at_is_selected_and_read(watched: Watched) -> None:
    def unread() -> int:
        return int(watched.ask("notification.list")["unread"])

    first, second = watched.surface("%0")["id"], watched.surface("%1")["id"]
    watched.ask("notification.create", title="for you", surface_id=second)
    assert unread() == 1
    assert not any(row["visible"] for row in watched.surfaces().values())
    with Attached(watched.desk, "one"):
        eventually(lambda: watched.surface("%0")["visible"])
        assert unread() == 1
        eventually(lambda: watched.ask("system.identify")["surface_id"] == first)
        watched.desk.tmux("select-pane", "-t", "%1")
        eventually(lambda: unread() == 0)
        assert watched.ask("system.identify")["surface_id"] == second
        watched.ask("notification.create", title="at once", surface_id=second)
        assert unread() == 0
    eventually(lambda: not watched.surface("%0")["visible"])


def people_only(desk: Desk) -> bool:
    """Return whether people are attached, and our own client is not."""
    return set(desk.tmux("list-clients", "-F", "#{client_control_mode}").split()) == {"0"}


def test_what_is_meant_for_the_person_comes_to_the_person(watched: Watched) -> None:
    """From a session that nobody looks at, in which our client is until the person comes."""
    desk = watched.desk
    desk.tmux("set-option", "-g", "display-time", "10000")
    own = desk.tmux("list-clients", "-F", "#{client_session}")
    theirs, pane = ("two", "%0") if own == "one" else ("one", "%2")
    with Attached(desk, theirs) as person:
        eventually(lambda: "0" in desk.tmux("list-clients", "-F", "#{client_control_mode}").split())
        eventually(lambda: people_only(desk))
        desk.tmux("respawn-pane", "-k", "-t", pane, "tmux display-message 'for you'; exec cat")
        eventually(lambda: "for you" in person.screen())
    eventually(lambda: desk.tmux("list-clients", "-F", "#{client_control_mode}") == "1")


def settled(watched: Watched) -> None:
    """Wait until our client has left a person alone, and what is listed of that has come."""
    eventually(lambda: people_only(watched.desk))
    for title in ("settling", "settled"):
        watched.desk.tmux("select-pane", "-t", "%2", "-T", title)
        watched.report("%0")
        eventually(lambda title=title: watched.surface("%2")["title"] == title)  # type: ignore[misc]


def test_with_a_person_attached_rows_follow_the_reports_of_shells(watched: Watched) -> None:
    with Attached(watched.desk, "one"):
        settled(watched)
        for method, params in (
            ("surface.report_shell", {"state": "prompt"}),
            ("surface.report_cwd", {"cwd": "/"}),
            ("surface.report_state", {"state": "running"}),
            ("surface.report_git", {"branch": "main"}),
        ):
            watched.desk.tmux("select-pane", "-t", "%2", "-T", method)
            watched.ask(method, env=watched.environ("%0"), **params)
            eventually(lambda method=method: watched.surface("%2")["title"] == method)  # type: ignore[misc]


def test_with_a_person_attached_rows_follow_what_is_done_here(watched: Watched) -> None:
    desk = watched.desk
    with Attached(desk, "one"):
        settled(watched)
        new = desk.tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", "%0", "cat")
        watched.ctl("%0", "send", "x")
        eventually(lambda: new in watched.surfaces())


def test_with_a_person_attached_panes_that_end_go_at_once(watched: Watched) -> None:
    desk = watched.desk
    with Attached(desk, "one"):
        settled(watched)
        desk.tmux("kill-pane", "-t", "%1")  # not the active one
        eventually(lambda: "%1" not in watched.surfaces())
        desk.tmux("kill-session", "-t", "two")
        eventually(lambda: list(watched.surfaces()) == ["%0"])


def test_a_pane_that_is_found_gone_goes_from_the_rows(watched: Watched) -> None:
    """Its process ignores that the pane has gone, so that nothing else tells."""
    desk, number = watched.desk, watched.surface("%1")["id"]
    with Attached(desk, "one"):
        desk.tmux("respawn-pane", "-k", "-t", "%1", "trap '' HUP; echo ready; exec sleep 100")
        desk.sees("%1", "ready")
        settled(watched)
        process = int(desk.tmux("display-message", "-p", "-t", "%1", "#{pane_pid}"))
        desk.tmux("kill-pane", "-t", "%1")
        try:
            assert watched.ctl("%0", "--surface", str(number), "read-screen", status=1)
            eventually(lambda: "%1" not in watched.surfaces())
        finally:
            os.kill(process, signal.SIGKILL)


def test_a_directory_by_the_name_its_shell_has_for_it_stays(watched: Watched, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/")
    watched.desk.tmux("respawn-pane", "-k", "-t", "%2", "-c", "/", "cat")
    eventually(lambda: watched.surface("%2")["cwd"] == "/")
    watched.ask("surface.report_cwd", cwd=str(link), env=watched.environ("%2"))
    watched.desk.tmux("select-pane", "-t", "%2", "-T", "listed")
    eventually(lambda: watched.surface("%2")["title"] == "listed")
    assert watched.surface("%2")["cwd"] == str(link)


def test_the_client_moves_where_it_is_felt_least(watched: Watched) -> None:
    def sessions() -> list[str]:
        form = "#{client_control_mode} #{client_session}"
        return sorted(watched.desk.tmux("list-clients", "-F", form).splitlines())

    [own] = [line.split()[1] for line in sessions()]
    with Attached(watched.desk, own):
        eventually(lambda: sessions() == [f"0 {own}"])
        watched.desk.tmux("rename-session", "-t", "two", "heard")  # it listens still
        eventually(lambda: watched.workspace("%2")["title"] == "heard")
    eventually(lambda: len(sessions()) == 1)
    watched.desk.tmux("set-option", "-g", "focus-events", "on")
    eventually(lambda: sessions() == [])
    watched.desk.tmux("set-option", "-g", "focus-events", "off")
    watched.desk.tmux("new-session", "-d", "-s", "three", "cat")
    eventually(lambda: len(sessions()) == 1)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_client_goes_with_the_broker(desk: Desk, start_broker: Start, number: int) -> None:
    desk.session("one", "cat")
    broker = start_broker()
    watched = Watched(desk)
    watched.report("%0")
    eventually(lambda: desk.tmux("list-clients"))
    broker.send_signal(number)
    broker.wait(10)
    watched.close()
    eventually(lambda: not desk.tmux("list-clients"))


def test_an_agent_drives_panes(watched: Watched) -> None:
    """As the original's skill has it, in plain tmux; in each pane a shell that only echoes."""
    made = watched.ctl("%0", "split", "--direction", "horizontal", "--command", "exec cat")["surface_id"]
    there = ("--surface", str(made))
    [pane] = [pane for pane, row in watched.surfaces().items() if row["id"] == made]
    assert watched.surface("%0")["active"]
    assert watched.workspace(pane)["title"] == "one"

    assert watched.ctl("%0", *there, "send", "hello #(id) #{pid};\n") == {}
    eventually(lambda: watched.desk.screen(pane).startswith("hello #(id) #{pid};\nhello #(id) #{pid};"))
    watched.ctl("%0", *there, "send-key", "x")
    watched.ctl("%0", *there, "send-key", "enter")
    eventually(lambda: watched.desk.screen(pane).rstrip().endswith("x\nx"))
    screen = watched.ctl("%0", *there, "read-screen", "--lines", "2")
    assert screen["text"] == "x\nx"
    assert (screen["cursor_row"], screen["cursor_col"], screen["shell_state"]) == (4, 0, "unknown")
    assert [screen["rows"], screen["cols"]] == [
        int(watched.desk.tmux("display-message", "-p", "-t", pane, f"#{{pane_{name}}}"))
        for name in ("height", "width")
    ]

    first = watched.surface("%0")["id"]
    assert watched.ctl("%0", "reorder-surface", str(made), "--before", str(first))["index"] == 0
    panes = watched.desk.tmux("list-panes", "-t", "%0", "-F", "#{pane_id}").splitlines()
    assert panes.index(pane) < panes.index("%0")
    watched.ctl("%0", "focus", str(made))
    assert watched.ctl("%0", "last-pane")["surface_id"] == first
    assert watched.ctl("%0", "close-surface", str(made)) == {}
    eventually(lambda: pane not in watched.surfaces())


def test_workspaces_are_sessions(watched: Watched) -> None:
    def current() -> str:
        return str(watched.ask("workspace.current")["workspace"]["title"])

    with Attached(watched.desk, "one"):
        eventually(lambda: watched.surface("%0")["visible"])
        made = watched.ctl("%0", "new-workspace", "--title", "a #{pid};")
        rows = watched.ask("workspace.list")["workspaces"]
        assert [row["title"] for row in rows if row["id"] == made["workspace_id"]] == ["a #{pid};"]
        person = "#{client_control_mode} #{client_session}"
        assert "0 one" in watched.desk.tmux("list-clients", "-F", person)
        assert current() == "one"
        assert "find client" in watched.ctl(
            "%0", "select-workspace", str(made["workspace_id"]), "--client", "/dev/pts/nope", status=1
        )
        assert current() == "one"
        watched.ctl("%0", "select-workspace", str(made["workspace_id"]))
        eventually(lambda: "0 a #{pid};" in watched.desk.tmux("list-clients", "-F", person))
        assert current() == "a #{pid};"
        watched.ctl("%0", "new-workspace", "--title", "shown", "--select")
        eventually(lambda: "0 shown" in watched.desk.tmux("list-clients", "-F", person))
        assert current() == "shown"
    eventually(lambda: "0" not in watched.desk.tmux("list-clients", "-F", "#{client_control_mode}").split())
    watched.ctl("%0", "new-workspace", "--title", "unseen", "--select")
    assert current() == "shown", "there is no client to show it on"
    other = watched.surface("%2")["workspace_id"]
    assert watched.ctl("%0", "last-pane", "--workspace", str(other), status=1)


@pytest.mark.parametrize(
    "argv",
    [
        ("split",),
        ("close-surface",),
        ("send", "x"),
        ("send-key", "x"),
        ("read-screen",),
        ("last-pane",),
        ("reorder-surface", "--index", "0"),
    ],
)
def test_never_the_active_pane_by_accident(watched: Watched, argv: tuple[str, ...]) -> None:
    before = watched.desk.tmux("list-panes", "-a")
    command = ["seance-ctl", *argv]
    done = subprocess.run(
        command, env=watched.desk.environ, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 1
    assert "--surface N" in done.stderr
    assert watched.desk.tmux("list-panes", "-a") == before


def test_other_terminals_say_that_they_cannot(watched: Watched) -> None:
    watched.ask("agent.hook", agent="claude", event="stop", env={"KITTY_WINDOW_ID": "4"})
    watched.ask("agent.hook", agent="claude", event="stop", tty="/dev/pts/77", tty_session=1)
    for place, where in (("kitty::4", "kitty"), ("tty:", "a plain terminal")):
        rows = watched.ask("surface.list")["surfaces"]
        [number] = [row["id"] for row in rows if row["place"].startswith(place)]
        for command in (("split",), ("send", "x"), ("focus",)):
            assert where in watched.ctl("%0", "--surface", str(number), *command, status=1)
