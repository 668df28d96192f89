"""What pre-training asks of a model: text that was corrupted, and what it is to write about it.

Spans are masked as for T5 (Raffel et al. 2020), infilled as for BART (Lewis et al. 2020), and whole sentences left out
as for PEGASUS (Zhang et al. 2020). Each is a pure function of its tokens and a key.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from ..ids import Json, raw_bits, shuffled
from ..texts import CJK, tokens

Ids: TypeAlias = Sequence[int]
Key: TypeAlias = "tuple[Json, ...]"
Pair: TypeAlias = "tuple[list[int], list[int]]"  # what a model reads, and what it is to write

SENTENCE = re.compile(  # up to its end, and what stands between it and the next one
    rf"""[.!?]+["'”’)\]]*\s+(?=[^a-z\s])|(?<=[{CJK})）])[.!?;]+\s*|[。！？；]+["”’）」』]*\s*|\n+"""
)


def sentences(text: str) -> list[str]:
    """Split a text into sentences, which together are the text.

    >>> sentences("It works, e.g. here. Does it? 是的.当然；好。")
    ['It works, e.g. here. ', 'Does it? ', '是的.', '当然；', '好。']
    """
    ends = [found.end() for found in SENTENCE.finditer(text)]
    return [text[start:end] for start, end in itertools.pairwise(dict.fromkeys([0, *ends, len(text)]))]


# --- T5: spans -------------------------------------------------------------------------------------------------------


def noise_mask(length: int, *key: Json, share: float = 0.15, mean: float = 3.0, roll: bool = False) -> list[bool]:
    """Draw which tokens are noise, as the released `random_spans_noise_mask`.

    It begins with a kept span and ends with noise, unless it is rolled by a random offset: of a short text, which has
    one span, the end alone would be noise. The numbers of noisy tokens and of spans are exact, worked out in 32 bits
    as released; the lengths of spans are random.
    """
    size = max(length, 2)  # a single token is kept
    noisy, spans = _noise_counts(size, share, mean)
    kept_lengths = _segments(size - noisy, spans, (*key, "kept"))
    noisy_lengths = _segments(noisy, spans, (*key, "noisy"))
    mask: list[bool] = []
    for kept, noise in zip(kept_lengths, noisy_lengths, strict=True):
        mask += [False] * kept + [True] * noise
    at = (next(raw_bits(*key, "roll")) * length) >> 64 if roll and length > 1 else 0
    return [*mask[:length][at:], *mask[:length][:at]]


def _noise_counts(length: int, share: float, mean: float) -> tuple[int, int]:
    """Say how many tokens are noise, and how many spans they are in; halves are rounded to even."""
    noisy = int(np.rint(np.float32(length) * np.float32(share)))
    noisy = min(max(noisy, 1), length - 1)
    spans = max(int(np.rint(np.float32(noisy) / np.float32(mean))), 1)
    return noisy, min(spans, noisy, length - noisy)


def _segments(items: int, parts: int, key: Key) -> list[int]:
    """Cut a number of items into so many parts, none of them empty; every way to do so is as likely."""
    cuts = sorted(at + 1 for at in itertools.islice(shuffled(items - 1, *key), parts - 1))
    return [end - start for start, end in itertools.pairwise([0, *cuts, items])]


def masked_spans(
    ids: Ids, sentinels: Ids, *key: Json, share: float = 0.15, mean: float = 3.0, roll: bool = False
) -> Pair:
    """Replace spans by sentinels, and ask for each sentinel with its span, and for one more sentinel as the end.

    >>> masked_spans([1, 2, 3, 4, 5, 6, 7, 8], [91, 92, 93], "a key", share=0.5, mean=2)
    ([1, 2, 91, 4, 5, 92], [91, 3, 92, 6, 7, 8, 93])
    """
    return replace_spans(ids, noise_mask(len(ids), *key, share=share, mean=mean, roll=roll), sentinels)


def replace_spans(ids: Ids, mask: Sequence[bool], sentinels: Ids) -> Pair:
    """Replace each run of noise by a sentinel; the last sentinel left ends what is to be written."""
    read: list[int] = []
    written: list[int] = []
    marks = iter(sentinels)
    for is_noise, run in itertools.groupby(zip(mask, ids, strict=True), key=lambda pair: pair[0]):
        span = [token for _, token in run]
        if is_noise:
            mark = next(marks)
            read.append(mark)
            written += [mark, *span]
        else:
            read += span
    return read, [*written, next(marks)]


def most_spans(length: int, *, share: float = 0.15, mean: float = 3.0) -> int:
    """Say how many sentinels so many tokens need at most: one a span, one for a span that is rolled, and the last.

    >>> most_spans(512)
    28
    """
    return _noise_counts(max(length, 2), share, mean)[1] + 2


# --- BART: infilling -------------------------------------------------------------------------------------------------


def infilled(parts: Sequence[Ids], mask: int, *key: Json, share: float = 0.3, mean: float = 3.0) -> Pair:
    """Shuffle sentences, then replace spans by one mask each, and ask for the whole text in its own order.

    Lengths of spans are Poisson; a span of length 0 is a mask that stands for nothing.

    >>> infilled([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 99, "a key")
    ([4, 5, 6, 1, 2, 3, 99], [1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    order = shuffled(len(parts), *key, "order")
    mixed = [token for number in order for token in parts[number]]
    return fill(mixed, mask, *key, share=share, mean=mean), [token for part in parts for token in part]


def fill(ids: Ids, mask: int, *key: Json, share: float = 0.3, mean: float = 3.0) -> list[int]:
    """Replace spans that have a share of all tokens by one mask each; every place for them is as likely."""
    lengths = _span_lengths(round(len(ids) * share), mean, (*key, "lengths"))
    size = len(ids) - sum(lengths) + len(lengths)
    return put_masks(ids, lengths, [*itertools.islice(shuffled(size, *key, "places"), len(lengths))], mask)


def put_masks(ids: Ids, lengths: Sequence[int], places: Sequence[int], mask: int) -> list[int]:
    """Put a mask at each place of the result, where it stands for a span of the next length.

    >>> put_masks(range(10), [2, 0, 1], [9, 1, 4], 99)
    [0, 99, 3, 4, 99, 5, 6, 7, 8, 99]
    """
    made: list[int] = []
    spans, at = iter(lengths), 0
    for place in range(len(ids) - sum(lengths) + len(lengths)):
        if place in places:
            made.append(mask)
            at += next(spans)
        else:
            made.append(ids[at])
            at += 1
    return made


def _span_lengths(total: int, mean: float, key: Key) -> list[int]:
    """Draw lengths until they have so many tokens; the last one is cut to fit."""
    found: list[int] = []
    draws = _poisson(mean, key)
    while (left := total - sum(found)) > 0:
        found.append(min(next(draws), left))
    return found


def _poisson(mean: float, key: Key) -> Iterator[int]:
    """Yield draws from a Poisson distribution, by inversion."""
    for bits in raw_bits(*key):
        left = (bits >> 11) * 2.0**-53
        chance, count = math.exp(-mean), 0
        while left >= chance and count < 64:
            left -= chance
            count += 1
            chance *= mean / count
        yield count


# --- PEGASUS: gap sentences ------------------------------------------------------------------------------------------


def importance(texts: Sequence[str]) -> list[float]:
    """Score each sentence by ROUGE-1 F against all others: words in lower case, or characters without spaces.

    >>> importance(["the cat sat", "a dog ran", "the cat ran"])
    [0.4444444444444444, 0.2222222222222222, 0.6666666666666666]
    """
    bags = [Counter(tokens(text.lower())) for text in texts]
    whole: Counter[str] = sum(bags, Counter())
    return [_f_of_bags(bag, whole - bag) for bag in bags]


def _f_of_bags(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def gap_sentences(
    parts: Sequence[Ids], worth: Sequence[float], mask: int, *key: Json, share: float = 0.3, noise: float = 0.0
) -> Pair:
    """Replace the sentences that are worth most by one mask each, and ask for these in their order.

    A share of the sentences, one at least, is left out. Noise changes what each is worth by up to so large a share.

    >>> gap_sentences([[1, 2], [3], [4, 5]], [0.4, 0.2, 0.7], 99, "a key")
    ([1, 2, 3, 99], [4, 5])
    """
    if len(parts) < 2:
        raise ValueError("a gap needs another sentence beside it")
    count = min(max(round(len(parts) * share), 1), len(parts) - 1)
    uniform = ((bits >> 11) * 2.0**-52 - 1 for bits in raw_bits(*key, "worth"))  # from -1 to 1
    noisy = [value * (1 + noise * draw) for value, draw in zip(worth, uniform, strict=False)]
    gaps = {*sorted(range(len(parts)), key=lambda number: (-noisy[number], number))[:count]}
    read = [token for n, part in enumerate(parts) for token in ([mask] if n in gaps else part)]
    return read, [token for n in sorted(gaps) for token in parts[n]]


# --- causal ----------------------------------------------------------------------------------------------------------


def chunks(texts: Iterable[Ids], length: int, end: int) -> Iterator[list[int]]:
    """Write texts one after the other, each with an end, and cut this into chunks; a single last token is dropped.

    >>> list(chunks([[1, 2, 3], [4, 5], [6]], 4, 0))
    [[1, 2, 3, 0], [4, 5, 0, 6]]
    """
    chunk: list[int] = []
    for text in texts:
        for token in (*text, end):
            chunk.append(token)
            if len(chunk) == length:
                yield chunk
                chunk = []
    if len(chunk) > 1:
        yield chunk


def windows(ids: Ids, length: int) -> list[list[int]]:
    """Cut a long text into windows of about the same length, none longer than this.

    >>> windows([1, 2, 3, 4, 5, 6, 7], 3)
    [[1, 2], [3, 4], [5, 6, 7]]
    """
    count = max(1, math.ceil(len(ids) / length))
    cuts = [len(ids) * number // count for number in range(count + 1)]
    return [list(ids[start:end]) for start, end in itertools.pairwise(cuts)]
