from __future__ import annotations

from typing import Any

import pytest

from seance_tools.tools import asks_the_user, describe_tool, question_of

PATCH = "*** Begin Patch\n*** Update File: src/cart.py\n@@\n-1\n+2\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("Read", {"file_path": "/src/cart.py"}, "Reading cart.py"),
        ("read_file", {"absolute_path": "/src/cart.py"}, "Reading cart.py"),
        ("read", {"filePath": "/src/cart.py"}, "Reading cart.py"),
        ("view", {"path": "src/"}, "Reading src"),
        ("NotebookRead", {"notebook_path": "a.ipynb"}, "Reading a.ipynb"),
        ("Write", {"file_path": "/src/cart.py"}, "Writing cart.py"),
        ("write_file", {"file_path": "cart.py"}, "Writing cart.py"),
        ("create_file", {"path": "cart.py"}, "Writing cart.py"),
        ("Edit", {"file_path": "/src/cart.py"}, "Editing cart.py"),
        ("MultiEdit", {"file_path": "/src/cart.py"}, "Editing cart.py"),
        ("str_replace", {"path": "tests/test_cart.py"}, "Editing test_cart.py"),
        ("str_replace_editor", {"command": "str_replace", "path": "cart.py"}, "Editing cart.py"),
        ("developer__text_editor", {"path": "cart.py"}, "Editing cart.py"),
        ("apply_patch", {"input": PATCH}, "Editing cart.py"),
        ("apply_patch", {"input": "nothing"}, "Using apply_patch"),
        ("Bash", {"command": "make test"}, "Running make test"),
        ("Bash", {"command": "\n make test\nmake lint"}, "Running make test"),
        ("bash", {"cmd": "ls"}, "Running ls"),
        ("Shell", {"command": "ls"}, "Running ls"),
        ("shell", {"command": ["bash", "-lc", "make test"]}, "Running make test"),
        ("shell", {"command": ["make", "test", 3]}, "Running make test"),
        ("exec_command", {"cmd": "ls"}, "Running ls"),
        ("execute", {"command": "ls"}, "Running ls"),
        ("run_shell_command", {"command": "ls"}, "Running ls"),
        ("run_terminal_command", {"command": "ls"}, "Running ls"),
        ("run_command", {"command": "ls"}, "Running ls"),
        ("terminal", {"command": "ls"}, "Running ls"),
        ("developer__shell", {"command": "ls"}, "Running ls"),
        ("Grep", {"pattern": "x = 1"}, "Search: x = 1"),
        ("Glob", {"pattern": "*.py"}, "Search: *.py"),
        ("glob", {"pattern": "*.py"}, "Search: *.py"),
        ("code_search", {"query": "pay"}, "Search: pay"),
        ("WebSearch", {"query": "pay"}, "Search: pay"),
        ("web_search", {"query": "pay"}, "Search: pay"),
        ("WebFetch", {"url": "https://a.example/b/"}, "Fetching https://a.example/b/"),
        ("web_fetch", {"prompt": "read https://a.example"}, "Fetching read https://a.example"),
        ("LS", {"path": "/src"}, "Listing /src"),
        ("list_directory", {"path": "/src"}, "Listing /src"),
        ("Task", {"description": "find tests", "prompt": "long"}, "Delegating: find tests"),
        ("Agent", {"prompt": "find tests"}, "Delegating: find tests"),
        ("mcp__tracker__create_issue", {"title": "x"}, "tracker: create_issue"),
        ("mcp__tracker", None, "Using tracker"),
        ("TodoWrite", {"todos": []}, "Using TodoWrite"),
        ("thread_status", {}, "Using thread_status"),  # has "read" in it, but not as a word
        ("Bash", {}, "Using Bash"),
        ("Bash", {"command": 5}, "Using Bash"),
        ("Bash", {"command": "  "}, "Using Bash"),
        ("Bash", "ls", "Using Bash"),
        ("mystery", {"a": 1}, "Using mystery"),
        ("工具", {}, "Using 工具"),
        ("Bash", {"command": "a\x1b[2J"}, "Running a␛[2J"),
        ("", None, ""),
    ],
)
def test_tools_are_described(name: str, arguments: Any, text: str) -> None:
    assert describe_tool(name, arguments) == text


def test_descriptions_are_short() -> None:
    assert len(describe_tool("Bash", {"command": "x" * 1000})) == 80


@pytest.mark.parametrize(
    "name", ["AskUserQuestion", "ExitPlanMode", "ask_user", "clarify", "request_user_input", "exit_plan_mode"]
)
def test_tools_that_only_ask(name: str) -> None:
    assert asks_the_user(name)


@pytest.mark.parametrize("name", ["Ask", "Bash", "", "user", "plan_mode"])
def test_tools_that_do_more(name: str) -> None:
    assert not asks_the_user(name)


@pytest.mark.parametrize(
    ("name", "arguments", "question"),
    [
        ("AskUserQuestion", {"questions": [{"question": "A?"}, {"question": "B?"}]}, "A?"),
        ("AskUserQuestion", {"questions": ["A?"]}, "A?"),
        ("ask_user", {"question": "A?"}, "A?"),
        ("ExitPlanMode", {"plan": "1. …"}, "Approve the plan?"),
        ("ask_user", {"questions": []}, ""),
        ("ask_user", {"question": 5}, ""),
        ("ask_user", None, ""),
    ],
)
def test_questions(name: str, arguments: Any, question: str) -> None:
    assert question_of(name, arguments) == question
