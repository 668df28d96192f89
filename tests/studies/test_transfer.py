"""Maps of transfer as studies: what fits a budget, what is trained on what, and that nothing is done twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskloom.core import Example, Item, Labels, Ranking, Suite, Task
from taskloom.episodes import Sampler, draw
from taskloom.errors import StudyError, UnknownNameError, UsageError
from taskloom.reports.transfer_runs import transfer, with_chosen
from taskloom.sources.table import Field
from taskloom.studies.api import prepare, study_and_text
from taskloom.studies.ledger import Ledger
from taskloom.studies.plan import plan
from taskloom.studies.transfer import TransferMap, TransferOptions, transfer_map, transfer_study, with_sets
from taskloom.suites import fields, rows
from taskloom.suites.store import open_suite

PUPIL = TransferOptions(model="fake:pupil", query=4)


def codes(made: TransferMap) -> dict[str, dict[str, object]]:
    return {note.code: dict(note.values) for note in made.notes}


@pytest.fixture(scope="module")
def suite(papers: Path) -> Suite:
    return open_suite(papers)


def tagged_suite(count: int = 12) -> Suite:
    """Four tasks of two categories, a ranking of documents, and a task that has a test pool alone."""
    names = {"sky": "nature", "sea": "nature", "car": "things", "cup": "things", "rank": "things", "bare": "nature"}
    tasks = {
        name: Task(
            id=name, instruction=f"Which {name}?",
            output=Ranking(store="documents") if name == "rank" else Labels(("yes", "no")),
            metrics=("ndcg@3",) if name == "rank" else ("accuracy",), tags={"category": (of,)},
        )
        for name, of in names.items()
    }  # fmt: skip
    examples = [
        Example(Item(f"{n}", {"input": f"case {n}"}), ("yes" if n % 2 else "no",), f"r{n}") for n in range(count)
    ]
    ranked = [Example(Item("0", {"input": "q"}, ("a", "b")), ((("a", 1.0), ("b", 0.0)),), "r0")]
    pools = {
        name: {"test" if name == "bare" else "all": rows.pool(task, ranked if name == "rank" else examples)}
        for name, task in tasks.items()
    }
    return Suite(id="tagged", tasks=tasks, pools=pools)


# --- what fits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        PUPIL,
        replace(PUPIL, budget=1000, seeds=2),
        replace(PUPIL, targets=("title->*",), meta=("abstract->category", "category->title"), budget=99_999),
        replace(PUPIL, shots=0, budget=2000),
    ],
)
def test_the_steps_of_a_map_are_those_of_its_cells(suite: Suite, papers: Path, tmp_path: Path, how: TransferOptions):
    study, made = transfer_study(suite, papers, how)
    cells = plan(study, tmp_path).cells
    trained = {cell.id for cell in cells if cell.kind == "train"}
    tuned = [cell for cell in cells if cell.kind == "adapt" and study.learners.get(cell.learner)]
    steps = 150 * len(trained) + 30 * len(tuned) * (how.shots != 0)
    assert (made.steps, len(trained)) == (steps, len(made.meta) * made.seeds)
    assert made.steps <= how.budget
    assert len(tuned) == (len(made.targets) + made.pairs) * made.seeds


def test_a_larger_budget_keeps_what_a_smaller_one_has_and_drops_less(suite: Suite):
    maps = [transfer_map(suite, replace(PUPIL, budget=budget)) for budget in (210, 700, 2000, 8000, 50_000)]
    for small, large in itertools.pairwise(maps):
        assert {*small.meta} <= {*large.meta}
        assert {*small.targets} <= {*large.targets}
        assert (small.pairs, small.seeds) <= (large.pairs, large.seeds)
    assert (len(maps[0].meta), len(maps[0].targets), maps[0].pairs, maps[0].seeds) == (1, 1, 1, 1)
    assert (len(maps[-1].meta), len(maps[-1].targets), maps[-1].pairs) == (12, 12, 132)
    assert "transfer-dropped" not in codes(maps[-1])
    assert codes(maps[0])["transfer-dropped"] == {
        "dropped_meta": 11, "dropped_targets": 11, "dropped_seeds": 2, "needed": 3 * (12 * 150 + (12 + 132) * 30),
    }  # fmt: skip
    whole = codes(maps[-1])["transfer-size"]
    assert whole == {"meta": 12, "targets": 12, "pairs": 132, "seeds": 3, "steps": 18_360, "budget": 50_000}
    small = transfer_map(suite, replace(PUPIL, budget=6000))
    assert all("+" not in name for name in (*small.meta, *small.targets))  # tasks of two fields come first


def test_a_budget_that_is_too_small_for_one_cell_says_what_would_fit(suite: Suite, refused):
    with refused(UsageError, "transfer-budget", meta=1, needed=210, parts="150 for meta tasks, 60 for targets"):
        transfer_map(suite, replace(PUPIL, budget=209))
    assert transfer_map(suite, replace(PUPIL, budget=210)).steps == 210
    with refused(UsageError, "transfer-budget", needed=1710):
        transfer_map(suite, TransferOptions(budget=500))  # with its own model, which is pre-trained
    whole = 4 * 150 + (2 + 7) * 30 + 2 * 2 * 180  # to choose two of three meta tasks, for each of two targets
    with refused(UsageError, "transfer-budget", meta=4, targets=2, needed=whole):
        transfer_map(suite, replace(PUPIL, budget=500, measure=True))
    chosen = transfer_map(suite, replace(PUPIL, budget=whole, measure=True))
    assert (len(chosen.meta), len(chosen.targets), chosen.seeds, chosen.steps) == (4, 2, 1, whole)


def test_the_suites_order_does_not_decide_what_is_dropped(suite: Suite):
    turned = Suite(id="s", tasks=dict(reversed(list(suite.tasks.items()))), pools=suite.pools)
    how = replace(PUPIL, budget=1500)
    ours, theirs = transfer_map(suite, how), transfer_map(turned, how)
    assert ({*ours.meta}, {*ours.targets}) == ({*theirs.meta}, {*theirs.targets})


def test_items_leave_records_to_train_on(suite: Suite, papers: Path):
    study, made = transfer_study(suite, papers, replace(PUPIL, query=0, budget=99_999))
    records = min(len(suite.asked_pool(name)) for name in made.targets)
    asked = study.protocol.sampler.query
    assert isinstance(asked, int)
    assert 1 <= asked <= max(1, records // 24)


# --- which tasks -----------------------------------------------------------------------------------------------------


def test_a_target_is_never_its_own_meta_task_and_its_records_are_never_trained_on(suite: Suite, papers: Path):
    study, made = transfer_study(suite, papers, replace(PUPIL, budget=99_999))
    for name, tasks in made.meta.items():
        assert not {*tasks} & {*study.learners[f"+{name}"].tasks}
        assert study.models[f"+{name}"]["tasks"] == list(tasks)
    assert {of["apart"] for of in study.models.values()} == {"study"}
    own, _ = transfer_study(suite, papers, TransferOptions())
    assert {**own.models["base"], "tasks": []} == {
        "train": "new:t5-nano", "goal": "texts", "tasks": [], "apart": "study", "most": 1000, "steps": 1500,
        "objective": "infilling", "length": 64, "batch": 32,
    }  # fmt: skip
    assert transfer_study(suite, "suites/a+b (1)", PUPIL)[0].name == "transfer-a-b -1-"
    assert {of["train"] for name, of in own.models.items() if name != "base"} == {"base"}


def test_roles_of_folds_name_targets_and_meta_tasks(suite: Suite):
    folds = {"one": {"train": ("abstract->title", "title->category"), "test": ("abstract->category",)}}
    made = transfer_map(replace(suite, folds=folds), PUPIL)
    assert (list(made.meta), made.targets) == (["title->category", "abstract->title"], ("abstract->category",))
    named = transfer_map(replace(suite, folds=folds), replace(PUPIL, meta=("@test",), targets=("@train",)))
    assert (list(named.meta), len(named.targets)) == (["abstract->category"], 2)


def test_groups_by_a_tag_have_no_targets_and_what_cannot_be_tuned_is_left_out(refused):
    suite = tagged_suite()
    how = replace(PUPIL, by="category", targets=("sky", "car"), shots=1)
    made = transfer_map(suite, how)
    assert made.meta == {"nature": ("sea",), "things": ("cup",)}
    assert made.targets == ("sky", "car")
    assert codes(made)["transfer-unsupported"] == {"tasks": ("rank",)}
    assert codes(made)["transfer-untaught"] == {"tasks": ("bare",)}
    assert "transfer-undrawable" not in codes(made)
    assert "bare" in transfer_map(suite, replace(PUPIL, shots=1)).targets  # it may be asked about
    with refused(UsageError, "transfer-by-targets", tag="category"):
        transfer_map(suite, replace(how, targets=()))
    with pytest.raises(UnknownNameError, match="categry"):
        transfer_map(suite, replace(how, by="categry"))
    with refused(StudyError, "transfer-nothing", what="target"):
        transfer_map(suite, replace(how, targets=("rank",)))
    with refused(StudyError, "transfer-nothing", what="target"):
        transfer_map(tagged_suite(3), replace(how, shots=8))


def test_what_is_misspelt_or_alone_is_refused(suite: Suite, refused):
    with pytest.raises(UnknownNameError, match="did you mean title->abstract"):
        transfer_map(suite, replace(PUPIL, targets=("title->abstrac",)))
    with refused(StudyError, "transfer-same", task="title->abstract"):
        transfer_map(suite, replace(PUPIL, targets=("title->abstract",), meta=("title->abstract",)))
    one = transfer_map(suite, replace(PUPIL, targets=("title->*",), meta=("title->abstract",), budget=210))
    assert (list(one.meta), one.pairs) == (["title->abstract"], 1)  # the other targets are left
    with pytest.raises(UnknownNameError, match="value of `what`"):
        TransferOptions(what="none")
    with refused(UsageError, "whole-number-expected", name="budget"):
        TransferOptions(budget=0)


# --- runs ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(papers: Path) -> Callable[..., TransferOptions]:
    def made(**more: Any) -> TransferOptions:
        return replace(PUPIL, targets=("title->*",), meta=("abstract->*",), seeds=2, budget=99_999, **more)

    return made


def test_a_map_is_a_study_that_is_resumed_and_what_is_chosen_is_measured(
    suite: Suite, papers: Path, tmp_path: Path, small: Callable[..., TransferOptions]
):
    how = small(measure=True)
    study, made = transfer_study(suite, papers, how)
    assert study_and_text(study)[0].views == study.views  # it can be written, and read again
    first = prepare(study, tmp_path / "run", only=["few", "title->abstract"])
    assert first.run()[0].failed == 0
    rest = prepare(study, tmp_path / "run")
    assert 0 < len(rest.left()) < len(rest.plan.to_run)
    done, found = rest.run()
    assert (done.failed, found.missing) == (0, 0)
    more = with_chosen(study, found)
    assert more is not None
    assert {*study.learners} < {*more.learners}
    again = prepare(more, tmp_path / "run")
    new = {cell.learner for cell in again.left()}
    assert new == {*more.learners} - {*study.learners}
    assert not any(found.failures)
    final = again.run()[1]
    with Ledger(tmp_path / "run" / "ledger.db") as ledger:
        assert {*ledger.states().values()} == {"done"}
        before = list(ledger.contents())
    options: dict[str, Any] = {
        "model": "fake:pupil",
        "query": 4,
        "seeds": 2,
        "targets": ("title->*",),
        "meta": ("abstract->*",),
    }
    in_one = transfer(papers, tmp_path / "run", **options, budget=99_999, measure=True)
    assert [o.cell for o in in_one.outcomes] == [o.cell for o in final.outcomes]
    with Ledger(tmp_path / "run" / "ledger.db") as ledger:
        assert list(ledger.contents()) == before
    assert made.steps >= 2 * (150 * 3 + 30 * (3 + 9)) + 150 * len(again.left())


def test_equal_sets_share_a_model(suite: Suite, papers: Path, small: Callable[..., TransferOptions]):
    study, _ = transfer_study(suite, papers, small())
    pair, other = ("+abstract->title", "+abstract->category"), ("+abstract->category", "+abstract->title+category")
    more = with_sets(study, {"title->abstract": [pair, other], "title->category": [pair, pair]})
    added = {name: of for name, of in more.learners.items() if name not in study.learners}
    assert list(added) == ["+abstract->title & abstract->category", "+abstract->category & abstract->title+category"]
    both = more.models["+abstract->title & abstract->category"]
    assert (both["tasks"], both["steps"]) == (["abstract->title", "abstract->category"], 150)
    assert added["+abstract->title & abstract->category"].tasks == ("title->abstract", "title->category")
    assert added["+abstract->title & abstract->category"].options["model"] == "+abstract->title & abstract->category"
    one = with_sets(study, {"title->abstract": [("+abstract->title",)]})
    assert (one.learners, one.models) == (study.learners, study.models)  # it is there already


def test_many_classes_leave_room_for_items_that_are_asked_about():
    of = (Field("title", "text"), Field("kind", "label"), Field("note", "text"))
    some = [{"id": f"{n}", "title": f"title {n}", "kind": f"k{n % 10}", "note": f"note {n}"} for n in range(60)]
    suite = fields.suite(fields.records(of, some), id="many")
    how = replace(PUPIL, query=0, targets=("title->kind",), meta=("title->note",), shots=4)
    study, _ = transfer_study(suite, "suites/many", how)
    query = study.protocol.sampler.query
    assert isinstance(query, int)
    draw(suite, "title->kind", Sampler(shots=4, query=query))  # what is planned can be drawn
    with pytest.raises(UsageError):
        replace(how, measure=True, choose=0)
