"""What people are shown, and what they say of it: the nouns that sheets and forms share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from ..episodes import Shots

Side: TypeAlias = Literal["first", "second"]
Choice: TypeAlias = Literal["first", "second", "tie"]
Verdict: TypeAlias = Literal["loss", "tie", "win"]  # of the learner's answer against the reference
Settled: TypeAlias = Literal["", "equal", "unusable"]  # why it is not asked: a tie by identity, a loss by default

CHOICES: tuple[Choice, ...] = get_args(Choice)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
SCALE = range(1, 6)
GOOD = 4  # from here on an instruction is fine
RATERS = 3  # people for each instruction, as published
TASKS, ITEMS = 60, 10  # that answers are compared on, as published


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Two answers to one input, in an order that hides which is the model's: all that a person is shown."""

    id: str
    task: str
    instruction: str
    input: str
    first: str
    second: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What a question hides: whose answer it is, and on which side; or why it is not asked."""

    id: str  # of the question
    task: str
    item: str
    learner: str
    cell: str  # of the run
    shots: Shots
    seed: int
    side: Side | Literal[""]  # where the learner's answer stands
    settled: Settled = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a person said of a question; the choice is None where there is only a comment."""

    id: str
    rater: str
    choice: Choice | None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Rating:
    """What a person said of a task's instruction; the score is None where there are only remarks."""

    task: str
    rater: str
    score: int | None
    typos: str = ""
    clarity: str = ""


def verdict(pair: Pair, choice: Choice) -> Verdict:
    """Say how the learner's answer did.

    >>> pair = Pair(id="q", task="t", item="i", learner="l", cell="c", shots=0, seed=0, side="second")
    >>> verdict(pair, "second"), verdict(pair, "first"), verdict(pair, "tie")
    ('win', 'loss', 'tie')
    """
    return "tie" if choice == "tie" else "win" if choice == pair.side else "loss"
