"""What a budget of time is best spent on: how many episodes of a study, and how many test items in each.

A budget covers all tasks and learners, few-shot and zero-shot, with one worker. What is done once (training models,
loading them) is taken off first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from ..errors import UsageError
from ..messages import Note
from ..presets import PRESETS
from ..sample_sizes import (
    LEAST_COVERAGE,
    SampleSize,
    SampleSizes,
    best_items,
    design,
    detectable_difference,
    sample_size,
    simulate,
    total_seconds,
)
from ..sampler import Sampler
from ..texts import counted, time_text
from .api import Prepared
from .kinds import Kind, KnownKinds
from .study import StudyProtocol
from .yaml_writer import written_protocol

ROUND = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 45, 60, 75, 90, 120, 150, 200, 300, 450, 600, 800, 1000)
LEAST, MOST = 1000, 2000  # repetitions of one accuracy, and those of all
TRIED = 9  # numbers of episodes that are simulated
TINY = 1e-9
SEEDS = "seeds"  # a key of protocols
REPEATED = 5  # times that an item is asked about, from which episodes are far from independent
OTHERS = (0.5, 2)  # budgets that are looked at beside the one that is asked for, as multiples of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a learner, or a task, takes of a budget, and what to expect of it."""

    name: str
    fit: float  # seconds of an episode, on average
    item: float
    seconds: float  # in all
    width: float  # of the interval of one task
    detectable: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyBudget:
    """How the budget of a study is best spent."""

    study: str
    seconds: float  # of the budget
    training: float  # of them, those of models that are trained first
    loading: float
    sizes: SampleSizes
    others: Mapping[float, SampleSizes]  # by seconds: what other budgets would give
    learners: tuple[Share, ...]
    tasks: tuple[Share, ...]
    lines: str  # to put into the study
    items_of: str = "each"  # what test items are counted by: each episode, or each class
    notes: tuple[Note, ...]  # what was assumed, and what to look out for

    @property
    def best(self) -> SampleSize:
        """Give what is recommended."""
        return self.sizes.best

    @property
    def fixed(self) -> float:
        """Give the seconds of what is done once."""
        return self.training + self.loading


@dataclass(frozen=True, slots=True, kw_only=True)
class _Demand:
    """What a study asks for, whatever its budget."""

    kinds: Sequence[Kind]
    fixed: float  # seconds of what is done once
    multiple: int  # of which numbers of episodes are multiples: seeds
    most: int  # items that can be asked for
    repetitions: int

    @property
    def fewest(self) -> int:
        """Give the fewest episodes that an interval can be made of."""
        return self.multiple * math.ceil(2 / self.multiple)

    @property
    def least(self) -> float:
        """Give the smallest budget."""
        return self.fixed + self.seconds(self.fewest, 1)

    def seconds(self, episodes: int, items: int) -> float:
        """Give what all cells of so many episodes take."""
        return total_seconds([kind.costs for kind in self.kinds], episodes, items)

    def sizes(self, budget: float) -> SampleSizes:
        """Simulate what a budget can be spent on."""
        return sample_size(
            budget - self.fixed, [kind.costs for kind in self.kinds],
            variations=[kind.variation for kind in self.kinds], episodes=self.episodes(budget - self.fixed),
            tasks=len({kind.task for kind in self.kinds}), most_items=self.most, repetitions=self.repetitions,
        )  # fmt: skip

    def episodes(self, seconds: float) -> list[int]:
        """Give numbers of episodes to try: that which is best by Cochran's formula, and round ones near it."""
        fit, first = self.seconds(1, 0), self.seconds(1, 1)
        found = (best_items(fit, first - fit, kind.variation) for kind in self.kinds)
        items = round(fmean(max(1.0, min(items, self.most)) for items in found))
        best, most = (seconds / max(self.seconds(1, count), TINY) for count in (items, 1))
        most = min(most, max(ROUND)) + TINY
        counts = {self._fit(count) for count in (*ROUND, min(best, most))}
        near = sorted((n for n in counts if n <= most), key=lambda n: abs(math.log(n / min(best, most))))
        return sorted(near[:TRIED])

    def _fit(self, count: float) -> int:
        return max(self.fewest, self.multiple * round(count / self.multiple))

    def shares(self, best: SampleSize, by: Callable[[Kind], str]) -> tuple[Share, ...]:
        """Say what learners, or tasks, take of a choice, those that take most first."""
        widths = self._widths(best)
        groups: dict[str, list[Kind]] = {}
        for kind in self.kinds:
            groups.setdefault(by(kind), []).append(kind)
        found = (self._share(name, group, best, [widths[kind] for kind in group]) for name, group in groups.items())
        return tuple(sorted(found, key=lambda share: -share.seconds))

    def _widths(self, best: SampleSize) -> dict[Kind, float]:
        designs = [design(best.episodes, best.items, kind.variation) for kind in self.kinds]
        found = simulate(designs, repetitions=self.repetitions)
        return {kind: one.width for kind, one in zip(self.kinds, found, strict=True)}

    def _share(self, name: str, kinds: Sequence[Kind], best: SampleSize, widths: Sequence[float]) -> Share:
        variances = [kind.variation.paired_variance(best.items) for kind in kinds]
        return Share(
            name=name, fit=fmean(kind.costs.fit for kind in kinds), item=fmean(kind.costs.item for kind in kinds),
            seconds=total_seconds([kind.costs for kind in kinds], best.episodes, best.items), width=fmean(widths),
            detectable=fmean(detectable_difference(variance, best.episodes) for variance in variances),
        )  # fmt: skip


def study_budget(prepared: Prepared, seconds: float, *, repetitions: int = 0) -> StudyBudget:
    """Say how many episodes, and test items in each, give the narrowest intervals of a study within a budget.

    Of few accuracies, more repetitions are made unless it is said how many.
    """
    known, protocol = KnownKinds(prepared), prepared.plan.study.protocol
    kinds, training, loading = known.kinds(), known.training(), known.loading()
    demand = _Demand(
        kinds=kinds, fixed=training + loading, multiple=_multiple(protocol), most=known.most(),
        repetitions=repetitions or max(LEAST, MOST // len({kind.variation.accuracy for kind in kinds})),
    )  # fmt: skip
    if seconds < demand.least:
        told = {"budget": time_text(seconds), "fixed": time_text(demand.fixed), "needed": time_text(demand.least)}
        raise UsageError(Note.of("budget-too-small", episodes=demand.fewest, **told))
    sizes = demand.sizes(seconds)
    return StudyBudget(
        study=prepared.plan.study.name, seconds=seconds, training=training, loading=loading, sizes=sizes,
        others={times * seconds: demand.sizes(times * seconds) for times in OTHERS if times * seconds >= demand.least},
        learners=demand.shares(sizes.best, lambda kind: kind.learner),
        tasks=demand.shares(sizes.best, lambda kind: kind.task),
        lines=protocol_lines(protocol, sizes.best), items_of=_items_of(protocol),
        notes=(*known.notes(), *_warnings(sizes.best, demand.most)),
    )  # fmt: skip


def _warnings(best: SampleSize, most: int) -> Iterator[Note]:
    if not best.is_covered:
        yield Note.of("coverage-low", share=best.coverage.value, least=LEAST_COVERAGE, episodes=best.episodes)
    if best.items == most:
        yield Note.of("items-scarce", most=most)
    if (times := best.episodes * best.items / most) >= REPEATED:
        yield Note.of("items-repeated", times=round(times))


def _items_of(protocol: StudyProtocol) -> str:
    """Say what `query` counts the items of."""
    ways = {one.sampler.per_class for one in (protocol, *protocol.tasks.values())}
    return "each" if ways == {False} else "of each class" if ways == {True} else "each, or of each class (per_class)"


# --- the lines of a study --------------------------------------------------------------------------------------------


def _multiple(protocol: StudyProtocol) -> int:
    """Give the number of which episodes are a multiple: each seed has as many."""
    return math.lcm(*(len(one.seeds) for one in (protocol, *protocol.tasks.values())))


def protocol_lines(protocol: StudyProtocol, choice: SampleSize) -> str:
    """Write the protocol of a study, with so many episodes and items in the place of its own."""
    own = [f"    {json.dumps(text)}: {{{_own(one, protocol, choice)}}}" for text, one in protocol.tasks.items()]
    seeds = len(protocol.seeds)
    told = f"  # for each of {counted(seeds, 'seed')}: {counted(choice.episodes, 'episode')}" if seeds > 1 else ""
    shots, query = _sizes(protocol, choice).rsplit(", ", 1)
    preset, others = _others(protocol)
    named = [f"  preset: {preset}"] if preset else []
    kept = [f"  {key}: {json.dumps(value)}" for key, value in others.items()]
    return "\n".join(["protocol:", *named, f"  {shots}{told}", f"  {query}", *kept, *(["  for:", *own] if own else [])])


def _others(protocol: StudyProtocol) -> tuple[str, dict[str, Any]]:
    """Give the preset of a protocol, if it has all that one has, and its other keys, but for shots and query."""
    written = _unsized(protocol)
    for name, preset in PRESETS.items():
        of = replace(preset.sampler, shots=Sampler().shots)
        theirs = _unsized(StudyProtocol(shots=preset.shots, seeds=(0,), sampler=of, own_episodes=preset.own_episodes))
        if all(written.get(key) == value for key, value in theirs.items() if key != SEEDS):
            return name, {key: value for key, value in written.items() if theirs.get(key) != value}
    usual = _unsized(StudyProtocol())
    return "", {key: value for key, value in written.items() if usual.get(key) != value}


def _own(protocol: StudyProtocol, around: StudyProtocol, choice: SampleSize) -> str:
    """Write the protocol of some tasks: its sizes, and what differs from the one around it."""
    ours, others = _unsized(protocol, around), _unsized(around)
    kept = (f"{key}: {json.dumps(value)}" for key, value in ours.items() if others.get(key) != value)
    return ", ".join([_sizes(protocol, choice), *kept])


def _unsized(protocol: StudyProtocol, around: StudyProtocol | None = None) -> dict[str, Any]:
    """Write a protocol without its numbers of episodes and items; seeds that are counted are a number."""
    written = json.loads(json.dumps(written_protocol(replace(protocol, tasks={}), around)))
    seeds = written[SEEDS]
    written[SEEDS] = len(seeds) if seeds == [*range(len(seeds))] else seeds
    return {key: value for key, value in written.items() if key not in ("shots", "episodes", "query")}


def _sizes(protocol: StudyProtocol, choice: SampleSize) -> str:
    each = choice.episodes // len(protocol.seeds)
    shots = ", ".join(f"{shots}: {each}" for shots in protocol.shots)
    return f"shots: {{{shots}}}, query: {choice.items}"
