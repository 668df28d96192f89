"""The section on training: losses over steps, and what was trained at what cost."""

from __future__ import annotations

from html import escape

from .. import loss_plots, tables
from ..pages import folded, table
from ..summary import Summary

PANELS = 24  # that are shown without being asked


def training(summary: Summary) -> str:
    """Write what was trained, if anything was."""
    if not summary.training.rows:
        return ""
    shown = table(*tables.training(summary), "figures names")
    notes = "".join(f'<p class="legend">{escape(note)}.</p>' for note in tables.training_notes(summary))
    inside = f"{shown}{notes}{_losses(summary)}"
    return f'<section id="training"><h2>Training</h2>{inside}</section>'


def _losses(summary: Summary) -> str:
    """Draw the losses as small multiples; many are folded."""
    curves = summary.training.losses
    panels = [panel for _, panel in loss_plots.losses(curves)]
    if not panels:
        return ""
    axis = "on a logarithmic axis" if loss_plots.is_logarithmic(curves) else "on one axis"
    said = f"Loss over steps, {axis}: the mean over cells, and the range from the least to the most."
    rest = panels[PANELS:]
    more = folded(f"{len(rest):,} more", _grid(rest)) if rest else ""
    key, caption = loss_plots.key(curves), f'<p class="legend">{escape(said)}</p>'
    return f"<h3>Losses</h3>{key}{_grid(panels[:PANELS])}{caption}{more}"


def _grid(panels: list[str]) -> str:
    return f'<div class="multiples">{"".join(panels)}</div>'
