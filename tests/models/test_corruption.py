"""What pre-training asks: golden examples worked out by hand, and what holds for every text and key."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.models import corruption as made

IDS = st.lists(st.integers(0, 50), min_size=1, max_size=300)
KEYS = st.integers(0, 10**6)
SENTINELS = list(range(1000, 1100))
MASK = 999


# --- sentences -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("One", ["One"]),
        ("We (see Fig. 2) win. It is 3.5 points. \"Why?\" Because!", None),
        ("采用(MRP),建模；利用方程.结果很好.", ["采用(MRP),建模；", "利用方程.", "结果很好."]),
        ("A title\nA text. and on. Next", ["A title\n", "A text. and on. ", "Next"]),
    ],
)  # fmt: skip
def test_a_text_is_split_into_sentences(text: str, found: list[str] | None):
    split = made.sentences(text)
    assert split == found or (found is None and split[-1] == "Because!")


@given(st.text(alphabet="ab. \n!？。字\"')", max_size=60))
def test_sentences_together_are_the_text(text: str):
    split = made.sentences(text)
    assert "".join(split) == text
    assert all(split)


# --- T5 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "noisy", "spans"),
    [  # round(0.15 n) to even, at least 1; round of a third of it, at least 1
        (1, 0, 0), (2, 1, 1), (10, 2, 1), (20, 3, 1), (30, 4, 1), (50, 8, 3), (100, 15, 5), (128, 19, 6), (512, 77, 26),
    ],
)  # fmt: skip
def test_the_numbers_of_noisy_tokens_and_spans_are_those_of_the_release(length: int, noisy: int, spans: int):
    for key in range(5):
        mask = made.noise_mask(length, key)
        runs = "".join("x" if noise else "." for noise in mask).replace(".", " ").split()
        assert (len(mask), sum(mask), len(runs)) == (length, noisy, spans)
        assert not mask[0]
        assert mask[-1] or length == 1


def test_spans_of_the_paper_are_replaced_by_sentinels():
    """Figure 2 of Raffel et al. 2020: Thank you <X> me to your party <Y> week; <X> for inviting <Y> last <Z>."""
    words = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week"]
    ids = list(range(len(words)))
    x, y, z = 100, 101, 102
    mask = [word in ("for", "inviting", "last") for word in words]
    assert made.replace_spans(ids, mask, [x, y, z]) == ([0, 1, x, 4, 5, 6, 7, y, 9], [x, 2, 3, y, 8, z])


def test_every_way_to_cut_is_as_likely():
    """Four noisy tokens in two spans are cut in three ways: 1+3, 2+2 and 3+1."""
    draws = [tuple(made._segments(4, 2, (key,))) for key in range(3000)]
    for cut in ((1, 3), (2, 2), (3, 1)):
        assert abs(draws.count(cut) / 3000 - 1 / 3) < 4 * math.sqrt(2 / 9 / 3000)


def undone(read: Sequence[int], written: Sequence[int]) -> list[int]:
    """Put the spans back."""
    spans: dict[int, list[int]] = {}
    for token in written:
        if token in SENTINELS:
            last = spans.setdefault(token, [])
        else:
            last.append(token)
    return [token for one in read for token in spans.get(one, [one])]


@given(IDS, KEYS)
def test_masked_spans_can_be_undone(ids: list[int], key: int):
    read, written = made.masked_spans(ids, SENTINELS, key)
    assert undone(read, written) == ids
    marks = [token for token in written if token in SENTINELS]
    assert marks == SENTINELS[: len(marks)]
    assert marks[-1] == written[-1]
    assert [token for token in read if token in SENTINELS] == marks[:-1]
    assert len(marks) == (made.most_spans(len(ids)) - 1 if len(ids) > 1 else 1)
    assert len(read) + len(written) == len(ids) + 2 * len(marks) - 1


@given(IDS, KEYS)
def test_a_rolled_mask_is_the_same_mask_begun_elsewhere(ids: list[int], key: int):
    plain, rolled = (made.noise_mask(len(ids), key, roll=roll) for roll in (False, True))
    assert rolled in [plain[at:] + plain[:at] for at in range(len(plain))]
    read, written = made.masked_spans(ids, SENTINELS, key, roll=True)
    assert undone(read, written) == ids
    assert sum(token in SENTINELS for token in written) <= made.most_spans(len(ids))


def test_every_token_of_a_short_text_can_be_noise():
    found = [made.noise_mask(8, key, roll=True) for key in range(200)]
    assert all(any(mask[place] for mask in found) for place in range(8))


def test_what_is_drawn_depends_on_the_key_alone():
    ids = list(range(100))
    assert made.masked_spans(ids, SENTINELS, 1, 2) == made.masked_spans(ids, SENTINELS, 1, 2)
    assert made.masked_spans(ids, SENTINELS, 1, 2) != made.masked_spans(ids, SENTINELS, 2, 1)


# --- BART ------------------------------------------------------------------------------------------------------------


def test_spans_are_infilled_by_one_mask_each():
    """Ten tokens, 3 of them in spans of 2, 0 and 1: 7 are kept between 3 masks, which stand at 1, 4 and 9."""
    assert made.put_masks(range(10), [2, 0, 1], [9, 1, 4], MASK) == [0, MASK, 3, 4, MASK, 5, 6, 7, 8, MASK]


def test_sentences_are_shuffled_and_the_text_is_asked_for_in_its_order():
    parts = [[1, 2], [3], [4, 5, 6]]
    orders = {tuple(made.infilled(parts, MASK, key, share=0.0)[0]) for key in range(60)}
    assert len(orders) == 6
    assert all(made.infilled(parts, MASK, key)[1] == [1, 2, 3, 4, 5, 6] for key in range(5))


@given(IDS, KEYS)
def test_infilling_keeps_the_other_tokens_in_order(ids: list[int], key: int):
    read = made.fill(ids, MASK, key)
    kept = [token for token in read if token != MASK]
    rest = iter(ids)
    assert all(token in rest for token in kept)
    assert len(kept) == len(ids) - round(0.3 * len(ids))


def test_lengths_of_spans_are_poisson():
    draws = [length for key in range(400) for length, _ in zip(made._poisson(3.0, (key,)), range(10), strict=False)]
    mean = sum(draws) / len(draws)
    assert abs(mean - 3) < 4 * math.sqrt(3 / len(draws))
    assert abs(draws.count(0) / len(draws) - math.exp(-3)) < 4 * math.sqrt(0.05 * 0.95 / len(draws))
    assert abs(sum((d - mean) ** 2 for d in draws) / len(draws) - 3) < 0.3


# --- PEGASUS ---------------------------------------------------------------------------------------------------------


def test_sentences_are_worth_their_rouge_against_the_others():
    """Of `the cat sat` two of 3 words are among the 6 others, where `the` and `cat` come once: F = 2 * 2 / 9."""
    assert made.importance(["The cat sat.", "A dog ran.", "The cat ran."]) == pytest.approx([4 / 9, 2 / 9, 6 / 9])
    assert made.importance(["本文研究", "研究方法"]) == pytest.approx([0.5, 0.5])
    assert made.importance(["one"]) == [0.0]
    assert made.importance(["...", "!"]) == [0.0, 0.0]


def test_importance_is_that_of_the_reference_package():
    from rouge_score.rouge_scorer import RougeScorer

    texts = ["Deep nets learn well.", "We train nets on text, and nets learn.", "Text is long; we cut it.", "Nets!"]
    scorer = RougeScorer(["rouge1"], use_stemmer=False)
    others = [" ".join(texts[:n] + texts[n + 1 :]) for n in range(len(texts))]
    wanted = [scorer.score(other, text)["rouge1"].fmeasure for text, other in zip(texts, others, strict=True)]
    assert made.importance(texts) == pytest.approx(wanted)


@pytest.mark.parametrize(("sentences", "gaps"), [(2, 1), (3, 1), (5, 2), (7, 2), (10, 3)])
def test_the_best_sentences_are_left_out_and_asked_for(sentences: int, gaps: int):
    parts = [[number, number] for number in range(sentences)]
    read, written = made.gap_sentences(parts, [number / 10 for number in range(sentences)], MASK, "key")
    best = range(sentences - gaps, sentences)
    assert written == [token for number in best for token in (number, number)]
    assert read == [token for n in range(sentences - gaps) for token in (n, n)] + [MASK] * gaps


def test_ties_go_to_the_first_and_noise_changes_the_choice():
    parts, equal = [[1], [2], [3]], [0.5, 0.5, 0.5]
    assert made.gap_sentences(parts, equal, MASK, "key") == ([MASK, 2, 3], [1])
    chosen = {made.gap_sentences(parts, equal, MASK, key, noise=0.2)[1][0] for key in range(40)}
    assert chosen == {1, 2, 3}
    far = {made.gap_sentences(parts, [0.1, 0.5, 0.1], MASK, key, noise=0.2)[1][0] for key in range(40)}
    assert far == {2}


def test_a_gap_needs_a_second_sentence():
    with pytest.raises(ValueError, match="another sentence"):
        made.gap_sentences([[1]], [1.0], MASK)


# --- causal ----------------------------------------------------------------------------------------------------------


@given(st.lists(IDS, max_size=8), st.integers(2, 40))
def test_chunks_are_the_texts_one_after_the_other(texts: list[list[int]], length: int):
    whole = [token for text in texts for token in (*text, -1)]
    found = list(made.chunks(texts, length, -1))
    joined = [token for chunk in found for token in chunk]
    assert all(len(chunk) == length for chunk in found[:-1])
    assert whole[: len(joined)] == joined
    assert len(whole) - len(joined) <= 1


@given(IDS, st.integers(1, 50))
def test_windows_are_the_text_in_parts_of_like_length(ids: list[int], length: int):
    found = made.windows(ids, length)
    assert [token for window in found for token in window] == ids
    sizes = [len(window) for window in found]
    assert max(sizes) <= length
    assert max(sizes) - min(sizes) <= 1
