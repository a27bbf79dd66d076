from __future__ import annotations

from typing import Any

import pytest

from seance_tools import methods
from seance_tools.methods import METHODS, REQUIRED, Method, Param
from seance_tools.state.calls import HANDLERS
from seance_tools.wire import WireError

RIGHT: dict[str, Any] = {
    "integer": 7,
    "number": 1.5,
    "boolean": True,
    "string": "text",
    "object": {},
    "array": [],
}
WRONG: dict[str, Any] = {
    "integer": "x",
    "number": "x",
    "boolean": "x",
    "string": 5,
    "object": [],
    "array": [1],
}


LISTS = {"states": ["idle"], "topics": ["status"]}


def right(param: Param) -> Any:
    if param.type == "array":
        return LISTS[param.name]
    return RIGHT.get(param.type, param.type.split("|", maxsplit=1)[0])


def full(method: Method) -> dict[str, Any]:
    return {param.name: right(param) for param in method.params}


CASES = [(method, param) for method in METHODS for param in method.params]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_every_method_takes_all_its_parameters(method: Method) -> None:
    assert methods.validate(method, full(method)) == full(method)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_every_method_has_a_function_or_is_the_brokers(method: Method) -> None:
    assert method.io or method.name in HANDLERS


@pytest.mark.parametrize(("method", "param"), CASES, ids=lambda v: getattr(v, "name", None))
def test_missing_and_mistyped_parameters_are_named(method: Method, param: Param) -> None:
    given = full(method)
    del given[param.name]
    if param.default is REQUIRED:
        with pytest.raises(WireError) as caught:
            methods.validate(method, given)
        assert caught.value.param == param.name
        assert "missing" in caught.value.message
    else:
        assert methods.validate(method, given)[param.name] == param.default
    given[param.name] = WRONG.get(param.type, "no such choice")
    with pytest.raises(WireError) as caught:
        methods.validate(method, given)
    assert (caught.value.code, caught.value.param) == ("invalid_params", param.name)


@pytest.mark.parametrize(
    ("method", "param"), [c for c in CASES if c[1].type == "string"], ids=lambda v: getattr(v, "name", None)
)
def test_texts_too_long_are_refused_not_cut(method: Method, param: Param) -> None:
    with pytest.raises(WireError, match="at most") as caught:
        methods.validate(method, full(method) | {param.name: "x" * 5000})
    assert caught.value.param == param.name


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_unknown_parameters_are_refused_by_name(method: Method) -> None:
    with pytest.raises(WireError, match="no such parameter") as caught:
        methods.validate(method, full(method) | {"colour": 1})
    assert caught.value.param == "colour"


def test_the_closest_names_are_offered() -> None:
    with pytest.raises(WireError, match=r"did you mean workspace\.set_status\?"):
        methods.find("workspace.set_statu")
    with pytest.raises(WireError, match=r"did you mean priority\?"):
        methods.validate(
            methods.find("workspace.set_status"),
            {"workspace_id": 1, "key": "a", "value": "b", "prioritty": 1},
        )


def test_both_spellings_are_taken() -> None:
    method = methods.find("workspace.set_subagent_counts")
    wanted = {"workspace_id": 1, "subagent_count": 3, "background_count": 1}
    for given in ({"workspace_id": 1, "subagents": 3, "background": 1}, wanted):
        assert wanted.items() <= methods.validate(method, given).items()
    for twice in (wanted | {"subagents": 3}, {"workspace_id": 1, "background": None, "background_count": 1}):
        with pytest.raises(WireError, match="given twice"):
            methods.validate(method, twice)
    assert methods.find("workspace.log") is methods.find("workspace.append_log")


@pytest.mark.parametrize(("value", "wanted"), [("12", 12), ("0", 0), (12.0, 12)])
def test_integers_come_as_numbers_or_decimal_strings(value: Any, wanted: int) -> None:
    assert (
        methods.validate(methods.find("workspace.clear_log"), {"workspace_id": value})["workspace_id"]
        == wanted
    )


@pytest.mark.parametrize("value", ["", "-1", "1.5", "٣", 1.5, True, -1, 2**53, "9" * 30, " 1"])
def test_what_is_no_id_is_refused(value: Any) -> None:
    with pytest.raises(WireError) as caught:
        methods.validate(methods.find("workspace.clear_log"), {"workspace_id": value})
    assert caught.value.param == "workspace_id"


@pytest.mark.parametrize("value", ["nan", "inf", float("nan"), float("inf"), "x", True])
def test_numbers_that_are_none_are_refused(value: Any) -> None:
    with pytest.raises(WireError):
        methods.validate(methods.find("workspace.set_progress"), {"workspace_id": 1, "value": value})


def test_texts_are_cleaned() -> None:
    given = {"workspace_id": 1, "key": "k", "value": "a\x1b[2Jb\ud800\u202e"}
    value = methods.validate(methods.find("workspace.set_status"), given)["value"]
    assert value == "a␛[2Jb\ufffd\ufffd"
