"""Candidates from citations: positives are cited, negatives are easy or hard, and none is cited by the query."""

from __future__ import annotations

from taskloom.suites.citation_triplets import Negatives, citation_candidates

# q cites a and b; a cites h1, h2 and b; b cites h3, q and one that is not here. The rest is of two fields.
SAME, OTHER = [f"s{n}" for n in range(9)], [f"o{n}" for n in range(7)]
CITES = {
    "q": ["a", "b", "q", "elsewhere"], "a": ["h1", "h2", "b"], "b": ["h3", "q", "nowhere"],
    **{name: [] for name in ("h1", "h2", "h3", *SAME, *OTHER)},
}  # fmt: skip
FIELDS = {name: ["other"] if name in OTHER else ["own", "more"] for name in CITES}


def kinds(graded: dict[str, float]) -> dict[str, int]:
    negatives = [name for name, grade in graded.items() if grade == 0.0]
    found = {"hard": ("h1", "h2", "h3"), "same": SAME, "other": OTHER}
    return {kind: sum(name in own for name in negatives) for kind, own in found.items()}


def test_a_query_has_negatives_of_each_kind_and_its_cited_papers():
    found = citation_candidates(CITES, FIELDS, key="k")
    assert {name for name, grade in found["q"].items() if grade == 1.0} == {"a", "b"}
    assert kinds(dict(found["q"])) == {"hard": 3, "same": 4, "other": 2}  # of the hard ones there are three
    assert len(found["q"]) == 2 + 3 + 4 + 2
    assert {*found} == {"q", "a", "b"}  # the others cite none


def test_no_negative_is_cited_and_the_draw_is_repeatable():
    found = citation_candidates(CITES, FIELDS, key="k")
    for query, grades in found.items():
        negatives = {name for name, grade in grades.items() if grade == 0.0}
        assert negatives.isdisjoint({query, *CITES[query]})
    assert found == citation_candidates(CITES, FIELDS, key="k") != citation_candidates(CITES, FIELDS, key="l")


def test_sizes_can_be_said_and_a_query_without_negatives_is_left_out():
    few = citation_candidates(CITES, FIELDS, key="k", of=Negatives(same=1, other=0, hard=1))
    assert kinds(dict(few["q"])) == {"hard": 1, "same": 1, "other": 0}
    assert citation_candidates({"q": ["a"], "a": []}, {}, key="k") == {}
