"""The heap of hosts on a virtual clock: who may be asked, and when."""

import pytest

from nephila.clock import VirtualClock
from nephila.frontier.store import Crawl, Row
from nephila.models import CrawlState, Kind
from nephila.policy.politeness import Pace
from nephila.profiles import crawl_settings
from nephila.settings import process_settings
from nephila.urls.admission import Found
from nephila.urls.identity import partition_of
from nephila.worker.crawls import KNOWN_MAX, KnownKeys, LiveCrawl
from nephila.worker.scheduler import (
    LATE_MS,
    UNREAD_BYTES_MAX,
    UNREAD_LATE_MAX,
    UNREAD_MAX,
    Host,
    Leaving,
    Queue,
    Scheduler,
)


def live_crawl(crawl_id: int = 1, **overrides: object) -> LiveCrawl:
    names = {name.replace("__", "."): value for name, value in overrides.items()}
    settings = crawl_settings("default", {"polite.adaptive": False} | names)
    crawl = Crawl(crawl_id, "u", ("https://a.test/",), settings, CrawlState.RUNNING, "", "", False, (), 0, None, 0)
    return LiveCrawl(crawl, process_settings())


def rows(count: int, start: int = 0) -> list[Row]:
    return [Row(start + n, f"https://h/{start + n}", 0, Kind.PAGE, 0, 0, 0, None) for n in range(count)]


def held_host(
    scheduler: Scheduler, key: str, crawl: LiveCrawl, count: int = 2, next_tick: float = 0.0, queue_id: int = 0
) -> Queue:
    host = scheduler.hosts.get(key) or Host(key, partition_of(key), next_tick, Pace(), 0, "")
    queue = Queue(queue_id or len(scheduler.queues) + 1, crawl, host, 0)
    scheduler.add_queue(queue, rows(count, 1000 * queue.id))
    return queue


@pytest.mark.requirement("F-14", "F-30", "P-05", "PF-05")
def test_ten_thousand_cooling_hosts_never_hide_a_ready_one(clock: VirtualClock) -> None:
    scheduler, crawl = Scheduler(), live_crawl()
    for number in range(10_000):
        held_host(scheduler, f"cooling{number}.test", crawl, next_tick=60_000.0)
    assert scheduler.pop(clock.tick_ms()) is None
    held_host(scheduler, "ready.test", crawl)
    picked = scheduler.pop(clock.tick_ms())
    assert picked is not None
    assert picked[0].key == "ready.test"
    assert scheduler.next_tick() == 60_000.0


def send(scheduler: Scheduler, now: float) -> str | None:
    """Start a request to whoever may be asked; its host's key."""
    picked = scheduler.pop(now)
    if picked is None:
        return None
    host, queue = picked
    scheduler.take(queue)
    scheduler.started(host, now, host.gap_ms(0.0))
    queue.crawl.request_started(now)
    return host.key


@pytest.mark.requirement("P-15")
def test_a_pause_is_of_the_crawl_and_not_of_its_hosts(clock: VirtualClock) -> None:
    """Two hosts of a crawl that pauses 500 ms: one request at a time, whatever the host. Another crawl on the same host
    goes on, and no host's own gap is longer."""
    scheduler = Scheduler()
    slow = live_crawl(1, polite__pause_ms=500, polite__floor_ms=40, polite__max_inflight=4)
    other = live_crawl(2, polite__floor_ms=40, polite__max_inflight=4)
    for key in ("a.test", "b.test"):
        held_host(scheduler, key, slow, count=3)
    assert [send(scheduler, 0.0), send(scheduler, 0.0), send(scheduler, 499.0)] == ["a.test", None, None]
    assert scheduler.next_tick() == 500.0
    assert [send(scheduler, 500.0), send(scheduler, 501.0)] == ["b.test", None]
    quick = held_host(scheduler, "a.test", other, count=2)
    assert [send(scheduler, 510.0), send(scheduler, 549.0), send(scheduler, 550.0)] == ["a.test", None, "a.test"]
    assert not quick.rows, "both were of the crawl that does not pause"
    assert scheduler.hosts["a.test"].gap_ms(0.0) == 40
    assert send(scheduler, 1000.0) in ("a.test", "b.test")


@pytest.mark.requirement("P-01", "P-06", "K08")
def test_one_request_at_a_time_and_the_delay_counts_from_its_end() -> None:
    scheduler = Scheduler()
    queue = held_host(scheduler, "a.test", live_crawl(polite__floor_ms=1000), count=3)
    assert send(scheduler, 0.0) == "a.test"
    assert send(scheduler, 5000.0) is None, "one is in flight"
    scheduler.finished(queue.host, 5000.0, queue.host.gap_ms(0.0))
    assert send(scheduler, 5999.0) is None
    assert send(scheduler, 6000.0) == "a.test"


@pytest.mark.requirement("P-14", "K08", "K09")
def test_several_requests_at_a_time_start_a_delay_apart() -> None:
    scheduler = Scheduler()
    held_host(scheduler, "a.test", live_crawl(polite__floor_ms=100, polite__max_inflight=2), count=5)
    assert send(scheduler, 0.0) == "a.test"
    assert send(scheduler, 50.0) is None
    assert send(scheduler, 100.0) == "a.test"
    assert send(scheduler, 900.0) is None, "two are in flight"


@pytest.mark.requirement("K08")
def test_where_several_may_be_in_flight_an_end_delays_nothing() -> None:
    scheduler = Scheduler()
    queue = held_host(scheduler, "a.test", live_crawl(polite__floor_ms=100, polite__max_inflight=2), count=5)
    assert send(scheduler, 0.0) == "a.test"
    scheduler.finished(queue.host, 90.0, queue.host.gap_ms(0.0))
    assert send(scheduler, 99.0) is None
    assert send(scheduler, 100.0) == "a.test"


@pytest.mark.requirement("K09")
def test_of_two_crawls_on_a_host_the_smaller_number_in_flight_holds() -> None:
    scheduler = Scheduler()
    held_host(scheduler, "a.test", live_crawl(1, polite__floor_ms=0, polite__max_inflight=4), count=3, queue_id=1)
    queue = held_host(scheduler, "a.test", live_crawl(2, polite__floor_ms=0), count=3, queue_id=2)
    assert send(scheduler, 0.0) == "a.test"
    assert send(scheduler, 1000.0) is None
    scheduler.finished(queue.host, 1000.0, 0.0)
    assert send(scheduler, 1000.0) == "a.test"


def test_two_crawls_take_turns_and_the_gentler_one_sets_the_pace() -> None:
    scheduler = Scheduler()
    fast = live_crawl(1, polite__floor_ms=10, polite__max_inflight=4)
    slow = live_crawl(2, polite__floor_ms=500, polite__max_inflight=1)
    held_host(scheduler, "a.test", fast, count=3, queue_id=1)
    queue = held_host(scheduler, "a.test", slow, count=3, queue_id=2)
    order, now = [], 0.0
    for _ in range(4):
        picked = scheduler.pop(now)
        assert picked is not None
        host, chosen = picked
        order.append(chosen.crawl.id)
        scheduler.take(chosen)
        scheduler.started(host, now, host.gap_ms(0.0))
        assert scheduler.pop(now + 400) is None, "the smaller number in flight and the larger delay hold"
        scheduler.finished(host, now, host.gap_ms(0.0))
        now += 500
    assert order == [1, 2, 1, 2]
    assert queue.host.delay_ms(queue.host.pace) == 500


def test_a_resting_host_waits_and_says_why() -> None:
    scheduler = Scheduler()
    queue = held_host(scheduler, "a.test", live_crawl(polite__floor_ms=0))
    scheduler.rest(queue.host, 3000.0, "retry_after")
    assert send(scheduler, 2999.0) is None
    assert queue.host.rest_reason == "retry_after"
    assert [host.key for host in scheduler.resting(1000.0)] == ["a.test"]
    assert send(scheduler, 3000.0) == "a.test"


def test_a_paused_crawl_sends_nothing_and_a_granted_one_is_woken() -> None:
    scheduler, crawl = Scheduler(), live_crawl(limits__max_pages=5)
    queue = held_host(scheduler, "a.test", crawl)
    assert send(scheduler, 0.0) is None
    assert crawl.starved
    crawl.granted = 1
    scheduler.refresh(queue.host)
    assert send(scheduler, 0.0) == "a.test"


def test_rows_that_are_held_are_not_added_twice() -> None:
    scheduler = Scheduler()
    queue = held_host(scheduler, "a.test", live_crawl(), count=3)
    first = scheduler.take(queue)
    assert scheduler.add_rows(queue, rows(5, 1000)) == 2
    assert first.id in queue.held
    scheduler.drop_rows(queue)
    assert queue.held == {first.id}
    assert scheduler.rows == 0


def test_a_host_without_queues_is_forgotten() -> None:
    scheduler = Scheduler()
    queue = held_host(scheduler, "a.test", live_crawl())
    scheduler.remove_queue(queue)
    assert (scheduler.hosts, scheduler.queues, scheduler.rows) == ({}, {}, 0)
    assert scheduler.pop(10.0) is None
    assert scheduler.next_tick() is None


def test_a_reserved_host_is_for_the_visit_that_waits_there() -> None:
    scheduler = Scheduler()
    queue = held_host(scheduler, "a.test", live_crawl(polite__floor_ms=0))
    queue.host.reserved = 1
    scheduler.refresh(queue.host)
    assert send(scheduler, 0.0) is None
    queue.host.reserved = 0
    scheduler.refresh(queue.host)
    assert send(scheduler, 0.0) == "a.test"


@pytest.mark.parametrize(
    ("bodies", "body_bytes", "waited_ms"),
    [(2, UNREAD_BYTES_MAX // 2, 0.0), (UNREAD_MAX, 1, 0.0), (UNREAD_LATE_MAX, 1, LATE_MS + 1)],
    ids=["many bytes", "many bodies", "late ones"],
)
def test_a_host_whose_bodies_wait_to_be_read_waits_alone(bodies: int, body_bytes: int, waited_ms: float) -> None:
    scheduler, crawl = Scheduler(), live_crawl(polite__floor_ms=0, polite__max_inflight=100)
    evil = held_host(scheduler, "evil.test", crawl, count=9).host
    held_host(scheduler, "good.test", crawl, count=20)
    for _ in range(bodies - 1):
        scheduler.waits(evil, body_bytes, 0.0)
    now = waited_ms
    assert {send(scheduler, now) for _ in range(4)} == {"evil.test", "good.test"}
    scheduler.waits(evil, body_bytes, now)
    assert {send(scheduler, now) for _ in range(4)} == {"good.test"}
    scheduler.refresh(evil)
    assert send(scheduler, now) == "good.test", "whatever else changes"
    scheduler.read(evil, body_bytes, 0.0, now)
    assert {send(scheduler, now) for _ in range(2)} == {"evil.test", "good.test"}


def test_after_a_body_that_waited_long_few_may_wait_until_one_is_read_soon() -> None:
    scheduler, crawl = Scheduler(), live_crawl(polite__floor_ms=0, polite__max_inflight=100)
    host, late = held_host(scheduler, "a.test", crawl, count=100).host, LATE_MS + 1
    scheduler.waits(host, 1, 0.0)
    scheduler.read(host, 1, 0.0, late)
    for _ in range(UNREAD_LATE_MAX):
        assert send(scheduler, late) == "a.test"
        scheduler.waits(host, 1, late)
    assert send(scheduler, late) is None
    scheduler.read(host, 1, late, late)
    assert [send(scheduler, late) for _ in range(9)] == ["a.test"] * 9
    assert host.unread == UNREAD_LATE_MAX - 1


@pytest.mark.requirement("D-06")
def test_known_keys_are_bounded_and_forget_the_older_half() -> None:
    known = KnownKeys()
    keys = [number.to_bytes(16, "big") for number in range(KNOWN_MAX + 10)]
    first, last = (Found("", "", key, "") for key in (keys[0], keys[-1]))
    known.update(keys[: KNOWN_MAX // 2 + 1])
    assert known.missing([first, last]) == [last]
    known.update(keys[KNOWN_MAX // 2 + 1 :])
    assert known.missing([first, last]) == [first]


def test_a_requisite_needs_no_grant_and_a_page_waits_for_one() -> None:
    crawl = live_crawl(limits__max_pages=5, scope__requisites="all")
    host = Host("a.test", 0, 0.0, Pace(), 0, "")
    queue = Queue(1, crawl, host, 0)
    host.add(queue)
    page = Row(1, "https://a.test/", 0, Kind.PAGE, 0, 0, 0, None)
    queue.rows.append(page)
    assert not queue.sendable() and crawl.starved
    queue.rows.appendleft(page._replace(id=2, kind=Kind.REQUISITE))
    assert queue.sendable()
    queue.leaving = Leaving.PAUSED
    assert not queue.sendable()
