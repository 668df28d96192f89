"""Training tasks that would give test tasks away."""

from __future__ import annotations

from pathlib import Path

from taskloom.benchmarks import builder
from taskloom.core import Example, Item, Suite, Task, Text
from taskloom.suites import rows
from taskloom.suites.build import Reading
from taskloom.suites.leaks import LEFT_OUT, find, without_leaks

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


def test_tasks_of_the_same_source_or_text_are_left_out_and_told():
    made = suite(test=("a", LONG), same=("a", "other"), overlap=("b", f"So {LONG}!"), fine=("c", "nothing in common"))
    kept = without_leaks(made)
    assert kept.folds == {"default": {"meta": ("fine",), "target": ("test",)}}
    assert kept.about[LEFT_OUT] == [
        "default: same is not trained on, for source 'a' is also that of test",
        "default: overlap is not trained on, for 100% of a text is in test",
    ]


def test_a_suite_without_leaks_stays_as_it_is():
    made = suite(test=("a", LONG), fine=("c", "nothing in common"))
    assert without_leaks(made) is made


def test_a_task_is_named_once():
    made = suite(test=("a", LONG), both=("a", LONG))
    assert len(find(made, "default", ["both"], ["test"])) == 1


def test_the_real_training_tasks_keep_apart_by_source(real_data: Path):
    made = builder("natural-instructions")(str(real_data / "superni"), (), Reading(), "")
    told = made.about.get(LEFT_OUT, [])
    assert isinstance(told, list)
    assert not [text for text in told if "source" in str(text)]
    assert len(made.folds["default"]["meta"]) == 25 - len(told)
