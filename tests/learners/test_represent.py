"""The learner `represent`: probes, rankings, reviewers, clusters, sentences and ensembles, on vectors that are set."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from taskloom.core import Example, Item, Labels, Number, Ranking, Stored, Task, Terms
from taskloom.errors import LearnerError, TaskloomError, UnknownNameError, UsageError
from taskloom.learners import can_do, identity, learner
from taskloom.learners.disambiguate import clusters, in_common
from taskloom.learners.represent import Represent
from taskloom.learners.sentences import sentences_of, transport
from taskloom.learners.svm import fit_classes, fit_numbers
from taskloom.learners.toolbox import Toolbox
from taskloom.learners.vector_reader import combined
from taskloom.models import Usage
from taskloom.models.vectors import VectorCache
from taskloom.suites.documents import documents
from taskloom.task_forms import forms_of

POINTS: Mapping[str, tuple[float, ...]] = {
    "east": (1, 0), "far east": (3, 0), "north": (0, 1), "north-east": (2, 1), "far north": (0, 5), "west": (-1, 0)
}  # fmt: skip


class Points:
    """An encoder of texts that are on a map; in the form QRY it is turned by half."""

    width = 2

    def __init__(self, forms: tuple[str, ...] = (), scale: float = 1.0) -> None:
        self.usage, self.forms, self.scale = Usage(), forms, scale

    def take(self, texts: Sequence[str], form: str = "") -> tuple[Any, list[int]]:
        assert not form or form in self.forms
        found = np.array([POINTS[text] for text in texts], np.float32).reshape(-1, 2) * self.scale
        return -found if form == "QRY" else found, [0] * len(texts)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path))
    return tmp_path


PAPERS = documents(
    "papers",
    [
        *(Stored(name, {"title": name}) for name in POINTS),
        Stored("ann", {}, ("north", "west")),
        Stored("bo", {}, ("east", "far east", "north-east", "far north")),
    ],
)


def toolbox(forms: tuple[str, ...] = (), **scales: float) -> Toolbox:
    made = {"map": VectorCache("map", ["map", *forms], "float32", lambda: Points(forms), forms)}
    for name, scale in scales.items():
        made[name] = VectorCache(name, [name, scale], "float32", partial(Points, scale=scale))
    return Toolbox({}, encoders=made.__getitem__, stores={"papers": PAPERS})


def asked(of: Represent, task: Task, support: Sequence[Example], tools: Toolbox, *items: Item) -> Any:
    return of.fit(task, support, (), seed=0, tools=tools).predict(items)


def item(text: str, *candidates: str) -> Item:
    return Item(text, {"input": text}, candidates)


def ranking(store: str = "papers", **tags: str) -> Task:
    named = {name: (value,) for name, value in tags.items()}
    return Task(id="near", instruction="", output=Ranking(store=store), metrics=("map",), tags=named)


def order(answer: Sequence[tuple[str, float]]) -> list[str]:
    return [name for name, _ in sorted(answer, key=lambda pair: -pair[1])]


# --- rankings --------------------------------------------------------------------------------------------------------


def test_candidates_are_graded_by_distance_of_their_texts_whatever_they_are():
    of, tools = Represent(model="map"), toolbox()
    asked_of = item("east", "far east", "north", "north-east")
    (by_id,) = asked(of, ranking(), (), tools, asked_of)
    assert by_id == (("far east", -2.0), ("north", pytest.approx(-(2**0.5))), ("north-east", pytest.approx(-(2**0.5))))
    assert asked(of, ranking(store=""), (), tools, asked_of) == [by_id]
    (cosine,) = asked(Represent(model="map", measure="cosine"), ranking(), (), tools, asked_of)
    assert dict(cosine) == pytest.approx({"far east": 1.0, "north": 0.0, "north-east": 2 / 5**0.5})
    assert asked(of, ranking(), (), tools) == []
    assert asked(of, ranking(), (), tools, item("east")) == [None]


def test_a_reviewer_is_graded_by_the_mean_of_the_best_papers():
    (top3,) = asked(Represent(model="map"), ranking(), (), toolbox(), item("east", "ann", "bo"))
    # by cosine: 0 and -1; 1, 1, 0.894 and 0, of which the three best count
    assert dict(top3) == pytest.approx({"ann": -0.5, "bo": (2 + 2 / 5**0.5) / 3})
    (top1,) = asked(Represent(model="map", top=1, measure="euclidean"), ranking(), (), toolbox(), item("east", "ann"))
    assert dict(top1) == pytest.approx({"ann": -(2**0.5)})


def test_queries_and_documents_of_search_have_forms_of_their_own_where_the_encoder_has_them():
    search, tools = ranking(format="SRCH"), toolbox(("QRY", "PRX"))
    (found,) = asked(Represent(model="map"), search, (), tools, item("east", "west", "far east"))
    assert order(found) == ["west", "far east"]
    (plain,) = asked(Represent(model="map"), search, (), toolbox(), item("east", "west", "far east"))
    assert dict(plain) == {"west": -2.0, "far east": -2.0}
    (set_,) = asked(Represent(model="map", form="PRX"), search, (), tools, item("east", "west", "far east"))
    assert dict(set_) == dict(plain)
    assert Represent().shown(search) == ["SRCH"]
    assert Represent(form="PRX").shown(search) is None


@pytest.mark.parametrize(
    ("format_", "side", "forms"),
    [
        ("CLF", "query", ("CLF",)), ("RGN", "query", ("RGN",)), ("PRX", "candidate", ("PRX",)),
        ("SRCH", "query", ("QRY", "query")), ("SRCH", "candidate", ("PRX", "document", "passage")),
    ],
)  # fmt: skip
def test_the_format_of_a_task_decides_the_form(format_: str, side: Any, forms: tuple[str, ...]):
    assert forms_of(ranking(format=format_), side) == forms


def test_without_a_format_the_output_decides_the_form():
    task = Task(id="t", instruction="", output=Number(), metrics=())
    assert forms_of(task, "query") == ("RGN",)
    assert forms_of(ranking(), "query") == ("PRX",)


def test_only_the_named_fields_are_read_and_put_together_by_the_separator():
    of = Represent(model="map", fields=("first", "second"), separator=" ")
    given = Item("1", {"first": "far", "other": "west", "second": "east"}, ("far east", "west"))
    (found,) = asked(of, ranking(), (), toolbox(), given)
    assert dict(found) == {"far east": 0.0, "west": -4.0}


def test_documents_without_the_fields_that_are_read_are_counted():
    of, tools = Represent(model="map", fields=("first",)), toolbox()
    items = [Item("1", {"first": "east", "other": "west"}, ("west",)), Item("2", {"other": "west"}, ("west",))]
    asked(of, ranking(), (), tools, *items)
    assert tools.counts["fields-not-there"] == 2  # the second item, and the candidate


# --- probes ----------------------------------------------------------------------------------------------------------


def drawn(n: int, seed: int = 0) -> tuple[list[str], Any]:
    """Texts whose points are drawn, and the points."""
    points = np.random.default_rng(seed).normal(size=(n, 2)).astype(np.float32)
    return [f"point {seed} {at}" for at in range(n)], points


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], Any, list[str], Any]:
    """Points to learn from, and others to ask about."""
    (known, taught), (new, queries) = drawn(60), drawn(20, seed=1)
    more = {text: tuple(row) for text, row in zip([*known, *new], [*taught.tolist(), *queries.tolist()], strict=True)}
    monkeypatch.setattr(f"{__name__}.POINTS", {**POINTS, **more})
    return known, taught, new, queries


def examples(texts: Sequence[str], golds: Sequence[Any]) -> list[Example]:
    return [Example(item(text), (gold,), text) for text, gold in zip(texts, golds, strict=True)]


@pytest.mark.parametrize("variant", ["corrected", "published"])
def test_labels_are_those_of_the_probe(points: Any, variant: Any):
    known, taught, new, queries = points
    names, classes = ("a", "b", "c"), np.where(taught[:, 0] > 0.5, 2, (taught[:, 1] > 0).astype(int))
    task = Task(id="t", instruction="", output=Labels(names), metrics=("macro-f1",))
    support = examples(known, [names[place] for place in classes])
    found = asked(Represent(model="map", variant=variant), task, support, toolbox(), *map(item, new))
    # as released, C is 1 for a few examples
    probe = fit_classes(taught, classes) if variant == "corrected" else fit_classes(taught, classes, folds=0)
    assert found == [names[place] for place in probe.classes(queries)]


@pytest.mark.parametrize(("metric", "positive"), [("macro-f1", None), ("f1:positive=no", 0), ("f1:positive=yes", 1)])
def test_c_is_chosen_by_the_f1_that_a_task_is_scored_by(points: Any, metric: str, positive: int | None):
    known, taught, new, queries = points
    names, noise = ("no", "yes"), np.random.default_rng(4).normal(size=len(taught))
    classes = (taught[:, 0] + noise > 0.8).astype(int)
    task = Task(id="t", instruction="", output=Labels(names), metrics=(metric, "accuracy"))
    support = examples(known, [names[place] for place in classes])
    found = asked(Represent(model="map"), task, support, toolbox(), *map(item, new))
    assert found == [names[place] for place in fit_classes(taught, classes, positive=positive).classes(queries)]
    shown = [] if positive is None else {"format": [], "positive": names[positive]}
    assert Represent(model="map").shown(task) == shown
    assert Represent(model="map", variant="published").shown(task) == []
    costs = [fit_classes(taught, classes, positive=one).costs for one in (None, 0, 1)]
    assert len({*costs}) > 1  # it does matter


def test_many_labels_are_each_told_by_itself(points: Any):
    known, taught, new, queries = points
    task = Task(id="t", instruction="", output=Labels(("right", "up"), many=True), metrics=("macro-f1",))
    golds = [tuple(name for name, value in zip(("right", "up"), row, strict=True) if value > 0) for row in taught]
    found = asked(Represent(model="map"), task, examples(known, golds), toolbox(), *map(item, new))
    right = sum(("right" in answer) == (row[0] > 0) for answer, row in zip(found, queries, strict=True))
    assert right >= 17
    assert any(len(answer) == 2 for answer in found)


def test_numbers_are_predicted_in_their_own_scale(points: Any):
    known, taught, new, queries = points
    task = Task(id="t", instruction="", output=Number(), metrics=("tau-b",))
    years = 2000 + 5 * taught[:, 0].astype(float)
    found = asked(Represent(model="map"), task, examples(known, years.tolist()), toolbox(), *map(item, new))
    assert found == pytest.approx((2000 + 5 * queries[:, 0]).tolist(), abs=1)
    raw = asked(Represent(model="map", variant="published"), task, examples(known, years.tolist()), toolbox(),
                *map(item, new))  # fmt: skip
    assert raw == pytest.approx(fit_numbers(taught, years, by="r2").numbers(queries).tolist(), rel=1e-6)


@pytest.mark.parametrize(("output", "gold"), [(Labels(("a", "b")), "b"), (Number(), 3.0)])
def test_a_support_with_a_single_answer_gives_it_to_all_and_says_so(output: Any, gold: Any):
    task, tools = Task(id="t", instruction="", output=output, metrics=()), toolbox()
    assert asked(Represent(model="map"), task, examples(["east", "north"], [gold, gold]), tools, item("west")) == [gold]
    assert tools.counts == {"one-answer": 1}


def test_labels_and_numbers_need_a_support_and_rankings_do_not():
    labels = Task(id="t", instruction="", output=Labels(("a", "b")), metrics=())
    assert not can_do(Represent(), labels, unaided=True)
    assert can_do(Represent(), ranking(), unaided=True)
    with pytest.raises(LearnerError, match="needs support examples"):
        asked(Represent(model="map"), labels, (), toolbox(), item("east"))


# --- several models --------------------------------------------------------------------------------------------------


def test_an_ensemble_is_the_mean_of_vectors_or_all_of_them():
    tools = toolbox(twice=2.0, back=-1.0)
    (mean,) = asked(Represent(model=("map", "twice")), ranking(), (), tools, item("east", "west"))
    assert dict(mean) == {"west": -3.0}  # from (1.5, 0) to (-1.5, 0)
    (both,) = asked(Represent(model=("map", "twice"), combine="concat"), ranking(), (), tools, item("east", "west"))
    assert dict(both) == pytest.approx({"west": -(20**0.5)})
    assert Represent(model=("map", "twice")).models == ("map", "twice")


def test_an_ensemble_is_named_by_the_content_of_its_models():
    of, contents = Represent(model=("a", "b")), {"a": "content of a", "b": "content of b"}
    assert identity(of, contents)["models"] == contents
    assert identity(Represent(model=("a",)), contents) == identity(Represent(model="a"), contents)
    assert identity(Represent(model="a"), contents)["set"] == {"model": "content of a"}


def test_vectors_of_different_lengths_have_no_mean():
    with pytest.raises(LearnerError, match="combine: concat"):
        combined([np.zeros((1, 2)), np.zeros((1, 3))], "mean")
    assert combined([np.zeros((1, 2)), np.zeros((1, 3))], "concat").shape == (1, 5)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"measure": "dot"}, UnknownNameError), ({"match": "some"}, UnknownNameError), ({"top": 0}, UsageError),
        ({"model": []}, UsageError), ({"model": [1]}, UsageError), ({"fields": 3}, UsageError),
        ({"combine": "sum"}, UnknownNameError), ({"variant": "new"}, UnknownNameError),
    ],
)  # fmt: skip
def test_options_that_can_not_be_are_refused(options: dict[str, Any], kind: type[TaskloomError]):
    with pytest.raises(kind):
        learner("represent", options)


# --- sentences -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("e.g. this one", ["e.g. this one"]),
        ("树。鸟！鱼", ["树。", "鸟！", "鱼"]),
        ("A title\nAn abstract.", ["A title", "An abstract."]),
        ("", []),
    ],
)
def test_texts_are_split_into_sentences(text: str, sentences: list[str]):
    assert sentences_of(text) == sentences


def test_sentences_are_matched_by_the_best_pair_or_by_transport(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(f"{__name__}.POINTS", {"East.": (1, 0), "North.": (0, 1), "South.": (0, -1), "Up.": (1, 1)})
    task = ranking(store="")
    query = item("East. North.", "East. South.", "Up. Up.")
    (best,) = asked(Represent(model="map", match="best"), task, (), toolbox(), query)
    assert dict(best) == {"East. South.": 0.0, "Up. Up.": -1.0}
    (moved,) = asked(Represent(model="map", match="transport"), task, (), toolbox(), query)
    assert dict(moved) == pytest.approx({"East. South.": -1.0, "Up. Up.": -1.0}, abs=0.05)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_transport_of_equally_many_is_near_the_best_assignment(n: int):
    distances = np.random.default_rng(n).uniform(0.1, 2, size=(n, n))
    exact = distances[linear_sum_assignment(distances)].mean()
    assert exact - 1e-6 <= transport(distances) <= exact + 0.1


# --- clusters --------------------------------------------------------------------------------------------------------


def signature(name: str, at: tuple[float, float], year: str) -> Stored:
    return Stored(f"{name} {at} {year}", {"title": str(at), "author": name, "year": year})


def test_papers_of_an_author_are_found_by_vectors_and_metadata(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    papers: dict[str, Stored] = {}
    blocks: list[Example] = []
    for block in range(6):
        chosen, gold = [], []
        for author, (x, y) in {"A Owl": (1, 0), "Ann Owl": (0, 1)}.items():
            for _ in range(4):
                at = (round(x + rng.normal() / 3, 3), round(y + rng.normal() / 3, 3))
                made = signature(author, at, str(2000 + block))
                papers[made.id] = made
                chosen.append(made.id)
                gold.append(author)
        blocks.append(Example(Item(f"b{block}", {"block": "owl"}, tuple(chosen)), (tuple(gold),), f"b{block}"))
    monkeypatch.setattr(
        f"{__name__}.POINTS",
        {str(literal_eval(p.fields["title"])): literal_eval(p.fields["title"]) for p in papers.values()},
    )
    task = Task(id="who", instruction="", output=Terms(store="papers"), metrics=("b-cubed",))
    tools = Toolbox({}, encoders=toolbox().encoders, stores={"papers": documents("papers", papers.values())})
    found = asked(Represent(model="map"), task, blocks[:4], tools, *(one.item for one in blocks[4:]))
    for example, answer in zip(blocks[4:], found, strict=True):
        named = dict(zip(example.gold[0], answer, strict=True))  # type: ignore[arg-type]
        assert [named[name] for name in example.gold[0]] == list(answer)  # type: ignore[union-attr]
        assert len(set(answer)) == 2


def test_clusters_are_joined_by_their_mean_distance():
    apart = np.array([[0.0, 0.2, 0.6], [0.2, 0.0, 0.3], [0.6, 0.3, 0.0]])
    assert clusters(apart, 0.4) == ("1", "1", "2")  # the third is 0.45 from the two in the mean
    assert clusters(apart, 0.5) == ("1", "1", "1")
    assert clusters(np.zeros((1, 1)), 0.5) == ("1",)
    assert clusters(np.zeros((0, 0)), 0.5) == ()


def test_what_one_of_two_lacks_is_not_in_common():
    shared, known = in_common(["Oak Lab", "", "oak"])
    assert shared.tolist() == [[1.0, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 1.0]]
    assert known.tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 1]]
