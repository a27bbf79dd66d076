"""The status document's own examples, typed as they stand there."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

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
sock.sendall(b'{"id":1,"method":"workspace.log","params":{"workspace_id":9,"message":"evil"}}\\n')
print(sock.recv(4096).decode())
"""


@pytest.mark.usefixtures("broker")
def test_another_user_is_turned_away_even_where_the_modes_let_him_in(
    environ: dict[str, str], tmp_path: Path
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    from seance_tools import names
    from seance_tools.client import Connection

    path = Path(names.socket_path(environ))
    for directory in (path.parent, *path.parent.parents):
        if directory != Path("/"):
            directory.chmod(directory.stat().st_mode | 0o011)
    python = Path(os.path.realpath("/usr/bin/python3"))
    del tmp_path

    def probe() -> subprocess.CompletedProcess[str]:
        return subprocess.run([python, "-c", PROBE, path], user=65534, env={}, capture_output=True, text=True)

    assert "Permission denied" in probe().stderr
    path.chmod(0o666)
    answer = probe()
    assert (
        "unauthorized" in answer.stdout
        or "ConnectionResetError" in answer.stderr
        or "BrokenPipe" in answer.stderr
    )
    with Connection(str(path)) as connection:
        assert connection.request("workspace.list")["workspaces"] == []
