from __future__ import annotations

import pytest

from seance_tools.agents import BY_KEY, Agent
from seance_tools.codebuff.places import Place, of_glob, place_of
from seance_tools.options import look_up

HOME = {"HOME": "/home/me"}


def test_where_the_agents_have_their_logs() -> None:
    assert place_of(BY_KEY["codebuff"], "", HOME) == Place("/home/me/.config/manicode", ".jsonl")
    assert place_of(BY_KEY["freebuff"], "", HOME) == Place("/home/me/.config/manicode", ".jsonl")
    pool = "/home/me/.local/state/poolside/trajectories"
    assert place_of(BY_KEY["poolside"], "", HOME) == Place(pool, ".ndjson")
    assert place_of(Agent("x", "X", ("x",)), "", HOME) is None


@pytest.mark.parametrize(("state", "root"), [("/s", "/s"), ("s", "/home/me/.local/state")])
def test_the_xdg_state_directory_is_honoured(state: str, root: str) -> None:
    place = place_of(BY_KEY["poolside"], "", {**HOME, "XDG_STATE_HOME": state})
    assert place == Place(f"{root}/poolside/trajectories", ".ndjson")
    assert place_of(BY_KEY["codebuff"], "", {**HOME, "XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state})


@pytest.mark.parametrize(
    ("glob", "root", "suffix", "logs", "others"),
    [
        ("/m/**/*.jsonl", "/m", ".jsonl", ["/m/a.jsonl", "/m/b/c/.jsonl"], ["/m/a.json", "/ma.jsonl"]),
        ("/m/*.log", "/m", ".log", ["/m/a.log"], ["/m/b/a.log"]),
        ("/m/*/log-?.txt", "/m", ".txt", ["/m/b/log-1.txt"], ["/m/log-1.txt", "/m/b/log-12.txt"]),
        ("/m/one.log", "/m", "one.log", ["/m/one.log"], ["/m/one-log", "/m/None.log"]),
        ("/m/**", "/m", "", ["/m/a", "/m/b/c"], ["/n/a"]),
        ("/m/[x]+(y).log", "/m", "[x]+(y).log", ["/m/[x]+(y).log"], ["/m/x.log"]),
        ("/m//./a*b\n*", "/m", "", ["/m/axb\ny"], ["/m/axb"]),
    ],
)
def test_globs(glob: str, root: str, suffix: str, logs: list[str], others: list[str]) -> None:
    place = of_glob(glob)
    assert (place.root, place.suffix) == (root, suffix)
    assert all(place.has(path) and path.startswith(root) and path.endswith(suffix) for path in logs)
    assert not any(place.has(path) for path in others)


def test_a_glob_of_the_user_wins() -> None:
    place = place_of(BY_KEY["codebuff"], "~/.mine/**/*.log", HOME)
    assert place
    assert (place.root, place.suffix) == ("/home/me/.mine", ".log")


def test_globs_come_from_the_configuration() -> None:
    options = look_up({"agents": {"mytool": {"log": "~/.mytool/*.log"}, "other": {"log": "/o/**"}}})
    assert options.logs == {"mytool": "~/.mytool/*.log", "other": "/o/**"}
    assert (options.problems, options.unknown) == ((), ())


@pytest.mark.parametrize(
    ("agents", "place"),
    [
        (3, "agents"),
        ({"x": 3}, "agents.x.log"),
        ({"x": {}}, "agents.x.log"),
        ({"x": {"log": "y/*"}}, "agents.x.log"),
    ],
)
def test_what_is_wrong_with_them_is_told(agents: object, place: str) -> None:
    options = look_up({"agents": agents})
    assert options.logs == {}
    assert [problem.partition(":")[0] for problem in options.problems] == [place]
