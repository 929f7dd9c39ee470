"""Lists of hosts: by name and by what is known of them, page by page, with how many there are."""

from collections.abc import Callable

import pytest

import nephila.frontier.host_lists
from nephila.errors import UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import CrawlHostSort, HostSort
from nephila.frontier.store import Crawl, HostClock
from nephila.policy.politeness import Pace
from tests.contract.backend import Backend
from tests.contract.session import Session, seeded

LIMITS = (1, 2, 10)
# Host: open URLs, requests, delay, errors in a row, latency.
KNOWN = {"a.test": (1, 7, 500, 0, 20.0), "b.test": (3, 2, 900, 4, None), "c.test": (2, 7, 100, 1, 5.5)}
UNKNOWN = "d.test"  # nothing was asked of it yet


@pytest.fixture
def crawl(backend: Backend, catalog: Catalog) -> Crawl:
    urls = [f"http://{host}/{n}" for host, (count, *_) in KNOWN.items() for n in range(count)]
    made = seeded(catalog, *urls, f"http://{UNKNOWN}/")
    seeded(catalog, "http://other.test/", mark="other")
    session = Session(backend)
    session.load()
    clocks = [
        HostClock(host, 1000, delay, Pace(errors=errors, latency_ms=latency), "", requests)
        for host, (_, requests, delay, errors, latency) in KNOWN.items()
    ]
    session.flush(clocks=clocks)
    return made


def by_pages(page_behind: Callable[[str, int], tuple[list[str], str | None]], limit: int) -> str:
    """The first letters of all hosts, page by page."""
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        names, after = page_behind(after, limit)
        assert 0 < len(names) <= limit, "no page is empty"
        found += names
    return "".join(name[0] for name in found)


IN_CRAWL = {
    CrawlHostSort.HOST: "abcd",
    CrawlHostSort.OPEN: "adcb",
    CrawlHostSort.DELAY_MS: "dcab",
    CrawlHostSort.ERRORS: "adcb",
}


@pytest.mark.parametrize("sort", IN_CRAWL)
@pytest.mark.parametrize("limit", LIMITS)
def test_the_hosts_of_a_crawl_are_sorted_by_what_is_known_of_them(
    catalog: Catalog, crawl: Crawl, sort: CrawlHostSort, limit: int
) -> None:
    for descending in (False, True):

        def page(after: str, limit: int, descending: bool = descending) -> tuple[list[str], str | None]:
            found = catalog.crawl_hosts(crawl.id, after, limit, "", sort, descending=descending)
            return [view.queue.host for view in found.hosts], found.next

        assert by_pages(page, limit) == IN_CRAWL[sort][:: -1 if descending else 1]


OF_ALL = {
    HostSort.HOST: "abc",
    HostSort.REQUESTS: "bac",
    HostSort.DELAY_MS: "cab",
    HostSort.LATENCY_MS: "bca",
    HostSort.ERRORS: "acb",
}


@pytest.mark.parametrize("sort", OF_ALL)
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.usefixtures("crawl")
def test_the_hosts_of_all_crawls_are_sorted_by_what_is_known_of_them(
    catalog: Catalog, sort: HostSort, limit: int
) -> None:
    for descending in (False, True):

        def page(after: str, limit: int, descending: bool = descending) -> tuple[list[str], str | None]:
            found = catalog.all_hosts(after, limit, "", sort, descending=descending)
            return [host.clock.host for host in found.hosts], found.next

        assert by_pages(page, limit) == OF_ALL[sort][:: -1 if descending else 1]


@pytest.mark.parametrize("sort", [*CrawlHostSort, *HostSort])
def test_every_order_lists_every_host_once(catalog: Catalog, crawl: Crawl, sort: CrawlHostSort | HostSort) -> None:
    for descending in (False, True):
        if isinstance(sort, CrawlHostSort):
            views = catalog.crawl_hosts(crawl.id, "", 10, "", sort, descending=descending)
            assert sorted(view.queue.host for view in views.hosts) == [*KNOWN, UNKNOWN]
        else:
            hosts = catalog.all_hosts("", 10, "", sort, descending=descending)
            assert sorted(host.clock.host for host in hosts.hosts) == [*KNOWN]


@pytest.mark.parametrize("scan", [1, 2, 100])
def test_a_text_is_looked_for_in_all_hosts_and_counted(
    catalog: Catalog, crawl: Crawl, scan: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nephila.frontier.host_lists, "SCAN_ROWS_MAX", scan)
    for text, letters in {"": "abcd", "test": "abcd", "b.": "b", "d.t": "d", "%": "", "nowhere": ""}.items():
        after: str | None = ""
        found: list[str] = []
        while after is not None:
            page = catalog.crawl_hosts(crawl.id, after, 2, text)
            found += [view.queue.host[0] for view in page.hosts]
            assert page.next is None or page.next > after, "it goes on"
            after = page.next
        assert "".join(found) == letters
        assert catalog.count_crawl_hosts(crawl.id, text) == len(letters)
        known = [letter for letter in letters if letter != UNKNOWN[0]]
        assert catalog.count_hosts(text) == len(known)
        sorted_page = catalog.crawl_hosts(crawl.id, "", 9, text, CrawlHostSort.DELAY_MS)
        assert sorted(view.queue.host[0] for view in sorted_page.hosts) == [*letters]


def test_too_many_hosts_are_listed_by_name_only(
    catalog: Catalog, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert catalog.unsortable_crawl_hosts(crawl.id) == ""
    monkeypatch.setattr(nephila.frontier.host_lists, "HOSTS_SORTED_MAX", 2)
    assert "more than 2 hosts" in catalog.unsortable_crawl_hosts(crawl.id)
    assert catalog.count_hosts() is None and catalog.count_crawl_hosts(crawl.id, "a") is None
    assert catalog.count_crawl_hosts(crawl.id) == 4, "a tally, whatever their number"
    with pytest.raises(UsageError, match="list them by name"):
        catalog.crawl_hosts(crawl.id, "", 10, "", CrawlHostSort.ERRORS)
    with pytest.raises(UsageError, match="list them by name"):
        catalog.all_hosts("", 10, "", HostSort.REQUESTS)
    assert len(catalog.crawl_hosts(crawl.id, "", 10).hosts) == 4


def test_too_many_open_urls_are_not_counted_to_sort_their_hosts(
    catalog: Catalog, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nephila.frontier.host_lists, "SORTED_URLS_MAX", 6)
    with pytest.raises(UsageError, match="open URLs"):
        catalog.crawl_hosts(crawl.id, "", 10, "", CrawlHostSort.OPEN)
    assert len(catalog.crawl_hosts(crawl.id, "", 10, "", CrawlHostSort.FETCHED).hosts) == 4
