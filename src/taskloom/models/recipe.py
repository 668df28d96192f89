"""How weights are trained: which of them, how fast, and for how long; settings alone, so that plans can check them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from ..errors import UsageError
from ..messages import Note
from ..options import check_booleans, check_choices, check_integers, settle_number

What: TypeAlias = Literal["all", "lora", "prompt", "adapters", "none"]
Schedule: TypeAlias = Literal["constant", "linear", "cosine", "inverse-sqrt"]
Precision: TypeAlias = Literal["float32", "bfloat16"]
PromptStart: TypeAlias = Literal["words", "random"]
STEPS = 100  # where no budget is given
USUAL_RATES: Mapping[str, float] = {"all": 1e-4, "lora": 1e-3, "prompt": 3e-2, "adapters": 1e-3, "none": 1.0}
BUDGETS = ("steps", "epochs", "tokens")
LOWEST_RATE = 1e-12
LEAST: Mapping[str, int] = {
    "batch": 1, "accumulate": 1, "steps": 0, "epochs": 0, "tokens": 0, "patience": 0, "every": 0, "rank": 1,
    "virtual": 1, "reduction": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What is trained, and how. The budget is a number of steps, epochs or tokens: one of them."""

    what: What = "all"
    lr: float | None = None  # None: what is usual for what is trained
    batch: int = 8  # examples of a step
    accumulate: int = 1  # parts that a step is computed in, which saves memory
    steps: int = 0
    epochs: int = 0
    tokens: int = 0  # read and written, without padding
    schedule: Schedule = "linear"  # of the learning rate: down to 0 but for `constant` and `inverse-sqrt`
    warmup: float = 0.0  # share of the budget in which the rate rises; above 1, a number of steps
    clip: float = 1.0  # the largest norm of a gradient; 0: any
    decay: float = 0.0  # of weights
    patience: int = 0  # validations without a lower loss after which training stops; 0: none is made
    every: int = 0  # steps between validations; 0: an epoch
    precision: Precision = "float32"
    recompute: bool = False  # activations, which saves memory
    rank: int = 8  # of LoRA
    alpha: float = 16.0
    virtual: int = 20  # tokens of a soft prompt
    start: PromptStart = "words"  # a soft prompt starts as embeddings of the instruction's words, or at random
    reduction: int = 16  # of adapters: how much narrower than the model they are

    def __post_init__(self) -> None:
        check_choices(
            self, what=get_args(What), schedule=get_args(Schedule), precision=get_args(Precision),
            start=get_args(PromptStart),
        )  # fmt: skip
        check_integers(self, LEAST)
        check_booleans(self, "recompute")
        if self.lr is not None:
            settle_number(self, "lr", least=LOWEST_RATE, most=100)
        settle_number(self, "warmup", least=0)
        if self.warmup > 1 and (not self.warmup.is_integer() or self.tokens):
            raise UsageError(Note.of("warmup-steps-unfit", given=self.warmup))
        settle_number(self, "decay", least=0, most=1)
        settle_number(self, "clip", least=0)
        settle_number(self, "alpha", least=LOWEST_RATE)
        if len(given := [name for name in BUDGETS if getattr(self, name)]) > 1:
            raise UsageError(Note.of("budgets-several", names=given))

    @property
    def rate(self) -> float:
        """Give the learning rate."""
        return USUAL_RATES[self.what] if self.lr is None else self.lr

    @property
    def budget(self) -> tuple[str, int]:
        """Say what the budget is counted in, and how large it is."""
        found = ((name, getattr(self, name)) for name in BUDGETS if getattr(self, name))
        return next(found, ("steps", STEPS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """How training went."""

    steps: int
    tokens: int
    parameters: int  # that were trained
    per_form: int = 0  # of them, those that an encoder has for each form alone
    losses: Sequence[tuple[int, float]] = ()
    validation: Sequence[tuple[int, float]] = ()
    threads: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)  # by code: what was cut or dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What goes on beside training: checkpoints, progress, and looks at the weights on the way."""

    keep: Path | None = None  # the folder of checkpoints; training goes on from the last one there
    note: Callable[[int, float, float], None] | None = None  # called with step, share of the budget used, and loss
    looks: frozenset[int] = frozenset()  # steps before which, or after the last of which, `look` is called
    look: Callable[[int], None] | None = None
    limit: int = 0  # steps at most, in a trial; 0: as the budget says
    threads: int = 0  # to train with; 0: as many as there are, or as a checkpoint has

    def notify(self, step: int, share: float, loss: float) -> None:
        """Say how far training is."""
        if self.note:
            self.note(step, share, loss)

    def look_at(self, step: int) -> None:
        """Look at the weights, where that is wanted at this step."""
        if self.look and step in self.looks:
            self.look(step)


def recipe_of(of: Recipe) -> Recipe:
    """Give the settings of training alone, of what has more."""
    return Recipe(**{f.name: getattr(of, f.name) for f in fields(Recipe)})
