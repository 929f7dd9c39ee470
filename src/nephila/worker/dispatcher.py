"""`Dispatcher` sends requests for the rows that a session holds: it picks the next host, asks `dispatch` what becomes
of its next row, drives the visit, and applies what the visit answers. Everything here runs on the event loop.
"""

import asyncio
import random

from nephila import log as logs
from nephila.extract.reader import PageReading, ParseFailure, ReadRequest
from nephila.fetch.fetcher import FetchRequest, FetchResult
from nephila.fetch.transfer import one_line
from nephila.frontier.store import Outcome, Row
from nephila.log import VisitLog, worker_log
from nephila.models import Kind, Reason, Tally, UrlState
from nephila.policy.dispatch import Step, dispatch
from nephila.policy.robots_gate import RobotsGate
from nephila.urls.identity import hostname_of, origin_of
from nephila.worker.crawls import LiveCrawl
from nephila.worker.holdings import Holdings
from nephila.worker.parts import WorkerParts
from nephila.worker.right import SendRight
from nephila.worker.robots_visit import ask_robots, given_up, robots_broke
from nephila.worker.room import PAUSE_MS, Room
from nephila.worker.scheduler import Host, Leaving, Queue
from nephila.worker.sitemap_visit import looked_for
from nephila.worker.visit import Answer, Deliver, HostChange, Read, Steps, Visit, ended
from nephila.worker.visits import VISITS

NEXT_TURN_LOOK_MS = 1000.0  # how often a visit that waits for its next hop looks whether its crawl still runs
FREE_ENDS_MAX = 1000  # rows that end without a request before the loop gets its turn
CROWDED_REST_MS = 10_000.0  # of a host whose bodies take more than their share of what may wait for helpers
CROWDED = "crowded"  # why it rests
LOOK_UPS_MAX = 2  # of a name before a request: `Lookups` may forget one that failed at once


class Dispatcher:
    def __init__(self, worker_id: int, parts: WorkerParts, held: Holdings, right: SendRight) -> None:
        self.visiting: dict[int, int] = {}  # url id -> since, ms since 1970
        self.tasks: dict[int, tuple[asyncio.Task[None], LiveCrawl]] = {}  # visits, by number
        self.fetching = 0  # requests in flight
        self.flush_now = asyncio.Event()  # the session need not wait any longer
        self._id = worker_id
        self._parts = parts
        self._clock = parts.clock
        self._room = Room(parts.settings.concurrency)
        self._held = held
        self._scheduler = held.scheduler
        self._right = right
        self._log = VisitLog(worker_log(str(worker_id)))
        self._loop = asyncio.get_running_loop()
        self._started = 0  # visits
        self._delivering = asyncio.Lock()  # one chunk of all sitemaps at a time: a transaction stays short
        self._delivered: asyncio.Future[None] | None = None  # of the chunk that is not committed yet
        self._kicked = False
        self._kicked_tick = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # --- what the session asks

    def hungry(self) -> bool:
        """True: more requests could be in flight."""
        return self.fetching < self._room.size and not self._right.over

    def urgent(self) -> bool:
        """True: the flush is due at once: a batch is full, no row is here (chains), or rows wait for a grant."""
        results = len(self._held.pending)
        return (
            results >= self._parts.settings.flush_results
            or bool(self._held.pending.delivered)
            or (results > 0 and (not self._scheduler.rows or self._held.starved()))
            or (self._right.over and not self.tasks)
        )

    # --- sending

    def kick(self) -> None:
        """Look for rows to send, soon and once."""
        if not self._kicked:
            self._kicked, self._kicked_tick = True, self._clock.tick_ms()
            self._loop.call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._kicked = False
        now, free = self._clock.tick_ms(), FREE_ENDS_MAX
        if self._room.seen(self.fetching, now - self._kicked_tick, now):
            self._room.adjust(self._parts.fetcher.body_bytes(), now)
        if not self._right.holds(now):
            return
        while self._room.has(self.fetching, now):
            picked = self._scheduler.pop(now)
            if picked is None:
                break
            if not self._send(*picked, now):
                self._scheduler.refresh(picked[0])
                free -= 1
                if free <= 0:
                    self.kick()
                    return
        self._arm_timer(now)
        if self.urgent():
            self.flush_now.set()

    def _arm_timer(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        tick = self._scheduler.next_tick()
        if tick is not None and self._room.has(self.fetching, now):
            self._timer = self._loop.call_later(max(0.0, tick - now) / 1000, self.kick)

    def _send(self, host: Host, queue: Queue, now: float) -> bool:
        """Start a request for the next row of the queue; false: the row ended, or went back, without one."""
        row = self._scheduler.take(queue)
        try:
            return self._send_row(host, queue, row, now)
        except Exception as error:  # a fault of ours ends one URL, never the crawl
            self._fail(host, queue, row, "", error)
            return False

    def _send_row(self, host: Host, queue: Queue, row: Row, now: float) -> bool:
        crawl = queue.crawl
        decision = dispatch(row, crawl.terms, queue.fetched, "", self._held.blocks, host.gates, now)
        step = decision.step
        if step is Step.SEND:
            traits = row.kind.traits
            if traits.ruled:
                queue.fetched += 1
            if traits.page:
                crawl.outstanding.add(row.id)  # also without max_pages: one may be set while it is in flight
                if crawl.looks_for_sitemaps and crawl.looks_at(origin := origin_of(row.address)):
                    self._held.pending.add(
                        queue, None, looked_for(crawl, origin, host.gates.get(origin), seed=not row.depth)
                    )
            self._start(host, queue, row, VISITS[row.kind].visit(host, crawl, row), now)
            return True
        if step is Step.REFUSE:
            refused = VISITS[row.kind].refuse(crawl, row, decision.reason, self._clock.now_ms())
            self._held.pending.add(queue, row, refused)
            self._held.touched.add(queue)
            if self._log.wanted:
                self._log.url_blocked(row.url, crawl.id, row.id, decision.reason)
            return False
        self._scheduler.put_back(queue, row)
        if step is Step.ASK_ROBOTS:
            host.reserved += 1  # until it is answered nothing else is sent, however many requests may be in flight
            origin = origin_of(row.address)
            self._start(host, queue, None, ask_robots(host, crawl, origin, seed=row.depth == 0), now, origin)
            return True
        if step is Step.GIVE_UP:
            self._held.give_up(queue, decision.reason)
        else:
            self._held.send_back_host(host, Leaving.AWAITS_ROBOTS)
        return False

    def _start(self, host: Host, queue: Queue, row: Row | None, steps: Steps, now: float, origin: str = "") -> None:
        self._request_started(host, queue.crawl, now)
        queue.in_flight += 1
        if row is not None:
            self.visiting[row.id] = self._clock.now_ms()
        number = self._started = self._started + 1
        task = self._loop.create_task(self._visit(number, host, queue, row, steps, origin))
        self.tasks[number] = task, queue.crawl

    def _request_started(self, host: Host, crawl: LiveCrawl, now: float) -> None:
        self.fetching += 1
        crawl.request_started(now)
        self._held.asked[host.part] += 1
        self._scheduler.started(host, now, host.gap_ms(random.random()))

    # --- a visit; `row` is None for the robots.txt of an origin

    async def _visit(self, number: int, host: Host, queue: Queue, row: Row | None, steps: Steps, origin: str) -> None:
        try:
            visit = await self._drive(host, queue, steps)
            if visit is not None:
                self._apply(host, queue, row, visit)
            else:
                self._let_go(queue, row)
        except Exception as error:  # as in _send
            self._fail(host, queue, row, origin, error)
        except asyncio.CancelledError:  # only `cut_off` cancels, and nobody waits for a visit
            self._let_go(queue, row)
        finally:
            if row is None:
                host.reserved -= 1
                self._scheduler.refresh(host)
            else:
                self.visiting.pop(row.id, None)
            queue.in_flight -= 1
            self._held.touched.add(queue)
            del self.tasks[number]
            self.kick()
            if self.urgent():
                self.flush_now.set()

    async def _drive(self, host: Host, queue: Queue, steps: Steps) -> Visit | None:
        """Do what the visit asks for. None: we ended it ourselves; the row stays open, and nobody is blamed."""
        crawl, step = queue.crawl, next(steps)
        try:
            while True:
                if isinstance(step, Read):
                    self._change_host(queue, step.host)
                    reading = await self._read(host, step.request)
                    if isinstance(reading, ParseFailure) and reading.unread:
                        return None
                    step = steps.send(reading)
                    continue
                if isinstance(step, Deliver):
                    if not await self._deliver(host, crawl, step):
                        return None
                    step = steps.send(None)
                    continue
                result = await self._fetch(host, crawl, step)
                if result.aborted:
                    return None
                step = steps.send(Answer(result, self._clock.now_ms(), self._clock.tick_ms(), self._held.blocks))
                if isinstance(step, FetchRequest) and not await self._next_turn(host, crawl):
                    return None
        except StopIteration as returned:
            visit: Visit = returned.value
            return visit
        finally:
            steps.close()

    async def _deliver(self, host: Host, crawl: LiveCrawl, chunk: Deliver) -> bool:
        """Hand a chunk over and wait until it is committed; false: it is not wanted any more. The body of its sitemap
        counts as unread meanwhile: sitemaps come faster than they are delivered, and one of a host at a time is enough.
        """
        since = self._clock.tick_ms()
        self._scheduler.waits(host, chunk.body_bytes, since)
        try:
            async with self._delivering:
                if not crawl.running or self._right.over:
                    return False
                self._delivered = self._loop.create_future()
                self._held.pending.deliver(chunk, self._delivered)
                self.flush_now.set()
                await self._delivered
                return True
        finally:
            self._scheduler.read(host, chunk.body_bytes, since, self._clock.tick_ms())

    def stop_delivering(self) -> None:
        """What was handed over will not be committed: its visit ends, and its row stays open."""
        if self._delivered is not None:
            self._delivered.cancel()

    async def _fetch(self, host: Host, crawl: LiveCrawl, request: FetchRequest) -> FetchResult:
        try:
            if host.in_flight_max() > 1:
                await self._begin(host, crawl, hostname_of(request.url))
            if self._right.holds(self._clock.tick_ms()):
                result = await self._parts.fetcher.fetch(request)
            else:  # the process was frozen since the request was decided on, or its name was long in coming
                result = FetchResult(request.url, self._clock.now_ms(), aborted=True)
        finally:
            self.fetching -= 1
            self._scheduler.finished(host, self._clock.tick_ms(), host.gap_ms(random.random()))
            self.kick()
        if result.lacking:
            self._lacked(result.lacking)
        if not result.aborted:
            self._parts.metering.fetched(result)
            if not host.addresses[0]:
                found = self._parts.resolver.known(hostname_of(request.url), self._clock.tick_ms())
                host.addresses = found.texts() if found else host.addresses
            tallies = self._held.pending.tallies
            tallies[crawl.id, Tally.REQUESTS] += 1
            if result.status is not None:
                tallies[crawl.id, Tally.ANSWERED] += 1
            tallies[crawl.id, Tally.BYTES] += len(result.body)
        return result

    async def _read(self, host: Host, request: ReadRequest) -> PageReading | ParseFailure:
        """Read a page. Bodies that wait for it count against their host alone, which is asked for no more of them."""
        body_bytes, since = len(request.body), self._clock.tick_ms()
        self._scheduler.waits(host, body_bytes, since)
        try:
            reading = await self._parts.reader.read(request)
        finally:
            self._scheduler.read(host, body_bytes, since, self._clock.tick_ms())
        if isinstance(reading, ParseFailure) and reading.kind == CROWDED:
            self._scheduler.rest(host, self._clock.tick_ms() + CROWDED_REST_MS, CROWDED)
        return reading

    async def _begin(self, host: Host, crawl: LiveCrawl, name: str) -> None:
        """Look the name up before a request that others may be in flight beside: the host's delay counts from starts.

        Else those that wait for one look-up would start together when it ends. Meanwhile no other request starts.
        """
        resolver = self._parts.resolver
        for _ in range(0 if crawl.named_to_proxy else LOOK_UPS_MAX):
            if resolver.known(name, self._clock.tick_ms()) is not None:
                break
            host.reserved += 1
            self._scheduler.refresh(host)
            try:
                await resolver.resolve(name)
            finally:
                host.reserved -= 1
        self._scheduler.began(host, self._clock.tick_ms(), host.gap_ms(random.random()))

    def _lacked(self, what: str) -> None:
        """This machine had too little of something: fewer requests, after a pause. The rows stay open."""
        if not self._room.lacked(self.fetching + 1, self._clock.tick_ms()):
            return
        reason = f"this machine has too few {what}: at most {self._room.size} requests in flight for now"
        self._parts.report({"event": "stalled", "reason": reason})
        logs.component_log("worker", workerId=self._id).warning("lacking", what=what, in_flight=self._room.size)
        self._loop.call_later(PAUSE_MS / 1000, self._go_on)

    def _go_on(self) -> None:
        self._parts.report({"event": "going_on"})
        self.kick()

    async def _next_turn(self, host: Host, crawl: LiveCrawl) -> bool:
        """Wait for the host's clock before the next hop of the same visit; false: do not send it."""
        host.reserved += 1
        self._scheduler.refresh(host)
        try:
            while crawl.running and not self._right.over:
                now = self._clock.tick_ms()
                if now >= host.allowed_tick and host.in_flight < host.in_flight_max() and self._right.holds(now):
                    self._request_started(host, crawl, now)
                    return True
                await asyncio.sleep(min(max(host.allowed_tick - now, 1.0), NEXT_TURN_LOOK_MS) / 1000)
            return False
        finally:
            host.reserved -= 1
            self._scheduler.refresh(host)

    def cut_off(self, crawl: LiveCrawl) -> None:
        """End all visits of a crawl that does not run any more: what they brought would change nothing."""
        for task, visited in list(self.tasks.values()):
            if visited is crawl and not crawl.running:
                task.cancel()

    def _let_go(self, queue: Queue, row: Row | None) -> None:
        """We ended the visit ourselves: the row stays open."""
        if row is not None:
            self._held.abandon(queue, row)
            self._parts.metering.requeued()

    def _fail(self, host: Host, queue: Queue, row: Row | None, origin: str, error: Exception) -> None:
        """The visit raised: its row ends as poison, a robots.txt counts as one that could not be had.

        Both have an end on the host's clock: whoever asked again at once would ask for ever.
        """
        crawl, what = queue.crawl, row.url if row else f"{origin}/robots.txt"
        ids = {"crawl": crawl.id} | ({"url_id": row.id} if row else {})
        log = logs.component_log("worker", workerId=self._id, **ids)
        log.error("visit_broke", url=what, exc_info=error)
        self._parts.report({"event": "fault", "error": repr(error)})
        now_ms = self._clock.now_ms()
        result = FetchResult(what, now_ms, error=Reason.PROTOCOL, detail=one_line(f"a fault of ours: {error!r}"))
        if row is None:
            visit = robots_broke(host, crawl, origin, result.detail, now_ms, self._clock.tick_ms())
            self._apply(host, queue, None, visit)
        elif row.id not in self._held.pending.url_ids():  # else what raised came after its outcome
            visit = Visit(ended(crawl, row, result, UrlState.FAILED, Reason.POISON))
            if row.kind is Kind.ROBOTS:
                visit.robots = given_up(crawl, row, result.detail, now_ms)
            self._held.pending.add(queue, row, visit)
            self._held.touched.add(queue)

    # --- what a visit answers

    def _apply(self, host: Host, queue: Queue, row: Row | None, visit: Visit) -> None:
        if visit.host is not None:
            self._change_host(queue, visit.host)
        if visit.gate is not None:
            host.gates[visit.gate.origin] = visit.gate
            self._log_forced(queue.crawl, visit.gate)
        if visit.joined:
            queue.crawl.join(visit.joined)
        self._held.pending.add(queue, row, visit)
        if row is not None and visit.respelled:
            self._held.respell(queue, row, visit.respelled)
        if visit.robots_failure:
            self._parts.metering.robots_failed(visit.robots_failure)
            if self._log.wanted:
                self._log.robots_failed(host.key, queue.crawl.id, visit.robots_failure, visit.error)
        if self._log.wanted and row is not None and visit.ending is not None:
            self._log_ending(row, visit.ending.outcome, visit.links)

    def _change_host(self, queue: Queue, change: HostChange) -> None:
        host = queue.host
        host.pace = change.pace
        if change.stale_name:
            self._parts.resolver.forget(change.stale_name)
        if change.dead:
            self._held.give_up(queue, Reason.HOST_DEAD)
        reason = host.rest_reason if change.rest_reason is None else change.rest_reason
        if change.rest_ms:
            self._scheduler.rest(host, self._clock.tick_ms() + change.rest_ms, reason)
        else:
            host.rest_reason = reason

    def _log_forced(self, crawl: LiveCrawl, gate: RobotsGate) -> None:
        """Say which host is crawled against the crawl-delay that it asks for, and by what."""
        if crawl.settings.robots.force:
            asked, cap = gate.crawl_delay_ms(crawl.product_token) or 0, crawl.polite.crawl_delay_cap_ms
            if asked > cap:
                log = logs.component_log("worker", workerId=self._id, crawl=crawl.id)
                log.warning("crawl_delay_forced", origin=gate.origin, asked_ms=asked, used_ms=cap)

    def _log_ending(self, row: Row, outcome: Outcome, links: int) -> None:
        page = outcome.page
        if outcome.state is UrlState.FAILED:
            error = (page.error or "") if page is not None else ""
            self._log.crawl_failed(row.url, outcome.crawl, row.id, outcome.reason, error, row.tries)
        elif page is not None:
            found = (page.status, outcome.state, page.timing.total_ms, links, page.wire_bytes)
            self._log.url_crawled(row.url, outcome.crawl, row.id, *found)
