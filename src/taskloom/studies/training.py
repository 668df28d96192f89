"""What models of a study are trained on: the train tasks of the fold that asks about a task, apart from its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..core import ROLES, Suite, declared
from ..encodings import encoding
from ..episodes import ALL, DRAWN, Deck, Shots
from ..errors import EpisodeError, StudyError, TaskloomError, UnknownNameError, UsageError, nearest
from ..ids import Json, fingerprint, shuffled
from ..lesson_episodes import drawable, episode_lessons
from ..lessons import (
    RANDOM,
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
from ..suites.instructions import leaking_tasks
from ..templates import TEMPLATES, template, words_of
from .study import Study, StudyProtocol, chosen_tasks, named

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
            [self.suite.digest(task), shown_tags(self.suite.tasks[task], of.encoding), list(chosen)]
            for task, chosen in rows.items()
        ]
        key: dict[str, Json] = {"taught": fingerprint(content)}
        key |= {} if of.encoding or of.goal == "texts" else {"template": words_of(of.template)}
        return Taught(fold, rows, self._key(of, key))

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
        roles, plain = _split(self.suite, of)
        names = chosen_tasks(list(self.suite.tasks), plain) if plain else []
        if not roles:
            return "", names
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
        able = {name for name in found if self.suite.taught_pool(name) is not None}
        if not able:
            raise TrainingError(Note.of("all-are-scored", model=model, fold=folds[0], tasks=len(found)))
        return folds[0], [name for name in self.suite.tasks if name in {*able, *names}]

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


def _split(suite: Suite, of: Trained) -> tuple[list[str], list[str]]:
    """Part what a model is trained on into roles and names or patterns of tasks."""
    roles = [text for text in of.tasks if text.startswith("@") and text not in suite.tasks]
    return [text.removeprefix("@") for text in roles], [text for text in of.tasks if text not in roles]


def faults_of(of: Trained, suite: Suite) -> Iterator[str]:
    """Say what is wrong with a model that is to be trained on tasks of a suite."""
    roles, plain = _split(suite, of) if not of.texts else ([], [])
    for role in roles:
        if role not in ROLES:
            yield f"unknown role of a fold: '@{role}'; {nearest(f'@{role}', [f'@{name}' for name in ROLES])}"
    for text in plain:
        if not named(suite.tasks, text):
            yield str(UnknownNameError("task", text, suite.tasks))
    if roles and not suite.folds:
        yield "the suite has no folds; name the tasks to train on in `tasks`"
    for text in of.folds if roles and suite.folds else ():
        if not named(suite.folds, text):
            yield f"unknown fold: {text!r}; {nearest(text, suite.folds)}"
    try:
        if of.encoding not in ("", RANDOM):
            encoding(of.encoding)
        taught = [name for fold in suite.folds.values() for role in roles for name in fold.get(role, ())]
        taught += [name for text in plain for name in named(suite.tasks, text)]
        yield from _template_faults(of, suite, dict.fromkeys(taught))
    except TaskloomError as error:
        yield str(error)


def _template_faults(of: Trained, suite: Suite, tasks: Iterable[str]) -> Iterator[str]:
    """Say where a template of one's own does not fit the inputs of tasks; a fault that tasks share is named once."""
    words, found = template(of.template), dict[Note, list[str]]()
    for name in tasks if of.template not in TEMPLATES else ():
        if pool := suite.taught_pool(name):
            for fault in words.faults(tuple(pool.take([0])[0].item.fields)):
                found.setdefault(fault, []).append(name)
    for fault, names in found.items():
        yield f"task {names[0]!r}{f' and {len(names) - 1:,} more' if names[1:] else ''}: {fault}"


def untrainable(of: Trained, suite: Suite, study: Study, asked: Sequence[str]) -> Iterator[str]:
    """Say so where no fold that asks about tasks of a study has any to train on: a track without training tasks."""
    roles, plain = _split(suite, of) if not of.texts else ([], [])
    named_in = folds_named(suite, study.tasks)
    every = dict.fromkeys(fold for task in asked for fold in named_in.get(task) or suite.folds_with(task))
    folds = [fold for fold in every if any(fnmatchcase(fold, text) for text in of.folds)]
    if folds and roles and not plain and not any(suite.folds[fold].get(role) for fold in folds for role in roles):
        leaks = sum(len(leaking_tasks(suite, fold).get(role, ())) for fold in folds for role in roles)
        yield str(Note.of("track-without-training", roles=roles, folds=folds, leaks=leaks))


def folds_named(suite: Suite, tasks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Give the folds that a study names for tasks (`@FOLD/test`): they are asked about in these alone."""
    found: dict[str, list[str]] = {}
    for text in tasks:
        fold, _, role = text.removeprefix("@").rpartition("/")
        if text.startswith("@") and text not in suite.tasks and fold in suite.folds:
            for name in suite.folds[fold].get(role, ()):
                found.setdefault(name, []).append(fold)
    return {name: tuple(folds) for name, folds in found.items()}


def meant(suite: Suite, text: str) -> list[str]:
    """Put names in the place of `@test`, or of `@FOLD/test`: the tasks that have a role in any fold, or in one.

    `@*` stands for the tasks of any role, and `@TAG=VALUE` for the tasks with a tag of that value (`@level=atomic`).
    """
    if text in suite.tasks or not text.startswith("@"):
        return [text]
    tag, tagged, value = text.removeprefix("@").partition("=")
    if tagged:
        return _with_tag(suite, tag, value)
    fold, _, name = text.removeprefix("@").rpartition("/")
    roles = [role for role in ROLES if name == role or (name == "*" and role != "excluded")]
    if not roles:
        raise UnknownNameError("role of a fold", f"@{name}", [*(f"@{role}" for role in ROLES), "@*"])
    if not suite.folds and text in ("@test", "@*"):
        return list(suite.tasks)  # of a suite without folds, every task may be asked about
    names = [task for role in roles for task in suite.tasks_with(role, fold)] if fold in ("", *suite.folds) else []
    if not names:
        raise StudyError(f"no fold has such tasks; folds of the suite: {', '.join(suite.folds) or 'none'}: {text!r}")
    return list(dict.fromkeys(names))


def _with_tag(suite: Suite, tag: str, value: str) -> list[str]:
    """Give the tasks that have a tag of some value."""
    found = [name for name, task in suite.tasks.items() if value in task.tags.get(tag, ())]
    if not found:
        known = {f"@{name}={one}" for task in suite.tasks.values() for name, some in task.tags.items() for one in some}
        raise UnknownNameError("tag of tasks", f"@{tag}={value}", sorted(known))
    return found
