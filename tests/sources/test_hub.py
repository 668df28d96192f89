from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from taskloom import sources
from taskloom.errors import SourceError, UsageError
from taskloom.sources import hub
from taskloom.sources.files import Row, RowFaults

Refused = Callable[..., AbstractContextManager[None]]
Put = Callable[[str, dict[str, Any]], None]
TRAIN: list[Row] = [{"text": "a", "label": 0}, {"text": "b", "label": 1}]
TEST: list[Row] = [{"text": "c", "label": 1}]


@pytest.fixture
def datasets(cached_on_hub: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package, kept off the network and out of the user's cache."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    found: ModuleType = pytest.importorskip("datasets")
    cached_on_hub("acme/reviews", {"train": found.Dataset.from_list(TRAIN), "test": found.Dataset.from_list(TEST)})
    return found


def rows_of(spec: str) -> list[Row]:
    return [row for _, row in hub.rows(spec)]


def test_a_data_set_is_read_with_places(datasets: ModuleType) -> None:
    found = list(sources.rows("hub:acme/reviews", RowFaults()))
    assert found == [("acme/reviews: row 1", TRAIN[0]), ("acme/reviews: row 2", TRAIN[1])]


def test_a_data_set_is_read_by_configuration_and_split(datasets: ModuleType, refused: Refused) -> None:
    assert rows_of("acme/reviews:default@test") == TEST
    with refused(SourceError, "hub-unreadable", name="acme/reviews"):
        rows_of("acme/reviews@dev")
    with refused(SourceError, "hub-unreadable", name="acme/reviews"):
        rows_of("acme/reviews:other")


def test_labels_have_their_names(datasets: ModuleType, cached_on_hub: Put, refused: Refused) -> None:
    label = datasets.ClassLabel(names=["good", "bad"])
    features = datasets.Features({"text": datasets.Value("string"), "label": label})
    rows = [{"text": "a", "label": "bad"}, {"text": "b", "label": -1}]
    cached_on_hub("acme/labels", {"train": datasets.Dataset.from_list(rows, features=features)})
    assert rows_of("acme/labels") == [{"text": "a", "label": "bad"}, {"text": "b", "label": None}]
    with refused(SourceError, "hub-label-unnamed", value=2):
        hub._named(["good", "bad"], 2)


@pytest.mark.parametrize("spec", ["nobody/nothing", "nobody/nothing:config@test", "nothing"])
def test_a_hub_that_cannot_be_reached_is_told_in_one_line(datasets: ModuleType, spec: str) -> None:
    with pytest.raises(SourceError, match=r"can't load '.*nothing' .* \(ConnectionError: .*Offline") as caught:
        rows_of(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "@x",
        ":x",
        ".",
        "..",
        "/etc",
        "../x",
        "a/b/c",
        "a//b",
        "a b",
        "~",
        "-a",
        "a/",
        "https://x/y",
        "a\n",
        "é",
        "a:..",
    ],
)
def test_what_is_no_name_of_a_data_set_is_refused(refused: Refused, name: str) -> None:
    with refused(UsageError, "hub-name-wrong"):
        rows_of(name)
    with refused(UsageError, "hub-name-wrong"):
        rows_of("a" * 97)


@pytest.mark.parametrize("name", ["json", "csv", "parquet", "text", "imagefolder", "arrow", "pandas"])
def test_formats_of_the_library_are_no_data_sets(datasets: ModuleType, refused: Refused, name: str) -> None:
    Path("secret.json").write_text('{"text": "mine"}')
    Path("secret.txt").write_text("mine")
    with refused(UsageError, "hub-name-local", name=name):
        rows_of(name)


def test_all_formats_of_the_library_are_known(datasets: ModuleType) -> None:
    assert {"json", "csv"} <= datasets.packaged_modules._PACKAGED_DATASETS_MODULES.keys()
    assert not hub._is_builder("squad", datasets)


@pytest.mark.parametrize("name", ["plain", "acme/plain"])
def test_a_local_folder_is_not_read_by_a_name_of_the_hub(datasets: ModuleType, refused: Refused, name: str) -> None:
    Path(name).mkdir(parents=True)
    (Path(name) / "train.jsonl").write_text('{"text": "mine"}\n')
    with refused(UsageError, "hub-name-local", name=name):
        rows_of(name)


def test_a_saved_data_set_is_not_read_by_a_name_of_the_hub(datasets: ModuleType, refused: Refused) -> None:
    datasets.Dataset.from_list(TRAIN).save_to_disk("saved")
    with refused(UsageError, "hub-name-local", name="saved"):
        rows_of("saved")


def test_without_the_extra_the_remedy_is_told() -> None:
    call = (
        "import sys; sys.modules['datasets'] = None\n"
        "from taskloom.errors import SourceError\n"
        "from taskloom.sources import hub\n"
        "try: list(hub.rows('a/b'))\n"
        "except SourceError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True)
    assert done.stdout == "hub: sources need an extra: pip install 'taskloom[hub]'\n"
