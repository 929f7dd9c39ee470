"""What the documents' APIs promise and a small crawl does not show: defaults, orders, upkeep, streams."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from nephila import wiring
from nephila.api.routes import export as chunked
from nephila.control import export
from nephila.frontier.records import UrlFilter, UrlPage
from nephila.frontier.store import Crawl
from nephila.models import CrawlState, UrlState
from nephila.settings import ProcessSettings
from tests.api.faced import Face
from tests.api.served import KINDS, served
from tests.contract.session import Session, child, ended
from tests.patience import PATIENCE_SECONDS, until

CRAWLS = "/api/v1/crawls"
SITE = "https://a.test/"


class FaceFrontiers:
    """For a session of the contract suite in the store of a face."""

    def __init__(self, face: Face) -> None:
        self._settings = face.place.settings()

    def frontier(self) -> Any:
        return wiring.open_frontier(self._settings)


def run_with(face: Face, *urls: str) -> tuple[Crawl, Session]:
    """A run of the site with these URLs beside its root, and a worker that holds them all."""
    run = face.client.post("/crawl-runs", json={"seedUrl": SITE}).json()["id"]
    crawl, session = face.catalog.crawl(run), Session(FaceFrontiers(face))
    session.flush(children=[child(crawl, SITE + url, depth=1) for url in urls])
    session.load()
    return crawl, session


# --- runs (000)


@pytest.mark.requirement("A-04")
def test_asking_for_a_run_does_the_upkeep_that_ends_it(embedded: Face) -> None:
    crawl, session = run_with(embedded)
    session.drain(crawl)
    path = f"/crawl-runs/{crawl.id}"
    assert embedded.client.get(f"{path}/summary").json()["status"] == "RUNNING"
    assert embedded.catalog.crawl(crawl.id).state is CrawlState.RUNNING, "nobody else does it here"
    until(lambda: embedded.client.get(path).json()["status"] == "COMPLETED")


@pytest.mark.requirement("A-06")
@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize(
    ("sort", "names"),
    [("id", ["", "c", "a", "b"]), ("normalized_url", ["", "a", "b", "c"]), ("visited_at", ["b", "", "c", "a"])],
)
def test_rows_come_in_the_order_that_was_asked_for(face: Face, sort: str, names: list[str], order: str) -> None:
    """Found, named and visited in three different orders."""
    crawl, session = run_with(face, "c", "a", "b")
    for minute, name in enumerate(["b", "", "c", "a"]):
        outcome = ended(session.row(SITE + name), crawl)
        assert outcome.page is not None
        outcome.page.fetched_at = 1_700_000_000_000 + minute * 60_000
        session.flush(outcomes=[outcome])
    wanted = names if order == "asc" else names[::-1]
    path = f"/crawl-runs/{crawl.id}/urls?sort={sort}&order={order}"
    rows = face.client.get(path).json()["urls"]
    assert [row["normalized_url"].removeprefix(SITE) for row in rows] == wanted
    second = face.client.get(f"{path}&limit=2&offset=1&status=VISITED").json()["urls"]
    assert second == rows[1:3]


@pytest.mark.requirement("A-08", "K44")
def test_an_export_has_50_000_rows_unless_told_otherwise(embedded: Face) -> None:
    settings = {"maxPages": 100_000}
    run = embedded.client.post("/crawl-runs", json={"seedUrl": SITE, "settings": settings}).json()["id"]
    crawl = embedded.catalog.crawl(run)
    (root,) = embedded.catalog.urls(run, 0, 1, UrlFilter())
    found = [child(crawl, f"{SITE}{number}", depth=1, parent=root.id) for number in range(50_000)]
    embedded.catalog.add_seeds(run, found)
    path = f"/crawl-runs/{run}/export"
    rows = embedded.client.get(path).json()
    assert len(rows) == 50_000
    assert {row["discovered_from_url_id"] for row in rows[1:]} == {root.id}
    assert len({row["id"] for row in rows}) == 50_000
    assert len(embedded.client.get(f"{path}?limit=50001&format=csv").text.splitlines()) == 50_002, "and a head line"


@pytest.mark.requirement("A-14", "S-02")
def test_cancelling_counts_the_urls_that_it_cancels_and_no_other(face: Face) -> None:
    crawl, session = run_with(face, "1", "2", "3", "4")
    session.flush(outcomes=[ended(session.row(SITE + "1"), crawl), ended(session.row(SITE + "2"), crawl)])
    session.frontier.leave()
    path = f"/crawl-runs/{crawl.id}"
    wanted = {"status": "CANCELLED", "changed": True, "cancelled_url_count": 3}
    assert face.client.post(f"{path}/cancel").json() == wanted
    face.crawl(crawl.id)
    assert face.client.post(f"{path}/cancel").json() == wanted | {"changed": False}
    counters = face.client.get(f"{path}/summary").json()["counters"]
    assert (counters["CANCELLED"], counters["VISITED"]) == (3, 2)


@pytest.mark.requirement("A-14")
def test_a_delta_has_the_edges_of_its_nodes_and_a_thousand_of_them_by_default(embedded: Face) -> None:
    run = embedded.client.post("/crawl-runs", json={"seedUrl": SITE}).json()["id"]
    crawl = embedded.catalog.crawl(run)
    (root,) = embedded.catalog.urls(run, 0, 1, UrlFilter())
    embedded.catalog.add_seeds(run, [child(crawl, f"{SITE}{n}", depth=1, parent=root.id) for n in range(1500)])
    path = f"/crawl-runs/{run}/graph-delta"
    seen, version, more = [], 0, True
    while more:
        page = embedded.client.get(path, params={"after_version": version}).json()
        assert len(page["nodes"]) == 1000 or not page["has_more"]
        found = {node["id"] for node in page["nodes"]} - {root.id}
        assert {edge["id"] for edge in page["edges"]} == found
        seen += [node["normalized_url"] for node in page["nodes"]]
        version, more = page["version"], page["has_more"]
    assert len(seen) == len(set(seen)) == 1501


# --- crawls (001)


@pytest.mark.requirement("A-29")
def test_the_list_of_crawls_has_twenty_unless_told_otherwise(embedded: Face) -> None:
    for number in range(21):
        answer = embedded.client.post(CRAWLS, params={"wait": 0}, json={"url": f"https://site{number}.test/"})
        assert answer.status_code == 201
    assert len(embedded.client.get(CRAWLS).json()["crawls"]) == 20
    assert len(embedded.client.get(CRAWLS, params={"limit": 100}).json()["crawls"]) == 21
    assert len(embedded.client.get(CRAWLS, params={"offset": 20}).json()["crawls"]) == 1


@pytest.mark.requirement("A-29", "K43")
@pytest.mark.parametrize("depth", [1, 5])
def test_depths_from_one_to_five_are_accepted(embedded: Face, depth: int) -> None:
    answer = embedded.client.post(CRAWLS, params={"wait": 0}, json={"url": SITE, "depth": depth})
    assert (answer.status_code, answer.json()["requested_depth"]) == (201, depth)
    assert embedded.catalog.crawls()[0].settings.scope.max_depth == depth


@pytest.mark.requirement("A-29")
def test_statistics_count_hosts_depths_and_states(face: Face) -> None:
    crawl = face.catalog.crawl(face.client.post(CRAWLS, params={"wait": 0}, json={"url": SITE}).json()["id"])
    session = Session(FaceFrontiers(face))
    others = [child(crawl, f"https://h{number}.test/{path}", depth=4) for number in range(3) for path in "ab"]
    session.flush(children=others)
    session.load()
    failed = ended(session.row("https://h1.test/a"), crawl, state=UrlState.FAILED, reason="timeout")
    session.flush(outcomes=[failed, ended(session.row(SITE), crawl)])
    stats = face.client.get(f"{CRAWLS}/{crawl.id}/stats").json()
    assert (stats["total_urls"], stats["unique_domains"], stats["max_depth_reached"]) == (7, 4, 4)
    assert sorted(filter(None, stats["status_counts"].values())) == [1, 1, 5]


# --- jobs (004)


class Gated:
    """A catalogue whose second page of URLs is only answered when the test says so."""

    def __init__(self, catalog: Any, pages: "Pages") -> None:
        self._catalog, self._pages = catalog, pages

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def urls_page(self, *asked: Any, **named: Any) -> UrlPage:
        self._pages.next()
        page: UrlPage = self._catalog.urls_page(*asked, **named)
        return page


class Pages:
    def __init__(self) -> None:
        self.asked = 0
        self.go_on = threading.Event()
        self.gave_up = False

    def next(self) -> None:
        self.asked += 1
        if self.asked > 1 and not self.go_on.wait(PATIENCE_SECONDS):
            self.gave_up = True


@contextmanager
def paged(kind: str, folder: Path) -> Iterator[tuple[httpx.Client, Crawl, Pages]]:
    pages = Pages()

    def opener(settings: ProcessSettings) -> Any:
        def open_store() -> wiring.Store:
            store = wiring.open_store(settings)
            return replace(store, catalog=cast(Any, Gated(store.catalog, pages)))

        return open_store

    with served(kind, folder, opener=opener) as api, api.client() as client:
        yield client, api.crawl, pages


@pytest.mark.requirement("A-43", "X-01")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", ["json", "csv"])
def test_an_export_is_sent_while_it_is_read(
    kind: str, format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows arrive while the store has not answered for the next ones."""
    monkeypatch.setattr(export, "PAGE_ROWS", 1)
    monkeypatch.setattr(chunked, "CHUNK_CHARS", 1)
    with paged(kind, tmp_path) as (client, crawl, pages):
        address = f"/api/crawl/jobs/{crawl.uuid}/export"
        with client.stream("GET", address, params={"format": format}, timeout=PATIENCE_SECONDS * 2) as answer:
            parts = answer.iter_text()
            first = next(parts)
            while "http://a.test/" not in first:  # the head of a table comes alone
                first += next(parts)
            assert not pages.gave_up and not pages.go_on.is_set()
            pages.go_on.set()
            text = first + "".join(parts)
    if format == "json":
        assert [list(row) for row in json.loads(text)] == [["url", "title", "contentHash", "crawledAt"]] * 3
    else:
        assert text.splitlines()[0] == "url,title,contentHash,crawledAt" and len(text.splitlines()) == 4
