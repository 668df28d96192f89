from __future__ import annotations

from typing import Any

import pytest

from taskloom.sources.guess import Guess, _as_number, guess


def one(values: list[Any], name: str = "c") -> Guess:
    (found,) = guess([{name: value} for value in values])
    return found


SENTENCES = [f"a sentence, number {n}, that nobody has written before" for n in range(40)]


@pytest.mark.parametrize(
    ("name", "values", "holds", "code"),
    [
        ("text", SENTENCES, "text", "guess-text"),
        ("label", ["spam", "ham"] * 20, "label", "guess-label"),
        ("y", [0, 1] * 20, "label", "guess-label-numbers"),
        ("stars", ["1", "2", "3", "4", "5"] * 8, "label", "guess-label-numbers"),
        ("label", [n % 31 for n in range(620)], "label", "guess-label-numbers"),
        ("done", [True, False] * 20, "label", "guess-label"),
        ("year", list(range(1990, 2010)) * 2, "number", "guess-number"),
        ("price", [n + 0.5 for n in range(40)], "number", "guess-number"),
        ("price", [f"{n}.25" for n in range(40)], "number", "guess-number"),
        ("keywords", [["a", "b"], ["c"]] * 20, "list", "guess-list"),
        ("keywords", ['["a", "b"]', '["c"]'] * 20, "list", "guess-list-json"),
        ("keywords", ["graph; tree", "tree; forest; oak"] * 20, "list", "guess-list-separator"),
        ("genres", ["Action|Drama", "Drama|Comedy"] * 20, "list", "guess-list-separator"),
        ("genres", [f"Action, Drama, G{n % 7}" for n in range(40)], "list", "guess-list-separator"),
        ("doc_id", list(range(40)), "id", "guess-id-name"),
        ("doi", [f"10.1/{n}" for n in range(40)], "id", "guess-id-name"),
        ("paper", [f"arXiv:{n}.001" for n in range(40)], "id", "guess-id-values"),
        ("split", ["train", "dev", "test", "train"] * 10, "split", "guess-split"),
        ("subset", ["train", "test"] * 20, "split", "guess-split"),
        ("url", [f"https://example.org/{n}" for n in range(40)], "unused", "guess-addresses"),
        ("date", [f"2024-01-{n + 1:02}" for n in range(28)], "unused", "guess-dates"),
        ("source", ["web"] * 40, "unused", "guess-constant"),
        ("notes", ["x", *[None] * 99], "unused", "guess-empty"),
        ("meta", [{"a": 1}] * 40, "unused", "guess-nested"),
        ("both", ["a", ["b"]] * 20, "unused", "guess-mixed"),
        ("", list(range(40)), "unused", "guess-row-numbers"),
        ("title", ["\u7814\u7a76\u4e86\u57ce\u5e02" + chr(0x4E00 + n) for n in range(40)], "text", "guess-text"),
    ],
)  # fmt: skip
def test_a_column_is_known_by_its_name_and_values(name: str, values: list[Any], holds: str, code: str):
    found = one(values, name)
    assert (found.holds, found.why.code) == (holds, code)
    assert str(found.why) != code


def test_a_separator_is_the_one_between_terms():
    assert one(["Action|Drama", "Drama|Comedy"] * 9).separator == "|"
    assert one(["graph; tree", "tree; oak"] * 9).separator == "; "


def test_languages_are_told_by_their_script():
    assert one(["\u7814\u7a76\u57ce\u5e02\u9053\u8def" + chr(0x4E00 + n) for n in range(9)]).language == "zh"
    assert one(["\u3053\u308c\u306f\u672c\u3067\u3059" + chr(0x4E00 + n) for n in range(9)]).language == "ja"
    assert one(SENTENCES).language == ""


def test_validation_rows_are_the_test_rows_where_there_are_no_others():
    assert one(["train", "validation"] * 9).pools == {"validation": "test"}
    assert one(["train", "validation", "test"] * 9).pools == {}


def test_one_column_is_the_id_and_one_the_split():
    rows = [{"id": n, "other_id": n + 50, "split": part, "part": part} for n, part in enumerate(["train", "test"] * 9)]
    assert [found.holds for found in guess(rows)] == ["id", "unused", "split", "unused"]


def test_a_column_that_some_rows_lack_is_judged_by_the_others():
    rows: list[dict[str, Any]] = [{"text": text} for text in SENTENCES]
    rows += [{"text": f"{text} again", "label": "ab"[n % 2]} for n, text in enumerate(SENTENCES)]
    assert [found.holds for found in guess(rows)] == ["text", "label"]


def test_a_long_row_of_digits_that_is_no_number_is_told_at_once():
    assert _as_number("1" * 200_000 + "x") is None  # by an expression that goes back, it takes minutes
    assert [_as_number(text) for text in ("1.", "1.5", ".5", "-2e3", "1.e1", ".", "1..2")] == [
        1.0, 1.5, 0.5, -2000.0, 10.0, None, None,
    ]  # fmt: skip
