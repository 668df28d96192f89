"""Predictions for a challenge to results: reports, intervals, paired tests and views are those of a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ..core import Example, Item, Suite
from ..errors import ChallengeError, UsageError
from ..ids import Json
from ..messages import Note
from ..scores.tasks import score_task
from ..suites.rows import pool
from .challenge import Challenge, Digest, EpisodeRow, naming_damage, open_challenge, read_lines
from .costs import Cost
from .metrics import metrics_of
from .results import Outcome, Results, RowNumbers
from .submissions import PROTOCOLS, Given, Protocol, Submission, read_predictions, refuse_faulty

POOL = "test"
Texts: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gold:
    """What is right in an episode: for each question all labels that are, and its item's id and record in the suite."""

    labels: tuple[Texts, ...]
    items: Texts
    records: RowNumbers
    sizes: tuple[int, ...]  # of the support set, class by class
    chance: float  # of these sizes

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Gold:
        """Read a line of the answers."""
        labels = tuple(tuple(right) for right in row["gold"].values())
        return cls(labels, tuple(row["items"]), tuple(row["records"]), tuple(row["sizes"]), float(row["chance"]))


def read_answers(challenge: Challenge, path: Path | str) -> dict[str, Gold]:
    """Read the gold answers of a challenge, by episode; refuse those of another one, and what was edited."""
    path = Path(path)
    lines, digest = read_lines(path), Digest()
    header = next(lines, {})
    if not {"challenge", "digest"} <= header.keys():
        raise ChallengeError(Note.of("answers-expected", path=path))
    if header["challenge"] != challenge.hash:
        raise ChallengeError(Note.of("answers-of-another", path=path, name=challenge.name, hash=challenge.hash))
    with naming_damage(path):
        found = {row["episode"]: Gold.of(row) for row in digest.of(lines)}
    if header["digest"] != digest.hex:
        raise ChallengeError(Note.of("answers-edited", path=path))
    return found


def score_challenge(
    challenge: Challenge | Path | str,
    answers: Path | str,
    given: Mapping[str, Path | str] | Iterable[tuple[str, Path | str]],
    *,
    partial: bool = False,
    protocol: Protocol = "",
) -> Results:
    """Score files of predictions, each with a name or "" for its own, as if they were learners of a run.

    With `partial`, episodes that a file does not answer in full are left out: it is not ranked with those that do.
    `protocol` is that of submissions which do not say their own.
    """
    opened = challenge if isinstance(challenge, Challenge) else open_challenge(challenge)
    scoring = _Scoring.of(opened, read_answers(opened, answers))
    paths = list(given.items() if isinstance(given, Mapping) else given)
    about: dict[str, Submission] = {}
    outcomes: list[Outcome] = []
    for typed, path in paths:
        found = read_predictions(path)
        if (name := typed or found.name) in about:
            raise UsageError(Note.of("submission-doubled", name=name))
        refuse_faulty(scoring.rows, found, partial=partial)
        about[name] = replace(found.about, protocol=found.about.protocol or protocol)
        outcomes += scoring.outcomes(name, found.answers)
        if not outcomes or outcomes[-1].learner != name:
            raise ChallengeError(Note.of("no-whole-episode", path=path))
    left_out = len(about) * len(opened) - len(outcomes)
    return Results(
        name=opened.name, command=_command(opened, answers, paths), suite=scoring.suite,
        learners={name: _told(of) for name, of in about.items()},
        baselines=tuple(name for name, of in about.items() if of.baseline), outcomes=tuple(outcomes), failures=(),
        missing=0, skipped={Note.of("episode-unanswered"): left_out} if left_out else {},
        settings={name: asdict(of) for name, of in about.items()}, metrics=opened.metrics,
        asked={(row.task, row.shots, row.seed, row.index): scoring.gold[row.episode].items for row in scoring.rows},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Scoring:
    """What all submissions are scored by."""

    challenge: Challenge
    rows: tuple[EpisodeRow, ...]
    gold: Mapping[str, Gold]
    suite: Suite  # of the items that are asked about
    places: Mapping[str, Mapping[str, int]]  # task -> item -> its row in the suite

    @classmethod
    def of(cls, challenge: Challenge, gold: Mapping[str, Gold]) -> _Scoring:
        rows = tuple(challenge.rows())
        asked: dict[str, dict[str, Example]] = {name: {} for name in challenge.tasks}
        for row in rows:
            of = gold[row.episode]
            for item, right, name in zip(row.query.values(), of.labels, of.items, strict=True):
                if item not in asked[row.task]:
                    asked[row.task][item] = Example(Item(name, challenge.items[item]), right, "")
        about: dict[str, Json] = {
            "challenge": challenge.hash,
            "episodes": len(challenge),
            "questions": challenge.questions,
        }
        pools = {name: {POOL: pool(challenge.tasks[name], found.values())} for name, found in asked.items()}
        suite = Suite(id=challenge.name, tasks=challenge.tasks, pools=pools, about=about)
        places = {name: {item: at for at, item in enumerate(found)} for name, found in asked.items()}
        return cls(challenge, rows, gold, suite, places)

    def outcomes(self, name: str, answers: Mapping[str, Given]) -> Iterator[Outcome]:
        """Score one submission, episode by episode; those that are not answered in full are left out."""
        for row in self.rows:
            if all(question in answers for question in row.query):
                yield self._outcome(name, row, tuple(answers[question].label for question in row.query))

    def _outcome(self, name: str, row: EpisodeRow, given: tuple[str | None, ...]) -> Outcome:
        task, gold, places = self.challenge.tasks[row.task], self.gold[row.episode], self.places[row.task]
        return Outcome(
            cell="", task=row.task, learner=name, shots=row.shots, seed=row.seed, index=row.index, pool=POOL,
            rows=tuple(places[item] for item in row.query.values()), items=gold.items, answers=given, gold=gold.labels,
            scores=score_task(task, gold.labels, given, metrics_of(task, self.challenge.metrics)), counts={},
            cost=Cost(), records=gold.records, sizes=gold.sizes, chance=gold.chance,
        )  # fmt: skip


def _told(of: Submission) -> str:
    """Say what a submission is, for people."""
    return ", ".join(filter(None, [of.model, PROTOCOLS.get(of.protocol, ""), of.date, of.url])) or "made elsewhere"


def _command(challenge: Challenge, answers: Path | str, given: Iterable[tuple[str, Path | str]]) -> str:
    files = [f"{name}={path}" if name else str(path) for name, path in given]
    return shlex.join(["taskloom", "challenge", "score", str(challenge.folder), *files, "--answers", str(answers)])
