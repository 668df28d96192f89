import numpy as np
import pytest

from taskloom.core import Fields, Labels, Number, Ranking, Task, Terms, Text
from taskloom.errors import ScoreError
from taskloom.scores import metric, signature
from taskloom.scores.mean import MEAN, Mean
from taskloom.scores.tasks import parts_of, score_key, score_task
from taskloom.studies.metrics import metrics_of

LABELS = Task(id="t", instruction="", output=Labels(("a", "b")), metrics=("accuracy", "macro-f1"))
GOLD, ANSWERS = [("a",), ("a",), ("b",), ("b",)], ["a", "b", "b", None]


def test_the_mean_is_that_of_a_tasks_own_metrics():
    own, mean = score_task(LABELS, GOLD, ANSWERS), score_task(LABELS, GOLD, ANSWERS, (MEAN,))
    # accuracy 2/4; a: p 1, r 1/2, F1 2/3; b: p 1/2, r 1/2, F1 1/2
    assert mean[MEAN].value == pytest.approx((0.5 + (2 / 3 + 1 / 2) / 2) / 2)
    assert mean[MEAN].value == pytest.approx(np.mean([one.value for one in own.values()]))
    assert mean[MEAN].unusable == {"unparsable": 1}


def test_the_mean_can_be_resampled():
    scored = score_task(LABELS, GOLD, ANSWERS, (MEAN,))[MEAN]
    own = score_task(LABELS, GOLD, ANSWERS)
    weights = np.array([[1, 1, 1, 1], [4, 0, 0, 0], [0, 2, 1, 1]])
    expected = np.mean([one.metric.reduce(one.units, weights) for one in own.values()], axis=0)
    assert scored.metric.reduce(scored.units, weights) == pytest.approx(expected)


def test_of_several_fields_each_counts_with_its_metrics():
    task = Task(
        id="t",
        instruction="",
        output=Fields({"title": Text(), "terms": Terms()}),
        metrics=("title/rouge-l", "title/bleu-4", "terms/list-f1"),
    )
    gold = [({"title": "a tree", "terms": ("x", "y")},)]
    answers = [{"title": "a tree", "terms": None}]
    assert score_task(task, gold, answers, (MEAN,))[MEAN].value == pytest.approx(
        np.mean([one.value for one in score_task(task, gold, answers).values()])
    )
    assert metrics_of(task, [MEAN]) == (MEAN,)


def test_a_unit_of_the_mean_is_what_scoring_gives():
    (name, _, of), *_ = parts_of(LABELS, (MEAN,))
    assert isinstance(of, Mean)
    scored = score_task(LABELS, GOLD[:1], ["a"], (MEAN,))[name]
    assert tuple(scored.units[0]) == of.unit(("a",), "a")


def test_the_name_of_a_kept_mean_tells_its_parts_and_their_versions():
    (_, _, of), *_ = parts_of(LABELS, (MEAN,))
    assert "accuracy|" in score_key(MEAN, of)
    assert "macro" in score_key(MEAN, of)
    assert "parts" not in signature(of)


def test_what_no_resample_shows_is_the_parts_at_worst():
    (_, _, of), *_ = parts_of(LABELS, (MEAN,))
    right = score_task(LABELS, [("a",)] * 4, ["a"] * 4, (MEAN,))[MEAN]
    assert isinstance(of, Mean)
    assert all(side >= 0 for side in of.unseen(right.units, 0.95))


@pytest.mark.parametrize("metrics", [("tau-b", "mse"), (), (MEAN,)])
def test_a_mean_of_errors_or_of_nothing_is_refused(metrics):
    task = Task(id="t", instruction="", output=Number(), metrics=metrics)
    with pytest.raises(ScoreError) as error:
        list(parts_of(task, (MEAN,)))
    assert error.value.note.code == "mean-unfit"
    assert metrics_of(task, [MEAN]) == ()


def test_without_a_task_there_is_no_mean():
    with pytest.raises(ScoreError) as error:
        metric(MEAN)
    assert error.value.note.code == "metric-of-task"


def test_reviewer_matching_is_the_mean_of_hard_and_soft_precision():
    levels = tuple(f"p@{k}:level={level}" for k in (5, 10) for level in (3, 2))
    task = Task(id="t", instruction="", output=Ranking(), metrics=levels)
    gold = tuple((f"r{n}", float(grade)) for n, grade in enumerate([3, 2, 0, 1, 3, 2, 0, 0, 3, 2, 3, 2]))
    answer = tuple((name, float(-place)) for place, (name, _) in enumerate(gold))
    found = score_task(task, [(gold,)], [answer], (MEAN,))[MEAN]
    assert found.value == pytest.approx((2 / 5 + 3 / 5 + 3 / 10 + 6 / 10) / 4)
