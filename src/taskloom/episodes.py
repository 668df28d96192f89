"""Few-shot episodes: a pure function of the examples' content, the sampler and the seed.

Support, validation (`dev`) and query never share a record. With the same seed and the same `reserve`, fewer shots are a
part of more, and the query set is the same. Support is set aside first, so that rare classes keep their shots, then
dev, then query. Where a sampler leaves a share of each class for support, query and dev are dealt first instead.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from .core import Example, Labels, Part, Pool, Suite, Task, declared, parts_of_pools
from .errors import EpisodeError, SuiteError
from .ids import Json, fingerprint
from .label_shots import few_labels, names_of_many, pick_by_label
from .messages import Note
from .prevalence import shared_sizes, unshuffled_fold
from .sampler import ALL, DRAWN, Between, NamedShots, Sampler, Shots, shots_from, shots_order, shots_text
from .stocks import NO_CLASS, Key, Stock

__all__ = [
    "ALL", "DRAWN", "Between", "Deck", "Draw", "Episode", "NamedShots", "Role", "Sampler", "Shots",
    "draw", "draw_id", "draws", "episode", "episodes", "shots_from", "shots_order", "shots_text",
]  # fmt: skip

Role: TypeAlias = Part
Rows: TypeAlias = dict[Role, tuple[int, ...]]
FOLDS = 2  # the version of draws that are folds


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
    sizes: tuple[int, ...] = ()  # support examples of each label; none where the task has none
    chance: float = 1.0  # the probability of these sizes, given the labels
    few: Mapping[str, int] = field(default_factory=dict)  # labels with fewer shots, with their examples


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
        self.stocks = {name: Stock(suite.pools[task][name], kept) for name in dict.fromkeys(self.homes.values())}

    def draw(self, sampler: Sampler, *, seed: int = 0, index: int = 0) -> Draw:
        """Draw one episode."""
        classes, ways = len(_names(self.task)), sampler.ways
        if classes and isinstance(ways, Between) and not ways.has_room(classes):
            raise EpisodeError(Note.of("ways-of-few", task=self.task.id, classes=classes, least=ways.least))
        own = sampler.of_classes(classes)
        return _draw(_Drawing(self.task, self.homes, self.stocks, own, Key(seed, index)))

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
    of, pools = suite.task(task), suite.pools[task]
    own = sampler.of_classes(len(_names(of)))
    return _id(of, _homes(of, pools), pools, own, Key(seed, index), frozenset())


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


@dataclass(frozen=True, slots=True)
class _Drawing:
    """An episode to draw: of what, how, and by which random streams."""

    task: Task
    homes: Mapping[Role, str]
    stocks: Mapping[str, Stock]
    sampler: Sampler
    key: Key

    def stock(self, role: Role) -> Stock:
        return self.stocks[self.homes[role]]

    def shares(self, role: Role) -> bool:
        """Tell whether a set is drawn from the pool that support is."""
        return self.homes[role] == self.homes["support"]

    @property
    def many(self) -> tuple[str, ...]:
        """Give the labels that have shots of their own though an example may have several."""
        return names_of_many(self.task) if self.sampler.per_label else ()

    @property
    def least(self) -> int:
        """Give the examples that a class must have: one to ask about among them, where they share a pool."""
        dev = self.sampler.dev if self.sampler.share and self.shares("dev") else 0
        return self.sampler.needed + dev + self.shares("query")


def _homes(task: Task, pools: Mapping[str, Pool]) -> dict[Role, str]:
    """Say which pool each role draws from."""
    try:
        return parts_of_pools(pools)
    except SuiteError as error:
        raise EpisodeError(Note.of("of-task", task=task.id, reason=error.note)) from None


def _draw(of: _Drawing) -> Draw:
    names, support = _names(of.task), of.stock("support")
    kept, short = _classes(of, names)
    if names and len(kept) < min(2, len(names)):
        raise EpisodeError(_too_few_classes(of, names))
    few = few_labels(of.many, support, of.least)
    if few and of.sampler.short_class == "refuse":
        raise EpisodeError(Note.of("class-too-small", least=of.least, classes=list(few.items())))
    rows, chance = _dealt(of, kept) if of.sampler.share else _set_aside(of, kept)
    pools = {home: stock.pool for home, stock in of.stocks.items()}
    shown = support.labels[list(rows["support"])].tolist()
    return Draw(
        task=of.task.id,
        index=of.key.index,
        id=_id(of.task, of.homes, pools, of.sampler, of.key, support.avoid),
        pools=dict(of.homes),
        rows=rows,
        labels=tuple(names[label] for label in kept),
        short=short,
        least=of.least,
        sizes=tuple(shown.count(label) for label in kept),
        chance=chance,
        few=few,
    )


def _names(task: Task) -> tuple[str, ...]:
    return task.output.names if isinstance(task.output, Labels) and not task.output.many else ()


def _id(
    task: Task, homes: Mapping[Role, str], pools: Mapping[str, Pool], sampler: Sampler, key: Key, avoid: frozenset[int]
) -> str:
    content = [[home, pools[home].digest] for home in homes.values()]
    avoided: Sequence[Json] = sorted(avoid)
    how = declared(sampler) | ({"folds": FOLDS} if sampler.total == "folds" else {})
    names = [*_names(task), *(names_of_many(task) if sampler.per_label else ())]
    return fingerprint("draw", task.id, names, content, how, avoided, key.seed, key.index)


# --- classes ---------------------------------------------------------------------------------------------------------


def _classes(of: _Drawing, names: Sequence[str]) -> tuple[list[int], dict[str, int]]:
    """Choose the classes of an episode among those that have enough examples; name the others, with what they have."""
    support, sampler = of.stock("support"), of.sampler
    short = {name: n for label, name in enumerate(names) if (n := support.count(label)) < of.least}
    if short and sampler.short_class == "refuse":
        raise EpisodeError(Note.of("class-too-small", least=of.least, classes=list(short.items())))
    able = [label for label, name in enumerate(names) if name not in short]
    if sampler.label_order != "shuffled" and not sampler.ways:
        return able, short
    order = of.key.order(support, np.arange(len(names)), "classes")  # of all, so that shots do not change it
    chosen = [label for label in order if names[label] not in short][: _way(of, len(able))]
    return sorted(chosen) if sampler.label_order == "task" else chosen, short


def _way(of: _Drawing, able: int) -> int:
    """Say how many classes take part, of those that are able to."""
    ways, bits = of.sampler.ways, next(of.key.bits(of.stock("support"), "ways"))
    if isinstance(ways, Between):
        first, last = min(ways.least, able), min(ways.most or able, able)
        return first + _chosen(bits, last - first + 1)
    listed = sorted({*ways}) if isinstance(ways, tuple) else [ways]
    fit = [way or able for way in listed if way <= able]
    if not fit:
        raise EpisodeError(Note.of("too-few-ways", ways=listed[0], able=able, least=of.least))
    return fit[_chosen(bits, len(fit))]


def _too_few_classes(of: _Drawing, names: Sequence[str]) -> Note:
    """Say which set too few classes have examples for, and what to do."""
    query = int(of.shares("query"))
    support = of.least - query
    sizes = {name: of.stock("support").count(label) for label, name in enumerate(names)}
    enough = sum(size >= of.least for size in sizes.values())
    is_supported = sum(size >= support for size in sizes.values()) >= min(2, len(names))
    remedy = Note.of("add-test-pool") if is_supported else Note.of("use-fewer-shots")
    return Note.of(
        "too-few-classes", task=of.task.id, least=of.least, support=support, query=query, enough=enough,
        cause="query" if is_supported else "support", remedy=remedy, classes=list(sizes.items()),
    )  # fmt: skip


# --- sizes -----------------------------------------------------------------------------------------------------------


def _drawn_sizes(of: _Drawing, labels: Sequence[int], rooms: Sequence[int]) -> tuple[list[int], float]:
    """Draw the support sizes of classes, each among those that it has room for, or one for all; give their probability.

    Equal sizes can come about in both ways.
    """
    choices, balanced, stock = of.sampler.choices, of.sampler.balanced, of.stock("support")
    able = [max(1, bisect_right(choices, room)) for room in rooms]
    common = min(able)
    coin = of.key.bits(stock, "balanced") if balanced else iter(())
    if balanced and (next(coin) >> 11) * 2.0**-53 < balanced:
        sizes = [choices[_chosen(next(coin), common)]] * len(able)
    else:
        bits = [next(of.key.bits(stock, "shots", label)) for label in labels]
        sizes = [choices[_chosen(each, count)] for each, count in zip(bits, able, strict=True)]
    together = 1 / common if len({*sizes}) == 1 and sizes[0] <= choices[common - 1] else 0.0
    return sizes, balanced * together + (1 - balanced) / math.prod(able)


def _chosen(bits: int, count: int) -> int:
    """Choose one of so many, by 64 random bits."""
    return (bits * count) >> 64


def _query_size(of: _Drawing, labels: Sequence[int]) -> int:
    """Say how many are asked about of each class: equally many, so that each class leaves its share to support.

    Where nothing is ever shown, nothing is left.
    """
    sampler = of.sampler
    counts = [of.stock("query").count(label) for label in labels]
    if of.shares("query"):
        share = sampler.share if sampler.shots or sampler.reserve else 0.0
        counts = [min(math.floor((1 - share) * n), n - (of.least - 1)) for n in counts]
    return max(1, min(counts) if sampler.query == ALL else min(sampler.query, *counts))


def _refuse_few(of: _Drawing, role: Role, found: int, wanted: int) -> None:
    if found < wanted:
        told = {"role": role, "task": of.task.id, "wanted": wanted, "found": found, "size": len(of.stock(role).pool)}
        raise EpisodeError(Note.of("too-few-examples", **told))


# --- query and dev first ---------------------------------------------------------------------------------------------


def _dealt(of: _Drawing, kept: Sequence[int]) -> tuple[Rows, float]:
    """Deal the rows of each class to query, then dev, then support, which alone depends on the shots.

    What is asked about comes in random order, which says nothing of the classes.
    """
    labels = kept or [NO_CLASS]
    sizes, chance = _dealt_sizes(of, labels)
    first = [sum(each) for each in zip(*sizes.values(), strict=True)]
    orders = {
        home: [of.key.dealt(stock, label, count) for label, count in zip(labels, first, strict=True)]
        for home, stock in of.stocks.items()
    }
    used, rows = set(of.stock("support").avoid), Rows()
    for role, each in sizes.items():
        pick = _in_turns if role == "support" else _one_by_one
        rows[role] = tuple(itertools.chain(*pick(of.stock(role), used, orders[of.homes[role]], each)))
        _refuse_few(of, role, len(rows[role]), sum(each))
    query = of.key.mixed(of.stock("query"), rows["query"], "query")
    return {"support": rows["support"], "dev": rows["dev"], "query": tuple(query)}, chance


def _dealt_sizes(of: _Drawing, labels: Sequence[int]) -> tuple[dict[Role, list[int]], float]:
    """Say how many rows of each class are dealt to each set, and how probable the sizes of support are."""
    shots, query, dev = of.sampler.shots, _query_size(of, labels), of.sampler.dev
    taken = query * of.shares("query") + dev * of.shares("dev")
    rooms = [of.stock("support").count(label) - taken for label in labels]
    sizes, chance = rooms if shots == ALL else [0 if shots == DRAWN else shots] * len(labels), 1.0
    if shots == DRAWN:
        sizes, chance = _drawn_sizes(of, labels, rooms)
    return {"query": [query] * len(labels), "dev": [dev] * len(labels), "support": sizes}, chance


def _one_by_one(stock: Stock, used: set[int], orders: Sequence[Iterator[int]], sizes: Sequence[int]) -> list[list[int]]:
    """Pick so many rows of each class, class after class."""
    return [list(stock.unused(used, order, size)) for order, size in zip(orders, sizes, strict=True)]


def _in_turns(stock: Stock, used: set[int], orders: Sequence[Iterator[int]], sizes: Sequence[int]) -> list[list[int]]:
    """Pick so many rows of each class; the classes take turns, so that fewer shots are a part of more."""
    picked: list[list[int]] = [[] for _ in orders]
    going = list(zip(picked, orders, sizes, strict=True))
    for turn in range(1, max(sizes, default=0) + 1):
        for rows, order, size in going:
            if size >= turn:
                rows.extend(stock.unused(used, order, 1))
        going = [one for one in going if len(one[0]) == turn]  # the others are spent, or have enough
        if not going:  # far more may be asked for than there are
            break
    return picked


# --- support first ---------------------------------------------------------------------------------------------------


def _set_aside(of: _Drawing, kept: Sequence[int]) -> tuple[Rows, float]:
    """Set support aside, then draw dev and query of what is left."""
    sampler, support = of.sampler, of.stock("support")
    used = set(support.avoid)
    taken, chance = _taken(of, used, kept)
    asked: dict[Role, int | Literal["all"]] = {"dev": sampler.dev, "query": sampler.query}
    rows = {role: _asked(of, used, role, size, kept) for role, size in asked.items()}
    rows = {"support": tuple(_shown(of, used, taken, kept)), **rows}
    _refuse_few(of, "support", len(rows["support"]), int(sampler.shots == ALL))
    return rows, chance


def _taken(of: _Drawing, used: set[int], kept: Sequence[int]) -> tuple[list[list[int]], float]:
    """Pick what is set aside for support: of each class, or in all."""
    if kept and of.sampler.total == "folds" and of.sampler.shots not in (0, ALL, DRAWN):
        return _folded(of, used, kept), 1.0
    if of.many:
        left = int(of.shares("query"))
        return pick_by_label(of.many, of.stock("support"), used, of.sampler.set_aside, left=left, key=of.key), 1.0
    sizes, chance = _aside_sizes(of, kept)
    taken = (
        _pick_by_class(of, used, "support", sizes, kept)
        if kept
        else [[*_pick_in_all(of, used, "support", sizes[0], kept)]]
    )
    _refuse_few(of, "support", sum(map(len, taken)), sum(sizes))
    return taken, chance


def _folded(of: _Drawing, used: set[int], kept: Sequence[int]) -> list[list[int]]:
    """Take the fold that has the number of the episode, whatever the seed: SciRepEval's released code does so."""
    stock, shots = of.stock("support"), of.sampler.shots
    assert isinstance(shots, int)
    rows = stock.every[np.isin(stock.labels[stock.every], list(kept))]
    folds = -(-len(rows) // shots)
    if of.key.index >= folds or folds < 2:
        raise EpisodeError(Note.of("too-few-folds", task=of.task.id, shots=shots, folds=folds, index=of.key.index))
    found = rows[unshuffled_fold(stock.labels[rows], folds, of.key.index)]
    used |= {int(group) for group in stock.groups[found]}
    return [found[stock.labels[found] == label].tolist() for label in kept]


def _aside_sizes(of: _Drawing, kept: Sequence[int]) -> tuple[list[int], float]:
    """Say how many examples are set aside for support, of each class or in all, and how probable that is."""
    if kept and of.sampler.total and of.sampler.shots != DRAWN:
        return _shared(of, kept, 0 if of.sampler.total == "folds" else of.sampler.set_aside), 1.0
    if of.sampler.shots != DRAWN:
        return [of.sampler.set_aside] * max(1, len(kept)), 1.0
    counts = of.stock("support").counts
    rooms = [counts[label] for label in kept] or [sum(counts.values())]
    return _drawn_sizes(of, kept or [NO_CLASS], [room - of.shares("query") for room in rooms])


def _shared(of: _Drawing, kept: Sequence[int], total: int) -> list[int]:
    """Share so many support examples among classes by their frequencies; one of each is left to ask about."""
    counts = of.stock("support").counts
    return shared_sizes([counts[label] - of.shares("query") for label in kept], total)


def _asked(
    of: _Drawing, used: set[int], role: Role, size: int | Literal["all"], kept: Sequence[int]
) -> tuple[int, ...]:
    """Draw dev or query: so many of each class, or in all."""
    each = of.sampler.per_class and bool(kept)
    most = len(of.stock(role).pool) if size == ALL else size
    found = (
        itertools.chain.from_iterable(_pick_by_class(of, used, role, [most] * len(kept), kept))
        if each
        else _pick_in_all(of, used, role, most, kept)
    )
    rows = tuple(found)
    _refuse_few(of, role, len(rows), 1 if size == ALL else most * len(kept) if each else most)
    return rows


def _shown(of: _Drawing, used: set[int], taken: Sequence[list[int]], kept: Sequence[int]) -> Iterator[int]:
    """Keep the first shots of what was set aside, class after class; or all, with all that nothing else has taken."""
    shots, total = of.sampler.shots, of.sampler.total
    if isinstance(shots, int) and kept and total == "stratified":
        sizes = _shared(of, kept, shots)
        return itertools.chain.from_iterable(rows[:size] for rows, size in zip(taken, sizes, strict=True))
    if isinstance(shots, int) and of.many:
        return itertools.chain.from_iterable(taken[:shots])
    if isinstance(shots, int) and not (kept and total):
        return itertools.chain.from_iterable(rows[:shots] for rows in taken)
    aside = [*itertools.chain.from_iterable(taken)]
    if shots != ALL:
        return iter(aside)
    most = len(of.stock("support").pool)
    if _has_kinds(of, "support", kept):
        return itertools.chain(aside, _pick_alike(of, used, "support", most, aside))
    return itertools.chain(aside, _pick_in_all(of, used, "support", most, kept))


def _pick_by_class(
    of: _Drawing, used: set[int], role: Role, sizes: Sequence[int], kept: Sequence[int]
) -> list[list[int]]:
    """Pick so many rows of each class."""
    stock, none = of.stock(role), np.empty(0, np.int64)
    orders = [of.key.order(stock, stock.by_class.get(label, none), role, label) for label in kept]
    return _in_turns(stock, used, orders, sizes)


def _pick_in_all(of: _Drawing, used: set[int], role: Role, size: int, kept: Sequence[int]) -> Iterator[int]:
    """Pick so many rows, of the classes that take part where there are classes."""
    if _has_kinds(of, role, kept):
        return _pick_alike(of, used, role, size)
    stock, wanted = of.stock(role), set(kept)
    order = of.key.order(stock, None, role)
    return stock.unused(used, (row for row in order if not wanted or int(stock.labels[row]) in wanted), size)


def _has_kinds(of: _Drawing, role: Role, kept: Sequence[int]) -> bool:
    """Tell a pool whose rows are of several kinds though its task has no classes: of two functions that are taught."""
    return not kept and len(of.stock(role).by_class) > 1


def _pick_alike(of: _Drawing, used: set[int], role: Role, size: int, before: Sequence[int] = ()) -> Iterator[int]:
    """Pick equally many rows of each kind, in turns, beside those before; a record may have a row of each kind."""
    stock = of.stock(role)
    others = used - {int(group) for group in stock.groups[list(before)]}
    orders = []
    for label, rows in stock.by_class.items():
        own = others | {int(stock.groups[row]) for row in before if stock.labels[row] == label}
        orders.append(stock.unused(own, of.key.order(stock, rows, role, label), size))
    picked = [*itertools.islice(itertools.chain.from_iterable(zip(*orders, strict=False)), size)]
    used |= {int(group) for group in stock.groups[picked]}
    return iter(picked)
