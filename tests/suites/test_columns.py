import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.suites.columns import digest, indices

often = settings(deadline=None, max_examples=40)

texts = st.text("ab学\0", max_size=3)  # few letters, so that boundaries alone tell many columns apart
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.none() | texts,
    "list": st.none() | st.lists(st.none() | texts, max_size=3),
    "number": st.none() | st.floats(allow_nan=False),
}
TYPES = {"text": pa.string(), "list": pa.list_(pa.string()), "number": pa.float64()}


@st.composite
def columns_of(draw: st.DrawFn, kind: str) -> pa.Array:
    return pa.array(draw(st.lists(VALUES[kind], max_size=12)), TYPES[kind])


def cut(column: pa.Array, places: list[int]) -> pa.ChunkedArray:
    ends = sorted(min(place, len(column)) for place in places)
    pieces = [column[a:b] for a, b in zip([0, *ends], [*ends, len(column)], strict=True)]
    return pa.chunked_array(pieces, column.type)


def of(values: list[Any], kind: pa.DataType | None = None) -> str:
    return digest(pa.chunked_array([pa.array(values, kind)]))


cuts = st.lists(st.integers(0, 12), max_size=4)


@pytest.mark.parametrize("kind", ["text", "number", "list"])
@often
@given(st.data(), cuts)
def test_a_digest_is_the_same_for_any_chunks(kind: str, data: st.DataObject, places: list[int]) -> None:
    column = data.draw(columns_of(kind))
    assert digest(cut(column, places)) == digest(pa.chunked_array([column]))


def test_a_digest_is_the_same_for_lists_in_two_chunks() -> None:
    lists = pa.array([["a"], ["b", "c"]])
    assert digest(cut(lists, [1])) == digest(pa.chunked_array([lists]))


@pytest.mark.parametrize("kind", list(VALUES))
@often
@given(st.data(), st.integers(0, 6), st.integers(0, 6))
def test_a_digest_is_that_of_the_slice_and_not_of_its_buffers(
    kind: str, data: st.DataObject, start: int, size: int
) -> None:
    column = data.draw(columns_of(kind))
    part = column.slice(min(start, len(column)), size)
    copied = pa.array(part.to_pylist(), column.type)
    assert digest(pa.chunked_array([part])) == digest(pa.chunked_array([copied]))


@pytest.mark.parametrize("kind", list(VALUES))
@often
@given(st.data())
def test_columns_have_one_digest_only_if_their_values_are_equal(kind: str, data: st.DataObject) -> None:
    ours, theirs = data.draw(columns_of(kind)), data.draw(columns_of(kind))
    same = [repr(v) for v in ours.to_pylist()] == [repr(v) for v in theirs.to_pylist()]
    assert (digest(pa.chunked_array([ours])) == digest(pa.chunked_array([theirs]))) == same


@pytest.mark.parametrize("kind", list(VALUES))
@often
@given(st.data())
def test_a_digest_outlives_parquet_and_arrow_files(kind: str, data: st.DataObject) -> None:
    table = pa.table({"column": data.draw(columns_of(kind))})
    parquet, arrow = io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    with pa.ipc.new_file(arrow, table.schema) as out:
        out.write_table(table)
    read = [pq.ParquetFile(io.BytesIO(parquet.getvalue())).read(), pa.ipc.open_file(arrow.getvalue()).read_all()]
    assert {digest(again["column"]) for again in read} == {digest(table["column"])}


@pytest.mark.parametrize(
    "different",
    [
        [["ab", "c"], ["a", "bc"], ["abc", ""], ["", "abc"], ["abc"], ["abc", None], [None, "abc"]],
        [["a", None], ["a", ""], ["a"], ["a", "None"], [None, "a"], ["a\0", ""]],
        [[["a", "b"]], [["a"], ["b"]], [["ab"]], [["a", "b"], []], [[], ["a", "b"]], [["a", "b"], None]],
        [[1.0], [2.0], [1.0, 0.0], [1.0, None], [None, 1.0], [1.0, 1.0], [-1.0]],
    ],
    ids=["texts", "nulls", "lists", "numbers"],
)  # fmt: skip
def test_columns_of_other_boundaries_nulls_and_numbers_have_other_digests(different: list[list[Any]]) -> None:
    assert len({of(values) for values in different}) == len(different)


def test_columns_of_other_kinds_have_other_digests() -> None:
    kinds = [pa.string(), pa.list_(pa.string()), pa.float64(), pa.int64()]
    assert len({of([], kind) for kind in kinds}) == len(kinds)
    assert len({of([None, None], kind) for kind in kinds}) == len(kinds)


def test_whole_numbers_that_a_float_can_not_hold_are_refused() -> None:
    assert of([2**53 - 1], pa.int64()) != of([2**53], pa.int64())
    with pytest.raises(pa.ArrowInvalid):
        of([2**53 + 1], pa.int64())


def test_a_digest_is_that_of_the_first_release() -> None:
    assert of(["摘要", None, ""]) == "05a86a269de731654c46cd366e88af0f"
    assert of([["a"], [], None, ["b", "c"]]) == "79f0d5181818059a025351dd6de84454"
    assert of([1.5, None]) == "6e861ed67e9163a628ac488795b09581"


def test_indices_are_those_of_the_rows_asked_for() -> None:
    assert pa.array(["a", "b", "c"]).take(indices([2, 0, 2])).to_pylist() == ["c", "a", "c"]
    assert len(indices([])) == 0
