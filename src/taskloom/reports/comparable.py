"""What learners have in common: a ranking is only over the tasks, episodes and items that all ranked learners have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ..messages import Note
from .draws import Drawn, Place

Ground: TypeAlias = frozenset[tuple[Place, tuple[str, ...]]]  # episodes, each with the items that were asked in it


def ground_of(drawn: Drawn) -> Ground:
    """Give the episodes that a learner has answered, of the tasks in which it has a score."""
    return frozenset((place, a.items) for e in drawn.values() if e.valued for place, a in e.answers.items())


def everything(grounds: Mapping[str, Ground]) -> Ground:
    """Give all episodes that any learner has answered."""
    return frozenset().union(*grounds.values())


def common(grounds: Mapping[str, Ground]) -> Ground:
    """Give the episodes that all learners have; where there are none, learners with the fewest are dropped first.

    >>> one, two = (("t", 0, 0, 0), ("x",)), (("u", 0, 0, 0), ("x",))
    >>> common({"a": frozenset({one, two}), "b": frozenset({one})}) == {one}
    True
    """
    names = sorted(grounds, key=lambda name: (-len(grounds[name]), name))
    while names:
        if found := frozenset.intersection(*(grounds[name] for name in names)):
            return found
        names.pop()
    return frozenset()


def missing(ours: Ground, wanted: Ground) -> Note | None:
    """Say how many of the wanted tasks and episodes a learner has; nothing if it has all."""
    found = ours & wanted
    if found == wanted:
        return None
    tasks, of = (len({place[0] for place, _ in ground}) for ground in (found, wanted))
    return Note.of("incomplete", tasks=tasks, of=of, episodes=len(found), of_episodes=len(wanted))
