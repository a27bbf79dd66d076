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
    if text.endswith("\n") or not text:
        assert block.take_out(after) == text
    else:
        assert block.take_out(after) == text + "\n"  # only the line end that a text file has


def test_what_follows_stays() -> None:
    text = block.add("a\n", "x\n") + "b\n"
    assert block.take_out(text) == "a\nb\n"
    assert block.take_out(block.add(text, "y\n")) == "a\nb\n"


@pytest.mark.parametrize("mark", [block.BEGIN, block.END])
def test_half_a_block_is_refused(mark: str) -> None:
    for change in (block.take_out, lambda text: block.add(text, "x\n"), block.content):
        with pytest.raises(ValueError, match="line 2: one of the two marks"):
            change(f"a\n{mark}\nb\n")


def test_a_file_without_a_block_is_left_alone() -> None:
    assert block.take_out("a\n\n") == "a\n\n"
    assert block.content("a\n") is None
