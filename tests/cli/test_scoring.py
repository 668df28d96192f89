from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from taskloom.cli import shell_completion
from taskloom.core import Example, Item, Ranking, Stored, Suite, Task
from taskloom.suites import linked, store
from taskloom.suites.documents import documents


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with judgements, a run, and a suite of documents with vectors."""
    (tmp_path / "q.qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 0\nq2 0 b 2\nq3 0 a 0\n")
    (tmp_path / "r.run").write_text("q1 Q0 a 1 0.9 x\nq1 Q0 b 2 0.1 x\nq2 Q0 a 1 0.9 x\nq2 Q0 b 2 0.1 x\n")
    papers = documents("papers", [Stored(name, {"title": name}) for name in ("a", "b", "q1", "q2")])
    task = Task(id="near", instruction="", output=Ranking(store="papers"), metrics=("mrr",))
    golds = {"q1": (("a", 1.0), ("b", 0.0)), "q2": (("a", 0.0), ("b", 1.0))}
    asked = [Example(Item(name, {"paper": name}, ("a", "b")), (gold,), name) for name, gold in golds.items()]
    pool = linked.pool(task, asked, papers, by_id=True)
    suite = Suite(id="near", tasks={"near": task}, pools={"near": {"test": pool}}, stores={"papers": papers})
    store.write(suite, tmp_path / "suite")
    vectors = {"a": [1, 0], "b": [0, 1], "q1": [0.9, 0.1], "q2": [0.8, 0.2]}
    lines = [json.dumps({"doc_id": name, "embedding": vector}) for name, vector in vectors.items()]
    (tmp_path / "v.jsonl").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_run_is_scored_by_judgements(taskloom):
    done = taskloom("score", "--qrels", "q.qrels", "--run", "r.run", "--metric", "mrr", "--metric", "ndcg%50")
    assert done.code == 0
    assert "50.00" in done.out  # (1 + 1/2 + 0) / 2, for q3 has no ranking and nothing to rank
    assert ": 1 query without a relevant candidate, left out except by `published` metrics: q3" in done.err
    found = json.loads(taskloom("score", "--qrels", "q.qrels", "--run", "r.run", "--json").out)
    assert found["metrics"]["map"]["micro"]["value"] == 0.75
    assert list(found["metrics"]) == ["map", "ndcg", "ndcg@10", "p@10", "mrr"]


def test_metrics_and_measures_are_completed():
    assert shell_completion.metrics("ndc") == ["ndcg"]
    assert shell_completion.measures("c") == ["cosine"]


@pytest.mark.usefixtures("folder")
def test_a_run_and_vectors_are_scored_on_a_suite(taskloom):
    by_run = json.loads(taskloom("score", "suite", "--run", "r.run", "--json").out)
    assert by_run["metrics"]["mrr"]["micro"]["value"] == 0.75
    for measure in ((), ("--measure", "cosine")):
        found = json.loads(taskloom("score", "suite", "--embeddings", "v.jsonl", *measure, "--json").out)
        assert found["metrics"]["mrr"]["micro"]["value"] == 0.75


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "name a suite and a file of predictions, or --qrels and --run"),
        (["suite"], "name a suite and a file"),
        (["--run", "r.run"], "--run needs --qrels or SUITE"),
        (["--qrels", "q.qrels"], "name a suite and a file"),
        (["--embeddings", "v.jsonl"], "--embeddings needs SUITE"),
        (["--embeddings", "v.jsonl", "--qrels", "q.qrels"], "--embeddings needs SUITE"),
        (["suite", "--qrels", "q.qrels", "--run", "r.run"], "can't be given together: SUITE, --qrels, --run"),
        (["suite", "v.jsonl", "--run", "r.run"], "can't be given together: SUITE, FILE, --run"),
        (["suite", "--run", "r.run", "--measure", "cosine"], "--measure needs --embeddings"),
        (["suite", "--embeddings", "v.jsonl", "--measure", "cosin"], "did you mean cosine"),
        (["suite", "--embeddings", "none.jsonl"], "no such file"),
        (["suite", "/dev/zero"], "not a regular file; save what it gives to one: /dev/zero"),
        (["suite", "--run", "/dev/zero"], "not a regular file"),
        (["suite", "--embeddings", "/dev/zero"], "not a regular file"),
    ],
)
def test_what_does_not_go_together_is_refused(taskloom, given, told):
    done = taskloom("score", *given)
    assert done.code == 2
    assert told in done.err


def test_documents_without_a_vector_are_named(taskloom, folder: Path):
    (folder / "v.jsonl").write_text('{"doc_id": "a", "embedding": [1]}')
    done = taskloom("score", "suite", "--embeddings", "v.jsonl")
    assert (done.code, "3 documents without a vector: q1, q2, b" in done.err) == (1, True)


def test_predictions_are_read_from_a_pipe(taskloom, folder: Path):
    os.mkfifo(folder / "pipe")
    line = json.dumps({"item": "q1", "answer": [["a", 1.0], ["b", 0.0]]}) + "\n"
    writer = threading.Thread(target=(folder / "pipe").write_text, args=[line])
    writer.start()
    done = taskloom("score", "suite", "pipe", "--json")
    writer.join()
    assert done.code == 0, done.err
    assert json.loads(done.out)["metrics"]["mrr"]["micro"]["n"] == 2
