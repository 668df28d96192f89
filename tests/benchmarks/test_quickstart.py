from __future__ import annotations

import pytest

from taskloom.benchmarks import build


def test_without_an_index_the_embedded_papers_are_used(offline_cache: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    for name, value in offline_cache.items():
        monkeypatch.setenv(name, value)
    suite = build("quickstart")
    assert "unreachable" in str(suite.about["note"])
    assert suite.about["dropped"] == [{"code": "row-filtered", "values": {"where": ["language=en"]}, "count": 20}]
    assert len(suite.tasks) == 180
    assert len(suite.pools["abstract->title"]["all"]) == 60


def test_the_embedded_papers_make_the_same_suite_on_every_machine():
    suite = build("quickstart", "data:papers")
    assert suite.fingerprint == "96c99a925e1ca43f924a9e1af2a389f1"
