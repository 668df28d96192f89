"""What tests share: the real data, where it is found, and small suites."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, settings

from taskloom.cli import main
from taskloom.cli.interrupts import SIGNALS
from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.errors import TaskloomError
from taskloom.messages import Note
from taskloom.models.fetched import set_up_torch
from taskloom.sources.table import Field
from taskloom.studies.challenge_make import make_challenge
from taskloom.suites import fields, rows, store

# The same examples in every run, and no judgement of how long a busy machine takes.
settings.register_profile("taskloom", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("taskloom")
set_up_torch()  # tests import it themselves

FIELDS = (Field("title", "text", "标题"), Field("keywords", "list", "关键词"), Field("year", "number", "年"))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets: beside the clone, or named by the environment."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TASKLOOM_TEST_DATA") or beside)
    if not folder.is_dir():
        pytest.skip("no real data here; TASKLOOM_TEST_DATA can name its folder")
    return folder


@pytest.fixture(scope="session")
def offline_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with an empty cache and no package index."""
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_NO_INDEX": "", "PIP_EXTRA_INDEX_URL": ""}
    return {**nowhere, "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull} | {
        "TASKLOOM_CACHE": str(tmp_path_factory.mktemp("cache"))
    }


@pytest.fixture
def cached_on_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, dict[str, Any]], None]:
    """Put a data set of the hub into its cache, as if it had been fetched; nothing is fetched."""
    datasets = pytest.importorskip("datasets")
    cache = tmp_path / "hub-cache"
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)  # whoever imported it first
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", cache)

    def put(name: str, splits: dict[str, Any]) -> None:
        files = {split: str(tmp_path / f"{split}.parquet") for split in splits}
        for split, content in splits.items():
            content.to_parquet(files[split])
        datasets.load_dataset("parquet", data_files=files)
        (made,) = cache.glob("parquet/*/*/*/dataset_info.json")
        folder = cache / name.replace("/", "___") / "default" / Path(*made.parts[-3:-1])
        folder.parent.mkdir(parents=True)
        made.parent.replace(folder)
        shutil.rmtree(cache / "parquet")
        own = name.rpartition("/")[2]
        for file in folder.glob("parquet-*.arrow"):
            file.rename(folder / file.name.replace("parquet", own, 1))
        about = json.loads((folder / "dataset_info.json").read_text())
        about |= {"dataset_name": own, "config_name": "default"}
        (folder / "dataset_info.json").write_text(json.dumps(about))

    return put


@pytest.fixture
def small_suite() -> Suite:
    """Twelve field tasks over three records, one of them without a year."""
    made: list[dict[str, object]] = [
        {"id": "a", "title": "On trees", "keywords": ["oak", "elm"], "year": 2001.0},
        {"id": "b", "title": "On birds", "keywords": ["owl"], "year": 2002.0},
        {"id": "c", "title": "On fish", "keywords": ["cod"], "year": None},
    ]
    return fields.suite(fields.records(FIELDS, made), id="small")


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """Wait until something is so, for as long as a busy machine may need."""

    def wait(so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        while not so():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    return wait


@pytest.fixture
def small_files() -> Callable[[], AbstractContextManager[None]]:
    """Let no file grow over 4 kB meanwhile, as on a disk that is full."""

    @contextmanager
    def limited() -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited


Refused: TypeAlias = "Callable[..., AbstractContextManager[None]]"


@pytest.fixture
def refused() -> Refused:
    """Expect an error by its kind, its code, and some of its values."""

    @contextmanager
    def refusing(kind: type[TaskloomError], code: str, **values: object) -> Iterator[None]:
        with pytest.raises(kind) as told:
            yield
        assert type(told.value) is kind
        assert told.value.note.code == code
        assert set(Note.of(code, **values).values) <= set(told.value.note.values)

    return refusing


FilesUpTo: TypeAlias = "Callable[[int], AbstractContextManager[None]]"


@pytest.fixture
def files_up_to() -> FilesUpTo:
    """Let no file grow beyond a number of bytes, as a full disk does."""

    @contextmanager
    def limit(most: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limit


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def taskloom(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run the command line in this process."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr("sys.argv", ["taskloom", *map(str, arguments)])
        before = {number: signal.getsignal(number) for number in SIGNALS}
        with pytest.raises(SystemExit) as ended:
            main()
        for number, handler in before.items():  # or children of other tests would ignore them
            signal.signal(number, handler)
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, printed.out, printed.err)

    return run


TOPICS = """
name: topics
suite: suite
protocol: {seeds: 1, episodes: 3, shots: [0, 2], query: 3, per_class: true}
baselines: false
learners: {nearest: {}, majority: {}}
"""
WORDS = {"art": "paint", "law": "court", "sea": "whale"}  # by class: the word of its texts


@dataclass(frozen=True)
class MadeTopics:
    """A study of two tasks, and the challenge that was made of it; ids and groups of items tell their class."""

    study: Path
    folder: Path
    answers: Path


def topics(folder: Path) -> Path:
    """Write a suite of two tasks, one of a single pool, and a study of it."""
    tasks = [
        Task(id=name, instruction="Which topic?", output=Labels(tuple(WORDS)), metrics=("accuracy", "macro-f1"))
        for name in ("one-pool", "two-pools")
    ]
    examples = {
        (task.id, part): [
            Example(
                Item(f"{label}-{part}-{n}", {"text": f"{word} number {n} of {part}, {task.id}"}),
                (label,),
                f"{label}{part}{n}",
            )
            for label, word in WORDS.items()
            for n in range(12)
        ]
        for task in tasks
        for part in ("all", "train", "test")
    }
    parts = {"one-pool": ("all",), "two-pools": ("train", "test")}
    pools = {task.id: {part: rows.pool(task, examples[task.id, part]) for part in parts[task.id]} for task in tasks}
    store.write(Suite(id="topics", tasks={task.id: task for task in tasks}, pools=pools), folder / "suite")
    (folder / "study.yaml").write_text(TOPICS)
    return folder / "study.yaml"


@pytest.fixture(scope="session")
def made_topics(tmp_path_factory: pytest.TempPathFactory) -> MadeTopics:
    """The challenge of the study, made once: it must not be changed."""
    folder = tmp_path_factory.mktemp("topics")
    study = topics(folder)
    made = make_challenge(study, folder / "challenge")
    return MadeTopics(study, folder / "challenge", made.answers)


@pytest.fixture
def own_topics(made_topics: MadeTopics, tmp_path: Path) -> MadeTopics:
    """A copy of the study, its suite and its challenge, to be edited."""
    copy = tmp_path / "topics"
    shutil.copytree(made_topics.study.parent, copy)
    answers = made_topics.answers.relative_to(made_topics.study.parent)
    return MadeTopics(copy / "study.yaml", copy / "challenge", copy / answers)


def slow_learner(seconds: float) -> str:
    """Write the class Slow, which leaves a file `begun` and takes so long for each cell."""
    return f"""
import time
from dataclasses import dataclass
from taskloom import Learner
@dataclass(frozen=True)
class Slow(Learner):
    version = 1
    outputs = frozenset({{'labels'}})
    unaided = outputs
    def fit(self, task, support, dev, *, seed, tools):
        open("begun", "w").close()
        time.sleep({seconds})
        return self
    def predict(self, items):
        return [None for _ in items]
"""
