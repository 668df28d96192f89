"""The studies of SciRepEval on a small folder in the released layout: each is one command."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from taskloom.reports import How
from taskloom.reports.figures import Figure
from taskloom.reports.summary import summarise
from taskloom.studies.api import prepare
from taskloom.studies.overrides import Overrides

WORDS = {"Art": "paint canvas museum style", "Biology": "cell gene protein tissue"}
FAKE = ("hashed-words", "random-vectors")


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 80 documents of two fields, of which MDCR and the tasks of labels are made."""
    folder, names = tmp_path_factory.mktemp("released"), [*WORDS]
    fields = {f"d{n}": names[n % 2] for n in range(80)}
    texts = {id_: " ".join(WORDS[field].split()[int(id_[1:]) % 4 :]) for id_, field in fields.items()}
    documents = [{"doc_id": id_, "title": text, "abstract": f"{text} {id_}"} for id_, text in texts.items()]
    for task in ("mdcr", "drsm", "biomimicry"):
        write_lines(folder / task / "documents.jsonl", documents)
    asked = {
        field: {id_: {"true": [f"d{int(id_[1:]) + 2}"], "random": [f"d{int(id_[1:]) + 3}"]} for id_ in ids[:3]}
        for field in names
        for ids in [[id_ for id_, own in fields.items() if own == field]]
    }
    (folder / "mdcr" / "test.json").write_text(json.dumps(asked))
    numbered: dict[str, list[str]] = {"drsm": names, "biomimicry": ["0", "1"]}
    for task, named in numbered.items():
        labels = [(id_, named[names.index(field)]) for id_, field in fields.items()]
        for part, rows in {"train": labels[:60], "test": labels[60:]}.items():
            with (folder / task / f"{part}.csv").open("w", newline="") as out:
                csv.writer(out).writerows([("paper_id", "label"), *rows])
    labelled = [
        {
            **own,
            "labels": [fields[own["doc_id"]], *(["Law"] if at % 3 else [])],
            "split": "test" if at > 59 else "train",
        }
        for at, own in enumerate(documents)
    ]
    write_lines(folder / "fos" / "evaluation.jsonl", labelled)
    return folder


def figures_of(study: str, released: Path, run: Path, only: tuple[str, ...]) -> tuple[Figure, ...]:
    done, found = prepare(study, run, overrides=Overrides(source=str(released)), only=only).run()
    assert not done.failed
    return summarise(found, How(count=50)).figures


def test_mdcr_stands_by_field_against_bm25_and_beside_the_paper(released: Path, tmp_path: Path):
    by_map, by_recall, _ = figures_of("scirepeval-mdcr", released, tmp_path, ("bm25", "tfidf-linear"))
    assert by_map.columns == ("field", "shots", "learner", "tasks", "episodes", "map", "less bm25", "p (Holm)")
    published = {(row[0], row[2]): row[5] for figure in (by_map, by_recall) for row in figure.rows if row[1] is None}
    assert {field for field, _ in published} == {*WORDS}
    assert [row[5] for row in by_map.rows if row[:3] == ("Art", None, "bm25, published")] == [38.2]
    assert published["Art", "bm25, published"] == 32.3  # recall comes last
    assert any("tables 5 and 10" in note for note in by_map.notes)


def test_learners_are_compared_over_seeds_of_draws(released: Path, tmp_path: Path):
    compared, _ = figures_of("scirepeval-seeds", released, tmp_path, FAKE)
    assert [row[0] for row in compared.rows] == [*FAKE]
    assert [row[3] for row in compared.rows] == [5, 5]


def test_the_main_table_has_the_means_of_the_paper(released: Path, tmp_path: Path):
    by_training, *_ = figures_of("scirepeval", released, tmp_path, FAKE)
    assert by_training.columns == ("learner", "in-train", "out-of-train", "all")
    assert ("SPECTER, published", 54.7, 72.0, 67.5) in by_training.rows


def test_a_study_has_the_few_shot_settings_of_the_paper(released: Path, tmp_path: Path):
    made = prepare("scirepeval-few-shot", tmp_path, overrides=Overrides(source=str(released)), only=FAKE[:1]).plan
    found = {(cell.task, cell.shots) for cell in made.cells}
    assert found >= {("fields-of-study", 5), ("fields-of-study", 10), ("drsm", 24), ("drsm", "all"), ("biomimicry", 16)}
    assert {note.code for note in made.dropped} == {"labels-few"}
