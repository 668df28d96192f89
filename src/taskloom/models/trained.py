"""Models that a study trains: a base, and which tasks it is trained on. A cell of the study makes each, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from ..core import declared
from ..errors import UnknownNameError, UsageError
from ..messages import Note
from ..options import check_choices, check_integers, settle_number
from .recipe import BUDGETS, Recipe
from .telling import TELLS, Tell, Telling

Goal: TypeAlias = Literal["answers", "texts", "vectors"]
Grouping: TypeAlias = Literal["format", "random"]

OF_TEXTS = ("texts", "field", "objective", "tokenizer", "vocabulary", "length")  # options of pre-training alone
OF_EPISODES = ("ways", "shots")  # options of lessons that are drawn as episodes
OF_ANSWERS = ("what", "dev", "patience", "every", "encoding", "template", "episodes")  # not of pre-training
OF_VECTORS = ("tell", "by", "triplets", "margin", "titles", "pal_size", "pal_heads")  # options of vectors alone
NOT_OF_VECTORS = ("what", "encoding", "template", "episodes", "rank", "alpha", "virtual", "start")
USUAL: Mapping[Goal, Mapping[str, Any]] = {  # where a study does not say otherwise
    "answers": {},
    "texts": {"batch": 16, "warmup": 0.05},
    "vectors": {  # as published for SPECTER2
        "apart": "study", "most": 600_000, "batch": 256, "warmup": 700, "schedule": "inverse-sqrt"
    },
}  # fmt: skip
STEPS_OF_TEXTS = 3000  # where no budget is given
RATES_OF_VECTORS: Mapping[Tell, float] = {
    "none": 5e-5, "codes": 5e-5, "adapters": 1e-4, "fusion": 1e-4, "pals": 5e-5,
}  # fmt: skip
EPOCHS_OF_VECTORS: Mapping[Tell, int] = {"none": 2, "codes": 2, "adapters": 6, "fusion": 4, "pals": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained(Recipe):
    """What makes a model of another one; what is not about its tasks is its identity, with the rows that these give."""

    train: str  # the base: any model of the study, one that is trained itself included
    tasks: tuple[str, ...] = ("@train",)  # names, patterns, or a role of the fold that asks about the task
    folds: tuple[str, ...] = ("*",)  # names or patterns of folds: one of them must ask about the task
    most: int | Literal["all"] = 100  # examples of each task
    sample: int = 0  # tasks that are drawn of these, by the seed of the draw; 0: all
    encoding: str = ""  # of instructions; none: a template
    template: str = "default"
    episodes: int = 0  # that lessons are drawn as, each with labels of its own; 0: a lesson for each example
    ways: tuple[int, int] = (2, 5)  # classes of an episode, from and to; 0: as many as there are
    shots: tuple[int, int] = (1, 5)  # examples of each class
    dev: int = 0  # examples that are held out for early stopping
    apart: Literal["target", "study"] = "target"  # from whose records its own are kept apart
    goal: Goal = "answers"  # what is learnt; a model without weights starts with texts, an encoder learns vectors
    texts: tuple[str, ...] = ()  # sources of texts outside the suite; none: the inputs of its tasks
    field: tuple[str, ...] = ()  # of these sources
    objective: str = ""  # of texts, as `taskloom pretrain` has it; "": the usual one
    tokenizer: str = ""
    vocabulary: int = 8000
    length: int = 128  # tokens of a piece of text
    tell: Tell = "none"  # how an encoder is told the format of a task; none: one vector for all
    by: Grouping = "format"  # what tasks share: their format, or a random group, as many as there are formats
    triplets: int = 5  # of each query, at most
    margin: float = 1.0  # by which the worse candidate of a triplet should be further away
    titles: float = 0.0  # share of the documents of triplets that are read by their first field alone
    pal_size: int = 0  # of projected attention layers, see `Telling`
    pal_heads: int = 6

    def __post_init__(self) -> None:
        Recipe.__post_init__(self)
        check_choices(self, apart=("target", "study"), goal=get_args(Goal), tell=TELLS, by=get_args(Grouping))
        check_integers(self, {"dev": 0, "sample": 0, "episodes": 0, "triplets": 1})
        settle_number(self, "margin", least=0)
        settle_number(self, "titles", least=0, most=1)
        self._check_vectors()
        if self.goal != "texts" and (given := [name for name in OF_TEXTS if name in declared(self)]):
            raise UsageError(Note.of("options-of-texts", names=given))
        if self.goal == "texts" and (given := [name for name in OF_ANSWERS if name in declared(self)]):
            raise UsageError(Note.of("options-of-answers", names=given))
        if not self.episodes and (given := [name for name in OF_EPISODES if name in declared(self)]):
            raise UsageError(Note.of("options-of-episodes", names=given))
        _settle_range(self, "ways", least=2, open_ended=True)
        _settle_range(self, "shots", least=1)
        if self.what == "none":
            raise UsageError(Note.of("nothing-trained"))
        if bool(self.patience) != bool(self.dev):
            raise UsageError(Note.of("dev-and-patience", dev=self.dev, patience=self.patience))
        for name in ("tasks", "folds", "texts", "field"):
            value = getattr(self, name)
            listed = (value,) if isinstance(value, str) else tuple(value)
            if not (listed or name in ("texts", "field")) or not all(isinstance(text, str) for text in listed):
                raise UsageError(f"{name} of a trained model must be a list of texts: {value!r}")
            object.__setattr__(self, name, listed)
        if all(text.startswith("!") for text in self.tasks):
            raise UsageError(Note.of("tasks-left-out-alone", tasks=self.tasks))
        if self.most != "all" and (isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 1):
            raise UsageError(f"most must be an integer >= 1, or all: {self.most!r}")
        texts = (self.train, self.encoding, self.template)
        if not all(isinstance(text, str) for text in texts):
            raise UsageError(f"train, encoding and template of a trained model must be texts: {texts}")
        if self.encoding and self.template != "default":
            raise UsageError(Note.of("encoding-and-template", encoding=self.encoding, template=self.template))

    def _check_vectors(self) -> None:
        """Refuse options of vectors where none are learnt, and those of other goals where they are."""
        if self.goal != "vectors":
            if given := [name for name in OF_VECTORS if name in declared(self)]:
                raise UsageError(Note.of("options-of-vectors", names=given))
            return
        if given := [name for name in NOT_OF_VECTORS if name in declared(self)]:
            raise UsageError(Note.of("options-not-of-vectors", names=given))
        if self.by == "random" and self.tell == "none":
            raise UsageError(Note.of("groups-untold"))
        _ = self.telling  # which has checks of its own

    @property
    def has_forms(self) -> bool:
        """Tell whether it is an encoder that gives a vector for each format of tasks."""
        return self.goal == "vectors" and self.tell != "none" and self.by == "format"

    @property
    def telling(self) -> Telling:
        """Say how an encoder is told the form of a vector."""
        sizes = {"reduction": self.reduction, "pal_size": self.pal_size, "pal_heads": self.pal_heads}
        return Telling(tell=self.tell, **sizes)


def _settle_range(of: Trained, name: str, *, least: int, open_ended: bool = False) -> None:
    """Make an option a pair, the least and the most, or refuse it; a number is both."""
    given: Any = getattr(of, name)
    pair = tuple(given) if isinstance(given, list | tuple) else (given, given)
    whole = all(isinstance(size, int) and not isinstance(size, bool) for size in pair)
    if len(pair) != 2 or not whole or pair[0] < least or not (pair[0] <= pair[1] or (open_ended and pair[1] == 0)):
        raise UsageError(Note.of("range-expected", name=name, least=least, given=repr(given)))
    object.__setattr__(of, name, pair)


def trained(options: Mapping[str, Any]) -> Trained:
    """Make what a study's file says of a model that it trains."""
    known = [f.name for f in fields(Trained)]
    for option in options:
        if option not in known:
            raise UnknownNameError("option", option, known)
    try:
        return Trained(**{**_usual(options), **options})
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(Note.of("model-options-unfit", reason=error)) from None


def _usual(options: Mapping[str, Any]) -> dict[str, Any]:
    """Give the options that are usual for a goal."""
    goal, tell = options.get("goal", "answers"), options.get("tell", "none")
    usual = dict(USUAL.get(goal, {}))
    has_budget = any(options.get(name) for name in BUDGETS)
    if goal == "texts" and not has_budget:
        usual["steps"] = STEPS_OF_TEXTS
    if goal == "vectors" and tell in TELLS:
        usual["lr"] = RATES_OF_VECTORS[tell]
        usual |= {} if has_budget else {"epochs": EPOCHS_OF_VECTORS[tell]}
    return usual
