"""CSL, the Chinese scientific literature benchmark: field tasks over papers, in the released formats.

Read: JSONL, CSV or Parquet with the five columns; the corpus TSV (title, abstract, keywords joined by `_`,
discipline, category); and the benchmark's TSV files (prompt, input, output), which become one task a prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from ..core import Example, Item, Labels, Output, Suite, Task, Terms, Text
from ..errors import SourceError, UsageError
from ..ids import Json
from ..sources import files
from ..sources.files import Layout, RowFaults
from ..sources.table import Field, value_of
from ..suites import rows
from ..suites.build import Reading, field_suite
from ..suites.fields import METRICS

TITLES = {"title": "标题", "abstract": "摘要", "keywords": "关键词", "category": "门类", "discipline": "学科"}
FIELDS = (
    Field("title", "text", TITLES["title"]),
    Field("abstract", "text", TITLES["abstract"]),
    Field("keywords", "list", TITLES["keywords"], separator="_"),
    Field("category", "label", TITLES["category"]),
    Field("discipline", "label", TITLES["discipline"]),
)
CORPUS_HEADER = ("title", "abstract", "keywords", "discipline", "category")
BENCHMARK_HEADER = ("prompt", "input", "output")
PROMPTS = {f"to {name}": name for name in ("title", "keywords", "category", "discipline")}
LICENCE = "Apache-2.0"

# The paper's table 2: name, labels below, mean length of title and abstract, mean number of keywords, records.
CARD_COLUMNS = ("published_name", "labels_below", "title", "abstract", "keywords", "records")
PUBLISHED_CARD: Mapping[str, Mapping[str, str | float]] = {
    label: dict(zip(CARD_COLUMNS, values, strict=True))
    for label, values in {
        "工学": ("Engineering", 27, 19.1, 210.9, 4.4, 177_000),
        "理学": ("Science", 9, 20.7, 254.4, 4.3, 35_000),
        "农学": ("Agriculture", 7, 17.1, 177.1, 7.1, 39_000),
        "医学": ("Medicine", 5, 20.7, 269.5, 4.7, 37_000),
        "管理学": ("Management", 4, 18.7, 157.7, 6.2, 23_000),
        "法学": ("Jurisprudence", 4, 18.9, 174.4, 6.1, 21_000),
        "教育学": ("Pedagogy", 3, 17.7, 179.4, 4.3, 16_000),
        "经济学": ("Economics", 2, 19.5, 177.2, 4.5, 11_000),
        "文学": ("Literature", 2, 18.8, 158.2, 8.3, 10_000),
        "艺术学": ("Art", 1, 17.8, 170.8, 5.4, 5_000),
        "历史学": ("History", 1, 17.6, 181.0, 6.0, 6_000),
        "军事学": ("Strategics", 1, 17.5, 169.3, 4.0, 3_000),
        "哲学": ("Philosophy", 1, 18.0, 176.5, 8.0, 7_000),
    }.items()
}


def meta_gain(few: Sequence[float], meta: Sequence[float]) -> float:
    """Give the mean over tasks of what meta-tuning adds, in the unit of the scores.

    >>> round(meta_gain([9.3, 1.5, 1.1], [28.8, 3.9, 14.4]), 1)  # T5-base, 1 shot, scenario 1 of the paper
    11.7
    """
    return fmean(after - before for before, after in zip(few, meta, strict=True))


def build(source: str, fields: Sequence[Field], reading: Reading, language: str) -> Suite:
    """Build a suite of all field tasks, or of the released benchmark files."""
    if not source:
        raise UsageError("name the records to build from, such as records.jsonl")
    header = _released_header(Path(source))
    if header == BENCHMARK_HEADER:
        if fields or reading != Reading(on_error=reading.on_error, layout=reading.layout):
            raise UsageError("released files say what their columns are: only --encoding and --on-error go with them")
        return released(Path(source), reading)
    if header:
        reading = replace(reading, layout=replace(reading.layout, header=header))
    about = {"benchmark": "csl", "licence": LICENCE}
    return field_suite(source, fields or FIELDS, reading, id="csl", language=language or "zh", about=about)


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


def released(path: Path, reading: Reading) -> Suite:
    """Make a suite of the released TSV files: one task a prompt, one pool a file name (train, dev, test)."""
    found = sorted(path.rglob("*.tsv")) if path.is_dir() else [path]
    if not found:
        raise SourceError(f"no TSV files in {path}")
    faults = RowFaults(reading.on_error)
    read: dict[str, dict[str, list[Example]]] = {}
    for file in found:
        for prompt, example in _examples(file, path if path.is_dir() else path.parent, faults, reading.layout):
            read.setdefault(prompt, {}).setdefault(file.stem, []).append(example)
    faults.settle()
    if not read:
        raise SourceError(f"no examples in {path}")
    tasks = {prompt: _task(prompt, [e for pool in pools.values() for e in pool]) for prompt, pools in read.items()}
    pools = {prompt: {name: rows.pool(tasks[prompt], kept) for name, kept in read[prompt].items()} for prompt in tasks}
    left_out = {"rows with faults": faults.count} if faults.count else {}
    told: dict[str, Json] = {"language": "zh", "licence": LICENCE, "left_out": left_out, "faults": faults.shown}
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
                Example(Item(id_, {"input": text}), (tuple(output) if isinstance(output, list) else output,), id_),
            )


def _field(prompt: str) -> Field:
    return next(f for f in FIELDS if f.name == PROMPTS[prompt])


def _task(prompt: str, examples: Sequence[Example]) -> Task:
    name, kind = PROMPTS[prompt], _field(prompt).kind
    labels = tuple(sorted({str(example.gold[0]) for example in examples})) if kind == "label" else ()
    outputs: Mapping[str, Output] = {"text": Text(), "list": Terms("_"), "label": Labels(labels)}
    tags = {"outputs": (name,), "language": ("zh",), "source": ("csl",)}
    return Task(id=prompt, instruction=prompt, output=outputs[kind], metrics=METRICS[kind], tags=tags)
