"""Fingerprints of content, and random streams derived from them.

Equal on every machine, under any hash seed and for any release of numpy: streams are built on
Philox's raw bits, which numpy promises to keep, and not on `permutation` or `choice`, which it doesn't.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.random import Philox

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


def canonical(value: Json) -> str:
    r"""Write a value as JSON in its one canonical form.

    >>> canonical({"b": 1, "a": ["é", None]})
    '{"a":["\\u00e9",null],"b":1}'
    """
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True, allow_nan=False)


def fingerprint(*parts: Json) -> str:
    """Name a value by its content: 32 hexadecimal digits.

    >>> fingerprint("abstract->title", 1)
    '75cfaa0d7c216027938ba51baae559c0'
    """
    return hashlib.blake2b(canonical(parts).encode(), digest_size=16).hexdigest()


def _philox(key: tuple[Json, ...]) -> Philox:
    import numpy as np  # here, so that the nouns need no more than the standard library

    digest = hashlib.blake2b(canonical(key).encode(), digest_size=32).digest()
    return np.random.Philox(
        key=np.frombuffer(digest[:16], "<u8"),
        counter=np.frombuffer(digest[16:] + bytes(16), "<u8"),
    )


def bit_stream(*key: Json) -> Callable[[int], ndarray[Any, Any]]:
    """Give a function that gives the next so many 32-bit integers, a pure function of the key and of what was asked."""
    philox = _philox(key)
    return lambda count: philox.random_raw((count + 1) // 2).astype("<u8").view("<u4")[:count]


def raw_bits(*key: Json) -> Iterator[int]:
    """Yield unsigned 64-bit integers, a pure function of the key."""
    philox = _philox(key)
    block = 8  # few are asked for most of the time
    while True:
        yield from philox.random_raw(block).tolist()
        block = min(2 * block, 4096)


def mixed(values: ndarray[Any, Any], *key: Json) -> ndarray[Any, Any]:
    """Give 32 random bits for each 64-bit number, which depend on it and the key alone, whatever others there are.

    The bits are those of SplitMix64 (Steele, Lea and Flood 2014), started at the number and a digest of the key.
    """
    import numpy as np

    start = np.frombuffer(hashlib.blake2b(canonical(key).encode(), digest_size=8).digest(), "<u8")
    z = values.astype("<u8") ^ start
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    found: ndarray[Any, Any] = (z ^ (z >> np.uint64(31))) >> np.uint64(32)
    return found


def shuffled(n: int, *key: Json) -> Iterator[int]:
    """Yield 0 .. n-1 in a random order that depends on the key alone.

    Lazy (a sparse Fisher-Yates shuffle): the first few of a million cost no more than the first few of ten.

    >>> list(shuffled(5, "a key"))
    [3, 1, 4, 0, 2]
    """
    moved: dict[int, int] = {}
    for last, bits in zip(range(n - 1, -1, -1), raw_bits(*key), strict=False):
        at = (bits * (last + 1)) >> 64
        yield moved.get(at, at)
        moved[at] = moved.pop(last, last)


def ordered(n: int, first: int, *key: Json) -> Iterator[int]:
    """Yield 0 .. n-1 in a random order that depends on the key alone, and not on how many are found first.

    Each number is placed by 64 bits of its own. Where many are wanted, it is faster than `shuffled`: the first so many
    are found at once, and the others only where they are asked for.

    >>> list(ordered(5, 2, "a key")) == list(ordered(5, 5, "a key"))
    True
    """
    import numpy as np

    bits = _philox(key).random_raw(n)
    last = np.partition(bits, first - 1)[first - 1] if 0 < first < n else bits.max(initial=0)
    for places in (np.flatnonzero(bits <= last), np.flatnonzero(bits > last)):
        yield from places[np.argsort(bits[places], kind="stable")].tolist()
