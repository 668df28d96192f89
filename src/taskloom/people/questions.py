"""A run to questions: which answers people are asked to compare with the reference, in which hidden order.

Tasks and items are taken in the order of digests of their names and a seed: the same run and seed give the same
questions everywhere, and asking for more keeps those that were there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..core import Answer, Item, Suite, Text
from ..episodes import Shots, shots_order, shots_text
from ..errors import SuiteError, UnknownNameError, UsageError
from ..ids import fingerprint, raw_bits
from ..messages import Note
from ..studies.results import Outcome, Results
from ..texts import without_surrogates
from .judgements import ITEMS, TASKS, Pair, Question, Settled, Side

CHUNK = 4096  # examples that are read at a time
SIDES: tuple[Side, Side] = ("first", "second")
Place: TypeAlias = tuple[str, str, int, int, int]  # a task, an item, and the episode


@dataclass(frozen=True, slots=True)
class Given:
    """An answer of a learner, and all that are right."""

    outcome: Outcome
    at: int  # which of its items

    @property
    def reference(self) -> str:
        """Give the answer that it is compared with: the first of those that are right."""
        gold = self.outcome.gold[self.at]
        return tidy(gold[0]) if gold and isinstance(gold[0], str) else ""

    @property
    def answer(self) -> str:
        """Give the learner's answer, which is empty where it is unusable."""
        answer = self.outcome.answers[self.at]
        return tidy(answer) if isinstance(answer, str) else ""

    @property
    def settled(self) -> Settled:
        """Say why the question need not be asked, if so."""
        right = {tidy(gold) for gold in self.outcome.gold[self.at] if isinstance(gold, str)}
        return "unusable" if not self.answer else "equal" if self.answer in right else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Questions in the order in which they are asked, the key to them, and what was left out."""

    asked: tuple[Question, ...]
    key: tuple[Pair, ...]
    shots: Shots
    left_out: Mapping[Note, int]


def tidy(text: str) -> str:
    r"""Leave out of a text what can't be seen, or can't be written: blanks around it, odd ends of lines, half letters.

    >>> tidy(" so be it\r\n")
    'so be it'
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return without_surrogates(lines)


def draw(
    results: Results,
    learners: Sequence[str] = (),
    *,
    tasks: int = TASKS,
    items: int = ITEMS,
    shots: Shots | None = None,
    seed: int = 0,
) -> Questions:
    """Ask how answers of a run compare with the reference: the same items for every learner.

    Learners are all but baselines, where none are named; shots are the most that there are.
    """
    if tasks < 1 or items < 1:
        raise UsageError(f"tasks and items must be >= 1: {tasks}, {items}")
    left_out: Counter[Note] = Counter()
    texts = _texts(results, left_out)
    shots = _shots(texts, shots)
    names = _learners(results, [outcome for outcome in texts if outcome.shots == shots], learners, left_out)
    found = _answers([o for o in texts if o.shots == shots and o.learner in names], names, left_out)
    places = _drawn(found, tasks, items, seed)
    given = [found[place][name] for place, name in _in_rounds(places, names, seed)]
    key = tuple(_pair(one, seed) for one in given)
    shown = _items(results.suite, given)
    asked = tuple(
        _question(results.suite, one, pair, shown[pair.task, pair.item])
        for one, pair in zip(given, key, strict=True)
        if not pair.settled
    )
    return Questions(asked=asked, key=key, shots=shots, left_out=dict(+left_out))


# --- what there is ---------------------------------------------------------------------------------------------------


def _texts(results: Results, left_out: Counter[Note]) -> list[Outcome]:
    """Keep the answers of tasks that ask for a text: what people can compare."""
    if not results.outcomes:
        raise UsageError(f"the run has no answers yet: {results.name!r}")
    found = [o for o in results.outcomes if isinstance(results.suite.tasks[o.task].output, Text)]
    if not found:
        raise UsageError(f"no task of the run has text as output: {results.name!r}")
    left_out[Note.of("task-without-text")] += len({o.task for o in results.outcomes} - {o.task for o in found})
    return found


def _shots(texts: Sequence[Outcome], wanted: Shots | None) -> Shots:
    there = sorted({outcome.shots for outcome in texts}, key=shots_order)
    if wanted is not None and wanted not in there:
        raise UsageError(f"shots must be one of {', '.join(map(str, there))}: {wanted}")
    return there[-1] if wanted is None else wanted


def _learners(results: Results, texts: Sequence[Outcome], wanted: Sequence[str], left_out: Counter[Note]) -> list[str]:
    for name in wanted:
        if name not in results.learners:
            raise UnknownNameError("learner of the run", name, results.learners)
    there = {outcome.learner for outcome in texts}
    if silent := [name for name in dict.fromkeys(wanted) if name not in there]:
        raise UsageError(f"no texts with {shots_text(texts[0].shots)} of {', '.join(silent)}")
    serious = [name for name in results.learners if name not in results.baselines]
    chosen = {name for name in wanted or serious if name in there}
    passed_over = [name for name in serious if name not in there and not wanted]
    left_out.update(
        Note.of("learner-without-texts", learner=name, shots=shots_text(texts[0].shots)) for name in passed_over
    )
    return sorted(chosen or there)


def _answers(texts: Sequence[Outcome], names: Sequence[str], left_out: Counter[Note]) -> dict[Place, dict[str, Given]]:
    """Gather answers by place and learner, where all have answered and there is a reference."""
    found: dict[Place, dict[str, Given]] = {}
    for outcome in texts:
        for at, item in enumerate(outcome.items):
            place = (outcome.task, item, *outcome.episode)
            found.setdefault(place, {}).setdefault(outcome.learner, Given(outcome, at))
    whole = {place: by for place, by in found.items() if len(by) == len(names)}
    if not whole:
        raise UsageError(f"no item was answered by all learners; choose some with --learner: {', '.join(names)}")
    kept = {place: by for place, by in whole.items() if by[names[0]].reference}
    if not kept:
        raise UsageError(f"no item has a reference: {whole.popitem()[0][0]!r}")
    left_out[Note.of("item-not-answered-by-all")] += len(found) - len(whole)
    left_out[Note.of("item-without-reference")] += len(whole) - len(kept)
    return kept


# --- what is asked ---------------------------------------------------------------------------------------------------


def _drawn(found: Iterable[Place], tasks: int, items: int, seed: int) -> list[Place]:
    """Draw tasks, and items of each: an item once, whatever the number of episodes that it comes in."""
    places: dict[str, list[Place]] = {}
    for place in sorted(found, key=lambda place: fingerprint("people", "item", seed, place)):
        places.setdefault(place[0], []).append(place)
    chosen = sorted(places, key=lambda task: fingerprint("people", "task", seed, task))[:tasks]
    return [place for task in chosen for place in _once(places[task])[:items]]


def _once(places: Iterable[Place]) -> list[Place]:
    by_item: dict[str, Place] = {}
    for place in places:
        by_item.setdefault(place[1], place)
    return list(by_item.values())


def _in_rounds(places: Sequence[Place], names: Sequence[str], seed: int) -> Iterator[tuple[Place, str]]:
    """Go round once for each learner, so that an item comes again only after all others, with another's answer."""
    turns = {p: sorted(names, key=lambda name: fingerprint("people", "turn", seed, p, name)) for p in places}
    for number in range(len(names)):
        yield from ((place, turns[place][number]) for place in places)


def _pair(given: Given, seed: int) -> Pair:
    of, item = given.outcome, given.outcome.items[given.at]
    side = SIDES[next(raw_bits("people", "side", seed, of.cell, item)) >> 63]
    return Pair(
        id="q" + fingerprint("people", "question", seed, of.cell, item)[:12],  # a letter first: no spreadsheet's number
        task=of.task, item=item, learner=of.learner, cell=of.cell, shots=of.shots, seed=of.seed,
        side="" if given.settled else side, settled=given.settled,
    )  # fmt: skip


def _question(suite: Suite, given: Given, pair: Pair, item: Item) -> Question:
    task = suite.tasks[pair.task]
    ours, reference = given.answer, given.reference
    first, second = (ours, reference) if pair.side == "first" else (reference, ours)
    asked = tidy(task.separator.join(item.fields.values()))
    return Question(
        id=pair.id, task=task.id, instruction=tidy(task.instruction), input=asked, first=first, second=second
    )


def _items(suite: Suite, given: Iterable[Given]) -> dict[tuple[str, str], Item]:
    """Read the items that answers are for, by task and id."""
    wanted: dict[str, dict[str, tuple[Answer, ...]]] = {}
    for one in given:
        wanted.setdefault(one.outcome.task, {})[one.outcome.items[one.at]] = one.outcome.gold[one.at]
    return {(task, item.id): item for task, golds in wanted.items() for item in _read(suite, task, golds)}


def _read(suite: Suite, task: str, golds: Mapping[str, tuple[Answer, ...]]) -> Iterator[Item]:
    """Find items in the pools of a task by their ids and right answers, for nothing keeps pools from sharing ids."""
    missing = dict(golds)
    for pool in suite.pools[task].values():
        for first in range(0, len(pool), CHUNK):
            if not missing:
                return
            for example in pool.take(range(first, min(first + CHUNK, len(pool)))):
                if missing.get(example.item.id) == example.gold:
                    del missing[example.item.id]
                    yield example.item
    if missing:
        raise SuiteError(f"items missing in task {task!r} of the suite: {', '.join(sorted(missing)[:5])}")
