"""Labelled texts, in the formats that data sets are published in, to rows of one form.

A row has the fields of its form, a `label` as it is written (None where it has none) and, where that is known, the
split of its source that it is of. Mentions are marked in their text: `#a#` the first, `*b*` the second.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias

from ..errors import SourceError, UnknownNameError, UsageError
from ..limits import parse_json
from ..messages import Note
from .files import MAX_LINE, MAX_LIST, Layout, Place, Row, RowFaults, encoding_of, lines, refuse_name
from .files import read as read_table
from .splits import DEV, SPLIT, TEST, VALUES, pool_of
from .tidy import TIDY

Form: TypeAlias = Literal["single", "pair", "relation", "entity", "document"]
FIELDS: Mapping[str, tuple[str, ...]] = {
    "single": ("text",),
    "document": ("text",),
    "pair": ("text1", "text2"),
    "relation": ("text", "mention1", "mention2"),
    "entity": ("text", "mention"),
}
LABEL = "label"
FIRST, SECOND = "#", "*"  # around mentions
COLUMNS: Mapping[str, tuple[str, ...]] = {  # of published tables: the first that a row has
    "text": ("raw", "text", "sentence", "headline", "reviewText"),
    "text1": ("text1", "sentence1", "premise", "question1", "#1 String", "question"),
    "text2": ("text2", "sentence2", "hypothesis", "question2", "#2 String", "sentence"),
    "mention": ("mention",),
    "mention1": ("mention1", "head"),
    "mention2": ("mention2", "tail"),
    LABEL: (
        "label_text", LABEL, "gold_label", "category", "is_duplicate", "Quality", "coarse_label", "label-coarse",
        "relation",
    ),
}  # fmt: skip
CONLL_TAGS = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC")  # as the hub numbers them
SPLIT_WORDS = {**VALUES, "testa": DEV, "testb": TEST}  # those of CoNLL too
MOST_TOKENS = 1_000  # of a tagged sentence: it is written out for each of its mentions
RELATION_NAMES = "pid2name.json"  # beside files of FewRel
LABEL_AND_TEXT = re.compile(r"([^\s:]++)\S*+\s++(.*\S)")  # of "DESC:manner How did", only the first part is the label
WORD = re.compile(r"\w")
OPINION = re.compile(r"\[([+-])\d?\]")  # of a feature, as in "battery life[+2]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Files of a data set in one of its formats: how they are called, and how they are read."""

    match: tuple[str, ...]  # ends of their paths, whatever the case; `*` stands for any part of a name
    reader: str = "table"
    label: str = ""  # a regular expression, where the label is in the path: its first group
    columns: Mapping[str, str] = field(default_factory=dict)  # field -> column, where that is no usual one
    header: tuple[str, ...] = ()  # of a table that has none
    format: str = ""  # of a table whose name does not say it
    encoding: str = "utf-8-sig"
    tidy: str = ""  # the function of `tidy` that makes rows of a table

    def __post_init__(self) -> None:
        try:
            groups = re.compile(self.label).groups if self.label else 1
        except (re.error, RecursionError, OverflowError) as error:
            raise UsageError(f"label must be a regular expression ({error}): {self.label[:60]!r}") from None
        if not groups:
            raise UsageError(f"label must have a group, as in ([a-z]+)/: {self.label[:60]!r}")
        if self.tidy not in TIDY:
            raise UnknownNameError("way to tidy rows", self.tidy, TIDY)

    def layout(self) -> Layout:
        """Say how a table is written."""
        return Layout(format=self.format, encoding=self.encoding, header=self.header)


@dataclass(frozen=True, slots=True)
class Found:
    """Files that were found in a folder, with their paths from there."""

    files: Files
    paths: Mapping[Path, str]


def paths_in(folder: Path) -> dict[Path, str]:
    """List the files of a folder, and of folders in it, each with its path from there."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    for name in names:
        refuse_name(Path(name))
    return {folder / name: name for name in names}


def find(paths: Mapping[Path, str], formats: Iterable[Files]) -> Found | None:
    """Give the files of the first format of which there are any."""
    ends = {path: path.absolute().as_posix().lower() for path in paths}
    for files in formats:
        called = re.compile("|".join(f"/{re.escape(one.lower())}$".replace(r"\*", "[^/]*") for one in files.match))
        if found := {path: name for path, name in paths.items() if called.search(ends[path])}:
            return Found(files, found)
    return None


def rows_of_files(of: Found, form: str, faults: RowFaults, most: int = 0) -> Iterator[tuple[Place, Row]]:
    """Yield the rows of files; of a file whose label is in its path, at most so many."""
    for path, name in of.paths.items():
        label = re.search(of.files.label, name) if of.files.label else None
        common = {LABEL: label[1] if label else None, SPLIT: split_in(name)}
        files = replace(of.files, encoding=encoding_of(path, of.files.encoding))
        found = formed(READERS[files.reader](path, files, faults), form, files.columns)
        whole = itertools.islice(found, most) if label and most else found
        yield from ((place, {**row, **{k: v for k, v in common.items() if not row.get(k)}}) for place, row in whole)


def split_in(path: str) -> str:
    """Give the split that a path names: its file, or else the nearest folder.

    >>> split_in("snli_1.0_dev.jsonl"), split_in("20news-bydate-train/sci.med/59225"), split_in("rt-polarity.neg")
    ('dev', 'train', '')
    """
    for part in reversed(PurePosixPath(path).parts):
        found = {SPLIT_WORDS[word] for word in re.split("[^a-z]+", part.lower()) if word in SPLIT_WORDS}
        if found:
            return found.pop() if len(found) == 1 else ""
    return ""


# --- rows of one form ------------------------------------------------------------------------------------------------


def formed(
    rows: Iterable[tuple[Place, Row]], form: str, columns: Mapping[str, str] | None = None
) -> Iterator[tuple[Place, Row]]:
    """Give rows of any published layout the fields of a form; a sentence with tags is a row for each of its mentions.

    >>> rows = [("a:1", {"premise": "It rains.", "hypothesis": "It is wet.", "gold_label": "neutral"})]
    >>> list(formed(rows, "pair"))
    [('a:1', {'text1': 'It rains.', 'text2': 'It is wet.', 'label': 'neutral', ':split': ''})]
    """
    own = columns or {}
    for place, row in rows:
        split = row.get(SPLIT) or pool_of(str(row.get("split") or ""))
        try:
            found = list(_formed(place, row, form, own))
        except (LookupError, TypeError, ValueError, AttributeError) as error:  # tokens, tags or places that do not fit
            raise SourceError(Note.of("row-malformed", place=place, form=form, reason=repr(error))) from None
        yield from ((place, {**one, SPLIT: split}) for one in found)


def _formed(place: Place, row: Row, form: str, columns: Mapping[str, str]) -> Iterator[Row]:
    if form == "entity" and "tokens" in row:
        yield from entities(row["tokens"], row.get("tags") or row.get("ner_tags") or [])
    elif form == "relation" and "tokens" in row:
        yield relation(row)
    else:
        texts = {name: as_text(_cell(place, row, name, columns)) for name in FIELDS[form]}
        yield _marked(texts) | {LABEL: _label(row, columns)}


def guessed_form(row: Row) -> str:
    """Guess the form of a table by the columns of its first row.

    >>> guessed_form({"sentence1": "", "sentence2": ""}), guessed_form({"text": ""})
    ('pair', 'single')
    """
    if "tokens" in row:
        return "entity" if {"tags", "ner_tags"} & row.keys() else "relation"
    return next((form for form in ("relation", "entity", "pair") if _has(row, FIELDS[form])), "single")


def _has(row: Row, names: Iterable[str]) -> bool:
    return all(any(column in row for column in COLUMNS[name]) for name in names)


def _cell(place: Place, row: Row, name: str, columns: Mapping[str, str]) -> Any:
    wanted = (columns[name],) if name in columns else COLUMNS[name]
    for column in wanted:
        if column in row:
            return row[column]
    raise SourceError(Note.of("field-column-missing", field=name, wanted=wanted, columns=list(row), place=place))


def _label(row: Row, columns: Mapping[str, str]) -> str | None:
    wanted = (columns[LABEL],) if LABEL in columns else COLUMNS[LABEL]
    value = next((row[column] for column in wanted if row.get(column) not in (None, "")), None)
    return None if value is None else " ".join(str(value).split()) or None


def as_text(value: Any) -> str:
    """Write a text or a list of tokens, with single spaces.

    >>> as_text(["Wilton", " ", "Bridge"]), as_text(" one  two")
    ('Wilton Bridge', 'one two')
    """
    words = value if isinstance(value, list) else ["" if value is None else str(value)]
    return " ".join(" ".join(map(str, words)).split())


def _marked(texts: dict[str, str]) -> dict[str, str]:
    """Mark mentions that are not marked yet, where they first stand; what does not stand there is left as it is."""
    for name, mark in (("mention", FIRST), ("mention1", FIRST), ("mention2", SECOND)):
        mention = texts.get(name)
        if mention and f"{mark}{mention}{mark}" not in texts["text"]:
            before, found, after = _parted(texts["text"], mention)
            texts["text"] = f"{before}{mark}{found}{mark}{after}" if found else before
    return texts


def _parted(text: str, mention: str) -> tuple[str, str, str]:
    """Part a text at a mention, where no other words touch it.

    >>> _parted("an owl, a fowl", "owl"), _parted("a fowl", "owl")
    (('an ', 'owl', ', a fowl'), ('a fowl', '', ''))
    """
    at = text.find(mention)
    while at >= 0:
        end = at + len(mention)
        if not (WORD.match(text[at - 1 : at]) or WORD.match(text[end : end + 1])):
            return text[:at], mention, text[end:]
        at = text.find(mention, at + 1)
    return text, "", ""


def entities(tokens: Sequence[str], tags: Sequence[str | int]) -> Iterator[Row]:
    """Yield a row for each mention of a sentence whose tags are IOB1 or IOB2.

    >>> [(row["text"], row["mention"], row["label"]) for row in entities(["EU", "rejects"], ["B-ORG", "O"])]
    [('#EU# rejects', 'EU', 'ORG')]
    """
    if len(tokens) > MOST_TOKENS:
        raise ValueError(f"more than {MOST_TOKENS:,} tokens")
    names = [CONLL_TAGS[tag] if isinstance(tag, int) else tag for _, tag in zip(tokens, tags, strict=True)]
    kinds = [name.partition("-")[2] for name in names]  # "" for none
    begins = [
        at
        for at, (name, kind) in enumerate(zip(names, kinds, strict=True))
        if kind and (name.startswith("B-") or at == 0 or kinds[at - 1] != kind)
    ]
    for at, following in itertools.pairwise([*begins, len(kinds)]):
        span = [n for n in range(at, following) if kinds[n] == kinds[at]]
        yield {
            "text": _with_marks(tokens, [(span, FIRST)]),
            "mention": as_text([tokens[n] for n in span]),
            LABEL: kinds[at],
        }


def relation(row: Row) -> Row:
    """Give a row of FewRel: the first mention is the head, the second the tail; each is marked wherever it is named."""
    tokens = row["tokens"]
    spans = [_spans(row.get(short) or row[long]) for short, long in (("h", "head"), ("t", "tail"))]
    marks = [(span, mark) for found, mark in zip(spans, (FIRST, SECOND), strict=True) for span in found]
    mentions = [as_text([tokens[n] for n in found[0]]) for found in spans]
    names = row.get("names") or [_label(row, {})]
    return {"text": _with_marks(tokens, marks), "mention1": mentions[0], "mention2": mentions[1], LABEL: names[0]}


def _spans(mention: Any) -> list[list[int]]:
    """Give the places of a mention's tokens: name, id and places, or a mapping with them."""
    return list(mention["indices"] if isinstance(mention, Mapping) else mention[2])


def _with_marks(tokens: Sequence[str], marks: Iterable[tuple[Sequence[int], str]]) -> str:
    marked = [token.strip() for token in tokens]
    for span, mark in marks:
        marked[span[0]] = mark + marked[span[0]]
        marked[span[-1]] += mark
    return as_text(marked)


# --- readers ---------------------------------------------------------------------------------------------------------


def _table(path: Path, of: Files, faults: RowFaults) -> Iterator[tuple[Place, Row]]:
    return TIDY[of.tidy](read_table(path, faults, of.layout()))


def _lines(path: Path, of: Files, faults: RowFaults) -> Iterator[tuple[Place, Row]]:
    """Read a text a line."""
    for number, line, good in lines(path, faults, of.encoding):
        if good and line.strip():
            yield f"{path.name}:{number}", {"text": line}


def _labelled_lines(path: Path, of: Files, faults: RowFaults) -> Iterator[tuple[Place, Row]]:
    """Read a label, then its text, a line; a finer label after a colon is not used."""
    for number, line, good in lines(path, faults, of.encoding):
        if good and line.strip():
            if found := LABEL_AND_TEXT.fullmatch(line.strip()):
                yield f"{path.name}:{number}", {"text": found[2], LABEL: found[1]}
            else:
                faults.add(f"{path.name}:{number}", "must be a label and a text")


def _document(path: Path, of: Files, faults: RowFaults) -> Iterator[tuple[Place, Row]]:
    """Read a file as one text."""
    if path.stat().st_size > MAX_LINE:
        faults.add(path.name, f"larger than {MAX_LINE:,} bytes")
    else:
        yield path.name, {"text": path.read_text(encoding=of.encoding, errors="replace")}


def _conll(path: Path, of: Files, faults: RowFaults) -> Iterator[tuple[Place, Row]]:
    """Read sentences of a token a line with a blank line between them; the last column has the tags."""
    begin, rows = 0, list[list[str]]()
    for number, line, good in itertools.chain(lines(path, faults, of.encoding), [(0, "", True)]):
        cells = line.split()
        if cells and len(cells) < 2 and good:
            faults.add(f"{path.name}:{number}", "must be a token and its tag")
        elif cells and good and cells[0] != "-DOCSTART-":
            begin = begin or number
            rows.append(cells)
        elif not cells and rows:
            yield f"{path.name}:{begin}", {"tokens": [row[0] for row in rows], "tags": [row[-1] for row in rows]}
            begin, rows = 0, []


def _fewrel(path: Path, of: Files, faults: RowFaults) -> Iterator[tuple[Place, Row]]:  # noqa: ARG001 (one signature)
    """Read sentences by relation; relations go by the names that stand in a file beside it, if there is one."""
    beside = path.with_name(RELATION_NAMES)
    names = _json_object(beside, of.encoding) if beside.is_file() else {}
    for relation, sentences in _json_object(path, of.encoding).items():
        if not isinstance(sentences, list) or not all(isinstance(one, dict) for one in sentences):
            raise SourceError(f"must have a list of sentences for each relation: {path}")
        named = names.get(relation)
        name = str(named[0]) if isinstance(named, list) and named else relation
        yield from ((f"{path.name}: {relation}[{n}]", {**one, LABEL: name}) for n, one in enumerate(sentences))


def _json_object(path: Path, encoding: str) -> dict[str, Any]:
    if path.stat().st_size > MAX_LIST:
        raise SourceError(f"larger than {MAX_LIST:,} bytes: {path}")
    try:
        found = parse_json(path.read_text(encoding=encoding))
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: not JSON ({error})") from None
    if not isinstance(found, dict):
        raise SourceError(f"must be a JSON object: {path}")
    return found


def _opinions(path: Path, of: Files, faults: RowFaults) -> Iterator[tuple[Place, Row]]:
    """Read customer reviews (Hu and Liu 2004), as in `size[+2], price[-1]##text`: most opinions of features decide."""
    for number, line, good in lines(path, faults, of.encoding):
        features, marked, text = line.partition("##")
        if good and marked and text.strip():
            signs = OPINION.findall(features)
            balance = signs.count("+") - signs.count("-")
            label = None if not balance else "positive" if balance > 0 else "negative"
            yield f"{path.name}:{number}", {"text": text, LABEL: label}


READERS: Mapping[str, Callable[[Path, Files, RowFaults], Iterator[tuple[Place, Row]]]] = {
    "table": _table,
    "lines": _lines,
    "labelled-lines": _labelled_lines,
    "document": _document,
    "conll": _conll,
    "fewrel": _fewrel,
    "opinions": _opinions,
}
