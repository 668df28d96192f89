"""Labelled data sets to tasks: up to three of each, `NAME@train`, `NAME@dev` and `NAME@test`, with labels of their own.

Where the labels of phases are disjoint, each row goes where its label is (class transfer); where phases share labels,
the split of its source decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core import DROPPED, Example, Item, Labels, Suite, Task
from ..errors import SourceError, UnknownNameError, nearest
from ..ids import Json, fingerprint, shuffled
from ..messages import Note, counted_notes
from ..sources.files import Place, Row
from ..sources.labelled import FIELDS, LABEL
from ..sources.splits import SPLIT
from . import rows

PHASES = ("train", "dev", "test")  # which are roles of a fold too
POOL = "all"
METRICS = ("accuracy", "macro-f1")
ALL_OTHERS = "*"  # in `drop`: labels that are not named
INSTRUCTIONS: Mapping[str, str] = {
    "single": "Choose the label of the text.",
    "document": "Choose the label of the document.",
    "pair": "Choose how the two texts are related.",
    "relation": "Choose the relation of the first mention, between # marks, to the second, between * marks.",
    "entity": "Choose the type of the mention between # marks.",
}
TITLES: Mapping[str, str] = {
    "text1": "text 1", "text2": "text 2", "mention1": "mention 1", "mention2": "mention 2"
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """What a labelled data set holds: its form, its labels in each phase, and how they are written in its files."""

    name: str
    form: str = "single"
    type: tuple[str, ...] = ()  # of task, such as sentiment; what is seen of it in training decides on transfer
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by phase; none: all that are found, for test
    names: Mapping[str, str] = field(default_factory=dict)  # a label as it is written -> as it is shown
    drop: tuple[str, ...] = ()  # labels as they are written that are no classes; `*`: all that are not named
    splits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by phase: splits of the source; none: all
    most: int = 0  # rows of a label, the first; 0: all
    instruction: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)  # what prompts call fields
    licence: str = ""

    def __post_init__(self) -> None:
        if self.form not in FIELDS:
            raise UnknownNameError("form of data set", self.form, FIELDS)
        for phase in (*self.labels, *self.splits):
            if phase not in PHASES:
                raise UnknownNameError(f"phase of data set {self.name!r}", phase, PHASES)

    def phases(self) -> dict[str, list[str]]:
        """Name the phases that have each label."""
        found: dict[str, list[str]] = {}
        for phase in PHASES:
            for label in dict.fromkeys(self.labels.get(phase, ())):
                found.setdefault(label, []).append(phase)
        return found


@dataclass(frozen=True, slots=True)
class Gathered:
    """The examples of a data set by phase, what was dropped, and what does not fit its declaration."""

    of: DataSet
    examples: Mapping[str, list[Example]]
    dropped: Counter[Note]
    faults: tuple[Note, ...] = ()

    def tasks(self) -> dict[str, Task]:
        """Give the task of each phase that has examples."""
        return {phase: task(self.of, phase) for phase in PHASES if self.examples.get(phase)}


def task_id(name: str, phase: str) -> str:
    """Name the task of a phase."""
    return f"{name}@{phase}"


def task(of: DataSet, phase: str) -> Task:
    """Declare the task of a phase."""
    titles = {name: title for name, title in TITLES.items() if name in FIELDS[of.form]}
    tags = {"data set": (of.name,), "form": (of.form,), "type": of.type}
    return Task(
        id=task_id(of.name, phase),
        instruction=of.instruction or INSTRUCTIONS[of.form],
        output=Labels(of.labels[phase]),
        metrics=METRICS,
        tags={tag: values for tag, values in tags.items() if values},
        titles=titles | dict(of.titles),
    )


def dealt(name: str, labels: Iterable[str], counts: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Deal labels out to phases, so many to each, in an order that depends on the name and the labels alone.

    >>> dealt("pets", ["cat", "cow", "dog", "hen"], {"train": 2, "test": 2})
    {'train': ('dog', 'hen'), 'test': ('cat', 'cow')}
    """
    known = sorted(set(labels))
    if len(known) < sum(counts.values()):
        raise SourceError(Note.of("labels-too-few", name=name, found=len(known), wanted=sum(counts.values())))
    order = shuffled(len(known), "labels", name, known)
    return {phase: tuple(sorted(known[next(order)] for _ in range(count))) for phase, count in counts.items()}


def spelling(label: str) -> str:
    """Give what labels have in common that differ in case, spaces or underscores alone.

    >>> spelling("Sports_and_Outdoors") == spelling("sports and  outdoors")
    True
    """
    return " ".join(label.replace("_", " ").casefold().split())


# --- rows to examples ------------------------------------------------------------------------------------------------


def gather(of: DataSet, rows: Iterable[tuple[Place, Row]]) -> Gathered:
    """Take the examples of a data set; rows that are not used are counted, labels that do not fit are faults."""
    known = {spelling(label): label for labels in of.labels.values() for label in labels}
    known |= {spelling(raw): label for raw, label in of.names.items()}
    left_out = {spelling(raw) for raw in of.drop}
    found: dict[str, list[Example]] = {phase: [] for phase in PHASES}
    dropped, unknown, seen, sizes = Counter[Note](), Counter[str](), set[tuple[str, ...]](), Counter[str]()
    unsplit, phases = Counter[str](), of.phases()
    for number, (_, row) in enumerate(rows, 1):
        fields = {name: row[name] for name in FIELDS[of.form]}
        raw, key = row[LABEL], spelling(row[LABEL] or "")
        label = known.get(key, "")
        if raw is None:
            dropped[Note.of("row-unlabelled")] += 1
        elif not label and (key in left_out or ALL_OTHERS in of.drop):
            dropped[Note.of("row-of-label")] += 1
        elif not label:
            unknown[raw] += 1
        elif not all(fields.values()):
            dropped[Note.of("row-empty")] += 1
        elif not (phase := _phase(of, phases.get(label, []), split := row.get(SPLIT, ""))):
            dropped[Note.of("row-of-split", value=split) if split else Note.of("row-split-unknown")] += 1
            unsplit[label] += not split
        elif (content := (*fields.values(), label)) in seen:
            dropped[Note.of("row-duplicate")] += 1
        elif of.most and sizes[label] == of.most:
            dropped[Note.of("row-beyond", most=of.most)] += 1
        else:
            seen.add(content)
            sizes[label] += 1
            found[phase].append(Example(Item(f"{of.name}-{number}", fields), (label,), group(fields)))
    return Gathered(of, found, dropped, tuple(_faults(of, unknown, sizes, found, unsplit)))


def _phase(of: DataSet, phases: Sequence[str], split: str) -> str:
    """Say which phase a row is of; one whose split is unknown is of the only phase that has its label, or of none."""
    if not split:
        return phases[0] if len(phases) == 1 else ""
    return next((phase for phase in phases if split in of.splits.get(phase, (split,))), "")


def group(fields: Mapping[str, str]) -> str:
    """Name an input whatever its case and spaces: copies are never on both sides of an episode, in any task.

    >>> group({"text": "To be"}) == group({"text": "to  be"})
    True
    """
    return fingerprint(*(" ".join(text.casefold().split()) for text in fields.values()))[:16]


def _faults(
    of: DataSet,
    unknown: Counter[str],
    sizes: Counter[str],
    found: Mapping[str, Sequence[Example]],
    unsplit: Counter[str],
) -> Iterator[Note]:
    """Name labels of the files that are not declared, and labels of a phase in use that have no example, and why."""
    declared = {label: None for labels in of.labels.values() for label in labels}
    if unknown:
        near = [str(nearest(label, declared)) for label in list(unknown)[:1]]
        yield Note.of("labels-unknown", name=of.name, labels=unknown.most_common(), hint=near[0])
    used = {label: None for phase, labels in of.labels.items() if found[phase] for label in labels}
    if shared := [(label, unsplit[label]) for label in used if not sizes[label] and unsplit[label]]:
        yield Note.of("labels-in-two-phases", name=of.name, labels=shared)
    if missing := [label for label in used if not sizes[label] and not unsplit[label]]:
        here = sorted(label for label in declared if sizes[label])
        yield Note.of("labels-without-examples", name=of.name, labels=missing, here=here)


def raw_labels(of: DataSet, rows: Iterable[tuple[Place, Row]]) -> list[str]:
    """Give the labels that rows have, as they are shown, sorted."""
    shown = {spelling(raw): label for raw, label in of.names.items()}
    left_out = {spelling(raw) for raw in of.drop}
    found = {row[LABEL] for _, row in rows if row[LABEL] is not None}
    return sorted({shown.get(spelling(raw), raw) for raw in found if spelling(raw) not in left_out})


# --- suites ----------------------------------------------------------------------------------------------------------


def suite(sets: Sequence[Gathered], *, id: str, fold: str, about: Mapping[str, Json] | None = None) -> Suite:
    """Make the suite of data sets, with a fold whose roles are their phases; all that does not fit is refused."""
    refuse_unfit(sets)
    tasks = {(one.of.name, phase): made for one in sets for phase, made in one.tasks().items()}
    if not tasks:
        raise SourceError(Note.of("data-sets-empty", names=[one.of.name for one in sets]))
    pools = {
        tasks[one.of.name, phase].id: {POOL: rows.pool(tasks[one.of.name, phase], one.examples[phase])}
        for one in sets
        for phase in one.tasks()
    }
    roles = {phase: tuple(made.id for (_, of), made in tasks.items() if of == phase) for phase in PHASES}
    kept_about: dict[str, Json] = {"licences": [f"{one.of.name}: {one.of.licence or 'not stated'}" for one in sets]}
    dropped: Any = [line for one in sets for line in _dropped_of(one)]
    return Suite(
        id=id,
        tasks={made.id: made for made in tasks.values()},
        pools=pools,
        folds={fold: {role: names for role, names in roles.items() if names}},
        about=dict(about or {}) | kept_about | {DROPPED: dropped},
    )


def refuse_unfit(sets: Iterable[Gathered]) -> None:
    """Refuse data sets whose labels are not those of their declarations, naming all of them at once."""
    if faults := [f"{fault.code}: {fault}" for one in sets for fault in one.faults]:
        raise SourceError(Note.of("labels-unfit", count=len(faults)), faults)


def _dropped_of(one: Gathered) -> list[dict[str, Any]]:
    """Write what was dropped of a data set, with its name."""
    return counted_notes({note.of_field(one.of.name): count for note, count in one.dropped.items()})
