"""What a session holds: a flush is made of it, and its answer is taken in."""

from dataclasses import replace

import pytest

from nephila.frontier.operators import BlockKind, BlockRule, HostRule, Rulings
from nephila.frontier.store import Batch, Flushed, HostRecord, Outcome, Refill, Release, RobotsRecord, Window
from nephila.models import Child, CrawlState, Reason, UrlState
from nephila.policy.balance import Lease
from nephila.policy.politeness import Pace
from nephila.settings import process_settings
from nephila.urls.identity import partition_of
from nephila.worker.holdings import (
    GRANTS_AHEAD,
    GRANTS_MIN,
    LONG_REST_MS,
    QUEUES_PER_LOAD,
    ROBOTS_LOOK_MS,
    WINDOW_MIN,
    Holdings,
)
from nephila.worker.pending import Cut
from nephila.worker.scheduler import Leaving, Queue
from nephila.worker.visit import Ending, Visit
from tests.unit.worker.test_scheduler import live_crawl, rows

PART = partition_of("h")


def held(count: int = 3, record: HostRecord | None = None, **settings: object) -> tuple[Holdings, Queue]:
    """Holdings that took in one window of host h, queue 7."""
    holdings = Holdings(process_settings())
    holdings.crawls[1] = live_crawl(1, **settings)
    holdings.partitions = {PART: None}
    load(holdings, count, record)
    return holdings, holdings.scheduler.queues[7]


def load(holdings: Holdings, count: int, record: HostRecord | None = None, now: float = 0.0) -> None:
    answer = Flushed(windows=[Window(7, 1, "h", rows(count))])
    answer.hosts = {"h": record or HostRecord(0, Pace(), "", 0, [])}
    holdings.take(Cut(Batch(1), [], [], []), answer, now)


def cut(holdings: Holdings, now: float = 0.0, *, hungry: bool = True) -> Cut:
    return holdings.cut(Batch(2), now, hungry=hungry)


def taken(holdings: Holdings, done: Cut, **answer: object) -> None:
    holdings.take(done, Flushed(**answer), 0.0)  # type: ignore[arg-type]


# --- what is asked for


def test_more_queues_are_wanted_while_there_is_room() -> None:
    holdings, _ = held()
    assert (cut(holdings).batch.new_queues, cut(holdings).batch.window) == (QUEUES_PER_LOAD, WINDOW_MIN)
    assert cut(holdings, hungry=False).batch.new_queues == 0


def test_a_window_that_runs_low_is_refilled_with_what_is_held() -> None:
    holdings, queue = held(3)
    assert cut(holdings).batch.refills == [Refill(7, 3 + WINDOW_MIN)]
    taken(
        holdings, Cut(Batch(2, refills=[Refill(7, 3 + WINDOW_MIN)]), [], [], []), refills=[Window(7, 1, "h", rows(5))]
    )
    assert len(queue.rows) == 5 and queue.more is False, "fewer than asked for: there are no more"
    assert cut(holdings).batch.refills == []


def test_requests_of_a_held_queue_are_counted_with_the_flush_that_follows_them() -> None:
    holdings, queue = held(3)
    queue.fetched = 2
    holdings.touched.add(queue)
    assert cut(holdings).batch.fetched == [(7, 2)]
    holdings.touched.add(queue)
    assert cut(holdings).batch.fetched == [], "the store knows"
    queue.fetched, queue.more, queue.in_flight = 3, False, 1
    queue.rows.clear()
    holdings.touched.add(queue)
    assert cut(holdings).batch.fetched == [(7, 3)], "also of the last ones, while one is in flight"
    queue.fetched, queue.in_flight = 4, 0
    holdings.touched.add(queue)
    done = cut(holdings).batch
    assert (done.fetched, done.released) == ([], [Release(7, 0, 4)])


def test_an_empty_queue_goes_back_when_nothing_of_it_is_in_flight() -> None:
    holdings, queue = held(1)
    holdings.scheduler.take(queue)
    queue.more, queue.in_flight = False, 1
    assert cut(holdings).batch.released == []
    queue.in_flight = 0
    holdings.touched.add(queue)
    done = cut(holdings)
    assert done.batch.released == [Release(7, 0, 0)] and queue.leaving is Leaving.EMPTY
    taken(holdings, done)
    assert holdings.scheduler.queues == {} and holdings.scheduler.hosts == {}


@pytest.mark.parametrize(
    ("why", "next_tick", "rest"),
    [
        (Leaving.EMPTY, 9000.0, 0),
        (Leaving.REST, 9000.0, 9000),
        (Leaving.PAUSED, 0.0, 0),
        (Leaving.AWAITS_ROBOTS, 0.0, ROBOTS_LOOK_MS),
        (Leaving.AWAITS_ROBOTS, 9000.0, 9000),
        (Leaving.GIVEN_UP, 0.0, 0),
    ],
)
def test_how_long_the_store_leaves_a_queue_alone(why: Leaving, next_tick: float, rest: int) -> None:
    holdings, queue = held()
    queue.host.next_tick = next_tick
    holdings.send_back(queue, why)
    assert not queue.rows and not queue.held, "its rows stay open in the store"
    assert cut(holdings).batch.released == [Release(7, rest, 0)]


def test_the_first_reason_to_leave_holds() -> None:
    holdings, queue = held()
    holdings.give_up(queue, Reason.HOST_DEAD)
    holdings.send_back(queue, Leaving.REST)
    assert queue.leaving is Leaving.GIVEN_UP
    assert cut(holdings).batch.deaths == [(7, Reason.HOST_DEAD)]


def test_a_host_that_rests_for_long_leaves_memory() -> None:
    holdings, queue = held()
    queue.host.next_tick = 10_000 + LONG_REST_MS
    cut(holdings, now=6000.0)
    assert queue.leaving is Leaving.REST


def test_grants_are_wanted_for_pages_in_flight_and_ahead() -> None:
    holdings, queue = held(3, limits__max_pages=100)
    queue.crawl.outstanding = {50, 51}
    ending = Ending(Outcome(50, 1, UrlState.VISITED, "", 1))
    holdings.pending.add(queue, rows(1)[0], Visit(ending))
    assert cut(holdings).batch.grants_wanted == {1: 1 + GRANTS_MIN}


def test_grants_are_asked_for_ahead_by_what_was_used() -> None:
    holdings, queue = held(2000, limits__max_pages=100_000)
    ahead = GRANTS_MIN
    assert cut(holdings).batch.grants_wanted == {1: ahead}, "before anything is known"
    for number in range(300):
        holdings.pending.add(queue, rows(1)[0], Visit(Ending(Outcome(9000 + number, 1, UrlState.VISITED, "", 1))))
    assert cut(holdings).batch.grants_wanted == {1: GRANTS_AHEAD * 300}
    assert cut(holdings).batch.grants_wanted == {1: GRANTS_AHEAD * 150}, "what is not used goes back, by halves"
    holdings.scheduler.drop_rows(queue)
    assert cut(holdings).batch.grants_wanted == {1: 0}, "without work nothing is kept from other workers"


def test_a_cut_leaves_nothing_behind() -> None:
    holdings, queue = held()
    holdings.pending.add(queue, rows(1)[0], Visit(Ending(Outcome(0, 1, UrlState.VISITED, "", 1))))
    assert len(cut(holdings).finished) == 1
    assert len(cut(holdings).finished) == 0


# --- what is answered


def test_what_is_committed_is_no_longer_held() -> None:
    holdings, queue = held(3)
    queue.more = False
    queue.crawl.outstanding = {0, 1}
    child = Child(1, "h", b"k" * 16, "https://h/new", 1, 1, 0, None)
    ending = Ending(Outcome(0, 1, UrlState.VISITED, "", 1, None, [child]))
    taken(holdings, Cut(Batch(2), [(queue, ending)], [(queue, 1)], []))
    assert queue.held == {2} and queue.crawl.outstanding == set()
    assert queue.more, "it has a child there"


def test_a_visit_that_was_cut_off_is_loaded_again() -> None:
    holdings, queue = held(2)
    row = holdings.scheduler.take(queue)
    queue.more = False
    holdings.abandon(queue, row)
    assert row.id not in queue.held and queue.more and queue in holdings.touched


def test_a_row_is_asked_for_in_another_spelling_next() -> None:
    holdings, queue = held(2)
    row = holdings.scheduler.take(queue)
    queue.fetched, queue.crawl.outstanding = 1, {row.id}
    holdings.respell(queue, row, "https://www.h/0")
    assert holdings.scheduler.take(queue) == row._replace(spelling="https://www.h/0")
    assert queue.fetched == 0 and not queue.crawl.outstanding and row.id in queue.held
    queue.leaving = Leaving.REST
    holdings.respell(queue, row, "https://www.h/0")
    assert row.id not in queue.held and row not in queue.rows, "whoever holds the queue next loads it"


def test_rows_that_others_inserted_are_looked_for() -> None:
    holdings, queue = held()
    queue.more = False
    taken(holdings, Cut(Batch(2), [], [], []), arrived=[7, 99])
    assert queue.more


@pytest.mark.parametrize(
    ("cut_off_tick", "last"),
    [
        (0.0, 9_500),
        (9_800.0, 9_800),  # this process was its owner, frozen, and cut its requests off when it woke
    ],
)
def test_hosts_of_a_dead_owner_rest_a_full_delay(cut_off_tick: float, last: int) -> None:
    holdings = Holdings(process_settings(), cut_off_tick)
    holdings.crawls[1] = live_crawl(1, polite__floor_ms=2000)
    holdings.partitions = {PART: 500}  # it died half a second ago
    load(holdings, 1, now=10_000.0)
    assert holdings.scheduler.hosts["h"].next_tick == last + 2000


def test_robots_records_become_gates() -> None:
    robots = RobotsRecord("https://h", "h", "rules", 200, b"User-agent: *\nDisallow: /x", 5000, 0)
    _, queue = held(1, HostRecord(0, Pace(), "", 0, [robots]))
    gate = queue.host.gates["https://h"]
    assert (
        gate.expires_tick == 5000
        and not gate.judge("https://h/x", "nephila", queue.crawl.polite, queue.crawl.settings.robots).ok
    )


def test_a_window_of_a_crawl_that_ended_is_freed_by_the_next_flush() -> None:
    holdings = Holdings(process_settings())
    load(holdings, 1)
    assert holdings.scheduler.queues == {} and cut(holdings).batch.holding == []


def test_after_a_lost_answer_the_store_is_told_what_is_held() -> None:
    holdings, _ = held()
    taken(holdings, Cut(Batch(2), [], [], []), repeated=True)
    assert cut(holdings).batch.holding == [7]
    taken(holdings, Cut(Batch(3), [], [], []))
    assert cut(holdings).batch.holding is None


def test_a_grant_wakes_the_hosts_that_starved() -> None:
    holdings, queue = held(2, limits__max_pages=10)
    assert holdings.scheduler.pop(0.0) is None and queue.crawl.starved and holdings.starved()
    taken(holdings, Cut(Batch(2), [], [], []), grants={1: 1})
    assert holdings.scheduler.pop(0.0) == (queue.host, queue) and not holdings.starved()


# --- crawls, rulings, partitions


def test_a_crawl_that_may_not_run_goes_back() -> None:
    holdings, queue = held()
    crawl = queue.crawl.crawl
    holdings.see_crawls([replace(crawl, state=CrawlState.PAUSED)], 5)
    assert queue.leaving is Leaving.PAUSED and holdings.control == 5 and 1 in holdings.crawls
    taken(holdings, cut(holdings))
    holdings.see_crawls([], 6)
    assert holdings.crawls == {}, "it is over and nothing of it is held"


def test_rulings_hold_for_hosts_that_are_held_and_for_those_to_come() -> None:
    holdings, queue = held()
    rule = HostRule("h", 7000, 5000, "it fell over", "me", 0)
    block = BlockRule(1, BlockKind.DOMAIN, "bad.test", "", "me", 0)
    holdings.see_rulings(Rulings((block,), {"h": rule}, 3000), 100.0)
    host = queue.host
    assert (host.pace.override_ms, host.blocked_until, host.allowed_tick) == (7000, 5100.0, 5100.0)
    assert queue.crawl.polite.floor_ms == 3000 and not holdings.blocks.judge("https://bad.test/").ok
    holdings.see_rulings(Rulings(), 200.0)
    assert (host.pace.override_ms, host.blocked_until) == (None, 0.0) and not holdings.blocks


def test_a_partition_is_handed_back_when_nothing_of_it_is_held() -> None:
    holdings, queue = held()
    queue.in_flight = 1
    holdings.take_lease(Lease({PART: None}, [PART]))
    assert queue.leaving is Leaving.HANDED_BACK and cut(holdings).batch.hand_back == []
    queue.in_flight = 0
    holdings.touched.add(queue)
    done = cut(holdings)
    assert done.batch.hand_back == [PART]
    taken(holdings, done)
    assert holdings.partitions == {} and holdings.giving == set()


def test_loads_are_a_moving_average() -> None:
    holdings, _ = held()
    holdings.asked[PART] = 10
    assert holdings.loads(1.0) == {PART: 5.0}
    assert holdings.loads(1.0) == {PART: 2.5}
