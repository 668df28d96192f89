"""What the functions of a suite are asked of: their answers, the words that are shown, and which are for testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from ...core import Ints
from ...errors import SourceError
from ...messages import Note
from .. import columns
from .evaluate import Bits, set_hashes
from .knowledge import Answers, Factual, Lexical
from .language import FACTS, WordFunction, kind_of, written
from .made_up import made_up
from .sample import Sampling, is_test
from .tables import digest_of, word_hashes

WordKind: TypeAlias = Literal["real", "made-up"]  # made-up: no text that a model has learnt from has them


@dataclass(frozen=True)
class Workshop:
    """What functions are asked of, and how examples are drawn."""

    lexical: Lexical | None
    factual: Factual | None
    how: Sampling
    mark: str = ""  # between the words of sequences; none: a space
    words: WordKind = "real"
    kept: dict[str, Answers] = field(default_factory=dict, compare=False, repr=False)

    def answers(self, of: WordFunction) -> Answers:
        """Give what a function of words gives; it is worked out once."""
        name = written(of)
        if name not in self.kept:
            asked = self.factual if kind_of(of) == "factual" else self.lexical
            if asked is None:
                raise SourceError(Note.of("facts-missing", function=name))
            self.kept[name] = asked.answers(of)
        return self.kept[name]

    def names(self, domain: str) -> Sequence[tuple[str, str]]:
        """Give the ids and texts of the words of a domain."""
        if domain not in self._names:
            self._names[domain] = self._shown(domain, self._real(domain))
        return self._names[domain]

    def _real(self, domain: str) -> Sequence[tuple[str, str]]:
        if domain == FACTS:
            return self.factual.entities if self.factual else ()
        return [(word, word) for word in self.lexical.lexicon.vocabularies[domain]] if self.lexical else ()

    def _shown(self, domain: str, real: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        if self.words != "made-up":
            return real
        domains = (*sorted(self.lexical.lexicon.vocabularies if self.lexical else ()), FACTS)
        return made_up(real, domain, self.how.seed, domains=domains, known=self._known)

    @cached_property
    def _known(self) -> frozenset[str]:
        """Give the words of all domains."""
        languages = self.lexical.lexicon.vocabularies if self.lexical else ()
        return frozenset(text.casefold() for domain in (*languages, FACTS) for _, text in self._real(domain))

    @cached_property
    def _names(self) -> dict[str, Sequence[tuple[str, str]]]:
        return {}

    @cached_property
    def _hashes(self) -> dict[str, Ints]:
        return {}

    def hashes(self, domain: str) -> Ints:
        """Give words as numbers."""
        if domain not in self._hashes:
            self._hashes[domain] = word_hashes(domain, self.names(domain))
        return self._hashes[domain]

    def test(self, domain: str) -> Bits:
        """Tell the words of a domain that are asked about: by how they are written, whatever their case."""
        if domain not in self._test:
            real = self._real(domain)
            asked = self.lexical.asked(domain) if self.lexical and domain != FACTS else np.arange(len(real))
            found = np.zeros(len(real), bool)
            found[asked] = is_test(columns.hashes(real[word][1].casefold() for word in asked.tolist()), self.how)
            self._test[domain] = found
        return self._test[domain]

    @cached_property
    def _test(self) -> dict[str, Bits]:
        return {}

    def parts(self, source: str, words: Ints) -> dict[str, Ints]:
        """Split words, each by how it is written; give their places."""
        test = self.test(source)[words]
        return {"train": np.flatnonzero(~test), "test": np.flatnonzero(test)}

    def signature(self, of: WordFunction) -> str:
        """Name what a function gives, so that equal ones are known whatever they are called."""
        name = written(of)
        if name not in self._signatures:
            found = self.answers(of)
            hashes = self.hashes(found.source)[found.words]
            self._signatures[name] = digest_of(hashes, *(self.sums(of) if found.truths is None else [found.truths]))
        return self._signatures[name]

    @cached_property
    def _signatures(self) -> dict[str, str]:
        return {}

    def sums(self, of: WordFunction) -> tuple[Ints, Ints, Ints]:
        """Give what names the outputs of each word of a relation."""
        name = written(of)
        if name not in self._sums:
            found = self.answers(of)
            assert found.sets is not None
            self._sums[name] = set_hashes(found.sets, self.hashes(found.target))
        return self._sums[name]

    @cached_property
    def _sums(self) -> dict[str, tuple[Ints, Ints, Ints]]:
        return {}
