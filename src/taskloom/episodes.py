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

from .core import Example, Ints, Labels, Pool, Suite, Task, declared
from .errors import EpisodeError, UnknownNameError, UsageError
from .ids import Json, fingerprint, shuffled
from .texts import counted

Role: TypeAlias = Literal["support", "dev", "query"]
NamedShots: TypeAlias = Literal["drawn", "all"]  # as many as the sampler draws, or full data; in their order
Shots: TypeAlias = int | NamedShots
ShortClass: TypeAlias = Literal["skip", "refuse"]
ALL = -1  # a query set of all that the others leave
HOMES: Mapping[Role, str] = {"support": "train", "dev": "dev", "query": "test"}  # else all come from the only pool


def shots_order(shots: Shots) -> tuple[int, int]:
    """Give the key that sorts shots: numbers, then `drawn`, then `all`.

    >>> sorted(["all", 4, "drawn", 0], key=shots_order)
    [0, 4, 'drawn', 'all']
    """
    return (0, shots) if isinstance(shots, int) else (1 + get_args(NamedShots).index(shots), 0)


def shots_text(shots: Shots) -> str:
    """Write shots for people.

    >>> shots_text(1), shots_text(0), shots_text("all")
    ('1 shot', '0 shots', 'all shots')
    """
    return counted(shots, "shot") if isinstance(shots, int) else f"{shots} shots"


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

    shots: int = 1  # for each class where the task has labels, else in all
    reserve: int = 0  # the most shots of a study: so many are set aside, that dev and query stay when shots change
    dev: int = 64
    query: int = 64  # or ALL
    per_class: bool = False  # whether dev and query count for each class
    ways: int = 0  # classes drawn for an episode; 0: all
    short_class: ShortClass = "skip"  # what is done with a class that has too few examples
    version: int = 1

    def __post_init__(self) -> None:
        sizes = (self.shots, self.reserve, self.dev, self.query, self.ways)
        if any(isinstance(size, bool) or not isinstance(size, int) for size in sizes):
            raise EpisodeError(f"sizes must be whole numbers: {self}")
        if min(self.shots, self.reserve, self.dev, self.ways) < 0 or self.query < ALL:
            raise EpisodeError(f"sizes can't be negative: {self}")
        if self.short_class not in get_args(ShortClass):
            raise UnknownNameError("way with short classes", self.short_class, get_args(ShortClass))


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """An episode as row numbers: small, storable, comparable."""

    task: str
    index: int
    id: str
    pools: Mapping[Role, str]
    rows: Mapping[Role, tuple[int, ...]]
    labels: tuple[str, ...] = ()  # those that take part; none where the task has none
    short: Mapping[str, int] = field(default_factory=dict)  # classes left out, with the examples they had


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

    `avoid` has records (`groups_of`) that must not be drawn. Meta tasks are drawn so, after their target: no record is
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


def groups_of(suite: Suite, drawn: Draw) -> set[int]:
    """Give the records of a draw, by numbers that are the same in every pool of every task."""
    pools = suite.pools[drawn.task]
    return {int(group) for role, rows in drawn.rows.items() for group in pools[drawn.pools[role]].groups()[list(rows)]}


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
    if len(pools) == 1:
        (only,) = pools
        return dict.fromkeys(HOMES, only)
    if missing := [name for name in (HOMES["support"], HOMES["query"]) if name not in pools]:
        raise EpisodeError(f"task {task.id!r} has the pools {', '.join(pools)}, and lacks {', '.join(missing)}")
    if odd := [name for name in pools if name not in HOMES.values()]:
        raise EpisodeError(f"task {task.id!r} has pools that no set is drawn from: {', '.join(odd)}")
    return {role: name if name in pools else HOMES["support"] for role, name in HOMES.items()}


def _draw(task: Task, homes: Mapping[Role, str], stocks: Mapping[str, _Stock], sampler: Sampler, key: _Key) -> Draw:
    names = _names(task)
    shots = max(sampler.shots, sampler.reserve)
    least = shots + (homes["query"] == homes["support"])  # one to ask about, where it comes from the same pool
    kept, short = _classes(names, stocks[homes["support"]], sampler, least, key)
    if names and len(kept) < min(2, len(names)):
        some = f"only {names[kept[0]]!r}" if kept else "no class"
        raise EpisodeError(f"{some} of task {task.id!r} has {least} examples or more: there is nothing to choose from")
    each = sampler.per_class and bool(kept)
    sizes: dict[Role, tuple[int, bool]] = {
        "support": (shots, bool(kept)),
        "dev": (sampler.dev, each),
        "query": (sampler.query, each),
    }
    used = set(stocks[homes["support"]].avoid)
    rows: dict[Role, tuple[int, ...]] = {}
    for role, (size, by_class) in sizes.items():
        stock = stocks[homes[role]]
        pick = _pick_by_class if by_class else _pick_in_all
        rows[role] = tuple(pick(stock, used, key, role, len(stock.pool) if size == ALL else size, kept))
        wanted = 1 if size == ALL else size * len(kept) if by_class else size
        _refuse_few(task, role, len(rows[role]), wanted, len(stock.pool))
    rows["support"] = _first_shots(rows["support"], sampler.shots, shots)
    pools = {home: stock.pool for home, stock in stocks.items()}
    id_ = _id(task, homes, pools, sampler, key, stocks[homes["support"]].avoid)
    labels = tuple(names[label] for label in kept)
    return Draw(task=task.id, index=key.index, id=id_, pools=dict(homes), rows=rows, labels=labels, short=short)


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


def _first_shots(rows: tuple[int, ...], shots: int, of: int) -> tuple[int, ...]:
    """Keep the first so many of each class's rows, which stand one class after the other."""
    return tuple(row for place, row in enumerate(rows) if place % of < shots) if shots < of else rows


def _refuse_few(task: Task, role: Role, found: int, wanted: int, size: int) -> None:
    if found < wanted:
        raise EpisodeError(
            f"too few examples for the {role} set of task {task.id!r}: {wanted} wanted, {found} left of {size}; "
            "make the sets smaller"
        )


def _classes(
    names: Sequence[str], stock: _Stock, sampler: Sampler, least: int, key: _Key
) -> tuple[list[int], dict[str, int]]:
    """Choose the classes of an episode among those that have the least number of examples."""
    short = {name: n for label, name in enumerate(names) if (n := stock.counts.get(label, 0)) < least}
    if short and sampler.short_class == "refuse":
        raise EpisodeError(f"classes with fewer than {least} examples: {short}")
    if not sampler.ways:
        return [label for label, name in enumerate(names) if name not in short], short
    if len(names) - len(short) < sampler.ways:
        raise EpisodeError(f"{sampler.ways} classes wanted, {len(names) - len(short)} have {least} examples or more")
    order = key.order(stock, np.arange(len(names)), "classes")  # of all, so that shots do not change it
    return [label for label in order if names[label] not in short][: sampler.ways], short


def _pick_by_class(
    stock: _Stock, used: set[int], key: _Key, role: Role, size: int, kept: Sequence[int]
) -> Iterator[int]:
    """Pick so many rows of each class; the classes take turns, so that fewer shots are a part of more."""
    none = np.empty(0, np.int64)
    orders = [key.order(stock, stock.by_class.get(label, none), role, label) for label in kept]
    picked: list[list[int]] = [[] for _ in orders]
    going = list(zip(picked, orders, strict=True))
    for turn in range(1, size + 1):
        for rows, order in going:
            rows.extend(_unused(stock, used, order, 1))
        going = [(rows, order) for rows, order in going if len(rows) == turn]  # the others are spent
    return itertools.chain.from_iterable(picked)


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
