from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from taskloom.errors import SourceError, UsageError
from taskloom.sources.trec import read_qrels, read_run


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, *lines: str) -> Path:
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path / name

    return write


def test_judgements_and_runs_are_read_by_query_and_document(written):
    qrels = written("q.txt", "1 0 d1 2", "1\t0\td2   0", "", "2 0 文 -1")
    assert read_qrels(qrels) == {"1": {"d1": 2.0, "d2": 0.0}, "2": {"文": -1.0}}
    run = written("r.run", "1 Q0 d2 1 1e-3 mine", "1 Q0 d1 2 -4 mine")
    assert read_run(run) == {"1": {"d2": 0.001, "d1": -4.0}}


def test_released_judgements_are_read_from_json_lines(written):
    lines = ('{"query_id": "q", "cand_id": 7, "score": 1}', '{"query_id": "q", "cand_id": "b", "score": 0}')
    assert read_qrels(written("test_qrel.jsonl", *lines)) == {"q": {"7": 1.0, "b": 0.0}}


def test_a_packed_file_is_read(tmp_path: Path):
    with gzip.open(tmp_path / "q.txt.gz", "wt") as file:
        file.write("1 0 d1 2\n")
    assert read_qrels(tmp_path / "q.txt.gz") == {"1": {"d1": 2.0}}


def test_all_lines_that_are_wrong_are_named(written):
    with pytest.raises(SourceError) as refused:
        read_run(written("r", "1 Q0 d1 1 0.5 x", "1 Q0 d2 1", "1 Q0 d3 1 nan x", "1 Q0 d4 1 high x", "1 Q0 d1 9 1 x"))
    assert refused.value.faults == (
        "r:2: 4 columns instead of query, Q0, document, rank, score, name",
        "r:3: score must be a finite number: 'nan'",
        "r:4: score must be a finite number: 'high'",
        "r:5: duplicate document 'd1' of query '1'",
    )
    with pytest.raises(SourceError) as refused:
        read_qrels(written("q.jsonl", '{"query_id": "q", "cand_id": true, "score": 1}', "{"))
    assert refused.value.faults[0] == "q.jsonl:1: must have query_id, cand_id, score"
    assert refused.value.faults[1].startswith("q.jsonl:2:2: invalid JSON")


def test_of_many_faults_the_first_are_named(written):
    with pytest.raises(SourceError) as refused:
        read_qrels(written("q", *["x"] * 25))
    assert refused.value.faults[-1] == "and 5 more"


def test_files_without_lines_or_that_are_not_there_are_refused(written, tmp_path: Path):
    with pytest.raises(SourceError, match="no judgements"):
        read_qrels(written("q", "", " "))
    with pytest.raises(UsageError, match="no such file"):
        read_run(tmp_path / "none")
    with pytest.raises(UsageError, match="a folder, not a file"):
        read_run(tmp_path)
