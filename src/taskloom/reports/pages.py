"""What pages are made of: a document that loads nothing and runs no script but ours, and tables of escaped text."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from .. import __version__
from ..core import DROPPED
from ..ids import Json
from ..messages import counted_text
from ..stats import Contrast, Estimate
from ..texts import straight
from . import numbers

POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src {style}; script-src {script}"


def document(title: str, body: Iterable[str], *, script: bool = False) -> str:
    """Write a whole page of parts that are HTML already; its policy allows our style and our script alone."""
    css, code = resource("report.css"), resource("report.js") if script else ""
    policy = POLICY.format(style=_hash(css), script=_hash(code) if script else "'none'")
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)} · taskloom</title><style>{css}</style></head>\n<body>"
    )
    foot = f"<script>{code}</script></body></html>\n" if script else "</body></html>\n"
    return straight("\n".join([head, *filter(None, body), foot]))


@cache
def resource(name: str) -> str:
    """Read a file of the page."""
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def facts(suite: str, fingerprint: str, about: Mapping[str, Json]) -> dict[str, str]:
    """Write what is known about a suite as it can be read: lists line by line, and nothing that lies deeper."""
    found = {"suite": suite, "fingerprint": fingerprint, "taskloom": __version__}
    for name, value in about.items():
        if isinstance(value, Mapping) and all(isinstance(count, int) for count in value.values()):
            found[name] = "\n".join(f"{what}: {count:,}" for what, count in value.items())
        elif name == DROPPED and isinstance(value, list):
            found[name] = counted_text(value)
        elif isinstance(value, list) and all(isinstance(line, str) for line in value):
            found[name] = "\n".join(map(str, value))
        elif isinstance(value, str | int | float):
            found[name] = str(value)
    return {name.replace("_", " "): text for name, text in found.items() if text and name != "bibtex"}


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], style: str = "") -> str:
    """Write rows of plain text; the first cell of each names it."""
    lines = (
        f'<th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        for row in rows
    )
    return box(columns, "".join(f"<tr>{line}</tr>" for line in lines), style)


def box(columns: Sequence[str], rows: str, style: str = "") -> str:
    """Write a table of rows that are HTML already, in a box that scrolls where the screen is narrow."""
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    return f'<div class="box {style}"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def folded(summary: str, inside: str) -> str:
    """Write what is shown when its summary, which is HTML already, is opened."""
    return f"<details><summary>{summary}</summary>{inside}</details>"


def score(e: Estimate | Contrast, points: bool) -> str:
    """Write a score with its interval."""
    value = e.difference if isinstance(e, Contrast) else e.value
    if math.isnan(value):
        return f"<i>{numbers.NONE}</i>"
    return f"<b>{numbers.number(value, points)}</b> <i>{numbers.interval(e, points)}</i>"
