"""GET /api/v1/search over a filled index."""

from contextlib import closing
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from nephila.clock import SystemClock
from nephila.wiring import new_follower
from tests.api.served import V1, Served

PATH = f"{V1}/search"


@pytest.fixture
def indexed(api: Served) -> Served:
    store = api.store
    follower = new_follower(store, SystemClock())
    with closing(follower):
        while follower.step():
            pass
    return api


def ask(client: httpx.Client, **query: Any) -> dict[str, Any]:
    answer = client.get(PATH, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.requirement("Q-01")
def test_a_search_answers(indexed: Served, client: httpx.Client) -> None:
    found = ask(client, q="title x")
    assert set(found) == {"results", "total", "total_exact", "indexed", "pending_bytes", "words"}
    assert (found["total"], found["total_exact"], found["indexed"], found["pending_bytes"]) == (2, True, 3, 0)
    assert found["words"] == ["title", "x"]
    ids = indexed.ids()
    assert {result["url_id"] for result in found["results"]} == {ids[""], ids["x"]}
    result = next(result for result in found["results"] if result["url_id"] == ids["x"])
    crawl = indexed.crawl
    assert (result["crawl_id"], result["crawl_uuid"], result["host"]) == (crawl.id, crawl.uuid, "a.test")
    assert (result["url"], result["title"]) == ("http://a.test/x", "Title of http://a.test/x")
    assert result["snippet"] == [{"text": "x", "match": True}]
    assert result["fetched_at"] == client.get(f"{V1}/crawls/{crawl.id}/urls/{ids['x']}").json()["fetched_at"]
    assert result["score"] > 0


@pytest.mark.requirement("Q-01")
def test_it_is_narrowed_and_paged(indexed: Served, client: httpx.Client) -> None:
    crawl = indexed.crawl
    assert ask(client, q="title", crawl=crawl.id)["total"] == ask(client, q="title", crawl=crawl.uuid)["total"] == 2
    assert ask(client, q="title", host="www.a.test")["total"] == 2
    assert ask(client, q="title", host="b.test")["total"] == 0
    first, second = (ask(client, q="title", limit=1, offset=offset) for offset in (0, 1))
    assert first["total"] == second["total"] == 2
    assert first["results"][0]["url_id"] != second["results"][0]["url_id"]
    beyond = ask(client, q="title", offset=1000)
    assert (beyond["results"], beyond["total"]) == ([], 2)


@pytest.mark.requirement("Q-01")
@pytest.mark.parametrize(
    ("query", "status", "field"),
    [
        ("q=", 422, "q"),
        ("", 422, "q"),
        ("q=%21%21", 422, "q"),
        ("q=-x", 422, "q"),
        ("q=a*", 422, "q"),
        (f"q={'x' * 2000}", 422, "q"),
        ("q=%00", 422, "q"),
        ("q=x&limit=0", 422, "limit"),
        ("q=x&limit=101", 422, "limit"),
        ("q=x&offset=1001", 422, "offset"),
        ("q=x&host=%20%20", 422, "host"),
        ("q=x&crawl=nonsense", 422, "crawl"),
        ("q=x&crawl=99", 404, None),
        ("q=x&crawl=00000000-0000-0000-0000-000000000000", 404, None),
        ("q=x&more=1", 422, "more"),
    ],
)
def test_what_makes_no_sense_is_refused(client: httpx.Client, query: str, status: int, field: str | None) -> None:
    answer = client.get(f"{PATH}?{query}")
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["field"] == field


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE documents", 'a" OR "b', "x:* & !y", "{title}:x NEAR(a,b)", "☃ 日本", "%"]
)
def test_no_query_breaks_it(indexed: Served, client: httpx.Client, text: str) -> None:
    answer = client.get(f"{PATH}?q={quote(text)}")
    assert answer.status_code in (200, 422), answer.text
    assert ask(client, q="title")["total"] == 2


def test_without_an_index_nothing_is_found(client: httpx.Client) -> None:
    found = ask(client, q="title")
    assert (found["results"], found["total"], found["indexed"]) == ([], 0, 0)
    assert found["pending_bytes"] > 0


@pytest.mark.requirement("Q-01")
def test_a_deleted_crawl_is_not_found(indexed: Served, client: httpx.Client) -> None:
    assert ask(client, q="title")["total"] == 2
    crawl = indexed.crawl.id
    client.post(f"{V1}/crawls/{crawl}/cancel")
    indexed.store.catalog.delete(crawl)
    assert (ask(client, q="title")["total"], ask(client, q="title")["results"]) == (0, [])
    assert client.get(PATH, params={"q": "title", "crawl": crawl}).status_code == 404
