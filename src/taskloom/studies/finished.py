"""What a cell gave, as a ledger keeps it: packed, and with a checksum, so that no damage passes for an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from ..errors import LearnerError
from ..limits import MOST_NESTED, deflated, inflated, is_deep, parse_json
from ..masking import masked_all
from ..messages import Note
from ..scores.reduce import Array
from .costs import Cost

Traces: TypeAlias = Mapping[str, Sequence[tuple[int, float]]]  # by name, such as loss: values at steps
Score: TypeAlias = tuple[Array, Mapping[str, int]]  # units, and how many answers were unusable, by code


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAnswers:
    """What was answered about one set of an episode."""

    answers: Sequence[Any]
    items: Sequence[str]
    rows: Sequence[int]  # in their pool
    pool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a cell gave; the part that must be equal byte for byte, and its cost."""

    sets: Mapping[str, SetAnswers] = field(default_factory=dict)  # "query", and others that are asked about
    counts: Mapping[str, int] = field(default_factory=dict)  # by code
    outputs: Mapping[str, Any] = field(default_factory=dict)  # by set: what answers were read from
    artifact: str = ""  # of a cell that trains a model: the digest of what it made
    sizes: Sequence[int] = ()  # support examples of each class, where the task has classes
    chance: float = 1.0  # of these sizes
    scores: Mapping[str, Score] = field(default_factory=dict)  # by `score_key`
    traces: Traces = field(default_factory=dict)
    cost: Cost

    def body(self) -> bytes:
        """Pack what must be equal byte for byte; an answer that JSON can't write is refused."""
        sets = {
            name: {part: list(v) if part != "pool" else v for part, v in _parts(of)} for name, of in self.sets.items()
        }
        told: dict[str, Any] = {"sets": sets, "counts": dict(sorted(self.counts.items()))}
        told |= {"sizes": list(self.sizes), "chance": self.chance} if self.sizes else {}
        return packed(told | ({"artifact": self.artifact} if self.artifact else {}))

    def said(self) -> bytes:
        """Pack what answers were read from, which must be equal too; nothing where there is no more to say."""
        return packed(self.outputs) if self.outputs else b""

    def masked(self) -> Finished:
        """Leave keys out of all that was said; places and sizes stay."""
        answers, codes, outputs = masked_all(
            [{name: of.answers for name, of in self.sets.items()}, list(self.counts), self.outputs]
        )
        sets = {name: replace(of, answers=answers[name]) for name, of in self.sets.items()}
        return replace(self, sets=sets, counts=dict(zip(codes, self.counts.values(), strict=True)), outputs=outputs)


def _parts(of: SetAnswers) -> list[tuple[str, Any]]:
    return [(f.name, getattr(of, f.name)) for f in fields(of)]


def packed(body: Mapping[str, Any]) -> bytes:
    """Pack what is kept as JSON: equal contents give equal bytes; what would not be read is refused."""
    text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if is_deep(text, body):
        raise LearnerError(Note.of("answer-too-deep", most=MOST_NESTED))
    return deflated(text.encode("utf-8", "surrogatepass"))


def unpacked(body: bytes) -> dict[str, Any]:
    """Read what was packed."""
    found: dict[str, Any] = parse_json(inflated(body).decode("utf-8", "surrogatepass"), parse_int=int)
    return found


def body_of(packed_body: bytes) -> dict[str, Any]:
    """Read what a cell gave, and refuse what no run has written; rows may still be beyond their pool."""
    body = unpacked(packed_body)
    for of in body["sets"].values():
        if not len(of["answers"]) == len(of["rows"]) == len(of["items"]):
            raise ValueError("numbers of answers and items differ")
        if not (isinstance(of["pool"], str) and {*map(type, of["rows"])} <= {int}):
            raise TypeError("a pool has a name, and rows have numbers")
        of["items"] = tuple(map(str, of["items"]))
    body["counts"] = {str(code): int(count) for code, count in body["counts"].items()}
    sizes, chance = tuple(map(int, body.get("sizes", ()))), float(body.get("chance", 1.0))  # older ledgers have none
    return body | {"sizes": sizes, "chance": chance, "artifact": str(body.get("artifact", ""))}


def score_of(width: int, units: bytes, unusable: str) -> Score:
    """Read a score: its units, and how many answers were unusable, by code."""
    counts = {str(reason): int(count) for reason, count in parse_json(unusable).items()}
    return np.frombuffer(inflated(units), "<f8").reshape(-1, width), counts


def points_of(text: str) -> list[tuple[int, float]]:
    """Read values at steps."""
    return [(int(step), float(value)) for step, value in parse_json(text)]


def key_of(text: bytes | str) -> dict[str, Any]:
    """Read what a cell is named by."""
    if not isinstance(found := parse_json(text), dict):
        raise TypeError(type(found).__name__)
    return found


def cost_of(row: Sequence[Any]) -> Cost:
    """Read what a cell cost."""
    if not all(isinstance(value, int | float) for value in row):
        raise TypeError("costs are numbers")
    return Cost(**dict(zip((f.name for f in fields(Cost)), row, strict=True)))


def checksum(*parts: bytes | str | int) -> bytes:
    """Give what a row is checked by when it is read: of all its parts, the cell's id among them.

    >>> checksum("cell", b"body").hex(), checksum("cell", 1) == checksum(b"cell", b"1")
    ('7d9d5867588854b4', True)
    """
    found = blake2b(digest_size=8)
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        found.update(len(data).to_bytes(8, "big") + data)
    return found.digest()
