"""Chat templates are programs of others: they end, and what they raise is told."""

from __future__ import annotations

import resource
from concurrent.futures import ThreadPoolExecutor
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


USUAL = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"


def test_a_usual_template_is_rendered_and_special_tokens_are_known_to_it():
    assert rendered(with_template(USUAL), ASKED) == "<user>Hello<assistant>"
    of = with_template("{{ bos_token }}{{ messages[0].content }}")
    of.add_special_tokens({"bos_token": "<s>"})
    assert rendered(of, [{"role": "user", "content": "half \ud83c, 中\n"}]) == "<s>half \ud83c, 中\n"


NESTING = (
    "{% set n = namespace(x=(1,), y=(1,)) %}"
    "{% for i in range(60) %}{% set n.x = (n.x, n.x) %}{% set n.y = (n.y, n.y) %}{% endfor %}{{ n.x == n.y }}"
)
ENDLESS = (
    "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
    '{{ ([range(100000)] * 5000)|map("sum")|sum }}',
    NESTING,  # no line is run meanwhile, nor any of Python
)


@pytest.mark.parametrize("template", ENDLESS)
def test_a_template_that_does_not_end_is_stopped(refused: Refused, template: str):
    with refused(ModelError, "chat-template-endless"):
        rendered(with_template(template), ASKED)


def test_a_template_that_another_thread_renders_is_stopped_too_and_the_next_is_rendered(refused: Refused):
    with refused(ModelError, "chat-template-endless"), ThreadPoolExecutor(1) as pool:
        pool.submit(rendered, with_template(NESTING), ASKED).result()
    assert rendered(with_template(USUAL), ASKED) == "<user>Hello<assistant>"


def test_a_template_that_writes_too_much_is_refused(refused: Refused):
    with refused(ModelError, "chat-template-endless"):
        rendered(with_template("{{ 'a' * 20000000 }}"), ASKED)


def test_threads_get_the_replies_to_what_they_asked():
    asked: list[list[Any]] = [[{"role": "user", "content": str(n)}] for n in range(200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda turns: rendered(with_template(USUAL), turns), asked))
    assert found == [f"<user>{n}<assistant>" for n in range(200)]


@pytest.mark.parametrize(
    "template", ["{{ raise_exception('no') }}", "{{ 1 / 0 }}", "{% if %}", "{{ x.y.z }}", "{{ range(1000000000) }}"]
)
def test_a_template_that_fails_is_refused(template: str, refused: Refused):
    with refused(ModelError, "chat-template-broken"):
        rendered(with_template(template), ASKED)


DOUBLING = "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}"
LARGE = (
    "{{ 'a' * 90000000000 }}", "{{ [1] * 90000000000 }}", "{{ 'a'|center(90000000000) }}", "{{ '%90000000000d' % 1 }}",
    "{{ 'a'.ljust(90000000000) }}", "{{ '{:90000000000}'.format(1) }}", DOUBLING, "{{ 7 * 10 ** 5000 }}",
)  # fmt: skip


@pytest.mark.parametrize("template", LARGE)
def test_a_template_that_takes_much_memory_is_refused(template: str, refused: Refused):
    before = resource.getrlimit(resource.RLIMIT_AS)
    with refused(ModelError, "chat-template-broken"):
        rendered(with_template(template), ASKED)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


SQUARING = "{% set n = namespace(x=3) %}{% for i in range(60) %}{% set n.x = n.x * n.x %}{% endfor %}"


@pytest.mark.parametrize("template", [SQUARING, "{{ 10 ** (10 ** 9) }}"])
def test_a_template_that_multiplies_large_integers_is_stopped(template: str, refused: Refused):
    with refused(ModelError, "chat-template-endless"):
        rendered(with_template(template), ASKED)
