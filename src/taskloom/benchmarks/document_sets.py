"""Declarations of document tasks, as TOML, YAML or lines of SciRepEval's configuration, and where their rows are."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

from .. import sources
from ..document_lessons import LOGARITHM, SCALE, YEAR
from ..errors import SourceError, UnknownNameError, UsageError
from ..ids import shuffled
from ..limits import parse_json
from ..messages import Note
from ..schema import Node, key, read
from ..scores import metric
from ..sources import files
from ..sources import hub as hub_source
from ..sources.document_rows import LEVELS, Columns, Content, Scale, read_rows
from ..sources.files import OnError, Place, Row, RowFaults
from ..sources.labelled import paths_in
from ..sources.splits import pool_in_name, pool_of
from ..sources.trec import Graded, read_qrels
from ..suites.citation_triplets import citation_candidates
from ..suites.document_links import Link, drawn, judgements
from ..suites.document_tasks import KINDS, RANKED, TEXTS, UNCOUNTED, DocumentTask
from .data_sets import declaration_in

Rows: TypeAlias = "Iterable[tuple[Place, Row]]"
QRELS = (".qrels", ".qrel", ".trec")
TABLES = ("json", "jsonl", "csv", "tsv", "parquet")  # formats of files that are read
HUB = "hub:"
SCALES: Mapping[str, str] = {"log": LOGARITHM, "date": YEAR}  # of numbers, as training knows them
CONFIGURATIONS = (".json", ".jsonl")  # endings of SciRepEval's own
TYPES: Mapping[str, str] = {  # of a line of SciRepEval's configuration
    "classification": "classification", "regression": "regression", "proximity": "proximity",
    "adhoc_search": "search", "ir": "proximity", "triplet": "proximity",
}  # fmt: skip
METRICS: Mapping[str, str] = {
    "f1": "f1:positive=1", "f1_macro": "macro-f1", "f1_micro": "micro-f1", "accuracy": "accuracy",
    "kendalltau": "tau-b", "pearsonr": "pearson", "mse": "mse", "map": "map", "ndcg": "ndcg", "recip_rank": "mrr",
    "bpref": "bpref", "Rprec": "r-prec",
}  # fmt: skip
SPLITS: Mapping[str, Mapping[str, tuple[str, ...]]] = {  # of the hub, by part of a task and its kind
    "meta": {"": ("evaluation",)},
    "test": {
        "": ("test",), "reviewers": ("test_hard", "test_soft"),
        **dict.fromkeys(("classification", "multi-label", "regression"), ("train", "test")),
    },
    "reviewers": {"": ("metadata",)},
}  # fmt: skip
S2AND = re.compile(r"(\w+)_(?:signatures|clusters)\.json")  # whose source the name says
CUT = re.compile(r"(P|recall|ndcg_cut)_(\d+)")  # of trec_eval's metrics
CUTS = {"P": "p", "recall": "r", "ndcg_cut": "ndcg"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTask(DocumentTask):
    """A task over documents, and where its rows are found."""

    title: str = ""  # how its paper calls it
    source: tuple[str, ...] = key((), name="from")  # files, folders, data:NAME or hub:NAME; none: found by name
    files: tuple[str, ...] = ()  # patterns of its files in a folder; none: by its names
    hub: tuple[str, ...] = ()  # its parts on the hub, as org/name:config@split
    page: str = ""  # where its licence is stated
    sizes: Mapping[str, int] = field(default_factory=dict)  # as published
    id: str = ""  # the column of ids; none: a usual one
    label: str = ""  # the column of labels or numbers; none: a usual one
    scale: Scale = ""  # of numbers
    split: str = ""  # the column that says train, dev or test
    where: Mapping[str, str] = field(default_factory=dict)  # column -> value of rows that are kept
    found_by: str = ""  # search: the column of queries that a document is relevant to
    same: str = ""  # proximity: the column of what related documents share
    cites: str = ""  # proximity: the column of ids that a document cites
    study: str = ""  # of citations: the column of fields of study; then negatives are easy and hard, to train on
    least: int = 0  # documents of a label; one that has fewer is dropped
    most: int = 0  # documents, drawn at random; 0: all
    queries: int = 0  # drawn at random; 0: all
    positives: int = 0  # relevant candidates of a query, drawn at random; 0: all
    negatives: int = 0  # candidates of a query that are drawn at random from other documents

    def __post_init__(self) -> None:
        if len(self.links) > 1 or (self.links and self.kind != ("search" if self.found_by else "proximity")):
            raise SourceError(Note.of("document-link-unfit", name=self.name, links=list(self.links), kind=self.kind))
        if self.study and not self.cites:
            raise SourceError(Note.of("study-without-citations", name=self.name))
        self._refuse_unknown_metrics()
        metrics = self.metrics or KINDS[self.kind].metrics
        if self.values != UNCOUNTED and (unknown := [name for name in self.values if name not in metrics]):
            raise SourceError(Note.of("document-values-unknown", name=self.name, metrics=metrics, values=unknown))
        if self.found_by and self.split:
            raise SourceError(Note.of("document-split-unfit", name=self.name))
        if self.held_out is not None and not 0 <= self.held_out <= 1:
            raise SourceError(Note.of("share-expected", name="held_out", given=self.held_out))

    def _refuse_unknown_metrics(self) -> None:
        """Refuse metrics that don't fit the task; labels that are in the data alone are taken to be there."""
        for name in self.metrics:
            supposed = dict.fromkeys(["0", "1", *re.findall("positive=([^,]*)", name)])
            metric(name, self._output(self.labels or tuple(supposed)))

    @property
    def links(self) -> dict[Link, str]:
        """Give the columns that judgements are made of."""
        named: dict[Link, str] = {"found_by": self.found_by, "same": self.same, "cites": self.cites}
        return {link: column for link, column in named.items() if column}

    def columns(self) -> Columns:
        """Say which columns of rows are read."""
        return Columns(
            fields=self.fields, id=self.id, label=self.label, link=next(iter(self.links.values()), ""),
            study=self.study,
            many=self.kind == "multi-label", number=self.kind == "regression", scale=self.scale,
        )  # fmt: skip

    def named_columns(self) -> list[str]:
        """Name the columns that rows must have: all that are named but those of texts that documents often lack."""
        texts = [name for name in self.fields if name not in TEXTS]
        named = (self.split, *self.where, self.id, self.label, self.study, *self.links.values(), *texts)
        return list(dict.fromkeys(name for name in named if name))

    def patterns(self) -> tuple[str, ...]:
        """Give the patterns of its files in a folder: those that are called after it, or in folders that are."""
        configs = [spec.partition(":")[2].partition("@")[0] for spec in self.hub]
        names = dict.fromkeys([self.name, self.name.replace("-", "_"), *configs])
        return self.files or tuple(p for name in names for p in (f"{name}/*", f"{name}.*", f"{name}_small.*"))


# --- declarations ----------------------------------------------------------------------------------------------------


def declarations(path: Path) -> dict[str, DeclaredTask]:
    """Read the declarations that come with a benchmark."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    named = (one for name, values in content.items() for one in _named({"name": name, **values}, path.name))
    return {one.name: one for one in named}


def own_declarations(path: Path, known: Mapping[str, DeclaredTask]) -> list[DeclaredTask]:
    """Read declarations of the user's own: YAML or TOML, or lines of SciRepEval's configuration; paths start there."""
    if path.suffix in CONFIGURATIONS:
        faults = RowFaults()
        lines = [_of_line(place, row, known) for place, row in files.read(path, faults)]
        faults.settle()
        made = [_declared(values, str(path), base) for values, base in lines]
    else:
        made = list(_named({"name": path.stem, **declaration_in(path)}, str(path), known))
    return [replace(one, source=tuple(_below(path.parent, spec) for spec in one.source)) for one in made]


def _below(folder: Path, spec: str) -> str:
    return spec if ":" in spec else str(folder / spec)


def _named(
    values: Mapping[str, Any], place: str, known: Mapping[str, DeclaredTask] | None = None
) -> Iterator[DeclaredTask]:
    """Read one task, or the tasks of a table, which have what it says unless they say otherwise."""
    tasks = values.get("tasks")
    if tasks is None:
        yield _like(values, place, known or {})
        return
    if not isinstance(tasks, Mapping) or not all(isinstance(own, Mapping) for own in tasks.values()):
        raise SourceError(Note.of("document-tasks-expected", place=place))
    shared = {name: value for name, value in values.items() if name not in ("tasks", "name")}
    for name, own in tasks.items():
        yield _like({**shared, "name": str(name), **own}, place, known or {})


def _like(values: Mapping[str, Any], place: str, known: Mapping[str, DeclaredTask]) -> DeclaredTask:
    """Read a declaration; `like` names one of the catalogue that it is like but for what it says."""
    own = dict(values)
    like = str(own.pop("like", ""))
    if like and like not in known:
        raise UnknownNameError("document task", like, known)
    return _declared(own, place, known.get(like))


def _declared(values: Mapping[str, Any], place: str, base: DeclaredTask | None = None) -> DeclaredTask:
    faults: list[str] = []
    of = f" of task {values.get('name', '')!r}"
    node = Node({**values, **_texts(values)}, lambda _, what: faults.append(f"{place}: {what}"), of=of)
    made = read(DeclaredTask, node, base)
    if made is None or faults:
        raise SourceError(Note.of("declaration-unfit", place=place), faults)
    if made.scale and SCALE not in made.tags:
        return replace(made, tags={**made.tags, SCALE: SCALES[made.scale]})
    return made


def _texts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give as texts what YAML reads as numbers: shots that are keys, values of columns, labels."""
    found: dict[str, Any] = {}
    if isinstance(few := values.get("few_shot"), Mapping):
        found["few_shot"] = {str(shots): draws for shots, draws in few.items()}
    if isinstance(where := values.get("where"), Mapping):
        found["where"] = {str(column): str(value) for column, value in where.items()}
    if isinstance(labels := values.get("labels"), list):
        found["labels"] = [str(label) for label in labels]
    return found


def slug(title: str) -> str:
    """Give the name of a task by its title.

    >>> slug("Paper-Reviewer Matching"), slug("cite_pred")
    ('paper-reviewer-matching', 'cite-pred')
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _of_line(
    place: Place, row: Mapping[str, Any], known: Mapping[str, DeclaredTask]
) -> tuple[dict[str, Any], DeclaredTask | None]:
    """Read a line of the released configuration, or name the one that is none."""
    try:
        return _from_config(row, known)
    except (LookupError, TypeError, AttributeError) as error:
        raise SourceError(Note.of("configuration-unfit", place=place, reason=repr(error))) from None


def _from_config(
    row: Mapping[str, Any], known: Mapping[str, DeclaredTask]
) -> tuple[dict[str, Any], DeclaredTask | None]:
    """Give what a line of the released configuration says, and the task of the catalogue that has its title."""
    title, type_ = str(row.get("name", "")), str(row.get("type", ""))
    if type_ not in TYPES:
        raise UnknownNameError(f"type of task {title!r}", type_, TYPES)
    base = next((of for of in known.values() if title in (of.title, of.name)), None)
    data = row.get("data") or {"meta": _evaluation(row.get("dataset"))}
    many, is_search = bool(row.get("multi_label")), isinstance(row.get("ctrl_token"), Mapping)
    kind = "multi-label" if many else "reviewers" if data.get("reviewers") else "search" if is_search else TYPES[type_]
    specs = [spec for part in SPLITS if data.get(part) for spec in _specs(data[part], part, kind)]
    values = {
        "name": base.name if base else slug(title), "title": title, "kind": kind, "from": specs,
        "fields": row.get("fields") or row.get("input_fields"), "label": row.get("labels_field"),
        "metrics": [_metric(name) for name in row.get("metrics", ())] if kind != "reviewers" else None,
        "few_shot": {str(one["sample_size"]): one["iterations"] for one in row.get("few_shot", ())},
    }  # fmt: skip
    return {name: value for name, value in values.items() if value}, base


def _evaluation(dataset: Any) -> Any:
    return {"name": dataset["path"], "config": dataset["name"]} if isinstance(dataset, Mapping) else dataset


def _specs(part: Any, name: str, kind: str) -> list[str]:
    """Name the files or the hub's data sets of a part of a task."""
    if isinstance(part, Mapping):
        splits = SPLITS[name].get(kind, SPLITS[name][""])
        return [f"{HUB}{part['name']}:{part['config']}@{split}" for split in splits]
    return [str(one) for one in part] if isinstance(part, list) else [str(part)]


def _metric(name: str) -> str:
    """Give our name of a metric of scikit-learn, scipy or trec_eval."""
    if cut := CUT.fullmatch(name):
        return f"{CUTS[cut[1]]}@{cut[2]}"
    if name not in METRICS:
        raise UnknownNameError("metric of SciRepEval", name, [*METRICS, "P_5", "recall_5", "ndcg_cut_10"])
    return METRICS[name]


# --- rows ------------------------------------------------------------------------------------------------------------


def found_in(folders: Sequence[Path], of: DeclaredTask) -> list[Path]:
    """Give the files of a task in folders, by their names."""
    patterns = [f"*/{pattern.lower()}" for pattern in of.patterns()]
    return [
        path for folder in folders for path, name in paths_in(folder).items()
        if _is_read(path) and any(fnmatchcase(f"/{name.lower()}", pattern) for pattern in patterns)
    ]  # fmt: skip


def _is_read(path: Path) -> bool:
    try:
        return path.suffix in QRELS or files.format_of(path) in TABLES
    except UsageError:
        return False


@dataclass(slots=True)
class TaskReader:
    """Reads the rows of tasks; those of a package are kept for the next task, which is often of the same."""

    on_error: OnError = "stop"
    kept: dict[str, list[tuple[Place, Row]]] = field(default_factory=dict)

    def content_of(self, of: DeclaredTask, specs: Sequence[str]) -> Content:
        """Read what files, folders, `data:NAME` and `hub:NAME` hold of a task."""
        content, faults = Content(), RowFaults(self.on_error)
        for spec in specs:
            folder = Path(spec) if ":" not in spec and Path(spec).is_dir() else None
            for one in [str(path) for path in paths_in(folder) if _is_read(path)] if folder else [spec]:
                self._read(of, one, content, faults)
        faults.settle()
        if content.columns and (lacking := [name for name in of.named_columns() if name not in content.columns]):
            found = sorted(content.columns)
            raise SourceError(Note.of("document-columns-missing", name=of.name, columns=lacking, found=found))
        content.dropped[Note.of("row-faulty")] += faults.count
        return _rare_dropped(of, _judged(of, content))

    def _read(self, of: DeclaredTask, spec: str, content: Content, faults: RowFaults) -> None:
        name = spec.rpartition("@")[2] if spec.startswith(HUB) else "" if ":" in spec else Path(spec).name
        pool = pool_in_name(name)
        if Path(name).suffix in QRELS:
            content.judge_all(pool, read_qrels(Path(spec)))
            return
        words = re.split("[^a-z]+", name.lower())
        level = next((LEVELS[word] for word in words if word in LEVELS), 1.0)
        source = S2AND.match(name)
        content.space = source[1] if source else ""
        rows = _drawn_rows(of, spec, self._rows(spec, faults), content.columns)
        by_pool = _by_split(of, rows) if of.split else [(pool, rows)]
        for pool, own in by_pool:
            read_rows(own, of.columns(), faults, content, pool=pool, level=level)

    def _rows(self, spec: str, faults: RowFaults) -> Rows:
        if spec.startswith(HUB):
            return hub_source.rows(spec.removeprefix(HUB))
        if ":" in spec:
            if spec not in self.kept:
                self.kept = {spec: list(sources.rows(spec, faults))}
            return self.kept[spec]
        whole = _object(Path(spec))
        return [(Path(spec).name, whole)] if whole else files.read(Path(spec), faults)


def hub_specs(of: DeclaredTask) -> list[str]:
    """Name the parts of a task on the hub."""
    if not of.hub:
        raise SourceError(Note.of("hub-unknown", name=of.name))
    return [f"{HUB}{spec}" for spec in of.hub]


def _by_split(of: DeclaredTask, rows: Rows) -> list[tuple[str, list[tuple[Place, Row]]]]:
    """Sort rows by the pool that a column says."""
    found: dict[str, list[tuple[Place, Row]]] = {}
    for place, row in rows:
        found.setdefault(pool_of(str(row.get(of.split, ""))), []).append((place, row))
    return list(found.items())


def _object(path: Path) -> Row | None:
    """Read a file that is one JSON object, as those of S2AND and MDCR are."""
    if path.suffix != ".json" or not path.is_file() or path.stat().st_size > files.MAX_LIST:
        return None
    try:
        found = parse_json(path.read_text(encoding="utf-8-sig"))
    except ValueError:
        return None  # one object a line, or none: said where lines are read
    return found if isinstance(found, dict) else None


def _drawn_rows(of: DeclaredTask, spec: str, rows: Rows, columns: set[str]) -> Rows:
    """Keep the rows that a task wants: those with some values, and so many at random, the same for all its siblings."""
    if not of.where and not of.most:
        return rows
    rows = list(rows)
    columns |= {name for _, row in rows for name in row}
    kept = [(place, row) for place, row in rows if all(str(row.get(name)) == value for name, value in of.where.items())]
    if not of.most or of.most >= len(kept):
        return kept
    order = shuffled(len(kept), "documents", Path(spec).name, dict(of.where))
    return [kept[at] for at in sorted(next(order) for _ in range(of.most))]


def _judged(of: DeclaredTask, content: Content) -> Content:
    """Add judgements that columns hold, and candidates that are drawn at random."""
    if of.kind not in RANKED:
        return content
    if of.study:
        content.judged = _by_pool(content, citation_candidates(content.related, content.studies, key=of.name))
    for link in () if of.study else of.links:
        made = judgements(link, content.related)
        if link == "found_by":  # queries are texts, not documents with pools
            content.queries |= {query: query for query in made}
            content.judged = {"": made}
        else:
            content.judged = _by_pool(content, made)
    if of.queries or of.positives or of.negatives:
        ids = sorted(content.members if of.kind == "reviewers" else content.documents)
        sizes = {"queries": of.queries, "positives": of.positives, "negatives": of.negatives}
        for judged in (content.judged, *content.parts.values()):
            judged |= {pool: drawn(own, ids, **sizes, key=of.name) for pool, own in judged.items()}
    return content


def _by_pool(content: Content, judged: Graded) -> dict[str, Graded]:
    """Sort the queries of judgements by the pool that their rows name."""
    found: dict[str, Graded] = {}
    for query, grades in judged.items():
        found.setdefault(content.pools.get(query, ""), {})[query] = grades
    return found


def _rare_dropped(of: DeclaredTask, content: Content) -> Content:
    """Drop labels that few documents have, and documents that have no others."""
    if not of.least:
        return content
    golds = [gold for own in content.labelled.values() for gold in own.values()]
    counts = Counter(label for gold in golds for label in (gold if isinstance(gold, tuple) else [gold]))
    for pool, own in content.labelled.items():
        kept = {id_: left for id_, gold in own.items() if (left := _frequent(gold, counts, of.least))}
        content.dropped[Note.of("row-of-rare-label", least=of.least)] += len(own) - len(kept)
        content.labelled[pool] = kept
    return content


def _frequent(gold: Any, counts: Mapping[Any, int], least: int) -> Any:
    if isinstance(gold, tuple):
        return tuple(label for label in gold if counts[label] >= least)
    return gold if counts[gold] >= least else None
