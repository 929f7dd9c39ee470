"""Crawls of sites that list their pages in sitemaps: every format, whose word counts, hostile files, and kills."""

import random
from collections import Counter
from typing import Any

import pytest

from nephila.control import crawls
from nephila.control.verify import verify
from nephila.frontier.records import UrlFilter, UrlRow
from nephila.frontier.store import Crawl
from nephila.models import CrawlState, Kind, Refusal
from nephila.profiles import crawl_settings
from tests.e2e.harness import Cluster, Place, Places, run_here
from tests.e2e.test_kills import kill_one
from tests.site.server import DEFAULT_HOST, Page, TestWeb
from tests.site.sitemaps import OTHER_HOST, ListedWeb, hostile_sitemaps, index, listed_web, plain, urlset


def start(place: Place, seeds: list[str], settings: dict[str, Any], **overrides: Any) -> Crawl:
    named = {name.replace("__", "."): value for name, value in overrides.items()}
    return crawls.start(place.store().catalog, seeds, crawl_settings("default", settings | named))[0]


def sitemaps_of(place: Place, crawl: Crawl) -> list[UrlRow]:
    return place.store().catalog.urls(crawl.id, 0, 10_000, UrlFilter(kind=Kind.SITEMAP))


def assert_agreeing(place: Place) -> None:
    catalog = place.store().catalog
    assert catalog.check() == []
    report = verify(catalog, place.store().archive, lambda what: None)
    assert report.ok, report.problems


def assert_crawled(place: Place, crawl: Crawl, web: ListedWeb) -> None:
    assert {row.url: str(row.state) for row in sitemaps_of(place, crawl)} == web.sitemaps
    assert place.states(crawl.id) == dict.fromkeys(web.listed | web.linked, "visited")
    assert_agreeing(place)


def test_a_site_whose_pages_hang_on_sitemaps_is_crawled_completely(places: Places) -> None:
    with TestWeb() as server:
        web = listed_web(server.port)
        server.add(web.sites)
        place = places()
        crawl = start(place, [web.seed], web.settings)
        ended = run_here(place, crawl.id)
        assert (ended.state, ended.reason) == (CrawlState.COMPLETED, "")
        assert_crawled(place, crawl, web)
        asked = Counter(hit.path for hit in server.hits())
        assert set(asked.values()) == {1}
        assert {hit.host for hit in server.hits()} == {DEFAULT_HOST}
        archived = {row.url for row in sitemaps_of(place, crawl) if row.archive_file}
        assert archived == set(web.sitemaps)
        tallies = place.store().catalog.tallies(crawl.id)
        assert tallies["sitemap:urls"] == len(web.sitemaps) and tallies["sitemap:not_found"] == 1
        assert "not_found" not in tallies and tallies["urls"] == len(web.listed | web.linked)
        refused = [reason for _, reason, n in place.store().catalog.refusals(crawl.id) for _ in range(n)]
        assert refused == [Refusal.SCOPE] * 3  # the other host's page and sitemap, and elsewhere.test


def test_a_kill_in_the_middle_ends_in_the_same_rows(places: Places) -> None:
    with TestWeb() as server:
        web = listed_web(server.port)
        server.add(web.sites)
        place = places(workers=1)
        crawl = start(place, [web.seed], web.settings)
        with Cluster(place) as cluster:
            for answers in (2, 3, 4, 3, 30):
                kill_one(cluster, server, random.Random(answers), answers)
            server.go_on()
            cluster.run_crawl(crawl.id)
        assert_crawled(place, crawl, web)


def test_off_asks_for_no_sitemap_and_only_follows_no_link(places: Places) -> None:
    with TestWeb() as server:
        web = listed_web(server.port)
        server.add(web.sites)
        place = places()
        off = start(place, [web.seed], web.settings, sitemaps__mode="off")
        run_here(place, off.id)
        assert set(place.states(off.id)) == web.linked | {f"{web.seed}both"}
        assert sitemaps_of(place, off) == []
        only = start(place, [web.seed], web.settings, sitemaps__mode="only")
        run_here(place, only.id)
        assert set(place.states(only.id)) == web.listed | {web.seed}
        refused = {reason: n for host, reason, n in place.store().catalog.refusals(only.id)}
        assert refused[Refusal.SITEMAPS_ONLY] >= 1
        assert_agreeing(place)


def test_a_sitemap_may_be_what_a_crawl_starts_with(places: Places) -> None:
    with TestWeb() as server:
        web = listed_web(server.port)
        server.add(web.sites)
        place = places()
        given = f"{web.seed}plain.xml"
        settings = web.settings | {"scope.mode": "list", "scope.hosts": [DEFAULT_HOST, OTHER_HOST]}
        server.add({OTHER_HOST: {"/not-mine": plain("listed by another host")}})
        crawl = start(place, [], settings, sitemaps__urls=[given], sitemaps__mode="off")
        assert crawl.seeds == (given,)
        run_here(place, crawl.id)
        assert {row.url: row.raw_url for row in sitemaps_of(place, crawl)} == {given: "*"}
        other = f"http://{OTHER_HOST}:{server.port}/not-mine"
        assert set(place.states(crawl.id)) == {
            web.seed,
            f"{web.seed}of-xml",
            f"{web.seed}linked",
            f"{web.seed}both",
            other,
        }


def test_whoever_names_no_sitemap_is_asked_for_one_at_its_usual_place(places: Places) -> None:
    with TestWeb() as server:
        seed = f"http://{DEFAULT_HOST}:{server.port}/"
        settings = listed_web(server.port).settings
        place = places()
        server.add({DEFAULT_HOST: {"/": plain("home")}})
        crawl = start(place, [seed], settings)
        run_here(place, crawl.id)
        assert [(row.url, str(row.state)) for row in sitemaps_of(place, crawl)] == [(f"{seed}sitemap.xml", "not_found")]
        assert place.store().catalog.errors(10, crawl.id) == []
        # The second crawl begins with a robots.txt that is known: it looks all the same.
        server.add({DEFAULT_HOST: {"/": plain("home"), "/sitemap.xml": urlset([f"{seed}a"]), "/a": plain("a")}})
        again = start(place, [seed], settings, scope__max_depth=3)
        run_here(place, again.id)
        assert set(place.states(again.id)) == {seed, f"{seed}a"}


def test_a_sitemap_speaks_for_another_host_only_if_that_host_names_it(places: Places) -> None:
    with TestWeb() as server:
        ours, theirs = f"http://{DEFAULT_HOST}:{server.port}", f"http://{OTHER_HOST}:{server.port}"
        listing = urlset([f"{ours}/a", f"{theirs}/b"])
        server.add(
            {
                DEFAULT_HOST: {
                    "/robots.txt": Page(f"Sitemap: {theirs}/for-both.xml\n".encode(), content_type="text/plain"),
                    "/": plain("home"),
                    "/a": plain("a"),
                },
                OTHER_HOST: {
                    "/robots.txt": Page(b"Sitemap: /own.xml\n", content_type="text/plain"),
                    "/": plain("other"),
                    "/b": plain("b"),
                    "/for-both.xml": listing,
                    "/own.xml": urlset([f"{theirs}/b", f"{ours}/not-named"]),
                },
            }
        )
        place = places()
        crawl = start(place, [f"{ours}/", f"{theirs}/"], listed_web(server.port).settings)
        run_here(place, crawl.id)
        assert set(place.states(crawl.id)) == {f"{ours}/", f"{ours}/a", f"{theirs}/", f"{theirs}/b"}
        refused = {(host, reason): n for host, reason, n in place.store().catalog.refusals(crawl.id)}
        assert refused == {(DEFAULT_HOST, Refusal.FOREIGN_SITEMAP): 1}


def test_robots_txt_is_obeyed_for_sitemaps_too(places: Places) -> None:
    with TestWeb() as server:
        seed = f"http://{DEFAULT_HOST}:{server.port}/"
        rules = b"User-agent: *\nDisallow: /hidden\nSitemap: /hidden/map.xml\n"
        server.add(
            {
                DEFAULT_HOST: {
                    "/robots.txt": Page(rules, content_type="text/plain"),
                    "/": plain("home"),
                    "/hidden/map.xml": urlset([f"{seed}a"]),
                }
            }
        )
        place = places()
        crawl = start(place, [seed], listed_web(server.port).settings)
        run_here(place, crawl.id)
        assert [(str(row.state), row.reason) for row in sitemaps_of(place, crawl)] == [("excluded", "robots")]
        assert "/hidden/map.xml" not in {hit.path for hit in server.hits()}


@pytest.mark.parametrize("limit", ["max_pages", "max_urls"])
def test_limits_end_what_sitemaps_list(places: Places, limit: str) -> None:
    with TestWeb() as server:
        web = listed_web(server.port)
        server.add(web.sites)
        place = places()
        crawl = start(place, [web.seed], web.settings, **{f"limits__{limit}": 30})
        ended = run_here(place, crawl.id)
        assert ended.limited_by == limit
        if limit == "max_urls":
            assert len(place.states(crawl.id)) + len(sitemaps_of(place, crawl)) == 30
        else:
            assert Counter(place.states(crawl.id).values())["visited"] == 30
        assert_agreeing(place)


def test_hostile_sitemaps_end_with_a_name(places: Places) -> None:
    with TestWeb() as server:
        base = f"http://{DEFAULT_HOST}:{server.port}"
        evil = hostile_sitemaps(base)
        named = [f"{base}{path}" for path in evil if path not in ("/2/index.xml", "/3/index.xml", "/4/index.xml")]
        site: dict[str, Any] = {path: page for path, (page, _) in evil.items()}
        site["/map.xml"] = index(named)
        site["/robots.txt"] = Page(
            b"".join(b"Sitemap: %s\n" % url.encode() for url in named), content_type="text/plain"
        )
        site |= {"/": plain("home"), "/kept": plain("kept"), "/lured": plain("never linked")}
        server.add({DEFAULT_HOST: site})
        place = places()
        crawl = start(place, [f"{base}/"], listed_web(server.port).settings)
        assert run_here(place, crawl.id).state is CrawlState.COMPLETED
        catalog = place.store().catalog
        problems = {}
        for row in sitemaps_of(place, crawl):
            told: Any = catalog.page_facts(row.id)["sitemap"]
            problems[row.url.removeprefix(base)] = told.get("problem", "").partition(":")[0]
            assert str(row.state) == "visited"
        assert problems == {path: problem for path, (_, problem) in evil.items()}
        reasons = Counter(row.reason for row in sitemaps_of(place, crawl))
        assert (reasons["unsafe_sitemap"], reasons["not_sitemap"]) == (2, 3)
        assert set(place.states(crawl.id)) == {f"{base}/", f"{base}/kept"}
        assert_agreeing(place)
