"""Answers to units, and units to numbers: metrics are values that can be typed, quoted and resampled.

A unit has all that its answer adds to a score, in a fixed number of figures, so that any metric can be resampled,
paired and regrouped without asking a model again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from .. import __version__
from ..answers import faults_of
from ..core import Answer, Fields, Labels, Output, Words
from ..errors import ScoreError, UnknownNameError
from ..ids import fingerprint
from ..limits import whole_number
from ..messages import Note

if TYPE_CHECKING:
    from .reduce import Array

T = TypeVar("T")


class Metric(Protocol):
    """A way to score; a frozen dataclass, whose fields and version make its signature.

    A metric inherits from this one, and so has all that it does not declare itself.
    """

    __slots__ = ()
    name: ClassVar[str]
    version: ClassVar[int]
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)  # how low and how high it can be
    higher_is_better: ClassVar[bool] = True
    points: ClassVar[bool] = True  # whether it is shown as points of a hundred
    says_right: ClassVar[bool] = False  # whether an answer with a score of 1 is right, and any other wrong

    @property
    def reads_any_text(self) -> bool:
        """Tell a metric that scores a text as it is, whatever its output's form, as released scripts do."""
        return False

    def prepared(self, gold: Sequence[tuple[Answer, ...]]) -> Metric:  # noqa: ARG002 (of most)
        """Give the metric for answers to these items; one that reads answers by all gold answers of a set takes them.

        The signature is that of the metric itself: which items are scored together is known otherwise.
        """
        return self

    def unit(self, gold: tuple[Answer, ...], answer: Answer | None) -> tuple[float, ...]:
        """Score one answer; None is one that could not be parsed, and gets the worst unit."""

    def units(self, gold: Sequence[tuple[Answer, ...]], answers: Sequence[Answer | None]) -> Array | None:  # noqa: ARG002
        """Score many answers at once, and refuse any fault; None of a metric that scores them one by one."""
        return None

    def reduce(self, units: Array, weights: Array | None = None) -> Array:
        """Give one number for each resample: (n, d) and (r, n) give (r,)."""

    def unseen(self, units: Array, level: float) -> tuple[float, float]:  # noqa: ARG002, for most metrics have none
        """Give the squares of how far below and above the truth may lie for what no resample of these units shows."""
        return 0.0, 0.0


class UnusableError(ScoreError):
    """An answer that a metric can't use, as its gold answer tells; it is counted by its code."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric of the table: where it is, what it scores, and what it was checked against."""

    of: str  # "module:Class"
    takes: tuple[str, ...]  # kinds of outputs
    about: str
    checked: str
    variants: tuple[str, ...] = ("corrected",)
    options: Mapping[str, Any] | None = None  # set by the name


BOTH = ("corrected", "published")
TREC = "pytrec_eval (trec_eval)"
MANY = "many labels"  # answered with a tuple, where a task of "labels" is with a text
TEXT, LABELS = ("text", "labels"), ("labels", MANY)
EQUAL = ("text", "labels", MANY, "number")  # what is the same or not, as it is
METRICS: Mapping[str, MetricRow] = {
    "exact-match": MetricRow("match:ExactMatch", TEXT, "text equal to an acceptable one", "worked by hand", BOTH),
    "accuracy": MetricRow("match:Accuracy", EQUAL, "labels that are right", "scikit-learn", BOTH),
    "macro-f1": MetricRow("match:F1", LABELS, "F1, mean over labels", "scikit-learn", BOTH, {"average": "macro"}),
    "micro-f1": MetricRow("match:F1", LABELS, "F1, labels pooled", "scikit-learn", BOTH, {"average": "micro"}),
    "f1": MetricRow(
        "match:F1", LABELS, "F1 of one label: f1:positive=LABEL", "scikit-learn", BOTH, {"average": "binary"}
    ),
    "rouge-l": MetricRow("text:RougeL", TEXT, "longest common subsequence", "rouge_score", (*BOTH, "cross-lingual")),
    "bleu-4": MetricRow("text:Bleu", TEXT, "n-grams in common, corpus", "sacrebleu"),
    "list-f1": MetricRow("text:ListF1", ("terms", MANY), "terms in common", "scikit-learn"),
    "character-f1": MetricRow("text:CharacterF1", ("terms",), "characters of terms in common", "worked by hand"),
    "bpref": MetricRow("rank:Bpref", ("terms", "ranking"), "right ones above wrong ones", f"by hand, {TREC}", BOTH),
    "ndcg": MetricRow("rank:Ndcg", ("ranking",), "graded ranking: ndcg, ndcg@10, ndcg%20", TREC, BOTH),
    "map": MetricRow("rank:AveragePrecision", ("ranking",), "mean average precision", TREC, BOTH),
    "mrr": MetricRow("rank:ReciprocalRank", ("ranking",), "rank of the first relevant", TREC, BOTH),
    "p": MetricRow("rank:Precision", ("ranking",), "relevant among the first k: p@5, p@5:level=3", TREC, BOTH),
    "r": MetricRow("rank:Recall", ("ranking",), "relevant found in the first k: r@5", TREC, BOTH),
    "r-prec": MetricRow("rank:RPrecision", ("ranking",), "precision at the number of relevant", TREC, BOTH),
    "tau-b": MetricRow("number:Kendall", ("number",), "numbers in the same order", "scipy"),
    "pearson": MetricRow("number:Pearson", ("number",), "linear correlation", "scipy"),
    "spearman": MetricRow("number:Spearman", ("number",), "correlation of ranks", "scipy"),
    "mse": MetricRow("number:Mse", ("number",), "mean squared error", "scikit-learn"),
    "token-accuracy": MetricRow(
        "sequence:TokenAccuracy", (*TEXT, "words"), "places with an acceptable word", "all splits of short texts", BOTH
    ),
    "mass": MetricRow("sequence:Mass", ("ranking",), "probability of answers to question k: mass@1", "worked by hand"),
    "best-mass": MetricRow(
        "sequence:Mass", ("ranking",), "the same, of the likeliest answer", "worked by hand", options={"best": True}
    ),
    "b-cubed": MetricRow("match:BCubed", ("terms", MANY), "clusters in common, F1", "worked by hand, and by pairs"),
    **{
        f"b-cubed-{part}": MetricRow(
            "match:BCubed", ("terms", MANY), f"the same, {part}", "worked by hand", options={"part": part}
        )
        for part in ("precision", "recall")
    },
    "mean": MetricRow("mean:Mean", (), "mean of the task's own metrics", "worked by hand"),
}
PUBLISHED: Mapping[str, str] = {  # what released scripts do otherwise
    "exact-match": "ASCII punctuation alone is removed; an empty text can be right",
    **dict.fromkeys(
        ("accuracy", "macro-f1", "micro-f1", "f1"), "any text is read as a label: the nearest or first met"
    ),
    "rouge-l": "knows a-z and 0-9 alone",
    "bpref": "of terms, the mean over hits alone; of rankings, 0 where nothing is relevant",
    "token-accuracy": "splits at single spaces: words with spaces are never right",
    **dict.fromkeys(("map", "mrr", "p", "r", "r-prec"), "0, not left out, where nothing is relevant"),
    "ndcg": "0, not left out, where nothing is relevant; ndcg%k: the first two ranks are not discounted",
}
TYPED = re.compile(r"(?P<name>[a-z0-9-]+)(@(?P<k>\d+)|%(?P<share>\d+))?(:(?P<options>.+))?")
TYPED_OPTIONS = {"variant", "positive", "level"}  # depth, labels and average are said otherwise


def metric(typed: str, output: Output | None = None) -> Metric:
    """Make the metric that a name stands for: `ndcg@10`, `rouge-l:published`, `f1:positive=yes`.

    Metrics over labels take them from the output that they score; one that can't score the output is refused.

    >>> metric("rouge-l:published")
    RougeL(variant='published')
    """
    found = TYPED.fullmatch(typed)
    if found is None or found["name"] not in METRICS:
        raise UnknownNameError("metric", found["name"] if found else typed, METRICS)
    entry = METRICS[found["name"]]
    if not entry.takes:
        raise ScoreError(Note.of("metric-of-task", metric=typed))
    _refuse_misfit(typed, entry, output)
    given = _options(typed, found["options"] or "", entry)
    options = dict(entry.options or {}) | given | _depth(typed, found)
    if "level" in given:
        options["level"] = _level(typed, given["level"])
    module, _, name = entry.of.partition(":")
    kind = getattr(import_module(f".{module}", __package__), name)
    takes = {f.name for f in fields(kind)}
    if "labels" in takes and isinstance(output, Labels):
        options["labels"] = output.names
    if "separator" in takes and isinstance(output, Words):
        options["separator"] = output.separator.strip()
    if wrong := sorted((options.keys() - takes) | (given.keys() - TYPED_OPTIONS)):
        raise ScoreError(Note.of("option-unknown", name=found["name"], options=wrong, metric=typed))
    _refuse_lacking(typed, kind, options)
    made: Metric = kind(**options)
    return made


def _depth(typed: str, found: re.Match[str]) -> dict[str, int]:
    """Read how deep rankings are looked at, in ranks or as percent of the candidates."""
    read = {name: whole_number(found[name]) for name in ("k", "share") if found[name]}
    given = {name: number for name, number in read.items() if number}
    if len(given) < len(read):
        raise ScoreError(Note.of("depth-wrong", metric=typed))
    if given.get("share", 1) > 100:
        raise ScoreError(Note.of("share-too-large", metric=typed))
    return given


def _level(typed: str, text: str) -> int:
    """Read the grade from which on candidates are relevant."""
    if not (found := whole_number(text)):
        raise ScoreError(Note.of("level-wrong", given=text[:100], metric=typed))
    return found


def _refuse_misfit(typed: str, entry: MetricRow, output: Output | None) -> None:
    """Refuse a metric that can't score an output, and name those that can."""
    if isinstance(output, Fields):
        raise ScoreError(Note.of("metric-without-field", part=next(iter(output.parts), "title"), metric=typed))
    kind = MANY if isinstance(output, Labels) and output.many else output.kind if output else None
    if kind and kind not in entry.takes:
        fits = [name for name, other in METRICS.items() if kind in other.takes]
        raise ScoreError(Note.of("metric-unfit", kind=kind, fits=fits, metric=typed))


def _options(typed: str, text: str, entry: MetricRow) -> dict[str, str]:
    pairs = (option.partition("=") for option in text.split(",") if option)
    given = {name if equals else "variant": value if equals else name for name, equals, value in pairs}
    if given.get("variant", "corrected") not in entry.variants:
        known = list(entry.variants)
        raise ScoreError(Note.of("variant-unknown", variant=given["variant"], known=known, metric=typed))
    return given if len(entry.variants) > 1 else {name: value for name, value in given.items() if name != "variant"}


def _refuse_lacking(typed: str, kind: type[Any], options: Mapping[str, Any]) -> None:
    """Refuse a metric without what it can't do without: a depth, or labels."""
    lacking = {f.name for f in fields(kind) if f.default is MISSING and f.name not in options}
    if "k" in lacking:
        raise ScoreError(Note.of("depth-missing", metric=typed))
    if "labels" in lacking:
        raise ScoreError(Note.of("labels-missing", metric=typed))


def signature(of: Metric) -> str:
    """Give what one can quote beside a score: the metric, all its settings, and the version.

    >>> signature(metric("ndcg@10"))
    'ndcg|k:10|variant:corrected|v:2|taskloom:0.1.0'
    """
    settings = {f.name: getattr(of, f.name) for f in fields(of) if f.repr}  # type: ignore[arg-type]
    if labels := settings.pop("labels", ()):
        settings["labels"] = f"{len(labels)}-{fingerprint(list(labels))[:8]}"
    shown = [f"{name}:{value}" for name, value in settings.items() if value not in ("", 0, ())]
    return "|".join([of.name, *shown, f"v:{of.version}", f"taskloom:{__version__}"])


@dataclass(frozen=True, slots=True)
class Scored:
    """The units of a list of answers, and how many could not be used, by the key of a note."""

    metric: Metric
    units: Array
    unusable: Mapping[str, int]

    @property
    def value(self) -> float:
        """Give the score itself."""
        return float(self.metric.reduce(self.units)[0])


def score(
    of: Metric, gold: Sequence[tuple[Answer, ...]], answers: Sequence[Answer | None], output: Output | None = None
) -> Scored:
    """Score answers against the gold, one by one.

    An answer that is not of its output's form (a label that is none, NaN, a candidate twice), or not of its gold
    answer's (clusters for fewer elements), counts as one that could not be parsed: it gets the worst unit, or is left
    out where numbers have no worst, and is counted by its reason. Released scripts read any text: so do `published`
    scores, and it is counted yet.
    """
    import numpy as np

    if len(gold) != len(answers):
        raise ScoreError(Note.of("lengths-differ", gold=len(gold), answers=len(answers)))
    if not gold:
        raise ScoreError(Note.of("nothing-to-score"))
    if missing := [at for at, right in enumerate(gold) if not right]:
        raise ScoreError(Note.of("items-without-gold", count=len(missing), of=len(gold), items=missing[:10]))
    ready = of.prepared(gold)
    units, codes = _at_once(ready, gold, answers), [unusable_code(output, a) if not a else "" for a in answers]
    if units is None:
        code_of: Callable[..., str] = partial(unusable_code, output)
        unit_of: Callable[..., tuple[float, ...]] = ready.unit
        if isinstance(output, Labels) and not output.many:
            code_of, unit_of = _remembered(code_of), _remembered(unit_of)
        codes = [code_of(answer) for answer in answers]
        read = [
            answer if not code or (ready.reads_any_text and isinstance(answer, str)) else None
            for answer, code in zip(answers, codes, strict=True)
        ]
        units = ready.units(gold, read)
        units = np.array([*_one_by_one(unit_of, gold, read, codes)], dtype=np.float64) if units is None else units
    unusable = Counter(codes)
    del unusable[""]
    return Scored(of, units, dict(unusable))


def _at_once(of: Metric, gold: Sequence[tuple[Answer, ...]], answers: Sequence[Answer | None]) -> Array | None:
    """Score answers that have no fault; where one has, they must be looked at one by one."""
    try:
        return of.units(gold, answers)
    except ScoreError:
        return None


def _remembered(of: Callable[..., T]) -> Callable[..., T]:
    """Work out once what is asked again: labels are few, and answers many."""
    known = cache(of)

    def asked(*given: Any) -> T:
        try:
            return known(*given)
        except TypeError:  # a list, say, which is no label
            return of(*given)

    return asked


def _one_by_one(
    unit_of: Callable[..., tuple[float, ...]],
    gold: Sequence[tuple[Answer, ...]],
    answers: Sequence[Answer | None],
    codes: list[str],
) -> Iterator[tuple[float, ...]]:
    """Score answers in turn, and note the code of each that is not of its gold answer's form."""
    for at, (right, answer) in enumerate(zip(gold, answers, strict=True)):
        try:
            yield unit_of(right, answer)
        except UnusableError as error:
            codes[at] = error.note.key
            yield unit_of(right, None)


def unusable_code(output: Output | None, answer: Answer | None) -> str:
    """Give the code that an answer which can't be used is counted by; empty for one that can.

    >>> unusable_code(Labels(("yes", "no")), "maybe"), unusable_code(Labels(("yes", "no")), "no")
    ('label-unknown', '')
    """
    if answer is None:
        return "unparsable"
    if output is None:
        return ""
    pairs = answer if isinstance(answer, tuple) and output.kind == "ranking" else ()
    candidates = [pair[0] for pair in pairs if isinstance(pair, tuple) and pair]
    return next((fault.key for fault in faults_of(output, answer, candidates)), "")
