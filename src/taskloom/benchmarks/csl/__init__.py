"""CSL, the Chinese scientific literature benchmark: field tasks over papers, in the released formats.

Read: JSONL, CSV or Parquet with the five columns; the corpus TSV (title, abstract, keywords joined by `_`,
discipline, category); and the benchmark's TSV files (prompt, input, output), which become one task a prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import ClassVar

from ...core import DROPPED, Example, Item, Labels, Output, Suite, Task, Terms, Text
from ...errors import FetchError, SourceError, UsageError
from ...ids import Json, fingerprint
from ...messages import Note, counted_notes
from ...schema import key
from ...sources import files, packages
from ...sources.files import Layout, RowFaults
from ...sources.table import Field, read_fields, value_of
from ...suites import rows
from ...suites.build import TableOptions, field_suite
from ...suites.field_instructions import ARROWS
from ...suites.fields import METRICS
from .. import option_names

TITLES = {"title": "标题", "abstract": "摘要", "keywords": "关键词", "category": "门类", "discipline": "学科"}
FIELDS = (
    Field("title", "text", TITLES["title"]),
    Field("abstract", "text", TITLES["abstract"]),
    Field("keywords", "list", TITLES["keywords"], separator="_"),
    Field("category", "label", TITLES["category"]),
    Field("discipline", "label", TITLES["discipline"]),
)
ARXIV = "data:arxiv"  # in the place of records, which no package has: papers with as many fields
ARXIV_COLUMNS = {"abstract": "opening", "keywords": "categories", "category": "archive", "discipline": "category"}
STAND_IN = (
    "without records, the fields of CSL are those of arXiv papers: abstract is the first sentence, keywords and "
    "discipline are arXiv's categories, category its archive; records of CSL are named by SOURCE, or --from"
)
PAPERS, MADE_UP = "data:papers", "using the made-up papers that come with taskloom, which are too few to learn from"
CORPUS_HEADER = ("title", "abstract", "keywords", "discipline", "category")
BENCHMARK_HEADER = ("prompt", "input", "output")
PROMPTS = {f"to {name}": name for name in ("title", "keywords", "category", "discipline")}
LICENCE = "Apache-2.0"
PARTITIONS = {  # table 3 of the paper: meta tasks, and the target that they are to help
    "1-1": "abstract->keywords, keywords->title => abstract->title",
    "1-2": "keywords->title, title->discipline => keywords->discipline",
    "1-3": "abstract->title+category, title->keywords => abstract+discipline->keywords",
    "2-1": "abstract->keywords, keywords->title, title->category => abstract->category",
    "2-2": "abstract->title, title->keywords, keywords->discipline => abstract->discipline",
    "3-1": "keywords->abstract, title->discipline => keywords->discipline",
    "3-2": "abstract->keywords, title->keywords, title->category => abstract->category",
}


def meta_gain(few: Sequence[float], meta: Sequence[float]) -> float:
    """Give the mean over tasks of what meta-tuning adds, in the unit of the scores.

    >>> round(meta_gain([9.3, 1.5, 1.1], [28.8, 3.9, 14.4]), 1)  # T5-base, 1 shot, scenario 1 of the paper
    11.7
    """
    return fmean(after - before for before, after in zip(few, meta, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Csl(TableOptions):
    """All field tasks of CSL, or the released benchmark files."""

    version: ClassVar[int] = 3
    fields: tuple[Field, ...] = key(FIELDS, read=read_fields)
    language: str = "zh"
    instruction: str | Mapping[str, str] = ARROWS  # as published
    partitions: Mapping[str, str] = field(default_factory=lambda: PARTITIONS)

    def build(self) -> Suite:
        """Build the suite."""
        if not self.source:
            return self._stand_in()
        header = _released_header(Path(self.source))
        if header == BENCHMARK_HEADER:
            return self._released()
        return field_suite(self, id="csl", header=header, about={"benchmark": "csl", "licence": LICENCE})

    def sources(self) -> tuple[str, ...]:
        """Name the tables that are read."""
        here = ARXIV if packages.is_here(packages.entry("arxiv")) else PAPERS
        return tuple(filter(None, (self.source or here, self.venues)))

    def _stand_in(self) -> Suite:
        """Build the same tasks from papers that can be fetched, or else from those that come with taskloom."""
        if self != Csl(partitions=self.partitions):
            raise UsageError("SOURCE is missing: a file of records, such as records.jsonl")
        fields = tuple(Field(f.name, f.kind) for f in FIELDS)
        options = replace(self, source=PAPERS, fields=fields, id_column="id", language="en", where={"language": "en"})
        try:
            packages.get("arxiv")
        except FetchError as error:
            return field_suite(options, id="csl-papers", about={"note": f"{error}; {MADE_UP}"})
        options = replace(options, source=ARXIV, columns=ARXIV_COLUMNS, where={})
        return field_suite(options, id="csl-arxiv", about={"note": STAND_IN})

    def _released(self) -> Suite:
        plain = Csl(source=self.source, on_error=self.on_error, file_encoding=self.file_encoding)
        if odd := [name for name in option_names("csl") if getattr(self, name) != getattr(plain, name)]:
            raise UsageError(f"options that do not apply to the released files: {', '.join(odd)}")
        faults = RowFaults(self.on_error, other_encoding=files.BY_OPTION)
        return released(Path(self.source), faults, Layout(encoding=self.file_encoding))


def _released_header(path: Path) -> tuple[str, ...]:
    """Tell the released layouts, which have no header line, by their first line."""
    if path.is_dir():
        return BENCHMARK_HEADER
    if not path.is_file() or files.format_of(path) != "tsv":
        return ()
    first = next(files.lines(path, RowFaults("skip"), Layout().encoding), (0, ""))[1].split("\t")
    if len(first) == len(BENCHMARK_HEADER) and first[0] in PROMPTS:
        return BENCHMARK_HEADER
    return CORPUS_HEADER if len(first) == len(CORPUS_HEADER) and not set(first) & set(CORPUS_HEADER) else ()


def released(path: Path, faults: RowFaults, layout: Layout) -> Suite:
    """Make a suite of the released TSV files: one task a prompt, one pool a file name (train, dev, test)."""
    found = sorted(path.rglob("*.tsv")) if path.is_dir() else [path]
    if not found:
        raise SourceError(f"no TSV files in {path}")
    read: dict[str, dict[str, list[Example]]] = {}
    for file in found:
        for prompt, example in _examples(file, path if path.is_dir() else path.parent, faults, layout):
            read.setdefault(prompt, {}).setdefault(file.stem, []).append(example)
    faults.settle()
    if not read:
        raise SourceError(f"no examples in {path}")
    tasks = {prompt: _task(prompt, [e for pool in pools.values() for e in pool]) for prompt, pools in read.items()}
    pools = {prompt: {name: rows.pool(tasks[prompt], kept) for name, kept in read[prompt].items()} for prompt in tasks}
    dropped = counted_notes({Note.of("row-faulty"): faults.count})
    told: dict[str, Json] = {"language": "zh", "licence": LICENCE, DROPPED: dropped, "faults": faults.shown}
    return Suite(id="csl-benchmark", tasks=tasks, pools=pools, about=told)


def _examples(file: Path, folder: Path, faults: RowFaults, layout: Layout) -> Iterator[tuple[str, Example]]:
    for place, row in files.read(file, faults, replace(layout, header=BENCHMARK_HEADER)):
        prompt, text = row["prompt"].strip(), row["input"].strip()
        output = value_of(_field(prompt), row["output"]) if prompt in PROMPTS else None
        if prompt not in PROMPTS:
            faults.add(place, f"unknown prompt: {prompt!r}")
        elif not text or output is None:
            faults.add(place, "empty input or output")
        else:
            id_ = f"{file.parent.relative_to(folder) / place}"
            yield (
                prompt,
                Example(
                    Item(id_, {"input": text}),
                    (tuple(output) if isinstance(output, list) else output,),
                    fingerprint(text),  # the same text under another prompt is the same record
                ),
            )


def _field(prompt: str) -> Field:
    return next(f for f in FIELDS if f.name == PROMPTS[prompt])


def _task(prompt: str, examples: Sequence[Example]) -> Task:
    name, kind = PROMPTS[prompt], _field(prompt).kind
    labels = tuple(sorted({str(example.gold[0]) for example in examples})) if kind == "label" else ()
    outputs: Mapping[str, Output] = {"text": Text(), "list": Terms("_"), "label": Labels(labels)}
    tags = {"outputs": (name,), "language": ("zh",), "source": ("csl",)}
    return Task(id=prompt, instruction=prompt, output=outputs[kind], metrics=METRICS[kind], tags=tags)
