"""What profiles and settings change: redirect modes, depth, several seeds, what is kept of a page, and its archive."""

from collections import Counter
from itertools import pairwise
from typing import Any, cast

import pytest

from nephila.archive.reader import read_response
from nephila.fetch.body import decode_body
from nephila.fetch.headers import Headers
from nephila.frontier.store import Batch, Flushed, Frontier
from nephila.models import OPEN, ArchivePlace, Refusal
from nephila.urls.identity import url_key
from nephila.wiring import Store
from tests.e2e.harness import Places, run_here
from tests.patience import until
from tests.site.fixtures import FIXTURES, html, moved
from tests.site.politeness import violations
from tests.site.server import Page, Sites, TestWeb
from tests.unit.archive.judges import complaints


def crawled(
    places: Places, web: TestWeb, sites: Sites, seeds: list[str], **overrides: object
) -> dict[str, tuple[str, str]]:
    """path (with its host where that is not the first) -> state and reason."""
    web.add(sites)
    place = places()
    crawl = place.start([web.url(seed) if seed.startswith("/") else seed for seed in seeds], overrides)
    run_here(place, crawl.id)
    assert place.store().catalog.check() == []
    start = web.url("")
    return {row.url.removeprefix(start): (str(row.state), row.reason) for row in place.rows(crawl.id)}


HOPS: Sites = {
    "127.0.0.1": {
        "/": html("/a"),
        "/a": moved("/b"),
        "/b": moved("/c", 302),
        "/c": html("/d"),
        "/d": html(),
    }
}


@pytest.mark.requirement("R-04", "S-01", "K14")
@pytest.mark.parametrize(
    ("mode", "states"),
    [
        ("enqueue", {"/": "visited", "/a": "redirected", "/b": "redirected", "/c": "visited", "/d": "visited"}),
        ("record", {"/": "visited", "/a": "redirected"}),
        ("follow", {"/": "visited", "/a": "visited", "/d": "visited"}),
    ],
)
def test_redirect_modes(mode: str, states: dict[str, str], places: Places) -> None:
    with TestWeb() as web:
        found = crawled(
            places, web, HOPS, ["/"], **{"redirects.mode": mode, "polite.floor_ms": 20, "polite.max_inflight": 1}
        )
        assert {path: state for path, (state, _) in found.items()} == states
        assert violations(web.hits(), 20) == [], "every hop waits for the host's clock"


@pytest.mark.requirement("W-22")
def test_followed_redirects_end_at_the_limit(places: Places) -> None:
    site = {"/": html("/0")} | {f"/{n}": moved(f"/{n + 1}") for n in range(9)}
    with TestWeb() as web:
        overrides = {"redirects.mode": "follow", "redirects.max_hops": 3}
        found = crawled(places, web, {"127.0.0.1": site}, ["/"], **overrides)
        assert [hit.path for hit in web.hits() if hit.path != "/robots.txt"] == ["/", "/0", "/1", "/2", "/3"]
        assert found == {"/": ("visited", ""), "/0": ("redirected", "redirect_loop")}


@pytest.mark.requirement("F-10", "F-22", "SC-04")
@pytest.mark.parametrize(("at_max_depth", "state"), [("fetch_no_expand", "visited"), ("record_only", "excluded")])
def test_at_the_depth_limit(at_max_depth: str, state: str, places: Places) -> None:
    site = {"/": html("/1"), "/1": html("/2"), "/2": html("/3"), "/3": html()}
    with TestWeb() as web:
        overrides = {"scope.max_depth": 2, "scope.at_max_depth": at_max_depth}
        found = crawled(places, web, {"127.0.0.1": site}, ["/"], **overrides)
        assert {path: state for path, (state, _) in found.items()} == {"/": "visited", "/1": "visited", "/2": state}
        asked = {hit.path for hit in web.hits()}
        assert ("/2" in asked) is (state == "visited")


CAP, DEPTH = 5, 3


class Capped:
    """A store in which never more than CAP URLs are open; upkeep follows each flush. It notes the links refused.

    Upkeep of the harness may evict at this moment, too: its rows are passed over here and leave with its commit.
    """

    def __init__(self, frontier: Frontier, store: Store, crawl_id: int) -> None:
        self._frontier, self._store, self._crawl_id = frontier, store, crawl_id
        self.refused: set[bytes] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frontier, name)

    def flush(self, batch: Batch) -> Flushed:
        answer = self._frontier.flush(batch)
        until(self._room_again, "as few open URLs as the cap allows")
        self.refused |= {key for _, key in answer.crowded_out}
        return answer

    def _room_again(self) -> bool:
        self._store.upkeep.run_once()
        tallies = self._store.catalog.tallies(self._crawl_id)
        return sum(tallies[state] for state in OPEN) <= CAP


@pytest.mark.requirement("F-16", "F-22", "F-23")
@pytest.mark.parametrize("evict", [False, True])
def test_a_cap_on_open_urls_and_a_depth_limit(evict: bool, places: Places) -> None:
    """Each page links to all pages of its level and of the next one: what was refused is found again."""
    levels = [[f"/{level}/{n}" for n in range(12)] for level in range(DEPTH + 1)]
    site = {"/": html(*levels[0])}
    for own, below in pairwise([*levels, []]):
        site |= {path: html(*own, *below) for path in own}
    with TestWeb() as web:
        web.add({"127.0.0.1": site})
        place = places()
        overrides = {"scope.max_depth": DEPTH, "limits.max_frontier": CAP, "limits.evict": evict}
        crawl = place.start([web.url("/")], overrides | {"robots.mode": "ignore"})
        store, made = place.store(), list[Capped]()

        def capped(frontier: Frontier) -> Frontier:
            made.append(Capped(frontier, place.open_store(), crawl.id))  # flushes have a thread of their own
            return cast(Frontier, made[0])

        over = run_here(place, crawl.id, wrap=capped)
        rows = place.rows(crawl.id)
        assert (over.state, over.limited_by) == ("completed", "max_frontier")
        assert max(row.depth for row in rows) <= DEPTH
        again = made[0].refused.intersection(url_key(row.url) for row in rows)
        refusals = {reason: n for _, reason, n in store.catalog.refusals(crawl.id)}
        if evict:
            assert {row.state for row in rows} == {"visited", "evicted"}
            assert Refusal.FRONTIER not in refusals
        else:
            assert {row.state for row in rows} == {"visited"}
            assert again, "no refused link is remembered as known"
            assert refusals[Refusal.FRONTIER] >= len(made[0].refused) and refusals[Refusal.DEPTH] > 0
        assert store.catalog.check() == []


@pytest.mark.requirement("A-45", "SC-06")
def test_several_seeds_are_one_crawl_with_the_union_of_their_hosts(places: Places) -> None:
    with TestWeb() as web:
        other = web.url("/", host="127.0.0.2")
        sites: Sites = {
            "127.0.0.1": {"/": html(other + "x", web.url("/", host="127.0.0.3"))},
            "127.0.0.2": {"/": html(), "/x": html()},
        }
        found = crawled(places, web, sites, ["/", other])
        assert found == {"/": ("visited", ""), other: ("visited", ""), other + "x": ("visited", "")}


@pytest.mark.requirement("R-18", "S-06", "K13")
def test_a_host_that_only_fails_is_given_up_and_its_urls_are_kept(places: Places) -> None:
    links = [f"/{n}" for n in range(30)]
    site = {"/": html(*links)} | {link: Page(status=500) for link in links}
    with TestWeb() as web:
        overrides = {
            "host.death_errors": 4,
            "retry.max": 0,
            "host.backoff_base_ms": 1,
            "host.backoff_cap_ms": 1,
            "polite.max_inflight": 1,
        }
        found = crawled(places, web, {"127.0.0.1": site}, ["/"], **overrides)
        assert len(found) == 31, "no URL is ever deleted"
        counts = Counter(found.values())
        assert counts["failed", "host_dead"] == 26
        assert counts["http_error", "http_5xx"] == 4


@pytest.mark.requirement("R-14", "W-11", "W-13", "G-01", "ST-02")
def test_what_is_kept_of_a_page(places: Places) -> None:
    head = '<meta name=description content="about it"><meta name=keywords content="a, b"><link rel=canonical href="/c">'
    body = html("/a", "https://elsewhere.test/x", head=head)
    with TestWeb() as web:
        web.add({"127.0.0.1": {"/": body, "/a": html(), "/c": html()}})
        place = places()
        crawl = place.start([web.url("/")])
        run_here(place, crawl.id)
        catalog = place.store().catalog
        rows = {row.url: row for row in place.rows(crawl.id)}
        root, child = rows[web.url("/")], rows[web.url("/a")]
        assert (root.status, root.content_type, root.title) == (200, "text/html; charset=utf-8", "test")
        assert root.latency_ms is not None and root.latency_ms > 0
        assert (child.discovered_from, child.raw_url, child.depth) == (root.id, "/a", 1)
        facts = catalog.page_facts(root.id)
        assert (facts["description"], facts["keywords"], facts["canonical"]) == ("about it", "a, b", "/c")
        assert facts["links_out"] == [web.url("/c"), web.url("/a")]
        assert facts["links_refused"] == ["https://elsewhere.test/x"]
        assert facts["ip"] == "127.0.0.1"
        assert ("elsewhere.test", "scope", 1) in catalog.refusals(crawl.id)
        host = catalog.host("127.0.0.1")
        assert host is not None and (host.addresses, host.requests) == ("127.0.0.1", 4)


@pytest.mark.requirement("ST-05", "W-19", "X-03")
@pytest.mark.parametrize(
    "name", ["encodings", "documents", "charsets", "redirect_codes", "broken_off", "empty_bodies", "client_errors"]
)
def test_the_archive_of_a_crawl_is_read_by_everybody_and_holds_the_bytes_of_the_wire(name: str, places: Places) -> None:
    with TestWeb() as web:
        fixture = FIXTURES[name](web.port)
        web.add(fixture.sites)
        place = places(resolve=fixture.resolve)
        crawl = place.start(list(fixture.seeds), fixture.settings)
        run_here(place, crawl.id)
        folder = place.settings().archive_folder
        assert complaints(*folder.glob("*.warc.gz")) == []
        archived = [row for row in place.rows(crawl.id) if row.archive_file]
        assert archived
        for row in archived:
            assert row.archive_file and row.archive_offset is not None and row.archive_length
            found = read_response(
                place.store().archive, ArchivePlace(row.archive_file, row.archive_offset, row.archive_length)
            )
            assert (found.url, found.status) == (row.url, row.status)
            if row.state == "visited":
                assert len(decode_body(Headers(found.headers), found.body, 10_000_000).body) == row.bytes


def test_the_same_payload_is_stored_once(places: Places) -> None:
    """Revisit records refer to a committed record; `show` still has the whole body."""
    same = html(body="x" * 5000)
    with TestWeb() as web:
        links = [f"/{n}" for n in range(40)]
        web.add({"127.0.0.1": {"/": html(*links)} | dict.fromkeys(links, same)})
        place = places()
        crawl = place.start([web.url("/")], {"polite.max_inflight": 1, "polite.floor_ms": 5})
        run_here(place, crawl.id)
        folder = place.settings().archive_folder
        assert complaints(*folder.glob("*.warc.gz")) == []
        revisits = 0
        for row in place.rows(crawl.id)[1:]:
            assert row.archive_file and row.archive_offset is not None and row.archive_length
            found = read_response(
                place.store().archive, ArchivePlace(row.archive_file, row.archive_offset, row.archive_length)
            )
            assert found.body == same.body
            revisits += found.revisit_of is not None
        assert revisits > 20


@pytest.mark.requirement("T-07", "T-08")
def test_ten_pages_with_the_profile_of_the_jobs_api(places: Places) -> None:
    with TestWeb() as web:
        links = [f"/{n}" for n in range(9)]
        web.add({"127.0.0.1": {"/": html(*links)} | {link: html("/") for link in links}})
        place = places()
        crawl = place.start([web.url("/")], {"limits.max_pages": 20}, profile="jobs")
        run_here(place, crawl.id)
        assert len(place.rows(crawl.id)) == 10


@pytest.mark.parametrize("first", ["allow", "rfc9309"])
def test_one_crawls_robots_policy_does_not_decide_for_another(first: str, places: Places) -> None:
    """robots.txt answers 500: a crawl that allows visits, one by RFC 9309 does not, whichever was there before."""
    with TestWeb() as web:
        web.add({"127.0.0.1": {"/": html(), "/robots.txt": Page(status=500)}})
        place, found = places(), {}
        policies = [first, *({"allow", "rfc9309"} - {first})]
        for policy in policies:
            overrides = {"robots.on_error": policy, "robots.attempts_max": 2, "robots.retry_ms": 10}
            crawl = place.start([web.url("/")], overrides | {"polite.floor_ms": 0, "polite.adaptive": False})
            run_here(place, crawl.id)
            found[policy] = [(str(row.state), row.reason) for row in place.rows(crawl.id)]
        assert found == {"allow": [("visited", "")], "rfc9309": [("excluded", "robots_unreachable")]}
