"""Sheets that came back, and their key: read as they are, with every fault by file and line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

from ..episodes import NamedShots
from ..errors import SourceError, UsageError
from ..sources.files import BY_OPTION, Layout, Row, RowFaults, format_of, lines, read
from ..texts import alive, counted
from .judgements import CHOICES, SCALE, Choice, Comparison, Pair, Rating, Settled, Side
from .sheets import KEY, TOLD, key_path

Kind: TypeAlias = Literal["comparisons", "ratings"]
KINDS: Mapping[str, Kind] = {"choice": "comparisons", "rating": "ratings"}  # by the column that only these have
SHORT = {told: name for name, told in TOLD.items()}
DELIMITERS = (",", ";", "\t")  # spreadsheets write what their country is used to
Said = TypeVar("Said", Comparison, Rating)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a sheet: where it stands, and who filled it in (empty where that is unknown)."""

    place: str
    rater: str
    cells: Mapping[str, Any]

    def text(self, column: str) -> str:
        """Give what stands in a cell, without blanks around it; a column that is missing is empty."""
        value = self.cells.get(column)
        return "" if value is None else str(value).strip()


@dataclass(frozen=True, slots=True)
class Sheets:
    """The rows of some sheets of one kind, and what is wrong with those that can't be read."""

    kind: Kind
    lines: tuple[Line, ...]
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answers(Generic[Said]):
    """What people said, each of them once of each thing; how many rows they left empty; what rows are about."""

    said: tuple[Said, ...]
    blank: int
    about: tuple[str, ...]


# --- sheets ----------------------------------------------------------------------------------------------------------


def read_sheets(paths: Sequence[Path], encoding: str = "utf-8-sig") -> Sheets:
    """Read sheets that people filled in.

    A row without a `rater` is by the only rater that its file names; if it names none, the name of the file is the
    rater; if it names several, that is a fault.
    """
    faults: list[str] = []
    found: list[Line] = []
    kinds: dict[Kind, Path] = {}
    unnamed: dict[str, Path] = {}
    for path in _different(paths):
        rows = _rows(path, encoding, faults)
        kinds.setdefault(_kind(path, rows, faults), path)
        names = {line.rater for line in rows if line.rater}
        if not names and unnamed.setdefault(path.stem, path) != path:
            what = "two files with the same name and without raters; fill in the column rater, or rename one"
            raise UsageError(f"{what}: {unnamed[path.stem]}, {path}")
        whose = "" if len(names) > 1 else next(iter(names), path.stem)
        found += [line if line.rater else replace(line, rater=whose) for line in rows]
    if len(kinds) > 1:
        found_kinds = " and ".join(f"{kind} ({path})" for kind, path in kinds.items())
        raise UsageError(f"sheets must be of one kind: {found_kinds}")
    return Sheets(next(iter(kinds)), tuple(found), tuple(faults))


def _different(paths: Sequence[Path]) -> list[Path]:
    """Leave out files that are named again."""
    by_place: dict[Path, Path] = {}
    for path in paths:
        by_place.setdefault(path.resolve(), path)
    return list(by_place.values())


def _rows(path: Path, encoding: str, faults: list[str]) -> list[Line]:
    """Read one file, but for empty rows; places include its folder, as copies often have the same name."""
    own = RowFaults("skip", other_encoding=BY_OPTION)
    inert = path.is_file() and format_of(path) != "jsonl"
    layout = Layout(encoding=encoding, delimiter=_delimiter(path, encoding))
    found = []
    for place, row in read(path, own, layout):
        cells = {name: alive(cell) if inert and isinstance(cell, str) else cell for name, cell in row.items()}
        line = Line(_where(path, place), "", _shortened(cells))
        if any(map(line.text, cells)):
            found.append(replace(line, rater=line.text("rater")))
    faults += [_where(path, fault) for fault in own.shown]
    faults += _surrogates(path, own)
    faults += [f"{path}: and {own.count - len(own.shown):,} more"] if own.count > len(own.shown) else []
    return found


def _surrogates(path: Path, own: RowFaults) -> list[str]:
    """Refuse half characters, which no sheet or key of ours holds."""
    return [f"{path}: {counted(own.surrogates, 'row')} with half a character (a lone surrogate)"] * bool(own.surrogates)


def _shortened(cells: Row) -> Row:
    """Give columns their short names; two of one name are joined, so that what contradicts itself is no answer.

    >>> _shortened({"id": "t", "rating (1 to 5)": "", "rating": "4"})
    {'id': 't', 'rating': '4'}
    """
    found: Row = {}
    for name, cell in cells.items():
        short = SHORT.get(name.strip(), name)
        both = dict.fromkeys(str(one).strip() for one in (found.get(short), cell) if one not in (None, ""))
        found[short] = " and ".join(both) if short in found else cell
    return found


def _where(path: Path, place: str) -> str:
    return place if path.parent == Path() else f"{path.parent}/{place}"


def _delimiter(path: Path, encoding: str) -> str:
    """Look which sign stands beside the column `id`."""
    if not path.is_file() or format_of(path) != "csv":
        return DELIMITERS[0]
    header = next((line for _, line, _ in lines(path, RowFaults("skip"), encoding)), "")
    split = {sign: [cell.strip(' "') for cell in header.split(sign)] for sign in DELIMITERS}
    return next((sign for sign, cells in split.items() if "id" in cells), DELIMITERS[0])


def _kind(path: Path, rows: Sequence[Line], faults: Sequence[str]) -> Kind:
    """Tell a sheet by its columns."""
    if not rows:
        raise SourceError(f"no readable rows: {path}", faults)
    columns = {name for line in rows for name in line.cells}
    found = [kind for column, kind in KINDS.items() if column in columns]
    if "id" not in columns or len(found) != 1:
        shown = ", ".join(sorted(columns)[:12])
        raise SourceError(f"a sheet needs a column id, and either choice or rating; columns of {path}: {shown}")
    return found[0]


# --- what people said ------------------------------------------------------------------------------------------------


def comparisons(sheets: Sheets, key: Mapping[str, Pair]) -> Answers[Comparison]:
    """Give what people said of the questions of a key."""
    ids = {line.text("id") for line in sheets.lines}
    if not any(id_ in key for id_ in ids):
        raise UsageError(f"none of the {len(ids):,} ids is in the key; use --key FILE")

    def said(line: Line, wrong: list[str]) -> Comparison:
        pair = key.get(line.text("id"))
        if pair is None or pair.settled:
            wrong.append(f"id is not in the key: {line.text('id')[:40]!r}")
        return Comparison(line.text("id"), line.rater, _choice(line, wrong), line.text("comment"))

    return _answers(sheets, said, _merged_comparison)


def ratings(sheets: Sheets) -> Answers[Rating]:
    """Give what people said of instructions."""

    def said(line: Line, wrong: list[str]) -> Rating:
        if not line.text("id"):
            wrong.append("id of the task is missing")
        return Rating(line.text("id"), line.rater, _score(line, wrong), line.text("typos"), line.text("clarity"))

    return _answers(sheets, said, _merged_rating)


def _answers(
    sheets: Sheets, said: Callable[[Line, list[str]], Said], merged: Callable[[Said, Said], Said | None]
) -> Answers[Said]:
    """Gather what was said, once for each rater and thing; refuse with all faults at once."""
    found: dict[tuple[str, str], tuple[str, Said]] = {}
    faults = list(sheets.faults)
    things: set[str] = set()
    blank = 0
    for line in sheets.lines:
        wrong: list[str] = []
        one = said(line, wrong)
        about, rater, mark, *words = astuple(one)
        silent = not any(words) and not any(map(line.text, KINDS))
        if not rater and not silent:
            wrong.append(f"rater is missing, and the file has several: {about[:40]!r}")
        faults += [f"{line.place}: {what}" for what in wrong]
        if wrong:
            continue
        things.add(about)
        blank += mark is None
        if silent:
            continue
        place, before = found.get((about, rater), (line.place, one))
        both = merged(before, one)
        if both is None:
            faults.append(f"{line.place}: {rater!r} answered differently at {place}: {about!r}")
        else:
            found[about, rater] = place, both
    _settle(faults, "the sheets have errors")
    return Answers(tuple(one for _, one in found.values()), blank, tuple(sorted(things)))


def _settle(faults: Sequence[str], message: str) -> None:
    """Refuse, with all faults."""
    if faults:
        raise SourceError(f"{message}:", faults)


def _choice(line: Line, wrong: list[str]) -> Choice | None:
    typed = line.text("choice").casefold()
    if typed and typed not in CHOICES:
        wrong.append(f"choice must be one of {', '.join(CHOICES)}: {line.text('choice')[:40]!r}")
    return next((choice for choice in CHOICES if choice == typed), None)


def _score(line: Line, wrong: list[str]) -> int | None:
    typed = line.text("rating")
    if not typed:
        return None
    try:
        return SCALE[SCALE.index(float(typed))]  # type: ignore[arg-type]  # 4.0 is 4
    except ValueError:
        wrong.append(f"rating must be an integer from {SCALE[0]} to {SCALE[-1]}: {typed[:40]!r}")
        return None


def _merged_comparison(ours: Comparison, theirs: Comparison) -> Comparison | None:
    if None not in (ours.choice, theirs.choice) and ours.choice != theirs.choice:
        return None
    return replace(ours, choice=ours.choice or theirs.choice, comment=_both(ours.comment, theirs.comment))


def _merged_rating(ours: Rating, theirs: Rating) -> Rating | None:
    if None not in (ours.score, theirs.score) and ours.score != theirs.score:
        return None
    typos, clarity = _both(ours.typos, theirs.typos), _both(ours.clarity, theirs.clarity)
    return replace(ours, score=ours.score or theirs.score, typos=typos, clarity=clarity)


def _both(ours: str, theirs: str) -> str:
    """Join two texts, each line once."""
    return "\n".join(dict.fromkeys(line for text in (ours, theirs) for line in text.splitlines()))


# --- keys ------------------------------------------------------------------------------------------------------------


def find_key(sheets: Sequence[Path]) -> Path:
    """Find the key beside the first sheet: the one of its name, or the only one in the folder."""
    beside = key_path(sheets[0])
    if beside.is_file():
        return beside
    there = sorted(sheets[0].parent.glob(f"*{KEY}"))
    if len(there) != 1:
        names = ", ".join(map(str, there)) or "none"
        raise UsageError(f"use --key FILE to name the key of the sheet; keys in {sheets[0].parent}: {names}")
    return there[0]


def read_key(path: Path) -> dict[str, Pair]:
    """Read the key to a sheet."""
    odd, faults = RowFaults("skip"), []
    found: dict[str, Pair] = {}
    for place, row in read(path, odd, Layout(format="jsonl")):
        pair = _pair(row)
        if pair is None or pair.id in found:
            faults.append(f"{place}: " + ("invalid row" if pair is None else f"duplicate id: {pair.id!r}"))
        else:
            found[pair.id] = pair
    _settle([*odd.shown, *faults, *_surrogates(path, odd)], f"not the key of a sheet: {path}")
    if not found:
        raise SourceError(f"the key is empty: {path}")
    return found


def _pair(row: Row) -> Pair | None:
    texts = {name: row.get(name) for name in ("id", "task", "item", "learner", "cell", "side", "settled")}
    shots, seed = row.get("shots"), row.get("seed")
    good = all(isinstance(v, str) for v in texts.values()) and type(seed) is int
    good = good and (type(shots) is int or shots in get_args(NamedShots))
    sides = ("",) if texts["settled"] else get_args(Side)
    if not good or texts["settled"] not in get_args(Settled) or texts["side"] not in sides:
        return None
    return Pair(**texts, shots=shots, seed=seed)  # type: ignore[arg-type]
