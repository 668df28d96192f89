"""Declarations of labelled data sets, as TOML or YAML, and their rows: in a folder, inside a package, or on the hub."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from .. import sources
from ..core import Suite
from ..errors import SourceError, UnknownNameError, UsageError
from ..ids import Json
from ..limits import refuse_no_file
from ..messages import Note
from ..schema import Node, key, read
from ..sources import hub as hub_source
from ..sources import labelled as formats
from ..sources.files import Place, Row, RowFaults
from ..sources.labelled import COLUMNS, LABEL, Files, Found, formed
from ..sources.splits import SPLIT
from ..suites import labelled
from ..suites.labelled import ALL_OTHERS, PHASES, DataSet, Gathered
from ..suites.leaks import LEAKAGE
from ..suites.transfer_types import apart, certified, transfer

ENDINGS = ("jsonl", "json", "csv", "tsv", "parquet", "jsonl.gz", "csv.gz", "tsv.gz")
SPLIT_FILES = ("train", "dev", "valid", "val", "test")  # how files of a data set's folder begin
Leaks: TypeAlias = Literal["drop", "refuse", "keep"]  # of texts that are trained on and tested
KEPT = "texts were not compared (leaks: keep)"
LARGEST = 1 << 20  # bytes of a declaration
LONGEST = 9  # digits of a number of labels
MOST_NAMED = 1_000  # characters of the names and patterns by which files are found


def read_labels(node: Node, name: str, default: Any) -> Any:
    """Read the labels of phases: texts, or how many of those that are found are dealt out to each."""
    given = node.values.get(name, default)
    if isinstance(given, str) and given:
        given = counts_of(given)
    if isinstance(given, list | tuple):
        given = {"test": given}
    if not isinstance(given, Mapping):
        node.fault(name, f"{name} must be labels, or labels by phase ({', '.join(PHASES)}): {given!r}")
        return {}
    return {str(phase): one if isinstance(one, int) else tuple(map(str, one)) for phase, one in given.items()}


def read_names(node: Node, name: str, default: Any) -> Any:
    """Read a mapping of texts; numbers are texts too, for labels may be numbers."""
    given = node.values.get(name, default)
    if not isinstance(given, Mapping):
        node.fault(name, f"{name} must be a mapping: {given!r}")
        return {}
    return {str(one): str(other) for one, other in given.items()}


def read_files(node: Node, name: str, default: Any) -> Any:
    """Read formats: each a mapping, or a pattern of a table."""
    if name not in node.values:
        return default
    given = node.values[name]
    listed = given if isinstance(given, list | tuple) else [given]
    plain = [one for one in listed if isinstance(one, str)]
    found = [Files(match=tuple(plain))] if plain else []
    for one in listed:
        if isinstance(one, Mapping):
            made = read(Files, node.below(one, f" of {name}", node.at))
            found += [made] if made else []
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared(DataSet):
    """A data set, and where its rows are found."""

    labels: Mapping[str, Any] = key(default_factory=dict, read=read_labels)
    names: Mapping[str, str] = key(default_factory=dict, read=read_names)
    columns: Mapping[str, str] = field(default_factory=dict)  # of tables: field -> column, where that is no usual one
    source: tuple[str, ...] = key((), name="from")  # files, folders, data:NAME or hub:NAME; none: found by name
    files: tuple[Files, ...] = key((), read=read_files)
    aliases: tuple[str, ...] = ()  # how its files may be called; none: by its name
    package: str = ""  # the entry of the catalogue that has it
    hub: str = ""  # its name on the hub, with the configuration if it has one
    hub_splits: tuple[str, ...] = ("train",)
    page: str = ""  # where its licence is stated

    def __post_init__(self) -> None:
        super(Declared, self).__post_init__()
        for one in self.files:
            if one.reader not in formats.READERS:
                raise UnknownNameError("reader of data sets", one.reader, formats.READERS)
        for name in self.columns:
            if name not in COLUMNS:
                raise UnknownNameError("field of data sets", name, COLUMNS)
        patterns = (self.name, *self.aliases, *(match for one in self.files for match in one.match))
        if sum(map(len, patterns)) > MOST_NAMED:
            raise SourceError(Note.of("data-set-names-long", most=MOST_NAMED, name=self.name[:40]))

    def known_files(self) -> list[Files]:
        """Give the formats of the data set: its own, and tables that are called after it."""
        names = self.aliases or (self.name,)
        ways = ("", "_*", "-*", *(f"/{of}*" for of in SPLIT_FILES))
        stems = [f"{name}{way}" for name in names for way in ways]
        tables = Files(match=tuple(f"{stem}.{end}" for stem in stems for end in ENDINGS), columns=self.columns)
        return [*self.files, tables]


def counts_of(text: str) -> dict[str, int]:
    """Read numbers of labels as they are typed: of train, dev and test.

    >>> counts_of("8/3/5")
    {'train': 8, 'dev': 3, 'test': 5}
    """
    parts = text.split("/")
    if len(parts) != len(PHASES) or not all(part.isdecimal() and len(part) <= LONGEST for part in parts):
        raise UsageError(f"labels must be three numbers, of train, dev and test, as in 8/3/5: {text[:100]!r}")
    return {phase: int(count) for phase, count in zip(PHASES, parts, strict=True) if int(count)}


# --- declarations ----------------------------------------------------------------------------------------------------


def declarations(path: Path) -> dict[str, Declared]:
    """Read the declarations that come with a benchmark."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: declared({"name": name, **values}, str(path.name)) for name, values in content.items()}


def declared(values: Mapping[str, Any], place: str, base: Declared | None = None) -> Declared:
    """Read a declaration, with what it does not say as another one has it; all faults are named at once."""
    faults: list[str] = []
    node = Node(values, lambda _, what: faults.append(f"{place}: {what}"), of=" of a data set")
    if "name" not in values:
        node.fault(None, "missing key 'name' of a data set")
    made = read(Declared, node, base) if not faults else None
    if made is None or faults:
        raise SourceError(Note.of("declaration-unfit", place=place), faults)
    return made


def own_declaration(path: Path, known: Mapping[str, Declared]) -> Declared:
    """Read a declaration of the user's own, in YAML or TOML; `like` names one that it is like but for what it says."""
    values = dict(declaration_in(path))
    values.setdefault("name", path.stem)
    like = values.pop("like", values["name"] if values["name"] in [*known] else "")
    if like and (not isinstance(like, str) or like not in known):
        raise UnknownNameError("data set", str(like), known)
    made = declared(values, str(path), known[like] if like else None)
    below = path.parent
    return replace(made, source=tuple(spec if ":" in spec else str(below / spec) for spec in made.source))


def declaration_in(path: Path) -> Mapping[str, Any]:
    """Read a file of YAML or TOML that declares something."""
    from ..yaml_files import load_yaml

    refuse_no_file(path)
    if path.stat().st_size > LARGEST:
        raise SourceError(f"a declaration must not be larger than {LARGEST:,} bytes: {path}")
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else load_yaml(text, "safe")
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: can't be read ({' '.join(str(error).split())[:200]})") from None
    if not isinstance(found, Mapping):
        raise SourceError(f"a declaration must be a mapping, such as `name: reviews`: {path}")
    return found


# --- rows ------------------------------------------------------------------------------------------------------------


def gather(of: Declared, rows: Sequence[tuple[Place, Row]]) -> Gathered:
    """Take the examples of a data set; labels that are not declared are those that are found."""
    if not rows:
        raise SourceError(Note.of("of-source", reason=Note.of("no-rows"), dropped="", source=", ".join(of.source)))
    if not any(row.get(LABEL) for _, row in rows):
        wanted = (of.columns[LABEL],) if LABEL in of.columns else COLUMNS[LABEL]
        raise SourceError(Note.of("label-column-missing", wanted=wanted, place=rows[0][0]))
    whole = with_labels(of, rows)
    if single := [phase for phase, labels in whole.labels.items() if len(labels) < 2]:
        raise SourceError(Note.of("labels-single", name=of.name, phases=single))
    return labelled.gather(whole, rows)


def with_labels(of: Declared, rows: Sequence[tuple[Place, Row]]) -> Declared:
    """Give a declaration that names its labels: all that are found are tested, or so many are dealt out."""
    counts = {phase: count for phase, count in of.labels.items() if isinstance(count, int)}
    if counts and len(counts) < len(of.labels):
        raise SourceError(Note.of("labels-mixed", name=of.name))
    if of.labels and not counts:
        return of
    found = labelled.raw_labels(of, rows)
    if not counts:
        return replace(of, labels={"test": tuple(found)})
    return replace(of, labels=labelled.dealt(of.name, found, counts), drop=(*of.drop, ALL_OTHERS))


def rows_in(found: Found, of: Declared, faults: RowFaults) -> list[tuple[Place, Row]]:
    """Read the rows of files."""
    columns = {**of.columns, **found.files.columns}
    known = replace(found, files=replace(found.files, columns=columns))
    rows = list(formats.rows_of_files(known, of.form, faults, of.most))
    faults.settle()
    return rows


def rows_of(spec: str, of: Declared, faults: RowFaults) -> list[tuple[Place, Row]]:
    """Read the rows of a file, a folder, `data:NAME` or `hub:NAME`."""
    if ":" in spec:
        rows = list(formed(sources.rows(spec, faults), of.form, of.columns))
        faults.settle()
        return rows
    path = Path(spec)
    if not path.exists():
        raise UsageError(f"no such file: {path}")
    paths = formats.paths_in(path) if path.is_dir() else {path: path.name}
    found = formats.find(paths, of.known_files())
    if found is None and path.is_dir():
        raise SourceError(Note.of("data-sets-not-found", names=[of.name], folders=[spec]))
    return rows_in(found or Found(Files(match=()), {path: path.name}), of, faults)


def rows_on_hub(of: Declared) -> list[tuple[Place, Row]]:
    """Read the rows of a data set on the hub, split by split."""
    if not of.hub:
        raise SourceError(Note.of("hub-unknown", name=of.name))
    return [
        (place, {**row, SPLIT: row[SPLIT] or formats.split_in(split)})
        for split in of.hub_splits
        for place, row in formed(hub_source.rows(f"{of.hub}@{split}"), of.form, of.columns)
    ]


# --- suites ----------------------------------------------------------------------------------------------------------


def assembled(sets: Sequence[Gathered], *, id: str, fold: str, leaks: Leaks, about: Mapping[str, Json]) -> Suite:
    """Make the suite of data sets, with kinds of transfer; what leaks by text is dropped, refused, or kept."""
    labelled.refuse_unfit(sets)
    kept, told = apart(sets) if leaks == "drop" else (list(sets), [KEPT])
    made = labelled.suite(kept, id=id, fold=fold, about=about)
    tagged = transfer(made, fold, by_text=leaks == "refuse")  # what is dropped was compared before
    told = [certified(tagged, fold)] if leaks == "refuse" else told
    return replace(tagged, about={**tagged.about, **({LEAKAGE: told} if told else {})})
