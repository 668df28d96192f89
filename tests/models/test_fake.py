from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taskloom.errors import ModelError, UnknownNameError
from taskloom.models import Decoding, LanguageModel, Odds, Reply, Usage
from taskloom.models.fake import CONTEXT, LESSONS, Fake
from taskloom.models.fake_vectors import VECTORS, read_moves
from taskloom.models.load import source
from taskloom.models.vector_lessons import GROUPS, groups_in

PLAIN = Decoding(tokens=4)
PROMPTS = ["one two", "three\nfour five", ""]


def fake(name: str) -> LanguageModel:
    return source(f"fake:{name}").open(Path())


def test_an_echo_writes_the_last_line_that_has_something():
    assert fake("echo").generate(["one\ntwo three\n\n"], PLAIN) == [Reply("two three", 2)]
    assert fake("echo").generate([""], PLAIN) == [Reply("", 0)]


def test_an_echo_has_tokens_and_stops():
    assert fake("echo").generate(["a b c d e f"], PLAIN) == [Reply("a b c d", 4, ended=False)]
    assert fake("echo").generate(["a b c d e f"], Decoding(tokens=4, stop=(" c",))) == [Reply("a b", 4)]


def test_an_echo_likes_the_words_of_the_last_line_and_then_short_ones():
    found = fake("echo").score(["cats\nDogs bark"], [["cats", "dogs", "dogs bark", "bark loud"]], PLAIN)
    assert found == [Odds((-1.004, -0.004, -0.009, -1.009), (1, 1, 2, 2))]


@pytest.mark.parametrize("name", ["echo", "noise"])
def test_a_fake_gives_the_same_alone_and_beside_others(name: str):
    options = [["a", "b"]] * 3
    assert fake(name).generate(PROMPTS, PLAIN) == [fake(name).generate([prompt], PLAIN)[0] for prompt in PROMPTS]
    alone = [fake(name).score([prompt], [["a", "b"]], PLAIN)[0] for prompt in PROMPTS]
    assert fake(name).score(PROMPTS, options, PLAIN) == alone


def test_noise_is_of_the_prompt_and_differs_between_prompts():
    (reply,) = fake("noise").generate(["some words to draw from"], Decoding(tokens=9))
    assert reply is not None
    assert set(reply.text.split()) <= {"some", "words", "to", "draw", "from"}
    assert reply.tokens == 5
    found = fake("noise").score([f"prompt {n}" for n in range(200)], [["a", "b"]] * 200, PLAIN)
    firsts = sum(odds.logs[0] > odds.logs[1] for odds in found if odds)
    assert 70 < firsts < 130


def test_what_a_fake_reads_and_writes_is_counted():
    model = fake("echo")
    model.generate(["one two three"], Decoding(tokens=2))
    model.score(["one"], [["two", "three four"]], PLAIN)
    assert model.usage == Usage(read=7, written=2, computed=9)


def test_a_fake_has_a_context():
    model = fake("echo")
    assert model.fits("word " * (CONTEXT - 4), PLAIN)
    assert not model.fits("word " * (CONTEXT - 3), PLAIN)


def test_a_fake_is_named_and_an_unknown_one_refused():
    assert Fake(load="fake:echo").identity() == "fake:echo"
    with pytest.raises(UnknownNameError, match="unknown fake: 'ecco'; did you mean echo"):
        source("fake:ecco")
    with pytest.raises(UnknownNameError, match="unknown option: 'dtype'"):
        source("fake:echo", {"dtype": "float32"})


def test_random_vectors_are_of_the_text_alone_and_say_nothing_of_it():
    of = source("fake:random")
    encoder = of.open_encoder(Path())  # type: ignore[attr-defined]
    found = encoder.encode(["owl", "owls", "owl"])
    assert found.shape == (3, encoder.width)
    assert (found[0] == found[2]).all()
    assert np.abs(found).max() < 1
    assert abs(np.corrcoef(found[0], found[1])[0, 1]) < 0.2
    assert found[0, :3].tolist() == pytest.approx([0.0411529541, -0.4237518311, 0.0475921631])
    assert (set(of.can), encoder.forms, encoder.take(["owl"])[1]) == ({"vectors"}, (), [0])


@pytest.mark.parametrize("kept", [b"", b"3", b"[[1]]", b'{"": 1}', b'{"": {"a": [1]}}', b"[" * 5000])
def test_what_training_kept_is_refused_where_it_is_damaged(tmp_path: Path, kept: bytes):
    for name in (LESSONS, VECTORS, GROUPS):
        (tmp_path / name).write_bytes(kept)
    pupil: Any = source("fake:pupil")
    for read in (lambda: pupil.open_trained(tmp_path, [tmp_path]), lambda: read_moves([tmp_path])):
        with pytest.raises(ModelError) as refused:
            read()
        assert refused.value.note.code == "weights-unreadable"
    if not kept.startswith(b"{"):
        with pytest.raises(ModelError):
            groups_in([tmp_path])
