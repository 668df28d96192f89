from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TEXTS = "".join(f"The {noun} number {n} is old. It was new once.\n" for n in range(20) for noun in ("tree", "bird"))
SMALL = ("--vocabulary", "400", "--length", "32", "--batch", "4")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text(TEXTS + "The tree number 0 is old. It was new once.\n")
    return path


def test_a_model_is_pretrained_and_not_again(taskloom, texts: Path, tmp_path: Path):
    command = ("pretrain", "t5-nano", "-o", tmp_path / "m", "--texts", texts, *SMALL, "--steps", "3")
    ran = taskloom(*command)
    assert ran.code == 0, ran.err
    assert "duplicate texts, dropped: 1" in ran.err
    shown = dict(line.split("\t") for line in ran.out.splitlines())
    assert shown["model"] == f"path:{tmp_path / 'm'}"
    assert shown["texts"] == "38 texts, 2 held out"
    assert shown["trained"].startswith("3 steps")
    again = taskloom(*command)
    assert (again.code, again.out) == (0, ran.out)
    assert "nothing to do" in again.err
    other = taskloom(*command, "--seed", "1")
    assert (other.code, "--force" in other.err) == (2, True)
    assert taskloom(*command, "--seed", "1", "--force").code == 0


def test_no_steps_write_random_weights(taskloom, texts: Path, tmp_path: Path):
    ran = taskloom("pretrain", "llama-nano", "-o", tmp_path / "m", "--texts", texts, *SMALL, "--steps", 0, "--json")
    about = json.loads(ran.out)
    assert (ran.code, about["steps"]) == (0, 0)
    assert about["perplexity"]["before"] == about["perplexity"]["after"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("t5-nanno", "--texts", "texts.txt"), "did you mean t5-nano"),
        (("t5-nano", "--texts", "texts.txt", "--objective", "causal"), "must be spans or infilling or gaps: 'causal'"),
        (("t5-nano", "--texts", "texts.txt", "--tokenizer", "bep"), "did you mean bpe"),
        (("t5-nano", "--texts", "text.txt"), "no such file"),
        (("t5-nano", "--texts", "empty.txt"), "no texts were read"),
        (("t5-nano", "--texts", "table.csv", "--field", "abstrac"), "did you mean abstract"),
        (("t5-nano", "--texts", "texts.txt", "--lr", "0"), "lr must be a number"),
        (("t5-nano", "--texts", "texts.txt", "--steps", "3", "--epochs", "1"), "one of steps, epochs and tokens"),
        (("t5-nano", "--texts", "texts.txt", "--steps", "0", "--epochs", "1"), "one of steps, epochs and tokens"),
        (("t5-nano", "--texts", "texts.txt", "--vocabulary", "100"), ">= 360: 100"),
        (("t5-nano", "--texts", "texts.txt", "--held-out", "40"), "hold out fewer"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(
    taskloom, texts: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], told: str
):
    monkeypatch.chdir(texts.parent)
    Path("empty.txt").write_text("\n")
    Path("table.csv").write_text("abstract\none\n")
    ran = taskloom("pretrain", *given, "-o", "m")
    assert ran.code in (1, 2)
    assert told in ran.err
    assert not Path("m").exists()
    assert not Path("m.part").exists()


def test_an_interrupted_training_says_how_to_resume(texts: Path, tmp_path: Path, until):
    script = str(Path(sys.executable).with_name("taskloom"))
    command = [script, "pretrain", "t5-nano", "-o", "m", "--texts", str(texts), *SMALL, "--steps", "100000"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment) as child:
        until((tmp_path / "m.part" / "tokenizer").is_dir)
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "interrupted; the same command resumes from the last checkpoint in m.part" in told
    assert (tmp_path / "m.part" / "settings.json").is_file()


def test_a_model_does_not_replace_the_texts_that_it_learns_from(taskloom, texts: Path, tmp_path: Path):
    command = ("pretrain", "t5-nano", "-o", tmp_path / "m", *SMALL, "--steps", "0", "--texts")
    assert taskloom(*command, texts).code == 0
    own = texts.rename(tmp_path / "m" / "texts.txt")
    ran = taskloom(*command, own, "--seed", "1", "--force")
    assert (ran.code, "a folder that holds an input" in ran.err) == (2, True)
    assert own.is_file()
