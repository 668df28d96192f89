"""What an encoder is trained on: rows of tasks as labels, numbers and triplets of texts, in the forms of their formats.

Numbers are scaled as for SPECTER2: those in logarithms, such as citation counts, stay as they are; years go to 0..1,
then times the mean of the logarithms; others go to 0..1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import fmean
from typing import Any

from .core import Example, Labels, Number, Ranking, Suite, Task, store_of
from .errors import UsageError
from .ids import raw_bits, shuffled
from .lessons import taught_examples, taught_groups
from .messages import Note
from .models import FORMS
from .models.vector_lessons import Loss, VectorLesson, VectorTask
from .task_forms import forms_of

SCALE, LOGARITHM, YEAR = "label scale", "log", "year"  # a tag of tasks of numbers, and two of its values
LEARNT = ("labels", "number", "ranking")  # outputs that vectors are learnt from


@dataclass(slots=True, kw_only=True)
class LessonMaker:
    """Makes the lessons of tasks; what is dropped is counted by code."""

    suite: Suite
    triplets: int = 5  # of each query, at most
    most: int = 0  # lessons of each task; 0: all
    titles: float = 0.0  # share of the documents of triplets that are read by their first field alone
    seed: int = 0
    groups: Mapping[str, str] = field(default_factory=dict)  # of tasks: the form of all their texts; none: their format
    dropped: Counter[str] = field(default_factory=Counter)

    def tasks(self, rows: Mapping[str, Sequence[int]], held_out: Collection[int] = ()) -> list[VectorTask]:
        """Read rows of tasks as lessons; those of records that are held out are for early stopping."""
        examples = {name: taught_examples(self.suite, name, chosen) for name, chosen in rows.items()}
        numbers = scaled_numbers([(self.suite.tasks[name], own) for name, own in examples.items()])
        made = []
        for name, chosen in rows.items():
            task, records = self.suite.tasks[name], taught_groups(self.suite, name, chosen)
            lessons = self._lessons(task, examples[name], numbers.get(name, ()))
            kept, dev = ([x for r, some in zip(records, lessons, strict=True) if (r in held_out) == is_apart
                          for x in some] for is_apart in (False, True))  # fmt: skip
            if not kept:
                raise UsageError(Note.of("no-vector-lesson", task=name))
            made.append(self._task(task, self._some(name, kept), dev))
        return made

    def _task(self, task: Task, lessons: Sequence[VectorLesson], dev: Sequence[VectorLesson]) -> VectorTask:
        loss, size = loss_of(task)
        return VectorTask(
            name=task.id, loss=loss, forms=trained_forms(task, self.groups), size=size, lessons=tuple(lessons),
            dev=tuple(dev),
        )  # fmt: skip

    def _some(self, name: str, lessons: Sequence[VectorLesson]) -> Sequence[VectorLesson]:
        if not self.most or len(lessons) <= self.most:
            return lessons
        order = islice(shuffled(len(lessons), "some lessons", self.seed, name), self.most)
        return [lessons[place] for place in sorted(order)]

    def _lessons(
        self, task: Task, examples: Sequence[Example], numbers: Sequence[float]
    ) -> list[tuple[VectorLesson, ...]]:
        """Give the lessons of each example."""
        if isinstance(task.output, Ranking):
            read = self._candidates(task, examples)
            return [tuple(self._triplets(task, example, read)) for example in examples]
        texts = [joined(task, example.item.fields) for example in examples]
        targets = [(n,) for n in numbers] if numbers else [_places(task, example) for example in examples]
        return [(VectorLesson((text,), target),) for text, target in zip(texts, targets, strict=True)]

    def _candidates(self, task: Task, examples: Sequence[Example]) -> Mapping[str, str]:
        """Read the texts of all candidates; one that stands for others can't be learnt from."""
        ids = list(dict.fromkeys(id_ for example in examples for id_ in example.item.candidates))
        store = store_of(task.output)
        if not store:
            return {text: text for text in ids}
        read = self.suite.stores[store].take(ids)
        if members := [one.id for one in read if one.members]:
            raise UsageError(Note.of("members-untaught", task=task.id, ids=members))
        return {one.id: self._text(task, one.id, one.fields) for one in read}

    def _triplets(self, task: Task, example: Example, read: Mapping[str, str]) -> Iterator[VectorLesson]:
        graded: Any = example.gold[0]
        pairs = list(islice(ordered_pairs(graded, self.seed, task.id, example.item.id), self.triplets))
        if not pairs:
            self.dropped["query-without-order"] += 1
        item = example.item
        asked = self._text(task, item.document, item.fields) if item.document else joined(task, item.fields)
        for better, worse in pairs:
            yield VectorLesson((asked, read[better], read[worse]))

    def _text(self, task: Task, id_: str, fields: Mapping[str, str]) -> str:
        """Give the text of a document, of a share of them the first field alone."""
        alone = self.titles and next(raw_bits("title alone", self.seed, id_)) < self.titles * 2**64
        return joined(task, dict(islice(fields.items(), 1)) if alone else fields)


def joined(task: Task, fields: Mapping[str, str]) -> str:
    """Put the fields of an item or a document together, as learners on vectors read them."""
    return task.separator.join(fields.values())


def trained_forms(task: Task, groups: Mapping[str, str]) -> tuple[str, str]:
    """Give the forms that the texts of a task are trained in: of what is asked about, and of candidates."""
    if task.id in groups:
        return groups[task.id], groups[task.id]
    return _own_form(forms_of(task, "query")), _own_form(forms_of(task, "candidate"))


def _own_form(forms: Sequence[str]) -> str:
    """Choose the form that is one of those of formats."""
    return next(form for form in forms if form in FORMS)


def loss_of(task: Task) -> tuple[Loss, int]:
    """Say what the loss of a task is, and how many outputs its head has."""
    match task.output:
        case Labels(names=names, many=many):
            return ("labels" if many else "class"), len(names)
        case Number():
            return "number", 1
    return "triplet", 0


def ordered_pairs(graded: Sequence[tuple[str, float]], *key: Any) -> Iterator[tuple[str, str]]:
    """Yield pairs of candidates, the better one first, in a random order: each worse one once before any comes again.

    >>> sorted(ordered_pairs([("a", 1.0), ("b", 0.0), ("c", 0.0)], "key"))
    [('a', 'b'), ('a', 'c')]
    """
    best = max((grade for _, grade in graded), default=0.0)
    worse = [(id_, grade) for id_, grade in graded if grade < best]
    worse = [worse[place] for place in shuffled(len(worse), "worse", *key)]
    better = {id_: [other for other, higher in graded if higher > grade] for id_, grade in worse}
    orders = {id_: list(shuffled(len(own), "better", *key, id_)) for id_, own in better.items()}
    for place in range(max(map(len, better.values()), default=0)):
        for id_, _ in worse:
            if place < len(better[id_]):
                yield better[id_][orders[id_][place]], id_


# --- numbers ---------------------------------------------------------------------------------------------------------


def scaled_numbers(tasks: Sequence[tuple[Task, Sequence[Example]]]) -> dict[str, list[float]]:
    """Scale the numbers of tasks, by what each is tagged with."""
    found = {task.id: [_number(one) for one in own] for task, own in tasks if isinstance(task.output, Number)}
    scales = {task.id: next(iter(task.tags.get(SCALE, ())), "") for task, _ in tasks}
    logs = [number for name, own in found.items() if scales[name] == LOGARITHM for number in own]
    times = fmean(logs) if logs else 1.0
    return {
        name: own if scales[name] == LOGARITHM else [n * (times if scales[name] == YEAR else 1.0) for n in to_unit(own)]
        for name, own in found.items()
    }


def _number(example: Example) -> float:
    gold: Any = example.gold[0]
    return float(gold)


def to_unit(numbers: Sequence[float]) -> list[float]:
    """Bring numbers to 0..1.

    >>> to_unit([1990, 2000, 2020])
    [0.0, 0.3333333333333333, 1.0]
    """
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    return [(number - low) / (high - low) if high > low else 0.0 for number in numbers]


def _places(task: Task, example: Example) -> tuple[float, ...]:
    """Give the places of an example's labels."""
    assert isinstance(task.output, Labels)
    gold: Any = example.gold[0]
    places = {name: place for place, name in enumerate(task.output.names)}
    return tuple(float(places[name]) for name in (gold if task.output.many else (gold,)))
