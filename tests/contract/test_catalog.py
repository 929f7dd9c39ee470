"""What the command line and the API read: listings, the trail of a URL, deletion."""

import pytest

from nephila.errors import UsageError
from nephila.frontier.store import CURRENT_MAX, Catalog, Crawl, Retry, Upkeep, UrlFilter, Vitals
from nephila.models import ArchivePlace, CrawlState, PageRecord, Timing, UrlState
from tests.contract.backend import Backend, PostgresBackend
from tests.contract.session import Session, all_urls, child, ended, seeded, states

A, B = "http://a.test/", "http://b.test/"


def pages(catalog: Catalog, crawl: Crawl, where: UrlFilter, limit: int) -> list[str]:
    """All pages of a listing, each asked with the last id of the one before."""
    found: list[str] = []
    after = 0
    while rows := catalog.urls(crawl.id, after, limit, where):
        assert len(rows) <= limit
        found += [row.url for row in rows]
        after = rows[-1].id
    return found


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


@pytest.mark.requirement("A-06", "F-01")
@pytest.mark.parametrize("limit", [1, 3, 100])
@pytest.mark.parametrize(
    ("where", "expected"),
    [
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
    ],
    ids=repr,
)
def test_listings_page_by_id_and_filter(
    catalog: Catalog, mixed: Crawl, where: UrlFilter, expected: list[str], limit: int
) -> None:
    assert sorted(pages(catalog, mixed, where, limit)) == expected


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
