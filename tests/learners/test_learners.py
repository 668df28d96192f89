from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

import pytest

from taskloom.core import Answer, Example, Fields, Item, Labels, Number, Output, Ranking, Task, Terms, Text
from taskloom.episodes import Episode
from taskloom.errors import LearnerError, UnknownNameError
from taskloom.ids import fingerprint
from taskloom.learners import BASELINES, LEARNERS, SURROGATES, Learner, can_do, identity, learner, names
from taskloom.learners.answering import answer as responses
from taskloom.learners.baselines import Bm25, CopyInput, Majority, Nearest, Random, TfidfLinear
from taskloom.learners.toolbox import Toolbox
from taskloom.models.recipe import Learnt, Recipe, Watch
from taskloom.priors import Prior

MINE = """
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

HEAD = "it is"

@dataclass(frozen=True, slots=True, kw_only=True)
class Mine(Learner):
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = frozenset({"text"})
    unaided: ClassVar[frozenset[str]] = frozenset({"labels", "text"})
    tail: str = "!"

    def fit(self, task, support, dev, *, seed, tools):
        return self

    def predict(self, items):
        return [f"{HEAD} {item.id}{self.tail}" for item in items]
"""
BOTH = Fields({"category": Labels(("Art", "History")), "year": Number()})


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file with a learner of the user's own."""
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    return tmp_path


def task(output: Output) -> Task:
    return Task(id="t", instruction="Do it.", output=output, metrics=())


def episode(output: Output, pairs: list[tuple[str, Any]], asked: list[str]) -> Episode:
    support = tuple(Example(Item(f"s{n}", {"text": x}), (gold,), f"s{n}") for n, (x, gold) in enumerate(pairs))
    query = tuple(Example(Item(f"q{n}", {"text": x}), (pairs[0][1],), f"q{n}") for n, x in enumerate(asked))
    return Episode(id="e", task=task(output), support=support, dev=(), query=query)


def answer(of: Learner, asked: Episode, *, seed: int, tools: Toolbox) -> list[Answer | None]:
    return [response.answer for response in responses(of, asked, seed=seed, tools=tools)]


def rewritten(folder: Path, old: str, new: str) -> Path:
    assert old in MINE
    (folder / "mine.py").write_text(MINE.replace(old, new), encoding="utf-8")
    return folder


# names and options


def test_every_name_of_the_table_makes_a_learner_that_can_do_something():
    assert all(learner(name).version >= 1 for name in LEARNERS)
    assert all(learner(name).outputs for name in names())
    assert set(BASELINES) <= set(LEARNERS)
    assert names()[: len(LEARNERS)] == list(LEARNERS)


def test_an_unknown_name_fails_with_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown learner: 'tfidf-linaer'; did you mean tfidf-linear"):
        learner("tfidf-linaer")


def test_options_set_a_learner():
    assert learner("tfidf-linear", {"C": 10}) == TfidfLinear(C=10.0)
    assert learner("bm25", {"k1": 0.9, "b": 0.4}) == Bm25(k1=0.9, b=0.4)
    assert learner("majority", {}) == learner("majority") == Majority()


def test_an_unknown_option_fails_with_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown option of learner 'bm25': 'k_1'; did you mean k1"):
        learner("bm25", {"k_1": 1})
    with pytest.raises(UnknownNameError, match="unknown option of learner 'majority': 'version'; known: none"):
        learner("majority", {"version": 2})


def test_an_installed_package_can_bring_a_learner(mine: Path, monkeypatch: pytest.MonkeyPatch):
    (mine / "mine.py").rename(mine / "brought_by_a_package.py")
    about = mine / "brought-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[taskloom.learners]\nbrought = brought_by_a_package:Mine\n")
    monkeypatch.syspath_prepend(mine)
    assert "brought" in names()
    assert identity(learner("brought", {"tail": "?"})) == {
        "learner": "brought_by_a_package:Mine",
        "version": 1,
        "set": {"tail": "?"},
    }


# identity


def test_the_identity_is_where_a_learner_is_its_version_and_what_differs_from_the_defaults():
    assert identity(learner("tfidf-linear", {"C": 1})) == {
        "learner": "taskloom.learners.baselines:TfidfLinear",
        "version": 2,
        "set": {},
    }
    assert identity(Bm25(b=0.5))["set"] == {"b": 0.5}


def test_a_whole_number_and_the_same_float_are_one_learner():
    assert fingerprint(identity(TfidfLinear(C=2))) == fingerprint(identity(TfidfLinear(C=2.0)))


def test_the_identity_is_the_same_in_every_process(mine: Path):
    program = (
        "import sys; from pathlib import Path; from taskloom.learners import *\n"
        "print([identity(learner(name, {}, Path(sys.argv[1]))) for name in ('nearest', 'mine.py:Mine')])"
    )
    done = [
        subprocess.run([sys.executable, "-c", program, mine], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    here = [identity(learner(name, {}, mine)) for name in ("nearest", "mine.py:Mine")]
    assert done == [f"{here}\n"] * 2


# a learner of one's own


def test_a_learner_of_one_s_own_answers(mine: Path):
    of = learner("mine.py:Mine", {"tail": "?"}, mine)
    assert answer(of, episode(Text(), [("x", "y")], ["a", "b"]), seed=0, tools=Toolbox({})) == [
        "it is q0?",
        "it is q1?",
    ]
    assert learner(f"{mine / 'mine.py'}:Mine").version == 1


def test_the_content_of_the_file_is_part_of_the_identity_and_its_folder_is_not(mine: Path, tmp_path: Path):
    first = identity(learner("mine.py:Mine", {}, mine))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.py").write_text(MINE, encoding="utf-8")
    assert identity(learner("mine.py:Mine", {}, elsewhere)) == first
    assert identity(learner("mine.py:Mine", {}, rewritten(mine, "it is", "that is"))) != first


def test_a_missing_file_is_said(tmp_path: Path):
    with pytest.raises(LearnerError, match=r"no such file: .*nowhere.py"):
        learner("nowhere.py:Mine", {}, tmp_path)


@pytest.mark.parametrize(
    ("old", "new"), [("class Mine(Learner):", "class Mine(Learner)"), ('HEAD = "it is"', "HEAD = 1 / 0")]
)
def test_a_broken_file_is_said_with_its_fault(mine: Path, old: str, new: str):
    with pytest.raises(LearnerError, match=r"mine.py can't be loaded \((SyntaxError|ZeroDivisionError): "):
        learner("mine.py:Mine", {}, rewritten(mine, old, new))


def test_a_missing_class_fails_with_the_nearest(mine: Path):
    with pytest.raises(UnknownNameError, match=r"unknown class in .*mine.py: 'Mime'; did you mean Mine"):
        learner("mine.py:Mime", {}, mine)


@pytest.mark.parametrize(
    ("old", "new"), [("frozen=True, ", ""), ("@dataclass(frozen=True, slots=True, kw_only=True)", "")]
)
def test_a_learner_that_is_no_frozen_dataclass_is_refused(mine: Path, old: str, new: str):
    with pytest.raises(LearnerError, match=r"must be a frozen dataclass.*'mine.py:Mine'"):
        learner("mine.py:Mine", {}, rewritten(mine, old, new))


@pytest.mark.parametrize(
    ("needed", "old", "new"),
    [
        ("version", "ClassVar[int] = 1", "ClassVar[int]"),
        ("outputs", "outputs: ClassVar", "output: ClassVar"),
        ("unaided", "unaided:", "aided:"),
        ("fit", "def fit(", "def adapt("),
    ],
)
def test_what_a_learner_lacks_is_said(mine: Path, needed: str, old: str, new: str):
    with pytest.raises(
        LearnerError, match=f"a learner declares {needed}, or inherits taskloom.Learner: 'mine.py:Mine'"
    ):
        learner("mine.py:Mine", {}, rewritten(mine, old, new))


# what a learner can do, and what it answers


def test_a_learner_can_do_its_kinds_of_output_and_several_fields_of_them():
    assert can_do(TfidfLinear(), task(Labels(("a",))))
    assert can_do(TfidfLinear(), task(BOTH))
    assert not can_do(TfidfLinear(), task(Text()))
    assert not can_do(TfidfLinear(), task(Fields({"year": Number(), "title": Text()})))
    assert not can_do(CopyInput(), task(Terms()))
    able = {
        store: [name for name in LEARNERS if can_do(learner(name), task(Ranking(store)))] for store in ("", "papers")
    }
    assert able == {
        "": ["random", "tfidf-linear", "bm25", "in-context", "tune", "represent"],
        "papers": ["random", "tfidf-linear", "bm25", "represent"],
    }


def test_several_fields_are_answered_one_by_one_and_put_together():
    pairs = [
        ("red paint", {"category": "Art", "year": 2001.0}),
        ("old kings", {"category": "History", "year": 1066.0}),
        ("old wars", {"category": "History", "year": 1914.0}),
    ]
    asked = episode(BOTH, pairs, ["paint", "the kings", "wars"])
    priors: dict[str, Prior] = {"category": {"Art": 1, "History": 2}, "year": {2001.0: 1, 1066.0: 1, 1914.0: 1}}
    tools = Toolbox({}, priors=priors.__getitem__)
    assert answer(Nearest(), asked, seed=0, tools=tools) == [gold for _, gold in pairs]
    assert answer(Majority(), asked, seed=0, tools=tools)[:1] == [{"category": "History", "year": 4981 / 3}]
    assert tools.counts == {}


def test_a_field_without_an_answer_is_none_and_the_others_count():
    asked = episode(BOTH, [("x", {"category": "Art", "year": 1.0})], ["x", "y"])
    asked = Episode(id="e", task=asked.task, support=(), dev=(), query=asked.query)
    found = answer(Random(), asked, seed=0, tools=Toolbox({}))
    assert [(set(one), one["year"]) for one in found if isinstance(one, dict)] == [({"category", "year"}, None)] * 2


def test_of_several_acceptable_answers_of_fields_the_first_is_learnt():
    golds: tuple[Answer, ...] = ({"category": "Art", "year": 1.0}, {"category": "History", "year": 2.0})
    one = Example(Item("s", {"text": "x"}), golds, "s")
    query = (Example(Item("q", {"text": "x"}), golds, "q"),)
    asked = Episode(id="e", task=task(BOTH), support=(one,), dev=(one,), query=query)
    assert answer(Nearest(), asked, seed=0, tools=Toolbox({})) == [golds[0]]


def test_a_counter_adds_up():
    tools = Toolbox({})
    tools.count("cut")
    tools.count("cut", 3)
    tools.count("dropped", 2)
    assert tools.counts == {"cut": 4, "dropped": 2}


def test_a_change_within_the_same_second_and_of_the_same_size_is_seen(mine: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    asked = episode(Text(), [("x", "y")], ["a"])
    learner("mine.py:Mine", {}, mine)
    changed = learner("mine.py:Mine", {}, rewritten(mine, "it is", "at is"))
    assert answer(changed, asked, seed=0, tools=Toolbox({})) == ["at is q0!"]


def test_the_same_content_loaded_twice_is_the_same_learner(mine: Path):
    assert learner("mine.py:Mine", {}, mine) == learner("mine.py:Mine", {}, mine)


def test_a_file_that_ends_the_program_or_is_no_utf_8_is_said(mine: Path):
    with pytest.raises(LearnerError, match=r"can't be loaded \(SystemExit: 3\)"):
        learner("mine.py:Mine", {}, rewritten(mine, 'HEAD = "it is"', "raise SystemExit(3)"))
    (mine / "mine.py").write_bytes(b"HEAD = '\xff'")
    with pytest.raises(LearnerError, match=r"can't be loaded \(UnicodeDecodeError"):
        learner("mine.py:Mine", {}, mine)


def test_a_file_without_a_class_is_said(mine: Path):
    with pytest.raises(LearnerError, match=r"the class is missing, as in mine.py:MyLearner"):
        learner("mine.py", {}, mine)


def test_a_class_that_the_file_imports_is_not_its_own_for_its_content_would_not_be_its_identity(mine: Path):
    with pytest.raises(UnknownNameError, match=r"'Text'; known: Mine$"):
        learner("mine.py:Text", {}, rewritten(mine, 'HEAD = "it is"', "from taskloom.core import Text"))


def test_an_object_is_refused_where_a_class_is_needed(mine: Path, monkeypatch: pytest.MonkeyPatch):
    (mine / "mine.py").rename(mine / "an_object.py")
    with (mine / "an_object.py").open("a") as file:
        file.write("made = Mine()\n")
    about = mine / "an_object-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: an-object\nVersion: 1.0\n", encoding="utf-8")
    points = "[taskloom.learners]\nan-object = an_object:made\nnowhere = an_object:nowhere\n"
    (about / "entry_points.txt").write_text(points, encoding="utf-8")
    monkeypatch.syspath_prepend(mine)
    with pytest.raises(LearnerError, match="must be a frozen dataclass"):
        learner("an-object")
    with pytest.raises(LearnerError, match=r"an_object:nowhere can't be loaded \(AttributeError"):
        learner("nowhere")


def test_an_option_that_must_be_given_is_said(mine: Path):
    with pytest.raises(LearnerError, match=r"'mine.py:Mine' can't be made with the options \{\} .*'tail'"):
        learner("mine.py:Mine", {}, rewritten(mine, 'tail: str = "!"', "tail: str"))


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), date(2020, 1, 1), {1}, [b"x"], {"a": [date(2020, 1, 1)]}, 1 << 64, [[-(1 << 70)]]],
)
def test_an_option_that_json_can_not_hold_is_refused_by_its_name(mine: Path, value: Any):
    with pytest.raises(LearnerError, match=r"option 'tail' of learner 'mine.py:Mine' must be a text, a finite number"):
        learner("mine.py:Mine", {"tail": value}, mine)
    assert learner("mine.py:Mine", {"tail": {"a": [1, None, True, 0.5]}}, mine).version == 1


def test_a_facet_that_a_ledger_would_not_read_is_refused_by_its_name(mine: Path):
    told = "    @property\n    def facets(self):\n        return {'size': 1 << 99}\n\n    def fit"
    with pytest.raises(LearnerError, match=r"facet 'size' of learner 'mine.py:Mine' must be a text, a finite number"):
        learner("mine.py:Mine", {}, rewritten(mine, "    def fit", told))


def test_lists_within_several_fields_are_taken_for_tuples(mine: Path):
    both = Fields({"keywords": Terms(), "title": Text()})
    given = '[{"keywords": ["a", "b"], "title": "x"} for item in items]'
    folder = rewritten(mine, '[f"{HEAD} {item.id}{self.tail}" for item in items]', given)
    (folder / "mine.py").write_text((folder / "mine.py").read_text().replace('{"text"}', '{"fields"}'))
    asked = episode(both, [("x", {"keywords": ("y",), "title": "z"})], ["a"])
    found = answer(learner("mine.py:Mine", {}, folder), asked, seed=0, tools=Toolbox({}))
    assert found == [{"keywords": ("a", "b"), "title": "x"}]


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        ("type('T', (str,), {'__str__': lambda self: 'else'})", "'x'", "x"),
        ("type('W', (int,), {})", "3", 3),
        ("type('F', (float,), {})", "0.5", 0.5),
        ("__import__('enum').Enum('E', {'A': 'x'}, type=str)", "'x'", "x"),
        ("__import__('numpy').float64", "0.5", 0.5),
        ("__import__('numpy').str_", "'x'", "x"),
        ("bool", "1", True),
    ],
)
def test_kinds_of_texts_and_numbers_are_taken_for_those_that_they_are(mine: Path, kind: str, value: str, plain: Any):
    given = f"[({kind})({value}) for item in items]"
    of = learner("mine.py:Mine", {}, rewritten(mine, '[f"{HEAD} {item.id}{self.tail}" for item in items]', given))
    (found,) = answer(of, episode(Text(), [("x", "y")], ["a"]), seed=0, tools=Toolbox({}))
    assert (found, type(found)) == (plain, type(plain))
    assert pickle.loads(pickle.dumps(found)) == plain  # as it goes from a worker to its driver


def test_half_characters_in_answers_are_replaced_and_counted(mine: Path):
    given = r'["\ud800", ["x\udc00", "y"], {"a\ud800": 0.5}, "\ud83c" "\udf33", "z", None]'
    of = learner("mine.py:Mine", {}, rewritten(mine, '[f"{HEAD} {item.id}{self.tail}" for item in items]', given))
    tools = Toolbox({})
    found = answer(of, episode(Text(), [("x", "y")], list("abcdef")), seed=0, tools=tools)
    assert found == ["\ufffd", ("x\ufffd", "y"), {"a\ufffd": 0.5}, "🌳", "z", None]
    assert tools.counts == {SURROGATES: 4}


def test_an_unknown_kind_of_output_fails_with_the_nearest(mine: Path):
    with pytest.raises(UnknownNameError, match=r"unknown output of learner 'mine.py:Mine': 'txet'; did you mean text"):
        learner("mine.py:Mine", {}, rewritten(mine, '{"text"}', '{"txet"}'))


@pytest.mark.parametrize("output", [Text(), Fields({"title": Text(), "abstract": Text()})])
def test_too_few_answers_are_refused(mine: Path, output: Output):
    of = learner("mine.py:Mine", {}, rewritten(mine, "in items]", "in items[1:]]"))
    gold: Any = "y" if isinstance(output, Text) else {"title": "y", "abstract": "z"}
    with pytest.raises(LearnerError, match=r"learner Mine\(tail='!'\) gave 1 answer for 2 items"):
        answer(of, episode(output, [("x", gold)], ["a", "b"]), seed=0, tools=Toolbox({}))


@pytest.mark.parametrize(
    ("old", "new", "code", "given"),
    [
        ("return self", "return None", "predictor-missing", "None"),
        ("return [f", "return None and [f", "answers-not-listed", "None"),
        ("return [f", "return 7 or [f", "answers-not-listed", "a value of type int"),
        ("return [f", "return 'text' or [f", "answers-not-listed", "a value of type str"),
        ("return [f", "return {'1': 'a'} or [f", "answers-not-listed", "a value of type dict"),
        ("return [f", "return [object()] or [f", "answer-unwritable", "a value of type object"),
        ("return [f", "return [{1, 2}] or [f", "answer-unwritable", "a value of type set"),
        ("return [f", "return [] and [f", "answers-missing", None),
    ],
)
def test_what_a_learner_gives_back_in_another_form_is_an_error_that_names_it(
    mine: Path, refused, old: str, new: str, code: str, given: str | None
):
    made = learner("mine.py:Mine", {}, rewritten(mine, old, new))
    values = {"given": given} if given else {}
    with refused(LearnerError, code, learner=repr(made), **values):
        responses(made, episode(Text(), [("a", "b")], ["c"]), seed=0, tools=Toolbox({}))


# looks


@dataclass(frozen=True)
class Patient(Learner):
    """A learner that is trained by a model, and takes its time to answer."""

    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = frozenset({"text"})
    unaided: ClassVar[frozenset[str]] = frozenset()

    def fit(self, task: Task, support: Any, dev: Any, *, seed: int, tools: Any) -> Any:
        tools.train("model", [], Recipe(), seed=seed, predictor=self)
        return self

    def predict(self, items: Sequence[Item]) -> list[str]:
        time.sleep(0.05)
        return [item.id for item in items]


class Trainable:
    """A model whose training is over at once, but for looks at it."""

    @contextmanager
    def tuned(self, lessons: Any, how: Recipe, *, watch: Watch, **more: Any) -> Iterator[Learnt]:
        for step in (0, 1):
            watch.look_at(step)
        yield Learnt(steps=1, tokens=1, parameters=1)


def test_looks_are_no_part_of_the_time_that_adapting_takes():
    model: Any = Trainable()
    tools = Toolbox({}, lambda _: model, watch=Watch(looks=frozenset({0, 1})))
    with tools.held:
        answer(Patient(), episode(Text(), [("x", "y")], ["a", "b"]), seed=0, tools=tools)
    assert sorted(tools.looked) == ["query@0", "query@1", "support@0", "support@1"]
    assert tools.looking >= 0.2  # four times 0.05
    assert 0 < tools.fitting < 0.1


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("def __post_init__(self): raise ValueError('no')", "ValueError: no"),
        ("def __post_init__(self): raise SystemExit(3)", "SystemExit: 3"),
        ("outputs: ClassVar = None", "outputs of a learner must be a set of texts"),
        ("outputs: ClassVar = frozenset({1})", "outputs of a learner must be a set of texts"),
        ("unaided: ClassVar = 'labels'", "unaided of a learner must be a set of texts"),
        ("models = property(lambda self: 1 / 0)", "ZeroDivisionError"),
    ],
)
def test_a_learner_of_the_users_that_fails_is_named(tmp_path: Path, more: str, told: str):
    lines = [
        "from dataclasses import dataclass", "from typing import ClassVar", "from taskloom import Learner",
        "@dataclass(frozen=True)", "class Mine(Learner):", "    version: ClassVar = 1",
        "    outputs: ClassVar = frozenset({'labels'})", "    unaided: ClassVar = frozenset()", f"    {more}",
        "    def fit(self, task, support, dev, *, seed, tools): return self",
    ]  # fmt: skip
    (tmp_path / "l.py").write_text("\n".join(lines))
    with pytest.raises(LearnerError) as refused:
        learner("l.py:Mine", {}, tmp_path)
    assert told in str(refused.value)
