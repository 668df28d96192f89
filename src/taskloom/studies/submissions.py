"""Predictions for a challenge: read, checked against its questions, written, and merged.

A file is `{QUESTION: {"label": LABEL, "score": optional}}`, or `{"submission": {...}, "predictions": {...}}` with what
the answers are of. A label is a text of the episode's labels; null is no answer, and counts as wrong.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from sys import intern
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from ..answers import is_finite
from ..core import declared
from ..errors import ChallengeError, UsageError
from ..folders import check_output, is_stream, write_output
from ..messages import Note
from ..schema import Node, read
from ..texts import without_surrogates
from .challenge import EpisodeRow, read_json

MAX_FILE = 1 << 30  # bytes
LONGEST = 1_000  # characters of a name, and of whatever else is said of a submission
ABOUT, ANSWERS = "submission", "predictions"  # the keys of a file that says what its answers are of

Protocol: TypeAlias = Literal["", "pretraining-only", "meta-trained"]
PROTOCOLS: Mapping[Protocol, str] = {
    "pretraining-only": "Pretraining-Only",
    "meta-trained": "Meta-Trained",
}  # as boards call them


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What answers are of, as the participant says."""

    name: str = ""
    protocol: Protocol = ""  # whether its model was trained on other tasks
    model: str = ""
    url: str = ""
    date: str = ""
    baseline: bool = False  # shown beside the others, and never ranked


class Given(NamedTuple):
    """The answer to a question, as it was given."""

    label: Any
    score: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """The content of a file: what may be wrong with its answers is not looked at yet."""

    path: Path
    about: Submission
    answers: Mapping[str, Any]  # question -> Given, or anything else that a file may hold
    doubled: tuple[str, ...] = ()  # questions that are answered more than once

    @property
    def name(self) -> str:
        """Name the submission as it says, or after its file."""
        return self.about.name or self.path.stem


class _Doubled(dict[str, Any]):
    """An object of JSON that has keys more than once."""

    names: tuple[str, ...] = ()


def read_predictions(path: Path | str) -> Predictions:
    """Read a file of predictions, with or without what they are of."""
    path = Path(path)
    found = read_json(path, MAX_FILE, object_pairs_hook=_object)
    if isinstance(found, Given) or not isinstance(found, dict):
        raise ChallengeError(Note.of("predictions-expected", path=path))
    about = Submission()
    if found.keys() & {ABOUT, ANSWERS}:
        if isinstance(found, _Doubled) or not found.keys() <= {ABOUT, ANSWERS} or ANSWERS not in found:
            raise ChallengeError(Note.of("predictions-expected", path=path))
        about, found = _about(path, found.get(ABOUT, {})), found[ANSWERS]
        if isinstance(found, Given) or not isinstance(found, dict):
            raise ChallengeError(Note.of("predictions-expected", path=path))
    if not found:
        raise ChallengeError(Note.of("predictions-empty", path=path))
    doubled = found.names if isinstance(found, _Doubled) else ()
    return Predictions(path=path, about=about, answers=found, doubled=doubled)


def _object(pairs: Sequence[tuple[str, Any]]) -> Any:
    """Make an answer of an object of JSON that is one, to take little memory, and notice keys that come twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = _Doubled(found)
        twice.names = tuple(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return twice
    if "label" in found and found.keys() <= {"label", "score"}:
        label = found["label"]
        return Given(intern(label) if isinstance(label, str) else label, found.get("score"))
    return found


def _about(path: Path, values: Any) -> Submission:
    """Read what answers are of, or name all that is wrong with it."""
    faults: list[str] = []
    if not isinstance(values, dict) or isinstance(values, _Doubled):
        raise ChallengeError(Note.of("predictions-expected", path=path))
    plain = {name: without_surrogates(value) if isinstance(value, str) else value for name, value in values.items()}
    made = read(Submission, Node(plain, lambda _, what: faults.append(what), of=f" of {ABOUT!r}"))
    faults += [
        f"{name} must have {LONGEST:,} characters or fewer: {value[:40]!r}..."
        for name, value in plain.items()
        if isinstance(value, str) and len(value) > LONGEST
    ]
    if made and made.url and not made.url.startswith(("https://", "http://")):
        faults.append(f"url must begin with https:// or http://: {made.url[:40]!r}")
    if faults or made is None:
        raise ChallengeError(Note.of("submission-faults", path=path), faults)
    return made


# --- check -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checked:
    """How predictions fit a challenge: counts, and of each kind of fault the first question."""

    questions: int
    answered: int  # questions of the challenge that have an answer
    without_label: int  # of these, answers that are null
    scored: int  # of these, answers with a score
    faults: Mapping[str, Note] = field(default_factory=dict)  # by code, with the count and the first question

    @property
    def is_complete(self) -> bool:
        """Tell whether nothing is wrong but, maybe, that questions are missing."""
        return not self.faults.keys() - {"question-missing"}

    @property
    def notes(self) -> list[Note]:
        """Give the faults."""
        return list(self.faults.values())


def check(rows: Iterable[EpisodeRow], found: Predictions) -> Checked:
    """Compare predictions with all questions of a challenge."""
    counts, faults, unknown = Counter[str](), _Faults(), dict.fromkeys(found.answers)
    for row in rows:
        for question in row.query:
            counts["questions"] += 1
            if question not in unknown:
                faults.add("question-missing", question=question)
                continue
            del unknown[question]
            given = found.answers[question]
            if fault := fault_of(row, given):
                faults.add(fault[0], question=question, **fault[1])
            else:
                counts["null"] += given.label is None
                counts["scored"] += given.score is not None
    for question in unknown:
        faults.add("question-unknown", question=without_surrogates(question))
    for question in found.doubled:
        faults.add("question-doubled", question=without_surrogates(question))
    answered = len(found.answers) - len(unknown)
    return Checked(counts["questions"], answered, counts["null"], counts["scored"], faults.notes())


class _Faults:
    """Counts faults by their code, and keeps the first of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, dict[str, Any]] = {}

    def add(self, code: str, **values: Any) -> None:
        self.counts[code] += 1
        self.first.setdefault(code, values)

    def notes(self) -> dict[str, Note]:
        return {code: Note.of(code, count=count, **self.first[code]) for code, count in self.counts.items()}


def fault_of(row: EpisodeRow, given: Any) -> tuple[str, dict[str, Any]] | None:
    """Say what is wrong with an answer in its episode: a code and values; nothing of a good one."""
    if not isinstance(given, Given) or not isinstance(given.label, str | None):
        return "prediction-malformed", {}
    if given.label is not None and given.label not in row.labels:
        return "label-outside", {"label": repr(given.label)[:80], "labels": list(row.labels)}
    values = given.score if isinstance(given.score, list) else [given.score]
    each = len(row.labels) if isinstance(given.score, list) else 1
    if given.score is not None and (len(values) != each or not all(map(is_finite, values))):
        return "score-malformed", {"labels": len(row.labels)}
    return None


def refuse_faulty(rows: Iterable[EpisodeRow], found: Predictions, *, partial: bool = False) -> Checked:
    """Refuse predictions that do not fit a challenge; with `partial`, questions may be missing."""
    checked = check(rows, found)
    if checked.faults and not (partial and checked.is_complete and checked.answered):
        code = "predictions-partial" if checked.is_complete else "predictions-faulty"
        raise ChallengeError(Note.of(code, path=found.path), list(map(str, checked.notes)))
    return checked


# --- write -----------------------------------------------------------------------------------------------------------


def write_predictions(
    path: Path | str, answers: Mapping[str, Any], about: Submission | None = None, *, replace: bool = True
) -> None:
    """Write answers, each a label, None, or `{"label": ..., "score": ...}`: a line for each question."""
    path = Path(path)
    refuse_to_clobber(path, replace=replace)
    write_output(path, predictions_text(answers, about))


def predictions_text(answers: Mapping[str, Any], about: Submission | None = None) -> str:
    """Give the text of a file of answers."""
    lines = ",\n".join(f"{json.dumps(question)}: {_written(given)}" for question, given in answers.items())
    head = json.dumps(declared(about), ensure_ascii=False) if about and declared(about) else ""
    return f'{{"{ABOUT}": {head}, "{ANSWERS}": {{\n{lines}\n}}}}\n' if head else f"{{\n{lines}\n}}\n"


def refuse_to_clobber(path: Path, inputs: Iterable[Path] = (), *, replace: bool) -> None:
    """Refuse a file for predictions that is an input, or that is there unless it is to be replaced."""
    check_output(path, inputs)
    if path.exists() and not is_stream(path) and not replace:
        raise UsageError(Note.of("exists-already", paths=[path]))


def _written(given: Any) -> str:
    if isinstance(given, Given):
        given = {"label": given.label} | ({"score": given.score} if given.score is not None else {})
    return json.dumps(given if isinstance(given, Mapping) else {"label": given}, ensure_ascii=False)


def merged(parts: Sequence[Predictions]) -> tuple[dict[str, Any], Submission]:
    """Join files whose questions differ, or have the same answer, in the order of their ids; conflicts are named."""
    answers: dict[str, Any] = {}
    conflicts: list[str] = []
    for part in parts:
        if part.doubled:
            note = Note.of("question-doubled", count=len(part.doubled), question=part.doubled[0])
            raise ChallengeError(Note.of("predictions-faulty", path=part.path), [str(note)])
        differ = [question for question, given in part.answers.items() if answers.get(question, given) != given]
        if differ:
            conflicts.append(str(Note.of("answers-differ", path=part.path, count=len(differ), question=differ[0])))
        answers |= part.answers
    about = _one_about(part.about for part in parts)
    if conflicts:
        raise ChallengeError(Note.of("merge-conflicts"), conflicts)
    return dict(sorted(answers.items())), about


def _one_about(parts: Iterable[Submission]) -> Submission:
    """Give what all parts say; they may say nothing, but not differ."""
    said = [about for about in parts if about != Submission()]
    if odd := [f.name for f in fields(Submission) if len({getattr(about, f.name) for about in said}) > 1]:
        raise ChallengeError(Note.of("submissions-differ", names=odd))
    return said[0] if said else Submission()


def check_protocol(protocol: str) -> Protocol:
    """Give a protocol that was typed, or name those that there are."""
    found: Iterator[Protocol] = (known for known in get_args(Protocol) if known == protocol)
    if (one := next(found, None)) is None:
        raise UsageError(Note.of("protocol-unknown", given=protocol, known=list(PROTOCOLS)))
    return one
