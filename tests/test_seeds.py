"""The status document's own examples, typed as they stand there."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from seance_tools import names
from seance_tools.client import Connection
from tests.support import only_root

BIN = Path(__file__).parent.parent / "bin"

SCRIPT = """
seance ctl --json workspace.set_status <<EOF
{"workspace_id": 1, "key": "test", "value": "Running", "priority": 5}
EOF
seance ctl myagent-hook progress <<EOF
{"value": 0.75, "label": "Processing 3/4 items"}
EOF
seance ctl myagent-hook log <<EOF
{"message": "Completed index rebuild", "level": "info"}
EOF
seance ctl --json tree
"""

REQUESTS = """
{
  "method": "workspace.set_status",
  "params": {
    "workspace_id": 123,
    "key": "opencode",
    "value": "Running",
    "priority": 5,
    "is_agent": true,
    "display_name": "OpenCode"
  }
}
{
  "method": "workspace.set_progress",
  "params": {
    "workspace_id": 123,
    "value": 0.75,
    "label": "Processing..."
  }
}
{
  "method": "workspace.append_log",
  "params": {
    "workspace_id": 123,
    "message": "Tool execution completed",
    "level": "info"
  }
}
{
  "method": "workspace.set_subagent_counts",
  "params": {
    "workspace_id": 123,
    "subagent_count": 3,
    "background_count": 1
  }
}
{
  "method": "workspace.clear_status",
  "params": {
    "workspace_id": 123,
    "key": "opencode"
  }
}
"""


@pytest.mark.usefixtures("broker")
def test_the_shell_examples(environ: dict[str, str], need: Callable[[str], str]) -> None:
    path = {
        **environ,
        "PATH": f"{BIN}:{environ['PATH']}",
        "SEANCE_SURFACE_ID": "4",
        "SEANCE_WORKSPACE_ID": "1",
    }
    done = subprocess.run([need("bash"), "-euc", SCRIPT], env=path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    first, _, rest = done.stdout.partition("\n")
    assert json.loads(first) == {}
    [workspace] = json.loads(rest)["windows"][0]["workspaces"]
    assert workspace["status"][0]["value"] == "Running"
    assert workspace["progress"] == {"active": True, "value": 0.75, "label": "Processing 3/4 items"}
    assert workspace["log"][0]["message"] == "Completed index rebuild"


@pytest.mark.usefixtures("broker")
def test_the_requests_over_the_socket(environ: dict[str, str]) -> None:
    from tests.test_broker import raw, read_lines

    requests = [json.loads(text) for text in REQUESTS.replace("\n}\n{", "\n}\0{").split("\0")]
    with raw(environ) as sock:
        sock.sendall(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
        answers = read_lines(sock, len(requests))
    assert [answer["ok"] for answer in answers] == [True] * len(requests)
    assert {answer["id"] for answer in answers} == {None}
    assert answers[-1]["result"] == {"cleared": True}


PROBE = """
import socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.settimeout(5)
sock.connect(sys.argv[1])
if sys.argv[2:]:
    try:
        sock.sendall(b'{"id":1,"method":"workspace.log","params":{"workspace_id":9,"message":"evil"}}\\n')
    except BrokenPipeError:  # it has hung up already
        pass
else:
    print(sock.makefile().readline())
"""


@pytest.mark.usefixtures("broker")
def test_another_user_is_turned_away_even_where_the_modes_let_him_in(environ: dict[str, str]) -> None:
    only_root()
    path = Path(names.socket_path(environ))
    python = Path(os.path.realpath("/usr/bin/python3"))

    def probe(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(python), "-c", PROBE, str(path), *arguments]
        return subprocess.run(
            command, user=65534, group=65534, extra_groups=[], env={}, capture_output=True, text=True
        )

    with ExitStack() as stack:
        for directory in (path.parent, *path.parent.parents):
            mode = directory.stat().st_mode
            if mode & 0o011 != 0o011:
                directory.chmod(mode | 0o011)
                stack.callback(directory.chmod, mode)
        assert "Permission denied" in probe().stderr
        path.chmod(0o666)
        assert json.loads(probe().stdout)["error"]["code"] == "unauthorized"
        assert probe("ask").stderr == ""
    with Connection(str(path)) as connection:
        assert connection.request("workspace.list")["workspaces"] == []
