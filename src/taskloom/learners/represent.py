"""Judge the vectors of an encoder as they are, as SciRepEval does: by linear probes, by nearness, or by clusters."""

# ruff: noqa: ARG001, ARG002 - learners are all given the same, and so are probes

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from ..core import Answer, Example, Item, Labels, Ranking, Task, Terms
from ..errors import UsageError
from ..ids import Json
from ..messages import Note
from ..models import Ability, Array
from ..options import check_choices, check_integers
from ..scores import metric
from ..scores.match import F1
from ..task_forms import FORMAT
from . import Learner, Predictor, Tools
from .baselines import golds_of, refuse_none
from .near import MEASURES, TOP, graded
from .prototype import VECTORS
from .sentences import MATCHES, Match, SentencesPredictor
from .svm import FOLDS, Probe, fit_classes, fit_labels, fit_numbers
from .vector_reader import AUTO, Combining, VectorReader

Variant: TypeAlias = Literal["corrected", "published"]
FEW = 100  # support examples of one label each; with fewer, the released code searches for no C


@dataclass(frozen=True, slots=True, kw_only=True)
class Represent(Learner):
    """Labels and numbers by a linear support vector machine on vectors; candidates by distance; clusters by pairs.

    The C of a probe is chosen on three folds of the support, by macro F1 or, where that is the first metric of a task,
    by F1 of one label. Candidates with members, such as reviewers with papers,
    are graded by the mean of their `top` most similar members. Where an encoder has forms for formats of tasks, the
    vectors of a task's format are taken.
    """

    version: ClassVar[int] = 2
    outputs: ClassVar[frozenset[str]] = frozenset({"labels", "number", "ranking", "terms"})
    unaided: ClassVar[frozenset[str]] = frozenset({"ranking"})
    model: str | tuple[str, ...] = "minilm"  # several: an ensemble
    combine: Combining = "mean"  # how the vectors of several models are put together
    measure: str = ""  # "": euclidean, and cosine where candidates have members
    top: int = TOP
    match: Match = "whole"  # or sentence by sentence: the best pair, or optimal transport
    form: str = AUTO
    separator: str = ""  # between the fields of a document, such as [SEP]; "": the task's
    fields: tuple[str, ...] = ()  # of documents and items that are read; none: all
    variant: Variant = "corrected"

    def __post_init__(self) -> None:
        check_choices(
            self, measure=("", *MEASURES), combine=get_args(Combining), match=MATCHES, variant=get_args(Variant)
        )
        check_integers(self, {"top": 1})
        for name in ("model", "fields"):
            value: Any = getattr(self, name)
            listed = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else (0,)
            if not all(isinstance(one, str) and one for one in listed) or (name == "model" and not listed):
                raise UsageError(Note.of("texts-expected", name=name, given=repr(value)))
            object.__setattr__(self, name, listed[0] if name == "model" and len(listed) == 1 else listed)

    @property
    def models(self) -> tuple[str, ...]:
        """Name the encoders."""
        return (self.model,) if isinstance(self.model, str) else tuple(dict.fromkeys(self.model))

    def needs(self, task: Task) -> Mapping[str, frozenset[Ability]]:
        """Ask for vectors."""
        return dict.fromkeys(self.models, VECTORS)

    def shown(self, task: Task) -> Json:
        """Tell the format of a task, which decides the form of vectors, and the label that C is chosen by."""
        formats: Json = list(task.tags.get(FORMAT, ())) if self.form == AUTO else None
        chosen_by = _positive(task) if self.variant == "corrected" else None
        return formats if chosen_by is None else {"format": formats, "positive": chosen_by}

    def fit(
        self, task: Task, support: Sequence[Example], dev: Sequence[Example], *, seed: int, tools: Tools
    ) -> Predictor:
        """Fit a probe, or keep how candidates are compared."""
        reader = VectorReader(
            task=task, tools=tools, models=self.models, combine=self.combine, form=self.form,
            separator=self.separator, fields=self.fields,
        )  # fmt: skip
        match task.output:
            case Ranking():
                return NearPredictor(self, reader) if self.match == "whole" else SentencesPredictor(reader, self.match)
            case Terms():
                from .disambiguate import fit_clusters

                refuse_none(task, support)
                return fit_clusters(reader, support, dev)
        refuse_none(task, support)
        return ProbePredictor(reader, self._probe(task, support, reader))

    def _probe(self, task: Task, support: Sequence[Example], reader: VectorReader) -> Rule:
        """Fit a probe to the support, and give the rule from vectors to answers."""
        golds, vectors = golds_of(task, support), reader.items([example.item for example in support])
        fit = _labels if isinstance(task.output, Labels) else _numbers
        found, rule = fit(self.variant, task, golds, vectors)
        if found and found.unconverged:
            reader.tools.count("not-converged", found.unconverged)
        if not found:
            reader.tools.count("one-answer")
        return rule


Rule: TypeAlias = "Callable[[Array], list[Answer | None]]"


@dataclass(frozen=True, slots=True)
class ProbePredictor:
    """Answers by a probe of the vectors of items."""

    reader: VectorReader
    rule: Rule

    def predict(self, items: Sequence[Item]) -> list[Answer | None]:
        """Answer each item."""
        return self.rule(self.reader.items(items)) if items else []


@dataclass(frozen=True, slots=True)
class NearPredictor:
    """Grades candidates by how near their vectors are to the query's; queries that share theirs are taken together."""

    of: Represent
    reader: VectorReader

    def predict(self, items: Sequence[Item]) -> list[Answer | None]:
        """Grade the candidates of each item."""
        output = self.reader.task.output
        depth = output.depth if isinstance(output, Ranking) else 0
        found: list[Answer | None] = []
        ids = list(dict.fromkeys(id_ for item in items for id_ in item.candidates))
        vectors, members = self.reader.candidates(ids)
        standing = dict(zip(ids, members, strict=True))
        queries = self.reader.items(items) if items else np.zeros((0, 1))
        for candidates, group in groupby(range(len(items)), key=lambda at: items[at].candidates):
            own, places = sorted({*candidates}), list(group)
            near = graded(
                queries[places], own, vectors, members=[standing[id_] for id_ in own], measure=self.of.measure,
                top=self.of.top, depth=depth,
            )  # fmt: skip
            found += [tuple(pairs) or None for pairs in near]
        return found


def _labels(
    variant: Variant, task: Task, golds: Sequence[Any], vectors: Array
) -> tuple[Probe | None, Rule]:  # None: there is nothing to tell apart
    """Fit a probe of labels; as released, C is chosen by accuracy, and 1 for a few examples of single labels."""
    assert isinstance(task.output, Labels)
    names, by = task.output.names, "f1" if variant == "corrected" else "accuracy"
    if task.output.many:
        marks = np.array([[name in gold for name in names] for gold in golds])
        many = fit_labels(vectors, marks, by=by)  # type: ignore[arg-type]
        return many, lambda rows: [
            tuple(name for name, yes in zip(names, row, strict=True) if yes) for row in many.labels(rows).tolist()
        ]
    places, positive = [names.index(gold) for gold in golds], _positive(task)
    if len({*places}) == 1:
        return None, lambda rows: [names[places[0]]] * len(rows)
    folds = 0 if variant == "published" and len(places) < FEW else FOLDS
    counted = None if positive is None else names.index(positive)
    probe = fit_classes(vectors, places, by=by, folds=folds, positive=counted)  # type: ignore[arg-type]
    return probe, lambda rows: [names[place] for place in probe.classes(rows).tolist()]


def _positive(task: Task) -> str | None:
    """Give the label whose F1 a task is scored by first, where it is that of one."""
    if not isinstance(task.output, Labels) or task.output.many or not task.metrics:
        return None
    of = metric(task.metrics[0], task.output)
    return of.positive if isinstance(of, F1) and of.average == "binary" else None


def _numbers(variant: Variant, task: Task, golds: Sequence[Any], vectors: Array) -> tuple[Probe | None, Rule]:
    """Fit a probe of numbers; as released, C is chosen by r squared, and numbers are taken as they are."""
    numbers = np.array(golds, dtype=np.float64)
    mean, scale = (0.0, 1.0) if variant == "published" else (float(numbers.mean()), float(numbers.std()))
    if np.ptp(numbers) == 0:
        return None, lambda rows: [float(numbers[0])] * len(rows)
    probe = fit_numbers(vectors, (numbers - mean) / scale, by="r2" if variant == "published" else "tau-b")
    return probe, lambda rows: [float(f"{number * scale + mean:.9g}") for number in probe.numbers(rows).tolist()]
