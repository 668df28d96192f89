from __future__ import annotations

import pytest

from taskloom.errors import UsageError
from taskloom.http_client import HttpClient, check_proxies
from taskloom.models.fetched import get
from taskloom.sources import hub

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("name", PROXIES[:3])
@pytest.mark.parametrize("given", ["::::", "foo://x", "http://a:b:c@d:e"])
def test_a_proxy_that_can_not_be_used_is_refused_by_all_clients(monkeypatch, refused, name: str, given: str):
    monkeypatch.setenv(name, given)
    with refused(UsageError, "proxy-unusable"):
        HttpClient(1.0)
    with refused(UsageError, "proxy-unusable"):
        get("hf:org/name")
    with refused(UsageError, "proxy-unusable"):
        next(hub.rows("org/name"))


def test_the_password_of_a_proxy_is_not_told(monkeypatch):
    for given in ("http://user:secret", "foo://user:secret@host"):
        monkeypatch.setenv("http_proxy", given)
        with pytest.raises(UsageError) as told:
            check_proxies()
        assert "secret" not in str(told.value)


def test_proxies_that_can_be_used_are_no_hindrance(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "[::,,,:::")
    HttpClient(1.0).close()


def test_a_data_set_of_the_hub_has_a_name():
    with pytest.raises(UsageError, match="hub:ORG/NAME"):
        next(hub.rows(""))
