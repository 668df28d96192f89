from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.answers import faults_of
from taskloom.benchmarks import build
from taskloom.core import Answer, Example, Item, Labels, Number, Output, Ranking, Task, Terms, Text, Words
from taskloom.episodes import Deck, Sampler, episode
from taskloom.errors import LearnerError, UnknownNameError, UsageError
from taskloom.learners import LEARNERS, Learner, learner
from taskloom.learners.answering import answer
from taskloom.learners.baselines import Bm25, CopyDemonstration, CopyInput, Majority, Nearest, Random, TfidfLinear
from taskloom.learners.toolbox import Toolbox
from taskloom.priors import Prior, Priors
from taskloom.sources.table import Field

ALL: Sequence[Learner] = [Majority(), Random(), CopyInput(), CopyDemonstration(), Nearest(), TfidfLinear(), Bm25()]
OWLS = [("red owl", "bird"), ("snowy owl", "bird"), ("old elm", "tree"), ("red oak", "tree"), ("oak", "tree")]
CHINESE = [("城市道路绿化", "园林"), ("排序算法研究", "计算机"), ("公园绿化设计", "园林"), ("图的算法", "计算机")]


def task(output: Output, separator: str = "\n", id: str = "t") -> Task:
    return Task(id=id, instruction="Do it.", output=output, metrics=(), separator=separator)


def support(pairs: Sequence[tuple[str, Any]]) -> list[Example]:
    return [Example(Item(f"s{n}", {"text": text}), (gold,), str(n)) for n, (text, gold) in enumerate(pairs)]


def items(*texts: str, candidates: tuple[str, ...] = ()) -> list[Item]:
    return [Item(f"q{n}", {"text": text}, candidates) for n, text in enumerate(texts)]


def prior(golds: Sequence[Any]) -> Callable[[str], Prior]:
    """Give the prior of a pool that has these gold answers."""
    return lambda _: dict(Counter(golds))


def answers(
    of: Learner,
    output: Output,
    pairs: Sequence[tuple[str, Any]],
    asked: Sequence[Item],
    *,
    seed: int = 0,
    tools: Toolbox | None = None,
) -> list[Answer | None]:
    tools = tools or Toolbox({}, priors=prior([gold for _, gold in pairs]))
    fitted = of.fit(task(output), support(pairs), [], seed=seed, tools=tools)
    found: Any = fitted.predict(asked)
    return list(found)


# majority


LETTERS = Labels(("a", "b", "c"))


def majority(output: Output, golds: Sequence[Any], tools: Toolbox | None = None) -> Answer | None:
    """Give what majority answers from balanced support, where the pool has these gold answers."""
    tools = tools or Toolbox({}, priors=prior(golds))
    fitted = Majority().fit(task(output), support([("x", golds[0])]), [], seed=0, tools=tools)
    found: Any = fitted.predict(items("x", "y"))
    assert found[0] == found[1]
    return found[0]  # type: ignore[no-any-return]


def test_majority_gives_the_most_frequent_label_of_the_pool_whatever_the_support():
    assert majority(LETTERS, ["a", "c", "b", "c"]) == "c"
    assert Majority.version == 2


def test_majority_counts_a_tie_and_chooses_the_same_label_for_every_seed_but_not_for_every_task():
    tools = Toolbox({}, priors=prior(["a", "b", "c", "c", "b"]))
    assert majority(LETTERS, ["a"], tools) in ("b", "c")
    assert tools.counts == {"majority-tied": 1}
    chosen = set()
    for name in map(str, range(40)):
        fits = [Majority().fit(task(LETTERS, id=name), [], [], seed=n, tools=tools) for n in (0, 1)]
        (first,), (second,) = (fitted.predict(items("x")) for fitted in fits)
        assert first == second
        chosen.add(first)
    assert chosen == {"b", "c"}


def test_majority_gives_the_mean_of_the_pool_s_numbers_however_large():
    assert majority(Number(), [1.0, 2.0, 6.0]) == 3.0
    assert majority(Number(), [0.1] * 3) == pytest.approx(0.1, abs=1e-16)
    assert majority(Number(), [1.5e308, 1.7e308]) == 1.6e308
    assert majority(Number(), [0.0, -0.0]) == 0.0


def test_majority_gives_the_most_frequent_text_terms_or_set_of_labels():
    assert majority(Text(), ["b", "a", "a"]) == "a"
    assert majority(Terms(), [("b",), ("a", "b"), ("a", "b")]) == ("a", "b")
    assert majority(Labels(("a", "b"), many=True), [("a",), ("a", "b"), ("a", "b")]) == ("a", "b")


def test_majority_without_a_pool_says_what_is_missing():
    with pytest.raises(LearnerError) as caught:
        Majority().fit(task(LETTERS), [], [], seed=0, tools=Toolbox({}))
    assert caught.value.note.code == "prior-missing"


# random, and copies of demonstrations


def test_random_labels_are_about_equally_frequent_and_need_no_support():
    found = answers(Random(), Labels(("a", "b", "c")), [], items(*["x"] * 600))
    assert all(150 < found.count(label) < 250 for label in ("a", "b", "c"))


def test_random_labels_follow_the_pool_where_that_is_asked_for():
    tools = Toolbox({}, priors=prior(["a"] * 3 + ["c"]))
    found = answers(Random(prior="pool"), LETTERS, [], items(*["x"] * 600), tools=tools)
    assert 400 < found.count("a") < 500
    assert found.count("b") == 0
    assert answers(Random(prior="pool"), Text(), [], items("x"), tools=tools) in (["a"], ["c"])


def test_random_says_which_prior_it_follows_and_refuses_others():
    assert repr(Random()) == "Random(prior='uniform')"
    with pytest.raises(UnknownNameError, match="did you mean pool"):
        learner("random", {"prior": "pol"})


def test_random_many_labels_are_a_support_answer_and_without_support_one_label():
    output = Labels(("a", "b", "c"), many=True)
    pairs = [("1", ("a", "b")), ("2", ())]
    assert set(answers(Random(), output, pairs, items(*["x"] * 20))) == {("a", "b"), ()}
    assert set(answers(Random(), output, [], items(*["x"] * 40))) == {("a",), ("b",), ("c",)}


@pytest.mark.parametrize("of", [Random(), CopyDemonstration()])
def test_random_answers_are_gold_answers_of_the_support(of: Learner):
    for output, golds in ((Text(), ["a", "乙"]), (Terms(), [("a",), ("b", "c")]), (Number(), [1.0, 2.5])):
        found = answers(of, output, [("x", gold) for gold in golds], items(*["x"] * 20))
        assert set(found) == set(golds)
    assert set(answers(CopyDemonstration(), Labels(("a", "b", "c")), [("x", "b")], items("x", "y"))) == {"b"}


def test_random_without_support_gives_no_text_terms_or_number():
    assert [answers(Random(), output, [], items("x")) for output in (Text(), Terms(), Number())] == [[None]] * 3


@pytest.mark.parametrize("of", [Random(), CopyDemonstration(), Nearest()])
def test_answers_of_words_are_the_taught_ones_as_a_text(of: Learner):
    pairs = [("red owl", (("big", "large"), ("new york",))), ("old elm", (("small",), ("rome", "roma")))]
    found = answers(of, Words(" # "), pairs, items("red owl", "old elm", "x"))
    assert {*found} <= {"big # new york", "small # rome"}
    assert answers(CopyInput(), Words(), pairs, items("red owl")) == ["red owl"]


def test_random_grades_each_candidate_once_below_one():
    (found,) = answers(Random(), Ranking(), [], items("x", candidates=("a", "b", "a", "c")))
    assert isinstance(found, tuple)
    assert [pair[0] for pair in found] == ["a", "b", "c"]
    assert all(0 <= float(pair[1]) < 1 for pair in found)
    assert answers(Random(), Ranking(), [], items("x")) == [None]


@pytest.mark.parametrize("of", [Random(), CopyDemonstration()])
def test_random_answers_change_with_the_seed_the_task_and_the_item(of: Learner):
    pairs = [(str(n), f"gold {n}") for n in range(1000)]
    first = answers(of, Text(), pairs, items("x", "x"))
    other = of.fit(task(Text(), id="u"), support(pairs), [], seed=0, tools=Toolbox({})).predict(items("x"))
    assert len({*first, *answers(of, Text(), pairs, items("x"), seed=1), *other}) == 4


# copies of the input


def test_the_input_is_copied_with_the_separator_of_the_task():
    item = Item("q", {"title": "道路绿化", "abstract": "研究了道路。"})
    fitted = CopyInput().fit(task(Text(), separator=" | "), [], [], seed=0, tools=Toolbox({}))
    assert fitted.predict([item]) == ["道路绿化 | 研究了道路。"]


def test_no_answer_is_copied_from_an_empty_input():
    assert answers(CopyInput(), Text(), [], items("", " \n", "x")) == [None, None, "x"]


# nearest


def test_nearest_gives_the_answer_of_the_example_with_the_rarest_words_in_common():
    found = answers(Nearest(), Labels(("bird", "tree")), OWLS, items("A SNOWY day", "red elm", "the red owl"))
    assert found == ["bird", "tree", "bird"]


def test_nearest_compares_chinese_by_character():
    pairs = [(text, f"标题：{text}") for text, _ in CHINESE]
    assert answers(Nearest(), Text(), pairs, items("算法的图", "公园")) == ["标题：图的算法", "标题：公园绿化设计"]


def test_nearest_gives_ties_to_the_first_example():
    pairs = [("b a", 1.0), ("a b", 2.0), ("c d", 3.0)]
    assert answers(Nearest(), Number(), pairs, items("a b", "a", "d")) == [1.0, 1.0, 3.0]


def test_nearest_counts_items_without_a_word_in_common_and_gives_them_the_first_example():
    tools = Toolbox({})
    pairs = [("red", ("a",)), ("elm", ("b",))]
    assert answers(Nearest(), Terms(), pairs, items("", "owl", "elm", "?!"), tools=tools) == [
        ("a",),
        ("a",),
        ("b",),
        ("a",),
    ]
    assert tools.counts == {"no-common-word": 3}


@pytest.mark.parametrize("of", [Nearest(), TfidfLinear()])
def test_support_without_a_single_word_still_gives_answers_and_is_counted(of: Learner):
    tools = Toolbox({})
    pairs = [("", "a"), ("…", "b"), ("", "b")] if isinstance(of, TfidfLinear) else [("", "b"), ("…", "a")]
    assert answers(of, Labels(("a", "b")), pairs, items("x", ""), tools=tools) == ["b", "b"]
    assert tools.counts == {"no-common-word": 2}


# linear models


def test_linear_models_learn_labels_in_english_and_chinese():
    assert answers(TfidfLinear(), Labels(("tree", "bird")), OWLS[:4], items("an owl", "elm oak")) == ["bird", "tree"]
    asked = items("绿化公园", "算法")
    assert answers(TfidfLinear(), Labels(("园林", "计算机", "历史")), CHINESE, asked) == ["园林", "计算机"]


def test_linear_models_give_ties_to_the_first_of_the_label_names():
    tools = Toolbox({})
    pairs = [("x y", "c"), ("z w", "b"), ("u v", "a")]
    assert answers(TfidfLinear(), Labels(("b", "a", "c")), pairs, items("", "owl"), tools=tools) == ["b", "b"]
    assert tools.counts == {"no-common-word": 2}


def test_one_example_of_each_of_many_classes_is_no_warning():
    names = tuple(f"c{n}" for n in range(30))
    assert answers(TfidfLinear(), Labels(names), [(f"w{name}", name) for name in names], items("wc7")) == ["c7"]


def test_of_one_class_linear_models_give_that_class():
    assert answers(TfidfLinear(), Labels(("a", "b")), [("x", "b"), ("y", "b")], items("x", "")) == ["b", "b"]
    output = Labels(("a", "b"), many=True)
    assert answers(TfidfLinear(), output, [("x", ("b",)), ("y", ("b",))], items("x", "")) == [("b",), ("b",)]
    assert answers(TfidfLinear(), output, [("x", ()), ("y", ())], items("x", "")) == [(), ()]


def test_of_many_labels_each_is_decided_apart():
    pairs = [("red", ("a", "b")), ("elm", ("a",))]
    found = answers(TfidfLinear(), Labels(("c", "b", "a"), many=True), pairs, items("red", "elm", "owl"))
    assert found == [("b", "a"), ("a",), ("a",)]


def test_of_many_labels_the_likeliest_is_given_where_every_example_has_one():
    pairs: list[tuple[str, Any]] = [("red", ("a",)), ("elm", ("b",)), ("owl", ("c",))]
    output = Labels(("a", "b", "c"), many=True)
    assert answers(TfidfLinear(), output, pairs, items("elm", "owl")) == [("b",), ("c",)]
    assert answers(TfidfLinear(), output, [*pairs, ("x", ())], items("elm", "owl")) == [(), ()]


def test_numbers_are_those_of_ridge_regression_worked_by_hand():
    # Rows (1, 0) and (0, 1), weights (-a, a): 2 (1 - a)^2 + 2 a^2 / C is least at a = 1/2 for C = 1, and 2/3 for C = 2.
    pairs = [("red", 1.0), ("elm", 3.0)]
    assert answers(TfidfLinear(), Number(), pairs, items("red", "elm", "")) == [1.5, 2.5, 2.0]
    assert answers(TfidfLinear(C=2), Number(), pairs, items("elm")) == [2.66666667]
    assert answers(TfidfLinear(), Number(), [("红", 7.0)], items("红", "绿")) == [7.0, 7.0]


def test_a_larger_c_follows_the_support_more_closely():
    pairs = [("x", "a")] * 3 + [("x y", "b")]
    assert answers(TfidfLinear(C=0.01), Labels(("a", "b")), pairs, items("y")) == ["a"]
    assert answers(TfidfLinear(C=100), Labels(("a", "b")), pairs, items("y")) == ["b"]


def test_a_fit_that_does_not_converge_is_counted(monkeypatch: pytest.MonkeyPatch):
    from sklearn.linear_model import LogisticRegression

    patient = LogisticRegression.fit
    monkeypatch.setattr(LogisticRegression, "fit", lambda self, *a: patient(self.set_params(max_iter=1), *a))
    tools = Toolbox({})
    answers(TfidfLinear(), Labels(("bird", "tree")), OWLS, items("owl"), tools=tools)
    assert tools.counts == {"not-converged": 1}


@pytest.mark.parametrize("wrong", [0, -1, True, "1", float("nan"), float("inf"), None])
def test_settings_that_are_no_such_number_are_refused(wrong: Any):
    with pytest.raises(UsageError, match="C must be a number from 1e-06 to 1e\\+06"):
        TfidfLinear(C=wrong)
    with pytest.raises(UsageError, match="b must be a number from 0 to 1: 2"):
        Bm25(b=2)


# bm25


def test_bm25_is_as_worked_by_hand():
    # Three candidates of 3, 1 and 2 words, 2 in the mean; owl is worth ln(1 + 2.5/1.5) = 0.98083, red ln(1 + 1.5/2.5)
    # = 0.47000. The first gets 0.98083 * 2 / (2 + 1.65) + 0.47 / (1 + 1.65), where 1.65 is 1.2 (0.25 + 0.75 * 3/2);
    # the second 0.47 / (1 + 0.75).
    (found,) = answers(Bm25(), Ranking(), [], items("Red owl", candidates=("owl, red owl", "red", "an elm")))
    assert isinstance(found, tuple)
    assert [pair[0] for pair in found] == ["owl, red owl", "red", "an elm"]
    assert [float(pair[1]) for pair in found] == pytest.approx([0.71480, 0.26857, 0], abs=1e-5)


def test_bm25_without_lengths_or_counts_adds_up_what_words_are_worth():
    assert Bm25(k1=0).grades("red red owl", ["red red", "owl elm elm"]) == pytest.approx([2 * 0.693147, 0.693147])


def test_bm25_ranks_chinese_by_character():
    candidates = ("公园设计", "图的算法", "排序算法研究")
    (found,) = answers(Bm25(), Ranking(), [], items("排序的算法", candidates=candidates))
    assert isinstance(found, tuple)
    assert sorted(found, key=lambda pair: -float(pair[1]))[0][0] == "排序算法研究"
    assert found[0] == ("公园设计", 0.0)


def test_bm25_grades_a_candidate_that_stands_twice_once():
    (found,) = answers(Bm25(k1=1), Ranking(), [], items("a", candidates=("a", "a")))
    assert found == (("a", math.log(1 + 0.5 / 1.5) / 2),)


def test_bm25_counts_items_without_a_word_in_common():
    tools = Toolbox({})
    asked = [*items("", candidates=("a", "b")), *items("c", candidates=("", "a")), *items("a", candidates=("", "?"))]
    found = answers(Bm25(), Ranking(), [], asked, tools=tools)
    assert found == [(("a", 0.0), ("b", 0.0)), (("", 0.0), ("a", 0.0)), (("", 0.0), ("?", 0.0))]
    assert tools.counts == {"no-common-word": 3}


def test_tfidf_grades_candidates_by_cosine():
    asked = items("red owl", candidates=("a red owl", "a red fox", "an elm"))
    found: Any = answers(TfidfLinear(), Ranking(), [], asked)
    ((first, second, third),) = found
    # weights are 1 + ln(4 / 3) of a and red, 1 + ln(4 / 2) of others: "a red owl" is (w, w, v), the query (w, v)
    w, v = 1 + math.log(4 / 3), 1 + math.log(2)
    near = (w * w + v * v) / math.hypot(w, w, v) / math.hypot(w, v)
    assert first == ("a red owl", pytest.approx(near))
    assert second == ("a red fox", pytest.approx(w * w / math.hypot(w, w, v) / math.hypot(w, v)))
    assert third == ("an elm", 0.0)


# all of them


@pytest.mark.parametrize("of", [CopyDemonstration(), Nearest(), TfidfLinear()])
def test_what_needs_support_says_so_when_there_is_none(of: Learner):
    assert not of.unaided - {"ranking"}
    with pytest.raises(LearnerError, match="needs support examples, and there are none: task 't'"):
        of.fit(task(Labels(("a", "b"))), [], [], seed=0, tools=Toolbox({}))


def test_no_items_get_no_answers():
    for of in ALL:
        for output, gold in ((Labels(("a",)), "a"), (Number(), 1.0), (Text(), "a"), (Ranking(), (("a", 1.0),))):
            if output.kind in of.outputs:
                assert answers(of, output, [("x", gold)], []) == []


words = st.sampled_from(["owl", "elm", "红", "绿", "...", "", "İ", "naïve", "x_y"])
texts = st.lists(words, max_size=4).map(" ".join)
labels = st.sampled_from(["a", "b", "c"])
numbers = st.floats(allow_nan=False, allow_infinity=False)
golds: dict[Output, st.SearchStrategy[Any]] = {
    Labels(("a", "b", "c")): labels,
    Labels(("a", "b", "c"), many=True): st.lists(labels, unique=True, max_size=3).map(tuple),
    Text(): st.sampled_from(["owl", "红"]),
    Terms(): st.lists(st.sampled_from(["owl", "红"]), min_size=1, max_size=2).map(tuple),
    Number(): numbers,
    Ranking(): st.just((("a", 1.0),)),
}


@settings(deadline=None, max_examples=12)
@pytest.mark.parametrize("output", golds, ids=str)
@given(data=st.data())
def test_an_answer_is_of_the_output_s_form_or_none_whatever_the_order_of_the_items(output: Output, data: st.DataObject):
    pairs = data.draw(st.lists(st.tuples(texts, golds[output]), max_size=5))
    candidates = tuple(data.draw(st.lists(texts, max_size=4)))
    asked = items(*data.draw(st.lists(texts, max_size=4)), candidates=candidates)
    for of in ALL:
        if output.kind in of.outputs and (pairs or (output.kind in of.unaided and type(of) is not Majority)):
            found = answers(of, output, pairs, asked)
            assert not [f for a in found if a is not None for f in faults_of(output, a, candidates)]
            assert answers(of, output, pairs, asked[::-1]) == found[::-1]
            assert answers(of, output, pairs, asked[:1]) == found[:1]


PROGRAM = """
from collections import Counter
from taskloom.core import Example, Item, Labels, Number, Ranking, Task, Text
from taskloom.learners import LEARNERS, learner
from taskloom.learners.toolbox import Toolbox

texts = [" ".join(f"w{(n * n + k * 17 * (n % 3 + 1)) % 9001}" for k in range(200)) for n in range(24)]
one, many = Labels(("a", "b", "c")), Labels(("a", "b", "c"), many=True)
outputs = {"labels": one, "many": many, "number": Number(), "text": Text()}
golds = {"labels": lambda n: "abc"[n % 3], "many": lambda n: tuple({"a", "abc"[n % 3]}), "number": float, "text": str}
items = [Item(str(n), {"x": text}, tuple(texts[:9])) for n, text in enumerate(texts)]
for name in (name for name, where in LEARNERS.items() if where.startswith("baselines:")):
    of = learner(name)
    for kind, output in {**outputs, "ranking": Ranking()}.items():
        if output.kind in of.outputs:
            task = Task(id="t", instruction="", output=output, metrics=())
            support = [Example(i, (golds[kind](n),), i.id) for n, i in enumerate(items[:20])] if kind in golds else []
            counted = dict(Counter(tuple(sorted(e.gold[0])) if kind == "many" else e.gold[0] for e in support))
            tools = Toolbox({}, priors=lambda _: counted)
            found = of.fit(task, support, [], seed=3, tools=tools).predict(items[20:])
            sets = [tuple(sorted(a)) if kind == "many" else a for a in found]
            print(name, kind, sets, tools.counts)
"""


def test_answers_are_the_same_under_any_hash_seed_and_number_of_threads(capsys: pytest.CaptureFixture[str]):
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4"},
        stdout=subprocess.PIPE,
        text=True,
    )
    exec(PROGRAM, {})
    here, there = capsys.readouterr().out, child.communicate()[0]
    assert child.returncode == 0
    assert here == there
    assert all(f"{name} " in here for name, where in LEARNERS.items() if where.startswith("baselines:"))


def test_importing_the_baselines_loads_no_scikit_learn():
    program = "import sys, taskloom.learners.baselines; print('sklearn' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_a_few_examples_are_learnt_from():
    fields = (Field("abstract", "text"), Field("category", "label"))
    suite = build("quickstart", "data:papers", fields=fields)

    deck = Deck(suite, "abstract->category")

    def right(name: str) -> int:
        total = 0
        for seed in range(4):
            drawn = deck.draw(Sampler(shots=4, dev=0, query=20), seed=seed)
            asked, tools = episode(suite, drawn), Toolbox({}, priors=partial(Priors(deck).of, drawn))
            found = [r.answer for r in answer(learner(name), asked, seed=seed, tools=tools)]
            total += sum(a in example.gold for a, example in zip(found, asked.query, strict=True))
        return total

    baseline = right("majority")
    assert right("nearest") >= baseline + 20
    assert right("tfidf-linear") >= baseline + 20


def test_a_search_for_c_finds_rare_classes_that_a_fixed_c_never_predicts():
    pairs = [(f"plain talk {n % 7}", "often") for n in range(60)] + [
        (f"plain talk {n} rare", "seldom") for n in range(6)
    ]
    output, asked = Labels(("often", "seldom")), items("plain talk 3 rare")
    assert answers(TfidfLinear(), output, pairs, asked) == ["often"]
    assert answers(TfidfLinear(C="search"), output, pairs, asked) == ["seldom"]


def test_a_search_for_c_serves_numbers_many_labels_and_single_examples():
    searching = TfidfLinear(C="search")
    assert answers(searching, Labels(("tree", "bird")), OWLS[1:3], items("an owl")) == ["bird"]  # C = 1
    many = [(text, (gold,)) for text, gold in OWLS * 2]
    assert answers(searching, Labels(("tree", "bird"), many=True), many, items("owl", "oak")) == [("bird",), ("tree",)]
    rare = [*(("an oak and an elm", ("tree",)),) * 5, ("an owl", ("bird",))]  # a fold without owls can't be fitted
    assert answers(searching, Labels(("tree", "bird"), many=True), rare, items("an elm")) == [("tree",)]
    (low, high) = answers(searching, Number(), [(f"w{n % 3}", float(n % 3)) for n in range(12)], items("w0", "w2"))
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low < high
    with pytest.raises(UsageError):
        TfidfLinear(C="grid")  # type: ignore[arg-type]
