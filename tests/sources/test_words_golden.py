"""Golden cases of WordNet 3.0: read off its data files by offset (index.* to data.*, with no code of taskloom)."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskloom.errors import FetchError
from taskloom.sources.words import Lexicon, lexicon

from .wordnet_files import related

GOLDEN = [
    ("synonyms[eng]", "car",
     "auto, automobile, cable car, elevator car, gondola, machine, motorcar, railcar, railroad car, railway "
     "car"),
    ("synonyms[eng]", "dog",
     "andiron, blackguard, bounder, cad, canis familiaris, chase, chase after, click, detent, dog-iron, "
     "domestic dog, firedog, frank, frankfurter, frump, give chase, go after, heel, hot dog, hotdog, hound, "
     "pawl, tag, tail, track, trail, weenie, wiener, wienerwurst"),
    ("synonyms[eng]", "quickly", "apace, chop-chop, cursorily, promptly, quick, rapidly, speedily"),
    ("synonyms[eng]", "happy", "felicitous, glad, well-chosen"),
    ("synonyms[eng]", "purchase", "buy, leverage"),
    ("synonyms[eng]", "oxen", "bos taurus, cattle, cows, kine, ox, wild ox"),
    ("synonyms[eng]", "bones",
     "bone, bone up, castanets, clappers, cram, debone, drum, finger cymbals, get up, grind away, ivory, mug "
     "up, off-white, os, osseous tissue, pearl, swot, swot up"),
    ("synonyms[eng]", "eternity", "infinity, timeless existence, timelessness"),
    ("synonyms[eng]", "pillow", "rest"),
    ("antonyms[eng]", "hot", "cold"),
    ("antonyms[eng]", "long", "forgetful, short, unretentive"),
    ("antonyms[eng]", "good", "bad, badly, badness, evil, evilness, ill, poorly"),
    ("antonyms[eng]", "buy", "sell"),
    ("antonyms[eng]", "up", "down, downward, downwardly, downwards"),
    ("antonyms[eng]", "inside", "alfresco, exterior, out of doors, outdoors, outside, outwardly"),
    ("antonyms[eng]", "quickly", "easy, slow, slowly, tardily"),
    ("antonyms[eng]", "ascend", "come down, descend, fall, go down, go under, set"),
    ("hyponyms[eng]", "stroll", "meander, ramble, walkabout"),
    ("hyponyms[eng]", "guitar",
     "acoustic guitar, bass guitar, cither, cithern, citole, cittern, electric guitar, gittern, hawaiian "
     "guitar, steel guitar, uke, ukulele"),
    ("hyponyms[eng]", "violin", "amati, guarnerius, strad, stradavarius"),
    ("hyponyms[eng]", "spoon",
     "dessert spoon, iced-tea spoon, runcible spoon, soup spoon, soupspoon, sugar shell, sugar spoon, "
     "tablespoon, tea maker, teaspoon, wooden spoon"),
    ("hyponyms[eng]", "chess", "shogi"),
    ("hyponyms[eng]", "sonnet",
     "elizabethan sonnet, english sonnet, italian sonnet, petrarchan sonnet, shakespearean sonnet, spenserian "
     "sonnet"),
    ("hyponyms[eng]", "whisper", "stage whisper"),
    ("hypernyms[eng]", "stroll",
     "abstract entity, abstraction, act, action, change, deed, entity, event, go, human action, human "
     "activity, locomote, motion, move, movement, psychological feature, travel, traveling, travelling, walk"),
    ("entailments[eng]", "snore", "catch some z's, kip, log z's, sleep, slumber"),
    ("entailments[eng]", "buy", "choose, pay, pick out, select, take"),
    ("entailments[eng]", "walk", "step"),
    ("entailments[eng]", "live", "be, exist"),
    ("entailments[eng]", "eat", "chew, get down, jaw, manducate, masticate, swallow"),
    ("entailments[eng]", "limp", ""),
    ("entailments[eng]", "chew", ""),
    ("translate[eng->spa]", "dog", "can, frankfurt, perro, rastrear"),
    ("translate[eng->spa]", "house",
     "albergar, alojar, casa, comunidad religiosa, cámara, dar alojamiento, domiciliar, empresa, familia, "
     "firma, hogar, hospedar, teatro"),
    ("translate[eng->spa]", "river", "río"),
    ("translate[eng->spa]", "animal", "bestia, criatura, fauna"),
    ("translate[eng->spa]", "slowly", ""),
    ("translate[eng->spa]", "snow", "blow, c, caramelo, charles percy snow, coca, nevar, nieve"),
    ("translate[spa->eng]", "perro",
     "bum, canis familiaris, crumb, dirty dog, dog, domestic dog, git, lowlife, puke, rat, rotter, scum bag, "
     "skunk, so-and-so, stinker, stinkpot"),
    ("translate[spa->eng]", "lluvia", "cascade, rain, rainfall, rainwater, shower"),
    ("translate[spa->eng]", "casa",
     "abode, business firm, diggings, digs, domicile, domiciliation, dwelling, dwelling house, family, firm, "
     "habitation, home, house, household, lodgings, maker, manufacturer, manufacturing business, menage, pad, "
     "place"),
    ("translate[spa->eng]", "madera", "lumber, nature, timber, wood"),
    ("synonyms[spa]", "casa",
     "alojamiento, domiciliación, domicilio, empresa, familia, firma, habitáculo, hogar, morada, país, "
     "pensión, piso, residencia, trincheras, vivienda"),
    ("synonyms[spa]", "rápido", "animado, dinámico, enérgico, ligero, pronto, superficial, veloz, ágil"),
    ("synonyms[spa]", "comenzar",
     "anteceder, embarcarse en, empezar, iniciar, iniciarse, introducer, introducir, originar, preceder, "
     "principiar"),
    ("antonyms[spa]", "caliente", ""),
    ("antonyms[spa]", "subir", "bajar, descender"),
    ("antonyms[spa]", "bueno", "maldad, malo, malvado, triste"),
    ("hyponyms[spa]", "guitarra", "citole"),
    ("hyponyms[spa]", "silla",
     "butaca, chaise, chaise longue, cátedra, diván, fauteuil, mecedor, meridiana, poltrona, silla de baño, "
     "silla de ruedas, silla mecedora, sillón, trono"),
    ("entailments[spa]", "comprar", "abonar, coger, elegir, escoger, pagar, seleccionar"),
]  # fmt: skip


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Lexicon:
    lists: dict[str, str] = {}
    for language, word in (("eng", "dog"), ("spa", "perro")):
        path: Path = tmp_path_factory.mktemp("lists") / f"{language}.txt"
        path.write_text(f"{word}\n", encoding="utf-8")
        lists[language] = str(path)
    try:
        return lexicon(inputs=lists, sentiment="")
    except FetchError as error:
        pytest.skip(f"WordNet can't be fetched: {error}")


@pytest.mark.parametrize(("relation", "word", "expected"), GOLDEN, ids=[f"{name} {word}" for name, word, _ in GOLDEN])
def test_a_relation_of_wordnet(real: Lexicon, relation: str, word: str, expected: str) -> None:
    name, _, languages = relation.rstrip("]").partition("[")
    source, _, target = languages.partition("->")
    assert related(real, name, word, source, target) == set(filter(None, expected.split(", ")))


@pytest.mark.parametrize(
    ("value", "words", "others"),
    [
        ("noun", "dog bones eight culture left", "quickly happy unable"),
        ("verb", "dog breed switch cling polish", "oxen happy eternity"),
        ("adj", "sullen direct inexpensive left", "polish quickly dog"),
        ("adv", "quickly well left", "dog cling"),
    ],
)
def test_a_part_of_speech_of_wordnet(real: Lexicon, value: str, words: str, others: str) -> None:
    found = dict(zip(real.vocabularies["eng"], real.predicate("POS", value, "eng"), strict=True))
    assert all(found[word] for word in words.split())
    assert not any(found[word] for word in others.split() if word in found)


def test_all_of_wordnet_is_there(real: Lexicon) -> None:
    assert {language: len(words) for language, words in real.vocabularies.items()} == {"eng": 147_306, "spa": 36_371}
    closed = real.relation("hyponyms", "eng", "eng")
    entity = real.vocabularies["eng"].index("entity")
    assert closed.indptr[entity + 1] - closed.indptr[entity] == 104_363
