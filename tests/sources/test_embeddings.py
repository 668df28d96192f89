from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taskloom.errors import SourceError, UsageError
from taskloom.sources.embeddings import read_embeddings


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: Any) -> Path:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (tmp_path / "v.jsonl").write_text("\n".join(texts), encoding="utf-8")
        return tmp_path / "v.jsonl"

    return write


def test_vectors_are_found_by_id_whether_it_is_a_text_or_a_number(written):
    found = read_embeddings(written({"doc_id": "a", "embedding": [1, 2.5]}, {"doc_id": 7, "embedding": [0, -1]}))
    assert found.rows(["7", "a"]).tolist() == [[0, -1], [1, 2.5]]
    assert found.vectors.dtype == np.float32
    assert (len(found), found.missing(["a", "7", "b"])) == (2, ["b"])


def test_all_lines_that_are_wrong_are_named_by_line_and_document(written):
    with pytest.raises(SourceError) as refused:
        read_embeddings(
            written(
                {"doc_id": "a", "embedding": [1.0, 2.0]},
                {"doc_id": "a", "embedding": [1.0, 2.0]},
                {"doc_id": "b", "embedding": [1.0, 2.0, 3.0]},
                '{"doc_id": "c", "embedding": [NaN, 1.0]}',
                {"doc_id": "d", "embedding": [1e300, 1.0]},
                {"doc_id": "e", "embedding": "1 2"},
                {"doc_id": "f", "embedding": [[1.0, 2.0]]},
                {"doc_id": "g", "embedding": []},
                {"embedding": [1.0, 2.0]},
                {"doc_id": True, "embedding": [1.0, 2.0]},
                "[1]",
                "{",
                {"doc_id": "h", "embedding": [True, 1.0]},
                {"doc_id": "i", "embedding": [10**400, 1.0]},
            )
        )
    assert refused.value.faults[:10] == (
        "v.jsonl:2: document 'a' is a duplicate of v.jsonl:1",
        "v.jsonl:3: document 'b': 3 dimensions, those before have 2",
        "v.jsonl:4: document 'c': NaN or infinite values",
        "v.jsonl:5: document 'd': NaN or infinite values",
        "v.jsonl:6: document 'e': embedding must be a list of numbers",
        "v.jsonl:7: document 'f': embedding must be a list of numbers",
        "v.jsonl:8: document 'g': embedding must be a list of numbers",
        "v.jsonl:9: doc_id is missing",
        "v.jsonl:10: doc_id must be a text: True",
        "v.jsonl:11: must be a JSON object",
    )
    assert refused.value.faults[11:] == (
        "v.jsonl:13: document 'h': embedding must be a list of numbers",
        "v.jsonl:14: invalid JSON (an integer of more than 64 bits: 10000000000000000000...)",
    )


def test_files_without_vectors_or_that_are_not_there_are_refused(written, tmp_path: Path):
    with pytest.raises(SourceError, match="no embeddings"):
        read_embeddings(written("", " "))
    with pytest.raises(UsageError, match="no such file"):
        read_embeddings(tmp_path / "none.jsonl")
