from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib import import_module

import numpy as np
import pytest

from taskloom import __version__
from taskloom.core import Answer, Fields, Labels, Number, Output, Ranking, Terms, Text, Words
from taskloom.errors import ScoreError, UnknownNameError
from taskloom.messages import Note
from taskloom.scores import MANY, METRICS, PUBLISHED, Metric, metric, score, signature
from taskloom.scores.reduce import mean

LABELS = Labels(("a", "b", "c"))
FIT_TEXT = "exact-match, accuracy, rouge-l, bleu-4, token-accuracy"
# Gold answers of each kind, the first acceptable one being perfect, and answers of all sorts.
TEXTS = (
    [("the cat sat on the mat",), ("道路绿化的研究 studies", "绿化"), ("a b c d e f", "a")],
    ["the cat", "绿化的研究", "+", "", "a b c d e f g", "😀"],
)
CHOSEN = ([("a",), ("b",), ("c", "a"), ("a",)], ["a", "b", "c", "a", "c"])
TERMS = ([(("x", "y"),), (("道路",), ("x",))], [("x",), ("z", "y", "x"), ("道", "道"), (), ("", " ")])
RANKINGS = (
    [((("p", 3.0), ("q", 1.0), ("s", 0.0)),), ((("p", 0.0), ("s", 1.0)),)],
    [(("p", 1.0), ("q", 2.0)), (("s", 0.0),), (), (("zzz", 9.0), ("s", -1.0))],
)
NUMBERS = ([(1.0,), (5.0,), (-2.0,), (3.0,)], [1.0, -7.5, 3, 1e6])
CLUSTERS = ([(("a", "a", "b"),), (("b", "c", "c"),)], [("x", "x", "y"), ("x", "x", "x"), ("x", "y", "x")])
LIKELY = (  # the gold answer says which question a candidate answers, the others how likely they are
    [((("p", 1.0), ("q", 2.0), ("s", 3.0)),)],
    [(("p", -1.0), ("q", -2.0)), (("s", 0.0),), (), (("zzz", -9.0), ("s", -1.0))],
)
SAMPLES = {
    **dict.fromkeys(("exact-match", "rouge-l", "bleu-4", "token-accuracy"), TEXTS),
    **dict.fromkeys(("mass", "best-mass"), LIKELY),
    **dict.fromkeys(("accuracy", "macro-f1", "micro-f1", "f1"), CHOSEN),
    **dict.fromkeys(("list-f1", "character-f1", "bpref"), TERMS),
    **dict.fromkeys(("ndcg", "map", "mrr", "p", "r", "r-prec"), RANKINGS),
    **dict.fromkeys(("tau-b", "pearson", "spearman", "mse"), NUMBERS),
    **dict.fromkeys(("b-cubed", "b-cubed-precision", "b-cubed-recall"), CLUSTERS),
}
COMPLETE = {
    "f1": "f1:positive=a",
    "p": "p@1",
    "r": "r@2",
    "mass": "mass@1",
    "best-mass": "best-mass@2",
}  # what must be said beside the name
EVERY = [
    COMPLETE.get(name, name) + ("," if name == "f1" else ":") + variant
    for name, entry in METRICS.items()
    for variant in entry.variants
    if entry.takes  # the mean is of other metrics, and has a module of its own
    if variant != "cross-lingual"  # which needs data of its own, and is tested where it is to be had
]
every_metric = pytest.mark.parametrize("typed", EVERY)


def name_of(typed: str) -> str:
    return typed.partition(":")[0].partition("@")[0]


def samples(typed: str):
    return SAMPLES[name_of(typed)]


def made(typed: str) -> Metric:
    """Make a metric, of the labels where it takes some."""
    return metric(typed, LABELS if "labels" in METRICS[name_of(typed)].takes else None)


def some_units(typed: str) -> np.ndarray:
    """Units of every gold answer with every answer, none among them."""
    golds, answers = samples(typed)
    of = made(typed)
    return np.array([of.unit(gold, answer) for gold in golds for answer in (*answers, None)])


def test_every_metric_has_a_row_that_says_where_it_is_and_what_it_was_checked_against():
    for name, entry in METRICS.items():
        module, _, kind = entry.of.partition(":")
        of = getattr(import_module(f"taskloom.scores.{module}"), kind)
        assert is_dataclass(of)
        assert entry.about
        assert entry.checked
        assert set(entry.variants) <= {"corrected", "published", "cross-lingual"}
        assert ("variant" in {f.name for f in fields(of)}) == (len(entry.variants) > 1), name


def test_what_a_published_variant_does_otherwise_is_said():
    assert set(PUBLISHED) == {name for name, entry in METRICS.items() if "published" in entry.variants}


def test_every_metric_is_sampled_here():
    assert SAMPLES.keys() == {name for name, entry in METRICS.items() if entry.takes}


@every_metric
def test_a_typed_name_is_parsed_with_its_variant(typed):
    of = made(typed)
    assert getattr(of, "variant", "corrected") == ("published" if "published" in typed else "corrected")
    assert of == made(typed)
    assert hash(of) == hash(made(typed))


@every_metric
def test_corrected_is_the_default(typed):
    if "corrected" in typed:
        assert made(typed[: -len(":corrected")]) == made(typed)


def test_names_say_depth_variant_and_options():
    assert repr(metric("ndcg@10")) == "Ndcg(k=10, share=0, variant='corrected')"
    assert repr(metric("p@5")) == "Precision(k=5, level=0, variant='corrected')"
    assert repr(metric("p@5:level=3")) == "Precision(k=5, level=3, variant='corrected')"
    assert signature(metric("ndcg%20:published")) == f"ndcg|share:20|variant:published|v:2|taskloom:{__version__}"
    assert repr(metric("rouge-l:variant=published")) == "RougeL(variant='published')"
    assert metric("f1:positive=b,published", LABELS) == metric("f1:published,positive=b", LABELS)
    assert getattr(metric("f1:positive=x=y", Labels(("x=y", "z"))), "positive", "") == "x=y"
    assert getattr(metric("micro-f1", LABELS), "average", "") == "micro"


def test_metrics_over_labels_take_them_from_the_output_and_others_do_not():
    assert getattr(metric("macro-f1", LABELS), "labels", None) == ("a", "b", "c")
    assert getattr(metric("accuracy", LABELS), "labels", None) == ("a", "b", "c")
    assert metric("rouge-l", LABELS) == metric("rouge-l", Text()) == metric("rouge-l")


def test_metrics_are_frozen():
    with pytest.raises(FrozenInstanceError):
        metric("ndcg@10").k = 5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("rougel", "unknown metric: 'rougel'; did you mean rouge-l"),
        ("nddcg@10", "did you mean ndcg"),
        ("macro-f2", "did you mean .*macro-f1"),
        ("qqqqqq", "unknown metric: 'qqqqqq'; known: accuracy"),
        ("", "unknown metric: ''; known: accuracy"),
        ("ndcg@", "did you mean ndcg"),
        ("rouge-l:", "did you mean rouge-l"),
        ("p@-1", "unknown metric: 'p@-1'"),
        ("p@1.5", "unknown metric: 'p@1.5'"),
    ],
)
def test_an_unknown_metric_fails_with_the_nearest_names(typed, message):
    with pytest.raises(UnknownNameError, match=message):
        metric(typed)


def test_the_nearest_names_are_found_whatever_is_written_beside_the_name():
    with pytest.raises(UnknownNameError, match="did you mean rouge-l"):
        metric("ruge-l:published")


@pytest.mark.parametrize(
    ("typed", "code", "values"),
    [
        (
            "rouge-l:publishd",
            "variant-unknown",
            {"variant": "publishd", "known": ["corrected", "published", "cross-lingual"]},
        ),
        ("bleu-4:published", "variant-unknown", {"variant": "published", "known": ["corrected"]}),
        (
            "rouge-l:variant=x",
            "variant-unknown",
            {"variant": "x", "known": ["corrected", "published", "cross-lingual"]},
        ),
        ("rouge-l:beta=2", "option-unknown", {"name": "rouge-l", "options": ["beta"]}),
        ("mse:z=1,a=2", "option-unknown", {"name": "mse", "options": ["a", "z"]}),
        ("map@10", "option-unknown", {"name": "map", "options": ["k"]}),
        ("map%10", "option-unknown", {"name": "map", "options": ["share"]}),
        ("ndcg:level=2", "option-unknown", {"name": "ndcg", "options": ["level"]}),
        ("ndcg%0", "depth-wrong", {}),
        ("ndcg@" + "9" * 5000, "depth-wrong", {}),
        ("p@5:level=" + "9" * 5000, "level-wrong", {"given": "9" * 100}),
        ("ndcg%101", "share-too-large", {}),
        ("p@5:level=0", "level-wrong", {"given": "0"}),
        ("p@5:level=2.5", "level-wrong", {"given": "2.5"}),
        ("p", "depth-missing", {}),
        ("r:corrected", "depth-missing", {}),
        ("macro-f1", "labels-missing", {}),
        ("f1:positive=a", "labels-missing", {}),
    ],
)
def test_unknown_variants_and_options_and_missing_ones_are_named(typed, code, values):
    with pytest.raises(ScoreError) as refused:
        metric(typed)
    assert refused.value.note == Note.of(code, metric=typed, **values)


@pytest.mark.parametrize("typed", ["f1", "f1:positive=z"])
def test_f1_of_one_label_needs_one_of_the_task(typed):
    with pytest.raises(ScoreError, match="positive= of f1 must be one of a, b, c"):
        made(typed)


OUTPUTS: dict[str, Output] = {
    "text": Text(),
    "labels": LABELS,
    MANY: Labels(("a", "b", "c"), many=True),
    "terms": Terms(),
    "number": Number(),
    "ranking": Ranking(),
    "words": Words(),
}
ANSWERS: dict[str, Answer] = {
    **dict.fromkeys(("text", "labels"), "a"),
    **dict.fromkeys((MANY, "terms"), ("a", "b")),
    "number": 1.0,
    "ranking": (("a", 0.0),),
    "words": "a",
}
GOLDS: dict[str, Answer] = {**ANSWERS, "words": (("a", "b"),)}


@every_metric
@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_metric_scores_the_kinds_of_outputs_that_it_takes_and_refuses_others(typed, kind):
    takes = METRICS[name_of(typed)].takes
    assert set(takes) <= OUTPUTS.keys()
    if kind in takes:
        found = score(metric(typed, OUTPUTS[kind]), [(GOLDS[kind],)], [ANSWERS[kind]], OUTPUTS[kind])
        assert found.unusable == {}
    else:
        with pytest.raises(ScoreError, match=f"metric does not apply to {kind}; use one of .*: {typed!r}$"):
            metric(typed, OUTPUTS[kind])


@pytest.mark.parametrize(
    ("typed", "output", "told"),
    [
        (
            "ndcg@10",
            Text(),
            f"metric does not apply to text; use one of {FIT_TEXT}: 'ndcg@10'",
        ),
        (
            "macro-f1",
            Text(),
            f"metric does not apply to text; use one of {FIT_TEXT}: 'macro-f1'",
        ),
        (
            "rouge-l",
            Terms(),
            "metric does not apply to terms; use one of list-f1, character-f1, bpref, b-cubed, "
            "b-cubed-precision, b-cubed-recall: 'rouge-l'",
        ),
        ("rouge-l", Fields({"title": Text()}), "metric needs a field, as in title/rouge-l: 'rouge-l'"),
    ],
)
def test_metrics_that_fit_are_named_where_one_does_not(typed, output, told):
    with pytest.raises(ScoreError) as refused:
        metric(typed, output)
    assert str(refused.value) == told


@pytest.mark.parametrize(
    "typed",
    ["p:k=5", "ndcg:k=10", "accuracy:labels=abc", "macro-f1:average=micro", "micro-f1:average=x", "f1:positive="],
)
def test_options_that_can_not_be_typed_are_refused(typed):
    with pytest.raises(ScoreError):
        metric(typed, Labels(("a", "positive")) if "f1" in typed else None)


@every_metric
def test_units_have_one_width_and_are_floats(typed):
    golds, answers = samples(typed)
    of = made(typed)
    units = [of.unit(gold, answer) for gold in golds for answer in (*answers, None)]
    assert len({len(unit) for unit in units}) == 1
    assert {type(figure) for unit in units for figure in unit} == {float}


@every_metric
def test_no_weights_are_weights_of_one(typed):
    of, units = made(typed), some_units(typed)
    ones = of.reduce(units, np.ones((3, len(units))))
    assert ones.shape == (3,)
    assert of.reduce(units).shape == (1,)
    assert ones == pytest.approx(np.repeat(of.reduce(units), 3), nan_ok=True)
    assert of.reduce(units, np.ones(len(units))) == pytest.approx(of.reduce(units), nan_ok=True)


@every_metric
def test_integer_weights_are_repeated_units(typed):
    of, units = made(typed), some_units(typed)
    weights = np.random.default_rng(1).integers(0, 4, (20, len(units)))
    expected = [of.reduce(np.repeat(units, row, axis=0))[0] for row in weights]
    assert of.reduce(units, weights) == pytest.approx(expected, nan_ok=True)


@every_metric
def test_the_order_of_units_does_not_matter(typed):
    of, units = made(typed), some_units(typed)
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 4, (5, len(units)))
    for _ in range(10):
        order = rng.permutation(len(units))
        assert of.reduce(units[order]) == pytest.approx(of.reduce(units), nan_ok=True)
        assert of.reduce(units[order], weights[:, order]) == pytest.approx(of.reduce(units, weights), nan_ok=True)


@every_metric
def test_nothing_is_nan_and_never_0(typed):
    of, units = made(typed), some_units(typed)
    assert np.isnan(of.reduce(units, np.zeros((2, len(units))))).tolist() == [True, True]
    assert np.isnan(of.reduce(units[:0])).tolist() == [True]


@pytest.mark.parametrize("typed", [typed for typed in EVERY if "mass" not in typed])  # whose answers are no gold
def test_perfect_answers_are_1_and_without_error(typed):
    golds, _ = samples(typed)
    found = score(made(typed), golds, [gold[0] for gold in golds])
    assert found.value == pytest.approx(0 if typed.startswith("mse") else 1)
    assert found.unusable == {}


MEANS = [typed for typed in EVERY if made(typed).reduce is mean]


def test_means_are_taken_of_units_of_width_one():
    assert len(MEANS) == 26
    assert all(some_units(typed).shape[1] == 1 for typed in MEANS)


@pytest.mark.parametrize("typed", [typed for typed in MEANS if typed != "accuracy:published"])
def test_no_answer_is_never_better_than_any_other(typed):
    golds, answers = samples(typed)
    of = made(typed)
    for gold in golds:
        (least,) = of.unit(gold, None)
        assert least == 0
        assert all(of.unit(gold, answer)[0] >= least for answer in answers)


@every_metric
def test_scores_are_finite_or_nan_and_within_bounds(typed):
    units = some_units(typed)
    value = made(typed).reduce(units)[0]
    assert math.isfinite(value)
    assert typed.startswith("mse") or -1 <= value <= 1


def test_signatures_are_those_of_the_first_release():
    assert signature(metric("ndcg@10")) == f"ndcg|k:10|variant:corrected|v:2|taskloom:{__version__}"
    assert signature(metric("rouge-l:published")) == f"rouge-l|variant:published|v:2|taskloom:{__version__}"
    assert (
        signature(metric("f1:positive=yes", Labels(("yes", "no"))))
        == f"f1|average:binary|positive:yes|variant:corrected|labels:2-23f414fe|v:2|taskloom:{__version__}"
    )


def test_a_signature_differs_when_any_option_does():
    found = [made(typed) for typed in EVERY]
    found += [
        metric(typed) for typed in ("ndcg@1", "ndcg@10", "p@5", "p@10", "r@1", "r@10", "accuracy", "accuracy:published")
    ]
    others = [
        Labels(("a", "b")),
        Labels(("b", "a", "c")),
        Labels(("a", "b,c")),
        Labels(("a,b", "c")),
        Labels(("a", "B", "c")),
    ]
    found += [metric(typed, output) for typed in ("accuracy", "macro-f1", "micro-f1:published") for output in others]
    found += [metric("f1:positive=b", LABELS), metric("f1:positive=b,published", LABELS)]
    assert len(set(found)) == len(found)
    assert len({signature(of) for of in found}) == len(found)


def test_scores_have_their_metric_units_and_value():
    found = score(metric("accuracy"), [("a",), ("b",), ("c",)], ["a", "a", None])
    assert found.metric == metric("accuracy")
    assert found.units.tolist() == [[1], [0], [0]]
    assert found.value == pytest.approx(1 / 3)
    assert found.unusable == {"unparsable": 1}


def test_as_many_answers_as_gold_ones_are_needed():
    with pytest.raises(ScoreError, match="1,001 gold answers, 2 predictions"):
        score(metric("accuracy"), [("a",)] * 1001, ["a", "b"])


def test_nothing_to_score_is_an_error():
    with pytest.raises(ScoreError, match="nothing to score"):
        score(metric("accuracy"), [], [])


@pytest.mark.parametrize(
    ("typed", "output", "gold", "answer", "reason"),
    [
        ("accuracy", LABELS, "a", "A", "label-unknown"),
        ("accuracy", LABELS, "a", ("a",), "label-unknown"),
        ("accuracy", LABELS, "a", ["a"], "label-unknown"),
        ("macro-f1", LABELS, "a", "z: y", "label-unknown"),
        ("micro-f1", Labels(("a", "b"), many=True), ("a",), "a", "labels-expected"),
        ("micro-f1", Labels(("a", "b"), many=True), ("a",), ("a", "z"), "label-unknown"),
        ("rouge-l", Text(), "x", " ", "empty-output"),
        ("exact-match", Text(), "7", 7, "text-expected"),
        ("bleu-4", Text(), "a b c d", ("a b c d",), "text-expected"),
        ("list-f1", Terms(), ("x",), "x", "terms-expected"),
        ("list-f1", Terms(), ("x",), ["x"], "terms-expected"),
        ("character-f1", Terms(), ("x",), ("x", 1), "terms-expected"),
        ("bpref", Terms(), ("x",), (), "empty-output"),
        ("bpref:published", Terms(), ("x",), ("x", " "), "empty-output"),
        ("ndcg", Ranking(), (("p", 1.0),), (("p", 1.0), ("p", 2.0)), "candidate-twice"),
        ("map", Ranking(), (("p", 1.0),), (("p", math.nan),), "grade-not-finite"),
        ("mrr", Ranking(), (("p", 1.0),), (("p", "1"),), "grade-not-finite"),
        ("p@1", Ranking(), (("p", 1.0),), "p", "pairs-expected"),
        ("r@1", Ranking(), (("p", 1.0),), ["p"], "pairs-expected"),
        ("ndcg", Ranking(), (("p", 1.0),), ("pq",), "pairs-expected"),
        ("ndcg", Ranking(), (("p", 1.0),), (), "empty-output"),
        ("b-cubed", Terms(), ("a", "a", "b"), ("x", "x"), "clusters-differ"),
        ("b-cubed", Labels(("a", "b"), many=True), ("a", "a", "b"), ("a",) * 4, "clusters-differ"),
    ],
)
def test_an_answer_of_another_form_is_counted_by_code_and_gets_the_unit_of_none(typed, output, gold, answer, reason):
    of = metric(typed, output)
    found = score(of, [(gold,)] * 3, [answer, gold, None], output)
    assert found.unusable == {reason: 1, "unparsable": 1}
    assert found.units[0].tolist() == found.units[2].tolist() == list(of.unit((gold,), None))
    assert found.value < 1


@pytest.mark.parametrize("answer", [math.nan, math.inf, "1", True, 10**400, (1.0,)])
@pytest.mark.parametrize("typed", ["mse", "pearson", "spearman", "tau-b"])
def test_what_is_no_number_is_counted_and_left_out(typed, answer):
    found = score(metric(typed), [(1.0,), (2.0,), (1.0,)], [1.0, 2.0, answer], Number())
    assert found.unusable == {"not-finite": 1}
    assert np.isnan(found.units[2]).all()
    assert found.value == pytest.approx(0 if typed == "mse" else 1)


@pytest.mark.parametrize("answer", [((),), ("",), (1.0,), (None, ("p", 1.0))])
def test_an_answer_that_has_no_pairs_is_counted_and_ends_nothing(answer):
    found = score(metric("ndcg"), [((("p", 1.0),),)], [answer], Ranking())
    assert found.unusable == {"pairs-expected": 1}


def test_an_answer_of_several_fields_is_counted_by_field_and_code():
    output = Fields({"title": Text()})
    found = score(metric("rouge-l"), [({"title": "x"},)], [{"title": " "}], output)
    assert found.unusable == {"title/empty-output": 1}


@pytest.mark.parametrize("typed", ["rouge-l", "macro-f1", "list-f1", "mse", "bleu-4", "ndcg"])
def test_an_item_without_gold_answers_is_an_error(typed):
    with pytest.raises(ScoreError):
        score(made(typed), [()], [None])


@pytest.mark.parametrize("typed", ["accuracy:published", "micro-f1:published", "macro-f1:published"])
def test_published_scores_count_what_is_no_label_too(typed):
    found = score(made(typed), [("a",), ("a",)], ["zzz", "a"], LABELS)
    assert found.value == 1  # taken for the first label, as the released script does
    assert found.unusable == {"label-unknown": 1}


def test_without_an_output_only_missing_answers_are_counted():
    found = score(metric("accuracy", LABELS), [("a",), ("a",), ("a",)], ["zzz", None, "a"])
    assert found.unusable == {"unparsable": 1}
    assert found.value == pytest.approx(1 / 3)
