"""Published formats of labelled data, each by a few lines as they are published."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from taskloom.errors import SourceError
from taskloom.sources.files import Row, RowFaults
from taskloom.sources.labelled import FIELDS, Files, Found, entities, find, formed, paths_in, rows_of_files
from taskloom.sources.splits import SPLIT


def written(folder: Path, files: Mapping[str, str | bytes]) -> dict[Path, str]:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return paths_in(folder)


def rows(paths: dict[Path, str], files: Files, form: str = "single", most: int = 0) -> list[Row]:
    faults = RowFaults()
    found = [row for _, row in rows_of_files(Found(files, paths), form, faults, most)]
    faults.settle()
    return found


def read(folder: Path, name: str, content: str | bytes, form: str = "single", **files: Any) -> list[Row]:
    return rows(written(folder, {name: content}), Files(match=(), **files), form)


def test_a_table_is_read_by_the_usual_names_of_its_columns(tmp_path: Path):
    glue = read(tmp_path, "train.tsv", 'sentence\tlabel\na "quoted phrase \t1\n')
    assert glue == [{"text": 'a "quoted phrase', "label": "1", SPLIT: "train"}]
    mrpc = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t70\t71\tHe said so.\tSo he said.\n"
    (row,) = read(tmp_path / "b", "dev.tsv", mrpc, "pair")
    assert (row["text1"], row["text2"], row["label"], row[SPLIT]) == ("He said so.", "So he said.", "1", "dev")
    qnli = "index\tquestion\tsentence\tlabel\n0\tWhen?\tIt was in 1066.\tentailment\n"
    (row,) = read(tmp_path / "c", "train.tsv", qnli, "pair")
    assert (row["text1"], row["text2"]) == ("When?", "It was in 1066.")


def test_a_table_without_a_header_gets_one(tmp_path: Path):
    header = ("source", "label", "mark", "text")
    cola = read(tmp_path, "train.tsv", "gj04\t1\t\tThey drank the pub dry.\n", header=header)
    assert cola[0]["text"] == "They drank the pub dry."
    scitail = read(
        tmp_path / "b", "scitail_1.0_test.tsv", "P.\tH.\tentails\n", "pair", header=("text1", "text2", "label")
    )
    assert scitail == [{"text1": "P.", "text2": "H.", "label": "entails", SPLIT: "test"}]


def test_json_lines_of_snli_huffpost_and_token_lists_are_read(tmp_path: Path):
    snli = {"gold_label": "neutral", "sentence1": "A man.", "sentence2": "A person.", "annotator_labels": ["neutral"]}
    (row,) = read(tmp_path, "snli_1.0_dev.jsonl", json.dumps(snli), "pair")
    assert row == {"text1": "A man.", "text2": "A person.", "label": "neutral", SPLIT: "dev"}
    headline = {"category": "CRIME", "headline": "2 Held", "short_description": "x", "date": "2018-05-26"}
    assert read(tmp_path / "b", "News_Category_Dataset_v2.json", json.dumps(headline))[0]["label"] == "CRIME"
    tokens = {"text": ["asian", "exporters"], "label": 28}
    assert read(tmp_path / "c", "reuters.json", json.dumps(tokens))[0] == {
        "text": "asian exporters",
        "label": "28",
        SPLIT: "",
    }


def test_a_label_may_be_in_the_path(tmp_path: Path):
    review = "".join(json.dumps({"reviewText": f"good {n}", "overall": 5.0}) + "\n" for n in range(3))
    paths = written(tmp_path, {"reviews_Books_5.json.gz": gzip.compress(review.encode())})
    files = Files(match=("reviews_*.json.gz",), label=r"reviews_(.+?)(?:_5)?\.json", format="jsonl")
    assert [(row["label"], row["text"]) for row in rows(paths, files, most=2)] == [
        ("Books", "good 0"),
        ("Books", "good 1"),
    ]
    lines: dict[str, str | bytes] = {"rt-polarity.neg": "dull .\n\n", "rt-polarity.pos": b"caf\xe9 noir .\n"}
    polarity = Files(match=(), reader="lines", label=r"\.(neg|pos)$", encoding="latin-1")
    assert [(row["label"], row["text"]) for row in rows(written(tmp_path / "b", lines), polarity)] == [
        ("neg", "dull ."),
        ("pos", "café noir ."),
    ]


def test_folders_of_documents_are_classes_and_splits(tmp_path: Path):
    posts = {"20news-bydate-train/sci.med/59225": "From: a\n\nHello.", "20news-bydate-test/sci.space/1": "Orbit"}
    files = Files(match=(), reader="document", label=r"([^/]+)/[^/]+$", encoding="latin-1")
    assert rows(written(tmp_path, posts), files, "document") == [
        {"text": "Orbit", "label": "sci.space", SPLIT: "test"},
        {"text": "From: a Hello.", "label": "sci.med", SPLIT: "train"},
    ]


def test_lines_begin_with_a_label_and_a_finer_one_is_not_used(tmp_path: Path):
    trec = b"DESC:manner How did serfdom develop ?\nLOC:city What is the sister\xf0city ?\n"
    found = read(tmp_path, "train_5500.label", trec, reader="labelled-lines", encoding="latin-1")
    assert [(row["label"], row["text"]) for row in found] == [
        ("DESC", "How did serfdom develop ?"),
        ("LOC", "What is the sisterðcity ?"),
    ]
    assert found[0][SPLIT] == "train"
    tabs = read(tmp_path / "b", "r52-test-all-terms.txt", "nat-gas\tgas prices rise\n", reader="labelled-lines")
    assert tabs == [{"text": "gas prices rise", "label": "nat-gas", SPLIT: "test"}]
    with pytest.raises(SourceError, match=r"mr\.all:1: must be a label and a text"):
        read(tmp_path / "c", "mr.all", "lonely\n", reader="labelled-lines")


def test_opinions_of_features_make_a_sentence_positive_or_negative(tmp_path: Path):
    text = (
        "[t]great phone\nsize[+2], battery[+1], price[-3]##small and lasting but dear .\nsound[-1]##it hums .\n"
        "##i bought it .\n"
    )
    found = read(tmp_path, "Nokia 6610.txt", text, reader="opinions")
    assert [(row["label"], row["text"]) for row in found] == [
        ("positive", "small and lasting but dear ."),
        ("negative", "it hums ."),
        (None, "i bought it ."),
    ]


@pytest.mark.parametrize("scheme", ["I-LOC I-LOC O I-PER I-ORG", "B-LOC I-LOC O B-PER B-ORG"])
def test_mentions_of_columns_are_items_in_either_scheme(tmp_path: Path, scheme: str):
    words, tags = ["New", "York", "met", "Ann", "Acme"], scheme.split()
    lines = "\n".join(f"{word} NN I-NP {tag}" for word, tag in zip(words, tags, strict=True))
    found = read(tmp_path, "eng.testb", f"-DOCSTART- -X- O O\n\n{lines}\n\n", "entity", reader="conll")
    assert [(row["text"], row["mention"], row["label"]) for row in found] == [
        ("#New York# met Ann Acme", "New York", "LOC"),
        ("New York met #Ann# Acme", "Ann", "PER"),
        ("New York met Ann #Acme#", "Acme", "ORG"),
    ]
    assert found[0][SPLIT] == "test"


def test_two_mentions_of_a_type_side_by_side_are_two():
    assert [row["mention"] for row in entities(["Ann", "Bob"], ["B-PER", "B-PER"])] == ["Ann", "Bob"]
    assert [row["mention"] for row in entities(["Ann", "Bob"], [1, 2])] == ["Ann Bob"]  # as the hub numbers tags


def test_relations_are_marked_and_named(tmp_path: Path):
    one = {
        "tokens": ["The", "Wilton", "Bridge", " ", "crosses", "the", "Wye"],
        "h": ["wilton bridge", "Q1", [[1, 2]]],
        "t": ["wye", "Q2", [[6]]],
    }
    names = {"P177": ["crosses", "obstacle which this bridge crosses"]}
    paths = written(tmp_path, {"val_wiki.json": json.dumps({"P177": [one]}), "pid2name.json": json.dumps(names)})
    paths = {path: name for path, name in paths.items() if name == "val_wiki.json"}
    assert rows(paths, Files(match=(), reader="fewrel"), "relation") == [
        {
            "text": "The #Wilton Bridge# crosses the *Wye*",
            "mention1": "Wilton Bridge",
            "mention2": "Wye",
            "label": "crosses",
            SPLIT: "dev",
        }
    ]
    on_hub = {"relation": "P177", "names": ["crosses", "x"], "tokens": one["tokens"]}
    on_hub |= {"head": {"text": "", "indices": [[1, 2]]}, "tail": {"text": "", "indices": [[6]]}}
    ((_, row),) = formed([("hub: row 1", on_hub)], "relation")
    assert (row["label"], row["mention1"]) == ("crosses", "Wilton Bridge")


def test_mentions_of_a_table_of_ones_own_are_marked_where_they_first_stand():
    given = {"text": "Ann met Annabel and Ann.", "mention": "Ann", "label": "person"}
    ((_, row),) = formed([("a:1", given)], "entity")
    assert row["text"] == "#Ann# met Annabel and Ann."
    ((_, again),) = formed([("a:1", row)], "entity")
    assert again["text"] == row["text"]


def test_a_missing_column_is_named_with_those_that_there_are(refused: Any):
    with refused(SourceError, "field-column-missing", field="text", columns=["body", "label"], place="a:1"):
        list(formed([("a:1", {"body": "x", "label": "y"})], "single"))
    with pytest.raises(SourceError, match=r"a YAML file with `from: FILE` and `columns: \{text: COLUMN\}`; found"):
        list(formed([("a:1", {"body": "x", "label": "y"})], "single"))


@pytest.mark.parametrize(
    ("form", "row"),
    [
        ("entity", {"tokens": ["a"], "tags": ["O", "O"]}),
        ("entity", {"tokens": ["a"], "tags": [12]}),
        ("relation", {"tokens": ["a"], "h": ["a", "Q1", [[7]]], "t": ["a", "Q1", [[0]]]}),
        ("relation", {"tokens": ["a"], "h": ["a", "Q1", []], "t": ["a", "Q1", [[0]]]}),
        ("relation", {"tokens": ["a"], "h": None}),
        ("relation", {"tokens": 3, "h": {"indices": 4}, "t": {}}),
    ],
)
def test_rows_that_are_not_what_their_form_says_are_refused_by_place(form: str, row: Row, refused: Any):
    with refused(SourceError, "row-malformed", place="a:1", form=form):
        list(formed([("a:1", row)], form))


def test_rows_without_a_label_say_so():
    found = formed([("a:1", {"sentence": "x"}), ("a:2", {"sentence": "y", "label": ""})], "single")
    assert [row["label"] for _, row in found] == [None, None]


def test_the_first_format_that_is_there_is_read(tmp_path: Path):
    paths = written(tmp_path, {"glue/SST-2/train.tsv": "x", "sst2.jsonl": "y", "SST-2/other.tsv": "z"})
    formats = [Files(match=("sst-2/train.tsv", "SST-2/dev.tsv")), Files(match=("sst2*.jsonl",))]
    assert find(paths, formats) == Found(formats[0], {tmp_path / "glue/SST-2/train.tsv": "glue/SST-2/train.tsv"})
    assert find(paths, formats[1:]) == Found(formats[1], {tmp_path / "sst2.jsonl": "sst2.jsonl"})
    assert find(paths, [Files(match=("cr.jsonl",))]) is None


def test_every_form_has_the_fields_that_templates_know():
    assert {form: len(fields) for form, fields in FIELDS.items()} == {
        "single": 1, "document": 1, "pair": 2, "relation": 3, "entity": 2,
    }  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_a_file_that_is_utf_8_as_a_whole_is_read_so_whatever_is_declared(tmp_path: Path, encoding: str):
    text = "a café of joy .\nan abyss of clichés .\n"
    for name in ("rt.pos", "rt.pos.gz"):
        raw = text.encode(encoding)
        content = gzip.compress(raw) if name.endswith("gz") else raw
        found = rows(
            {path: at for path, at in written(tmp_path, {name: content}).items() if at == name},
            Files(match=(), reader="lines", label="(pos)", encoding="latin-1"),
        )
        assert [row["text"] for row in found] == ["a café of joy .", "an abyss of clichés ."]
    (document,) = read(tmp_path / encoding, "sci.med/1", text.encode(encoding), reader="document", encoding="latin-1")
    assert document["text"] == " ".join(text.split())


def test_a_file_with_a_single_byte_that_is_not_utf_8_is_read_as_declared(tmp_path: Path):
    content = "a café of joy .\n".encode() + "clichés\n".encode("latin-1")
    found = read(tmp_path, "rt.pos", content, reader="lines", encoding="latin-1")
    assert [row["text"] for row in found] == ["a cafÃ© of joy .", "clichés"]
    escaped = "日本".encode("iso2022-jp")  # all of it ASCII bytes
    assert read(tmp_path / "jp", "rt.pos", escaped, reader="lines", encoding="iso2022-jp")[0]["text"] == "日本"


@pytest.mark.parametrize("line", ["x" * 2_000_000, "x:" * 1_000_000, f"DESC:{'x' * 2_000_000} a text"])
def test_a_label_of_any_length_is_read_in_time(tmp_path: Path, line: str):
    (tmp_path / "t.label").write_text(f"{line}\nNUM:date When ?\n")
    faults = RowFaults("skip")
    found = Found(Files(match=("*",), reader="labelled-lines"), {tmp_path / "t.label": "t.label"})
    read = [row for _, row in rows_of_files(found, "single", faults)]
    assert read[-1]["label"] == "NUM"
    assert (len(read), faults.count) == ((2, 0) if " " in line else (1, 1))


def test_a_mention_of_any_length_is_marked():
    mention = "a b " * 300_000 + "c"
    given: Row = {"text": f"so {mention} it", "mention": mention, "label": "y"}
    ((_, row),) = formed([("x:1", given)], "entity")
    assert row["text"] == f"so #{mention}# it"
