from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from taskloom.core import Example, Item, Ranking, Stored, Suite, Task
from taskloom.errors import ScoreError, UnknownNameError
from taskloom.learners.embedded import embedded_predictions
from taskloom.messages import Note
from taskloom.reports.predictions import score_predictions
from taskloom.sources.embeddings import Embeddings
from taskloom.suites import linked
from taskloom.suites.documents import documents

VECTORS = {"a": [0.0, 1.0], "b": [0.0, 2.0], "c": [3.0, 0.1], "d": [0.0, 1.1], "q": [0.0, 1.0], "r": [5.0, 0.0]}


def suite(output: Ranking, *, by_id: bool, members: Mapping[str, Sequence[str]] | None = None) -> Suite:
    """Make two queries over four documents: of "q", documents a and d are relevant, of "r" only c."""
    store = documents("papers", [Stored(n, {"title": n}, tuple((members or {}).get(n, ()))) for n in "abcdqrxy"])
    task = Task(id="near", instruction="", output=output, metrics=("map", "ndcg"))
    candidates = tuple(members or "abcd")
    graded = {"q": {"a": 1.0, "d": 1.0, "x": 1.0}, "r": {"c": 1.0, "y": 1.0}}
    examples = [
        Example(
            Item(f"item-{name}" if by_id else name, {"query": name}, candidates),
            (tuple((c, grades.get(c, 0.0)) for c in candidates),),
            name,
        )
        for name, grades in graded.items()
    ]
    pool = linked.pool(task, examples, store, by_id=by_id)
    return Suite(id="s", tasks={"near": task}, pools={"near": {"test": pool}}, stores={"papers": store})


def vectors(of: Mapping[str, Sequence[float]] = VECTORS) -> Embeddings:
    return Embeddings({id_: at for at, id_ in enumerate(of)}, np.array([*of.values()], dtype=np.float32))


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize("depth", [0, 3])
def test_candidates_are_ranked_by_the_vectors_of_their_documents(by_id: bool, depth: int):
    made = suite(Ranking(store="papers", depth=depth), by_id=by_id)
    found = embedded_predictions(made, vectors())
    assert [one.item for one in found] == (["item-q", "item-r"] if by_id else ["q", "r"])
    orders = [[id_ for id_, _ in sorted(one.answer, key=lambda pair: -pair[1])] for one in found]
    assert [order[:3] for order in orders] == [["a", "d", "b"], ["c", "a", "d"]]
    scores = score_predictions(made, found).metrics
    assert (scores["map"].micro.value, scores["ndcg"].micro.value) == (1.0, 1.0)


def test_the_measure_decides():
    made = suite(Ranking(store="papers"), by_id=True)
    by_cosine = dict(embedded_predictions(made, vectors(), "cosine")[0].answer)
    assert by_cosine["a"] == by_cosine["b"] == pytest.approx(1.0)  # they differ in length alone
    assert dict(embedded_predictions(made, vectors())[0].answer)["b"] == -1.0
    with pytest.raises(UnknownNameError):
        embedded_predictions(made, vectors(), "dot")


def test_a_candidate_with_members_is_graded_by_its_best_three_cosines():
    made = suite(Ranking(store="papers"), by_id=True, members={"x": "abcd", "y": "c"})
    first = dict(embedded_predictions(made, vectors())[0].answer)
    assert first["x"] == pytest.approx(1.0)  # a, b and d lie in the direction of the query; c does not count
    assert first["y"] == pytest.approx(0.1 / np.hypot(3, 0.1))


def test_all_documents_without_a_vector_are_named():
    made = suite(Ranking(store="papers"), by_id=True)
    with pytest.raises(ScoreError) as refused:
        embedded_predictions(made, vectors({"a": [1.0], "b": [1.0], "r": [1.0]}))
    assert refused.value.note == Note.of("vectors-missing", count=3, ids=["q", "c", "d"])


def test_a_member_without_a_vector_is_named():
    made = suite(Ranking(store="papers"), by_id=True, members={"x": "ab", "y": "c"})
    with pytest.raises(ScoreError) as refused:
        embedded_predictions(made, vectors({"a": [1.0], "q": [1.0], "r": [1.0]}))
    assert refused.value.note == Note.of("vectors-missing", count=2, ids=["b", "c"])


def test_a_suite_that_ranks_no_documents_is_refused():
    made = Suite(id="empty", tasks={}, pools={})
    with pytest.raises(ScoreError) as refused:
        embedded_predictions(made, vectors())
    assert refused.value.note == Note.of("no-documents-ranked", suite="empty")
