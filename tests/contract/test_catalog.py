"""What the command line and the API read: listings, the trail of a URL, deletion."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import nephila.frontier.listing
import nephila.frontier.postgres.catalog
import nephila.frontier.rows
import nephila.frontier.sqlite.catalog
from nephila.errors import UsageError
from nephila.frontier.store import (
    CURRENT_MAX,
    ERRORS_KEPT,
    ERRORS_PER_FLUSH,
    FORGET_EVERY_MS,
    KEYS_KEPT_MS,
    Catalog,
    Crawl,
    ErrorNote,
    HostClock,
    KnownHost,
    Outcome,
    Retry,
    RobotsRecord,
    Upkeep,
    UrlFilter,
    UrlPage,
    UrlRow,
    UrlSort,
    Vitals,
)
from nephila.models import ArchivePlace, CrawlState, Kind, PageRecord, Timing, UrlState
from nephila.policy.politeness import Pace
from nephila.profiles import crawl_settings
from tests.contract.backend import Backend, PostgresBackend
from tests.contract.session import Session, all_urls, child, ended, seeded, states

BOUNDED = (
    nephila.frontier.listing,
    nephila.frontier.rows,
    nephila.frontier.sqlite.catalog,
    nephila.frontier.postgres.catalog,
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
    bound(monkeypatch, "SORTED_ROWS_MAX", few)
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
    assert list(catalog.archived(0, 10)) == [(1, row.id, "x.warc.gz", 10, 20, b"\x01" * 32)]
    assert list(catalog.archived(1, 10)) == []
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


def test_a_crawl_is_attended_as_long_as_somebody_sees_to_it(backend: Backend, catalog: Catalog) -> None:
    shared = isinstance(backend, PostgresBackend)  # there workers may come at any time: no crawl is ever interrupted
    crawl, other = seeded(catalog, A), seeded(catalog, B)
    command = backend.catalog()
    assert catalog.attended(crawl.id) is shared
    command.attend(crawl.id)
    command.attend(crawl.id)
    assert (catalog.attended(crawl.id), catalog.attended(other.id)) == (True, shared)
    catalog.attend(crawl.id)
    catalog.attend(other.id)
    assert (command.attended(crawl.id), command.attended(other.id)) == (True, True)


# --- deletion


def test_delete_and_purge_in_chunks_leave_other_crawls_whole(
    backend: Backend, catalog: Catalog, upkeep: Upkeep
) -> None:
    gone = seeded(catalog, *(f"http://h{n}.test/" for n in range(20)), *(f"http://a.test/{n}" for n in range(20)))
    kept = seeded(catalog, A, *(f"http://h{n}.test/" for n in range(20)), mark="kept")
    session = Session(backend)
    session.load()
    refusals = {(gone.id, "far.test", "scope"): 2, (kept.id, "far.test", "scope"): 3}
    outcomes = [
        ended(row, gone if window.crawl == gone.id else kept) for window in session.held.values() for row in window.rows
    ]
    session.flush(outcomes=outcomes, refusals=refusals, released=session.releases())
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
    while page := catalog.links(crawl.id, after, limit):
        assert [id for id, _ in page] == sorted({id for id, _ in page})
        assert page[0][0] > after
        found |= {names[id]: [names[target] for target in targets] for id, targets in page if targets}
        after = page[-1][0]
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
    first, second = catalog.hosts(crawl.id, "", 2)
    assert (first.queue.host, first.queue.open, first.queue.held_by) == ("a.test", 2, session.id)
    assert first.clock == catalog.host("a.test")
    assert first.clock is not None
    assert (first.clock.next_in_ms, first.clock.pace.errors, first.clock.requests) == (1500, 2, 7)
    assert (first.robots_version, first.robots_access) == (2, "rules")
    assert (second.queue, second.clock, second.robots_version) == (catalog.queue(crawl.id, "b.test"), None, None)
    assert [view.queue.host for view in catalog.hosts(crawl.id, "b.test", 10)] == ["c.test"]


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
