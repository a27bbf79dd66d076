"""Git's reftable format, as far as it tells what is checked out.

Source: git's Documentation/technical/reftable.txt (versions 1 and 2). A repository keeps its references in a
stack of tables; in each they are sorted by name, so that HEAD and what else stands beside `refs/` is in the
first block. A later table overrides an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator

FIRST_BYTES = 1 << 16  # of a table that are looked at; a block has 4 KiB unless somebody chose otherwise
INVALID = "refs/heads/.invalid"  # what HEAD's file names where the references are in tables
_HEADERS = {1: 24, 2: 28}  # bytes before the first block, by version
_DELETED, _VALUE, _PEELED, _SYMBOLIC = range(4)


def roots(table: bytes) -> dict[str, str | None]:
    """Return what a table says of the references beside `refs/`, by name.

    table: at least its first block. A value is "ref: NAME", an object's name in hexadecimal, or None where
    the reference is taken away. Raises ValueError where it is no such table.
    """
    try:
        return dict(_records(table))
    except (IndexError, UnicodeDecodeError):
        raise ValueError("a table that ends too soon") from None


def _records(table: bytes) -> Iterator[tuple[str, str | None]]:
    start = _HEADERS.get(table[4], 0)
    if table[:4] != b"REFT" or not start:
        raise ValueError("not a reftable of a known version")
    if table[start : start + 1] != b"r":
        return  # no references in it
    hash_bytes = 32 if table[24:28] == b"s256" and table[4] == 2 else 20
    end = int.from_bytes(table[start + 1 : start + 4])  # counted from the beginning of the file
    if end <= len(table):
        end -= 2 + 3 * int.from_bytes(table[end - 2 : end])  # restart points
    else:
        end = len(table)  # the names that are wanted come first
    offset, name = start + 4, b""
    while offset < end:
        shared, offset = _number(table, offset)
        length, offset = _number(table, offset)
        kind, length = length & 7, length >> 3
        name, offset = name[:shared] + table[offset : offset + length], offset + length
        _, offset = _number(table, offset)  # of the update
        value = None
        if kind == _SYMBOLIC:
            length, offset = _number(table, offset)
            value, offset = "ref: " + table[offset : offset + length].decode(), offset + length
        elif kind in (_VALUE, _PEELED):
            value, offset = table[offset : offset + hash_bytes].hex(), offset + hash_bytes * kind
        elif kind != _DELETED:
            raise ValueError("a record of an unknown kind")
        if offset > end:
            raise ValueError("a record that ends too late")
        if name.startswith(b"refs/"):
            return
        yield name.decode(), value


def _number(table: bytes, offset: int) -> tuple[int, int]:
    """Return a number of variable length, and the offset behind it."""
    byte = table[offset]
    value = byte & 0x7F
    while byte & 0x80:
        offset += 1
        byte = table[offset]
        value = (value + 1) << 7 | byte & 0x7F
    return value, offset + 1
