"""Values that no verb takes are refused where options are declared, by their names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer

from taskloom.cli import app


def verbs(of: typer.Typer = app, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Callable[..., Any]]]:
    for command in of.registered_commands:
        assert command.callback
        yield " ".join((*path, command.name or command.callback.__name__)), command.callback
    for group in of.registered_groups:
        assert group.typer_instance
        yield from verbs(group.typer_instance, (*path, str(group.name)))


@pytest.mark.parametrize(("verb", "function"), [pytest.param(*of, id=of[0]) for of in verbs()])
def test_every_number_has_a_least_and_a_largest_value(verb: str, function: Callable[..., Any]):
    hints = get_type_hints(function, include_extras=True)
    for name in inspect.signature(function).parameters:
        kind, declared = get_args(hints[name])[:2]
        if {kind, *get_args(kind)} & {int, float}:
            assert declared.min is not None, name
            assert declared.max is not None, name


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["build", "fields", "data:papers", "--language", "\udcff"], "--language"),
        (["build", "fields", "data:papers", "--field", "a:text", "--field", "b\udcff:text"], "--field"),
        (["build", "fields", "\ud800.csv"], "SOURCE"),
        (["build", "fields", "data:papers", "-o", "a\udcff"], "--output"),
        (["show", "a\0b"], "SUITE"),
        (["ledger", "merge", "a", "b", "\udcff"], "OTHER..."),
        (["challenge", "score", "c", "p\udcff.json", "--answers", "a"], "[NAME=]FILE..."),
    ],
)
def test_a_value_that_no_file_can_hold_is_refused_by_its_name(taskloom, tmp_path, monkeypatch, arguments, name):
    monkeypatch.chdir(tmp_path)
    ran = taskloom(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {name} must be UTF-8, without NUL characters: '")
    assert len(ran.err.splitlines()) == 1
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["run", "quickstart", "-o", ""], "--output"),
        (["report", ""], "RUN"),
        (["ledger", "merge", "a", "b", ""], "OTHER..."),
        (["challenge", "make", "quickstart", "--output="], "--output"),
    ],
)
def test_an_empty_path_is_not_the_working_folder(taskloom, tmp_path: Path, monkeypatch, arguments, name):
    monkeypatch.chdir(tmp_path)
    ran = taskloom(*arguments)
    assert (ran.code, ran.err) == (2, f"error: {name} is empty; name a file or a folder\n")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "quickstart", "-w", "1" + "0" * 30], "--workers"),
        (["run", "quickstart", "--limit", "-1"], "--limit"),
        (["ask", "m", "t", "--seed", str(2**64)], "--seed"),
        (["pretrain", "t5-nano", "-o", "m", "--texts", "t", "--lr", "inf"], "--lr"),
        (["pretrain", "t5-nano", "-o", "m", "--texts", "t", "--lr", "nan"], "--lr"),
        (["build", "functions", "map{antonyms[eng](0)}(S)", "-o", "m", "--option", "seed=" + "9" * 19], "18 digits"),
        (["build", "functions", "map{antonyms[eng](0)}(S)", "-o", "m", "--option", "sequences=" + "9" * 11], "at most"),
    ],
)
def test_numbers_out_of_range_are_refused_by_their_option(taskloom, tmp_path: Path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    ran = taskloom(*arguments)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
    assert told in ran.err
    assert not any(tmp_path.iterdir())
