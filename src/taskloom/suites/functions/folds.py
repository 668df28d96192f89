"""A fold of compositions that are held out: what they are made of may be learnt, how it is put together may not."""

from __future__ import annotations

from collections.abc import Mapping

from ...core import Folds, Task
from ...ids import fingerprint

COMPOSITIONS = "compositions"
SHARE = 0.2  # of compositions that are held out


def held_out(tasks: Mapping[str, Task], seed: int = 0) -> Folds:
    """Hold out some compositions, each with its versions for sequences; atoms and other compositions are for training.

    Permuted answers, and two functions at once, have no role: they are no compositions.
    A held-out task whose atoms are not all tasks of their own is excluded: nothing would teach what it is made of.
    """
    roles: dict[str, list[str]] = {"train": [], "test": [], "excluded": []}
    for name, task in tasks.items():
        if _is_version(task):
            continue
        is_test = "composition" in task.tags and _chance(_novelty(task), seed) < SHARE
        known = all(atom in tasks for atom in task.tags.get("atoms", ()))
        roles["train" if not is_test else "test" if known else "excluded"].append(name)
    kept = {role: tuple(names) for role, names in roles.items() if names}
    return {COMPOSITIONS: kept} if {"train", "test"} <= kept.keys() else {}


def _is_version(task: Task) -> bool:
    """Tell a function whose answers are permuted, also in a map, and two functions at once."""
    made_of = (task.id, *task.tags.get("parts", ()))
    return any(name.startswith(("permuted{", "match(")) for name in made_of)


def _novelty(task: Task) -> str:
    """Name what is new in a composition: of a map or filter of a composition, that composition."""
    parts = task.tags.get("parts", ())
    is_alone = "sequence" in task.tags.get("level", ()) and len(parts) == 1
    return parts[0] if is_alone and parts[0] not in task.tags.get("atoms", ()) else task.id


def _chance(name: str, seed: int) -> float:
    return int(fingerprint("held-out", seed, name)[:8], 16) / (1 << 32)
