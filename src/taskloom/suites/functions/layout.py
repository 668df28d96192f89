"""The published files: a folder for each function, with a line of JSON for each example of train, dev and test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core import DROPPED, POOLS, Answer, Example, Ints, Item, Labels, Output, Suite, Task, Text, Words
from ...errors import SourceError, StoreError, SuiteError
from ...ids import Json
from ...limits import refuse_no_folder
from ...messages import Note, counted_notes
from ...sources import files
from ...sources.files import RowFaults
from .. import rows
from .build import FALSE, TRUE, Wanted, task_of
from .forms import canonical, type_of
from .language import Chain, Combined, Function, FunctionError, WordFunction, composition_of, written
from .parse import FactNames, parse
from .pools import FIELD, FunctionPool

FOLDERS: Mapping[str, str] = {  # by composition
    "": "atomic", "chaining": "word_composite/chaining", "union": "word_composite/union",
    "intersection": "word_composite/intersection", "land": "word_composite/land", "lor": "word_composite/lor",
    "permuted": "permuted", "map": "seq_composite/map", "filter": "seq_composite/filter",
    "mapfilter": "seq_composite/mapfilter",
}  # fmt: skip


# --- reading ---------------------------------------------------------------------------------------------------------


def read(folder: Path, facts: FactNames | None = None) -> Suite:
    """Make a suite of the published files below a folder."""
    refuse_no_folder(folder)
    found = sorted({file.parent for name in POOLS.values() for file in folder.rglob(f"{name}.jsonl")})
    if not found:
        raise SourceError(f"no folders with train.jsonl and test.jsonl below {folder}")
    tasks: dict[str, Task] = {}
    pools: dict[str, dict[str, rows.Rows]] = {}
    dropped: dict[Note, int] = {}
    for place in found:
        task, kept = _task(place, facts)
        if {"train", "test"} <= kept.keys():
            tasks[task.id], pools[task.id] = task, kept
        else:
            dropped[Note.of("split-missing", task=task.id)] = 1
    about: dict[str, Json] = {"benchmark": "taskbench", "source": folder.name, DROPPED: counted_notes(dropped)}
    return Suite(id="taskbench", tasks=tasks, pools=pools, about=about)


def _task(folder: Path, facts: FactNames | None) -> tuple[Task, dict[str, rows.Rows]]:
    try:
        function = canonical(parse(folder.name.replace("%2F", "/"), facts))
    except FunctionError as error:
        raise SourceError(Note.of("of-source", reason=error.note, dropped="", source=folder)) from None
    faults = RowFaults()
    lines = {
        name: [(place, row) for place, row in files.read(folder / f"{name}.jsonl", faults)]
        for name in POOLS.values()
        if (folder / f"{name}.jsonl").is_file()
    }
    if "test" not in lines and "dev" in lines:
        lines["test"] = lines.pop("dev")
    first = next((row for listed in lines.values() for _, row in listed), {})
    task = task_of(Wanted(function, "paper"), _output(first))
    made = {
        name: [e for place, row in listed if (e := _example(task.output, place, row, faults))]
        for name, listed in lines.items()
    }
    faults.settle()
    return task, {name: rows.pool(task, kept) for name, kept in made.items() if kept}


def _output(row: Mapping[str, Any]) -> Output:
    given = row.get("all_tgts")
    targets = given if isinstance(given, list) and given else [""]
    if isinstance(targets[0], bool):
        return Labels((TRUE, FALSE))
    return Words() if isinstance(targets[0], list) else Text()


def _example(output: Output, place: str, row: Mapping[str, Any], faults: RowFaults) -> Example | None:
    inputs, targets = row.get("inputs"), row.get("all_tgts")
    if not inputs or not targets:
        faults.add(place, "inputs or all_tgts are missing or empty")
        return None
    try:
        shown, named = _shown(inputs[0])
        return Example(Item(place, {FIELD: shown}), _gold(output, targets, row.get("train_tgts")), named)
    except (LookupError, TypeError, AttributeError) as error:
        faults.add(place, f"not an example of a function ({error!r})")
        return None


def _shown(given: Any) -> tuple[str, str]:
    """Give an input as it is shown, and what it is known by."""
    if isinstance(given, Mapping) and isinstance(given.get("Qid"), list):
        return " ".join(given["ent_name"]), "\x1f".join(given["Qid"])
    if isinstance(given, Mapping):
        return str(given["ent_name"]), str(given["Qid"])
    return (" ".join(given), "\x1f".join(given)) if isinstance(given, list) else (str(given), str(given))


def _gold(output: Output, targets: Sequence[Any], taught: Any) -> tuple[Answer, ...]:
    if isinstance(output, Labels):
        return (TRUE if targets[0] is True else FALSE,)
    if isinstance(output, Words):
        words: Sequence[str | None] = _taught_words(taught) or [None] * len(targets)
        places = zip(words, targets, strict=False)
        return (tuple(_first(word, [_word(one) for one in place]) for word, place in places),)
    return _first(_word(taught) if taught else None, [_word(one) for one in targets])


def _taught_words(taught: Any) -> list[str]:
    if isinstance(taught, Mapping):
        return list(taught["ent_name"])
    return [_word(one) for one in taught[0]] if taught and isinstance(taught[0], list) else []


def _first(word: str | None, words: Sequence[str]) -> tuple[str, ...]:
    """Put the word that is taught first, and each once."""
    return tuple(dict.fromkeys([*(one for one in words if one == word), *words]))


def _word(one: Any) -> str:
    if isinstance(one, list) and len(one) == 1:
        return _word(one[0])
    return str(one["ent_name"]) if isinstance(one, Mapping) else str(one)


# --- writing ---------------------------------------------------------------------------------------------------------


def write(suite: Suite, folder: Path, facts: FactNames | None = None) -> int:
    """Write the function tasks of a suite as published files; give the number of tasks."""
    if folder.exists() and any(folder.iterdir()):
        raise StoreError(f"the folder is not empty; not overwritten: {folder}")
    for name, pools in suite.pools.items():
        of = parse(name, facts)
        if composition_of(of) not in FOLDERS:
            raise SuiteError(f"the published files have no place for this function: {name!r}")
        place = folder / FOLDERS[composition_of(of)] / written(of).replace("/", "%2F")  # of an IRI
        place.mkdir(parents=True)
        for pool_name, pool in pools.items():
            if not isinstance(pool, FunctionPool):
                raise SuiteError(f"only function tasks can be written as published files: {name!r}")
            lines = (json.dumps(line, ensure_ascii=False) + "\n" for line in _lines(suite.tasks[name], of, pool))
            (place / f"{pool_name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return len(suite.pools)


def _lines(task: Task, of: Function, pool: FunctionPool) -> Iterator[dict[str, Any]]:
    found = pool.rows()
    outputs = pool.places({word for row in found for word in row["key"] or row["input"]})
    words = {word for row in found for word in row["input"]}
    inner = {written(part): _outputs(part, pool, words) for part in _inner(of)}
    for row in found:
        shown = pool.named(pool.asks.source, row["input"])
        line: dict[str, Any] = {"inputs": [_columns(shown) if isinstance(task.output, Words) else _cells(shown)[0]]}
        line |= _targets(task.output, pool, row, outputs)
        line["inner_fns"] = {name: known.get(row["input"][0], []) for name, known in inner.items() if known}
        yield line | {"R": task.id, "nl_R": task.instruction}


def _outputs(of: WordFunction, pool: FunctionPool, words: set[int]) -> dict[int, list[Any]]:
    """Give what a part of a function gives for words; nothing where the suite does not have its relations."""
    if not pool.tables.knows(of):
        return {}
    asked, target = np.array(sorted(words), np.int64), type_of(of).target
    sets = pool.tables.sets(written(of), pool.asks.source, asked)
    parts = np.split(sets.indices, sets.indptr[1:-1])
    return {word: _cells(pool.named(target, p.tolist())) for word, p in zip(asked.tolist(), parts, strict=True)}


def _inner(of: Function) -> tuple[WordFunction, ...]:
    """Give the functions whose outputs stand beside those of a whole: of a chain the first that is applied."""
    match of:
        case Chain():
            return (of.inner,)
        case Combined(by="union" | "intersection"):
            return of.parts
    return ()


def _targets(output: Output, pool: FunctionPool, row: Mapping[str, Any], outputs: Mapping[int, Ints]) -> dict[str, Any]:
    if isinstance(output, Labels):
        truth = output.names[row["label"]] == TRUE
        return {"all_tgts": [truth], "train_tgts": truth}
    listed = [pool.named(pool.asks.target, outputs[word].tolist()) for word in row["key"] or row["input"]]
    if not isinstance(output, Words):
        return {"all_tgts": _cells(listed[0]), "train_tgts": _cells(listed[0])[0]}
    taught = _columns([place[0] for place in listed])
    return {
        "all_tgts": [_cells(place) for place in listed],
        "train_tgts": taught if isinstance(taught, dict) else [taught],
    }


def _cells(named: Sequence[tuple[str, str]]) -> list[Any]:
    """Write words as they are, and entities with their ids."""
    return [{"Qid": id_.rpartition("/")[2], "ent_name": text} if id_ != text else text for id_, text in named]


def _columns(named: Sequence[tuple[str, str]]) -> Any:
    """Write a sequence of words as a list, and of entities as one object."""
    cells = _cells(named)
    if not any(isinstance(cell, dict) for cell in cells):
        return cells
    return {"Qid": [id_.rpartition("/")[2] for id_, _ in named], "ent_name": [text for _, text in named]}
