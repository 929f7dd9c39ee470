"""What makes no sense is a 4xx in the one shape that names the field, and leaves nothing behind."""

from typing import Any

import httpx
import pytest

from nephila.api.limits import BODY_BYTES_MAX, SEEDS_BYTES_MAX
from tests.api.served import V1, Served

SEEDS = ["https://example.com/"]
CRAWL = "/crawls"
TOO_DEEP: Any = "x"
for _ in range(5):
    TOO_DEEP = {"a": TOO_DEEP}

# method, path, body, status, field
BAD: list[tuple[str, str, Any, int, str | None]] = [
    ("POST", CRAWL, {}, 422, None),
    ("POST", CRAWL, {"seeds": []}, 422, "seeds"),
    ("POST", CRAWL, {"seeds": "https://example.com/"}, 422, "seeds"),
    ("POST", CRAWL, {"seeds": [7]}, 422, "seeds.0"),
    ("POST", CRAWL, {"seeds": ["not a url"]}, 422, "seeds"),
    ("POST", CRAWL, {"seeds": ["mailto:a@b.c"]}, 422, "seeds"),
    ("POST", CRAWL, {"seeds": ["http://127.0.0.1/"]}, 422, "seeds"),
    ("POST", CRAWL, {"seeds": ["http://169.254.169.254/latest"]}, 422, "seeds"),
    ("POST", CRAWL, {"seeds": ["http://[::1]/"]}, 422, "seeds"),
    ("POST", CRAWL, {"seeds": ["http://0x7f.1/"]}, 422, "seeds"),
    ("POST", CRAWL, {"seeds": SEEDS, "bogus": 1}, 422, "bogus"),
    ("POST", CRAWL, {"seeds": SEEDS, "url": SEEDS[0]}, 422, None),
    ("POST", CRAWL, {"seeds": SEEDS, "depth": 2}, 422, None),
    ("POST", CRAWL, {"url": SEEDS[0], "depth": 0}, 422, "depth"),
    ("POST", CRAWL, {"url": SEEDS[0], "depth": 6}, 422, "depth"),
    ("POST", CRAWL, {"url": "ftp://example.com/"}, 422, "url"),
    ("POST", CRAWL, {"seeds": SEEDS, "profile": "nonsense"}, 422, "profile"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"scope.max_depth": -1}}, 422, "settings.scope.max_depth"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"scope.max_depth": "deep"}}, 422, "settings.scope.max_depth"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"scope.mode": "list"}}, 422, "settings.scope.hosts"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"no.such": 1}}, 422, "settings.no.such"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"polite": 1}}, 422, "settings.polite"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"version": 2}}, 422, "settings.version"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"polite.floor_ms": TOO_DEEP}}, 422, "settings.polite.floor_ms"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"fetch.user_agent": "a\r\nb"}}, 422, "settings.fetch.user_agent"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"fetch.headers": [["a b", "c"]]}}, 422, "settings.fetch.headers"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"fetch.headers": [["a", "b\nc"]]}}, 422, "settings.fetch.headers"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"fetch.proxy": "file:///etc"}}, 422, "settings.fetch.proxy"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"scope.exclude": ["a\0b"]}}, 422, "settings.scope.exclude"),
    ("POST", CRAWL, {"seeds": SEEDS, "settings": {"scope.exclude": ["*example*"]}}, 422, "seeds"),
    ("POST", CRAWL, [], 422, None),
    ("POST", f"{CRAWL}?wait=31", {"seeds": SEEDS}, 422, "wait"),
    ("POST", f"{CRAWL}?bogus=1", {"seeds": SEEDS}, 422, "bogus"),
    ("GET", f"{CRAWL}?limit=0", None, 422, "limit"),
    ("GET", f"{CRAWL}?limit=101", None, 422, "limit"),
    ("GET", f"{CRAWL}?status=nonsense", None, 422, "status"),
    ("GET", f"{CRAWL}/nonsense", None, 422, "crawl"),
    ("GET", f"{CRAWL}/99", None, 404, None),
    ("GET", f"{CRAWL}/999999999999999999", None, 404, None),
    ("GET", f"{CRAWL}/00000000-0000-4000-8000-000000000000", None, 404, None),
    ("GET", f"{CRAWL}/1/urls?limit=1001", None, 422, "limit"),
    ("GET", f"{CRAWL}/1/urls?after=-1", None, 422, "after"),
    ("GET", f"{CRAWL}/1/urls?after={2**63}", None, 422, "after"),
    ("GET", f"{CRAWL}/1/urls?after=3&sort=url", None, 422, "after"),
    ("GET", f"{CRAWL}/1/urls?host=a/b", None, 422, "host"),
    ("GET", f"{CRAWL}/1/urls?text=%00", None, 422, "text"),
    ("GET", f"{CRAWL}/1/urls?order=up", None, 422, "order"),
    ("GET", f"{CRAWL}/1/urls/999", None, 404, None),
    ("GET", f"{CRAWL}/1/urls/{2**63}", None, 422, "url_id"),
    ("GET", f"{CRAWL}/1/explain", None, 422, "url"),
    ("GET", f"{CRAWL}/1/graph?kind=nonsense", None, 422, "kind"),
    ("GET", f"{CRAWL}/1/export?format=xml", None, 422, "format"),
    ("PATCH", f"{CRAWL}/1/pace", {}, 422, None),
    ("PATCH", f"{CRAWL}/1/pace", {"floor_ms": -1}, 422, "floor_ms"),
    ("PATCH", f"{CRAWL}/1/pace", {"max_inflight": 0}, 422, "max_inflight"),
    ("PATCH", f"{CRAWL}/1/pace", {"max_depth": 1}, 422, "max_depth"),
    ("PATCH", f"{CRAWL}/1/limits", {}, 422, None),
    ("PATCH", f"{CRAWL}/1/limits", {"max_pages": 0}, 422, "max_pages"),
    ("PATCH", f"{CRAWL}/1/limits", {"max_urls_per_host": None}, 422, "max_urls_per_host"),
    ("PATCH", f"{CRAWL}/1/limits", {"max_depth": 1}, 422, "max_depth"),
    ("GET", f"{CRAWL}/1/urls?reason=typo", None, 422, "reason"),
    ("GET", f"{CRAWL}/1/urls/999/links", None, 404, None),
    ("GET", f"{CRAWL}/1/urls/1/links?limit=1001", None, 422, "limit"),
    ("GET", f"{CRAWL}/1/urls/999/page/ticket", None, 404, None),
    ("GET", f"{CRAWL}/1/urls/1/page/rendered?ticket=nonsense", None, 401, None),
    ("GET", f"{CRAWL}/1/urls/1/page/rendered?ticket={'x' * 101}", None, 422, "ticket"),
    ("GET", "/hosts?limit=501", None, 422, "limit"),
    ("GET", "/hosts?text=%00", None, 422, "text"),
    ("GET", "/hosts?state=resting", None, 422, "state"),
    ("GET", "/hosts/never.test/robots", None, 404, None),
    ("PUT", "/hosts/a.test", {}, 422, None),
    ("PUT", "/hosts/a%20b", {"delay_ms": 1}, 422, "host"),
    ("DELETE", "/hosts/never.test", None, 404, None),
    ("GET", "/hosts/never.test", None, 404, None),
    ("POST", "/blocks", {"values": []}, 422, "values"),
    ("POST", "/blocks", {"values": ["a/b"]}, 422, "values"),
    ("POST", "/blocks", {"kind": "pattern", "values": ["*"]}, 422, "values"),
    ("POST", "/blocks", {"kind": "regex", "values": ["a"]}, 422, "kind"),
    ("DELETE", "/blocks/99", None, 404, None),
    ("PUT", "/workers/local", {"count": -1}, 422, "count"),
    ("PUT", "/workers/local", {"count": 65}, 422, "count"),
    ("GET", "/errors?limit=0", None, 422, "limit"),
    ("GET", "/errors?crawl=99", None, 404, None),
    ("PUT", "/floor", {"floor_ms": 10**12}, 422, "floor_ms"),
    ("PUT", "/floor", {"floor_ms": 1.5}, 422, "floor_ms"),
    ("POST", "/tokens", {"name": "", "access": "admin"}, 422, "name"),
    ("POST", "/tokens", {"name": "a", "access": "root"}, 422, "access"),
    ("POST", "/tokens", {"name": "a", "access": "read"}, 409, "access"),
    ("DELETE", "/tokens/99", None, 404, None),
    ("GET", "/nowhere", None, 404, None),
    ("PUT", CRAWL, {}, 405, None),
]


def check(answer: httpx.Response, status: int, field: str | None) -> None:
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error.keys() == {"code", "message", "hint", "field"}
    assert error["message"] and error["hint"] and error["code"]
    if field is not None:
        assert error["field"] == field, answer.text


def test_bad_input_is_refused_and_named(api: Served, client: httpx.Client) -> None:
    """One server for all: what one refusal leaves behind, the next ones would meet."""
    for method, path, body, status, field in BAD:
        answer = client.request(method, V1 + path, json=body)
        try:
            check(answer, status, field)
        except AssertionError as error:
            raise AssertionError(f"{method} {path} {body}: {error}") from None
    assert [crawl.id for crawl in api.store.catalog.crawls()] == [api.crawl.id], "never a half-created crawl"
    assert not api.store.tokens.has_tokens()
    assert not api.store.rulebook.rulings().blocks


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"seeds": ["https://example.com/"]}', "text/plain", 415),
        (b'{"seeds": ["https://example.com/\\ud800"]}', "application/json", 422),
        (b'{"seeds": ["https://example.com/"], "settings": {"polite.floor_ms": NaN}}', "application/json", 422),
        (b'{"seeds": ["https://example.com/"], "settings": {"\\ud800": 1}}', "application/json", 422),
        (b"[" * 100_000, "application/json", 400),
        (b"", "application/json", 422),
    ],
)
def test_bodies_that_are_none(client: httpx.Client, content: bytes, kind: str, status: int) -> None:
    check(client.post(f"{V1}/crawls", content=content, headers={"Content-Type": kind}), status, None)


def test_bodies_have_a_limit(client: httpx.Client) -> None:
    long = b" " * (BODY_BYTES_MAX + 1)
    check(client.put(f"{V1}/floor", content=long), 413, None)
    check(client.put(f"{V1}/floor", content=iter([long])), 413, None)
    check(client.post(f"{V1}/crawls", content=b" " * (SEEDS_BYTES_MAX + 1)), 413, None)
    many = {"seeds": [f"https://example.com/{'x' * 30}/{n}" for n in range(25_000)]}
    assert client.post(f"{V1}/crawls", json=many).json()["total"] == 25_000, "seeds may be more than other bodies"


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", f"{V1}/crawls", '{"seeds": ["http://a.test/"]}'),
        ("PATCH", f"{V1}/crawls/1/pace", '{"floor_ms": 2000}'),
        ("PUT", f"{V1}/floor", '{"floor_ms": 2000}'),
        ("POST", f"{V1}/crawls/1/resume", '{"max_pages": 5}'),
        ("POST", "/api/crawl/jobs", '{"seedUrls": ["http://a.test/"]}'),
        ("POST", "/crawl-runs", '{"seedUrl": "http://a.test/"}'),
    ],
)
def test_a_body_that_is_not_marked_as_json_is_refused_with_what_to_send(
    client: httpx.Client, method: str, path: str, body: str, kind: str | None
) -> None:
    answer = client.request(method, path, content=body, headers={"Content-Type": kind} if kind else {})
    assert answer.status_code == 415
    said = answer.json()["error"]
    assert "send Content-Type: application/json" in (said if path == "/crawl-runs" else said["message"])
    assert path == "/crawl-runs" or said["code"] == "unsupported_media_type"


def test_a_body_that_is_missing_is_named(client: httpx.Client) -> None:
    answer = client.post(f"{V1}/crawls")
    assert (answer.status_code, answer.json()["error"]["message"]) == (422, "the body is missing")
    assert "Content-Type: application/json" in answer.json()["error"]["hint"]
