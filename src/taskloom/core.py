"""The nouns: few, frozen, typed, and made of the standard library alone.

An `Item` is all that a predictor may see; it has no gold answer, so none can leak. A `Task` is a declaration,
a `Pool` holds its examples, and a `Suite` is tasks, pools, folds (splits over tasks) and stores of documents.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, get_args

from .errors import SuiteError, UnknownNameError
from .ids import Json, fingerprint
from .messages import Note

if TYPE_CHECKING:
    from numpy import ndarray

LONGEST_SHOWN = 200  # characters of an answer that is at fault
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
        """Give each row's label as its place in the task's label names, -1 where it has none or many."""

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


def answer_from_json(output: Output, value: Any) -> Answer:
    """Give an answer read from JSON the type that its output says.

    >>> answer_from_json(Terms(), ["graph", "tree"])
    ('graph', 'tree')
    """
    match output:
        case Fields(parts=parts):
            return {n: None if value[n] is None else answer_from_json(part, value[n]) for n, part in parts.items()}
        case Ranking():
            return tuple((candidate, float(grade)) for candidate, grade in value)
        case Number():
            return float(value)
        case Words() if not isinstance(value, str):
            return tuple(tuple(place) for place in value)
    return tuple(value) if isinstance(value, list) else value


def as_given(output: Output, gold: Answer) -> Answer:
    """Give a gold answer as one would answer: of words, the first of each place, as a text.

    >>> as_given(Words(), (("big", "large"), ("new york",)))
    'big new york'
    """
    if not isinstance(output, Words) or not isinstance(gold, tuple):
        return gold
    return output.separator.join(str(place[0]) for place in gold if isinstance(place, tuple))


def faults_of(output: Output, answer: object, candidates: Sequence[str] = ()) -> Iterator[Note]:
    """Say what is wrong with a gold answer; nothing is said of a good one.

    >>> [(fault.code, str(fault)) for fault in faults_of(Labels(("yes", "no")), "maybe")]
    [('label-unknown', "label not declared: 'maybe'")]
    """
    match output:
        case Text():
            yield from _text_faults(answer)
        case Labels(names=names, many=many):
            chosen = answer if many else (answer,)
            if not isinstance(chosen, tuple):
                yield Note.of("labels-expected", given=repr(answer))
            else:
                yield from (Note.of("label-unknown", given=repr(label)) for label in chosen if label not in names)
        case Terms():
            yield from _terms_faults(answer)
        case Number():
            if not is_finite(answer):
                yield Note.of("not-finite", given=repr(answer))
        case Ranking():
            yield from _ranking_faults(answer, candidates)
        case Words():
            yield from _text_faults(answer) if isinstance(answer, str) else _words_faults(answer)
        case Fields(parts=parts):
            if not isinstance(answer, Mapping) or set(answer) != set(parts):
                yield Note.of("fields-expected", fields=list(parts), given=repr(answer))
            else:
                for name, part in parts.items():
                    yield from (fault.of_field(name) for fault in faults_of(part, answer[name]))


def ranked(graded: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Order graded candidates as trec_eval does: the higher grade first, of equals the later name.

    Grades are compared in single precision, as there: what differs in the eighth digit alone is equal.

    >>> ranked([("a", 1.0), ("b", 1.0), ("c", 2.0)])
    [('c', 2.0), ('b', 1.0), ('a', 1.0)]
    >>> ranked([("a", 1.00000001), ("b", 1.0)])
    [('b', 1.0), ('a', 1.00000001)]
    """
    pairs = list(graded)
    single = array("f", (grade for _, grade in pairs))
    order = sorted(range(len(pairs)), key=lambda at: (single[at], pairs[at][0]), reverse=True)
    return [pairs[at] for at in order]


def cut(output: Output, answer: Any) -> Any:
    """Keep the best of a ranking, as many as its output says; what is no ranking is left for scoring to refuse.

    >>> cut(Ranking(depth=2), (("a", 1.0), ("b", 1.0), ("c", 2.0)))
    (('c', 2.0), ('b', 1.0))
    """
    if not isinstance(output, Ranking) or not output.depth or not isinstance(answer, tuple):
        return answer
    graded = [pair[0] for pair in answer if isinstance(pair, tuple) and pair]
    return answer if any(faults_of(output, answer, graded)) else tuple(ranked(answer)[: output.depth])


def is_finite(value: object) -> bool:
    """Tell a number that a float can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _text_faults(answer: object) -> Iterator[Note]:
    if not isinstance(answer, str):
        yield Note.of("text-expected", given=repr(answer))
    elif not answer.strip():
        yield Note.of("empty-output")


def _terms_faults(answer: object) -> Iterator[Note]:
    if not isinstance(answer, tuple) or not all(isinstance(term, str) for term in answer):
        yield Note.of("terms-expected", given=repr(answer))
    elif not answer or not all(term.strip() for term in answer):
        yield Note.of("empty-output")


def _words_faults(answer: object) -> Iterator[Note]:
    """Look at the acceptable words of each place."""
    places = answer if isinstance(answer, tuple) else (answer,)
    if not all(isinstance(place, tuple) and all(isinstance(word, str) for word in place) for place in places):
        yield Note.of("words-expected", given=repr(answer)[:LONGEST_SHOWN])
    elif not places or not all(place and all(word.strip() for word in place) for place in places):
        yield Note.of("empty-output")


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _ranking_faults(answer: object, candidates: Sequence[str]) -> Iterator[Note]:
    if not isinstance(answer, tuple) or not all(_is_pair(pair) for pair in answer):
        yield Note.of("pairs-expected", given=repr(answer))
        return
    yield from (Note.of("grade-not-finite", given=repr(grade)) for _, grade in answer if not is_finite(grade))
    graded = [candidate for candidate, _ in answer]
    if not graded:
        yield Note.of("empty-output")
    if len(set(graded)) < len(graded):
        yield Note.of("candidate-twice", given=repr(Counter(graded).most_common(1)[0][0]))
    known = set(candidates)
    yield from (Note.of("candidate-unknown", given=repr(c)) for c in graded if c not in known)
