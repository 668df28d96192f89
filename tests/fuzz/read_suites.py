"""Readers of what taskloom wrote, and others may have damaged: suites, runs, challenges, people's sheets."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.errors import TaskloomError
from taskloom.people import answers
from taskloom.reports import render, summarise
from taskloom.scores import predictions
from taskloom.sources.table import Field
from taskloom.studies import api
from taskloom.studies.challenge import Digest, hash_of, open_challenge
from taskloom.studies.challenge_make import make_challenge
from taskloom.studies.challenge_score import read_answers
from taskloom.studies.ledger import Ledger
from taskloom.studies.submissions import check, merged, read_predictions
from taskloom.suites import documents, fields, linked, rows, store
from taskloom.suites.check import check as check_suite

from .mutate import Case
from .read_sources import lines
from .reader import Reader, files_in, lasting_folder

WORDS = {"art": "paint", "law": "court"}
STUDY = """
name: topics
suite: suite
protocol: {seeds: 1, episodes: 2, shots: [0, 1], query: 2, per_class: true}
baselines: false
learners: {nearest: {}, majority: {}}
"""


def labelled_suite() -> Suite:
    """Make a suite of one task with labels, whose examples are rows."""
    task = Task(id="topic", instruction="Which?", output=Labels(tuple(WORDS)), metrics=("accuracy", "macro-f1"))
    made = [
        Example(Item(f"{label}-{n}", {"text": f"{word} number {n}"}), (label,), f"{label}{n}")
        for label, word in WORDS.items()
        for n in range(6)
    ]
    return Suite(id="topics", tasks={"topic": task}, pools={"topic": {"all": rows.pool(task, made)}})


def field_suite() -> Suite:
    """Make a suite of views of records."""
    of = (Field("title", "text"), Field("keywords", "list"), Field("year", "number"))
    made: list[dict[str, object]] = [
        {"id": "a", "title": "On trees", "keywords": ["oak"], "year": 2001.0},
        {"id": "b", "title": "On birds", "keywords": ["owl"], "year": None},
    ]
    return fields.suite(fields.records(of, made), id="small")


def document_suite() -> Suite:
    """Make a suite whose items are documents of a store."""
    from taskloom.core import Stored

    of = documents.documents("papers", [Stored(n, {"title": f"On {n}"}) for n in ("a", "b", "c")])
    task = Task(id="topic", instruction="Which?", output=Labels(("x", "y")), metrics=("accuracy",))
    made = [Example(Item(n, {"document": n}), (label,), n) for n, label in (("a", "x"), ("b", "y"), ("c", "x"))]
    pools = {"topic": {"all": linked.pool(task, made, of, by_id=True)}}
    return Suite(id="linked", tasks={"topic": task}, pools=pools, stores={"papers": of})


@cache
def made_folder() -> Path:
    """Make a suite, a run and a challenge, once."""
    folder = lasting_folder("made")
    store.write(labelled_suite(), folder / "suite")
    (folder / "study.yaml").write_text(STUDY)
    make_challenge(folder / "study.yaml", folder / "challenge")
    api.run(folder / "study.yaml", folder / "run")
    return folder


def written_suite(suite: Suite) -> Case:
    """Give the files of a suite on disk."""
    with tempfile.TemporaryDirectory() as folder:
        store.write(suite, Path(folder) / "s")
        return files_in(Path(folder) / "s")


def suite_seeds() -> Sequence[Case]:
    """Give suites of each kind that is on disk."""
    return [written_suite(made()) for made in (labelled_suite, field_suite, document_suite)]


def read_suite(folder: Path) -> None:
    """Open a suite as it is, and as a forger would write it: with a fingerprint and sizes that fit."""
    with suppress(TaskloomError):
        _use(store.open_suite(folder))
    _use(forged(folder))


def forged(folder: Path) -> Suite:
    """Open a suite with sizes that fit, whatever its fingerprint."""
    path = folder / store.MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        manifest["files"] = {name: (folder / Path(name).name).stat().st_size for name in manifest["files"]}
        path.write_text(json.dumps(manifest))
    except Exception:
        return store.open_suite(folder)
    return store._suite_of(store._manifest(folder), folder)


def _use(suite: Suite) -> None:
    list(check_suite(suite))
    for name, pools in suite.pools.items():
        suite.digest(name)
        for pool in pools.values():
            refusing(partial(pool.take, range(len(pool))), pool.labels, pool.groups, pool.golds)


def refusing(*calls: Callable[[], object]) -> None:
    """Call, whatever is refused."""
    for call in calls:
        with suppress(TaskloomError):
            call()


# --- runs ------------------------------------------------------------------------------------------------------------


def _run_seeds() -> Sequence[Case]:
    made = made_folder()
    found = files_in(made / "run")
    kept = {f"run/{name}": found[name] for name in ("ledger.db", "study.yaml")}
    return [kept]


def _run(folder: Path) -> None:
    """Report on a run whose suite is whole, go on with it, and merge it."""
    shutil.copytree(made_folder() / "suite", folder / "suite", dirs_exist_ok=True)
    run = folder / "run"
    with suppress(TaskloomError), Ledger(run / "ledger.db") as ledger:
        ledger.keep_about(suite_folder=str(folder / "suite"), study_folder=str(folder))
    refusing(
        lambda: render(summarise(api.open_run(run)), "json"),
        lambda: api.open_run(run).to_arrow(),
        lambda: api.learners_of_run(run),
        lambda: api.trials_of(run),
        lambda: api.prepare(run / "study.yaml").left(),
        lambda: api.merge_runs(folder / "other", run),
    )


# --- predictions and challenges --------------------------------------------------------------------------------------


@cache
def _small() -> Suite:
    return labelled_suite()


def _prediction_seeds() -> Sequence[Case]:
    ours = lines({"item": "art-1", "answer": "art", "task": "topic"}, {"item": "law-1", "answer": "art"})
    board = lines({"id": "art-1", "prediction": "art"}, {"Instance": {"id": "law-1"}, "Prediction": "law"})
    return [{"p.jsonl": ours}, {"p.jsonl": board}]


def _predictions(folder: Path) -> None:
    (path,) = folder.iterdir()
    predictions.mark(_small(), predictions.read(path))


def _challenge_seeds() -> Sequence[Case]:
    made = made_folder()
    kept = {f"c/{name}": data for name, data in files_in(made / "challenge").items() if not name.endswith(".md")}
    return [{**kept, "answers.jsonl": (made / "challenge-answers.jsonl").read_bytes()}]


def _challenge(folder: Path) -> None:
    """Open a challenge as it is, and as a forger would write it: with a hash that fits."""
    with suppress(TaskloomError):
        list(open_challenge(folder / "c").episodes())
    path = folder / "c" / "challenge.json"
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        manifest = json.loads(path.read_bytes())
        parts = [_digest(folder / "c" / name) for name in ("items.jsonl", "questions.jsonl")]
        del manifest["hash"]
        path.write_text(json.dumps(manifest | {"hash": hash_of(manifest, *parts)}))
    opened = open_challenge(folder / "c")
    list(opened.episodes())
    answers = folder / "answers.jsonl"
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        head, *rest = answers.read_text().splitlines()
        digest = Digest()
        for row in map(json.loads, rest):
            digest.add(row)
        answers.write_text(
            "\n".join([json.dumps(json.loads(head) | {"challenge": opened.hash, "digest": digest.hex}), *rest])
        )
    read_answers(opened, answers)


def _digest(path: Path) -> str:
    digest = Digest()
    for line in path.read_text().splitlines():
        digest.add(json.loads(line))
    return digest.hex


def _submission_seeds() -> Sequence[Case]:
    opened = open_challenge(made_folder() / "challenge")
    given = {q: {"label": "art", "score": 0.5} for row in opened.rows() for q in list(row.query)[:2]}
    about = {"name": "me", "protocol": "meta-trained", "url": "https://x", "baseline": False}
    return [
        {"s.json": json.dumps(given).encode()},
        {"s.json": json.dumps({"submission": about, "predictions": given}).encode()},
    ]


def _submission(folder: Path) -> None:
    found = read_predictions(folder / "s.json")
    list(map(str, check(open_challenge(made_folder() / "challenge").rows(), found).notes))
    merged([found, found])


# --- people ----------------------------------------------------------------------------------------------------------

PAIR: dict[str, Any] = {
    "id": "q1", "task": "topic", "item": "art-1", "learner": "nearest", "cell": "c", "shots": 0, "seed": 0,
    "side": "first", "settled": "",
}  # fmt: skip


def _sheet_seeds() -> Sequence[Case]:
    key = lines(PAIR, PAIR | {"id": "q2", "side": "", "settled": "equal"})
    compare = b"id,task,rater,choice,comment\nq1,topic,ann,first,fine\n"
    rate = b"id,rating (1 to 5),typos,clarity,rater\ntopic,4,,ok,bo\ntopic,5,,,ann\n"
    return [
        {"a.csv": compare, "a.key.jsonl": key},
        {"a.csv": compare.replace(b",", b";"), "b.csv": compare, "a.key.jsonl": key},
        {"r.csv": rate},
        {"r.jsonl": lines({"id": "topic", "rating": 3, "rater": "x"})},
    ]


def _sheets(folder: Path) -> None:
    sheets = [path for path in sorted(folder.iterdir()) if not path.name.endswith(".key.jsonl")]
    keys = sorted(folder.glob("*.key.jsonl"))
    if keys:
        refusing(lambda: answers.read_key(keys[0]))
    if sheets:
        found = answers.read_sheets(sheets)
        if found.kind == "ratings":
            answers.ratings(found)
        elif keys:
            answers.comparisons(found, answers.read_key(keys[0]))


READERS = {
    "suites": Reader(suite_seeds, read_suite),
    "runs and ledgers": Reader(_run_seeds, _run, tests=25, seconds=4),
    "predictions": Reader(_prediction_seeds, _predictions),
    "challenges": Reader(_challenge_seeds, _challenge),
    "submissions": Reader(_submission_seeds, _submission),
    "people's sheets": Reader(_sheet_seeds, _sheets),
}
