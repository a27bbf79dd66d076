from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from seance_tools import names


def findings(environ: dict[str, str], *lines: str) -> list[str]:
    path = Path(names.config_path(environ))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["[notifications]", *lines]) + "\n")
    done = subprocess.run(["seance-ctl", "--json", "doctor"], env=environ, capture_output=True, text=True)
    return [row["text"] for row in json.loads(done.stdout) if row["text"].startswith("notifications.")]


@pytest.mark.usefixtures("broker")
def test_doctor_tells_which_channels_cannot_work(environ: dict[str, str]) -> None:
    assert findings(environ) == []
    environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
    wrong = ("desktop = true", 'command = ["/no/such/program"]')
    assert findings(environ, *wrong) == [
        "notifications.desktop: there is no session bus here",
        "notifications.command: /no/such/program is not found",
    ]
    assert findings(environ, 'command = ["true"]') == []
