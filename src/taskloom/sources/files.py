"""CSV, TSV, JSONL, Parquet and text files, plain or compressed, to rows; each fault with its file, line and column."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from ..errors import SourceError, UnknownNameError, UsageError, nearest
from ..limits import OPENERS, UnpackedError, opened, parse_json, refuse_no_file
from ..messages import Note
from ..texts import LONE_SURROGATE, counted, without_surrogates

OnError: TypeAlias = Literal["stop", "skip"]
Row: TypeAlias = dict[str, Any]
Place: TypeAlias = str  # "papers.csv:12"

MAX_LINE = 16 << 20  # characters in one line, and in one quoted cell of several lines
MAX_LIST = 256 << 20  # characters of a JSON list, which is read whole
MAX_SIZE = 64 << 30  # characters in one file once it is unpacked: a guard against compressed bombs
SHOWN_FAULTS = 20
FIRST_LINE = 1 << 12  # bytes in which NULs are looked for
BEGINNING = 1 << 20  # bytes by which the encoding of a file is guessed
NO_DELIMITERS = '"\r\n\0'
DELIMITERS = ",;\t|"  # the first of those that a header has most of
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
MARK = "\ufeff"  # of UTF-8, which may stand twice
CARRIAGE = "a carriage return within a line; end lines with a line feed, or quote the cell"
SAVED, BY_OPTION = "save it as UTF-8; it may be", "try --file-encoding"  # before the name of another encoding
SIGNATURES = {  # what files begin with that are often named for others
    b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "Zstandard",
    b"PK\x03\x04": "zip or Excel", b"\xd0\xcf\x11\xe0": "Excel", b"PAR1": "Parquet", b"ARROW1": "Arrow", b"%PDF": "PDF",
    b"\x89PNG": "PNG", b"\xff\xd8\xff": "JPEG", b"SQLite format": "SQLite", b"\x7fELF": "ELF",
}  # fmt: skip
CONTROL = re.compile("[\0-\x08\x0e-\x1a]")  # which no text has
BAD_BYTE = re.compile("[\udc80-\udcff]")  # how a byte that can't be decoded comes out of "surrogateescape"


@dataclass(slots=True)
class RowFaults:
    """What was wrong with the rows read so far: kept to be shown at once, or skipped and counted."""

    on_error: OnError | Literal[""] = ""  # none: they stop, and no option says otherwise
    shown: list[str] = field(default_factory=list)
    count: int = 0
    other_encoding: str = SAVED  # the remedy where a file is in another one, which is named after it
    has_delimiter: bool = False  # whether --delimiter is a remedy
    surrogates: int = 0  # rows with a lone surrogate, replaced by U+FFFD: counted, but no fault
    spaces: Counter[tuple[str, str]] = field(default_factory=Counter)  # (field, label) with spaces that are not kept

    def note_spaces(self, labels: Mapping[str, Any]) -> None:
        """Count labels that are written with more spaces than they are read with."""
        self.spaces.update(
            (f, raw) for f, raw in labels.items() if isinstance(raw, str) and raw != " ".join(raw.split())
        )

    def add(self, place: Place, what: str) -> None:
        """Note a fault; when faults stop the reading, the reading stops at the twentieth."""
        self.count += 1
        if len(self.shown) < SHOWN_FAULTS:
            self.shown.append(f"{place}: {what}")
        elif self.on_error != "skip":
            self.settle()

    def settle(self) -> None:
        """Refuse the data if it has faults that were not to be skipped."""
        if self.count and self.on_error != "skip":
            first = f", the first {SHOWN_FAULTS} of more" if self.count > SHOWN_FAULTS else ""
            remedy = " (--on-error skip drops them)" if self.on_error else ""
            raise SourceError(f"rows with errors{first}{remedy}:", self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a file is written, where its name does not say it all."""

    format: str = ""  # csv, tsv, jsonl, json, parquet or txt; else by the file's ending
    encoding: str = "utf-8-sig"  # UTF-8, with or without its mark
    header: tuple[str, ...] = ()  # column names of a file that has no header line
    delimiter: str = ","  # between the cells of a CSV file

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in NO_DELIMITERS:
            raise UsageError(f"a delimiter must be one character, and no quote or end of a line: {self.delimiter!r}")


def read(path: Path, faults: RowFaults, layout: Layout | None = None) -> Iterator[tuple[Place, Row]]:
    """Yield each row with its place; what can't be read goes to `faults`."""
    layout = layout or Layout()
    refuse_name(path)
    refuse_no_file(path)
    if path.stat().st_size == 0:
        raise SourceError(Note.of("file-empty", path=path))
    name = layout.format or format_of(path)
    if name not in FORMATS:
        raise UnknownNameError("file format", name, FORMATS)
    if name != "parquet" and path.suffix.lower() not in OPENERS:
        _refuse_binary(path, name)
    if name != "parquet":
        _refuse_nuls(path, layout, faults, has_header=name in ("csv", "tsv") and not layout.header)
    return FORMATS[name](path, faults, layout)


def _refuse_binary(path: Path, name: str) -> None:
    """Refuse a file that begins as those of another format do."""
    with unreadable(path), path.open("rb") as file:
        begin = file.read(16)
    if kind := next((kind for mark, kind in SIGNATURES.items() if begin.startswith(mark)), ""):
        raise SourceError(Note.of("file-of-other-format", kind=kind, format=name, path=path))


def _refuse_nuls(path: Path, layout: Layout, faults: RowFaults, *, has_header: bool) -> None:
    """Refuse UTF-16 that has no mark, and any header with NUL characters; those of rows are theirs."""
    first = b""
    with suppress(SourceError), unreadable(path), opened(path) as file:  # what can't be unpacked is refused later
        first = file.read(FIRST_LINE).partition(b"\n")[0]
    if b"\0" not in first or first.startswith(UTF_16_MARKS) or layout.encoding.lower().startswith(("utf-16", "utf-32")):
        return
    if likely := _unmarked(first):
        raise SourceError(Note.of("file-unmarked", remedy=faults.other_encoding, encoding=likely, path=path))
    if has_header and _decodes(first, layout.encoding):
        raise SourceError(Note.of("file-of-nuls", path=path))


def _unmarked(line: bytes) -> str:
    """Guess which UTF-16 a line is in that has NULs: of Latin letters, each second byte is one.

    >>> _unmarked("id,text".encode("utf-16-le")), _unmarked("id,text".encode("utf-16-be")), _unmarked(bytes(9))
    ('utf-16-le', 'utf-16-be', '')
    """
    even, odd = line[::2].count(0), line[1::2].count(0)
    if (even and odd) or 3 * (even + odd) < len(line):
        return ""
    return "utf-16-be" if even else "utf-16-le"


def refuse_name(path: Path) -> None:
    """Refuse a file whose name is not UTF-8: no suite, report or table could hold it."""
    if LONE_SURROGATE.search(str(path)):
        raise SourceError(f"the name of the file is not UTF-8; rename it: {str(path)!r}")


def format_of(path: Path) -> str:
    """Tell a file's format by its ending.

    >>> format_of(Path("papers.csv.gz"))
    'csv'
    """
    name = path.name.lower()
    for ending in OPENERS:
        name = name.removesuffix(ending)
    if (found := ENDINGS.get(Path(name).suffix)) is None:
        raise UsageError(f"unknown type of file; known: {', '.join(ENDINGS)}, also with .gz or .bz2: {path}")
    return found


def lines(path: Path, faults: RowFaults, encoding: str) -> Iterator[tuple[int, str, bool]]:
    """Yield numbered lines without their ends, and whether each is good; a bad or over-long one is noted as a fault."""
    number = size = 0
    ended = True  # whether the next piece begins a line
    try:
        with _text(path, encoding) as text:
            while piece := text.readline(MAX_LINE + 1):
                size += len(piece)
                if size > MAX_SIZE:
                    raise SourceError(f"{path}: larger than {MAX_SIZE:,} characters when unpacked")
                begins, ended = ended, piece.endswith("\n")
                if not begins:
                    continue
                number += 1
                if len(piece) > MAX_LINE and not ended:
                    faults.add(f"{path.name}:{number}", f"line is longer than {MAX_LINE:,} characters")
                    yield number, "", False
                elif bad := BAD_BYTE.search(piece):
                    faults.add(f"{path.name}:{number}:{bad.start() + 1}", _undecoded(piece, encoding, faults))
                    yield number, piece.rstrip("\r\n"), False
                else:
                    yield number, piece.rstrip("\r\n"), True
    except (OSError, EOFError, UnicodeError, zlib.error) as error:
        raise SourceError(f"{path}:{number + 1}: can't be read further ({error})") from None


@contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """Say which file can't be read."""
    try:
        yield
    except (OSError, EOFError, UnicodeError, zlib.error) as error:
        raise SourceError(f"{path}: can't be read ({error})") from None


def _text(path: Path, encoding: str) -> IO[str]:
    try:
        if codecs.lookup(encoding).name == "utf-8":
            encoding = "utf-8-sig"
        return io.TextIOWrapper(opened(path), encoding=encoding, errors="surrogateescape", newline="\n")
    except LookupError:
        raise UsageError(f"unknown encoding; try utf-8, gb18030 or latin-1: {encoding!r}") from None


def encoding_of(path: Path, declared: str) -> str:
    """Give UTF-8 where the whole file is valid UTF-8 and not just ASCII, else the encoding that is declared for it."""
    if declared == Layout().encoding:
        return declared
    decoder, size, beyond = codecs.getincrementaldecoder("utf-8")(), 0, False
    try:
        with unreadable(path), opened(path) as file:
            while (raw := file.read(BEGINNING)) and size <= MAX_SIZE:
                size, beyond = size + len(raw), beyond or not raw.isascii()
                decoder.decode(raw)
        decoder.decode(b"", final=True)
    except (UnicodeDecodeError, SourceError):
        return declared
    return Layout().encoding if beyond and size <= MAX_SIZE else declared


def _undecoded(line: str, encoding: str, faults: RowFaults) -> str:
    """Say what is wrong with a line that is in another encoding, or in none."""
    likely = _likely(line, encoding)
    if CONTROL.search(line) and likely != "utf-16":
        return "neither text nor a known encoding; is it a binary file?"
    return f"not {encoding.removesuffix('-sig')}; {faults.other_encoding} {likely}"


def _likely(line: str, encoding: str) -> str:
    """Guess which encoding a line is in: Chinese has runs of high bytes, Latin letters with accents stand alone."""
    raw = line.encode(encoding.removesuffix("-sig"), "surrogateescape")
    if raw.startswith(UTF_16_MARKS):
        return "utf-16"
    runs = re.findall(rb"[\x80-\xff]+", raw)
    likely = ["utf-8", "gb18030"] if sum(map(len, runs)) >= 2 * len(runs) else ["utf-8"]
    return next((name for name in likely if _decodes(raw, name)), "latin-1")


def likely_layout(path: Path) -> Layout:
    """Guess the encoding of a file, and what is between the cells of its header if it is CSV, by its beginning."""
    if not path.is_file() or (kind := format_of(path)) == "parquet":
        return Layout()
    with unreadable(path), opened(path) as file:
        raw = file.read(BEGINNING)
    text = raw.decode("utf-8", "surrogateescape")
    whole = text[:-4] if len(raw) == BEGINNING else text  # the last character may be cut
    usual = Layout()
    bad = next((line for line in whole.splitlines() if BAD_BYTE.search(line)), "")
    encoding = _likely(bad, "utf-8") if bad else usual.encoding
    if raw.startswith(UTF_16_MARKS):
        encoding = "utf-16"
    header = raw.decode(encoding, "replace").partition("\n")[0]
    likely = max(DELIMITERS, key=header.count) if kind == "csv" else usual.delimiter
    return Layout(encoding=encoding, delimiter=likely)


def _decodes(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _delimited(path: Path, faults: RowFaults, layout: Layout, *, tabs: bool) -> Iterator[tuple[Place, Row]]:
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    begin, spoiled = 0, False  # the line at which the row being read begins, and whether one of its lines is bad

    def numbered() -> Iterator[str]:
        nonlocal begin, spoiled
        for number, line, good in lines(path, faults, layout.encoding):
            begin, spoiled = begin or number, spoiled or not good
            yield line + "\n"

    style: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if tabs else {"delimiter": layout.delimiter}
    parsed = csv.reader(numbered(), strict=True, **style)
    header = _checked_header(list(layout.header), path)
    while True:
        begin, spoiled = 0, False
        cells, wrong = [], ""
        try:
            cells = next(parsed)
        except StopIteration:
            return
        except csv.Error as error:
            if "unexpected end of data" in str(error):  # all that follows was swallowed: no row to be skipped
                raise SourceError(f"{path}:{begin}: a quote is never closed; the rest can't be read") from None
            wrong = CARRIAGE if "new-line character" in str(error) else str(error)
        place = f"{path.name}:{begin}"
        if header and cells and len(cells) != len(header):
            wrong = f"{counted(len(cells), 'cell')}, the header has {len(header)}"
        if wrong and not spoiled:
            faults.add(place, wrong)
        if not header and (wrong or spoiled):
            raise SourceError(f"{path}: the header can't be read:", faults.shown[-1:])
        if not header:
            header = _checked_header(cells, path)
            _refuse_one_column(header, path, faults, tabs=tabs)
        elif cells and not wrong and not spoiled:
            yield place, dict(zip(header, cells, strict=True))


def _checked_header(cells: list[str], path: Path) -> list[str]:
    names = [cell.strip().lstrip(MARK) for cell in cells]
    if doubles := sorted(name for name, count in Counter(names).items() if count > 1):
        shown = ", ".join(name or "(no name)" for name in doubles[:SHOWN_FAULTS])
        raise SourceError(f"{path}: duplicate columns in the header: {shown}")
    return names


def _refuse_one_column(names: Sequence[str], path: Path, faults: RowFaults, *, tabs: bool) -> None:
    """Refuse a header that is one column by what this file is parted at, and several by another delimiter."""
    other = next((c for c in ";|\t" if c in names[0]), "") if len(names) == 1 else ""
    if other and faults.has_delimiter and not tabs:
        raise SourceError(Note.of("column-single", name=names[0][:60], delimiter=other, path=path))
    if other:
        saved = "tabs" if tabs else "commas"
        raise SourceError(Note.of("column-single-saved", name=names[0][:60], delimiter=saved, path=path))


def _json(path: Path, faults: RowFaults, layout: Layout) -> Iterator[tuple[Place, Row]]:
    """Read a list of objects, or objects that stand one on each line."""
    with unreadable(path), _text(path, layout.encoding) as text:
        begins = next((line.lstrip()[:1] for line in iter(partial(text.readline, MAX_LINE), "") if line.strip()), "")
    return _json_list(path, layout) if begins == "[" else _jsonl(path, faults, layout)


def _json_list(path: Path, layout: Layout) -> Iterator[tuple[Place, Row]]:
    try:
        with _text(path, layout.encoding) as text:
            content = text.read(MAX_LIST + 1)
        if len(content) > MAX_LIST:
            raise SourceError(
                f"{path}: a JSON list of more than {MAX_LIST:,} characters; write one object a line (.jsonl)"
            )
        rows = parse_json(content)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise SourceError(f"{path}: not JSON ({error})") from None
    if wrong := next((n for n, row in enumerate(rows, 1) if not isinstance(row, dict)), 0):
        raise SourceError(f"{path}: a list of JSON objects is needed, and item {wrong} is none")
    return ((f"{path.name}: item {n}", _replaced(row)) for n, row in enumerate(rows, 1))


def _jsonl(path: Path, faults: RowFaults, layout: Layout) -> Iterator[tuple[Place, Row]]:
    for number, line, good in lines(path, faults, layout.encoding):
        place = f"{path.name}:{number}"
        if not good or not line.strip():
            continue
        try:
            row = parse_json(line)
            if "\\u" in line and LONE_SURROGATE.search(json.dumps(row, ensure_ascii=False)):
                row = _replaced(row)
                faults.surrogates += 1
        except json.JSONDecodeError as error:
            faults.add(f"{place}:{error.colno}", f"invalid JSON ({error.msg})")
        except ValueError as error:
            faults.add(place, f"invalid JSON ({error})")
        else:
            if isinstance(row, dict):
                yield place, row
            else:
                faults.add(place, "must be a JSON object")


def _plain_text(path: Path, faults: RowFaults, layout: Layout) -> Iterator[tuple[Place, Row]]:
    """Read a text a paragraph where there are blank lines between texts, or else a text a line."""
    is_single = not _has_paragraphs(path, layout)
    part: list[str] = []
    begin = size = 0
    whole = True
    for number, line, good in itertools.chain(lines(path, faults, layout.encoding), [(0, "", True)]):
        if filled := bool(line.strip()):
            begin, size, whole = begin or number, size + len(line), whole and good
            part += [line] if size <= MAX_LINE else []
        if begin and (is_single or not filled):
            if size > MAX_LINE:
                faults.add(f"{path.name}:{begin}", f"paragraph is longer than {MAX_LINE:,} characters")
            elif whole:
                yield f"{path.name}:{begin}", {"text": "\n".join(part)}
            part, begin, size, whole = [], 0, 0, True


def _has_paragraphs(path: Path, layout: Layout) -> bool:
    """Tell whether a blank line stands between two that are not."""
    filled = blank = False
    for _, line, _ in lines(path, RowFaults("skip"), layout.encoding):
        if not line.strip():
            blank = filled
        elif blank:
            return True
        else:
            filled = True
    return False


def refuse_missing(wanted: Iterable[str], seen: Collection[str], faults: Sequence[str] = ()) -> None:
    """Refuse columns that never came, with the nearest of those that did."""
    if not seen:
        return
    if missing := sorted(name for name in wanted if name not in seen):
        raise SourceError("; ".join(f"unknown column: {name!r}; {nearest(name, seen)}" for name in missing), faults)


def _replaced(value: Any) -> Any:
    """Give a value of JSON without half characters, in its keys either."""
    if isinstance(value, dict):
        return {without_surrogates(key): _replaced(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_replaced(part) for part in value]
    return without_surrogates(value) if isinstance(value, str) else value


def _parquet(path: Path, faults: RowFaults, layout: Layout) -> Iterator[tuple[Place, Row]]:  # noqa: ARG001 (one signature)
    import pyarrow as pa

    from .parquet import LimitedParquet

    try:
        limited = LimitedParquet(path)
        with limited.file as file:
            number = 0
            _checked_header(file.schema_arrow.names, path)
            for batch in limited.batches():
                for row in _pylist(batch):
                    number += 1
                    yield f"{path.name}: row {number}", row
    except UnpackedError as error:
        raise SourceError(f"{path}: {error}; write it as CSV or JSON Lines if that is meant") from None
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        LookupError,
        ArithmeticError,
    ) as error:  # of texts not in UTF-8, too
        raise SourceError(f"{path}: invalid Parquet file ({error})") from None


def _pylist(batch: Any) -> list[Row]:
    """Give the rows of a batch; times that Python can't hold, such as days after the year 9999, come as texts."""

    def listed(column: Any) -> list[Any]:
        try:
            return list(column.to_pylist())
        except (ArithmeticError, ValueError, LookupError):  # of time zones that are not known, too
            return list(_times_as_texts(column).to_pylist())

    names, columns = batch.schema.names, [listed(column) for column in batch.columns]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _times_as_texts(column: Any) -> Any:
    """Write the times of a column as texts, those within lists and structs too."""
    import pyarrow as pa

    def changed(of: Any, change: Callable[[Any], Any]) -> Any:
        fields = [of.field(n).with_type(changed(of.field(n).type, change)) for n in range(of.num_fields)]
        if pa.types.is_struct(of):
            return pa.struct(fields)
        if pa.types.is_map(of):
            return pa.map_(changed(of.key_type, change), changed(of.item_type, change))
        return pa.list_(*fields) if fields else change(of) if pa.types.is_temporal(of) else of

    without_zones = changed(column.type, lambda of: pa.timestamp(of.unit) if pa.types.is_timestamp(of) else of)
    return column.cast(without_zones).cast(changed(column.type, lambda _: pa.string()))


FORMATS: Mapping[str, Callable[[Path, RowFaults, Layout], Iterator[tuple[Place, Row]]]] = {
    "csv": partial(_delimited, tabs=False),
    "tsv": partial(_delimited, tabs=True),
    "jsonl": _jsonl,
    "json": _json,
    "parquet": _parquet,
    "txt": _plain_text,
}
ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".parquet": "parquet", ".txt": "txt",
}  # fmt: skip
