"""Training tasks that would give test tasks away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from taskloom.benchmarks import builder
from taskloom.core import Example, Item, Suite, Task, Text
from taskloom.suites import rows
from taskloom.suites.build import Reading
from taskloom.suites.leaks import LEAKAGE, find, without_leaks

LONG = "the quick brown fox jumps over the lazy dog and runs away from all the hounds of the town"


def suite(**texts: tuple[str, str]) -> Suite:
    tasks = {
        name: Task(id=name, instruction="", output=Text(), metrics=(), tags={"source": (source,)})
        for name, (source, _) in texts.items()
    }
    pools = {
        name: {"all": rows.pool(tasks[name], [Example(Item(f"{name}-1", {"input": text}), ("x",), "")])}
        for name, (_, text) in texts.items()
    }
    folds = {"default": {"meta": tuple(n for n in tasks if n != "test"), "target": ("test",)}}
    return Suite(id="s", tasks=tasks, pools=pools, folds=folds)


def told_of(made: Suite) -> list[str]:
    told = made.about[LEAKAGE]
    assert isinstance(told, list)
    return list(map(str, told))


def test_tasks_of_the_same_source_or_text_are_left_out_and_told():
    made = suite(test=("a", LONG), same=("a", "other"), overlap=("b", f"So {LONG}!"), fine=("c", "nothing in common"))
    kept = without_leaks(made)
    assert kept.folds == {"default": {"meta": ("fine",), "target": ("test",)}}
    certificate, *told = told_of(kept)
    assert certificate == (
        "default: 3 training tasks and 1 test task were compared by source, and by the texts of their first "
        "100 examples (half of one in another, by runs of 13 words or 30 characters): 2 left out"
    )
    assert told == [
        "default: same is not trained on, for source 'a' is also that of test",
        "default: overlap is not trained on, for 100% of a text is in test",
    ]


def test_a_suite_without_leaks_has_a_certificate_too():
    made = suite(test=("a", LONG), fine=("c", "nothing in common"))
    kept = without_leaks(made)
    assert kept.folds == made.folds
    (certificate,) = told_of(kept)
    assert certificate.endswith(": none left out")


def test_a_suite_without_folds_stays_as_it_is():
    made = replace(suite(test=("a", LONG)), folds={})
    assert without_leaks(made) is made


def test_a_task_is_named_once():
    made = suite(test=("a", LONG), both=("a", LONG))
    assert len(find(made, "default", ["both"], ["test"])) == 1


def test_the_real_training_tasks_keep_apart_by_source(real_data: Path):
    made = builder("natural-instructions")(str(real_data / "superni"), (), Reading(), "")
    _, *told = told_of(made)
    assert not [text for text in told if "source" in text]
    assert len(made.folds["default"]["meta"]) == 25 - len(told)
