"""Asking models by hand."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from taskloom import build, write_suite
from taskloom.errors import EpisodeError, UnknownNameError, UsageError
from taskloom.learners.in_context import InContext
from taskloom.learners.instructed import Instructed
from taskloom.studies.api import prepare
from taskloom.studies.asking import asking

STUDY = """
name: asked
suite: suite
tasks: ["@1-1/test", "@2-1/test"]
baselines: false
protocol: {seeds: 1, shots: [0], query: 4}
models:
  base: {load: "fake:pupil"}
  meta: {train: base, most: 10}
  told: {train: meta, tasks: ["title->category"], encoding: def, most: 5}
learners:
  taught: {in-context: {model: meta}}
  again: {instructed: {model: told, encoding: def}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose models were trained in two partitions."""
    place = tmp_path_factory.mktemp("asked")
    write_suite(build("csl", "data:papers", where={"language": "en"}, id_column="id"), place / "suite")
    (place / "study.yaml").write_text(STUDY, encoding="utf-8")
    prepare(place / "study.yaml", place / "run").run()
    return place


def test_a_model_is_asked_by_a_task_of_a_suite(folder: Path):
    asked = asking("fake:echo", "abstract->title", suite=folder / "suite")
    (response,), _ = asked.answers([{"abstract": "On trees."}])
    assert "On trees." in str(response.prompt)
    assert asked.fields == ("abstract",)


def test_examples_of_the_suite_can_be_shown(folder: Path):
    asked = asking("fake:echo", "abstract->title", suite=folder / "suite", shots=2)
    assert len(asked.support) == 2
    (response,), _ = asked.answers([{"abstract": "On trees."}])
    assert str(asked.support[0].gold[0]) in str(response.prompt)


def test_a_prompt_that_no_task_has_can_be_asked(folder: Path):
    rewrite = asking("fake:echo", "abstract->abstract", suite=folder / "suite")
    assert rewrite.task.instruction == "摘要->摘要"
    bare = asking("fake:echo", "review + product -> verdict")
    assert (bare.task.id, bare.fields) == ("review+product->verdict", ("review", "product"))


def test_of_a_run_the_model_is_asked_that_was_trained_for_the_task(folder: Path):
    title = asking("meta", "abstract->title", run=folder / "run")
    category = asking("taught", "abstract->category", run=folder / "run")
    assert [name for name, _ in title.uses] == ["meta"]
    assert title.uses != category.uses
    (response,), _ = title.answers([{"abstract": "On trees."}])
    assert response.raw is not None


def test_a_task_that_is_written_otherwise_is_the_same(folder: Path):
    plain = asking("meta", "abstract->category", run=folder / "run")
    assert asking("meta", " abstract → category", run=folder / "run").uses == plain.uses
    turned = asking("fake:echo", "discipline + abstract -> keywords", suite=folder / "suite")
    assert turned.task.id == "abstract+discipline->keywords"


def test_a_model_is_asked_in_the_words_that_it_was_trained_with(folder: Path):
    told = asking("told", "title->category", run=folder / "run")
    assert isinstance(told.learner, Instructed)
    assert [name for name, _ in told.uses] == ["meta", "told"]
    assert isinstance(asking("meta", "title->category", run=folder / "run").learner, InContext)


def test_what_can_not_be_asked_is_refused(folder: Path, tmp_path: Path):
    suite, run = folder / "suite", folder / "run"
    with pytest.raises(UnknownNameError, match="unknown model or learner of the run: 'mta'; did you mean meta"):
        asking("mta", "abstract->title", run=run)
    with pytest.raises(UnknownNameError, match="unknown field: 'abstrct'; did you mean abstract"):
        asking("fake:echo", "abstrct->title", suite=suite)
    with pytest.raises(UnknownNameError, match="unknown task"):
        asking("fake:echo", "titles", suite=suite)
    for options, code in [
        ({"suite": suite, "run": run}, "ask-one-place"),
        ({"run": tmp_path}, "not-a-run"),
        ({"run": run, "seed": 7}, "model-not-trained"),
    ]:
        with pytest.raises(UsageError) as refused:
            asking("meta", "abstract->title", **options)  # type: ignore[arg-type]
        assert refused.value.note.code == code
    with pytest.raises(UsageError) as refused:
        asking("fake:echo", "abstract->abstract", suite=suite, shots=1)
    assert refused.value.note.code == "ask-no-examples"
    with pytest.raises(EpisodeError):
        asking("fake:echo", "abstract->title", suite=suite, shots=1000)
    with pytest.raises(UsageError) as refused:
        asking("fake:echo", "abstract->title", suite=suite).answers([{"abstrakt": "x"}])
    assert refused.value.note.code == "ask-fields"


def test_the_verb_reads_a_text_or_lines(
    folder: Path, tmp_path: Path, taskloom: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    def ask(text: str, *words: str) -> Any:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8"))))
        return taskloom("ask", "fake:echo", *words)

    one = ask("On trees.", "abstract->title", "--suite", str(folder / "suite"))
    assert one.code == 0, one.err
    lines = "\n".join(json.dumps({"abstract": text, "discipline": "x"}) for text in ("On trees.", "On birds."))
    several = ask(lines, "abstract+discipline->title", "--suite", str(folder / "suite"))
    assert [json.loads(line)["abstract"] for line in several.out.splitlines()] == ["On trees.", "On birds."]
    assert ask("On trees.", "abstract+discipline->title").code == 2
    assert ask("", "abstract->title").code == 2
    assert "line 1 starts like JSON" in ask("{not json", "abstract->title").err
    assert ask(json.dumps({"abstract": 3}), "abstract->title").code == 2
    assert ask('{"abstract": "\\ud800 x"}', "abstract->title", "--json").code == 0  # half a character is replaced
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in taskloom("ask", "fake:echo", "abstract->title", str(binary)).err
    assert "a folder" in taskloom("ask", "fake:echo", "abstract->title", str(tmp_path)).err
    unread = ask("On trees.", "abstract->category", "--suite", str(folder / "suite"), "--json")
    assert json.loads(unread.out)["task"] == "abstract->category"


def test_what_an_endpoint_replies_is_kept_in_the_cache_and_not_in_the_working_folder(
    taskloom: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    asked = asking("api:tiny@http://127.0.0.1:9/v1", "title->abstract")
    asked.bench.model("api:tiny@http://127.0.0.1:9/v1", asked.uses)
    assert list((tmp_path / "here").iterdir()) == []
    kept = tmp_path / "cache" / "ask" / "replies.db"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [row["folder"] for row in json.loads(taskloom("cache", "--json").out)] == [str(kept.parent)]
