"""Results made up in memory: learners whose accuracy is known, on a small field suite."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import pytest

from taskloom.core import Answer, Example, Fields, Item, Labels, Number, Output, Suite, Task, Terms
from taskloom.ids import raw_bits
from taskloom.messages import Note
from taskloom.reports import How, Summary, summarise
from taskloom.scores import metric, score
from taskloom.sources.table import Field
from taskloom.studies.challenge_score import score_challenge
from taskloom.studies.costs import Cost
from taskloom.studies.results import Failure, Outcome, Results
from taskloom.studies.submissions import Submission, write_predictions
from taskloom.suites import fields
from taskloom.suites.rows import pool

SCRIPT = "<script>alert(1)</script> & </style> \"quoted' 道路绿化 🌲"
LABELS = ("Art", "History", "Science")
FIELDS = (
    Field("title", "text"),
    Field("keywords", "list"),
    Field("category", "label"),
    Field("year", "number"),
)
TASKS = ("title->category", "keywords->category", "title->keywords", "keywords->title+category", "title->year")
VOID = {"meta", "br", "line", "circle", "rect", "polyline"}  # tags that are never closed
SKILL = {"strong": 0.9, "strong too": 0.9, "weak": 0.45, "majority": 0.33}


def rows(count: int) -> list[dict[str, object]]:
    return [
        {
            "id": f"r{n}",
            "title": f"On {LABELS[n % 3].lower()} number {n} {SCRIPT if n % 7 == 0 else ''}".strip(),
            "keywords": [f"word{n}", LABELS[n % 3].lower(), "common"],
            "category": LABELS[n % 3],
            "year": 1990.0 + n % 30,
        }
        for n in range(count)
    ]


@pytest.fixture(scope="session")
def suite() -> Suite:
    made = fields.suite(
        fields.records(FIELDS, rows(60)), id="papers <b>", about={"licence": "CC0", "bibtex": "@misc{papers,\n}"}
    )
    tasks = {name: made.tasks[name] for name in TASKS}
    return Suite(id=made.id, tasks=tasks, pools={name: made.pools[name] for name in tasks}, about=made.about)


def chance(*key: Any) -> float:
    return next(raw_bits("reports", *key)) / 2**64


def wrong(output: Output, gold: Any, key: tuple[Any, ...]) -> Answer | None:
    match output:
        case Labels(names=names):
            return names[(names.index(gold) + 1) % len(names)]
        case Terms():
            return (gold[0], "other")
        case Number():
            return float(gold) + 20 * chance("year", *key) - 10
        case Fields(parts=parts):
            return {name: wrong(part, gold[name], key) for name, part in parts.items()}
    return SCRIPT if chance("script", *key) < 0.3 else "something else"


def answer(task: Task, gold: Any, skill: float, key: tuple[Any, ...]) -> Answer | None:
    if chance("unusable", *key) < 0.02:
        return None
    return gold if chance("right", *key) < skill else wrong(task.output, gold, key)


def scored(task: Task, gold: Sequence[tuple[Any, ...]], answers: Sequence[Any]) -> Mapping[str, Any]:
    found = {}
    for name in task.metrics:
        part, _, typed = name.rpartition("/")
        output = task.output.parts[part] if part and isinstance(task.output, Fields) else task.output
        right = [tuple(g[part] for g in each) if part else each for each in gold]
        given = [a if a is None or not part else a[part] for a in answers]
        found[name] = score(metric(typed, output), right, given, output)
    return found


def outcome(suite: Suite, task: str, learner: str, skill: float, shots: int, seed: int, size: int) -> Outcome:
    of = suite.pools[task]["all"]
    start = int(chance("start", task, seed) * (len(of) - size))
    examples = of.take(range(start, start + size))
    key = (learner, task, shots, seed)
    gold = tuple(e.gold for e in examples)
    answers = tuple(answer(suite.tasks[task], e.gold[0], skill, (*key, e.item.id)) for e in examples)
    return Outcome(
        cell=f"{learner}-{task}-{shots}-{seed}", task=task, learner=learner, shots=shots, seed=seed, index=0,
        pool="all", rows=tuple(range(start, start + size)), items=tuple(e.item.id for e in examples),
        answers=answers, gold=gold,
        scores=scored(suite.tasks[task], gold, answers), counts={"prompt-cut": 1}, cost=Cost(seconds=0.5),
    )  # fmt: skip


@pytest.fixture(scope="session")
def make(suite: Suite) -> Callable[..., Results]:
    """Make results of learners with these chances to be right; shots add a little."""

    def made(
        skill: Mapping[str, float] = SKILL, shots: Sequence[int] = (0, 5), seeds: int = 3, size: int = 20
    ) -> Results:
        outcomes = [
            outcome(suite, task, name, chance + (0.02 * n if name != "majority" else 0), n, seed, size)
            for name, chance in skill.items()
            for task in suite.tasks
            for n in shots
            for seed in range(seeds)
        ]
        broken = Failure(
            cell="x",
            task="title->year",
            learner="broken",
            shots=5,
            seed=0,
            index=0,
            why=Note.of("learner-raised", error="ValueError"),
            traceback=f"Traceback\n{SCRIPT}",
        )
        return Results(
            name="a study <i>of</i> & more", command="taskloom run study.yaml", suite=suite,
            learners={name: f"what {name} is" for name in skill} | {"broken": "always fails"}, baselines=("majority",),
            outcomes=tuple(outcomes), failures=(broken,), missing=2,
            skipped={Note.of("output-unsupported", learner="majority", kind="ranking"): 3},
        )  # fmt: skip

    return made


@pytest.fixture(scope="session")
def results(make: Callable[..., Results]) -> Results:
    return make()


@pytest.fixture(scope="session")
def summary(results: Results) -> Summary:
    return summarise(results, How(count=200))


@pytest.fixture(scope="session")
def empty(suite: Suite) -> Results:
    return Results(
        name="empty", command="taskloom run x", suite=suite, learners={"a": "A", "b": "B"}, baselines=(), outcomes=(),
        failures=(), missing=9, skipped={},
    )  # fmt: skip


class Reader(HTMLParser):
    """Checks that what is opened is closed, and keeps tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="session")
def read_page() -> Callable[[str], Reader]:
    """Read a page."""

    def read(page: str) -> Reader:
        reader = Reader()
        reader.feed(page)
        return reader

    return read


@pytest.fixture(scope="session")
def submitted(made_topics, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Three submissions and a baseline; every so manieth answer is wrong."""
    folder = tmp_path_factory.mktemp("submissions")
    lines = [json.loads(line) for line in made_topics.answers.read_text(encoding="utf-8").splitlines()[1:]]
    right = {question: labels[0] for line in lines for question, labels in line["gold"].items()}
    wrong = {"art": "law", "law": "sea", "sea": "art"}
    given = {
        SCRIPT: (9, Submission(protocol="pretraining-only", model=SCRIPT, url=f"https://x.org/{SCRIPT}", date=SCRIPT)),
        "weak": (2, Submission(protocol="pretraining-only")),
        "chance": (3, Submission(protocol="pretraining-only", baseline=True)),
        "meta": (5, Submission(protocol="meta-trained", url="https://x.org/meta")),
    }
    paths = {}
    for at, (name, (each, about)) in enumerate(given.items()):
        paths[name] = folder / f"{at}.json"
        answers = {q: wrong[label] if n % each == 0 else label for n, (q, label) in enumerate(right.items())}
        write_predictions(paths[name], answers, about)
    return score_challenge(made_topics.folder, made_topics.answers, paths)


Tried = Mapping[Any, Mapping[str, Mapping[str, Sequence[str]]]]  # shots -> learner -> task -> episodes such as "1101"


@pytest.fixture(scope="session")
def tried() -> Callable[..., Results]:
    """Make results of episodes in which these answers are right, about records of their own."""

    def made(
        answers: Tried,
        tags: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
        sizes: Mapping[tuple[Any, str], Sequence[tuple[int, ...]]] | None = None,
        **more: Any,
    ) -> Results:
        names = dict.fromkeys(task for by in answers.values() for found in by.values() for task in found)
        learners = {name: name for by in answers.values() for name in by}
        tasks = {
            name: Task(
                id=name, instruction="", output=Labels(("no", "yes")), metrics=("accuracy",),
                tags=(tags or {}).get(name, {}),
            )
            for name in names
        }  # fmt: skip
        examples = [Example(Item(str(n), {"text": str(n)}), ("yes",), "") for n in range(400)]
        pools = {name: {"all": pool(task, examples)} for name, task in tasks.items()}
        outcomes = [
            _tried(shots, name, task, at, right, ((sizes or {}).get((shots, task)) or [()] * len(episodes))[at])
            for shots, by in answers.items()
            for name, found in by.items()
            for task, episodes in found.items()
            for at, right in enumerate(episodes)
        ]
        return Results(
            name="tried", command="", suite=Suite(id="tried", tasks=tasks, pools=pools), learners=learners,
            baselines=(), outcomes=tuple(outcomes), failures=(), missing=0, skipped={}, **more,
        )  # fmt: skip

    return made


def _tried(shots: Any, learner: str, task: str, at: int, right: str, sizes: tuple[int, ...]) -> Outcome:
    rows = tuple(range(at * len(right), (at + 1) * len(right)))
    answers = tuple("yes" if one == "1" else "no" for one in right)
    gold = (("yes",),) * len(right)
    return Outcome(
        cell=f"{learner}-{task}-{shots}-{at}", task=task, learner=learner, shots=shots, seed=0, index=at, pool="all",
        rows=rows, items=tuple(map(str, rows)), answers=answers, gold=gold, counts={}, cost=Cost(), sizes=sizes,
        scores={"accuracy": score(metric("accuracy", Labels(("no", "yes"))), gold, answers, Labels(("no", "yes")))},
    )  # fmt: skip
