"""Where sitemaps are looked for, and the visit of one as a value: what it delivers, its redirects, its problems."""

from typing import Any

import pytest

from nephila.extract.listed import Listed, packed_entries
from nephila.extract.reader import PageReading, ParseFailure, SitemapReading
from nephila.extract.sitemap import SITEMAP_BYTES_MAX
from nephila.fetch.fetcher import FetchRequest
from nephila.frontier.store import Row
from nephila.models import Child, Kind, Reason, Refusal, UrlState
from nephila.policy.robots_gate import RobotsGate
from nephila.robots.access import RobotsAccess
from nephila.urls.admission import Found
from nephila.urls.blocks import Blocks
from nephila.urls.identity import sitemap_key, url_key
from nephila.worker.crawls import LiveCrawl
from nephila.worker.sitemap_visit import looked_for, visit_sitemap
from nephila.worker.visit import Deliver, Read, Visit
from tests.unit.worker.test_scheduler import live_crawl
from tests.unit.worker.test_visit import answered, driven, failed, held, kept, steps_of

URL = "https://a.test/sitemap.xml"
MAP = Row(9, URL, 0, Kind.SITEMAP, 0, 0, 0, None)
ORIGIN = "https://a.test"


def gate(text: str) -> RobotsGate:
    return RobotsGate.of(ORIGIN, RobotsAccess.RULES, 200, text.encode(), 0, 1e9)


def told(*chunks: list[str], format: str = "urlset", problem: str = "", detail: str = "") -> PageReading:
    packed = [packed_entries([_listed(url) for url in chunk]) for chunk in chunks]
    urls = sum(map(len, chunks))
    return PageReading(sitemap=SitemapReading(format, urls, urls, problem, detail, packed))


def _listed(url: str) -> Listed:
    return Listed(Found(url, "a.test", url_key(url), url), 1000, 0.5, None)


def urls_of(children: list[Child]) -> list[str]:
    return [child.url for child in children]


def visited(crawl: LiveCrawl, reading: Any, row: Row = MAP, blocks: Blocks = Blocks()) -> tuple[Visit, list[Any]]:
    """The visit, which is told that each chunk is committed."""
    chunks = len(reading.sitemap.chunks) if isinstance(reading, PageReading) and reading.sitemap else 1
    answers = [answered(url=row.url), reading, *[None] * (chunks - 1)]
    return steps_of(visit_sitemap(held(crawl), crawl, row), answers, blocks)


@pytest.mark.parametrize(
    ("robots", "seed", "found"),
    [
        (
            "Sitemap: /a.xml\nSitemap: https://a.test/b.xml\n",
            False,
            [(f"{ORIGIN}/a.xml", "a.test"), (f"{ORIGIN}/b.xml", "a.test")],
        ),
        ("Sitemap: /a.xml\n", True, [(f"{ORIGIN}/a.xml", "a.test")]),
        ("User-agent: *\n", True, [(f"{ORIGIN}/sitemap.xml", None)]),
        ("User-agent: *\n", False, []),
    ],
)
def test_robots_txt_names_them_and_seeds_have_a_usual_place(robots: str, seed: bool, found: list[Any]) -> None:
    visit = looked_for(live_crawl(), ORIGIN, gate(robots), seed=seed)
    assert [(child.url, child.raw) for child in visit.children] == found
    assert {(child.kind, child.parent, child.is_link) for child in visit.children} <= {(Kind.SITEMAP, None, False)}


def test_without_a_robots_txt_a_seed_has_its_usual_place() -> None:
    assert urls_of(looked_for(live_crawl(), ORIGIN, None, seed=True).children) == [f"{ORIGIN}/sitemap.xml"]


def test_sitemaps_out_of_scope_are_refused() -> None:
    visit = looked_for(live_crawl(), ORIGIN, gate("Sitemap: https://cdn.test/a.xml\n"), seed=True)
    assert visit.children == []
    assert list(visit.refusals) == [("cdn.test", Refusal.SCOPE, "")]


def test_an_origin_is_looked_at_once() -> None:
    crawl = live_crawl()
    assert [crawl.looks_at(ORIGIN), crawl.looks_at(ORIGIN), crawl.looks_at("https://b.test")] == [True, False, True]


def test_chunks_are_delivered_and_the_row_ends_with_the_last() -> None:
    visit, steps = visited(live_crawl(), told([f"{ORIGIN}/1", f"{ORIGIN}/2"], [f"{ORIGIN}/3"], [f"{ORIGIN}/4"]))
    asked, read, first, second = steps
    assert isinstance(asked, FetchRequest) and asked.body_bytes_max == SITEMAP_BYTES_MAX
    assert isinstance(read, Read) and (read.request.read_as, read.request.speaks_for) == ("sitemap", "a.test")
    assert isinstance(first, Deliver) and isinstance(second, Deliver)
    assert [urls_of(chunk.children) for chunk in (first, second)] == [[f"{ORIGIN}/1", f"{ORIGIN}/2"], [f"{ORIGIN}/3"]]
    assert visit.ending is not None
    outcome = visit.ending.outcome
    assert urls_of(outcome.children) == [f"{ORIGIN}/4"]
    assert [(entry.sitemap, entry.lastmod, entry.priority) for entry in visit.entries] == [(9, 1000, 0.5)]
    assert {(child.kind, child.depth, child.parent) for child in outcome.children} == {(Kind.PAGE, 1, 9)}
    assert (outcome.kind, outcome.counts) == (Kind.SITEMAP, False)
    assert outcome.page is not None
    assert outcome.page.facts["sitemap"] == {"format": "urlset", "entries": 4, "admitted": 4}


def test_what_is_listed_beside_urls_is_counted() -> None:
    reading = told([f"{ORIGIN}/1"])
    assert reading.sitemap is not None
    reading.sitemap.noted = {"images": 3}
    visit, _ = visited(live_crawl(), reading)
    assert visit.ending is not None and visit.ending.outcome.page is not None
    assert visit.ending.outcome.page.facts["sitemap"] == {"format": "urlset", "entries": 1, "admitted": 1, "images": 3}


def test_what_an_index_lists_speaks_for_the_same_and_lies_deeper() -> None:
    index = MAP._replace(raw="b.test", depth=1)
    visit, _ = visited(live_crawl(), told([f"{ORIGIN}/1.xml"], format="index"), index)
    assert visit.ending is not None
    (nested,) = visit.ending.outcome.children
    assert (nested.kind, nested.depth, nested.raw, nested.parent) == (Kind.SITEMAP, 2, "b.test", 9)


def test_indexes_lie_in_each_other_three_deep() -> None:
    visit, _ = visited(live_crawl(), told([f"{ORIGIN}/1.xml"], format="index"), MAP._replace(depth=3))
    assert visit.ending is not None
    page = visit.ending.outcome.page
    assert visit.ending.outcome.children == [] and page is not None and (page.error or "").startswith("nested: ")


@pytest.mark.parametrize(
    ("problem", "reason"),
    [("unsafe", Reason.UNSAFE_SITEMAP), ("not_sitemap", Reason.NOT_SITEMAP), ("broken", ""), ("too_many", "")],
)
def test_problems_have_a_name(problem: str, reason: str) -> None:
    visit, _ = visited(live_crawl(), told(problem=problem, detail="why"))
    assert kept(visit) == (UrlState.VISITED, reason)
    assert visit.ending is not None and visit.ending.outcome.page is not None
    assert visit.ending.outcome.page.error == f"{problem}: why"


def test_block_rules_hold_for_what_is_listed() -> None:
    blocks = Blocks(patterns=[("*/1", "no")])
    visit, _ = visited(live_crawl(), told([f"{ORIGIN}/1", f"{ORIGIN}/2"]), blocks=blocks)
    assert visit.ending is not None
    assert urls_of(visit.ending.outcome.children) == [f"{ORIGIN}/2"]
    assert len(visit.entries) == 1
    assert [kind[1] for kind in visit.refusals] == [Refusal.RULE]


def test_it_is_tried_again_and_ends_as_pages_do() -> None:
    crawl = live_crawl()
    assert kept(driven(visit_sitemap(held(crawl), crawl, MAP), failed(Reason.TIMEOUT))) == ("retry", Reason.TIMEOUT)
    assert kept(driven(visit_sitemap(held(crawl), crawl, MAP), answered(404)))[0] == UrlState.NOT_FOUND
    crashed = driven(visit_sitemap(held(crawl), crawl, MAP), answered(), ParseFailure("died"))
    assert kept(crashed) == ("retry", Reason.POISON)


def test_a_redirect_leads_to_a_sitemap_that_speaks_for_whoever_redirects() -> None:
    crawl = live_crawl(scope__mode="list", scope__hosts=["a.test", "b.test"])
    target = "https://b.test/map.xml"
    visit = driven(visit_sitemap(held(crawl), crawl, MAP), answered(301, location=target))
    assert kept(visit) == (UrlState.REDIRECTED, "")
    assert visit.ending is not None and visit.joined == ""
    (child,) = visit.ending.outcome.children
    assert (child.kind, child.raw, child.key) == (Kind.SITEMAP, "a.test", sitemap_key(target, "a.test"))
