from __future__ import annotations

import httpx2 as httpx
import pytest

from taskloom.retries import WAIT, pause, told_to_wait


def test_waits_grow_and_have_an_end() -> None:
    assert 0.5 <= pause(0.5, 2, 0.0) <= 1
    assert pause(0.5, 1, 7.0) == 7
    assert pause(0.5, 5000, 0.0) == pause(0.5, 1, 3600.0) == WAIT


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "3600"}, WAIT),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:09 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 9),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:09", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 9),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"Retry-After": "Wed, 21 Oct 2999 07:28:00 GMT"}, WAIT),
        ({"Retry-After": "Wed, 99 Oct 2999 07:28:00 GMT"}, 0),
        ({"Retry-After": "soon"}, 0),
        ({"Retry-After": ""}, 0),
        ({}, 0),
    ],
)
def test_an_endpoint_says_how_long_to_wait_in_seconds_or_by_a_date(told: dict[str, str], seconds: float) -> None:
    assert told_to_wait(httpx.Response(429, headers=told)) == seconds
