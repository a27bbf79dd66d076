"""Stand-in agents for `seance-ctl demo`: each lives a minute of a working day, with real hooks or a real log.

Run as `python -m seance_tools.ctl.actors codebuff|claude|codex|gemini`, until it is killed. Codebuff writes
the log that the wrapper watches; the others call seance-ctl as their hooks would.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from typing import Any, NamedTuple

MINUTE = 60.0
SPEED = "SEANCE_DEMO_SPEED"  # how many times faster than life; for tests
_CTL = (sys.executable, "-c", "from seance_tools.ctl import main; main()")


class Act(NamedTuple):
    """What happens `at` a second of the minute: a line for the pane, a hook with its payload."""

    at: float
    line: str
    event: str = ""
    payload: dict[str, Any] = {}  # noqa: RUF012 - never altered


CLAUDE = (
    Act(0, "> make the deploy script retry", "prompt-submit"),
    Act(
        3,
        "reading deploy.sh",
        "pre-tool-use",
        {"tool_name": "Read", "tool_input": {"file_path": "deploy.sh"}},
    ),
    Act(
        6,
        "editing deploy.sh",
        "pre-tool-use",
        {"tool_name": "Edit", "tool_input": {"file_path": "deploy.sh"}},
    ),
    Act(10, "may I run make deploy?", "approval-request", {"message": "Approve: make deploy?"}),
    Act(22, "approved", "approval-response"),
    Act(23, "make deploy", "pre-tool-use", {"tool_name": "Bash", "tool_input": {"command": "make deploy"}}),
    Act(38, "deployed", "log", {"message": "Deployed build 412", "level": "success"}),
    Act(40, "done", "stop"),
)
CODEX = (
    Act(1, "> translate the handbook", "prompt-submit"),
    *(
        Act(4 + 4 * page, f"page {page} of 8", "progress", {"value": page / 8, "label": f"Page {page}/8"})
        for page in range(1, 9)
    ),
    Act(38, "handbook translated", "log", {"message": "Handbook translated", "level": "success"}),
    Act(39, "done", "stop"),
    Act(48, "> check the links", "prompt-submit"),
    Act(56, "done", "stop"),
)
GEMINI = (
    Act(2, "> update the modules", "prompt-submit"),
    Act(8, "three sub-agents at work", "subagent-update", {"subagents": ["vpc", "dns", "tls"]}),
    Act(20, "sub-agents done", "subagent-update", {"subagents": []}),
    Act(26, "the provider says: rate limit", "error", {"message": "rate limit"}),
    Act(36, "> go on", "prompt-submit"),
    Act(50, "plan written", "log", {"message": "Plan: 3 to add, 1 to change"}),
    Act(52, "done", "stop"),
)
HOOKED = {"claude": CLAUDE, "codex": CODEX, "gemini": GEMINI}
TURNS = ((0.0, 18.0), (30.0, 52.0))  # of Codebuff: from and to which second it works


def main() -> None:
    """Play the agent named on the command line, minute after minute."""
    agent = sys.argv[1]
    speed = float(os.environ.get(SPEED, "1"))
    branch = {"codebuff": ("main", "--dirty"), "claude": ("main", "--dirty"), "codex": ("main",)}.get(agent)
    _ctl("report-git", *(branch or ("modules", "--dirty")))
    if agent == "codebuff":
        codebuff(speed)
    os.environ[f"SEANCE_{agent.upper()}_PID"] = str(os.getpid())
    _ctl(f"{agent}-hook", "session-start", payload={"cwd": os.getcwd()})
    while True:
        begun = time.monotonic()
        for act in HOOKED[agent]:
            _until(begun + act.at / speed)
            _say(act.line)
            if act.event:
                _ctl(f"{agent}-hook", act.event, payload={**act.payload, "cwd": os.getcwd()})
        _until(begun + MINUTE / speed)


def codebuff(speed: float) -> None:
    """Write a session log as Codebuff does, a line each second of a turn."""
    chat = time.strftime("%Y-%m-%dT%H-%M-%S.000Z", time.gmtime())
    project = os.path.basename(os.getcwd())
    directory = os.path.expanduser(f"~/.config/manicode/projects/{project}/chats/{chat}")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "log.jsonl"), "a", buffering=1) as log:
        while True:
            begun = time.monotonic()
            for first, last in TURNS:
                _until(begun + first / speed)
                _say("> add a cart to the shop")
                _write(log, "INFO", "[send-message] Sending message with sdk run config")
                step = 0
                while time.monotonic() < begun + last / speed:
                    step += 1
                    _write(log, "DEBUG", f"Start agent base2 step {step}", iteration=step)
                    time.sleep(0.9 / speed)
                    _say(f"step {step}")
                    _write(log, "DEBUG", f"End agent base2 step {step}", iteration=step, shouldEndTurn=False)
                _write(log, "DEBUG", "Main prompt finished", outputType="lastMessage")
                _say("done")
            _until(begun + MINUTE / speed)


def _write(log: Any, level: str, message: str, **data: Any) -> None:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    line = {"level": level, "timestamp": stamp, "pid": os.getpid(), "hostname": socket.gethostname()}
    log.write(json.dumps({**line, "data": data, "msg": message}) + "\n")


def _until(moment: float) -> None:
    time.sleep(max(moment - time.monotonic(), 0.0))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _ctl(*arguments: str, payload: dict[str, Any] | None = None) -> None:
    text = json.dumps(payload) if payload else ""
    subprocess.run([*_CTL, *arguments], input=text, text=True, check=False, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
