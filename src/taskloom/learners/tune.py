"""Tuning: a model is trained on the support set, and then asked without demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..core import Example, Task
from ..ids import Json
from ..lessons import lesson_of
from ..messages import Note
from ..models import Ability
from ..models.recipe import Recipe
from ..options import check_integers
from ..templates import DEFAULT, MOST_LABELS
from . import Learner, Predictor, Tools
from .in_context import Answers, InContext, Templates


@dataclass(frozen=True, slots=True, kw_only=True)
class Tune(Recipe, Learner):
    """A model that is trained on the support set: all its weights, LoRA, a soft prompt or adapters.

    Without support nothing is trained. Early stopping (`patience`) goes by the dev set of the episode.
    """

    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = InContext.outputs
    unaided: ClassVar[frozenset[str]] = outputs
    reads_texts_alone: ClassVar[bool] = True
    looks: ClassVar[bool] = True
    model: str = "smollm2"
    answers: Answers = "score"  # how one label is found: the likeliest, written token by token among all, or freely
    template: Templates | Mapping[str, Templates] = DEFAULT
    max_labels: int = MOST_LABELS  # a task with more labels shows none of them
    longest: int = 64  # tokens of an answer that is written

    def __post_init__(self) -> None:
        Recipe.__post_init__(self)
        check_integers(self, {"longest": 1})
        object.__setattr__(self, "template", self.asking.template)  # an invalid one is refused

    @property
    def asking(self) -> InContext:
        """Give how the model is asked."""
        return InContext(
            model=self.model, answers=self.answers, template=self.template, max_labels=self.max_labels,
            tokens=self.longest, calibrate=False,
        )  # fmt: skip

    @property
    def models(self) -> tuple[str, ...]:
        """Name the model."""
        return (self.model,)

    def needs(self, task: Task) -> Mapping[str, frozenset[Ability]]:
        """Ask for a model that can be trained, and for what the way to answer takes."""
        trains: frozenset[Ability] = frozenset() if self.what == "none" else frozenset({"train"})
        return {model: needed | trains for model, needed in self.asking.needs(task).items()}

    @property
    def facets(self) -> Mapping[str, Json]:
        """Give the learning rate, which has a default for each choice of what is trained."""
        return {"rate": self.rate}

    @property
    def patterns(self) -> tuple[str, ...]:
        """Name the tasks that have a template of their own."""
        return self.asking.patterns

    def faults(self, task: Task, fields: Callable[[], Sequence[str]]) -> Iterator[Note]:
        """Name slots of the task's templates that are unknown, and inputs that these do not show."""
        return self.asking.faults(task, fields)

    def fit(
        self, task: Task, support: Sequence[Example], dev: Sequence[Example], *, seed: int, tools: Tools
    ) -> Predictor:
        """Train the model on the support set, until the cell ends."""
        known = [example.gold[0] for example in support]
        predictor = self.asking.asking(task, (), known, seed=seed, tools=tools)
        prompting = self.asking.prompting(task, seed)
        lessons, held_out = (
            [lesson for example in examples if (lesson := lesson_of(prompting, example, seed))]
            for examples in (support, dev if self.patience else ())
        )
        if len(lessons) < len(support):
            tools.count("lesson-without-answer", len(support) - len(lessons))
        if self.patience and not held_out:
            tools.count("no-early-stopping")
        if lessons and self.what != "none":
            tools.train(
                self.model, lessons, self, dev=held_out, seed=seed, words=task.instruction, predictor=predictor
            )  # fmt: skip
        return predictor
