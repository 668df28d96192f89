"""Answers of each kind of output: read from JSON, checked, put in order."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .core import Answer, Fields, Labels, Number, Output, Ranking, Terms, Text, Words
from .messages import Note

LONGEST_SHOWN = 200  # characters of an answer that is at fault


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
