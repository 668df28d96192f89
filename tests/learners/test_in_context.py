from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskloom.core import Answer, Example, Fields, Item, Labels, Number, Output, Ranking, Shown, Task, Terms, Text
from taskloom.errors import TaskloomError, UnknownNameError, UsageError
from taskloom.learners import Response, can_do, learner
from taskloom.learners.in_context import InContext
from taskloom.learners.toolbox import Toolbox
from taskloom.messages import Note
from taskloom.models import Decoding, Message, Odds, Prompt, Reply, Usage, prompt_text
from taskloom.models.load import source

YES_NO = Labels(("yes", "no"))
SUPPORT = [("red wine", "yes"), ("blue sea", "no"), ("red rose", "yes"), ("green sea weed", "no"), ("red sun", "yes")]


class Recorder:
    """A model that keeps what it was asked, and answers as it is told."""

    def __init__(self, answer: Callable[[str], Reply | None] | None = None, room: int = 10**6) -> None:
        self.usage, self.prompts, self.batches = Usage(), list[str](), list[int]()
        self.options, self.decodings = list[list[str]](), list[Decoding]()
        self.answer = answer or (lambda _: Reply("yes", 1))
        self.odds: Callable[[str], Odds | None] = lambda _: Odds((-1.0, -2.0), (1, 1))
        self.room = room  # words

    def fits(self, prompt: Prompt, decoding: Decoding) -> bool:
        return len(prompt_text(prompt).split()) <= self.room

    def generate(self, prompts: Sequence[Prompt], decoding: Decoding) -> list[Reply | None]:
        self._note(prompts, decoding)
        return [self.answer(prompt_text(prompt)) for prompt in prompts]

    def score(
        self, prompts: Sequence[Prompt], options: Sequence[Sequence[str]], decoding: Decoding
    ) -> list[Odds | None]:
        self._note(prompts, decoding)
        self.options += [list(each) for each in options]
        return [self.odds(prompt_text(prompt)) for prompt in prompts]

    def _note(self, prompts: Sequence[Prompt], decoding: Decoding) -> None:
        self.prompts += map(prompt_text, prompts)
        self.batches.append(len(prompts))
        self.decodings.append(decoding)


def plain(**options: Any) -> InContext:
    return InContext(**{"template": "plain", "calibrate": False, **options})


def said(found: Any) -> list[Answer | None]:
    return [response.answer for response in found]


def task(output: Output = YES_NO, **more: Any) -> Task:
    return Task(id="t", instruction="Is it?", output=output, metrics=(), **more)


def examples(pairs: Sequence[tuple[str, Any]]) -> list[Example]:
    return [Example(Item(f"s{n}", {"text": text}), (gold,), f"s{n}") for n, (text, gold) in enumerate(pairs)]


def asked(
    how: InContext,
    model: Recorder,
    *questions: str,
    of: Task | None = None,
    support: Sequence[tuple[str, Any]] = SUPPORT,
    seed: int = 0,
) -> tuple[list[Answer | None], dict[str, int]]:
    tools = Toolbox({}, lambda _: model)
    fitted = how.fit(of or task(), examples(support), (), seed=seed, tools=tools)
    items = [Item(f"q{n}", {"text": text}) for n, text in enumerate(questions)]
    return said(fitted.predict(items)), tools.counts


def shown(prompt: str) -> list[str]:
    """Give the inputs of the demonstrations of a prompt in the plain template."""
    return [part.split("\n")[1] for part in prompt.split("\n\n")[:-1]]


# --- demonstrations --------------------------------------------------------------------------------------------------


def test_the_support_is_shown_whole_before_the_item():
    model = Recorder()
    asked(plain(), model, "a sea", support=SUPPORT[:1])
    assert model.prompts == ["Is it?\nred wine\nyes\n\nIs it?\na sea\n"]
    asked(plain(), model, "a sea", support=())
    assert model.prompts[1] == "Is it?\na sea\n"


def test_a_seed_orders_and_picks_demonstrations():
    model = Recorder()
    for seed in (0, 0, 1, 2):
        asked(plain(most=3), model, "a sea", seed=seed)
    orders = [shown(prompt) for prompt in model.prompts]
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) > 1
    assert {len(order) for order in orders} == {3}
    assert {text for order in orders for text in order} <= {text for text, _ in SUPPORT}


def test_balanced_demonstrations_take_turns_by_label():
    model = Recorder()
    for seed in range(5):
        asked(plain(choose="balanced", most=4), model, "a sea", seed=seed)
    labels = [[dict(SUPPORT)[text] for text in shown(prompt)] for prompt in model.prompts]
    assert {tuple(sorted(each)) for each in labels} == {("no", "no", "yes", "yes")}
    assert all(each[:2] != each[1:3] and each[0] != each[1] for each in labels)


def test_the_nearest_demonstration_stands_last():
    model = Recorder()
    asked(plain(choose="nearest", most=2), model, "green sea", "a rose")
    assert [shown(prompt)[-1] for prompt in model.prompts] == ["green sea weed", "red rose"]
    assert shown(model.prompts[0]) == ["blue sea", "green sea weed"]


def test_nearness_without_any_demonstration_asks_unaided():
    model = Recorder()
    asked(plain(choose="nearest"), model, "green sea", support=())
    assert model.prompts == ["Is it?\ngreen sea\n"]


def test_the_right_examples_of_the_task_itself_can_be_shown_in_their_order():
    own = (Shown({"text": "b"}, "no"), Shown({"text": "wrong"}, "no", right=False), Shown({"text": "a"}, "yes"))
    model = Recorder()
    asked(plain(demonstrations="task"), model, "x", of=task(examples=own), seed=3)
    assert model.prompts == ["Is it?\nb\nno\n\nIs it?\na\nyes\n\nIs it?\nx\n"]


@pytest.mark.parametrize("choose", ["random", "nearest"])
def test_the_item_itself_is_never_shown_and_that_is_counted(choose: Any):
    model = Recorder()
    _, counts = asked(plain(choose=choose, most=4), model, "blue sea", "a sea")
    assert "blue sea" not in shown(model.prompts[0])
    assert [len(shown(prompt)) for prompt in model.prompts] == [4, 4]
    assert counts == {"demonstration-is-item": 1}


def test_a_demonstration_that_shares_an_id_with_the_item_is_shown_for_it_says_something_else():
    model = Recorder()
    tools = Toolbox({}, lambda _: model)
    fitted = plain().fit(task(), examples(SUPPORT[:2]), (), seed=0, tools=tools)
    fitted.predict([Item("s0", {"text": "a sea"}), Item("s1", {"text": "red wine"})])
    assert [sorted(shown(prompt)) for prompt in model.prompts] == [["blue sea", "red wine"], ["blue sea"]]
    assert tools.counts == {"demonstration-is-item": 1}


def test_demonstrations_are_dropped_where_the_context_is_short_the_farthest_first():
    model = Recorder(room=15)
    _, counts = asked(plain(choose="nearest"), model, "green sea")
    assert shown(model.prompts[0]) == ["blue sea", "green sea weed"]
    assert counts == {"demonstration-dropped": 3}


def test_an_item_that_does_not_fit_is_asked_about_all_the_same():
    model = Recorder(lambda _: Reply("yes", 1, cut=3), room=1)
    answers, counts = asked(plain(answers="generate"), model, "green sea", support=SUPPORT[:2])
    assert (answers, model.prompts) == (["yes"], ["Is it?\ngreen sea\n"])
    assert counts == {
        "demonstration-dropped": 2,
        "prompt-cut": 1,
    }


def test_items_with_the_same_demonstrations_are_asked_about_together_and_answered_in_order():
    model = Recorder(lambda prompt: Reply("no" if "sea" in prompt.split("\n")[-2] else "yes", 1))
    questions = ("blue sea", "a sea", "a rose", "red rose")
    answers, _ = asked(plain(answers="generate"), model, *questions)
    assert answers == ["no", "no", "yes", "yes"]
    assert model.batches == [2, 2]


# --- templates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "prompt", "option"),
    [
        ("plain", "Is it?\na\nyes\n\nIs it?\nb\n", "yes"),
        ("cue", "Is it?\n\nInput: a\nOutput: yes\n\nInput: b\nOutput:", " yes"),
        ("question", "a\nQuestion: Is it?\nAnswer: yes\n\nb\nQuestion: Is it?\nAnswer:", " yes"),
        ("{labels}: {text} =>", "yes, no: a =>\nyes\n\nyes, no: b =>\n", "yes"),
    ],
)
def test_a_space_before_the_answer_belongs_to_the_answer(template: str, prompt: str, option: str):
    model = Recorder()
    asked(plain(template=template), model, "b", support=[("a", "yes")])
    assert model.prompts == [prompt]
    assert model.options[0][0] == option


def test_a_seed_takes_one_of_several_templates():
    model = Recorder()
    how = plain(template=("plain", "cue"))
    for seed in range(4):
        asked(how, model, "b", support=(), seed=seed)
    assert ["Output:" in prompt for prompt in model.prompts] == [False, True, False, True]
    assert InContext(template=("cue",)) == InContext(template="cue")


def test_a_task_can_have_a_template_of_its_own():
    model = Recorder()
    how = plain(template={"t": "plain", "a*": ("cue",), "*": "{text}?"})
    for name in ("t", "about", "b"):
        asked(how, model, "b", support=(), of=replace(task(), id=name))
    assert model.prompts == ["Is it?\nb\n", "Is it?\n\nInput: b\nOutput:", "b?\n"]
    assert how.patterns == ("t", "a*", "*")
    asked(plain(template={"x": "plain"}), model, "b", support=(), of=replace(task(), id="b"))
    asked(plain(template="auto"), model, "b", support=())
    assert model.prompts[3] == model.prompts[4]


def test_labels_are_shown_unless_there_are_too_many_and_that_is_counted():
    model = Recorder()
    how = plain(template="{instruction} ({labels})\n{text}", max_labels=2)
    _, counts = asked(how, model, "b", support=())
    assert (model.prompts, counts) == (["Is it? (yes, no)\nb\n"], {})
    _, counts = asked(replace(how, max_labels=1), model, "b", support=())
    assert (model.prompts[1], counts) == ("Is it? ()\nb\n", {"labels-not-shown": 1})
    assert asked(replace(how, max_labels=0), model, "b", support=())[1] == {}


def test_faults_of_a_template_are_known_before_any_work():
    how = plain(template={"t": "{txt} {labels}", "*": "plain"})
    assert [note.code for note in how.faults(task(), lambda: ["text"])] == ["slot-unknown", "input-not-shown"]
    assert not list(how.faults(replace(task(), id="b"), lambda: ["text"]))


# --- conversations ---------------------------------------------------------------------------------------------------


def test_demonstrations_are_turns_of_a_conversation():
    model = Recorder()
    how = plain(chat=True, template="{instruction}\n\nText: {text}\nAnswer: {answer}")
    tools = Toolbox({}, lambda _: model)
    fitted = how.fit(task(), examples([("a", "yes")]), (), seed=0, tools=tools)
    (found,) = fitted.predict([Item("q", {"text": "b"})])
    assert isinstance(found, Response)
    assert found.prompt == (
        Message("user", "Is it?\n\nText: a\nAnswer:"),
        Message("assistant", "yes"),
        Message("user", "Text: b\nAnswer:"),
    )
    assert model.options == [["yes", "no"]]


def test_the_default_is_calibrated_and_lists_labels_where_the_answer_is_written():
    model = Recorder()
    asked(InContext(), model, "b", support=())
    assert len(model.prompts) == 4
    assert all("yes, no" not in prompt for prompt in model.prompts)
    asked(InContext(answers="generate"), model, "b", support=())
    assert model.prompts[4] == "Is it?\nLabels: yes, no\n\nb\nAnswer:"


def test_how_to_decode_is_handed_on():
    model = Recorder()
    asked(plain(chat=True, answers="generate", tokens=7, temperature=0.5), model, "b", seed=3)
    assert model.decodings == [Decoding(tokens=7, stop=("\n",), temperature=0.5, seed=3)]


@pytest.mark.parametrize(
    ("output", "gold", "stop"),
    [
        (Text(), "one line", "\n"),
        (Text(), "two\nlines", "\n\n"),
        (Fields({"a": Text(), "b": Text()}), {"a": "x", "b": "y"}, "\n\n"),
    ],
)
def test_an_answer_ends_with_its_line_or_where_answers_have_several_with_its_paragraph(
    output: Output, gold: Any, stop: str
):
    model = Recorder()
    asked(plain(), model, "b", of=task(output), support=[("a", gold)])
    assert model.decodings[0].stop == (stop,)


# --- answers ---------------------------------------------------------------------------------------------------------


def test_the_likeliest_label_is_taken_and_of_equal_ones_the_first():
    model = Recorder()
    model.odds = lambda prompt: Odds((-2.0, -1.0) if "sea" in prompt else (-1.00001, -1.0), (1, 1))
    assert asked(plain(), model, "a sea", "b", support=())[0] == ["no", "yes"]
    assert model.options == [["yes", "no"]] * 2


def test_a_label_of_many_tokens_can_be_weighed_by_their_mean():
    model = Recorder()
    model.odds = lambda _: Odds((-3.0, -2.0), (3, 1))
    assert asked(plain(), model, "b")[0] == ["no"]
    assert asked(plain(per_token=True), model, "b")[0] == ["yes"]


def test_calibration_takes_back_what_a_model_likes_without_any_input():
    model = Recorder()
    model.odds = lambda prompt: Odds((-1.0, -2.0) if "rose" in prompt else (-1.0, -4.0), (1, 1))
    assert asked(plain(), model, "a rose", "a sea", support=())[0] == ["yes", "yes"]
    assert asked(plain(calibrate=True), model, "a rose", "a sea", support=())[0] == ["no", "yes"]
    assert [prompt.split("\n")[1] for prompt in model.prompts[4:]] == ["N/A", "", "[MASK]"]


def test_calibration_is_by_the_mean_chance_over_inputs_without_content():
    model = Recorder()
    biased = {"N/A": (0.0, -9.0), "": (-9.0, 0.0), "[MASK]": (0.0, -9.0)}  # two of three for yes
    model.odds = lambda prompt: Odds(biased.get(prompt.split("\n")[1], (-1.0, -1.5)), (1, 1))
    assert asked(plain(calibrate=True), model, "x", support=())[0] == ["no"]  # -1 - log 2/3 < -1.5 - log 1/3
    biased["N/A"] = (0.0, 0.0)
    assert asked(plain(calibrate=True), model, "x", support=())[0] == ["yes"]


@pytest.mark.parametrize("refused", ["N/A", "sea", "[MASK]"])
def test_a_prompt_that_is_refused_has_no_answer_and_is_counted(refused: str):
    model = Recorder()
    model.odds = lambda prompt: None if refused in prompt else Odds((-1.0, -2.0), (1, 1))
    answers, counts = asked(plain(calibrate=True), model, "a sea", "b", support=())
    assert answers == ([None, "yes"] if refused == "sea" else [None, None])
    assert counts == {"prompt-refused": 1}
    answers, counts = asked(plain(answers="generate"), Recorder(lambda _: None), "b")
    assert (answers, counts) == ([None], {"prompt-refused": 1})


def test_written_answers_are_read_picked_or_none_and_counted():
    written = {"a": "yes", "b": "The answer is No.", "c": "yes or no", "d": "perhaps"}
    model = Recorder(lambda prompt: Reply(written[prompt.split("\n")[-2]], 1, ended="c" not in prompt))
    answers, counts = asked(plain(answers="generate", tokens=5), model, *written, support=())
    assert answers == ["yes", "no", None, None]
    assert counts == {"answer-picked": 1, "answer-cut": 1}


@pytest.mark.parametrize(
    ("output", "gold", "written", "answer"),
    [
        (Text(), "x", " a title ", "a title"),
        (Number(), 1.0, "about 2,500 in all", 2500.0),
        (Terms(), ("x",), "oak; elm", ("oak", "elm")),
        (Labels(("a", "b"), many=True), ("a",), "b; a", ("b", "a")),
        (Fields({"t": Text(), "n": Number()}), {"t": "x", "n": 1.0}, "On trees\n7", {"t": "On trees", "n": 7.0}),
    ],
)
def test_all_outputs_but_rankings_of_documents_are_answered(output: Output, gold: Any, written: str, answer: Any):
    model = Recorder(lambda _: Reply(written, 1))
    assert asked(plain(), model, "b", of=task(output), support=[("a", gold)])[0] == [answer]
    assert can_do(plain(), task(output), unaided=True)
    assert not can_do(plain(), task(Ranking("papers")))


def test_candidates_are_graded_by_their_log_probabilities():
    model, of = Recorder(), task(Ranking())
    shot = Example(Item("s", {"text": "hot"}, ("cold",)), ((("cold", 1.0),),), "s")
    fitted = plain().fit(of, [shot], (), seed=0, tools=Toolbox({}, lambda _: model))
    found = said(fitted.predict([Item("q", {"text": "big"}, ("small", "large"))]))
    assert found == [(("small", -1.0), ("large", -2.0))]
    assert model.prompts == ["Is it?\nhot\ncold\n\nIs it?\nbig\n"]
    assert model.options == [["small", "large"]]
    assert plain().needs(of) == {"smollm2": frozenset({"score"})}


@pytest.mark.parametrize(("gold", "answer"), [(("a",), None), ((), ())])
def test_an_empty_reply_is_no_answer_unless_a_demonstration_is_as_empty(gold: Any, answer: Any):
    model = Recorder(lambda _: Reply(" ", 1))
    found, counts = asked(plain(), model, "b", of=task(Labels(("a", "b"), many=True)), support=[("a", gold)])
    assert (found, counts) == ([answer], {"reply-empty": 1})


@pytest.mark.parametrize("name", ["fake:echo", "fake:noise"])
@pytest.mark.parametrize(
    "how", [InContext(), InContext(choose="nearest", calibrate=True), InContext(answers="generate")]
)
def test_a_fake_answers_the_same_again(name: str, how: InContext):
    def answers() -> list[Answer | None]:
        tools = Toolbox({}, lambda wanted: source(wanted).open(Path()))
        fitted = replace(how, model=name).fit(task(), examples(SUPPORT), (), seed=0, tools=tools)
        return said(fitted.predict([Item(f"q{n}", {"text": f"red {n} sea"}) for n in range(8)]))

    assert answers() == answers()
    assert set(answers()) <= {"yes", "no", None}


# --- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"most": -1}, Note.of("whole-number-expected", name="most", least=0, given="-1")),
        ({"most": True}, Note.of("whole-number-expected", name="most", least=0, given="True")),
        ({"most": "3"}, Note.of("whole-number-expected", name="most", least=0, given="'3'")),
        ({"tokens": 0}, Note.of("whole-number-expected", name="tokens", least=1, given="0")),
        ({"tokens": 1.5}, Note.of("whole-number-expected", name="tokens", least=1, given="1.5")),
        ({"temperature": -1}, Note.of("number-expected", name="temperature", least=0, most=100, given="-1")),
        ({"template": []}, Note.of("template-expected", given="[]")),
        ({"template": {}}, Note.of("template-expected", given="{}")),
        ({"template": {"t": 1}}, Note.of("template-expected", given="1")),
        ({"max_labels": -1}, Note.of("whole-number-expected", name="max_labels", least=0, given="-1")),
        ({"chat": "no"}, Note.of("true-or-false-expected", name="chat", given="'no'")),
        ({"calibrate": 1}, Note.of("true-or-false-expected", name="calibrate", given="1")),
        ({"per_token": "yes"}, Note.of("true-or-false-expected", name="per_token", given="'yes'")),
    ],
)
def test_options_that_can_not_be_meant_are_refused(options: dict[str, Any], note: Note):
    with pytest.raises(TaskloomError) as refused:
        learner("in-context", options)
    assert refused.value.note == note


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("plane", "template-unknown"),
        (["plain", "kue"], "template-unknown"),
        ({"t": "{labels}"}, "input-slot-missing"),
        ("{answer} {text}", "answer-not-last"),
        ("{text", "brace-unpaired"),
    ],
)
def test_a_template_that_is_none_is_refused(given: Any, code: str):
    with pytest.raises(UsageError) as refused:
        learner("in-context", {"template": given})
    assert refused.value.note.code == code


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"choose": "neerest"}, "unknown value of `choose`: 'neerest'; did you mean nearest"),
        ({"demonstrations": "tsk"}, "unknown value of `demonstrations`"),
        ({"answers": "scores"}, "unknown value of `answers`: 'scores'; did you mean score"),
        ({"modle": "x"}, "unknown option of learner 'in-context': 'modle'; did you mean model"),
    ],
)
def test_a_mistyped_option_is_told_with_the_nearest(options: dict[str, Any], told: str):
    with pytest.raises(UnknownNameError, match=told):
        learner("in-context", options)


# --- lettered choices ------------------------------------------------------------------------------------------------

SAME = task(Labels(("not_equivalent", "equivalent")))
TWO = Item("q", {"text1": "Owls hunt.", "text2": "Owls sleep."})


def choosing(model: Recorder, **options: Any) -> tuple[Response, dict[str, int]]:
    tools = Toolbox({}, lambda _: model)
    support = [Example(Item("s", {"text1": "a", "text2": "b"}), ("equivalent",), "s")]
    fitted = InContext(template="choices", calibrate=False, **options).fit(SAME, support, (), seed=0, tools=tools)
    (found,) = fitted.predict([TWO])
    assert isinstance(found, Response)
    return found, tools.counts


def test_choices_are_scored_as_they_are_written_and_kept_as_labels() -> None:
    model = Recorder()
    model.odds = lambda _: Odds((-2.0, -1.0), (1, 1))
    found, counts = choosing(model)
    assert model.prompts == [
        "a Is b?\n (A) No (B) Yes\nYes\n\nOwls hunt. Is Owls sleep.?\n (A) No (B) Yes\n",
    ]
    assert model.options == [["No", "Yes"]]
    assert (found.answer, found.options, counts) == ("equivalent", {"not_equivalent": -2.0, "equivalent": -1.0}, {})


@pytest.mark.parametrize(
    ("written", "answer", "counts"),
    [
        ("Yes", "equivalent", {}),
        ("(A)", "not_equivalent", {}),
        ("(A) No", "not_equivalent", {}),
        ("I say yes.", "equivalent", {"answer-picked": 1}),
        ("(A) Yes", "equivalent", {"answer-picked": 1}),
        ("equivalent", None, {}),
        ("(C)", None, {}),
    ],
)
def test_choices_that_are_written_are_read_or_counted(written: str, answer: str | None, counts: dict[str, int]) -> None:
    found, counted = choosing(Recorder(lambda _: Reply(written, 1)), answers="generate")
    assert (found.answer, found.raw, counted) == (answer, written, counts)


def test_choices_can_be_written_among_themselves_alone() -> None:
    model = Recorder(lambda _: Reply("No", 1))
    found, _ = choosing(model, answers="choose")
    assert (found.answer, model.decodings[0].only, model.decodings[0].keeps) == ("not_equivalent", ("No", "Yes"), "end")


def test_of_a_document_with_choices_the_start_is_kept() -> None:
    model = Recorder()
    asked(InContext(template="choices", calibrate=False), model, "red sky")
    assert model.prompts[0].endswith("Topic?\n (A) yes (B) no\n red sky\n")
    assert model.decodings[0].keeps == "start"
    asked(plain(), other := Recorder(), "red sky")
    assert other.decodings[0].keeps == "end"
