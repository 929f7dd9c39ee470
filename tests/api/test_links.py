"""Links both ways through the API."""

from contextlib import closing

import httpx
import pytest

from nephila.clock import SystemClock
from nephila.wiring import new_follower
from tests.api.served import V1, Served


@pytest.fixture
def path(api: Served) -> str:
    return f"{V1}/crawls/{api.crawl.id}"


def follow(api: Served) -> None:
    with closing(new_follower(api.store, SystemClock())) as follower:
        while follower.step():
            pass


def test_before_anything_is_indexed_the_lag_is_told(api: Served, client: httpx.Client, path: str) -> None:
    answer = client.get(f"{path}/urls/{api.ids()['x']}/in-links").json()
    assert (answer["links"], answer["total"], answer["total_exact"]) == ([], 0, True)
    assert answer["pending_bytes"] > 0


def test_who_links_to_a_url(api: Served, client: httpx.Client, path: str) -> None:
    follow(api)
    ids = api.ids()
    answer = client.get(f"{path}/urls/{ids['x']}/in-links").json()
    links = {link.pop("id"): link for link in answer["links"]}
    assert links.keys() == {ids[""], ids["moved"], ids["formula"]}, "x itself does not count"
    title = "Title of http://a.test/"
    assert links[ids[""]] == {"url": "http://a.test/", "title": title, "text": "x", "rel": "", "via": None}
    assert (answer["total"], answer["total_exact"], answer["pending_bytes"]) == (3, True, 0)
    seen = [client.get(f"{path}/urls/{ids['x']}/in-links", params={"limit": 1, "offset": n}).json() for n in range(4)]
    assert [len(some["links"]) for some in seen] == [1, 1, 1, 0]
    assert {link["id"] for some in seen for link in some["links"]} == {ids[""], ids["moved"], ids["formula"]}


def test_broken_urls_come_in_pages_with_who_links_there(api: Served, client: httpx.Client, path: str) -> None:
    follow(api)
    answer = client.get(f"{path}/broken").json()
    (broken,) = answer["urls"]
    assert (broken["id"], broken["state"], broken["status"]) == (api.ids()["gone"], "not_found", 404)
    shown = client.get(f"{path}/urls/{broken['id']}").json()
    assert broken["fetched_at"] == shown["fetched_at"]
    assert (broken["linked"], answer["next"]) == ({"links": [], "total": 0, "total_exact": True}, None)
    first = client.get(f"{path}/broken", params={"limit": 1}).json()
    assert first["next"] == broken["id"]
    assert client.get(f"{path}/broken", params={"after": first["next"]}).json()["urls"] == []


@pytest.mark.parametrize("what", ["crawls/404/broken", "crawls/404/urls/1/in-links", "crawls/1/urls/4040/in-links"])
def test_of_what_is_not_there(client: httpx.Client, api: Served, what: str) -> None:
    assert client.get(f"{V1}/{what}").status_code == 404
