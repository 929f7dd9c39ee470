"""The visit of a requisite as a value: what is read of it, what it needs in turn, and where its redirects lead."""

from typing import Any

import pytest

from nephila.extract.reader import PageReading, ParseFailure
from nephila.fetch.fetcher import FetchRequest
from nephila.frontier.store import Row
from nephila.models import Kind, Reason, Refusal, UrlState
from nephila.urls.admission import Found
from nephila.urls.blocks import Blocks
from nephila.urls.identity import requisite_key, url_key
from nephila.worker.requisite_visit import visit_requisite
from nephila.worker.visit import Read, visit_page
from tests.unit.worker.test_scheduler import live_crawl
from tests.unit.worker.test_visit import ROW, answered, driven, failed, held, kept, steps_of

URL = "https://a.test/look/site.css"
STYLE = Row(8, URL, 2, Kind.REQUISITE, 0, 0, 0, "site.css")


def found(url: str) -> Found:
    return Found(url, "a.test", requisite_key(url), url)


IMAGE, OTHER = found("https://a.test/x.png"), found("https://a.test/y.png")


@pytest.mark.parametrize(
    ("headers", "url", "read_as"),
    [
        ({"content_type": "text/css"}, URL, "stylesheet"),
        ({"content_type": "TEXT/CSS; charset=utf-8"}, "https://a.test/x", "stylesheet"),
        ({}, URL, "stylesheet"),
        ({}, "https://a.test/x", "bytes"),
        ({"content_type": "text/plain"}, URL, "bytes"),  # as a browser: it obeys the type
        ({"content_type": "image/png"}, "https://a.test/x.png", "bytes"),
        ({"content_type": "text/html"}, "https://a.test/x.png", "bytes"),
    ],
)
def test_only_stylesheets_are_read(headers: dict[str, str], url: str, read_as: str) -> None:
    crawl = live_crawl(scope__requisites="all")
    row = STYLE._replace(url=url)
    visit, asked = steps_of(visit_requisite(held(crawl), crawl, row), [answered(url=url, **headers), PageReading()])
    assert isinstance(asked[0], FetchRequest) and isinstance(asked[1], Read)
    assert asked[1].request.read_as == read_as
    assert kept(visit) == (UrlState.VISITED, "")
    assert visit.ending is not None
    outcome = visit.ending.outcome
    assert (outcome.kind, outcome.counts, outcome.children) == (Kind.REQUISITE, False, [])
    assert visit.ending.exchange is not None


@pytest.mark.parametrize(("visits", "row"), [(visit_page, ROW), (visit_requisite, STYLE)])
def test_what_is_needed_is_a_child_of_the_depth_of_its_page(visits: Any, row: Row) -> None:
    crawl = live_crawl(scope__requisites="all")
    reading = PageReading(requisites=[IMAGE, OTHER])
    visit = driven(visits(held(crawl), crawl, row), answered(content_type="text/css"), reading)
    assert visit.ending is not None
    children = visit.ending.outcome.children
    assert [(c.url, c.kind, c.depth, c.priority, c.parent) for c in children] == [
        (IMAGE.url, Kind.REQUISITE, row.depth, -1, row.id),
        (OTHER.url, Kind.REQUISITE, row.depth, -1, row.id),
    ]
    assert not any(child.is_link for child in children)


def test_what_the_store_has_as_a_requisite_or_as_a_page_is_no_child() -> None:
    crawl = live_crawl(scope__requisites="all")
    crawl.known.update([IMAGE.key, url_key(OTHER.url)])
    visit = driven(visit_requisite(held(crawl), crawl, STYLE), answered(), PageReading(requisites=[IMAGE, OTHER]))
    assert visit.ending is not None
    assert visit.ending.outcome.children == []


def test_block_rules_hold_for_what_is_needed() -> None:
    crawl = live_crawl(scope__requisites="all")
    blocks = Blocks(patterns=[("*/x.png", "no")])
    visit = driven(
        visit_requisite(held(crawl), crawl, STYLE), answered(), PageReading(requisites=[IMAGE, OTHER]), blocks=blocks
    )
    assert visit.ending is not None
    assert [child.url for child in visit.ending.outcome.children] == [OTHER.url]
    assert [kind[1] for kind in visit.refusals] == [Refusal.RULE]


@pytest.mark.parametrize(
    ("wanted", "location", "reason", "target"),
    [
        ("all", "/elsewhere.css", "", "https://a.test/elsewhere.css"),
        ("all", "https://cdn.test/x.css", "", "https://cdn.test/x.css"),
        ("same_host", "/elsewhere.css", "", "https://a.test/elsewhere.css"),
        ("same_host", "https://cdn.test/x.css", Reason.REDIRECT_OUT_OF_SCOPE, None),
        ("all", URL, Reason.REDIRECT_LOOP, None),
        ("all", "mailto:x", Reason.REDIRECT_INVALID, None),
    ],
)
def test_a_redirect_leads_to_a_requisite_of_the_same_depth(
    wanted: str, location: str, reason: str, target: str | None
) -> None:
    crawl = live_crawl(scope__requisites=wanted)
    visit = driven(visit_requisite(held(crawl), crawl, STYLE), answered(302, location=location))
    assert kept(visit) == (UrlState.REDIRECTED, reason)
    assert visit.ending is not None
    children = visit.ending.outcome.children
    assert [(c.url, c.kind, c.depth, c.priority, c.hops) for c in children] == (
        [(target, Kind.REQUISITE, STYLE.depth, -1, 1)] if target else []
    )
    assert not visit.joined


def test_errors_are_tried_again_and_broken_ones_end_as_pages_do() -> None:
    crawl = live_crawl(scope__requisites="all")
    last = STYLE._replace(tries=crawl.retry.max)
    assert kept(driven(visit_requisite(held(crawl), crawl, STYLE), failed(Reason.TIMEOUT))) == ("retry", Reason.TIMEOUT)
    assert kept(driven(visit_requisite(held(crawl), crawl, last), answered(500))) == (
        UrlState.HTTP_ERROR,
        Reason.HTTP_5XX,
    )
    assert kept(driven(visit_requisite(held(crawl), crawl, STYLE), answered(404))) == (UrlState.NOT_FOUND, "")
    crashed = driven(
        visit_requisite(held(crawl), crawl, STYLE), answered(content_type="text/css"), ParseFailure("died")
    )
    assert kept(crashed) == ("retry", Reason.POISON)


def test_content_types_that_are_no_pages_are_requisites_all_the_same() -> None:
    crawl = live_crawl(scope__requisites="all", content__accept=("text/html",))
    visit = driven(visit_requisite(held(crawl), crawl, STYLE), answered(content_type="image/png"), PageReading())
    assert kept(visit) == (UrlState.VISITED, "")
