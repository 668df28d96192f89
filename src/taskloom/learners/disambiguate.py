"""Whose is whose: the elements of a block, such as papers signed alike, are clustered by how alike each two are.

As in S2AND (Subramanian et al., 2021), a model says of each two signatures how likely they are of one author, and
agglomerative clustering with average linkage joins them. Simplified: the model is a logistic regression, on the cosine
of the vectors and, of each further field at hand (names, affiliations, coauthors, venue, year), on how much two have
in common; S2AND has boosted trees and features made for its fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core import Answer, Example, Item, store_of
from ..models import Array
from ..scores.match import BCubed
from ..texts import tokens
from .baselines import golds_of
from .fitting import fit_counted
from .near import grades
from .vector_reader import VectorReader

TEXTS = ("title", "abstract")  # what vectors are made of, where signatures have them
PAIRS = 100_000  # that the model is fitted to, at most
CUTS = tuple(round(0.05 * step, 2) for step in range(1, 20))  # distances, above which clusters stay apart


@dataclass(frozen=True, slots=True)
class Block:
    """The elements of an item: how alike each two are, by vectors and by each field that is known of both."""

    cosines: Array  # (n, n)
    common: Mapping[str, tuple[Array, Array]]  # field -> how much is in common, and whether both have it: (n, n) each

    def features(self, fields: Sequence[str]) -> Array:
        """Give the features of each pair, the upper triangle row by row: (pairs, 1 + 2 fields)."""
        upper, nothing = np.triu_indices(len(self.cosines), 1), np.zeros_like(self.cosines)
        each = [part for field in fields for part in self.common.get(field, (nothing, nothing))]
        return np.column_stack([matrix[upper] for matrix in (self.cosines, *each)])


@dataclass(frozen=True, slots=True)
class ClusterPredictor:
    """Clusters the candidates of items."""

    reader: VectorReader
    fields: tuple[str, ...]
    model: Any  # of scikit-learn; None: the cosine alone
    cut: float = 0.5

    def predict(self, items: Sequence[Item]) -> list[Answer | None]:
        """Name the cluster of each candidate."""
        return [clusters(self.distances(block), self.cut) or None for block in blocks_of(self.reader, items)]

    def distances(self, block: Block) -> Array:
        """Say how unlikely each two elements are the same: (n, n)."""
        n = len(block.cosines)
        found, features = np.zeros((n, n)), block.features(self.fields)
        if len(features):
            same = self.model.predict_proba(features)[:, 1] if self.model else (1 + features[:, 0]) / 2
            found[np.triu_indices(n, 1)] = 1 - same
        found += found.T
        return found


def fit_clusters(reader: VectorReader, support: Sequence[Example], dev: Sequence[Example]) -> ClusterPredictor:
    """Fit the model to pairs of the support, and choose where clusters stay apart on dev, or else on the support."""
    reader = reader if reader.fields else replace(reader, fields=TEXTS)
    blocks = blocks_of(reader, [example.item for example in support])
    fields = tuple(sorted({field for block in blocks for field in block.common}))
    features = np.concatenate([block.features(fields) for block in blocks])
    targets = np.concatenate([_same(gold) for gold in golds_of(reader.task, support)])
    made = ClusterPredictor(reader, fields, _fitted(reader, features, targets))
    held = list(dev or support)
    asked = blocks_of(reader, [example.item for example in held]) if dev else blocks
    found = [made.distances(block) for block in asked]
    scores = [_b_cubed(held, [clusters(one, cut) for one in found]) for cut in CUTS]
    return replace(made, cut=CUTS[int(np.argmax(np.round(scores, 9)))])


def _fitted(reader: VectorReader, features: Array, targets: Array) -> Any:
    from sklearn.linear_model import LogisticRegression

    if len({*targets.tolist()}) < 2:
        reader.tools.count("one-answer")
        return None
    chosen = np.unique(np.linspace(0, len(targets) - 1, min(PAIRS, len(targets))).astype(int))
    model = LogisticRegression(max_iter=10_000)
    if failed := fit_counted(model, features[chosen], targets[chosen].tolist()):
        reader.tools.count("not-converged", failed)
    return model


def blocks_of(reader: VectorReader, items: Sequence[Item]) -> list[Block]:
    """Compare the candidates of each item with each other."""
    ids = list(dict.fromkeys(id_ for item in items for id_ in item.candidates))
    vectors, members = reader.candidates(ids)
    standing = dict(zip(ids, members, strict=True))
    store = store_of(reader.task.output)
    fields = {one.id: one.fields for one in reader.tools.stored(store, ids)} if store else {}
    found = []
    for item in items:
        rows = [vectors.rows(standing[id_] or [id_]).mean(0) for id_ in item.candidates]
        own = np.array(rows).reshape(len(rows), -1)
        known = [_metadata(fields.get(id_, {}), reader.fields) for id_ in item.candidates]
        names = sorted({name for one in known for name in one})
        common = {name: in_common([one.get(name, "") for one in known]) for name in names}
        found.append(Block(grades(own, own, "cosine").astype(np.float64), common))
    return found


def _metadata(fields: Mapping[str, str], read: Sequence[str]) -> dict[str, str]:
    return {name: text for name, text in fields.items() if name not in read and text.strip()}


def in_common(values: Sequence[str]) -> tuple[Array, Array]:
    """Say of each two values how much they share, and whether both are known: (n, n) each.

    Of numbers, 1 / (1 + difference); of texts, the share of words that both have (Jaccard's).

    >>> in_common(["Owl Elm", "elm", ""])[0].tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]]
    >>> in_common(["2001", "2004"])[0].tolist()
    [[1.0, 0.25], [0.25, 1.0]]
    """
    there = np.array([bool(value.strip()) for value in values])
    known = np.outer(there, there).astype(np.float64)
    numbers = [_number(value) for value in values]
    if all(number is not None for number, given in zip(numbers, there.tolist(), strict=True) if given):
        line = np.array([number or 0.0 for number in numbers])
        return known / (1 + np.abs(line[:, None] - line)), known
    sets = [frozenset(tokens(value.lower())) for value in values]
    words = {word: at for at, word in enumerate(sorted(frozenset().union(*sets)))}
    marks = np.zeros((len(sets), len(words)), dtype=np.float32)
    for row, own in enumerate(sets):
        marks[row, [words[word] for word in own]] = 1
    both, sizes = (marks @ marks.T).astype(np.float64), marks.sum(1)
    return known * both / np.maximum(sizes[:, None] + sizes - both, 1), known


def _number(value: str) -> float | None:
    return float(value) if value.strip().isdecimal() and len(value) < 16 else None


def clusters(distances: Array, cut: float) -> tuple[str, ...]:
    """Join elements by average linkage as long as they are no farther apart than this, and number the clusters.

    >>> clusters(np.array([[0.0, 0.9, 0.1], [0.9, 0.0, 0.8], [0.1, 0.8, 0.0]]), 0.5)
    ('1', '2', '1')
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(distances) < 2:
        return ("1",) * len(distances)
    joined = linkage(squareform(distances, checks=False), "average")
    found = fcluster(joined, cut, "distance").tolist()
    order = {cluster: str(n) for n, cluster in enumerate(dict.fromkeys(found), 1)}
    return tuple(order[cluster] for cluster in found)


def _same(gold: Sequence[str]) -> Array:
    """Say of each pair whether it is of one cluster, as `Block.features` has pairs."""
    named = np.array(gold)
    return np.asarray(named[:, None] == named, dtype=int)[np.triu_indices(len(named), 1)]


def _b_cubed(held: Sequence[Example], answers: Sequence[tuple[str, ...]]) -> float:
    metric = BCubed()
    units = [metric.unit(example.gold, answer) for example, answer in zip(held, answers, strict=True)]
    return float(metric.reduce(np.array(units))[0])
