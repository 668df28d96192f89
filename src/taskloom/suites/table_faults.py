"""Faults of the table behind field tasks: duplicates, gaps, labels that may be one, and records in two splits."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow.compute as pc

from ..core import Suite
from ..sources.splits import DEV, SPLIT, TEST, TRAIN
from ..sources.table import Field
from ..texts import equals, overlaps
from .faults import SHOWN, Fault, doubles, imbalance, some
from .fields import FieldPool, Records

WARNINGS = "warnings"  # in a suite's `about`: faults that only the reading of its source could see
COMPARED = 10_000  # records of each split that are looked through for near duplicates
COMPARED_SPLITS = ((TRAIN, TEST), (DEV, TEST), (TRAIN, DEV))  # learnt from -> held out


def tables_of(suite: Suite) -> list[Records]:
    """Give the tables that the suite's views share, each once."""
    pools = (pool for pools in suite.pools.values() for pool in pools.values())
    return [*{id(pool.records): pool.records for pool in pools if isinstance(pool, FieldPool)}.values()]


def table_faults(suite: Suite) -> Iterator[Fault]:
    """Look through the tables of a suite, and repeat what was seen when their sources were read."""
    kept: Any = suite.about.get(WARNINGS) or ()
    yield from map(Fault.from_json, kept)
    for of in tables_of(suite):
        table = _Table(of)
        yield from table.double_faults()
        for f in of.fields:
            yield from table.field_faults(f)
        for learnt, held_out in COMPARED_SPLITS:
            if {learnt, held_out} <= {*of.splits}:
                yield from table.split_faults(learnt, held_out)


def folded_labels(written: Mapping[tuple[str, str], int], records: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    """Tell of labels that are one only because spaces around and between their words are not kept."""
    spellings: dict[tuple[str, str], Counter[str]] = {}
    for (name, raw), count in written.items():
        spellings.setdefault((name, " ".join(raw.split())), Counter())[raw] += count
    for name in dict.fromkeys(field for field, _ in spellings):
        counts = Counter(record[name] for record in records)
        several = {
            label: raws
            for (field, label), raws in spellings.items()
            if field == name and (len(raws) > 1 or counts[label] > raws.total())
        }
        if several:
            shown = [f"{raw!r} = {label!r}" for label, raws in several.items() for raw in raws]
            count = sum(raws.total() for raws in several.values())
            yield Fault.of("W106-spaces", f"records/{name}", **some(shown, count))


@dataclass(frozen=True)
class _Table:
    """The records of a suite as lists, read once."""

    of: Records

    @cached_property
    def ids(self) -> list[str]:
        return list(self.of.table["id"].to_pylist())

    @cached_property
    def contents(self) -> list[str]:
        """Give all that each record holds, as one text."""
        rows = self.of.table.select([f.name for f in self.of.fields]).to_pylist()
        return ["\x1f".join(map(str, row.values())) for row in rows]

    @cached_property
    def texts(self) -> list[str]:
        """Give the texts of each record; of a table without any, all that it holds."""
        names = [f.name for f in self.of.fields if f.kind == "text"]
        if not names:
            return self.contents
        columns = [self.of.table[name].to_pylist() for name in names]
        return [" ".join(filter(None, row)).strip() for row in zip(*columns, strict=True)]

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """Give the rows of each split, or all rows."""
        if not self.of.splits:
            return {"": [*range(len(self.ids))]}
        pools = self.of.table[SPLIT].to_pylist()
        return {split: [row for row, pool in enumerate(pools) if pool == split] for split in self.of.splits}

    def double_faults(self) -> Iterator[Fault]:
        """Look for the same content, and the same id, in two records of a split."""
        for split, rows in self.rows.items():
            place, ids = f"records/{split}" if split else "records", [self.ids[row] for row in rows]
            yield from doubles("E101", place, (self.contents[row] for row in rows), ids)
        yield from doubles("E102", "records", self.ids, self.ids)

    def field_faults(self, f: Field) -> Iterator[Fault]:
        """Look for gaps in a field, and for what its kind may have."""
        column, place = self.of.table[f.name], f"records/{f.name}"
        if empty := column.null_count:
            yield Fault.of("W102", place, empty=empty, of=len(column))
            for split, rows in self.rows.items():
                if split and not any(column.take(rows).is_valid().to_pylist()):
                    yield Fault.of("W102-split", place, split=split)
        if f.kind == "label":
            yield from self._label_faults(f.name, place)
        if f.kind == "list":
            yield from _single_terms(f.name, column.drop_null().to_pylist())
            terms = set(pc.list_flatten(column).to_pylist())
            if held := sorted(term for term in terms if (f.separator.strip() or f.separator) in term):
                yield Fault.of("W103", place, separator=f.separator, **some(held))

    def _label_faults(self, name: str, place: str) -> Iterator[Fault]:
        found = self.of.table[name].to_pylist()
        yield from imbalance("W101", place, [label for label in found if label is not None], self.of.label_names[name])
        yield from self._several_labels(place, found)
        counts = Counter(label for label in found if label is not None)
        alike: dict[str, list[str]] = {}
        for label in sorted(counts):
            alike.setdefault(_spelling(label), []).append(label)
        if several := [labels for labels in alike.values() if len(labels) > 1]:
            shown = [" = ".join(f"{label!r} ({counts[label]:,})" for label in labels) for labels in several]
            yield Fault.of("W106", place, **some(shown))
        if TRAIN in self.rows and TEST in self.rows:
            learnt, asked = ({found[row] for row in self.rows[split]} - {None} for split in (TRAIN, TEST))
            if unseen := sorted(asked - learnt):
                yield Fault.of("W108", place, **some(unseen))

    def _several_labels(self, place: str, found: Sequence[str | None]) -> Iterator[Fault]:
        """Look for texts that have one label here and another one there."""
        if not any(f.kind == "text" for f in self.of.fields):
            return
        rows: dict[str, dict[str, int]] = {}
        for row, (text, label) in enumerate(zip(self.texts, found, strict=True)):
            if text and label is not None:
                rows.setdefault(text, {}).setdefault(label, row)
        if several := [labels for labels in rows.values() if len(labels) > 1]:
            shown = [
                " and ".join(f"{self.ids[row]} ({label})" for label, row in labels.items())
                for labels in several[:SHOWN]
            ]
            yield Fault.of("W104-labels", place, **some(shown, len(several)))

    def split_faults(self, learnt: str, held_out: str) -> Iterator[Fault]:
        """Look for records of a held-out split whose texts, or half of them, are in one that is learnt from."""
        place = f"records/{learnt}+{held_out}"
        first = {self.texts[row]: row for row in reversed(self.rows[learnt]) if self.texts[row]}
        same = {row: first[self.texts[row]] for row in self.rows[held_out] if self.texts[row] in first}
        pools = {"learnt": learnt, "held_out": held_out, "of": len(self.rows[held_out])}
        if same:
            shown = [f"{self.ids[row]} = {self.ids[other]}" for row, other in same.items()]
            yield Fault.of("E201-records", place, **pools, **some(shown))
        if near := self._near(
            self.rows[learnt][:COMPARED], [r for r in self.rows[held_out][:COMPARED] if r not in same]
        ):
            shown = [f"{self.ids[row]} ~ {self.ids[other]} ({share:.0%})" for row, (other, share) in near.items()]
            yield Fault.of("W107", place, **pools, **some(shown))

    def _near(self, learnt: Sequence[int], held_out: Sequence[int]) -> dict[int, tuple[int, float]]:
        """Give the records with half of a text in common, or a short text but for case and signs: the nearest each."""
        ours, theirs = ([self.texts[row] for row in rows] for rows in (learnt, held_out))
        found: dict[int, tuple[int, float]] = {}
        for at, other, share in (*overlaps(ours, theirs), *((a, b, 1.0) for a, b in equals(ours, theirs))):
            if held_out[other] not in found or share > found[held_out[other]][1]:
                found[held_out[other]] = (learnt[at], share)
        return dict(sorted(found.items()))


def _spelling(label: str) -> str:
    """Give what labels have in common that differ in case, width or spaces alone.

    >>> _spelling("Not relevant") == _spelling("not  Relevant") == _spelling("NotRelevant")
    True
    """
    return "".join(unicodedata.normalize("NFKC", label).casefold().split())


def _single_terms(name: str, lists: Sequence[Sequence[str]]) -> Iterator[Fault]:
    """Look for lists that were not split, for want of the right separator."""
    single = [terms[0] for terms in lists if len(terms) == 1]
    hinted = [term for term in single if "," in term or "|" in term]
    if len(single) > 0.9 * len(lists) and len(hinted) > len(lists) / 2:
        yield Fault.of("W105", f"records/{name}", column=name, **some(hinted))
