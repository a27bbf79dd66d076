"""The names at the top of a YAML file, and what is not such a file."""

from __future__ import annotations

import pytest

from seance_tools.install import yamllines

# From Aider's sample configuration, with what people do to it
SAMPLE = """##########################################################
# Sample .aider.conf.yml

## Specify the model to use for the main chat
model: sonnet # the best

"read":
  - CONVENTIONS.md

  # a comment of its own
lint-cmd:
- "python: flake8"
-
  deep
'set-env': [
  "A=1",  # one
  ]
message: |
    text: with: colons

    # no comment
\t
"""


def test_names_are_found_with_their_lines() -> None:
    found = {"model": 5, "read": 7, "lint-cmd": 11, "set-env": 15, "message": 18}
    assert yamllines.keys(SAMPLE) == found
    assert yamllines.keys("\ufeff---\r\n" + SAMPLE.replace("\n", "\r\n")) == {
        name: line + 1 for name, line in found.items()
    }
    assert yamllines.keys("") == yamllines.keys("# none\n---") == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{model: x}", 'line 1: not one "name: value" a line'),
        ("a: [1,\n2]\n", 'line 2: not one "name: value" a line'),
        ("a: 1\n---\nb: 1\n", 'line 2: not one "name: value" a line'),
        ("a: 1\n...\n", 'line 2: not one "name: value" a line'),
        ("? a\n: b\n", 'line 1: not one "name: value" a line'),
        ("<<: *x\n", 'line 1: not one "name: value" a line'),
        ("null\n", 'line 1: not one "name: value" a line'),
        ("  a: 1\n  b: 2\n", "line 1: the names do not begin at the left"),
        ("- a\n- b\n", "line 1: the names do not begin at the left"),
        ("a: |+\n  x\n\n", "line 1: a text that keeps what follows"),
        ("a:\n  - >1+ # x\n", "line 2: a text that keeps what follows"),
    ],
)
def test_what_is_not_so_plain_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="line") as caught:
        yamllines.keys(text)
    assert str(caught.value) == f"{reason}; put ours in by hand"
