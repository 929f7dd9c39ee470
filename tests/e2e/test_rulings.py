"""What operators decide while a crawl runs: block rules, host rules and the floor hold from the next request on."""

from collections.abc import Callable

import pytest

from nephila.frontier.operators import BlockKind
from nephila.frontier.rulebook import Rulebook
from nephila.models import UrlState
from tests.e2e.harness import Place, Places, close, run_here
from tests.patience import until
from tests.site.fixtures import html
from tests.site.politeness import violations
from tests.site.server import Handler, Page, Request, Sites, TestWeb

ONE, TWO = "127.0.0.1", "127.0.0.2"
PAGES = 30
HOUR_MS = 3_600_000


def ruling(place: Place, decide: Callable[[Rulebook], object], answer: Page) -> Handler:
    """A page whose request makes an operator act; it is answered when the worker has seen what was decided."""

    def handle(_: Request) -> Page:
        store = place.open_store()
        try:
            decide(store.rulebook)
            (crawl,) = store.catalog.crawls()
            version = store.catalog.change_settings(crawl.id, crawl.settings)  # later than what was decided
            until(lambda: store.catalog.acknowledged(version))
        finally:
            close(store.catalog)
        return answer

    return handle


def star(pages: int = PAGES) -> dict[str, Page | Handler]:
    return {"/": html(*(f"/{n}" for n in range(pages))), **{f"/{n}": html() for n in range(pages)}}


@pytest.mark.requirement("AD-04")
@pytest.mark.parametrize(("kind", "value"), [(BlockKind.DOMAIN, ONE), (BlockKind.PATTERN, "*//127.0.0.1:*")])
def test_a_block_ends_what_is_queued_already(places: Places, kind: BlockKind, value: str) -> None:
    place = places()
    site = star()
    site["/3"] = ruling(place, lambda book: book.add_blocks(kind, [value], "spam", "me"), html())
    with TestWeb({ONE: site}) as web:
        crawl = place.start([web.url("/")], {"polite.max_inflight": 1, "polite.floor_ms": 40})
        run_here(place, crawl.id)
        states = [(row.state, row.reason) for row in place.rows(crawl.id)]
        asked = len([hit for hit in web.hits() if hit.path != "/robots.txt"])
    assert states.count((UrlState.EXCLUDED, "rule")) == PAGES + 1 - asked
    assert asked < PAGES, "it took effect while the crawl ran"
    assert place.store().catalog.check() == []


def test_a_blocked_domain_is_not_admitted(places: Places) -> None:
    place = places()
    place.store().rulebook.add_blocks(BlockKind.DOMAIN, [TWO], "illegal content", "me")
    with TestWeb() as web:
        web.add({ONE: {"/": html(web.url("/x", TWO), "/y"), "/y": html()}, TWO: {"/x": html()}})
        crawl = place.start([web.url("/")], {"scope.mode": "any"})
        run_here(place, crawl.id)
        assert {hit.host for hit in web.hits()} == {ONE}
    assert {row.host for row in place.rows(crawl.id)} == {ONE}
    assert place.store().catalog.refusals(crawl.id) == [(TWO, "rule", 1)]


@pytest.mark.requirement("AD-05", "K06")
@pytest.mark.parametrize(
    "decide",
    [
        lambda book: book.set_host(ONE, 120, None, "they asked for it", "me"),
        lambda book: book.set_floor(120),
    ],
    ids=["delay of the host", "floor of all"],
)
def test_an_operators_delay_is_kept(places: Places, decide: Callable[[Rulebook], object]) -> None:
    place = places()
    decide(place.store().rulebook)
    with TestWeb({ONE: star(6)}) as web:
        crawl = place.start([web.url("/")], {"polite.max_inflight": 1})
        run_here(place, crawl.id)
        assert violations(web.hits(), 120) == []


@pytest.mark.requirement("AD-09")
def test_a_blocked_host_rests_and_goes_on_when_the_block_is_taken_back(places: Places) -> None:
    place = places()
    chain: dict[str, Page | Handler] = {f"/{n}": html(f"/{n + 1}") for n in range(12)}
    chain["/12"] = html()
    chain["/1"] = ruling(place, lambda book: book.set_host(ONE, None, HOUR_MS, "it fell over", "me"), html("/2"))
    chain["/11"] = ruling(place, lambda book: book.clear_host(ONE), html("/12"))
    sites: Sites = {ONE: star(20), TWO: chain}
    with TestWeb(sites) as web:
        crawl = place.start([web.url("/"), web.url("/0", TWO)], {"polite.max_inflight": 1, "polite.floor_ms": 100})
        run_here(place, crawl.id)
        hits = [(hit.host, hit.path) for hit in web.hits()]
    blocked, freed = hits.index((TWO, "/2")), hits.index((TWO, "/11"))
    assert [path for host, path in hits[blocked:freed] if host == ONE] == [], "after it was said"
    assert all(row.state is UrlState.VISITED for row in place.rows(crawl.id))
