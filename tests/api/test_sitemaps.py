"""Sitemaps through the API: their figures, what they and links disagree about, and crawls that begin with one."""

import httpx
import pytest

from nephila import wiring
from nephila.frontier.records import UrlFilter
from nephila.frontier.store import Batch, SitemapEntry, WorkerInfo
from nephila.models import Kind
from tests.api.served import V1, Served
from tests.unit.control.filled import SEED, child

MAP = "https://a.test/map.xml"


def test_a_crawl_without_sitemaps_has_none(api: Served, client: httpx.Client) -> None:
    path = f"{V1}/crawls/{api.crawl.id}"
    assert client.get(f"{path}/sitemaps").json() == {"sitemaps": [], "next": None}
    for what in ("unlinked", "unlisted"):
        assert client.get(f"{path}/sitemaps/{what}").json() == {"urls": [], "total": 0, "next": None}
    assert client.get(path).json()["sitemaps"]["urls"] == 0
    assert client.get(f"{V1}/crawls/404/sitemaps").status_code == 404


def test_pages_that_only_a_sitemap_lists_are_counted_and_come_in_pages(api: Served, client: httpx.Client) -> None:
    frontier, home = wiring.open_frontier(api.settings), api.ids()[""]
    frontier.join(WorkerInfo("here", 1, "0"))
    frontier.lease({})
    pages = [child(api.crawl.id, f"{SEED}listed/{number}", None, 1) for number in range(5)]
    entries = [SitemapEntry(api.crawl.id, page.host, page.key, home, None, None, None) for page in pages]
    frontier.flush(Batch(1, children=pages, entries=entries))
    frontier.leave()
    path, found, after = f"{V1}/crawls/{api.crawl.id}/sitemaps/unlinked", list[str](), 0
    for expected in (2, 2, 1):
        answer = client.get(path, params={"limit": 2, "after": after}).json()
        assert (answer["total"], len(answer["urls"])) == (5, expected)
        found += [row["url"] for row in answer["urls"]]
        after = answer["next"]
    assert found == [page.url for page in pages] and after is None


def test_a_crawl_may_begin_with_a_sitemap_alone(api: Served, client: httpx.Client) -> None:
    settings = {"sitemaps.urls": [MAP], "sitemaps.mode": "only"}
    answer = client.post(f"{V1}/crawls", json={"settings": settings})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert (made["seeds"], made["sitemaps"]["urls"], made["total"]) == ([MAP], 1, 0)
    (row,) = api.store.catalog.urls(made["id"], 0, 10, UrlFilter(kind=Kind.SITEMAP))
    shown = client.get(f"{V1}/crawls/{made['id']}/urls/{row.id}").json()
    assert (shown["url"], shown["kind"]) == (MAP, "sitemap")
    (found,) = client.get(f"{V1}/crawls/{made['id']}/sitemaps").json()["sitemaps"]
    assert (found["url"], found["state"], found["found"]) == (MAP, "queued", "given by hand")
    said = client.get(f"{V1}/crawls/{made['id']}/explain", params={"url": MAP}).json()
    assert "It is a sitemap, given by hand." in said["verdict"] and said["sitemap"] is None


@pytest.mark.parametrize("urls", [["mailto:x@y"], ["ftp://a.test/x"]])
def test_what_is_no_web_address_is_no_sitemap(client: httpx.Client, urls: list[str]) -> None:
    assert client.post(f"{V1}/crawls", json={"settings": {"sitemaps.urls": urls}}).status_code == 422
