"""Learners on the vectors of an encoder: class means, and the nearest examples."""

# ruff: noqa: ARG002 - learners are all given the same

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar

import numpy as np

from ..core import Example, Item, Labels, Number, Task
from ..models import Ability, Array
from ..options import check_choices, check_integers
from ..texts import readable
from . import Learner, Predictor, Response, Tools
from .baselines import ANY_GOLD, document_of, golds_of, refuse_none, several, text_of
from .likeliest import chosen, log_softmax
from .near import MEASURES, Measure, grades

VECTORS: frozenset[Ability] = frozenset({"vectors"})
DECIMALS = 5  # of grades: what differs less is equally near, and the first counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Prototype(Learner):
    """The label whose prototype is nearest: the mean of its support vectors (Snell et al., 2017).

    Without support, the vector of a label's name is its prototype. How likely a label is, is the softmax of cosines, or
    of negative squared distances. A mean of several vectors is shorter than a single one, and so nearer to all texts by
    Euclidean distance: where classes have different numbers of examples, that favours the larger ones.
    """

    version: ClassVar[int] = 2
    outputs: ClassVar[frozenset[str]] = frozenset({"labels"})
    unaided: ClassVar[frozenset[str]] = outputs
    one_label_alone: ClassVar[bool] = True
    model: str = "minilm"
    measure: Measure = "cosine"
    form: str = ""  # of the vectors, where the encoder has several

    def __post_init__(self) -> None:
        check_choices(self, measure=MEASURES)

    @property
    def models(self) -> tuple[str, ...]:
        """Name the encoder."""
        return (self.model,)

    def needs(self, task: Task) -> Mapping[str, frozenset[Ability]]:
        """Ask for vectors."""
        return {self.model: VECTORS}

    def fit(
        self, task: Task, support: Sequence[Example], dev: Sequence[Example], *, seed: int, tools: Tools
    ) -> Predictor:
        """Make the prototypes."""
        assert isinstance(task.output, Labels)
        golds = golds_of(task, support)
        names = [name for name in task.output.names if name in golds] or list(task.output.names)
        items = [example.item for example in support]
        if items:
            vectors = vectors_of(task, items, self.model, self.form, tools).astype(np.float64)
        else:
            vectors = tools.vectors(self.model, [readable(name) for name in names], self.form).astype(np.float64)
        labels = np.array(golds or names)
        means = np.array([vectors[labels == name].mean(0) for name in names])  # (names, width)

        def answers(rows: Array) -> list[Response]:
            near = grades(rows, means, self.measure).astype(np.float64)
            return chosen(names, log_softmax(near if self.measure == "cosine" else -np.square(near)))

        return ByVectors(task, self.model, self.form, tools, answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours(Learner):
    """The answer of most of the k nearest support examples by their vectors; of a tie, that of the nearest.

    Of numbers, the mean; of several labels, those that more than half of the nearest have. How likely a label is, is
    its share of the nearest, with one example spread over all labels.
    """

    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = ANY_GOLD
    unaided: ClassVar[frozenset[str]] = frozenset()
    model: str = "minilm"
    k: int = 1
    measure: Measure = "euclidean"
    form: str = ""

    def __post_init__(self) -> None:
        check_choices(self, measure=MEASURES)
        check_integers(self, {"k": 1})

    @property
    def models(self) -> tuple[str, ...]:
        """Name the encoder."""
        return (self.model,)

    def needs(self, task: Task) -> Mapping[str, frozenset[Ability]]:
        """Ask for vectors."""
        return {self.model: VECTORS}

    def fit(
        self, task: Task, support: Sequence[Example], dev: Sequence[Example], *, seed: int, tools: Tools
    ) -> Predictor:
        """Keep the support's vectors."""
        refuse_none(task, support)
        golds = golds_of(task, support)
        known = vectors_of(task, [example.item for example in support], self.model, self.form, tools)

        def answers(rows: Array) -> list[Response]:
            near = grades(rows, known, self.measure).round(DECIMALS)
            order = np.argsort(-near, axis=1, kind="stable")[:, : self.k]  # (rows, k)
            return [_voted(task, [golds[place] for place in near], all(golds)) for near in order.tolist()]

        return ByVectors(task, self.model, self.form, tools, answers)


@dataclass(frozen=True, slots=True)
class ByVectors:
    """A predictor that answers from the vectors of items."""

    task: Task
    model: str
    form: str
    tools: Tools
    answers: Callable[[Array], list[Response]]

    def predict(self, items: Sequence[Item]) -> list[Response]:
        """Answer each item."""
        if not items:
            return []
        return self.answers(vectors_of(self.task, items, self.model, self.form, self.tools))


def vectors_of(task: Task, items: Sequence[Item], model: str, form: str, tools: Tools) -> Array:
    """Encode items; vectors that were made elsewhere are found by their documents: (items, width)."""
    return tools.vectors(model, [text_of(task, item) for item in items], form, [document_of(item) for item in items])


def _voted(task: Task, near: Sequence[Any], always: bool) -> Response:
    """Answer as most of the nearest do, which stand in the order of their distance."""
    if isinstance(task.output, Number):
        return Response(float(f"{fmean(near):.9g}"))
    if not isinstance(task.output, Labels):
        return Response(Counter(near).most_common(1)[0][0])  # of equals, the first
    names, size = task.output.names, len(near)
    if task.output.many:
        share = np.array([[sum(name in gold for gold in near) / size for name in names]])
        chances = (share[0] * size + 0.5) / (size + 1)
        answer: Any = several(names, share, always=always)[0]
    else:
        votes = Counter(near)
        chances = np.array([(votes[name] + 1 / len(names)) / (size + 1) for name in names])
        answer = votes.most_common(1)[0][0]
    return Response(answer, options=dict(zip(names, np.log(chances).tolist(), strict=True)))
