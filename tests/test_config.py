from __future__ import annotations

from pathlib import Path

import pytest

from seance_tools import config
from seance_tools.options import Options, look_up


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "seance").mkdir()
    return tmp_path / "seance" / "config.toml"


def read(file: Path) -> Options:
    return config.read({"XDG_CONFIG_HOME": str(file.parent.parent)})


def test_without_a_file_all_is_default(file: Path) -> None:
    assert read(file) == look_up({})


def test_reads_the_file(file: Path) -> None:
    file.write_text("codebuff-hooks = false\n[codebuff]\nidle-timeout = 2\n")
    values, problems, *_ = read(file)
    assert problems == ()
    assert values["codebuff-hooks"] is False
    assert values["codebuff.idle-timeout"] == 2.0


def test_a_wrong_value_is_a_problem_with_the_path_and_the_key(file: Path) -> None:
    file.write_text("codebuff-hooks = 'off'\n")
    assert read(file).problems == (f"{file}:1: codebuff-hooks: true or false is needed",)


@pytest.mark.parametrize(
    "content", [b"= nonsense", b"\xff\xfe", b"a = [" + b"[" * 100_000, b"a = 1\na = 2\n"]
)
def test_a_file_that_cannot_be_parsed_is_one_problem(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    values, problems, *_ = read(file)
    assert values == look_up({}).values
    assert len(problems) == 1
    assert problems[0].startswith(f"cannot read {file}: ")


def test_a_file_that_cannot_be_read_is_one_problem(file: Path) -> None:
    file.mkdir()
    assert read(file).problems == (f"cannot read {file}: Is a directory",)


def write(file: Path, key: str, value: object) -> None:
    config.write({"XDG_CONFIG_HOME": str(file.parent.parent)}, key, value)


def test_setting_a_key_leaves_the_rest_as_it_is(file: Path) -> None:
    text = "# mine\r\nb = 1 # one\r\n\r\n[sidebar]\r\n  show_logs = true # keep\r\n[x]\r\ny = [1,\r\n 2]\r\n"
    file.write_bytes(text.encode())
    file.chmod(0o640)
    write(file, "sidebar.show_logs", False)
    assert file.read_bytes().decode() == text.replace("show_logs = true", "show_logs = false")
    assert file.stat().st_mode & 0o777 == 0o640


def test_setting_a_key_makes_file_table_and_key(file: Path) -> None:
    file.parent.rmdir()
    write(file, "sidebar.show_logs", False)
    write(file, "codebuff-hooks", False)
    assert read(file).values["sidebar.show_logs"] is False
    assert read(file).values["codebuff-hooks"] is False
    assert read(file).problems == read(file).unknown == ()


def test_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("codebuff-hooks = true\n")
    file.symlink_to(real)
    write(file, "codebuff-hooks", False)
    assert file.is_symlink()
    assert real.read_text() == "codebuff-hooks = false\n"


def test_a_broken_file_is_not_touched(file: Path) -> None:
    file.write_text("= nonsense")
    with pytest.raises(ValueError, match=r"(?i)empty|unexpected"):
        write(file, "codebuff-hooks", False)
    assert file.read_text() == "= nonsense"
    assert list(file.parent.iterdir()) == [file]
