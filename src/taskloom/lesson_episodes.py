"""Lessons that are drawn as episodes: each shows some of a task's labels as options, in an order of their own.

A model that is trained on them learns to choose among what it is shown, as it will be asked about labels that it has
never seen: meta-training on episodes, as of UniFew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .core import Answer, Example, Ints, Pool, Suite
from .episodes import DRAWN, Deck, Draw, Sampler
from .ids import fingerprint, raw_bits, shuffled
from .lessons import lesson_of
from .models import Lesson
from .models.trained import Trained
from .templates import Prompting, template


def episode_lessons(
    suite: Suite, rows: Mapping[str, Sequence[int]], of: Trained, *, seed: int, most: int = 0
) -> Iterator[tuple[int, Lesson]]:
    """Yield lessons, each with its record, of as many episodes as the model says, or `most`.

    Each episode is of one of the tasks, all being as likely. How many classes it has, which, and their examples are
    drawn of the rows that are taught.
    """
    stacks = [_Stack.of(suite, name, chosen, of) for name, chosen in rows.items()]
    draws = [_drawn(stacks, of, seed, index) for index in range(min(of.episodes, most or of.episodes))]
    read = {stack.name: stack.read([one for one in draws if one.task == stack.name]) for stack in stacks}
    for one in draws:
        prompting = _prompting(suite, one, of, seed)
        for row in one.rows["support"]:
            record, example = read[one.task][row]
            if lesson := lesson_of(prompting, example, seed):
                yield record, lesson


def drawable(suite: Suite, name: str, rows: Sequence[int], of: Trained) -> bool:
    """Tell whether an episode can be drawn of rows of a task; one without classes has its examples alone."""
    able = _Stack.of(suite, name, rows, of).able
    return bool(rows) and (able is None or able >= of.ways[0])


def _drawn(stacks: Sequence[_Stack], of: Trained, seed: int, index: int) -> Draw:
    stack = stacks[next(shuffled(len(stacks), "task of lessons", seed, index))]
    way = _way(stack.able, of, seed, index) if stack.able is not None else 0
    how = Sampler(shots=DRAWN, least=of.shots[0], most=of.shots[1], ways=way, query=0)
    return stack.deck.draw(how, seed=seed, index=index)


def _way(able: int, of: Trained, seed: int, index: int) -> int:
    """Draw a number of classes, of those that have enough examples."""
    least, most = of.ways
    sizes = min(most or able, able) - least + 1
    return least + ((next(raw_bits("ways of lessons", seed, index)) * sizes) >> 64)


def _prompting(suite: Suite, drawn: Draw, of: Trained, seed: int) -> Prompting:
    """Put the task into words, with the classes of the episode alone as its labels."""
    task, words = suite.task(drawn.task), template(of.template)
    labels = [drawn.labels[place] for place in shuffled(len(drawn.labels), "options", seed, drawn.index)]
    return Prompting(task.narrowed(labels), words, len(labels)) if labels else Prompting(task, words)


@dataclass(frozen=True, slots=True)
class _Stack:
    """A task with the rows that are taught, which episodes are drawn of."""

    name: str
    pool: _Chosen
    deck: Deck
    able: int | None  # classes with enough records; None where the task has none

    @classmethod
    def of(cls, suite: Suite, name: str, rows: Sequence[int], of: Trained) -> _Stack:
        taught = suite.taught_pool(name)
        assert taught is not None  # or no rows would be chosen
        pool = _Chosen(taught, tuple(rows), fingerprint("chosen", taught.digest, list(rows)))
        pools = {"train": pool, "test": pool}  # two, so that no record is set aside to ask about
        deck = Deck(Suite(id=suite.id, tasks={name: suite.task(name)}, pools={name: pools}), name)
        return cls(name, pool, deck, pool.able(of.shots[0]))

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

    def able(self, least: int) -> int | None:
        """Count the classes that have so many records; None where there are no classes."""
        pairs = {*zip(self.labels().tolist(), self.groups().tolist(), strict=True)}
        sizes = Counter(label for label, _ in pairs if label >= 0)
        return sum(size >= least for size in sizes.values()) if sizes else None

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
