"""Training tasks that would give test tasks away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from taskloom.benchmarks import build
from taskloom.core import Example, Folds, Item, Shown, Suite, Task, Text
from taskloom.suites import rows
from taskloom.suites.check import check
from taskloom.suites.instructions import LEAKING
from taskloom.suites.leaks import COMPARED, LEAKAGE, without_leaks

LONG = "the quick brown fox jumps over the lazy dog and runs away from all the hounds of the town"


def pool(task: Task, *texts: str) -> rows.Rows:
    return rows.pool(task, [Example(Item(f"{task.id}-{n}", {"input": t}), ("x",), "") for n, t in enumerate(texts)])


def suite(**texts: tuple[str, str]) -> Suite:
    tasks = {
        name: Task(id=name, instruction="", output=Text(), metrics=(), tags={"source": (source,)})
        for name, (source, _) in texts.items()
    }
    pools = {name: {"all": pool(tasks[name], text)} for name, (_, text) in texts.items()}
    folds = {"default": {"train": tuple(n for n in tasks if n != "test"), "test": ("test",)}}
    return Suite(id="s", tasks=tasks, pools=pools, folds=folds)


def told_of(made: Suite) -> list[str]:
    told = made.about[LEAKAGE]
    assert isinstance(told, list)
    return list(map(str, told))


def test_tasks_of_the_same_source_or_text_are_left_out_and_told():
    made = suite(test=("a", LONG), same=("a", "other"), overlap=("b", f"So {LONG}!"), fine=("c", "nothing in common"))
    kept = without_leaks(made)
    assert kept.folds == {"default": {"train": ("fine",), "test": ("test",), "excluded": ("same", "overlap")}}
    certificate, *told = told_of(kept)
    assert certificate == (
        "default: 2 dropped; 3 training tasks and 1 test task were compared by source, and by the texts of their "
        "first 100 instances and of the examples shown in training (half of one in another, by runs of 13 words or "
        "30 characters; texts of half a run and more as a whole; shorter ones, from 4 words or 8 characters on, for "
        "being equal)"
    )
    assert told == [
        "default: too short to compare: 2 of 3 training texts and 0 of 1 test text",
        "default: compared by source alone, for no text of theirs could be: 2 training tasks and 0 test tasks",
        "default: dropped: same and test share a source: a",
        "default: dropped: overlap and test share 100% of a text (overlap-0 ~ test-0)",
    ]


def test_a_suite_without_leaks_has_a_certificate_too():
    made = suite(test=("a", LONG), fine=("c", "nothing at all in common"))
    kept = without_leaks(made)
    assert kept.folds == made.folds
    (certificate,) = told_of(kept)
    assert certificate.startswith("default: none dropped; ")


def test_a_suite_without_folds_stays_as_it_is():
    made = replace(suite(test=("a", LONG)), folds={})
    assert without_leaks(made) is made


def test_a_task_is_named_once():
    made = suite(test=("a", LONG), both=("a", LONG))
    assert [text for text in told_of(without_leaks(made)) if "both" in text] == [
        "default: dropped: both and test share a source: a"
    ]


def test_short_texts_are_compared_for_being_equal_and_told_in_words_of_their_own():
    made = suite(test=("a", "Why did he leave?"), same=("b", "why did HE leave"), near=("c", "Why did she leave?"))
    _, *told = told_of(without_leaks(made))
    text = "'why did HE leave'; same-0 ~ test-0"
    assert told == [f"default: dropped: same and test share a short text ({text})"]


def test_texts_that_are_too_short_to_compare_are_counted():
    made = suite(test=("a", "Yes."), same=("b", "yes"), other=("c", "Is this a question?"))
    certificate, *told = told_of(without_leaks(made))
    assert certificate.startswith("default: none dropped; ")
    assert told == [
        "default: too short to compare: 1 of 2 training texts and 1 of 1 test text",
        "default: compared by source alone, for no text of theirs could be: 1 training task and 1 test task",
    ]


def test_tasks_without_a_source_are_not_said_to_be_compared_by_it():
    made = suite(test=("a", LONG), text=("", f"Nothing of {LONG[:20]}"), nothing=(" ", "yes"), source=("b", "no"))
    certificate, short, *told = told_of(without_leaks(made))
    assert "; 2 training tasks and 1 test task were compared by source, and by" in certificate
    assert short == "default: too short to compare: 2 of 3 training texts and 0 of 1 test text"
    count = "1 training task and 0 test tasks"
    assert told == [
        f"default: compared by source alone, for no text of theirs could be: {count}",
        f"default: compared by texts alone, for they name no source: {count}",
        f"default: not compared, for they name no source and no text of theirs could be: {count}",
        "default: compared in neither way: 1 of 3 pairs of tasks",
    ]


def test_a_pair_of_which_one_has_a_source_and_the_other_a_text_is_compared_in_neither_way():
    *_, pairs = told_of(without_leaks(suite(test=("", LONG), source=("b", "no"))))
    assert pairs == "default: compared in neither way: 1 of 1 pair of tasks"


@pytest.mark.parametrize("source", ["SNLI", "snli", "SNLI ", " s\u00f1li", "sn\u0303li"])
def test_sources_are_compared_by_their_letters(source: str):
    made = suite(test=("Sñli" if "\u00f1" in source or "\u0303" in source else "Snli", LONG), other=(source, "other"))
    kept = without_leaks(made)
    assert kept.folds["default"]["excluded"] == ("other",)
    assert told_of(kept)[-1] == f"default: dropped: other and test share a source: {source}"


@pytest.mark.parametrize("source", ["e-SNLI", "eSNLI", "e_snli", "E SNLI", "(e.snli)"])
def test_sources_are_the_same_whatever_stands_between_their_letters(source: str):
    kept = without_leaks(suite(test=("e-SNLI", LONG), other=(source, "other"), near=("snli", "another")))
    assert kept.folds["default"]["excluded"] == ("other",)


@pytest.mark.parametrize(
    "text",
    [
        "Who wrote the first letter to him?",  # 7 words
        "Who wrote the first letter to him from the old house?",  # 11
        "用深度学习方法研究城市道路绿化的景观",
        "ฉันกินข้าวกับปลาที่บ้านของเพื่อนเมื่อวานนี้",
    ],
)
def test_a_short_text_that_stands_in_a_longer_one_is_a_leak(text: str):
    made = suite(test=("a", text), other=("b", f"Read this: {text} Then say {LONG}."), fine=("c", LONG))
    kept = without_leaks(made)
    assert kept.folds["default"]["excluded"] == ("other",)
    assert told_of(kept)[-1] == "default: dropped: other and test share 100% of a text (other-0 ~ test-0)"


def test_the_strongest_pair_of_texts_is_told():
    other = (
        "a wholly different sentence of many more words that comes from somewhere else and says no such thing at all"
    )
    made = suite(test=("a", ""), more=("b", ""), task=("c", ""))
    of, folds = made.tasks, {"default": {"train": ("task",), "test": ("test", "more")}}
    pools = {
        "test": {"all": pool(of["test"], "unlike anything", f"{LONG} till the morning comes")},
        "more": {"all": pool(of["more"], "Why did he leave?", other)},
        "task": {"all": pool(of["task"], f"{LONG} and never comes back", "nothing", other, other)},
    }
    (told,) = [
        text for text in told_of(without_leaks(replace(made, pools=pools, folds=folds))) if "dropped: task" in text
    ]
    assert told == "default: dropped: task and more share 100% of a text (task-2 ~ more-1)"


@pytest.mark.parametrize(("right", "place"), [(True, "Positive Examples[0]"), (False, "Negative Examples[0]")])
def test_the_examples_of_training_tasks_are_compared_too(right: bool, place: str):
    made = suite(test=("a", LONG), shows=("b", "nothing at all in common"), test2=("c", "nor this one either"))
    shown = Shown({"input": LONG}, "x", right=right)
    shows, test = (replace(made.tasks[name], examples=(shown,)) for name in ("shows", "test2"))
    folds: Folds = {"default": {"train": ("shows",), "test": ("test", "test2")}}
    kept = without_leaks(replace(made, tasks={**made.tasks, "shows": shows, "test2": test}, folds=folds))
    assert told_of(kept)[1:] == [f"default: dropped: shows and test share 100% of a text ({place} ~ test-0)"]


def test_a_task_that_is_listed_twice_is_counted_once():
    made = suite(test=("a", LONG), fine=("c", "nothing at all in common"))
    folds: Folds = {"default": {"train": ("fine", "fine"), "test": ("test", "test")}}
    kept = without_leaks(replace(made, folds=folds))
    assert kept.folds["default"]["train"] == ("fine",)
    assert told_of(kept)[0].startswith("default: none dropped; 1 training task and 1 test task ")
    of = {**made.pools, "test": {"all": pool(made.tasks["test"], "yes")}}
    assert told_of(without_leaks(replace(made, folds=folds, pools=of)))[1].endswith("and 1 of 1 test text")


def test_what_may_be_taught_is_compared_with_what_is_scored():
    made = suite(test=("a", ""), taught=("b", ""), scored=("c", ""), alone=("d", ""))
    of = made.tasks
    pools = {
        "test": {"train": pool(of["test"], f"Not {LONG.upper()}"), "test": pool(of["test"], "Why did he leave?")},
        "taught": {"train": pool(of["taught"], "Why did he leave?"), "test": pool(of["taught"], "Who is it then?")},
        "scored": {"train": pool(of["scored"], LONG), "test": pool(of["scored"], "Why did he leave?")},
        "alone": {"test": pool(of["alone"], "Why did he leave?")},
    }
    kept = without_leaks(replace(made, pools=pools))
    assert kept.folds["default"]["excluded"] == ("taught",)
    assert told_of(kept)[1].endswith("could be: 1 training task and 0 test tasks")  # alone, which can't be taught
    assert kept.taught_pool("alone") is None


def test_a_task_that_is_tested_is_not_trained_on():
    made = suite(test=("", ""), other=("", ""))
    of = replace(made.tasks["test"], tags={})
    pools = {**made.pools, "test": {"train": pool(of, "Who is it then?"), "test": pool(of, "Why did he leave?")}}
    folds: Folds = {"default": {"train": ("test",), "test": ("test",)}}
    kept = without_leaks(replace(made, tasks={**made.tasks, "test": of}, pools=pools, folds=folds))
    assert kept.folds["default"] == {"train": (), "test": ("test",)}
    assert told_of(kept)[-1] == "default: dropped: test is also a test task"


def test_a_fold_with_nothing_to_compare_is_told_too():
    folds: Folds = {"xlingual": {"test": ("test",)}, "mine": {"train": ("test",), "test": ()}}
    made = replace(suite(test=("a", LONG)), folds=folds)
    kept = without_leaks(made)
    assert kept.folds == made.folds
    assert told_of(kept) == [
        "xlingual: no training tasks: nothing to compare",
        "mine: no test tasks: nothing to compare",
    ]


def test_leaving_leaks_out_again_changes_nothing():
    once = without_leaks(suite(test=("a", LONG), same=("a", "other"), fine=("c", "nothing at all in common")))
    again = without_leaks(once)
    assert (again.folds, told_of(again)) == (once.folds, told_of(once))


def leaky(roles: Folds | None = None) -> Suite:
    """A suite with a leak of each kind: by source, by texts, by a short text, by an example in prompts."""
    made = suite(
        test=("a", LONG),
        same=("A", "other"),
        overlap=("b", f"So {LONG}!"),
        short=("c", "Why did he leave?"),
        shows=("d", "nothing at all in common"),
        fine=("e", "something else again here"),
        more=("e", "and this one too here"),
    )
    shown = replace(made.tasks["shows"], examples=(Shown({"input": LONG}, "x"),))
    pools = {**made.pools, "test": {"all": pool(made.tasks["test"], LONG, "why did he leave")}}
    return replace(made, tasks={**made.tasks, "shows": shown}, pools=pools, folds=roles or made.folds)


def test_check_finds_what_the_certificate_leaves_out_and_nothing_after_that():
    faults = [fault for fault in check(leaky()) if fault.code.startswith("E3")]
    assert [(fault.note.code, dict(fault.note.values)["task"]) for fault in faults] == [
        ("E303", "same"),
        ("E304-overlap", "overlap"),
        ("E304-equal", "short"),
        ("E304-overlap", "shows"),
    ]
    assert {fault.place for fault in faults} == {"default/train+test"}
    kept = without_leaks(leaky())
    told = [text for text in told_of(kept) if "dropped: " in text]
    assert told == [f"default: dropped: {fault.note}" for fault in faults]
    assert kept.folds["default"]["excluded"] == ("same", "overlap", "short", "shows")
    assert [fault for fault in check(kept) if fault.is_error] == []


@pytest.mark.parametrize("beyond", [COMPARED - 1, COMPARED])
def test_both_compare_the_first_hundred_of_a_task(beyond: int):
    made = suite(test=("a", LONG), many=("b", ""))
    texts = [f"text {n} is of no interest" for n in range(beyond)] + [LONG]
    far = replace(made, pools={**made.pools, "many": {"all": pool(made.tasks["many"], *texts)}})
    found = beyond < COMPARED
    assert bool(without_leaks(far).tasks_with("excluded")) == found
    assert [fault.code for fault in check(far) if fault.is_error] == ["E304"] * found


def test_dev_tasks_are_held_out_from_training_and_kept_from_test_tasks():
    roles: Folds = {"default": {"train": ("overlap", "fine"), "dev": ("same", "more"), "test": ("test",)}}
    assert [(fault.code, fault.place) for fault in check(leaky(roles)) if fault.is_error] == [
        ("E304", "default/train+test"),
        ("E303", "default/dev+test"),
        ("E303", "default/train+dev"),
    ]
    kept = without_leaks(leaky(roles))
    assert kept.folds == {
        "default": {"train": (), "dev": ("more",), "test": ("test",), "excluded": ("overlap", "fine", "same")}
    }
    assert kept.about[LEAKING] == {"default": {"train": ["overlap", "fine"], "dev": ["same"]}}
    assert [fault for fault in check(kept) if fault.is_error] == []
    again = without_leaks(kept)
    assert (again.folds, again.about) == (kept.folds, kept.about)


def test_what_was_excluded_before_stays_so_and_is_not_compared():
    roles: Folds = {"default": {"train": ("fine", "short"), "test": ("test",), "excluded": ("same",)}}
    kept = without_leaks(leaky(roles))
    assert kept.folds["default"] == {"train": ("fine",), "test": ("test",), "excluded": ("same", "short")}
    assert kept.about[LEAKING] == {"default": {"train": ["short"]}}


def test_a_leak_that_is_trained_on_after_all_is_found():
    kept = without_leaks(leaky())
    roles = {**kept.folds["default"], "train": ("fine", "same")}
    faults = [fault for fault in check(replace(kept, folds={"default": roles})) if fault.is_error]
    assert [(fault.code, fault.place) for fault in faults] == [
        ("E302", "default/train+excluded"),
        ("E303", "default/train+test"),
    ]


def test_the_real_training_tasks_keep_apart_by_source(real_data: Path):
    made = build("natural-instructions", str(real_data / "superni"))
    _, short, alone, *told = told_of(made)
    assert short == "default: too short to compare: 854 of 2,443 training texts and 620 of 6,210 test texts"
    assert alone.endswith(": 6 training tasks and 6 test tasks")
    assert not [text for text in told if "a source" in text]
    assert (len(made.folds["default"]["train"]), len(told)) == (21, 4)
    assert " share 73% of a text (task492-5045c6f1b2774257b3c22dec14c9c03c ~ task648-" in told[0]
    assert not [fault for fault in check(made) if fault.code.startswith("E3")]
