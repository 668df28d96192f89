from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from taskloom.errors import SourceError, UnknownNameError, UsageError
from taskloom.messages import Note
from taskloom.sources import packages, word_lists, words
from taskloom.sources.wordnets import Synset
from taskloom.sources.words import Lexicon, lexicon

from .wordnet_files import SMALL, Made, MadeWordnet, related

Refused = Callable[..., AbstractContextManager[None]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def lists(tmp_path: Path) -> dict[str, str]:
    english, spanish = tmp_path / "english.txt", tmp_path / "spanish.tsv"
    english.write_text("dog\npolish\npoland\nleft\nDog\nunheard-of\n", encoding="utf-8")
    spanish.write_text("perro\t5\nirse\t4\npolonia\t99\n", encoding="utf-8")
    return {"eng": str(english), "spa": str(spanish)}


@pytest.fixture
def small(tmp_path: Path, lists: dict[str, str]) -> Lexicon:
    return lexicon(str(SMALL.write(tmp_path / "wordnet")), inputs=lists, sentiment="")


def true_of(of: Lexicon, name: str, value: str, language: str = "eng") -> set[str]:
    found = of.predicate(name, value, language)
    return {word for word, so in zip(of.vocabularies[language], found, strict=True) if so}


# --- relations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "word", "expected"),
    [
        ("synonyms", "dog", {"domestic dog", "canis familiaris", "puppy"}),  # whatever the case
        ("synonyms", "animal", set()),
        ("synonyms", "ox", set()),
        ("hyponyms", "animal", {"dog", "domestic dog", "canis familiaris", "puppy", "ox"}),  # and no instances
        ("hyponyms", "dog", {"puppy"}),  # of one synset, and so not "dog", which is the other's
        ("hypernyms", "puppy", {"dog", "domestic dog", "canis familiaris", "animal"}),
        ("hyponyms", "circle", {"ring"}),  # which leads back
        ("entailments", "shine", {"rub", "touch"}),
        ("antonyms", "go away", {"arrive", "get", "come"}),  # all lemmas of the antonym's synset
        ("antonyms", "good", {"bad", "evil", "badly"}),  # of single lemmas only
        ("antonyms", "left", {"arrive", "get", "come"}),  # a form of "leave"
        ("synonyms", "left", {"leave", "go away"}),
    ],
)
def test_relations_mean_what_the_released_generator_makes_of_them(
    small: Lexicon, name: str, word: str, expected: set[str]
) -> None:
    assert related(small, name, word) == expected


def test_translations_leave_out_what_is_spelled_the_same(small: Lexicon) -> None:
    assert related(small, "translate", "animal", "eng", "spa") == {"bestia"}
    assert related(small, "translate", "bestia", "spa", "eng") == {"animal"}
    assert related(small, "translate", "left", "eng", "spa") == {"irse", "marcharse"}


def test_spanish_relations_go_by_the_links_of_english_synsets(small: Lexicon) -> None:
    assert related(small, "antonyms", "bueno", "spa") == {"malo"}
    assert related(small, "hyponyms", "bestia", "spa") == {"perro", "cachorro"}
    assert related(small, "entailments", "pulir", "spa") == {"frotar"}
    assert related(small, "synonyms", "irse", "spa") == {"marcharse"}


def test_words_are_lower_case_in_order_and_have_ids(small: Lexicon) -> None:
    english = small.vocabularies["eng"]
    assert list(english) == sorted(set(english))
    assert {"canis familiaris", "polish", "go away"} <= set(english)
    assert "take a breath" not in english


# --- predicates ------------------------------------------------------------------------------------------------------


def test_a_part_of_speech_goes_by_how_a_word_is_written(small: Lexicon) -> None:
    nouns = true_of(small, "POS", "noun")
    assert "polish" not in nouns  # the noun is Polish
    assert {"poland", "fido"} <= nouns  # written so nowhere, and so whatever the case
    assert true_of(small, "POS", "adj") == true_of(small, "POS", "adjective") == {"good", "bad", "evil", "left"}
    assert true_of(small, "POS", "adverb") == {"well", "good", "badly"}
    assert true_of(small, "POS", "verb", "spa") == {"irse", "marcharse", "llegar", "frotar", "pulir"}


SCORES = """# POS\tID\tPosScore\tNegScore\tSynsetTerms\tGloss
a\t00000021\t0.75\t0\tgood#1\tfine
a\t00000022\t0\t0.625\tbad#1\tnot fine
n\t00000002\t0.25\t0.25\tdog#1\tneither
v\t00000013\t0\t0\ttouch#1\t
#\t\t\t\t
"""


def test_some_synset_of_a_word_has_the_sentiment(tmp_path: Path, lists: dict[str, str]) -> None:
    (tmp_path / "scores.txt").write_text(SCORES, encoding="utf-8")
    of = lexicon(str(SMALL.write(tmp_path / "w")), inputs=lists, sentiment=str(tmp_path / "scores.txt"))
    assert true_of(of, "sentiment", "positive") == true_of(of, "sentiment", "pos") == {"good"}
    assert true_of(of, "sentiment", "neg") == {"bad", "evil"}
    assert true_of(of, "sentiment", "none") == {"dog", "domestic dog", "canis familiaris", "touch"}
    assert set(of.unavailable) == {f"is{{sentiment={value}}}[spa]" for value in ("positive", "negative", "neutral")}


def test_without_scores_sentiment_is_unavailable_and_says_why(small: Lexicon, refused: Refused) -> None:
    assert small.unavailable["is{sentiment=positive}[eng]"] == Note.of("sentiment-unavailable")
    with refused(SourceError, "relation-unavailable", name="is{sentiment=negative}[eng]"):
        small.predicate("sentiment", "neg", "eng")


# --- words to ask about ----------------------------------------------------------------------------------------------


def test_words_to_ask_about_are_listed_and_are_no_names(small: Lexicon) -> None:
    assert [small.vocabularies["eng"][n] for n in small.inputs["eng"]] == ["dog", "left", "polish"]
    assert [small.vocabularies["spa"][n] for n in small.inputs["spa"]] == ["perro"]  # "irse" comes too seldom


@pytest.mark.parametrize("count", ["many", "9" * 5000])
def test_a_count_must_be_a_number(tmp_path: Path, count: str) -> None:
    (tmp_path / "words.tsv").write_text(f"a\t{count}\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"words\.tsv:1: a count must be an integer"):
        word_lists.words(str(tmp_path / "words.tsv"), "eng")


@pytest.mark.parametrize(
    ("spec", "kind", "code"),
    [("data:browm", UnknownNameError, "name-unknown"), ("none.txt", UsageError, "file-missing")],
)
def test_an_unknown_list_is_refused(spec: str, kind: type[UsageError], code: str, refused: Refused) -> None:
    with refused(kind, code):
        word_lists.words(spec, "eng")


def test_the_brown_corpus_is_counted_in_lower_case(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package/ca01").write_text("The/at dog/nn " * 3 + "Dog/nn-tl a/b/nn", encoding="utf-8")
    (tmp_path / "package/cr09").write_text("DOG/nn the/at", encoding="utf-8")
    assert set(word_lists._brown(tmp_path, "eng")) == {"dog"}
    with pytest.raises(UsageError):
        word_lists._brown(tmp_path, "spa")


def test_frequencies_are_cut_at_five_in_a_million(tmp_path: Path) -> None:
    import gzip

    import msgpack

    bins: list[list[str]] = [[] for _ in range(532)]
    bins[100], bins[530], bins[531] = ["el"], ["gato"], ["ornitorrinco"]
    (tmp_path / "wordfreq/data").mkdir(parents=True)
    content = gzip.compress(msgpack.packb([{"format": "cB", "version": 1}, *bins]))
    (tmp_path / "wordfreq/data/small_es.msgpack.gz").write_bytes(content)
    assert set(word_lists._wordfreq(tmp_path, "spa")) == {"el", "gato"}
    with pytest.raises(UnknownNameError):
        word_lists._wordfreq(tmp_path, "xxx")


def test_without_npm_its_data_is_replaced_and_that_is_told(
    tmp_path: Path, lists: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(packages, "get", lambda *_: tmp_path)
    monkeypatch.setattr(word_lists, "LISTS", {"wordfreq": lambda *_: iter(["dog", "puppy"])})
    assert packages.needs_npm("brown")
    assert not packages.needs_npm("wordnet")
    of = lexicon(str(SMALL.write(tmp_path / "w")), inputs={"spa": lists["spa"]})
    assert [of.vocabularies["eng"][n] for n in of.inputs["eng"]] == ["dog", "puppy"]
    assert [str(note) for note in of.notes] == [
        "'brown' needs npm, which is not installed: words come from data:wordfreq instead",
        "'sentiwordnet' needs npm, which is not installed: tasks about sentiment are unavailable",
    ]
    assert "is{sentiment=positive}[eng]" in of.unavailable


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_a_lexicon_is_made_once_and_made_again_when_it_is_damaged(
    small: Lexicon, cache: Path, lists: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder,) = (cache / "words").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(words, "wordnet", lambda *_: pytest.fail("it was made again"))
        assert lexicon(str(tmp_path / "wordnet"), inputs=lists, sentiment="").digest == small.digest
    (folder / "eng.txt").write_text("cut", encoding="utf-8")
    again = lexicon(str(tmp_path / "wordnet"), inputs=lists, sentiment="")
    assert again.vocabularies == small.vocabularies
    assert again.digest == small.digest


@pytest.mark.parametrize("damage", ["no header", "empty", "types", "columns", "rows", "names"])
def test_a_lexicon_that_is_damaged_but_has_its_sizes_is_made_again(
    small: Lexicon, cache: Path, lists: dict[str, str], tmp_path: Path, damage: str
) -> None:
    (folder,) = (cache / "words").iterdir()
    manifest = json.loads((folder / words.MANIFEST).read_text())
    number = manifest["arrays"].index("synonyms[eng].columns" if damage == "columns" else "synonyms[eng].rows")
    array = np.load(folder / f"{number}.npy")
    (folder / f"{number}.npy").unlink()  # it is mapped into memory
    if damage in ("no header", "empty"):
        (folder / f"{number}.npy").write_bytes(b"\x93NUMPY\x01\x00\x02\x00{(" if damage == "no header" else b"")
    else:
        kept = {"types": array.astype(float), "columns": array + 1000, "rows": array[::-1], "names": array}[damage]
        np.save(folder / f"{number}.npy", kept)
    manifest["arrays"] = [7] * len(manifest["arrays"]) if damage == "names" else manifest["arrays"]
    manifest["files"] = {file: (folder / file).stat().st_size for file in manifest["files"]}
    (folder / words.MANIFEST).write_text(json.dumps(manifest))
    again = lexicon(str(tmp_path / "wordnet"), inputs=lists, sentiment="")
    assert again.digest == small.digest
    assert again.relation("synonyms", "eng", "eng").nnz == small.relation("synonyms", "eng", "eng").nnz


def test_a_language_without_words_has_empty_tables(tmp_path: Path, lists: dict[str, str]) -> None:
    folder = SMALL.write(tmp_path / "w")
    (folder / "wn-data-spa.tab").write_text("", encoding="utf-8")
    found = lexicon(str(folder), inputs=lists, sentiment="")
    assert found.vocabularies["spa"] == ()
    assert found.relation("translate", "eng", "spa").shape == (len(found.vocabularies["eng"]), 0)


def test_other_files_are_another_lexicon(small: Lexicon, tmp_path: Path, lists: dict[str, str]) -> None:
    Path(lists["eng"]).write_text("dog\n", encoding="utf-8")
    assert lexicon(str(tmp_path / "wordnet"), inputs=lists, sentiment="").digest != small.digest


def test_a_digest_is_the_same_under_any_hash_seed(small: Lexicon, tmp_path: Path, lists: dict[str, str]) -> None:
    program = (
        "import sys; from taskloom.sources.words import lexicon\n"
        f"print(lexicon({str(tmp_path / 'wordnet')!r}, inputs={lists!r}, sentiment='').digest)"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "TASKLOOM_CACHE": str(tmp_path / "other")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == small.digest


# --- bad input -------------------------------------------------------------------------------------------------------


def test_a_wrong_language_or_relation_is_refused(small: Lexicon, tmp_path: Path, refused: Refused) -> None:
    with refused(UnknownNameError, "name-unknown", what="language", name="deu"):
        small.relation("synonyms", "deu", "deu")
    with refused(UnknownNameError, "name-unknown", name="synonyms[eng->spa]"):
        small.relation("synonyms", "eng", "spa")
    with refused(UnknownNameError, "name-unknown", name="is{POS=noum}[eng]"):
        small.predicate("POS", "noum", "eng")
    with refused(UnknownNameError, "name-unknown", what="language", name="deu"):
        lexicon(str(tmp_path / "wordnet"), languages=("eng", "deu"), inputs={"deu": "list.txt"}, sentiment="")
    with refused(UsageError, "word-list-needed"):
        lexicon(str(tmp_path / "wordnet"), languages=("eng", "glg"), sentiment="")
    with refused(UnknownNameError, "name-unknown", what="source of words"):
        words.wordnet("data:papers")


def test_a_folder_without_wordnet_is_refused(tmp_path: Path, lists: dict[str, str], refused: Refused) -> None:
    with refused(SourceError, "not-wordnet", file="data.noun"):
        lexicon(str(tmp_path), languages=("eng",), inputs={"eng": lists["eng"]}, sentiment="")


@pytest.mark.parametrize("line", ["00000009 03 n 01 cut", "x 03 n 01 dog 0 000 | g", "00000009 03 n 02 dog 0 001 | g"])
def test_a_line_in_another_format_is_told(tmp_path: Path, line: str, refused: Refused) -> None:
    folder = MadeWordnet([Made("00000001-n", "dog")]).write(tmp_path / "w")
    with (folder / "data.noun").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with refused(SourceError, "wordnet-malformed", line=3):
        words.wordnet(str(folder), ("eng",))


def test_a_table_of_translations_in_another_format_is_told(tmp_path: Path, refused: Refused) -> None:
    folder = SMALL.write(tmp_path / "w")
    (folder / "wn-data-spa.tab").write_text("00000001-n\tlemma\tanimal\n00000001-n;bestia\n", encoding="utf-8")
    with refused(SourceError, "wordnet-malformed", line=2):
        words.wordnet(str(folder))


def test_a_synset_is_read_whole() -> None:
    made = Made("00000014-v", "leave, go away", [("!", "00000015-v", True)], "depart; as here")
    folder_line = made.line()
    from taskloom.sources.wordnets import Pointer, _synset

    expected = Synset("00000014-v", ("leave", "go away"), (Pointer("!", "00000015-v", True),), "depart; as here")
    assert _synset(folder_line.rstrip("\n")) == expected
