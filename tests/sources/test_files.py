from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskloom import sources
from taskloom.errors import SourceError, UnknownNameError, UsageError
from taskloom.messages import Note
from taskloom.sources import files
from taskloom.sources.files import MAX_LINE, SHOWN_FAULTS, Layout, Row, RowFaults, format_of, read

Write: TypeAlias = Callable[[str, bytes | str], Path]

PAPERS = [{"title": "Trees, and graphs", "topic": "数学"}, {"title": "Red dwarfs", "topic": "astronomy"}]
CSV = 'title,topic\n"Trees, and graphs",数学\nRed dwarfs,astronomy\n'


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


def rows_of(path: Path, layout: Layout | None = None) -> list[Row]:
    faults = RowFaults()
    rows = [row for _, row in read(path, faults, layout)]
    faults.settle()
    return rows


def skipping(path: Path, layout: Layout | None = None) -> tuple[list[Row], list[str]]:
    faults = RowFaults("skip")
    rows = [row for _, row in read(path, faults, layout)]
    faults.settle()
    return rows, faults.shown


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", CSV.encode()),
        ("p.CSV", CSV.encode()),
        ("p.tsv", CSV.replace(",数", "\t数").replace("fs,", "fs\t").replace("e,", "e\t").replace('"', "").encode()),
        ("p.tab", b"title\ttopic\nTrees, and graphs\t\xe6\x95\xb0\xe5\xad\xa6\nRed dwarfs\tastronomy"),
        ("p.jsonl", "\n".join(json.dumps(row) for row in PAPERS).encode()),
        ("p.ndjson", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in PAPERS).encode()),
        ("p.csv.gz", gzip.compress(CSV.encode())),
        ("p.csv.bz2", bz2.compress(CSV.encode())),
        ("p.jsonl.gz", gzip.compress("\n\n".join(json.dumps(row) for row in PAPERS).encode())),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_format_gives_the_same_rows(write: Write, name: str, content: bytes) -> None:
    assert rows_of(write(name, content)) == PAPERS


def test_parquet_gives_the_same_rows(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(PAPERS), tmp_path / "p.parquet")
    faults = RowFaults()
    assert list(read(tmp_path / "p.parquet", faults)) == [
        ("p.parquet: row 1", PAPERS[0]),
        ("p.parquet: row 2", PAPERS[1]),
    ]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"one\ntwo\n", [("p.txt:1", {"text": "one"}), ("p.txt:2", {"text": "two"})]),
        (b"\none\ntwo\n\nthree\n\n", [("p.txt:2", {"text": "one\ntwo"}), ("p.txt:5", {"text": "three"})]),
        (b"one\n\xff\n\nthree", [("p.txt:4", {"text": "three"})]),
        (b"\n\n", []),
    ],
)
def test_a_text_file_has_a_text_a_line_or_a_paragraph(
    write: Write, content: bytes, rows: list[tuple[str, dict[str, str]]]
) -> None:
    faults = RowFaults("skip")
    assert list(read(write("p.txt", content), faults)) == rows
    assert faults.count == (b"\xff" in content)


def test_a_layout_names_the_format_of_a_file_with_another_ending(write: Write) -> None:
    assert rows_of(write("p.txt", CSV), Layout(format="csv")) == PAPERS


def test_a_layout_gives_the_header_of_a_file_without_one(write: Write) -> None:
    assert rows_of(write("p.csv", "1,2\n3,4\n"), Layout(header=("a", "b"))) == [
        {"a": "1", "b": "2"},
        {"a": "3", "b": "4"},
    ]


def test_sources_rows_reads_a_file_by_its_path(write: Write) -> None:
    assert [row for _, row in sources.rows(str(write("p.csv", CSV)), RowFaults())] == PAPERS


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_data(write: Write, name: str) -> None:
    text = '{"title": "x"}\n' if name == "p.jsonl" else "title\nx\n"
    assert rows_of(write(name, codecs.BOM_UTF8 + text.encode())) == [{"title": "x"}]


def test_a_byte_order_mark_is_no_part_of_the_data_when_utf_8_is_asked_for(write: Write) -> None:
    path = write("p.csv", codecs.BOM_UTF8 + b"title\nx\n")
    assert rows_of(path, Layout(encoding="utf-8")) == [{"title": "x"}]


def test_a_quoted_cell_holds_commas_quotes_and_newlines(write: Write) -> None:
    path = write("p.csv", 'a,b\n1,"x, ""y""\n\nz"\n2,w\n')
    assert rows_of(path) == [{"a": "1", "b": 'x, "y"\n\nz'}, {"a": "2", "b": "w"}]


def test_windows_line_ends_are_line_ends(write: Write) -> None:
    assert rows_of(write("p.csv", 'a,b\r\n1,"x\r\ny"\r\n')) == [{"a": "1", "b": "x\ny"}]
    assert rows_of(write("p.tsv", "a\tb\r\n1\t2\r\n")) == [{"a": "1", "b": "2"}]
    assert rows_of(write("p.jsonl", '{"a": 1}\r\n{"a": 2}\r\n')) == [{"a": 1}, {"a": 2}]


def test_blank_lines_are_passed_over_and_places_still_count_them(write: Write) -> None:
    assert list(read(write("p.csv", "\na,b\n\n1,2\n"), RowFaults())) == [("p.csv:4", {"a": "1", "b": "2"})]


def test_quotes_mean_nothing_in_tsv(write: Write) -> None:
    assert rows_of(write("p.tsv", 'a\tb\n"x\ty"\n')) == [{"a": '"x', "b": 'y"'}]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs"]), max_size=20)] * 2),
        max_size=5,
    )
)
def test_what_csv_writer_wrote_is_read_back(tmp_path: Path, cells: list[tuple[str, str]]) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([("a", "b"), *cells])
    path = tmp_path / "p.csv"
    path.write_bytes(out.getvalue().encode())
    expected = [tuple(re.sub("\r+\n", "\n", cell) for cell in pair) for pair in cells]  # line ends come out as \\n
    assert [(row["a"], row["b"]) for row in rows_of(path)] == expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(min_size=1, max_size=200), st.sampled_from(["csv", "tsv", "jsonl", "parquet", "csv.gz", "csv.bz2"]))
def test_no_bytes_at_all_escape_as_another_error(tmp_path: Path, content: bytes, ending: str) -> None:
    path = tmp_path / f"p.{ending}"
    path.write_bytes(content)
    try:
        skipping(path)
    except SourceError as error:
        assert str(path) in str(error)  # noqa: PT017 (the other outcome, no error, is right too)


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16", "latin-1"])
def test_a_file_in_another_encoding_is_read_when_it_is_named(write: Write, encoding: str) -> None:
    text = "title\nÉtude\n" if encoding == "latin-1" else "title\n红矮星“研究”\n"
    path = write("p.csv", text.encode(encoding))
    assert rows_of(path, Layout(encoding=encoding)) == [{"title": text.split()[1]}]


def hint_for(write: Write, text: str, encoding: str) -> str:
    _, shown = skipping(write("p.jsonl", f'{{"title": "{text}"}}\n'.encode(encoding)))
    return shown[0].partition(": ")[2]


@pytest.mark.parametrize(
    ("text", "encoding"), [("红矮星的研究", "gb18030"), ("caf\xe9", "latin-1"), ("红矮星", "utf-16")]
)
def test_the_hint_for_bytes_that_are_not_utf_8_names_the_right_encoding(write: Write, text: str, encoding: str) -> None:
    assert hint_for(write, text, encoding) == f"not utf-8; save it as UTF-8; it may be {encoding}"


def test_the_hint_knows_chinese_punctuation(write: Write) -> None:
    assert hint_for(write, "他说“你好”——然后走了……", "gb18030").endswith("gb18030")


@pytest.mark.parametrize("text", ["naïve", "Zürich", "une idée créée"])
def test_the_hint_knows_accents_inside_words(write: Write, text: str) -> None:
    assert hint_for(write, text, "latin-1").endswith("latin-1")


def test_the_hint_for_utf_8_read_as_something_else_is_utf_8(write: Write) -> None:
    _, shown = skipping(write("p.csv", "a\n你好\n"), Layout(encoding="ascii"))
    assert shown == ["p.csv:2:1: not ascii; save it as UTF-8; it may be utf-8"]


def test_a_bad_byte_is_placed_by_file_line_and_column(write: Write) -> None:
    rows, shown = skipping(write("p.csv", b"a,b\n1,2\nab,\xe9\n3,4\n"))
    assert rows == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    assert shown == ["p.csv:3:4: not utf-8; save it as UTF-8; it may be latin-1"]


def test_a_bad_byte_inside_a_cell_of_several_lines_takes_the_whole_row(write: Write) -> None:
    rows, shown = skipping(write("p.csv", b'a,b\n1,"x\n\xff\ny"\n2,z\n'))
    assert rows == [{"a": "2", "b": "z"}]
    assert len(shown) == 1


def test_a_header_that_cannot_be_decoded_is_told_and_no_other_line_takes_its_place(write: Write) -> None:
    path = write("p.csv", "标题,b\nx,1\ny,2\n".encode("gb18030"))
    with pytest.raises(SourceError, match=r"p\.csv:1:1: not utf-8; save it as UTF-8; it may be gb18030"):
        skipping(path)


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz"])
def test_an_unknown_encoding_is_named(write: Write, name: str) -> None:
    content = gzip.compress(CSV.encode()) if name.endswith("gz") else CSV.encode()
    with pytest.raises(UsageError, match=r"unknown encoding.*'utf-9'"):
        rows_of(write(name, content), Layout(encoding="utf-9"))


def test_a_ragged_line_is_a_fault_of_its_line(write: Write) -> None:
    rows, shown = skipping(write("p.csv", "a,b\n1\n1,2,3\n4,5\n"))
    assert rows == [{"a": "4", "b": "5"}]
    assert shown == ["p.csv:2: 1 cell, the header has 2", "p.csv:3: 3 cells, the header has 2"]


def test_text_after_a_closing_quote_is_a_fault_of_its_line(write: Write) -> None:
    rows, shown = skipping(write("p.csv", 'a,b\n"1"x,2\n3,4\n'))
    assert rows == [{"a": "3", "b": "4"}]
    assert [fault.partition(": ")[0] for fault in shown] == ["p.csv:2"]


@pytest.mark.parametrize("read", [rows_of, skipping])
def test_an_unclosed_quote_is_refused_where_its_row_begins(write: Write, read: Callable[[Path], object]) -> None:
    """It swallows all that follows, which no skipping of one row could make good."""
    with pytest.raises(SourceError, match=r"p\.csv:3: a quote is never closed"):
        read(write("p.csv", 'a,b\n1,2\n3,"x\n4,y\n5,z\n'))


def test_another_delimiter_is_hinted_at_and_can_be_set(write: Write) -> None:
    file = write("p.csv", "a;b\n1;2\n")
    with pytest.raises(SourceError) as told:
        list(read(file, RowFaults(has_delimiter=True)))
    assert told.value.note == Note.of("column-single", name="a;b", delimiter=";", path=file)
    assert [row for _, row in read(file, RowFaults(), Layout(delimiter=";"))] == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(("name", "delimiter"), [("p.csv", "commas"), ("p.tsv", "tabs")])
def test_where_no_option_sets_a_delimiter_none_is_hinted_at(write: Write, name: str, delimiter: str) -> None:
    file = write(name, "a;b\n1;2\n")
    with pytest.raises(SourceError) as told:
        rows_of(file)
    assert told.value.note == Note.of("column-single-saved", name="a;b", delimiter=delimiter, path=file)


def test_a_column_named_twice_is_refused(write: Write) -> None:
    with pytest.raises(SourceError, match="duplicate columns in the header: a"):
        rows_of(write("p.csv", "a,b, a\n1,2,3\n"))


def test_a_column_named_twice_in_a_layout_is_refused(write: Write) -> None:
    with pytest.raises(SourceError, match="duplicate columns in the header: a"):
        rows_of(write("p.csv", "1,2\n"), Layout(header=("a", "a")))


def test_a_parquet_column_named_twice_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "p.parquet")
    with pytest.raises(SourceError, match="duplicate columns in the header: a"):
        rows_of(tmp_path / "p.parquet")


def test_bad_json_is_placed_by_line_and_column_and_the_good_lines_are_kept(write: Write) -> None:
    lines = ['{"a": 1}', '{"a": x}', "[1]", "3", '{"a": ' + "1" * 5000 + "}", "[" * 200_000, '{"a": 2}']
    rows, shown = skipping(write("p.jsonl", "\n".join(lines)))
    assert rows == [{"a": 1}, {"a": 2}]
    assert [fault.partition(": ")[0] for fault in shown] == [
        "p.jsonl:2:7",
        "p.jsonl:3",
        "p.jsonl:4",
        "p.jsonl:5",
        "p.jsonl:6",
    ]
    assert "must be a JSON object" in shown[1]


def test_half_a_character_in_json_is_replaced_and_its_row_counted_since_no_file_could_hold_it(write: Write) -> None:
    faults = RowFaults()
    path = write("p.jsonl", '{"a": "x\\ud83d"}\n{"a": "\\ud83d\\ude00"}\n{"\\udc00": [{"b": ["\\ud83d"]}, null, 1]}\n')
    rows = [row for _, row in read(path, faults)]
    assert rows == [{"a": "x\ufffd"}, {"a": "😀"}, {"\ufffd": [{"b": ["\ufffd"]}, None, 1]}]
    assert (faults.surrogates, faults.count) == (2, 0)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.jsonl", "p.txt", "p.csv.gz"])
def test_utf_16_without_its_mark_is_refused_with_its_name(write: Write, name: str, encoding: str) -> None:
    content = '{"id": 1}\n{"id": 2}\n'.encode(encoding)
    path = write(name, gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(SourceError) as told:
        list(read(path, RowFaults("skip", other_encoding=files.BY_OPTION)))
    assert told.value.note == Note.of("file-unmarked", remedy=files.BY_OPTION, encoding=encoding, path=path)
    assert len(list(read(path, RowFaults(), Layout(encoding=encoding)))) == (1 if "sv" in name else 2)


@pytest.mark.parametrize("content", [bytes(1000), b"a,\0b\n1,2\n"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_a_header_with_nuls_is_refused(write: Write, content: bytes, encoding: str) -> None:
    path = write("p.csv", content)
    with pytest.raises(SourceError) as told:
        list(read(path, RowFaults("skip"), Layout(encoding=encoding)))
    assert told.value.note == Note.of("file-of-nuls", path=path)


def test_nul_bytes_do_not_end_the_reading(write: Write) -> None:
    assert rows_of(write("p.csv", b"a,b\n1,x\0y\n2,z\n"))[1] == {"a": "2", "b": "z"}
    rows, shown = skipping(write("p.jsonl", b'{"a": "x\0y"}\n\0\n{"a": 1}\n'))
    assert rows == [{"a": 1}]
    assert len(shown) == 2


@pytest.mark.parametrize("name", ["p.xls", "p", "p.gz", "p.csv.zip"])
def test_a_file_of_unknown_kind_is_named(write: Write, name: str) -> None:
    with pytest.raises(UsageError, match=rf"unknown type of file.*{name}"):
        rows_of(write(name, "x"))


def test_an_unknown_format_has_its_nearest_names(write: Write) -> None:
    with pytest.raises(UnknownNameError, match=r"'jsonn'.*did you mean json or jsonl"):
        rows_of(write("p.csv", CSV), Layout(format="jsonn"))


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such file: .*p\.csv"):
        read(tmp_path / "p.csv", RowFaults())
    with pytest.raises(UsageError, match=f"a folder, not a file: {re.escape(str(tmp_path))}"):
        read(tmp_path, RowFaults())


def test_an_empty_file_is_refused_and_one_with_only_a_header_has_no_rows(write: Write) -> None:
    with pytest.raises(SourceError, match="the file is empty"):
        read(write("p.csv", ""), RowFaults())
    assert rows_of(write("h.csv", "a,b\n")) == []


@pytest.mark.parametrize("ending", ["csv.gz", "csv.bz2"])
def test_a_cut_archive_and_one_that_is_none_are_refused_with_their_path(write: Write, ending: str) -> None:
    pack = gzip.compress if ending == "csv.gz" else bz2.compress
    for content in (pack(CSV.encode())[:-12], CSV.encode()):
        with pytest.raises(SourceError, match=rf"p\.{ending}:\d+: can't be read further"):
            rows_of(write(f"p.{ending}", content))


def test_a_broken_gzip_stream_is_refused_with_its_path(write: Write) -> None:
    with pytest.raises(SourceError, match=r"p\.csv\.gz:1: can't be read further"):
        rows_of(write("p.csv.gz", gzip.compress(b"")[:10] + b"\x07" * 20))


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1", CSV.encode()], ids=range(3))
def test_what_is_not_parquet_is_refused_with_its_path(write: Write, content: bytes) -> None:
    with pytest.raises(SourceError, match=r"p\.parquet: invalid Parquet file"):
        rows_of(write("p.parquet", content))


def test_a_parquet_text_that_is_not_utf_8_is_a_source_error(tmp_path: Path) -> None:
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    pq.write_table(pa.table({"a": bad}), tmp_path / "p.parquet")
    with pytest.raises(SourceError, match=r"p\.parquet"):
        rows_of(tmp_path / "p.parquet")


def test_an_over_long_line_is_a_fault_and_the_lines_after_it_are_read(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 20)
    rows, shown = skipping(write("p.csv", f"a,b\n1,2\n{'x' * 70},3\n4,5\n{'y' * 21}"))
    assert rows == [{"a": "1", "b": "2"}, {"a": "4", "b": "5"}]
    assert shown == [f"p.csv:{n}: line is longer than 20 characters" for n in (3, 5)]


def test_a_line_of_just_the_greatest_length_is_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 20)
    longest = {"a": "x" * 18, "b": "1"}
    assert rows_of(write("p.csv", f"a,b\n{longest['a']},1\n")) == [longest]
    assert rows_of(write("q.csv", f"a,b\n{longest['a']},1")) == [longest]


def test_what_unpacks_beyond_the_greatest_size_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_SIZE", 1000)
    with pytest.raises(SourceError, match="larger than 1,000 characters when unpacked"):
        skipping(write("p.csv.gz", gzip.compress(b"a\n" * 600)))


def test_an_over_long_line_counts_towards_the_greatest_size(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 100)
    monkeypatch.setattr(files, "MAX_SIZE", 1000)
    with pytest.raises(SourceError, match="larger than 1,000 characters when unpacked"):
        skipping(write("p.csv.gz", gzip.compress(b"a\n" + b"x" * 2000)))


def test_a_line_of_120_megabytes_does_not_fill_the_memory(write: Write) -> None:
    path = write("p.csv", b"a\n" + b"0" * (120 << 20) + b"\n1\n")
    tracemalloc.start()
    try:
        rows, shown = skipping(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == [{"a": "1"}]
    assert len(shown) == 1
    assert peak < 100 << 20


def test_skipping_counts_every_fault_and_keeps_the_good_rows(write: Write) -> None:
    faults = RowFaults("skip")
    rows = list(read(write("p.csv", "a,b\n" + "1\n1,2\n" * 50), faults))
    faults.settle()
    assert len(rows) == 50
    assert faults.count == 50
    assert len(faults.shown) == SHOWN_FAULTS


def test_stopping_names_all_faults_at_once(write: Write) -> None:
    with pytest.raises(SourceError) as caught:
        rows_of(write("p.csv", "a,b\n1\n1,2\n1,2,3\n"))
    assert caught.value.faults == ("p.csv:2: 1 cell, the header has 2", "p.csv:4: 3 cells, the header has 2")
    assert all(fault in str(caught.value) for fault in ("rows with errors:", *caught.value.faults))


def test_options_are_remedies_where_a_command_takes_them(write: Write) -> None:
    stops = RowFaults("stop", other_encoding=files.BY_OPTION)
    list(read(write("p.csv", b"a\ncaf\xe9\n"), stops))
    with pytest.raises(SourceError, match=r"\(--on-error skip drops them\):\n.*try --file-encoding latin-1"):
        stops.settle()


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.jsonl", "p.json", "p.txt"])
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (gzip.compress(b"a,b\n1,2\n"), "gzip"),
        (b"PK\x03\x04\x14\0", "zip or Excel"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"PAR1\x15\x04", "Parquet"),
    ],
)
def test_a_file_of_another_format_is_told_for_what_it_is(write: Write, name: str, content: bytes, kind: str) -> None:
    path = write(name, content)
    with pytest.raises(SourceError) as caught:
        rows_of(path)
    assert caught.value.note == Note.of("file-of-other-format", kind=kind, format=format_of(path), path=path)


def test_bytes_that_are_no_text_are_not_taken_for_another_encoding(write: Write) -> None:
    with pytest.raises(SourceError, match=r"p\.txt:1:2: neither text nor a known encoding; is it a binary file\?"):
        rows_of(write("p.txt", b"a\x91\x01\x02\0\xff\n"))


def test_stopping_names_twenty_faults_and_reads_no_further(write: Write) -> None:
    faults = RowFaults()
    with pytest.raises(SourceError, match="the first 20 of more") as caught:
        list(read(write("p.csv", "a,b\n" + "1\n" * 5000), faults))
    assert len(caught.value.faults) == SHOWN_FAULTS
    assert faults.count == SHOWN_FAULTS + 1


@pytest.mark.parametrize(
    ("name", "expected"), [("a.csv", "csv"), ("A.TSV.GZ", "tsv"), ("a.b.ndjson.bz2", "jsonl"), ("a.parquet", "parquet")]
)
def test_the_format_is_told_by_the_ending(name: str, expected: str) -> None:
    assert format_of(Path(name)) == expected


def test_a_json_list_is_read_and_what_is_none_is_refused(write: Write) -> None:
    assert rows_of(write("t.json", '[{"a": 1}, {"a": 2}]')) == [{"a": 1}, {"a": 2}]
    assert rows_of(write("u.json", '{"a": 1}\n{"a": 2}\n')) == [{"a": 1}, {"a": 2}]
    with pytest.raises(SourceError, match=r"v\.json: not JSON"):
        rows_of(write("v.json", '[{"a": 1},'))
    with pytest.raises(SourceError, match=r"w\.json: .*item 2"):
        rows_of(write("w.json", '[{"a": 1}, 2]'))


# --- hostile files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "\0"])
def test_a_delimiter_that_can_not_be_is_refused(delimiter: str) -> None:
    with pytest.raises(UsageError, match="a delimiter must be one character"):
        Layout(delimiter=delimiter)


def test_tens_of_thousands_of_columns_are_read_in_linear_time(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"c{n}" for n in range(40_000)]
    compared: list[int] = []

    def counter(of: list[str]) -> dict[str, int]:
        compared.append(len(of))
        return {}

    monkeypatch.setattr(files, "Counter", counter)
    assert len(rows_of(write("t.csv", (",".join(names) + "\n" + ",".join("1" * 40_000) + "\n").encode()))[0]) == 40_000
    assert compared == [0, 40_000]  # each header is counted once, and not for each of its names


def test_a_table_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + (b"1," + b"2" * 1_000_000 + b"\n") * 20))
    tracemalloc.start()
    with pytest.raises(SourceError, match=r"it unpacks to more than [\d,]+ bytes; unpack it first"):
        for _ in read(path, RowFaults()):
            pass
    assert tracemalloc.get_traced_memory()[1] < 30_000_000
    tracemalloc.stop()


def test_times_that_python_can_not_hold_are_texts(tmp_path: Path) -> None:
    table = pa.table(
        {
            "day": pa.array([2932897], pa.date32()),
            "at": pa.array([1 << 61], pa.timestamp("us")),
            "zone": pa.array([0], pa.timestamp("us", tz="Mars/Olympus")),
            "text": ["x"],
            "seen": pa.array(
                [[{"on": 253402300800, "n": 1}]], pa.list_(pa.struct({"on": pa.timestamp("s"), "n": pa.int8()}))
            ),
            "by": pa.array([[("a", 2932897)]], pa.map_(pa.string(), pa.date32())),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    (row,) = rows_of(tmp_path / "t.parquet")
    assert (row["day"], row["zone"], row["text"]) == ("10000-01-01", "1970-01-01 00:00:00.000000", "x")
    assert (row["seen"], row["by"]) == ([{"on": "10000-01-01 00:00:00.000", "n": 1}], [("a", "10000-01-01")])
    assert "2305843009213693952" in row["at"]


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "caf\udce9.csv"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(SourceError, match="the name of the file is not UTF-8; rename it"):
        read(path, RowFaults())


def test_many_blank_lines_take_little_memory(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(b"\n" * 30_000 + b"one\n" + b"\n" * 30_000)
    tracemalloc.start()
    try:
        assert rows_of(tmp_path / "t.txt") == [{"text": "one"}]
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


def test_a_paragraph_may_be_as_long_as_a_line_and_no_longer(tmp_path: Path) -> None:
    faults = RowFaults("skip")
    line = "a" * 1023 + "\n"
    (tmp_path / "t.txt").write_text("one\n\n" + line * (MAX_LINE // 1023 + 1) + "\ntwo\nlines\n")
    found = list(read(tmp_path / "t.txt", faults))
    assert [row["text"] for _, row in found] == ["one", "two\nlines"]
    assert faults.shown == ["t.txt:3: paragraph is longer than 16,777,216 characters"]


def test_the_mark_of_utf_8_may_stand_twice(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" * 2 + b"a,b\n1,2\n")
    assert rows_of(tmp_path / "t.csv") == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b,,\n1,2,3,4\n", r"duplicate columns in the header: \(no name\)"),
        (b"a,b\r1,2\r", "a carriage return within a line; end lines with a line feed"),
    ],
)
def test_headers_that_are_none_are_told_in_words(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(SourceError, match=said):
        rows_of(tmp_path / "t.csv")
