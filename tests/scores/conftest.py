from collections.abc import Callable

import numpy as np
import pytest

NASTY = (
    "", " ", "\n\t", ".", "?!…—「」", "+", "-", "C++", "0", "3.14", "1,000", "_", "__init__", "a",
    "A a A a a", "ab" * 500, "running runs ran", "cafe\u0301", "caf\u00e9", "\u0301", "x\u00a0y", "a\u200bb", "\ud7ff",
    "道路绿化", "道路", "红矮星，很小。", "人々", "हिन्दी में", "שלום עולם", "مرحبا بالعالم", "한국어 말",
    "😀", "👩‍👩‍👧", "❤️", "1️⃣", "İstanbul", "straße STRASSE", "ﬁne", "Ⅳ",
)  # fmt: skip
PIECES = (
    "the", "The", "cat", "cats", "running", "runs", "relational", "generalization", "skies", "dying", "of", "a",
    "2", "42", "3.5", "BERT-base", "x1", "'s", ",", ".", "--", "+", "_",
    "道", "路", "绿化", "हिन्दी", "में", "שלום", "مرحبا", "😀", "é", "e\u0301",
)  # fmt: skip


@pytest.fixture(scope="session")
def texts() -> Callable[..., list[str]]:
    """Make texts that share pieces of many scripts, the nasty ones among them; a pure function of the seed."""

    def make(seed: int, count: int, *, longest: int = 14) -> list[str]:
        rng = np.random.default_rng(seed)
        lengths, gaps = rng.integers(0, longest + 1, count), rng.choice([" ", " ", " ", "", "\n"], count)
        made = [str(gap).join(rng.choice(PIECES, length)) for length, gap in zip(lengths, gaps, strict=True)]
        places = rng.choice(count, min(len(NASTY), count // 4), replace=False)
        for place, text in zip(places, NASTY, strict=False):
            made[place] = text
        return made

    return make
