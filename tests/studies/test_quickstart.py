from __future__ import annotations

from pathlib import Path

import pytest

from taskloom.studies.plan import plan
from taskloom.studies.study import load


def test_the_quickstart_has_all_its_tasks_without_an_index_too(
    offline_cache: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for name, value in offline_cache.items():
        monkeypatch.setenv(name, value)
    made = plan(load("quickstart")[0], tmp_path)
    assert {cell.task for cell in made.cells} == set(load("quickstart")[0].tasks)
    assert not [note for note in made.skipped if "too few" in str(note)]
    assert "made-up papers" in str(made.suite.about["note"])
