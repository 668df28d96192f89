from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from taskloom.core import Labels, Text
from taskloom.errors import ScoreError
from taskloom.scores import metric, score
from taskloom.scores.match import F1, Accuracy, BCubed, ExactMatch

NAMES = ("a", "b", "道路", "no such", "never")
ONE, MANY = Labels(NAMES), Labels(NAMES, many=True)
PUBLISHED, CORRECTED = ExactMatch(variant="published"), ExactMatch(variant="corrected")


@pytest.mark.parametrize(
    ("gold", "answer", "published", "corrected"),
    [
        ("Yes", "yes.", 1, 1),
        ("the cat", "The  cat!\n", 1, 1),
        ("the cat", "cat", 0, 0),  # articles are kept
        ("don't", "dont", 1, 1),
        ("well-known", "wellknown", 1, 1),
        ("well-known", "well known", 0, 0),
        ("a_b", "ab", 1, 1),
        ("对。", "对", 0, 1),
        ("“yes”", "yes", 0, 1),
        ("ＡＢＣ１", "abc1", 0, 1),  # full width
        ("straße", "STRASSE", 0, 1),
        ("cafe\u0301", "CAF\u00c9", 0, 1),
        ("x\u00a0y", "x y", 1, 1),
        ("x\u3000y", "x\ty", 1, 1),
        ("+", "-", 1, 0),  # nothing is left of either in the published one
        ("!", "?", 1, 0),
        ("!", "", 1, 0),
        ("5", "$5", 1, 0),  # a sign is no punctuation in Unicode
        ("😀", "😀!", 1, 1),
        ("😀", "😢", 0, 0),
        ("हिन्दी", "हिन्दू", 0, 0),
        ("שלום", "שלום.", 1, 1),
        ("", "", 1, 1),
        ("a", "", 0, 0),
        ("3.14", "314", 1, 1),
    ],
)
def test_exact_match_worked_by_hand(gold, answer, published, corrected):
    for one, other in ((gold, answer), (answer, gold)):
        assert PUBLISHED.unit((one,), other) == (published,)
        assert CORRECTED.unit((one,), other) == (corrected,)


def test_exact_match_of_any_text_with_itself_is_1(texts):
    for text in texts(1, 1000):
        assert PUBLISHED.unit(("zzz", text), text) == CORRECTED.unit((text, "zzz"), text) == (1.0,)


def test_exact_match_of_no_answer_is_0_even_where_the_gold_is_empty():
    assert PUBLISHED.unit(("",), None) == CORRECTED.unit(("",), None) == (0.0,)
    assert PUBLISHED.unit(("None",), None) == CORRECTED.unit(("None",), None) == (0.0,)


def drawn(seed: int, size: int, kinds: int = 4) -> tuple[list[str], list[str]]:
    """Draw gold and predicted labels, the second ones wrong rather often; the last name never occurs."""
    rng = np.random.default_rng(seed)
    return tuple([NAMES[at] for at in rng.integers(0, kinds, size)] for _ in range(2))  # type: ignore[return-value]


def drawn_many(seed: int, size: int) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    rng = np.random.default_rng(seed)
    sides = [[tuple(n for n in NAMES[:4] if rng.random() < 0.4) for _ in range(size)] for _ in range(2)]
    return sides[0], sides[1]


def rows_of(answers) -> np.ndarray:
    sets = [{answer} if isinstance(answer, str) else set(answer or ()) for answer in answers]
    return np.array([[int(name in chosen) for name in NAMES] for chosen in sets])


def value(typed: str, gold, answers, output: Labels = ONE) -> float:
    return score(metric(typed, output), [(g,) for g in gold], answers, output).value


@pytest.mark.parametrize("size", [1, 2, 7, 50, 1000])
@pytest.mark.parametrize("kinds", [1, 2, 4])
def test_scores_of_one_label_are_those_of_scikit_learn(size, kinds):
    for seed in range(4):
        gold, answers = drawn(seed, size, kinds)
        occur = sorted({*gold, *answers})
        assert value("accuracy", gold, answers) == pytest.approx(accuracy_score(gold, answers))
        for average in ("macro", "micro"):
            expected = f1_score(gold, answers, labels=occur, average=average, zero_division=0)
            assert value(f"{average}-f1", gold, answers) == pytest.approx(expected)
        expected = f1_score(gold, answers, labels=["a"], average="macro", zero_division=np.nan)
        assert value("f1:positive=a", gold, answers) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("size", [1, 3, 40, 1000])
def test_scores_of_many_labels_are_those_of_scikit_learn(size):
    for seed in range(4):
        gold, answers = drawn_many(seed, size)
        rows = rows_of(gold), rows_of(answers)
        assert value("accuracy", gold, answers, MANY) == pytest.approx(accuracy_score(*rows))
        for average in ("macro", "micro"):
            expected = f1_score(*rows, average=average, zero_division=np.nan)
            assert value(f"{average}-f1", gold, answers, MANY) == pytest.approx(expected, nan_ok=True)
        expected = f1_score(*(side[:, 1] for side in rows), zero_division=np.nan)
        assert value("f1:positive=b", gold, answers, MANY) == pytest.approx(expected, nan_ok=True)


def test_an_answer_that_is_no_label_is_wrong_and_no_label_gains_by_it():
    for seed in range(8):
        gold, answers = drawn(seed, 60)
        spoilt = [None if at % 5 == 0 else answer for at, answer in enumerate(answers)]
        rows = rows_of(gold), rows_of(spoilt)
        assert value("accuracy", gold, spoilt) == pytest.approx(accuracy_score(*rows))
        for average in ("macro", "micro"):
            expected = f1_score(*rows, average=average, zero_division=np.nan)
            assert value(f"{average}-f1", gold, spoilt) == pytest.approx(expected)


@pytest.mark.parametrize("typed", ["accuracy", "macro-f1", "micro-f1", "f1:positive=a"])
def test_all_wrong_is_0_and_not_nan(typed):
    assert value(typed, ["a", "b"], ["b", "a"]) == 0
    assert value(typed, ["a", "b"], [None, None]) == 0


def test_f1_of_a_label_that_never_occurs_is_nan_and_no_part_of_the_macro_mean():
    assert math.isnan(value("f1:positive=never", ["a", "b"], ["a", "b"]))
    assert value("macro-f1", ["a", "b"], ["a", "b"]) == 1
    assert value("macro-f1", ["a", "b"], ["a", "never"]) == pytest.approx(1 / 3)  # one of a, b and never


@pytest.mark.parametrize("typed", ["accuracy", "macro-f1", "micro-f1", "f1:positive=b"])
@pytest.mark.parametrize("many", [False, True])
def test_integer_weights_are_repeated_rows(typed, many):
    gold, answers = drawn_many(1, 25) if many else drawn(1, 25)
    of = metric(typed, MANY if many else ONE)
    units = score(of, [(g,) for g in gold], answers).units
    weights = np.random.default_rng(2).integers(0, 4, (20, 25))
    found = of.reduce(units, weights)
    assert found.shape == (20,)
    for row, ours in zip(weights, found, strict=True):
        sides = [np.repeat(rows_of(side), row, axis=0) for side in (gold, answers)]
        assert ours == pytest.approx(reference(typed, *sides), nan_ok=True)


def reference(typed: str, gold: np.ndarray, answers: np.ndarray) -> float:
    if typed == "accuracy":
        return float(accuracy_score(gold, answers))
    if typed == "f1:positive=b":
        return float(f1_score(gold[:, 1], answers[:, 1], zero_division=np.nan))
    return float(f1_score(gold, answers, average=typed.partition("-")[0], zero_division=np.nan))


@pytest.mark.parametrize("typed", ["accuracy", "macro-f1", "micro-f1", "f1:positive=a"])
@pytest.mark.parametrize("garbage", ["zzz", "", "A", None])
@pytest.mark.parametrize("first", ["a", "道路", "no such"])
def test_published_takes_what_is_no_label_for_the_one_first_met_in_the_gold_answers(typed, garbage, first):
    gold, answers = drawn(3, 40)
    gold = [first, *gold]
    spoilt = [garbage, *(garbage if at % 3 == 0 else answer for at, answer in enumerate(answers))]
    read = [first, *(first if at % 3 == 0 else answer for at, answer in enumerate(answers))]
    assert value(f"{typed}:published".replace("=a:", "=a,"), gold, spoilt) == value(typed, gold, read)
    assert value(typed, gold, spoilt) < value(typed, gold, read) or typed == "f1:positive=a"


SUBJECTS = Labels(("物理", "化学", "computer science", "data science", "unseen"))


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("物理", "物理"),
        ("物", "化学"),  # unsegmented and not equal: in common with none, so the first that the file has
        ("物理。", "化学"),
        ("", "化学"),
        (None, "化学"),
        ("unseen", "化学"),  # a label, but not one that the file has
        ("computer science", "computer science"),
        ("science", "data science"),  # a tie: the one that is met first
        ("the science of computer science", "computer science"),  # 2 of 2 and 2 of 5, before 1 of 2 and 1 of 5
        ("computer", "computer science"),
        ("Computer", "化学"),
    ],
)
def test_published_reads_an_answer_as_the_label_with_most_words_in_common_by_hand(answer, read):
    met = [("化学",), ("data science",), ("物理",), ("computer science",), ("化学",)]
    for at, gold in enumerate(met):
        answers = [met[n][0] if n != at else answer for n in range(len(met))]
        scored = score(metric("accuracy:published", SUBJECTS), met, answers, SUBJECTS)
        assert scored.units[:, 0].tolist() == [1.0 if n != at or gold[0] == read else 0.0 for n in range(len(met))]
        f1 = score(metric("macro-f1:published", SUBJECTS), met, answers, SUBJECTS)
        assert f1.units[at, len(SUBJECTS.names) :].tolist() == [float(name == read) for name in SUBJECTS.names]


def test_published_scores_of_two_sets_go_by_one_signature_and_their_own_labels():
    of = metric("accuracy:published", SUBJECTS)
    sets = [score(of, [(first,), ("物理",)], ["?", "?"], SUBJECTS) for first in ("化学", "物理")]
    assert [scored.units[:, 0].tolist() for scored in sets] == [[1.0, 0.0], [1.0, 1.0]]
    assert {scored.metric for scored in sets} == {of}


def test_corrected_reads_no_label_out_of_others():
    scored = score(metric("accuracy", SUBJECTS), [("物理",), ("化学",)], ["?", "the 化学"], SUBJECTS)
    assert (scored.units[:, 0].tolist(), scored.unusable) == ([0.0, 0.0], {"label-unknown": 2})


@pytest.mark.parametrize(
    ("gold", "answer", "published", "corrected"), [("", "", 1, 0), ("", " ", 1, 0), ("!", "", 1, 0), ("a", "", 0, 0)]
)
def test_an_empty_answer_is_compared_by_the_released_rule_and_counted(gold, answer, published, corrected):
    for of, expected in ((PUBLISHED, published), (CORRECTED, corrected)):
        scored = score(of, [(gold,)], [answer], Text())
        assert (scored.units.tolist(), scored.unusable) == ([[expected]], {"empty-output": 1})


def test_no_answer_at_all_is_never_a_match():
    assert score(PUBLISHED, [("",)], [None], Text()).value == 0


@pytest.mark.parametrize("variant", ["published", "corrected"])
def test_any_acceptable_label_is_right(variant):
    accuracy, f1 = Accuracy(labels=NAMES, variant=variant), F1(labels=NAMES, variant=variant)
    assert accuracy.unit(("a", "b"), "b") == (1.0,)
    assert f1.unit(("a", "b"), "b") == f1.unit(("b",), "b") == (0, 1, 0, 0, 0, 0, 1, 0, 0, 0)
    assert f1.unit(("a", "b"), "道路") == f1.unit(("a",), "道路")  # else the first is the one that was meant


def test_published_f1_finds_the_first_label_among_the_acceptable_ones_as_accuracy_does():
    assert Accuracy(labels=NAMES, variant="published").unit(("b", "a"), "zzz") == (1.0,)
    f1 = F1(labels=NAMES, variant="published")
    assert f1.unit(("b", "a"), "zzz") == f1.unit(("b", "a"), "a")


def test_the_order_of_many_labels_does_not_count_for_accuracy():
    assert Accuracy(labels=NAMES).unit((("a", "b"),), ("b", "a")) == (1.0,)


def test_the_order_of_many_labels_does_not_count_when_the_acceptable_one_is_chosen():
    f1 = F1(labels=NAMES)
    assert f1.unit((("b",), ("a", "b")), ("b", "a")) == f1.unit((("a", "b"),), ("a", "b"))


def test_f1_without_a_positive_label_says_which_there_are():
    with pytest.raises(ScoreError, match="positive= of f1 must be one of a, b: 'c'"):
        F1(labels=("a", "b"), average="binary", positive="c")


def by_pairs(blocks) -> float:
    """B-cubed F1 from its definition: for every element, its own pairs."""
    precision, recall, count = 0.0, 0.0, 0
    for gold, found in blocks:
        for g, f in zip(gold, found, strict=True):
            both = sum(g == other and f == mine for other, mine in zip(gold, found, strict=True))
            precision += both / sum(f == mine for mine in found)
            recall += both / sum(g == other for other in gold)
            count += 1
    p, r = precision / count, recall / count
    return 2 * p * r / (p + r)


def b_cubed(*blocks) -> float:
    return score(BCubed(), [(gold,) for gold, _ in blocks], [found for _, found in blocks]).value


@pytest.mark.parametrize(
    ("gold", "found", "precision", "recall"),
    [
        ("aab", "xxx", (2 / 3 + 2 / 3 + 1 / 3) / 3, 1),
        ("aab", "xyz", 1, (1 / 2 + 1 / 2 + 1) / 3),
        ("aab", "xxy", 1, 1),
        ("aabb", "xyxy", 1 / 2, 1 / 2),
        ("aaaabb", "xxxyyy", (3 + 1 / 3 + 4 / 3) / 6, (3 * 3 / 4 + 1 / 4 + 2) / 6),
        ("a", "x", 1, 1),
    ],
)
def test_b_cubed_worked_by_hand(gold, found, precision, recall):
    expected = 2 * precision * recall / (precision + recall)
    assert BCubed().unit((tuple(gold),), tuple(found)) == pytest.approx(
        (precision * len(gold), recall * len(gold), len(gold))
    )
    assert b_cubed((tuple(gold), tuple(found))) == pytest.approx(expected)
    for name, part in (("b-cubed-precision", precision), ("b-cubed-recall", recall)):
        assert score(metric(name), [(tuple(gold),)], [tuple(found)]).value == pytest.approx(part)


def test_b_cubed_is_that_of_its_definition_over_all_pairs():
    rng = np.random.default_rng(4)
    for size, kinds in itertools.product((1, 2, 5, 30), (1, 2, 6)):
        blocks = [tuple(tuple(f"c{n}" for n in rng.integers(0, kinds, size + at)) for _ in range(2)) for at in range(4)]
        assert b_cubed(*blocks) == pytest.approx(by_pairs(blocks))


def test_b_cubed_with_integer_weights_is_that_of_repeated_blocks():
    rng = np.random.default_rng(5)
    blocks = [tuple(tuple(map(str, rng.integers(0, 3, size))) for _ in range(2)) for size in (1, 4, 9, 2)]
    units = score(BCubed(), [(gold,) for gold, _ in blocks], [found for _, found in blocks]).units
    weights = [[1, 0, 0, 2], [3, 1, 1, 1], [0, 0, 0, 1]]
    for row, ours in zip(weights, BCubed().reduce(units, np.array(weights)), strict=True):
        assert ours == pytest.approx(by_pairs([blocks[at] for at in np.repeat(np.arange(4), row)]))


def test_b_cubed_names_of_clusters_do_not_matter():
    assert b_cubed((("a", "a", "b"), ("b", "b", "a"))) == 1


def test_b_cubed_of_a_block_without_an_answer_is_0_and_counted():
    gold = ("a", "a", "b", "c")
    assert BCubed().unit((gold,), None) == (0, 0, 4)
    found = score(BCubed(), [(gold,)] * 2, [gold, None])
    assert (found.value, found.unusable) == (1 / 2, {"unparsable": 1})
    for part in ("", "precision", "recall"):
        assert score(BCubed(part=part), [(gold,)], [None]).value == 0


def test_b_cubed_needs_a_cluster_for_each_element():
    with pytest.raises(ScoreError, match="3 elements, 2 clusters"):
        BCubed().unit((("a", "a", "b"),), ("x", "x"))
    with pytest.raises(ScoreError, match="not a tuple of labels: 'xxx'"):
        BCubed().unit((("a", "a", "b"),), "xxx")
