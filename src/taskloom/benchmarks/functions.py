"""Function tasks of your own: any composition of lexical, factual and random functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from ..core import Suite
from ..errors import UsageError
from ..ids import Json
from ..messages import Note
from ..options import check_most
from ..schema import key
from ..suites.functions import build
from ..suites.functions.build import Collected, wanted_of
from ..suites.functions.folds import held_out
from ..suites.functions.forms import canonical
from ..suites.functions.knowledge import Asking, Factual, Lexical
from ..suites.functions.language import Filter, Function, Map, Match, Permuted, WordFunction, kind_of, split
from ..suites.functions.parse import fact_names, parse
from ..suites.functions.sample import Sampling
from ..suites.functions.workshop import WordKind, Workshop

EXAMPLES = ("mother(father(0))", "antonyms[eng](0)")  # that make tasks of the data that packages have


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOptions:
    """Where words and facts come from, and how examples are drawn."""

    lexicon: str = key("data:wordnet", path=True)  # none: no words
    facts: str = key("data:facts", path=True)  # none: no facts
    seed: int = 0
    least: int = 100  # samples that a task must have
    sequences: int = 2000  # examples of a task of sequences
    length: int = 8  # words of a sequence
    passing: int = 4  # of them, where there is a filter
    mark: str = ""  # between the words of sequences, as "#"; none: a space
    words: WordKind = "real"  # made-up: no text that a model has learnt from has them

    def __post_init__(self) -> None:
        if not 0 < self.passing < self.length:
            raise UsageError(Note.of("passing-unfit", passing=self.passing, length=self.length))
        check_most(self, {"sequences": 1_000_000, "length": 1_000})
        if self.mark != self.mark.strip() or " " in self.mark:
            raise UsageError(Note.of("mark-unfit", mark=self.mark))

    def sampling(self) -> Sampling:
        """Say how examples are drawn."""
        return Sampling(
            seed=self.seed, least=self.least, sequences=self.sequences, length=self.length, passing=self.passing
        )

    def lexical(self) -> Lexical | None:
        """Open the lexicon, if there is one."""
        from ..sources.words import lexicon

        return Lexical(lexicon(self.lexicon), self.seed) if self.lexicon else None

    def asking(self) -> Asking | None:
        """Open the graph of facts, if there is one."""
        from ..sources.facts import graph

        return Asking(graph(self.facts), fact_names()) if self.facts else None

    def shop(self, lexical: Lexical | None, factual: Factual | None) -> Workshop:
        """Make ready what functions are asked of."""
        return Workshop(lexical, factual, self.sampling(), self.mark, self.words)

    def suite(self, found: Collected, shop: Workshop, name: str) -> Suite:
        """Put tasks together, with a fold of held-out compositions where there are enough."""
        about: dict[str, Json] = {"benchmark": name, "seed": self.seed, "words": self.words}
        made = build.suite(found, shop, id=name, about=about)
        return replace(made, folds=held_out(made.tasks, self.seed))


def word_functions(of: Function) -> Iterator[WordFunction]:
    """Yield the functions of words that must be answered for a function."""
    match of:
        case Map() | Filter():
            parts: tuple[WordFunction | None, ...] = split(of)
        case Match():
            parts = (of.first, of.second)
        case _:
            parts = (of,)
    yield from (part.of if isinstance(part, Permuted) else part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTasks(FunctionOptions):
    """The suite of functions that are named, each of which must make a task."""

    version: ClassVar[int] = 2
    functions: tuple[str, ...] = key((), name="from")

    def build(self) -> Suite:
        """Build the suite."""
        if not self.functions:
            raise UsageError(f"SOURCE is missing: functions, such as {' '.join(map(repr, EXAMPLES))}")
        wanted = [canonical(parse(text)) for text in self.functions]
        asked = [of for one in wanted for of in word_functions(one)]
        facts = [of for of in asked if kind_of(of) == "factual"]
        asking = self.asking() if facts else None
        factual = asking.add(facts).facts() if asking else None
        shop, found = self.shop(self.lexical() if len(facts) < len(asked) else None, factual), Collected()
        found.add(wanted_of(wanted), shop)
        if found.refused:
            reasons = [f"{one.function}: {one.why}" for one in found.refused]
            raise UsageError("\n  ".join(["no task can be made of:", *reasons]))
        return self.suite(found, shop, "functions")

    def sources(self) -> tuple[str, ...]:
        """Name the lexicon and the graph."""
        return tuple(filter(None, (self.lexicon, self.facts)))
