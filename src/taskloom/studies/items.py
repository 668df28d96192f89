"""Results as rows: one for each answer, with what was asked, what is right, what was written, and how it was scored.

Rows are made when they are asked for, cell by cell: what models wrote stays in the ledger until then.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..core import Answer, Example, Fields, Task
from ..episodes import Shots
from ..errors import UnknownNameError, UsageError
from ..messages import Note
from ..scores import Scored, unusable_code
from ..scores.reduce import mean
from ..scores.tasks import split_name
from ..texts import number_text, without_surrogates
from .ledger import Ledger

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from .results import Outcome, Results

BLOCK = 256  # units that are scored one by one at once
BATCH = 5_000  # rows of an Arrow batch

Outputs: TypeAlias = Callable[[str], Mapping[str, Any]]  # of a cell


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """One answer of one learner to one item, in one episode of a task at one setting."""

    learner: str
    task: str
    shots: Shots
    seed: int
    episode: int  # its number among those of the seed
    training: int  # the seed of what was learnt
    cell: str
    item: str  # its id
    fields: Mapping[str, str]  # the input
    candidates: tuple[str, ...]
    gold: tuple[Answer, ...]  # all that are acceptable
    raw: str | None  # what the model wrote, as it was; None where a learner writes nothing
    answer: Answer | None  # as it was parsed
    unusable: str  # the code of why the answer can't be used; empty if it can
    right: bool | None  # None where no metric of the task tells right from wrong
    scores: Mapping[str, float | None]  # by metric: of this answer alone; None where it has no value alone
    options: Mapping[str, float]  # the score that the model gave each option
    sizes: tuple[int, ...] = ()  # support examples of each class of the episode


def item_rows(results: Results, tasks: Collection[str] = ()) -> Iterator[ItemRow]:
    """Yield a row for each answer of these tasks, or of all: task by task, in the order of the plan."""
    by_task = _by_task(results, tasks)
    with _outputs_of(results) as outputs:
        for task, outcomes in by_task.items():
            asked: dict[tuple[str, tuple[int, ...]], list[Example]] = {}  # learners share an episode's
            for outcome in outcomes:
                at = outcome.pool, outcome.rows
                if at not in asked:
                    asked[at] = results.suite.pools[task][outcome.pool].take(outcome.rows)
                yield from _rows(results.suite.tasks[task], outcome, asked[at], outputs(outcome.cell).get("query", {}))


def _by_task(results: Results, tasks: Collection[str]) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    for outcome in results.outcomes:
        found.setdefault(outcome.task, []).append(outcome)
    for task in tasks:
        if task not in found:
            raise UnknownNameError("task of the run", task, found)
    return {task: outcomes for task, outcomes in found.items() if not tasks or task in tasks}


@contextmanager
def _outputs_of(results: Results) -> Iterator[Outputs]:
    """Open what models wrote."""
    with opened_ledger(results) as ledger:
        yield ledger.outputs if ledger else lambda _: {}


@contextmanager
def opened_ledger(results: Results) -> Iterator[Ledger | None]:
    """Open the ledger that results are of; predictions that were made elsewhere have none."""
    if results.ledger is None:
        yield None
        return
    if not results.ledger.is_file():
        raise UsageError(f"the run was moved or removed since its results were read: {results.ledger.parent}")
    with Ledger(results.ledger) as ledger:
        yield ledger


def _rows(task: Task, of: Outcome, examples: Sequence[Example], kept: Mapping[str, Any]) -> Iterator[ItemRow]:
    count = len(of.answers)
    raws, options = _raws(kept, count), _options(kept, count)
    values = {name: _values(scored) for name, scored in of.scores.items()}
    right = rights(of)
    for at, (example, answer) in enumerate(zip(examples, of.answers, strict=True)):
        yield ItemRow(
            learner=of.learner,
            task=of.task,
            shots=of.shots,
            seed=of.seed,
            episode=of.index,
            training=of.training,
            cell=of.cell,
            item=example.item.id,
            fields=example.item.fields,
            candidates=example.item.candidates,
            gold=example.gold,
            raw=raws[at],
            answer=answer,
            unusable=unusable_answer(task, answer),
            right=None if right is None else right[at],
            scores={name: found[at] for name, found in values.items()},
            options=options[at],
            sizes=of.sizes,
        )


# --- scores of single answers ----------------------------------------------------------------------------------------


def unit_values(scored: Scored) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Give the score of each answer alone; NaN where the metric has none of a single answer, as a correlation."""
    units = scored.units
    if scored.metric.reduce is mean:
        return units[:, 0]
    blocks = (units[first : first + BLOCK] for first in range(0, len(units), BLOCK))
    return np.concatenate([scored.metric.reduce(block, np.eye(len(block))) for block in blocks])


def _values(scored: Scored) -> list[float | None]:
    return [None if value != value else value for value in unit_values(scored).tolist()]


def rights(of: Outcome) -> list[bool] | None:
    """Tell which answers are right, by the first metric that tells; of several fields, all that have one must be."""
    first: dict[str, str] = {}
    for name, scored in of.scores.items():
        if scored.metric.says_right:
            first.setdefault(split_name(name)[0], name)
    if not first:
        return None
    found: list[bool] = np.all([of.scores[name].units[:, 0] == 1 for name in first.values()], axis=0).tolist()
    return found


def unusable_answer(task: Task, answer: Answer | None) -> str:
    """Give the code of why an answer can't be used; of several fields, those of each that can't."""
    if not isinstance(task.output, Fields) or not isinstance(answer, Mapping):
        return unusable_code(task.output, answer)
    codes = ((name, unusable_code(part, answer.get(name))) for name, part in task.output.parts.items())
    return ", ".join(f"{name}/{code}" for name, code in codes if code)


# --- what models wrote -----------------------------------------------------------------------------------------------


def _raws(kept: Mapping[str, Any], count: int) -> Sequence[str | None]:
    """Give what was written for each answer; where fields were asked for one by one, as a JSON object of them."""
    if "raw" in kept:
        found: Sequence[str | None] = kept["raw"]
        return found
    parts = {name: part["raw"] for name, part in kept.get("parts", {}).items() if "raw" in part}
    if not parts:
        return [None] * count
    return [_json({name: raws[at] for name, raws in parts.items()}) for at in range(count)]


def _options(kept: Mapping[str, Any], count: int) -> list[dict[str, float]]:
    """Give the scores of options for each answer; those of fields are named FIELD/OPTION."""
    own = [dict(zip(names, scores, strict=True)) for names, scores in _scored_options(kept, count)]
    for part, inner in kept.get("parts", {}).items():
        for found, more in zip(own, _options(inner, count), strict=True):
            found |= {f"{part}/{name}": score for name, score in more.items()}
    return own


def option_scores(
    results: Results, outcomes: Iterable[Outcome]
) -> Iterator[tuple[Outcome, list[tuple[Sequence[str], Sequence[float]]]]]:
    """Yield outcomes with the options of each answer and their scores, read from the ledger cell by cell."""
    with _outputs_of(results) as outputs:
        for outcome in outcomes:
            yield outcome, list(_scored_options(outputs(outcome.cell).get("query", {}), len(outcome.answers)))


def _scored_options(kept: Mapping[str, Any], count: int) -> Iterator[tuple[Sequence[str], Sequence[float]]]:
    scores = kept.get("scores", [[]] * count)
    names = kept.get("item_options") or [kept.get("options", []) if each else [] for each in scores]
    return zip(names, scores, strict=True)


# --- Arrow -----------------------------------------------------------------------------------------------------------


def item_schema(results: Results, tasks: Collection[str] = ()) -> pa.Schema:
    """Give the columns of a table of items: each field of inputs has one (`input.*`), and each metric (`score.*`)."""
    import pyarrow as pa

    outcomes = [outcome for found in _by_task(results, tasks).values() for outcome in found]
    pools = dict.fromkeys((o.task, o.pool, o.rows[:1]) for o in {(o.task, o.pool): o for o in outcomes}.values())
    firsts = (results.suite.pools[task][pool].take(rows)[0] for task, pool, rows in pools if rows)
    inputs = dict.fromkeys(name for first in firsts for name in first.item.fields)
    metrics = dict.fromkeys(name for outcome in outcomes for name in outcome.scores)
    whole = all(isinstance(outcome.shots, int) for outcome in outcomes)
    kinds: dict[str, Any] = dict.fromkeys(("learner", "task"), pa.string())
    kinds |= {"shots": pa.int64() if whole else pa.string(), "seed": pa.int64(), "episode": pa.int64()}
    kinds |= {"training": pa.int64(), "item": pa.string()}
    kinds |= {f"input.{name}": pa.string() for name in inputs}
    kinds |= dict.fromkeys(("candidates", "gold", "other_gold", "raw", "answer", "unusable"), pa.string())
    kinds |= {"right": pa.bool_()} | {f"score.{name}": pa.float64() for name in metrics}
    kinds |= {"options": pa.string(), "way": pa.int64(), "sizes": pa.string(), "cell": pa.string()}
    return pa.schema(list(kinds.items()))


def item_batches(results: Results, tasks: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
    """Yield the rows of items as Arrow batches, so that no more than one is in memory."""
    schema = item_schema(results, tasks)
    rows = item_rows(results, tasks)
    while batch := list(itertools.islice(rows, BATCH)):
        yield _batch(batch, schema)


def item_table(results: Results, tasks: Collection[str] = ()) -> pa.Table:
    """Give the rows of items as an Arrow table."""
    import pyarrow as pa

    return pa.Table.from_batches(item_batches(results, tasks), item_schema(results, tasks))


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Give a table as a data frame of pandas, which is an optional dependency."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise UsageError(Note.of("pandas-missing")) from None
    found: pd.DataFrame = table.to_pandas()
    return found


def _batch(rows: Sequence[ItemRow], schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    cells = {f.name: list(map(_column(f.name), rows)) for f in schema}
    if schema.field("shots").type == pa.string():  # "all" beside numbers
        cells["shots"] = list(map(str, cells["shots"]))
    return pa.record_batch([_array(cells[f.name], f.type) for f in schema], schema=schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Make an Arrow array; half characters, which Arrow can't hold, are replaced."""
    import pyarrow as pa

    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([v if v is None else without_surrogates(v) for v in values], kind)


def _column(name: str) -> Callable[[ItemRow], Any]:
    """Say what stands in a column."""
    kind, _, rest = name.partition(".")
    if kind == "input" and rest:
        return lambda row: row.fields.get(rest)
    if kind == "score" and rest:
        return lambda row: row.scores.get(rest)
    return COLUMNS.get(name) or (lambda row: getattr(row, name))


def answer_text(answer: Answer | None) -> str | None:
    """Write an answer in a cell of a table: a text or a number as it is, and all else as JSON.

    >>> answer_text("yes"), answer_text(2.0), answer_text(("a", "b")), answer_text({"title": "On trees"})
    ('yes', '2', '["a", "b"]', '{"title": "On trees"}')
    """
    if answer is None or isinstance(answer, str):
        return answer
    return number_text(answer) if type(answer) in (int, float) else _json(answer)  # type: ignore[arg-type]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_or_none(value: Collection[object] | Mapping[str, object]) -> str | None:
    return _json(value) if value else None


COLUMNS: Mapping[str, Callable[[ItemRow], Any]] = {  # that are not an attribute of a row as it is
    "candidates": lambda row: _json_or_none(row.candidates),
    "gold": lambda row: answer_text(row.gold[0]) if row.gold else None,
    "other_gold": lambda row: _json_or_none(row.gold[1:]),
    "answer": lambda row: answer_text(row.answer),
    "unusable": lambda row: row.unusable or None,
    "options": lambda row: _json_or_none(row.options),
    "way": lambda row: len(row.sizes) or None,
    "sizes": lambda row: _json_or_none(row.sizes),
}
