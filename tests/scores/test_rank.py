from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import pytrec_eval

from taskloom.answers import faults_of
from taskloom.core import Ranking
from taskloom.errors import ScoreError
from taskloom.messages import Note
from taskloom.scores import metric, score
from taskloom.scores.rank import Bpref

# Our name and the reference package's.
MEASURES = {
    "ndcg": "ndcg", "ndcg@1": "ndcg_cut_1", "ndcg@5": "ndcg_cut_5", "ndcg@10": "ndcg_cut_10",
    "ndcg@100": "ndcg_cut_100", "map": "map", "mrr": "recip_rank", "p@1": "P_1", "p@5": "P_5", "p@100": "P_100",
    "r@1": "recall_1", "r@5": "recall_5", "r@100": "recall_100", "r-prec": "Rprec", "bpref": "bpref",
}  # fmt: skip
NAMES = [*(f"d{n}" for n in range(30)), "D1", "", "é", "e\u0301", "中", "😀", "\uffff", "a b", "z" * 300, "10", "9"]
SCORES = ([0.0], [-1.0, -2.5], [0.25, -0.0, 0.0, 3e20, -1e-20], range(-20, 20))
GRADED = (("a", 3.0), ("b", 2.0), ("c", 0.0), ("d", 1.0))


def ranked(*names: str) -> tuple[tuple[str, float], ...]:
    return tuple((name, float(-place)) for place, name in enumerate(names))


def runs(seed: int, count: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Draw judgements and rankings: ties everywhere, candidates that one side alone has, one relevant at least."""
    rng = np.random.default_rng(seed)
    judged: dict[str, dict[str, int]] = {}
    found: dict[str, dict[str, float]] = {}
    for query in range(count):
        grades = [rng.integers(1, 4), *rng.choice([-1, 0, 0, 1, 2, 3], rng.integers(0, 25))]
        judged[str(query)] = dict(zip(map(str, rng.permutation(NAMES)), map(int, grades), strict=False))
        scores = rng.choice(SCORES[query % len(SCORES)], rng.integers(1, len(NAMES) + 1))
        found[str(query)] = dict(zip(map(str, rng.permutation(NAMES)), map(float, scores), strict=False))
    return judged, found


@pytest.mark.parametrize("seed", range(2))
def test_rankings_are_judged_as_trec_eval_does(seed):
    judged, found = runs(seed, 800)
    asked = {"ndcg", "ndcg_cut.1,5,10,100", "map", "recip_rank", "P.1,5,100", "recall.1,5,100", "Rprec", "bpref"}
    expected = pytrec_eval.RelevanceEvaluator(judged, asked).evaluate(found)
    for ours, theirs in MEASURES.items():
        golds = [(tuple((name, float(grade)) for name, grade in judged[q].items()),) for q in judged]
        scored = score(metric(ours), golds, [tuple(found[q].items()) for q in judged])
        assert scored.units[:, 0] == pytest.approx([expected[q][theirs] for q in judged], abs=1e-9)
        assert scored.value == pytest.approx(np.mean([expected[q][theirs] for q in judged]))


@pytest.mark.parametrize("level", [2, 3])
def test_grades_from_a_level_on_are_relevant_as_in_trec_eval(level):
    judged, found = runs(5, 300)
    binary = {name: own for name, own in MEASURES.items() if not name.startswith("ndcg")}
    asked = {"map", "recip_rank", "P.1,5,100", "recall.1,5,100", "Rprec", "bpref"}
    expected = pytrec_eval.RelevanceEvaluator(judged, asked, relevance_level=level).evaluate(found)
    golds = [(tuple((name, float(grade)) for name, grade in judged[q].items()),) for q in judged]
    for ours, theirs in binary.items():
        scored = score(metric(f"{ours}:level={level},published"), golds, [tuple(found[q].items()) for q in judged])
        assert scored.units[:, 0] == pytest.approx([expected[q][theirs] for q in judged], abs=1e-9)


@pytest.mark.parametrize("typed", [*MEASURES, "ndcg%20", "ndcg%20:published", "p@5:level=2"])
def test_many_rankings_are_scored_as_each_alone(typed):
    judged, found = runs(11, 60)
    golds = [(tuple((name, float(grade)) for name, grade in judged[q].items()),) for q in judged]
    answers = [None if q == "7" else tuple(found[q].items()) for q in judged]
    alone = [metric(typed).unit(gold, answer)[0] for gold, answer in zip(golds, answers, strict=True)]
    together = score(metric(typed), golds, answers, Ranking())
    assert together.units[:, 0].tolist() == pytest.approx(alone, abs=1e-15, nan_ok=True)
    assert together.unusable == {"unparsable": 1}


def test_gold_answers_that_change_from_one_call_to_the_next_are_read_again():
    gold: list[Any] = [(GRADED,), (GRADED,)]
    answers = [ranked("a", "b"), ranked("c", "a")]
    assert score(metric("mrr"), gold, answers).units[:, 0].tolist() == [1, 1 / 2]
    gold[1] = ((("c", 1.0),),)
    assert score(metric("mrr"), gold, answers).units[:, 0].tolist() == [1, 1]
    assert score(metric("mrr"), gold[1:], answers[1:]).units[:, 0].tolist() == [1]


def test_of_many_rankings_those_with_a_fault_are_counted_and_score_0():
    answers = [ranked("a"), (("a", 1.0), ("a", 2.0)), (("a", math.nan),), (("a", math.inf),), (), (("a", 10**400),)]
    found = score(metric("mrr"), [(GRADED,)] * 6, answers, Ranking())
    assert found.units[:, 0].tolist() == [1.0, 0, 0, 0, 0, 0]
    assert found.unusable == {"candidate-twice": 1, "grade-not-finite": 3, "empty-output": 1}


@pytest.mark.parametrize(
    "answer",
    [
        (("a", True), ("b", 1.0)), (["a", 1.0],), ("ab", "cd"), ((1, 1.0),), (("a", 1.0, 2.0), ("b",)), (("a", "1"),),
        (("a", None),), ["a"], (("a", 10**400),), (("a", 1.0), ("a", 1.0)), (("a", math.inf),), (("a", 3), ("b", 2.5)),
    ],
)  # fmt: skip
def test_what_is_scored_at_once_is_what_has_no_fault(answer):
    faults = list(faults_of(Ranking(), answer, "ab"))
    if faults:
        with pytest.raises(ScoreError):
            metric("mrr").units([(GRADED,)], [answer])
    else:
        assert np.array(metric("mrr").units([(GRADED,)], [answer])).tolist() == [[1.0]]


TEN = tuple((f"d{n}", float(n in (1, 4))) for n in range(10))


@pytest.mark.parametrize(
    ("typed", "gold", "order", "expected"),
    [
        ("ndcg%20", TEN, range(10), (1 / math.log2(3)) / (1 + 1 / math.log2(3))),  # to depth 2: d0, d1
        ("ndcg%20:published", TEN, range(10), 1 / 2),  # the first two ranks count in full
        ("ndcg%50", TEN, range(10), (1 / math.log2(3) + 1 / math.log2(6)) / (1 + 1 / math.log2(3))),
        ("ndcg%50:published", TEN, range(10), (1 + 1 / math.log2(5)) / 2),
        ("ndcg%29", TEN, range(10), (1 / math.log2(3)) / (1 + 1 / math.log2(3))),  # 2.9 is 2
        ("ndcg%1", TEN, [4, 1], 1.0),  # of 10 candidates, 1 at least
        ("ndcg%1:published", TEN, [4, 1], 0.0),  # a depth of 0
        ("ndcg%20", TEN[:2], [*range(2, 10), 1, 0], 0.0),  # ranked candidates count too: depth 2
        ("ndcg%100", TEN, range(10), None),
    ],
)
def test_depths_in_percent_worked_by_hand(typed, gold, order, expected):
    answer = ranked(*(f"d{n}" for n in order))
    found = metric(typed).unit((gold,), answer)[0]
    assert found == pytest.approx(metric("ndcg").unit((gold,), answer)[0] if expected is None else expected)


def csfcube(grades: list[float], share: float) -> float:
    """What CSFCube's script computes: `ndcg_at_k` of the package that it uses, with a depth in percent."""

    def gain(of: list[float]) -> float:
        return sum(g if place < 1 else g / math.log2(place + 1) for place, g in enumerate(of))

    depth = int(share * len(grades))
    best = gain(sorted(grades, reverse=True)[:depth])
    return gain(grades[:depth]) / best if best else 0.0


def test_published_depths_in_percent_are_those_of_the_script():
    rng = np.random.default_rng(3)
    for size in range(1, 150):
        grades = rng.integers(0, 4, size).astype(float).tolist()
        gold = tuple((f"d{n}", grade) for n, grade in enumerate(grades))
        answer = ranked(*(name for name, _ in gold))
        found = metric("ndcg%20:published").unit((gold,), answer)[0]
        assert found == pytest.approx(csfcube(grades, 0.20), abs=1e-12)


@pytest.mark.parametrize("typed", MEASURES)
def test_the_order_in_which_candidates_are_given_does_not_matter(typed):
    judged, found = runs(9, 100)
    for query in judged:
        gold, answer = tuple(judged[query].items()), tuple(found[query].items())
        assert metric(typed).unit((gold[::-1],), answer[::-1]) == metric(typed).unit((gold,), answer)


@pytest.mark.parametrize(
    ("typed", "order", "expected"),
    [
        ("ndcg", "abdc", 1.0),
        ("ndcg", "dbac", (1 + 2 / math.log2(3) + 3 / 2) / (3 + 2 / math.log2(3) + 1 / 2)),
        ("ndcg@2", "dbac", (1 + 2 / math.log2(3)) / (3 + 2 / math.log2(3))),
        ("ndcg@1", "cabd", 0.0),
        ("ndcg", "xyza", (3 / math.log2(5)) / (3 + 2 / math.log2(3) + 1 / 2)),  # unjudged candidates take places
        ("ndcg", "b", 2 / (3 + 2 / math.log2(3) + 1 / 2)),
        ("map", "cabd", (1 / 2 + 2 / 3 + 3 / 4) / 3),
        ("map", "a", 1 / 3),
        ("mrr", "cxb", 1 / 3),
        ("mrr", "cx", 0.0),
        ("p@2", "ca", 1 / 2),
        ("p@5", "ab", 2 / 5),  # a short ranking goes on in vain
        ("r@2", "ca", 1 / 3),
        ("r@100", "abd", 1.0),
    ],
)
def test_rankings_worked_by_hand(typed, order, expected):
    assert metric(typed).unit((GRADED,), ranked(*order))[0] == pytest.approx(expected)


def test_of_equal_scores_the_later_name_stands_first():
    assert metric("mrr").unit(((("b", 1.0),),), (("a", 0.5), ("b", 0.5))) == (1.0,)
    assert metric("mrr").unit(((("a", 1.0),),), (("a", 0.5), ("b", 0.5))) == (0.5,)


@pytest.mark.parametrize("typed", MEASURES)
def test_without_relevant_candidates_a_ranking_is_nan_and_left_out_of_the_mean(typed):
    of, nothing = metric(typed), (("a", 0.0), ("b", 0.0))
    assert math.isnan(of.unit((nothing,), ranked("a", "b"))[0])
    assert math.isnan(of.unit((nothing,), None)[0])
    both = score(of, [(nothing,), (GRADED,)], [ranked("a"), ranked("c", "a")])
    assert both.value == score(of, [(GRADED,)], [ranked("c", "a")]).value
    assert math.isnan(score(of, [(nothing,)], [ranked("a")]).value)


@pytest.mark.parametrize("typed", MEASURES)
def test_without_relevant_candidates_the_published_score_is_0_as_in_trec_eval(typed):
    judged, found = {"none": {"a": 0, "b": 0}, "some": {"a": 1}}, {"none": {"a": 2.0}, "some": {"a": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator(judged, {MEASURES[typed]}).evaluate(found)
    golds = [(tuple((name, float(grade)) for name, grade in of.items()),) for of in judged.values()]
    scored = score(metric(f"{typed}:published"), golds, [tuple(of.items()) for of in found.values()])
    assert scored.units[:, 0].tolist() == [theirs[query][MEASURES[typed]] for query in judged]
    assert scored.units[0].tolist() == [0.0]


@pytest.mark.parametrize("step", [0, 1e-12, 1e-9, 1e-8, 3e-8, 6e-8, 1e-7, 1e-6])
def test_scores_are_ties_where_single_precision_can_not_tell_them_apart(step):
    rng = np.random.default_rng(7)
    for _ in range(50):
        base = float(np.float32(rng.normal()))
        found = {name: base * (1 + step * int(rng.integers(-2, 3))) for name in "abcde"}
        for name in found:
            theirs = pytrec_eval.RelevanceEvaluator({"q": {name: 1}}, {"recip_rank"}).evaluate({"q": found})
            assert metric("mrr").unit((((name, 1.0),),), tuple(found.items())) == (theirs["q"]["recip_rank"],)


@pytest.mark.parametrize("typed", MEASURES)
def test_no_ranking_and_an_empty_one_are_0(typed):
    assert metric(typed).unit((GRADED,), None) == metric(typed).unit((GRADED,), ()) == (0.0,)


@pytest.mark.parametrize("typed", MEASURES)
@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ((("a", 1.0), ("a", 2.0)), Note.of("candidate-twice", given="'a'")),
        ("a", Note.of("pairs-expected", given="'a'")),
        (("a", "b"), Note.of("pairs-expected", given="('a', 'b')")),
    ],
)
def test_what_is_no_ranking_is_refused(typed, answer, note):
    with pytest.raises(ScoreError) as refused:
        metric(typed).unit((GRADED,), answer)
    assert refused.value.note == note


def test_scores_of_another_type_of_numbers_are_refused():
    with pytest.raises(ScoreError) as refused:
        metric("mrr").units([(GRADED,)] * 2, [None, (("a", np.float64(1)),)])
    assert refused.value.note == Note.of("pairs-expected", given="(('a', np.float64(1.0)),)")


def test_a_ranking_with_nan_is_refused():
    with pytest.raises(ScoreError, match="nan"):
        metric("mrr").unit((GRADED,), (("c", 1.0), ("a", math.nan)))


def test_several_acceptable_rankings_are_refused():
    with pytest.raises(ScoreError):
        metric("ndcg").unit((GRADED, GRADED), ranked("a"))


@pytest.mark.parametrize("typed", ["p@0", "r@0"])
def test_a_depth_of_zero_is_refused(typed):
    with pytest.raises(ScoreError, match="depth"):
        metric(typed)


FIVE = ("a", "b", "c", "d", "e")


@pytest.mark.parametrize(
    ("gold", "found", "published", "corrected"),
    [
        (FIVE, "a", 1.0, 1 / 5),  # recall does not matter to the published one
        (FIVE, "abcde", 1.0, 1.0),
        (FIVE, "edcba", 1.0, 1.0),
        (FIVE, "", 0.0, 0.0),
        (FIVE, "xyz", 0.0, 0.0),
        (FIVE, "xa", 1 - 1 / 2, 0.0),  # N = 1: the one wrong term is above
        (FIVE, "ax", 1.0, 1 / 5),
        (FIVE, "xayb", ((1 - 1 / 4) + (1 - 2 / 4)) / 2, ((1 - 1 / 2) + 0) / 5),  # N = 2
        (("a",), "xyza", 1 - 3 / 4, 0.0),  # R = 1: not below 0
        (("a", "b"), "xyaz", 1 - 2 / 4, 0.0),  # R = 2, two above
        (("a", "b", "c"), "xaybzc", ((1 - 1 / 6) + (1 - 2 / 6) + (1 - 3 / 6)) / 3, (2 / 3 + 1 / 3 + 0) / 3),
        (("a", "b"), "aaxb", (1 + 1 + (1 - 1 / 4)) / 3, (1 + 0) / 2),  # doubles
        (("a", "b"), "xxab", ((1 - 2 / 4) + (1 - 2 / 4)) / 2, 0.0),
        (("a", "a", "b"), "a", 1.0, 1 / 2),
    ],
)
def test_bpref_worked_by_hand(gold, found, published, corrected):
    assert Bpref(variant="published").unit((gold,), tuple(found))[0] == pytest.approx(published)
    assert Bpref().unit((gold,), tuple(found))[0] == pytest.approx(corrected)


def bpref_by_definition(gold, found) -> float:
    right = [term for term in found if term in gold]
    wrong = [term for term in found if term not in gold]
    above = [sum(found.index(w) < found.index(r) for w in wrong) for r in right]
    bound = min(len(gold), len(wrong))
    return sum(1 - min(n, bound) / bound if n else 1.0 for n in above) / len(gold)


def test_corrected_bpref_is_that_of_its_definition_on_every_order_of_terms():
    for size, right in itertools.product(range(6), range(1, 4)):
        gold = ("a", "b", "c")[:right]
        for found in itertools.permutations(("a", "b", "c", "x", "y", "z"), size):
            assert Bpref().unit((gold,), found)[0] == pytest.approx(bpref_by_definition(gold, found))


@pytest.mark.parametrize("variant", ["published", "corrected"])
def test_bpref_takes_the_best_acceptable_list_and_is_0_without_an_answer(variant):
    of = Bpref(variant=variant)
    assert of.unit((("z",), ("a", "b")), ("a", "b")) == (1.0,)
    assert of.unit((("z",), ("a", "b")), None) == (0.0,)


def test_corrected_bpref_of_a_gold_list_without_terms_is_nan_or_0():
    assert not Bpref().unit(((),), ("a",))[0] > 0
