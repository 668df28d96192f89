"""TaskBench500: the functions of the paper's tables that the sources at hand have samples for, and more up to 500."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import resources
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from ...core import Suite
from ...schema import key
from ...suites.functions import catalogue, layout
from ...suites.functions.build import Collected, wanted_of
from ...suites.functions.evaluate import is_predicate, outputs, rows_of
from ...suites.functions.forms import canonical, type_of
from ...suites.functions.knowledge import Asking, Factual
from ...suites.functions.language import (
    FACTS,
    Atom,
    Combined,
    Function,
    Match,
    Permuted,
    Predicate,
    WordFunction,
    atoms,
    kind_of,
    written,
)
from ...suites.functions.parse import parse
from ..functions import FunctionOptions, word_functions

Which: TypeAlias = Literal["all", "permuted", "pairs"]
NAME = "taskbench"
LANGUAGES = ("eng", "spa")
OTHERS = 60  # compositions of facts beside those of the paper


def paper_names() -> list[str]:
    """List the tasks of the paper's tables, as they are printed there.

    >>> len(paper_names())
    494
    """
    text = (resources.files(__package__) / "paper.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def paper_functions() -> list[Function]:
    """Give the functions of the paper's tables, each once."""
    return list(dict.fromkeys(canonical(parse(name)) for name in paper_names()))


def permuted(of: Sequence[Atom]) -> list[Function]:
    """Give atoms, then each of them with its answers dealt out at random (paper, appendix E)."""
    return [*of, *(Permuted(0, atom) for atom in of)]


def pairs(of: Sequence[Atom]) -> list[Function]:
    """Give relations, then each two that take and give words of the same kinds (paper, appendix D)."""
    relations = [atom for atom in of if not isinstance(atom, Predicate)]
    fitting = [pair for pair in itertools.combinations(relations, 2) if type_of(pair[0]) == type_of(pair[1])]
    return [*relations, *(Match(*pair) for pair in fitting)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBench(FunctionOptions):
    """The suite of the paper's functions and of others, or of the published files."""

    version: ClassVar[int] = 2
    source: str = key("", name="from", path=True)  # a folder of the published files; none: the suite is made
    most: int = 500  # tasks
    which: Which = "all"  # or atoms with their permuted versions, or with pairs of them to tell apart

    def build(self) -> Suite:
        """Build the suite."""
        if self.source:
            return layout.read(Path(self.source))
        return self._versions() if self.which != "all" else self._whole()

    def _versions(self) -> Suite:
        """Build the paper's atoms, with other versions of them."""
        known = list(dict.fromkeys(atom for of in paper_functions() for atom in atoms(of)))
        asking, found = self.asking(), Collected()
        facts = [atom for atom in known if kind_of(atom) == "factual"]
        shop = self.shop(self.lexical(), asking.add(facts).facts() if asking else None)
        found.add(wanted_of(permuted(known) if self.which == "permuted" else pairs(known), "paper"), shop, self.most)
        return self.suite(found, shop, NAME)

    def _whole(self) -> Suite:
        paper, found = paper_functions(), Collected()
        asking = self.asking()
        named, others = _ask(asking, paper, self.least) if asking else ([], [])
        shop = self.shop(self.lexical(), asking.facts() if asking else None)
        found.add(wanted_of(paper, "paper"), shop, self.most)
        words = [*catalogue.lexical_atoms(LANGUAGES), *named]
        words += [*catalogue.of_two(catalogue.lexical_atoms(LANGUAGES)), *others]
        found.add(wanted_of(words), shop, self.most)
        survived = {made.task.id for made in found.made}
        found.add(wanted_of(catalogue.of_sequences(of for of in words if _id(of) in survived)), shop, self.most)
        return self.suite(found, shop, NAME)

    def sources(self) -> tuple[str, ...]:
        """Name the folder, or the lexicon and the graph."""
        return (self.source,) if self.source else tuple(filter(None, (self.lexicon, self.facts)))


def _id(of: WordFunction) -> str:
    return written(canonical(of))


def _ask(asking: Asking, paper: Sequence[Function], least: int) -> tuple[list[WordFunction], list[WordFunction]]:
    """Ask about the paper's functions of facts, then about others that will have samples; give atoms and the others.

    Before a graph is asked, what atoms have in common tells how many samples a composition has at least.
    """
    asked = [of for one in paper for of in word_functions(one) if kind_of(of) == "factual"]
    named = list(dict.fromkeys(atom for of in asked for atom in atoms(of)))
    asking.add(named).add(of for of in asked if asking.has(of))
    here = [atom for atom in named if asking.has(atom)]
    known = asking.facts()
    able = [of for of in catalogue.of_two(here) if _has_samples(of, known, least)]
    others = able[:: max(1, -(-len(able) // OTHERS))]  # of all operations alike
    asking.add(others)
    return list(here), others


def _has_samples(of: WordFunction, known: Factual, least: int) -> bool:
    """Tell whether all parts of a function have enough entities in common, and its outputs are those of many."""
    if isinstance(of, Combined):
        words = reduce(np.intersect1d, (known.answers(part).words for part in of.parts))
        if of.by != "intersection":
            return len(words) >= least
    if is_predicate(of):
        return True
    rows = rows_of(np.arange(known.size(FACTS)), known.size(FACTS))
    return int(np.count_nonzero(np.diff(outputs(of, rows, known).indptr))) >= least
