"""Suites of functions: what is made and refused, splits by word, outputs by reference, and the same on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from taskloom.core import Example, Labels, Ranking, Suite, Text, Words
from taskloom.episodes import Sampler, draw, episode
from taskloom.errors import StoreError, SuiteError
from taskloom.messages import Note
from taskloom.suites import store
from taskloom.suites.check import check
from taskloom.suites.functions import catalogue, layout, made_up
from taskloom.suites.functions.build import Collected, _constant, suite, wanted_of
from taskloom.suites.functions.folds import COMPOSITIONS, held_out
from taskloom.suites.functions.knowledge import Asking, Lexical
from taskloom.suites.functions.parse import parse
from taskloom.suites.functions.pools import FunctionPool
from taskloom.suites.functions.sample import Sampling, sequences
from taskloom.suites.functions.workshop import Workshop
from taskloom.suites.verify import verify

from .conftest import NAMES, SmallLexicon, graph_of

LEXICAL = (
    "antonyms[eng](0)", "is{POS=noun}[eng](0)", "random{0}[eng](0)", "translate[eng->spa](synonyms[eng](0))",
    "union(random{0}[eng](0),antonyms[eng](0))", "map{antonyms[eng](0)}(S)", "filter{is{POS=noun}[eng](0)}(S)",
    "map{translate[eng->spa](0)}(filter{is{POS=noun}[eng](0)}(S))", "permuted{0}(antonyms[eng](0))",
    "map{permuted{0}(antonyms[eng](0))}(S)", "permuted{0}(is{POS=noun}[eng](0))",
)  # fmt: skip
FACTUAL = (
    "wiki{mother(creator(0))}", "wiki{union(father(0),mother(0))}", "wiki{is{occupation=actor}(0)}",
    "wiki{land(is{occupation=actor}(0),is{place of birth=rome}(0))}", "map{wiki{mother(0)}}(S)",
)  # fmt: skip


def made(shop: Workshop, *texts: str) -> tuple[Suite, Collected]:
    found = Collected()
    found.add(wanted_of(function(text) for text in texts), shop)
    return suite(found, shop, id="small", about={}), found


@pytest.fixture(scope="module")
def both():
    """A suite of functions of words and of facts."""
    graph, _ = graph_of(0, 120, 0.02)
    asked = ("mother(creator(0))", "union(father(0),mother(0))", "is{occupation=actor}(0)", "mother(0)")
    functions = [*asked, "land(is{occupation=actor}(0),is{place of birth=rome}(0))"]
    facts = Asking(graph, NAMES).add(function(text) for text in functions).facts()
    shop = Workshop(Lexical(SmallLexicon()), facts, Sampling(least=10, sequences=50, seed=1))
    found, collected = made(shop, *LEXICAL, *FACTUAL)
    assert not collected.refused
    return found, shop


def function(text: str) -> Any:
    return parse(text, NAMES)


def all_of(suite: Suite, task: str, pool: str = "train") -> list[Any]:
    own = suite.pools[task][pool]
    return own.take(range(len(own)))


def test_outputs_tags_and_metrics(both):
    of, _ = both
    assert list(of.tasks) == [*LEXICAL, *FACTUAL]
    outputs = {name: type(task.output) for name, task in of.tasks.items()}
    assert outputs["antonyms[eng](0)"] is Text
    assert of.tasks["is{POS=noun}[eng](0)"].output == Labels(("true", "false"))
    assert outputs["map{wiki{mother(0)}}(S)"] is Words
    task = of.tasks["map{translate[eng->spa](0)}(filter{is{POS=noun}[eng](0)}(S))"]
    assert task.instruction == "for each x of the list if x is a noun: x in Spanish"
    assert task.metrics == ("token-accuracy", "token-accuracy:published")
    assert task.tags == {
        "kind": ("lexical",), "domain": ("words",), "level": ("sequence",), "composition": ("mapfilter",),
        "category": ("mapfilter",),
        "parts": ("translate[eng->spa](0)", "is{POS=noun}[eng](0)"),
        "atoms": ("translate[eng->spa](0)", "is{POS=noun}[eng](0)"), "origin": ("ours",),
        "input_language": ("English",), "output_language": ("Spanish",),
    }  # fmt: skip


def test_gold_answers_are_what_the_function_gives(both):
    of, shop = both
    assert shop.lexical is not None
    words = shop.lexical.lexicon.vocabularies["eng"]
    matrix = shop.lexical.matrix(function("antonyms[eng](0)")).toarray()
    for example in all_of(of, "antonyms[eng](0)"):
        row = matrix[words.index(example.item.fields["input"])]
        assert sorted(map(str, example.gold)) == [words[at] for at in np.flatnonzero(row)]
    known = dict(zip(words, shop.lexical.holds(function("is{POS=noun}[eng](0)")), strict=True))
    for example in all_of(of, "is{POS=noun}[eng](0)"):
        assert example.gold == (str(bool(known[example.item.fields["input"]])).lower(),)


def test_sequences_have_as_many_words_as_pass_and_outputs_by_place(both):
    of, shop = both
    assert shop.lexical is not None
    name = "map{translate[eng->spa](0)}(filter{is{POS=noun}[eng](0)}(S))"
    pool = of.pools[name]["train"]
    assert isinstance(pool, FunctionPool)
    noun = shop.lexical.holds(function("is{POS=noun}[eng](0)"))
    spanish, outputs = shop.lexical.lexicon.vocabularies["spa"], shop.lexical.matrix(function("translate[eng->spa](0)"))
    for row, example in zip(pool.rows(), all_of(of, name), strict=True):
        assert len(row["input"]) == 8
        assert row["key"] == [word for word in row["input"] if noun[word]]
        assert len(row["key"]) == 4
        places = example.gold[0]
        assert [sorted(place) for place in places] == [
            [spanish[at] for at in sorted(outputs[[word]].indices)] for word in row["key"]
        ]
    for example in all_of(of, "filter{is{POS=noun}[eng](0)}(S)"):
        places = example.gold[0]
        kept = [place[0] for place in places]
        assert len(kept) == 4
        assert all(str(word) in example.item.fields["input"] for word in kept)


def test_a_word_has_its_outputs_once_and_one_of_them_is_taught(both):
    of, _ = both
    places: dict[str, object] = {}
    for example in all_of(of, "map{antonyms[eng](0)}(S)"):
        for place in example.gold[0]:
            assert places.setdefault(str(sorted(place)), place) is place
    golds = [example.gold[0] for example in all_of(of, "antonyms[eng](0)")]
    assert of.pools["antonyms[eng](0)"]["train"].golds() == golds
    assert any(
        gold != sorted(example.gold)[0] for gold, example in zip(golds, all_of(of, "antonyms[eng](0)"), strict=True)
    )


def test_words_are_for_training_or_for_testing_in_all_tasks(both):
    of, _ = both
    for domain in ("eng", "facts"):
        shown: dict[str, set[str]] = {"train": set(), "test": set()}
        for pools in of.pools.values():
            for name, pool in pools.items():
                assert isinstance(pool, FunctionPool)
                if pool.asks.source == domain:
                    shown[name] |= pool.shown_words()
        assert shown["train"]
        assert shown["test"]
        assert not shown["train"] & shown["test"]


def test_permuted_tasks_have_the_inputs_and_the_outputs_of_the_task(both):
    of, _ = both
    ours = [e for pool in ("train", "test") for e in all_of(of, "permuted{0}(antonyms[eng](0))", pool)]
    theirs = [e for pool in ("train", "test") for e in all_of(of, "antonyms[eng](0)", pool)]
    assert {e.item.id for e in ours} == {e.item.id for e in theirs}
    assert sorted(sorted(e.gold) for e in ours) == sorted(sorted(e.gold) for e in theirs)
    assert {e.item.id: sorted(e.gold) for e in ours} != {e.item.id: sorted(e.gold) for e in theirs}
    dealt, true = (
        [e.gold for e in all_of(of, name)] for name in ("permuted{0}(is{POS=noun}[eng](0))", "is{POS=noun}[eng](0)")
    )
    assert dealt != true


def test_predicates_of_facts_are_balanced(both):
    of, _ = both
    answers = [e.gold[0] for pool in ("train", "test") for e in all_of(of, "wiki{is{occupation=actor}(0)}", pool)]
    assert answers.count("false") <= answers.count("true")


def test_a_suite_is_the_same_on_disk_and_its_check_finds_nothing(both, tmp_path):
    of, _ = both
    opened = store.write(of, tmp_path / "s")
    assert opened.fingerprint == of.fingerprint
    assert list(check(opened)) == []
    for name in of.tasks:
        assert all_of(opened, name, "test") == all_of(of, name, "test")
        assert opened.pools[name]["test"].groups().tolist() == of.pools[name]["test"].groups().tolist()
    assert verify(opened, tmp_path / "s", opened.tasks)


def test_changed_relations_are_found(both, tmp_path):
    of, _ = both
    name = "antonyms[eng](0)"
    pool = of.pools[name]["train"]
    assert isinstance(pool, FunctionPool)
    damaged = replace(pool.tables, kept={})
    matrix = damaged.relation(name).tolil()
    word = pool.rows()[0]["input"][0]
    matrix[word] = False
    matrix[word, 0] = True
    damaged.kept[name] = csr_array(matrix)
    broken = {**of.pools, name: {**of.pools[name], "train": replace(pool, tables=damaged)}}
    found = [(fault.code, fault.place) for fault in check(replace(of, pools=broken))]
    assert found == [("E001", f"{name}/train")]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("functions", "spans", "antonyms[eng](0)", "stop"), "x"),
        (("functions", "spans", "antonyms[eng](0)", "stop"), 10**6),
        (("functions", "spans", "antonyms[eng](0)", "source"), "deu"),
        (("functions", "domains", "eng", "start"), 10**6),
        (("tasks", 0, "pools", "train", "asks", "source"), ["eng"]),
        (("tasks", 0, "pools", "train", "asks", "source"), "deu"),
        (("tasks", 0, "pools", "train", "asks", "target"), "spa"),
        (("tasks", 0, "pools", "train", "asks", "function"), "translate[spa->eng](0)"),
        (("tasks", 0, "pools", "train", "asks", "function"), "map{antonyms[eng](0)}(S)"),
        (("tasks", 1, "pools", "train", "row_groups"), [0, 1]),
    ],
)
def test_a_forged_manifest_is_refused(both, tmp_path, place, value):
    of, _ = both
    store.write(of, tmp_path / "s")
    manifest = json.loads((tmp_path / "s" / store.MANIFEST).read_text())
    at = manifest
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    (tmp_path / "s" / store.MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises((SuiteError, StoreError)):
        [all_of(unverified(tmp_path / "s"), name) for name in LEXICAL[:2]]


def unverified(folder: Path) -> Suite:
    """Open a suite whose fingerprint does not fit."""
    return store._suite_of(store._manifest(folder), folder)


def test_what_makes_no_task_is_refused_with_the_reason(shop):
    few = Workshop(shop.lexical, None, Sampling(least=70, sequences=50))
    _, found = made(few, "antonyms[eng](0)", "union(synonyms[eng](0),random{0}[eng](0))", "mother(0)")
    codes = {one.function: (one.why.code, dict(one.why.values)) for one in found.refused}
    assert codes["antonyms[eng](0)"] == ("function-few", {"count": 60, "least": 70})
    assert codes["wiki{mother(0)}"][0] == "function-unavailable"
    assert codes["union(random{0}[eng](0),synonyms[eng](0))"][0] == "function-few"


def test_equal_outputs_are_duplicates_and_constant_ones_no_task():
    class Odd(SmallLexicon):
        def relation(self, name: str, source: str, target: str) -> csr_array:
            size = self.sizes[source]
            if name == "hyponyms":
                return csr_array(np.eye(size, dtype=bool))
            if name == "entailments":
                return csr_array(np.arange(size)[None, :].repeat(size, 0) == 3)
            return super().relation("antonyms", source, target)

        def predicate(self, name: str, value: str, language: str) -> np.ndarray:
            return np.ones(self.sizes[language], bool)

    shop = Workshop(Lexical(Odd()), None, Sampling(least=10, sequences=50))
    names = ("antonyms", "synonyms", "hyponyms", "entailments")
    _, found = made(
        shop,
        *(f"{name}[eng](0)" for name in names),
        "is{POS=noun}[eng](0)",
        "map{synonyms[eng](0)}(S)",
        "map{antonyms[eng](0)}(S)",
    )
    codes = {one.function: one.why.code for one in found.refused}
    assert codes == {
        "synonyms[eng](0)": "function-duplicate", "hyponyms[eng](0)": "function-same-word",
        "entailments[eng](0)": "function-constant", "is{POS=noun}[eng](0)": "function-constant",
        "map{antonyms[eng](0)}(S)": "function-duplicate",
    }  # fmt: skip


class FewAndConstant(SmallLexicon):
    """Antonyms of eleven words, synonyms that are one word for all but some, and nouns that are some."""

    others = 2

    def relation(self, name: str, source: str, target: str) -> csr_array:
        found = np.zeros((self.sizes[source], self.sizes[target]), bool)
        if name == "antonyms":
            found[np.arange(0, 22, 2), np.arange(1, 23, 2)] = True
        else:
            found[:, 3] = True
            found[:, 4:8] = super().relation(name, source, target).toarray()[:, 4:8]
            found[: 2 * self.others, 3] = False
            found[: 2 * self.others, 9] = True
        return csr_array(found)


def test_sequences_need_as_many_words_as_tasks_of_single_words_need_samples():
    shop = Workshop(Lexical(FewAndConstant()), None, Sampling(least=12, sequences=50))
    names = ("antonyms[eng](0)", "map{antonyms[eng](0)}(S)", "map{antonyms[eng](0)}(filter{is{POS=noun}[eng](0)}(S))")
    _, found = made(shop, *names)
    codes = [(one.function, one.why.code, dict(one.why.values)["count"]) for one in found.refused]
    assert codes[:2] == [(name, "function-few", 11) for name in names[:2]]
    assert codes[2][:2] == (names[2], "function-few")
    assert codes[2][2] < 11  # those that pass


def test_a_sequence_could_have_another_word_at_each_place_in_both_pools():
    shop = Workshop(Lexical(FewAndConstant()), None, Sampling(least=11, sequences=50))
    _, found = made(shop, "antonyms[eng](0)", "map{antonyms[eng](0)}(S)")
    (refused,) = found.refused
    assert (refused.function, refused.why.code) == ("map{antonyms[eng](0)}(S)", "function-few-words")


@pytest.mark.parametrize(("others", "refused"), [(2, True), (9, True), (10, False)])
def test_a_relation_is_constant_where_one_answer_is_right_for_all_but_a_few_whatever_else_is_right(others, refused):
    class Some(FewAndConstant):
        pass

    Some.others = others
    shop = Workshop(Lexical(Some()), None, Sampling(least=10, sequences=50))
    names = {"synonyms[eng](0)", "map{synonyms[eng](0)}(S)"}
    of, found = made(shop, *sorted(names))
    assert {one.function for one in found.refused if one.why.code == "function-constant"} == (
        names if refused else set()
    )
    assert {*of.tasks} == (set() if refused else names)


def test_of_many_samples_one_answer_may_be_right_for_19_of_20():
    assert _constant(950, 1000) is None
    assert _constant(951, 1000) == Note.of("function-constant")
    assert _constant(91, 100) == Note.of("function-constant")


def test_a_fold_holds_compositions_out_with_their_sequences(shop):
    atoms = [of for of in catalogue.lexical_atoms(["eng"]) if "sentiment" not in str(of)]
    two = list(catalogue.of_two(atoms))[:40]
    found = Collected()
    found.add(wanted_of([*atoms, *two, *catalogue.of_sequences([*atoms, *two])]), shop)
    of = suite(found, shop, id="s", about={})
    (fold,) = held_out(of.tasks).values()
    assert {*fold} == {"train", "test"}
    assert all(atom in fold["train"] for name in fold["test"] for atom in of.tasks[name].tags["atoms"])
    for name in fold["test"]:
        assert f"map{{{name}}}(S)" not in fold["train"]
    share = len(fold["test"]) / len(of.tasks)
    assert 0.05 < share < 0.4
    assert [f.code for f in check(replace(of, folds={COMPOSITIONS: fold}))] == []


def test_permuted_functions_and_two_at_once_have_no_role_in_the_fold(shop):
    atoms = [of for of in catalogue.lexical_atoms(["eng"]) if "sentiment" not in str(of)]
    texts = [f"permuted{{{n}}}(antonyms[eng](0))" for n in range(9)]
    texts += ["match(antonyms[eng](0),synonyms[eng](0))", "map{permuted{0}(antonyms[eng](0))}(S)"]
    found = Collected()
    found.add(wanted_of([*atoms, *list(catalogue.of_two(atoms))[:40], *map(function, texts)]), shop)
    of = suite(found, shop, id="s", about={})
    (fold,) = held_out(of.tasks).values()
    assert {*texts} <= {*of.tasks}
    assert {name for names in fold.values() for name in names} == {*of.tasks} - {*texts}


def test_made_up_words_are_no_words_and_change_nothing_else(shop):
    text = "antonyms[eng](0)"
    real, _ = made(shop, text)
    fresh, _ = made(Workshop(shop.lexical, None, shop.how, words="made-up"), text)
    ours, theirs = all_of(real, text), all_of(fresh, text)
    assert {e.item.id for e in ours} == {e.item.id for e in theirs}
    assert not {str(w) for e in theirs for w in (*e.gold, *e.item.fields.values())} & {e.item.id for e in ours}
    sizes = ({e.item.id: len(e.gold) for e in examples} for examples in (ours, theirs))
    assert next(sizes) == next(sizes)
    assert real.fingerprint != fresh.fingerprint


def test_made_up_words_are_each_one_words_of_all_domains_and_known_in_none(shop, monkeypatch):
    monkeypatch.setattr(made_up, "SYLLABLES", ("a", "aa", "aaa", "b", "ba", "ab", "bab", *(f"k{n}" for n in range(20))))
    known = {"aab", "bk1", "k1k2"}  # as if they were words of the other language
    lexicon = SmallLexicon(sizes={"eng": 120, "spa": 60})
    words: Any = lexicon.vocabularies
    words["spa"] = tuple(sorted([*words["spa"][3:], *known]))
    fresh = Workshop(Lexical(lexicon), None, shop.how, words="made-up")
    texts = [text for language in ("spa", "eng") for _, text in fresh.names(language)]
    assert len({*texts}) == len(texts) == 180
    assert not {*texts} & known
    again = Workshop(Lexical(lexicon), None, shop.how, words="made-up")
    assert again.names("eng") == fresh.names("eng")  # whichever is asked for first


def test_a_mark_stands_between_the_words_of_sequences(shop):
    of, _ = made(Workshop(shop.lexical, None, shop.how, mark="#"), "map{antonyms[eng](0)}(S)")
    example = all_of(of, "map{antonyms[eng](0)}(S)")[0]
    assert example.item.fields["input"].count(" # ") == 7
    assert of.tasks["map{antonyms[eng](0)}(S)"].output == Words(" # ")


def test_sequences_are_drawn_as_in_algorithm_1():
    passing, failing = np.arange(10), np.arange(100, 120)
    rows, kept = sequences(passing, failing, (200, 8, 3), "key")
    assert rows.shape == (200, 8)
    assert ((rows < 10).sum(1) == 3).all()
    assert [row[row < 10].tolist() for row in rows] == kept.tolist()
    assert len({tuple(row) for row in rows.tolist()}) == 200
    assert (rows[:, 0] < 10).any()
    assert (rows[:, 0] >= 10).any()


def test_two_functions_are_taught_alike_and_asked_about_together(shop, tmp_path):
    of, _ = made(shop, "match(antonyms[eng](0),synonyms[eng](0))", "antonyms[eng](0)", "synonyms[eng](0)")
    name = "match(antonyms[eng](0),synonyms[eng](0))"
    task = of.tasks[name]
    assert (task.output, task.instruction) == (Ranking(), "an antonym of x or a synonym of x")
    assert task.tags["parts"] == ("antonyms[eng](0)", "synonyms[eng](0)")
    taught = [example.gold[0][0] for example in all_of(of, name)]
    assert Counter(grade for _, grade in taught) == {1.0: len(taught) / 2, 2.0: len(taught) / 2}
    ours, theirs = ({e.item.id: e.gold for e in all_of(of, part, "test")} for part in task.tags["parts"])
    for example in all_of(of, name, "test"):
        word, graded = example.item.id, dict(example.gold[0])
        assert example.item.candidates == tuple(sorted({*ours[word], *theirs[word]}))
        assert graded == {c: (c in ours[word]) + 2.0 * (c in theirs[word]) for c in example.item.candidates}
    for example in all_of(of, name):
        word, question = example.item.id.split("/")
        part = task.tags["parts"][int(question) - 1]
        known = {e.item.id: e.gold for pool in ("train", "test") for e in all_of(of, part, pool)}
        assert example.gold == (((known[word][0], float(question)),),)
    assert list(check(of)) == []
    with pytest.raises(SuiteError, match="no place for this function"):
        layout.write(of, tmp_path / "files")


def taught(drawn: Iterable[Example]) -> Counter[float]:
    """Count the examples of each of two functions."""
    return Counter(example.gold[0][0][1] for example in drawn)  # type: ignore[index,misc]


@pytest.mark.parametrize("shots", [1, 2, 5, 8])
@pytest.mark.parametrize("seed", range(3))
def test_shots_are_of_two_functions_in_turns(shop, shots, seed):
    name = "match(antonyms[eng](0),synonyms[eng](0))"
    of, _ = made(shop, name)
    drawn = episode(of, draw(of, name, Sampler(shots=shots, dev=4, query=4, reserve=8), seed=seed))
    assert taught(drawn.support) == Counter({1.0: -(-shots // 2), 2.0: shots // 2})
    assert taught(drawn.dev) == {1.0: 2, 2.0: 2}
    more = episode(of, draw(of, name, Sampler(shots=8, dev=4, query=4), seed=seed))
    assert more.support[:shots] == drawn.support
    assert (more.dev, more.query) == (drawn.dev, drawn.query)


@pytest.mark.parametrize("reserve", [0, 8])
def test_all_examples_of_two_functions_are_taught_but_those_of_words_that_dev_has(shop, reserve):
    name = "match(antonyms[eng](0),synonyms[eng](0))"
    of, _ = made(shop, name)
    drawn = episode(of, draw(of, name, Sampler(shots="all", dev=4, query="all", reserve=reserve)))
    kept = {example.group for example in drawn.dev}
    left = {example.item.id for example in all_of(of, name) if example.group not in kept}
    assert {example.item.id for example in drawn.support} <= left
    counts = taught(drawn.support)
    assert counts[1.0] == counts[2.0] == min(taught(e for e in all_of(of, name) if e.group not in kept).values())


BUILD = """
from taskloom.suites.functions.build import Collected, suite, wanted_of
from taskloom.suites.functions import catalogue
from taskloom.suites.functions.knowledge import Lexical
from taskloom.suites.functions.sample import Sampling
from taskloom.suites.functions.workshop import Workshop
from functions.conftest import SmallLexicon
atoms = list(catalogue.lexical_atoms(["eng", "spa"]))
found, shop = Collected(), Workshop(Lexical(SmallLexicon()), None, Sampling(least=10, sequences=20))
found.add(wanted_of([*atoms, *catalogue.of_two(atoms)]), shop, 60)
print(suite(found, shop, id="s", about={}).fingerprint)
"""


def test_the_hash_seed_of_python_makes_no_difference():
    found = set()
    for seed in ("1", "2"):
        path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        done = subprocess.run([sys.executable, "-c", BUILD], env=env, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1


# --- the published files ---------------------------------------------------------------------------------------------


def test_published_files_are_written_and_read_back(both, tmp_path):
    of, _ = both
    assert layout.write(of, tmp_path / "files", NAMES) == len(of.tasks)
    assert (tmp_path / "files/seq_composite/mapfilter").is_dir()
    read = layout.read(tmp_path / "files", NAMES)
    assert {*read.tasks} == {*of.tasks}
    for name in of.tasks:
        for pool in ("train", "test"):
            ours, theirs = all_of(of, name, pool), all_of(read, name, pool)
            assert [e.item.fields for e in ours] == [e.item.fields for e in theirs]
            assert [e.gold for e in ours] == [e.gold for e in theirs]


def test_a_line_as_it_is_published(tmp_path):
    line = '{"inputs": ["hot"], "all_tgts": ["cold", "cool"], "inner_fns": {}, "R": "antonyms[eng](0)"}\n'
    entity = '{"inputs": [{"Qid": "Q1", "ent_name": "Ann"}], "all_tgts": [true], "inner_fns": {}}\n'
    for name, text in (("atomic/antonyms[eng](0)", line), ("atomic/wiki{is{occupation=actor}(0)}", entity)):
        (tmp_path / name).mkdir(parents=True)
        for pool in ("train", "dev"):
            (tmp_path / name / f"{pool}.jsonl").write_text(text)
    read = layout.read(tmp_path, NAMES)
    assert all_of(read, "antonyms[eng](0)", "test")[0].gold == ("cold", "cool")
    (example,) = all_of(read, "wiki{is{occupation=actor}(0)}")
    assert (example.item.fields, example.gold, example.group) == ({"input": "Ann"}, ("true",), "Q1")
