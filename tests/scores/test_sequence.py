"""Token accuracy: the best of all splits, as trying them all gives it; and what the released script finds."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.core import Labels, Text, Words
from taskloom.errors import ScoreError
from taskloom.scores import metric, score, signature
from taskloom.scores.sequence import Mass, most_right

letters = st.sampled_from("abc")
phrases = st.lists(letters, min_size=1, max_size=3).map(" ".join)
places = st.lists(st.frozensets(phrases, min_size=1, max_size=3), min_size=1, max_size=4)


def splits(parts: list[str], most: int):
    """All ways to join parts into at most so many words."""
    for count in range(1, min(most, len(parts)) + 1):
        for cuts in itertools.combinations(range(1, len(parts)), count - 1):
            ends = [0, *cuts, len(parts)]
            yield [" ".join(parts[a:b]) for a, b in itertools.pairwise(ends)]


@settings(max_examples=200)
@given(st.lists(letters, max_size=7), places)
def test_the_best_split_is_found(parts, accepted):
    longest = [(words, max(word.count(" ") for word in words) + 1) for words in accepted]
    best = (
        sum(word in of for word, of in zip(split, accepted, strict=False)) for split in splits(parts, len(accepted))
    )
    assert most_right(parts, longest) == max(best, default=0)


def scored(answer: str, *accepted: tuple[str, ...], variant: str = "corrected", separator: str = " ") -> float:
    output = Words(separator)
    return score(metric(f"token-accuracy:{variant}", output), [(tuple(accepted),)], [answer], output).value


@pytest.mark.parametrize(
    ("answer", "corrected", "published"),
    [
        ("new york dog", 1.0, 0.0),  # what the released script never finds
        ("New  York dog", 1.0, 0.0),
        ("ny dog", 1.0, 1.0),
        ("ny cat", 0.5, 0.5),
        ("dog ny", 0.0, 0.0),
        ("ny", 0.5, 0.5),
        ("ny dog and more", 0.5, 1.0),  # all of a text must be split; the released script reads as far as it needs
        ("NY dog", 1.0, 0.5),
    ],
)
def test_both_variants(answer: str, corrected: float, published: float) -> None:
    accepted = (("new york", "ny"), ("Dog",))
    assert scored(answer, *accepted) == corrected
    assert scored(answer, *accepted, variant="published") == published


def test_a_mark_between_words_tells_them_apart():
    accepted = (("new york",), ("york", "dog"))
    assert scored("new york # dog", *accepted, separator=" # ") == 1.0
    assert scored("new york#dog", *accepted, separator=" # ", variant="published") == 1.0
    assert scored("new york dog", *accepted, separator=" # ") == 0.0
    assert "separator:#" in signature(metric("token-accuracy", Words(" # ")))


def test_a_text_or_a_label_is_a_sequence_of_one():
    found = score(metric("token-accuracy", Text()), [("New York", "NYC")] * 3, ["new york", "york", None], Text())
    assert found.units[:, 0].tolist() == [1, 0, 0]
    assert found.unusable == {"unparsable": 1}
    labels = Labels(("true", "false"))
    assert score(metric("token-accuracy", labels), [("true",)] * 2, ["true", "false"], labels).value == 0.5


def test_large_closures_are_read_once():
    words = tuple(f"word {n}" for n in range(100_000))
    gold = [((words, words),)] * 200
    assert score(metric("token-accuracy", Words()), gold, ["word 5 word 99999"] * 200, Words()).value == 1


def test_probability_mass():
    gold = ((("hot", 1.0), ("warm", 2.0), ("mild", 3.0)),)
    chances = {"hot": 0.5, "warm": 0.2, "mild": 0.1, "else": 0.2}
    answer = tuple((word, math.log(chance)) for word, chance in chances.items())
    assert Mass(k=1).unit(gold, answer)[0] == pytest.approx(0.6)
    assert Mass(k=2).unit(gold, answer)[0] == pytest.approx(0.3)
    assert Mass(k=2, best=True).unit(gold, answer)[0] == pytest.approx(0.2)
    assert score(metric("mass@1"), [gold], [(("hot", 0.5),)]).unusable == {"not-log-probabilities": 1}
    with pytest.raises(ScoreError, match="metric needs a depth"):
        metric("mass")
