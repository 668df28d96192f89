"""The page as it is written: balanced, safe, complete without its script, and small."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re

import pytest

from taskloom.reports import How, pages, render, summarise


@pytest.fixture(scope="module")
def page(summary):
    return render(summary, "html")


@pytest.fixture(scope="module")
def read(page, read_page):
    return read_page(page)


def test_the_page_is_balanced(read):
    assert read.open == []


def test_the_page_loads_nothing(read, page):
    tags = {tag for tag, _ in read.tags}
    assert not tags & {"img", "link", "iframe", "object", "embed", "form", "i<", "base"}
    named = [(name, value) for _, attributes in read.tags for name, value in attributes.items()]
    assert not [name for name, _ in named if name.startswith("on") or name in ("src", "action", "style")]
    assert all(value.startswith("#") for name, value in named if name == "href")
    assert not re.search(r"url\(|@import|https?://", page)
    assert page.count("</style>") == 1


def test_the_policy_allows_our_style_and_our_script_alone(read):
    (policy,) = [a["content"] for tag, a in read.tags if tag == "meta" and a.get("http-equiv")]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind, name in (("script-src", "report.js"), ("style-src", "report.css")):
        digest = hashlib.sha256(pages.resource(name).encode()).digest()
        assert rules[kind] == f"'sha256-{base64.b64encode(digest).decode()}'"


def test_scripts_are_ours_or_packed_answers(read, page):
    found = re.findall(r"<script([^>]*)>(.*?)</script>", page, flags=re.DOTALL)
    own = [text for attributes, text in found if not attributes]
    assert own == [pages.resource("report.js")]
    packed = [text for attributes, text in found if attributes]
    assert all(attributes in ("", ' type="application/octet-stream"') for attributes, _ in found)
    assert all(re.fullmatch(r"[A-Za-z0-9+/=]+", text) for text in packed)
    assert "innerHTML" not in own[0]


def test_what_comes_from_data_stays_text(read, page):
    said = "".join(read.text)
    assert "<script>alert(1)</script>" in said
    assert "道路绿化 🌲" in said
    assert "a study <i>of</i> & more" in said
    assert "<script>alert" not in page


def test_the_page_says_all_that_it_must(read):
    said = "".join(read.text)
    for words in (
        "taskloom run study.yaml", "@misc{papers", "lin2004rouge", "papineni2002bleu", "buckley2004retrieval",
        "✓ right", "✗ wrong", "majority (baseline)", "Traceback", "prompts cut", "unusable answer: unparsable",
        "does not support ranking", "2 cells not run yet", "lower is better", "not significantly different from",
    ):  # fmt: skip
        assert words in said, words


def test_headings_follow_each_other(read):
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_tables_name_their_rows_and_columns(read):
    scopes = [attributes.get("scope") for tag, attributes in read.tags if tag == "th"]
    assert set(scopes) == {"row", "col"}


def test_plots_have_names(read):
    named = [attributes.get("aria-label") for tag, attributes in read.tags if tag == "svg"]
    assert named
    assert all(named)


def test_the_page_is_small(page):
    assert len(page.encode()) < 700_000


def test_a_notebook_shows_a_frame_that_can_do_nothing(summary, read_page):
    reader = read_page(summary._repr_html_())
    assert [(tag, attributes["sandbox"]) for tag, attributes in reader.tags] == [("iframe", "")]


def test_a_card_runs_no_script(read_page):
    page = pages.document("x", ["<p>text</p>"])
    assert "script-src 'none'" in page
    assert "<script" not in page


def test_a_run_without_scores_is_a_page_too(empty, read_page):
    read = read_page(render(summarise(empty, How(count=20)), "html"))
    assert read.open == []
    assert "nothing has been scored yet" in "".join(read.text)
