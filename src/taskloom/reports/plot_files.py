"""The plots of a report as SVG files that stand alone: their colours are inside, on white, for papers and slides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

from ..episodes import shots_text
from ..folders import write_whole
from ..texts import straight, without_surrogates
from . import board_plots, loss_plots
from .summary import Summary

PLOT = re.compile(
    r'<svg class="plot" width="\d+" viewBox="0 0 (\d+) (\d+)" role="img" aria-label="(.*?)">(.*?)</svg>', re.DOTALL
)
KEY = re.compile(r'<li><svg class="swatch"[^>]*>(.*?)</svg>(.*?)</li>', re.DOTALL)
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # characters that no XML file may hold
KEY_ROW = 18
HUES = (
    "#1a5fb4", "#b8520a", "#177a5b", "#9a3a86", "#6250c0", "#80680a", "#0b7589", "#7b4a2d", "#4c6b1f", "#4a5a78"
)  # fmt: skip
INK, SOFT, EDGE, ACCENT = "#1b1f24", "#59616b", "#e1e4e8", "#1a5fb4"
STYLE = f"""
text{{font:13px Helvetica,Arial,sans-serif;fill:{INK};paint-order:stroke;stroke:#fff;stroke-width:4px}}
.tick,.axis{{font-size:12px;fill:{SOFT}}}.value{{fill:{SOFT}}}.end{{font-size:12px;font-weight:600}}
.grid{{stroke:{EDGE}}}.zero{{stroke:{SOFT};stroke-width:1.2}}line.baseline{{stroke:{SOFT};stroke-dasharray:3 3}}
.bar{{stroke:{SOFT};stroke-width:2;stroke-linecap:round}}.dot{{fill:#fff;stroke:{SOFT};stroke-width:2}}
.best .bar,.apart .bar{{stroke:{ACCENT}}}.best .dot,.apart .dot{{fill:{ACCENT};stroke:{ACCENT}}}
.published .dot{{stroke:{HUES[1]}}}.best .name{{font-weight:600}}.count{{fill:{ACCENT}}}
.line{{fill:none;stroke-width:2}}.error{{stroke-width:1.25;opacity:.55}}.leader{{stroke-width:.75;opacity:.5}}
.band{{opacity:.13}}.line.thin{{stroke-width:1.5}}
.even{{stroke:{SOFT};stroke-dasharray:4 3}}.inside{{font-size:12px;stroke:none}}
g.baseline .line,g.baseline .error,g.baseline .leader{{stroke:{SOFT};stroke-width:1;stroke-dasharray:3 3}}
g.baseline .mark,g.baseline .end{{fill:{SOFT}}}
""" + "".join(
    f".hue{n} .line,.line.hue{n},.hue{n} .error,.hue{n} .leader{{stroke:{hue}}}"
    f".hue{n} .mark,.hue{n} .band,.hue{n} .heat,.hue{n} .end{{fill:{hue}}}"
    f".hollow.hue{n} .mark{{fill:#fff;stroke:{hue};stroke-width:2}}\n"
    for n, hue in enumerate(HUES)
)


def write_plots(summary: Summary, folder: Path) -> list[Path]:
    """Write each plot of a summary to a file of its own, and name the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, drawn in named_plots(summary):
        path = folder / f"{name}.svg"
        write_whole(path, standalone(drawn))
        written.append(path)
    return written


def named_plots(summary: Summary) -> Iterator[tuple[str, str]]:
    """Give the plots of each metric and setting, and those of views, by names that a file can have."""
    taken: set[str] = set()
    for name, drawn in _drawn(summary):
        base = re.sub(r"[^\w@.-]+", "-", name).strip("-.")[:80] or "plot"
        unique = base if base not in taken else f"{base}-{len(taken)}"
        taken.add(unique)
        if PLOT.search(drawn):
            yield unique, drawn


def _drawn(summary: Summary) -> Iterator[tuple[str, str]]:
    for metric in summary.metrics:
        boards = summary.of(metric)
        for board in (b.headline for b in boards):
            at = shots_text(board.shots)
            yield f"{metric}-{at}-scores", board_plots.scores(board)
            if board_plots.differences_of(board):
                yield f"{metric}-{at}-differences", board_plots.differences(board)
        if len(boards) > 1:
            yield f"{metric}-over-shots", board_plots.curves(summary, boards[-1].headline)
    yield from ((f"view-{figure.title}", figure.plot) for figure in summary.figures if figure.plot)
    yield from ((f"loss-{label}", panel) for label, panel in loss_plots.losses(summary.training.losses))


def standalone(drawn: str) -> str:
    """Make a file of a plot of a page: with its style and key inside, and a size."""
    found = PLOT.search(drawn)
    assert found, "every drawing of ours is a plot"
    width, height, about, inner = found.groups()
    keys = KEY.findall(drawn)
    whole = int(height) + KEY_ROW * len(keys) + (6 if keys else 0)
    rows = "".join(_key_row(mark, name, int(height) + KEY_ROW * at) for at, (mark, name) in enumerate(keys))
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{whole}" viewBox="0 0 {width} {whole}" '
        f'role="img" aria-label="{about}"><style>{STYLE}</style>'
        f'<rect width="{width}" height="{whole}" fill="#fff"/>{inner}{rows}</svg>\n'
    )
    return straight(without_surrogates(NOT_XML.sub("", text)))


def _key_row(mark: str, name: str, top: int) -> str:
    return f'<g transform="translate(46 {top})">{mark}<text x="36" y="10">{escape(unescape(name))}</text></g>'
