from __future__ import annotations

import pytest

from taskloom.sources.files import Row
from taskloom.sources.tidy import NSF_DIRECTORATES, TIDY, arxiv, nsf, opening, orange, rotten_tomatoes


def paper(id_: str, query: str, **other: str) -> Row:
    row = {"arxiv_id": id_, "query_field": query, "title": "T", "abstract": "A", "category": "cs.CL"}
    return row | {"categories": "cs.CL", "published_date": "2024-03-01"} | other


def award(id_: str, **other: str | None) -> Row:
    row = {"grant_id": id_, "title": "T", "abstractText": f"About  {id_}.", "cfdaNumber": "47.050"}
    return row | {"fundsObligatedAmt": "1000", "date": "07/01/2019", "pdPIName": "Somebody"} | other


def test_versions_and_queries_of_one_arxiv_paper_are_one_row() -> None:
    rows = [
        ("a:2", paper("2403.00001v2", "parsing", title="New")),
        ("a:3", paper("2403.00002v1", "parsing")),
        ("b:2", paper("2403.00001v1", "treebanks", title="Old")),
        ("b:3", paper("2403.00001v2", "parsing")),
    ]
    found = list(arxiv(iter(rows)))
    assert [(place, row["id"], row["queries"]) for place, row in found] == [
        ("a:2", "2403.00001", ["parsing", "treebanks"]),
        ("a:3", "2403.00002", ["parsing"]),
    ]
    assert found[0][1]["title"] == "New"


def test_the_opening_is_the_first_sentence() -> None:
    assert opening("A rate of 3.5 was found. It\nfell. Why?") == "A rate of 3.5 was found."
    assert opening("No stop") == "No stop"


def test_papers_of_all_astronomy_categories_have_one_topic() -> None:
    rows = [("a:1", paper("2412.1v1", "q", category="astro-ph.GA")), ("a:2", paper("2412.2v1", "q", category="cs.CL"))]
    assert [(row["topic"], row["parity"]) for _, row in arxiv(iter(rows))] == [
        ("astronomy", "odd"),
        ("language", "even"),
    ]


def test_an_arxiv_paper_has_its_archive_and_year_and_only_arxiv_categories() -> None:
    row = paper("math/0601001v3", "q", categories="math.CO,05C10,hep-th,F.2.2,cs.CL", category="math.CO")
    (_, found), *_ = arxiv(iter([("a:2", row)]))
    assert found == {
        "id": "math/0601001",
        "title": "T",
        "abstract": "A",
        "opening": "A",
        "topic": None,
        "parity": "odd",
        "categories": ["math.CO", "hep-th", "cs.CL"],
        "category": "math.CO",
        "archive": "math",
        "date": "2024-03-01",
        "year": 2024,
        "queries": ["q"],
    }


@pytest.mark.parametrize("split", ["train", "test"])
def test_orange_rows_lose_the_lines_below_the_header_and_gain_their_split(split: str) -> None:
    cells = [("d", "string"), ("class", "meta"), ("", ""), ("grain", "wheat prices")]
    rows = [(f"reuters-r8-{split}.tab:{n}", {"Category": a, "Text": b}) for n, (a, b) in enumerate(cells, 2)]
    assert list(orange(iter(rows))) == [
        (f"reuters-r8-{split}.tab:5", {"text": "wheat prices", "label": "grain", "split": split})
    ]


def test_rotten_tomatoes_keeps_reviews_and_leaves_plots() -> None:
    rows = [
        (f"r:{n}", {"category": category, "text": f"t{n}", "movie_name": "M", "has_plot": "x"})
        for n, category in enumerate(["fresh", "plot", "rotten"])
    ]
    assert list(rotten_tomatoes(iter(rows))) == [
        ("r:0", {"text": "t0", "label": "fresh", "film": "M"}),
        ("r:2", {"text": "t2", "label": "rotten", "film": "M"}),
    ]


def test_an_nsf_award_has_its_directorate_and_nothing_about_people() -> None:
    assert list(nsf(iter([("n:1", award("7"))]))) == [
        (
            "n:1",
            {
                "id": "7",
                "title": "T",
                "abstract": "About 7.",
                "directorate": "Geosciences",
                "amount": 1000,
                "year": 2019,
            },
        )
    ]


def test_nsf_leaves_awards_without_abstract_or_with_no_one_directorate_and_repeated_abstracts() -> None:
    rows = [
        award("1"),
        award("2", abstractText=None),
        award("3", abstractText=" "),
        award("4", cfdaNumber="47.050, 47.041"),
        award("5", cfdaNumber=None),
        award("6", abstractText="About 1."),
        award("7"),
    ]
    assert [row["id"] for _, row in nsf(("n", row) for row in rows)] == ["1", "7"]


def test_the_seven_directorates_have_seven_names() -> None:
    assert len(set(NSF_DIRECTORATES.values())) == 7


def test_no_tidying_gives_the_rows_as_they_are() -> None:
    rows: list[tuple[str, Row]] = [("a:1", {"x": 1}), ("a:1", {"x": 1})]
    assert list(TIDY[""](iter(rows))) == rows
