"""What is handed out, in which order, and when."""

from contextlib import suppress
from dataclasses import fields, replace

import pytest

from nephila.errors import Fenced
from nephila.frontier.catalog import Catalog
from nephila.frontier.store import HostClock, Refill, Release, Retry, RobotsRecord
from nephila.models import Kind, UrlState
from nephila.policy.politeness import Pace
from tests.contract.backend import Backend
from tests.contract.session import Session, child, ended, hosts_in, seeded

A = "http://a.test/"


@pytest.mark.requirement("F-15", "F-20", "F-17", "K23")
@pytest.mark.parametrize("window", [100, 3])
def test_rows_come_by_priority_then_in_the_order_found(backend: Backend, catalog: Catalog, window: int) -> None:
    crawl = seeded(catalog)
    for number, priority in enumerate([5, 1, 5, 0, 1]):
        catalog.add_seeds(crawl.id, [child(crawl, f"http://a.test/{number}", priority=priority)])
    found = [row.url[-1] for row in Session(backend).load(window=window)]
    assert found == ["3", "1", "4", "0", "2"][:window]


@pytest.mark.requirement("F-24")
def test_a_refill_answers_the_first_open_rows_those_held_among_them(backend: Backend, catalog: Catalog) -> None:
    urls = [f"http://a.test/{number}" for number in range(20)]
    crawl = seeded(catalog)
    for url in urls:
        catalog.add_seeds(crawl.id, [child(crawl, url)])
    session = Session(backend)
    rows = session.load(window=8)
    assert [row.url for row in rows] == urls[:8]
    (queue,) = session.held
    done = [ended(row, crawl) for row in rows[:5]]
    (window,) = session.flush(outcomes=done, refills=[Refill(queue, 3 + 8)]).refills
    assert [row.url for row in window.rows] == urls[5:16]
    assert session.load() == [], "a held queue is not handed out again"


@pytest.mark.requirement("F-03", "K28", "K41")
def test_a_queue_is_handed_to_the_owner_of_its_partition_and_to_nobody_else(backend: Backend, catalog: Catalog) -> None:
    holder, other = Session(backend), Session(backend)
    holder.flush(hand_back=holder.lease().give)
    other.lease()
    assert holder.parts and other.parts
    url = f"http://{hosts_in(holder.parts)[0]}/"
    crawl = seeded(catalog, url)
    assert other.load() == []
    assert [row.url for row in holder.load()] == [url]
    holder.flush(children=[child(crawl, f"{url}x")])
    assert other.load() == []


@pytest.mark.requirement("K15", "K40")
def test_a_retry_comes_back_at_its_time_and_not_before(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    session.flush(retries=[Retry(row.id, crawl.id, 1500, 1, 0, "timeout")], released=session.releases())
    assert session.load() == []
    assert session.flush(next_due=True).next_due_in_ms == 1500
    backend.clock.advance(1499)
    assert session.load() == []
    backend.clock.advance(1)
    (again,) = session.load()
    assert (again.id, again.tries) == (row.id, 1)
    shown = catalog.url_by_id(row.id)
    assert shown is not None
    assert (shown.retries, shown.reason) == (1, "timeout")


def test_a_waiting_retry_does_not_hide_fresh_rows_and_a_due_one_comes_first(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    session.flush(retries=[Retry(row.id, crawl.id, 1000, 1, 2, "timeout", limited=3)], released=session.releases())
    session.flush(children=[child(crawl, "http://a.test/fresh")])
    assert [row.url for row in session.load()] == ["http://a.test/fresh"]
    backend.clock.advance(1000)
    (queue,) = session.held
    (window,) = session.flush(refills=[Refill(queue, 10)]).refills
    found = [(row.url, row.crashes, row.limited) for row in window.rows]
    assert found == [(A, 2, 3), ("http://a.test/fresh", 0, 0)]
    (window,) = session.flush(refills=[Refill(queue, 1)]).refills
    assert [row.url for row in window.rows] == [A], "never more than asked for"


@pytest.mark.requirement("S-06")
def test_a_resting_queue_is_not_loaded_before_its_rest_is_over(backend: Backend, catalog: Catalog) -> None:
    seeded(catalog, A)
    session = Session(backend)
    session.load()
    session.flush(released=session.releases(in_ms=5000))
    assert session.load() == []
    backend.clock.advance(5000)
    assert len(session.load()) == 1


@pytest.mark.requirement("F-30")
def test_resting_hosts_never_hide_a_ready_one(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, *(f"http://h{number}.test/" for number in range(300)))
    session = Session(backend)
    while session.load():
        pass
    assert len(session.held) == 300
    session.flush(released=session.releases(in_ms=60_000))
    session.flush(children=[child(crawl, "http://ready.test/")])
    assert [row.url for row in session.load(queues=1)] == ["http://ready.test/"]


def test_no_partition_is_always_last(backend: Backend, catalog: Catalog) -> None:
    """With room for one queue a time each is handed out sooner or later."""
    seeded(catalog, *(f"http://h{number}.test/" for number in range(30)))
    session = Session(backend)
    for _ in range(30):
        session.load(queues=1)
    assert len(session.held) == 30


def test_per_host_counts_survive_a_release(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    session.load()
    (queue,) = session.held
    session.flush(released=[Release(queue, 0, 17)])
    session.load()
    assert session.held[queue].fetched == 17
    shown = catalog.queue(crawl.id, "a.test")
    assert shown is not None
    assert (shown.fetched, shown.open, shown.held_by, shown.due_in_ms) == (17, 1, session.id, 0)


def test_per_host_counts_are_stored_while_the_queue_is_held(backend: Backend, catalog: Catalog) -> None:
    """A viewer sees them, and `max_urls_per_host` holds after the death of a worker."""
    crawl = seeded(catalog, A)
    session = Session(backend)
    session.load()
    (queue,) = session.held
    session.flush(fetched=[(queue, 3)])
    shown = catalog.queue(crawl.id, "a.test")
    assert shown is not None
    assert (shown.fetched, shown.held_by) == (3, session.id)
    backend.kill(session.frontier)
    heir = Session(backend)
    heir.load()
    assert heir.held[queue].fetched == 3
    with suppress(Fenced):
        session.flush(fetched=[(queue, 9)])
    assert catalog.crawl_hosts(crawl.id, "", 1).hosts[0].queue.fetched == 3, (
        "only who holds a queue counts its requests"
    )


# --- what the owner of a host remembers


@pytest.mark.requirement("S-06", "RC-07")
def test_a_hosts_clock_survives_its_owner(backend: Backend, catalog: Catalog) -> None:
    seeded(catalog, A)
    session = Session(backend)
    session.load()
    pace = Pace(latency_ms=12.5, slowdown=2.0, errors=3, strikes=1, crawl_delay_ms=900, nxdomain=1)
    session.flush(clocks=[HostClock("a.test", 4000, 1000, pace, "backoff", 9, "127.0.0.1", "a.cname.test")])
    backend.kill(session.frontier)
    backend.clock.advance(1000)
    heir = Session(backend)
    record = heir.flush(new_queues=10, window=10).hosts["a.test"]
    assert (record.next_in_ms, record.pace, record.rest_reason, record.requests) == (3000, pace, "backoff", 9)
    row = catalog.host("a.test")
    assert row is not None
    assert (row.delay_ms, row.addresses, row.cnames) == (1000, "127.0.0.1", "a.cname.test")
    heir.flush(clocks=[HostClock("a.test", 0, 1000, pace, "", 10)])
    row = catalog.host("a.test")
    assert row is not None
    assert (row.addresses, row.requests, row.rest_reason) == ("127.0.0.1", 10, ""), (
        "addresses stay until there are new ones"
    )


def test_every_field_of_a_hosts_pace_is_written_each_time(backend: Backend, catalog: Catalog) -> None:
    """An operator's delay too: it changes while the host is known."""
    session = Session(backend)
    for number in (1, 2):
        pace = Pace(**{field.name: number + place for place, field in enumerate(fields(Pace))})
        session.flush(clocks=[HostClock("a.test", 0, 1000, pace, "", number)])
        row = catalog.host("a.test")
        assert row is not None
        assert row.pace == pace


def test_an_unknown_host_may_be_asked_at_once(backend: Backend, catalog: Catalog) -> None:
    seeded(catalog, A)
    record = Session(backend).flush(new_queues=10, window=10).hosts["a.test"]
    assert (record.next_in_ms, record.pace, record.robots) == (0, Pace(), [])
    assert catalog.host("a.test") is None


@pytest.mark.requirement("W-14")
def test_a_look_up_without_a_request_leaves_a_hosts_clock_alone(backend: Backend, catalog: Catalog) -> None:
    seeded(catalog, A)
    session = Session(backend)
    pace = Pace(latency_ms=12.5, slowdown=2.0, errors=3, strikes=1, crawl_delay_ms=900, nxdomain=1)
    session.flush(clocks=[HostClock("a.test", 4000, 1000, pace, "backoff", 9)])
    backend.clock.advance(1000)
    session.flush(resolved=[HostClock("a.test", 5000, 500, Pace(), "", 0, "192.0.2.1 192.0.2.2", "b.test c.test")])
    known = HostClock("a.test", 3000, 1000, pace, "backoff", 9, "192.0.2.1 192.0.2.2", "b.test c.test")
    assert catalog.host("a.test") == known
    session.flush(resolved=[HostClock("a.test", 0, 0, Pace(), "", 0, "192.0.2.3")])
    assert catalog.host("a.test") == replace(known, addresses="192.0.2.3", cnames=""), "the chain is that of the answer"
    assert session.flush(new_queues=10, window=10).hosts["a.test"].next_in_ms == 3000


@pytest.mark.requirement("W-14")
def test_a_host_that_was_only_looked_up_is_known(backend: Backend, catalog: Catalog) -> None:
    seeded(catalog, A, "http://b.test/")
    session = Session(backend)
    session.flush(resolved=[HostClock("a.test", 1, 1000, Pace(), "", 0, "192.0.2.1 192.0.2.2")])
    backend.clock.advance(1)
    records = session.flush(new_queues=10, window=10).hosts
    assert {host: record.resolved for host, record in records.items()} == {"a.test": True, "b.test": False}
    assert (records["a.test"].next_in_ms, records["a.test"].requests) == (0, 0)
    assert catalog.addresses({"a.test", "b.test", "c.test"}) == {"a.test": "192.0.2.1 192.0.2.2"}
    assert catalog.addresses([]) == {}
    session.flush(clocks=[HostClock("b.test", 0, 1000, Pace(), "", 1)], released=session.releases())
    assert not session.flush(new_queues=10, window=10).hosts["b.test"].resolved, "it was asked, by whatever address"


@pytest.mark.requirement("S-06", "RC-07")
def test_robots_survive_their_fetcher_for_every_origin_of_the_host(backend: Backend, catalog: Catalog) -> None:
    seeded(catalog, A)
    session = Session(backend)
    plain = RobotsRecord("http://a.test", "a.test", "rules", 200, b"User-agent: *\n", 60_000, 0, "", 5)
    secure = RobotsRecord("https://www.a.test", "a.test", "hold", None, b"", 1000, 2, "timeout", 6)
    session.flush(robots=[plain, secure])
    backend.kill(session.frontier)
    backend.clock.advance(500)
    robots = Session(backend).flush(new_queues=10, window=10).hosts["a.test"].robots
    assert {record.origin: record.expires_in_ms for record in robots} == {
        "http://a.test": 59_500,
        "https://www.a.test": 500,
    }
    stored = catalog.robots("https://www.a.test")
    assert stored is not None
    assert (stored.access, stored.failures, stored.detail) == ("hold", 2, "timeout")
    assert catalog.robots("http://other.test") is None


def test_a_robots_row_is_loaded_like_any_other(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog)
    session = Session(backend)
    (host,) = hosts_in(session.parts)
    session.flush(children=[child(crawl, f"http://{host}/robots.txt", kind=Kind.ROBOTS)])
    (row,) = session.load()
    assert row.kind is Kind.ROBOTS


def test_a_suspect_row_counts_its_crashes(backend: Backend, catalog: Catalog) -> None:
    crawl = seeded(catalog, A)
    session = Session(backend)
    (row,) = session.load()
    backend.kill(session.frontier)
    catalog.mark_suspect(row.id)
    heir = Session(backend)
    (again,) = heir.load()
    assert again.crashes == 1
    heir.flush(outcomes=[ended(again, crawl, state=UrlState.FAILED)])
    catalog.mark_suspect(row.id)
    assert catalog.check() == []
