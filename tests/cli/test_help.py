from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from taskloom.benchmarks import BENCHMARKS, option_names
from taskloom.cli import app
from taskloom.cli.suites import FLAGS

ROOT = typer.main.get_command(app)


def commands(of: Any = ROOT, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with the words that call it."""
    if isinstance(of, TyperGroup):
        for name, one in of.commands.items():
            yield from commands(one, (*path, name))
    else:
        yield path, of


VERBS = dict(commands())
EVERY = pytest.mark.parametrize("path", VERBS, ids=" ".join)


@EVERY
@pytest.mark.parametrize("width", [80, 120])
def test_help_fits_and_has_no_types(taskloom, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...], width: int):
    monkeypatch.setenv("COLUMNS", str(width))
    ran = taskloom(*path, "--help")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"usage: taskloom {' '.join(path)}")
    assert max(map(len, lines)) <= width
    assert not re.search(r"<\w|\[required\]|\x1b", ran.out)
    assert "Examples" in lines


@EVERY
def test_arguments_and_options_are_named_and_explained(path: tuple[str, ...]):
    for param in VERBS[path].params:
        assert re.fullmatch(r"[A-Z].*\.|.*, .* or .*\.", param.help or ""), param.name
        is_flag = getattr(param, "is_flag", False)
        assert is_flag or param.metavar, param.name


def test_a_verb_is_explained_in_one_line(taskloom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = taskloom("--help").out.splitlines()
    start = lines.index("Suites of tasks")
    listed = [line for line in lines[start : lines.index("Options")] if line]
    verbs = [line.split()[0] for line in listed if line.startswith("  ")]
    assert sorted(verbs) == sorted(ROOT.commands)  # type: ignore[attr-defined]
    assert len(listed) == len(verbs) + 4  # headings
    assert listed[0] == "Suites of tasks"


def test_a_shared_argument_is_explained_in_the_same_way_everywhere():
    found: dict[str, set[str]] = {}
    for command in VERBS.values():
        for param in command.params:
            if param.param_type_name == "argument" and param.metavar in ("STUDY", "NAME", "MODEL"):
                found.setdefault(param.metavar, set()).add(param.help)
    assert all(len(texts) == 1 for texts in found.values())


@EVERY
def test_examples_can_be_parsed(path: tuple[str, ...]):
    examples = VERBS[path].epilog.splitlines()
    assert 2 <= len(examples) <= 3
    for line in examples:
        program, *words = shlex.split(line)
        assert (program, tuple(words[: len(path)])) == ("taskloom", path)
        context = VERBS[path].make_context(" ".join(path), words[len(path) :])
        if path == ("build",):
            known = {FLAGS.get(name, f"--{name}") for name in option_names(context.params["name"])}
            assert context.params["name"] in BENCHMARKS
            assert {word for word in words if word.startswith("--")} <= known


def test_long_names_have_their_explanation_below(taskloom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = taskloom("build", "--help").out.splitlines()
    at = lines.index("      --field NAME:KIND[:TITLE]")
    assert lines[at + 1].strip().startswith("A field;")


def test_examples_are_broken_between_options(taskloom, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = taskloom("build", "--help").out
    examples = shown[shown.index("Examples\n") :].replace("\\\n", " ")
    assert [shlex.split(line) for line in examples.splitlines()[1:]] == [
        shlex.split(line) for line in VERBS[("build",)].epilog.splitlines()
    ]
    assert not re.search(r"--\w+ \\\n", shown)


def test_a_group_without_a_verb_shows_its_help(taskloom):
    ran = taskloom("models")
    assert (ran.code, ran.out) == (2, "")
    assert "taskloom list models" in ran.err
    assert "usage: taskloom models VERB" in ran.err
