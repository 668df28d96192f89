from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from taskloom import sources
from taskloom.errors import SourceError
from taskloom.sources import hub
from taskloom.sources.files import Row, RowFaults

TRAIN: list[Row] = [{"text": "a", "label": 0}, {"text": "b", "label": 1}]
TEST: list[Row] = [{"text": "c", "label": 1}]


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package, kept off the network and out of the user's cache, whoever imported it first."""
    datasets: ModuleType = pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    return datasets


def rows_of(spec: str) -> list[Row]:
    return [row for _, row in hub.rows(spec)]


def test_a_saved_data_set_is_read_with_places(datasets: ModuleType) -> None:
    datasets.Dataset.from_list(TRAIN).save_to_disk("saved")
    assert list(sources.rows("hub:saved", RowFaults())) == [("saved: row 1", TRAIN[0]), ("saved: row 2", TRAIN[1])]


def test_a_split_asked_of_a_saved_data_set_of_another_split_is_refused(datasets: ModuleType) -> None:
    datasets.Dataset.from_list(TRAIN, split="train").save_to_disk("saved")
    with pytest.raises(SourceError, match="unknown split of saved; known: train: 'test'"):
        rows_of("saved@test")


def test_a_saved_data_set_of_splits_is_read_by_split(datasets: ModuleType) -> None:
    splits = {"train": datasets.Dataset.from_list(TRAIN), "test": datasets.Dataset.from_list(TEST)}
    datasets.DatasetDict(splits).save_to_disk("saved")
    assert rows_of("saved") == TRAIN
    assert rows_of("saved@test") == TEST
    with pytest.raises(SourceError, match="unknown split of saved; known: train, test: 'dev'"):
        rows_of("saved@dev")


def test_a_folder_of_plain_files_is_read_by_split(datasets: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    datasets.Dataset.from_list(TRAIN).to_parquet("plain/train.parquet")
    datasets.Dataset.from_list(TEST).to_parquet("plain/test.parquet")
    assert rows_of("plain@train") == TRAIN
    assert rows_of("plain@test") == TEST
    with pytest.raises(SourceError, match=r"can't load 'plain' .*dev.*train"):
        rows_of("plain@dev")


def test_a_folder_of_json_lines_is_read(datasets: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/train.jsonl").write_text('{"text": "a", "label": 0}\n{"text": "b", "label": 1}\n')
    assert rows_of("plain") == TRAIN


def test_a_folder_of_broken_files_is_a_source_error(datasets: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/train.jsonl").write_text('{"text": "a"}\n{"text"\n')
    with pytest.raises(SourceError, match="can't load 'plain'"):
        rows_of("plain")


def test_an_empty_folder_is_a_source_error(datasets: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(SourceError, match=r"can't load 'plain' .*data files"):
        rows_of("plain")


def test_the_code_of_a_data_set_is_not_run(datasets: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/plain.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    with pytest.raises(SourceError, match="can't load 'plain'"):
        rows_of("plain")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("spec", ["nobody/nothing", "nobody/nothing:config@test", "nothing"])
def test_a_hub_that_cannot_be_reached_is_told_in_one_line(datasets: ModuleType, spec: str) -> None:
    with pytest.raises(SourceError, match=r"can't load '.*nothing' \(ConnectionError: .*Offline") as caught:
        rows_of(spec)
    assert "\n" not in str(caught.value)


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
