"""A study to start from: learners and sizes that suit a suite, written as a file with comments."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..core import Labels, Number, Suite, Task, Terms, Text
from ..errors import SuiteError

MANY_CLASSES = 8  # above which one example of each is shown to a language model
QUERY, QUERY_TEXTS = 50, 20  # items of an episode: labels are quick to answer, texts are not
TEMPLATE = """\
# A study to start from: change what you like, then run it with `taskloom run {file}`.
format: 1
name: {name}
suite: {suite}
tasks: [{tasks}]
protocol:
  seeds: 5
  shots: [{shots}]        # examples of each class where a task has labels, else in all
  query: {query}              # items that are scored in each episode
learners:
  nearest: {{}}
{linear}  smollm2:               # any other model: hf:ORG/NAME, path:FOLDER, api:NAME@URL
    in-context: {{model: smollm2{tokens}}}
    shots: [{few}]
    optional: true         # skipped, with a note, if its weights can't be fetched
"""


def first_study(suite: Suite, *, name: str, folder: str, file: str) -> str:
    """Write a study of the tasks that ask for a label by all texts; without labels, for numbers, lists or a text."""
    tasks = list(first_tasks(suite))
    if not tasks:
        raise SuiteError(f"no task of the suite goes from texts to another field: {suite.id}")
    classes = max((len(t.output.names) for t in tasks if isinstance(t.output, Labels)), default=0)
    few = 4 if classes <= MANY_CLASSES else 1
    writes = isinstance(tasks[0].output, Text | Terms)
    smallest = min(len(suite.asked_pool(task.id)) for task in tasks)
    return TEMPLATE.format(
        file=file, name=json.dumps(name, ensure_ascii=False), suite=json.dumps(folder, ensure_ascii=False),
        tasks=", ".join(json.dumps(task.id, ensure_ascii=False) for task in tasks),
        shots=f"0, {few}, all", few=f"0, {few}",
        query=max(1, min(QUERY_TEXTS if writes else QUERY, smallest // (1 if _is_split(suite, tasks[0]) else 2))),
        linear="" if writes else "  tfidf-linear: {}\n", tokens=", tokens: 32" if writes else "",
    )  # fmt: skip


def first_tasks(suite: Suite) -> Iterator[Task]:
    """Choose the tasks that take all texts as inputs, and ask for the fields that are most often predicted."""
    fields = {task.id.partition("->")[2]: task.output for task in suite.tasks.values() if "->" in task.id}
    texts = [name for name, output in fields.items() if isinstance(output, Text)]
    for kind in (Labels, Number, Terms):
        targets = [name for name, output in fields.items() if isinstance(output, kind)]
        found = [task for target in targets if (task := suite.tasks.get(f"{_joined(suite, texts)}->{target}"))]
        if found:
            yield from found
            return
    yield from (task for task in suite.tasks.values() if isinstance(task.output, Text) and _is_first(task, texts))


def _joined(suite: Suite, texts: list[str]) -> str:
    """Name the texts together as the suite does."""
    sides = (name.partition("->")[0] for name in suite.tasks)
    return next((side for side in sides if sorted(side.split("+")) == sorted(texts)), "")


def _is_first(task: Task, texts: list[str]) -> bool:
    """Tell whether a task asks for the first text by all others."""
    inputs, _, output = task.id.partition("->")
    return bool(texts) and output == texts[0] and sorted(inputs.split("+")) == sorted(texts[1:])


def _is_split(suite: Suite, task: Task) -> bool:
    return len(suite.pools[task.id]) > 1
