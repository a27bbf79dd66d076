"""Reads config.toml, and changes a key of it."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from seance_tools import names
from seance_tools.options import Options, line_of, look_up


def read(environ: Mapping[str, str]) -> Options:
    """Return the options of the user's config.toml.

    Raises nothing: what cannot be read has its default, and is a line of `problems` with the file's path and,
    as far as it is known, the line.
    """
    path = names.config_path(environ)
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("not a regular file")
            text = file.read().decode("utf-8")
        document = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return look_up({})
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return Options(look_up({}).values, (f"cannot read {path}: {reason}",))
    options = look_up(document)
    return Options(
        options.values,
        tuple(_placed(path, text, options.problems)),
        tuple(_placed(path, text, options.unknown)),
        options.wrong,
        options.logs,
    )


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # opening a FIFO would wait for its writer


def _placed(path: str, text: str, lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        number = line_of(text, line.partition(":")[0])
        yield f"{path}{'' if number is None else f':{number}'}: {line}"


def write(environ: Mapping[str, str], key: str, value: Any) -> None:
    """Set a dotted key of config.toml; comments, order and form of the rest stay, a link stays a link.

    The file is replaced at once, so that nobody reads half of it. Raises ValueError where it is not TOML,
    OSError where it cannot be written.
    """
    import tomlkit  # only here: nobody else pays for it

    path = os.path.realpath(names.config_path(environ))
    try:
        with open(path, encoding="utf-8", newline="", opener=_without_waiting) as file:
            document = tomlkit.parse(file.read())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except FileNotFoundError:
        document = tomlkit.document()
    table: Any = document
    *tables, last = key.split(".")
    for name in tables:
        if name not in table:
            table[name] = tomlkit.table()
        table = table[name]
        if not isinstance(table, dict):
            raise ValueError(f"{path}: {name} is not a table")  # noqa: TRY004 - the file is at fault
    table[last] = value
    _replace(path, tomlkit.dumps(document))


def _replace(path: str, text: str) -> None:
    """Put a new file in place of `path`, with its mode, or 0600 where there was none."""
    mask = os.umask(0o077)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = f"{path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        if os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    finally:
        os.umask(mask)
