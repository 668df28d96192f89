"""Few shots of each label where an example may have several: it counts for all that it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from .core import Labels, Task
from .errors import EpisodeError
from .messages import Note
from .stocks import Key, Stock


def names_of_many(task: Task) -> tuple[str, ...]:
    """Give the labels of a task whose examples may have several; none of any other task."""
    return task.output.names if isinstance(task.output, Labels) and task.output.many else ()


def few_labels(names: Sequence[str], stock: Stock, least: int) -> dict[str, int]:
    """Name the labels with fewer records than are needed, with those that they have."""
    return {name: count for name in names if (count := stock.count_named(name)) < least}


def pick_by_label(
    names: Sequence[str], stock: Stock, used: set[int], shots: int, *, left: int, key: Key
) -> list[list[int]]:
    """Pick rows until each label has so many; give those of each turn.

    Labels take turns, and one that others have brought along waits, so that fewer shots are a part of more. A label
    with few records leaves some of them.
    """
    orders = [key.order(stock, stock.by_name.get(name, stock.none), "support", at) for at, name in enumerate(names)]
    most = {name: min(shots, stock.count_named(name) - left) for name in names}
    counts: Counter[str] = Counter()
    turns: list[list[int]] = [[] for _ in range(shots)]
    for turn, own in enumerate(turns, start=1):
        for name, order in zip(names, orders, strict=True):
            if counts[name] < min(turn, most[name]):
                picked = [*stock.unused(used, order, 1)]
                own.extend(picked)
                counts.update(label for row in picked for label in stock.named[row])
    _refuse_fewer(counts, most, shots)
    return turns


def _refuse_fewer(counts: Mapping[str, int], most: Mapping[str, int], shots: int) -> None:
    """Refuse a draw that lacks examples since their records were picked for other labels."""
    if lacking := [(name, counts[name]) for name, wanted in most.items() if counts[name] < wanted]:
        raise EpisodeError(Note.of("class-too-small", least=shots, classes=lacking))
