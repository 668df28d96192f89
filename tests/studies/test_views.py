"""Views that a study declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskloom.errors import StudyError
from taskloom.studies.plan import plan
from taskloom.studies.study import load, names, parse
from taskloom.studies.views import view_name

STUDY = """
name: s
suite: {suite}
tasks: [abstract->title]
protocol: {{seeds: 1, shots: [1], query: 4}}
learners: {{nearest: {{}}, again: {{nearest: {{}}}}}}
views: [{views}]
"""


@pytest.mark.parametrize(
    ("view", "told"),
    [
        (
            "published: {paper: natural-instruction}",
            "unknown paper: 'natural-instruction'; did you mean natural-instructions",
        ),
        ("gain: {learner: nearst}", "unknown learner: 'nearst'; did you mean nearest"),
        ("gain: {over: [copy-input, other]}", "unknown learner: 'other'"),
        ("published: {paper: ''}", "unknown paper: ''"),
        ("gain: {learner: nearest, over: nearest}", "a learner has no gain over itself: 'nearest'"),
        ("agreement: {x: rouge-l, y: rouge-7}", "unknown metric: 'rouge-7'; did you mean rouge"),
        ("scaling: {over: shots}", "unknown setting of learners: 'shots'"),
        ("scaling: {over: learner}", "numbers >= 0, and this setting has none: 'learner'"),
        ("matrix: {rows: model, columns: k}", "unknown setting of learners: 'model'"),
        ("matrix: {rows: learner, columns: learner}", "'nearest' and 'again' share a cell"),
        ("by: {tags: [input]}", "view 'by': no task of the study has tag 'input'; did you mean inputs"),
        ("learning: {by: kind}", "view 'learning': no task of the study has tag 'kind'; known: inputs"),
        ("episodes: {by: transfer}", "view 'episodes': no task of the study has tag 'transfer'"),
        ("by: {draw: [ways]}", "draw must be way or shots or support or balance"),
        ("by: {tags: [inputs], against: nearst}", "unknown learner: 'nearst'; did you mean nearest"),
        ("by", "name tags of tasks, or what is drawn"),
    ],
)
def test_what_a_view_names_is_known_before_any_work(papers: Path, tmp_path: Path, view: str, told: str):
    with pytest.raises(StudyError, match=r"study:\d+:\d+: ") as refused:
        plan(parse(STUDY.format(suite=papers, views=view)), tmp_path)
    assert told in str(refused.value)


def test_the_studies_of_instructions_can_be_planned_with_their_views(tmp_path: Path):
    instructions = [name for name in names() if name.startswith("natural-instructions")]
    used = {view_name(view) for name in instructions for view in load(name)[0].views}
    assert used == {"published", "gain", "agreement", "matrix", "scaling"}
    for name in instructions:
        study, _ = load(name)
        known = {"smollm2": "an id, so that nothing is fetched"}
        plan(study, tmp_path / name, only=["copy-input"])
        assert plan(study, tmp_path / name, known=known).cells
