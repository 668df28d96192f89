"""Runs that came from others: no command runs code that they name, and none sends anything, unless they are trusted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import taskloom as library
from taskloom.errors import LearnerError, ModelError, UsageError
from taskloom.ids import canonical
from taskloom.studies.api import LEDGER
from taskloom.studies.asking import asking
from taskloom.studies.challenge_make import make_challenge
from taskloom.studies.export import open_trained_encoder, trained_encoder
from taskloom.studies.ledger import Ledger
from taskloom.studies.prompting import show_prompt

from ..conftest import Ran, Refused, topics
from ..models.conftest import Server

CODE = """
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from taskloom import Learner
{mark}

@dataclass(frozen=True)
class Mine(Learner):
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({{"labels"}})
    unaided: ClassVar[frozenset] = frozenset({{"labels"}})

    def fit(self, task, support, dev, *, seed, tools):
        return self

    def predict(self, items):
        return ["sea" for item in items]

def vectors(texts):
    return [[float(len(text)), 1.0] for text in texts]
"""
STUDY = """
name: topics
suite: suite
protocol: {seeds: 1, episodes: 1, shots: [0, 1], query: 2, per_class: true}
baselines: false
models:
  code: {load: "mine.py:vectors"}
  tuned: {train: "fake:pupil", tasks: [two-pools], steps: 2}
learners:
  few: {in-context: {model: "fake:noise"}}
  mine: {"mine.py:Mine": {}}
  proto: {prototype: {model: code}, shots: [1]}
  meta: {in-context: {model: tuned}, tasks: [one-pool]}
"""


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a suite, a challenge, and two runs; whoever loads the code that these name leaves a mark there."""
    folder = tmp_path_factory.mktemp("received")
    topics(folder)
    (folder / "study.yaml").write_text(STUDY)
    (folder / "mine.py").write_text(CODE.format(mark=""))
    for run in ("run", "other"):
        library.run(folder / "study.yaml", folder / run)
    with Ledger(folder / "other" / LEDGER) as ledger:  # as `run --model` keeps it
        ledger.keep_about(overrides=canonical({"model": "fake:noise"}))
    make_challenge(folder / "study.yaml", folder / "challenge")
    (folder / "mine.py").write_text(CODE.format(mark="Path(__file__).with_name('MARK').touch()"))
    lines = [{"item": "sea-test-0", "answer": "sea"}]
    (folder / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "text.txt").write_text("whale")
    return folder


def is_marked(folder: Path) -> bool:
    """Tell whether code was run, and wipe its mark."""
    mark = folder / "MARK"
    found = mark.exists()
    mark.unlink(missing_ok=True)
    return found


COMMANDS: dict[str, tuple[int, str]] = {  # what is typed -> the exit code, and some of what is printed
    "show suite": (0, "one-pool"),
    "show suite one-pool": (0, "paint"),
    "show suite --card": (1, "built from a table"),
    "show suite one-pool --prompt": (0, "Which topic?"),
    "show RUN one-pool --prompt": (0, "Which topic?"),
    "show RUN one-pool --prompt --learner few": (0, "Which topic?"),
    "show RUN one-pool --prompt --learner mine": (1, "learner 'mine' is code in a file"),
    "show run one-pool --prompt --learner proto --shots 1": (1, "model 'code' is code in a file"),
    "show RUN one-pool --prompt --learner meta": (0, "Which topic?"),
    "show suite one-pool --prompt --study RUN/study.yaml --learner few": (0, "Which topic?"),
    "show suite one-pool --prompt --study RUN/study.yaml --learner few --model fake:echo": (0, "Which topic?"),
    "show suite one-pool --prompt --study RUN/study.yaml --learner mine": (1, "--trust-code"),
    "check suite": (0, ""),
    "bridge suite --target one-pool --meta two-pools": (1, "built from a table"),
    "report RUN": (0, "accuracy"),
    "report RUN --to html -o report.html": (0, ""),
    "report RUN --to md": (0, "accuracy"),
    "report RUN --to csv": (0, "accuracy"),
    "report RUN --to tex": (0, "accuracy"),
    "report RUN --to json": (0, "accuracy"),
    "report RUN --to items": (0, "sea-"),
    "report RUN --plots plots --metric accuracy": (0, ""),
    "compare few mine --run RUN": (0, "accuracy"),
    "compare run:few other:mine": (0, "accuracy"),
    "score suite predictions.jsonl": (0, "accuracy"),
    "ask few one-pool text.txt --run RUN": (0, ""),
    "ask fake:noise one-pool text.txt --run RUN": (0, ""),
    "ask tuned one-pool text.txt --run RUN": (0, ""),
    "ask mine one-pool text.txt --run RUN": (1, "learner 'mine' is code in a file"),
    "ask proto one-pool text.txt --run run --shots 1": (1, "model 'code' is code in a file"),
    "ask code one-pool text.txt --run RUN": (1, "model 'code' is code in a file"),
    "ask nobody one-pool text.txt --run RUN": (2, "unknown model or learner of the run"),
    "ledger merge run other": (0, "0 new cells"),
    "ledger merge other run/ledger.db": (0, "0 new cells"),
    "challenge make RUN/study.yaml -o made --force": (0, "2 tasks"),
    "challenge export challenge RUN -o submitted --force": (0, "mine.json"),
    "challenge validate challenge predictions.jsonl": (1, ""),
    "people compare RUN -o sheet.csv --items 1": (2, ""),
    "people rate suite -o rate.csv": (0, ""),
    "export RUN tuned encoder": (2, "a fake has no weights to export"),
    "transfer suite --dry-run": (0, "name:"),
    "list": (0, "learners"),
    "cache": (0, ""),
}  # fmt: skip


TYPED = [(command, run) for command in COMMANDS for run in ("run", "other") if run == "run" or "RUN" in command]


@pytest.fixture
def there(received: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, in which commands are typed."""
    monkeypatch.chdir(received)
    monkeypatch.setenv("TASKLOOM_CACHE", str(received / "cache"))
    for name in [name for name in sys.modules if name.startswith("mine-")]:
        monkeypatch.delitem(sys.modules, name)  # or it would not be loaded again
    is_marked(received)
    return received


@pytest.mark.parametrize(("command", "run"), TYPED)
def test_no_command_runs_code_of_a_run(taskloom: Callable[..., Ran], there: Path, command: str, run: str):
    code, printed = COMMANDS[command]
    ran = taskloom(*command.replace("RUN", run).split())
    assert not is_marked(there), ran
    assert (ran.code, printed in ran.out + ran.err) == (code, True), ran


def test_no_completion_runs_code_of_a_run(there: Path):
    typed = [
        "taskloom show suite o", "taskloom show run one-pool --prompt --learner m", "taskloom compare m",
        "taskloom compare --run run m", "taskloom run run/study.yaml --only m", "taskloom plan run/study.yaml --only m",
        "taskloom challenge export challenge run --learner m", "taskloom people compare run --learner m",
        "taskloom ask m",
    ]  # fmt: skip
    for words in typed:
        asked = {"_TASKLOOM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        command = [sys.executable, "-m", "taskloom"]
        ran = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=False)
        assert (is_marked(there), ran.stderr) == (False, ""), words


@pytest.mark.parametrize(("command", "code", "printed"), [
    ("show run one-pool --prompt --learner mine", 2, "this learner sends no prompt"),
    ("ask mine one-pool text.txt --run run", 0, "sea"),
    ("ask code one-pool text.txt --run run", 1, "only vectors of documents"),
    ("ask proto one-pool text.txt --run run --shots 1", 0, ""),
])  # fmt: skip
def test_code_of_a_run_that_is_trusted_runs(
    taskloom: Callable[..., Ran], there: Path, command: str, code: int, printed: str
):
    ran = taskloom(*command.split(), "--trust-code")
    assert (ran.code, printed in ran.out + ran.err) == (code, True), ran
    assert is_marked(there) or "code" in command  # which is refused before it is loaded


def test_code_is_refused_with_its_name_its_file_and_the_remedy(there: Path, refused: Refused):
    with refused(LearnerError, "learner-untrusted", learner="mine", path=there / "mine.py"):
        show_prompt(there / "run", "one-pool", learner="mine")
    with refused(LearnerError, "learner-untrusted", learner="mine", path=there / "mine.py"):
        asking("mine", "one-pool", run=there / "run")
    with refused(ModelError, "model-untrusted", model="code", path=there / "mine.py"):
        asking("proto", "one-pool", run=there / "run")
    assert not is_marked(there)
    trusted = asking("mine", "one-pool", run=there / "run", trust_code=True)
    assert trusted.answers([{"text": "whale"}])[0][0].answer == "sea"


def test_the_option_is_refused_where_it_does_nothing(taskloom: Callable[..., Ran], there: Path):
    assert taskloom("ask", "fake:echo", "one-pool", "text.txt", "--suite", "suite", "--trust-code").code == 2
    assert taskloom("show", "suite", "one-pool", "--trust-code").code == 2


def test_only_the_learner_that_is_asked_for_is_made(taskloom: Callable[..., Ran], there: Path, tmp_path: Path):
    run = copied(there, tmp_path, STUDY.replace("mine.py:Mine", "gone.py:Mine"))
    for trusted in ([], ["--trust-code"]):
        assert taskloom("show", run, "one-pool", "--prompt", "--learner", "few", *trusted).code == 0
        assert taskloom("ask", "tuned", "one-pool", "text.txt", "--run", run, *trusted).code == 0


def test_an_endpoint_of_a_run_gets_nothing_unless_it_is_trusted(
    taskloom: Callable[..., Ran], there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_OWN_API_KEY", "sk-secret-0123456789")
    with closing(Server()) as endpoint:
        refuses_endpoint(taskloom, there, tmp_path, endpoint)


def refuses_endpoint(taskloom: Callable[..., Ran], there: Path, tmp_path: Path, endpoint: Server) -> None:
    models = f'models:\n  far: {{load: "api:tiny@{endpoint.url}", key: MY_OWN_API_KEY}}'
    learners = "  far-away: {in-context: {model: far, answers: generate}}\n  proto: {prototype: {model: far}}"
    study = STUDY.replace("models:", models).replace("  proto: {prototype: {model: code}, shots: [1]}", learners)
    run = copied(there, tmp_path, study)
    for asked in (["far"], ["far-away"], ["proto", "--shots", "1"]):
        ran = taskloom("ask", asked[0], "one-pool", "text.txt", "--run", run, *asked[1:])
        assert (ran.code, "model 'far' is an endpoint" in ran.err, endpoint.url in ran.err) == (1, True, True)
    assert (endpoint.received, endpoint.headers) == ([], [])
    command = ["ask", "far-away", "one-pool", "text.txt", "--run", str(run), "--trust-code"]
    subprocess.run([sys.executable, "-m", "taskloom", *command], capture_output=True, check=False)
    assert endpoint.headers[0]["Authorization"] == "Bearer sk-secret-0123456789"


def test_what_the_suite_of_a_run_was_built_from_is_not_asked_again(
    taskloom: Callable[..., Ran], there: Path, tmp_path: Path
):
    with closing(Server()) as endpoint:
        build = f'suite: {{build: functions, from: "mother(father(0))", facts: "{endpoint.url}", lexicon: ""}}'
        run = copied(there, tmp_path, STUDY.replace("suite: suite", build))
        make = ("challenge", "make", run / "study.yaml", "-o", tmp_path / "made")
        assert (taskloom(*make).code, (tmp_path / "made").exists()) == (2, False)  # the suite is missing
        shutil.copytree(there / "suite", run / "suite")
        assert taskloom(*make).code == 0
        assert endpoint.headers == []


def test_an_encoder_of_a_run_is_exported_without_code_and_endpoints(there: Path, tmp_path: Path, refused: Refused):
    """A forged ledger says that a function, or an endpoint, was trained."""
    for load in ("mine.py:vectors", "api:tiny@http://127.0.0.1:9/v1"):
        study = STUDY.replace('tuned: {train: "fake:pupil"', "tuned: {train: code").replace("mine.py:vectors", load)
        run = copied(there, tmp_path / load[:3], study)
        with refused(UsageError, "export-no-vectors", path=run):
            open_trained_encoder(trained_encoder(run, "tuned"), run)
    assert not is_marked(there)


def test_a_model_that_is_its_own_base_is_refused(there: Path, tmp_path: Path, refused: Refused):
    run = copied(there, tmp_path, STUDY.replace('tuned: {train: "fake:pupil"', "tuned: {train: tuned"))
    with refused(UsageError, "trained-from-itself", model="tuned"):
        trained_encoder(run, "tuned")


def copied(there: Path, into: Path, study: str) -> Path:
    """Copy a run, with another study."""
    run = into / "copied"
    shutil.copytree(there / "run", run)
    (run / "study.yaml").write_text(study)
    return run
