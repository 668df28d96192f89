"""The metrics of a task, and the fields that they are for."""

from __future__ import annotations

import pytest

from taskloom.core import Fields, Labels, Output, Task
from taskloom.errors import ScoreError, UnknownNameError
from taskloom.scores.tasks import parts_of, score_key, score_task

KIND = Labels(("yes", "n/a"))


def task(output: Output, *metrics: str) -> Task:
    return Task(id="t", instruction="", output=output, metrics=metrics)


@pytest.mark.parametrize(
    ("output", "name", "part"),
    [
        (KIND, "accuracy", ""),
        (KIND, "f1:positive=n/a", ""),
        (Fields({"kind": KIND}), "kind/accuracy", "kind"),
        (Fields({"kind": KIND}), "kind/f1:positive=n/a", "kind"),
    ],
)
def test_a_field_stands_before_its_metric_whose_options_may_hold_a_slash(output: Output, name: str, part: str):
    ((named, found, of),) = parts_of(task(output, name))
    assert (named, found) == (name, part)
    assert score_key(name, of).startswith(f"{part}/{of.name}|")
    golds = [("n/a",), ("yes",)] if not part else [({"kind": "n/a"},), ({"kind": "yes"},)]
    assert score_task(task(output, name), golds, [gold for (gold,) in golds])[name].value == 1


def test_a_field_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown field of metric 'kin/accuracy': 'kin'; did you mean kind"):
        list(parts_of(task(Fields({"kind": KIND}), "kin/accuracy")))
    with pytest.raises(UnknownNameError, match="'kind'; known: none"):
        list(parts_of(task(KIND, "kind/accuracy")))
    with pytest.raises(ScoreError, match="metric needs a field, as in kind/accuracy"):
        list(parts_of(task(Fields({"kind": KIND}), "accuracy")))
