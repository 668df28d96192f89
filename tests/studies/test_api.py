"""Studies from Python: objects and files, and the commands that run them again."""

from __future__ import annotations

import datetime
import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import taskloom as package
from taskloom.episodes import ALL, Sampler
from taskloom.errors import LedgerError, StoreError, StudyError
from taskloom.reports.views.agreement import Agreement
from taskloom.reports.views.gain import Gain
from taskloom.reports.views.matrix import Matrix
from taskloom.studies.api import open_run, prepare
from taskloom.studies.api import run as run_study
from taskloom.studies.ledger import Ledger
from taskloom.studies.study import Study, StudyLearner, StudyProtocol, load, names, parse
from taskloom.studies.yaml_writer import written
from taskloom.suites.store import open_suite

if TYPE_CHECKING:
    from ..conftest import Refused

Make = Callable[..., Path]
WHOLE = Study(
    name="all of it",
    build="csl",
    source="data:papers",
    tasks=("abstract->*", "@test", "no"),
    protocol=StudyProtocol(
        shots={0: 2, 4: 2},
        seeds=(3, 1),
        looks=(0, 30),
        sampler=Sampler(dev=1, query=ALL, per_class=True, short_class="refuse"),
    ),
    learners={
        "nearest": StudyLearner(learner="nearest"),
        "标题: #": StudyLearner(
            learner="a.py:B", options={"C": 1e-05, "on": True, "text": "a\n  b: 'c'", "none": None}
        ),
        "few": StudyLearner(learner="majority", tasks=("x",), shots=(4,), optional=True),
    },
    models={"mine": {"load": "path:models/mine", "body": {"temperature": 0.0, "stop": ["\n", "1"]}}},
    views=(Gain(), Gain(learner="few", over=("nearest",)), Agreement(x="a", y="b"), Matrix(rows="r", columns="c")),
    folder=Path("some/where"),
)


@pytest.mark.parametrize("study", [WHOLE, *(load(name)[0] for name in names())], ids=lambda study: study.name)
def test_a_study_that_is_written_reads_as_the_same(study: Study):
    again = parse(written(study), folder=study.folder)
    assert again == study
    assert list(again.learners) == list(study.learners)


def test_a_study_with_what_no_file_can_hold_is_refused():
    def of(value: object) -> Study:
        return replace(WHOLE, learners={"a": StudyLearner(learner="a", options={"x": value})})

    assert parse(written(of(np.float64(0.1)))).learners["a"].options == {"x": 0.1}
    assert parse(written(of((1, 2)))).learners["a"].options == {"x": [1, 2]}
    for value in (datetime.date(2020, 1, 1), float("nan"), {1}):
        with pytest.raises(StudyError, match="learners of a study must be texts, finite numbers"):
            written(of(value))


def test_a_study_as_an_object_is_run_again_and_reported_like_a_file(
    study: Make, tmp_path: Path, taskloom: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    made = load(str(study()))[0]
    monkeypatch.chdir(tmp_path)
    done = package.run(replace(made, folder=Path()), "my runs/one", only=["majority"])
    found = open_run(Path("my runs/one"))
    assert done.command == found.command == "taskloom run 'my runs/one/study.yaml'"
    assert [o.cell for o in found.outcomes] == [o.cell for o in done.outcomes]
    assert found.missing > 0
    ran = taskloom(*shlex.split(done.command)[1:], "--only", "majority")
    assert (ran.code, "0 cells run" in ran.err) == (0, True)
    assert not Path("runs").exists()


def test_an_object_is_refused_for_what_a_file_is_refused_for(study: Make, tmp_path: Path):
    made = load(str(study()))[0]
    with pytest.raises(StudyError, match="as it names a folder"):
        prepare(replace(made, name="../up"), tmp_path / "run")
    with pytest.raises(StudyError, match=r"1 error:\n  unknown task: 'abstrakt'"):
        prepare(replace(made, tasks=("abstrakt",)), tmp_path / "run")


def test_the_command_of_a_report_goes_on_with_its_run(
    study: Make, tmp_path: Path, taskloom: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    study().rename(tmp_path / "my study.yaml")
    monkeypatch.chdir(tmp_path)
    first = taskloom("run", "my study.yaml", "-o", "elsewhere", "--only", "majority")
    assert first.code == 0, first.err
    assert prepare("my study.yaml", "elsewhere").again() == "taskloom run 'my study.yaml' -o elsewhere"
    assert prepare("my study.yaml").again() == "taskloom run 'my study.yaml'"
    for _ in range(2):
        command = open_run(Path("elsewhere")).command
        again = taskloom(*shlex.split(command)[1:], "--only", "majority")
        assert (again.code, "0 cells run" in again.err) == (0, True)
    assert not Path("runs").exists()


def test_a_trial_is_run_again_as_a_trial(study: Make, tmp_path: Path):
    command = package.run(study(), tmp_path / "run", only=["majority"], limit=2).command
    assert command.endswith(f"study.yaml -o {tmp_path / 'run'} --limit 2")


def test_a_run_may_be_started_twice_at_once(study: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    prepared = prepare(study(), tmp_path / "run", only=["majority"])
    put = Path.replace

    def put_late(path: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", put)
        prepared.opened().db.close()  # another start comes in between
        return put(path, target)

    monkeypatch.setattr(Path, "replace", put_late)
    prepared.opened().db.close()
    assert sorted(path.name for path in (tmp_path / "run").glob("*study*")) == ["study.yaml"]


def test_a_run_says_so_where_another_study_was_run_before(
    study: Make, tmp_path: Path, taskloom: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    path = study()
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert "not the study that was run last" not in taskloom("run", path, "--only", "majority").err
    path.write_text(path.read_text().replace("abstract->*", "abstract->title"))
    assert "the study has changed since the last run" in taskloom("run", path, "--only", "majority").err


# --- data that was changed -------------------------------------------------------------------------------------------


def changed_letters(study: Make, tmp_path: Path, papers: Path) -> Path:
    """A study whose suite has another letter in an abstract, and is of the same size."""
    path = study()
    (tmp_path / "suite").unlink()
    shutil.copytree(papers, tmp_path / "suite")
    prepare(path, tmp_path / "run").run()
    (first,) = open_suite(tmp_path / "suite").pools["abstract->title"]["all"].take([0])
    text = first.item.fields["abstract"].encode()
    file = tmp_path / "suite/records.arrow"
    content = file.read_bytes()
    assert text in content
    file.write_bytes(content.replace(text, text.swapcase()))
    return path


def test_changed_data_is_refused_before_any_work_and_also_when_a_run_goes_on(
    study: Make, tmp_path: Path, papers: Path, refused: Refused
):
    path = changed_letters(study, tmp_path, papers)
    for run in ("run", "another"):
        with refused(StoreError, "data-changed", path=str(tmp_path / "suite")):
            prepare(path, tmp_path / run)
    assert not (tmp_path / "another").exists()


def test_what_was_verified_is_kept_in_the_ledger(study: Make, tmp_path: Path):
    path = study()
    made = prepare(path, tmp_path / "run", only=["abstract->title"])
    made.run()
    with Ledger(tmp_path / "run/ledger.db") as ledger:
        assert ledger.about("verified") == made.plan.verified
    assert prepare(path, tmp_path / "run", only=["abstract->title"]).plan.verified == made.plan.verified
    more = json.loads(prepare(path, tmp_path / "run").plan.verified)["contents"]
    assert set(json.loads(made.plan.verified)["contents"]) < set(more)


def test_the_study_of_a_run_that_is_not_utf8_is_written_again(made_topics: Any, tmp_path: Path):
    run_study(made_topics.study, tmp_path / "run")
    (tmp_path / "run" / "study.yaml").write_bytes(b"\xff\xfe")
    assert run_study(made_topics.study, tmp_path / "run").outcomes
    assert (tmp_path / "run" / "study.yaml").read_bytes() == made_topics.study.read_bytes()


@pytest.mark.parametrize("name", ["overrides", "views", "metrics", "environment"])
def test_damaged_rows_about_a_run_are_refused_by_name(made_topics: Any, tmp_path: Path, name: str):
    run_study(made_topics.study, tmp_path / "run")
    with Ledger(tmp_path / "run" / "ledger.db") as ledger:
        ledger.keep_about(**{name: '"x"'})
    with pytest.raises(LedgerError) as refused:
        open_run(tmp_path / "run")
    assert (refused.value.note.code, dict(refused.value.note.values)["what"]) == ("ledger-damaged", name)
