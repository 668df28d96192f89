"""What people are told: everything that can be said is a code with values, and the words for it are here alone.

Codes are what is stored, compared and decided by. Rewording a message changes no id and no stored byte.

A text names its values in braces: {task!r}, {names} for a list, {count:row} for "3 rows", and what else `FORMS` has.
What stands after a bar is said only where the values are known: things of one code are counted together, without them.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

GENERAL = {
    "pools-unfit": "pools must be train and test, with or without dev, or a single one: {pools}",
    "of-task": "task {task!r}: {reason}",
    "error": "{text}",  # one that has words only
    "data-changed": "data was changed after it was written, build the suite again ({pools:first 5}): {path}",
    "text-unreadable": "texts can't be read, their file is damaged; see `taskloom check` ({reason})",
    "gold-unreadable": "gold answers can't be read, their file is damaged; see `taskloom check` ({reason})",
    "name-unknown": "unknown {what}: {name!r}; {hint}",
    "names-near": "did you mean {names:or}?",
    "names-known": "known: {names:first 12}",
}
ANSWERS = {  # that can't be used, or stand in a pool as gold
    "unparsable": "unparsable",
    "empty-output": "empty output",
    "text-expected": "not a text|: {given}",
    "label-unknown": "label not declared|: {given}",
    "labels-expected": "not a tuple of labels|: {given}",
    "terms-expected": "not a tuple of terms|: {given}",
    "not-finite": "not a finite number|: {given}",
    "grade-not-finite": "not a finite grade|: {given}",
    "pairs-expected": "not (candidate, grade) pairs|: {given}",
    "candidate-twice": "a candidate is graded twice|: {given}",
    "candidate-unknown": "graded candidate is not among the item's|: {given}",
    "fields-expected": "not an answer for each field|, which are {fields}: {given}",
    "clusters-differ": "not a cluster for each element|: {elements} elements have {clusters} clusters",
    "row-fields-differ": "has the fields {fields}, the first row {first}",
    "gold-missing": "has no gold answer",
    "half-character": "holds half a character (a lone surrogate)",
}
ROWS = {  # of a table, that are in no suite
    "row-faulty": "rows with faults",
    "row-surrogates": "rows with half a character, replaced by U+FFFD",
    "row-filtered": "rows without {where}",
    "row-unmapped": "rows with an unknown {column}",
}
COUNTS = {  # by learners, each many times
    "prompt-refused": "prompts that the model refused",
    "prompt-cut": "prompts cut to fit the context",
    "input-cut": "inputs cut to fit the context",
    "instruction-cut": "instructions cut to fit the context",
    "answer-cut": "answers cut at the most tokens that the learner lets a model write",
    "answer-picked": "answers picked out of longer ones",
    "reply-empty": "replies that were empty",
    "demonstration-is-item": "demonstrations dropped: each the item that was asked about",
    "demonstration-dropped": "demonstrations dropped because the context is too short",
    "example-missing": "examples that the encoding asks for and the task does not have",
    "no-common-word": "no word in common",
    "not-converged": "not converged",
    "class-short": "classes with too few examples",
    "surrogates-replaced": "answers or replies with half a character, replaced by U+FFFD",
}
STUDIES = {  # why cells are skipped, or fail
    "model-unavailable": "model {model} is unavailable ({reason}), and so are learners {learners}",
    "output-unsupported": "learner {learner} does not support {kind}",
    "examples-needed": "learner {learner} needs examples for {kind}, and 0 shots have none",
    "no-fold": "model {model} is not trained for task {task}: none of its folds has it as a test task",
    "nothing-to-train-on": "model {model} is not trained for task {task}: fold {fold} has no tasks to train on",
    "no-record-left": "model {model} is not trained for task {task}: its episodes leave no record to train on",
    "training-failed": "model {model} was not trained, and is needed here|: cell {cell}",
    "learner-changed": "its file was changed after the run had begun; run again: {learner!r}",
    "answers-missing": "{items:item} got {answers:answer} of {learner}",
    "artifact-missing": "what training had made is not there, or not whole; run again: {folder}",
    "artifact-changed": "a trained model was changed; remove its folder, and run again ({file}): {folder}",
    "learner-raised": "{error}",
    "draw-differs": "the suite or the sampler was changed after the plan was made; run again",
    "artifact-differs": (
        "training model {model} again made something else than before: copy artifacts/{cell} from where it was trained "
        "first, or run into another folder (-o)"
    ),
    "result-damaged": "the result of cell {cell} is damaged in the ledger; run the study again",
}
SCORES = {
    "depth-missing": "metric {metric!r} needs more: a depth, as in p@5",
    "labels-missing": "metric {metric!r} needs more: a task with labels",
    "depth-too-small": "a depth is at least 1: {metric!r}",
    "option-unknown": "metric {name!r} has no option {options}: {metric!r}",
    "variant-unknown": "metric has no variant {variant!r}, only {known}: {metric!r}",
    "metric-without-field": "name the field to score, as in {part}/{metric}: {metric!r}",
    "metric-unfit": "a metric of {kind} is wanted, one of {fits}: {metric!r}",
    "positive-unknown": "f1 needs positive= one of {labels}: {positive!r}",
    "one-ranking-expected": "one gold ranking is needed: {given}",
    "lengths-differ": "{gold:gold answer}, and {answers:prediction}",
    "nothing-to-score": "nothing to score",
    "items-without-gold": "no gold answer for {count:,} of {of:item}, counted from 0: {items}",
}
REPORTS = {  # what stands beside scores
    "pandas-missing": "data frames need pandas: pip install 'taskloom[pandas]', or use to_arrow()",
    "single-episodes": (
        "{tasks:,} of {of:task} have a single episode: intervals do not cover what another seed would change, that is "
        "other examples or another training"
    ),
    "few-episodes": (
        "{tasks:,} of {of:task} have fewer than {least} episodes: the variance between seeds is estimated from few, "
        "which makes intervals wide; run more seeds"
    ),
    "incomplete": (
        "has {tasks:,} of {of:task} and {episodes:,} of {of_episodes:episode}; not ranked, because its mean is over "
        "other tasks or episodes than that of the ranked learners"
    ),
}
LEARNERS = {
    "whole-number-expected": "{name} must be a whole number from {least} on: {given}",
    "number-expected": "{name} must be a number from {least:g} to {most:g}: {given}",
    "true-or-false-expected": "{name} must be true or false: {given}",
    "wording-missing": "wording must be one at least of {known}: {given}",
    "support-missing": "this learner needs support examples, and there are none of task {task!r}",
}
EPISODES = {
    "sizes-not-whole": "sizes must be whole numbers: {sampler}",
    "sizes-negative": "sizes can't be negative: {sampler}",
    "shots-out-of-order": "least must be no more than most: {least}, {most}",
    "too-few-classes": (
        "fewer than two classes of task {task!r} have {least} examples or more: there is nothing to choose from: "
        "{classes}"
    ),
    "too-few-ways": "{ways} classes wanted, {able} have {least} examples or more",
    "class-too-small": "classes with fewer than {least} examples: {classes:sizes}",
    "too-few-examples": (
        "too few examples for the {role} set of task {task!r}: {wanted} wanted, {found} left of {size}; "
        "make the sets smaller"
    ),
}
MODELS = {
    "budget-spent": (
        "the budget of ${budget:,.2f} is spent: ${spent:,.4f} so far, and the next one may cost ${most:,.4f}; "
        "raise `budget` to go on"
    ),
    "token-budget-spent": (
        "the budget of {budget:,} tokens is spent: {spent:,} so far, and the next request may take {most:,}; "
        "raise `token_budget` to go on"
    ),
    "replies-not-kept": "replies can't be kept ({reason}): {path}",
    "no-log-probabilities": "the endpoint gives no log-probabilities of what it reads: set `answers: generate`",
    "no-log-probabilities-in-chat": "chat endpoints don't say how likely an answer is: set `answers: generate`",
    "no-reply": "no answer from {url} after {tries} tries; the last: {reason}",
    "unreachable": "can't be reached ({reason})",
    "connection-broken": "{kind} ({reason})",
    "http-error": "HTTP {status} {said}",
    "not-a-completion": "not a completion: {said}",
    "reply-too-large": "a reply of more than {most:,} bytes",
    "key-missing": "{url} wants a key, and ${key} has none (HTTP {status}): {said}",
    "key-refused": "{url} refuses the key of ${key} (HTTP {status}): {said}",
    "key-malformed": "the key in ${key} has characters that no key has",
    "request-refused": "{url} refuses the request (HTTP {status}): {said}",
    "model-refused": "{url} answers HTTP {status} for model {model!r}: {said}",
}
ENDPOINTS = {  # as they are declared
    "endpoint-numbers-expected": "sizes, prices and budgets are numbers, none below nought: {model!r}",
    "endpoint-whole-numbers-expected": "concurrency, tries and token_budget are whole numbers: {model!r}",
    "endpoint-numbers-too-small": "concurrency, tries and timeout are 1 at least: {model!r}",
    "price-missing": "a budget in dollars needs price_in and price_out: {model!r}",
    "budget-without-limit": (
        "a budget needs a limit of what is written, as max_completion_tokens in `body`: {model!r}"
    ),
    "body-not-json": "`body` must be a mapping that JSON can write: {model!r}",
    "body-sets-ours": "`body` can't set {names}: {model!r}",
    "key-not-a-variable": "`key` names a variable of the environment; a key itself is written nowhere",
    "address-with-key": "an endpoint's address must hold no key; keys are read from the environment (`key`)",
    "address-missing": (
        "a model at an endpoint is named api:MODEL@https://HOST/v1, or api:MODEL where OPENAI_BASE_URL is set: "
        "{model!r}"
    ),
}
WEIGHTS = {
    "weights-unreadable": "can't be loaded as a language model ({reason}): {path}",
    "weights-missing": "can't be loaded as a language model (it has no weights for {part}): {path}",
    "weights-elsewhere": (
        "{said_by} names weights that are not *.safetensors beside it, so that the model's name would not cover them "
        "({file}): {path}"
    ),
    "weights-index-unreadable": "not an index of weights, it has no `weight_map` of file names: {path}",
    "weights-adapter": "an adapter is loaded or not by what is installed; merge it into its model ({file}): {path}",
    "gguf-unreadable": "not a GGUF file that can be read ({kind}: {reason}): {path}",
    "gguf-weights-missing": "not a GGUF file that can be read (it has no weights for {part}): {path}",
    "chat-template-missing": "the model has no chat template; leave `chat` out",
    "context-too-small": "no room for a prompt: {written} tokens to be written, a context of {context}",
    "context-too-large": "the model was made for {most:,} tokens, and `context` asks for {wanted:,}",
}
PEOPLE = {  # what they are not asked about
    "task-without-text": "tasks that ask for no text",
    "learner-without-texts": "learner {learner}: no texts with {shots}",
    "item-not-answered-by-all": "items that not all learners have answered",
    "item-without-reference": "items without a reference",
}
FAULTS: Mapping[str, str] = {  # what `taskloom check` looks for: E are errors, W are warnings
    "E001": "the data is not what its digest says",
    "E101": "an example stands twice in a pool",
    "E102": "an id stands twice in a pool",
    "E103": "an answer is empty, or not of its task's form",
    "E104": "an input is empty",
    "E105": "a document is in no store of the suite, or its store is not there",
    "E106": "an id stands twice in a store",
    "E201": "an input is in two pools of its task",
    "E202": "a group is in two pools of its task",
    "E203": "pools of a task are neither train and test, with or without dev, nor a single one",
    "E301": "a fold names a task that is not in the suite",
    "E302": "a task has two roles in a fold",
    "E303": "tasks of two roles share a source",
    "E304": "texts of two roles overlap",
    "E401": "a task file or split list can't be read, or a field is missing, of the wrong type or not UTF-8",
    "E402": "a task file has too few or too many instances",
    "E403": "two instances of a task file have the same input or id",
    "E404": "an input or output of a task file is empty",
    "E405": "a positive example of a task file is among its instances",
    "E406": "a task is in two splits, or twice in one",
    "E407": "a key stands twice in an object of a task file",
    "E408": "instances of two task files have the same id",
    "W101": "labels are imbalanced",
    "W102": "a field is not filled in every record",
    "W103": "a term holds the separator of its list",
    "W105": "a list has one term nearly everywhere",
    "W104": "an input has several answers in a pool",
    "W401": "labels of a task file are imbalanced",
    "W402": "a task is in no split of any track",
    "W403": "a category, language or domain is not known",
    "W404": "instances of a task file have no id",
    "W405": "the output of an example is a list, of which only the first is shown",
    "W406": "a task file has no positive, or no negative example",
    "W407": "a field of a task file is empty, or its licence is missing",
}
_UNBALANCED = "normalised entropy {entropy:.2f}, above {wanted} is wanted; {label!r} has {most:,} of {of:,}"
FAULT_TEXTS = {  # by the fault's code, with a word where it has several texts
    "E001-column": "the column's digest differs from the manifest's",
    "E001-view": "the view's digest or size differs from the manifest's",
    "E001-pool": "the pool's digest differs from the manifest's",
    "E001-rows": "{rows:,} rows, and the manifest says {declared:,}",
    "E001-labels": "the labels that draws go by are not those of the answers",
    "E101": "the same content in {count:more row}: {shown}",
    "E102": "the same id in {count:more row}: {shown}",
    "E103": "{count:bad answer}: {shown}",
    "E104": "empty input in {count:row}: {shown}",
    "E001-linked": "the pool's digest, or its documents', differs from the manifest's",
    "E105-store": "no store of this name, {hint}: {store!r}",
    "E105-unlinked": "candidates are in store {store!r}, and the pool is not linked: {kind}",
    "E105-other": "the pool is linked to a store that is not the suite's: {store!r}",
    "E105-documents": "store {store!r} does not have {ids:first 5}",
    "E105-members": "{count:member} that the store does not have: {shown}",
    "E106": "the same id in {count:more document}: {shown}",
    "E201": "{count:input} in both: {shown}",
    "E202": "{count:group} in both: {shown}",
    "E203": "pools must be train and test, with or without dev, or a single one: {pools}",
    "E301": "no such task: {task}",
    "E302": "{count:task} in both: {shown}",
    "E302-held-out": "{task} is a {kind} task too",
    "E303": "{task} and {other} share a source: {sources}",
    "E304-overlap": "{task} and {other} share {share:.0%} of a text ({place} ~ {other_place})",
    "E304-equal": "{task} and {other} share a short text ({text!r}; {place} ~ {other_place})",
    "E401-name": "its name is not UTF-8: rename it",
    "E401-json": "not JSON ({reason})",
    "E401-object": "a task file is an object, not {kind}",
    "E401-half": "holds half a character (a lone surrogate)",
    "E401-size": "{bytes:,} bytes, and a file may have {most:,}",
    "E401-unreadable": "can't be read ({reason})",
    "E401-encoding": "not UTF-8 ({reason} at byte {byte}, line {line})",
    "E401-missing": "missing",
    "E401-definition": "must be a text, or a list of texts, and not empty",
    "E401-kind": "must be {wanted}, not {kind}",
    "E401-part": "must be {wanted}, not {kind} with {part}",
    "E401-no-text": "an empty list: give at least one text",
    "E402": "{count:instance}; there must be {fewest} to {most:,}",
    "E403": "the same as {other}",
    "E404": "empty",
    "E405": "stands in {other} too",
    "E406-lists": "{task} is in {one} and in {other}",
    "E406-twice": "{task} again, after [{first}]",
    "E407": "stands twice, and only the last counts",
    "E408": "the same as {other}",
    "E408-more": "the same as {other}; {more:more id} of that file too",
    "W101": _UNBALANCED,
    "W102": "{empty:,} of {of:,} records have none and are left out of the tasks that use it",
    "W103": "{separator!r} is in {count:term}: {shown}",
    "W104": "an input with another answer in {count:more row}",
    "W105": "try --separator {column}=',' or another: {shown}",
    "W401": _UNBALANCED,
    "W402": "{task} is in no split of any track",
    "W403": "not known: {name!r}; {hint}",
    "W404": "{count:instance} without an id: one is made; the first: {first}",
    "W405": "a list of {count:text} where a text is wanted: only the first is shown",
    "W406": "empty",
    "W407-missing": "missing",
    "W407-empty": "empty",
    "more": "and {count:,} more",  # in a list, after the first
}
TOPICS: tuple[Mapping[str, str], ...] = (
    GENERAL, ANSWERS, ROWS, COUNTS, STUDIES, SCORES, REPORTS, LEARNERS, EPISODES, MODELS, ENDPOINTS, WEIGHTS, PEOPLE,
    FAULT_TEXTS,
)  # fmt: skip
TEXTS = {code: text for topic in TOPICS for code, text in topic.items()}
FIELD = "field"  # the value that says of which field of an answer something is told


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person may be told: a code, and its values in the order of their names."""

    code: str
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, code: str, **values: Any) -> Note:
        """Note something; values are texts, numbers, other notes, and lists of these, and anything else as its text.

        >>> Note.of("label-unknown", given="'maybe'").values
        (('given', "'maybe'"),)
        """
        return cls(code, tuple((name, _plain(values[name])) for name in sorted(values)))

    def of_field(self, name: str) -> Note:
        """Say of which field of an answer this is told.

        >>> str(Note.of("empty-output").of_field("title"))
        'title: empty output'
        """
        return replace(self, values=tuple(sorted({**dict(self.values), FIELD: name}.items())))

    @property
    def key(self) -> str:
        """Name what is counted together: the code, and the field where there is one."""
        field = dict(self.values).get(FIELD)
        return f"{field}/{self.code}" if field else self.code

    def to_json(self) -> dict[str, Any]:
        """Write a note down; `from_json` reads it back."""
        return {"code": self.code, "values": {name: _to_json(value) for name, value in self.values}}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Note:
        """Read what `to_json` wrote."""
        return cls(told["code"], tuple((name, _from_json(value)) for name, value in sorted(told["values"].items())))

    def __str__(self) -> str:
        """Put it into words; a code that has none, or that another release gave other values, stands for itself."""
        values = dict(self.values)
        text, _, more = TEXTS.get(self.code, "").partition("|")
        template = text + more if values.keys() - {FIELD} else text
        try:
            said = WORDS.vformat(template, (), values) if template else self._bare()
        except (LookupError, ValueError, TypeError):
            said = self._bare()
        return f"{values[FIELD]}: {said}" if FIELD in values and f"{{{FIELD}" not in template else said

    def _bare(self) -> str:
        told = ", ".join(f"{name}: {value}" for name, value in self.values if name != FIELD)
        return f"{self.code} ({told})" if told else self.code


def text_of(key: str) -> str:
    """Put into words what was counted by a note's key; what has no words, such as a learner's own, is said as it is.

    >>> text_of("title/label-unknown"), text_of("rhymes")
    ('title: label not declared', 'rhymes')
    """
    field, _, code = key.rpartition("/")
    return str(Note(code).of_field(field)) if field and code in TEXTS else str(Note(key))


def counted_notes(notes: Mapping[Note, int]) -> list[dict[str, Any]]:
    """Write down what was counted, for what keeps JSON.

    >>> counted_notes({Note.of("row-faulty"): 2, Note.of("not-converged"): 0})
    [{'code': 'row-faulty', 'values': {}, 'count': 2}]
    """
    return [note.to_json() | {"count": count} for note, count in notes.items() if count]


def counted_text(kept: Sequence[Mapping[str, Any]]) -> str:
    """Put into words what `counted_notes` wrote.

    >>> counted_text([{"code": "row-faulty", "values": {}, "count": 2}])
    '2 (rows with faults)'
    """
    return ", ".join(f"{one['count']:,} ({Note.from_json(one)})" for one in kept)


class _Words(string.Formatter):
    """Write values for people: lists with commas, `{count:row}` as "3 rows", and other forms that have a name."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Write a value in its form; what is neither a form nor a noun is Python's."""
        form, _, more = format_spec.partition(" ")
        if form in FORMS:
            return FORMS[form](value, more)
        if NOUN.fullmatch(format_spec):
            return f"{value:,} {format_spec}{'' if value == 1 else 's'}"
        return _listed(value) if isinstance(value, tuple) else str(super().format_field(value, format_spec))


def _listed(values: Sequence[object], most: str = "") -> str:
    """Write a list, or no more than the first so many of it."""
    shown = values[: int(most)] if most else values
    texts = [text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..." for text in map(str, shown)]
    return ", ".join(texts) + FORMS["and"](len(values) - len(shown), "more") if values else "none"


NOUN = re.compile("[a-z][a-z ]+")
LONGEST = 80  # characters of one thing in a list
FORMS: Mapping[str, Callable[[Any, str], str]] = {  # given the value, and what stands after the form's name
    "first": _listed,
    "or": lambda values, _: " or ".join(map(str, values)),
    "and": lambda number, what: f" and {number:,} {what}" if number else "",
    "sizes": lambda pairs, _: ", ".join(f"{name} ({size:,})" for name, size in pairs),
}
WORDS = _Words()


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(part) for part in value)
    return value if value is None or isinstance(value, str | int | float | Note) else str(value)


def _to_json(value: Any) -> Any:
    if isinstance(value, Note):
        return value.to_json()
    return [_to_json(part) for part in value] if isinstance(value, tuple) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Note.from_json(value)
    return tuple(_from_json(part) for part in value) if isinstance(value, list) else value
