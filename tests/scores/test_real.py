"""ROUGE-L and exact match on real instruction tasks, against the reference package."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

from taskloom.scores import metric


def test_copying_the_input_of_63_official_tasks_scores_as_the_reference_package_says(real_data: Path):
    official = (real_data / "superni" / "splits" / "default" / "test_tasks.txt").read_text().split()
    files = [file for file in sorted((real_data / "superni" / "tasks").glob("*.json")) if file.stem in official]
    assert len(files) == 63
    scorer, of = RougeScorer(["rougeL"], use_stemmer=True), metric("rouge-l:published")
    ours, theirs = [], []
    for file in files:
        for instance in json.loads(file.read_text(encoding="utf-8"))["Instances"][:40]:
            gold, answer = tuple(instance["output"]), instance["input"]
            ours.append(of.unit(gold, answer)[0])
            theirs.append(max(scorer.score(g, answer)["rougeL"].fmeasure for g in gold))
    assert np.abs(np.array(ours) - theirs).max() < 1e-9
    assert 100 * np.mean(ours) == pytest.approx(14.2, abs=3)  # published on all 119 tasks: 14.20
