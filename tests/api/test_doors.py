"""An error names the field of the API that it came through, never an option of the command line."""

from typing import Any

import httpx
import pytest

from tests.api.served import V1, Served

PUBLIC = "https://example.com/"

REFUSED: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("POST", "/crawls", {"settings": {"polite.floor_ms": -1}}, "settings.polite.floor_ms", " cannot be -1: "),
    ("POST", "/crawls", {"settings": {"scope.mode": "all"}}, "settings.scope.mode", " cannot be 'all': "),
    ("POST", "/crawls", {"settings": {"no.such": 1}}, "settings.no.such", "GET /api/v1/settings lists them all"),
    ("POST", "/crawls", {"settings": {"scope.mode": "list"}}, "settings.scope.hosts", "give settings.scope.hosts"),
    ("POST", "/crawls", {"settings": {"fetch.proxy": "x"}}, "settings.fetch.proxy", "begins with one of http://"),
    ("POST", "/crawls", {"settings": {"fetch.headers": [["a b", "c"]]}}, "settings.fetch.headers", "is no name of one"),
    ("POST", "/crawls", {"settings": {"fetch.user_agent": "a\nb"}}, "settings.fetch.user_agent", "control characters"),
    ("POST", "/crawls", {"settings": {"robots.force": True}}, "settings.robots.force", " cannot be true: it is for"),
    ("POST", "/crawls", {"profile": "none"}, "profile", "profile cannot be 'none': choose one of"),
    ("POST", "/crawls", {"seeds": ["http://127.0.0.1/"]}, "seeds", "give settings.fetch.allow_private"),
    ("PATCH", "/crawls/{crawl}/pace", {"floor_ms": -1}, "floor_ms", "floor_ms: Input should be"),
    ("PATCH", "/crawls/{crawl}/limits", {"max_urls": 5}, "max_urls", "max_urls can be raised or lowered"),
    ("POST", "/crawls/{crawl}/resume", {"max_frontier": 5}, "max_frontier", "max_frontier can be raised or lowered"),
    ("PUT", "/floor", {"floor_ms": -1}, "floor_ms", "floor_ms: Input should be"),
]


@pytest.mark.parametrize(("method", "path", "body", "field", "words"), REFUSED)
def test_what_is_refused_names_its_field(
    api: Served, client: httpx.Client, method: str, path: str, body: dict[str, Any], field: str, words: str
) -> None:
    whole = {"seeds": [PUBLIC]} | body if path == "/crawls" else body
    answer = client.request(method, V1 + path.format(crawl=api.crawl.id), json=whole)
    error = answer.json()["error"]
    assert (answer.status_code in (409, 422), error["field"]) == (True, field), error
    assert words in error["message"]
    assert "--" not in error["message"] and "nephila" not in error["message"], "of another door"


def test_of_two_wrong_fields_one_is_named_with_its_own_value(client: httpx.Client) -> None:
    body = {"seeds": [PUBLIC], "settings": {"retry.max": -7, "polite.floor_ms": -1}}
    error = client.post(f"{V1}/crawls", json=body).json()["error"]
    assert (error["field"], "settings.retry.max cannot be -7: " in error["message"]) == ("settings.retry.max", True)


def test_a_filter_that_finds_nothing_names_its_parameter(api: Served, client: httpx.Client) -> None:
    error = client.get(f"{V1}/crawls/{api.crawl.id}/urls", params={"reason": "x"}).json()["error"]
    assert error["field"] == "reason" and error["message"].startswith("'x' is no reason of a URL: give one of robots")
