"""Bridges between field tasks: whether a target can be reached by way of meta tasks, and in how many leaps.

Fields are nodes and meta tasks are edges. `abstract->keywords`, `keywords->title` bridge `abstract->title` in one
leap, over `keywords`. A bridge is whole when it leads through the target's fields exactly, and partial when a task
on it has fields that the path does not use.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..errors import UnknownNameError, UsageError
from .fields import parse_task_id, task_id

Shape: TypeAlias = Literal["direct", "single-leap", "two-leap", "many-leap", "broken"]
Edge: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
LEAPS: dict[int, Shape] = {0: "direct", 1: "single-leap", 2: "two-leap"}
TO = "=>"  # between the meta tasks of a partition and its target
PROPOSED: tuple[Shape, ...] = ("single-leap", "two-leap", "broken")


@dataclass(frozen=True, slots=True)
class Bridge:
    """How a target stands to its meta tasks."""

    shape: Shape
    leaps: int  # fields passed on the way, -1 when broken
    path: tuple[str, ...]  # the meta tasks walked, in order
    whole: bool  # whether the path uses all fields of its tasks, and the target's inputs


@dataclass(frozen=True, slots=True)
class Partition:
    """Meta tasks and the target task they are to help."""

    meta: tuple[str, ...]
    target: str

    def __str__(self) -> str:
        """Write it as `partition_of` reads it."""
        return f"{', '.join(self.meta)} {TO} {self.target}"


def partition_of(text: str, fields: Sequence[str]) -> Partition:
    """Read a partition over these fields, whose tasks are named in the order of the fields.

    >>> partition_of("abstract->keywords, keywords→title => abstract->title", ["title", "abstract", "keywords"])
    Partition(meta=('abstract->keywords', 'keywords->title'), target='abstract->title')
    """
    before, arrow, after = text.partition(TO)
    if not arrow or not before.strip() or not after.strip() or "," in after:
        raise UsageError(f"a partition must be META, META {TO} TARGET: {text!r}")
    *meta, target = (_known_task(task, fields) for task in (*before.split(","), after))
    if target in meta or len({*meta}) < len(meta):
        raise UsageError(f"the tasks of a partition must differ: {text!r}")
    return Partition(tuple(meta), target)


def _known_task(text: str, fields: Sequence[str]) -> str:
    sides = parse_task_id(text.strip())
    for name in (*sides[0], *sides[1]):
        if name not in fields:
            raise UnknownNameError("field", name, fields)
    inputs, outputs = (sorted({*side}, key=fields.index) for side in sides)
    if {*inputs} & {*outputs}:
        raise UsageError(f"a task of a partition must not ask for its inputs: {text.strip()!r}")
    return task_id(inputs, outputs)


def bridge(partition: Partition) -> Bridge:
    """Tell whether and how the meta tasks bridge the target.

    >>> bridge(Partition(("abstract->keywords", "keywords->title"), "abstract->title"))
    Bridge(shape='single-leap', leaps=1, path=('abstract->keywords', 'keywords->title'), whole=True)
    >>> bridge(Partition(("keywords->abstract", "title->discipline"), "keywords->discipline")).shape
    'broken'
    """
    edges = [parse_task_id(name) for name in partition.meta]
    inputs, outputs = parse_task_id(partition.target)
    for needed in (all, any):  # first by tasks whose inputs are all known, else by those of which some are
        if (walked := _walk(edges, inputs, outputs, needed)) is not None:
            leaps, path = walked
            whole = needed is all and _uses_all(path, inputs, outputs)
            return Bridge(LEAPS.get(leaps, "many-leap"), leaps, tuple(task_id(*edge) for edge in path), whole)
    return Bridge("broken", -1, (), whole=False)


def _walk(
    edges: Sequence[Edge], inputs: Sequence[str], outputs: Sequence[str], needed: Callable[[Iterable[bool]], bool]
) -> tuple[int, list[Edge]] | None:
    """Spread from the inputs along the edges, and give the leaps and the edges it took to reach the outputs."""
    reached_by: dict[str, Edge] = {}
    for leaps in range(len(edges)):
        known = {*inputs, *reached_by}
        for edge in edges:
            if needed(name in known for name in edge[0]):
                reached_by |= {name: edge for name in edge[1] if name not in reached_by}
        if all(name in reached_by for name in outputs):
            return leaps, _trace(reached_by, inputs, outputs)
    return None


def _trace(reached_by: Mapping[str, Edge], inputs: Sequence[str], outputs: Sequence[str]) -> list[Edge]:
    """Follow the edges back from the outputs to the inputs."""
    path: list[Edge] = []
    wanted = list(outputs)
    while wanted:
        edge = reached_by[wanted.pop(0)]
        if edge not in path:
            path.append(edge)
            wanted += [name for name in edge[0] if name not in inputs and name in reached_by]
    return [edge for edge in dict.fromkeys(reached_by.values()) if edge in path]  # in the order they were walked


def _uses_all(path: Sequence[Edge], inputs: Sequence[str], outputs: Sequence[str]) -> bool:
    """Tell whether every field that the path makes or is given is used on it."""
    used = {*outputs, *(name for edge in path for name in edge[0])}
    made = {*inputs, *(name for edge in path for name in edge[1])}
    return used == made


def propose(fields: Sequence[str], shape: str, target: str = "") -> Iterator[Partition]:
    """Yield every partition of a shape over single fields, for one target or for all.

    A broken one has as many meta tasks as the bridge it was made from, one of them led elsewhere.
    """
    if shape not in PROPOSED:
        raise UnknownNameError("shape of bridge", shape, PROPOSED)
    targets = [parse_task_id(target)] if target else [((a,), (b,)) for a, b in itertools.permutations(fields, 2)]
    for inputs, outputs in targets:
        (source,), (goal,) = _single(inputs, fields), _single(outputs, fields)
        if shape == "broken":
            yield from _broken(fields, source, goal)
        else:
            yield from _chains(fields, source, goal, 1 if shape == "single-leap" else 2)


def _single(names: tuple[str, ...], fields: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in fields:
            raise UnknownNameError("field", name, fields)
    if len(names) > 1:
        raise UsageError(f"a target must have one input and one output: {'+'.join(names)!r}")
    return names


def _chains(fields: Sequence[str], source: str, goal: str, leaps: int) -> Iterator[Partition]:
    others = [name for name in fields if name not in (source, goal)]
    for between in itertools.permutations(others, leaps):
        steps = itertools.pairwise((source, *between, goal))
        yield Partition(tuple(task_id((a,), (b,)) for a, b in steps), task_id((source,), (goal,)))


def _broken(fields: Sequence[str], source: str, goal: str) -> Iterator[Partition]:
    seen: set[frozenset[str]] = set()
    for leaps in (1, 2):
        for whole in _chains(fields, source, goal, leaps):
            for place, (a, b) in itertools.product(range(leaps + 1), itertools.permutations(fields, 2)):
                (start,), (end,) = parse_task_id(whole.meta[place])
                meta = (*whole.meta[:place], task_id((a,), (b,)), *whole.meta[place + 1 :])
                partition = Partition(meta, whole.target)
                fresh = (a == start or b == end or (a, b) == (end, start)) and len(set(meta)) == len(meta)
                fresh = fresh and whole.target not in meta and frozenset(meta) not in seen
                if fresh and bridge(partition).shape == "broken":
                    seen.add(frozenset(meta))
                    yield partition
