"""SciRepEval: its catalogue, the released layouts, tasks of one's own, and the suite of data inside packages."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from taskloom.benchmarks import build
from taskloom.benchmarks.document_sets import hub_specs, own_declarations
from taskloom.benchmarks.published import ALL, card, published
from taskloom.benchmarks.scirepeval import catalogue, stand_ins
from taskloom.core import ABSENT, DROPPED, Labels, Suite
from taskloom.errors import FetchError, SourceError, UnknownNameError, UsageError
from taskloom.scores.tasks import is_known
from taskloom.sources import packages
from taskloom.suites.check import check
from taskloom.suites.document_tasks import KINDS

NAMES = ("elms", "oaks", "owls", "cod", "ants", "bees")
DOCUMENTS = [{"doc_id": name, "title": f"On {name}", "abstract": f"All that is known of {name}."} for name in NAMES]
JUDGED = [{"query_id": "elms", "cand_id": name, "score": int(name == "oaks")} for name in NAMES[1:]]


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_table(path: Path, rows: Iterable[tuple[Any, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([("paper_id", "label"), *rows])


def write_labels(folder: Path, labels: Iterable[Any]) -> None:
    rows = list(zip(NAMES, labels, strict=True))
    write_lines(folder / "meta.jsonl", DOCUMENTS)
    write_table(folder / "train.csv", rows[:4])
    write_table(folder / "test.csv", rows[4:])


def sizes(suite: Suite, task: str) -> dict[str, int]:
    return {pool: len(own) for pool, own in suite.pools[task].items()}


# --- the catalogue ---------------------------------------------------------------------------------------------------


def test_the_catalogue_has_the_24_tasks_of_the_paper_and_mdcr():
    tasks = [of for of in catalogue().values() if of.training != "apart"]
    assert len(tasks) == 24
    assert Counter(of.training for of in tasks) == {"in-train": 8, "out-of-train": 16}
    assert Counter(KINDS[of.kind].format for of in tasks) == {"CLF": 6, "RGN": 5, "PRX": 10, "SRCH": 3}
    assert [of.name for of in catalogue().values() if of.training == "apart"] == ["mdcr"]
    assert all(of.licence and of.page for of in catalogue().values())


def test_the_values_that_count_are_7_and_20():
    counts: Counter[str] = Counter()
    for of in catalogue().values():
        if of.name != "citation-triplets":  # which trains alone
            task = of.task(["a", "b"])
            counts[of.training] += len(task.tags["values"])
            assert all(is_known(metric) for metric in task.metrics), of.name
    assert counts == {"in-train": 7, "out-of-train": 20, "apart": 2}


def test_few_shot_settings_and_fields_are_those_of_the_paper():
    few = {name: dict(of.few_shot) for name, of in catalogue().items() if of.few_shot}
    assert few == {
        "fields-of-study": {"5": 100, "10": 50}, "biomimicry": {"16": 100, "64": 50}, "drsm": {"24": 100, "64": 50},
    }  # fmt: skip
    assert [name for name, of in catalogue().items() if of.fields != ("title", "abstract")] == ["search"]
    assert catalogue()["search"].store == "documents-venue-year"


def test_the_card_has_the_sizes_of_the_catalogue():
    found = card("scirepeval")
    assert found
    assert list(found.rows) == [ALL, *(name for name in catalogue() if name != "mdcr")]
    for name, of in catalogue().items():
        row = found.rows.get(name, {})
        assert {key: row[key] for key in of.sizes} == of.sizes


def test_published_means_are_those_over_27_values():
    (means,) = published("scirepeval").by("training")
    for method, of in means.values.items():
        both = (7 * of["in-train"] + 20 * of["out-of-train"]) / 27
        assert both == pytest.approx(of["all"], abs=0.11), method
    (affinity,) = published("scirepeval").by("training affinity")
    assert affinity.values["All"] == {"in-train": 62.4, "out-of-train": 73.1, "all": 70.4}


def test_published_figures_by_field_have_the_mean_that_is_printed():
    for table in published("scirepeval").by("field"):
        for method, of in table.values.items():
            fields = [value for name, value in of.items() if name != ALL]
            if fields:
                assert sum(fields) / 19 == pytest.approx(of[ALL], abs=0.11), (table.metric, method)


# --- released layouts ------------------------------------------------------------------------------------------------


def test_labels_numbers_and_judgements_are_read_from_a_folder_for_each_task(tmp_path: Path):
    write_labels(tmp_path / "biomimicry", [1, 0, 1, 0, 1, 0])
    write_labels(tmp_path / "tweet_mentions", [0.5, 2, 3, 1, 0.1, 7])
    write_lines(tmp_path / "relish" / "test.jsonl", DOCUMENTS)
    write_lines(tmp_path / "relish" / "test_qrel.jsonl", JUDGED)
    suite = build("scirepeval", [str(tmp_path)])
    assert list(suite.tasks) == ["biomimicry", "tweet-mentions", "relish"]
    assert sizes(suite, "biomimicry") == sizes(suite, "tweet-mentions") == {"train": 4, "test": 2}
    assert sizes(suite, "relish") == {"test": 1}
    assert {name: len(of) for name, of in suite.stores.items()} == {"documents": 6}
    assert suite.pools["tweet-mentions"]["test"].golds() == [0.1, 7.0]
    assert "not found: mesh-descriptors, fields-of-study" in str(suite.about["note"])
    assert not [fault for fault in check(suite) if fault.code.startswith("E")]


def test_parts_of_a_task_may_be_in_two_folders_as_on_the_hub(tmp_path: Path):
    write_lines(tmp_path / "scirepeval" / "scidocs_view_cite_read" / "evaluation.jsonl", DOCUMENTS)
    write_lines(tmp_path / "scirepeval_test" / "scidocs_cite" / "test.jsonl", JUDGED)
    suite = build("scirepeval", [str(tmp_path)])
    assert list(suite.tasks) == ["scidocs-cite"]
    assert "splits that are used: scidocs-co-view, scidocs-co-read, scidocs-co-cite" in str(suite.about["note"])
    assert sizes(suite, "scidocs-cite") == {"test": 1}
    assert suite.tasks["scidocs-cite"].tags["values"] == ("map", "ndcg")


def test_judgements_of_trec_eval_are_read_too(tmp_path: Path):
    write_lines(tmp_path / "relish" / "documents.jsonl", DOCUMENTS)
    (tmp_path / "relish" / "test.qrels").write_text("elms 0 oaks 2\nelms 0 owls 0\n")
    suite = build("scirepeval", [str(tmp_path)])
    assert suite.pools["relish"]["test"].golds() == [(("oaks", 2.0), ("owls", 0.0))]


def test_reviewers_are_graded_by_hard_and_soft_judgements(tmp_path: Path):
    folder = tmp_path / "paper_reviewer_matching"
    write_lines(folder / "meta.jsonl", DOCUMENTS)
    write_lines(
        folder / "reviewer_metadata.jsonl",
        [{"r_id": "r1", "papers": ["oaks"]}, {"r_id": "r2", "papers": ["cod", "ants"]}],
    )
    rows = [{"query_id": "elms", "cand_id": f"r{n}"} for n in (1, 2)]
    write_lines(folder / "test_hard_qrel.jsonl", [rows[0] | {"score": 1}, rows[1] | {"score": 0}])
    write_lines(folder / "test_soft_qrel.jsonl", [row | {"score": 1} for row in rows])
    suite = build("scirepeval", [str(tmp_path)])
    assert suite.pools["reviewer-matching"]["test"].golds() == [(("r1", 3.0), ("r2", 2.0))]
    assert suite.stores["documents"].take(["r2"])[0].members == ("cod", "ants")
    assert suite.tasks["reviewer-matching"].tags["values"] == ("mean",)


def test_author_blocks_of_several_sources_keep_their_signatures_apart(tmp_path: Path):
    for source in ("aminer", "pubmed"):
        about = {"first": "Ann", "last": "Lee", "block": "a lee"}
        signed = {
            str(n): {"signature_id": n, "paper_id": name, "author_info": about} for n, name in enumerate(NAMES[:2])
        }
        folder = tmp_path / "s2and_mini" / source
        folder.mkdir(parents=True)
        (folder / f"{source}_signatures.json").write_text(json.dumps(signed, indent=1))
        clusters = {"c": {"cluster_id": "c", "signature_ids": [0]}, "d": {"cluster_id": "d", "signature_ids": [1]}}
        (folder / f"{source}_clusters.json").write_text(json.dumps(clusters))
        papers = {one["doc_id"]: {"title": one["title"], "abstract": one["abstract"]} for one in DOCUMENTS}
        (folder / f"{source}_papers.json").write_text(json.dumps(papers))
    suite = build("scirepeval", [str(tmp_path)])
    golds = [gold for pool in suite.pools["s2and"].values() for gold in pool.golds()]
    assert golds == [("c", "d")] * 2
    assert len(suite.stores["documents"]) == 2 + 4


def test_mdcr_is_a_task_of_each_field_of_study(tmp_path: Path):
    write_lines(tmp_path / "mdcr" / "documents.jsonl", DOCUMENTS)
    by_field = {
        "Art": {"elms": {"true": ["oaks"], "bm25": ["cod"]}},
        "Biology": {"owls": {"true": ["ants"], "bm25": ["cod"]}},
    }
    (tmp_path / "mdcr" / "test.json").write_text(json.dumps(by_field, indent=1))
    suite = build("scirepeval", [str(tmp_path)])
    assert {name: task.tags["field"] for name, task in suite.tasks.items()} == {
        "mdcr-art": ("Art",), "mdcr-biology": ("Biology",),
    }  # fmt: skip
    assert suite.tasks["mdcr-art"].metrics == ("map", "r@5")
    assert suite.about[ABSENT] == [name for name in catalogue() if name != "mdcr"]
    assert suite.folds == {"scirepeval": {}}


def test_lines_of_the_released_configuration_declare_tasks(tmp_path: Path):
    write_labels(tmp_path / "bio", [1, 0, 1, 0, 1, 0])
    (tmp_path / "bio" / "meta.jsonl").rename(tmp_path / "bio.jsonl")
    lines: list[dict[str, Any]] = [
        {"name": "Biomimicry", "type": "classification", "data": {"meta": "bio.jsonl", "test": "bio"},
         "metrics": ["f1"],
         "few_shot": [{"sample_size": 64, "iterations": 50}, {"sample_size": 16, "iterations": 100}]},
        {"name": "Mine", "type": "proximity", "fields": ["title"],
         "data": {"meta": {"name": "a/b", "config": "c"}, "test": {"name": "a/t", "config": "c"}},
         "metrics": ["map", "P_5", "ndcg_cut_10"]},
    ]  # fmt: skip
    write_lines(tmp_path / "tasks.jsonl", lines)
    bio, mine = own_declarations(tmp_path / "tasks.jsonl", catalogue())
    assert (bio.name, bio.metrics, bio.few_shot) == ("biomimicry", ("f1:positive=1",), {"64": 50, "16": 100})
    assert (mine.name, mine.fields, mine.metrics) == ("mine", ("title",), ("map", "p@5", "ndcg@10"))
    assert mine.source == ("hub:a/b:c@evaluation", "hub:a/t:c@test")
    write_lines(tmp_path / "one.jsonl", lines[:1])
    suite = build("scirepeval", [str(tmp_path / "one.jsonl")])
    assert sizes(suite, "biomimicry") == {"train": 4, "test": 2}
    write_lines(tmp_path / "odd.jsonl", [{**lines[0], "metrics": ["f1_makro"]}])
    with pytest.raises(UnknownNameError, match="f1_macro"):
        own_declarations(tmp_path / "odd.jsonl", catalogue())


def test_the_hub_is_asked_for_by_configuration():
    assert hub_specs(catalogue()["mesh-descriptors"]) == [
        "hub:allenai/scirepeval:mesh_descriptors@evaluation",
        "hub:allenai/scirepeval_test:mesh@train",
        "hub:allenai/scirepeval_test:mesh@test",
    ]
    with pytest.raises(SourceError, match="'s2and' has no name on the hub"):
        hub_specs(catalogue()["s2and"])
    with pytest.raises(UnknownNameError, match="biomimicry"):
        build("scirepeval", "hub:biomimicri")


def test_the_sample_files_of_the_training_tasks_are_read(real_data: Path):
    suite = build("scirepeval", [str(real_data / "scirepeval")])
    counts = {name: sum(sizes(suite, name).values()) for name in suite.tasks}
    assert counts == {
        "mesh-descriptors": 206, "fields-of-study": 205, "same-author": 40, "citation-triplets": 200, "search": 100,
    }  # fmt: skip
    assert {name: len(of) for name, of in suite.stores.items()} == {"documents": 1423, "documents-venue-year": 1000}
    output = suite.tasks["fields-of-study"].output
    assert isinstance(output, Labels)
    assert len(output.names) == 23
    assert not [fault for fault in check(suite) if fault.code.startswith("E")]


# --- tasks of one's own ----------------------------------------------------------------------------------------------

OWN = """
from: papers.jsonl
tasks:
  kind: {kind: classification, label: kind}
  known: {kind: regression, label: year}
  alike: {kind: proximity, same: kind, negatives: 2}
  cited: {kind: proximity, cites: cites, negatives: 9}
  find: {kind: search, found_by: kind, training: in-train}
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    kinds = ("tree", "tree", "animal", "animal", "animal", "animal")
    rows = [
        {**one, "kind": kind, "year": 2000 + n, "cites": ["elms"] if n == 2 else []}
        for n, (one, kind) in enumerate(zip(DOCUMENTS, kinds, strict=True))
    ]
    write_lines(tmp_path / "papers.jsonl", rows)
    (tmp_path / "own.yaml").write_text(OWN)
    return tmp_path / "own.yaml"


def test_a_few_lines_declare_tasks_over_a_table(own: Path):
    suite = build("scirepeval", str(own))
    assert list(suite.tasks) == ["kind", "known", "alike", "cited", "find"]
    assert {name: len(of) for name, of in suite.stores.items()} == {"documents": 6}
    pairs: list[tuple[str, Any]] = [(e.item.id, e.gold[0]) for e in suite.pools["cited"]["test"].take([0, 1])]
    golds = {id_: dict(own) for id_, own in pairs}
    assert golds["owls"]["elms"] == golds["elms"]["owls"] == 2.0
    assert sum(golds["owls"].values()) == 2.0
    assert suite.folds["scirepeval"]["train"] == ("find",)
    assert build("scirepeval", str(own)).fingerprint == suite.fingerprint


@pytest.mark.parametrize("task", ["alike: {kind: proximity, same: kind}", "cited: {kind: proximity, cites: cites}"])
def test_queries_are_in_the_pool_that_their_rows_say(own: Path, task: str):
    rows = [json.loads(line) for line in (own.parent / "papers.jsonl").read_text().splitlines()]
    write_lines(
        own.parent / "papers.jsonl",
        [{**row, "cites": ["owls"], "part": "test" if n % 2 else "train"} for n, row in enumerate(rows)],
    )
    own.write_text(f"from: papers.jsonl\nsplit: part\ntasks:\n  {task}")
    (pools,) = build("scirepeval", str(own)).pools.values()
    asked = {pool: {e.item.id for e in of.take(range(len(of)))} for pool, of in pools.items()}
    assert asked == {
        "train": {row["doc_id"] for row in rows[::2]}, "test": {row["doc_id"] for row in rows[1::2]},
    }  # fmt: skip


def test_a_query_that_is_spelled_like_an_id_is_still_a_text(own: Path):
    rows = [json.loads(line) for line in (own.parent / "papers.jsonl").read_text().splitlines()]
    write_lines(
        own.parent / "train.jsonl",
        [{**row, "kind": row["doc_id"] if n < 2 else "animal"} for n, row in enumerate(rows)],
    )
    own.write_text("from: train.jsonl\ntasks: {find: {kind: search, found_by: kind, negatives: 2}}")
    (pools,) = build("scirepeval", str(own)).pools.values()
    assert {pool: len(of) for pool, of in pools.items()} == {"test": 3}


def test_a_scale_of_numbers_is_what_training_knows_it_by(own: Path):
    own.write_text("from: papers.jsonl\ntasks: {known: {kind: regression, label: year, scale: log}}")
    assert build("scirepeval", str(own)).tasks["known"].tags["label scale"] == ("log",)


def test_citation_triplets_count_towards_no_mean():
    assert catalogue()["citation-triplets"].values == ("none",)


def test_siblings_draw_the_same_documents(own: Path):
    own.write_text("most: 4\n" + OWN.partition("  alike")[0])
    suite = build("scirepeval", str(own))
    ids = [
        {e.item.id for pool in suite.pools[name].values() for e in pool.take(range(len(pool)))}
        for name in ("kind", "known")
    ]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 4


def test_rare_labels_are_dropped_and_counted(own: Path):
    own.write_text("from: papers.jsonl\ntasks: {name: {kind: classification, label: doc_id, least: 2}}")
    with pytest.raises(SourceError, match="has no examples"):
        build("scirepeval", str(own))
    own.write_text("from: papers.jsonl\nheld_out: 0.5\ntasks: {kind: {kind: multi-label, label: kind, least: 1}}")
    assert build("scirepeval", str(own)).about[DROPPED] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks: {a: {kind: clasification}}", "kind must be"),
        ("tasks: {a: {kind: search, same: kind}}", "can't have same"),
        ("tasks: {a: {kind: classification, lable: kind}}", "unknown key 'lable'"),
        ("tasks: [a]", "`tasks` must be a mapping"),
        ("tasks: {a: {kind: regression, held_out: 3.0}}", "held_out must be a number from 0 to 1"),
        ("tasks: {a: {like: drzm}}", "did you mean drsm"),
        ("tasks: {a: {kind: search, found_by: kind, split: part}}", "have no row of their own, and no split"),
        ("tasks: {a: {kind: proximity, same: kind, values: [maap]}}", "values must be metrics of the task (map, ndcg)"),
        ("tasks: {a: {kind: proximity, same: kind, metrics: [mapp]}}", "unknown metric: 'mapp'"),
        ("tasks: {a: {kind: proximity, same: kind, metrics: [accuracy]}}", "accuracy"),
        ("split: splt\ntasks: {a: {kind: classification, label: kind}}", "no row has splt; found: abstract, cites"),
        ("tasks: {a: {kind: classification, label: knd}}", "no row has knd; found:"),
        ("tasks: {a: {kind: proximity, same: knd}}", "no row has knd; found:"),
        ("where: {knd: tree}\ntasks: {a: {kind: proximity, same: kind}}", "no row has knd; found:"),
        ("fields: [title, abstrct]\ntasks: {a: {kind: proximity, same: kind}}", "no row has abstrct; found:"),
    ],
)
def test_a_declaration_that_is_wrong_is_named(own: Path, text: str, said: str):
    own.write_text(f"from: papers.jsonl\n{text}")
    with pytest.raises((SourceError, UnknownNameError)) as told:
        build("scirepeval", str(own))
    assert said in str(told.value)


def test_a_missing_document_is_refused_or_dropped(tmp_path: Path):
    write_lines(tmp_path / "relish" / "meta.jsonl", DOCUMENTS[:-1])
    write_lines(tmp_path / "relish" / "test_qrel.jsonl", JUDGED)
    with pytest.raises(SourceError, match=r"1 document that it does not have: bees; missing=drop"):
        build("scirepeval", [str(tmp_path)])
    suite = build("scirepeval", [str(tmp_path)], missing="drop")
    assert len(suite.pools["relish"]["test"].golds()[0]) == 4  # type: ignore[arg-type]


def test_nothing_to_build_from_is_told(tmp_path: Path):
    with pytest.raises(SourceError, match="no task was found"):
        build("scirepeval", [str(tmp_path)])
    with pytest.raises(UsageError, match="no such folder"):
        build("scirepeval", [str(tmp_path / "none")])
    with pytest.raises(UsageError, match="no such file"):
        build("scirepeval", [str(tmp_path / "none.yaml")])


# --- data inside packages --------------------------------------------------------------------------------------------


def test_stand_ins_have_all_four_formats_on_both_sides():
    formats = Counter((of.training, KINDS[of.kind].format) for of in stand_ins().values())
    assert {*formats} == {
        (side, form) for side in ("in-train", "out-of-train") for form in ("CLF", "RGN", "PRX", "SRCH")
    }


def test_without_packages_the_papers_that_come_with_taskloom_are_left(monkeypatch: pytest.MonkeyPatch):
    real = packages.get

    def offline(name: Any, *more: Any) -> Path:
        if name != "papers":
            raise FetchError(f"can't fetch {name!r}: no network")
        return real(name, *more)

    monkeypatch.setattr(packages, "get", offline)
    suite = build("scirepeval")
    assert list(suite.tasks) == ["papers-citations", "papers-search"]
    assert "not fetched: nsf" in str(suite.about["note"])
    assert len(suite.stores["documents"]) == 60
    golds: Any = suite.pools["papers-citations"]["test"].golds()
    grades = {grade for gold in golds for _, grade in gold}
    assert grades == {0.0, 1.0, 2.0}
