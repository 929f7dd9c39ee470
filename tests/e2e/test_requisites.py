"""Crawls with page requisites: every sort, from which hosts, what they count as; and a kill changes nothing."""

import random
from collections import Counter
from typing import Any

import pytest

from nephila.clock import SystemClock
from nephila.control import crawls
from nephila.control.explain import REQUISITE_RULES, Explanation, explain
from nephila.control.progress import Progress
from nephila.control.verify import verify
from nephila.frontier.records import UrlFilter, UrlRow
from nephila.frontier.store import Crawl
from nephila.models import CrawlState, Kind, Reason, Refusal, UrlState
from nephila.profiles import crawl_settings
from tests.e2e.harness import Cluster, Place, Places, run_here
from tests.e2e.test_kills import kill_one
from tests.site.requisites import Needed, NeedingWeb, needing_web
from tests.site.server import DEFAULT_HOST, Page, TestWeb


def start(place: Place, web: NeedingWeb, **overrides: Any) -> Crawl:
    named = {name.replace("__", "."): value for name, value in overrides.items()}
    return crawls.start(place.store().catalog, [web.seed], crawl_settings("default", web.settings | named))[0]


def rows_of(place: Place, crawl: Crawl, kind: Kind) -> list[UrlRow]:
    return place.store().catalog.urls(crawl.id, 0, 10_000, UrlFilter(kind=kind))


def told(place: Place, crawl: Crawl) -> dict[str, Needed]:
    """The requisites of a crawl as it has them."""
    everything = place.store().catalog.urls(crawl.id, 0, 10_000, UrlFilter())
    urls = {row.id: row.url for row in everything}
    return {
        row.url: Needed(row.state, urls[row.discovered_from or 0], Reason(row.reason), row.depth)
        for row in rows_of(place, crawl, Kind.REQUISITE)
    }


def assert_agreeing(place: Place, crawl: Crawl) -> None:
    catalog = place.store().catalog
    assert catalog.check() == []
    report = verify(catalog, place.store().archive, lambda what: None)
    assert report.ok, report.problems


def test_every_requisite_is_had_once_and_none_is_a_page(places: Places) -> None:
    with TestWeb() as server:
        web = needing_web(server.port)
        server.add(web.sites)
        place = places()
        crawl = start(place, web, scope__requisites="all")
        run_here(place, crawl.id)
        assert place.states(crawl.id) == {url: str(state) for url, state in web.pages.items()}
        assert told(place, crawl) == web.requisites
        asked = Counter(f"http://{hit.host}:{server.port}{hit.path}" for hit in server.hits())
        for url, needed in web.requisites.items():
            tries = {UrlState.EXCLUDED: 0, UrlState.HTTP_ERROR: 2}.get(needed.state, 1)
            assert asked[url] == tries, url
        assert [url for url in asked if "comment" in url or "linked" in url or "by-pattern" in url] == []
        archived = {row.url for row in rows_of(place, crawl, Kind.REQUISITE) if row.archive_file}
        assert archived == {url for url, needed in web.requisites.items() if needed.state is not UrlState.EXCLUDED}
        assert_agreeing(place, crawl)
        shown = Progress(place.store().catalog, crawl.id, SystemClock()).snapshot().as_json()
        states = Counter(str(needed.state) for needed in web.requisites.values())
        assert shown["pages"] == shown["urls"] == len(web.pages)
        assert shown["requisites"] == {
            "urls": len(web.requisites),
            "queued": 0,
            "in_progress": 0,
            "states": dict(states),
            "broken": 3,
            "errors": {"not_found": 2, "http_5xx": 1},
        }


def test_each_is_explained(places: Places) -> None:
    with TestWeb() as server:
        web = needing_web(server.port)
        server.add(web.sites)
        place = places()
        crawl = start(place, web, scope__requisites="same_host")
        run_here(place, crawl.id)
        store = place.store()
        over = store.catalog.crawl(crawl.id)

        def told_of(path: str) -> Explanation:
            return explain(store.catalog, store.rulebook.rulings(), over, path, "Nephila/1.0")

        gone = told_of(f"{web.seed}gone.png")
        assert gone.verdict.startswith("It ended not_found with status 404. It is a requisite: a page needs it")
        assert [parent.url for parent in gone.parents] == [f"{web.seed}inline.css", web.seed]
        assert [rule.rule for rule in gone.rules] == [rule for rule, _ in REQUISITE_RULES]
        assert all(rule.passed for rule in gone.rules)
        secret = told_of(f"{web.seed}private/secret.png")
        assert secret.verdict.startswith("It ended excluded, reason robots")
        assert secret.robots is not None and secret.robots.allowed is False
        moved = told_of(f"{web.seed}moved.png")
        assert [target.url for target in moved.redirects] == [f"{web.seed}target.png"]
        page = told_of(f"{web.seed}big")
        assert (page.verdict, page.requisite) == ("It ended visited with status 200.", None)
        away = told_of(next(url for url in web.elsewhere if url.endswith("cdn.png")))
        assert away.row is None
        assert away.verdict.endswith(
            "A page of its own host that needs it would bring it as a requisite, unless an exclude pattern, a trap or "
            "a block rule refuses it."
        )
        assert ("requisite", 3) in away.refusals


def test_without_them_nothing_but_pages_is_asked_for(places: Places) -> None:
    with TestWeb() as server:
        web = needing_web(server.port)
        server.add(web.sites)
        place = places()
        crawl = start(place, web)
        run_here(place, crawl.id)
        asked = {f"http://{hit.host}:{server.port}{hit.path}" for hit in server.hits()} - {f"{web.seed}robots.txt"}
        assert asked == set(web.pages)
        assert told(place, crawl) == {}
        assert [name for name in place.store().catalog.tallies(crawl.id) if name.startswith("requisite")] == []


def test_of_the_same_host_only_those_are_had_and_the_others_counted_as_refused(places: Places) -> None:
    with TestWeb() as server:
        web = needing_web(server.port)
        server.add(web.sites)
        place = places()
        crawl = start(place, web, scope__requisites="same_host")
        run_here(place, crawl.id)
        found = told(place, crawl)
        away = f"{web.seed}moved-away.png"
        assert found.pop(away) == Needed(UrlState.REDIRECTED, web.seed, Reason.REDIRECT_OUT_OF_SCOPE)
        assert found == {url: needed for url, needed in web.near.items() if url != away}
        (elsewhere,) = {hit.host for hit in server.hits()} - {web.seed.split("/")[2].partition(":")[0]} or {""}
        assert elsewhere == ""
        refused = [n for _, reason, n in place.store().catalog.refusals(crawl.id) if reason == Refusal.REQUISITE]
        assert refused == [3]  # the image, the stylesheet, and where /moved-away.png leads to
        assert_agreeing(place, crawl)


def test_max_pages_ends_pages_and_not_what_they_need(places: Places) -> None:
    with TestWeb() as server:
        web = needing_web(server.port)
        server.add(web.sites)
        place = places()
        crawl = start(place, web, scope__requisites="all", limits__max_pages=1)
        ended = run_here(place, crawl.id)
        assert (ended.state, ended.reason, ended.limited_by) == (CrawlState.COMPLETED, "limit_pages", "max_pages")
        states = Counter(place.states(crawl.id).values())
        assert states == {"visited": 1, "excluded": 3}
        of_seed = {url: n for url, n in web.requisites.items() if n.depth == 0}
        assert told(place, crawl) == of_seed
        assert_agreeing(place, crawl)
        crawls.go_on(place.store().catalog, crawl.id, {"max_pages": 9})
        run_here(place, crawl.id)
        assert place.states(crawl.id) == {url: str(state) for url, state in web.pages.items()}
        assert told(place, crawl) == web.requisites
        assert_agreeing(place, crawl)


@pytest.mark.parametrize("limit", ["limits__max_urls", "limits__max_bytes"])
def test_the_other_limits_hold_for_requisites_too(places: Places, limit: str) -> None:
    with TestWeb() as server:
        web = needing_web(server.port)
        server.add(web.sites)
        place = places()
        # Slow enough for upkeep, which looks at the bytes and takes turns with the worker.
        given = {limit: 10 if limit.endswith("urls") else 1000, "polite__floor_ms": 20}
        crawl = start(place, web, scope__requisites="all", **given)
        ended = run_here(place, crawl.id)
        found = told(place, crawl)
        assert ended.limited_by == limit.removeprefix("limits__")
        if limit.endswith("urls"):
            assert len(found) + len(place.states(crawl.id)) == 10
        else:
            assert Reason.LIMIT_BYTES in {needed.reason for needed in found.values()}
        assert_agreeing(place, crawl)


def test_a_link_to_what_was_embedded_before_is_a_page_all_the_same(places: Places) -> None:
    """With include_documents the image is a page, too: one row for each, none is lost."""
    with TestWeb() as server:
        web = needing_web(server.port)
        server.add(web.sites)
        place = places()
        seed = f"{web.seed}second"
        overrides = web.settings | {"scope.requisites": "all", "scope.include_documents": True}
        pages = {"/second": picture("/image.png", "/next"), "/next": picture("", "/image.png")}
        server.add({DEFAULT_HOST: {**web.sites[DEFAULT_HOST], **pages}})
        crawl = crawls.start(place.store().catalog, [seed], crawl_settings("default", overrides))[0]
        run_here(place, crawl.id)
        assert place.states(crawl.id) == dict.fromkeys((seed, f"{web.seed}next", f"{web.seed}image.png"), "visited")
        assert set(told(place, crawl)) == {f"{web.seed}image.png"}
        assert_agreeing(place, crawl)
        store = place.store()
        rulings, over = store.rulebook.rulings(), store.catalog.crawl(crawl.id)
        both = explain(store.catalog, rulings, over, f"{web.seed}image.png", "Nephila/1.0")
        assert both.row is not None and both.requisite is not None
        assert (both.row.kind, both.requisite.kind) == (Kind.PAGE, Kind.REQUISITE)
        assert both.verdict.endswith(f"A page embeds it, too: as a requisite (id {both.requisite.id}) it is visited.")


def picture(image: str, link: str) -> Page:
    shown = f'<img src="{image}">' if image else ""
    return Page(f'<!doctype html><title>x</title>{shown}<a href="{link}">x</a>'.encode())


def test_a_kill_in_the_middle_ends_in_the_same_rows(places: Places) -> None:
    with TestWeb() as server:
        web = needing_web(server.port)
        server.add(web.sites)
        place = places(workers=1)
        crawl = start(place, web, scope__requisites="all")
        with Cluster(place) as cluster:
            for answers in (5, 12, 9, 1):
                kill_one(cluster, server, random.Random(answers), answers)
            server.go_on()
            cluster.run_crawl(crawl.id)
        assert place.states(crawl.id) == {url: str(state) for url, state in web.pages.items()}
        assert told(place, crawl) == web.requisites
        assert_agreeing(place, crawl)
