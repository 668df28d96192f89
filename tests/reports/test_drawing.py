"""Drawings: names that fit their place."""

from __future__ import annotations

from taskloom.reports.drawing import fitted, text_width


def test_a_name_of_any_length_is_cut_to_its_room_at_once():
    found = fitted("x -> " + "i" * 200_000, 200)
    assert found.startswith("…i")
    assert text_width(found) <= 200 < text_width("i" + found)
