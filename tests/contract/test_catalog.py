"""What the command line and the API read: listings, the trail of a URL, deletion."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

import nephila.frontier.changes
import nephila.frontier.host_lists
import nephila.frontier.listings
import nephila.frontier.rows
from nephila.archive.folder import FolderArchive
from nephila.clock import SystemClock
from nephila.control.upkeep import Duty
from nephila.errors import DiskFull, UsageError
from nephila.frontier.catalog import Catalog
from nephila.frontier.records import CURRENT_MAX, KnownHost, RedirectEnd, UrlFilter, UrlPage, UrlRow, UrlSort
from nephila.frontier.store import (
    ERRORS_KEPT,
    ERRORS_PER_FLUSH,
    FORGET_EVERY_MS,
    KEYS_KEPT_MS,
    Crawl,
    ErrorNote,
    HostClock,
    Outcome,
    RefusedLink,
    Retry,
    RobotsRecord,
    Row,
    Vitals,
    Window,
)
from nephila.frontier.upkeep import Upkeep
from nephila.models import STATE_CODES, ArchivePlace, CrawlState, Kind, PageRecord, Timing, UrlState
from nephila.policy.politeness import Pace
from nephila.profiles import crawl_settings
from tests.contract.backend import Backend, PostgresBackend
from tests.contract.session import Session, all_urls, child, ended, seeded, states
from tests.patience import until
from tests.unit.archive.judges import complaints

BOUNDED = (
    nephila.frontier.rows,
    nephila.frontier.listings,
    nephila.frontier.host_lists,
    nephila.frontier.changes,
)

A, B = "http://a.test/", "http://b.test/"


def pages(catalog: Catalog, crawl: Crawl, where: UrlFilter, limit: int, *, descending: bool = False) -> list[str]:
    """All pages of a listing, each asked with the last id of the one before."""
    found: list[UrlRow] = []
    while rows := catalog.urls(crawl.id, found[-1].id if found else 0, limit, where, descending=descending):
        assert len(rows) <= limit
        found += rows
    return in_order_of_ids(found, descending)


def bounded_pages(
    catalog: Catalog, crawl: Crawl, where: UrlFilter, limit: int, *, descending: bool = False
) -> list[str]:
    """The same by the pages that may be short."""
    found: list[UrlRow] = []
    after: int | None = 0
    while after is not None:
        page = catalog.urls_page(crawl.id, after, limit, where, descending=descending)
        assert len(page.rows) <= limit
        assert page.next != after, "it goes on"
        found += page.rows
        after = page.next
    return in_order_of_ids(found, descending)


def in_order_of_ids(rows: list[UrlRow], descending: bool) -> list[str]:
    ids = [row.id for row in rows]
    assert ids == sorted(ids, reverse=descending)
    return [row.url for row in rows]


def bound(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    for module in BOUNDED:
        if hasattr(module, name):
            monkeypatch.setattr(module, name, value)


@pytest.fixture
def mixed(backend: Backend, catalog: Catalog) -> Crawl:
    """Twelve URLs of two hosts in all kinds of states, among those of another crawl."""
    other = seeded(catalog, *(f"http://a.test/{n}" for n in range(5)), mark="other")
    crawl = seeded(catalog, *(f"http://a.test/{n}" for n in range(6)), *(f"http://b.test/{n}" for n in range(6)))
    catalog.steer(other.id, CrawlState.PAUSED)
    session = Session(backend)
    session.load()
    outcomes = [ended(session.row("http://a.test/0"), crawl), ended(session.row("http://b.test/0"), crawl)]
    missing = ended(session.row("http://a.test/1"), crawl, state=UrlState.NOT_FOUND)
    assert missing.page is not None
    missing.page.status = 404
    failed = ended(session.row("http://b.test/1"), crawl, state=UrlState.FAILED, reason="timeout")
    failed.page = PageRecord(error="it took too long")
    in_flight = [(session.row(f"http://b.test/{n}").id, 5) for n in (4, 5)]
    session.flush(outcomes=[*outcomes, missing, failed], in_flight=in_flight)
    return crawl


QUEUED = [f"http://a.test/{n}" for n in range(2, 6)] + [f"http://b.test/{n}" for n in (2, 3)]


LISTINGS = [
    (UrlFilter(), [f"http://{host}.test/{n}" for host in "ab" for n in range(6)]),
    (UrlFilter(states=(UrlState.VISITED,)), ["http://a.test/0", "http://b.test/0"]),
    (UrlFilter(states=(UrlState.QUEUED,)), QUEUED),
    (UrlFilter(states=(UrlState.IN_PROGRESS,)), ["http://b.test/4", "http://b.test/5"]),
    (UrlFilter(states=(UrlState.IN_PROGRESS, UrlState.FAILED)), [f"http://b.test/{n}" for n in (1, 4, 5)]),
    (UrlFilter(states=(UrlState.QUEUED, UrlState.IN_PROGRESS)), [*QUEUED, "http://b.test/4", "http://b.test/5"]),
    (UrlFilter(host="b.test"), [f"http://b.test/{n}" for n in range(6)]),
    (UrlFilter(status=404), ["http://a.test/1"]),
    (UrlFilter(reason="timeout"), ["http://b.test/1"]),
    (UrlFilter(depth=1), []),
    (UrlFilter(text="test/3"), ["http://a.test/3", "http://b.test/3"]),
    (UrlFilter(states=(UrlState.VISITED,), host="a.test", status=200, depth=0, text="0"), ["http://a.test/0"]),
    (UrlFilter(states=(UrlState.FAILED, UrlState.NOT_FOUND)), ["http://a.test/1", "http://b.test/1"]),
    (UrlFilter(states=(UrlState.FAILED, UrlState.NOT_FOUND), text="a.test"), ["http://a.test/1"]),
    (UrlFilter(states=(UrlState.QUEUED, UrlState.FAILED), host="b.test"), [f"http://b.test/{n}" for n in (1, 2, 3)]),
    (UrlFilter(host="nobody.test"), []),
    (UrlFilter(host="nobody.test", states=(UrlState.FAILED,)), []),
]


@pytest.mark.requirement("A-06", "F-01")
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [1, 100])
@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize(("where", "expected"), LISTINGS, ids=repr)
def test_listings_page_by_id_and_filter(
    catalog: Catalog,
    mixed: Crawl,
    where: UrlFilter,
    expected: list[str],
    few: int,
    limit: int,
    descending: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`few`: what can be sorted, so that both ways through the indexes are gone; then in steps of two rows."""
    monkeypatch.setattr(type(catalog), "sorted_rows_max", few)
    assert sorted(pages(catalog, mixed, where, limit, descending=descending)) == expected
    assert sorted(bounded_pages(catalog, mixed, where, limit, descending=descending)) == expected
    bound(monkeypatch, "SCAN_ROWS_MAX", 2)
    bound(monkeypatch, "SCATTERED_ROWS_MAX", 2)
    assert sorted(bounded_pages(catalog, mixed, where, limit, descending=descending)) == expected
    assert catalog.count_urls(mixed.id, where) == len(expected)


def test_a_bounded_page_says_whether_there_is_more(
    catalog: Catalog, mixed: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = catalog.urls(mixed.id, 0, 100, UrlFilter())
    assert catalog.urls_page(mixed.id, 0, 12, UrlFilter()).next is None, "full, and the last"
    assert catalog.urls_page(mixed.id, 0, 11, UrlFilter()).next == everything[10].id
    bound(monkeypatch, "SCAN_ROWS_MAX", 5)
    empty = catalog.urls_page(mixed.id, 0, 10, UrlFilter(text="nowhere"))
    assert (empty.rows, empty.next) == ([], everything[4].id)


SORTED = [f"http://{host}.test/{n}" for host in "ab" for n in range(6)]


@pytest.mark.requirement("A-06")
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    ("sort", "where", "expected"),
    [
        (UrlSort.URL, UrlFilter(), SORTED),
        (UrlSort.ID, UrlFilter(host="a.test"), SORTED[:6]),
        (UrlSort.URL, UrlFilter(states=(UrlState.QUEUED,)), QUEUED),
        (UrlSort.URL, UrlFilter(states=(UrlState.FAILED, UrlState.NOT_FOUND)), ["http://a.test/1", "http://b.test/1"]),
        (UrlSort.URL, UrlFilter(host="nobody.test"), []),
    ],
    ids=repr,
)
def test_small_crawls_are_sorted(
    catalog: Catalog, mixed: Crawl, sort: UrlSort, where: UrlFilter, expected: list[str], descending: bool
) -> None:
    shown: list[str] = []
    for offset in range(0, 15, 5):
        found = catalog.sorted_urls(mixed.id, where, sort, descending=descending, limit=5, offset=offset)
        shown += [row.url for row in found]
    if sort is not UrlSort.ID:  # which a database gives as it likes
        assert shown == sorted(shown, reverse=descending)
    assert sorted(shown) == expected


PLACES: dict[UrlSort, Callable[[UrlRow], object]] = {
    UrlSort.STATE: lambda row: STATE_CODES[UrlState.QUEUED if row.state is UrlState.IN_PROGRESS else row.state],
    UrlSort.REASON: lambda row: row.reason,
    UrlSort.TITLE: lambda row: row.title or "",
    UrlSort.CONTENT_TYPE: lambda row: row.content_type or "",
    UrlSort.RETRIES: lambda row: row.retries,
}


@pytest.mark.parametrize("sort", PLACES)
@pytest.mark.parametrize("descending", [False, True])
def test_urls_are_sorted_by_words_and_retries_over_all_pages(
    catalog: Catalog, mixed: Crawl, sort: UrlSort, descending: bool
) -> None:
    rows = [
        row
        for offset in range(0, 15, 5)
        for row in catalog.sorted_urls(mixed.id, UrlFilter(), sort, descending=descending, limit=5, offset=offset)
    ]
    assert sorted(row.url for row in rows) == SORTED
    places = [(PLACES[sort](row), row.id) for row in rows]
    assert places == sorted(places, reverse=descending)  # type: ignore[type-var]


def test_the_latest_answers_come_first(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, *(f"http://a.test/{n}" for n in range(4)))
    session = Session(backend)
    session.load()
    outcomes = [ended(session.row(f"http://a.test/{n}"), crawl) for n in range(3)]
    for outcome, at in zip(outcomes, (20, 30, 10), strict=True):
        assert outcome.page is not None
        outcome.page.fetched_at = at
    session.flush(outcomes=outcomes)
    latest = catalog.sorted_urls(crawl.id, UrlFilter(), UrlSort.FETCHED_AT, descending=True, limit=10, offset=0)
    assert [(row.url[-1], row.fetched_at) for row in latest] == [("1", 30), ("0", 20), ("2", 10), ("3", None)]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", [UrlSort.STATUS, UrlSort.DEPTH, UrlSort.BYTES, UrlSort.LATENCY_MS])
def test_urls_are_sorted_by_their_numbers(backend: Backend, catalog: Catalog, sort: UrlSort, descending: bool) -> None:
    crawl = seeded(catalog, *(f"http://a.test/{n}" for n in range(4)))
    session = Session(backend)
    session.load()
    known = {
        UrlSort.STATUS: [404, 200, 301],
        UrlSort.DEPTH: [0, 0, 0],
        UrlSort.BYTES: [20, 5, 100],
        UrlSort.LATENCY_MS: [3.5, 0.25, 12.0],
    }
    outcomes = [ended(session.row(f"http://a.test/{n}"), crawl, f"http://a.test/below/{n}") for n in range(3)]
    for number, outcome in enumerate(outcomes):
        assert outcome.page is not None
        outcome.page.status, outcome.page.body_bytes = known[UrlSort.STATUS][number], known[UrlSort.BYTES][number]
        outcome.page.timing = replace(outcome.page.timing, total_ms=known[UrlSort.LATENCY_MS][number])
    session.flush(outcomes=outcomes)
    shown: list[UrlRow] = []
    for offset in range(0, 9, 3):
        shown += catalog.sorted_urls(crawl.id, UrlFilter(), sort, descending=descending, limit=3, offset=offset)
    assert len({row.id for row in shown}) == len(shown) == 7
    numbers = [-1 if (value := getattr(row, sort)) is None else value for row in shown]
    assert numbers == sorted(numbers, reverse=descending)
    answered = sorted(number for number, row in zip(numbers, shown, strict=True) if row.status is not None)
    assert answered == sorted(known[sort])


def test_large_crawls_are_sorted_by_id_only(catalog: Catalog, mixed: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    bound(monkeypatch, "SORTED_URLS_MAX", 6)

    def urls(sort: UrlSort, where: UrlFilter = UrlFilter(), offset: int = 0) -> int:
        return len(catalog.sorted_urls(mixed.id, where, sort, descending=False, limit=3, offset=offset))

    assert urls(UrlSort.ID) == urls(UrlSort.ID, offset=3) == 3
    assert urls(UrlSort.ID, UrlFilter(states=(UrlState.VISITED,))) == 2
    for refused in ((UrlSort.URL,), (UrlSort.ID, UrlFilter(text="a")), (UrlSort.ID, UrlFilter(), 4)):
        with pytest.raises(UsageError, match="has more than 6 URLs: list them by id"):
            urls(*refused)  # type: ignore[arg-type]
    assert catalog.count_urls(mixed.id, UrlFilter(states=(UrlState.QUEUED,))) == 6
    assert catalog.count_urls(mixed.id, UrlFilter(text="test")) == 6, "counted no further"


def redirected(catalog: Catalog, backend: Backend) -> Crawl:
    """Redirects of every end, an HTTP error without a reason, and rows that are neither."""
    crawl = seeded(catalog, *(f"http://a.test/{n}" for n in range(8)))
    session = Session(backend)
    session.load()
    endings = [
        (UrlState.REDIRECTED, 301, ""),
        (UrlState.REDIRECTED, 301, "redirect_out_of_scope"),
        (UrlState.REDIRECTED, 302, ""),
        (UrlState.REDIRECTED, 308, "redirect_out_of_scope"),
        (UrlState.REDIRECTED, 302, "redirect_loop"),
        (UrlState.HTTP_ERROR, 304, ""),
        (UrlState.VISITED, 200, ""),
    ]
    outcomes = []
    for n, (state, status, reason) in enumerate(endings):
        outcome = ended(session.row(f"http://a.test/{n}"), crawl, state=state, reason=reason)
        assert outcome.page is not None
        outcome.page.status = status
        outcomes.append(outcome)
    session.flush(outcomes=outcomes)
    return crawl


@pytest.mark.parametrize(
    ("states", "ends", "expected"),
    [
        (("redirected",), ("moved",), "01"),
        (("redirected",), ("followed",), "2"),
        (("redirected",), ("left",), "3"),
        (("redirected", "http_error"), ("none", "stopped"), "45"),
        ((), ("none",), "567"),
    ],
)
def test_redirects_are_told_apart_by_their_end(
    backend: Backend, catalog: Catalog, states: tuple[str, ...], ends: tuple[str, ...], expected: str
) -> None:
    crawl = redirected(catalog, backend)
    where = UrlFilter(tuple(map(UrlState, states)), redirects=tuple(map(RedirectEnd, ends)))
    rows = catalog.sorted_urls(crawl.id, where, UrlSort.URL, descending=False, limit=9, offset=0)
    assert "".join(row.url[-1] for row in rows) == expected
    assert catalog.count_urls(crawl.id, where) == len(expected)
    assert catalog.redirects(crawl.id) == {"moved": 2, "followed": 1, "left": 1, "stopped": 1}


def test_rare_states_of_a_large_crawl_are_sorted_and_counted(
    backend: Backend, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = redirected(catalog, backend)
    bound(monkeypatch, "SORTED_URLS_MAX", 6)
    where = UrlFilter((UrlState.REDIRECTED, UrlState.HTTP_ERROR), redirects=(RedirectEnd.STOPPED,))
    (row,) = catalog.sorted_urls(crawl.id, where, UrlSort.URL, descending=False, limit=3, offset=0)
    assert (row.url, catalog.count_urls(crawl.id, where)) == ("http://a.test/4", 1)
    bound(monkeypatch, "SORTED_URLS_MAX", 5)
    with pytest.raises(UsageError, match="has more than 5 URLs"):
        catalog.sorted_urls(crawl.id, where, UrlSort.ID, descending=False, limit=3, offset=0)


@pytest.mark.requirement("A-13")
def test_a_page_is_shown_with_all_that_is_known(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    outcome = ended(row, crawl, "http://a.test/x", "http://c.test/y")
    keys = {each.host: each.key[:8] for each in outcome.children}
    outcome.page = PageRecord(
        status=200,
        content_type="text/html",
        body_bytes=1234,
        wire_bytes=400,
        fetched_at=77,
        timing=Timing(1.0, 2.0, 3.0, 4.0, 5.0),
        ip="127.0.0.1",
        protocol="h2",
        charset="utf-8",
        title="A page",
        facts={"language": "sv"},
        content_hash=b"\x01" * 32,
        archive=ArchivePlace("x.warc.gz", 10, 20),
        truncated="length",
        links=keys,
        refused=["http://far.test/", "mailto:x"],
    )
    session.flush(outcomes=[outcome], archive_files=[("x.warc.gz", 30)])
    shown = catalog.url(crawl.id, "a.test", child(crawl, A).key)
    assert shown == catalog.url_by_id(row.id)
    assert shown is not None
    assert (shown.status, shown.title, shown.bytes, shown.latency_ms, shown.fetched_at) == (
        200,
        "A page",
        1234,
        5.0,
        77,
    )
    assert (shown.archive_file, shown.archive_offset, shown.archive_length) == ("x.warc.gz", 10, 20)
    assert shown.content_hash == "01" * 32
    facts = catalog.page_facts(row.id)
    assert facts["links_out"] == ["http://a.test/x", "http://c.test/y"]
    assert facts["links_refused"] == ["http://far.test/", "mailto:x"]
    assert (facts["language"], facts["ip"], facts["truncated"]) == ("sv", "127.0.0.1", "length")
    (archived,) = catalog.archived("x.warc.gz", (10, 0), 10)
    assert archived[1:] == (row.id, 10, 20, b"\x01" * 32)
    assert catalog.archived("x.warc.gz", (10, archived.page), 10) == catalog.archived("y.warc.gz", (0, 0), 10) == []
    assert catalog.page_facts(all_urls(catalog, crawl)["http://a.test/x"].id) == {}


def test_links_the_worker_knew_already_are_kept_too(backend: Backend, catalog: Catalog) -> None:
    """They come without a child, to a session that has never heard of their host."""
    crawl = seeded(catalog, A, B)
    session = Session(backend)
    session.load()
    outcome = ended(session.row(A), crawl)
    assert outcome.page is not None
    outcome.page.links = {"b.test": child(crawl, B).key[:8]}
    session.flush(outcomes=[outcome])
    assert catalog.page_facts(outcome.url_id)["links_out"] == [B]


def test_a_url_never_seen_has_no_row(catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    assert catalog.url(crawl.id, "b.test", child(crawl, B).key) is None
    assert catalog.url_by_id(99) is None
    assert catalog.queue(crawl.id, "b.test") is None


def test_why_a_url_waits(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    session.flush(retries=[Retry(row.id, crawl.id, 700, 1, 0, "rate_limited")], released=session.releases())
    shown = catalog.url_by_id(row.id)
    assert shown is not None
    assert (shown.not_before_in_ms, shown.reason) == (700, "rate_limited")
    queue = catalog.queue(crawl.id, "a.test")
    assert queue is not None
    assert (queue.due_in_ms, queue.held_by, queue.open) == (700, None, 1)
    assert catalog.queues(crawl.id, 10) == [queue]


def test_crawls_are_found_by_id_and_by_fingerprint(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, A, mark="fingerprint")
    assert catalog.unfinished("fingerprint") == crawl
    assert catalog.unfinished("another") is None
    Session(backend).drain(crawl)
    upkeep.run_once()
    assert catalog.unfinished("fingerprint") is None
    assert [each.id for each in catalog.crawls()] == [crawl.id]
    with pytest.raises(UsageError, match="there is no crawl 99"):
        catalog.crawl(99)


# --- workers


@pytest.mark.requirement("W-09")
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_crawls_are_read_in_pages_the_newest_first(catalog: Catalog, limit: int) -> None:
    made = [seeded(catalog, A, mark=str(number)).id for number in range(5)]
    catalog.delete(made.pop(2))
    found: list[int] = []
    while page := catalog.crawls(found[-1] if found else 0, limit):
        assert len(page) <= limit
        found += [crawl.id for crawl in page]
    assert found == made[::-1]


def test_crawls_are_counted_by_state_and_time(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    done, cancelled, running = (seeded(catalog, *urls, mark=mark) for mark, urls in (("1", ()), ("2", ()), ("3", (A,))))
    catalog.steer(cancelled.id, CrawlState.ENDING, "cancelled")
    backend.clock.advance(1000)
    began = backend.clock.now_ms()
    upkeep.run_once()
    paused = seeded(catalog, A, mark="4")
    catalog.steer(paused.id, CrawlState.PAUSED)
    assert [crawl.id for crawl in catalog.open_crawls()] == [running.id, paused.id]
    counts = catalog.count_crawls(began)
    assert (counts.started, counts.completed) == (1, 1)
    assert counts.by_state == {"completed": 1, "cancelled": 1, "running": 1, "paused": 1}
    assert catalog.count_crawls().started == 4
    catalog.delete(done.id)
    assert catalog.count_crawls().completed == 0


def test_a_worker_is_shown_with_its_heartbeat_and_what_it_works_on(backend: Backend, catalog: Catalog) -> None:
    seeded(catalog, *(f"http://a.test/{n}" for n in range(CURRENT_MAX + 2)))
    busy = Session(backend, "busy")
    rows = busy.load()
    vitals = Vitals(pages=7, pages_per_s=2.5, cpu=0.75, rss_bytes=3_000_000_000)
    busy.frontier.lease({}, vitals)
    busy.flush(in_flight=[(row.id, 1000 - since) for since, row in enumerate(rows)])
    idle = Session(backend, "idle", lease=False)
    shown = {worker.name: worker for worker in catalog.workers()}
    assert (shown["busy"].vitals, shown["busy"].in_flight) == (vitals, CURRENT_MAX + 2)
    assert shown["busy"].current == tuple(row.url for row in reversed(rows))[:CURRENT_MAX]
    assert (shown["idle"].vitals, shown["idle"].current) == (Vitals(), ())
    backend.kill(busy.frontier)
    idle.lease()
    (dead,) = (worker for worker in catalog.workers() if worker.name == "busy")
    assert (dead.alive, dead.in_flight, dead.current) == (False, 0, ()), "the dead work on nothing"


def test_a_crawl_is_looked_after_as_long_as_a_process_lives(backend: Backend, catalog: Catalog) -> None:
    shared = isinstance(backend, PostgresBackend)  # there workers may come at any time: no crawl is ever interrupted
    crawl, other = seeded(catalog, A), seeded(catalog, B)
    command = backend.catalog()
    assert catalog.is_looked_after(crawl.id) is shared
    command.look_after(crawl.id)
    command.look_after(crawl.id)
    assert (catalog.is_looked_after(crawl.id), catalog.is_looked_after(other.id)) == (True, shared)
    catalog.look_after(crawl.id)
    catalog.look_after(other.id)
    assert (command.is_looked_after(crawl.id), command.is_looked_after(other.id)) == (True, True)


# --- deletion


def test_delete_and_purge_in_chunks_leave_other_crawls_whole(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    gone = seeded(catalog, *(f"http://h{n}.test/" for n in range(20)), *(f"http://a.test/{n}" for n in range(20)))
    kept = seeded(catalog, A, *(f"http://h{n}.test/" for n in range(20)), mark="kept")
    session = Session(backend)
    session.load()
    refusals = {(gone.id, "far.test", "scope"): 2, (kept.id, "far.test", "scope"): 3}
    rules = {(crawl.id, "exclude", "matches */x"): 1 for crawl in (gone, kept)}
    links = [refused(crawl.id, "scope", "", "far.test", "http://far.test/") for crawl in (gone, kept)]
    outcomes = [
        ended(row, gone if window.crawl == gone.id else kept) for window in session.held.values() for row in window.rows
    ]
    rest = {"refused_rules": rules, "refused_links": links, "released": session.releases()}
    session.flush(outcomes=outcomes, refusals=refusals, **rest)
    before, tallies = states(catalog, kept), catalog.tallies(kept.id)
    catalog.delete(gone.id)
    with pytest.raises(UsageError):
        catalog.crawl(gone.id)
    chunks = []
    while purged := upkeep.purge(gone.id, 7):
        chunks.append(purged)
    assert max(chunks) == 7
    assert sum(chunks) >= 40
    assert upkeep.purge(gone.id, 7) == 0
    assert (states(catalog, kept), catalog.tallies(kept.id)) == (before, tallies)
    assert catalog.refusals(kept.id) == [("far.test", "scope", 3)]
    assert (catalog.refused_links(gone.id), catalog.refused_rules(gone.id)) == ([], [])
    assert (catalog.refused_links(kept.id), catalog.refused_rules(kept.id)) == (
        links[1:],
        [("exclude", "matches */x", 1)],
    )
    assert catalog.urls(gone.id, 0, 10, UrlFilter()) == []
    assert sum(catalog.tallies(gone.id).values()) == 0
    assert catalog.check() == []


def test_a_crawl_that_is_not_deleted_cannot_be_purged(catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, A)
    assert upkeep.purge(crawl.id, 100) == 0
    assert states(catalog, crawl) == {A: UrlState.QUEUED}


def test_a_worker_that_still_holds_rows_of_a_deleted_crawl_leaves_nothing_behind(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    gone, kept = seeded(catalog, A, mark="1"), seeded(catalog, B, mark="2")
    session = Session(backend)
    session.load()
    catalog.delete(gone.id)
    while upkeep.purge(gone.id, 100):
        pass
    late = [ended(session.row(A), gone, "http://a.test/x"), ended(session.row(B), kept)]
    session.flush(outcomes=late, tallies={(gone.id, "bytes"): 1}, released=session.releases())
    assert sum(catalog.tallies(gone.id).values()) == 0
    upkeep.run_once()
    assert catalog.crawl(kept.id).state is CrawlState.COMPLETED
    assert catalog.check() == []


@pytest.mark.parametrize(("ended_session", "expected"), [(True, ["own"]), (False, [])])
def test_delete_names_the_archive_files_that_nobody_else_needs(
    backend: Backend, catalog: Catalog, ended_session: bool, expected: list[str]
) -> None:
    """While their writer lives it may be writing another crawl's pages into them."""
    gone, kept = seeded(catalog, A, "http://a.test/2", mark="1"), seeded(catalog, B, mark="2")
    session = Session(backend)
    session.load()
    outcomes = []
    for url, crawl, file in ((A, gone, "shared"), ("http://a.test/2", gone, "own"), (B, kept, "shared")):
        outcome = ended(session.row(url), crawl)
        assert outcome.page is not None
        outcome.page.archive = ArchivePlace(file, 0, 1)
        outcomes.append(outcome)
    session.flush(outcomes=outcomes, archive_files=[("shared", 1), ("own", 1)])
    if ended_session:
        session.frontier.leave()
    assert catalog.delete(gone.id) == expected


def test_archive_files_of_the_dead_are_closed_once_and_can_be_forgotten(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    session = Session(backend)
    session.flush(archive_files=[("one", 100)])
    session.flush(archive_files=[("one", 250), ("two", 10)])
    assert upkeep.abandoned_files() == [], "their writer lives"
    backend.kill(session.frontier)
    upkeep.run_once()
    assert sorted(upkeep.abandoned_files()) == [("one", 250), ("two", 10)]
    upkeep.file_closed("one", 7)
    assert upkeep.abandoned_files() == [("two", 10)]
    assert sorted(catalog.archive_files()) == [("one", session.id, False, 7), ("two", session.id, True, 0)]
    catalog.forget_file("one")
    assert [name for name, *_ in catalog.archive_files()] == ["two"]


WRITE_AND_STAY = """
import json, signal, sys
from pathlib import Path
from nephila.archive.folder import FolderArchive
from nephila.clock import SystemClock
from tests.unit.archive.judges import exchange
writer = FolderArchive(Path(sys.argv[1]), SystemClock()).writer("frozen")
place = writer.append(exchange())
writer.sync()
print(json.dumps([place.file, place.offset, place.length]), flush=True)
signal.pause()
"""


@pytest.fixture
def frozen(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], ArchivePlace]]:
    """A process that writes the archive of `tmp_path`, stopped, and what it wrote."""
    command = [sys.executable, "-c", WRITE_AND_STAY, str(tmp_path / "warc")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        place = ArchivePlace(*json.loads(child.stdout.readline()))
        child.send_signal(signal.SIGSTOP)
        until(lambda: Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "it stands")
        yield child, place
        child.kill()


def test_the_file_of_a_session_that_was_fenced_while_its_process_lives_is_closed_when_that_has_ended(
    backend: Backend,
    catalog: Catalog,
    upkeep: Upkeep,
    tmp_path: Path,
    frozen: tuple[subprocess.Popen[str], ArchivePlace],
) -> None:
    """It is no file that is lost, and whoever writes it may cut it alone: nobody else does before it is dead."""
    child, place = frozen
    path, archive = tmp_path / "warc" / place.file, FolderArchive(tmp_path / "warc", SystemClock())
    session, duty = Session(backend), Duty(upkeep, archive, shared=False)
    session.flush(archive_files=[(place.file, place.offset + place.length)])
    backend.kill(session.frontier)
    upkeep.run_once()
    with path.open("ab") as file:
        file.write(b"torn" * 100)
    size = path.stat().st_size
    with capture_logs() as lines:
        assert [duty.close_files() for _ in range(3)] == [0, 0, 0]
    assert (lines, path.stat().st_size) == ([], size)
    child.kill()
    child.wait()
    with capture_logs() as lines:
        assert [duty.close_files() for _ in range(2)] == [1, 0]
    assert [line["event"] for line in lines] == ["torn_tail_cut"]
    ((name, _, is_open, cut),) = catalog.archive_files()
    assert (name, is_open, path.stat().st_size) == (place.file, False, size - cut)
    assert cut == 400 and complaints(path) == []


def test_a_file_that_cannot_be_closed_now_is_told_once_and_closed_later(
    backend: Backend, catalog: Catalog, upkeep: Upkeep, tmp_path: Path
) -> None:
    session, duty = Session(backend), Duty(upkeep, FolderArchive(tmp_path, SystemClock()), shared=False)
    session.flush(archive_files=[("a.warc.gz", 0), ("gone.warc.gz", 9)])
    backend.kill(session.frontier)
    upkeep.run_once()
    (tmp_path / "a.warc.gz").mkdir()  # whatever makes it impossible to open
    with capture_logs() as lines:
        assert [duty.close_files() for _ in range(3)] == [1, 0, 0]
    assert [(line["event"], line["file"]) for line in lines] == [
        ("archive_file_not_closed", "a.warc.gz"),
        ("archive_file_lost", "gone.warc.gz"),
    ]
    (tmp_path / "a.warc.gz").rmdir()
    (tmp_path / "a.warc.gz").write_bytes(b"torn")
    assert duty.close_files() == 1
    assert {name: cut for name, _, _, cut in catalog.archive_files()} == {"a.warc.gz": 4, "gone.warc.gz": 0}


@pytest.mark.requirement("Q-01")
def test_the_pages_of_a_stretch_of_an_archive_file(backend: Backend, catalog: Catalog) -> None:
    urls = [f"http://a.test/{number}" for number in range(6)]
    crawl = seeded(catalog, *urls)
    session = Session(backend)
    session.load()
    outcomes = [ended(session.row(url), crawl) for url in urls]
    for number, outcome in enumerate(outcomes):
        assert outcome.page is not None
        outcome.page.archive = ArchivePlace("two" if number == 5 else "one", 100 * number, 60)
    outcomes[2].state = UrlState.NOT_FOUND
    assert outcomes[3].page is not None and outcomes[1].page is not None
    outcomes[3].page.facts = {"description": "a noindex b", "noindex": True}
    outcomes[1].page.facts = {"description": "noindex"}
    session.flush(outcomes=outcomes[:4], archive_files=[("one", 360)])
    session.flush(outcomes=outcomes[4:], archive_files=[("one", 460), ("two", 560)])
    assert catalog.archive_sizes() == [("one", 460), ("two", 560)]
    pages = catalog.pages_in_file("one", 0, 460, 100)
    assert [page.offset for page in pages] == [0, 100, 200, 300, 400]
    assert [page.url for page in pages] == urls[:5]
    assert [page.noindex for page in pages] == [False, False, False, True, False]
    assert [page.state for page in pages].count(UrlState.VISITED) == 4
    first = pages[0]
    assert (first.crawl, first.host, first.length, first.content_type) == (crawl.id, "a.test", 60, "text/html")
    assert (first.title, first.fetched_at, first.kind) == (f"page {first.url_id}", 1, Kind.PAGE)
    assert [page.offset for page in catalog.pages_in_file("one", 100, 301, 100)] == [100, 200, 300]
    assert [page.offset for page in catalog.pages_in_file("one", 100, 460, 2)] == [100, 200]
    assert catalog.pages_in_file("none", 0, 460, 100) == []
    assert [page.url for page in catalog.pages_in_file("two", 0, 1000, 100)] == urls[5:]


def test_the_uuids_of_crawls(catalog: Catalog) -> None:
    one, two = seeded(catalog, "http://a.test/"), seeded(catalog, "http://b.test/")
    assert catalog.crawl_uuids() == {one.id: one.uuid, two.id: two.uuid}
    catalog.delete(one.id)
    assert catalog.crawl_uuids() == {two.id: two.uuid}


# --- links


def linking(session: Session, crawl: Crawl, url: str, *links: str) -> Outcome:
    outcome = ended(session.row(url), crawl)
    assert outcome.page is not None
    for link in links:
        target = child(crawl, link)
        outcome.page.links[target.host] = outcome.page.links.get(target.host, b"") + target.key[:8]
    return outcome


@pytest.mark.requirement("A-24")
@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize(("scan", "links"), [(5000, 20_000), (2, 20_000), (5000, 1), (1, 1)])
def test_the_link_graph_is_read_in_steps(
    backend: Backend, catalog: Catalog, limit: int, scan: int, links: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = seeded(catalog, *(f"http://a.test/{n}" for n in range(3)), mark="other")
    urls = [f"http://a.test/{n}" for n in range(6)] + ["http://b.test/"]
    crawl = seeded(catalog, *urls)
    catalog.steer(other.id, CrawlState.PAUSED)
    session = Session(backend)
    session.load()
    graph = {urls[1]: [urls[2], urls[6]], urls[2]: [urls[2]], urls[5]: [urls[0], "http://far.test/"], urls[3]: []}
    session.flush(outcomes=[linking(session, crawl, url, *targets) for url, targets in graph.items()])
    bound(monkeypatch, "SCAN_ROWS_MAX", scan)
    bound(monkeypatch, "LINKS_MAX", links)
    found: dict[str, list[str]] = {}
    names = {row.id: row.url for row in all_urls(catalog, crawl).values()}
    after = 0
    while (page := catalog.links(crawl.id, after, limit)).next > after:
        assert len(page.pages) <= limit
        assert not found.keys() & {names[id] for id, targets in page.pages if targets}, "each page once"
        found |= {names[id]: [names[target] for target in targets] for id, targets in page.pages if targets}
        after = page.next
    assert found == {urls[1]: [urls[2], urls[6]], urls[2]: [urls[2]], urls[5]: [urls[0]]}


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_the_links_of_one_page_are_rows_in_pages(backend: Backend, catalog: Catalog, limit: int) -> None:
    urls = [f"http://a.test/{n}" for n in range(4)] + [B]
    crawl = seeded(catalog, *urls)
    session = Session(backend)
    session.load()
    linked = linking(session, crawl, urls[1], B, urls[2], urls[1], urls[0], "http://far.test/")
    session.flush(outcomes=[linked, linking(session, crawl, urls[2])])
    ids = {url: row.id for url, row in all_urls(catalog, crawl).items()}
    found: list[UrlRow] = []
    after: int | None = 0
    while after is not None:
        page = catalog.links_of(ids[urls[1]], after, limit)
        assert len(page.rows) <= limit
        found += page.rows
        after = page.next
    assert [row.url for row in found] == sorted([urls[0], urls[1], urls[2], B], key=ids.__getitem__)
    assert [(row.state, row.status) for row in found if row.url in urls[1:3]] == [(UrlState.VISITED, 200)] * 2
    for without in (urls[2], urls[3]):
        assert catalog.links_of(ids[without], 0, limit) == UrlPage([], None)
    assert catalog.links_of(10**6, 0, limit) == UrlPage([], None)


# --- hosts


def test_hosts_are_listed_by_name_with_queue_clock_and_robots(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, "http://a.test/2", B, "http://c.test/")
    seeded(catalog, "http://d.test/", mark="other")
    session = Session(backend)
    session.load()
    clock = HostClock("a.test", 1500, 1000, Pace(errors=2), "rate_limited", 7)
    robots = [
        RobotsRecord("http://a.test", "a.test", "rules", 200, b"old", 1000, fetched_at=5),
        RobotsRecord("https://a.test", "a.test", "allow_all", 404, b"", 1000, fetched_at=9),
    ]
    session.flush(clocks=[clock], robots=robots)
    session.flush(robots=[RobotsRecord("https://a.test", "a.test", "rules", 200, b"new", 1000, fetched_at=10)])
    first, second = catalog.crawl_hosts(crawl.id, "", 2).hosts
    assert (first.queue.host, first.queue.open, first.queue.held_by) == ("a.test", 2, session.id)
    assert first.clock == catalog.host("a.test")
    assert first.clock is not None
    assert (first.clock.next_in_ms, first.clock.pace.errors, first.clock.requests) == (1500, 2, 7)
    assert (first.robots_version, first.robots_access) == (2, "rules")
    assert (second.queue, second.clock, second.robots_version) == (catalog.queue(crawl.id, "b.test"), None, None)
    assert [view.queue.host for view in catalog.crawl_hosts(crawl.id, "b.test", 10).hosts] == ["c.test"]


def test_open_urls_of_a_host_that_are_not_all_counted_are_marked(
    backend: Backend, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nephila.frontier.host_lists.HOSTS_OPEN_COUNT_MAX", 2)
    for module in ("host_lists", "hosts"):
        monkeypatch.setattr(f"nephila.frontier.{module}.OPEN_COUNT_MAX", 9)
    urls = {"a": 2, "b": 3, "c": 4, "d": 10}
    crawl = seeded(catalog, *(f"http://{host}.test/{n}" for host, count in urls.items() for n in range(count)))

    def counted(after: str, limit: int) -> list[tuple[str, int, bool]]:
        queues = [view.queue for view in catalog.crawl_hosts(crawl.id, after, limit).hosts]
        return [(queue.host[0], queue.open, queue.open_more) for queue in queues]

    assert counted("", 3) == [("a", 2, False), ("b", 3, False), ("c", 4, False)]
    assert counted("c.test", 1) == [("d", 9, True)]
    assert counted("", 4) == [("a", 2, False), ("b", 3, False), ("c", 3, True), ("d", 3, True)], "a third of 9 each"
    found = {queue.host[0]: (queue.open, queue.open_more) for queue in catalog.queues(crawl.id, 10)}
    assert found == {"a": (2, False), "b": (3, False), "c": (4, False), "d": (9, True)}


@pytest.mark.parametrize("scan", [10_000, 3, 1])
def test_hosts_of_all_crawls_are_listed_by_name(
    backend: Backend, catalog: Catalog, scan: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound(monkeypatch, "SCAN_ROWS_MAX", scan)
    seeded(catalog, "http://never-asked.test/")
    names = ["g.example", *(f"{letter}.test" for letter in "dacbe")]
    Session(backend).flush(
        clocks=[HostClock(name, 5000, 700, Pace(errors=2), "backoff", 3) for name in names],
        robots=[RobotsRecord("http://c.test", "c.test", "rules", 200, b"old", 1000, fetched_at=5)],
    )
    for text, expected in {"": "abcdeg", "test": "abcde", "c.": "c", "%": "", "_": "", "nowhere": ""}.items():
        for limit in (1, 2, 10):
            found = known_hosts(catalog, limit, text)
            assert "".join(host.clock.host[0] for host in found) == expected, (text, limit)
    for host in known_hosts(catalog, 4, ""):
        assert (host.clock.delay_ms, host.clock.next_in_ms, host.clock.pace.errors) == (700, 5000, 2)
        robots = (1, "rules") if host.clock.host == "c.test" else (None, None)
        assert (host.robots_version, host.robots_access) == robots


def known_hosts(catalog: Catalog, limit: int, text: str) -> list[KnownHost]:
    """All pages."""
    found: list[KnownHost] = []
    after: str | None = ""
    while after is not None:
        page = catalog.all_hosts(after, limit, text)
        assert len(page.hosts) <= limit
        assert page.next is None or page.next > after, "it goes on"
        found += page.hosts
        after = page.next
    return found


def test_the_robots_of_a_host_are_those_of_all_its_origins(backend: Backend, catalog: Catalog) -> None:
    origins = ("https://www.a.test", "http://a.test", "https://a.test")
    records = [RobotsRecord(origin, "a.test", "rules", 200, origin.encode(), 1000, fetched_at=5) for origin in origins]
    Session(backend).flush(robots=[*records, RobotsRecord("http://b.test", "b.test", "hold", None, b"", 1)])
    assert [(record.origin, record.body) for record in catalog.robots_of_host("a.test")] == [
        (origin, origin.encode()) for origin in sorted(origins)
    ]
    assert catalog.robots_of_host("c.test") == []


# --- errors


def test_errors_of_a_flush_are_listed_the_latest_first(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl, other = seeded(catalog, A), seeded(catalog, B, mark="other")
    session = Session(backend)
    session.load()
    notes = [
        ErrorNote(crawl.id, session.row(A).id, "timeout", "it took\x00too long", 1),
        ErrorNote(other.id, session.row(B).id, "dns", "x" * 10_000, 2),
    ]
    session.flush(errors=notes)
    latest, first = catalog.errors(10)
    assert (first.url, first.reason, first.tries, first.worker, first.at) == (
        *(A, "timeout", 1, session.id, backend.clock.now_ms()),
    )
    assert first.detail.startswith("it took")
    assert (latest.url, latest.crawl, len(latest.detail) < 1000) == (B, other.id, True)
    assert catalog.errors(1) == [latest]
    assert catalog.errors(10, crawl.id) == [first]
    assert catalog.errors(10, 99) == []
    catalog.delete(crawl.id)
    session.flush(errors=notes)
    while upkeep.purge(crawl.id, 1):
        pass
    assert [error.crawl for error in catalog.errors(10)] == [other.id, other.id], "nothing of the deleted one is left"


def test_a_flush_brings_a_bounded_number_of_errors_and_old_ones_are_forgotten(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    note = ErrorNote(crawl.id, row.id, "dns", "", 1)
    upkeep.run_once()
    for _ in range(ERRORS_KEPT // ERRORS_PER_FLUSH + 2):
        session.flush(errors=[note] * (ERRORS_PER_FLUSH + 1))
    before = catalog.errors(10 * ERRORS_KEPT)
    assert len(before) == ERRORS_KEPT, "more are never shown"
    upkeep.run_once()
    backend.clock.advance(FORGET_EVERY_MS)
    upkeep.run_once()
    upkeep.run_once()
    assert catalog.errors(ERRORS_KEPT) == before
    session.flush(errors=[note])
    backend.clock.advance(FORGET_EVERY_MS)
    upkeep.run_once()
    assert catalog.errors(ERRORS_KEPT)[-1].id == before[-1].id + 1


# --- sizes


def test_sizes_are_those_of_all_crawls(backend: Backend, catalog: Catalog) -> None:
    assert (catalog.sizes().urls, catalog.sizes().archive_bytes) == (0, 0)
    one, two = seeded(catalog, A, B), seeded(catalog, A, mark="2")
    session = Session(backend)
    session.load()
    rows = [(row, one if window.crawl == one.id else two) for window in session.held.values() for row in window.rows]
    tallies = {(one.id, "bytes"): 100, (two.id, "bytes"): 20}
    outcomes = [ended(row, crawl) for row, crawl in rows]
    session.flush(outcomes=outcomes, tallies=tallies, archive_files=[("one", 40), ("two", 2)])
    sizes = catalog.sizes()
    assert (sizes.urls, sizes.pages, sizes.received_bytes, sizes.archive_bytes) == (3, 3, 120, 42)
    assert sizes.store_bytes > 4096


# --- requests that come twice


def test_a_crawl_is_found_by_its_uuid(catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    assert catalog.crawl_by_uuid(crawl.uuid) == crawl
    assert catalog.crawl_by_uuid("no uuid") is None
    catalog.delete(crawl.id)
    assert catalog.crawl_by_uuid(crawl.uuid) is None


def test_a_request_with_a_key_makes_one_crawl(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    settings = crawl_settings("default", {})

    def created(fingerprint: str, key: str) -> int:
        return catalog.create_crawl([A], settings, fingerprint, key).id

    first = created("same", "key")
    assert created("same", "key") == first
    assert created("same", "another key") != first
    assert created("same", "") != first
    with pytest.raises(UsageError, match="was given with another request"):
        created("different", "key")
    assert len(catalog.crawls()) == 3, "a refused request leaves nothing"
    backend.clock.advance(KEYS_KEPT_MS)
    upkeep.run_once()
    assert created("same", "key") == first
    backend.clock.advance(FORGET_EVERY_MS)
    upkeep.run_once()
    assert created("different", "key") != first, "after a day the key is free"


def test_the_key_of_a_deleted_crawl_is_free(catalog: Catalog) -> None:
    settings = crawl_settings("default", {})
    first = catalog.create_crawl([A], settings, "same", "key")
    catalog.delete(first.id)
    assert catalog.create_crawl([A], settings, "same", "key").id != first.id


def test_of_two_requests_with_one_key_at_once_both_get_the_same_crawl(backend: Backend, catalog: Catalog) -> None:
    settings = crawl_settings("default", {})

    def created(thread: int) -> tuple[int, ...]:
        store = backend.catalog()  # of this thread
        return tuple(store.create_crawl([A], settings, "same", f"key {turn}").id for turn in range(10))

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(created, range(4)))) == 1
    assert len(catalog.crawls()) == 10


def test_ancestors_lead_up_to_the_seed(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    chain = [f"{A}{n}" for n in range(5)]
    for url in chain:
        (row,) = session.load()
        session.flush(outcomes=[ended(row, crawl, url)], released=session.releases())
    (last,) = session.load()
    found = catalog.ancestors(last.id, 100)
    assert [row.url for row in found] == [*reversed(chain[:-1]), A]
    assert [row.url for row in catalog.ancestors(last.id, 2)] == [chain[-2], chain[-3]]
    assert catalog.ancestors(found[-1].id, 100) == []


def test_refusals_of_one_host(backend: Backend, catalog: Catalog) -> None:
    crawl, other = seeded(catalog, A), seeded(catalog, B)
    counts = {(crawl.id, "x.test", "scope"): 2, (crawl.id, "y.test", "scope"): 3, (other.id, "x.test", "rule"): 4}
    Session(backend).flush(refusals=counts)
    Session(backend).flush(refusals={(crawl.id, "x.test", "depth"): 1})
    assert catalog.refusals(crawl.id, "x.test") == [("x.test", "scope", 2), ("x.test", "depth", 1)]
    assert catalog.refusals(crawl.id) == [("y.test", "scope", 3), ("x.test", "scope", 2), ("x.test", "depth", 1)]
    assert catalog.refusals(crawl.id, "none.test") == []


def test_the_unfinished_crawls_of_a_token_are_counted(catalog: Catalog) -> None:
    made = [catalog.create_crawl([A], crawl_settings(), f"{n}", created_by="ops") for n in range(3)]
    catalog.create_crawl([A], crawl_settings(), "other", created_by="other")
    catalog.create_crawl([A], crawl_settings(), "command")
    assert (catalog.unfinished_of("ops"), catalog.unfinished_of("other"), catalog.unfinished_of("none")) == (3, 1, 0)
    catalog.steer(made[0].id, CrawlState.CANCELLED)
    catalog.steer(made[1].id, CrawlState.PAUSED)
    assert catalog.unfinished_of("ops") == 2


@pytest.mark.requirement("AD-01", "M-11")
def test_throughput_is_that_of_the_window(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    crawl = seeded(catalog, *(f"http://a.test/{number}" for number in range(4)))
    sessions = [Session(backend), Session(backend, lease=False)]
    rows = sessions[0].load()
    hour, minute = 3_600_000, 60_000
    note = ErrorNote(crawl.id, rows[0].id, "timeout", "", 1)
    sessions[0].flush(outcomes=[ended(rows[0], crawl), ended(rows[1], crawl, state=UrlState.NOT_FOUND)], errors=[note])
    backend.clock.advance(30 * minute)
    sessions[0].flush(outcomes=[ended(rows[2], crawl)])
    sessions[1].flush(errors=[note], errors_more=6)
    sessions[0].flush(outcomes=[ended(rows[3], crawl)])
    assert catalog.throughput(minute) == (2, 7)
    assert catalog.throughput(hour) == (3, 8)
    backend.clock.advance(2 * minute)
    assert (catalog.throughput(minute), catalog.throughput(5 * minute)) == ((0, 0), (2, 7))
    backend.clock.advance(29 * minute)
    assert catalog.throughput(hour) == (2, 7)
    upkeep.run_once()
    assert catalog.throughput(2 * hour) == (2, 7), "upkeep forgets what is older than an hour"
    backend.clock.advance(hour)
    upkeep.run_once()
    assert catalog.throughput(10 * hour) == (0, 0)


@pytest.mark.requirement("AD-09")
def test_hosts_are_listed_by_their_errors(backend: Backend, catalog: Catalog) -> None:
    first = seeded(catalog, "http://a.test/", "http://b.test/", "http://c.test/")
    second = seeded(catalog, "http://b.test/", mark="second")
    session = Session(backend)
    ids = {(window.crawl, row.url): row.id for row, window in loaded(session)}
    notes = [
        ErrorNote(first.id, ids[first.id, "http://a.test/"], "timeout", "", 1),
        ErrorNote(first.id, ids[first.id, "http://b.test/"], "timeout", "", 1),
        ErrorNote(second.id, ids[second.id, "http://b.test/"], "tls", "", 1),
    ]
    session.flush(errors=notes)
    backend.clock.advance(1000)
    session.flush(errors=notes[:1] * 2)
    found = [(host.host, host.errors, host.last_reason) for host in catalog.hosts_by_errors(10)]
    assert found == [("a.test", 3, "timeout"), ("b.test", 2, "tls")]
    top, next_ = catalog.hosts_by_errors(10)
    assert top.last_at - next_.last_at == 1000
    assert [host.host for host in catalog.hosts_by_errors(1)] == ["a.test"]


def loaded(session: Session) -> list[tuple[Row, Window]]:
    session.load()
    return [(row, window) for window in session.held.values() for row in window.rows]


@pytest.mark.requirement("AD-07")
def test_a_workers_heartbeat_tells_cpu_memory_and_network(backend: Backend, catalog: Catalog) -> None:
    session = Session(backend)
    vitals = Vitals(9, 1.5, 0.25, 1 << 20, 2048.0, 512.0)
    session.frontier.lease({}, vitals)
    assert [worker.vitals for worker in catalog.workers()] == [vitals]


# --- hosts and depth, counted as they come --------------------------------------------------------------------------


def test_hosts_and_the_greatest_depth_are_counted_exactly(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, "http://a.test/", "http://b.test/")
    one, two = Session(backend), Session(backend)
    for session in (one, two):
        session.lease()

    def counted() -> tuple[int, int]:
        tallies = catalog.tallies(crawl.id)
        return tallies["hosts"], tallies["depth_max"]

    assert counted() == (2, 0)
    one.flush(children=[child(crawl, "http://a.test/3", depth=3), child(crawl, "http://c.test/", depth=1)])
    assert counted() == (3, 3)
    two.flush(children=[child(crawl, "http://a.test/2", depth=2), child(crawl, "http://c.test/", depth=9)])
    assert counted() == (3, 3), "a known URL keeps its depth, and two sessions are not added"
    two.flush(children=[child(crawl, "http://robots.test/robots.txt", depth=7, kind=Kind.ROBOTS)])
    assert counted() == (4, 3), "a robots.txt is a URL of a host, but no page"
    two.flush(children=[child(crawl, "http://a.test/5", depth=5)])
    assert counted() == (4, 5)
    assert catalog.check() == []


def test_a_host_whose_urls_are_all_refused_by_the_limit_is_not_counted(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, "http://a.test/", limits__max_urls=2)
    session = Session(backend)
    found = [child(crawl, f"http://{name}.test/", depth=1) for name in "bcd"]
    session.flush(children=found)
    assert catalog.tallies(crawl.id)["hosts"] == 2
    assert len(catalog.crawl_hosts(crawl.id, "", 9).hosts) == 2
    settings = crawl.settings
    limits = settings.limits.model_copy(update={"max_urls": 4})
    catalog.change_settings(crawl.id, settings.model_copy(update={"limits": limits}))
    session.flush(children=found)
    assert catalog.tallies(crawl.id)["hosts"] == 4
    assert len(session.load()) == 4
    assert catalog.check() == []


def test_depth_and_hosts_of_a_flush_that_failed_are_counted_by_the_next(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, "http://a.test/")
    session = Session(backend)
    batch = session.batch(children=[child(crawl, "http://b.test/4", depth=4)])
    with backend.full_disk(session.frontier, after=3), pytest.raises(DiskFull):
        session.send(batch)
    session.send(batch)
    tallies = catalog.tallies(crawl.id)
    assert (tallies["hosts"], tallies["depth_max"]) == (2, 4)


# --- when a row last changed ----------------------------------------------------------------------------------------


@pytest.mark.requirement("A-06", "ST-02")
def test_a_row_says_when_it_last_changed_and_is_sorted_by_it(backend: Backend, catalog: Catalog) -> None:
    """Found, found later, tried again, ended with and without an answer, in flight: each at a time of its own."""
    clock = backend.clock
    crawl = seeded(catalog, *(f"http://a.test/{n}" for n in range(5)))
    found_at = clock.now_ms()
    session = Session(backend)
    rows = {row.url[-1]: row for row in session.load()}

    def passed() -> int:
        clock.advance(1000)
        return clock.now_ms()

    expected = {"0": found_at}
    expected["6"] = passed()
    session.flush(children=[child(crawl, "http://a.test/6", depth=1)])
    expected["1"] = passed()
    session.flush(retries=[Retry(rows["1"].id, crawl.id, 60_000, 1, 0, "timeout")])
    expected["2"] = passed()
    session.flush(outcomes=[ended(rows["2"], crawl)])
    expected["3"] = passed()
    session.flush(outcomes=[Outcome(rows["3"].id, crawl.id, UrlState.EXCLUDED, "robots", 0)])
    expected["4"] = passed()
    session.flush(in_flight=[(rows["4"].id, clock.now_ms())])
    assert {url[-1]: row.updated_at for url, row in all_urls(catalog, crawl).items()} == expected
    for descending in (False, True):
        listed = catalog.sorted_urls(
            crawl.id, UrlFilter(), UrlSort.UPDATED_AT, descending=descending, limit=9, offset=0
        )
        assert [row.url[-1] for row in listed] == sorted(expected, key=expected.__getitem__, reverse=descending)
    second = catalog.sorted_urls(crawl.id, UrlFilter(), UrlSort.UPDATED_AT, descending=True, limit=1, offset=1)
    assert [row.url[-1] for row in second] == ["3"]


def test_rows_that_a_cancel_ends_change_then(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, "http://a.test/")
    session = Session(backend)
    backend.clock.advance(5000)
    catalog.steer(crawl.id, CrawlState.ENDING, "cancelled")
    session.load()
    (row,) = all_urls(catalog, crawl).values()
    assert (row.state, row.updated_at) == (UrlState.CANCELLED, backend.clock.now_ms())


def refused(crawl: int, reason: str, rule: str, host: str, url: str, found_on: int | None = 1) -> RefusedLink:
    return RefusedLink(crawl, reason, rule, host, url, found_on)


def test_refused_links_are_counted_by_rule_and_some_are_kept(backend: Backend, catalog: Catalog) -> None:
    crawl, other = seeded(catalog, A), seeded(catalog, B)
    matches, ending = (crawl.id, "exclude", "matches */x"), (crawl.id, "extension", ".pdf")
    links = [refused(*matches, "a.test", f"https://a.test/{number}/x") for number in range(2)]
    apart = [refused(crawl.id, "scope", "", "b.test", "https://b.test/"), refused(other.id, "scope", "", "", "x", None)]
    Session(backend).flush(refused_rules={matches: 2, ending: 3}, refused_links=[*links, *apart])
    more = [refused(*matches, "a.test", f"https://a.test/{number}/x") for number in range(1, 6)]
    session = Session(backend)
    for link in more:
        session.flush(refused_rules={matches: 1}, refused_links=[link])
    assert catalog.refused_rules(crawl.id) == [("exclude", "matches */x", 7), ("extension", ".pdf", 3)]
    found = catalog.refused_links(crawl.id)
    assert [link.url for link in found if link.reason == "exclude"] == [f"https://a.test/{n}/x" for n in range(3)]
    assert [link for link in found if link.reason == "scope"] == [apart[0]]
    assert catalog.refused_links(other.id) == [apart[1]]
    assert catalog.refused_rules(other.id) == []


def test_of_a_crawl_that_is_gone_no_refused_link_is_kept(backend: Backend, catalog: Catalog) -> None:
    Session(backend).flush(refused_rules={(99, "x", "y"): 1}, refused_links=[refused(99, "x", "y", "a.test", "z")])
    assert (catalog.refused_rules(99), catalog.refused_links(99)) == ([], [])
