"""What tmux's answers mean."""

from __future__ import annotations

import pytest

from seance_tools.sidebar.tmux import Sight, Tmux, _read


@pytest.mark.parametrize(
    ("answer", "sight"),
    [
        ("1 1 0 1 2 1", Sight(hidden=False, alone=False)),
        ("1 0 0 1 2 1", Sight(hidden=True, alone=False)),
        ("010 0 0 1 2", Sight(hidden=True, alone=False)),
        ("000 0 0 1 2 1", Sight(hidden=False, alone=False)),
        ("1 1 1 0 2 1", Sight(hidden=True, alone=False)),
        ("1 1 1 1 2 1", Sight(hidden=False, alone=False)),
        ("1 1 0 1 1 1", Sight(hidden=False, alone=True)),
        ("1 1 0 1 1", Sight(hidden=False, alone=False)),
        ("", None),
        ("can't find pane", None),
    ],
)
def test_answers(answer: str, sight: Sight | None) -> None:
    assert _read(answer) == sight


def test_outside_tmux_there_is_nobody_to_ask() -> None:
    assert (Tmux({}).pane, Tmux({}).popup) == ("", False)
    assert (Tmux({"TMUX_PANE": "%1"}).pane, Tmux({"TMUX_PANE": "%1"}).popup) == ("", False)
    assert (Tmux({"TMUX": "/s,1,0"}).pane, Tmux({"TMUX": "/s,1,0"}).popup) == ("", True)


def test_a_tmux_that_is_gone_is_taken_for_none(tmp_path: object) -> None:
    nowhere = Tmux({"TMUX": f"{tmp_path}/none,1,0", "TMUX_PANE": "%1"})
    assert nowhere.look() is None
    nowhere.wait()
    nowhere.close()
