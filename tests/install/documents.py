"""Random JSON documents as text, laid out in every way."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

COMMAND = "exec seance-hook claude {}"
EVENTS = ("Stop", "PreToolUse", "Other")
gaps = st.sampled_from(["", "", "", " ", "\n", "\n  ", "\r\n\t", " /* a, { */ ", ' // b } "\n', "\n// c\n  "])
strings = st.text(max_size=4) | st.sampled_from(["a\\b", '"', "//", "/*", "käse", "\u2028", "hooks"])
scalars = st.none() | st.booleans() | st.integers(-9, 10**20) | strings
theirs = st.fixed_dictionaries(
    {"hooks": st.lists(st.fixed_dictionaries({"type": st.just("command"), "command": strings}), max_size=2)},
    optional={"matcher": strings},
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3)
)
hooks = st.dictionaries(st.sampled_from(EVENTS), st.lists(theirs | values, max_size=3), max_size=3)
objects = st.builds(
    lambda before, inner, after: {**before, **inner, **after},
    st.dictionaries(strings.filter(lambda key: key != "hooks"), values, max_size=2),
    st.fixed_dictionaries({}, optional={"hooks": hooks}),
    st.dictionaries(strings.filter(lambda key: key != "hooks"), values, max_size=2),
)


def written(draw: Any, value: Any) -> str:
    """Return a value as JSON text with gaps of all kinds in it."""

    def gap() -> str:
        found: str = draw(gaps)
        return found

    if isinstance(value, dict):
        names = [json.dumps(key, ensure_ascii=draw(st.booleans())) for key in value]
        parts = [
            f"{gap()}{name}{gap()}:{gap()}{written(draw, item)}{gap()}"
            for name, item in zip(names, value.values(), strict=True)
        ]
        return "{" + (",".join(parts) or gap()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{gap()}{written(draw, item)}{gap()}" for item in value) or gap()) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def documents(draw: Any, whole: Any = objects) -> tuple[str, Any]:
    """A document's text and its value, laid out at random or by json.dumps."""
    value = draw(whole)
    indent = draw(st.sampled_from([None, None, 2, "\t"]))
    text = written(draw, value) if indent is None else json.dumps(value, indent=indent)
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    return mark + draw(gaps) + text + draw(gaps), value
