"""The nouns: few, frozen, typed, and made of the standard library alone.

An `Item` is all that a predictor may see; it has no gold answer, so none can leak. A `Task` is a declaration,
a `Pool` holds its examples, and a `Suite` is tasks, pools, folds (splits over tasks) and stores of documents.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, get_args

from .errors import SuiteError, UnknownNameError
from .ids import Json, fingerprint
from .messages import Note

if TYPE_CHECKING:
    from numpy import ndarray

DROPPED = "dropped"  # in a suite's `about`: what was read and is in no task, by code
ABSENT = "absent"  # and there: tasks of its benchmark that were not found

Ints: TypeAlias = "ndarray[tuple[int], Any]"

Choices: TypeAlias = "tuple[tuple[str, ...], ...]"  # the acceptable words of each place

# A text or a label | labels or terms | a number | graded candidates | words, as gold | the answers of several fields.
Answer: TypeAlias = (
    "str | tuple[str, ...] | float | tuple[tuple[str, float], ...] | Choices | Mapping[str, Answer | None]"
)


@dataclass(frozen=True, slots=True)
class Text:
    """Free text; an answer is a string."""

    kind: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class Labels:
    """One of the named labels (an answer is a string), or with `many` a set of them (a tuple)."""

    kind: ClassVar[str] = "labels"
    names: tuple[str, ...]
    many: bool = False

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise SuiteError(f"duplicate labels: {', '.join(self.names)}")


@dataclass(frozen=True, slots=True)
class Terms:
    """An ordered list of free terms, such as keywords; written with a separator between them.

    With a store, candidates are ids of its documents, as in a ranking: terms may name the cluster of each in turn.
    """

    kind: ClassVar[str] = "terms"
    separator: str = "; "
    store: str = ""  # "": candidates, where there are any, are texts


@dataclass(frozen=True, slots=True)
class Number:
    """A number; an answer is a float."""

    kind: ClassVar[str] = "number"


@dataclass(frozen=True, slots=True)
class Ranking:
    """The item's candidates, graded; an answer is (candidate, grade) pairs, the higher the better.

    Candidates are texts, or ids of documents in a store of the suite. With a depth, only an answer's best are kept.
    """

    kind: ClassVar[str] = "ranking"
    store: str = ""  # "": candidates are texts
    depth: int = 0  # 0: the whole answer is kept

    def __post_init__(self) -> None:
        if isinstance(self.depth, bool) or not isinstance(self.depth, int) or self.depth < 0:
            raise SuiteError(f"the depth of a ranking must be an integer >= 0: {self.depth!r}")


@dataclass(frozen=True, slots=True)
class Words:
    """A sequence of words, some of which may have spaces; an answer is a text.

    A gold answer has the acceptable words of each place, the first of which are taught: the sequences that they make
    are never written out.
    """

    kind: ClassVar[str] = "words"
    separator: str = " "


@dataclass(frozen=True, slots=True)
class Fields:
    """Several outputs in one, in order; an answer maps each name to its own answer."""

    kind: ClassVar[str] = "fields"
    parts: Mapping[str, Text | Labels | Terms | Number]


Output: TypeAlias = Text | Labels | Terms | Number | Ranking | Words | Fields
OUTPUT_KINDS = (Text, Labels, Terms, Number, Ranking, Words, Fields)
OUTPUTS: Mapping[str, type[Output]] = {kind.kind: kind for kind in OUTPUT_KINDS}


def store_of(output: Output) -> str:
    """Name the store whose documents are candidates; "" where candidates are texts.

    >>> store_of(Ranking(store="papers")), store_of(Text())
    ('papers', '')
    """
    return output.store if isinstance(output, Ranking | Terms) else ""


@dataclass(frozen=True, slots=True)
class Item:
    """What a predictor sees of an example: named texts and, where it must choose, candidates."""

    id: str
    fields: Mapping[str, str]
    candidates: tuple[str, ...] = ()
    document: str = field(default="", compare=False, repr=False)  # the id of the one that its fields were read from


@dataclass(frozen=True, slots=True)
class Example:
    """An item with every acceptable answer; examples of one group are never on both sides of a split."""

    item: Item
    gold: tuple[Answer, ...]
    group: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A document: named texts, and the ids of its members where it stands for several documents of its store."""

    id: str
    fields: Mapping[str, str]
    members: tuple[str, ...] = ()


class Store(Protocol):
    """Documents by id: nothing is read until it is asked for."""

    def __len__(self) -> int: ...

    def take(self, ids: Sequence[str]) -> list[Stored]:
        """Read these documents, in this order; ids that are missing are named in an error."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An example that comes with a task's instruction: a right or a wrong answer, and why it is so."""

    fields: Mapping[str, str]
    answer: Answer
    why: str = ""
    right: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is asked, in which form the answer comes, and how it is scored.

    `separator` stands between the fields of an input, and between the parts of an answer of several fields.
    """

    id: str
    instruction: str
    output: Output
    metrics: tuple[str, ...]
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    separator: str = "\n"
    examples: tuple[Shown, ...] = ()  # of the instruction's own, no part of any pool
    titles: Mapping[str, str] = field(default_factory=dict)  # what prompts call fields, where not by their names

    def declaration(self) -> dict[str, Json]:
        """Give all that the task declares, as JSON."""
        return {
            "id": self.id,
            "instruction": self.instruction,
            "output": output_to_json(self.output),
            "metrics": list(self.metrics),
            "tags": {name: list(values) for name, values in self.tags.items()},
            "separator": self.separator,
            "examples": [asdict(shown) for shown in self.examples],
            "titles": dict(self.titles),
        }

    def narrowed(self, labels: Sequence[str]) -> Task:
        """Give the same task with only some of its labels to choose from."""
        if not isinstance(self.output, Labels):
            raise SuiteError(f"only a task of labels can be narrowed: {self.id!r}")
        return replace(self, output=replace(self.output, names=tuple(labels)))


class Pool(Protocol):
    """The examples of one task: nothing is read until it is asked for."""

    @property
    def digest(self) -> str:
        """Name the pool by its content."""

    def __len__(self) -> int: ...

    def labels(self) -> Ints:
        """Give each row's label as its place in the task's label names, -1 where it has none or many.

        Rows of a task without labels may be of several kinds, by numbers from 0: each is drawn equally often.
        """

    def groups(self) -> Ints:
        """Give each row's group as a number, which is the same in every pool of every task."""

    def golds(self) -> list[Answer]:
        """Give each row's gold answer, the first of those that are acceptable; inputs are not read."""

    def take(self, rows: Sequence[int]) -> list[Example]:
        """Read these rows, in this order."""


Part: TypeAlias = Literal["support", "dev", "query"]  # what examples are for in an episode
POOLS: Mapping[Part, str] = {"support": "train", "dev": "dev", "query": "test"}  # the pool of each part


def parts_of_pools(pools: Collection[str]) -> dict[Part, str]:
    """Say which pool plays which part; a single pool plays all, whatever its name.

    >>> parts_of_pools(["train", "test"])
    {'support': 'train', 'dev': 'train', 'query': 'test'}
    """
    if len(pools) == 1:
        (only,) = pools
        return dict.fromkeys(POOLS, only)
    if not {POOLS["support"], POOLS["query"]} <= {*pools} <= {*POOLS.values()}:
        raise SuiteError(Note.of("pools-unfit", pools=list(pools)))
    return {part: name if name in pools else POOLS["support"] for part, name in POOLS.items()}


FoldRole: TypeAlias = Literal["train", "dev", "test", "excluded"]
ROLES: tuple[FoldRole, ...] = get_args(FoldRole)
Folds: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]  # fold -> role -> task ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Tasks with their pools of examples, folds over the tasks, and stores of the documents that examples name.

    `about` says where it came from (language, licence, counts of what was dropped); it is shown, and is no part
    of the fingerprint.
    """

    id: str
    tasks: Mapping[str, Task]
    pools: Mapping[str, Mapping[str, Pool]]
    folds: Folds = field(default_factory=dict)
    about: Mapping[str, Json] = field(default_factory=dict)
    stores: Mapping[str, Store] = field(default_factory=dict)

    def task(self, name: str) -> Task:
        """Look a task up, or say which names come nearest."""
        if name not in self.tasks:
            raise UnknownNameError("task", name, self.tasks)
        return self.tasks[name]

    def parts(self, task: str) -> dict[Part, str]:
        """Say which pool of a task plays which part."""
        try:
            return parts_of_pools(self.pools[self.task(task).id])
        except SuiteError as error:
            raise SuiteError(Note.of("of-task", task=task, reason=error.note)) from None

    def asked_pool(self, task: str) -> Pool:
        """Give the examples of a task that are asked about."""
        name = self.parts(task)["query"]
        return self.pools[task][name]

    def taught_pool(self, task: str) -> Pool | None:
        """Give the examples of a task that may be trained on; none where its only pool is the test pool."""
        name = self.parts(task)["support"]
        return None if name == POOLS["query"] else self.pools[task][name]

    def tasks_with(self, role: FoldRole, fold: str = "") -> tuple[str, ...]:
        """Name the tasks that have a role in a fold, or in any, each once."""
        if fold and fold not in self.folds:
            raise UnknownNameError("fold", fold, self.folds)
        folds = [self.folds[fold]] if fold else self.folds.values()
        return tuple(dict.fromkeys(name for roles in folds for name in roles.get(role, ())))

    def folds_with(self, task: str, role: FoldRole = "test") -> tuple[str, ...]:
        """Name the folds in which a task has a role: those that it may be asked in, with their own train tasks."""
        self.task(task)
        return tuple(fold for fold, roles in self.folds.items() if task in roles.get(role, ()))

    def __post_init__(self) -> None:
        if wrong := [name for name, task in self.tasks.items() if task.id != name]:
            raise SuiteError(f"keys of tasks must be their ids: {', '.join(wrong)}")
        if set(self.tasks) != set(self.pools):
            odd = ", ".join(sorted(set(self.tasks) ^ set(self.pools))[:5])
            raise SuiteError(f"tasks without pools, or pools without a task: {odd}")
        for fold, roles in self.folds.items():
            for role in roles:
                if role not in ROLES:
                    raise UnknownNameError(f"role in fold {fold!r}", role, ROLES)

    def digest(self, task: str) -> str:
        """Name a task by what it asks and by its pools; not by metrics and tags, which most learners do not see."""
        pools = {name: pool.digest for name, pool in self.pools[self.task(task).id].items()}
        asked = {name: value for name, value in declared(self.tasks[task]).items() if name not in ("metrics", "tags")}
        return fingerprint("task", asked, pools)

    @property
    def fingerprint(self) -> str:
        """Name the suite by its tasks and its folds; the order of tasks does not matter."""
        return self.fingerprint_with(self.folds_json())

    def fingerprint_with(self, folds: Mapping[str, Json]) -> str:
        """Name the suite with its folds as they are written elsewhere: roles once had other names."""
        tasks: dict[str, Json] = {name: [self.digest(name), declared(task)] for name, task in self.tasks.items()}
        return fingerprint("suite", tasks, folds)

    def folds_json(self) -> dict[str, Json]:
        """Give the folds as JSON."""
        return {fold: {role: list(ids) for role, ids in roles.items()} for fold, roles in self.folds.items()}


def declared(value: object) -> dict[str, Json]:
    """Give the fields of a dataclass that differ from their defaults, as JSON.

    Names are made of this, so that a field that is added later, with a default, makes nothing stale.

    >>> declared(Labels(("yes", "no")))
    {'kind': 'labels', 'names': ['yes', 'no']}
    """
    kind = {"kind": value.kind} if isinstance(value, OUTPUT_KINDS) else {}
    kept = [f for f in fields(value) if getattr(value, f.name) != _default(f)]  # type: ignore[arg-type]
    return kind | {f.name: _plain(getattr(value, f.name)) for f in kept}


def _default(of: Field[Any]) -> object:
    return of.default_factory() if of.default_factory is not MISSING else of.default


def _plain(value: Any) -> Json:
    if is_dataclass(value):
        return declared(value)
    if isinstance(value, Mapping):
        return [[name, _plain(part)] for name, part in value.items()]
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else value


def output_to_json(output: Output) -> dict[str, Json]:
    """Write an output's declaration; `output_from_json` reads it back.

    >>> output_to_json(Labels(("yes", "no")))
    {'kind': 'labels', 'names': ['yes', 'no'], 'many': False}
    """
    if isinstance(output, Fields):
        return {"kind": output.kind, "parts": [[name, output_to_json(part)] for name, part in output.parts.items()]}
    values = {f.name: getattr(output, f.name) for f in fields(output)}
    return {"kind": output.kind} | {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


def output_from_json(declared: Mapping[str, Any]) -> Output:
    """Read what `output_to_json` wrote."""
    values = dict(declared)
    kind = values.pop("kind")
    if kind not in OUTPUTS:
        raise UnknownNameError("output kind", str(kind), OUTPUTS)
    if kind == Fields.kind:
        return Fields({name: output_from_json(part) for name, part in values["parts"]})  # type: ignore[misc]
    kept: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return OUTPUTS[kind](**kept)
