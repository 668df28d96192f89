"""Pools of function tasks: rows have words by their places; texts and acceptable outputs are looked up when read."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ...core import Answer, Choices, Example, Ints, Item, Labels, Output, Ranking, Words
from ...errors import SuiteError
from ...ids import Json, fingerprint
from .. import columns
from ..rows import refuse_outside
from .evaluate import Grid
from .tables import Tables, are_places, digest_of, drawn

VERSION = 1  # of the maker: raise it when the same rows and tables give other examples
OF_TWO = 2  # of the maker of pools that teach two functions, which are drawn equally often since
LISTED = pa.list_(pa.int32())
SAMPLES = pa.schema([("input", LISTED), ("key", LISTED), ("label", pa.int32())])
FIELD = "input"


@dataclass(frozen=True, slots=True)
class Asks:
    """What a pool asks: a function's outputs for words of a domain; without a function, the words themselves."""

    function: str
    source: str
    target: str
    seed: int = 0  # of the outputs that are taught
    other: str = ""  # a second function, whose outputs are distinguished


@dataclass(frozen=True)
class FunctionPool:
    """The examples of one pool.

    A row has the words that are shown (`input`), those whose outputs are asked for (`key`; none: the same), and the
    place of its label where the task is a predicate. Of two functions, a row that is taught has the number of one.
    """

    output: Output
    asks: Asks
    tables: Tables
    size: int
    digest: str
    load: Callable[[Sequence[str] | None], pa.Table]

    def __len__(self) -> int:
        return self.size

    def labels(self) -> Ints:
        """Give each row's place in the label names, or the number of the function that it teaches; -1: neither."""
        return columns.numbers(self.load(["label"])["label"])

    def groups(self) -> Ints:
        """Give each row's words as a number."""
        sizes, places = lists(self.load(["input"])["input"])
        hashes = self.tables.hashes(self.asks.source)[places]
        if (sizes == 1).all():
            return hashes
        parts = np.split(hashes, np.cumsum(sizes)[:-1])
        return np.array([_number(part) for part in parts], np.int64)

    def rows(self) -> list[dict[str, Any]]:
        """Give all rows as they are kept."""
        return self.load(None).to_pylist()  # type: ignore[no-any-return]

    def golds(self) -> list[Answer]:
        """Give each row's gold answer as it is taught."""
        if isinstance(self.output, Labels):
            return [self.output.names[label] for label in self.labels().tolist()]
        if isinstance(self.output, Ranking):
            return [example.gold[0] for example in self.take(range(len(self)))]
        keys = [row["key"] or row["input"] for row in self.rows()]
        taught = {word: words[0] for word, words in self._accepted({w for key in keys for w in key}).items()}
        separator = self.output.separator if isinstance(self.output, Words) else ""
        return [separator.join(taught[word] for word in key) for key in keys]

    def shown_words(self) -> set[str]:
        """Give the words that are shown, as they are written."""
        _, places = lists(self.load(["input"])["input"])
        texts = self.tables.texts(self.asks.source)
        return {texts[place].casefold() for place in np.unique(places).tolist()}

    def take(self, rows: Sequence[int]) -> list[Example]:
        """Read these rows, in this order."""
        loaded = self.load(None)
        refuse_outside(rows, loaded.num_rows)
        taken = loaded.take(columns.indices(rows)).to_pylist()
        accepted = self._accepted({word for row in taken for word in row["key"] or row["input"]})
        return [self._example(row, accepted) for row in taken]

    def _example(self, row: dict[str, Any], accepted: dict[int, tuple[str, ...]]) -> Example:
        ids, texts = self.tables.ids(self.asks.source), self.tables.texts(self.asks.source)
        separator = self.output.separator if isinstance(self.output, Words) else " "
        shown = separator.join(texts[word] for word in row["input"])
        named = "\x1f".join(ids[word] for word in row["input"])
        id_ = named if len(row["input"]) == 1 else hashlib.blake2b(named.encode(), digest_size=8).hexdigest()
        group = f"{self.asks.source}:{named}"
        if isinstance(self.output, Ranking):
            return self._graded(row, Item(id_, {FIELD: shown}), group)
        return Example(Item(id_, {FIELD: shown}), self._gold(row, accepted), group)

    def _graded(self, row: dict[str, Any], item: Item, group: str) -> Example:
        """Grade outputs by the functions that give them: 1 the first, 2 the second, 3 both; or one that is taught."""
        (word,), question = row["input"], row["label"]
        found = {1: self._accepted({word})[word], 2: self._accepted({word}, self.asks.other)[word]}
        if question > 0:
            taught = found[question][0]
            item = Item(f"{item.id}/{question}", item.fields, (taught,))
            return Example(item, (((taught, float(question)),),), group)
        grades = Counter(dict.fromkeys(sorted({*found[1], *found[2]}), 0))
        for bit, texts in found.items():
            grades.update(dict.fromkeys(texts, bit))
        graded = tuple((text, float(grade)) for text, grade in grades.items())
        return Example(replace(item, candidates=tuple(grades)), (graded,), group)

    def _gold(self, row: dict[str, Any], accepted: dict[int, tuple[str, ...]]) -> tuple[Answer, ...]:
        if isinstance(self.output, Labels):
            return (self.output.names[row["label"]],)
        places: Choices = tuple(accepted[word] for word in row["key"] or row["input"])
        return (places,) if isinstance(self.output, Words) else places[0]

    @cached_property
    def _known(self) -> dict[str, dict[int, tuple[str, ...]]]:
        return {}

    def _accepted(self, wanted: set[int], function: str | None = None) -> dict[int, tuple[str, ...]]:
        """Give the acceptable outputs of words, the one that is taught first; those of a word are there once."""
        if isinstance(self.output, Labels):
            return {}
        name = self.asks.function if function is None else function
        known, texts = self._known.setdefault(name, {}), self.tables.texts(self.asks.target)
        for word, places in self.places(wanted - known.keys(), name).items():
            known[word] = tuple(dict.fromkeys(texts[place] for place in places.tolist()))  # of two entities, one
        return known

    def places(self, wanted: Collection[int], function: str | None = None) -> dict[int, Ints]:
        """Give the places of the acceptable outputs of words, the one that is taught first."""
        if not wanted:
            return {}
        asks, words = self.asks, np.array(sorted(wanted), np.int64)
        name = asks.function if function is None else function
        found = self.tables.sets(name, asks.source, words)
        if found.shape[1] != self.tables.size(asks.target):
            raise SuiteError(f"the outputs are of other words than {asks.target!r}: {name!r}")
        if not (sizes := np.diff(found.indptr)).all() and not asks.other:
            raise SuiteError(f"words without an output of {name!r}: the file is damaged")
        first = drawn(self.tables.hashes(asks.source)[words], sizes, name, asks.seed)
        parts = np.split(found.indices, found.indptr[1:-1])
        return {int(word): np.roll(part, -at) for word, part, at in zip(words, parts, first, strict=True)}

    def named(self, domain: str, words: Sequence[int]) -> list[tuple[str, str]]:
        """Give the ids and texts of words of a domain."""
        ids, texts = self.tables.ids(domain), self.tables.texts(domain)
        return [(ids[word], texts[word]) for word in words]


def is_whole(of: FunctionPool) -> bool:
    """Tell whether a pool's rows, and what its words have as outputs, are what names them."""
    table = of.load(None)
    try:
        return table.num_rows == len(of) and content(of.output, of.asks, of.tables, table) == of.digest
    except (LookupError, SuiteError):  # a word that is in no table, or a relation that is not there
        return False


def load_fitting(
    load: Callable[[Sequence[str] | None], pa.Table], output: Output, words: int, names: Sequence[str] | None
) -> pa.Table:
    """Load rows, and refuse those whose words or labels are in no table."""
    table = load(names)
    listed = [lists(table[name])[1] for name in ("input", "key") if name in table.column_names]
    labels = columns.numbers(table["label"]) if "label" in table.column_names else np.empty(0, np.int64)
    least, most = (0, len(output.names)) if isinstance(output, Labels) else (-1, 3)  # none, or which of two is taught
    fits = all(are_places(of, words) for of in listed) and are_places(labels - least, most - least)
    if not fits or any(column.null_count for column in table.columns):
        raise SuiteError("rows whose words or labels are in no table: the file is damaged")
    return table


def pool(output: Output, asks: Asks, of: Tables, table: pa.Table) -> FunctionPool:
    """Make a pool of a table that is in memory."""
    return FunctionPool(output, asks, of, table.num_rows, content(output, asks, of, table), _selecting(table))


def _selecting(table: pa.Table) -> Callable[[Sequence[str] | None], pa.Table]:
    return lambda names: table if names is None else table.select(names)


def content(output: Output, asks: Asks, of: Tables, table: pa.Table) -> str:
    """Name rows by their words and labels, and by the acceptable outputs of those words."""
    sizes, inputs = lists(table["input"])
    own_sizes, keys = lists(table["key"])
    hashes = of.hashes(asks.source)
    rows = digest_of(sizes, hashes[inputs], own_sizes, hashes[keys], columns.numbers(table["label"]))
    if isinstance(output, Labels):
        return fingerprint("functions", VERSION, rows)
    found: list[Json] = []
    for number, function in enumerate((asks.function, asks.other) if asks.other else (asks.function,), 1):
        asked = keys if len(keys) else inputs
        if asks.other:  # a row that is taught asks for one function alone
            asked = inputs[np.isin(columns.numbers(table["label"]), (-1, number))]
        found += [function, of.content(function, asks.source, asks.target, np.unique(asked))]
    return fingerprint("functions", OF_TWO if asks.other else VERSION, rows, asks.seed, *found)


def samples(inputs: Grid, keys: Grid | None = None, labels: Ints | None = None) -> pa.Table:
    """Make rows of words, (rows, words) each; keys and labels where there are some."""
    empty = np.empty((len(inputs), 0), np.int32)
    given = np.full(len(inputs), -1, np.int32) if labels is None else labels.astype(np.int32)
    column = pa.Array.from_buffers(pa.int32(), len(given), [None, pa.py_buffer(given)])
    return pa.table([_listed(inputs), _listed(empty if keys is None else keys), column], schema=SAMPLES)


def _listed(rows: Grid) -> pa.Array:
    values = np.ascontiguousarray(rows, np.int32).reshape(-1)
    offsets = (np.arange(len(rows) + 1) * rows.shape[1]).astype(np.int32)
    flat = pa.Array.from_buffers(pa.int32(), len(values), [None, pa.py_buffer(values)])
    return pa.Array.from_buffers(LISTED, len(rows), [None, pa.py_buffer(offsets)], children=[flat])


def lists(column: pa.ChunkedArray) -> tuple[Ints, Ints]:
    """Give the lengths of lists, and all their numbers."""
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    whole = whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks or [pa.array([], LISTED)])
    return columns.numbers(whole.value_lengths()).astype(np.int64), columns.numbers(whole.flatten()).astype(np.int64)


def _number(hashes: Ints) -> int:
    return int.from_bytes(hashlib.blake2b(hashes.tobytes(), digest_size=8).digest(), "little", signed=True)
