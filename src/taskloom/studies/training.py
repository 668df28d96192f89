"""What models of a study are trained on: the train tasks of the fold that asks about a task, apart from its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..core import Suite, declared
from ..document_lessons import SCALE, LessonMaker, trained_forms
from ..episodes import ALL, DRAWN, Deck, Shots
from ..errors import EpisodeError, StudyError, TaskloomError, UsageError
from ..ids import Json, fingerprint, shuffled
from ..lesson_episodes import drawable, episode_lessons
from ..lessons import (
    answerable_rows,
    lessons_of,
    shown_tags,
    taught_examples,
    taught_groups,
    taught_rows,
)
from ..messages import Note
from ..models import Lesson
from ..models.corpus import Corpus, gathered
from ..models.corpus import read as read_corpus
from ..models.trained import Trained
from ..models.vector_lessons import VectorTask, groups_of_formats, random_groups
from ..task_forms import format_of
from ..templates import words_of
from .study import Study, StudyProtocol, chosen_tasks
from .trained_tasks import excluded, folds_named, meant, split_tasks

# Options of a trained model that do not name it: its base does, and what it is taught.
KEPT_APART = ("train", "tasks", "folds", "most", "sample", "apart", "texts", "field")


class TrainingError(TaskloomError):
    """A model that can't be trained for a task, and is skipped there."""


@dataclass(frozen=True, slots=True)
class Taught:
    """The rows of tasks that a model is trained on, and the fold they are of."""

    fold: str
    rows: Mapping[str, tuple[int, ...]]
    key: Mapping[str, Json]  # what it adds to the name of a cell

    @property
    def id(self) -> str:
        """Name what is taught by its content."""
        return fingerprint("taught", self.key)


class Training:
    """Draws what models are trained on; what several cells share is drawn once."""

    def __init__(self, suite: Suite, study: Study, limit: int = 0) -> None:
        self.suite, self.protocol, self.limit = suite, study.protocol, limit
        self.folder = study.folder
        self.corpora: dict[tuple[tuple[str, ...], tuple[str, ...]], Corpus] = {}
        names = list(suite.tasks)
        self.asked_in = folds_named(suite, study.tasks)
        self.asked = tuple(dict.fromkeys(chosen_tasks(names, [n for text in study.tasks for n in meant(suite, text)])))
        self.known: dict[tuple[str, str, int], Taught] = {}
        self.avoided: dict[tuple[str, int], frozenset[int]] = {}
        self.rows: dict[tuple[str, int | str, int, frozenset[int], int], tuple[int, ...]] = {}
        self.drawable: dict[tuple[str, tuple[int, ...], int], bool] = {}
        self.records: dict[str, frozenset[int]] = {}  # by task
        self.able: dict[tuple[str, int | str], list[int]] = {}  # rows with an answer, which are read once

    def taught(self, model: str, of: Trained, target: str, seed: int) -> Taught:
        """Choose what a model is trained on for a task that will be asked about, by the seed of its draws."""
        if (model, target, seed) not in self.known:
            self.known[model, target, seed] = self._taught(model, of, target, seed)
        return self.known[model, target, seed]

    def _taught(self, model: str, of: Trained, target: str, seed: int) -> Taught:
        if of.texts:
            return Taught("", {}, self._key(of, {"texts": self._outside(of).digest}))
        fold, tasks = self._tasks(model, of, target)
        tasks = _sampled(model, of, tasks, seed)
        targets = self.asked if of.apart == "study" else (target,)
        avoid = frozenset[int]().union(*(self._avoided(name, seed) for name in targets))
        try:
            rows = {task: self._rows(task, of, seed, avoid) for task in tasks}
        except UsageError as error:
            raise StudyError(f"model {model!r}: {error}") from None
        if of.dev and not self.limit and 2 * of.dev > (count := _fewest(of, rows)):
            raise TrainingError(Note.of("dev-too-large", model=model, task=target, dev=of.dev, count=count))
        if not any(rows.values()):
            raise TrainingError(Note.of("no-record-left", model=model, task=target))
        if few := [task for task, chosen in rows.items() if of.episodes and not self._drawable(task, chosen, of)]:
            raise TrainingError(Note.of("no-episode", model=model, task=target, shots=of.shots[0], tasks=few))
        content: list[Json] = [
            [self.suite.digest(task), self._tags(task, of), list(chosen)] for task, chosen in rows.items()
        ]
        key: dict[str, Json] = {"taught": fingerprint(content)}
        key |= {} if of.encoding or of.goal != "answers" else {"template": words_of(of.template)}
        return Taught(fold, rows, self._key(of, key))

    def _tags(self, name: str, of: Trained) -> Json:
        """Give what of a task's tags matters to what is taught: they do not name a task."""
        task = self.suite.tasks[name]
        if of.goal != "vectors":
            return shown_tags(task, of.encoding)
        return [name, *trained_forms(task, {}), *task.tags.get(SCALE, ())]

    def _key(self, of: Trained, taught: Mapping[str, Json]) -> dict[str, Json]:
        """Give what names a training: its settings, and what is taught."""
        about = {name: value for name, value in declared(of).items() if name not in KEPT_APART}
        return {"set": about, **taught, **({"limit": self.limit} if self.limit else {})}

    def texts(self, of: Trained, taught: Taught) -> Corpus:
        """Read the texts that a model is pre-trained on: of sources outside, or the inputs of what is taught."""
        if of.texts:
            return self._outside(of)
        return gathered(
            text
            for task, rows in taught.rows.items()
            for example in taught_examples(self.suite, task, rows)
            for text in example.item.fields.values()
        )

    def _outside(self, of: Trained) -> Corpus:
        if (of.texts, of.field) not in self.corpora:
            places = [text if text.startswith(("data:", "hub:")) else str(self.folder / text) for text in of.texts]
            self.corpora[of.texts, of.field] = read_corpus(places, of.field)
        return self.corpora[of.texts, of.field]

    def lessons(self, of: Trained, taught: Taught, seed: int) -> tuple[list[Lesson], list[Lesson]]:
        """Read what is taught as lessons, task after task, and those that are held out for early stopping."""
        pairs = list(self._pairs(of, taught, seed))
        records, found = [record for record, _ in pairs], [lesson for _, lesson in pairs]
        dev = min(of.dev, len(records) // 2) if self.limit else of.dev
        held_out = _held_out(records, dev, seed)
        kept, apart = ([x for x, r in zip(found, records, strict=True) if (r in held_out) == is_apart]
                       for is_apart in (False, True))  # fmt: skip
        return kept, apart

    def vector_tasks(self, of: Trained, taught: Taught, seed: int) -> tuple[list[VectorTask], dict[str, int]]:
        """Read what is taught as lessons of vectors, and count by code what is dropped."""
        maker = LessonMaker(
            suite=self.suite, triplets=of.triplets, most=0 if of.most == "all" else of.most, titles=of.titles,
            seed=seed, groups=self.groups(of, taught, seed),
        )  # fmt: skip
        records = [record for task, rows in taught.rows.items() for record in taught_groups(self.suite, task, rows)]
        dev = min(of.dev, len(records) // 2) if self.limit else of.dev
        return maker.tasks(taught.rows, _held_out(records, dev, seed)), dict(maker.dropped)

    def groups(self, of: Trained, taught: Taught, seed: int) -> dict[str, str]:
        """Part tasks into random groups, as many as they have formats; none where formats are the groups."""
        formats = {format_of(self.suite.tasks[task]) for task in taught.rows}
        return random_groups(list(taught.rows), len(formats), seed=seed) if of.by == "random" else {}

    def form_names(self, of: Trained, taught: Taught, seed: int) -> dict[str, str]:
        """Give the group of each task, and of each format, by which vectors are asked for; none without groups."""
        groups = self.groups(of, taught, seed)
        return groups | groups_of_formats(groups, {name: format_of(self.suite.tasks[name]) for name in groups})

    def _pairs(self, of: Trained, taught: Taught, seed: int) -> Iterator[tuple[int, Lesson]]:
        """Give lessons with the records that they are of: one for each row, or those of episodes."""
        if of.episodes:
            yield from episode_lessons(self.suite, taught.rows, of, seed=seed, most=self.limit)
            return
        for task, rows in taught.rows.items():
            made = lessons_of(self.suite, task, rows, how=of.encoding, words=of.template, seed=seed)
            yield from zip(taught_groups(self.suite, task, rows), made, strict=True)

    def _tasks(self, model: str, of: Trained, target: str) -> tuple[str, list[str]]:
        """Find the one fold that asks about the target, and its tasks; tasks that are named alone need no fold."""
        roles, plain = split_tasks(self.suite, of)
        out = excluded(self.suite, of)
        names = [name for name in chosen_tasks(list(self.suite.tasks), plain) if name not in out] if plain else []
        if not roles:
            return "", names
        if of.goal == "vectors":
            return self._for_all(model, of, roles, names)
        among = self.asked_in.get(target) or self.suite.folds_with(target)
        folds = [name for name in among if any(fnmatchcase(name, text) for text in of.folds)]
        if not folds:
            raise TrainingError(Note.of("no-fold", model=model, task=target))
        if len(folds) > 1:
            several = ", ".join(folds)
            raise StudyError(f"model {model!r}: task {target!r} is in several folds; set `folds` to one of: {several}")
        found = [name for role in roles for name in self.suite.folds[folds[0]].get(role, ())]
        if not found:
            raise TrainingError(Note.of("nothing-to-train-on", model=model, task=target, fold=folds[0]))
        able = {name for name in found if name not in out and self.suite.taught_pool(name) is not None}
        if not able:
            raise TrainingError(Note.of("all-are-scored", model=model, fold=folds[0], tasks=len(found)))
        return folds[0], [name for name in self.suite.tasks if name in {*able, *names}]

    def _for_all(self, model: str, of: Trained, roles: Sequence[str], names: Sequence[str]) -> tuple[str, list[str]]:
        """Find the tasks of the one fold that an encoder is trained in: it serves all tasks, its own among them."""
        folds = [name for name in self.suite.folds if any(fnmatchcase(name, text) for text in of.folds)]
        if len(folds) > 1:
            raise StudyError(f"model {model!r}: the suite has several folds; set `folds` to one of: {', '.join(folds)}")
        found = {*names, *(name for fold in folds for role in roles for name in self.suite.folds[fold].get(role, ()))}
        found -= excluded(self.suite, of)
        able = [name for name in self.suite.tasks if name in found and self.suite.taught_pool(name) is not None]
        if not able:
            raise TrainingError(Note.of("all-are-scored", model=model, fold=" ".join(folds), tasks=len(found)))
        return "", able

    def _avoided(self, target: str, seed: int) -> frozenset[int]:
        """Give the records of all episodes of the target with this seed, at the settings that take most of them."""
        if (target, seed) not in self.avoided:
            protocol, deck, found = self.protocol.of(target), Deck(self.suite, target), set[int]()
            for shots in _largest(protocol.shots):
                for index in _indices(protocol, shots):
                    with suppress(EpisodeError):  # that episode is skipped
                        found |= deck.groups(deck.draw(protocol.drawing(shots), seed=seed, index=index))
            self.avoided[target, seed] = frozenset(found)
        return self.avoided[target, seed]

    def _rows(self, task: str, of: Trained, seed: int, avoid: frozenset[int]) -> tuple[int, ...]:
        near = avoid & self._records(task)
        limit = 0 if of.episodes else self.limit  # a trial draws few episodes of as many rows
        key = (task, of.most, seed, near, limit)
        if key not in self.rows:
            if (task, of.most) not in self.able:
                self.able[task, of.most] = answerable_rows(self.suite, task, of.most)
            able = self.able[task, of.most]
            found = taught_rows(self.suite, task, most=of.most, seed=seed, avoid=near, able=able)
            self.rows[key] = found[:limit] if limit else found
        return self.rows[key]

    def _drawable(self, task: str, rows: tuple[int, ...], of: Trained) -> bool:
        key = (task, rows, of.shots[0])
        if key not in self.drawable:
            self.drawable[key] = drawable(self.suite, task, rows, of)
        return self.drawable[key]

    def _records(self, task: str) -> frozenset[int]:
        if task not in self.records:
            pools = self.suite.pools[task].values()
            self.records[task] = frozenset(int(group) for pool in pools for group in pool.groups())
        return self.records[task]


def _fewest(of: Trained, rows: Mapping[str, Sequence[int]]) -> int:
    """Give the lessons that there are at least."""
    return of.episodes * of.shots[0] if of.episodes else sum(map(len, rows.values()))


def _sampled(model: str, of: Trained, tasks: Sequence[str], seed: int) -> list[str]:
    """Draw so many of the tasks as a model wants; those of fewer are among those of more."""
    if of.sample > len(tasks):
        raise TrainingError(Note.of("sample-too-large", model=model, sample=of.sample, tasks=len(tasks)))
    places = zip(range(of.sample or len(tasks)), shuffled(len(tasks), "training tasks", seed), strict=False)
    kept = {tasks[place] for _, place in places}
    return [name for name in tasks if name in kept]


def _held_out(records: Sequence[int], count: int, seed: int) -> frozenset[int]:
    """Choose records until they have so many examples: of a record all are held out, whatever task they are of."""
    known = sorted({*records})
    found = set[int]()
    for place in shuffled(len(known), "held out", seed):
        if sum(record in found for record in records) >= count:
            break
        found.add(known[place])
    return frozenset(found)


def _largest(settings: Mapping[Shots, int]) -> list[Shots]:
    """Give the settings that take most records, of those whose dev and query are drawn alike.

    `all` has dev and query in common with numbers; its support is what these leave, which may be taught.
    """
    numbers = [shots for shots in settings if isinstance(shots, int)]
    largest: list[Shots] = [max(numbers, default=0)] if numbers or ALL in settings else []
    return [DRAWN, *largest] if DRAWN in settings else largest


def _indices(protocol: StudyProtocol, shots: Shots) -> Iterable[int]:
    """Number the episodes that are drawn as those of a setting are."""
    if not protocol.own_episodes:
        return range(max(protocol.shots.values()))
    alike = [other for other in protocol.shots if (other == DRAWN) == (shots == DRAWN)]
    return [index for other in alike for index in protocol.episodes(other)]
