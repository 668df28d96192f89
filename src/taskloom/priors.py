"""The prior of an episode: how frequent each gold answer is in the pool that its support is drawn from.

Labels are counted over the whole pool: without the query set, the class that is asked about most would count least, and
a majority baseline would fall below its true rate. Of other answers, those of records in the query set are not
counted, as they would give the answers away. The gold answers of a pool are read once for all episodes of a task.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from .core import Answer, Fields, Ints, Labels, Output
from .episodes import Deck, Draw
from .errors import EpisodeError, UnknownNameError
from .messages import Note

Prior: TypeAlias = "Mapping[Answer, int]"  # gold answer -> examples; of several acceptable answers, the first counts


class Priors:
    """The priors of a task's episodes."""

    def __init__(self, deck: Deck) -> None:
        self.deck = deck
        self.stock = deck.stocks[deck.homes["support"]]
        self._coded = cache(self._read)

    def of(self, drawn: Draw, field: str = "") -> Prior:
        """Count the gold answers, or those of one field; an episode that leaves nothing to count is refused.

        Only labels that take part in the episode are counted. Labels stand in the order of the task, other answers in
        the order of the pool.
        """
        answers, codes = self._coded(field)
        asked = self.deck.stocks[drawn.pools["query"]].groups[list(drawn.rows["query"])]
        hidden = False if _is_one_label(self._output(field)) else np.isin(self.stock.groups, asked)
        kept = codes[(codes >= 0) & ~np.asarray(hidden)]
        counts = zip(answers, np.bincount(kept, minlength=len(answers)).tolist(), strict=True)
        found = {answer: n for answer, n in counts if n and (not drawn.labels or answer in drawn.labels)}
        if not found:
            raise EpisodeError(Note.of("prior-empty", task=drawn.task, query=len(asked)))
        return found

    def _read(self, field: str) -> tuple[list[Answer], Ints]:
        """Give the answers that there are, and each row's place among them, -1 where it has none."""
        output = self._output(field)
        names = output.names if isinstance(output, Labels) and _is_one_label(output) else ()
        if names and not field:
            return list(names), self.stock.labels
        places: dict[Any, int] = {name: at for at, name in enumerate(names)}
        golds = (_part(output, gold, field) for gold in self.stock.pool.golds())
        codes = [-1 if gold is None else places.setdefault(gold, len(places)) for gold in golds]
        return list(places), np.array(codes, dtype=np.int64)

    def _output(self, field: str) -> Output:
        output = self.deck.task.output
        parts: Mapping[str, Output] = output.parts if isinstance(output, Fields) else {"": output}
        if field not in parts:
            raise UnknownNameError(f"field of task {self.deck.task.id!r}", field, parts)
        return parts[field]


def _is_one_label(output: Output) -> bool:
    return isinstance(output, Labels) and not output.many


def _part(output: Output, whole: Any, field: str) -> Answer | None:
    """Give an answer, or one field of it; several labels stand in the order of the task."""
    gold: Answer | None = whole.get(field) if field else whole
    if isinstance(output, Labels) and output.many and isinstance(gold, tuple):
        return tuple(name for name in output.names if name in gold)
    return gold
