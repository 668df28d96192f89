"""Confidence against accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import taskloom
from taskloom.reports import How, summarise
from taskloom.reports.calibration import Beliefs, beliefs, calibration, probabilities
from taskloom.reports.views.calibration import Calibration
from taskloom.stats import Estimate
from taskloom.studies.results import Results

HOW = How(count=400)
ONE = ("t", 0, 0, 0)
Make = Callable[..., Results]


def thought(place: tuple[str, int, int, int], sure: list[float], right: list[int], first: int = 0) -> Beliefs:
    """Make up answers with two options: the given one, and the other."""
    chances, ones = np.array(sure, dtype=float), np.array(right, dtype=float)
    records = np.arange(first, first + len(sure))
    return Beliefs(place, records, chances, ones, 2 * (ones - chances) ** 2, 0)


def test_the_error_and_the_brier_score_are_as_worked_out_by_hand():
    found = calibration({"one": [thought(ONE, [0.95, 0.85, 0.85, 0.55], [1, 0, 1, 1])]}, HOW)["one"]
    # bins: |1 - 0.95| of 1 answer, |0.5 - 0.85| of 2, |1 - 0.55| of 1
    assert found.error.value == pytest.approx((0.05 + 2 * 0.35 + 0.45) / 4)
    assert found.brier.value == pytest.approx(2 * (0.05**2 + 0.85**2 + 0.15**2 + 0.45**2) / 4)
    assert found.accuracy.value == 0.75
    assert found.confidence.value == pytest.approx(0.8)
    assert [(round(b.low, 1), b.accuracy.n, b.accuracy.value) for b in found.bins if b.accuracy.n] == [
        (0.5, 1, 1.0), (0.8, 2, 0.5), (0.9, 1, 1.0)
    ]  # fmt: skip
    assert math.isnan(found.bins[0].confidence)


def test_a_confidence_of_1_is_in_the_last_bin():
    found = calibration({"one": [thought(ONE, [1.0, 0.0, 0.1], [1, 0, 1])]}, HOW)["one"]
    assert [b.accuracy.n for b in found.bins] == [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]


def test_the_interval_of_independent_answers_is_that_of_a_share():
    draw = np.random.default_rng(1)
    right = draw.binomial(1, 0.7, 400)
    found = calibration({"one": [thought(ONE, [0.75] * 400, right.tolist())]}, How(count=2000))["one"]
    p = right.mean()
    reach = 1.96 * math.sqrt(p * (1 - p) / 400)
    assert found.accuracy.high - found.accuracy.low == pytest.approx(2 * reach, rel=0.1)
    assert found.error.value == pytest.approx(abs(p - 0.75))
    assert found.bins[7].accuracy == found.accuracy
    assert found.bins[7].accuracy.n == 400


def test_answers_of_an_episode_and_to_a_record_are_not_independent():
    alone = [thought(("t", 0, at, 0), [0.8] * 10, [at % 2] * 10, 10 * at) for at in range(20)]
    mixed = [thought(("t", 0, at, 0), [0.8] * 10, [0, 1] * 5, 10 * at) for at in range(20)]
    same = [thought(("t", 0, at, 0), [0.8] * 10, [0, 1] * 5, 0) for at in range(20)]
    widths = {}
    for name, of in {"alone": alone, "mixed": mixed, "same": same}.items():
        e = calibration({"one": of}, HOW)["one"].accuracy
        widths[name] = e.high - e.low
    assert widths["alone"] > 2 * widths["mixed"]  # right or wrong by episode
    assert widths["same"] > 2 * widths["mixed"]  # right or wrong by record


def test_learners_without_probabilities_and_no_answers_have_nothing():
    none = beliefs(ONE, [1, 2], [((), ()), ((), ())], ["a", None], [("a",), ("b",)])
    assert none.without == 2
    assert calibration({"one": [none]}, HOW) == {}
    assert calibration({}, HOW) == {}


def test_probabilities_are_of_the_given_answer_and_of_all_acceptable_ones():
    options = [(("a", "b"), (0.25, 0.75))] * 4
    found = beliefs(ONE, [1, 2, 3, 4], options, ["b", "a", None, "c"], [("b",), ("b", "a"), ("a",), ("a",)])
    assert found.without == 2
    assert found.confidence.tolist() == [0.75, 0.25]
    assert found.right.tolist() == [1, 1]
    assert found.brier.tolist() == pytest.approx([2 * 0.25**2, 2 * 0.25**2])  # b is acceptable, and likelier
    assert found.records.tolist() == [1, 2]


@given(some.lists(some.lists(some.floats(-50, 5), min_size=3, max_size=3), min_size=1, max_size=5))
def test_probabilities_sum_up_to_1(scores: list[list[float]]):
    (found,) = probabilities([np.array(scores)])
    assert found.sum(1) == pytest.approx(1)
    assert (found >= 0).all()


def test_scores_are_logarithms_unless_those_of_all_answers_sum_up_to_1():
    as_they_are = probabilities([np.array([[0.1, 0.9], [0.3, 0.69999]]), np.array([[1.0]])])
    assert as_they_are[0] == pytest.approx(np.array([[0.1, 0.9], [0.3, 0.7]]), abs=1e-4)
    logs = probabilities([np.array([[0.1, 0.9]]), np.array([[-1.0, -1.0, -1.0]])])
    assert logs[0][0, 0] == pytest.approx(1 / (1 + math.exp(0.8)))
    assert logs[1] == pytest.approx(1 / 3)
    none = probabilities([np.array([[math.nan, 0.5], [math.inf, 0.0], [-math.inf, -math.inf]])])
    assert np.isnan(none[0]).all()


def test_answers_may_have_options_of_their_own():
    options = [(("a", "b"), (-1.0, -1.0)), ((), ()), (("c", "d", "e"), (-3.0, -3.0, -3.0)), (("b", "a"), (0.0, -9.0))]
    found = beliefs(ONE, [1, 2, 3, 4], options, ["a", "a", "e", "b"], [("b",), ("a",), ("e",), ("b",)])
    by_record = dict(zip(found.records.tolist(), found.confidence.tolist(), strict=True))
    assert by_record == pytest.approx({1: 0.5, 3: 1 / 3, 4: 1 / (1 + math.exp(-9))})
    assert found.without == 1


SURE = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner, Response

@dataclass(frozen=True)
class Sure(Learner):
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = frozenset({"labels"})
    unaided: ClassVar[frozenset[str]] = outputs

    def fit(self, task, support, dev, *, seed, tools):
        return Always(task.output.names)

@dataclass(frozen=True)
class Always:
    names: tuple

    def predict(self, items):
        rest = 0.4 / (len(self.names) - 1)
        options = {name: 0.6 if name == self.names[0] else rest for name in self.names}
        return [Response(self.names[0], options=options) for _ in items]
"""
STUDY = """
name: sure
suite: {build: quickstart, from: "data:papers"}
tasks: [title->topic]
protocol: {seeds: 2, shots: [0, 1], query: 10}
baselines: [majority]
learners: {sure: {"sure.py:Sure": {}}, nearest: {}}
views: [calibration]
"""


def test_what_models_thought_is_read_from_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "sure.py").write_text(SURE)
    (tmp_path / "sure.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    found = taskloom.run("sure.yaml")
    errors, diagram = summarise(found, How(count=100)).figures
    assert [row[:2] for row in errors.rows] == [("sure", 0), ("sure", 1)]
    for row in errors.rows:
        accuracy = row[5]
        assert isinstance(accuracy, Estimate)
        assert isinstance(row[2], Estimate)
        assert row[2].value == pytest.approx(abs(accuracy.value - 0.6))
        assert row[6:] == (20, 0)
    assert any(note.endswith("no probabilities: majority, nearest") for note in errors.notes)
    assert {row[2] for row in diagram.rows} == {"60 to 70"}
    assert "sure: accuracy by confidence" in diagram.plot


def test_results_without_a_ledger_are_not_drawn(tried: Make):
    (figure,) = summarise(tried({4: {"one": {"a": ["10", "11"]}}}, views=(Calibration(),)), HOW).figures
    assert figure.notes[0].startswith("not drawn")
    assert list(Calibration(bins=1).faults({})) == ["bins must be >= 2: 1"]
    assert replace(Calibration(), bins=5).bins == 5
