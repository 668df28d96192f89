from __future__ import annotations

import itertools
import math
import unicodedata

import numpy as np
import pytest
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer
from sklearn.metrics import f1_score

from taskloom.errors import ScoreError
from taskloom.scores import metric, score
from taskloom.scores.text import Bleu, CharacterF1, ListF1, RougeL
from taskloom.texts import tokens

PUBLISHED, CORRECTED = RougeL(variant="published"), RougeL(variant="corrected")
REFERENCE = RougeScorer(["rougeL"], use_stemmer=True)


def reference_rouge(gold, answer: str) -> float:
    return float(REFERENCE.score_multi(gold, answer)["rougeL"].fmeasure)


def reference_bleu(golds, answers) -> float:
    """BLEU of the reference package over our own tokens; every item has equally many acceptable answers."""

    def joined(text: str) -> str:
        return " ".join(tokens(text))

    streams = [[joined(gold) for gold in stream] for stream in zip(*golds, strict=True)]
    found = sacrebleu.corpus_bleu(
        [joined(a) for a in answers], streams, tokenize="none", force=True, smooth_method="exp"
    )
    return found.score / 100


def test_published_rouge_is_that_of_the_reference_package(texts):
    for gold, answer in zip(texts(1, 2500), texts(2, 2500), strict=True):
        assert PUBLISHED.unit((gold,), answer)[0] == pytest.approx(reference_rouge([gold], answer), abs=1e-9)


def test_published_rouge_of_several_acceptable_answers_is_the_best_as_in_the_reference_package(texts):
    pool, answers = texts(3, 3000), texts(4, 1000)
    for at, answer in enumerate(answers):
        gold = pool[3 * at : 3 * at + 1 + at % 3]
        assert PUBLISHED.unit(tuple(gold), answer)[0] == pytest.approx(reference_rouge(gold, answer), abs=1e-9)


def test_published_rouge_of_every_nasty_pair_is_that_of_the_reference_package(texts):
    nasty = sorted(set(texts(5, 150)))
    for gold, answer in itertools.islice(itertools.product(nasty, nasty), 0, None, 7):
        assert PUBLISHED.unit((gold,), answer)[0] == pytest.approx(reference_rouge([gold], answer), abs=1e-9)


@pytest.mark.parametrize("answer_length", [1, 300])
def test_published_rouge_of_texts_of_5000_tokens_is_that_of_the_reference_package(answer_length):
    rng = np.random.default_rng(6)
    gold, answer = (" ".join(rng.choice(["relational", "cat", "the", "skies", "42"], n)) for n in (5000, answer_length))
    assert PUBLISHED.unit((gold,), answer)[0] == pytest.approx(reference_rouge([gold], answer), abs=1e-9)
    assert PUBLISHED.unit((gold,), gold) == (1.0,)


def test_corrected_rouge_is_the_published_one_on_plain_words():
    rng = np.random.default_rng(7)
    words = [
        "the",
        "Cat",
        "cats",
        "running",
        "runs",
        "42",
        "relational",
        "a",
        "x1",
        "snake_case",
        "well-known",
        "it's",
        ".",
    ]
    for _ in range(1000):
        gold, answer = (" ".join(["so", *rng.choice(words, rng.integers(0, 12))]) for _ in range(2))
        assert CORRECTED.unit((gold,), answer) == PUBLISHED.unit((gold,), answer)


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("道路绿化", "道路", 2 / 3),  # two of four characters, two of two
        ("道路绿化", "道路绿化", 1.0),
        ("道路绿化", "公园", 0.0),
        ("+", "+", 1.0),
        ("+", "-", 0.0),
        ("+", "a", 0.0),
        ("😀", "😀", 1.0),
        ("😀", "😢", 0.0),
        ("😀😢", "😀", 2 / 3),
        ("हिन्दी में", "हिन्दी", 2 / 3),
        ("हिन्दी", "हिन्दू", 0.0),  # another vowel sign is another word
        ("שלום עולם", "עולם", 2 / 3),
        ("cafe\u0301", "CAF\u00c9", 1.0),
        ("用BERT做", "用bert做", 1.0),
        ("!", "", 0.0),
        ("", "", 0.0),
    ],
)
def test_corrected_rouge_makes_sense_in_every_script(gold, answer, expected):
    assert CORRECTED.unit((gold,), answer)[0] == pytest.approx(expected)
    assert CORRECTED.unit((answer,), gold)[0] == pytest.approx(expected)


@pytest.mark.parametrize("text", ["道路", "+", "😀", "हिन्दी", "مرحبا"])
def test_published_rouge_sees_nothing_but_ascii_letters_and_digits(text):
    assert PUBLISHED.unit((text,), text) == (0.0,)


def test_corrected_rouge_is_symmetric_between_0_and_1_and_1_for_the_text_itself(texts):
    for gold, answer in zip(texts(8, 1500), texts(9, 1500), strict=True):
        (there,), (back,) = CORRECTED.unit((gold,), answer), CORRECTED.unit((answer,), gold)
        assert there == pytest.approx(back)
        assert 0 <= there <= 1
        assert CORRECTED.unit((gold,), gold) == ((1.0,) if gold.strip() else (0.0,))


def test_corrected_rouge_is_the_same_however_accents_are_written(texts):
    for gold, answer in zip(texts(10, 1000), texts(11, 1000), strict=True):
        apart = unicodedata.normalize("NFD", answer)
        assert CORRECTED.unit((gold,), apart) == CORRECTED.unit((gold,), answer)


def test_corrected_rouge_is_the_same_however_symbols_are_written():
    assert CORRECTED.unit(("\u2260",), "=\u0338") == (1.0,)


@pytest.mark.parametrize("rouge", [PUBLISHED, CORRECTED])
def test_rouge_of_no_answer_is_0(rouge):
    assert rouge.unit(("the cat",), None) == (0.0,)
    assert rouge.unit(("the cat", "a dog"), "") == (0.0,)


def test_rouge_takes_the_best_acceptable_answer_whatever_their_order():
    assert CORRECTED.unit(("a dog", "the cat"), "the cat") == CORRECTED.unit(("the cat", "a dog"), "the cat") == (1.0,)


def bleu(golds, answers) -> float:
    return score(Bleu(), golds, answers).value


@pytest.mark.parametrize("references", [1, 2, 4])
def test_bleu_is_that_of_the_reference_package(texts, references):
    rng = np.random.default_rng(references)
    short, long = texts(references, 1000, longest=6), texts(references + 9, 1000, longest=40)
    for size in rng.integers(1, 51, 30):
        pool = [short, long, short + long][size % 3]
        golds = [(f"so {first}", *map(str, more)) for first, *more in rng.choice(pool, (size, references))]
        answers = [str(answer) for answer in rng.choice(pool, size)]
        assert bleu(golds, answers) == pytest.approx(reference_bleu(golds, answers), abs=1e-9)


def test_bleu_of_near_copies_is_that_of_the_reference_package(texts):
    rng = np.random.default_rng(12)
    for seed in range(40):
        golds = [(f"the {text} of",) for text in texts(seed, int(rng.integers(1, 20)), longest=60)]
        answers = [" ".join(word for word in gold.split() if rng.random() > 0.1) for (gold,) in golds]
        assert bleu(golds, answers) == pytest.approx(reference_bleu(golds, answers), abs=1e-9)


def test_bleu_of_one_long_text_of_repeated_tokens_is_that_of_the_reference_package():
    rng = np.random.default_rng(13)
    golds = [(" ".join(rng.choice(["a", "b", "道"], 5000)), " ".join(["a"] * 4000))]
    for answer in (" ".join(rng.choice(["a", "b", "道"], 4500)), "a " * 6000, "a", ""):
        assert bleu(golds, [answer]) == pytest.approx(reference_bleu(golds, [answer]), abs=1e-9)


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("a b c d e", "a b c d e", 1.0),
        ("a b c d e", "a b c d", math.exp(1 - 5 / 4)),  # all are right, one is missing
        ("a b c d", "a b c d e", (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)),
        (
            "a x b y c",
            "a b c d e",
            (3 / 5 * 1 / 8 * 1 / 12 * 1 / 16) ** (1 / 4),
        ),  # 0 of 4, 3, 2: 1/2, 1/4 and 1/8 of one
        ("a b c d e", "x y z v w", 0.0),
        ("a b c", "a b c", 0.0),  # without any run of four there is no BLEU-4, as in the reference package
        ("a b c d e", "", 0.0),
    ],
)
def test_bleu_worked_by_hand(gold, answer, expected):
    assert bleu([(gold,)], [answer]) == pytest.approx(expected)


def test_bleu_of_a_missing_answer_is_that_of_an_empty_one():
    assert Bleu().unit(("a b",), None) == Bleu().unit(("a b",), "")


def test_bleu_is_of_the_corpus_and_not_a_mean_of_texts():
    golds, answers = [("a b c d e",), ("v w x y z",)], ["a b c d e", "v w"]
    assert bleu(golds, answers) == pytest.approx(math.exp(1 - 10 / 7) * 1 ** (1 / 4))


def test_bleu_with_integer_weights_is_that_of_the_repeated_corpus(texts):
    rng = np.random.default_rng(14)
    golds = [(f"so {one}", f"{two} la") for one, two in zip(texts(15, 30), texts(16, 30), strict=True)]
    answers = texts(17, 30)
    weights = rng.integers(0, 4, (20, 30))
    found = Bleu().reduce(score(Bleu(), golds, answers).units, weights)
    for row, value in zip(weights, found, strict=True):
        often = np.repeat(np.arange(30), row)
        expected = reference_bleu([golds[at] for at in often], [answers[at] for at in often])
        assert value == pytest.approx(expected, abs=1e-9)


def test_bleu_is_nan_where_no_reference_has_a_token():
    assert math.isnan(bleu([("",), ("+",)], ["a b c d", "e"]))


def test_list_f1_of_one_item_is_that_of_scikit_learn():
    vocabulary = ["a", "b", "c"]
    lists = [terms for n in range(4) for terms in itertools.combinations(vocabulary, n)]
    for gold, answer in itertools.product(lists, lists):
        sides = multi_hot(gold, vocabulary), multi_hot(answer, vocabulary)
        assert ListF1().unit((gold,), answer)[0] == pytest.approx(f1_score(*sides, zero_division=0))


def multi_hot(terms, vocabulary) -> list[int]:
    return [int(term in terms) for term in vocabulary]


def test_list_f1_is_that_of_scikit_learn_on_sets():
    rng = np.random.default_rng(18)
    vocabulary = ["道路", "tree", "Tree", "", " ", "a b", "😀", "é", "e\u0301", "x" * 999]
    pairs = [[tuple(map(str, rng.choice(vocabulary, rng.integers(0, 9)))) for _ in range(2)] for _ in range(2000)]
    golds, answers = [(gold,) for gold, _ in pairs], [answer for _, answer in pairs]
    rows = [np.array([multi_hot(pair[side], vocabulary) for pair in pairs]) for side in (0, 1)]
    assert score(ListF1(), golds, answers).value == pytest.approx(f1_score(*rows, average="samples", zero_division=0))


def test_list_f1_takes_the_best_acceptable_list_and_counts_doubles_once():
    assert ListF1().unit((("a", "b"), ("c",)), ("c", "c")) == (1.0,)
    assert ListF1().unit((("a", "b", "c", "d"),), ("d", "x")) == pytest.approx((1 / 3,))  # 1 of 2, 1 of 4


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        (("道路绿化",), ("道路",), 2 / 3),
        (("道路", "绿化"), ("绿化道路",), 1.0),  # wherever terms end
        (("ab", "c d"), ("abcd",), 1.0),  # spaces aside
        (("aab",), ("ab",), 4 / 5),  # 2 of 2, 2 of 3: characters count as often as they stand
        (("Ab",), ("ab",), 1 / 2),
        (("a",), ("😀",), 0.0),
        (("a",), (" ",), 0.0),
        (("a",), (), 0.0),
    ],
)
def test_character_f1_worked_by_hand(gold, answer, expected):
    assert CharacterF1().unit((gold,), answer)[0] == pytest.approx(expected)
    assert CharacterF1().unit((answer,), gold)[0] == pytest.approx(expected)
    assert CharacterF1().unit((("zzz",), gold), answer)[0] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["list-f1", "character-f1", "bpref"])
def test_lists_are_tuples_of_terms(name):
    assert metric(name).unit((("a",),), None) == (0.0,)
    with pytest.raises(ScoreError, match="not a tuple of terms: 'abc'"):
        metric(name).unit((("a",),), "abc")


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("ฉันกินข้าว", "ฉันกินปลา", 2 * 5 / (7 + 7)),  # Thai: ฉั น กิ น า of 7 letters with their signs
        ("ฉันกินข้าว", "ฉันกินข้าว", 1.0),
        ("ສະບາຍດີ", "ສະບາຍ", 2 * 5 / (6 + 5)),  # Lao
        ("ភាសាខ្មែរ", "ភាសា", 2 * 2 / (5 + 2)),  # Khmer
        ("မြန်မာ", "မြန်", 2 * 2 / (3 + 2)),  # Burmese
    ],
)
def test_scripts_without_spaces_share_parts_of_what_is_written(gold: str, answer: str, expected: float) -> None:
    assert metric("rouge-l").unit((gold,), answer)[0] == pytest.approx(expected)
    assert metric("rouge-l:published").unit((gold,), answer) == (0.0,)  # a-z and 0-9 alone, as before
    assert metric("bleu-4").unit((gold,), answer)[0] >= 2  # characters in common
