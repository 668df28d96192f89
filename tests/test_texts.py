from __future__ import annotations

import os
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.texts import (
    LONE_SURROGATE,
    SHINGLE_CHARACTERS,
    SHINGLE_WORDS,
    alike,
    comparable,
    equals,
    length,
    overlaps,
    overlaps_of_many,
    shingles,
    tokens,
    without_surrogates,
)


def words(start: int, stop: int) -> str:
    return " ".join(f"w{number}" for number in range(start, stop))


def characters(start: int, stop: int) -> str:
    return "".join(chr(0x4E00 + number) for number in range(start, stop))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ,.;—“” ", []),
        ("Graph-based parsing, 2 ways", ["Graph", "based", "parsing", "2", "ways"]),
        ("snake_case", ["snake", "case"]),
        ("红矮星，很小。", ["红", "矮", "星", "很", "小"]),
        ("用BERT做", ["用", "BERT", "做"]),
        ("カタかな𠀋", ["カ", "タ", "か", "な", "𠀋"]),
        ("Žižek naïveté", ["Žižek", "naïveté"]),
        ("한국어 말", ["한국어", "말"]),
        ("ฉันกินข้าว ๑๒", ["ฉั", "น", "กิ", "น", "ข้", "า", "ว", "๑๒"]),  # Thai; digits are a run
        ("ສະບາຍດີ", ["ສ", "ະ", "ບ", "າ", "ຍ", "ດີ"]),  # Lao
        ("ភាសាខ្មែរ", ["ភា", "សា", "ខ្", "មែ", "រ"]),  # Khmer
        ("မြန်မာ", ["မြ", "န်", "မာ"]),  # Burmese
        ("ใช้BERT", ["ใ", "ช้", "BERT"]),
    ],
)
def test_a_token_is_a_cjk_character_or_a_run_of_other_letters_and_digits(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@settings(deadline=None)
@given(st.text())
def test_no_letter_or_digit_is_lost(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert [c for token in tokens(text) for c in token if c.isalnum()] == [c for c in composed if c.isalnum()]


def test_vowel_signs_and_accents_belong_to_their_word() -> None:
    assert tokens("हिन्दी में") == ["हिन्दी", "में"]
    assert tokens("cafe\u0301") == tokens("caf\u00e9") == ["caf\u00e9"]
    assert tokens("人々") == ["人", "々"]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("two  words", "en", 2),
        ("红矮星，很小", "zh", 6),
        ("红矮 星", "zh-Hans", 4),
        ("かな", "ja", 2),
        ("ไทย", "th", 3),
        ("", "en", 0),
    ],
)
def test_length_is_in_characters_where_no_spaces_are_written_else_in_words(
    text: str, language: str, expected: int
) -> None:
    assert length(text, language) == expected


def test_a_text_has_a_shingle_for_each_run_of_13_words_or_30_characters() -> None:
    assert (SHINGLE_WORDS, SHINGLE_CHARACTERS) == (13, 30)
    assert [len(shingles(words(0, n))) for n in (0, 6, 7, 13, 14, 20)] == [0, 0, 1, 1, 2, 8]
    assert [len(shingles(characters(0, n))) for n in (14, 15, 30, 31, 40)] == [0, 1, 1, 2, 11]


def test_texts_of_4_words_or_8_characters_can_be_compared() -> None:
    assert [n for n in range(9) if comparable(words(0, n))] == [4, 5, 6, 7, 8]
    assert [n for n in range(10) if comparable(characters(0, n))] == [8, 9]


def test_short_texts_are_pairs_where_they_are_equal() -> None:
    ours = ["", words(0, 3), words(0, 4), words(0, 4), words(0, 6), words(0, 7), characters(0, 7), characters(0, 14)]
    assert list(equals(ours, [text.upper() + "!" for text in ours])) == [(2, 2), (2, 3), (4, 4), (7, 7)]
    assert list(overlaps(ours, ours)) == [(5, 5, 1.0)]  # longer ones have shingles


def test_case_and_punctuation_make_no_other_shingles() -> None:
    assert (
        shingles("Red dwarfs, again and again, are small!") == shingles("red DWARFS again and again are small") != set()
    )


def test_a_few_chinese_characters_do_not_make_a_text_chinese() -> None:
    assert len(shingles(words(0, 15) + "红矮")) == 5  # 17 tokens, by runs of 13


def test_the_share_is_of_the_shingles_of_the_smaller_text() -> None:
    # 20 words have 8 shingles; words 4 to 40 have 24; the 4 that start at words 4 to 7 are common to both
    assert list(overlaps([words(0, 20)], [words(4, 40)])) == [(0, 0, 0.5)]
    # one word less in common leaves 3 of 8
    assert list(overlaps([words(0, 20)], [words(5, 40)])) == []
    assert list(overlaps([words(0, 20)], [words(5, 40)], least=0.3)) == [(0, 0, 0.375)]


def test_chinese_texts_share_runs_of_30_characters() -> None:
    # 40 characters have 11 shingles; those that start at 3 to 10 are in the other text too
    assert list(overlaps([characters(0, 40)], [characters(3, 90)])) == [(0, 0, 8 / 11)]


def test_a_text_that_holds_another_is_a_pair_whichever_is_ours() -> None:
    short, long = words(10, 30), words(0, 100)
    assert list(overlaps([short], [long])) == [(0, 0, 1.0)]
    assert list(overlaps([long], [short])) == [(0, 0, 1.0)]


@pytest.mark.parametrize("count", range(7, 13))
def test_a_text_that_is_shorter_than_a_run_is_found_as_a_whole_in_a_longer_one(count: int) -> None:
    for before, after in ((0, 30), (9, 0), (0, 1), (20, 20)):
        holder = " ".join([words(100, 100 + before), words(0, count), words(200, 200 + after)])
        assert list(overlaps([words(0, count)], [holder])) == [(0, 0, 1.0)]
        assert list(overlaps([holder], ["", words(0, count).upper()])) == [(0, 1, 1.0)]
    broken = " ".join([words(0, count - 1), "other", words(count - 1, count)])
    assert list(overlaps([words(0, count)], [f"{broken} {words(50, 90)}"])) == []
    assert list(overlaps([words(0, count + 40)], [words(0, count - 1) + " z"])) == []


@pytest.mark.parametrize("count", [15, 20, 29])
def test_a_short_chinese_or_thai_text_is_found_as_a_whole_in_a_longer_one(count: int) -> None:
    thai = [chr(0x0E01 + n) for n in range(46)]
    for short, holder in (
        (characters(5, 5 + count), characters(0, 80)),
        ("".join(thai[5 : 5 + count]), "".join(thai + thai)),
        (characters(5, 5 + count), f"{words(0, 60)} {characters(0, 40)}"),  # in a text of words
    ):
        assert list(overlaps([short], [holder])) == list(overlaps([holder], [short])) == [(0, 0, 1.0)]


@pytest.mark.parametrize("short", [words(0, 4), words(0, 6), characters(0, 8), characters(0, 14)])
def test_texts_of_less_than_half_a_run_are_not_looked_for_in_others(short: str) -> None:
    assert list(overlaps([short], [f"{short} {words(50, 90)}", characters(50, 90) + short])) == []


def test_thai_texts_have_runs_of_30_letters() -> None:
    thai = "".join(chr(0x0E01 + n % 46) for n in range(60))
    assert (len(shingles(thai)), comparable(thai[:8]), comparable(thai[:7])) == (31, True, False)
    assert list(overlaps([thai], [f"ก{thai}ก"])) == [(0, 0, 1.0)]


def test_pairs_come_in_order_of_theirs_and_then_of_ours() -> None:
    same, other = words(0, 20), words(50, 70)
    found = list(overlaps([same, other, same, ""], ["", same, words(90, 99), other]))
    assert found == [(0, 1, 1.0), (2, 1, 1.0), (1, 3, 1.0)]


def test_empty_and_unlike_texts_overlap_with_nothing() -> None:
    assert list(overlaps(["", "..."], ["", "..."])) == []
    assert list(overlaps([], ["a"])) == list(overlaps(["a"], [])) == []
    assert list(overlaps([words(0, 30)], [words(30, 60)])) == []


@settings(deadline=None)
@given(st.lists(st.text("ab 红", max_size=30), max_size=4), st.lists(st.text("ab 红", max_size=30), max_size=4))
def test_overlap_is_symmetric_and_a_share(ours: list[str], theirs: list[str]) -> None:
    there = {(a, b, share) for a, b, share in overlaps(ours, theirs)}
    assert there == {(a, b, share) for b, a, share in overlaps(theirs, ours)}
    assert all(0.5 <= share <= 1 for _, _, share in there)


def test_overlaps_are_the_same_whatever_the_hash_seed() -> None:
    call = "from taskloom.texts import *; t = 'a b c ' * 9; print(list(overlaps([t, t + 'd'], [t, 'x ' + t])))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", call],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", ""),
        ("tree 🌳", "tree 🌳"),
        ("\ud83c\udf33", "🌳"),
        ("\ud83c", "\ufffd"),
        ("a\udf33b", "a\ufffdb"),
        ("\udf33\ud83c", "\ufffd\ufffd"),  # in the wrong order
        ("\ud83c\ud83c\udf33", "\ufffd🌳"),
        ("\ufeff\ud800", "\ufeff\ufffd"),  # a byte order mark is a character
    ],
)
def test_halves_of_a_character_are_joined_or_replaced(text: str, whole: str) -> None:
    assert without_surrogates(text) == whole


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_left_can_be_written_and_stays(text: str) -> None:
    whole = without_surrogates(text)
    assert not LONE_SURROGATE.search(whole)
    assert whole.encode().decode() == whole
    assert without_surrogates(whole) == whole
    assert whole == text or LONE_SURROGATE.search(text)


@given(st.text(st.characters(codec="ascii")))
def test_tokens_of_plain_english_are_found_by_the_same_rule(text: str):
    assert tokens(text) == tokens(f"{text} é")[:-1]


WORDS = st.sampled_from(["oak", "elm", "Ash", "fir,", "字", "木", "é"])
SEVERAL = st.lists(st.lists(WORDS, max_size=40).map(" ".join), max_size=6)


@given(SEVERAL, SEVERAL, st.integers(0, 5), st.integers(0, 20))
def test_texts_are_alike_where_they_overlap_or_are_equal(ours: list[str], theirs: list[str], of: int, start: int):
    theirs += [" ".join(ours[of % len(ours)].split()[start:])] if ours else []
    expected = {at for _, at, _ in overlaps(ours, theirs)} | {at for _, at in equals(ours, theirs)}
    assert alike(ours, theirs) == expected


@given(SEVERAL, SEVERAL, st.integers(0, 5), st.integers(0, 20))
def test_overlaps_of_many_are_those_of_few_in_the_same_order(ours: list[str], theirs: list[str], of: int, start: int):
    theirs += [" ".join(ours[of % len(ours)].split()[start:])] if ours else []
    assert list(overlaps_of_many(ours, theirs)) == list(overlaps(ours, theirs))
