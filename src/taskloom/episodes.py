"""Few-shot episodes: a pure function of the examples' content, the sampler and the seed.

Support is drawn first, so that rare classes keep their shots; then validation (`dev`), then query. They never share
a record. With the same seed and the same `reserve`, fewer shots are a part of more, and the query set is the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from .core import Example, Ints, Labels, Part, Pool, Suite, Task, declared, parts_of_pools
from .errors import EpisodeError, SuiteError, UnknownNameError, UsageError
from .ids import Json, fingerprint, raw_bits, shuffled
from .messages import Note
from .texts import counted

Role: TypeAlias = Part
ShortClass: TypeAlias = Literal["skip", "refuse"]
NamedShots: TypeAlias = Literal["drawn", "all"]  # drawn for each class, or all that dev and query leave; in their order
Shots: TypeAlias = int | NamedShots
ALL: Literal["all"] = "all"
DRAWN: Literal["drawn"] = "drawn"


def shots_order(shots: Shots) -> tuple[int, int]:
    """Give the key that sorts shots: numbers, then `drawn`, then `all`.

    >>> sorted(["all", 4, "drawn", 0], key=shots_order)
    [0, 4, 'drawn', 'all']
    """
    return (0, shots) if isinstance(shots, int) else (1 + get_args(NamedShots).index(shots), 0)


def shots_text(shots: Shots) -> str:
    """Write shots for people.

    >>> shots_text(1), shots_text(0), shots_text("all")
    ('1 shot', '0 shots', 'all examples')
    """
    return counted(shots, "shot") if isinstance(shots, int) else "all examples" if shots == ALL else f"{shots} shots"


def shots_from(text: str) -> Shots:
    """Read shots as people type them.

    >>> shots_from("4"), shots_from("all")
    (4, 'all')
    """
    named: Mapping[str, NamedShots] = {name: name for name in get_args(NamedShots)}
    if text in named:
        return named[text]
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"shots must be an integer >= 0, {' or '.join(named)}: {text}")
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """How episodes are drawn; what differs from the defaults is its identity."""

    shots: Shots = 1  # for each class where the task has labels, else in all
    reserve: int = 0  # the most shots of a study: so many are set aside, that dev and query stay when shots change
    dev: int = 0
    query: int | Literal["all"] = 32
    per_class: bool = False  # whether dev and query count for each class
    ways: int = 0  # classes drawn for an episode; 0: all
    short_class: ShortClass = "skip"  # what is done with a class that has too few examples
    least: int = 1  # where shots are drawn: the fewest of a class, and the most
    most: int = 5
    version: int = 1

    def __post_init__(self) -> None:
        sizes: list[object] = [self.reserve, self.dev, self.ways, self.least, self.most]
        sizes += [self.shots] if self.shots not in (ALL, DRAWN) else []
        sizes += [self.query] if self.query != ALL else []
        if any(isinstance(size, bool) or not isinstance(size, int) for size in sizes):
            raise EpisodeError(Note.of("sizes-not-whole", sampler=self))
        if any(isinstance(size, int) and size < 0 for size in sizes):
            raise EpisodeError(Note.of("sizes-negative", sampler=self))
        if self.least > self.most:
            raise EpisodeError(Note.of("shots-out-of-order", least=self.least, most=self.most))
        if self.short_class not in get_args(ShortClass):
            raise UnknownNameError("way with short classes", self.short_class, get_args(ShortClass))

    @property
    def set_aside(self) -> int:
        """Give the shots that are set aside before dev and query are drawn: of each class, or in all."""
        return max(self.shots, self.reserve) if isinstance(self.shots, int) else self.reserve


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """An episode as row numbers: small, storable, comparable."""

    task: str
    index: int
    id: str
    pools: Mapping[Role, str]
    rows: Mapping[Role, tuple[int, ...]]
    labels: tuple[str, ...] = ()  # those that take part; none where the task has none
    short: Mapping[str, int] = field(default_factory=dict)  # classes dropped, with the examples they have
    least: int = 0  # examples that a class must have


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A task with its labels narrowed to those drawn, and its three disjoint sets; dev is never scored."""

    id: str
    task: Task
    support: tuple[Example, ...]
    dev: tuple[Example, ...]
    query: tuple[Example, ...]


class Deck:
    """A task that many episodes are drawn of: what drawing needs to know of its pools is read once.

    `avoid` has records (`groups`) that must not be drawn. Meta tasks are drawn so, after their target: no record is
    on both sides.
    """

    def __init__(self, suite: Suite, task: str, avoid: Collection[int] = ()) -> None:
        self.task = suite.task(task)
        self.homes = _homes(self.task, suite.pools[task])
        kept = frozenset(avoid)
        self.stocks = {name: _Stock(suite.pools[task][name], kept) for name in dict.fromkeys(self.homes.values())}

    def draw(self, sampler: Sampler, *, seed: int = 0, index: int = 0) -> Draw:
        """Draw one episode."""
        return _draw(self.task, self.homes, self.stocks, sampler, _Key(seed, index))

    def groups(self, drawn: Draw) -> set[int]:
        """Give the records of a draw, by numbers that are the same in every pool of every task."""
        parts = ((self.stocks[drawn.pools[role]].groups, rows) for role, rows in drawn.rows.items())
        return {int(group) for groups, rows in parts for group in groups[list(rows)]}


def draws(suite: Suite, task: str, sampler: Sampler, *, seed: int = 0, count: int = 1) -> Iterator[Draw]:
    """Draw episodes 0 .. count-1 of a task; each depends on its number, not on those before it."""
    deck = Deck(suite, task)
    return (deck.draw(sampler, seed=seed, index=index) for index in range(count))


def draw(
    suite: Suite, task: str, sampler: Sampler, *, seed: int = 0, index: int = 0, avoid: Collection[int] = ()
) -> Draw:
    """Draw one episode of a task, without the records that another draw has."""
    return Deck(suite, task, avoid).draw(sampler, seed=seed, index=index)


def draw_id(suite: Suite, task: str, sampler: Sampler, *, seed: int = 0, index: int = 0) -> str:
    """Name a draw without making it: no example is read."""
    pools = suite.pools[suite.task(task).id]
    homes = _homes(suite.tasks[task], pools)
    return _id(suite.tasks[task], homes, pools, sampler, _Key(seed, index), frozenset())


def episode(suite: Suite, drawn: Draw) -> Episode:
    """Read the examples of a draw."""
    task = suite.task(drawn.task)
    read: dict[Role, tuple[Example, ...]] = {}
    for home in dict.fromkeys(drawn.pools.values()):  # each pool once
        roles = [role for role, pool in drawn.pools.items() if pool == home]
        examples = iter(suite.pools[task.id][home].take([row for role in roles for row in drawn.rows[role]]))
        read |= {role: tuple(itertools.islice(examples, len(drawn.rows[role]))) for role in roles}
    return Episode(id=drawn.id, task=task.narrowed(drawn.labels) if drawn.labels else task, **read)


def episodes(suite: Suite, task: str, sampler: Sampler, *, seed: int = 0, count: int = 1) -> Iterator[Episode]:
    """Draw episodes of a task and read their examples."""
    return (episode(suite, drawn) for drawn in draws(suite, task, sampler, seed=seed, count=count))


@dataclass(frozen=True)
class _Stock:
    """What drawing needs to know of a pool, read once for many episodes."""

    pool: Pool
    avoid: frozenset[int]

    @cached_property
    def labels(self) -> Ints:
        return self.pool.labels()

    @cached_property
    def groups(self) -> Ints:
        return self.pool.groups()

    @cached_property
    def by_class(self) -> Mapping[int, Ints]:
        order = np.argsort(self.labels, kind="stable")
        if self.avoid:
            order = order[~np.isin(self.groups[order], list(self.avoid))]
        codes, starts = np.unique(self.labels[order], return_index=True)
        parts = np.split(order, starts[1:])  # of nothing, one empty part
        return dict(zip(codes.tolist(), parts, strict=False))

    @cached_property
    def counts(self) -> Mapping[int, int]:
        """Count the records of each class: two examples of one record are one."""
        return {label: len(np.unique(self.groups[rows])) for label, rows in self.by_class.items()}


@dataclass(frozen=True, slots=True)
class _Key:
    """What the random streams of one episode are named by; the shots are no part of it, so that they nest."""

    seed: int
    index: int

    def order(self, stock: _Stock, rows: Ints | None, role: str, label: int = -1) -> Iterator[int]:
        """Give rows, or all there are, in the random order of a role and a class."""
        size = len(stock.pool) if rows is None else len(rows)
        places = shuffled(size, "episode", stock.pool.digest, self.seed, self.index, role, label)
        return places if rows is None else (int(rows[place]) for place in places)


def _homes(task: Task, pools: Mapping[str, Pool]) -> dict[Role, str]:
    """Say which pool each role draws from."""
    try:
        return parts_of_pools(pools)
    except SuiteError as error:
        raise EpisodeError(Note.of("of-task", task=task.id, reason=error.note)) from None


def _draw(task: Task, homes: Mapping[Role, str], stocks: Mapping[str, _Stock], sampler: Sampler, key: _Key) -> Draw:
    names = _names(task)
    shared = homes["query"] == homes["support"]
    needed = sampler.least if sampler.shots == DRAWN else sampler.set_aside
    least = needed + shared  # one to ask about, where it comes from the same pool
    support = stocks[homes["support"]]
    kept, short = _classes(names, support, sampler, least, key)
    if names and len(kept) < min(2, len(names)):
        raise EpisodeError(_too_few_classes(task, support, needed, query=int(shared)))
    sizes = _support_sizes(support, sampler, key, kept, shared=shared)
    used = set(support.avoid)
    taken = (
        _pick_by_class(support, used, key, "support", sizes, kept)
        if kept
        else [list(_pick_in_all(support, used, key, "support", sizes[0], kept))]
    )
    _refuse_few(task, "support", sum(map(len, taken)), sum(sizes), len(support.pool))
    rows: dict[Role, tuple[int, ...]] = {}
    for role, size in _asked_sizes(sampler).items():
        stock, each = stocks[homes[role]], sampler.per_class and bool(kept)
        most = len(stock.pool) if size == ALL else size
        found = (
            itertools.chain.from_iterable(_pick_by_class(stock, used, key, role, [most] * len(kept), kept))
            if each
            else _pick_in_all(stock, used, key, role, most, kept)
        )
        rows[role] = tuple(found)
        wanted = 1 if size == ALL else most * len(kept) if each else most
        _refuse_few(task, role, len(rows[role]), wanted, len(stock.pool))
    rows = {"support": tuple(_support(support, used, key, taken, sampler, kept)), **rows}
    _refuse_few(task, "support", len(rows["support"]), int(sampler.shots == ALL), len(support.pool))
    pools = {home: stock.pool for home, stock in stocks.items()}
    id_ = _id(task, homes, pools, sampler, key, stocks[homes["support"]].avoid)
    labels = tuple(names[label] for label in kept)
    return Draw(
        task=task.id, index=key.index, id=id_, pools=dict(homes), rows=rows, labels=labels, short=short, least=least
    )


def _too_few_classes(task: Task, stock: _Stock, support: int, *, query: int) -> Note:
    """Say which set too few classes have examples for, and what to do."""
    names = _names(task)
    sizes = {name: stock.counts.get(label, 0) for label, name in enumerate(names)}
    enough = sum(size >= support + query for size in sizes.values())
    is_supported = sum(size >= support for size in sizes.values()) >= min(2, len(names))
    remedy = Note.of("add-test-pool") if is_supported else Note.of("use-fewer-shots")
    return Note.of(
        "too-few-classes", task=task.id, least=support + query, support=support, query=query, enough=enough,
        cause="query" if is_supported else "support", remedy=remedy, classes=list(sizes.items()),
    )  # fmt: skip


def _names(task: Task) -> tuple[str, ...]:
    return task.output.names if isinstance(task.output, Labels) and not task.output.many else ()


def _id(
    task: Task,
    homes: Mapping[Role, str],
    pools: Mapping[str, Pool],
    sampler: Sampler,
    key: _Key,
    avoid: frozenset[int],
) -> str:
    content = [[home, pools[home].digest] for home in homes.values()]
    avoided: Sequence[Json] = sorted(avoid)
    return fingerprint("draw", task.id, list(_names(task)), content, declared(sampler), avoided, key.seed, key.index)


def _asked_sizes(sampler: Sampler) -> dict[Role, int | Literal["all"]]:
    return {"dev": sampler.dev, "query": sampler.query}


def _support_sizes(stock: _Stock, sampler: Sampler, key: _Key, kept: Sequence[int], *, shared: bool) -> list[int]:
    """Say how many examples are set aside for support: of each class, or in all; drawn numbers by bits of their own."""
    if sampler.shots != DRAWN:
        return [sampler.set_aside] * max(1, len(kept))
    sizes = []
    for label in kept or (-1,):
        most = min(sampler.most, (stock.counts[label] if kept else sum(stock.counts.values())) - shared)
        bits = next(raw_bits("shots", stock.pool.digest, key.seed, key.index, label))
        sizes.append(sampler.least + ((bits * max(1, most - sampler.least + 1)) >> 64))
    return sizes


def _support(
    stock: _Stock, used: set[int], key: _Key, taken: Sequence[list[int]], sampler: Sampler, kept: Sequence[int]
) -> Iterator[int]:
    """Keep the first shots of what was set aside, class after class; or all, with all that nothing else has taken."""
    if isinstance(sampler.shots, int):
        return itertools.chain.from_iterable(rows[: sampler.shots] for rows in taken)
    aside = itertools.chain.from_iterable(taken)
    if sampler.shots == DRAWN:
        return aside
    return itertools.chain(aside, _pick_in_all(stock, used, key, "support", len(stock.pool), kept))


def _refuse_few(task: Task, role: Role, found: int, wanted: int, size: int) -> None:
    if found < wanted:
        raise EpisodeError(Note.of("too-few-examples", role=role, task=task.id, wanted=wanted, found=found, size=size))


def _classes(
    names: Sequence[str], stock: _Stock, sampler: Sampler, least: int, key: _Key
) -> tuple[list[int], dict[str, int]]:
    """Choose the classes of an episode among those that have the least number of examples."""
    short = {name: n for label, name in enumerate(names) if (n := stock.counts.get(label, 0)) < least}
    if short and sampler.short_class == "refuse":
        raise EpisodeError(Note.of("class-too-small", least=least, classes=list(short.items())))
    if not sampler.ways:
        return [label for label, name in enumerate(names) if name not in short], short
    if len(names) - len(short) < sampler.ways:
        raise EpisodeError(Note.of("too-few-ways", ways=sampler.ways, able=len(names) - len(short), least=least))
    order = key.order(stock, np.arange(len(names)), "classes")  # of all, so that shots do not change it
    return [label for label in order if names[label] not in short][: sampler.ways], short


def _pick_by_class(
    stock: _Stock, used: set[int], key: _Key, role: Role, sizes: Sequence[int], kept: Sequence[int]
) -> list[list[int]]:
    """Pick so many rows of each class; the classes take turns, so that fewer shots are a part of more."""
    none = np.empty(0, np.int64)
    orders = [key.order(stock, stock.by_class.get(label, none), role, label) for label in kept]
    picked: list[list[int]] = [[] for _ in orders]
    going = list(zip(picked, orders, sizes, strict=True))
    for turn in range(1, max(sizes, default=0) + 1):
        for rows, order, size in going:
            if size >= turn:
                rows.extend(_unused(stock, used, order, 1))
        going = [one for one in going if len(one[0]) == turn]  # the others are spent, or have enough
    return picked


def _pick_in_all(stock: _Stock, used: set[int], key: _Key, role: Role, size: int, kept: Sequence[int]) -> Iterator[int]:
    """Pick so many rows, of the classes that take part where there are classes."""
    wanted = set(kept)
    order = key.order(stock, None, role)
    return _unused(stock, used, (row for row in order if not wanted or int(stock.labels[row]) in wanted), size)


def _unused(stock: _Stock, used: set[int], order: Iterator[int], size: int) -> Iterator[int]:
    """Yield so many rows whose records are not used yet, and use them up."""
    while size and (row := next(order, None)) is not None:
        if (group := int(stock.groups[row])) not in used:
            used.add(group)
            size -= 1
            yield row
