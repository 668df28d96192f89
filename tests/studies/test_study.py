from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from taskloom.episodes import Between, Sampler
from taskloom.errors import StudyError, UsageError
from taskloom.reports.views.agreement import Agreement
from taskloom.reports.views.gain import Gain
from taskloom.studies.plan import plan
from taskloom.studies.study import Study, StudyLearner, StudyProtocol, chosen_tasks, load, names, parse
from taskloom.studies.yaml_writer import written
from taskloom.suites.store import write

GOOD = """
format: 1
name: mine
suite: {build: csl, from: records.jsonl}
tasks: [abstract->title]
protocol: {seeds: 8, shots: [0, 1, 2], query: 64, dev: 64}
learners:
  majority: {}
  better: {tfidf-linear: {C: 1e1}}
"""


def test_a_study_is_read_as_it_is_written():
    study = parse(GOOD)
    assert (study.name, study.build, study.source) == ("mine", "csl", "records.jsonl")
    assert study.protocol == StudyProtocol(
        seeds=tuple(range(8)), shots={0: 1, 1: 1, 2: 1}, sampler=Sampler(query=64, dev=64)
    )
    assert study.learners["better"] == StudyLearner(learner="tfidf-linear", options={"C": 10.0})


texts = st.text(st.characters(exclude_categories=()), max_size=30)  # half characters, too
keys = texts.filter(lambda text: text not in ("tasks", "shots", "episodes", "optional"))  # which stand beside a learner
numbers = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@given(task=texts, name=keys, key=texts, value=values)
@example(task="?itle->archive", name="?", key="k" * 100, value="?>x")
@example(task="?*->title", name="a\x85b", key="<<", value=["?", "a\x85b", "\U0001f600", "\ud83d", "x" * 2000])
@example(task="yes", name="null", key="1", value={"=": [1e22, 1e-05, -0.0, 2**63 - 1, "1e5", "0x1f", "~", ""]})
def test_any_text_is_written_so_that_it_is_read_as_it_is(task: str, name: str, key: str, value: Any):
    chosen = {
        name: StudyLearner(learner="a.py:B", options={key: value}, tasks=(task,)),
        "b": StudyLearner(learner="nearest"),
    }
    models = {name: {key: value} | {"load": task}}
    study = Study(name="n", suite="s", tasks=(task, "b"), learners=chosen, models=models)
    assert parse(written(study)) == study
    built = replace(study, suite="", build="csl", source=task, build_options={f"o{key}": value})
    assert parse(written(built)) == built


def test_a_written_study_can_be_read_by_people():
    study = replace(parse(GOOD), learners={"标题 😀": StudyLearner(learner="tfidf-linear", options={"C": 10.0})})
    assert written(study).splitlines() == [
        "format: 1",
        'name: "mine"',
        'suite: {"build": "csl", "from": "records.jsonl"}',
        'tasks: ["abstract->title"]',
        'protocol: {"shots": [0, 1, 2], "seeds": [0, 1, 2, 3, 4, 5, 6, 7], "dev": 64, "query": 64}',
        "baselines: true",
        "metrics: []",
        "learners:",
        '  "标题 😀": {"tfidf-linear": {"C": 10.0}}',
        "models: {}",
        "views: []",
    ]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"protocol": StudyProtocol(seeds=(0, 0))}, "reads as the same study: protocol"),
        ({"learners": {"a": StudyLearner(learner="tasks")}}, "tasks must be"),
        ({"learners": {"a": StudyLearner(learner="b", options={"k" * 2000: 1})}}, "invalid YAML"),
    ],
)
def test_a_study_that_would_be_read_as_another_is_not_written(changes: dict[str, Any], told: str):
    with pytest.raises(StudyError, match=told):
        written(replace(parse(GOOD), **changes))


def test_baselines_are_always_run_unless_a_study_says_no_or_chooses():
    def learners(text: str) -> list[str]:
        return list(parse(text).with_baselines().learners)

    assert learners(GOOD) == ["majority", "better", "random", "copy-input", "copy-demonstration"]
    assert learners(GOOD + "baselines: false") == ["majority", "better"]
    assert learners(GOOD + "baselines: [random]") == learners(GOOD + "baselines: random")
    assert learners(GOOD + "baselines: [random]") == ["majority", "better", "random"]
    chance = GOOD.replace("majority: {}", "chance: {random: {prior: pool}}")
    assert learners(chance + "baselines: [random]") == ["chance", "better", "random"]
    assert learners(chance) == ["chance", "better", "majority", "copy-input", "copy-demonstration"]
    renamed = GOOD.replace("majority: {}", "most: {majority: {}}")
    assert learners(renamed) == ["most", "better", "random", "copy-input", "copy-demonstration"]


def test_a_study_has_the_same_baselines_from_python_as_from_a_file():
    written_by_hand = parse(GOOD)
    made = Study(name="mine", learners=written_by_hand.learners)
    assert made.with_baselines().learners == written_by_hand.with_baselines().learners
    assert made.with_baselines() == made.with_baselines().with_baselines()
    chosen = replace(written_by_hand, baselines=("random",), metrics=("rouge-l",))
    assert parse(written(chosen)) == chosen


def test_unknown_baselines_and_metrics_are_named_with_the_nearest():
    text = GOOD + "baselines: [majorty, random]\nmetrics: [rouge, title/acuracy, p@5]\n"
    with pytest.raises(StudyError) as refused:
        parse(text)
    told = refused.value.faults
    assert [fault.partition("; ")[2] for fault in told] == [
        "did you mean majority?", "did you mean rouge-l?", "did you mean token-accuracy or accuracy?",
    ]  # fmt: skip
    with pytest.raises(StudyError):
        written(replace(parse(GOOD), baselines=("majorty",)))


def test_all_faults_are_named_at_once_with_line_and_column():
    text = """name: ../up
suite: 7
protocol:
  shots: [1, -2]
  seeds: many
  qury: 5
learners:
  a: [1]
  b: {x: {}, y: {}}
"""
    with pytest.raises(StudyError) as refused:
        parse(text, "s.yaml")
    faults = [line.strip() for line in str(refused.value).splitlines()[1:]]
    assert [fault.split(": ")[0] for fault in faults] == [
        "s.yaml:1:7", "s.yaml:2:8", "s.yaml:4:14", "s.yaml:5:10", "s.yaml:6:3", "s.yaml:8:6", "s.yaml:9:6",
    ]  # fmt: skip
    assert any("did you mean query" in fault for fault in faults)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: a\ab", r"s\.yaml: invalid YAML .unacceptable character #x0007"),
        ("name: [", r"s\.yaml:\d+:\d+: invalid YAML"),
        ("name: a\nname: b", r"^s\.yaml:2:1: duplicate key: 'name'$"),
        ("", "a study must be a mapping"),
        ("- a", "a study must be a mapping"),
        ("name: a\nsuite: x", r"s\.yaml:1:1: learners must not be empty"),
        ("name: a\nsuite: x\nformat: 2\nlearners: {a: {}}", r"s\.yaml:3:9: study format must be at most 1"),
        ("name: a\nsuite: x\nlearners: {a: {}}\nprotocol: {query: 0}", "query must be an integer >= 1, or all: 0"),
        ("name: a\nsuite: x\nlearners: {a: {}}\nprotocol: {shots: -1}", r"s\.yaml:4:19: shots must be"),
        (
            "name: a\nsuite: x\nlearners: {a: {}}\nprotocol: {seeds: 0}",
            r"yaml:4:19: seeds must be an integer >= 1.*: 0",
        ),
        ("name: a\nsuite: x\nlearners: {a: {}}\nprotocol: {short_class: never}", "skip or refuse"),
        ("name: !!python/object:os.system x\nsuite: x", "s.yaml"),
        (
            "name: a\nsuite: x\nlearners: {a: {}}\nviews:\n  - gian",
            r"s\.yaml:5:5: unknown view 'gian'; did you mean gain",
        ),
        ("name: a\nsuite: x\nlearners: {a: {}}\nviews: [7]", r"s\.yaml:4:9: unknown view 7"),
        ("name: a\nsuite: x\nlearners: {a: {}}\nviews: [{gain: {}, scaling: {}}]", "a view must be NAME"),
        ("name: a\nsuite: x\nlearners: {a: {}}\nviews: [{gain: 7}]", "a view must be NAME"),
        (
            "name: a\nsuite: x\nlearners: {a: {}}\nviews: [agreement: {x: m}]",
            r"s\.yaml:4:9: missing key 'y' of view 'agreement'",
        ),
        (
            "name: a\nsuite: x\nlearners: {a: {}}\nviews: [gain: {ovr: b}]",
            "unknown key 'ovr' of view 'gain'",
        ),
        ("name: a\nsuite: x\nlearners: {a: {}}\nviews: {gain: {}}", "views must be a list"),
        ("name: a\nsuite: x\ntasks: []\nlearners: {a: {}}", r"s\.yaml:3:8: tasks must not be empty"),
        ("name: a\nsuite: {from: x}\nlearners: {a: {}}", r"s\.yaml:2:8: suite must be a folder or"),
        (
            "name: a\nsuite: x\nlearners: {a: {}}\nmodels: {m: {load: a, train: b}}",
            r"s\.yaml:4:13: a model must be NAME",
        ),
        ("name: a\nsuite: x\nlearners: {a: {}}\nmodels: {m: {dtype: b}}", r"s\.yaml:4:13: a model must be NAME"),
        ("name: a\nsuite: x\nlearners: {a: {}}\nprotocol: {least: 9}", "least must be <= most: 9, 5"),
        ("name: a\nsuite: x\nlearners: {a: {shots: 7}}", r"s\.yaml:3:23: shots of learner 'a' that the protocol"),
        (
            "name: a\nsuite: x\nlearners: {a: {}}\nprotocol: {for: {b: {qery: 1}}}",
            "unknown key 'qery' of b; did you mean query",
        ),
    ],
)
def test_what_is_no_study_is_refused(text: str, told: str):
    with pytest.raises(StudyError, match=told):
        parse(text, "s.yaml")


def test_views_are_read_by_name_and_with_options():
    views = "views: [gain, {gain: {over: copy-input}}, {agreement: {x: a, y: b, categories: [c, d]}}, {gain: null}]"
    assert parse(GOOD + views).views == (
        Gain(), Gain(over=("copy-input",)), Agreement(x="a", y="b", categories=("c", "d")), Gain()
    )  # fmt: skip


def test_models_are_loaded_or_trained():
    models = parse(GOOD + "models: {a: {load: fake:echo}, b: {train: a, tasks: ['@train'], most: all}}").models
    assert models == {"a": {"load": "fake:echo"}, "b": {"train": "a", "tasks": ["@train"], "most": "all"}}


def test_yes_and_no_are_words():
    study = parse("name: yes\nsuite: no\nlearners: {on: {}}")
    assert (study.name, study.suite, next(iter(study.learners))) == ("yes", "no", "on")


def test_studies_that_come_with_taskloom_can_be_loaded():
    for name in names():
        assert load(name)[0].name == name


def test_an_unknown_study_gets_the_nearest_names(tmp_path: Path):
    with pytest.raises(UsageError, match="did you mean quickstart"):
        load("quickstar")


def test_tasks_are_chosen_by_name_or_pattern_in_the_suites_order():
    known = ["a->b", "a->c", "b->a"]
    assert chosen_tasks(known, ["b->a", "a->*"]) == known
    with pytest.raises(UsageError, match=r"'a->d'; did you mean a->"):
        chosen_tasks(known, ["a->d"])


def test_a_name_is_taken_for_itself_before_it_is_for_a_pattern():
    known = ["price [EUR]->t", "price E->t", "*"]
    assert chosen_tasks(known, ["price [EUR]->t"]) == known[:1]
    assert chosen_tasks(known, ["*"]) == ["*"]
    assert chosen_tasks(known, ["price [E]->t"]) == known[1:2]
    assert chosen_tasks(known, ["price*", "*"]) == known
    with pytest.raises(UsageError, match=r"task: 'x'; known: .*; unknown task: 'prise E->t'; did you mean price E->t"):
        chosen_tasks(known, ["x", "*", "prise E->t"])


def test_settings_have_numbers_of_episodes_and_tasks_may_have_a_protocol_of_their_own():
    text = GOOD.replace(
        "shots: [0, 1, 2]", "shots: {drawn: 90, 0: 30, all: 1}, training: [5], for: {'*->c': {shots: [5], query: all}}"
    )
    protocol = parse(text).protocol
    assert protocol.shots == {"drawn": 90, 0: 30, "all": 1}
    assert protocol.training == (5,)
    own = protocol.of("a->c")
    assert (own.shots, own.sampler.query, own.sampler.dev) == ({5: 90}, "all", 64)
    assert protocol.of("a->b") is protocol
    assert parse(written(parse(text))).protocol == protocol


@pytest.mark.parametrize("wrong", ["{some: 1}", "{0: none}", "[every]", "{}", "{0: 0}"])
def test_settings_that_are_none_are_refused_by_place(wrong: str):
    with pytest.raises(StudyError, match=r"shots must be .*"):
        parse(GOOD.replace("shots: [0, 1, 2]", f"shots: {wrong}"))


FAULTY = """name: mine
suite: suite
tasks: [title->keywords, title->keywrds]
protocol: {shots: [0, 1], query: 4, for: {"titel->*": {query: 2}}}
learners:
  nearst: {}
  mine: {nearest: {}, tasks: [title->keywords, abstrac->*]}
  other: {in-context: {model: gone}}
views:
  - gain
"""


def test_faults_of_names_are_all_listed_by_line_at_the_value(small_suite, tmp_path: Path):
    write(small_suite, tmp_path / "suite")
    with pytest.raises(StudyError) as refused:
        plan(parse(FAULTY, "s.yaml", tmp_path), tmp_path / "run")
    assert refused.value.note.code == "study-faults"
    assert [fault.split(": ")[0] for fault in refused.value.faults] == [
        "s.yaml:3:26", "s.yaml:4:43", "s.yaml:6:3", "s.yaml:7:48", "s.yaml:8:11",
    ]  # fmt: skip


def test_a_fault_of_a_view_names_the_view_and_is_at_its_option(small_suite, tmp_path: Path):
    write(small_suite, tmp_path / "suite")
    text = "name: mine\nsuite: suite\nlearners: {nearest: {}}\nviews:\n  - gain: {over: [neerest]}\n"
    with pytest.raises(StudyError, match=r"s\.yaml:5:18: view 'gain': unknown learner: 'neerest'; did you mean"):
        plan(parse(text, "s.yaml", tmp_path), tmp_path / "run")


def protocol_of(text: str) -> StudyProtocol:
    return parse(GOOD.replace("{seeds: 8, shots: [0, 1, 2], query: 64, dev: 64}", text)).protocol


def test_keys_beside_a_preset_override_it_and_all_others_are_its_own():
    found = protocol_of("{preset: flex, query: 20, shots: {drawn: 9, 0: 5}, ways: {least: 5, most: 10}}")
    plain = protocol_of("{preset: flex}")
    assert found == replace(
        plain, shots={"drawn": 9, 0: 5}, sampler=replace(plain.sampler, query=20, ways=Between(least=5, most=10))
    )
    assert found.drawing("drawn").most == 5
    assert protocol_of("{preset: gao, seeds: 2}").seeds == (0, 1)
    assert protocol_of("{preset: flex, shots: [0]}").shots == {0: 90}


def test_tasks_may_have_a_preset_of_their_own_or_another_number_of_ways():
    found = protocol_of('{preset: flex, for: {"trec*": {ways: 0}, "mr*": {preset: gao, query: 10}}}')
    assert found.of("trec@test").sampler == replace(found.sampler, ways=0)
    assert (found.of("mr").shots, found.of("mr").sampler.query) == ({16: 90}, 10)
    assert found.of("fewrel") == found
    study = replace(parse(GOOD), protocol=found)
    assert parse(written(study)) == study


@pytest.mark.parametrize("knobs", ["ways: [5, 10]", "ways: {least: 2}", "ways: {least: 3, most: 5}", "among: [4, 8]",
                                   "base: 2", "label_order: task, balanced: 0.5", "own_episodes: true",
                                   "share: 0.5, per_class: true"])  # fmt: skip
def test_knobs_of_a_sampler_are_written_as_they_are_read(knobs: str):
    study = replace(parse(GOOD), protocol=protocol_of(f"{{{knobs}}}"))
    assert parse(written(study)) == study
    assert study.protocol != StudyProtocol()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("{preset: flax}", r"study:6:20: unknown preset 'flax'; did you mean flex\?"),
        ("{ways: {least: 5, mots: 10}}", r"study:6:29: unknown key 'mots' of ways; did you mean most\?"),
        ("{ways: some}", "ways must be an integer >= 0 or a list of integers >= 0: 'some'"),
        ("{ways: {least: 5, most: 4}}", "least of ways must be <= most: 5, 4"),
        ("{ways: []}", "ways must not be empty"),
        ("{share: 0.5}", "share needs per_class: true, for it is a share of each class: 0.5"),
        ("{preset: flex, least: 9}", "least must be <= most: 9, 5"),
        ("{preset: flex, balanced: 2}", "balanced must be a number from 0 to 1: 2"),
    ],
)
def test_presets_and_knobs_that_are_none_are_refused_by_place(wrong: str, told: str):
    with pytest.raises(StudyError, match=told):
        protocol_of(wrong)


def test_options_that_a_setting_does_not_use_change_no_draw():
    found = protocol_of("{preset: flex, shots: [0, 4, drawn]}")
    other = protocol_of("{preset: flex, shots: [0, 4, drawn], least: 2, most: 9, balanced: 0.5}")
    assert found.drawing(4) == other.drawing(4)
    assert found.drawing("drawn") != other.drawing("drawn")


def test_settings_have_the_same_episodes_or_each_its_own():
    found = protocol_of("{shots: {0: 3, drawn: 5, all: 1}}")
    assert [found.episodes(shots) for shots in found.shots] == [range(3), range(5), range(1)]
    own = replace(found, own_episodes=True)
    assert [own.episodes(shots) for shots in own.shots] == [range(3), range(3, 8), range(8, 9)]


# --- hostile files ---------------------------------------------------------------------------------------------------

SMALL = "name: x\nsuite: s\nlearners: {{majority: {{}}}}\nprotocol: {protocol}\n"


@pytest.mark.parametrize(
    ("protocol", "told"),
    [
        ("{episodes: 99999999999}", "episodes must be an integer from 1 to 100,000: 99999999999"),
        ("{shots: {4: 99999999999}}", "each with a number of episodes, at most 100,000"),
        ("{seeds: [0, 9223372036854775808]}", "an integer of more than 63 bits: '9223372036854775808'"),
        ("{seeds: 36893488147419103232}", "invalid YAML (an integer of more than 63 bits: '36893488147419103232')"),
        ("{seeds: [2024-02-30]}", "study:4:20: invalid YAML (day is out of range for month: '2024-02-30')"),
        ("[" * 300, "study:4:111: invalid YAML (more than 100 levels)"),
    ],
)
def test_sizes_and_values_that_can_not_be_are_refused_by_place(protocol: str, told: str):
    with pytest.raises(StudyError) as refused:
        parse(SMALL.format(protocol=protocol))
    assert told in str(refused.value)


def test_options_whose_names_are_numbers_are_refused_as_unknown(tmp_path: Path):
    study = parse("name: x\nsuite: s\nlearners: {nearest: {nearest: {1: 2}}}\n")
    with pytest.raises(StudyError, match="unknown option of learner 'nearest': '1'"):
        plan(study, tmp_path)


def test_a_grid_that_is_too_large_is_refused_before_it_is_planned(tmp_path: Path, made_topics: Any):
    text = "name: x\nsuite: suite\nlearners: {majority: {}}\nprotocol: {seeds: 100000, episodes: 100000, shots: [0]}\n"
    with pytest.raises(StudyError) as refused:
        plan(parse(text, folder=made_topics.study.parent), tmp_path / "run")
    assert refused.value.note.code == "grid-too-large"


def test_a_study_that_would_take_long_to_read_is_refused(tmp_path: Path):
    text = "name: s\n" + "# more\n" * 75_000
    (tmp_path / "s.yaml").write_text(text)
    for read in (lambda: load(str(tmp_path / "s.yaml")), lambda: parse(text)):
        with pytest.raises(StudyError, match="a study must not be larger than 262,144 bytes"):
            read()


def test_tasks_with_a_protocol_of_their_own_keep_the_number_of_episodes_of_each_setting():
    text = "shots: {32: 4, all: 1}, for: {few: {dev: 16}, more: {episodes: 2}, other: {shots: [8]}}"
    protocol = parse(GOOD.replace("shots: [0, 1, 2]", text)).protocol
    assert protocol.of("few").shots == {32: 4, "all": 1}
    assert protocol.of("more").shots == {32: 2, "all": 2}
    assert protocol.of("other").shots == {8: 4}
