"""Mutated files of every kind: each is read, or refused with a reason. `make fuzz N=100000` tries many more."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from taskloom.errors import TaskloomError

from . import attempt as harness
from .attempt import attempt, made, seeds_of
from .reader import Reader, written
from .readers import READERS


@pytest.mark.parametrize("name", READERS)
def test_what_was_not_changed_is_read(name: str, tmp_path: Path):
    """At least one good input of each reader gets through, so that what is mutated is worth it."""
    for number, case in enumerate(seeds_of(name)):
        written(case, tmp_path / str(number))
        try:
            READERS[name].call(tmp_path / str(number))
        except TaskloomError:
            continue
        return
    pytest.fail(f"all good inputs are refused: {name}")


@pytest.mark.parametrize("name", READERS)
def test_a_mutated_input_is_read_or_refused(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(1 - len(seeds_of(name)), READERS[name].tests + 1):
            found = attempt(name, made(name, number))
            assert not found, f"python -m tests.fuzz.run --reader {name!r} --input {number}\n{found}"


def test_the_same_number_is_the_same_input():
    for name in ("csv", "compressed", "studies", "predictions"):
        assert [made(name, n) for n in range(1, 20)] == [made(name, n) for n in range(1, 20)]
    assert made("csv", 1) != made("csv", 2)


def test_what_is_raised_and_not_refused_is_a_fault(monkeypatch: pytest.MonkeyPatch):
    def fail(folder: Path) -> None:
        raise KeyError(folder.name)

    monkeypatch.setattr(harness, "READERS", {"broken": Reader(lambda: [{"a": b"1"}], fail)})
    assert "KeyError" in attempt("broken", {"a": b"1"})
