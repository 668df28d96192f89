"""What a budget is best spent on, by the costs of a study's own cells."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from taskloom.episodes import Sampler
from taskloom.errors import StudyError, UsageError
from taskloom.reports.budget import recommended
from taskloom.sample_sizes import SampleSize
from taskloom.stats import Estimate
from taskloom.studies.api import LEDGER, Prepared, prepare
from taskloom.studies.budget import StudyBudget, _items_of, protocol_lines, study_budget
from taskloom.studies.kinds import KnownKinds
from taskloom.studies.ledger import Ledger
from taskloom.studies.pilot import pilot_cells, run_pilot
from taskloom.studies.study import StudyProtocol, parse

SIZE = SampleSize(
    episodes=12, items=24, seconds=1.0, width=0.1, coverage=Estimate(0.95, 0.94, 0.96, 1000), detectable=0.1,
    overall_width=0.1, overall_detectable=0.1,
)  # fmt: skip


def planned(study: Callable[..., Path], text: str = "", **options: object) -> Prepared:
    path = study(**options)
    if text:
        path.write_text(text)
    return prepare(str(path), path.parent / "run")


def budget(prepared: Prepared, seconds: float) -> StudyBudget:
    return study_budget(prepared, seconds, repetitions=100)


# --- the pilot -------------------------------------------------------------------------------------------------------


def test_a_pilot_runs_two_episodes_of_three_tasks_which_the_real_run_finds_done(study):
    ahead = planned(study)  # three tasks, two seeds
    cells = pilot_cells(ahead.plan)
    assert {cell.id for cell in cells} <= {cell.id for cell in ahead.plan.to_run}
    assert {(cell.learner, cell.shots) for cell in cells} == {(c.learner, c.shots) for c in ahead.plan.to_run}
    done = run_pilot(ahead)
    assert (done.ran, done.failed) == (len(cells), 0)
    assert len(ahead.left()) == len(ahead.plan.to_run) - len(cells)
    assert (ahead.folder / "study.yaml").read_text() == ahead.text
    assert run_pilot(ahead).ran == 0


def test_a_pilot_keeps_how_long_loading_took(study):
    ahead = planned(study)
    run_pilot(ahead)
    with Ledger(ahead.folder / LEDGER) as ledger:
        first = ledger.about("loading")
    assert float(first) >= 0
    run_pilot(ahead)  # runs nothing, and so measures nothing
    assert KnownKinds(ahead).loading() == float(first)


def test_a_pilot_that_fails_says_why(study, refused):
    with refused(StudyError, "pilot-failed", count=8):
        run_pilot(planned(study, broken="category"))


# --- costs -----------------------------------------------------------------------------------------------------------


def test_nothing_is_planned_by_costs_that_nobody_knows(study, refused):
    with refused(UsageError, "cost-unknown", names=["majority", "slow"]):
        budget(planned(study), 60)


def test_costs_are_measured_for_an_episode_and_an_item(study):
    ahead = planned(study, seconds=0.05)
    run_pilot(ahead)
    slow = [kind for kind in KnownKinds(ahead).kinds() if kind.learner == "slow"]
    tasks = ("abstract->title", "abstract->category", "abstract->title+category")
    assert {(kind.task, kind.shots) for kind in slow} == {(task, shots) for task in tasks for shots in (0, 1)}
    assert all(0.05 <= kind.costs.fit < 0.5 for kind in slow)  # it sleeps while it adapts
    assert all(kind.costs.item < 0.05 for kind in slow)


def test_trials_count_where_nothing_is_trained(study):
    path = study(seconds=0.02)
    prepare(str(path), path.parent / "run", limit=2).run()
    ahead = planned(study, seconds=0.02)
    with Ledger(ahead.folder / LEDGER) as ledger:
        assert ledger.costs(trials=False) == []
        assert len(ledger.costs()) == 24
    assert budget(ahead, 60).best.episodes >= 2


def test_a_budget_pays_for_all_learners_tasks_and_shots(study):
    ahead = planned(study, seconds=0.05)
    run_pilot(ahead)
    found = budget(ahead, 10.0)
    kinds = KnownKinds(ahead).kinds()
    best = found.best
    assert best.seconds == pytest.approx(sum(k.costs.seconds(best.episodes, best.items) for k in kinds))
    assert found.fixed + best.seconds <= 10.0 + 1e-6
    assert sum(share.seconds for share in found.learners) == pytest.approx(best.seconds)
    assert sum(share.seconds for share in found.tasks) == pytest.approx(best.seconds)
    assert [share.name for share in found.learners] == ["slow", "majority"]  # what takes most comes first
    assert best.episodes % 2 == 0  # of two seeds
    assert {*found.others} == {5.0, 20.0}
    assert all(choice.episodes % 2 == 0 for sizes in found.others.values() for choice in sizes.choices)
    codes = [note.code for note in found.notes]
    assert codes[:3] == ["accuracy-assumed", "deviation-assumed", "difference-assumed"]


def test_more_money_buys_narrower_intervals(study):
    ahead = planned(study, seconds=0.05)
    run_pilot(ahead)
    widths = [budget(ahead, seconds).best.overall_width for seconds in (10.0, 40.0, 160.0)]
    assert widths == sorted(widths, reverse=True)


def test_a_budget_that_is_too_small_says_what_it_takes(study, refused):
    ahead = planned(study, seconds=0.05)
    run_pilot(ahead)
    with refused(UsageError, "budget-too-small", budget="0.1 s", episodes=2):
        budget(ahead, 0.1)


def test_no_more_items_are_asked_for_than_there_are(study):
    ahead = planned(study)
    run_pilot(ahead)
    found = budget(ahead, 500.0)
    most = KnownKinds(ahead).most()
    assert max(choice.items for choice in found.sizes.choices) == most
    with_most = ahead.text.replace("query: 8", f"query: {most}")
    assert not planned(study, with_most).plan.skipped  # so many can be drawn
    assert planned(study, with_most.replace(f"query: {most}", f"query: {most + 1}")).plan.skipped


def test_items_that_are_counted_by_class_cost_and_tell_as_many(study):
    text = planned(study).text.replace('["abstract->*"]', '["abstract->category"]')
    plain, by_class = planned(study, text), planned(study, text.replace("query: 8", "query: 2, per_class: true"))
    (every,) = {stock.most for stock in KnownKinds(plain).stock.values()}
    stocks = {*KnownKinds(by_class).stock.values()}
    assert len(stocks) == 1
    (stock,) = stocks
    assert stock.times > 1
    assert stock.times * stock.most <= every


def test_a_run_tells_accuracies_deviations_and_differences(study):
    text = """
name: known
baselines: false
suite: suite
tasks: [abstract->category]
protocol: {seeds: 12, shots: [2], query: 10}
learners: {nearest: {}, tfidf-linear: {}}
"""
    ahead = planned(study, text)
    ahead.run()
    known = KnownKinds(ahead)
    assert {kind.variation.apart is None for kind in known.kinds()} == {False}
    assert [*known.notes()] == []
    assert budget(ahead, 30.0).notes == () or budget(ahead, 30.0).notes[0].code.startswith("items-")


# --- the lines of a study --------------------------------------------------------------------------------------------


def test_the_lines_make_the_study_that_was_planned():
    protocol = StudyProtocol(
        shots={0: 1, "drawn": 1},
        seeds=(0, 1, 2),
        tasks={"a->*": StudyProtocol(shots={"all": 1}, seeds=(0,), sampler=Sampler(query="all"))},
    )
    lines = protocol_lines(protocol, SIZE)
    assert lines.splitlines()[1:3] == ["  shots: {0: 4, drawn: 4}  # for each of 3 seeds: 12 episodes", "  query: 24"]
    head, rest = lines.split("\n", 1)
    made = parse(f"name: n\nsuite: s\nlearners: {{majority: {{}}}}\n{head}\n  seeds: 3\n{rest}").protocol
    assert (dict(made.shots), made.sampler.query) == ({0: 4, "drawn": 4}, 24)
    other = made.of("a->b")
    assert (dict(other.shots), other.sampler.query) == ({"all": 12}, 24)


def test_one_seed_needs_no_explanation():
    assert protocol_lines(StudyProtocol(shots={4: 1}, seeds=(0,)), replace(SIZE, episodes=60)) == (
        "protocol:\n  shots: {4: 60}\n  query: 24\n  seeds: 1"
    )


@pytest.mark.parametrize(
    "written",
    [
        "{preset: flex}",
        "{preset: flex, seeds: [3, 5], dev: 2, query: 9}",
        "{preset: bao, ways: 3}",
        "{seeds: 2, shots: [0, 4], per_class: true, ways: {least: 2, most: 3}, for: {'a*': {preset: gao}}}",
    ],
)
def test_the_lines_keep_the_preset_and_all_that_is_not_planned(written: str):
    head = "name: n\nsuite: s\nlearners: {majority: {}}\n"
    before = parse(f"{head}protocol: {written}").protocol
    lines = protocol_lines(before, SIZE)
    after = parse(f"{head}{lines}").protocol
    assert ("preset: flex" in lines) == ("flex" in written)
    for one, other in ((before, after), *zip(before.tasks.values(), after.tasks.values(), strict=True)):
        sizes = {name: 12 // len(one.seeds) for name in one.shots}
        assert other == replace(one, shots=sizes, sampler=replace(one.sampler, query=24), tasks=other.tasks)


def test_items_of_each_class_are_called_so(study):
    ahead = planned(study, seconds=0.01)
    run_pilot(ahead)
    found = budget(ahead, 20.0)
    assert "test items each:" in recommended(found)
    assert "test items of each class:" in recommended(replace(found, items_of="of each class"))
    assert _items_of(parse("name: n\nsuite: s\nlearners: {majority: {}}\nprotocol: {preset: flex}").protocol) == (
        "of each class"
    )


def test_the_same_ledger_gives_the_same_plan(study):
    ahead = planned(study, seconds=0.01)
    run_pilot(ahead)
    assert budget(ahead, 20.0) == budget(ahead, 20.0)
    assert json.dumps(budget(ahead, 20.0).lines)
