"""The card of a suite: figures beside the published ones, plots on a log axis, a page that nothing breaks out of."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from taskloom.benchmarks import build
from taskloom.core import Suite, Task, Text
from taskloom.reports import card, svg
from taskloom.sources.table import Field
from taskloom.suites import fields

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--allow-file-access-from-files", "--window-size=800,900", "--virtual-time-budget=2000", "--dump-dom",
)  # fmt: skip
# The page is opened in a frame as wide as a phone; what is measured is written below it.
MEASURE = """<!doctype html><body><iframe id="f" src="card.html" style="width:390px;height:800px;border:0"></iframe>
<p id="o"></p><script>f.onload=()=>{let d=f.contentDocument;for(let e of d.querySelectorAll("details"))e.open=true;
let boxes=[...d.querySelectorAll("svg text")].map(e=>e.getBBox());
o.textContent=["width",d.documentElement.scrollWidth,"scripts",d.scripts.length,
"least",Math.floor(Math.min(...boxes.map(b=>b.x))),"most",Math.ceil(Math.max(...boxes.map(b=>b.x+b.width)))].join(" ")}
</script>"""
ODD = '<script>alert("1")</script> & \u9053\u8def'


@pytest.fixture(scope="module")
def embedded() -> Suite:
    return build("natural-instructions")


@pytest.fixture(scope="module")
def odd() -> Suite:
    tags = {"category": (ODD,), "domain": (f"{ODD} -> {'long ' * 20}",)}
    task = Task(id="t", instruction="Do.", output=Text(), metrics=(), tags=tags)
    return Suite(
        id=ODD,
        tasks={"t": task},
        pools={"t": {}},
        about={"licence": ODD, "dropped": [{"code": "row-faulty", "values": {}, "count": 3}]},
    )


DROPPED = [{"code": "row-faulty", "values": {}, "count": 3}]


def test_published_figures_stand_beside_ours(embedded: Suite):
    made = card.sheet(embedded)
    rows = {str(row[0]): row[1:] for row in made.rows}
    assert made.columns == ("what", "here", "published")
    assert rows["tasks"] == (25, 1616)
    assert rows["tasks not only in English"] == (5, 576)
    assert rows["instances"] == (943, "5M")
    assert rows["sources"] == (22, None)
    assert made.data["published"]["instances_per_task"] == 3106.0
    assert "33 domains are wider" in made.notes[-1]


def test_another_suite_has_no_published_figures_and_tells_what_has_no_name(odd: Suite):
    made = card.sheet(odd)
    assert made.columns == ("what", "here")
    assert made.data["published"] is None
    assert made.notes == ("without a language: 1 task", "dropped: 3 (rows with errors)")
    assert list(made.spreads) == ["types", "domains"]


def test_the_page_is_balanced_and_loads_nothing(embedded: Suite, read_page: Any):
    page = card.page(card.sheet(embedded))
    found = read_page(page)
    assert found.open == []
    named = [(name, value) for _, attributes in found.tags for name, value in attributes.items()]
    assert not {tag for tag, _ in found.tags} & {"script", "img", "link", "iframe", "object", "form", "base"}
    assert not [name for name, _ in named if name.startswith("on") or name in ("src", "href", "style")]
    assert "default-src 'none'" in page
    assert not re.search(r"url\(|@import|https?://", page)
    assert [a["aria-label"] for tag, a in found.tags if tag == "svg"] == [
        f"number of tasks by {noun}" for noun in ("task type", "language", "domain")
    ]
    assert all(a["role"] == "img" for tag, a in found.tags if tag == "svg")


def test_what_comes_from_tags_stays_text(odd: Suite, read_page: Any):
    page = card.page(card.sheet(odd))
    assert "<script" not in page
    said = "".join(read_page(page).text)
    assert said.count(ODD) >= 6  # title, heading, suite, licence, hover and table
    assert "row-faulty" not in said


def test_the_card_of_a_table_is_a_page_too(small_suite: Suite, read_page: Any):
    made = card.sheet(small_suite)
    assert made.columns == ("", "title", "keywords", "records")
    assert list(made.rows[0]) == ["all", 2.0, pytest.approx(4 / 3), 3]
    found = read_page(card.page(made))
    assert sum(tag == "svg" for tag, _ in found.tags) == 2  # lengths of titles, and numbers of keywords
    assert made.sizes == {"title": [2, 2, 2], "keywords": [2, 1, 1]}
    assert "texts in words, lists in terms" in "".join(found.text)


def bars(*counts: int) -> dict[str, tuple[float, float]]:
    """Where each bar begins, and how wide it is."""
    drawn = ElementTree.fromstring(svg.bars([(f"<{n}>", count) for n, count in enumerate(counts)], '"a" & <b>'))
    found = {}
    for row in drawn.iterfind("g[@class='row']"):
        title, bar = row.find("title"), row.find("rect")
        assert title is not None
        assert bar is not None
        found[title.text or ""] = (float(bar.attrib["x"]), float(bar.attrib["width"]))
    return found


def test_bars_go_by_the_logarithm_from_a_half():
    widths = {title: width for title, (_, width) in bars(1000, 100, 10, 1).items()}
    assert list(widths) == ["<0>: 1,000", "<1>: 100", "<2>: 10", "<3>: 1"]
    whole = svg.BAR_RIGHT - svg.BAR_LEFT
    for width, count in zip(widths.values(), (1000, 100, 10, 1), strict=True):
        assert width == pytest.approx(whole * math.log(count / 0.5) / math.log(1000 / 0.5), abs=0.06)


@pytest.mark.parametrize("most", [1, 2, 1040, 5_000_000])
def test_a_count_of_one_is_seen_and_no_bar_is_too_long(most: int):
    found = list(bars(most, 1, 0).values())
    assert {x for x, _ in found} == {svg.BAR_LEFT}
    assert found[1][1] > 5
    assert found[2][1] == 0
    assert all(x + width <= svg.BAR_RIGHT for x, width in found)


def test_marks_of_the_axis_stand_where_bars_of_that_count_end():
    drawn = ElementTree.fromstring(svg.bars([("a", 100), ("b", 10)], "x"))
    ticks = {text.text: float(text.attrib["x"]) for text in drawn.iterfind("text")}
    assert list(ticks) == ["1", "10", "100"]
    ends = {title: x + width for title, (x, width) in bars(100, 10).items()}
    assert ends["<0>: 100"] == pytest.approx(ticks["100"], abs=0.1)
    assert ends["<1>: 10"] == pytest.approx(ticks["10"], abs=0.1)


def test_a_plot_of_nothing_is_a_plot():
    assert bars() == {}


def test_long_names_lose_their_beginning_and_no_hover():
    drawn = ElementTree.fromstring(svg.bars([("Commonsense -> Concepts and Relations -> Social Commonsense", 2)], "x"))
    name = drawn.find("g/text[@class='name']")
    title = drawn.find("g/title")
    assert name is not None
    assert title is not None
    assert re.fullmatch("….*Social Commonsense", name.text or "")
    assert title.text == "Commonsense -> Concepts and Relations -> Social Commonsense: 2"


@pytest.mark.parametrize("count", [1, 2, 7, 100, 1040])
def test_bars_of_characters_go_by_the_logarithm_too(count: int):
    drawn = card.blocks(count, 1040)
    assert len(drawn) == math.ceil(round(8 * card.BAR * math.log(2 * count) / math.log(2080)) / 8)
    assert card.blocks(0, 1040) == ""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_the_page_fits_a_phone_and_no_name_is_cut_off(real_data: Path, tmp_path: Path):
    made = build("natural-instructions", str(real_data / "superni"))
    (tmp_path / "card.html").write_text(card.page(card.sheet(made)), encoding="utf-8")
    (tmp_path / "measure.html").write_text(MEASURE, encoding="utf-8")
    done = subprocess.run(
        [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path}/profile", (tmp_path / "measure.html").as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    found = re.search(r"width (\d+) scripts (\d+) least (-?\d+) most (\d+)", done.stdout)
    assert found, done.stdout[-500:]
    assert (int(found[1]) <= 390, found[2]) == (True, "0")
    assert int(found[3]) >= 0
    assert int(found[4]) <= svg.WIDTH


def test_labels_and_lengths_of_a_table_are_drawn(read_page: Any):
    rows = [{"id": f"{n}", "text": "word " * (n % 5 + 1), "kind": "a" if n % 3 else "b"} for n in range(30)]
    fields_of = (Field("text", "text"), Field("kind", "label"))
    made = card.sheet(fields.suite(fields.records(fields_of, rows), id="drawn"))
    assert made.spreads["kind"].counts == {"a": 20, "b": 10}
    assert made.sizes["text"].count(5) == 6
    found = read_page(card.page(made))
    assert sum(tag == "svg" for tag, _ in found.tags) == 2
    assert "5: 6" in card.page(made)  # the column of five words, when pointed at
