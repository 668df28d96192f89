"""How the fake encoder is trained: words of a form move, by what they are told, by steps that anyone can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..ids import Json, canonical, raw_bits
from . import Array
from .trained import Trained
from .vector_lessons import VectorLesson, VectorTask
from .weight_files import read_learnt

Moves: TypeAlias = dict[str, dict[str, Array]]  # form -> word -> what training has added to its vector
VECTORS, STEP, WIDTH = "vectors.json", 0.5, 32


def moves(tasks: Sequence[VectorTask], *, seed: int) -> Moves:
    """Move the words of texts: towards a direction of their label, or a query's candidates towards it and away."""
    found: Moves = {form: {} for task in tasks for form in task.forms}
    for task in tasks:
        for lesson in task.lessons:
            for form, text, way in _ways(task, lesson, seed):
                words = text.lower().split()
                for word in words:
                    found[form][word] = found[form].get(word, np.zeros(WIDTH)) + STEP * way / len(words)
    return found


def _ways(task: VectorTask, lesson: VectorLesson, seed: int) -> list[tuple[str, str, Array]]:
    asked, others = task.forms
    if task.loss == "triplet":
        query, better, worse = lesson.texts
        way = _direction(seed, query)
        return [(asked, query, way), (others, better, way), (others, worse, -way)]
    if task.loss == "number":
        return [(asked, lesson.texts[0], lesson.target[0] * _direction(seed, task.name))]
    return [(asked, lesson.texts[0], _direction(seed, task.name, place)) for place in lesson.target]


def _direction(*key: Json) -> Array:
    bits = np.array(list(islice(raw_bits("fake direction", *key), WIDTH)), dtype=np.float64)
    return bits / 2**64 - 0.5


def write_moves(found: Moves, how: Trained, folder: Path) -> None:
    """Keep what training has moved; without forms, in all of them together."""
    if how.tell == "none":
        together: dict[str, Array] = {}
        for own in found.values():
            for word, move in own.items():
                together[word] = together.get(word, 0.0) + move
        found = {"": together}
    kept = {
        form: {word: [round(float(x), 6) for x in move] for word, move in own.items()} for form, own in found.items()
    }
    (folder / VECTORS).write_text(canonical(kept), encoding="utf-8")


def read_moves(folders: Sequence[Path]) -> Mapping[str, Mapping[str, Array]]:
    """Read what training has moved, in all folders: forms are those of the last."""
    each = [read_learnt(folder / VECTORS, _moves_in) for folder in folders]
    found: Moves = {form: {} for form in (each[-1] if each else ())}
    for form, own in found.items():
        for kept in each:
            for word, move in {**kept.get("", {}), **kept.get(form, {})}.items():
                own[word] = own.get(word, np.zeros(WIDTH)) + move
    return found


def _moves_in(kept: Any) -> Moves:
    found: Moves = {form: {word: np.array(move, float) for word, move in own.items()} for form, own in kept.items()}
    if any(move.shape != (WIDTH,) for own in found.values() for move in own.values()):
        raise ValueError(f"a move does not have {WIDTH} numbers")
    return found
