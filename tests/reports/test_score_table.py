"""The scores as a table for other programs."""

from __future__ import annotations

import csv
import io

import pytest

from taskloom.reports import render
from taskloom.reports.score_table import COLUMNS


def test_a_row_for_each_learner_task_setting_and_metric(summary):
    table = summary.to_arrow()
    assert table.column_names == list(COLUMNS)
    found = {(r["metric"], r["shots"], r["task"], r["learner"], r["on"]): r for r in table.to_pylist()}
    assert len(found) == table.num_rows
    board = summary.of("accuracy")[1]
    for s in board.standings:
        row = found["accuracy", board.shots, None, s.learner, "all"]
        if s.tasks:
            assert (row["value"], row["low"], row["high"], row["n"]) == (
                s.score.value,
                s.score.low,
                s.score.high,
                s.score.n,
            )
            assert (row["best"], row["baseline"]) == (s.best, s.baseline)
        else:
            assert (row["value"], row["rank"]) == (None, None)
    for task, by in board.tasks.items():
        assert found["accuracy", board.shots, task, "strong", None]["value"] == by["strong"].value


def test_a_data_frame_has_the_rows_of_the_csv_report(summary):
    frame = summary.to_pandas()
    rows = list(csv.DictReader(io.StringIO(render(summary, "csv"))))
    assert len(frame) == len(rows)
    known = [(value, row["value"]) for value, row in zip(frame["value"], rows, strict=True) if row["value"]]
    assert known
    assert all(value == pytest.approx(float(text)) for value, text in known)
