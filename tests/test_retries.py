from __future__ import annotations

from taskloom.retries import WAIT, pause


def test_waits_grow_and_have_an_end() -> None:
    assert 0.5 <= pause(0.5, 2, 0.0) <= 1
    assert pause(0.5, 1, 7.0) == 7
    assert pause(0.5, 5000, 0.0) == pause(0.5, 1, 3600.0) == WAIT
