"""Lines of ours at the end of a text file."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seance_tools.install import block

texts = st.text(alphabet='ab#="\n\r ', max_size=12)


@settings(deadline=None)
@given(texts)
def test_what_was_added_goes_to_the_byte(text: str) -> None:
    after = block.add(text, "x = 1\n")
    assert block.content(after) == "x = 1\n"
    assert block.add(after, "x = 1\n") == after
    assert block.content(block.add(after, "y = 2\n")) == "y = 2\n"
    assert block.take_out(after) == text


def test_what_follows_stays() -> None:
    text = block.add("a\n", "x\n") + "b\n"
    assert block.take_out(text) == "a\nb\n"
    assert block.take_out(block.add(text, "y\n")) == "a\nb\n"


@pytest.mark.parametrize("mark", [block.BEGIN, block.END])
def test_half_a_block_is_refused(mark: str) -> None:
    for change in (block.take_out, lambda text: block.add(text, "x\n"), block.content):
        with pytest.raises(ValueError, match="line 2: one of the two marks"):
            change(f"a\n{mark}\nb\n")


def test_two_blocks_become_one() -> None:
    one = block.add("a\n", "x\n")
    assert block.add(one + one, "y\n") == block.add("a\n", "y\n") + "a\n"
    assert block.take_out(one + one) == "a\na\n"
    for half in (f"{one}{block.BEGIN}\n", f"{block.BEGIN}\n{one}", f"{block.END}\n{one}"):
        with pytest.raises(ValueError, match="one of the two marks"):
            block.take_out(half)


def test_line_ends_are_those_of_the_file() -> None:
    text = block.add("a\r\n", "x\ny\n")
    assert text == f"a\r\n\r\n{block.BEGIN}\r\nx\r\ny\r\n{block.END}\r\n"
    assert block.content(text) == "x\ny\n"
    assert block.add(text, "x\ny\n") == text
    assert block.take_out(text) == "a\r\n"


def test_marks_of_another_version_are_known() -> None:
    text = block.add("a\n", "x\n").replace(block.BEGIN, "# --- begin seance-tools: in other words")
    assert block.add(text, "x\n") == block.add("a\n", "x\n")
    assert block.take_out(text) == "a\n"


@pytest.mark.parametrize(
    "line", ["model: sonnet", "# my note", 'command = "make"', "  - x", "exec seance-hook x", "matcher = 1"]
)
def test_what_is_not_ours_between_the_marks_is_not_thrown_away(line: str) -> None:
    text = block.add("a\n", f"timeout = 4\n\n{line}\ncommand = 'exec seance-hook a'\n")
    with pytest.raises(ValueError, match="line 6: is not ours but between our marks"):
        block.check(text, "[[hooks]]\n")
    block.check(text, f"{line}\n")


def test_a_file_without_a_block_is_left_alone() -> None:
    assert block.take_out("a\n\n") == "a\n\n"
    assert block.content("a\n") is None
