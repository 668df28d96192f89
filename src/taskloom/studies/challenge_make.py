"""A study to a challenge: all episodes of its protocol are frozen, and their gold answers written to a file apart."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from ..core import Example, Labels, Suite, Task
from ..episodes import Deck, Draw, Role, Shots
from ..errors import ChallengeError, EpisodeError, UsageError
from ..folders import check_new_folder, check_output, is_stream, output_file, replace_folder, restore, scratch_beside
from ..ids import Json
from ..messages import Note
from ..suites.store import files_of
from .api import asked_by, study_and_text
from .challenge import (
    DIGITS,
    FORMAT,
    ITEMS,
    MANIFEST,
    QUESTIONS,
    README,
    Challenge,
    Digest,
    EpisodeRow,
    hash_of,
    item_key,
    open_challenge,
    question_id,
)  # fmt: skip
from .overrides import Overrides
from .plan import refuse_large
from .results import records_of
from .study import Study
from .suites import benchmark_of
from .yaml_writer import protocol_json

Questions: TypeAlias = Sequence[tuple[str, tuple[str, int]]]  # each with the place of its item: pool and row


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeChallenge:
    """A challenge that was made, where its answers are, and what there is to say of it."""

    challenge: Challenge
    answers: Path
    notes: tuple[Note, ...]


def answers_beside(folder: Path) -> Path:
    """Say where the answers to a challenge are written: beside its folder, never in it.

    >>> answers_beside(Path("challenges/topics")).as_posix()
    'challenges/topics-answers.jsonl'
    """
    named = folder if folder.name else folder.absolute()
    return named.with_name(f"{named.name}-answers.jsonl")


def make_challenge(
    study: Study | str | Path,
    folder: Path | str,
    *,
    answers: Path | str | None = None,
    overrides: Overrides | None = None,
    replace: bool = False,
) -> MadeChallenge:
    """Freeze the episodes of a study into a participant's folder; learners and models are not looked at."""
    folder = Path(folder)
    apart = Path(answers) if answers else answers_beside(folder)
    _refuse_to_clobber(folder, apart, _inputs(study, overrides), replace=replace)
    declared, suite, tasks = asked_by(study, overrides=overrides)
    _refuse_outputs([suite.tasks[name] for name in tasks])
    refuse_large(declared.protocol, dict.fromkeys(tasks, 1))
    with scratch_beside(folder) as scratch:
        aside = scratch / "new"
        aside.mkdir()
        with _Writer(aside, scratch / "answers") as writer:
            writer.add(declared, suite, tasks)
        found = writer.manifest(declared, [suite.tasks[name] for name in tasks])
        _write(aside / MANIFEST, json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        _write(aside / README, _readme(found, sum(writer.sizes.values())))
        checked = open_challenge(aside)  # which refuses a line that says more of a question than its item
        _write_answers(apart, writer.answers, {"challenge": checked.hash, "digest": writer.digests["answers"].hex})
        replace_folder(aside, folder)
    return MadeChallenge(challenge=open_challenge(folder), answers=apart, notes=writer.notes)


def _inputs(study: Study | str | Path, overrides: Overrides | None) -> list[Path]:
    """Name the files that a challenge is made of: the study, its suite or what that is built from."""
    made, _ = study_and_text(study)
    made = overrides.in_place(made) if overrides else made
    own = [Path(study)] if not isinstance(study, Study) and Path(study).is_file() else []
    return [*own, *(files_of(made.folder / made.suite) if made.suite else map(Path, benchmark_of(made).sources()))]


def _refuse_to_clobber(folder: Path, answers: Path, inputs: Sequence[Path], *, replace: bool) -> None:
    """Refuse answers that a participant would get, inputs, and paths where something else stands."""
    restore(folder)
    check_new_folder(folder, inputs)
    check_output(answers, inputs)
    if answers.resolve().is_relative_to(folder.resolve()):
        raise UsageError(Note.of("answers-inside", folder=folder, path=answers))
    names = {file.name for file in folder.iterdir()} if folder.is_dir() else set()
    ours = {MANIFEST, ITEMS, QUESTIONS, README}
    if (names and MANIFEST not in names) or names - ours:
        raise UsageError(Note.of("not-overwritten", path=folder))
    is_kept = answers.exists() and not is_stream(answers)
    there = [path for path, is_there in ((folder, bool(names)), (answers, is_kept)) if is_there]
    if there and not replace:
        raise UsageError(Note.of("exists-already", paths=there))


def _refuse_outputs(tasks: Sequence[Task]) -> None:
    """Refuse tasks that are not answered with one label."""
    if odd := [task.id for task in tasks if not isinstance(task.output, Labels) or task.output.many]:
        raise ChallengeError(Note.of("challenge-outputs", tasks=odd))


# --- episodes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Frozen:
    """A draw, and the setting that it is of."""

    shots: Shots
    seed: int
    draw: Draw


def _draws(study: Study, suite: Suite, task: str) -> Iterator[_Frozen]:
    """Draw the episodes of a task, as a run of the study does."""
    protocol, deck = study.protocol.of(task), Deck(suite, task)
    for shots in protocol.shots:
        how = protocol.drawing(shots)
        for seed, index in product(protocol.seeds, protocol.episodes(shots)):
            yield _Frozen(shots, seed, deck.draw(how, seed=seed, index=index))


@dataclass(frozen=True, slots=True)
class _TaskItems:
    """The examples of a task that its episodes have: by pool and row, with their keys and records."""

    examples: Mapping[tuple[str, int], Example]
    keys: Mapping[tuple[str, int], str]
    records: Mapping[tuple[str, int], int]

    @classmethod
    def of(cls, suite: Suite, task: str, drawn: Sequence[_Frozen]) -> _TaskItems:
        """Read each example once, however many episodes have it."""
        rows: dict[str, set[int]] = {}
        for one in drawn:
            for role, pool in one.draw.pools.items():
                rows.setdefault(pool, set()).update(one.draw.rows[role])
        examples, records = dict[tuple[str, int], Example](), dict[tuple[str, int], int]()
        for name, wanted in rows.items():
            home, order = suite.pools[task][name], sorted(wanted)
            read = home.take(order)
            places = [(name, row) for row in order]
            examples |= zip(places, read, strict=True)
            records |= zip(places, records_of(task, read, home.groups()[order]), strict=True)
        digests = {name: suite.pools[task][name].digest for name in rows}
        keys = {at: item_key(task, at[0], digests[at[0]], example.item.id) for at, example in examples.items()}
        if len(set(keys.values())) < len(keys):
            raise ChallengeError(Note.of("challenge-items-doubled", task=task))
        return cls(examples, keys, records)

    def row(self, one: _Frozen, questions: Questions) -> EpisodeRow:
        """Write an episode as a participant may see it."""
        draw = one.draw
        return EpisodeRow(
            episode=draw.id[:DIGITS], task=draw.task, shots=one.shots, seed=one.seed, index=draw.index,
            labels=draw.labels, support=self._taught(draw, "support"), dev=self._taught(draw, "dev"),
            query={question: self.keys[place] for question, place in questions},
        )  # fmt: skip

    def _taught(self, draw: Draw, role: Role) -> tuple[tuple[str, str], ...]:
        return tuple((self.keys[place], str(self.examples[place].gold[0])) for place in _places(draw, role))

    def questions(self, draw: Draw) -> Questions:
        """Give the questions of a draw with the places of their items, in the order of their ids."""
        places = _places(draw, "query")
        return sorted((question_id(draw.id, place[0], self.examples[place].item.id), place) for place in places)

    def answers(self, one: _Frozen, questions: Questions) -> dict[str, Json]:
        """Write what is right in an episode, with ids and records of the suite, in the order of the questions."""
        return {
            "episode": one.draw.id[:DIGITS],
            "gold": {question: list(map(str, self.examples[place].gold)) for question, place in questions},
            "items": [self.examples[place].item.id for _, place in questions],
            "records": [self.records[place] for _, place in questions],
            "sizes": list(one.draw.sizes),
            "chance": one.draw.chance,
        }


def _places(draw: Draw, role: Role) -> Iterator[tuple[str, int]]:
    return ((draw.pools[role], row) for row in draw.rows[role])


# --- files -----------------------------------------------------------------------------------------------------------


class _Writer:
    """Writes the lines of a challenge, task by task: no more than one task is in memory."""

    def __init__(self, folder: Path, answers: Path) -> None:
        self.paths = {"items": folder / ITEMS, "questions": folder / QUESTIONS, "answers": answers}
        self.answers = answers
        self.digests = {name: Digest() for name in self.paths}
        self.sizes: dict[str, int] = {}
        self.dropped: list[Note] = []
        self.told: dict[str, tuple[int, int]] = {}  # by task: questions whose label another episode shows, and all
        self.stack = ExitStack()

    def __enter__(self) -> _Writer:
        opened = {name: path.open("w", encoding="utf-8", newline="\n") for name, path in self.paths.items()}
        self.files = {name: self.stack.enter_context(file) for name, file in opened.items()}
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())
        self.stack.close()

    def add(self, study: Study, suite: Suite, tasks: Sequence[str]) -> None:
        """Write all tasks; those whose episodes can't be drawn are named together."""
        faults: list[str] = []
        for task in tasks:
            try:
                self._add_task(suite, task, list(_draws(study, suite, task)))
            except EpisodeError as error:
                faults.append(str(error))
        if faults:
            raise ChallengeError(Note.of("challenge-undrawable"), faults)

    def _add_task(self, suite: Suite, task: str, drawn: Sequence[_Frozen]) -> None:
        items = _TaskItems.of(suite, task, drawn)
        taught, asked = set[str](), list[str]()
        for key, place in sorted((key, place) for place, key in items.keys.items()):
            self._line("items", {"item": key, "fields": dict(items.examples[place].item.fields)})
        for one in drawn:
            questions = items.questions(one.draw)
            row = items.row(one, questions)
            if row.episode in self.sizes:
                raise ChallengeError(Note.of("challenge-draws-doubled", task=task, episode=row.episode))
            self.sizes[row.episode] = len(row.query)
            self._line("questions", row.to_json())
            self._line("answers", items.answers(one, questions))
            taught |= row.taught
            asked += row.query.values()
        _refuse_telling(task, [items.examples[place] for one in drawn for place in _places(one.draw, "query")])
        self.told[task] = sum(key in taught for key in asked), len(asked)
        short = {name: count for one in drawn for name, count in one.draw.short.items()}
        if short:
            self.dropped.append(Note.of("challenge-classes-dropped", task=task, classes=sorted(short.items())))

    @property
    def notes(self) -> tuple[Note, ...]:
        """Note classes that take no part, and questions whose label another episode shows."""
        told = {task: (shown, asked) for task, (shown, asked) in self.told.items() if shown}
        if not told:
            return tuple(self.dropped)
        shown, asked = (sum(counts) for counts in zip(*told.values(), strict=True))
        return *self.dropped, Note.of("questions-told", tasks=list(told), told=shown, asked=asked)

    def _line(self, name: str, row: Mapping[str, Json]) -> None:
        self.digests[name].add(row)
        self.files[name].write(json.dumps(row, ensure_ascii=False) + "\n")

    def manifest(self, study: Study, tasks: Sequence[Task]) -> dict[str, Any]:
        """Declare what was written, with the hash over all of it."""
        found: dict[str, Any] = {
            "format": FORMAT, "name": study.name, "protocol": protocol_json(study), "metrics": list(study.metrics),
            "tasks": [task.declaration() for task in tasks], "episodes": self.sizes,
        }  # fmt: skip
        return {**found, "hash": hash_of(found, self.digests["items"].hex, self.digests["questions"].hex)}


def _refuse_telling(task: str, asked: Sequence[Example]) -> None:
    """Refuse a task of which a field is the label itself."""
    for name in asked[0].item.fields if asked else ():
        if all(example.item.fields[name].strip().casefold() == str(example.gold[0]).casefold() for example in asked):
            raise ChallengeError(Note.of("label-in-field", task=task, name=name))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_answers(path: Path, lines: Path, header: Mapping[str, Json]) -> None:
    """Write the answers: first a line that says which challenge they are of, and by what an edit is noticed."""
    with output_file(path) as whole, lines.open("rb") as body:
        whole.write(json.dumps({"format": FORMAT, **header}).encode() + b"\n")
        shutil.copyfileobj(body, whole)


def _readme(manifest: Mapping[str, Any], questions: int) -> str:
    """Write what a participant must know."""
    text = files(__package__).joinpath("challenge.md").read_text(encoding="utf-8")
    known = {
        "NAME": manifest["name"], "HASH": manifest["hash"], "TASKS": f"{len(manifest['tasks']):,}",
        "EPISODES": f"{len(manifest['episodes']):,}", "QUESTIONS": f"{questions:,}",
    }  # fmt: skip
    for name, value in known.items():
        text = text.replace(f"@{name}@", value)
    return text
