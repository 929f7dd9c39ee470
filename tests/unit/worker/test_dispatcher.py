"""The dispatcher drives visits and applies what they answer: with a fetcher and a reader that the test answers for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephila.archive.folder import FolderArchive
from nephila.clock import VirtualClock
from nephila.extract.reader import PageReading, ParseFailure, ReadRequest
from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.fetch.resolver import DnsAnswer, Resolver
from nephila.frontier.store import WorkerInfo
from nephila.metrics import Meter, Place
from nephila.models import Reason, Tally, UrlState
from nephila.policy.politeness import Pace
from nephila.policy.robots_gate import RobotsGate
from nephila.settings import process_settings
from nephila.worker.dispatcher import CROWDED_REST_MS, Dispatcher
from nephila.worker.holdings import Holdings
from nephila.worker.metering import Metering
from nephila.worker.parts import WorkerParts
from nephila.worker.right import SendRight, StoreThread
from nephila.worker.room import PAUSE_MS
from nephila.worker.scheduler import UNREAD_BYTES_MAX, UNREAD_LATE_MAX, UNREAD_MAX, Leaving, Queue
from nephila.worker.visit import CRASHES_ALONE
from tests.patience import PATIENCE_SECONDS
from tests.unit.worker.test_lookups import settled
from tests.unit.worker.test_scheduler import held_host, live_crawl
from tests.unit.worker.test_visit import ROW, answered, failed

ALLOWED = RobotsGate.of("https://h", "allow_all", 404, b"", 0, 1e12)


class Web:
    """A fetcher whose requests the test answers."""

    def __init__(self) -> None:
        self.open: dict[str, asyncio.Future[FetchResult]] = {}
        self.asked: list[str] = []
        self.at_once: FetchResult | None = None  # the answer to all requests, without the test
        self.asked_first, self.asked_again, self.aborted = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def fetch(self, request: FetchRequest) -> FetchResult:
        self.asked.append(request.url)
        (self.asked_again if len(self.asked) > 1 else self.asked_first).set()
        if self.at_once is not None:
            return replace(self.at_once, url=request.url)
        self.open[request.url] = asyncio.get_running_loop().create_future()
        return await self.open[request.url]

    async def answer(self, url: str, result: FetchResult | Exception) -> None:
        if isinstance(result, Exception):
            self.open.pop(url).set_exception(result)
        else:
            result.url = url
            self.open.pop(url).set_result(result)
        await settled()

    def body_bytes(self) -> int:
        return 0

    def abort(self) -> None:
        for request in self.open.values():
            request.set_result(FetchResult("", 0, aborted=True))
            self.aborted.set()
        self.open.clear()

    async def close(self) -> None: ...


class Reading:
    def __init__(self, answer: PageReading | ParseFailure | Exception) -> None:
        self.answer = answer
        self.requests: list[ReadRequest] = []
        self.later = False  # the test reads the pages, one by one
        self.open: dict[str, asyncio.Future[PageReading | ParseFailure]] = {}

    async def read(self, request: ReadRequest) -> PageReading | ParseFailure:
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.later:
            self.open[request.url] = asyncio.get_running_loop().create_future()
            return await self.open[request.url]
        return self.answer

    async def finish(self, url: str) -> None:
        self.open.pop(url).set_result(PageReading())
        await settled()

    def abort(self) -> None: ...

    async def close(self) -> None: ...


class Names(Resolver):
    """A resolver that knows every name, or lets the test answer the next one."""

    slow: asyncio.Event | None = None

    def known(self, hostname: str, now_tick_ms: float) -> DnsAnswer | None:
        return None if self.slow else super().known(hostname, now_tick_ms)

    async def resolve(self, hostname: str) -> DnsAnswer:
        if self.slow is not None:
            await self.slow.wait()
            self.slow = None
        return await super().resolve(hostname)


class Bench:
    """A dispatcher with one host of two rows, which robots.txt allows."""

    def __init__(self, folder: Path, reading: PageReading | ParseFailure | Exception, **settings: object) -> None:
        self.clock, self.web, self.reader = VirtualClock(), Web(), Reading(reading)
        self.events: list[dict[str, Any]] = []
        self.store = StoreThread(self.events.append)
        self.held = Holdings(process_settings())
        self.right = SendRight(self.store)
        store: Any = None  # no flush happens here
        metering = Metering(Meter(Place.WORKER), self.clock)
        self.names = Names(self.clock, fixed={"h": "192.0.2.1"})
        adapters = (store, FolderArchive(folder, self.clock), self.names, self.web, self.reader)
        info = WorkerInfo("here", 1, "0")
        parts = WorkerParts(*adapters, process_settings(), self.clock, info, metering, self.events.append)
        self.dispatcher = Dispatcher(1, parts, self.held, self.right)
        self.queue: Queue = held_host(self.held.scheduler, "h", live_crawl(1, **settings))
        self.host = self.queue.host
        self.host.gates = {ALLOWED.origin: ALLOWED}
        self.first, self.second = (row.url for row in self.queue.rows)

    async def kick(self, ms: float = 0.0) -> None:
        self.clock.advance(ms)
        self.dispatcher.kick()
        await settled()

    def ended(self) -> list[tuple[str, str]]:
        return [(ending.outcome.state, ending.outcome.reason) for _, ending in self.held.pending.finished]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Callable[..., Bench]]:
    benches: list[Bench] = []

    def made(reading: PageReading | ParseFailure | Exception | None = None, **settings: object) -> Bench:
        benches.append(Bench(tmp_path, PageReading() if reading is None else reading, **settings))
        return benches[-1]

    yield made
    for each in benches:
        # Visits that end with the loop begin no others: what is left of those logs a fault when it is collected,
        # in the midst of another test.
        each.right.fenced = True


async def test_a_page_from_its_request_to_its_outcome(bench: Callable[..., Bench]) -> None:
    here = bench()
    await here.kick()
    assert here.web.asked == [here.first] and here.dispatcher.fetching == 1, "one at a time"
    assert list(here.dispatcher.visiting) == [1000] and here.queue.crawl.outstanding == {1000}
    await here.web.answer(here.first, answered(200))
    assert here.ended() == [(UrlState.VISITED, "")] and here.host.pace.latency_ms == 100.0
    assert not here.dispatcher.tasks and not here.dispatcher.visiting and here.queue.in_flight == 0
    assert here.held.pending.tallies == {(1, Tally.REQUESTS): 1, (1, Tally.ANSWERED): 1, (1, Tally.BYTES): 4}
    await here.kick()
    assert here.web.asked == [here.first], "the delay is not over"
    await here.kick(1000)
    assert here.web.asked == [here.first, here.second]


async def test_a_request_without_an_answer_is_counted_as_such(bench: Callable[..., Bench]) -> None:
    here = bench()
    await here.kick()
    await here.web.answer(here.first, FetchResult(here.first, 0, error=Reason.CONNECT))
    assert here.held.pending.tallies[1, Tally.REQUESTS] == 1
    assert (1, Tally.ANSWERED) not in here.held.pending.tallies


async def test_robots_txt_comes_first_and_nothing_else_meanwhile(bench: Callable[..., Bench]) -> None:
    here = bench(polite__max_inflight=4, polite__floor_ms=0)
    here.host.gates.clear()
    await here.kick()
    await here.kick(10)
    assert here.web.asked == ["https://h/robots.txt"]
    await here.web.answer("https://h/robots.txt", answered(404))
    await here.kick(10)
    assert here.web.asked[1:] == [here.first, here.second]
    assert list(here.held.pending.robots) == ["https://h"] and here.host.gates["https://h"].access == "allow_all"


async def test_requests_that_wait_for_a_name_do_not_start_together(bench: Callable[..., Bench]) -> None:
    here = bench(polite__max_inflight=4, polite__floor_ms=100)
    found = here.names.slow = asyncio.Event()
    await here.kick()
    await here.kick(5000)
    assert here.web.asked == [] and here.dispatcher.fetching == 1, "nobody else begins"
    found.set()
    await settled()
    assert here.web.asked == [here.first]
    await here.kick(99)
    assert here.web.asked == [here.first], "the delay counts from when it went out"
    await here.kick(1)
    assert here.web.asked == [here.first, here.second]


async def test_a_request_does_not_go_out_after_the_right_to_send_has_ended(bench: Callable[..., Bench]) -> None:
    """The process may be frozen between the decision and the request, for longer than its lease."""
    here = bench()
    here.dispatcher._dispatch()
    assert here.dispatcher.fetching == 1
    here.right.until_tick = here.clock.tick_ms()
    await settled()
    assert here.web.asked == [] and here.dispatcher.fetching == 0
    assert here.ended() == [] and 1000 not in here.queue.held and here.queue.more, "its row stays open"


async def test_a_hop_waits_for_the_hosts_turn(bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nephila.worker.dispatcher.NEXT_TURN_LOOK_MS", 1.0)
    here = bench(redirects__mode="follow", scope__mode="any")
    await here.kick()
    await here.web.answer(here.first, answered(301, Location="/hop"))
    assert here.web.asked == [here.first] and here.dispatcher.fetching == 0, "it waits, and no other row is sent"
    await here.kick(1000)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await here.web.asked_again.wait()
    assert here.web.asked == [here.first, "https://h/hop"]


@pytest.mark.parametrize("how", ["aborted", "stopped"])
async def test_a_visit_that_we_end_leaves_its_row_open(bench: Callable[..., Bench], how: str) -> None:
    here = bench(redirects__mode="follow", scope__mode="any")
    await here.kick()
    if how == "aborted":
        here.web.abort()
    else:
        here.store.stopping = True
        await here.web.answer(here.first, answered(301, Location="/hop"))
    await settled()
    assert here.ended() == [] and not here.dispatcher.tasks
    assert 1000 not in here.queue.held and here.queue.more, "it is loaded again"
    assert here.host.pace == Pace(), "nobody is blamed"


async def test_what_this_machine_lacks_blames_nobody_and_slows_us_down(bench: Callable[..., Bench]) -> None:
    here = bench(polite__floor_ms=0, polite__max_inflight=2)
    await here.kick()
    assert here.dispatcher.fetching == 2
    for url in (here.first, here.second):
        await here.web.answer(url, FetchResult(url, 0, error=Reason.CONNECT, aborted=True, lacking="open files"))
    assert here.ended() == [] and not here.held.pending.retries and here.host.pace == Pace()
    assert 1000 not in here.queue.held and here.queue.more, "it is loaded again"
    told = [event["reason"] for event in here.events if event["event"] == "stalled"]
    assert told == ["this machine has too few open files: at most 1 requests in flight for now"], "once"
    here.held.scheduler.add_rows(here.queue, [ROW._replace(url="https://h/3")])
    await here.kick(PAUSE_MS - 1)
    assert len(here.web.asked) == 2
    await here.kick(1)
    assert here.web.asked[2:] == ["https://h/3"]


@pytest.mark.parametrize("where", ["fetch", "read"])
async def test_a_fault_of_ours_ends_one_url(bench: Callable[..., Bench], where: str) -> None:
    here = bench(RuntimeError("broken"))
    await here.kick()
    await here.web.answer(here.first, RuntimeError("broken") if where == "fetch" else answered(200))
    assert here.ended() == [(UrlState.FAILED, Reason.POISON)] and here.events[-1]["event"] == "fault"
    assert here.held.pending.errors[-1].detail == "a fault of ours: RuntimeError('broken')"
    assert here.dispatcher.fetching == 0 and here.queue.in_flight == 0
    await here.kick(5000)
    assert here.web.asked == [here.first, here.second], "the crawl goes on"


@pytest.mark.parametrize("where", ["fetch", "robots_visit.answer_of", "robots_visit.robots_target"])
async def test_a_fault_of_ours_in_robots_txt_counts_as_an_attempt(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The host is asked attempts_max times, with a longer rest after each: not for ever, and never at once."""
    here = bench(robots__attempts_max=3, robots__retry_ms=10_000)
    here.host.gates.clear()
    if where != "fetch":
        monkeypatch.setattr(f"nephila.worker.{where}", lambda *_: 1 / 0)
    for attempt, rest_ms in enumerate((10_000, 20_000, 0), 1):
        await here.kick()
        assert here.web.asked == ["https://h/robots.txt"] * attempt
        await here.web.answer(here.web.asked[-1], RuntimeError("broken") if where == "fetch" else answered(200))
        assert here.host.gates["https://h"].failures == attempt and here.host.reserved == 0
        await here.kick(rest_ms - 1 if rest_ms else 0)
        assert len(here.web.asked) == attempt
        here.clock.advance(1)
    await here.kick(5000)
    assert here.ended() == [(UrlState.EXCLUDED, Reason.ROBOTS_UNREACHABLE)] * 2 and len(here.web.asked) == 3
    assert "a fault of ours" in here.held.pending.robots["https://h"].detail


async def test_a_host_that_rests(bench: Callable[..., Bench]) -> None:
    here = bench()
    await here.kick()
    await here.web.answer(here.first, answered(503, Retry_After="30"))
    assert len(here.held.pending.retries) == 1
    assert (here.host.rest_reason, here.host.next_tick) == ("retry_after", 30_000.0)
    assert here.host in here.held.scheduler.take_dirty()


async def test_a_host_that_dies(bench: Callable[..., Bench]) -> None:
    here = bench(host__death_errors=1)
    await here.kick()
    await here.web.answer(here.first, failed(Reason.TIMEOUT))
    assert here.held.pending.deaths == {here.queue.id: Reason.HOST_DEAD} and here.queue.leaving is Leaving.GIVEN_UP
    assert here.ended() == [(UrlState.FAILED, Reason.TIMEOUT)]


async def test_a_row_that_may_not_be_sent(bench: Callable[..., Bench]) -> None:
    here = bench(limits__max_urls_per_host=1)
    here.host.gates = {
        "https://h": RobotsGate.of("https://h", "rules", 200, b"User-agent: *\nDisallow: /1000", 0, 1e12)
    }
    await here.kick()
    assert here.ended() == [(UrlState.EXCLUDED, Reason.ROBOTS)] and here.web.asked == [here.second]


async def test_no_request_without_the_right_to_send(bench: Callable[..., Bench]) -> None:
    here = bench()
    here.right.until_tick = -1.0
    await here.kick()
    assert here.web.asked == []
    here.right.until_tick, here.store.stalled = 1e12, True
    await here.kick()
    assert here.web.asked == []
    here.store.stalled = False
    await here.kick()
    assert here.web.asked == [here.first]


async def test_a_page_that_killed_workers_is_read_alone(bench: Callable[..., Bench]) -> None:
    here = bench()
    here.queue.rows[0] = here.queue.rows[0]._replace(crashes=CRASHES_ALONE)
    await here.kick()
    await here.web.answer(here.first, answered(200))
    (request,) = here.reader.requests
    assert request.alone and request.url == here.first and request.body == b"body"


async def test_bodies_that_wait_to_be_read_hold_back_their_host_and_no_other(bench: Callable[..., Bench]) -> None:
    here = bench(polite__floor_ms=0, polite__max_inflight=1)
    reader, scheduler, crawl = here.reader, here.held.scheduler, here.queue.crawl
    reader.later = True
    scheduler.add_rows(here.queue, [ROW._replace(id=n, url=f"https://h/{n}") for n in range(100)])
    answer = answered(200)
    answer.body = bytes(UNREAD_BYTES_MAX // 4)
    for asked in range(1, 5):
        await here.kick(1)
        assert len(here.web.asked) == asked and here.dispatcher.fetching == 1
        await here.web.answer(here.web.asked[-1], replace(answer))
    await here.kick(1)
    assert len(here.web.asked) == 4 and here.dispatcher.fetching == 0 and len(reader.open) == 4
    others = [held_host(scheduler, f"other{n}.test", crawl, count=1).host for n in range(here.dispatcher._room.size)]
    for other in others:
        other.gates = here.host.gates
    await here.kick(1)
    assert here.dispatcher.fetching == len(others), "what waits for a helper has no slot"
    here.web.abort()
    await settled()
    await reader.finish(here.first)
    await here.kick(1)
    assert len(here.web.asked) == 4 + len(others) + 1 and here.ended() == [(UrlState.VISITED, "")]


async def test_small_bodies_that_wait_are_few(bench: Callable[..., Bench]) -> None:
    here = bench(polite__floor_ms=0, polite__max_inflight=1)
    here.reader.later = True
    here.held.scheduler.add_rows(here.queue, [ROW._replace(id=n, url=f"https://h/{n}") for n in range(100)])
    for _ in range(99):
        await here.kick(1)
        for url in list(here.web.open):
            await here.web.answer(url, answered(200))
    assert len(here.reader.open) <= UNREAD_MAX and len(here.reader.open) == len(here.web.asked)
    assert len(here.reader.open) > UNREAD_LATE_MAX, "they had not waited long"


async def test_a_host_that_crowds_helpers_rests_and_its_row_stays_open(bench: Callable[..., Bench]) -> None:
    here = bench(ParseFailure("crowded"), polite__floor_ms=0)
    await here.kick()
    await here.web.answer(here.first, answered(200))
    assert here.ended() == [] and not here.held.pending.retries and here.queue.more
    assert (here.host.rest_reason, here.host.next_tick) == ("crowded", CROWDED_REST_MS)
    await here.kick(CROWDED_REST_MS)
    assert here.web.asked == [here.first, here.second]


@pytest.mark.parametrize("where", ["fetching", "reading"])
async def test_a_crawl_that_ends_is_cut_off(bench: Callable[..., Bench], where: str) -> None:
    here = bench()
    here.reader.later = True
    crawl = here.queue.crawl
    await here.kick()
    if where == "reading":
        await here.web.answer(here.first, answered(200))
    here.dispatcher.cut_off(crawl)
    await settled()
    assert len(here.dispatcher.tasks) == 1, "it runs"
    crawl.running = False
    here.dispatcher.cut_off(live_crawl(2))
    await settled()
    assert len(here.dispatcher.tasks) == 1, "of another crawl"
    here.dispatcher.cut_off(crawl)
    await settled()
    assert not here.dispatcher.tasks and not here.dispatcher.visiting and here.queue.in_flight == 0
    assert here.ended() == [] and here.dispatcher.fetching == 0 and here.host.unread_bytes == 0
    assert 1000 not in here.queue.held and here.queue.more, "the row stays open"


async def test_a_seeds_redirect_joins_the_scope(bench: Callable[..., Bench]) -> None:
    here = bench()
    await here.kick()
    await here.web.answer(here.first, answered(301, Location="https://b.test/"))
    assert here.held.pending.joined == [(1, "b.test")] and here.queue.crawl.crawl.joined_hosts == ("b.test",)
    ((_, ending),) = here.held.pending.finished
    assert [child.url for child in ending.outcome.children] == ["https://b.test/"]


@pytest.mark.parametrize(("results", "rows", "urgent"), [(0, 1, False), (1, 1, False), (1, 0, True)])
async def test_a_flush_is_urgent_when_nothing_else_is_ready(
    bench: Callable[..., Bench], results: int, rows: int, urgent: bool
) -> None:
    here = bench()
    await here.kick()
    if results:
        await here.web.answer(here.first, answered(404))
    if not rows:
        here.held.scheduler.drop_rows(here.queue)
    assert here.dispatcher.urgent() is urgent


async def test_a_flush_is_urgent_when_rows_wait_for_a_grant(bench: Callable[..., Bench]) -> None:
    here = bench(limits__max_pages=10)
    here.held.crawls[1] = here.queue.crawl
    here.queue.crawl.granted = 1
    here.held.scheduler.refresh(here.host)
    await here.kick()
    await here.web.answer(here.first, answered(404))
    assert len(here.queue.rows) == 1 and here.dispatcher.urgent(), "its grant comes with a flush"
