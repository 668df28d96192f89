"""What an encoder learns from tasks of several formats: a loss for each task, in equal parts (Singh et al., 2023).

Classes and numbers are read off a vector by a linear head, which is dropped after training: cross entropy, binary cross
entropy over labels, squared error. Of triplets, the margin by which the worse candidate is further away counts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, triplet_margin_loss

from ..ids import raw_bits
from .causal import Ids
from .new import drawn_from
from .objectives import chunks
from .train import Batch
from .vector_lessons import EqualOrder, VectorLesson, VectorTask

if TYPE_CHECKING:
    from .encoder import TransformerEncoder

READ = 4096  # texts that are read at once
QUERY, OTHERS = "query", "others"  # the texts of a batch: those that are asked about, and candidates in another form


class VectorObjective:
    """Batches with equally many lessons of each task, and the loss of each task."""

    def __init__(
        self, encoder: TransformerEncoder, tasks: Sequence[VectorTask], *, batch: int, parts: int, margin: float,
        seed: int,
    ) -> None:  # fmt: skip
        self.encoder, self.tasks, self.count, self.margin = encoder, tasks, parts, margin
        self.order = EqualOrder([len(task.lessons) for task in tasks], batch=batch, seed=seed)
        self.rows: dict[tuple[str, str], Ids] = {}  # by form and text; as arrays, which take 4 bytes a token, not 40
        self.cut = sum(self._read(form, texts) for form, texts in _by_form(tasks).items())
        self.heads = {place: self._head(place, seed) for place, task in enumerate(tasks) if task.loss != "triplet"}

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Give the weights of the heads, by name."""
        named = ((f"head/{place}.{name}", weight) for place, head in self.heads.items()
                 for name, weight in head.named_parameters())  # fmt: skip
        return dict(named)

    @property
    def epoch(self) -> int:
        """Give the steps of an epoch."""
        return self.order.epoch

    def parts(self, step: int) -> list[Batch]:
        """Give the batches of a step: one for each task, or where memory is to be saved, several."""
        rows = self.order.rows(step)
        size = -(-self.order.each // self.count)
        return [
            self._batch(place, [task.lessons[row] for row in some])
            for place, task in enumerate(self.tasks)
            for some in chunks(rows[place], size)
        ]

    def dev_batches(self, size: int) -> list[Batch]:
        """Give the lessons that are held out, task by task."""
        return [self._batch(place, some) for place, task in enumerate(self.tasks) for some in chunks(task.dev, size)]

    def loss(self, net: Any, batch: Batch) -> Tensor:  # noqa: ARG002 (the encoder has it)
        """Give the losses of lessons, summed."""
        place = int(batch.inputs["task"])
        task, vectors = self.tasks[place], self._vectors(batch)
        if task.loss == "triplet":
            query, better, worse = vectors.chunk(3)
            return triplet_loss(query, better, worse, self.margin)
        return head_loss(task.loss, self.heads[place](vectors), batch.inputs["targets"])

    def _read(self, form: str, texts: Iterable[str]) -> int:
        """Read texts in a form, each once, and count those that are cut."""
        count = 0
        for some in chunks(list(dict.fromkeys(texts)), READ):
            rows, cut = self.encoder.tokens(some, self._known(form))
            self.rows |= {(form, text): array("i", row) for text, row in zip(some, rows, strict=True)}
            count += sum(map(bool, cut))
        return count

    def _known(self, form: str) -> str:
        return form if form in self.encoder.forms else ""

    def _head(self, place: int, seed: int) -> nn.Linear:
        with drawn_from(next(raw_bits("head", seed, self.tasks[place].name)) >> 1):
            return nn.Linear(self.encoder.width, self.tasks[place].size).to(self.encoder.net.device)

    def _batch(self, place: int, lessons: Sequence[VectorLesson]) -> Batch:
        """Pad the texts of lessons of a task: the first of each, then the second, then the third."""
        task = self.tasks[place]
        first, *others = zip(*(lesson.texts for lesson in lessons), strict=True)
        asked = [self.rows[task.forms[0], text] for text in first]
        rest = [self.rows[task.forms[1], text] for some in others for text in some]
        together = [[*asked, *rest]] if task.forms[0] == task.forms[1] else [asked, rest]
        inputs = {"task": torch.tensor(place), "targets": _targets(task, lessons)}
        for side, rows in zip((QUERY, OTHERS), (rows for rows in together if rows), strict=False):
            inputs |= {f"{side}/{name}": value for name, value in self.encoder.inputs(rows).items()}
        return Batch(inputs, sum(map(len, asked)) + sum(map(len, rest)), len(lessons))

    def _vectors(self, batch: Batch) -> Tensor:
        """Compute the vectors of a batch's texts: (texts, width)."""
        task = self.tasks[int(batch.inputs["task"])]
        found = [
            self.encoder.vectors(given, self._known(form))
            for side, form in zip((QUERY, OTHERS), task.forms, strict=True)
            if (given := _inputs(batch, side))
        ]
        return torch.cat(found)


def triplet_loss(query: Tensor, better: Tensor, worse: Tensor, margin: float) -> Tensor:
    """Add up max(d(query, better) - d(query, worse) + margin, 0), d being Euclidean: (rows, width) each."""
    return triplet_margin_loss(query, better, worse, margin=margin, reduction="sum")


def head_loss(kind: str, found: Tensor, targets: Tensor) -> Tensor:
    """Add up the losses of rows: cross entropy of classes, binary cross entropy of labels (their mean), squared error.

    Heads give (rows, classes), (rows, labels) or (rows, 1); targets are (rows,), (rows, labels) or (rows,).
    """
    if kind == "class":
        return cross_entropy(found.float(), targets, reduction="sum")
    if kind == "labels":
        return binary_cross_entropy_with_logits(found.float(), targets, reduction="none").mean(1).sum()
    return (found.float().squeeze(1) - targets).square().sum()


def _by_form(tasks: Sequence[VectorTask]) -> dict[str, list[str]]:
    """Gather the texts of lessons by the form that they are read in."""
    found: dict[str, list[str]] = {}
    for task in tasks:
        for lesson in (*task.lessons, *task.dev):
            found.setdefault(task.forms[0], []).append(lesson.texts[0])
            found.setdefault(task.forms[1], []).extend(lesson.texts[1:])
    return {form: texts for form, texts in found.items() if texts}


def _targets(task: VectorTask, lessons: Sequence[VectorLesson]) -> Tensor:
    if task.loss == "class":
        return torch.tensor([int(lesson.target[0]) for lesson in lessons])
    if task.loss == "labels":
        marks = torch.zeros(len(lessons), task.size)
        for row, lesson in enumerate(lessons):
            marks[row, [int(place) for place in lesson.target]] = 1.0
        return marks
    return torch.tensor([lesson.target[0] if lesson.target else 0.0 for lesson in lessons])


def _inputs(batch: Batch, side: str) -> dict[str, Tensor]:
    found = {name.removeprefix(f"{side}/"): value for name, value in batch.inputs.items()}
    return {name: value for name, value in found.items() if f"{side}/{name}" in batch.inputs}
