"""Training tasks that would give test tasks away: of the same source, or with texts in common; left out, and told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core import Folds, Suite
from ..ids import Json
from ..texts import overlaps

COMPARED = 100  # examples of each task whose texts are compared
LEFT_OUT = "left_out_of_training"  # in a suite's `about`


@dataclass(frozen=True, slots=True)
class Leak:
    """A training task, the test task that it shares something with, and what."""

    fold: str
    task: str
    other: str
    why: str

    def __str__(self) -> str:
        return f"{self.fold}: {self.task} is not trained on, for {self.why} {self.other}"


def without_leaks(suite: Suite) -> Suite:
    """Leave training tasks out of folds that would give a test task away, and keep the list of them."""
    folds: dict[str, dict[str, tuple[str, ...]]] = {}
    found: list[Leak] = []
    for fold, roles in suite.folds.items():
        leaks = find(suite, fold, roles.get("meta", ()), roles.get("target", ()))
        bad = {leak.task for leak in leaks}
        folds[fold] = {**roles, "meta": tuple(name for name in roles.get("meta", ()) if name not in bad)}
        folds[fold] = {role: names for role, names in folds[fold].items() if role in roles}
        found += leaks
    told: list[Json] = [str(leak) for leak in found]
    kept: Folds = folds
    return replace(suite, folds=kept, about={**suite.about, LEFT_OUT: told}) if found else suite


def find(suite: Suite, fold: str, training: Sequence[str], test: Sequence[str]) -> list[Leak]:
    """Find the training tasks that share a source or half of a text with a test task; each is named once."""
    by_source = {source: name for name in test for source in suite.tasks[name].tags.get("source", ())}
    found: dict[str, Leak] = {}
    for name in training:
        for source in suite.tasks[name].tags.get("source", ()):
            if source in by_source and name not in found:
                found[name] = Leak(fold, name, by_source[source], f"source {source!r} is also that of")
    left = [name for name in training if name not in found]
    (our_names, ours), (their_names, theirs) = _texts(suite, test), _texts(suite, left)
    for our_row, their_row, share in overlaps(ours, theirs):
        name = their_names[their_row]
        found.setdefault(name, Leak(fold, name, our_names[our_row], f"{share:.0%} of a text is in"))
    return [found[name] for name in training if name in found]


def _texts(suite: Suite, tasks: Sequence[str]) -> tuple[list[str], list[str]]:
    names, texts = [], []
    for name in tasks:
        pools = suite.pools[name]
        pool = pools["test"] if "test" in pools else next(iter(pools.values()))
        for example in pool.take(range(min(COMPARED, len(pool)))):
            names.append(name)
            texts.append(" ".join(example.item.fields.values()))
    return names, texts
