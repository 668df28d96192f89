from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from taskloom.core import Suite, Task, Text
from taskloom.suites import rows
from taskloom.suites.store import write


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    path.write_text("plot,genre\nA whale sings.,drama\nA ghost cooks.,comedy\nA dog runs.,drama\n")
    return path


@pytest.fixture
def suite(tmp_path: Path, small_suite) -> Path:
    write(small_suite, tmp_path / "suite")
    return tmp_path / "suite"


FILMS = ("--field", "plot:text", "--field", "genre:label")


def test_build_writes_a_suite_and_says_its_fingerprint(taskloom, table: Path, tmp_path: Path):
    ran = taskloom("build", "fields", table, *FILMS, "-o", tmp_path / "out")
    assert ran.code == 0
    shown = json.loads(taskloom("show", tmp_path / "out", "--json").out)
    assert shown["fingerprint"] in ran.out
    assert [task["id"] for task in shown["tasks"]] == ["plot->genre", "genre->plot"]


@pytest.mark.parametrize("delimiter", ["", ";;"])
@pytest.mark.parametrize("kind", ["fields", "auto"])
def test_a_delimiter_is_one_character_and_none_is_no_default(taskloom, table: Path, tmp_path: Path, kind, delimiter):
    ran = taskloom("build", kind, table, "--delimiter", delimiter, "-o", tmp_path / "out")
    assert ran.code == 2
    assert f"a delimiter must be one character, and no quote or end of a line: {delimiter!r}" in ran.err
    assert not (tmp_path / "out").exists()


def test_build_again_needs_force(taskloom, table: Path, tmp_path: Path):
    build = ("build", "fields", table, *FILMS, "-o", tmp_path / "out")
    assert taskloom(*build).code == 0
    refused = taskloom(*build)
    assert (refused.code, "--force" in refused.err) == (2, True)
    assert taskloom(*build, "--force").code == 0


def test_a_suite_is_not_replaced_by_what_is_built_of_it(taskloom, suite: Path):
    given = suite / "rows.arrow"
    given.write_text("x")
    ran = taskloom("build", "fields", given, *FILMS, "-o", suite, "--force")
    assert (ran.code, "a folder that holds an input" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("build", "cls", "x.csv", "-o", "out"), 2, "did you mean csl"),
        (
            ("build", "natural-instructions", *FILMS, "--id", "x", "-o", "out"),
            2,
            "natural-instructions does not take --field, --id; it takes SOURCE, --test",
        ),
        (("build", "quickstart", "--on-error", "go", "-o", "out"), 2, "on_error must be stop or skip: 'go'"),
        (("build", "fields", "gone.csv", *FILMS, "-o", "out"), 2, "no such file: gone.csv"),
        (("build", "fields", "/dev/zero", *FILMS, "-o", "out"), 2, "not a regular file; save what it gives"),
        (("build", "auto", "/dev/zero", "-o", "out"), 2, "not a regular file"),
        (("build", "fields", ".", *FILMS, "-o", "out"), 2, "a folder, not a file: ."),
        (("build", "flex", "{table}", "-o", "out"), 2, "a file, not a folder"),
        (("build", "scirepeval", "{table}", "-o", "out"), 2, "a file, not a folder"),
        (("build", "taskbench", "{table}", "-o", "out"), 2, "a file, not a folder"),
        (("build", "taskbench", "gone", "-o", "out"), 2, "no such folder: gone"),
        (("build", "functions", "antonyms[eng](0)", "--option", "lexicon=.", "-o", "out"), 1, "data.noun"),
        (("run", "."), 2, "a folder, not a file: ."),
        (("build", "functions", "mother(0)", "--option", "facts=/dev/zero", "-o", "out"), 2, "not a regular file"),
        (("build", "functions", "antonyms[eng](0)", "--option", "lexicon=x", "-o", "out"), 2, "no such folder: x"),
        (
            ("build", "fields", "{table}", "--field", "plot:text", "--field", "genr:label", "-o", "out"),
            1,
            "mean genre?",
        ),
        (("build", "fields", "{table}", "--field", "plot:txt", "-o", "out"), 2, "did you mean text"),
        (("build", "fields", "{table}", *FILMS, "--column", "plot", "-o", "out"), 2, "must be NAME=VALUE: plot"),
        (("build", "fields", "{table}", *FILMS, "--on-error", "no", "-o", "out"), 2, "stop or skip"),
        (("build", "fields", "-o", "out", *FILMS), 2, "SOURCE is missing"),
        (("show", "nowhere"), 2, "no such folder"),
        (("show", "{suite}", "title->keyword"), 2, "did you mean title->keywords"),
        (("show", "{suite}", "-o", "out"), 2, "-o needs --card: 'out'"),
        (("check", "nowhere"), 2, "no such folder"),
        (("check",), 2, "SUITE is missing"),
        (("list", "benchmark"), 2, "did you mean benchmarks"),
        (("data", "get", "arxive"), 2, "did you mean arxiv"),
        (("data", "show", "arxive"), 2, "did you mean arxiv"),
        (("data", "rm", "papers"), 1, "comes with taskloom"),
        (("bridge", "{suite}"), 2, "--target"),
        (("bridge", "{suite}", "--target", "title->yaer", "--meta", "title->keywords"), 2, "did you mean year"),
        (("nonsense",), 2, "no such command 'nonsense' (see: taskloom --help)"),
        (("data", "list"), 2, "no such command 'list' (see: taskloom data --help)"),
        (("show",), 2, "missing argument 'SUITE' (see: taskloom show --help)"),
    ],
)
def test_bad_usage_says_what_to_do(taskloom, table, suite, monkeypatch, tmp_path, arguments, code, told):
    monkeypatch.chdir(tmp_path)
    ran = taskloom(*(argument.format(table=table, suite=suite) for argument in arguments))
    assert ran.code == code
    assert told in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert not (tmp_path / "out").exists()


def test_data_with_faults_ends_with_1_and_names_them_all(taskloom, tmp_path: Path):
    (tmp_path / "bad.csv").write_text("plot,genre\nx,y\nonly\nx,y\na,b,c\n")
    ran = taskloom("build", "fields", tmp_path / "bad.csv", *FILMS, "-o", tmp_path / "out")
    assert ran.code == 1
    assert "bad.csv:3: 1 cell," in ran.err
    assert "bad.csv:5: 3 cells" in ran.err
    skipped = taskloom("build", "fields", tmp_path / "bad.csv", *FILMS, "--on-error", "skip", "-o", tmp_path / "out")
    assert skipped.code == 0
    assert "2 (rows with errors)" in skipped.err


def test_show_gives_tsv_when_piped(taskloom, suite: Path):
    header, first, *rest = taskloom("show", suite).out.splitlines()
    assert header.split("\t") == ["task", "output", "metrics", "examples"]
    assert first.split("\t") == ["title->keywords", "terms", "list-f1, bpref", "all 3"]
    assert len(rest) == 11


def test_show_tells_category_and_role_and_on_a_terminal_one_metric(taskloom, told: Path, monkeypatch):
    header, first, *_ = taskloom("show", told).out.splitlines()
    assert header.split("\t") == ["task", "category", "role", "output", "metrics", "examples"]
    every, both = "rouge-l:published, rouge-l, exact-match:published, exact-match", "default: train, xlingual: train"
    assert first.split("\t") == ["task9001_weather_data_to_text", "Data to Text", both, "text", every, "all 36"]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    wide = taskloom("show", told)
    assert re.search(r"task9007\w+ +Word Analogy +default: test +text +rouge-l:published \+3 +test 48 *\n", wide.out)
    assert "no room" not in wide.err
    monkeypatch.setenv("COLUMNS", "110")
    narrow = taskloom("show", told)
    assert re.search(r"task9007\w+ +Word Analogy +default: test +test 48 *\n", narrow.out)
    assert "columns that do not fit: output, metrics;" in narrow.err
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    assert "role\tdefault: test\n" in taskloom("show", told, "task9007_everyday_word_analogy").out


def test_roles_name_their_fold_where_there_are_several(taskloom, small_suite, tmp_path: Path):
    one, two, three, *_ = small_suite.tasks
    folds = {"default": {"test": (one,), "train": (two,), "excluded": (three,)}, "other": {"train": (one,)}}
    write(replace(small_suite, folds=folds), tmp_path / "folded")
    header, *rows = (row.split("\t")[:2] for row in taskloom("show", tmp_path / "folded").out.splitlines())
    assert header == ["task", "role"]
    assert [role for _, role in rows[:4]] == ["default: test, other: train", "default: train", "default: excluded", ""]


def test_show_a_task_with_examples_and_its_prompt(taskloom, suite: Path):
    shown = json.loads(taskloom("show", suite, "title->year", "-n", 1, "--json").out)
    assert shown["pools"] == {"all": 2}
    assert shown["examples"] == [
        {"id": "a", "fields": {"title": "On trees"}, "candidates": [], "gold": [2001.0], "group": "a"}
    ]
    asked = ("show", suite, "title->year", "--prompt", "--model", "fake:echo")
    shown = taskloom(*asked, "--item", "b")
    assert shown.out.startswith("根据标题写出年（数字）。\n\nOn birds\n")
    assert "item 'b', learner 'in-context', shots 0, seed 0" in shown.err
    told = json.loads(taskloom(*asked, "--shots", 1, "--json").out)
    assert (told["shots"], told["prompt"].count("On "), told["kept"]) == (1, 2, "")
    gone = taskloom(*asked, "--item", "z")
    assert (gone.code, "the task has no such item; some are 'a', 'b': 'z'" in gone.err) == (2, True)
    assert taskloom("show", suite, "title->year", "--shots", 1).code == 2
    assert taskloom(*asked, "--shots", "few").code == 2
    assert "=>\t2001" in taskloom("show", suite, "title->year", "-n", 1).out


def test_instructions_are_given_for_all_tasks_or_for_some(taskloom, table: Path, tmp_path: Path):
    given = ("--instruction", "plot->genre=Which kind of film is it?", "--instruction", "Write the {outputs}.")
    assert taskloom("build", "fields", table, *FILMS, *given, "-o", tmp_path / "out").code == 0
    tasks = json.loads(taskloom("show", tmp_path / "out", "--json").out)["tasks"]
    told = {task["id"]: task["instruction"] for task in tasks}
    assert (told["plot->genre"], told["genre->plot"]) == ("Which kind of film is it?", "Write the plot.")
    twice = taskloom("build", "fields", table, *FILMS, "--instruction", "a", "--instruction", "b", "-o", tmp_path / "x")
    assert (twice.code, "two instructions" in twice.err) == (2, True)


def test_show_the_card(taskloom, suite: Path):
    (row,) = json.loads(taskloom("show", suite, "--card", "--json").out)
    assert row == {
        "label": "all",
        "labels_below": 0,
        "means": {"title": 2.0, "keywords": pytest.approx(4 / 3)},
        "records": 3,
        "published": None,
    }


@pytest.fixture
def told(taskloom, tmp_path: Path) -> Path:
    """The dozen instruction tasks that come with taskloom."""
    assert taskloom("build", "natural-instructions", "-o", tmp_path / "told").code == 0
    return tmp_path / "told"


def test_show_the_card_of_tags(taskloom, told: Path):
    lines = taskloom("show", told, "--card").out.splitlines()
    assert lines[:2] == ["what\there\tpublished", "tasks\t25\t1616"]
    assert lines[lines.index("language\ttasks") + 1] == "English\t20"
    shown = json.loads(taskloom("show", told, "--card", "--json").out)
    assert (shown["types"], shown["published"]["types"]) == (22, 76)
    assert shown["spreads"]["languages"]["counts"] == dict(
        [("English", 20), *((name, 1) for name in ("Chinese", "French", "German", "Italian", "Spanish"))]
    )


def test_the_card_as_a_page_is_written_again(taskloom, told: Path, suite: Path, tmp_path: Path):
    page = tmp_path / "card.html"
    ran = taskloom("show", suite, "--card", "-o", page)
    assert (ran.code, ran.out, str(page) in ran.err.replace("\n", "")) == (0, "", True)
    assert page.read_text(encoding="utf-8").count("<svg") > 1  # labels and lengths
    ran = taskloom("show", told, "--card", "-o", page, "--json")
    assert page.read_text(encoding="utf-8").count("<svg") == 3
    assert json.loads(ran.out)["tasks"] == 25


def test_a_terminal_shows_the_first_names_with_bars(taskloom, told: Path, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("taskloom.cli.listings.NAMES", 2)
    few, every = taskloom("show", told, "--card"), taskloom("show", told, "--card", "--all")
    assert re.search(r"English +20 +█{24} *\n", few.out)
    assert re.search(r"Chinese +1 +█{4}▌", few.out)
    assert "Spanish" not in few.out
    assert "4 more languages: --all shows them" in few.err
    assert re.search(r"Spanish +1 +█{4}▌", every.out)
    assert "--all" not in every.err


def test_check_ends_with_1_when_there_are_faults(taskloom, suite: Path):
    fine = taskloom("check", suite)
    assert fine.code == 0
    assert "W102\trecords/year" in fine.out
    assert taskloom("check", suite, "--strict").code == 1
    assert json.loads(taskloom("check", suite, "--json").out)["errors"] == 0


def test_check_reads_the_data_itself(taskloom, suite: Path):
    file = suite / "records.arrow"
    file.write_bytes(file.read_bytes().replace(b"On fish", b"On fist"))
    damaged = taskloom("check", suite)
    assert damaged.code == 1
    assert "E001\trecords/title" in damaged.out


def test_bridges_are_told_and_proposed(taskloom, suite: Path):
    told = taskloom(
        "bridge", suite, "--target", "title->year", "--meta", "title->keywords", "--meta", "keywords->year", "--json"
    )
    assert json.loads(told.out)["shape"] == "single-leap"
    proposed = taskloom("bridge", suite, "--propose", "single-leap", "--target", "title->year", "--json")
    assert json.loads(proposed.out) == [{"target": "title->year", "meta": "title->keywords, keywords->year"}]


@pytest.mark.parametrize("arguments", [("list",), ("list", "benchmarks"), ("list", "data"), ("check", "--codes")])
def test_every_listing_has_json(taskloom, arguments):
    listed = json.loads(taskloom(*arguments, "--json").out)
    assert listed
    assert all(isinstance(row, dict) for row in listed)


def test_version(taskloom):
    assert taskloom("--version").out == "0.1.0\n"


def test_list_learners_says_which_are_baselines(taskloom):
    header, *rows = (line.split("\t") for line in taskloom("list", "learners").out.splitlines())
    assert header == ["name", "about", "outputs", "baseline"]
    assert {row[0]: row[3] for row in rows}.items() >= {"majority": "yes", "nearest": "no"}.items()


def test_list_models_tells_that_there_are_others(taskloom):
    ran = taskloom("list", "models")
    assert all(name in ran.err for name in ("hf:", "path:", "pypi:", "api:"))
    assert "for tests, without weights: fake:echo, fake:noise, fake:pupil" in ran.err
    assert "hf:" not in ran.out
    assert "hf:" not in taskloom("list", "models", "--json").err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("taskloom build qu", ["quickstart"]),
        ("taskloom data get ro", ["rotten-tomatoes"]),
        ("taskloom show SUITE title->k", ["title->keywords", "title->keywords+year"]),
        ("taskloom show nowhere title->k", []),
        ("taskloom show SUITE t --encoding def+pos2+neg2", ["def+pos2+neg2", "def+pos2+neg2+expl"]),
        ("taskloom show SUITE t --encoding n", ["none"]),
        ("taskloom show SUITE t --model p", ["path:", "pypi:"]),
        ("taskloom run quickstart --model fake:e", ["fake:echo"]),
        ("taskloom run quickstart --model s", ["smollm2"]),
        ("taskloom run quickstart --only near", ["nearest"]),
        ("taskloom run gone.yaml --only near", []),
        ("taskloom run --only near", []),
        ("taskloom report x --to t", ["terminal", "tex"]),
        ("taskloom compare n", []),
        ("taskloom people compare nowhere --learner n", []),
    ],
)
def test_names_are_completed(suite: Path, tmp_path: Path, words: str, found: list[str]):
    ended = completed(words.replace("SUITE", str(suite)), tmp_path)
    assert (ended.stdout.split(), ended.stderr) == (found, "")


def test_on_a_terminal_there_are_tables():
    lines = on_terminal([script(), "list", "benchmarks"])
    assert "─" in lines
    assert "\t" not in lines


def test_ctrl_c_ends_with_130_and_leaves_nothing(tmp_path: Path):
    """The index is a server that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        index = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        nowhere = {
            "PIP_INDEX_URL": index,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_EXTRA_INDEX_URL": "",
            "PIP_FIND_LINKS": "",
        }
        environment = {**os.environ, **nowhere, "TASKLOOM_CACHE": str(tmp_path / "cache")}
        program = [script(), "build", "quickstart", "-o", str(tmp_path / "out")]
        with subprocess.Popen(program, stderr=subprocess.PIPE, text=True, env=environment) as child:
            silent.accept()[0].close()  # the fetching child has come this far
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert err == "error: interrupted; no partial files were kept\n"
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "cache" / "data").iterdir()) == []


def test_a_closed_pipe_is_no_error(tmp_path: Path, suite: Path):
    command = f"set -o pipefail; {shlex.quote(script())} show {shlex.quote(str(suite))} --json | head -1"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("{\n", "", 0)


def completed(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Ask for what may stand in the place of the last word."""
    asked = {"_TASKLOOM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    return subprocess.run([script()], env={**os.environ, **asked}, cwd=folder, capture_output=True, text=True)


def script() -> str:
    return str(Path(sys.executable).with_name("taskloom"))


def on_terminal(command: list[str]) -> str:
    """Run a command on a real terminal and give what it printed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, stdout=theirs, stderr=theirs, stdin=theirs, env={**os.environ, "TERM": "xterm"}
    ) as child:
        child.wait(30)
    os.close(theirs)
    printed = b""
    try:
        while block := os.read(ours, 65536):
            printed += block
    except OSError:  # how a terminal says that it is closed
        pass
    os.close(ours)
    return printed.decode()


# --- own data --------------------------------------------------------------------------------------------------------


@pytest.fixture
def reviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"text {n} of its own kind,{('x', 'y', 'X')[n % 3 if n < 3 else n % 2]},{'train' if n < 20 else 'test'}"
        for n in range(30)
    ]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label,part", *rows, rows[0]]))
    return tmp_path / "reviews.csv"


def test_build_names_faults_of_the_table_by_code_and_check_does_again(reviews: Path, taskloom):
    columns = ["--field", "text:text", "--field", "label:label"]
    ran = taskloom("build", "fields", reviews, *columns, "--split", "part", "-o", "s")
    assert ran.code == 0
    assert ran.out.splitlines()[-1].startswith("s: 2 tasks")
    checked = taskloom("check", "s", "--json")
    assert checked.code == 1
    codes = {fault["code"].partition("-")[0] for fault in json.loads(checked.out)["faults"]}
    assert codes == {"E101", "W101", "W106"}
    assert all(f"{code} records" in ran.err for code in codes)


def test_build_auto_shows_its_guesses_and_prints_the_command_alone_where_nothing_is_built(reviews: Path, taskloom):
    dry = taskloom("build", "auto", "reviews.csv", "--dry-run")
    assert dry.out == (
        "taskloom build fields reviews.csv --split part --field text:text --field label:label -o suites/reviews\n"
    )
    assert "'part'" in dry.err
    assert not Path("suites").exists()
    built = taskloom("build", "auto", "reviews.csv")
    assert (built.code, built.out.partition(":")[0]) == (0, "suites/reviews")
    assert "taskloom build fields reviews.csv" in built.err


def test_what_build_can_not_mean_is_refused(reviews: Path, taskloom):
    columns = ["--field", "text:text", "--field", "label:label"]
    assert "name the folder" in taskloom("build", "fields", reviews, *columns).err
    assert "one source" in taskloom("build", "fields", reviews, reviews, *columns, "-o", "s").err
    assert "--dry-run is for auto" in taskloom("build", "fields", reviews, *columns, "-o", "s", "--dry-run").err
    assert "did you mean part" in taskloom("build", "fields", reviews, *columns, "--split", "prat", "-o", "s").err
    assert "auto does not take --split" in taskloom("build", "auto", reviews, "--split", "part", "-o", "s").err
    assert not Path("s").exists()


def test_a_hub_out_of_reach_is_told_in_one_line(tmp_path: Path):
    study = (
        "name: s\nsuite: {build: fields, from: 'data:papers', fields: ['title:text', 'category:label']}\n"
        "learners: {a: {in-context: {model: 'hf:org/none'}}}\n"
    )
    (tmp_path / "s.yaml").write_text(study)
    env = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hf")}
    command = [sys.executable, "-c", "from taskloom.cli import main; main()", "plan", "s.yaml"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "can't get 'hf:org/none'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_task_without_answers_is_shown_and_refused_by_check(taskloom, tmp_path: Path):
    row = {"id": ["1"], "group": ["g"], "fields": [["x"]], "candidates": [[]], "gold": ["[]"], "label": [-1]}
    task = Task(id="t", instruction="do", output=Text(), metrics=("exact-match",))
    pool = rows.from_table(task.output, ("q",), pa.table(row, schema=rows.SCHEMA))
    write(Suite(id="s", tasks={"t": task}, pools={"t": {"all": pool}}), tmp_path / "s")
    shown = taskloom("show", tmp_path / "s", "t")
    assert (shown.code, "(no answer)" in shown.out) == (0, True)
    assert taskloom("check", tmp_path / "s").code == 1
