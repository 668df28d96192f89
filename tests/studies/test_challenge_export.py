"""The answers of a run as predictions for a challenge of the same draws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import taskloom
from taskloom.errors import ChallengeError, UnknownNameError
from taskloom.studies.challenge import open_challenge
from taskloom.studies.challenge_export import Exported, export_predictions, is_meta_trained, write_exported
from taskloom.studies.submissions import Given, Predictions, Submission, check

if TYPE_CHECKING:
    from ..conftest import FilesUpTo

ODD = """
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Odd(Learner):
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"labels"})
    unaided: ClassVar[frozenset] = outputs

    def fit(self, task, support, dev, *, seed, tools):
        return self

    def predict(self, items):
        return [("art", "music", None)[n % 3] for n, _ in enumerate(items)]
"""
LEARNERS = "learners: {majority: {}, odd: {'odd.py:Odd': {}}}"


def study(made_topics, folder: Path, **changes: tuple[str, str]) -> Path:
    """Write the study again, with other learners."""
    text = made_topics.study.read_text().replace("suite: suite", f"suite: {made_topics.study.parent / 'suite'}")
    text = text.replace("learners: {nearest: {}, majority: {}}", LEARNERS)
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    (folder / "odd.py").write_text(ODD)
    (folder / "study.yaml").write_text(text)
    return folder / "study.yaml"


def test_where_one_file_can_not_be_written_none_is(tmp_path: Path, files_up_to: FilesUpTo):
    exported = {
        f"{name}.json": Exported(
            about=Submission(name=name), answers={f"q{n}": Given("art") for n in range(count)}, outside=0
        )
        for name, count in (("few", 1), ("many", 1_000))
    }
    with files_up_to(4_000), pytest.raises(OSError, match="File too large"):
        write_exported(exported, tmp_path)
    assert list(tmp_path.iterdir()) == []
    write_exported(exported, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.json", "many.json"]


def test_an_unusable_answer_has_no_label_and_a_baseline_is_one(made_topics, tmp_path: Path):
    taskloom.run(study(made_topics, tmp_path), tmp_path / "run")
    opened = open_challenge(made_topics.folder)
    majority, odd = export_predictions(opened, tmp_path / "run")
    assert majority.about.baseline
    assert odd.about == Submission(name="odd", protocol="pretraining-only", model="Odd()")
    assert {*odd.answers.values()} == {Given("art"), Given(None)}
    found = Predictions(path=Path("p"), about=odd.about, answers=odd.answers)
    checked = check(opened.rows(), found)
    assert (checked.answered, checked.without_label, checked.faults) == (108, 72, {})
    (only,) = export_predictions(opened, tmp_path / "run", ["odd"], protocol="meta-trained")
    assert only.about.protocol == "meta-trained"
    assert only.answers == odd.answers
    with pytest.raises(UnknownNameError):
        list(export_predictions(opened, tmp_path / "run", ["none"]))


def test_what_was_learnt_twice_from_a_draw_is_two_submissions(made_topics, tmp_path: Path):
    changed = study(made_topics, tmp_path, sizes=("seeds: 1", "seeds: 1, training: [3, 5]"))
    taskloom.run(changed, tmp_path / "run")
    found = list(export_predictions(open_challenge(made_topics.folder), tmp_path / "run", ["odd"]))
    assert [one.about.name for one in found] == ["odd, training seed 3", "odd, training seed 5"]
    assert [len(one.answers) for one in found] == [108, 108]


def test_other_draws_are_told(made_topics, tmp_path: Path, refused):
    more = study(made_topics, tmp_path, sizes=("episodes: 3", "episodes: 4"))
    taskloom.run(more, tmp_path / "more")
    opened = open_challenge(made_topics.folder)
    assert {one.outside for one in export_predictions(opened, tmp_path / "more")} == {4 * 9}
    other = study(made_topics, tmp_path, sizes=("query: 3", "query: 2"))
    taskloom.run(other, tmp_path / "other")
    with refused(ChallengeError, "draws-differ", name="topics"):
        list(export_predictions(opened, tmp_path / "other"))


def test_a_preset_draws_the_same_episodes_in_a_run_and_in_a_challenge(made_topics, tmp_path: Path):
    """The settings of a preset may have episodes of their own, so that their numbers go on."""
    drawn = ("seeds: 1, episodes: 3, shots: [0, 2], query: 3, per_class: true", "preset: flex, shots: {drawn: 3, 0: 2}")
    path = study(made_topics, tmp_path, sizes=drawn)
    made = taskloom.make_challenge(path, tmp_path / "challenge")
    ran = taskloom.run(path, tmp_path / "run")
    for one in export_predictions(made.challenge, tmp_path / "run"):
        assert (len(one.answers), one.outside) == (made.challenge.questions, 0)
    assert {o.shots for o in ran.outcomes} == {0, "drawn"}


@pytest.mark.parametrize(
    ("keys", "meta"),
    [
        ({"a": {"learner": {"model": "x"}}}, False),
        ({"a": {"models": [{"trained": "b"}]}, "b": {"set": {}, "base": {"load": "x"}}}, True),
        (
            {"a": {"m": {"trained": "b"}}, "b": {"set": {"goal": "texts"}, "base": {"trained": "c"}}, "c": {"set": {}}},
            True,
        ),
        ({"a": {"m": {"trained": "b"}}, "b": {"set": {"goal": "texts"}, "base": {"load": "x"}}}, False),
        ({"a": {"m": {"trained": "b"}}, "b": {"set": {"goal": "vectors"}}}, True),
        ({"a": {"m": {"trained": "b"}}, "b": {"set": {"goal": "texts"}, "base": {"trained": "b"}}}, False),  # forged
    ],
)
def test_a_model_is_meta_trained_if_it_or_a_base_was_trained_on_tasks(keys: dict[str, Any], meta: bool):
    assert is_meta_trained(keys.__getitem__, "a") is meta
