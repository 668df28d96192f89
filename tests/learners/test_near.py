from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances

from taskloom.answers import ranked
from taskloom.errors import UnknownNameError
from taskloom.learners import near
from taskloom.learners.near import by_members, grades, nearest


def drawn(seed: int, q: int, c: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(q, d)).astype(np.float32), rng.normal(size=(c, d)).astype(np.float32)


def test_grades_are_scikit_learns_distances_and_cosines(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(near, "ROWS", 7)
    queries, candidates = drawn(0, 5, 40, 8)
    wide = [vectors.astype(float) for vectors in (queries, candidates)]
    assert grades(queries, candidates) == pytest.approx(-euclidean_distances(*wide), abs=1e-6)
    assert grades(queries, candidates, "cosine") == pytest.approx(cosine_similarity(*wide), abs=1e-6)


def test_a_vector_without_a_length_has_a_cosine_of_0():
    assert grades(np.zeros((1, 2)), np.array([[1.0, 0.0], [0.0, 0.0]]), "cosine").tolist() == [[0.0, 0.0]]


def test_a_distance_to_itself_is_exactly_0_however_far_from_the_origin():
    vectors = np.random.default_rng(1).normal(size=(50, 30)) * 1e-3 + 1e3
    assert np.diag(grades(vectors, vectors)).tolist() == [0.0] * 50


@pytest.mark.parametrize("measure", ["euclidean", "cosine"])
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_the_nearest_are_the_first_of_all_ranked_as_trec_eval_ranks(measure, seed, depth):
    rng = np.random.default_rng(seed)
    queries, candidates = rng.integers(-1, 2, (3, 2)), rng.integers(-1, 2, (20, 2))  # ties everywhere
    places, found = nearest(queries, candidates, depth, measure)
    for row, own in enumerate(grades(queries, candidates, measure).tolist()):
        best = ranked((f"{place:02}", grade) for place, grade in enumerate(own))[:depth]
        assert [f"{place:02}" for place in places[row]] == [name for name, _ in best]
        assert found[row].tolist() == [grade for _, grade in best]


def test_blocks_of_queries_change_nothing(monkeypatch: pytest.MonkeyPatch):
    queries, candidates = drawn(2, 11, 23, 4)
    whole = nearest(queries, candidates, 5)
    monkeypatch.setattr(near, "BLOCK", 50)
    monkeypatch.setattr(near, "ROWS", 4)
    parts = nearest(queries, candidates, 5)
    assert (whole[0] == parts[0]).all()
    assert whole[1] == pytest.approx(parts[1], rel=1e-6)


def test_a_candidate_is_graded_by_the_mean_of_its_best_members():
    member_grades = np.array([0.9, 0.1, 0.5, 0.3, 0.7], dtype=np.float32)
    found = by_members(member_grades, [[0, 1, 2, 3], [4], [1, 3]], top=3)
    assert found == pytest.approx([(0.9 + 0.5 + 0.3) / 3, 0.7, 0.2])


def test_an_unknown_measure_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean cosine"):
        grades(np.eye(2), np.eye(2), "cosin")
