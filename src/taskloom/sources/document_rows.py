"""Rows about documents, in the layouts that SciRepEval and S2AND are released in, to one form.

The keys of a row say what it holds, whatever file it is of:

- a document: `doc_id` (or `corpus_id`, `paper_id`, `id`, `sha`), `title`, `abstract`, and its label where it has one
- a label: `paper_id`, `label`
- a judgement: `query_id`, `cand_id`, `score`
- a query with its candidates: `query` (a text or a document), `candidates`, each with a `score` where it is judged
- a triplet: `query`, `pos`, `neg`
- a reviewer: `r_id`, `papers`
- a signature, which is a paper of an author: `signature_id`, `paper_id`, `author_info`
- a cluster of signatures: `cluster_id`, `signature_ids`
- candidates by field of study (MDCR): {field: {query: {"true": [...], "bm25": [...]}}}
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, date
from typing import Any, Literal, TypeAlias

from ..limits import parse_json
from ..messages import Note
from .files import Place, Row, RowFaults
from .trec import Graded

Gold: TypeAlias = "str | tuple[str, ...] | float"
Scale: TypeAlias = Literal["", "log", "date"]  # log(1 + n); the year of a date, with its day as a fraction
IDS = ("doc_id", "corpus_id", "paper_id", "id", "sha")  # the first that a row has
LABELS = ("label", "labels_text", "labels", "descriptor", "log_citations", "scaled_year")
SEP = " [SEP] "
QUERY_PARTS = ("title", "query", "question", "description", "narrative", "abstract")  # of a query that is no text
SIGNATURE = ("first", "middle", "last", "suffix")  # of an author's name
SIGNATURE_LISTS = ("affiliations", "coauthors")  # of an author's signature; e-mail addresses are left out
TRUE = "true"  # the candidates of MDCR that are cited
LEVELS = {"hard": 3.0, "soft": 2.0}  # what relevant means in judgements of reviewers that are binary


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns of rows are read."""

    fields: tuple[str, ...] = ("title", "abstract")  # that are a document's text
    id: str = ""  # none: a usual one
    label: str = ""
    link: str = ""  # of values by which documents are related: queries that found them, topics, or ids
    study: str = ""  # of fields of study, by which negatives are drawn
    many: bool = False  # whether a document has several labels
    number: bool = False
    scale: Scale = ""  # of numbers


@dataclass(slots=True)
class Content:
    """What was read: documents and queries by id, and what is said of them, by pool ("" where no split is named)."""

    documents: dict[str, dict[str, str]] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    labelled: dict[str, dict[str, Gold]] = field(default_factory=dict)
    judged: dict[str, Graded] = field(default_factory=dict)
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of reviewers, and of signatures
    blocks: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)  # pool -> block -> signature -> cluster
    clusters: dict[str, str] = field(default_factory=dict)  # of signatures
    parts: dict[str, dict[str, Graded]] = field(default_factory=dict)  # field of study -> judged, a query in several
    related: dict[str, tuple[str, ...]] = field(default_factory=dict)  # values of the link column
    pools: dict[str, str] = field(default_factory=dict)  # of documents that are related, where a split is named
    columns: set[str] = field(default_factory=set)  # that rows have
    studies: dict[str, tuple[str, ...]] = field(default_factory=dict)  # fields of study of documents
    unlabelled: set[str] = field(default_factory=set)  # documents whose column of labels is empty
    dropped: Counter[Note] = field(default_factory=Counter)
    space: str = ""  # of the ids of signatures, which are unique within one of S2AND's sources alone

    @property
    def is_empty(self) -> bool:
        """Tell whether no row was read."""
        return not (self.columns or self.documents or self.labelled or self.judged or self.blocks)

    def add_document(self, id_: str, fields: Mapping[str, str]) -> None:
        """Keep a document; of one that comes again with another text, the first counts."""
        if self.documents.setdefault(id_, dict(fields)) != fields:
            self.dropped[Note.of("document-again")] += 1

    def add_label(self, pool: str, id_: str, gold: Gold) -> None:
        """Keep the label of a document; of one that comes again with another label, the last counts."""
        own = self.labelled.setdefault(pool, {})
        if own.get(id_, gold) != gold:
            self.dropped[Note.of("label-again")] += 1
        own[id_] = gold

    def add_members(self, id_: str, members: tuple[str, ...]) -> None:
        """Keep the papers of a reviewer; of one that comes again with others, the last count."""
        if self.members.get(id_, members) != members:
            self.dropped[Note.of("members-again")] += 1
        self.members[id_] = members

    def add_cluster(self, signature: str, cluster: str) -> None:
        """Keep the cluster of a signature; of one that comes again in another, the last counts."""
        if self.clusters.get(signature, cluster) != cluster:
            self.dropped[Note.of("cluster-again")] += 1
        self.clusters[signature] = cluster

    def judge(self, pool: str, query: str, document: str, grade: float, part: str = "") -> None:
        """Keep a judgement, in a field of study where there is one; of several of one pair, the highest counts."""
        judged = self.parts.setdefault(part, {}) if part else self.judged
        own = judged.setdefault(pool, {}).setdefault(query, {})
        own[document] = max(grade, own.get(document, grade))

    def is_contradicted(self, pool: str, query: str, document: str, grade: float) -> bool:
        """Tell whether a pair was given another grade before."""
        return self.judged.get(pool, {}).get(query, {}).get(document, grade) != grade

    def judge_all(self, pool: str, graded: Graded) -> None:
        """Keep judgements."""
        for query, grades in graded.items():
            for document, grade in grades.items():
                self.judge(pool, query, document, grade)


def read_rows(
    rows: Iterable[tuple[Place, Row]],
    columns: Columns,
    faults: RowFaults,
    into: Content,
    *,
    pool: str = "",
    level: float = 1,
) -> None:
    """Read rows of a file; what they can't say is a fault. Judgements that say yes or no have a level."""
    for place, row in rows:
        into.columns |= row.keys()
        try:
            _read(row, columns, into, pool, level)
        except _UnfitError as error:
            faults.add(place, str(error))


def documents(
    rows: Iterable[tuple[Place, Row]], columns: Columns, faults: RowFaults
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield documents one by one: their ids and texts; one without an id or a text, or a second time, is a fault."""
    places: dict[str, Place] = {}
    for place, row in rows:
        try:
            id_, texts = _id_of(row, columns), texts_of(row, columns.fields)
            if not texts:
                found = ", ".join(map(str, row))[:200]
                raise _UnfitError(f"document {id_!r} has no text ({', '.join(columns.fields)}); found: {found}")
            if id_ in places:
                raise _UnfitError(f"document {id_!r} is a duplicate of {places[id_]}")
        except _UnfitError as error:
            faults.add(place, str(error))
            continue
        places[id_] = place
        yield id_, texts


class _UnfitError(ValueError):
    """A row that can't be read."""


def _read(row: Row, columns: Columns, into: Content, pool: str, level: float) -> None:
    if "query_id" in row and "cand_id" in row:
        judgement = pool, _id(row["query_id"]), _id(row["cand_id"]), level * _number(row.get("score"))
        if level == 1 and into.is_contradicted(*judgement):
            into.dropped[Note.of("judgement-again")] += 1
        into.judge(*judgement)
    elif "r_id" in row:
        into.add_members(_id(row["r_id"]), tuple(map(_id, _list(row, "papers"))))
    elif "candidates" in row:
        _read_query(row, columns, into, pool)
    elif "pos" in row and "neg" in row:
        asked, *others = (_read_document(row.get(name), columns, into) for name in ("query", "pos", "neg"))
        for document, grade in zip(others, (1.0, 0.0), strict=True):
            into.judge(pool, asked, document, grade)
    elif "signature_ids" in row:
        for one in _list(row, "signature_ids"):
            into.add_cluster(signature_id(one, into.space), _id(row.get("cluster_id")))
    elif "signature_id" in row:
        _read_signature(row, into, pool)
    elif nested := list(_nested(row)):
        for one in nested:
            into.columns |= one.keys()
            _read(one, columns, into, pool, level)
    elif found := list(_by_field(row)):
        for part, query, document, grade in found:
            into.judge(pool, query, document, grade, part)
    else:
        _read_labelled(row, columns, into, pool)


def _read_labelled(row: Row, columns: Columns, into: Content, pool: str) -> None:
    """Read a document, a label, or both in one."""
    id_ = _id_of(row, columns)
    if texts := texts_of(row, columns.fields):
        into.add_document(id_, texts)
    if columns.link:
        into.related[id_] = tuple(map(str, _several(row.get(columns.link))))
        into.pools[id_] = pool
    if columns.study:
        into.studies[id_] = tuple(map(str, _several(row.get(columns.study))))
    labels = [name for name in ((columns.label,) if columns.label else LABELS) if name in row]
    if label := next((name for name in labels if not _is_blank(row[name], columns)), ""):
        into.add_label(pool, id_, gold_of(row[label], columns))
    elif labels:
        into.unlabelled.add(id_)
    elif not texts and not any(name in row for name in columns.fields):
        raise _UnfitError(
            f"neither a document ({', '.join(columns.fields)}) nor a label; found: {', '.join(row)[:200]}"
        )


def _read_query(row: Row, columns: Columns, into: Content, pool: str) -> None:
    asked = row.get("query")
    if isinstance(asked, Mapping) and any(name in asked for name in ((columns.id,) if columns.id else IDS)):
        query = _id_of(asked, columns)
        into.columns |= asked.keys()
        if texts := texts_of(asked, columns.fields):
            into.add_document(query, texts)
        into.queries.setdefault(query, query_text(asked))
    else:
        text = query_text(asked) if isinstance(asked, Mapping) else asked
        if not isinstance(text, str) or not text.strip():
            raise _UnfitError("the query is empty")
        query = _id(row["doc_id"]) if row.get("doc_id") is not None else text
        into.queries.setdefault(query, text)
    for candidate in _list(row, "candidates"):
        if not isinstance(candidate, Mapping):
            raise _UnfitError(f"a candidate must be a document: {str(candidate)[:60]!r}")
        document = _read_document(candidate, columns, into)
        if candidate.get("score") is not None:
            into.judge(pool, query, document, _number(candidate["score"]))


def _read_document(row: Any, columns: Columns, into: Content) -> str:
    if not isinstance(row, Mapping):
        raise _UnfitError(f"must be a document: {str(row)[:60]!r}")
    id_ = _id_of(row, columns)
    into.columns |= row.keys()
    if texts := texts_of(row, columns.fields):
        into.add_document(id_, texts)
    return id_


def _read_signature(row: Row, into: Content, pool: str) -> None:
    """Read a paper of an author: what is known of the author is the document, the paper its member."""
    id_, about = signature_id(row["signature_id"], into.space), row.get("author_info") or row
    if not isinstance(about, Mapping):
        raise _UnfitError(f"author_info must be an object: {str(about)[:60]!r}")
    name = " ".join(str(about[part]) for part in SIGNATURE if about.get(part)) or str(about.get("author") or "")
    lists = {name: "; ".join(map(str, _several(about[name]))) for name in SIGNATURE_LISTS if about.get(name)}
    into.add_document(id_, {"author": name, **lists} if name else lists)
    into.members[id_] = (_id(row.get("paper_id")),)
    block = about.get("given_block") or about.get("block") or row.get("block")
    if not block:
        raise _UnfitError("a signature without a block")
    cluster = row.get("cluster_id") or row.get("cluster") or ""
    name = f"{into.space}/{block}" if into.space else str(block)
    into.blocks.setdefault(pool, {}).setdefault(name, {})[id_] = str(cluster)


def _nested(row: Row) -> Iterator[Row]:
    """Give the rows of an object that has them by id, as S2AND's files do."""
    for id_, one in row.items():
        if not isinstance(one, dict) or not ({"signature_id", "signature_ids", "paper_id", "title"} & one.keys()):
            return
        yield one if {"signature_ids", "signature_id", *IDS} & one.keys() else {**one, "id": id_}


def _by_field(row: Row) -> Iterator[tuple[str, str, str, float]]:
    """Give field of study, query, document and grade of MDCR's candidates."""
    for part, queries in row.items():
        for query, sets in queries.items() if isinstance(queries, dict) else ():
            for by, documents in sets.items() if isinstance(sets, dict) else ():
                listed = documents if isinstance(documents, list) else []
                yield from ((str(part), str(query), _id(one), float(by == TRUE)) for one in listed)


def signature_id(value: Any, space: str) -> str:
    """Give the id of a signature, which is never that of a paper.

    >>> signature_id(7, "aminer"), signature_id("7", "")
    ('signature-aminer-7', 'signature-7')
    """
    return "-".join(["signature", *([space] if space else []), _id(value)])


# --- values ----------------------------------------------------------------------------------------------------------


def texts_of(row: Mapping[str, Any], fields: Sequence[str]) -> dict[str, str]:
    """Give the text fields of a document that it has; whole numbers, such as years, without a fraction.

    >>> texts_of({"title": "On elms", "abstract": None, "year": 1964.0}, ["title", "abstract", "year"])
    {'title': 'On elms', 'year': '1964'}
    """
    found = {name: _text(row[name]) for name in fields if row.get(name) is not None}
    return {name: text for name, text in found.items() if text.strip()}


def query_text(query: Mapping[str, Any]) -> str:
    """Give the text of a query that has parts: TREC-CoVID's title, question and narrative.

    >>> query_text({"title": "masks", "question": "Do masks help?", "narrative": "Studies of masks."})
    'masks [SEP] Do masks help? [SEP] Studies of masks.'
    """
    return SEP.join(str(query[name]) for name in QUERY_PARTS if query.get(name))


def gold_of(value: Any, columns: Columns) -> Gold:
    """Give a label, labels or a number as the task has them."""
    if columns.number:
        return scaled(value, columns.scale)
    return tuple(map(_text, _several(value))) if columns.many else _text(value)


def scaled(value: Any, scale: Scale) -> float:
    """Give a number on its scale.

    >>> scaled(0, "log"), scaled("2024-07-02", "date"), scaled("7", "")
    (0.0, 2024.5, 7.0)
    """
    if scale == "date":
        return _year(value)
    number = _number(value)
    if scale == "log" and number < 0:
        raise _UnfitError(f"no logarithm of a negative number: {number}")
    return math.log1p(number) if scale == "log" else number


def _year(value: Any) -> float:
    try:
        day = date.fromisoformat(str(value)[:10])
    except ValueError:
        raise _UnfitError(f"not a date (YYYY-MM-DD): {str(value)[:40]!r}") from None
    days = (date(day.year + 1, 1, 1) - date(day.year, 1, 1)).days if day.year < MAXYEAR else 365
    return day.year + (day.timetuple().tm_yday - 1) / days


def _several(value: Any) -> list[Any]:
    """Give the values of a list, also one that is written as a text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = parse_json(value)
        except ValueError:
            raise _UnfitError(f"not a list in JSON: {value[:60]!r}") from None
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None else [part.strip() for part in str(value).split(";") if part.strip()]


def _is_blank(value: Any, columns: Columns) -> bool:
    """Tell an empty cell, which NaN stands for in tables; where a number is wanted, NaN is a fault."""
    is_nan = isinstance(value, float) and math.isnan(value) and not columns.number
    return value is None or is_nan or (isinstance(value, str) and not value.strip())


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _id_of(row: Mapping[str, Any], columns: Columns) -> str:
    for name in (columns.id,) if columns.id else IDS:
        if row.get(name) is not None:
            return _id(row[name])
    raise _UnfitError(f"no id ({columns.id or ', '.join(IDS)}); found: {', '.join(map(str, row))[:200]}")


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise _UnfitError(f"not an id: {str(value)[:60]!r}")
    return _text(value)


def _list(row: Mapping[str, Any], name: str) -> list[Any]:
    value = row.get(name)
    if not isinstance(value, list | tuple):
        raise _UnfitError(f"{name} must be a list: {str(value)[:60]!r}")
    return list(value)


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise _UnfitError(f"not a finite number: {str(value)[:40]!r}")
    return number
