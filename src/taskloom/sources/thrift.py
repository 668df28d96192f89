"""Structs of Thrift's compact protocol, as Parquet has them: the declared fields are read, all others passed over.

They are read as Arrow's own reader reads them, so that no file means one thing to it and another to us: integers and
the numbers of fields wrap, a field of another type than the declared one does not count, the last of several does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Form: TypeAlias = (
    "Mapping[tuple[int, int], Form | None]"  # by number and type; what is in a struct, or in those of a list
)
Struct: TypeAlias = dict[int, Any]  # by number: an integer, a struct, or a list of them

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
SIZES = {BYTE: 1, DOUBLE: 8, UUID: 16}  # bytes
MOST_NESTED = 32
NOTHING: Form = {}


def read(data: bytes, at: int, form: Form, depth: int = 0) -> tuple[Struct, int]:
    """Read a struct, and give where it ends; a ValueError if it is malformed, an IndexError if it is cut short.

    >>> read(bytes([0x15, 6, 0x18, 1, 65, 0]), 0, {(1, I32): None})
    ({1: 3}, 6)
    """
    if depth > MOST_NESTED:
        raise ValueError("too many levels")
    found: Struct = {}
    number = 0
    while head := data[at]:
        step, kind = head >> 4, head & 15
        number, at = (number + step, at + 1) if step else _integer(data, at + 1, 32)
        number = (number + (1 << 15)) % (1 << 16) - (1 << 15)
        if (number, kind) not in form:
            at = _skip(data, at, kind, depth)
            continue
        inner = form[number, kind]
        if inner is None:
            found[number], at = _integer(data, at, 32 if kind == I32 else 64)
        elif kind == STRUCT:
            more, at = read(data, at, inner, depth + 1)
            found[number] = found.get(number, {}) | more
        else:
            found[number], at = _structs(data, at, inner, depth)
    return found, at + 1


def _structs(data: bytes, at: int, form: Form, depth: int) -> tuple[list[Struct], int]:
    count, at = _count(data, at)
    found = []
    for _ in range(count):
        one, at = read(data, at, form, depth + 1)
        found.append(one)
    return found, at


def _count(data: bytes, at: int) -> tuple[int, int]:
    """Read how many values a list has, after which they begin."""
    count = data[at] >> 4
    return _varint(data, at + 1) if count == 15 else (count, at + 1)


def _skip(data: bytes, at: int, kind: int, depth: int) -> int:
    """Give where a value ends."""
    if kind in (TRUE, FALSE):  # they are their own value
        return at
    if kind in (I16, I32, I64):
        while data[at] > 127:
            at += 1
        return at + 1
    if kind == BINARY:
        size, at = _varint(data, at)
        return at + size
    if kind == STRUCT:
        return read(data, at, NOTHING, depth + 1)[1]
    if kind in (LIST, SET, MAP):
        return _skip_many(data, at, kind, depth + 1)
    if kind not in SIZES:
        raise ValueError(f"no type has the number {kind}")
    return at + SIZES[kind]


def _skip_many(data: bytes, at: int, kind: int, depth: int) -> int:
    if depth > MOST_NESTED:
        raise ValueError("too many levels")
    count, begin = _varint(data, at) if kind == MAP else _count(data, at)
    kinds: tuple[int, ...] = (data[at] & 15,)
    if kind == MAP and count:
        kinds, begin = (data[begin] >> 4, data[begin] & 15), begin + 1
    at = begin
    for _ in range(count):
        for one in kinds:
            at = _skip(data, at, BYTE if one in (TRUE, FALSE) else one, depth)
            if at > len(data):
                raise IndexError("cut short")
    return at


def _integer(data: bytes, at: int, bits: int) -> tuple[int, int]:
    found, at = _varint(data, at)
    found %= 1 << bits
    return (found >> 1) ^ -(found & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    if (byte := data[at]) < 128:
        return byte, at + 1
    found = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    raise ValueError("an integer of more than 64 bits")
