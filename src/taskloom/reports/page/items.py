"""Single answers inside a page: packed by task, and unpacked by a script when the task is opened."""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ...core import Task
from ...episodes import Shots, shots_order, shots_text
from ...messages import text_of
from ...studies.items import ItemRow, item_rows
from ...studies.results import Outcome, Results
from ...texts import without_surrogates
from .. import numbers
from ..classes import main_shots
from ..summary import written, written_golds

ANSWERS = 60_000  # in a page
BYTES = 30_000_000  # of packed answers in a page
LONGEST = 4_000  # characters of a text
Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Packed:
    """The answers to items of one task, as base64 of deflated JSON."""

    text: str
    answers: int


def packed(results: Results) -> dict[str, Packed]:
    """Pack the answers of each task; where they are many, the first of each where the most learners answered."""
    by_task: dict[str, list[Outcome]] = {}
    for outcome in results.outcomes:
        by_task.setdefault(outcome.task, []).append(outcome)
    few = sum(len(o.answers) for o in results.outcomes) <= ANSWERS
    share = ANSWERS if few else ANSWERS // len(by_task)
    kept = [o for found in by_task.values() for o in _first(found, share, main_shots(results, found[0].task))]
    rows = item_rows(replace(results, outcomes=tuple(kept)))
    found: dict[str, Packed] = {}
    size = 0
    for task, answers in itertools.groupby(rows, key=lambda row: row.task):
        made = _pack(results, results.suite.task(task), list(answers))
        size += len(made.text)
        if size > BYTES:
            break
        found[task] = made
    return found


def _first(outcomes: Sequence[Outcome], most: int, main: Shots) -> Iterator[Outcome]:
    """Keep whole episodes, with what all learners answered, up to so many answers, or the first items of one."""
    if sum(len(o.answers) for o in outcomes) <= most:
        yield from outcomes
        return
    groups: dict[Any, list[Outcome]] = {}
    for o in sorted(outcomes, key=lambda o: o.episode):
        groups.setdefault((o.shots, o.episode), []).append(o)
    kept = 0
    for at in sorted(groups, key=lambda at: (at[0] == main, shots_order(at[0])), reverse=True):
        size = sum(len(o.answers) for o in groups[at])
        if kept and kept + size > most:
            return
        kept += size
        count = max(1, most // len(groups[at]))
        yield from groups[at] if size <= most else (_of_first_items(o, count) for o in groups[at])


def _of_first_items(o: Outcome, count: int) -> Outcome:
    return replace(
        o,
        rows=o.rows[:count],
        items=o.items[:count],
        answers=o.answers[:count],
        gold=o.gold[:count],
        records=o.records[:count],
        scores={name: replace(scored, units=scored.units[:count]) for name, scored in o.scores.items()},
    )


def _pack(results: Results, task: Task, rows: Sequence[ItemRow]) -> Packed:
    data = _data(results, task, rows)
    text = without_surrogates(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
    packed = base64.b64encode(zlib.compress(text.encode(), 6)).decode()
    return Packed(packed, len(rows))


def _data(results: Results, task: Task, rows: Sequence[ItemRow]) -> Json:
    """Lay answers out by item and episode, each with what all learners answered; what repeats is there once."""
    metric = next(iter(rows[0].scores), "") if rows else ""
    points = all(o.scores[metric].metric.points for o in results.outcomes if o.task == task.id and metric in o.scores)
    named = {row.learner for row in rows}
    learners = sorted((name for name in results.learners if name in named), key=lambda n: n in results.baselines)
    place = {name: at for at, name in enumerate(learners)}
    settings: dict[str, int] = {}
    episodes: dict[str, int] = {}
    items: dict[tuple[str, ...], int] = {}
    shown: list[list[Any]] = []
    found: dict[tuple[int, ...], list[Any]] = {}
    for row in rows:
        asked = (row.item, *row.fields.values())
        if asked not in items:
            items[asked] = len(items)
            golds = [_cut(text) for text in written_golds(task, row.gold)]
            shown.append([row.item, [_cut(v) for v in row.fields.values()], golds])
        at = (
            items[asked],
            settings.setdefault(shots_text(row.shots), len(settings)),
            episodes.setdefault(_episode(row), len(episodes)),
        )
        answers = found.setdefault(at, [0] * len(learners))
        answers[place[row.learner]] = _answer(task, row, points)
    return {
        "fields": list(rows[0].fields) if rows else [],
        "learners": learners,
        "baselines": sum(name in results.baselines for name in learners),
        "settings": list(settings),
        "setting": shots_text(main_shots(results, task.id)),
        "episodes": list(episodes),
        "metric": metric,
        "items": shown,
        "rows": [[*at, answers] for at, answers in found.items()],
    }


def _episode(row: ItemRow) -> str:
    parts = [f"seed {row.seed}", f"episode {row.episode}" if row.episode else "",
             f"training {row.training}" if row.training else ""]  # fmt: skip
    return ", ".join(filter(None, parts))


def _answer(task: Task, row: ItemRow, points: bool) -> list[Any]:
    """Give the answer, what the model wrote if it differs, right or wrong, its score, and why it is unusable."""
    text = None if row.answer is None else _cut(written(task, row.answer))
    raw = None if row.raw is None or row.raw == text else _cut(row.raw)
    value = next(iter(row.scores.values()), None)
    score = None if value is None else numbers.number(value, points)
    right = None if row.right is None else int(row.right)
    return [text, raw, right, score if right is None else None, text_of(row.unusable) if row.unusable else ""]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rstrip()} … ({len(text):,} characters)"
