"""Figures of papers."""

from __future__ import annotations

from dataclasses import fields

import pytest

from taskloom.benchmarks import BENCHMARKS
from taskloom.benchmarks.published import ALL, card, names, published
from taskloom.encodings import TABLE_4, encoding
from taskloom.errors import UnknownNameError
from taskloom.learners import LEARNERS
from taskloom.suites.cards import TaskCard


@pytest.mark.parametrize("name", names())
def test_figures_are_points_of_metrics_that_we_have(name: str):
    for figures in published(name).figures:
        assert figures.where
        if figures.metric:
            assert all(0 <= value <= 100 for row in figures.values.values() for value in row.values())


def test_the_tables_of_taskbench_are_whole():
    paper = published("taskbench")
    (levels,), (slopes,), (explained,) = (paper.by(by) for by in ("level", "composition slope", "composition r2"))
    assert [list(row.values()) for row in levels.values.values()] == [
        [46.9, 39.5, 21.5], [42.6, 28.1, 11.5], [33.6, 22.2, 5.7], [32.4, 21.7, 6.9],
    ]  # fmt: skip
    assert {len(row) for row in slopes.values.values()} == {8}
    assert all(list(figures.values) == list(levels.values) for figures in paper.figures)
    above = [name for row in explained.values.values() for name in ("chaining", "union") if row[name] > 0.5]
    assert len(above) == 8  # as the text says


def test_the_tables_of_natural_instructions_are_whole():
    paper = published("natural-instructions")
    english, cross_lingual = paper.by("")
    assert (len(english.values), len(cross_lingual.values)) == (9, 6)
    assert {"copy-input", "copy-demonstration"} <= english.values.keys() & LEARNERS.keys()
    (categories,) = paper.by("category")
    assert {len(row) for row in categories.values.values()} == {12}
    (encodings,) = paper.by("encoding")
    assert [list(row) for row in encodings.values.values()] == [list(TABLE_4)] * 10
    assert encodings.values["trained on def+pos2"]["def+pos2"] == 54.3
    assert all(encoding(name.removeprefix("trained on ")) for name in encodings.values)


def test_the_curves_of_figure_5_rise_with_tasks_and_size_and_not_with_instances():
    paper = published("natural-instructions")
    tasks, instances, sizes = (
        next(iter(paper.by(over)[0].values.values())) for over in ("training tasks", "training instances", "parameters")
    )
    assert (tasks["128"], tasks["757"]) == (48.4, 54.3)  # as its text has them
    assert [*sizes.values()] == [40.1, 42.1, 48.0, 54.3, 62.0]
    assert [*tasks.values()] == sorted(tasks.values())
    assert max(instances, key=lambda number: instances[number]) == "64"


def test_cards_have_figures_of_what_cards_show():
    cards = {name: found for name in BENCHMARKS if (found := card(name))}
    assert list(cards) == ["csl", "flex", "natural-instructions", "scirepeval"]
    assert cards["natural-instructions"].rows[ALL].keys() <= {f.name for f in fields(TaskCard)}
    assert cards["csl"].rows["工学"]["records"] == 177_000
    assert card("quickstart") is card("none of that name") is None


def test_an_unknown_paper_gets_the_nearest_name():
    with pytest.raises(UnknownNameError, match="did you mean natural-instructions"):
        published("natural-instruction")
