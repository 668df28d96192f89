"""Studies of tasks that name documents by id: texts are looked up, and copied nowhere."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval

import taskloom as package
from taskloom.core import Answer, Example, Item, Ranking, Stored, Suite, Task
from taskloom.errors import SuiteError, UnknownNameError
from taskloom.learners.toolbox import Toolbox
from taskloom.studies.api import open_run, prepare
from taskloom.studies.results import Results
from taskloom.studies.study import parse
from taskloom.suites import linked, rows, store
from taskloom.suites.documents import documents

STUDY = """
format: 1
name: search
baselines: false
suite: suite
protocol: {seeds: 1, shots: [0], query: all}
learners: {bm25: {}, random: {}}
"""


def suite_of(output: Ranking, papers: Iterable[Stored], examples: Sequence[Example]) -> Suite:
    task = Task(id="search", instruction="Find papers.", output=output, metrics=("ndcg", "map"))
    of = documents("papers", papers)
    pools = {"search": {"test": linked.pool(task, examples, of)}}
    return Suite(id="search", tasks={"search": task}, pools=pools, stores={"papers": of})


def ran(suite: Suite, folder: Path) -> Results:
    store.write(suite, folder / "suite")
    found: Results = package.run(parse(STUDY, folder=folder), folder / "run")
    return found


def mean(results: Results, learner: str, metric: str = "ndcg") -> float:
    (outcome,) = [one for one in results.outcomes if one.learner == learner]
    return outcome.scores[metric].value


def pairs(answer: Answer | None) -> list[tuple[str, float]]:
    assert isinstance(answer, tuple)
    return [(str(pair[0]), float(pair[1])) for pair in answer]


# --- the released search queries -------------------------------------------------------------------------------------


def searches(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "scirepeval" / "search_small.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def papers_of(found: Sequence[dict[str, Any]]) -> Iterable[Stored]:
    papers = {str(paper["corpus_id"]): paper for search in found for paper in search["candidates"]}
    for id_, paper in papers.items():
        yield Stored(id_, {name: paper[name] for name in ("title", "abstract") if paper[name]})


def examples_of(found: Sequence[dict[str, Any]]) -> list[Example]:
    graded = [tuple((str(paper["corpus_id"]), float(paper["score"])) for paper in one["candidates"]) for one in found]
    items = [
        Item(f"q{n}", {"query": one["query"]}, tuple(id_ for id_, _ in gold))
        for n, (one, gold) in enumerate(zip(found, graded, strict=True))
    ]
    return [Example(item, (gold,), item.id) for item, gold in zip(items, graded, strict=True)]


@pytest.fixture(scope="module")
def searched(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over the 100 released search queries."""
    folder, found = tmp_path_factory.mktemp("searches"), searches(real_data)
    ran(suite_of(Ranking(store="papers"), papers_of(found), examples_of(found)), folder)
    return folder


def test_bm25_over_texts_that_are_looked_up(searched: Path):
    results = open_run(searched / "run")
    assert mean(results, "bm25") == pytest.approx(0.652, abs=0.0005)
    assert mean(results, "random") < 0.5


def test_scores_are_those_of_trec_eval(searched: Path):
    (outcome,) = [one for one in open_run(searched / "run").outcomes if one.learner == "bm25"]
    golds = {id_: {c: int(g) for c, g in pairs(gold[0])} for id_, gold in zip(outcome.items, outcome.gold, strict=True)}
    answers = {id_: dict(pairs(answer)) for id_, answer in zip(outcome.items, outcome.answers, strict=True)}
    judged = pytrec_eval.RelevanceEvaluator(golds, {"ndcg", "map"}).evaluate(answers)
    for metric in ("ndcg", "map"):
        expected = statistics.mean(of[metric] for of in judged.values())
        assert outcome.scores[metric].value == pytest.approx(expected, abs=1e-6)


def test_ids_that_are_taken_for_texts_find_next_to_nothing(real_data: Path, tmp_path: Path):
    """What bm25 would get without a store, and why rankings name theirs."""
    task = Task(id="search", instruction="Find papers.", output=Ranking(), metrics=("ndcg", "map"))
    pools = {"search": {"test": rows.pool(task, examples_of(searches(real_data)))}}
    results = ran(Suite(id="search", tasks={"search": task}, pools=pools), tmp_path)
    assert mean(results, "bm25") == pytest.approx(0.459, abs=0.0005)


def test_a_suite_of_documents_is_shown_checked_and_reported(searched: Path, taskloom: Callable[..., Any]):
    shown = taskloom("show", searched / "suite")
    assert (shown.code, "ranking (papers)" in shown.out) == (0, True)
    told = json.loads(taskloom("show", searched / "suite", "--json").out)
    assert (told["stores"], told["tasks"][0]["output"]["store"]) == ({"papers": 1000}, "papers")
    assert taskloom("show", searched / "suite", "search").code == 0
    assert taskloom("check", searched / "suite").code == 0
    page = searched / "report.html"
    assert taskloom("report", searched / "run", "--to", "html", "-o", page).code == 0
    assert "65.2" in page.read_text(encoding="utf-8")


# --- many candidates -------------------------------------------------------------------------------------------------

MANY = 10_000


def wide(length: int, output: Ranking, relevant: int = 100) -> Suite:
    """Two queries, each of them for all documents, of which every so many holds the word."""
    ids = [f"d{n:05}" for n in range(MANY)]
    text = "words " * length
    papers = [Stored(id_, {"text": f"owl {text}" if n % relevant == 0 else text}) for n, id_ in enumerate(ids)]
    gold = tuple((id_, 1.0) for id_ in ids[::relevant])
    examples = [
        Example(Item(f"q{n}", {"query": query}, tuple(ids)), (gold,), f"q{n}")
        for n, query in enumerate(("owl", "an owl"))
    ]
    return suite_of(output, papers, examples)


def test_no_text_is_copied_into_rows_gold_or_ledger(tmp_path: Path):
    files = ("suite/rows.parquet", "run/ledger.db")
    for name, length in (("short", 1), ("long", 20)):
        ran(wide(length, Ranking(store="papers")), tmp_path / name)
    short, long = ([(tmp_path / name / file).stat().st_size for file in files] for name in ("short", "long"))
    assert short[0] == long[0]
    assert abs(short[1] - long[1]) <= 2 * 4096  # pages of the database
    texts = [(tmp_path / name / "suite" / "store-papers.arrow").stat().st_size for name in ("short", "long")]
    assert texts[1] - texts[0] > MANY * 18 * len("words ")


def test_answers_are_cut_at_the_depth_before_they_are_scored_and_kept(tmp_path: Path):
    whole = ran(wide(1, Ranking(store="papers")), tmp_path / "whole")
    cut = ran(wide(1, Ranking(store="papers", depth=20)), tmp_path / "cut")
    for before, after in zip(whole.outcomes, cut.outcomes, strict=True):
        assert before.cell != after.cell
        for answer, kept in zip(before.answers, after.answers, strict=True):
            assert pairs(kept) == sorted(pairs(answer), key=lambda pair: (pair[1], pair[0]), reverse=True)[:20]
    assert mean(whole, "bm25", "map") == pytest.approx(1.0)
    assert mean(cut, "bm25", "map") == pytest.approx(20 / 100)
    sizes = [(tmp_path / name / "run" / "ledger.db").stat().st_size for name in ("whole", "cut")]
    assert sizes[1] < sizes[0] / 2
    assert [one.answers for one in open_run(tmp_path / "cut" / "run").outcomes] == [one.answers for one in cut.outcomes]


def test_a_report_shows_the_best_of_long_answers(tmp_path: Path, taskloom: Callable[..., Any]):
    ran(wide(1, Ranking(store="papers")), tmp_path)
    page = tmp_path / "report.html"
    assert taskloom("report", tmp_path / "run", "--to", "html", "-o", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "and 9,990 more" in text
    assert text.count("d0") < 200


def test_ties_at_the_depth_go_to_the_later_id(tmp_path: Path):
    (answer, _) = next(one.answers for one in ran(wide(1, Ranking(store="papers", depth=3)), tmp_path).outcomes)
    assert [id_ for id_, _ in pairs(answer)] == ["d09900", "d09800", "d09700"]


def test_a_document_that_no_store_has_is_named_before_any_work(tmp_path: Path):
    suite = wide(1, Ranking(store="papers"))
    store.write(suite, tmp_path / "suite")
    kept = suite.stores["papers"].take([f"d{n:05}" for n in range(MANY) if n != 77])
    fewer = documents("papers", kept)
    other = store.write(replace(suite, tasks={}, pools={}, stores={"papers": fewer}), tmp_path / "other")
    assert len(other.stores["papers"]) == MANY - 1
    manifest, theirs = (json.loads((tmp_path / name / "suite.json").read_text()) for name in ("suite", "other"))
    manifest["stores"] = theirs["stores"]
    (tmp_path / "other" / "store-papers.arrow").replace(tmp_path / "suite" / "store-papers.arrow")
    manifest["files"]["store-papers.arrow"] = (tmp_path / "suite" / "store-papers.arrow").stat().st_size
    (tmp_path / "suite" / "suite.json").write_text(json.dumps(manifest))
    with pytest.raises(SuiteError, match="search/test: missing in store 'papers': d00077"):
        prepare(parse(STUDY, folder=tmp_path), tmp_path / "run")


def test_members_of_a_candidate_are_read_with_it(tmp_path: Path):
    papers = [
        Stored("a", {"text": "on trees"}),
        Stored("b", {"text": "on an owl"}),
        Stored("r1", {}, ("a",)),
        Stored("r2", {}, ("a", "b")),
    ]
    gold = ((("r2", 1.0),),)
    found = ran(
        suite_of(Ranking(store="papers"), papers, [Example(Item("q", {"query": "owl"}, ("r1", "r2")), gold, "q")]),
        tmp_path,
    )
    assert mean(found, "bm25") == 1.0
    (outcome,) = [one for one in found.outcomes if one.learner == "bm25"]
    assert dict(pairs(outcome.answers[0]))["r1"] == 0.0


def test_a_learner_that_asks_for_an_unknown_store_is_told_the_known():
    tools = Toolbox({}, stores={"papers": documents("papers", [])})
    with pytest.raises(UnknownNameError, match="unknown store: 'paper'; did you mean papers"):
        tools.stored("paper", ["a"])
