"""Chat templates are programs of others: they end, and what they raise is told."""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING, Any

import pytest
import transformers as hf
from tokenizers import Tokenizer, models

from taskloom.errors import ModelError
from taskloom.models.chat_templates import rendered

if TYPE_CHECKING:
    from ..conftest import Refused

ASKED: list[Any] = [{"role": "user", "content": "Hello"}]


def with_template(template: str) -> Any:
    made = hf.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"?": 0}, unk_token="?")))
    made.chat_template = template
    return made


def test_a_usual_template_is_rendered_and_nothing_is_traced_after():
    usual = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
    assert rendered(with_template(usual), ASKED) == "<user>Hello<assistant>"
    assert sys.gettrace() is None or sys.gettrace().__module__ != rendered.__module__


def test_a_template_that_does_not_end_is_stopped(refused: Refused):
    loop = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}"
    with refused(ModelError, "chat-template-endless"):
        rendered(with_template(loop), ASKED)


@pytest.mark.parametrize(
    "template", ["{{ raise_exception('no') }}", "{{ 1 / 0 }}", "{% if %}", "{{ x.y.z }}", "{{ range(1000000000) }}"]
)
def test_a_template_that_fails_is_refused(template: str, refused: Refused):
    with refused(ModelError, "chat-template-broken"):
        rendered(with_template(template), ASKED)


DOUBLING = "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}"
SQUARING = "{% set n = namespace(x=3) %}{% for i in range(60) %}{% set n.x = n.x * n.x %}{% endfor %}"
LARGE = (
    "{{ 'a' * 90000000000 }}", "{{ [1] * 90000000000 }}", "{{ 'a'|center(90000000000) }}", "{{ '%90000000000d' % 1 }}",
    "{{ 'a'.ljust(90000000000) }}", "{{ '{:90000000000}'.format(1) }}", DOUBLING, SQUARING, "{{ 10 ** (10 ** 9) }}",
    "{{ 7 * 10 ** 5000 }}",
)  # fmt: skip


@pytest.mark.parametrize("template", LARGE)
def test_a_template_that_takes_much_memory_is_refused(template: str, refused: Refused):
    before = resource.getrlimit(resource.RLIMIT_AS)
    with refused(ModelError, "chat-template-broken"):
        rendered(with_template(template), ASKED)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_small_numbers_and_texts_are_multiplied_as_usual():
    assert rendered(with_template("{{ 6 * 7 }} {{ 2 ** 10 }} {{ '=' * 3 }} {{ 0.5 * 4 }}"), ASKED) == "42 1024 === 2.0"
