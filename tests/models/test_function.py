"""Encoders that are functions of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from taskloom.errors import ModelError, TaskloomError, UnknownNameError
from taskloom.models.function import Function
from taskloom.models.load import source

if TYPE_CHECKING:
    from ..conftest import Refused

CODE = """
import numpy as np

def lengths(texts):
    print("not a result")
    return [[len(text), 1.0] for text in texts]

def formed(texts, form):
    return np.array([[len(form), 0.0] for _ in texts])

def wrong(texts):
    return [1.0, 2.0]

def broken(texts):
    raise ValueError("no")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path


def made(folder: Path, name: str) -> Function:
    found = source("mine", {"load": f"mine.py:{name}"}, folder)
    assert isinstance(found, Function)
    return found


def test_a_function_gives_vectors_and_prints_nothing_to_standard_output(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    encoder = made(folder, "lengths").open_encoder(folder)
    assert encoder.take(["owl", ""])[0].tolist() == [[3, 1], [0, 1]]
    assert (encoder.width, encoder.forms, encoder.take(["owl"])[1]) == (2, (), [0])
    assert capsys.readouterr().out == ""


def test_a_function_that_asks_for_the_format_of_tasks_gets_it(folder: Path):
    of = made(folder, "formed")
    assert of.forms() == ("CLF", "RGN", "PRX", "QRY")
    assert of.open_encoder(folder).take(["owl"], "CLF")[0].tolist() == [[3, 0]]
    assert made(folder, "lengths").forms() == ()


def test_the_content_of_its_file_names_a_function_and_its_place_does_not(folder: Path, tmp_path: Path):
    before = made(folder, "lengths").identity()
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.py").write_text(CODE)
    assert made(other, "lengths").identity() == before
    assert made(folder, "formed").identity() != before
    (folder / "mine.py").write_text(CODE + "\n# changed")
    assert made(folder, "lengths").identity() != before


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("wrong", ModelError, "vectors of shape"), ("broken", ModelError, "ValueError: no"),
        ("length", UnknownNameError, "did you mean lengths"),
    ],
)  # fmt: skip
def test_what_gives_no_vectors_is_refused(folder: Path, name: str, kind: type[TaskloomError], told: str):
    with pytest.raises(kind, match=told):
        made(folder, name).open_encoder(folder).take(["owl"])


def test_vectors_of_another_width_than_before_are_refused(folder: Path, refused: Refused):
    (folder / "mine.py").write_text("def grows(texts):\n    return [[1.0] * (2 + len(texts)) for _ in texts]\n")
    encoder = made(folder, "grows").open_encoder(folder)
    encoder.take(["owl"])
    with refused(ModelError, "vectors-unfit", found=[2, 4], wanted=[2, 3]):
        encoder.take(["owl", "elm"])


def test_a_file_that_is_not_there_or_can_not_be_loaded_is_named(folder: Path):
    missing = Function(load=str(folder / "none.py:f"))
    assert [note.code for note in missing.lacks()] == ["function-missing"]
    with pytest.raises(ModelError, match="no such file"):
        missing.identity()
    (folder / "odd.py").write_text("1 / 0")
    with pytest.raises(ModelError, match="ZeroDivisionError"):
        Function(load=str(folder / "odd.py:f")).function()
