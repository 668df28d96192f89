"""Training tasks that would give test tasks away: of the same source, or with texts in common; left out, and told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..core import Suite
from ..ids import Json
from ..texts import SHINGLE_CHARACTERS, SHINGLE_WORDS, counted, overlaps

COMPARED = 100  # examples of each task whose texts are compared
LEAKAGE = "leakage"  # in a suite's `about`: the certificate


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
    """Leave training tasks out of folds that would give a test task away, and keep a certificate of that."""
    folds: dict[str, Mapping[str, tuple[str, ...]]] = {}
    told: list[Json] = []
    for fold, roles in suite.folds.items():
        folds[fold] = roles
        if roles.get("meta") and roles.get("target"):
            leaks = find(suite, fold, roles["meta"], roles["target"])
            bad = {leak.task for leak in leaks}
            folds[fold] = {**roles, "meta": tuple(name for name in roles["meta"] if name not in bad)}
            told += [_certified(fold, roles, len(leaks)), *map(str, leaks)]
    return replace(suite, folds=folds, about={**suite.about, LEAKAGE: told}) if told else suite


def _certified(fold: str, roles: Mapping[str, Sequence[str]], count: int) -> str:
    compared = f"{counted(len(roles['meta']), 'training task')} and {counted(len(roles['target']), 'test task')}"
    how = f"by source, and by the texts of their first {COMPARED} examples (half of one in another, by runs of "
    runs = f"{SHINGLE_WORDS} words or {SHINGLE_CHARACTERS} characters)"
    return f"{fold}: {compared} were compared {how}{runs}: {count or 'none'} left out"


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
