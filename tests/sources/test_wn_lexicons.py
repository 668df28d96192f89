from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from taskloom.errors import SourceError, UnknownNameError
from taskloom.sources.words import Lexicon, lexicon

from .wordnet_files import related

wn = pytest.importorskip("wn")
Refused = Callable[..., AbstractContextManager[None]]

FORM = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">
<LexicalResource xmlns:dc="https://globalwordnet.github.io/schemas/dc/">{}</LexicalResource>
"""
ENGLISH = """<Lexicon id="omw-en" label="made up" language="en" email="a@b.c" license="CC0" version="9">
<LexicalEntry id="e1"><Lemma writtenForm="dog" partOfSpeech="n"/>
  <Sense id="s1" synset="omw-en-00000002-n"/></LexicalEntry>
<LexicalEntry id="e2"><Lemma writtenForm="animal" partOfSpeech="n"/>
  <Sense id="s2" synset="omw-en-00000001-n"/></LexicalEntry>
<LexicalEntry id="e3"><Lemma writtenForm="ox" partOfSpeech="n"/><Form writtenForm="oxen"/>
  <Sense id="s3" synset="omw-en-00000004-n"/></LexicalEntry>
<LexicalEntry id="e4"><Lemma writtenForm="good" partOfSpeech="a"/>
  <Sense id="s4" synset="omw-en-00000021-a"><SenseRelation relType="antonym" target="s5"/></Sense></LexicalEntry>
<LexicalEntry id="e5"><Lemma writtenForm="bad" partOfSpeech="s"/>
  <Sense id="s5" synset="omw-en-00000022-s"/></LexicalEntry>
<LexicalEntry id="e6"><Lemma writtenForm="oxen" partOfSpeech="v"/>
  <Sense id="s6" synset="omw-en-00000031-v"/></LexicalEntry>
<Synset id="omw-en-00000001-n" ili="i1" partOfSpeech="n"><SynsetRelation relType="hyponym" target="omw-en-00000002-n"/>
  <SynsetRelation relType="hyponym" target="omw-en-00000004-n"/></Synset>
<Synset id="omw-en-00000002-n" ili="i2" partOfSpeech="n">
  <SynsetRelation relType="hypernym" target="omw-en-00000001-n"/></Synset>
<Synset id="omw-en-00000004-n" ili="i4" partOfSpeech="n"/>
<Synset id="omw-en-00000021-a" ili="i21" partOfSpeech="a"/>
<Synset id="omw-en-00000022-s" ili="i22" partOfSpeech="s"/>
<Synset id="omw-en-00000031-v" ili="i31" partOfSpeech="v"/>
</Lexicon>"""
SPANISH = """<Lexicon id="{0}" label="inventado" language="es" email="a@b.c" license="CC0" version="9">
<LexicalEntry id="f1"><Lemma writtenForm="perro" partOfSpeech="n"/>
  <Sense id="t1" synset="{0}-00000002-n"/></LexicalEntry>
<LexicalEntry id="f2"><Lemma writtenForm="bestia" partOfSpeech="n"/>
  <Sense id="t2" synset="{0}-00000001-n"/></LexicalEntry>
<LexicalEntry id="f3"><Lemma writtenForm="malo" partOfSpeech="a"/>
  <Sense id="t3" synset="{0}-00000022-s"/></LexicalEntry>
<LexicalEntry id="f4"><Lemma writtenForm="bueno" partOfSpeech="a"/>
  <Sense id="t4" synset="{0}-00000021-a"/></LexicalEntry>
<Synset id="{0}-00000001-n" ili="i1" partOfSpeech="n"/>
<Synset id="{0}-00000002-n" ili="i2" partOfSpeech="n"/>
<Synset id="{0}-00000021-a" ili="i21" partOfSpeech="a"/>
<Synset id="{0}-00000022-s" ili="i22" partOfSpeech="s"/>
</Lexicon>"""
SCORES = "a\t00000022\t0\t0.625\tbad#1\tnot fine\n"


@pytest.fixture
def lexicons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data base of wn with three made-up lexicons."""
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    before = wn.config.data_directory
    wn.config.data_directory = tmp_path / "wn"
    for name, content in (
        ("en", ENGLISH),
        ("es", SPANISH.format("omw-es")),
        ("other", SPANISH.format("mcr-es").replace('id="f', 'id="g').replace('id="t', 'id="u')),
    ):
        (tmp_path / f"{name}.xml").write_text(FORM.format(content), encoding="utf-8")
        wn.add(tmp_path / f"{name}.xml", progress_handler=None)
    (tmp_path / "words.txt").write_text("dog\nperro\n", encoding="utf-8")
    (tmp_path / "scores.txt").write_text(SCORES, encoding="utf-8")
    yield tmp_path
    wn.config.data_directory = before


def opened(folder: Path, names: str) -> Lexicon:
    listed = str(folder / "words.txt")
    return lexicon(f"wn:{names}", inputs={"eng": listed, "spa": listed}, sentiment=str(folder / "scores.txt"))


@pytest.mark.parametrize("spanish", ["omw-es:9", "mcr-es:9"])  # the same offsets, or the same inter-lingual index
def test_lexicons_of_wn_are_a_source(lexicons: Path, spanish: str) -> None:
    of = opened(lexicons, f"omw-en:9 {spanish}")
    assert related(of, "hyponyms", "animal", "eng", "eng") == {"dog", "ox"}
    assert related(of, "hyponyms", "bestia", "spa", "spa") == {"perro"}
    assert related(of, "translate", "dog", "eng", "spa") == {"perro"}
    assert related(of, "antonyms", "bueno", "spa", "spa") == {"malo"}
    assert related(of, "hypernyms", "oxen", "eng", "eng") == set()
    assert related(of, "synonyms", "oxen", "eng", "eng") == {"ox"}  # a form that is listed
    assert [of.vocabularies["eng"][n] for n in of.inputs["eng"]] == ["dog"]
    assert ("is{sentiment=negative}[eng]" in of.unavailable) == (spanish != "omw-es:9")  # scores go by offsets


def test_a_lexicon_that_wn_does_not_have_is_refused(lexicons: Path, refused: Refused) -> None:
    with refused(SourceError, "wn-lexicon-missing", names="oewn:2030"):
        opened(lexicons, "oewn:2030")
    with refused(UnknownNameError, "name-unknown", what="language", name="spa"):
        opened(lexicons, "omw-en:9")


def test_without_wn_its_extra_is_named(lexicons: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused) -> None:
    monkeypatch.setitem(sys.modules, "wn", None)
    with refused(SourceError, "wn-missing"):
        opened(lexicons, "omw-en:9")
