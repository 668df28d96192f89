"""Answers of a run to predictions for a challenge of the same draws: our own learners on the same board."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ChallengeError, UnknownNameError
from ..folders import write_outputs
from ..messages import Note
from .api import LEDGER, open_run
from .challenge import DIGITS, Challenge, EpisodeRow, question_id
from .ledger import Ledger
from .results import Outcome
from .submissions import Given, Protocol, Submission, predictions_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The answers of one learner to the questions of a challenge."""

    about: Submission
    answers: Mapping[str, Given]
    outside: int  # answers in episodes that the challenge does not have


def export_predictions(
    challenge: Challenge, run: Path | str, learners: Sequence[str] = (), *, protocol: Protocol = ""
) -> Iterator[Exported]:
    """Give the predictions of these learners of a run, or of all; an unusable answer has no label.

    The protocol is as said, or Meta-Trained where a model of the learner was trained on tasks.
    """
    found = open_run(run)
    for name in learners:
        if name not in found.learners:
            raise UnknownNameError("learner of the run", name, found.learners)
    rows = {row.episode: row for row in challenge.rows()}
    with Ledger(Path(run) / LEDGER) as ledger:
        draws = {o.cell: str(ledger.key(o.cell).get("draw", "")) for o in found.outcomes}
        if not any(draw[:DIGITS] in rows for draw in draws.values()):
            raise ChallengeError(Note.of("draws-differ", run=run, name=challenge.name))
        for name in learners or found.learners:
            for title, outcomes in _replicas(name, [o for o in found.outcomes if o.learner == name], draws):
                meta = is_meta_trained(ledger.key, outcomes[0].cell)
                about = Submission(
                    name=title, protocol=protocol or ("meta-trained" if meta else "pretraining-only"),
                    model=found.learners[name], baseline=name in found.baselines,
                )  # fmt: skip
                yield _exported(about, outcomes, draws, rows)


def files_named(exported: Iterable[Exported]) -> dict[str, Exported]:
    """Name a file for each submission; two of one name would be one file."""
    found: dict[str, Exported] = {}
    for one in exported:
        if other := found.get(name := file_name(one.about.name)):
            raise ChallengeError(
                Note.of("submissions-named-alike", names=[other.about.name, one.about.name], file=name)
            )
        found[name] = one
    return found


def write_exported(exported: Mapping[str, Exported], folder: Path) -> None:
    """Write the files of submissions into a folder, all or none."""
    write_outputs({folder / name: predictions_text(one.answers, one.about) for name, one in exported.items()})


def file_name(submission: str) -> str:
    """Name the file of a submission.

    >>> file_name("tf-idf, training seed 1")
    'tf-idf-training-seed-1.json'
    """
    name = re.sub(r"[^\w.+-]+", "-", submission).strip(".-")
    return f"{name or 'submission'}.json"


def _replicas(
    name: str, outcomes: Sequence[Outcome], draws: Mapping[str, str]
) -> Iterator[tuple[str, Sequence[Outcome]]]:
    """Part what was learnt several times from one draw, by the seed of training: each is a submission of its own."""
    if len({draws[o.cell] for o in outcomes}) == len(outcomes):
        yield from [(name, outcomes)] if outcomes else []
        return
    for seed in sorted({o.training for o in outcomes}):
        yield f"{name}, training seed {seed}", [o for o in outcomes if o.training == seed]


def _exported(
    about: Submission, outcomes: Sequence[Outcome], draws: Mapping[str, str], rows: Mapping[str, EpisodeRow]
) -> Exported:
    answers: dict[str, Given] = {}
    outside = 0
    for o in outcomes:
        row = rows.get(draws[o.cell][:DIGITS])
        for item, answer in zip(o.items, o.answers, strict=True):
            question = question_id(draws[o.cell], o.pool, item)
            if row is None or question not in row.query:
                outside += 1
            else:
                answers[question] = Given(answer if answer in row.labels else None)
    return Exported(about=about, answers=answers, outside=outside)


def is_meta_trained(key: Callable[[str], Mapping[str, Any]], cell: str) -> bool:
    """Tell by the keys of cells whether a model of one, or a base of it, was trained on tasks, and not on texts alone.

    >>> keys = {"a": {"learner": {"model": {"trained": "b"}}}, "b": {"set": {"goal": "texts"}, "base": {}}}
    >>> is_meta_trained(keys.__getitem__, "a"), is_meta_trained({**keys, "b": {"set": {}}}.__getitem__, "a")
    (False, True)
    """
    pending, seen = [cell], {cell}
    while pending:
        for id_ in _trained(key(pending.pop())):
            if key(id_).get("set", {}).get("goal") != "texts":
                return True
            pending += {id_} - seen  # a forged one may be its own base
            seen.add(id_)
    return False


def _trained(key: Any) -> Iterator[str]:
    """Find the cells that trained the models of a key."""
    if isinstance(key, Mapping):
        if isinstance(id_ := key.get("trained"), str):
            yield id_
        for value in key.values():
            yield from _trained(value)
    elif isinstance(key, list):
        for value in key:
            yield from _trained(value)
