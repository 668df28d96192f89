"""Baselines and simple learners: what can be reached without a model."""

# ruff: noqa: ARG002 - learners are all given the same, and a baseline needs little of it

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

import numpy as np

from ..answers import as_given
from ..core import Answer, Example, Item, Labels, Number, Ranking, Task, store_of
from ..errors import LearnerError
from ..ids import Json, raw_bits, shuffled
from ..messages import Note
from ..options import check_choices, settle_number
from ..priors import Prior
from ..texts import tokens
from . import Learner, Predictor, Tools
from .fitting import class_agreement, fit_counted, rank_agreement, searched

Examples: TypeAlias = Sequence[Example]
Answers: TypeAlias = "list[Answer | None]"
SparseRows: TypeAlias = Any  # of scipy, sparse: a row of weighted words for each item
Rule: TypeAlias = "Callable[[SparseRows], Answers]"
PriorKind: TypeAlias = Literal["uniform", "pool"]
SEARCH: Final = "search"
COSTS = (1.0, 10.0, 100.0)  # values of C that are searched
ANY_GOLD = frozenset(
    {"text", "labels", "terms", "number", "words"}
)  # outputs whose gold answers fit any item of the task


@dataclass(frozen=True, slots=True, kw_only=True)
class Majority(Learner):
    """The most frequent answer of the pool that support is drawn from, or the mean of its numbers; ties are counted.

    Of tied answers one is chosen by a hash of the task's name, so that over many tasks no label is favoured.
    """

    version: ClassVar[int] = 2
    outputs: ClassVar[frozenset[str]] = ANY_GOLD
    unaided: ClassVar[frozenset[str]] = ANY_GOLD

    def fit(self, task: Task, support: Examples, dev: Examples, *, seed: int, tools: Tools) -> Predictor:
        """Take the prior's most frequent answer."""
        prior = tools.prior()
        answer = _mean(prior) if isinstance(task.output, Number) else _most_frequent(prior, task, tools)
        return _Each(lambda _: answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Random(Learner):
    """A random label, all alike (uniform) or as frequent as in the pool; random grades; or a random support answer.

    With `prior: pool`, answers of any kind are drawn as frequently as they occur in the pool of the support.
    """

    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = ANY_GOLD | {"ranking"}
    unaided: ClassVar[frozenset[str]] = frozenset({"labels", "ranking"})
    prior: PriorKind = "uniform"

    def __post_init__(self) -> None:
        check_choices(self, prior=get_args(PriorKind))

    def fit(self, task: Task, support: Examples, dev: Examples, *, seed: int, tools: Tools) -> Predictor:
        """Keep what is to be chosen from."""
        if isinstance(task.output, Ranking):
            return _Each(lambda item: _random_grades(item, "random", seed, task.id, item.id))
        if self.prior == "pool":
            answers, upto = list(prior := tools.prior()), list(accumulate(prior.values()))
            return _Each(lambda item: answers[_weighted(upto, "random", seed, task.id, item.id)])
        choices = golds_of(task, support)
        if isinstance(task.output, Labels) and not (task.output.many and choices):
            choices = [(name,) if task.output.many else name for name in task.output.names]
        return _Each(lambda item: _choice(choices, "random", seed, task.id, item.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyInput(Learner):
    """The input itself."""

    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = frozenset({"text", "words"})
    unaided: ClassVar[frozenset[str]] = outputs

    def fit(self, task: Task, support: Examples, dev: Examples, *, seed: int, tools: Tools) -> Predictor:
        """Learn nothing."""
        return _Each(lambda item: text if (text := text_of(task, item)).strip() else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyDemonstration(Learner):
    """The answer of a random support example, or of one that comes with the task where there is no support."""

    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset[str]] = ANY_GOLD
    unaided: ClassVar[frozenset[str]] = frozenset()
    takes_examples: ClassVar[bool] = True

    def fit(self, task: Task, support: Examples, dev: Examples, *, seed: int, tools: Tools) -> Predictor:
        """Keep the support's answers."""
        choices = golds_of(task, support) or [shown.answer for shown in task.examples if shown.right]
        if not choices:
            refuse_none(task, support)
        return _Each(lambda item: _choice(choices, "copy-demonstration", seed, task.id, item.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest(Learner):
    """The answer of the support example nearest by TF-IDF cosine; ties, and items without a known word: the first."""

    version: ClassVar[int] = 2
    outputs: ClassVar[frozenset[str]] = ANY_GOLD
    unaided: ClassVar[frozenset[str]] = frozenset()

    def fit(self, task: Task, support: Examples, dev: Examples, *, seed: int, tools: Tools) -> Predictor:
        """Weigh the support's words."""
        refuse_none(task, support)
        words, golds = WordWeights.of(task, support, tools), golds_of(task, support)
        known = words.rows([example.item for example in support]).T

        def answers(rows: SparseRows) -> Answers:
            return [golds[place] for place in first_best((rows @ known).toarray(), 12)]

        return _Rows(words, answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class TfidfLinear(Learner):
    """Logistic regression over TF-IDF, one against the rest where labels are many; ridge regression for numbers.

    Where every support example has a label, so has every answer: if none is likelier than not, the likeliest.
    Candidates are graded by the cosine of their TF-IDF and the query's; they are all the documents that count.
    """

    version: ClassVar[int] = 2
    outputs: ClassVar[frozenset[str]] = frozenset({"labels", "number", "ranking"})
    unaided: ClassVar[frozenset[str]] = frozenset({"ranking"})
    C: float | Literal["search"] = 1.0  # the larger, the closer to the support; ridge's alpha is 1/C

    def __post_init__(self) -> None:
        if self.C != SEARCH:
            settle_number(self, "C", least=1e-6)

    def fit(self, task: Task, support: Examples, dev: Examples, *, seed: int, tools: Tools) -> Predictor:
        """Fit the weights of the support's words; with a search, C is chosen on three folds of the support."""
        if isinstance(task.output, Ranking):
            return _Ranked(task, tools, _cosines)
        refuse_none(task, support)
        words = WordWeights.of(task, support, tools)
        fitting = Fitting(words.rows([example.item for example in support]), self.C, tools)
        match task.output:
            case Labels(names=names, many=True):
                return _Rows(words, _many_labels(fitting, names, golds_of(task, support)))
            case Labels(names=names):
                return _Rows(words, _one_label(fitting, names, golds_of(task, support)))
        return _Rows(words, _number(fitting, golds_of(task, support)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25(Learner):
    """The item's candidates graded by BM25 as Lucene has it; they are all the documents that count.

    Candidates that are ids of documents are graded by the texts of all their fields, and of their members.
    """

    version: ClassVar[int] = 2
    outputs: ClassVar[frozenset[str]] = frozenset({"ranking"})
    unaided: ClassVar[frozenset[str]] = outputs
    k1: float = 1.2  # how slowly a word that comes again stops adding to the grade
    b: float = 0.75  # how much long candidates are held back

    def __post_init__(self) -> None:
        settle_number(self, "k1", least=0)
        settle_number(self, "b", least=0, most=1)

    def fit(self, task: Task, support: Examples, dev: Examples, *, seed: int, tools: Tools) -> Predictor:
        """Learn nothing."""
        return _Ranked(task, tools, self.grades)

    def grades(self, query: str, documents: Sequence[str]) -> list[float]:
        """Grade documents for a query; a word that the query has twice counts twice.

        >>> [round(grade, 4) for grade in Bm25().grades("red owl", ["a red owl", "a red fox", "an elm"])]
        [0.6274, 0.2032, 0.0]
        """
        counts = [Counter(_words(document)) for document in documents]
        found_in = Counter(word for count in counts for word in count)
        idf = {word: math.log(1 + (len(counts) - n + 0.5) / (n + 0.5)) for word, n in found_in.items()}
        mean = sum(count.total() for count in counts) / max(1, len(counts))
        wanted, grades = _words(query), []
        for count in counts:
            slow = self.k1 * (1 - self.b + self.b * count.total() / mean) if mean else 0.0
            parts = (idf[word] * count[word] / (count[word] + slow) for word in wanted if word in count)
            grades.append(math.fsum(parts))
        return grades


@dataclass(frozen=True, slots=True)
class _Each:
    """A predictor that answers items one by one."""

    answer: Callable[[Item], Answer | None]

    def predict(self, items: Sequence[Item]) -> Answers:
        return [self.answer(item) for item in items]


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A predictor that grades candidates by words: the query's and theirs."""

    task: Task
    tools: Tools
    grades: Callable[[str, Sequence[str]], list[float]]

    def predict(self, items: Sequence[Item]) -> Answers:
        return [self._answer(item) for item in items]

    def _answer(self, item: Item) -> Answer | None:
        candidates = list(dict.fromkeys(item.candidates))
        grades = self.grades(text_of(self.task, item), _candidate_texts(self.task, candidates, self.tools))
        if not any(grades):
            self.tools.count("no-common-word")
        return tuple(zip(candidates, grades, strict=True)) or None


@dataclass(frozen=True, slots=True)
class _Rows:
    """A predictor that answers from the items' rows of TF-IDF."""

    words: WordWeights
    answers: Rule

    def predict(self, items: Sequence[Item]) -> Answers:
        if not items:
            return []
        rows = self.words.rows(items)
        if unknown := int((np.diff(rows.indptr) == 0).sum()):
            self.words.tools.count("no-common-word", unknown)
        return self.answers(rows)


@dataclass(frozen=True, slots=True)
class WordWeights:
    """TF-IDF over the words of a support set."""

    task: Task
    vectorizer: Any
    tools: Tools

    @classmethod
    def of(cls, task: Task, support: Examples, tools: Tools) -> WordWeights:
        """Learn the words of a support set."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = [text_of(task, example.item) for example in support]
        known = sorted({word for text in texts for word in _words(text)})  # none: "" stands in, which is no word
        return cls(task, TfidfVectorizer(analyzer=_words, vocabulary=known or [""]).fit(texts), tools)

    def rows(self, items: Sequence[Item]) -> SparseRows:
        """Weigh the known words of items."""
        return self.vectorizer.transform([text_of(self.task, item) for item in items]).tocsr()


@dataclass(frozen=True, slots=True)
class Fitting:
    """Fits linear models to the rows of a support set."""

    rows: SparseRows
    C: float | Literal["search"]
    tools: Tools

    def fit(self, model: Any, targets: Sequence[float]) -> Any:
        """Fit a model, and count where that did not converge."""
        if failed := fit_counted(model, self.rows, targets):
            self.tools.count("not-converged", failed)
        return model

    def logistic(self, targets: Sequence[int]) -> Callable[[SparseRows], Any]:
        """Give a function from rows to the probability of each target that occurs; shape (rows, targets)."""
        from sklearn.linear_model import LogisticRegression

        if len(set(targets)) == 1:
            return lambda rows: np.ones((rows.shape[0], 1))
        model = LogisticRegression(C=1.0 if self.C == SEARCH else self.C, tol=1e-8, max_iter=10_000)
        if self.C == SEARCH:
            model = searched(model, {"C": COSTS}, self.rows, targets, class_agreement)
        probabilities: Callable[[SparseRows], Any] = self.fit(model, targets).predict_proba
        return probabilities


def _one_label(fitting: Fitting, names: Sequence[str], golds: Sequence[Any]) -> Rule:
    targets = [names.index(gold) for gold in golds]
    known, probabilities = sorted(set(targets)), fitting.logistic(targets)
    return lambda rows: [names[known[place]] for place in first_best(probabilities(rows), 5)]


def _many_labels(fitting: Fitting, names: Sequence[str], golds: Sequence[Any]) -> Rule:
    known = [name for name in names if any(name in gold for gold in golds)]
    chances = one_against_rest(fitting, known, golds)
    return lambda rows: [*several(known, chances(rows), always=all(golds))]


def one_against_rest(fitting: Fitting, known: Sequence[str], golds: Sequence[Any]) -> Callable[[SparseRows], Any]:
    """Give a function from rows to how likely each label is: (rows, known)."""
    models = [fitting.logistic([int(name in gold) for gold in golds]) for name in known]
    return lambda rows: np.column_stack([np.empty((rows.shape[0], 0)), *(model(rows)[:, -1] for model in models)])


def several(known: Sequence[str], likely: Any, *, always: bool) -> list[tuple[str, ...]]:
    """Choose the labels that are likelier than not; where there is always one, at least the likeliest: (rows, known).

    >>> several(["a", "b"], np.array([[0.9, 0.6], [0.1, 0.2]]), always=True)
    [('a', 'b'), ('b',)]
    """
    rounded = np.asarray(likely).round(5)
    chosen = rounded > 0.5
    if always and known:
        chosen[np.arange(len(chosen)), rounded.argmax(1)] = True
    return [tuple(name for name, yes in zip(known, row, strict=True) if yes) for row in chosen.tolist()]


def _number(fitting: Fitting, golds: Sequence[Any]) -> Rule:
    from sklearn.linear_model import Ridge

    scale = max(abs(gold) for gold in golds) or 1.0  # so that no square is too large for a float
    alpha = 1.0 if fitting.C == SEARCH else 1 / fitting.C
    model = Ridge(alpha=alpha, solver="sparse_cg", tol=1e-12, max_iter=10_000)
    scaled = [gold / scale for gold in golds]
    if fitting.C == SEARCH:
        model = searched(model, {"alpha": [1 / cost for cost in COSTS]}, fitting.rows, scaled, rank_agreement)
    fitted = fitting.fit(model, scaled)

    def answers(rows: SparseRows) -> Answers:
        found = [float(f"{number * scale:.9g}") for number in fitted.predict(rows).tolist()]
        return [number if math.isfinite(number) else None for number in found]

    return answers


def _mean(prior: Prior) -> float:
    """Give the mean of numbers, scaled by a power of two so that no sum is too large for a float."""
    counts: Mapping[Any, int] = prior
    _, power = math.frexp(max(map(abs, counts)))
    total = math.fsum(math.ldexp(number, -power) * count for number, count in counts.items())
    return math.ldexp(total / sum(counts.values()), power)


def _most_frequent(prior: Prior, task: Task, tools: Tools) -> Answer | None:
    most = max(prior.values())
    tied = [answer for answer, count in prior.items() if count == most]
    if len(tied) > 1:
        tools.count("majority-tied")
    return _choice(tied, "majority", task.id)


def _weighted(upto: Sequence[int], *key: Json) -> int:
    """Choose a place with the chances that running totals of counts give."""
    return bisect_right(upto, (next(raw_bits(*key)) * upto[-1]) >> 64)


def golds_of(task: Task, support: Examples) -> list[Any]:
    """Give the gold answers of examples, the first of those that are acceptable."""
    return [as_given(task.output, example.gold[0]) for example in support]


def text_of(task: Task, item: Item) -> str:
    """Give an item as one text."""
    return task.separator.join(item.fields.values())


def document_of(item: Item) -> str:
    """Name the document that an item is, by which vectors made elsewhere are found; else the item."""
    return item.document or item.id


def _candidate_texts(task: Task, candidates: Sequence[str], tools: Tools) -> Sequence[str]:
    """Give the texts of candidates, which a task with a store names by id, those of their members included."""
    store = store_of(task.output)
    if not store:
        return candidates
    found = tools.stored(store, candidates)
    named = list(dict.fromkeys(id_ for one in found for id_ in one.members))
    members = dict(zip(named, tools.stored(store, named), strict=True))
    whole = ([one, *(members[id_] for id_ in one.members)] for one in found)
    return [task.separator.join(text for one in parts for text in one.fields.values()) for parts in whole]


def _cosines(query: str, documents: Sequence[str]) -> list[float]:
    """Grade documents by the cosine of TF-IDF, whose words and weights are those of the documents.

    >>> [round(grade, 4) for grade in _cosines("red owl", ["a red owl", "a red fox", "an elm"])]
    [0.8555, 0.3135, 0.0]
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not documents:
        return []
    known = sorted({word for text in documents for word in _words(text)})
    vectorizer = TfidfVectorizer(analyzer=_words, vocabulary=known or [""])
    rows = vectorizer.fit_transform(documents)
    found: list[float] = (rows @ vectorizer.transform([query]).T).toarray()[:, 0].round(12).tolist()
    return found


def _words(text: str) -> list[str]:
    return tokens(text.lower())


def _choice(choices: Sequence[Any], *key: Json) -> Answer | None:
    chosen: Answer | None = choices[next(shuffled(len(choices), *key))] if choices else None
    return chosen


def _random_grades(item: Item, *key: Json) -> Answer | None:
    candidates = dict.fromkeys(item.candidates)
    return tuple((c, (bits >> 11) * 2.0**-53) for c, bits in zip(candidates, raw_bits(*key), strict=False)) or None


def first_best(scores: Any, decimals: int) -> list[int]:
    """Give the place of each row's best score, the first of those that rounding alone tells apart."""
    best: list[int] = np.asarray(scores).round(decimals).argmax(1).tolist()
    return best


def refuse_none(task: Task, support: Examples) -> None:
    """Refuse an empty support set."""
    if not support:
        raise LearnerError(Note.of("support-missing", task=task.id))
