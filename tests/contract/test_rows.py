"""One row per URL, one outcome per row, parent and children together."""

import pytest

from nephila.errors import DiskFull
from nephila.frontier.catalog import Catalog
from nephila.frontier.store import HostClock, Retry, RobotsRecord
from nephila.frontier.upkeep import Upkeep
from nephila.models import ArchivePlace, CrawlState, Kind, Refusal, UrlState
from nephila.policy.politeness import Pace
from tests.contract.backend import Backend
from tests.contract.session import Session, all_urls, child, ended, seeded, states

A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"


@pytest.mark.requirement("F-01", "F-02", "D-01", "F-11", "K20")
def test_a_url_has_one_row_whoever_finds_it(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, B, C)
    one, two = Session(backend), Session(backend)
    rows = {row.url: row for row in one.load()}
    assert rows.keys() == {A, B, C}
    found = ["http://a.test/x", "http://new.test/y"]
    one.flush(outcomes=[ended(rows[A], crawl, *found, *found, B), ended(rows[B], crawl, *found)])  # twice in a batch
    one.flush(outcomes=[ended(rows[C], crawl, *found, A)])  # in a later one
    two.flush(children=[child(crawl, url) for url in [*found, A]])  # in another session
    assert catalog.add_seeds(crawl.id, [child(crawl, url) for url in [*found, "http://z.test/"]]) == 1
    assert all_urls(catalog, crawl).keys() == {A, B, C, *found, "http://z.test/"}
    assert catalog.tallies(crawl.id)["urls"] == 6
    assert catalog.check() == []


@pytest.mark.requirement("F-09", "F-22")
def test_a_child_keeps_where_it_came_from(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (seed,) = session.load()
    session.flush(outcomes=[ended(seed, crawl, "http://a.test/x")])
    row = all_urls(catalog, crawl)["http://a.test/x"]
    assert (row.discovered_from, row.depth, row.raw_url) == (seed.id, 1, "http://a.test/x")
    assert all_urls(catalog, crawl)[A].discovered_from is None


def test_two_crawls_with_the_same_url_are_independent(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    first, second = seeded(catalog, A, mark="1"), seeded(catalog, A, mark="2")
    session = Session(backend)
    session.load()
    rows = {window.crawl: window.rows[0] for window in session.held.values()}
    assert rows.keys() == {first.id, second.id}
    session.flush(outcomes=[ended(rows[first.id], first)], released=session.releases())
    assert states(catalog, first) == {A: UrlState.VISITED}
    assert states(catalog, second) == {A: UrlState.QUEUED}
    upkeep.run_once()
    assert (catalog.crawl(first.id).state, catalog.crawl(second.id).state) == (CrawlState.COMPLETED, CrawlState.RUNNING)


# --- the permit


@pytest.mark.requirement("F-03", "F-04", "F-27", "K41")
def test_an_ended_row_takes_no_second_outcome_and_no_children(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A, B)
    session = Session(backend)
    session.load()
    a, b = session.row(A), session.row(B)
    session.flush(outcomes=[ended(a, crawl, "http://a.test/x")])
    late = [ended(a, crawl, "http://a.test/late", state=UrlState.FAILED), ended(b, crawl, "http://b.test/y")]
    assert session.flush(outcomes=late).refused_outcomes == 1
    assert states(catalog, crawl) == {
        A: UrlState.VISITED,
        B: UrlState.VISITED,
        "http://a.test/x": UrlState.QUEUED,
        "http://b.test/y": UrlState.QUEUED,
    }
    assert catalog.check() == []


def test_two_outcomes_for_a_row_in_one_batch_are_one(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    twice = [ended(row, crawl), ended(row, crawl, B, state=UrlState.FAILED)]
    assert session.flush(outcomes=twice).refused_outcomes == 1
    assert states(catalog, crawl) in ({A: UrlState.VISITED}, {A: UrlState.FAILED, B: UrlState.QUEUED})
    assert catalog.check() == []


def test_an_ended_row_is_not_retried(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    session.flush(outcomes=[ended(row, crawl)])
    session.flush(retries=[Retry(row.id, crawl.id, 0, 2, 0, "timeout")], released=session.releases())
    assert session.load() == []
    assert states(catalog, crawl) == {A: UrlState.VISITED}


def test_a_row_id_given_again_is_no_permit_for_the_old_row(backend: Backend, catalog: Catalog, upkeep: Upkeep) -> None:
    """The rows of a deleted crawl are gone; a late outcome must not end whoever got their ids."""
    old = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    catalog.delete(old.id)
    while upkeep.purge(old.id, 100):
        pass
    new = seeded(catalog, B)
    children = [child(old, "http://late.test/")]
    answer = session.flush(outcomes=[ended(row, old, "http://a.test/x")], children=children)
    assert answer.refused_outcomes == 1
    assert states(catalog, new) == {B: UrlState.QUEUED}
    assert catalog.check() == []


# --- one transaction


def _rich_batch(session: Session, crawl: object) -> dict[str, object]:
    a, b = session.row(A), session.row(B)
    outcome = ended(a, crawl, "http://a.test/x", "http://new.test/")  # type: ignore[arg-type]
    assert outcome.page is not None
    outcome.page.archive = ArchivePlace("one.warc.gz", 0, 100)
    return {
        "outcomes": [outcome],
        "retries": [Retry(b.id, outcome.crawl, 1000, 1, 0, "timeout")],
        "clocks": [HostClock("a.test", 1000, 1000, Pace(), "", 1)],
        "resolved": [HostClock("new.test", 1, 1000, Pace(), "", 0, "192.0.2.1")],
        "robots": [RobotsRecord("http://a.test", "a.test", "allow_all", 404, b"", 1000)],
        "tallies": {(outcome.crawl, "bytes"): 7},
        "refusals": {(outcome.crawl, "other.test", Refusal.SCOPE): 3},
        "joined_hosts": [(outcome.crawl, "www.a.test")],
        "archive_files": [("one.warc.gz", 100)],
        "released": session.releases(),
        "grants_wanted": {outcome.crawl: 5},
        "new_queues": 10,
        "window": 10,
    }


@pytest.mark.requirement("F-12", "F-07", "RC-09")
def test_a_failure_at_any_statement_changes_nothing_and_the_batch_can_be_sent_again(
    backend: Backend, catalog: Catalog
) -> None:
    """The disk fills up before the 1st, the 2nd, ... statement of the flush, until it comes through."""
    crawl = seeded(catalog, A, B, limits__max_urls=100, limits__max_pages=50)
    session = Session(backend)
    session.load(grants_wanted={crawl.id: 2})
    before, tallies = states(catalog, crawl), catalog.tallies(crawl.id)
    batch = session.batch(**_rich_batch(session, crawl))
    failures = 0
    while True:
        try:
            with backend.full_disk(session.frontier, failures):
                answer = session.send(batch)
            break
        except DiskFull:
            failures += 1
            assert states(catalog, crawl) == before
            assert catalog.tallies(crawl.id) == tallies
            assert catalog.crawl(crawl.id).joined_hosts == ()
            assert failures < 500
    assert failures > 15, "the faults were not injected"
    assert not answer.repeated
    assert sorted(row.url for window in answer.windows for row in window.rows) == [
        "http://a.test/x",
        "http://new.test/",
    ]
    after = catalog.tallies(crawl.id)
    assert (after["urls"], after["visited"], after["bytes"]) == (4, 1, 7)
    assert catalog.refusals(crawl.id) == [("other.test", "scope", 3)]
    assert catalog.crawl(crawl.id).joined_hosts == ("www.a.test",)
    assert catalog.check() == []


def test_hosts_join_the_scope_once_each(backend: Backend, catalog: Catalog) -> None:
    first, second = seeded(catalog, A), seeded(catalog, B)
    session = Session(backend)
    for names in (("b.test", "a.test", "b.test"), ("c.test", "a.test")):
        session.flush(joined_hosts=[(second.id, "x.test"), *((first.id, name) for name in names)])
    assert catalog.crawl(first.id).joined_hosts == ("b.test", "a.test", "c.test")
    assert catalog.crawl(second.id).joined_hosts == ("x.test",)


def test_after_a_failure_no_stale_queue_is_remembered(backend: Backend, catalog: Catalog) -> None:
    """The queue of a new host was rolled back with its batch; meanwhile another session may have got its id."""
    crawl = seeded(catalog, A)
    one, two = Session(backend), Session(backend)
    (row,) = one.load()
    batch = one.batch(outcomes=[ended(row, crawl, "http://rolled-back.test/")])
    for statement in range(6, 40):
        with backend.full_disk(one.frontier, statement):
            try:
                one.send(batch)
                break
            except DiskFull:
                two.flush(children=[child(crawl, f"http://other{statement}.test/")])
    assert catalog.queue(crawl.id, "rolled-back.test") is not None
    assert catalog.check() == []


def test_rows_of_every_kind_are_kept_apart_by_nothing_but_their_url(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    robots = child(crawl, "http://b.test/robots.txt", kind=Kind.ROBOTS)
    session.flush(children=[robots, robots])
    rows = {row.url: row for row in session.load()}
    assert rows["http://b.test/robots.txt"].kind is Kind.ROBOTS
    assert rows["http://b.test/robots.txt"].raw == robots.raw
    assert catalog.tallies(crawl.id)["urls"] == 2
