"""Tasks over documents, as declarations: labels, numbers, nearness, search, reviewers and authors over one store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ..core import DROPPED, POOLS, Answer, Example, Item, Labels, Number, Output, Ranking, Stored, Suite, Task, Terms
from ..errors import SourceError
from ..ids import Json, fingerprint
from ..limits import whole_number
from ..messages import Note, counted_notes
from ..sources.document_rows import LEVELS, Content, Gold
from . import linked
from .documents import Documents, documents
from .labelled import group

Kind: TypeAlias = Literal["classification", "multi-label", "regression", "proximity", "search", "reviewers", "authors"]
Training: TypeAlias = Literal["in-train", "out-of-train", "apart"]  # apart: in no fold, and in no mean of the paper
Missing: TypeAlias = Literal["refuse", "drop"]  # of examples whose documents are missing
TRAIN, TEST = POOLS["support"], POOLS["query"]
STORE, TEXTS = "documents", ("title", "abstract")
FORMAT, VALUES, TRAINING, FEW_SHOT = "format", "values", "training", "few-shot"  # tags
ROLES: Mapping[Training, str] = {"in-train": "train", "out-of-train": "test"}
PRECISIONS = ("p@5:level=3", "p@10:level=3", "p@5:level=2", "p@10:level=2")  # hard and soft decisions
ID, QUERY, BLOCK = "document", "query", "block"  # the field of an example


@dataclass(frozen=True, slots=True)
class KindRow:
    """What tasks of a kind have in common."""

    format: str  # CLF, RGN, PRX or SRCH
    metrics: tuple[str, ...]
    instruction: str
    values: tuple[str, ...] = ()  # that count towards means, where not all do


KINDS: Mapping[Kind, KindRow] = {
    "classification": KindRow("CLF", ("macro-f1",), "Which class does this paper belong to?"),
    "multi-label": KindRow("CLF", ("macro-f1",), "Which classes does this paper belong to?"),
    "regression": KindRow("RGN", ("tau-b",), "Predict the number that belongs to this paper."),
    "proximity": KindRow("PRX", ("map", "ndcg"), "Rank the papers by how related they are to this one."),
    "search": KindRow("SRCH", ("ndcg",), "Rank the papers by how relevant they are to the query."),
    "reviewers": KindRow(
        "PRX", (*PRECISIONS, "mean"), "Rank the reviewers by how well they know the subject of this paper.", ("mean",)
    ),
    "authors": KindRow("PRX", ("b-cubed",), "Name the author of each paper: the same name for the same person."),
}
UNCOUNTED = ("none",)  # values of a task that counts towards no mean
RANKED: Collection[Kind] = ("proximity", "search", "reviewers")
LABELLED: Collection[Kind] = ("classification", "multi-label", "regression")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentTask:
    """What is asked about documents, and how it counts."""

    name: str
    kind: Kind
    metrics: tuple[str, ...] = ()  # none: those of the kind
    values: tuple[str, ...] = ()  # the metrics that count towards means; without: those of the kind, or all
    fields: tuple[str, ...] = TEXTS  # that are a document's text
    training: Training = "out-of-train"
    labels: tuple[str, ...] = ()  # in this order; none: those that are found
    few_shot: Mapping[str, int] = field(default_factory=dict)  # shots -> draws, beside all examples
    held_out: float | None = None  # the share that is tested where no split is named; none: 0.3 of labels, or all
    instruction: str = ""
    licence: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def store(self) -> str:
        """Name the store: documents with other texts are in one of their own.

        >>> DocumentTask(name="s", kind="search", fields=("title", "abstract", "venue", "year")).store
        'documents-venue-year'
        """
        if self.fields == TEXTS:
            return STORE
        more = [name for name in self.fields if name not in TEXTS] or self.fields
        return re.sub(r"[^A-Za-z0-9_-]", "_", "-".join([STORE, *more]))[:64]

    def task(self, labels: Sequence[str]) -> Task:
        """Make the task."""
        row = KINDS[self.kind]
        metrics = self.metrics or row.metrics
        each = " of each label" if self.kind == "multi-label" else ""  # the sampler's per_label
        shots = tuple(f"{k}{each} x {draws}" for k, draws in self.few_shot.items())
        tags = {FORMAT: (row.format,), VALUES: self.values or row.values or metrics, TRAINING: (self.training,)}
        return Task(
            id=self.name,
            instruction=self.instruction or row.instruction,
            output=self._output(labels),
            metrics=metrics,
            tags=tags | ({FEW_SHOT: shots} if shots else {}) | {name: (value,) for name, value in self.tags.items()},
        )

    def _output(self, labels: Sequence[str]) -> Output:
        if self.kind in ("classification", "multi-label"):
            return Labels(tuple(labels), many=self.kind == "multi-label")
        if self.kind == "regression":
            return Number()
        return Terms(store=self.store) if self.kind == "authors" else Ranking(store=self.store)


@dataclass(frozen=True, slots=True)
class DocumentExamples:
    """The examples of a task, with the documents that they name."""

    of: DocumentTask
    documents: Mapping[str, Stored]
    pools: Mapping[str, Sequence[Example]]
    dropped: Mapping[Note, int]
    notes: tuple[Note, ...] = ()
    faults: tuple[Note, ...] = ()

    def labels(self) -> list[str]:
        """Give the labels: those that are declared, or those that were found."""
        return list(self.of.labels) or sorted({label for pool in self.pools.values() for label in _labels(pool)})


def _labels(examples: Sequence[Example]) -> Iterator[str]:
    for example in examples:
        for answer in example.gold:
            if isinstance(answer, str):
                yield answer
            elif isinstance(answer, tuple):
                yield from (label for label in answer if isinstance(label, str))


# --- examples --------------------------------------------------------------------------------------------------------


def examples_of(of: DocumentTask, content: Content, missing: Missing = "refuse") -> DocumentExamples:
    """Make the examples of a task; documents that are missing are faults, or what names them is dropped and counted."""
    known = _stored(content)
    found = {pool: list(_examples(of, content, pool)) for pool in _pools(of, content)}
    lost = list(dict.fromkeys(id_ for pool in found.values() for example in pool for id_ in _lost(of, example, known)))
    dropped = Counter(content.dropped) + _unused(of, content)
    if lost and missing == "drop":
        before = sum(map(len, found.values()))
        found = {pool: [kept for one in own if (kept := _without(of, one, known))] for pool, own in found.items()}
        dropped[Note.of("document-missing")] += len(lost)
        dropped[Note.of("row-document-missing")] += before - sum(map(len, found.values()))
    faults = (
        [Note.of("documents-missing", name=of.name, count=len(lost), ids=lost)] if lost and missing == "refuse" else []
    )
    if not faults:
        found = {pool: [_grouped(of, one, known) for one in own] for pool, own in found.items()}
    pools = {pool: own for pool, own in _split(of, found).items() if own}
    made = DocumentExamples(of, _named(of, pools, known), pools, dropped)
    faults += [Note.of("documents-no-rows", name=of.name)] if content.is_empty else list(_faults(made))
    return replace(made, notes=() if faults else tuple(_notes(made)), faults=tuple(faults))


def _stored(content: Content) -> dict[str, Stored]:
    """Give all documents; a reviewer or a signature has members."""
    texts = {id_: Stored(id_, fields) for id_, fields in content.documents.items()}
    return texts | {id_: Stored(id_, content.documents.get(id_, {}), own) for id_, own in content.members.items()}


def _pools(of: DocumentTask, content: Content) -> list[str]:
    """Name the pools that there are examples for; where some are named, those without a split are not used."""
    by_pool = _by_pool(of, content)
    return [pool for pool in by_pool if pool] or list(by_pool)


def _by_pool(of: DocumentTask, content: Content) -> Mapping[str, Mapping[str, Any]]:
    """Give what is asked about, by pool and id."""
    return content.labelled if of.kind in LABELLED else content.judged if of.kind in RANKED else content.blocks


def _unused(of: DocumentTask, content: Content) -> Counter[Note]:
    """Count what is asked about in no pool: rows without a split where others have one, and rows without a label."""
    used = {id_ for pool in _pools(of, content) for id_ in _by_pool(of, content)[pool]}
    unlabelled = content.unlabelled - used if of.kind in LABELLED else ()
    counts = {"row-split-unknown": {*_by_pool(of, content).get("", ())} - used, "row-unlabelled": unlabelled}
    return Counter({Note.of(code): len(ids) for code, ids in counts.items() if ids})


def _examples(of: DocumentTask, content: Content, pool: str) -> Iterator[Example]:
    if of.kind in LABELLED:
        for id_, gold in content.labelled[pool].items():
            yield Example(Item(id_, {ID: id_}), (_gold(of, gold),), id_)
    elif of.kind == "authors":
        for block, clusters in content.blocks[pool].items():
            ids = sorted(clusters)
            gold = tuple(clusters[id_] or content.clusters.get(id_, "") for id_ in ids)
            yield Example(Item(block, {BLOCK: block}, tuple(ids)), (gold,), block)
    else:
        for query, grades in content.judged[pool].items():
            ids = sorted(grades)
            asked = {QUERY: content.queries.get(query, "")} if of.kind == "search" else {ID: query}
            yield Example(Item(query, asked, tuple(ids)), (tuple((id_, grades[id_]) for id_ in ids),), query)


def _gold(of: DocumentTask, gold: Gold) -> Answer:
    """Give a gold answer; labels that are marked by 1 in a list of 0 and 1, or given by their places, get names."""
    if not isinstance(gold, tuple) or not of.labels or {*gold} <= {*of.labels}:
        return gold
    if len(gold) == len(of.labels) and {*gold} <= {"0", "1"}:
        return tuple(name for name, mark in zip(of.labels, gold, strict=True) if mark == "1")
    places = [whole_number(place) for place in gold]
    named = [of.labels[place] for place in places if place is not None and place < len(of.labels)]
    return tuple(named) if len(named) == len(gold) else gold


def _lost(of: DocumentTask, example: Example, known: Mapping[str, Stored]) -> Iterator[str]:
    """Yield the ids of an example that no document has; a search without a text is named by its query."""
    asked = next(iter(example.item.fields.values()))
    if of.kind == "search" and not asked:
        yield example.item.id
    if of.kind not in ("search", "authors") and asked not in known:
        yield asked
    for id_ in example.item.candidates:
        if id_ not in known:
            yield id_
        else:
            yield from (member for member in known[id_].members if member not in known)


def _without(of: DocumentTask, example: Example, known: Mapping[str, Stored]) -> Example | None:
    """Give an example without what is missing; nothing where its query, or all its candidates are."""
    asked = next(iter(example.item.fields.values()))
    is_asked = bool(asked) if of.kind == "search" else of.kind == "authors" or asked in known
    kept = [id_ for id_ in example.item.candidates if id_ in known and known.keys() >= {*known[id_].members}]
    if is_asked and len(kept) == len(example.item.candidates):
        return example
    if not is_asked or not kept:
        return None
    (gold,) = example.gold
    graded: Any = gold  # pairs of a ranking, or clusters
    by_id = dict(zip(example.item.candidates, graded, strict=True))
    left: Any = tuple(by_id[id_] for id_ in kept)
    return replace(example, item=replace(example.item, candidates=tuple(kept)), gold=(left,))


def _grouped(of: DocumentTask, example: Example, known: Mapping[str, Stored]) -> Example:
    """Give an example the group of its text, so that copies of a document are never on both sides."""
    asked = next(iter(example.item.fields.values()))
    fields = known[asked].fields if of.kind not in ("search", "authors") else {"": asked}
    return replace(example, group=group(fields))


def _split(of: DocumentTask, found: Mapping[str, list[Example]]) -> dict[str, list[Example]]:
    """Split examples that are in no pool, each by its group alone."""
    if "" not in found:
        return dict(found)
    share = of.held_out if of.held_out is not None else 0.3 if of.kind in LABELLED else 1.0
    sides: dict[str, list[Example]] = {TRAIN: [], TEST: []}
    for example in found[""]:
        sides[TEST if is_held_out(example.group, share) else TRAIN].append(example)
    return sides


def is_held_out(group: str, share: float) -> bool:
    """Tell whether what is in a group is tested, for a share of all groups.

    >>> [is_held_out("a", 1.0), is_held_out("a", 0.0)]
    [True, False]
    """
    return int(fingerprint("held-out", group)[:8], 16) < share * 16**8


def _named(of: DocumentTask, pools: Mapping[str, Sequence[Example]], known: Mapping[str, Stored]) -> dict[str, Stored]:
    """Give the documents that examples name, and their members."""
    ids: dict[str, None] = {}
    for example in (one for own in pools.values() for one in own):
        asked = [] if of.kind in ("search", "authors") else list(example.item.fields.values())
        for id_ in (*asked, *example.item.candidates):
            ids |= dict.fromkeys((id_, *(known[id_].members if id_ in known else ())))
    return {id_: known[id_] for id_ in ids if id_ in known}


def _faults(made: DocumentExamples) -> Iterator[Note]:
    """Name labels that are not declared, and a task that has nothing to learn or to ask about."""
    of = made.of
    if not made.pools:
        yield Note.of("documents-unasked", name=of.name, kind=of.kind)
    if of.kind in ("classification", "multi-label") and made.pools:
        found = {label for own in made.pools.values() for label in _labels(own)}
        if of.labels and (unknown := sorted(found - {*of.labels})):
            yield Note.of("document-labels-unknown", name=of.name, labels=unknown)
        elif len(found) < 2:
            yield Note.of("labels-single", name=of.name, phases=list(made.pools))
    clusters: list[tuple[str, Any]] = [(one.item.id, one.gold[0]) for own in made.pools.values() for one in own]
    if of.kind == "authors" and (bare := [block for block, names in clusters if "" in names]):
        yield Note.of("signatures-unclustered", name=of.name, blocks=bare)


def _notes(made: DocumentExamples) -> Iterator[Note]:
    """Name what is odd: labels that only test has, queries without a relevant candidate, documents without a text."""
    name = made.of.name
    if made.of.kind in ("classification", "multi-label") and TRAIN in made.pools:
        taught = {*_labels(made.pools[TRAIN])}
        if only := sorted({*_labels(made.pools.get(TEST, ()))} - taught):
            yield Note.of("labels-in-test-only", name=name, labels=only)
    if made.of.kind in RANKED:
        golds: list[tuple[str, Any]] = [(one.item.id, one.gold[0]) for own in made.pools.values() for one in own]
        if bare := [query for query, pairs in golds if not any(grade > 0 for _, grade in pairs)]:
            yield Note.of("queries-without-relevant", name=name, count=len(bare), ids=bare)
        for level in sorted(LEVELS.values()) if made.of.kind == "reviewers" else ():
            if low := [query for query, pairs in golds if 0 < max(grade for _, grade in pairs) < level]:
                yield Note.of("queries-below-level", name=name, level=level, count=len(low), ids=low)
    if empty := [one.id for one in made.documents.values() if not one.fields and not one.members]:
        yield Note.of("documents-without-text", name=name, count=len(empty), ids=empty)


# --- suites ----------------------------------------------------------------------------------------------------------


def by_part(of: DocumentTask, content: Content) -> list[tuple[DocumentTask, Content]]:
    """Make a task of each field of study, where judgements have one."""
    parts = sorted(content.parts.items())
    return [(_part(of, name), replace(content, judged=judged, parts={})) for name, judged in parts] or [(of, content)]


def _part(of: DocumentTask, name: str) -> DocumentTask:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return replace(of, name=f"{of.name}-{slug}", tags={**of.tags, "field": name})


def refuse_faults(tasks: Sequence[DocumentExamples]) -> None:
    """Refuse tasks that can't be made, naming all faults at once."""
    if faults := [str(fault) for one in tasks for fault in one.faults]:
        raise SourceError(Note.of("document-tasks-unfit", count=len(faults)), faults)


def suite(tasks: Sequence[DocumentExamples], *, id: str, fold: str, about: Mapping[str, Json]) -> Suite:
    """Make the suite of tasks, with one store for each set of text fields; what can't be made is refused."""
    refuse_faults(tasks)
    kept, notes = apart(tasks)
    stores = {name: _store(name, kept) for name in dict.fromkeys(one.of.store for one in kept)}
    made = {one.of.name: one.of.task(one.labels()) for one in kept}
    pools = {
        one.of.name: {
            pool: linked.pool(
                made[one.of.name], own, stores[one.of.store], by_id=one.of.kind not in ("search", "authors")
            )
            for pool, own in one.pools.items()
        }
        for one in kept
    }
    roles = {role: tuple(one.of.name for one in kept if one.of.training == side) for side, role in ROLES.items()}
    dropped: Any = [
        line for one in kept for line in counted_notes({n.of_field(one.of.name): c for n, c in one.dropped.items()})
    ]
    told = [
        *([about["note"]] if about.get("note") else []),
        *map(str, notes),
        *(str(n) for one in kept for n in one.notes),
    ]
    licences: Any = [f"{one.of.name}: {one.of.licence or 'not stated'}" for one in kept]
    return Suite(
        id=id,
        tasks=made,
        pools=pools,
        folds={fold: {role: names for role, names in roles.items() if names}},
        about={**about, "note": "; ".join(map(str, told)), "licences": licences, DROPPED: dropped},
        stores=stores,
    )


def apart(tasks: Sequence[DocumentExamples]) -> tuple[list[DocumentExamples], list[Note]]:
    """Give a document another id where a task before it has one of the same id with another text."""
    seen: dict[tuple[str, str], Stored] = {}
    kept, notes = [], []
    for one in tasks:
        new = {
            id_: f"{one.of.name}:{id_}" for id_, of in one.documents.items()
            if seen.setdefault((one.of.store, id_), of) != of
        }  # fmt: skip
        new |= {
            id_: f"{one.of.name}:{id_}" for id_, of in one.documents.items() if not new.keys().isdisjoint(of.members)
        }
        if new:
            notes.append(Note.of("documents-renamed", name=one.of.name, count=len(new), ids=list(new)))
        kept.append(_renamed(one, new) if new else one)
    return kept, notes


def _renamed(one: DocumentExamples, new: Mapping[str, str]) -> DocumentExamples:
    known = {
        new.get(id_, id_): replace(of, id=new.get(id_, id_), members=tuple(new.get(m, m) for m in of.members))
        for id_, of in one.documents.items()
    }
    return replace(
        one, documents=known, pools={pool: [_rename(e, new) for e in own] for pool, own in one.pools.items()}
    )


def _rename(example: Example, new: Mapping[str, str]) -> Example:
    fields = {name: new.get(text, text) if name == ID else text for name, text in example.item.fields.items()}
    item = replace(example.item, fields=fields, candidates=tuple(new.get(id_, id_) for id_ in example.item.candidates))
    gold: Any = tuple(
        tuple((new.get(part[0], part[0]), part[1]) if isinstance(part, tuple) else part for part in answer)
        if isinstance(answer, tuple) else answer
        for answer in example.gold
    )  # fmt: skip
    return replace(example, item=item, gold=gold)


def _store(name: str, tasks: Sequence[DocumentExamples]) -> Documents:
    return documents(
        name, {id_: of for one in tasks if one.of.store == name for id_, of in one.documents.items()}.values()
    )
