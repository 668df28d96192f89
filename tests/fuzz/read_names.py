"""Readers of names and specifications, of studies, of learner files, and of what endpoints answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from taskloom import benchmarks, encodings, templates
from taskloom.core import Labels, Task, Text
from taskloom.errors import TaskloomError
from taskloom.learners import LEARNERS, can_do, learner
from taskloom.limits import parse_json
from taskloom.models import completions, embeddings
from taskloom.models.load import source
from taskloom.models.trained import trained
from taskloom.presets import PRESETS
from taskloom.sampler import shots_from
from taskloom.scores import METRICS, metric
from taskloom.studies import plan as planning
from taskloom.studies import study as studies
from taskloom.studies import study_learners
from taskloom.studies.overrides import Overrides
from taskloom.suites.bridges import partition_of
from taskloom.suites.functions.forms import canonical
from taskloom.suites.functions.parse import parse

from .mutate import Case
from .read_suites import made_folder
from .reader import Reader, text_in


def texts(*given: str) -> Callable[[], Sequence[Case]]:
    return lambda: [{"x": text.encode()} for text in given]


def of_text(*calls: Callable[[str], Any]) -> Callable[[Path], object]:
    """Give a text to each of some functions; each may refuse it."""

    def reading(folder: Path) -> None:
        text = text_in(folder)
        for call in calls:
            with suppress(TaskloomError):
                found = call(text)
                if hasattr(found, "__next__"):
                    list(found)

    return reading


FUNCTIONS = (
    "antonyms[eng](0)", "is{POS=noun}[eng](0)", "wiki{mother(creator(0))}", "map{random{0}[eng](0)}(S)",
    "union(antonyms[eng](0), synonyms[eng](0))", "map{λx. random-seed0[eng](x)}", "translate[eng->spa](0)",
    "filter{is-POS-noun[eng]}(map{antonyms[eng](0)}(S))", "permuted{3}(antonyms[eng](0))", "<urn:x>[inv](0)",
    "match(mother(0), father(0))", "land(is{POS=noun}[eng](0), is{instance of=human}(0))",
)  # fmt: skip
MODELS = (
    "smollm2", "hf:org/name@main", "path:models/x", "path:~/x", "pypi:a==1.0", "api:gpt@https://x.org/v1", "fake:echo",
    "new:t5-nano", "vectors:v.jsonl", "m.py:encode", "fake:bag",
)  # fmt: skip


def _model(text: str) -> None:
    made = source(text)
    for ask in (lambda: made.can, made.lacks, made.parameters):
        with suppress(TaskloomError):
            ask()


# --- studies ---------------------------------------------------------------------------------------------------------

MORE = """
name: more
suite: {build: fields, from: data:papers, fields: ["title:text", "category:label"]}
tasks: ["*->category", "title->*"]
protocol: {preset: flex, seeds: [0, 1], for: {"title->*": {shots: {0: 2, 4: 1}, query: 5}}}
models: {mine: {load: "fake:echo"}, tuned: {train: "fake:pupil", tasks: ["*"], steps: 3}}
learners:
  nearest: {}
  mine: {in-context: {model: mine}, tasks: ["*"], shots: [4], optional: true}
  linear: {tfidf-linear: {C: 10.0}}
baselines: [majority]
metrics: [accuracy, macro-f1]
views: [gain, {agreement: {x: exact-match, y: rouge-l}}]
"""
PLANNED = """
format: 1
name: topics
suite: suite
protocol: {seeds: 2, episodes: 3, shots: [0, 1], query: 2, per_class: true}
learners: {nearest: {}, small: {in-context: {model: "fake:echo"}}, linear: {tfidf-linear: {C: 1.5}, shots: [1]}}
metrics: [accuracy]
views: [gain]
"""


def _study_seeds() -> Sequence[Case]:
    own = [{"s.yaml": path.read_bytes()} for path in list(benchmarks.studies().values())[:8]]
    return [{"s.yaml": MORE.encode()}, {"s.yaml": PLANNED.encode()}, {"s.yaml": PLANNED.encode()}, *own]


def _study(folder: Path) -> None:
    made, _ = studies.load(str(folder / "s.yaml"))
    with suppress(TaskloomError):
        study_learners.models_of(made, study_learners.learners_of(made))
    for shots in made.protocol.shots:
        made.protocol.drawing(shots)
    with suppress(TaskloomError):
        Overrides.of(None, "fake:echo").in_place(made)


def _planned(folder: Path) -> None:
    made, _ = studies.load(str(folder / "s.yaml"))
    if made.suite != "suite":
        return
    shutil.copytree(made_folder() / "suite", folder / "suite")
    planning.plan(made, folder / "run")


def _options_seeds() -> Sequence[Case]:
    """Give the options of learners, benchmarks and models, as a study has them."""
    found = []
    for name in LEARNERS:
        with suppress(TaskloomError):
            made: Any = learner(name)
            found.append({"kind": "learner", "name": name, "options": asdict(made)})
    found += [
        {"kind": "model", "name": "x", "options": {"load": "api:m@https://x.org/v1", "timeout": 5, "body": {"a": 1}}},
        {"kind": "model", "name": "x", "options": {"load": "path:x", "dtype": "float32", "context": 3}},
        {"kind": "model", "name": "x", "options": {"load": "new:t5-nano", "seed": 1}},
        {"kind": "trained", "name": "x", "options": {"train": "fake:pupil", "tasks": ["*"], "steps": 3, "what": "all"}},
        {"kind": "benchmark", "name": "fields", "options": {"from": "x.csv", "fields": ["a:text"], "delimiter": ";"}},
        {"kind": "benchmark", "name": "functions", "options": {"from": ["mother(0)"], "length": 8, "passing": 4}},
        {"kind": "benchmark", "name": "labelled", "options": {"from": ["x.csv"], "labels": "8/3/5"}},
        {"kind": "benchmark", "name": "scirepeval", "options": {}},
        {"kind": "benchmark", "name": "taskbench", "options": {"seed": 1}},
    ]  # fmt: skip
    return [{"o.json": json.dumps(one, default=list).encode()} for one in found]


def _options(folder: Path) -> None:
    try:
        asked = parse_json((folder / "o.json").read_bytes())
        kind, name, options = asked["kind"], str(asked["name"]), {str(k): v for k, v in asked["options"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    if kind == "learner":
        learner(name, options)
    elif kind == "model":
        source(name, options).lacks()
    elif kind == "trained":
        trained(options)
    elif kind == "benchmark":
        benchmarks.benchmark(name, "", options).sources()


# --- learner files ---------------------------------------------------------------------------------------------------

LEARNER = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Mine(Learner):
    seconds: float = 0.0
    version: ClassVar = {version}
    outputs: ClassVar = {outputs}
    unaided: ClassVar = {unaided}
    {more}

    def fit(self, task, support, dev, *, seed, tools):
        return self
"""
PARTS = (
    "1", "None", "frozenset({'labels'})", "frozenset({1})", "'labels'", "[]", "[[]]", "object()", "1/0", "x", "()",
    "{'labels': 1}", "float('nan')", "b''", "lambda: 1",
)  # fmt: skip
BODIES = (
    "", "pass", "def __post_init__(self): raise ValueError('no')", "def __post_init__(self): raise SystemExit(3)",
    "def __post_init__(self): 1/0", "models = None", "models = 3", "a: object = object()", "b: list = ()", "c: int",
    "def __getattr__(self, name): raise RuntimeError(name)", "fit = None", "@property\n    def models(self): 1/0",
    "def __post_init__(self): raise MemoryError", "d: float = float('nan')", "def __hash__(self): 1/0",
)  # fmt: skip


def _learner_seeds() -> Sequence[Case]:
    random = Random("learners")
    found = []
    for number in range(200):
        parts = {name: random.choice(PARTS[2:3] * 5 + PARTS) for name in ("version", "outputs", "unaided")}
        found.append({"l.py": LEARNER.format(**parts, more=BODIES[number % len(BODIES)]).encode()})
    return found


def _learner(folder: Path) -> None:
    """Load a learner's file, and ask what a plan asks; what it runs is a class of settings, however it is changed."""
    made = learner("l.py:Mine", {}, folder)
    can_do(made, Task(id="t", instruction="", output=Labels(("a", "b")), metrics=()))


# --- what endpoints answer -------------------------------------------------------------------------------------------


def _reply_seeds() -> Sequence[Case]:
    logs = {"tokens": ["a", " b"], "text_offset": [0, 1], "token_logprobs": [None, -1.5], "top_logprobs": None}
    found = [
        {"choices": [{"message": {"content": "well"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}},
        {"choices": [{"text": "a b", "logprobs": logs}], "usage": {"completion_tokens": 1}},
        {"data": [{"index": 0, "embedding": [0.5, 1]}, {"index": 1, "embedding": [1, 2]}]},
    ]
    return [{"r.json": json.dumps(one).encode()} for one in found]


def _reply(folder: Path) -> None:
    try:
        body = parse_json((folder / "r.json").read_bytes())
    except ValueError:
        return
    completions.used(body)
    if completions.is_completion(body):
        completions.reply(body, ["\n"])
        completions.odds(body, "a", " b")
    if embeddings.is_embeddings(body):
        embeddings.vectors(body, 2)


READERS = {
    "functions": Reader(texts(*FUNCTIONS), of_text(lambda text: canonical(parse(text)))),
    "models by name": Reader(texts(*MODELS), of_text(_model)),
    "metrics": Reader(
        texts(*METRICS, "ndcg@10", "f1:positive=1", "p@5%", "title/rouge-l"),
        of_text(metric, lambda text: metric(text, Labels(("a", "b"))), lambda text: metric(text, Text())),
    ),
    "encodings": Reader(
        texts(*encodings.USUAL if hasattr(encodings, "USUAL") else ("def+pos2", "id", "none")),
        of_text(encodings.encoding),
    ),
    "templates": Reader(
        texts("{instruction}\n\n{input}\nAnswer: {output}", "plain", "{x", "{labels} {input}"),
        of_text(templates.template),
    ),
    "partitions": Reader(
        texts("a->b, b->c => a->c", "abstract->title => title->abstract"),
        of_text(lambda text: partition_of(text, ["a", "b", "c", "abstract", "title"])),
    ),
    "shots": Reader(texts("0", "all", "drawn", *PRESETS), of_text(shots_from)),
    "studies": Reader(_study_seeds, _study, tests=60),
    "studies planned": Reader(lambda: [{"s.yaml": PLANNED.encode()}], _planned, seconds=4),
    "options": Reader(_options_seeds, _options),
    "learner files": Reader(_learner_seeds, _learner),
    "endpoint replies": Reader(_reply_seeds, _reply),
}
