"""The tables of the catalogue as they come, to rows one would want: one function each, named in `catalogue.toml`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from .files import Place, Row

Rows: TypeAlias = Iterator[tuple[Place, Row]]

ARXIV_CATEGORY = re.compile(r"[a-z][a-z-]*(\.[A-Za-z][A-Za-z-]*)?")  # `categories` holds MSC and ACM codes too
ARXIV_TOPICS = {  # short names of primary categories that have 39 papers or more; others have no topic
    "astro-ph": "astronomy",
    "cond-mat.mtrl-sci": "materials",
    "cs.CL": "language",
    "cs.CR": "security",
    "cs.CV": "vision",
    "cs.RO": "robotics",
    "q-bio.GN": "genetics",
    "quant-ph": "quantum physics",
}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
NSF_DIRECTORATES = {
    "47.041": "Engineering",
    "47.049": "Mathematical and Physical Sciences",
    "47.050": "Geosciences",
    "47.070": "Computer and Information Science and Engineering",
    "47.074": "Biological Sciences",
    "47.075": "Social, Behavioral and Economic Sciences",
    "47.076": "Education and Human Resources",
}


def arxiv(rows: Rows) -> Rows:
    """Merge the rows of a paper, one for each query that found it, whatever its version."""
    papers: dict[str, tuple[Place, Row]] = {}
    for place, row in rows:
        id_ = re.sub(r"v\d+$", "", row["arxiv_id"])
        _, paper = papers.setdefault(id_, (place, _arxiv_paper(id_, row)))
        if row["query_field"] not in paper["queries"]:
            paper["queries"].append(row["query_field"])
    yield from papers.values()


def _arxiv_paper(id_: str, row: Row) -> Row:
    archive = row["category"].partition(".")[0]
    return {
        "id": id_,
        "title": row["title"],
        "abstract": row["abstract"],
        "opening": opening(row["abstract"]),
        "topic": ARXIV_TOPICS.get(row["category"]) or ARXIV_TOPICS.get(archive),
        "parity": parity(id_),
        "categories": [c for c in row["categories"].split(",") if ARXIV_CATEGORY.fullmatch(c)],
        "category": row["category"],
        "archive": archive,
        "date": row["published_date"],
        "year": int(row["published_date"][:4]),
        "queries": [],
    }


def papers(rows: Rows) -> Rows:
    """Add the columns that the quickstart needs."""
    for place, row in rows:
        yield place, row | {"opening": opening(row["abstract"]), "topic": row["category"], "parity": parity(row["id"])}


def opening(text: str) -> str:
    """Give the first sentence of a text.

    >>> opening("Traps detect crayfish late. We filtered water.")
    'Traps detect crayfish late.'
    """
    return SENTENCE_END.split(" ".join(text.split()), maxsplit=1)[0]


def parity(id_: str) -> str:
    """Say whether an id ends in an even digit: a negative control, which no text predicts.

    >>> parity("2412.18607")
    'odd'
    """
    return "even" if int(id_[-1]) % 2 == 0 else "odd"


def orange(rows: Rows) -> Rows:
    """Leave out the lines of types and flags below the header; say which split a row is of."""
    for place, row in rows:
        if row["Category"] not in ("d", "class", ""):
            split = "train" if "-train.tab" in place else "test"
            yield place, {"text": row["Text"], "label": row["Category"], "split": split}


def rotten_tomatoes(rows: Rows) -> Rows:
    """Keep the reviews and leave the plots."""
    for place, row in rows:
        if row["category"] in ("fresh", "rotten"):
            yield place, {"text": row["text"], "label": row["category"], "film": row["movie_name"]}


def nsf(rows: Rows) -> Rows:
    """Keep awards with an abstract and one known directorate, each abstract once; no columns about people."""
    seen: set[str] = set()
    for place, row in rows:
        abstract = " ".join((row["abstractText"] or "").split())
        directorate = NSF_DIRECTORATES.get(row["cfdaNumber"] or "")
        if not abstract or not directorate or abstract in seen:
            continue
        seen.add(abstract)
        yield (
            place,
            {
                "id": row["grant_id"],
                "title": row["title"],
                "abstract": abstract,
                "directorate": directorate,
                "amount": int(row["fundsObligatedAmt"]),
                "year": int(row["date"][-4:]),
            },
        )


TIDY: Mapping[str, Callable[[Rows], Rows]] = {
    "": lambda rows: rows,
    "arxiv": arxiv,
    "papers": papers,
    "orange": orange,
    "rotten_tomatoes": rotten_tomatoes,
    "nsf": nsf,
}
