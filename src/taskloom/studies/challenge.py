"""Challenges: frozen episodes that any program may answer; what is right stays in a file apart.

A participant's folder has `challenge.json` (the tasks, and a hash over all), `items.jsonl` (each text once) and
`questions.jsonl` (a line for each episode). Nothing in it depends on the label of a question: ids are hashes of names,
and questions stand in the order of their ids.
"""

from __future__ import annotations

import gc
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ..core import Example, Item, Labels, Task
from ..episodes import Shots
from ..errors import ChallengeError, TaskloomError, UsageError
from ..ids import Json, canonical, fingerprint
from ..limits import parse_json, refuse_no_file
from ..messages import Note
from ..sources.files import FORMATS, Layout, RowFaults
from ..suites.store import task_from_json

FORMAT = 1
MANIFEST, ITEMS, QUESTIONS, README = "challenge.json", "items.jsonl", "questions.jsonl", "README.md"
DIGITS = 16  # hexadecimal digits of an episode's id, and of an item's
ITEM = re.compile(rf"[0-9a-f]{{{DIGITS}}}")
QUESTION = re.compile(rf"([0-9a-f]{{{DIGITS}}})/[0-9a-f]{{{DIGITS}}}")  # its first part is the episode's id
MAX_MANIFEST = 256 << 20  # bytes


def item_key(task: str, pool: str, digest: str, item: str) -> str:
    """Name an item by a hash that can't be guessed from its name, which may tell its class.

    The digest of its pool covers all texts and gold answers, and is not known to participants.

    >>> item_key("topic", "test", "75cfaa0d7c216027938ba51baae559c0", "sport/17")
    'd5aef3b5b0eb4c51'
    """
    return fingerprint("item", task, pool, digest, item)[:DIGITS]


def question_id(draw: str, pool: str, item: str) -> str:
    """Name a question by its draw and its item; only the first half of a draw's name is known to participants."""
    return f"{draw[:DIGITS]}/{fingerprint('question', draw, pool, item)[:DIGITS]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRow:
    """A line of `questions.jsonl`: an episode, with items in the place of their texts."""

    episode: str
    task: str
    shots: Shots
    seed: int
    index: int
    labels: tuple[str, ...]
    support: tuple[tuple[str, str], ...]  # item and label
    dev: tuple[tuple[str, str], ...]
    query: Mapping[str, str]  # question -> item, in the order of the questions' ids

    @property
    def taught(self) -> frozenset[str]:
        """Give the items whose labels the episode tells."""
        return frozenset(item for item, _ in (*self.support, *self.dev))

    @property
    def items(self) -> frozenset[str]:
        """Give all items of the episode."""
        return self.taught | frozenset(self.query.values())

    def to_json(self) -> dict[str, Json]:
        """Write the line; `from_json` reads it back."""
        return {
            "episode": self.episode, "task": self.task, "shots": self.shots, "seed": self.seed, "index": self.index,
            "labels": list(self.labels), "support": [list(pair) for pair in self.support],
            "dev": [list(pair) for pair in self.dev], "query": dict(self.query),
        }  # fmt: skip

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> EpisodeRow:
        """Read a line that has these keys and no others: a question comes with its item, and with nothing else."""
        query = {str(question): str(item) for question, item in row["query"].items()}
        pairs = {part: tuple((item, label) for item, label in map(_texts, row[part])) for part in ("support", "dev")}
        made = cls(**{**row, **pairs, "labels": _texts(row["labels"]), "query": query})
        if not all(ITEM.fullmatch(item) for item in made.items) or list(query) != sorted(query):
            raise ValueError("ids of items, or the order of the questions")
        episodes = {found[1] if (found := QUESTION.fullmatch(question)) else "" for question in query}
        if episodes - {made.episode} or len({*query.values()}) < len(query):
            raise ValueError("ids of questions, or an item that is asked about twice")
        if not {label for _, label in (*made.support, *made.dev)} <= {*made.labels}:
            raise ValueError("labels of examples")
        return made


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("texts are expected")
    return tuple(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeEpisode:
    """An episode to answer: the task with its labels narrowed to those drawn, examples, and items without answers.

    The id of an item is that of its question.
    """

    id: str
    task: Task
    shots: Shots
    support: tuple[Example, ...]
    dev: tuple[Example, ...]
    query: tuple[Item, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Give the labels to choose from."""
        assert isinstance(self.task.output, Labels)
        return self.task.output.names


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """An open challenge: its texts are in memory once, its episodes are read one by one."""

    folder: Path
    name: str
    hash: str
    protocol: Mapping[str, Json]  # as the study has it
    metrics: tuple[str, ...]  # that the study names; none: the tasks' own
    tasks: Mapping[str, Task]
    sizes: Mapping[str, int] = field(repr=False)  # episode -> number of questions
    items: Mapping[str, Mapping[str, str]] = field(repr=False)  # item -> its fields

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def questions(self) -> int:
        """Count the questions of all episodes."""
        return sum(self.sizes.values())

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[EpisodeRow]:
        """Read the lines of episodes, all or those of a range."""
        return map(EpisodeRow.from_json, islice(read_lines(self.folder / QUESTIONS), start, stop))

    def episodes(self, start: int = 0, stop: int | None = None) -> Iterator[ChallengeEpisode]:
        """Read episodes with their texts, all or those of a range: several programs may share the work."""
        return map(self._episode, self.rows(start, stop))

    def _episode(self, row: EpisodeRow) -> ChallengeEpisode:
        return ChallengeEpisode(
            id=row.episode, task=self.tasks[row.task].narrowed(row.labels), shots=row.shots,
            support=self._examples(row.support), dev=self._examples(row.dev),
            query=tuple(Item(question, self.items[item]) for question, item in row.query.items()),
        )  # fmt: skip

    def _examples(self, pairs: Iterable[tuple[str, str]]) -> tuple[Example, ...]:
        return tuple(Example(Item(item, self.items[item]), (label,), item) for item, label in pairs)


# --- read ------------------------------------------------------------------------------------------------------------


def open_challenge(folder: Path | str) -> Challenge:
    """Open a challenge, and refuse one whose files were edited: all that its hash is over is read once."""
    folder = Path(folder)
    manifest = _manifest(folder)
    with naming_damage(folder / MANIFEST):
        tasks = {declared["id"]: task_from_json(declared) for declared in manifest["tasks"]}
    items, of_items = _items(folder / ITEMS)
    sizes, of_questions = _sizes(folder / QUESTIONS, tasks, items)
    with naming_damage(folder / MANIFEST):
        given, found = manifest.pop("hash"), hash_of(manifest, of_items, of_questions)
    if given != found:
        raise ChallengeError(Note.of("challenge-edited", path=folder))
    with naming_damage(folder / MANIFEST):
        return Challenge(
            folder=folder, name=str(manifest["name"]), hash=found, protocol=dict(manifest["protocol"]),
            metrics=tuple(manifest["metrics"]), tasks=tasks, sizes=sizes, items=items,
        )  # fmt: skip


def _items(path: Path) -> tuple[dict[str, Mapping[str, str]], str]:
    """Read all items, and give the digest of their lines."""
    digest, items = Digest(), dict[str, Mapping[str, str]]()
    with naming_damage(path):
        for row in digest.of(read_lines(path)):
            items[row["item"]] = _fields(row)
    return items, digest.hex


def _sizes(path: Path, tasks: Collection[str], items: Collection[str]) -> tuple[dict[str, int], str]:
    """Count the questions of each episode, and give the digest of their lines."""
    digest, sizes = Digest(), dict[str, int]()
    with naming_damage(path):
        for line in digest.of(read_lines(path)):
            row = EpisodeRow.from_json(line)
            if row.task not in tasks or not all(item in items for item in row.items):
                raise ValueError(f"episode {row.episode} names a task or an item that is not there")
            sizes[row.episode] = len(row.query)
    return sizes, digest.hex


def hash_of(manifest: Mapping[str, Json], items: str, questions: str) -> str:
    """Name a challenge by all its content: what is declared, every text, and every episode."""
    return fingerprint("challenge", manifest, items, questions)


class Digest:
    """A digest of lines, by what they say: not by spaces, ends of lines, or the order of keys."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=16)

    def add(self, row: Mapping[str, Json]) -> None:
        """Add a line."""
        self.digest.update(canonical(row).encode() + b"\n")

    def of(self, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Add lines as they pass."""
        for row in rows:
            self.add(row)
            yield row

    @property
    def hex(self) -> str:
        """Give the digest of what was added so far."""
        return self.digest.hexdigest()


def _fields(row: Mapping[str, Any]) -> dict[str, str]:
    if row.keys() != {"item", "fields"} or not all(isinstance(text, str) for text in row["fields"].values()):
        raise ValueError("an item has an id and fields, which are texts")
    return dict(row["fields"])


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Say which file is at fault where a line is not what it should be."""
    try:
        yield
    except ChallengeError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, TaskloomError) as error:
        raise ChallengeError(Note.of("challenge-damaged", path=path, reason=str(error))) from None


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read JSON Lines; all that is wrong with them is named at the end."""
    if not path.is_file():
        raise ChallengeError(Note.of("challenge-file-missing", path=path))
    faults = RowFaults("skip")
    yield from (row for _, row in FORMATS["jsonl"](path, faults, Layout()))
    if faults.count:
        raise ChallengeError(Note.of("lines-unreadable", count=faults.count, path=path), faults.shown)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        raise UsageError(Note.of("not-a-challenge", file=MANIFEST, path=folder))
    found = read_json(path, MAX_MANIFEST)
    if not isinstance(found, dict) or not isinstance(found.get("format"), int) or "hash" not in found:
        raise ChallengeError(Note.of("challenge-damaged", path=path, reason="format or hash is missing"))
    if found["format"] > FORMAT:
        raise ChallengeError(Note.of("challenge-newer", found=found["format"], known=FORMAT, path=path))
    return found


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector from looking at millions of new objects again and again: twice as fast."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read_json(path: Path, most: int, **hooks: Any) -> Any:
    """Read a JSON file that is not ours: refuse one that is too large, no UTF-8 or no JSON, and say where."""
    refuse_no_file(path)
    if path.stat().st_size > most:
        raise ChallengeError(Note.of("file-too-large", most=most, path=path))
    try:
        with _uncollected():
            return parse_json(path.read_bytes().decode("utf-8-sig"), **hooks)
    except UnicodeDecodeError as error:
        raise ChallengeError(Note.of("not-utf", reason=error.reason, place=error.start, path=path)) from None
    except ValueError as error:
        raise ChallengeError(Note.of("not-json", reason=str(error), path=path)) from None
