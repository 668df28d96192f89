"""What the verbs of suites print: tables, or JSON."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import console, prompts
from ..core import Example, Fields, Labels, Output, Suite, store_of
from ..errors import UnknownNameError
from ..folders import write_output
from ..scores.tasks import split_name
from ..suites.bridges import Partition
from ..suites.bridges import bridge as bridge_of
from ..suites.bridges import propose as propose_partitions
from ..suites.cards import Spread, records_of
from ..suites.faults import Fault
from ..suites.fields import parse_task_id
from ..texts import counted, without_surrogates
from .listings_names import show_rows

SHOWN = 20  # tasks
NAMES = 12  # types, languages and domains of a card
LOG = "by logarithm"
ABOUT = ("task", "category", "role", "output", "metrics", "examples")  # columns of a suite's tasks
OPTIONAL = ("category", "role")  # of these, those that not all suites have
WEIGHTY = ("task", "role", "category", "examples", "metrics", "output")  # where there is no room for all, the last go


def show_suite(suite: Suite, *, everything: bool, as_json: bool) -> None:
    """List the tasks of a suite; on a terminal only the first ones, unless all are asked for."""
    if as_json:
        console.as_json(
            {
                "id": suite.id,
                "fingerprint": suite.fingerprint,
                "about": dict(suite.about),
                "folds": suite.folds_json(),
                "stores": {name: len(of) for name, of in suite.stores.items()},
                "tasks": [task_summary(suite, name) for name in suite.tasks],
            }
        )
        return
    briefly = sys.stdout.isatty()
    rows = {name: _about_task(suite, name, briefly=briefly) for name in suite.tasks}
    few = list(rows.values()) if everything or not briefly else list(rows.values())[:SHOWN]
    some = [name for name in ABOUT if name not in OPTIONAL or any(row[name] for row in rows.values())]
    by_weight = sorted(some, key=WEIGHTY.index)
    needed = [{**row, "category": max(row["category"].split(), key=len, default="")} for row in few]  # it may wrap
    room = by_weight[: console.fitting(by_weight, [[row[name] for name in by_weight] for row in needed])]
    columns = [name for name in some if name in room]
    console.table(columns, [[row[name] for name in columns] for row in few], title=summary(suite), whole=["task"])
    if len(columns) < len(some):
        lost = ", ".join(name for name in some if name not in room)
        console.note(f"columns that do not fit: {lost}; use a wider terminal, or a pipe")
    if len(few) < len(rows):
        console.note(f"{counted(len(rows) - len(few), 'more task')}: --all shows them")


def _about_task(suite: Suite, name: str, *, briefly: bool) -> dict[str, str]:
    """Describe a task in a row; briefly, its first metric is named and the others are counted."""
    task = suite.tasks[name]
    first, *others = _short(task.metrics) or [""]
    metrics = f"{first} +{len(others)}" if briefly and others else ", ".join([first, *others])
    category = ", ".join(task.tags.get("category", ()))
    cells = (task.id, category, _role(suite, name), describe(task.output), metrics, _sizes(suite, name))
    return dict(zip(ABOUT, cells, strict=True))


def _role(suite: Suite, task: str) -> str:
    """Say what a task is for in each fold, or in the only one."""
    found = [(fold, role) for fold, roles in suite.folds.items() for role, names in roles.items() if task in names]
    return ", ".join(role if len(suite.folds) == 1 else f"{fold}: {role}" for fold, role in found)


def summary(suite: Suite) -> str:
    """Name a suite in a line."""
    stored = "".join(f"{counted(len(of), 'document')} in {name}, " for name, of in suite.stores.items())
    return f"{suite.id}: {counted(len(suite.tasks), 'task')}, {stored}fingerprint {suite.fingerprint}"


def task_summary(suite: Suite, name: str) -> dict[str, Any]:
    """Give what is declared of a task, its digest and the sizes of its pools."""
    pools = {pool: len(kept) for pool, kept in suite.pools[name].items()}
    return suite.task(name).declaration() | {"digest": suite.digest(name), "pools": pools}


def show_task(suite: Suite, name: str, count: int, *, as_json: bool) -> None:
    """Show a task with a few examples of its first pool."""
    task = suite.task(name)
    pool_name, pool = next(iter(suite.pools[name].items()))
    examples = pool.take(range(min(count, len(pool))))
    if as_json:
        console.as_json(task_summary(suite, name) | {"examples": [_example(example) for example in examples]})
        return
    about = _about_task(suite, name, briefly=False)
    console.pairs(
        {
            "task": task.id,
            **{column: about[column] for column in OPTIONAL if about[column]},
            "instruction": task.instruction,
            "output": describe(task.output),
            "metrics": ", ".join(task.metrics),
            "examples": _sizes(suite, name),
            "digest": suite.digest(name),
        }
    )
    for example in examples:
        gold = prompts.excerpt(task, example.gold[0]) if example.gold else "(no answer)"  # `check` refuses it
        shown = {**example.item.fields, "=>": gold}
        console.table([f"{pool_name}/{example.item.id}", ""], list(shown.items()))


def show_card(suite: Suite, *, everything: bool, as_json: bool, to: Path | None = None) -> None:
    """Show what is in a suite, beside the published figures where there are some; or write that as a page."""
    from ..reports import card as cards

    sheet = cards.sheet(suite)
    if to:
        write_output(to, without_surrogates(cards.page(sheet)))
        console.note(str(to))
    if as_json:
        console.as_json(sheet.data)
    elif not to:
        console.table(sheet.columns, sheet.rows, title=summary(suite), figures=sheet.columns[1:])
        for what, spread in sheet.spreads.items():
            _show_spread(cards.NOUNS.get(what, what), spread, f"{sheet.counts_of}s", everything=everything)
        for note in sheet.notes:
            console.note(note)


def _show_spread(noun: str, spread: Spread, of: str, *, everything: bool) -> None:
    """List how many tasks or records have each name; on a terminal only the first ones, with bars."""
    from ..reports import card as cards

    rows: list[tuple[console.Value, ...]] = list(spread.counts.items())
    if not sys.stdout.isatty():
        console.table([noun, of], rows)
        return
    most = max(spread.counts.values())
    drawn = [(name, count, cards.blocks(count, most)) for name, count in spread.counts.items()]
    few = drawn if everything else drawn[:NAMES]
    console.table([noun, of, LOG], few, title=counted(len(rows), noun), whole=[of, LOG])
    if len(few) < len(rows):
        console.note(f"{counted(len(rows) - len(few), f'more {noun}')}: --all shows them")


def show_faults(of: str, faults: Sequence[Fault], *, fingerprint: str = "", as_json: bool) -> None:
    """Show what a check found."""
    errors = sum(fault.is_error for fault in faults)
    if as_json:
        listed = [_fault(fault) for fault in faults]
        console.as_json({"fingerprint": fingerprint, "errors": errors, "faults": listed})
        return
    if faults:
        console.table(["code", "place", "what"], [(fault.code, fault.place, str(fault.note)) for fault in faults])
    console.note(f"{counted(errors, 'error')}, {counted(len(faults) - errors, 'warning')}; {of}")


def _fault(fault: Fault) -> dict[str, Any]:
    shown = {"code": fault.code, "place": fault.place, "message": str(fault.note), "note": fault.note.code}
    values = {name: list(map(str, v)) if isinstance(v, tuple) else v for name, v in fault.note.values}
    return shown | {"values": values}


def show_bridge(suite: Suite, target: str, meta: Sequence[str], *, as_json: bool) -> None:
    """Show how a target stands to meta tasks."""
    known = [f.name for f in records_of(suite).fields]
    for name in itertools.chain.from_iterable(side for task in (target, *meta) for side in parse_task_id(task)):
        if name not in known:
            raise UnknownNameError("field", name, known)
    found = bridge_of(Partition(tuple(meta), target))
    if as_json:
        console.as_json({"target": target, "meta": list(meta)} | asdict(found))
    else:
        path = ", ".join(found.path) or "none"
        console.pairs(
            {"shape": found.shape, "leaps": max(found.leaps, 0), "path": path, "whole": str(found.whole).lower()}
        )


def show_proposals(suite: Suite, shape: str, target: str, limit: int, *, as_json: bool) -> None:
    """List partitions of a shape."""
    names = [f.name for f in records_of(suite).fields]
    found = list(propose_partitions(names, shape, target))
    rows = [(partition.target, ", ".join(partition.meta)) for partition in found[:limit]]
    show_rows(["target", "meta"], rows, as_json=as_json)
    if len(found) > limit:
        console.note(f"{limit} of {len(found):,} shown; -n shows more")


def describe(output: Output) -> str:
    """Say in a few words in which form an answer comes.

    >>> describe(Labels(("yes", "no")))
    'labels (2)'
    """
    if isinstance(output, Fields):
        return " + ".join(describe(part) for part in output.parts.values())
    if store := store_of(output):
        return f"{output.kind} ({store})"
    return f"{output.kind} ({len(output.names)})" if isinstance(output, Labels) else output.kind


def _short(metrics: Sequence[str]) -> list[str]:
    """Name each metric once, without the field that it is for."""
    return list(dict.fromkeys(split_name(metric)[1] for metric in metrics))


def _sizes(suite: Suite, task: str) -> str:
    return ", ".join(f"{name} {len(pool):,}" for name, pool in suite.pools[task].items())


def _example(example: Example) -> dict[str, Any]:
    item = {"id": example.item.id, "fields": dict(example.item.fields), "candidates": list(example.item.candidates)}
    return item | {"gold": list(example.gold), "group": example.group}
