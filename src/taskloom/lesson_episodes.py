"""Lessons that are drawn as episodes: each shows some of a task's labels as options, in an order of their own.

A model that is trained on them learns to choose among what it is shown, as it will be asked about labels that it has
never seen: meta-training on episodes, as of UniFew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice

from .core import Answer, Example, Ints, Pool, Suite
from .episodes import Deck, Draw
from .errors import EpisodeError
from .ids import fingerprint, shuffled
from .lessons import lesson_of
from .models import Lesson
from .models.trained import Trained
from .sampler import DRAWN, Between, Sampler
from .stocks import NO_CLASS
from .templates import Prompting, template

TRIES = 20  # episodes in a row that can't be drawn


def episode_lessons(
    suite: Suite, rows: Mapping[str, Sequence[int]], of: Trained, *, seed: int, most: int = 0
) -> Iterator[tuple[int, Lesson]]:
    """Yield lessons, each with its record, of as many episodes as the model says, or `most`.

    Each episode is of one of the tasks, all being as likely. How many classes it has, which, and their examples are
    drawn of the rows that are taught.
    """
    stacks = [_Stack.of(suite, name, chosen) for name, chosen in rows.items()]
    draws = list(islice(_draws(stacks, of, seed), min(of.episodes, most or of.episodes)))
    read = {stack.name: stack.read([one for one in draws if one.task == stack.name]) for stack in stacks}
    for one in draws:
        prompting = _prompting(suite, one, of)
        for row in one.rows["support"]:
            record, example = read[one.task][row]
            if lesson := lesson_of(prompting, example, seed):
                yield record, lesson


def drawable(suite: Suite, name: str, rows: Sequence[int], of: Trained) -> bool:
    """Tell whether episodes can be drawn of rows of a task: two classes have enough examples, or it has no classes."""
    able = _Stack.of(suite, name, rows).able(of.shots[0])
    return bool(rows) and (able is None or able > 1)


def _draws(stacks: Sequence[_Stack], of: Trained, seed: int) -> Iterator[Draw]:
    """Draw episodes; in the place of one that can't be, for classes that share their records, the next is drawn."""
    ways = Between(least=of.ways[0], most=of.ways[1])
    how = Sampler(shots=DRAWN, least=of.shots[0], most=of.shots[1], ways=ways, label_order="shuffled", query=0)
    failed = 0
    for index in count():
        stack = stacks[next(shuffled(len(stacks), "task of lessons", seed, index))]
        try:
            yield stack.deck.draw(how, seed=seed, index=index)
            failed = 0
        except EpisodeError:
            failed += 1
            if failed == TRIES:
                raise


def _prompting(suite: Suite, drawn: Draw, of: Trained) -> Prompting:
    """Put the task into words, with the classes of the episode alone as its labels."""
    task, words = suite.task(drawn.task), template(of.template)
    return Prompting(task.narrowed(drawn.labels), words, len(drawn.labels)) if drawn.labels else Prompting(task, words)


@dataclass(frozen=True, slots=True)
class _Stack:
    """A task with the rows that are taught, which episodes are drawn of."""

    name: str
    pool: _Chosen
    deck: Deck

    @classmethod
    def of(cls, suite: Suite, name: str, rows: Sequence[int]) -> _Stack:
        taught = suite.taught_pool(name)
        assert taught is not None  # or no rows would be chosen
        pool = _Chosen(taught, tuple(rows), fingerprint("chosen", taught.digest, list(rows)))
        pools = {"train": pool, "test": pool}  # two, so that no record is set aside to ask about
        deck = Deck(Suite(id=suite.id, tasks={name: suite.task(name)}, pools={name: pools}), name)
        return cls(name, pool, deck)

    def able(self, least: int) -> int | None:
        """Count the classes that have so many records; None where there are no classes."""
        (stock, *_) = self.deck.stocks.values()
        sizes = [size for label, size in stock.counts.items() if label != NO_CLASS]
        return sum(size >= least for size in sizes) if sizes else None

    def read(self, draws: Sequence[Draw]) -> dict[int, tuple[int, Example]]:
        """Read what was drawn, each row once: its record and its example."""
        rows = sorted({row for one in draws for row in one.rows["support"]})
        records = self.pool.groups()
        return {row: (int(records[row]), example) for row, example in zip(rows, self.pool.take(rows), strict=True)}


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Some rows of a pool, as a pool."""

    pool: Pool
    rows: tuple[int, ...]
    digest: str

    def __len__(self) -> int:
        return len(self.rows)

    def labels(self) -> Ints:
        labels: Ints = self.pool.labels()[list(self.rows)]
        return labels

    def groups(self) -> Ints:
        groups: Ints = self.pool.groups()[list(self.rows)]
        return groups

    def golds(self) -> list[Answer]:
        golds = self.pool.golds()
        return [golds[row] for row in self.rows]

    def take(self, rows: Sequence[int]) -> list[Example]:
        return self.pool.take([self.rows[row] for row in rows])
