"""What a model is trained on: instances of tasks as prompts with answers, drawn apart from what is asked later."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

from .core import Answer, Example, Pool, Ranking, Suite, Task
from .encodings import DEFAULT, Encoding, encode, encoding, tagged, without_item
from .errors import UsageError
from .ids import shuffled
from .models import Lesson
from .prompts import write
from .templates import DEFAULT as DEFAULT_TEMPLATE
from .templates import Prompting, template

Most: TypeAlias = int | Literal["all"]
Written: TypeAlias = Callable[[Answer], str]
RANDOM = "random"
RELEASED = ("def", "pos2", "def+pos2", "def+pos2+neg2", "def+pos2+expl")  # what the released training draws among
TAUGHT = 100  # instances of a training task, as released; the paper finds that 64 are enough


def lessons(
    suite: Suite, tasks: Sequence[str], *, how: str = DEFAULT, most: Most = TAUGHT, seed: int = 0
) -> Iterator[Lesson]:
    """Yield what to train on: some instances of each task; where `how` is random, each has an encoding of its own."""
    for name in tasks:
        yield from lessons_of(suite, name, taught_rows(suite, name, most=most, seed=seed), how=how, seed=seed)


def taught_rows(
    suite: Suite,
    name: str,
    *,
    most: Most = TAUGHT,
    seed: int = 0,
    avoid: Collection[int] = (),
    able: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Choose rows to train on, none of the records to avoid and none without an answer.

    Where a suite was searched for leaks, they are drawn from the first of a task, whose texts were compared with test
    tasks; more are looked at only where more are wanted.
    """
    found = answerable_rows(suite, name, most) if able is None else able
    kept = _apart(_taught(suite, name), found, frozenset(avoid))
    wanted = len(kept) if most == "all" else most
    order = zip(range(wanted), shuffled(len(kept), "lessons", seed, name), strict=False)
    return tuple(sorted(kept[place] for _, place in order))


def answerable_rows(suite: Suite, name: str, most: Most = TAUGHT) -> list[int]:
    """Give the rows of a task that have an answer, among those that so many may be chosen from."""
    from .suites.leaks import COMPARED, LEAKAGE  # which load pyarrow

    task, pool = suite.task(name), _taught(suite, name)
    first = max(COMPARED, most) if LEAKAGE in suite.about and most != "all" else len(pool)
    rows = range(min(first, len(pool)))
    return [row for row, example in zip(rows, pool.take(rows), strict=True) if _answers(task, example)]


def lessons_of(
    suite: Suite, name: str, rows: Sequence[int], *, how: str = DEFAULT, words: str = DEFAULT_TEMPLATE, seed: int = 0
) -> Iterator[Lesson]:
    """Write rows of a task as lessons; without an encoding, in the words of a template.

    Of several acceptable answers one is drawn, and never an empty one; the item itself is not shown as an example.
    """
    task = suite.task(name)
    encodings = [encoding(one) for one in (RELEASED if how == RANDOM else (how,))] if how else []
    prompting = Prompting(task, template(words))
    for example in taught_examples(suite, name, rows):
        yield _encoded(task, example, encodings, seed) if encodings else _worded(prompting, example, seed)


def taught_examples(suite: Suite, name: str, rows: Sequence[int]) -> list[Example]:
    """Read rows of a task that may be trained on."""
    return _taught(suite, name).take(rows)


def taught_groups(suite: Suite, name: str, rows: Sequence[int]) -> list[int]:
    """Give the records of rows of a task, as numbers that are the same in all tasks."""
    groups: Any = _taught(suite, name).groups()
    return [int(groups[row]) for row in rows]


def shown_tags(task: Task, how: str) -> str:
    """Give what lessons in an encoding show of a task's tags, which do not name a task."""
    return tagged(task, encoding(how)) if how not in ("", RANDOM) else ""


def lesson_of(prompting: Prompting, example: Example, seed: int) -> Lesson | None:
    """Write an example as a lesson, in the words of a template; none where it has no answer to write."""
    task, item = prompting.task, example.item
    answer = _drawn_answer(task, example, seed, partial(prompting.write, item=item))
    if not answer:
        return None
    return Lesson(task.id, item.id, prompting.text(item), prompting.after(answer), prompting.keeps(item))


def _worded(prompting: Prompting, example: Example, seed: int) -> Lesson:
    found = lesson_of(prompting, example, seed)
    assert found is not None  # rows without an answer are not taught
    return found


def _drawn_answer(task: Task, example: Example, seed: int, written: Written | None = None) -> str:
    answers = _answers(task, example, written)
    return answers[next(shuffled(len(answers), "lesson", seed, task.id, example.item.id, "answer"))] if answers else ""


def _encoded(task: Task, example: Example, encodings: Sequence[Encoding], seed: int) -> Lesson:
    item = example.item
    key, answer = ("lesson", seed, task.id, item.id), _drawn_answer(task, example, seed)
    chosen = encodings[next(shuffled(len(encodings), *key, "encoding"))]
    return Lesson(task.id, item.id, encode(without_item(task, item), item, chosen), answer)


def _taught(suite: Suite, name: str) -> Pool:
    pool = suite.taught_pool(name)
    if pool is None:
        raise UsageError(f"the task has no examples to train on, all are scored: {name!r}")
    return pool


def _apart(pool: Pool, rows: Sequence[int], avoid: frozenset[int]) -> Sequence[int]:
    """Give the rows that are not of records to avoid."""
    if not avoid:
        return rows
    groups: Any = pool.groups()
    return [row for row in rows if int(groups[row]) not in avoid]


def _answers(task: Task, example: Example, written: Written | None = None) -> list[str]:
    """Give the acceptable answers as texts; of candidates that are graded, the best."""
    if isinstance(task.output, Ranking):
        graded: Any = example.gold[0]
        best = max(grade for _, grade in graded)
        return [candidate for candidate, grade in graded if grade == best]
    how = written or partial(write, task)
    return [text for gold in example.gold if (text := how(gold)).strip()]
